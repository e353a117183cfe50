use super::*;
use crate::testing::{JOB, definition, frontier_name};
use antipode_proto::message::ArtifactKind;
use antipode_solver_core::engine::{Certificate, Digest, OnDevice};

const HEARTBEAT: Duration = Duration::from_secs(1);
const LEASE: Duration = Duration::from_secs(10);

struct Play {
    session: Session,
    now: Instant,
    disk_full: bool,
}

impl Play {
    /// A worker that is registered and has a job open.
    fn begun() -> Play {
        Play::begun_with_grace(None)
    }

    fn begun_with_grace(grace: Option<Duration>) -> Play {
        let mut play = Play::with_grace(grace);
        play.connect();
        play.open();
        play
    }

    fn new() -> Play {
        Play::with(None, 1)
    }

    fn with_grace(grace: Option<Duration>) -> Play {
        Play::with(grace, 1)
    }

    fn with(grace: Option<Duration>, lanes: usize) -> Play {
        let now = Instant::now();
        Play {
            session: Session::new(now, grace, lanes),
            now,
            disk_full: false,
        }
    }

    fn step(&mut self, event: Event) -> Vec<Action> {
        self.session.step(self.now, event)
    }

    fn connect(&mut self) -> Vec<Action> {
        let mut actions = self.step(Event::Connected);
        let welcome = ToWorker::Welcome {
            worker: WorkerId(5),
            cluster: "c".into(),
            heartbeat: HEARTBEAT,
            lease: LEASE,
        };
        actions.extend(self.step(Event::Message(welcome)));
        actions
    }

    fn open(&mut self) {
        let opened = self.step(Event::Message(ToWorker::Open {
            job: JOB,
            definition: definition(6, false),
        }));
        assert!(
            matches!(opened[..], [Action::Load { job: JOB, .. }]),
            "{opened:?}"
        );
        assert_eq!(
            self.step(Event::Loaded {
                job: JOB,
                result: Ok(())
            }),
            vec![]
        );
    }

    fn lease(&mut self, level: Level, shard: u32, counter: u64) -> Vec<Action> {
        self.step(leased(level, shard, counter))
    }

    fn computed(&mut self, lease: LeaseId) -> Vec<Action> {
        self.step(Event::Computed {
            lease,
            result: Ok(output()),
            usage: usage(),
            lost: vec![],
        })
    }

    fn tick(&mut self, after: Duration) -> Vec<Action> {
        self.now += after;
        self.step(Event::Tick {
            memory_bytes: 1,
            peak_memory_bytes: 2,
            disk: DiskUse {
                full: self.disk_full,
                ..DiskUse::default()
            },
        })
    }
}

fn task(level: Level, shard: u32) -> Task {
    Task::Expand {
        level,
        shard: ShardId(shard),
    }
}

fn attempt(counter: u64) -> Attempt {
    Attempt { epoch: 1, counter }
}

fn leased(level: Level, shard: u32, counter: u64) -> Event {
    let inputs = vec![Input {
        name: frontier_name(level - 1, shard),
        digest: Digest(1),
        count: 1,
        holders: vec![],
    }];
    let (task, attempt) = (task(level, shard), attempt(counter));
    Event::Leased {
        job: JOB,
        task,
        attempt,
        inputs,
        consume: false,
        known: None,
    }
}

fn usage() -> Usage {
    Usage {
        engine_time: Duration::from_millis(3),
        fetched_bytes: 9,
        on_device: Some(OnDevice { uploaded_bytes: 8 }),
    }
}

fn output() -> TaskOutput {
    TaskOutput::Expanded {
        count: 1,
        digest: Digest(2),
        certificate: Certificate::default(),
    }
}

/// The leases that are to be prepared, with their shards.
fn prepared(actions: &[Action]) -> Vec<(LeaseId, u32)> {
    actions
        .iter()
        .filter_map(|action| match action {
            Action::Prepare {
                lease,
                task: Task::Expand { shard, .. } | Task::Item { item: shard },
                ..
            } => Some((*lease, shard.0)),
            _ => None,
        })
        .collect()
}

fn computing(actions: &[Action]) -> Vec<LeaseId> {
    let lease = |action: &Action| match action {
        Action::Compute { lease } => Some(*lease),
        _ => None,
    };
    actions.iter().filter_map(lease).collect()
}

