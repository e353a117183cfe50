//! What is stored comes back, or is reported lost: never something else, never a panic.

use super::*;
use crate::testing::{JOB, definition, engine, frontier_name};
use antipode_solver_core::engine::Seen;
use std::fs;
use tempfile::{TempDir, tempdir};

/// The job of these tests: 5,040 states.
pub(super) fn the_engine() -> Arc<dyn Compute> {
    engine(&definition(7, false))
}

/// The frontiers of a few levels, with their digests.
pub(super) fn frontiers(
    engine: &dyn Compute,
    levels: Level,
) -> Vec<(ArtifactName, Arc<Frontier>, Digest)> {
    let shards: Vec<ShardId> = (0..engine.shards()).map(ShardId).collect();
    let mut now: Vec<Frontier> = shards.iter().map(|&s| engine.roots(s)).collect();
    let mut before: Vec<Frontier> = shards
        .iter()
        .map(|&s| Frontier::empty(engine.geometry(s)))
        .collect();
    let mut all = Vec::new();
    for level in 1..=levels {
        let mut next = Vec::new();
        for (&shard, seen) in shards.iter().zip(before) {
            let sources: Vec<_> = engine
                .sources(shard)
                .into_iter()
                .map(|s| (s, &now[s.0 as usize]))
                .collect();
            let own = &now[shard.0 as usize];
            let out = engine
                .expand(level, shard, &sources, own, Seen::Previous(seen), 0)
                .unwrap();
            all.push((
                frontier_name(level, shard.0),
                Arc::new(out.frontier.clone()),
                out.digest,
            ));
            next.push(out.frontier);
        }
        before = now;
        now = next;
    }
    all
}

pub(super) fn shared(data: &Path) -> (Arc<Gauges>, Arc<DiskRoom>) {
    (Arc::default(), Arc::new(DiskRoom::new(data, Some(0))))
}

pub(super) struct Bench {
    pub(super) data: TempDir,
    pub(super) artifacts: Artifacts,
    losses: mpsc::UnboundedReceiver<Loss>,
}

impl Bench {
    pub(super) fn new(budget: u64) -> Bench {
        Bench::open(tempdir().unwrap(), budget)
    }

    pub(super) fn open(data: TempDir, budget: u64) -> Bench {
        Bench::try_open(data, budget).unwrap()
    }

    pub(super) fn try_open(data: TempDir, budget: u64) -> Result<Bench, StoreError> {
        let (sender, losses) = mpsc::unbounded_channel();
        let artifacts = Artifacts::open(data.path(), budget, shared(data.path()), sender)?;
        Ok(Bench {
            data,
            artifacts,
            losses,
        })
    }

    pub(super) fn lost(&mut self) -> Vec<ArtifactName> {
        let mut lost = Vec::new();
        while let Ok(loss) = self.losses.try_recv() {
            lost.extend(loss.names);
        }
        lost
    }
}

pub(super) fn set(content: Option<Content>) -> Option<Arc<Frontier>> {
    content?.set().cloned()
}

/// A folder in which `all` are durable.
pub(super) fn stored(
    engine: &Arc<dyn Compute>,
    all: &[(ArtifactName, Arc<Frontier>, Digest)],
) -> TempDir {
    let bench = Bench::new(1 << 30);
    bench.artifacts.open_job(JOB, "f", engine.clone());
    for (name, frontier, digest) in all {
        bench.artifacts.insert_made(
            *name,
            (**frontier).clone(),
            *digest,
            Certificate::default(),
            Basis::of(&[]),
        );
    }
    let names: Vec<ArtifactName> = all.iter().map(|(name, ..)| *name).collect();
    let mut durable = Vec::new();
    let outcome = bench
        .artifacts
        .persist(&names, |names, _| durable.extend(names));
    assert!(
        outcome.failed.is_empty() && outcome.missing.is_empty(),
        "{outcome:?}"
    );
    durable.sort_unstable();
    assert_eq!(durable, names);
    let Bench {
        data, artifacts, ..
    } = bench;
    drop(artifacts);
    data
}

