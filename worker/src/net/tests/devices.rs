//! What concerns devices, with a toy: the real engine, into whose levels a test looks.

use super::*;
use crate::compute::Compute;
use crate::devices::Devices;
use antipode_proto::message::Usage;
use antipode_solver_core::bfs::frontier::{Frontier, ShardGeometry};
use antipode_solver_core::distance::{Numbering, PackedDistances};
use antipode_solver_core::engine::{Engine, Expanded, Level, OnDevice, Seen};
use antipode_solver_core::puzzle::State;
use std::sync::Barrier;
use std::sync::atomic::AtomicUsize;

type Look = dyn Fn(Level, ShardId, &Announcer) -> Option<OnDevice> + Send + Sync;

/// The engine; before each level of a shard it calls `look`, whose answer becomes the result's `on_device`.
struct Toy {
    inner: Arc<Engine>,
    announcer: Announcer,
    look: Arc<Look>,
}

impl Compute for Toy {
    fn expand(
        &self,
        level: Level,
        shard: ShardId,
        sources: &[(ShardId, &Frontier)],
        own: &Frontier,
        seen: Seen,
        samples: u32,
    ) -> Result<Expanded, EngineError> {
        let on_device = (self.look)(level, shard, &self.announcer);
        let made = self
            .inner
            .expand(level, shard, sources, own, seen, samples)?;
        Ok(Expanded { on_device, ..made })
    }
    fn shards(&self) -> u32 {
        self.inner.shards()
    }
    fn is_directed(&self) -> bool {
        self.inner.is_directed()
    }
    fn geometry(&self, shard: ShardId) -> ShardGeometry {
        self.inner.geometry(shard)
    }
    fn sources(&self, shard: ShardId) -> Vec<ShardId> {
        self.inner.sources(shard)
    }
    fn roots(&self, shard: ShardId) -> Frontier {
        self.inner.roots(shard)
    }
    fn digest(&self, shard: ShardId, frontier: &Frontier) -> Digest {
        self.inner.digest(shard, frontier)
    }
    fn smallest(&self, shard: ShardId, frontier: &Frontier, limit: usize) -> Vec<State> {
        self.inner.smallest(shard, frontier, limit)
    }
    fn words(
        &self,
        level: Level,
        states: &[State],
        kept: &(dyn Fn(Level, ShardId) -> Option<Arc<Frontier>> + Sync),
        memory_bytes: u64,
    ) -> Vec<Result<Vec<u16>, String>> {
        self.inner.words(level, states, kept, memory_bytes)
    }
    fn numbering(&self, shard: ShardId) -> Option<Numbering> {
        self.inner.numbering(shard)
    }
    fn distance_digest(&self, shard: ShardId, distances: &PackedDistances) -> Digest {
        self.inner.distance_digest(shard, distances)
    }
    fn table_bytes(&self) -> u64 {
        self.inner.table_bytes()
    }
    fn expand_bytes(&self, shard: ShardId) -> u64 {
        self.inner.expand_bytes(shard)
    }
}

/// A worker in this process with these devices, computing `definition` with the toy.
async fn with_devices(
    data: &Path,
    definition: &Arc<JobDefinition>,
    devices: &[&str],
    look: Arc<Look>,
) -> (Running, Script) {
    let (worker, coordinator) = pair();
    let config = Config {
        devices: Devices::named(devices),
        ..config(data, Source::Link(worker))
    };
    let toy: Loader = Arc::new(move |definition, announcer| {
        Ok(Arc::new(Toy {
            inner: engine(definition),
            announcer: announcer.clone(),
            look: look.clone(),
        }) as Arc<dyn Compute>)
    });
    let running = start_with(config, toy);
    let player = Player::welcome(coordinator, 1, definition).await;
    assert_eq!(player.registration.devices, devices);
    (running, Script::new(definition, vec![player]))
}

