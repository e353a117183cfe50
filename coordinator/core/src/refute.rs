//! Results that turn out wrong are taken back, with everything that was computed from them.

use crate::artifact::Artifact;
use crate::effect::{Effect, Order};
use crate::event::Now;
use crate::plan::bfs::{Bfs, TaskKey};
use crate::record::Record;
use crate::state::{Coordinator, Job};
use antipode_ids::{JobId, WorkerId};
use antipode_solver_core::engine::{Certificate, Level};
use std::collections::BTreeSet;

type Cells = BTreeSet<(Level, u32)>;

impl Coordinator {
    /// Takes back these results and what rests on them. The plan is made anew from the others; copies
    /// that still fit are kept, those of `distrusted` workers are not.
    pub(crate) fn refute(
        &mut self,
        now: Now,
        id: JobId,
        wrong: Cells,
        distrusted: &BTreeSet<WorkerId>,
        out: &mut Vec<Effect>,
    ) {
        let Some(job) = self.jobs.get_mut(&id) else {
            return;
        };
        let mut gone = closure(&job.bfs, wrong);
        if gone.is_empty() && distrusted.is_empty() {
            return;
        }
        let Ok(mut bfs) = Bfs::new(&job.record) else {
            return;
        };
        let kept = job
            .bfs
            .task_results()
            .filter(|&(l, s, _)| !gone.contains(&(l, s)));
        let lowest = gone.first().map_or(Level::MAX, |&(level, _)| level);
        let checkpoint = job.progress.checkpoint.filter(|&level| level < lowest);
        bfs.restore(kept.collect(), checkpoint, &[]);
        // What was found far ahead of the levels that are left has no place in the plan any more.
        let beyond = job.bfs.task_results().map(|(l, s, _)| (l, s));
        gone.extend(beyond.filter(|&cell| !has_result(&bfs, cell)));
        let news = job.bfs.take_news().results.into_iter();
        let unsaved = news.filter(|&(l, s, _)| !gone.contains(&(l, s)));
        out.extend(unsaved.map(|(level, shard, result)| {
            Effect::Persist(Record::Result {
                job: id,
                level,
                shard,
                result,
            })
        }));
        bfs.set_places(job.bfs.places());
        // Whoever works for the job works on what may be wrong now.
        let leases: Vec<(WorkerId, _, TaskKey)> = self
            .workers
            .iter()
            .flat_map(|(&worker, w)| {
                w.leases
                    .iter()
                    .map(move |(&a, &(of, key))| (worker, a, of, key))
            })
            .filter(|&(_, _, of, _)| of == id)
            .map(|(worker, attempt, _, key)| (worker, attempt, key))
            .collect();
        for (worker, attempt, _) in leases {
            if let Some(worker) = self.workers.get_mut(&worker) {
                worker.leases.remove(&attempt);
            }
            let attempts = vec![attempt];
            self.order(worker, Order::Revoke { attempts }, out);
        }
        let Some(job) = self.jobs.get_mut(&id) else {
            return;
        };
        let mut released: Vec<(WorkerId, Artifact)> = Vec::new();
        for (artifact, worker, durable) in job.bfs.copies() {
            let content = job.bfs.content(artifact);
            let fits = content.is_some() && content == bfs.content(artifact);
            match content.filter(|_| fits && !distrusted.contains(&worker)) {
                // A refusal has told the worker to drop it.
                Some(content) => _ = bfs.add_copy(artifact, content, worker, durable),
                None => released.push((worker, artifact)),
            }
        }
        job.bfs = bfs;
        job.progress.checkpoint = checkpoint;
        job.progress.mistrusts = true;
        job.checkpointing.began = None;
        job.troubles.clear();
        for (level, item) in &gone {
            if job.bfs.graph().is_batch() && *level == 1 {
                job.items.remove(item);
            }
        }
        out.push(Effect::Persist(Record::Refuted {
            job: id,
            cells: gone.into_iter().collect(),
        }));
        out.push(Effect::Persist(job.progress_record(id, now, true)));
        for (worker, artifact) in released {
            let artifacts = vec![artifact];
            self.order(worker, Order::Release { job: id, artifacts }, out);
        }
        self.touched.insert(id);
    }

    /// A worker takes back what it announced. Its copies are gone, and so are results that it made.
    pub(crate) fn retract(
        &mut self,
        now: Now,
        from: WorkerId,
        artifacts: &[(JobId, Artifact)],
        reason: &str,
        out: &mut Vec<Effect>,
    ) {
        let jobs: BTreeSet<JobId> = artifacts.iter().map(|&(job, _)| job).collect();
        let name = self.name(from);
        for id in jobs {
            let Some(job) = self.unfinished(id) else {
                continue;
            };
            let of_job = artifacts.iter().filter(|&&(of, _)| of == id);
            let mut wrong = Cells::new();
            for &(_, artifact) in of_job.clone() {
                job.bfs.remove_copy(artifact, from);
                let may_be_its = |job: &Job| {
                    let result = job.bfs.cell(artifact.level, artifact.shard)?.result?;
                    // A result that came with a copy has no certificate: who made it is not known.
                    let unknown = result.certificate == Certificate::default();
                    (result.by == Some(from) || unknown).then_some(())
                };
                if may_be_its(job).is_some() {
                    wrong.insert((artifact.level, artifact.shard));
                }
            }
            job.progress.history.push(
                now.unix,
                format!(
                    "worker {name} retracted {}: {reason}; {} and what rests on them are computed again",
                    number(of_job.count(), "artifact"),
                    number(wrong.len(), "result")
                ),
            );
            self.refute(now, id, wrong, &BTreeSet::new(), out);
            self.touched.insert(id);
        }
    }
}

/// The cells and all that can have been computed from them, where they have a result. A result may rest
/// on one that is not known (any more), so what lies between need not have one.
fn closure(bfs: &Bfs, wrong: Cells) -> Cells {
    let exists = |&(level, shard): &(Level, u32)| bfs.cell(level, shard).is_some();
    let mut open: Cells = wrong.into_iter().filter(exists).collect();
    let mut reached = Cells::new();
    while let Some((level, shard)) = open.pop_first() {
        reached.insert((level, shard));
        for output in bfs.graph().outputs(level, shard) {
            open.extend(bfs.graph().dependents(output).filter(exists));
        }
    }
    reached.retain(|&cell| has_result(bfs, cell));
    reached
}

fn has_result(bfs: &Bfs, (level, shard): (Level, u32)) -> bool {
    bfs.cell(level, shard)
        .is_some_and(|cell| cell.result.is_some())
}

/// `1 result`, `2 results`.
fn number(count: usize, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        _ => format!("{count} {what}s"),
    }
}