fn copy(from: &Path) -> TempDir {
    let to = tempdir().unwrap();
    let folder = store::folder_of(to.path(), JOB);
    fs::create_dir_all(&folder).unwrap();
    fs::copy(
        store::folder_of(from, JOB).join("store.redb"),
        folder.join("store.redb"),
    )
    .unwrap();
    to
}

#[test]
fn what_is_durable_comes_back_and_what_is_released_does_not() {
    let engine = the_engine();
    let all = frontiers(&*engine, 6);
    let data = stored(&engine, &all);
    let bench = Bench::open(data, 1 << 30);
    assert_eq!(bench.artifacts.held().len(), all.len());
    assert!(bench.artifacts.held().iter().all(|held| held.durable));
    bench.artifacts.open_job(JOB, "f", engine.clone());
    for (name, frontier, digest) in &all {
        assert!(matches!(bench.artifacts.place(*name, *digest), Place::Disk));
        assert!(matches!(
            bench.artifacts.place(*name, digest.plus(Digest(1))),
            Place::Nowhere
        ));
        assert_eq!(set(bench.artifacts.load(*name)).as_ref(), Some(frontier));
        assert!(matches!(
            bench.artifacts.place(*name, *digest),
            Place::Memory(_)
        ));
    }
    let (gone, kept) = (all[3].0, all[4].0);
    bench.artifacts.release(&[gone]);
    bench.artifacts.persist(&[frontier_name(0, 0)], |_, _| ());
    bench.artifacts.close_job(JOB, true);
    let Bench {
        data, artifacts, ..
    } = bench;
    drop(artifacts);
    let bench = Bench::open(data, 1 << 30);
    let held: Vec<ArtifactName> = bench
        .artifacts
        .held()
        .iter()
        .map(|held| held.name)
        .collect();
    assert!(held.contains(&kept) && !held.contains(&gone) && held.len() == all.len() - 1);
    bench.artifacts.close_job(JOB, false);
    assert!(!store::folder_of(bench.data.path(), JOB).exists());
}

/// Opens a damaged copy and asks for everything; the answer must be right or a loss. Returns how
/// many artifacts were had.
pub(super) fn survey(
    data: TempDir,
    engine: &Arc<dyn Compute>,
    all: &[(ArtifactName, Arc<Frontier>, Digest)],
    what: &str,
) -> usize {
    let mut bench = Bench::open(data, 1 << 30);
    let announced: Vec<Held> = bench.artifacts.held();
    bench.artifacts.open_job(JOB, "f", engine.clone());
    let mut had = 0;
    for (name, frontier, digest) in all {
        let held = announced.iter().find(|held| held.name == *name);
        if let Some(held) = held {
            assert_eq!(
                (held.digest, held.count),
                (*digest, frontier.count()),
                "{what}: {name:?}"
            );
        }
        match set(bench.artifacts.load(*name)) {
            Some(found) => {
                assert_eq!(
                    *found, **frontier,
                    "{what}: {name:?} came back as something else"
                );
                had += 1;
            }
            // What was announced and then not found must be reported.
            None => assert_eq!(
                held.is_some(),
                bench.lost().contains(name),
                "{what}: {name:?}"
            ),
        }
    }
    // And it is of use again: what is written now can be read.
    let (name, frontier, digest) = &all[0];
    bench.artifacts.insert_made(
        *name,
        (**frontier).clone(),
        *digest,
        Certificate::default(),
        Basis::of(&[]),
    );
    let outcome = bench.artifacts.persist(&[*name], |_, _| ());
    if outcome.failed.is_empty() {
        bench.artifacts.close_job(JOB, true);
        bench.artifacts.open_job(JOB, "f", engine.clone());
        if let Some(found) = set(bench.artifacts.load(*name)) {
            assert_eq!(*found, **frontier, "{what}: written again");
        }
    }
    had
}