#[tokio::test(flavor = "multi_thread")]
async fn two_devices_compute_side_by_side() {
    let data = tempdir().unwrap();
    let definition = definition(7, false);
    // The first two tasks wait for each other: one after the other they would never end.
    let (meeting, begun) = (Barrier::new(2), AtomicUsize::new(0));
    let met = Arc::new(AtomicUsize::new(0));
    let seen = met.clone();
    let look = Arc::new(move |_, _, _: &Announcer| {
        if begun.fetch_add(1, Relaxed) < 2 {
            meeting.wait();
            seen.fetch_add(1, Relaxed);
        }
        None
    });
    let devices = ["toy 0", "toy 1"];
    let (running, mut script) = with_devices(data.path(), &definition, &devices, look).await;
    assert_eq!(script.levels(1).await, plain_answer(&definition));
    assert_eq!(met.load(Relaxed), 2);
    running.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_device_took_is_reported() {
    let data = tempdir().unwrap();
    let definition = definition(7, false);
    // The first shard on the device, the others on the processor.
    let look = Arc::new(|level, shard: ShardId, _: &Announcer| {
        let uploaded_bytes = u64::from(level) * 100;
        (shard.0 == 0).then_some(OnDevice { uploaded_bytes })
    });
    let (running, mut script) = with_devices(data.path(), &definition, &["toy"], look).await;
    for shard in [0, 1] {
        let lease = script.lease(1, shard);
        script.players[0].say(lease);
        let FromWorker::Done { usage, .. } = script.players[0].hear().await else {
            panic!("no result")
        };
        let uploaded_bytes = 100;
        let expected = (shard == 0).then_some(OnDevice { uploaded_bytes });
        assert_eq!(usage.on_device, expected);
        assert!(usage != Usage::default(), "it took time");
    }
    running.stop().await.unwrap();
}

/// In the middle of a job a device turns out to be wrong: while one task of level 4 is computed, all of level 3 is
/// taken back.
#[tokio::test(flavor = "multi_thread")]
async fn results_that_are_taken_back_in_mid_job_are_made_again() {
    const WRONG: Level = 3;
    for directed in [false, true] {
        let data = tempdir().unwrap();
        let definition = definition(7, directed);
        let plain = plain_answer(&definition);
        let found = AtomicUsize::new(0);
        let shards = engine(&definition).shards();
        let look = Arc::new(move |level, _, announcer: &Announcer| {
            if level == WRONG + 1 && found.fetch_add(1, Relaxed) == 0 {
                let wrong: Vec<_> = (0..shards).map(|s| (WRONG, ShardId(s))).collect();
                announcer.note("device toy is not used any more: a wrong result");
                announcer.retract(&wrong, "device toy gave a wrong result");
            }
            None
        });
        let (running, mut script) = with_devices(data.path(), &definition, &["toy"], look).await;
        for level in 1..=WRONG {
            script.level(level).await;
        }
        // On disk as well: it goes from there, too.
        let names: Vec<_> = (0..shards).map(|s| frontier_name(WRONG, s)).collect();
        script.players[0].persist(names.clone()).await;
        let lease = script.lease(WRONG + 1, 0);
        script.players[0].say(lease);
        let (mut retracted, mut note, mut done) = (Vec::new(), None, 0);
        while retracted.is_empty() || note.is_none() || done == 0 {
            match script.players[0].hear().await {
                FromWorker::Retract { names, reason } => {
                    assert!(reason.contains("toy"), "{reason}");
                    retracted = names;
                }
                FromWorker::Note { text, .. } => note = Some(text),
                FromWorker::Done { .. } => done += 1,
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(
            retracted.len(),
            (1 + usize::from(directed)) * shards as usize
        );
        assert!(names.iter().all(|name| retracted.contains(name)));
        assert!(note.unwrap().contains("not used any more"));
        // What rests on it goes, too, as the coordinator would say.
        script.players[0].say(ToWorker::Release {
            names: [ArtifactKind::Frontier, ArtifactKind::Visited]
                .map(|kind| ArtifactName {
                    kind,
                    ..frontier_name(WRONG + 1, 0)
                })
                .to_vec(),
        });
        let again = script.level(WRONG).await;
        assert_eq!(again, plain[WRONG as usize - 1]);
        assert_eq!(script.levels(WRONG + 1).await, plain[WRONG as usize..]);
        let summary = running.stop().await.unwrap();
        let tasks = (plain.len() as u64 + 2) * u64::from(shards) + 1;
        assert_eq!(
            summary.tasks_done, tasks,
            "none was answered from what was held"
        );
    }
}
