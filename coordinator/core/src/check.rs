//! The invariants, as named functions; tests call [`all`] after every step. Each returns what is
//! wrong, in a sentence. They look at everything: far too slow for a running coordinator.

use crate::artifact::Artifact;
use crate::plan::bfs::{Bfs, TaskKey, Writing};
use crate::record::Phase;
use crate::state::{Coordinator, Job};
use antipode_solver_core::engine::{Digest, Level};
use std::collections::BTreeSet;

type Verdict = Result<(), String>;
type NamedCheck = (&'static str, fn(&Job) -> Verdict);

/// Every invariant, in turn.
pub fn all(coordinator: &Coordinator) -> Verdict {
    leases_are_listed_at_both_ends(coordinator)?;
    lost_workers_hold_nothing(coordinator)?;
    for (id, job) in coordinator.jobs() {
        let checks: [NamedCheck; 8] = [
            ("sums", |job| sums_are_those_of_the_results(job.bfs())),
            ("next", |job| {
                next_is_the_first_level_without_result(job.bfs())
            }),
            ("ready", |job| ready_is_what_can_run(job.bfs())),
            ("wanted", |job| what_is_lacking_is_on_its_way(job.bfs())),
            ("unwanted", |job| nothing_runs_in_vain(job.bfs())),
            ("checkpoint", |job| {
                a_checkpoint_knows_what_is_missing(job.bfs())
            }),
            ("final", ended_jobs_are_at_rest),
            ("finished", finished_means_all_counted),
        ];
        for (name, check) in checks {
            check(job).map_err(|wrong| format!("job {id}, {name}: {wrong}"))?;
        }
    }
    Ok(())
}

fn ensure(holds: bool, otherwise: impl FnOnce() -> String) -> Verdict {
    if holds { Ok(()) } else { Err(otherwise()) }
}

fn cells(bfs: &Bfs) -> impl Iterator<Item = (Level, u32)> + '_ {
    let shards = bfs.graph().shards() as u32;
    (1..bfs.rows().len() as Level)
        .flat_map(move |level| (0..shards).map(move |shard| (level, shard)))
}

fn leased(bfs: &Bfs) -> BTreeSet<TaskKey> {
    let finals = (0..bfs.graph().shards() as u32).map(|shard| TaskKey::Smallest { shard });
    let packs = (0..bfs.graph().shards() as u32).map(|shard| TaskKey::Pack { shard });
    let copies = bfs.copying().keys();
    let copies = copies.map(|&(artifact, to)| TaskKey::Copy { artifact, to });
    cells(bfs)
        .map(|(level, shard)| TaskKey::Expand { level, shard })
        .chain(finals)
        .chain([TaskKey::Words])
        .chain(packs)
        .chain(copies)
        .filter(|&key| bfs.lease(key).is_some())
        .collect()
}

/// A task is leased to one worker under one attempt, and that worker's list says the same.
pub fn leases_are_listed_at_both_ends(coordinator: &Coordinator) -> Verdict {
    let mut attempts = BTreeSet::new();
    for (worker, w) in coordinator.workers() {
        for (attempt, (job, key)) in w.leases() {
            ensure(attempts.insert(*attempt), || {
                format!("attempt {attempt} is given twice")
            })?;
            let lease = coordinator
                .jobs()
                .get(job)
                .and_then(|job| job.bfs().lease(*key));
            ensure(
                lease.is_some_and(|l| l.attempt == *attempt && l.worker == *worker),
                || {
                    format!(
                        "{worker} lists {attempt} for {key:?} of job {job}, the job says {lease:?}"
                    )
                },
            )?;
        }
    }
    for (id, job) in coordinator.jobs() {
        for key in leased(job.bfs()) {
            let Some(lease) = job.bfs().lease(key) else {
                continue;
            };
            let listed = coordinator
                .workers()
                .get(&lease.worker)
                .and_then(|w| w.leases().get(&lease.attempt));
            ensure(listed == Some(&(*id, key)), || {
                format!("job {id} leased {key:?} as {lease:?}, the worker lists {listed:?}")
            })?;
        }
    }
    Ok(())
}

/// A lost worker has no lease and no copy that anybody counts on.
pub fn lost_workers_hold_nothing(coordinator: &Coordinator) -> Verdict {
    for (id, worker) in coordinator.workers().iter().filter(|(_, w)| w.lost) {
        ensure(worker.leases().is_empty(), || {
            format!("lost worker {id} has leases")
        })?;
        ensure(worker.connection.is_none(), || {
            format!("lost worker {id} has a connection")
        })?;
        for (job, state) in coordinator.jobs() {
            let held = cells(state.bfs()).find(|&(level, shard)| {
                let mut outputs = state.bfs().graph().outputs(level, shard);
                outputs.any(|a| state.bfs().holders(a).is_some_and(|h| h.contains(*id)))
            });
            ensure(held.is_none(), || {
                format!("lost worker {id} counts as holder of {held:?} of job {job}")
            })?;
        }
    }
    Ok(())
}

/// Sums of rows and of the whole are those of the results, and never exceed the number of states
/// (unless the job failed for that reason).
pub fn sums_are_those_of_the_results(bfs: &Bfs) -> Verdict {
    let mut total = 0u128;
    for (level, row) in bfs.rows().iter().enumerate() {
        let results = || row.cells.iter().filter_map(|cell| cell.result);
        let count: u128 = results().map(|r| u128::from(r.count)).sum();
        let digest = results().fold(Digest::default(), |sum, r| sum.plus(r.digest));
        ensure(row.known as usize == results().count(), || {
            format!("level {level}: known")
        })?;
        ensure(row.count == count && row.digest == digest, || {
            format!("level {level}: sum")
        })?;
        total += count;
    }
    ensure(total == bfs.total(), || {
        format!("total is {}, results say {total}", bfs.total())
    })
}