#[test]
fn flipped_bits_never_give_wrong_data_and_never_a_panic() {
    let engine = the_engine();
    let all = frontiers(&*engine, 12);
    let whole = stored(&engine, &all);
    let file = store::folder_of(whole.path(), JOB).join("store.redb");
    let bytes = fs::read(&file).unwrap();
    // Bits at which something is written; the file is mostly empty space.
    let full: Vec<usize> = (0..bytes.len()).filter(|&at| bytes[at] != 0).collect();
    let (mut untouched, mut touched) = (0, 0);
    for k in 0..240 {
        let at = full[k * full.len() / 240];
        let bit = k % 8;
        let copied = copy(whole.path());
        let mut damaged = bytes.clone();
        damaged[at] ^= 1 << bit;
        fs::write(
            store::folder_of(copied.path(), JOB).join("store.redb"),
            damaged,
        )
        .unwrap();
        let had = survey(copied, &engine, &all, &format!("bit {bit} of byte {at}"));
        if had == all.len() {
            untouched += 1;
        } else {
            touched += 1;
        }
    }
    assert!(
        touched > 60 && untouched > 0,
        "{touched} of 240 flips did harm, {untouched} did not"
    );
}

#[test]
fn files_cut_off_anywhere_never_give_wrong_data_and_never_a_panic() {
    let engine = the_engine();
    let all = frontiers(&*engine, 12);
    let whole = stored(&engine, &all);
    let bytes = fs::read(store::folder_of(whole.path(), JOB).join("store.redb")).unwrap();
    for k in 0..60 {
        let cut = k * bytes.len() / 60;
        let copied = copy(whole.path());
        fs::write(
            store::folder_of(copied.path(), JOB).join("store.redb"),
            &bytes[..cut],
        )
        .unwrap();
        survey(copied, &engine, &all, &format!("cut at {cut}"));
    }
}

#[test]
fn a_store_of_another_definition_is_lost_as_a_whole() {
    let engine = the_engine();
    let all = frontiers(&*engine, 3);
    let data = stored(&engine, &all);
    let mut bench = Bench::open(data, 1 << 30);
    bench.artifacts.open_job(JOB, "another", engine);
    let mut names: Vec<ArtifactName> = all.iter().map(|(name, ..)| *name).collect();
    names.sort_unstable();
    let loss = bench.losses.try_recv().unwrap();
    assert_eq!(loss.names, names);
    for part in ["fingerprint f instead of another", "jobs/7"] {
        assert!(loss.reason.contains(part), "{}", loss.reason);
    }
    assert_eq!(bench.artifacts.held(), vec![]);
}

#[test]
fn a_newer_store_is_refused_by_its_format() {
    let engine = the_engine();
    let all = frontiers(&*engine, 2);
    let data = stored(&engine, &all);
    let file = store::folder_of(data.path(), JOB).join("store.redb");
    {
        // As a later version would write it: the same frame with a higher number.
        let database = redb::Database::open(&file).unwrap();
        let transaction = database.begin_write().unwrap();
        {
            let records: redb::TableDefinition<&[u8], &[u8]> =
                redb::TableDefinition::new("records");
            let mut table = transaction.open_table(records).unwrap();
            let newer = record::frame_in_format(9, &[0], 1, b"what only they understand");
            table.insert(&[0u8][..], &newer[..]).unwrap();
        }
        transaction.commit().unwrap();
    }
    let (sender, _losses) = mpsc::unbounded_channel();
    match Artifacts::open(data.path(), 1 << 30, shared(data.path()), sender) {
        Err(error @ StoreError::Newer { theirs: 9, .. }) => {
            assert!(error.to_string().contains("format 9"), "{error}");
        }
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("it was opened"),
    }
}

