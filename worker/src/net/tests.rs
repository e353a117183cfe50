use super::*;
use crate::error::StartError;
use crate::gauges::Gauges;
use crate::testing::{
    Exchange, JOB, LONG, Player, Script, config, definition, engine, frontier_name, loader,
    plain_answer,
};
use antipode_ids::{Attempt, Cause, WorkerId};
use antipode_proto::link::{WorkerLink, pair};
use antipode_proto::message::{
    ArtifactKind, ArtifactName, Failure, FromWorker, Holder, Input, ToWorker, Usage,
};
use antipode_solver_core::engine::{Digest, EngineError, KernelChoice, ShardId};
use antipode_solver_core::job::{JobDefinition, Task, TaskOutput};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tempfile::tempdir;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

mod devices;

type Outcome = Result<Summary, StartError>;

/// A worker in the background, and the way to stop it.
struct Running {
    stop: oneshot::Sender<()>,
    task: JoinHandle<Outcome>,
    gauges: Arc<Gauges>,
}

fn start(config: Config) -> Running {
    start_with(config, loader())
}

fn start_with(config: Config, loader: Loader) -> Running {
    let (stop, stopped) = oneshot::channel();
    let gauges = config.gauges.clone();
    let task = tokio::spawn(run_with(config, loader, async move {
        // A dropped sender is no order to stop.
        if stopped.await.is_err() {
            std::future::pending::<()>().await;
        }
    }));
    Running { stop, task, gauges }
}

impl Running {
    async fn stop(self) -> Outcome {
        let _ = self.stop.send(());
        ended(self.task).await
    }
}

/// Stops workers; their players need nothing more of them, and hang up as a coordinator does.
async fn leave<const N: usize>(running: [Running; N], players: Vec<Player>) {
    // Which worker is whose is chance, so all are stopped before any is heard.
    let tasks = running.map(|running| {
        let _ = running.stop.send(());
        running.task
    });
    for mut player in players {
        player.say(ToWorker::Shutdown);
        loop {
            match player.hear().await {
                FromWorker::Draining { .. } => {}
                FromWorker::Leaving { .. } => break,
                other => panic!("{other:?}"),
            }
        }
    }
    for task in tasks {
        ended(task).await.unwrap();
    }
}

async fn ended(task: JoinHandle<Outcome>) -> Outcome {
    tokio::time::timeout(LONG, task)
        .await
        .expect("the worker does not end")
        .unwrap()
}

/// A worker in the same process that computes `definition`, and its player.
async fn embedded(
    data: &Path,
    definition: &Arc<JobDefinition>,
    memory_bytes: u64,
) -> (Running, Script) {
    let (worker, coordinator) = pair();
    let running = start(Config {
        memory_bytes,
        ..config(data, Source::Link(worker))
    });
    let player = Player::welcome(coordinator, 1, definition).await;
    (running, Script::new(definition, vec![player]))
}