fn said(actions: &[Action]) -> Vec<&FromWorker> {
    let mut messages = Vec::new();
    for action in actions {
        if let Action::Send(message) = action {
            messages.push(message);
        }
    }
    messages
}

#[test]
fn a_lease_is_prepared_computed_and_reported() {
    let mut play = Play::begun();
    let actions = play.lease(2, 0, 1);
    let [(lease, 0)] = prepared(&actions)[..] else {
        panic!("{actions:?}")
    };
    assert_eq!(
        play.step(Event::Prepared { lease }),
        vec![Action::Compute { lease }]
    );
    let actions = play.computed(lease);
    let done = FromWorker::Done {
        job: JOB,
        task: task(2, 0),
        attempt: attempt(1),
        output: output(),
        usage: usage(),
    };
    assert_eq!(actions, vec![Action::Send(done)]);
}

#[test]
fn the_lowest_level_goes_first_and_only_a_few_are_prepared_ahead() {
    let mut play = Play::begun();
    let mut begun = Vec::new();
    for (k, (level, shard)) in [(3, 0), (3, 1), (3, 2), (3, 3), (3, 4), (2, 9), (2, 5)]
        .into_iter()
        .enumerate()
    {
        begun.extend(prepared(&play.lease(level, shard, k as u64)));
    }
    // The first four were begun as they came; no more than that are prepared at once.
    assert_eq!(
        begun.iter().map(|(_, shard)| *shard).collect::<Vec<_>>(),
        [0, 1, 2, 3]
    );
    let mut actions = play.step(Event::Prepared { lease: begun[2].0 });
    assert_eq!(computing(&actions), [begun[2].0]);
    // A place is free: now the lowest level, then the lowest shard.
    assert_eq!(
        prepared(&actions).iter().map(|p| p.1).collect::<Vec<_>>(),
        [5]
    );
    let next = prepared(&actions)[0].0;
    play.step(Event::Prepared { lease: begun[1].0 });
    play.step(Event::Prepared { lease: begun[0].0 });
    play.step(Event::Prepared { lease: next });
    actions = play.computed(begun[2].0);
    assert_eq!(computing(&actions), [next], "level 2 goes before level 3");
}

#[test]
fn what_is_crowded_out_is_tried_again_when_memory_is_free_and_alone_at_last() {
    let mut play = Play::begun();
    let first = prepared(&play.lease(2, 0, 1))[0].0;
    let second = prepared(&play.lease(2, 1, 2))[0].0;
    play.step(Event::Prepared { lease: first });
    assert_eq!(play.step(Event::Crowded { lease: second }), vec![]);
    assert_eq!(prepared(&play.lease(2, 2, 3)), [], "nobody overtakes it");
    let actions = play.computed(first);
    assert_eq!(prepared(&actions)[0], (second, 1));
    let alone = |actions: &[Action]| {
        actions
            .iter()
            .any(|action| matches!(action, Action::Prepare { alone: true, .. }))
    };
    assert!(alone(&actions), "{actions:?}");
}

#[test]
fn a_newer_attempt_of_the_same_task_takes_over() {
    let mut play = Play::begun();
    let lease = prepared(&play.lease(2, 0, 1))[0].0;
    play.step(Event::Prepared { lease });
    assert_eq!(play.lease(2, 0, 4), vec![]);
    assert_eq!(
        play.lease(2, 0, 3),
        vec![],
        "an old one that comes late changes nothing"
    );
    let actions = play.computed(lease);
    assert!(
        matches!(
            said(&actions)[..],
            [FromWorker::Done {
                attempt: Attempt { counter: 4, .. },
                ..
            }]
        ),
        "{actions:?}"
    );
}

#[test]
fn what_is_known_is_answered_at_once() {
    let mut play = Play::begun();
    let Event::Leased {
        job,
        task,
        attempt,
        inputs,
        consume,
        ..
    } = leased(2, 0, 8)
    else {
        unreachable!()
    };
    let known = Some(output());
    let actions = play.step(Event::Leased {
        job,
        task,
        attempt,
        inputs,
        consume,
        known,
    });
    assert!(matches!(
        said(&actions)[..],
        [FromWorker::Done {
            attempt: Attempt { counter: 8, .. },
            ..
        }]
    ));
    assert_eq!(prepared(&actions), []);
}