#[test]
fn a_budget_holds_by_way_of_the_disk_and_nothing_is_lost() {
    let engine = the_engine();
    let all = frontiers(&*engine, 12);
    let largest = all
        .iter()
        .map(|(_, frontier, _)| frontier.memory_bytes())
        .max()
        .unwrap();
    let budget = engine.table_bytes() + 4 * largest;
    let mut bench = Bench::new(budget);
    bench.artifacts.open_job(JOB, "f", engine.clone());
    for (k, (name, frontier, digest)) in all.iter().enumerate() {
        let need = Need {
            incoming: 0,
            working: largest,
        };
        assert!(
            bench
                .artifacts
                .make_room(k as u64, need, &Wanted::new())
                .unwrap()
        );
        bench.artifacts.insert_made(
            *name,
            (**frontier).clone(),
            *digest,
            Certificate::default(),
            Basis::of(&[]),
        );
        bench.artifacts.unreserve(k as u64);
        assert!(bench.artifacts.gauges.read().resident_bytes <= budget - engine.table_bytes());
    }
    assert!(bench.artifacts.gauges.read().spilled_bytes > 0);
    for (name, frontier, digest) in &all {
        let found = match bench.artifacts.place(*name, *digest) {
            Place::Memory(found) => Some(found),
            _ => bench.artifacts.load(*name),
        };
        assert_eq!(set(found).as_ref(), Some(frontier));
        assert!(
            bench
                .artifacts
                .make_room(0, Need::default(), &Wanted::new())
                .is_ok()
        );
        bench.artifacts.unreserve(0);
    }
    assert_eq!(bench.lost(), vec![]);
}

#[test]
fn what_is_wanted_soonest_stays_in_memory() {
    let engine = the_engine();
    let all = frontiers(&*engine, 12);
    let mut big: Vec<_> = all
        .iter()
        .filter(|(_, f, _)| f.memory_bytes() > 0)
        .cloned()
        .collect();
    big.sort_by_key(|(_, frontier, _)| std::cmp::Reverse(frontier.memory_bytes()));
    big.truncate(4);
    let sum: u64 = big
        .iter()
        .map(|(_, frontier, _)| frontier.memory_bytes())
        .sum();
    let bench = Bench::new(engine.table_bytes() + sum);
    bench.artifacts.open_job(JOB, "f", engine.clone());
    let digests: Vec<(ArtifactName, Digest)> = big
        .iter()
        .map(|(name, _, digest)| (*name, *digest))
        .collect();
    for (name, frontier, digest) in big {
        let frontier = Arc::unwrap_or_clone(frontier);
        bench.artifacts.insert_made(
            name,
            frontier,
            digest,
            Certificate::default(),
            Basis::of(&[]),
        );
    }
    // The first is wanted next, the second later, the third is in use; the fourth nobody wants.
    let wanted: Wanted = [(digests[0].0, 0), (digests[1].0, 5)].into();
    let Place::Memory(_used) = bench.artifacts.place(digests[2].0, digests[2].1) else {
        panic!()
    };
    let in_memory = || -> Vec<bool> {
        digests
            .iter()
            .map(|(n, d)| matches!(bench.artifacts.place(*n, *d), Place::Memory(_)))
            .collect()
    };
    let one_byte = Need {
        incoming: 1,
        working: 0,
    };
    assert!(!bench.artifacts.reserve(1, one_byte));
    assert!(bench.artifacts.make_room(1, one_byte, &wanted).unwrap());
    assert_eq!(in_memory(), [true, true, true, false]);
    bench.artifacts.unreserve(1);
    let more = Need {
        incoming: sum / 4 + sum / 8,
        working: 0,
    };
    assert!(bench.artifacts.make_room(2, more, &wanted).unwrap());
    assert_eq!(in_memory(), [true, false, true, false]);
    bench.artifacts.unreserve(2);
    assert!(
        !bench
            .artifacts
            .make_room(
                3,
                Need {
                    incoming: sum,
                    working: 0
                },
                &wanted
            )
            .unwrap()
    );
    assert_eq!(
        in_memory(),
        [false, false, true, false],
        "what is in use stays"
    );
}