#[tokio::test(flavor = "multi_thread")]
async fn one_worker_gives_the_plain_answer() {
    for (directed, consume) in [(false, false), (false, true), (true, false), (true, true)] {
        let data = tempdir().unwrap();
        let definition = definition(8, directed);
        let (running, mut script) = embedded(data.path(), &definition, 1 << 30).await;
        script.consume = consume;
        let levels = script.levels(1).await;
        assert_eq!(
            levels,
            plain_answer(&definition),
            "directed {directed}, consume {consume}"
        );
        let summary = running.stop().await.unwrap();
        let shards = script.engine.shards() as usize;
        assert_eq!(summary.tasks_done as usize, (levels.len() + 1) * shards);
        assert_eq!((summary.fetched_bytes, summary.spilled_bytes), (0, 0));
        assert!(
            !data.path().join("jobs").exists(),
            "what fits in memory touches no disk"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn little_memory_gives_the_same_answer_by_way_of_the_disk() {
    for directed in [false, true] {
        let data = tempdir().unwrap();
        let definition = definition(8, directed);
        let engine = engine(&definition);
        let dense = engine.geometry(ShardId(0)).dense_bytes();
        let sources = engine.sources(ShardId(0)).len() as u64;
        let all = dense * u64::from(engine.shards());
        // Enough for any one task, too little for the levels in flight.
        let memory = engine.table_bytes() + dense * (sources + 6);
        assert!(
            dense * (sources + 6) < 3 * all,
            "the test is of no use: three levels fit"
        );
        let (running, mut script) = embedded(data.path(), &definition, memory).await;
        let levels = script.levels(1).await;
        assert_eq!(levels, plain_answer(&definition), "directed {directed}");
        let summary = running.stop().await.unwrap();
        assert!(summary.spilled_bytes > 0);
        assert!(
            summary.resident_bytes <= memory - engine.table_bytes(),
            "{summary:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_that_cannot_fit_says_how_much_it_needs() {
    let data = tempdir().unwrap();
    let definition = definition(8, false);
    let tables = engine(&definition).table_bytes();
    let (running, mut script) = embedded(data.path(), &definition, tables + 10).await;
    let lease = script.lease(1, 0);
    script.players[0].say(lease);
    match script.players[0].hear().await {
        FromWorker::Failed {
            failure: Failure::Memory { needed, allowed },
            ..
        } => {
            assert_eq!(allowed, tables + 10);
            assert!(needed > allowed);
        }
        other => panic!("{other:?}"),
    }
    running.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_lease_is_answered_without_computing() {
    let data = tempdir().unwrap();
    let definition = definition(7, false);
    let (running, mut script) = embedded(data.path(), &definition, 1 << 30).await;
    script.level(1).await;
    let lease = script.lease(1, 2);
    script.players[0].say(lease);
    match script.players[0].hear().await {
        FromWorker::Done {
            output,
            usage,
            attempt,
            ..
        } => {
            assert_eq!(usage, Usage::default());
            assert_eq!(attempt.counter, u64::from(script.engine.shards()) + 1);
            let TaskOutput::Expanded { count, digest, .. } = output else {
                panic!("{output:?}")
            };
            assert_eq!((count, digest), script.known[&frontier_name(1, 2)]);
        }
        other => panic!("{other:?}"),
    }
    running.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_of_other_inputs_is_not_answered_from_what_was_made_of_earlier_ones() {
    let data = tempdir().unwrap();
    let definition = definition(7, false);
    let (running, mut script) = embedded(data.path(), &definition, 1 << 30).await;
    for level in 1..=3 {
        script.level(level).await;
    }
    let mut shards = 0..script.engine.shards();
    let has_states = |&shard: &u32| script.known[&frontier_name(2, shard)].0 > 0;
    let shard = shards.find(has_states).expect("level 2 has states");
    let done = running.gauges.read().tasks_done;
    let same = script.lease(3, shard);
    script.players[0].say(same);
    let (_, output, _) = script.players[0].done().await;
    let TaskOutput::Expanded { digest, .. } = output else {
        panic!("{output:?}")
    };
    assert_eq!(digest, script.known[&frontier_name(3, shard)].1);
    assert_eq!(running.gauges.read().tasks_done, done);
    // One of the inputs was taken back and made again, and is another one now.
    let mut other = script.lease(3, shard);
    let ToWorker::Lease { inputs, .. } = &mut other else {
        unreachable!("it is a lease")
    };
    let input = inputs.iter_mut().find(|input| input.count > 0).unwrap();
    input.digest = input.digest.plus(Digest(1));
    input.holders.clear();
    let again = input.name;
    script.players[0].say(other);
    match script.players[0].hear().await {
        FromWorker::Failed {
            failure: Failure::InputMissing { name, .. },
            ..
        } => assert_eq!(name, again),
        message => panic!("{message:?}"),
    }
    // What was made of the earlier ones is gone: not even the lease of before is answered from it.
    let same = script.lease(3, shard);
    script.players[0].say(same);
    let (_, output, _) = script.players[0].done().await;
    assert!(
        matches!(output, TaskOutput::Expanded { digest: made, .. } if made == digest),
        "{output:?}"
    );
    assert_eq!(running.gauges.read().tasks_done, done + 1);
    running.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn smallest_states_and_words_of_the_last_level_are_found() {
    let data = tempdir().unwrap();
    let definition = definition(7, false);
    let (running, mut script) = embedded(data.path(), &definition, 1 << 30).await;
    let levels = script.levels(1).await;
    let last = levels.len() as u32;
    let shard = levels[levels.len() - 1]
        .iter()
        .position(|(count, _)| *count > 0)
        .unwrap() as u32;
    let task = Task::Smallest {
        level: last,
        shard: ShardId(shard),
        limit: 2,
    };
    let inputs = vec![script.input(frontier_name(last, shard))];
    let attempt = script.attempt();
    script.players[0].say(ToWorker::Lease {
        job: JOB,
        task,
        attempt,
        inputs,
        consume: false,
    });
    let (_, TaskOutput::Smallest { states }, _) = script.players[0].done().await else {
        panic!()
    };
    assert!(!states.is_empty());
    let task = Task::Words {
        level: last,
        states: states.clone(),
    };
    let attempt = script.attempt();
    script.players[0].say(ToWorker::Lease {
        job: JOB,
        task,
        attempt,
        inputs: vec![],
        consume: false,
    });
    let (_, TaskOutput::Words { words }, _) = script.players[0].done().await else {
        panic!()
    };
    let puzzle = definition.spec.puzzle().expect("a graph");
    for (state, word) in states.iter().zip(words) {
        let word = word.unwrap();
        assert_eq!(word.len(), last as usize);
        let end = word.iter().fold(puzzle.roots()[0].to_vec(), |s, &g| {
            puzzle.generators()[usize::from(g)].perm.apply(&s)
        });
        assert_eq!(end[..], state[..]);
    }
    running.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_durable_survives_a_restart_and_the_run_goes_on_from_there() {
    for directed in [false, true] {
        let data = tempdir().unwrap();
        let definition = definition(8, directed);
        let plain = plain_answer(&definition);
        let (running, mut script) = embedded(data.path(), &definition, 1 << 30).await;
        let half = plain.len() as u32 / 2;
        for level in 1..=half {
            script.level(level).await;
        }
        let shards = script.engine.shards();
        let mut names: Vec<_> = (0..shards)
            .flat_map(|s| [frontier_name(half, s), frontier_name(half - 1, s)])
            .collect();
        if directed {
            names.extend((0..shards).map(|s| ArtifactName {
                kind: ArtifactKind::Visited,
                ..frontier_name(half, s)
            }));
        }
        script.players[0].persist(names.clone()).await;
        // The coordinator just hangs up: nothing is drained.
        let Script {
            known,
            holders,
            players,
            ..
        } = script;
        drop(players);
        ended(running.task).await.unwrap();

        let (running, mut script) = embedded(data.path(), &definition, 1 << 30).await;
        let registration = &script.players[0].registration;
        assert_eq!(registration.worker, Some(WorkerId(1)));
        let mut held: Vec<_> = registration.held.iter().map(|held| held.name).collect();
        held.sort_unstable();
        names.sort_unstable();
        assert_eq!(held, names);
        for held in &registration.held {
            assert_eq!(
                (held.count, held.digest, held.durable),
                (known[&held.name].0, known[&held.name].1, true)
            );
        }
        (script.known, script.holders) = (known, holders);
        assert_eq!(script.levels(half + 1).await, plain[half as usize..]);

        // Closed without keeping: the folder goes.
        script.players[0].say(ToWorker::Close {
            job: JOB,
            keep: false,
        });
        script.players[0].say(ToWorker::Shutdown);
        ended(running.task).await.unwrap();
        assert!(!data.path().join("jobs").join(JOB.to_string()).exists());
    }
}

/// Two workers of the same exchange that fetch from each other.
async fn two_workers(
    exchange: &mut Exchange,
    data: [&Path; 2],
    definition: &Arc<JobDefinition>,
) -> ([Running; 2], Script) {
    let source = || Source::Address(exchange.address.to_string());
    let first = start(config(data[0], source()));
    let second = start(config(data[1], source()));
    let mut players = Vec::new();
    for id in [1, 2] {
        players.push(Player::welcome(exchange.next().await, id, definition).await);
    }
    ([first, second], Script::new(definition, players))
}

#[tokio::test(flavor = "multi_thread")]
async fn two_workers_fetch_from_each_other() {
    for directed in [false, true] {
        let (one, two) = (tempdir().unwrap(), tempdir().unwrap());
        let definition = definition(8, directed);
        let mut exchange = Exchange::start("127.0.0.1:0".parse().unwrap()).await;
        let (running, mut script) =
            two_workers(&mut exchange, [one.path(), two.path()], &definition).await;
        script.consume = true;
        assert_eq!(script.levels(1).await, plain_answer(&definition));
        assert!(script.fetched_bytes > 0);
        let [first, second] = running;
        let fetched =
            first.gauges.fetched_bytes.load(Relaxed) + second.gauges.fetched_bytes.load(Relaxed);
        let served =
            first.gauges.served_bytes.load(Relaxed) + second.gauges.served_bytes.load(Relaxed);
        assert_eq!(script.fetched_bytes, fetched);
        assert_eq!(fetched, served);
        leave([first, second], script.players).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_input_that_nobody_gives_is_named_with_who_was_tried() {
    let data = tempdir().unwrap();
    let definition = definition(7, false);
    let (running, mut script) = embedded(data.path(), &definition, 1 << 30).await;
    script.level(1).await;
    let ToWorker::Lease {
        job,
        task,
        attempt,
        mut inputs,
        consume,
    } = script.lease(2, 0)
    else {
        unreachable!()
    };
    let name = inputs[0].name;
    // Another digest than what is held here, and peers that are not there, or serve nobody.
    inputs[0] = Input {
        digest: Digest(99),
        count: 5,
        holders: vec![
            Holder {
                worker: WorkerId(8),
                address: Some("127.0.0.1:1".into()),
            },
            Holder {
                worker: WorkerId(9),
                address: None,
            },
            Holder {
                worker: WorkerId(1),
                address: None,
            },
        ],
        ..inputs[0].clone()
    };
    script.players[0].say(ToWorker::Lease {
        job,
        task: task.clone(),
        attempt,
        inputs,
        consume,
    });
    match script.players[0].hear().await {
        FromWorker::Failed {
            task: failed,
            failure:
                Failure::InputMissing {
                    name: missing,
                    mut tried,
                    reason,
                },
            ..
        } => {
            tried.sort_unstable();
            assert_eq!((failed, missing), (task, name));
            assert_eq!(tried, [WorkerId(1), WorkerId(8), WorkerId(9)]);
            assert!(
                reason.contains("127.0.0.1:1") && reason.contains("serves nobody"),
                "{reason}"
            );
        }
        other => panic!("{other:?}"),
    }
    running.stop().await.unwrap();
}

/// The lease of a copy.
fn copy_lease(script: &mut Script, name: ArtifactName) -> ToWorker {
    let ArtifactName {
        job,
        level,
        shard,
        kind,
    } = name;
    ToWorker::Lease {
        job,
        task: Task::Copy { kind, level, shard },
        attempt: script.attempt(),
        inputs: vec![script.input(name)],
        consume: false,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn copies_are_durable_and_are_held_as_its_own_from_then_on() {
    for directed in [false, true] {
        let (one, two) = (tempdir().unwrap(), tempdir().unwrap());
        let definition = definition(8, directed);
        let mut exchange = Exchange::start("127.0.0.1:0".parse().unwrap()).await;
        let (running, mut script) =
            two_workers(&mut exchange, [one.path(), two.path()], &definition).await;
        for level in 1..=6 {
            script.level(level).await;
        }
        // Everything of the last level, own and foreign, is to be at the second worker.
        let names: Vec<ArtifactName> = script
            .known
            .iter()
            .filter(|(name, (count, _))| name.level == 6 && *count > 0)
            .map(|(name, _)| *name)
            .collect();
        assert!(names.iter().any(|name| script.holders[name] == [0]));
        assert!(names.iter().any(|name| script.holders[name] == [1]));
        for &name in &names {
            let lease = copy_lease(&mut script, name);
            script.players[1].say(lease);
        }
        for _ in &names {
            let (task, output, _) = script.players[1].done().await;
            assert!(matches!(task, Task::Copy { .. }));
            assert_eq!(output, TaskOutput::Copied);
        }
        // Neither level 0 nor an empty set needs a disk.
        let root = frontier_name(0, 0);
        script.known.insert(root, (1, Digest(1)));
        let lease = copy_lease(&mut script, root);
        script.players[1].say(lease);
        assert_eq!(script.players[1].done().await.1, TaskOutput::Copied);
        // It ends without any word: what it answered is on its disk.
        let Script { known, players, .. } = script;
        let [first, second] = running;
        first.task.abort();
        second.task.abort();
        let _ = (first.task.await, second.task.await);
        drop(players);
        // Who registered first is chance.
        let copies = [&one, &two]
            .into_iter()
            .find(|d| d.path().join("jobs").exists());
        let copies = copies.expect("copies on a disk").path();
        loop {
            // The threads of the aborted worker let go of the folder a little later.
            let running = start(config(
                copies,
                Source::Address(exchange.address.to_string()),
            ));
            let next = tokio::time::timeout(Duration::from_secs(2), exchange.links.recv()).await;
            if let Ok(Some(link)) = next {
                let mut player = Player::welcome(link, 2, &definition).await;
                player.persist(vec![frontier_name(0, 0)]).await;
                let held: Vec<_> = player
                    .registration
                    .held
                    .iter()
                    .filter(|held| held.durable)
                    .map(|held| (held.name, (held.count, held.digest)))
                    .collect();
                let wanted: Vec<_> = names.iter().map(|name| (*name, known[name])).collect();
                assert_eq!(held, wanted, "directed {directed}");
                leave([running], vec![player]).await;
                break;
            }
            running.task.abort();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn distances_are_packed_from_all_levels_kept_and_looked_up() {
    let (one, two) = (tempdir().unwrap(), tempdir().unwrap());
    let definition = definition(8, false);
    let mut exchange = Exchange::start("127.0.0.1:0".parse().unwrap()).await;
    let (running, mut script) =
        two_workers(&mut exchange, [one.path(), two.path()], &definition).await;
    let last = script.levels(1).await.len() as u32;
    let engine = script.engine.clone();
    let shards = engine.shards();
    let tested = |shard: u32| ArtifactName {
        job: JOB,
        level: last,
        shard: ShardId(shard),
        kind: ArtifactKind::Distances,
    };
    // Shards of both workers at the second one: own levels and fetched ones.
    for shard in 0..shards {
        let task = Task::Pack {
            last,
            shard: ShardId(shard),
        };
        let names = (1..=last).map(|level| frontier_name(level, shard));
        let inputs: Vec<Input> = names.map(|name| script.input(name)).collect();
        let lease = ToWorker::Lease {
            job: JOB,
            task,
            attempt: script.attempt(),
            inputs,
            consume: false,
        };
        script.players[1].say(lease);
    }
    for _ in 0..shards {
        let (task, output, _) = script.players[1].done().await;
        let (Task::Pack { shard, .. }, TaskOutput::Packed { count, digest }) = (task, output)
        else {
            panic!("no packed distances");
        };
        let roots = engine.roots(shard);
        let levels =
            (1..=last).map(|level| (level, script.known[&frontier_name(level, shard.0)].1));
        let levels = levels.chain([(0, engine.digest(shard, &roots))]);
        let expected = antipode_solver_core::distance::expected_digest(levels);
        assert_eq!((count, digest), (engine.geometry(shard).states, expected));
        script.known.insert(tested(shard.0), (count, digest));
        script.holders.insert(tested(shard.0), vec![1]);
    }
    // Asked again it answers from what it has; another worker gets a copy of one.
    let again = Task::Pack {
        last,
        shard: ShardId(0),
    };
    let names = (1..=last).map(|level| frontier_name(level, 0));
    let inputs = names.map(|name| script.input(name)).collect();
    let attempt = script.attempt();
    script.players[1].say(ToWorker::Lease {
        job: JOB,
        task: again,
        attempt,
        inputs,
        consume: false,
    });
    assert!(matches!(
        script.players[1].done().await.1,
        TaskOutput::Packed { .. }
    ));
    let lease = copy_lease(&mut script, tested(0));
    script.players[0].say(lease);
    assert_eq!(script.players[0].done().await.1, TaskOutput::Copied);

    // The job is over; its levels and distances stay on disk and are asked for.
    for player in &script.players {
        player.say(ToWorker::Close {
            job: JOB,
            keep: true,
        });
    }
    let fetcher = antipode_proto::data::Fetcher::default();
    for (shard, holder) in (0..shards).map(|shard| (shard, 1)).chain([(0, 0)]) {
        let address = script.players[holder].registration.address.clone().unwrap();
        let (count, digest) = script.known[&tested(shard)];
        let payload = fetcher
            .fetch(&address, tested(shard), digest, 1 << 20)
            .await
            .unwrap();
        let geometry = engine.geometry(ShardId(shard));
        let distances =
            antipode_solver_core::distance::PackedDistances::decode(geometry, &payload.bytes)
                .unwrap();
        assert_eq!((payload.count, payload.encoding.as_str()), (count, "plain"));
        let positions: Vec<u32> = (0..geometry.blocks * geometry.words * 64).collect();
        let values = fetcher
            .look_up(&address, tested(shard), digest, &positions)
            .await
            .unwrap();
        for (&position, value) in positions.iter().zip(values) {
            let expected = distances.get(position);
            assert_eq!(expected.unwrap_or(antipode_proto::data::NO_STATE), value);
        }
    }
    // Once they are in memory a question costs no more than the way to the worker.
    let address = script.players[1].registration.address.clone().unwrap();
    let (_, digest) = script.known[&tested(0)];
    let times = 2000;
    let start = std::time::Instant::now();
    for _ in 0..times {
        let some = fetcher.look_up(&address, tested(0), digest, &[1, 2, 3]);
        assert_eq!(some.await.map(|values| values.len()), Ok(3));
    }
    let each = start.elapsed() / times;
    println!("{each:?} a look-up");
    assert!(each < Duration::from_millis(2), "{each:?} a look-up");
    let wrong = fetcher.look_up(&address, tested(0), Digest(1), &[1]).await;
    assert!(wrong.is_err());
    let set = fetcher.look_up(
        &address,
        frontier_name(2, 0),
        script.known[&frontier_name(2, 0)].1,
        &[1],
    );
    assert!(set.await.is_err(), "a set has no distances");
    leave(running, script.players).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_without_a_coordinator_stores_what_it_made_before_it_ends() {
    let data = tempdir().unwrap();
    let definition = definition(8, false);
    let mut exchange = Exchange::start("127.0.0.1:0".parse().unwrap()).await;
    let address = exchange.address;
    let running = start(config(data.path(), Source::Address(address.to_string())));
    let player = Player::welcome(exchange.next().await, 4, &definition).await;
    let mut script = Script::new(&definition, vec![player]);
    for level in 1..=4 {
        script.level(level).await;
    }
    let Script { known, players, .. } = script;
    drop(players);
    exchange.stop().await;
    running.stop().await.unwrap();
    let mut exchange = Exchange::start(address).await;
    let running = start(config(data.path(), Source::Address(address.to_string())));
    let mut player = Player::welcome(exchange.next().await, 4, &definition).await;
    player.persist(vec![frontier_name(0, 0)]).await;
    let held: BTreeMap<_, _> = player
        .registration
        .held
        .iter()
        .filter(|held| held.durable)
        .map(|held| (held.name, (held.count, held.digest)))
        .collect();
    assert_eq!(held, known);
    leave([running], vec![player]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_died_says_at_its_next_start_what_was_at_work() {
    let data = tempdir().unwrap();
    let definition = definition(7, false);
    // The process before this one, with a task at work.
    let task = Task::Expand {
        level: 3,
        shard: ShardId(1),
    };
    let mut journal = Journal::start(data.path());
    journal.begin(crate::session::LeaseId(0), JOB, &task);
    drop(journal);
    crate::note_end(data.path(), std::process::id(), crate::End::Signal(11)).unwrap();
    let mut exchange = Exchange::start("127.0.0.1:0".parse().unwrap()).await;
    let running = start(config(
        data.path(),
        Source::Address(exchange.address.to_string()),
    ));
    // A connection that breaks before the welcome: nobody has heard it.
    let mut link = exchange.next().await;
    let first = link.receive.recv().await;
    assert!(matches!(first, Some(FromWorker::Register { .. })));
    drop(link);
    let player = Player::welcome(exchange.next().await, 4, &definition).await;
    let ended = player.registration.ended.clone().expect("how it ended");
    assert_eq!(ended.cause, Cause::Signal(11));
    assert_eq!(ended.running, [(JOB, task)]);
    let mut script = Script::new(&definition, vec![player]);
    script.level(1).await;
    drop(script);
    let player = Player::welcome(exchange.next().await, 4, &definition).await;
    assert_eq!(player.registration.ended, None, "it was said");
    leave([running], vec![player]).await;
    // A clean end is none to speak of.
    assert_eq!(Journal::start(data.path()).unsaid(), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_coordinator_that_says_nothing_does_not_hold_it_beyond_the_grace_time() {
    let data = tempdir().unwrap();
    let definition = definition(8, false);
    let mut exchange = Exchange::start("127.0.0.1:0".parse().unwrap()).await;
    let grace = Duration::from_millis(600);
    let running = start(Config {
        grace,
        ..config(data.path(), Source::Address(exchange.address.to_string()))
    });
    let player = Player::welcome(exchange.next().await, 4, &definition).await;
    let mut script = Script::new(&definition, vec![player]);
    script.level(1).await;
    let asked = std::time::Instant::now();
    let _ = running.stop.send(());
    let player = &mut script.players[0];
    assert!(matches!(player.hear().await, FromWorker::Draining { .. }));
    let mut durable = 0;
    loop {
        match player.hear().await {
            FromWorker::Durable { names, .. } => durable += names.len(),
            FromWorker::Leaving { .. } => break,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(durable, script.known.len());
    drop(script);
    ended(running.task).await.unwrap();
    assert!(asked.elapsed() >= grace / 2 && asked.elapsed() < LONG / 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_peer_that_sends_something_wrong_is_passed_over() {
    use antipode_proto::data::{ArtifactSource, LookingUp, Opening, Payload, data_server};
    struct Liar;
    impl ArtifactSource for Liar {
        fn open(&self, _: ArtifactName, digest: Digest, _near: bool) -> Opening {
            // A well-formed frontier of another set, under the digest that was asked for.
            let bytes = [&[1u8][..], &3u32.to_le_bytes()].concat().into();
            let payload = Payload {
                digest,
                count: 1,
                encoding: "plain".into(),
                bytes,
            };
            Box::pin(async move { Ok(payload) })
        }

        fn look_up(&self, _: ArtifactName, _: Digest, positions: Vec<u32>) -> LookingUp {
            Box::pin(async move { Ok(vec![7; positions.len()]) })
        }
    }
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let liar = Holder {
        worker: WorkerId(3),
        address: Some(listener.local_addr().unwrap().to_string()),
    };
    tokio::spawn(
        tonic::transport::Server::builder()
            .add_service(data_server(Arc::new(Liar)))
            .serve_with_incoming(tonic::transport::server::TcpIncoming::from(listener)),
    );

    let (one, two) = (tempdir().unwrap(), tempdir().unwrap());
    let definition = definition(7, false);
    let mut exchange = Exchange::start("127.0.0.1:0".parse().unwrap()).await;
    let (running, mut script) =
        two_workers(&mut exchange, [one.path(), two.path()], &definition).await;
    let plain = plain_answer(&definition);
    assert_eq!(script.level(1).await, plain[0]);
    // Every input of level 2 is offered by the liar first: by itself it makes a task fail ...
    let shard = (0..script.engine.shards())
        .find(|s| {
            script
                .engine
                .sources(ShardId(*s))
                .iter()
                .any(|t| script.known[&frontier_name(1, t.0)].0 == 1 && t.0 % 2 != s % 2)
        })
        .expect("a shard with a one-state source at the other worker");
    let k = script.player_of(shard);
    let lease = |script: &mut Script, only: bool| {
        let ToWorker::Lease {
            job,
            task,
            attempt,
            mut inputs,
            consume,
        } = script.lease(2, shard)
        else {
            unreachable!()
        };
        for input in &mut inputs {
            if only {
                input.holders.clear();
            }
            // The load is spread by shard, so the liar must stand at every place.
            input.holders.insert(0, liar.clone());
            input.holders.push(liar.clone());
        }
        ToWorker::Lease {
            job,
            task,
            attempt,
            inputs,
            consume,
        }
    };
    let bad = lease(&mut script, true);
    script.players[k].say(bad);
    match script.players[k].hear().await {
        FromWorker::Failed {
            failure: Failure::InputMissing { reason, tried, .. },
            ..
        } => {
            assert!(reason.contains("digest"), "{reason}");
            assert!(tried.contains(&WorkerId(3)));
        }
        other => panic!("{other:?}"),
    }
    // ... and beside an honest holder it does no harm.
    let good = lease(&mut script, false);
    script.players[k].say(good);
    let (task, output, _) = script.players[k].done().await;
    script.record(k, &task, &output);
    assert_eq!(
        script.known[&frontier_name(2, shard)],
        plain[1][shard as usize]
    );
    leave(running, script.players).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_outlives_its_coordinator() {
    let data = tempdir().unwrap();
    let definition = definition(8, false);
    let plain = plain_answer(&definition);
    let mut exchange = Exchange::start("127.0.0.1:0".parse().unwrap()).await;
    let address = exchange.address;
    let running = start(config(data.path(), Source::Address(address.to_string())));
    let player = Player::welcome(exchange.next().await, 4, &definition).await;
    let mut script = Script::new(&definition, vec![player]);
    for level in 1..=5 {
        script.level(level).await;
    }
    // The coordinator dies and comes back at the same address, remembering nothing of the session.
    let Script {
        known,
        holders,
        players,
        ..
    } = script;
    drop(players);
    exchange.stop().await;
    let mut exchange = Exchange::start(address).await;
    let player = Player::welcome(exchange.next().await, 4, &definition).await;
    assert_eq!(player.registration.worker, Some(WorkerId(4)));
    let held: Vec<_> = player
        .registration
        .held
        .iter()
        .map(|held| (held.name, (held.count, held.digest)))
        .collect();
    assert_eq!(
        held,
        known.clone().into_iter().collect::<Vec<_>>(),
        "it kept everything"
    );
    let mut script = Script::new(&definition, vec![player]);
    (script.known, script.holders) = (known, holders);
    assert_eq!(script.levels(6).await, plain[5..]);
    leave([running], script.players).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_result_is_reported_by_a_worker_that_lost_its_coordinator_meanwhile() {
    let data = tempdir().unwrap();
    let definition = definition(7, false);
    let (hold, held) = std::sync::mpsc::channel::<()>();
    let held = std::sync::Mutex::new(held);
    // The index is loaded only when the test says so: the lease waits for it.
    let inner = loader();
    let slow: Loader = Arc::new(move |definition, announcer| {
        let _ = held.lock().unwrap().recv();
        inner(definition, announcer)
    });
    let mut exchange = Exchange::start("127.0.0.1:0".parse().unwrap()).await;
    let address = exchange.address;
    let running = start_with(
        config(data.path(), Source::Address(address.to_string())),
        slow,
    );
    let player = Player::welcome(exchange.next().await, 4, &definition).await;
    let mut script = Script::new(&definition, vec![player]);
    let lease = script.lease(1, 0);
    script.players[0].say(lease);
    // Being heard is shown by the answer to what was said after it.
    let (job, task) = (
        antipode_ids::JobId(99),
        Task::Words {
            level: 1,
            states: vec![],
        },
    );
    let (attempt, inputs) = (script.attempt(), vec![]);
    script.players[0].say(ToWorker::Lease {
        job,
        task,
        attempt,
        inputs,
        consume: false,
    });
    assert!(matches!(
        script.players[0].hear().await,
        FromWorker::Failed { .. }
    ));
    drop(script);
    exchange.stop().await;
    hold.send(()).unwrap();
    while running.gauges.tasks_done.load(Relaxed) == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let mut exchange = Exchange::start(address).await;
    let mut player = Player::welcome(exchange.next().await, 4, &definition).await;
    assert_eq!(player.registration.running, []);
    let (task, ..) = player.done().await;
    assert_eq!(
        task,
        Task::Expand {
            level: 1,
            shard: ShardId(0)
        }
    );
    leave([running], vec![player]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_that_cannot_be_loaded_is_a_failure_not_an_end() {
    let data = tempdir().unwrap();
    let definition = definition(7, false);
    let (worker, coordinator) = pair();
    let broken: Loader = Arc::new(|_, _| Err(EngineError::Input("no such index".into())));
    let running = start_with(config(data.path(), Source::Link(worker)), broken);
    let player = Player::welcome(coordinator, 1, &definition).await;
    let mut script = Script::new(&definition, vec![player]);
    let lease = script.lease(1, 0);
    script.players[0].say(lease);
    match script.players[0].hear().await {
        FromWorker::Failed {
            failure: Failure::Other(reason),
            ..
        } => assert!(reason.contains("no such index")),
        other => panic!("{other:?}"),
    }
    running.stop().await.unwrap();
}

fn no_link() -> (Source, antipode_proto::link::CoordinatorLink) {
    let (worker, coordinator): (WorkerLink, _) = pair();
    (Source::Link(worker), coordinator)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_in_use_names_the_process() {
    let data = tempdir().unwrap();
    let (source, coordinator) = no_link();
    let running = start(config(data.path(), source));
    let _player = Player::welcome(coordinator, 1, &definition(6, false)).await;
    let (source, _coordinator) = no_link();
    let refused = run_with(
        config(data.path(), source),
        loader(),
        std::future::pending(),
    )
    .await;
    let text = refused.unwrap_err().to_string();
    assert!(
        text.contains(&format!("process {}", std::process::id())),
        "{text}"
    );
    running.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_starts_are_refused_before_anybody_hears_of_the_worker() {
    let data = tempdir().unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let file = data.path().join("file");
    std::fs::write(&file, "x").unwrap();
    let remote = || Source::Address("192.0.2.1:7700".into());
    type Change = Box<dyn FnOnce(Config) -> Config>;
    let cases: Vec<(Change, &str)> = vec![
        (
            Box::new(move |c| Config {
                listen: Some(address),
                ..c
            }),
            "is in use by another process",
        ),
        (
            Box::new(|c| Config {
                listen: Some("0.0.0.0:0".parse().unwrap()),
                ..c
            }),
            "not a loopback address",
        ),
        (
            Box::new(|c| Config {
                listen: Some("0.0.0.0:0".parse().unwrap()),
                insecure: true,
                ..c
            }),
            "--advertise",
        ),
        (
            Box::new(move |c| Config {
                coordinator: remote(),
                ..c
            }),
            "not a loopback address",
        ),
        (
            Box::new(move |c| Config {
                coordinator: Source::Address("192.0.2.1:1".into()),
                insecure: true,
                ..c
            }),
            "--listen",
        ),
        (
            Box::new(|c| Config {
                data: "/proc/nothing/here".into(),
                ..c
            }),
            "cannot write to /proc/nothing/here",
        ),
        (
            Box::new(move |c| Config { data: file, ..c }),
            "cannot write to",
        ),
    ];
    for (change, expected) in cases {
        let (source, mut coordinator) = no_link();
        let refused = run_with(
            change(config(data.path(), source)),
            loader(),
            std::future::pending(),
        )
        .await;
        let text = refused.unwrap_err().to_string();
        assert!(text.contains(expected), "'{text}' instead of '{expected}'");
        assert_eq!(coordinator.receive.recv().await, None);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn another_cluster_is_refused_by_name() {
    let data = tempdir().unwrap();
    let definition = definition(6, false);
    let (running, mut script) = embedded(data.path(), &definition, 1 << 30).await;
    script.level(1).await;
    running.stop().await.unwrap();
    let (source, coordinator) = no_link();
    let running = start(config(data.path(), source));
    let mut coordinator = coordinator;
    let registered = coordinator.receive.recv().await;
    assert!(
        matches!(registered, Some(FromWorker::Register { cluster: Some(ref name), .. }) if name == "cluster")
    );
    let (heartbeat, lease) = (Duration::from_secs(1), Duration::from_secs(9));
    let welcome = ToWorker::Welcome {
        worker: WorkerId(1),
        cluster: "elsewhere".into(),
        heartbeat,
        lease,
    };
    coordinator.send.send(welcome).unwrap();
    let text = ended(running.task).await.unwrap_err().to_string();
    assert!(
        text.contains("cluster cluster") && text.contains("cluster elsewhere"),
        "{text}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_was_not_opened_is_a_failure() {
    let data = tempdir().unwrap();
    let (running, mut script) = embedded(data.path(), &definition(6, false), 1 << 30).await;
    let (job, task) = (
        antipode_ids::JobId(99),
        Task::Expand {
            level: 1,
            shard: ShardId(0),
        },
    );
    let attempt = Attempt {
        epoch: 1,
        counter: 1,
    };
    script.players[0].say(ToWorker::Lease {
        job,
        task,
        attempt,
        inputs: vec![],
        consume: false,
    });
    assert!(
        matches!(script.players[0].hear().await, FromWorker::Failed { job: failed, .. } if failed == job)
    );
    running.stop().await.unwrap();
}

#[test]
fn a_kernel_is_found_for_every_processor() {
    assert_eq!(KernelChoice::Portable.resolve().unwrap(), "portable");
    assert!(["portable", "avx2", "avx512"].contains(&KernelChoice::Auto.resolve().unwrap()));
}