#[test]
fn what_is_done_while_the_coordinator_is_away_is_said_after_the_welcome() {
    let mut play = Play::begun();
    let lease = prepared(&play.lease(2, 0, 1))[0].0;
    play.lease(2, 1, 2);
    play.step(Event::Prepared { lease });
    play.step(Event::Disconnected);
    assert_eq!(play.computed(lease), vec![]);
    let actions = play.connect();
    let Action::Register { running } = &actions[0] else {
        panic!("{actions:?}")
    };
    assert_eq!(*running, [(JOB, task(2, 1), attempt(2))]);
    assert!(
        matches!(said(&actions)[..], [FromWorker::Done { .. }]),
        "{actions:?}"
    );
    // The job need not be loaded again.
    let opened = Event::Message(ToWorker::Open {
        job: JOB,
        definition: definition(6, false),
    });
    assert_eq!(play.step(opened), vec![]);
}

#[test]
fn without_contact_nothing_is_started_once_the_lease_time_is_over() {
    let mut play = Play::begun();
    let lease = prepared(&play.lease(2, 0, 1))[0].0;
    play.step(Event::Disconnected);
    play.tick(LEASE / 2);
    assert_eq!(
        computing(&play.step(Event::Prepared { lease })),
        [lease],
        "the lease still holds"
    );
    let other = prepared(&play.lease(2, 1, 2))[0].0;
    play.tick(LEASE / 2);
    assert_eq!(play.step(Event::Prepared { lease: other }), vec![]);
    assert_eq!(
        computing(&play.connect()),
        [other],
        "the coordinator is back"
    );
}

#[test]
fn after_a_standstill_the_coordinator_may_speak_first() {
    let mut play = Play::begun();
    let lease = prepared(&play.lease(2, 0, 1))[0].0;
    play.now += LEASE;
    assert_eq!(
        play.step(Event::Prepared { lease }),
        vec![],
        "the process stood still for a lease time"
    );
    let revoke = ToWorker::Revoke {
        attempts: vec![attempt(1)],
    };
    assert_eq!(
        play.step(Event::Message(revoke)),
        vec![Action::Forget { lease }]
    );
    let again = play.lease(2, 1, 2);
    assert_eq!(again, vec![]);
    let actions = play.tick(HEARTBEAT);
    assert_eq!(
        prepared(&actions).len(),
        1,
        "after a heartbeat it goes on: {actions:?}"
    );
}

#[test]
fn what_runs_is_not_revoked_and_a_closed_job_is_forgotten() {
    let mut play = Play::begun();
    let lease = prepared(&play.lease(2, 0, 1))[0].0;
    play.step(Event::Prepared { lease });
    let waiting = prepared(&play.lease(2, 1, 2))[0].0;
    let revoke = ToWorker::Revoke {
        attempts: vec![attempt(1), attempt(2)],
    };
    assert_eq!(
        play.step(Event::Message(revoke)),
        vec![Action::Forget { lease: waiting }]
    );
    let close = play.step(Event::Message(ToWorker::Close {
        job: JOB,
        keep: false,
    }));
    assert_eq!(
        close,
        vec![
            Action::Stop { lease },
            Action::Close {
                job: JOB,
                keep: false
            }
        ]
    );
    assert_eq!(
        play.computed(lease),
        vec![],
        "nobody wants the result any more"
    );
    let actions = play.lease(2, 2, 3);
    assert!(
        matches!(said(&actions)[..], [FromWorker::Failed { .. }]),
        "{actions:?}"
    );
}

#[test]
fn an_item_that_nobody_wants_is_stopped_while_it_runs() {
    let mut play = Play::begun();
    let item = |number| ToWorker::Lease {
        job: JOB,
        task: Task::Item {
            item: ShardId(number),
        },
        attempt: attempt(u64::from(number)),
        inputs: Vec::new(),
        consume: false,
    };
    let lease = prepared(&play.step(Event::Message(item(1))))[0].0;
    play.step(Event::Prepared { lease });
    let revoke = ToWorker::Revoke {
        attempts: vec![attempt(1)],
    };
    let actions = play.step(Event::Message(revoke));
    assert_eq!(actions, vec![Action::Stop { lease }]);
    assert_eq!(play.computed(lease), vec![], "nobody is told");
    // The same item may be leased again at once.
    let again = play.step(Event::Message(item(1)));
    assert_eq!(prepared(&again).len(), 1, "{again:?}");
}