/// A shard's levels run in order.
pub fn next_is_the_first_level_without_result(bfs: &Bfs) -> Verdict {
    for shard in 0..bfs.graph().shards() as u32 {
        let known = |level: Level| {
            bfs.cell(level, shard)
                .is_some_and(|cell| cell.result.is_some())
        };
        let first = (0..).find(|&level| !known(level)).unwrap_or(0);
        ensure(bfs.next_level(shard) == first, || {
            format!(
                "shard {shard}: next is {}, not {first}",
                bfs.next_level(shard)
            )
        })?;
    }
    for (level, shard) in cells(bfs) {
        let Some(cell) = bfs.cell(level, shard) else {
            continue;
        };
        if cell.result.is_none() && (cell.wanted || cell.lease.is_some()) {
            ensure(level == bfs.next_level(shard), || {
                format!("level {level}, shard {shard} is out of order")
            })?;
        }
    }
    Ok(())
}

/// Ready = wanted, not leased, every input has a result and a copy.
pub fn ready_is_what_can_run(bfs: &Bfs) -> Verdict {
    for (level, shard) in cells(bfs) {
        let Some(cell) = bfs.cell(level, shard) else {
            continue;
        };
        let inputs = || bfs.graph().inputs(level, shard).all(|a| has_copy(bfs, a));
        let can = cell.wanted && cell.lease.is_none() && inputs();
        let listed = bfs.ready().contains(&(level, shard));
        ensure(can == listed, || {
            format!("level {level}, shard {shard}: can run {can}, listed {listed}")
        })?;
    }
    Ok(())
}

fn has_copy(bfs: &Bfs, artifact: Artifact) -> bool {
    bfs.content(artifact).is_some_and(|(count, _)| {
        count == 0 || bfs.holders(artifact).is_some_and(|h| !h.is_empty())
    })
}

/// Whatever a wanted cell lacks is produced: its task is wanted, or comes first in its own shard.
pub fn what_is_lacking_is_on_its_way(bfs: &Bfs) -> Verdict {
    for (level, shard) in cells(bfs) {
        let waits = bfs
            .cell(level, shard)
            .is_some_and(|c| c.wanted && c.lease.is_none());
        if !waits {
            continue;
        }
        for input in bfs
            .graph()
            .inputs(level, shard)
            .filter(|&a| !has_copy(bfs, a))
        {
            let Some(producer) = bfs.cell(input.level, input.shard) else {
                continue;
            };
            let coming = producer.wanted
                || (producer.result.is_none() && bfs.next_level(input.shard) <= input.level);
            ensure(coming, || {
                format!("level {level}, shard {shard} waits in vain for the {input}")
            })?;
        }
    }
    Ok(())
}

/// The flag `wanted` is what the rule says, for every cell.
pub fn nothing_runs_in_vain(bfs: &Bfs) -> Verdict {
    for (level, shard) in cells(bfs) {
        let Some(cell) = bfs.cell(level, shard) else {
            continue;
        };
        // A closed plan wants nothing, whatever the rule says.
        if cell.wanted {
            let should = bfs.should_run(level, shard);
            ensure(should, || {
                format!("level {level}, shard {shard} is wanted for nothing")
            })?;
        }
    }
    Ok(())
}

/// A checkpoint being written lists exactly what is not durable yet.
pub fn a_checkpoint_knows_what_is_missing(bfs: &Bfs) -> Verdict {
    let Some(missing) = bfs.writing().missing() else {
        return Ok(());
    };
    for shard in 0..bfs.graph().shards() as u32 {
        let set: Vec<Artifact> = match bfs.writing() {
            Writing::Last { level, .. } => vec![Artifact::frontier(*level, shard)],
            Writing::Writing { level, .. } => bfs.graph().checkpoint(*level, shard).collect(),
            Writing::No | Writing::Aligning { .. } => Vec::new(),
        };
        for artifact in set.into_iter().filter(|a| a.level > 0) {
            let open = bfs.content(artifact).is_some_and(|c| c.0 > 0)
                && bfs
                    .holders(artifact)
                    .is_none_or(|h| h.durable_places() < bfs.writing().places());
            ensure(open == missing.contains(&artifact), || {
                format!("the {artifact}: missing {open}")
            })?;
        }
    }
    Ok(())
}

/// A job in a final phase asks for nothing.
pub fn ended_jobs_are_at_rest(job: &Job) -> Verdict {
    if !job.progress().phase.is_final() {
        return Ok(());
    }
    let bfs = job.bfs();
    ensure(bfs.ready().is_empty(), || "something is ready".into())?;
    let copies_only = |key: &TaskKey| matches!(key, TaskKey::Copy { .. }) && job.is_database();
    ensure(leased(bfs).iter().all(copies_only), || {
        "something is leased".into()
    })?;
    ensure(job.pausing.is_empty(), || {
        "somebody waits for its pause".into()
    })
}

/// Finished and exhausted with a known number of states: the sum is that number.
pub fn finished_means_all_counted(job: &Job) -> Verdict {
    if job.progress().phase != Phase::Finished || !job.progress().exhausted {
        return Ok(());
    }
    let levels = job.levels();
    let total: u128 = levels.iter().map(|level| u128::from(level.count)).sum();
    let states = job.bfs().states();
    ensure(states.is_none_or(|states| states == total), || {
        format!("{total} counted of {states:?}")
    })
}