#[test]
fn what_is_used_up_is_gone_from_memory_but_not_from_a_checkpoint() {
    let engine = the_engine();
    let all = frontiers(&*engine, 4);
    let bench = Bench::new(1 << 30);
    bench.artifacts.open_job(JOB, "f", engine);
    for (name, frontier, digest) in &all {
        bench.artifacts.insert_made(
            *name,
            (**frontier).clone(),
            *digest,
            Certificate::default(),
            Basis::of(&[]),
        );
    }
    let (durable, volatile) = (&all[0], &all[1]);
    bench.artifacts.persist(&[durable.0], |_, _| ());
    assert!(!bench.artifacts.consume(durable.0));
    assert!(bench.artifacts.consume(volatile.0));
    assert!(matches!(
        bench.artifacts.place(durable.0, durable.2),
        Place::Disk
    ));
    assert!(matches!(
        bench.artifacts.place(volatile.0, volatile.2),
        Place::Nowhere
    ));
}

#[test]
fn what_is_retracted_is_gone_everywhere_and_told() {
    let engine = the_engine();
    let all = frontiers(&*engine, 3);
    let data = stored(&engine, &all);
    let mut bench = Bench::open(data, 1 << 30);
    bench.artifacts.open_job(JOB, "f", engine.clone());
    let names: Vec<ArtifactName> = all[..2].iter().map(|(name, ..)| *name).collect();
    bench.artifacts.load(names[0]).unwrap();
    bench.artifacts.retract(names.clone(), "a check failed");
    let reason = "a check failed".to_string();
    let told = Loss {
        names: names.clone(),
        reason,
        retracted: true,
    };
    assert_eq!(bench.losses.try_recv(), Ok(told));
    for (name, _, digest) in &all[..2] {
        assert!(matches!(
            bench.artifacts.place(*name, *digest),
            Place::Nowhere
        ));
    }
    bench.artifacts.close_job(JOB, true);
    let Bench {
        data, artifacts, ..
    } = bench;
    drop(artifacts);
    let bench = Bench::open(data, 1 << 30);
    assert_eq!(bench.artifacts.held().len(), all.len() - 2);
}

#[test]
fn what_was_made_answers_a_lease_of_the_same_inputs_and_goes_at_another() {
    let engine = the_engine();
    let all = frontiers(&*engine, 2);
    let bench = Bench::new(1 << 30);
    bench.artifacts.open_job(JOB, "f", engine.clone());
    let input = |digest: Digest| Input {
        name: all[0].0,
        digest,
        count: 1,
        holders: Vec::new(),
    };
    let (right, wrong) = ([input(all[0].2)], [input(all[0].2.plus(Digest(1)))]);
    let (name, frontier, digest) = all[all.len() - 1].clone();
    let task = Task::Expand {
        level: name.level,
        shard: name.shard,
    };
    let insert = |basis| {
        let certificate = Certificate::default();
        let frontier = (*frontier).clone();
        bench
            .artifacts
            .insert_made(name, frontier, digest, certificate, basis);
    };
    let known = |artifacts: &Artifacts, inputs: &[Input]| artifacts.known(JOB, &task, inputs);
    insert(Basis::of(&wrong));
    assert!(known(&bench.artifacts, &wrong).is_some());
    assert_eq!(known(&bench.artifacts, &right), None);
    assert_eq!(bench.artifacts.held(), vec![], "it is dropped");
    insert(Basis::of(&right));
    assert!(matches!(
        known(&bench.artifacts, &right),
        Some(TaskOutput::Expanded { digest: answer, .. }) if answer == digest
    ));
    // What an earlier process made is announced, and answers nothing: what it rests on is not known.
    bench.artifacts.persist(&[name], |_, _| ());
    let Bench {
        data, artifacts, ..
    } = bench;
    drop(artifacts);
    let bench = Bench::open(data, 1 << 30);
    bench.artifacts.open_job(JOB, "f", engine);
    assert_eq!(known(&bench.artifacts, &right), None);
    assert_eq!(bench.artifacts.held().len(), 1, "it stays");
}

#[test]
fn a_copy_from_another_worker_answers_no_lease() {
    let engine = the_engine();
    let (name, frontier, digest) = frontiers(&*engine, 1)[0].clone();
    let bench = Bench::new(1 << 30);
    bench.artifacts.open_job(JOB, "f", engine);
    let content = Content::Set(frontier);
    bench.artifacts.insert_fetched(name, content, digest);
    bench.artifacts.adopt(name, digest);
    let task = Task::Expand {
        level: name.level,
        shard: name.shard,
    };
    assert_eq!(bench.artifacts.known(JOB, &task, &[]), None);
    assert_eq!(bench.artifacts.held().len(), 1, "it stays");
}