#[test]
fn an_index_that_cannot_be_loaded_fails_its_leases() {
    let mut play = Play::new();
    play.connect();
    let definition = definition(6, false);
    play.step(Event::Message(ToWorker::Open {
        job: JOB,
        definition,
    }));
    assert_eq!(play.lease(2, 0, 1), vec![], "it waits for the engine");
    let failure = Failure::Other("damaged".into());
    let actions = play.step(Event::Loaded {
        job: JOB,
        result: Err(failure.clone()),
    });
    let failed = |counter, shard| {
        let (job, task, attempt) = (JOB, task(2, shard), attempt(counter));
        Action::Send(FromWorker::Failed {
            job,
            task,
            attempt,
            failure: failure.clone(),
        })
    };
    assert_eq!(actions, vec![failed(1, 0)]);
    assert_eq!(play.lease(2, 1, 2), vec![failed(2, 1)]);
}

#[test]
fn a_failed_task_tells_what_it_used_up() {
    let mut play = Play::begun();
    let lease = prepared(&play.lease(2, 0, 1))[0].0;
    play.step(Event::Prepared { lease });
    let lost = vec![frontier_name(1, 0)];
    let failure = Failure::Violated("law".into());
    let result = Err(failure);
    let actions = play.step(Event::Computed {
        lease,
        result,
        usage: Usage::default(),
        lost,
    });
    assert!(
        matches!(
            said(&actions)[..],
            [FromWorker::Failed { .. }, FromWorker::Lost { .. }]
        ),
        "{actions:?}"
    );
}

#[test]
fn heartbeats_come_as_often_as_they_are_wanted() {
    let mut play = Play::begun();
    let beats = (0..40)
        .filter(|_| !play.tick(Duration::from_millis(100)).is_empty())
        .count();
    assert_eq!(beats, 4);
}

#[test]
fn draining_finishes_what_runs_and_says_that_it_leaves() {
    let mut play = Play::begun();
    let lease = prepared(&play.lease(2, 0, 1))[0].0;
    let waiting = prepared(&play.lease(2, 1, 2))[0].0;
    play.step(Event::Prepared { lease });
    assert_eq!(play.step(Event::Drain), vec![]);
    assert_eq!(
        play.step(Event::Prepared { lease: waiting }),
        vec![],
        "nothing new is begun"
    );
    let actions = play.computed(lease);
    assert!(
        matches!(
            actions[..],
            [
                Action::Send(FromWorker::Done { .. }),
                Action::Forget { .. },
                Action::Send(FromWorker::Leaving { .. }),
                Action::Exit(Exit::Done)
            ]
        ),
        "{actions:?}"
    );
    assert_eq!(play.tick(HEARTBEAT), vec![], "and then it is silent");
}

const GRACE: Duration = Duration::from_secs(30);

fn copy_task(level: Level, shard: u32) -> Task {
    let shard = ShardId(shard);
    Task::Copy {
        kind: ArtifactKind::Frontier,
        level,
        shard,
    }
}

fn copy_leased(level: Level, shard: u32, counter: u64) -> Event {
    match leased(level, shard, counter) {
        Event::Leased {
            job,
            attempt,
            inputs,
            consume,
            known,
            ..
        } => Event::Leased {
            job,
            task: copy_task(level, shard),
            attempt,
            inputs,
            consume,
            known,
        },
        other => other,
    }
}

fn has_draining(actions: &[Action]) -> bool {
    said(actions)
        .iter()
        .any(|message| matches!(message, FromWorker::Draining { .. }))
}

