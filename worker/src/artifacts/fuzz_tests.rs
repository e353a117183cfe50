//! Bytes from a disk that lies: whatever stands there, what comes back is right, or it is lost.

use super::record::{FRAME_BYTES, frame_in_format, unframe};
use super::tests::{Bench, frontiers, shared, stored, survey, the_engine};
use super::*;
use crate::testing::JOB;
use antipode_proto::codec;
use antipode_solver_core::distance::{Builder, PackedDistances};
use proptest::prelude::*;
use redb::ReadableTable;
use std::fs;
use std::sync::OnceLock;
use tempfile::TempDir;

type All = Vec<(ArtifactName, Arc<Frontier>, Digest)>;

/// Levels of a small job, the distances of one shard, and the bytes of a store that holds both.
struct Source {
    engine: Arc<dyn Compute>,
    all: All,
    distances: (ArtifactName, PackedDistances, Digest),
    bytes: Vec<u8>,
}

fn source() -> &'static Source {
    static SOURCE: OnceLock<Source> = OnceLock::new();
    SOURCE.get_or_init(|| {
        let engine = the_engine();
        let every = frontiers(&*engine, 40);
        let shard = ShardId(1);
        let mut builder = Builder::new(engine.numbering(shard).unwrap());
        builder.add(0, &engine.roots(shard)).unwrap();
        for (name, set, _) in every.iter().filter(|(name, ..)| name.shard == shard) {
            builder.add(name.level, set).unwrap();
        }
        let distances = builder.finish().unwrap();
        let digest = engine.distance_digest(shard, &distances);
        let name = ArtifactName {
            job: JOB,
            level: 40,
            shard,
            kind: ArtifactKind::Distances,
        };
        let all: All = every.into_iter().filter(|(n, ..)| n.level <= 12).collect();
        let data = stored(&engine, &all);
        let bench = Bench::open(data, 1 << 30);
        bench.artifacts.open_job(JOB, "f", engine.clone());
        let content = Content::Distances(Arc::new(distances.clone()));
        bench
            .artifacts
            .insert_kept(name, content, digest, Basis::of(&[]));
        let outcome = bench.artifacts.persist(&[name], |_, _| ());
        assert!(outcome.failed.is_empty());
        let Bench {
            data, artifacts, ..
        } = bench;
        drop(artifacts);
        let bytes = fs::read(file_of(data.path())).unwrap();
        Source {
            engine,
            all,
            distances: (name, distances, digest),
            bytes,
        }
    })
}

fn file_of(data: &Path) -> PathBuf {
    store::folder_of(data, JOB).join("store.redb")
}

/// A data folder with this store.
fn folder_with(bytes: &[u8]) -> TempDir {
    let data = tempfile::tempdir().unwrap();
    fs::create_dir_all(store::folder_of(data.path(), JOB)).unwrap();
    fs::write(file_of(data.path()), bytes).unwrap();
    data
}

/// Asks for the distances, with and without an engine.
fn ask_for_distances(data: TempDir, what: &str) -> TempDir {
    let (name, right, digest) = &source().distances;
    let mut bench = Bench::open(data, 1 << 30);
    let was_held = bench.artifacts.held().iter().any(|held| held.name == *name);
    match bench.artifacts.distances(*name, *digest) {
        Some(found) => assert_eq!(*found, *right, "{what}"),
        None => assert_eq!(bench.lost().contains(name), was_held, "{what}"),
    }
    let Bench {
        data, artifacts, ..
    } = bench;
    drop(artifacts);
    data
}

#[derive(Debug, Clone)]
enum Harm {
    Flip(prop::sample::Index, u8),
    Zero(prop::sample::Index, usize),
    /// An older or other part of the file in the place of another: a write that went astray.
    Astray(prop::sample::Index, prop::sample::Index, usize),
    Cut(prop::sample::Index),
}

fn harm() -> impl Strategy<Value = Harm> {
    let index = any::<prop::sample::Index>;
    prop_oneof![
        4 => (index(), 0u8..8).prop_map(|(at, bit)| Harm::Flip(at, bit)),
        1 => (index(), 1usize..5000).prop_map(|(at, length)| Harm::Zero(at, length)),
        1 => (index(), index(), 1usize..5000).prop_map(|(a, b, n)| Harm::Astray(a, b, n)),
        1 => index().prop_map(Harm::Cut),
    ]
}