#[test]
fn the_basis_tells_names_digests_and_order_apart_but_not_level_0() {
    let input = |level, shard, digest| Input {
        name: frontier_name(level, shard),
        digest: Digest(digest),
        count: 1,
        holders: Vec::new(),
    };
    let visited = |mut input: Input| {
        input.name.kind = ArtifactKind::Visited;
        input
    };
    let (a, b) = (input(1, 0, 5), input(1, 1, 6));
    let both = Basis::of(&[a.clone(), b.clone()]);
    assert_eq!(both, Basis::of(&[a.clone(), b.clone(), input(0, 0, 7)]));
    let others = [
        vec![],
        vec![a.clone()],
        vec![b.clone(), a.clone()],
        vec![input(1, 0, 6), input(1, 1, 5)],
        vec![a.clone(), input(2, 1, 6)],
        vec![a, visited(b)],
    ];
    for other in others {
        assert_ne!(both, Basis::of(&other), "{other:?}");
    }
}

#[test]
fn a_disk_that_takes_nothing_loses_nothing() {
    let engine = the_engine();
    let all = frontiers(&*engine, 4);
    let mut bench = Bench::new(1 << 30);
    bench.artifacts.open_job(JOB, "f", engine);
    for (name, frontier, digest) in &all {
        bench.artifacts.insert_made(
            *name,
            (**frontier).clone(),
            *digest,
            Certificate::default(),
            Basis::of(&[]),
        );
    }
    // A file where the folder of the jobs should be.
    let jobs = bench.data.path().join("jobs");
    fs::write(&jobs, "").unwrap();
    let names: Vec<ArtifactName> = all.iter().map(|(name, ..)| *name).collect();
    let outcome = bench
        .artifacts
        .persist(&names, |_, _| panic!("nothing is durable"));
    assert_eq!(outcome.failed, names);
    assert!(
        outcome.reason.contains("cannot write to"),
        "{}",
        outcome.reason
    );
    assert_eq!(bench.lost(), vec![]);
    // When there is room again it works.
    fs::remove_file(&jobs).unwrap();
    let mut durable = 0;
    bench
        .artifacts
        .persist(&names, |names, _| durable += names.len());
    assert_eq!(durable, names.len());
}

#[test]
fn a_closed_job_takes_no_more_room_than_what_it_keeps() {
    let engine = the_engine();
    let bench = Bench::new(1 << 30);
    bench.artifacts.open_job(JOB, "f", engine.clone());
    // Far more than the frontiers themselves: the same ones again and again.
    let all = frontiers(&*engine, 12);
    for _ in 0..40 {
        let names: Vec<ArtifactName> = all.iter().map(|(name, ..)| *name).collect();
        for (name, frontier, digest) in &all {
            let frontier = (**frontier).clone();
            bench.artifacts.insert_made(
                *name,
                frontier,
                *digest,
                Certificate::default(),
                Basis::of(&[]),
            );
        }
        assert!(bench.artifacts.persist(&names, |_, _| {}).failed.is_empty());
        bench.artifacts.release(&names);
    }
    let (name, frontier, digest) = &all[all.len() - 1];
    bench.artifacts.insert_made(
        *name,
        (**frontier).clone(),
        *digest,
        Certificate::default(),
        Basis::of(&[]),
    );
    bench.artifacts.persist(&[*name], |_, _| {});
    let file = folder_of(bench.data.path(), JOB).join("store.redb");
    let before = fs::metadata(&file).unwrap().len();
    bench.artifacts.close_job(JOB, true);
    let after = fs::metadata(&file).unwrap().len();
    assert!(after < before, "{before} bytes before, {after} after");
    let held = bench.artifacts.held();
    assert_eq!(held.len(), 1);
    assert_eq!((held[0].name, held[0].digest), (*name, *digest));
}