#[test]
fn a_daemon_that_drains_does_what_is_still_wanted_until_it_is_told_to_end() {
    let mut play = Play::begun_with_grace(Some(GRACE));
    let computing_one = prepared(&play.lease(2, 0, 1))[0].0;
    play.step(Event::Prepared {
        lease: computing_one,
    });
    let waiting = prepared(&play.lease(2, 1, 2))[0].0;
    play.step(copy_leased(2, 3, 3));
    let actions = play.step(Event::Drain);
    assert_eq!(
        actions,
        vec![
            Action::Forget { lease: waiting },
            Action::Send(FromWorker::Draining {
                reason: "a signal asked it to end".into()
            })
        ],
        "the copy stays"
    );
    assert_eq!(play.step(Event::Drain), vec![], "it is said once");
    // The connection breaks: the new one is told what is still at work, and that it drains.
    play.step(Event::Disconnected);
    let actions = play.connect();
    let Action::Register { running } = &actions[0] else {
        panic!("{actions:?}")
    };
    let tasks: Vec<&Task> = running.iter().map(|(_, task, _)| task).collect();
    assert_eq!(tasks, [&task(2, 0), &copy_task(2, 3)]);
    assert!(has_draining(&actions), "{actions:?}");
    // What is leased from now on is wanted, and obeyed.
    assert_eq!(prepared(&play.lease(3, 5, 4)).len(), 1);
    let names = vec![frontier_name(1, 0)];
    assert_eq!(
        play.step(Event::Message(ToWorker::Persist {
            names: names.clone()
        })),
        vec![Action::Persist { names }]
    );
    let actions = play.computed(computing_one);
    assert!(
        matches!(said(&actions)[..], [FromWorker::Done { .. }]),
        "{actions:?}"
    );
    let actions = play.step(Event::Message(ToWorker::Shutdown));
    assert!(
        matches!(said(&actions)[..], [FromWorker::Leaving { .. }]),
        "{actions:?}"
    );
    assert_eq!(actions.last(), Some(&Action::Exit(Exit::Done)));
}

#[test]
fn the_coordinator_can_ask_for_the_same() {
    let mut play = Play::begun_with_grace(Some(GRACE));
    let actions = play.step(Event::Message(ToWorker::Drain));
    assert!(has_draining(&actions), "{actions:?}");
    let actions = play.step(Event::Message(ToWorker::Shutdown));
    assert_eq!(actions.last(), Some(&Action::Exit(Exit::Done)));
}

#[test]
fn within_the_grace_time_it_stores_what_nobody_fetched_and_leaves() {
    let mut play = Play::begun_with_grace(Some(GRACE));
    let lease = prepared(&play.lease(2, 0, 1))[0].0;
    play.step(Event::Prepared { lease });
    let begun = play.now;
    play.step(Event::Drain);
    let stores = |actions: &[Action]| {
        let store =
            |a: &Action| matches!(a, Action::PersistAll { until } if *until == begun + GRACE);
        actions.iter().any(store)
    };
    assert!(!stores(&play.tick(GRACE / 2)));
    assert!(stores(&play.tick(GRACE / 4)), "though something computes");
    assert_eq!(
        prepared(&play.lease(3, 5, 4)),
        [],
        "nothing is begun any more"
    );
    let mut slow = play;
    let actions = slow.step(Event::Stored);
    assert!(
        matches!(said(&actions)[..], [FromWorker::Leaving { .. }]),
        "{actions:?}"
    );
    assert_eq!(actions.last(), Some(&Action::Exit(Exit::Done)));
}

#[test]
fn a_disk_that_is_too_slow_does_not_hold_it_beyond_the_grace_time() {
    let mut play = Play::begun_with_grace(Some(GRACE));
    play.step(Event::Drain);
    play.tick(GRACE * 3 / 4);
    let actions = play.tick(GRACE / 4);
    assert_eq!(actions.last(), Some(&Action::Exit(Exit::Overdue)));
}

#[test]
fn without_a_coordinator_it_finishes_what_computes_and_stores_everything() {
    let mut play = Play::begun_with_grace(Some(GRACE));
    let lease = prepared(&play.lease(2, 0, 1))[0].0;
    play.step(Event::Prepared { lease });
    play.step(copy_leased(2, 3, 3));
    play.step(Event::Disconnected);
    assert_eq!(play.step(Event::Drain), vec![]);
    let until = play.now + GRACE;
    assert_eq!(play.computed(lease), vec![Action::PersistAll { until }]);
    let actions = play.step(Event::Stored);
    assert_eq!(actions.last(), Some(&Action::Exit(Exit::Done)));
}

#[test]
fn a_coordinator_that_goes_away_meanwhile_is_waited_for_but_not_long() {
    let stores = |actions: &[Action]| {
        let store = |a: &Action| matches!(a, Action::PersistAll { .. });
        actions.iter().any(store)
    };
    let mut play = Play::begun_with_grace(Some(GRACE));
    play.step(Event::Drain);
    play.step(Event::Disconnected);
    assert!(!stores(&play.tick(GRACE / 20)));
    assert!(has_draining(&play.connect()), "it came back");
    assert!(!stores(&play.tick(GRACE / 5)));
    play.step(Event::Disconnected);
    assert!(stores(&play.tick(GRACE / 5)));
}