fn done_to(bytes: &mut Vec<u8>, full: &[usize], harm: &Harm) {
    if bytes.is_empty() {
        return;
    }
    // Places at which something is written; the file is mostly empty space.
    let place = |index: &prop::sample::Index| full[index.index(full.len())] % bytes.len();
    match harm {
        Harm::Flip(at, bit) => {
            let at = place(at);
            bytes[at] ^= 1 << bit;
        }
        Harm::Zero(at, length) => {
            let at = place(at);
            let end = (at + length).min(bytes.len());
            bytes[at..end].fill(0);
        }
        Harm::Astray(from, to, length) => {
            let (from, to) = (place(from), place(to));
            let length = (*length).min(bytes.len() - from.max(to));
            bytes.copy_within(from..from + length, to);
        }
        Harm::Cut(at) => {
            let at = at.index(bytes.len());
            bytes.truncate(at);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]

    #[test]
    fn a_store_harmed_anywhere_gives_right_sets_or_losses(harms in prop::collection::vec(harm(), 1..6)) {
        let source = source();
        let full: Vec<usize> = (0..source.bytes.len()).filter(|&at| source.bytes[at] != 0).collect();
        let mut bytes = source.bytes.clone();
        harms.iter().for_each(|harm| done_to(&mut bytes, &full, harm));
        let what = format!("{harms:?}");
        ask_for_distances(folder_with(&bytes), &what);
        survey(folder_with(&bytes), &source.engine, &source.all, &what);
    }

    #[test]
    fn any_bytes_are_a_record_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(unframe(b"key", &bytes).is_err());
    }

    #[test]
    fn any_bytes_are_content_or_an_error(
        bytes in prop::collection::vec(any::<u8>(), 0..600),
        tag in 0u8..6,
        count in 0u64..700,
        kind in 0usize..3,
        form in 0usize..5,
    ) {
        let engine = &*source().engine;
        let kinds = [ArtifactKind::Frontier, ArtifactKind::Visited, ArtifactKind::Distances];
        let name = ArtifactName { kind: kinds[kind], ..source().distances.0 };
        let mut packed = Packed {
            encoding: ["plain", "lz4", "rice", "distances", "zip"][form].into(),
            bytes,
        };
        if let Some(first) = packed.bytes.first_mut() {
            *first = tag;
        }
        for content in [
            Content::unpack(engine, name, count, &packed.encoding, &packed.bytes),
            Content::unpack_stored(Some(engine), name, count, &packed),
            Content::unpack_stored(None, name, count, &packed),
        ].into_iter().flatten() {
            prop_assert_eq!(content.count(), count);
            // Reading it is safe too.
            let _ = content.digest(engine, name);
        }
        let _ = Content::to_be_sent(packed);
    }
}

#[test]
fn an_unharmed_store_gives_everything() {
    let source = source();
    let data = ask_for_distances(folder_with(&source.bytes), "unharmed");
    let had = survey(data, &source.engine, &source.all, "unharmed");
    assert_eq!(had, source.all.len());
}

/// Rewrites the description of the store with another format of the records' inside.
fn with_codec_format(change: i32) -> TempDir {
    let data = folder_with(&source().bytes);
    let database = redb::Database::open(file_of(data.path())).unwrap();
    let transaction = database.begin_write().unwrap();
    {
        let records: redb::TableDefinition<&[u8], &[u8]> = redb::TableDefinition::new("records");
        let mut table = transaction.open_table(records).unwrap();
        let key = &[0u8][..];
        let old = table.get(key).unwrap().unwrap().value().to_vec();
        let (hash, body) = unframe(key, &old).unwrap();
        let mut body = body.to_vec();
        assert_eq!(old.len(), FRAME_BYTES + body.len());
        let format = (i32::from(codec::FORMAT) + change) as u16;
        body[..2].copy_from_slice(&format.to_le_bytes());
        let new = frame_in_format(1, key, hash, &body);
        table.insert(key, &new[..]).unwrap();
    }
    transaction.commit().unwrap();
    drop(database);
    data
}

#[test]
fn a_store_of_an_older_program_is_set_aside_and_one_of_a_newer_is_refused() {
    let mut data = with_codec_format(-1);
    for start in 0..2 {
        let bench = Bench::open(data, 1 << 30);
        assert_eq!(bench.artifacts.held(), vec![], "start {start}");
        let Bench {
            data: place,
            artifacts,
            ..
        } = bench;
        drop(artifacts);
        data = place;
        let aside = store::folder_of(data.path(), JOB).join("store.damaged");
        assert!(aside.exists(), "start {start}");
    }

    let data = with_codec_format(1);
    let (sender, _losses) = mpsc::unbounded_channel();
    let refused = Artifacts::open(data.path(), 1 << 30, shared(data.path()), sender);
    let Err(error @ StoreError::Newer { .. }) = refused else {
        panic!("it was opened");
    };
    let text = error.to_string();
    let newer = format!("record format {}", codec::FORMAT + 1);
    assert!(
        text.contains(&newer) && text.contains("store.redb"),
        "{text}"
    );
    assert!(file_of(data.path()).exists(), "and left alone");
}