#[test]
fn copies_have_a_lane_of_their_own() {
    let mut play = Play::begun();
    for shard in 0..6 {
        play.lease(2, shard, shard.into());
    }
    for shard in 0..6 {
        play.step(copy_leased(1, shard, 10 + u64::from(shard)));
    }
    let count = |play: &Play, stage: Stage, copies: bool| {
        let of = |lease: &&Lease| lease.stage == stage && is_for_the_disk(&lease.task) == copies;
        play.session.leases.values().filter(of).count()
    };
    assert_eq!(count(&play, Stage::Preparing, false), 4);
    assert_eq!(count(&play, Stage::Preparing, true), 4);
    for lease in 0..12 {
        play.step(Event::Prepared {
            lease: LeaseId(lease),
        });
    }
    assert_eq!(count(&play, Stage::Computing, false), 2);
    assert_eq!(count(&play, Stage::Computing, true), 6);
}

#[test]
fn a_full_disk_is_said_at_once_and_what_waits_for_it_goes_on_at_once() {
    let mut play = Play::begun();
    play.tick(HEARTBEAT);
    let lease = prepared(&play.lease(2, 0, 1))[0].0;
    let names = vec![frontier_name(1, 0)];
    play.step(Event::NoRoom { lease });
    play.step(Event::NotPersisted {
        names: names.clone(),
    });
    play.disk_full = true;
    let soon = Duration::from_millis(1);
    let beats = |actions: &[Action], full: bool| {
        let beat =
            |m: &&&FromWorker| matches!(m, FromWorker::Heartbeat { disk, .. } if disk.full == full);
        said(actions).iter().filter(beat).count()
    };
    assert_eq!(beats(&play.tick(soon), true), 1);
    assert_eq!(play.tick(soon), vec![], "once");
    let actions = play.tick(RETRY_PERSIST);
    assert_eq!(
        beats(&actions, true),
        actions.len(),
        "nothing is tried: {actions:?}"
    );
    // Others that fit the memory pass it by.
    assert_eq!(prepared(&play.lease(2, 1, 2)).len(), 1);
    play.disk_full = false;
    let actions = play.tick(soon);
    assert_eq!(beats(&actions, false), 1);
    assert!(actions.contains(&Action::Persist { names }), "{actions:?}");
    assert_eq!(prepared(&actions), [(lease, 0)]);
    // Room in memory does as well.
    play.step(Event::NoRoom { lease });
    let released = play.step(Event::Message(ToWorker::Release { names: vec![] }));
    assert_eq!(prepared(&released), [(lease, 0)]);
}

#[test]
fn what_may_be_wrong_is_taken_back_even_if_nobody_listens_just_then() {
    let mut play = Play::begun();
    play.step(Event::Disconnected);
    let names = vec![frontier_name(1, 0)];
    let reason = "a check failed".to_string();
    let retracted = Event::Retracted {
        names: names.clone(),
        reason: reason.clone(),
    };
    assert_eq!(play.step(retracted), vec![]);
    let actions = play.connect();
    assert_eq!(said(&actions), [&FromWorker::Retract { names, reason }]);
}

#[test]
fn what_is_taken_back_while_it_is_computed_is_computed_again() {
    let mut play = Play::begun();
    let lease = prepared(&play.lease(2, 0, 1))[0].0;
    let other = prepared(&play.lease(2, 1, 2))[0].0;
    for lease in [lease, other] {
        play.step(Event::Prepared { lease });
    }
    play.step(Event::Retracted {
        names: vec![frontier_name(2, 0)],
        reason: "a device failed".into(),
    });
    let actions = play.computed(lease);
    assert_eq!(said(&actions), [] as [&FromWorker; 0], "{actions:?}");
    let forgets = |action: &Action| matches!(action, Action::Release { names } if names.contains(&frontier_name(2, 0)));
    assert!(actions.iter().any(forgets), "{actions:?}");
    assert_eq!(prepared(&actions), [(lease, 0)]);
    assert_eq!(
        said(&play.computed(other)).len(),
        1,
        "it is no concern of it"
    );
    play.step(Event::Prepared { lease });
    assert_eq!(said(&play.computed(lease)).len(), 1);
}

#[test]
fn a_note_is_said_at_once_or_after_the_next_welcome() {
    let note = || Event::Note {
        job: None,
        text: "a device is not used any more".into(),
    };
    let message = FromWorker::Note {
        job: None,
        text: "a device is not used any more".into(),
    };
    let mut play = Play::begun();
    assert_eq!(said(&play.step(note())), [&message]);
    play.step(Event::Disconnected);
    assert_eq!(play.step(note()), vec![]);
    assert_eq!(said(&play.connect()), [&message]);
    play.step(Event::Disconnected);
    assert_eq!(said(&play.connect()), [] as [&FromWorker; 0], "once");
}

#[test]
fn as_many_tasks_as_there_are_lanes_and_one_more_are_at_work() {
    for lanes in [1, 2, 6] {
        let mut play = Play::with(None, lanes);
        play.connect();
        play.open();
        let mut computing_now = 0;
        let mut waiting: Vec<LeaseId> = Vec::new();
        for shard in 0..20 {
            let actions = play.lease(2, shard, u64::from(shard));
            waiting.extend(prepared(&actions).iter().map(|(lease, _)| *lease));
            while let Some(lease) = waiting.pop() {
                let actions = play.step(Event::Prepared { lease });
                computing_now += computing(&actions).len();
                waiting.extend(prepared(&actions).iter().map(|(lease, _)| *lease));
            }
        }
        assert_eq!(computing_now, lanes + 1);
    }
}

#[test]
fn a_refusal_ends_the_worker() {
    let mut play = Play::new();
    play.step(Event::Connected);
    let refused = Event::Message(ToWorker::Refused {
        reason: "no".into(),
    });
    assert_eq!(
        play.step(refused),
        vec![Action::Exit(Exit::Refused {
            reason: "no".into()
        })]
    );
}

#[test]
fn what_the_disk_did_not_take_is_tried_again() {
    let mut play = Play::begun();
    let names = vec![frontier_name(1, 0), frontier_name(1, 1)];
    play.step(Event::NotPersisted {
        names: names.clone(),
    });
    play.step(Event::Message(ToWorker::Release {
        names: vec![names[1]],
    }));
    let persists = |actions: Vec<Action>| {
        actions
            .into_iter()
            .find(|a| matches!(a, Action::Persist { .. }))
    };
    assert_eq!(persists(play.tick(RETRY_PERSIST / 2)), None);
    let again = persists(play.tick(RETRY_PERSIST));
    assert_eq!(
        again,
        Some(Action::Persist {
            names: vec![names[0]]
        })
    );
    assert_eq!(persists(play.tick(RETRY_PERSIST)), None, "once");
}

#[test]
fn a_lease_with_other_inputs_is_another_computation() {
    let mut play = Play::begun();
    let old = prepared(&play.lease(2, 0, 1))[0].0;
    assert_eq!(computing(&play.step(Event::Prepared { lease: old })), [old]);
    let Event::Leased {
        job,
        task,
        attempt,
        mut inputs,
        consume,
        known,
    } = leased(2, 0, 2)
    else {
        unreachable!()
    };
    inputs[0].digest = Digest(2);
    let anew = Event::Leased {
        job,
        task,
        attempt,
        inputs,
        consume,
        known,
    };
    let new = prepared(&play.step(anew))[0].0;
    assert_ne!(new, old);
    let actions = play.computed(old);
    assert!(said(&actions).is_empty(), "{actions:?}");
    play.step(Event::Prepared { lease: new });
    let actions = play.computed(new);
    assert!(
        matches!(said(&actions)[..], [FromWorker::Done { attempt: given, .. }] if *given == attempt),
        "{actions:?}"
    );
}

#[test]
fn what_was_retracted_shortly_before_a_break_is_said_again() {
    let retracted = || Event::Retracted {
        names: vec![frontier_name(2, 0)],
        reason: "a device failed".into(),
    };
    let again = |play: &mut Play| {
        play.step(Event::Disconnected);
        let actions = play.connect();
        let said = said(&actions).into_iter();
        said.filter(|message| matches!(message, FromWorker::Retract { .. }))
            .count()
    };
    let mut play = Play::begun();
    assert_eq!(said(&play.step(retracted())).len(), 1);
    assert_eq!(again(&mut play), 1, "it may not have been heard");
    play.tick(LEASE * 3);
    assert_eq!(
        again(&mut play),
        0,
        "heard, or the connection would not stand"
    );
}
