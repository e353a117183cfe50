//! What going on with a job keeps and what it computes again, and why: for users who want to know
//! before they resume.

use crate::artifact::Artifact;
use crate::event::{ConnectionId, Now, Registration};
use crate::plan::bfs::{Bfs, Lack};
use crate::record::Phase;
use crate::state::Coordinator;
use antipode_ids::JobId;
use antipode_solver_core::engine::Level;

/// What going on would keep and redo, if the job went on now.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outlook {
    /// Levels that were begun, ascending.
    pub levels: Vec<LevelOutlook>,
    pub checkpoint: Option<Level>,
    pub notes: Vec<String>,
}

/// One level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LevelOutlook {
    pub level: Level,
    /// Shards whose result stands and needs no work.
    pub kept: u32,
    /// Shards that are computed again, and why.
    pub redone: Vec<(u32, String)>,
    /// Shards that were never computed.
    pub open: u32,
}

impl Coordinator {
    /// Takes in what a worker would bring, without giving it anything to do: for a look at a store that
    /// nobody works on. Whoever has called this must not call [`Coordinator::step`].
    pub fn suppose(&mut self, now: Now, worker: Option<Registration>) {
        let mut unsent = Vec::new();
        if let Some(registration) = worker {
            self.register(now, ConnectionId(0), registration, &mut unsent);
        }
        for job in self.jobs.values_mut() {
            job.bfs.settle();
        }
    }

    /// `None` where there is no such job.
    pub fn outlook(&self, now: Now, id: JobId) -> Option<Outlook> {
        let job = self.jobs.get(&id)?;
        let mut notes = Vec::new();
        let phase = &job.progress.phase;
        if phase.is_final() {
            notes.push("it has ended: nothing is left to do".to_string());
            return Some(Outlook {
                notes,
                ..Outlook::default()
            });
        }
        if let Phase::Suspect { reason } | Phase::Incomplete { reason } = phase {
            notes.push(reason.clone());
        }
        for (name, away) in self.absent(id) {
            notes.push(format!(
                "worker {name} is away ({away}); what it holds counts as gone until it comes back"
            ));
        }
        if self.is_waiting_for_workers(now) {
            notes.push("the coordinator has just started and waits for its workers".into());
        }
        let levels = levels(&job.bfs);
        let redone: usize = levels.iter().map(|level| level.redone.len()).sum();
        let begins_at_zero = levels
            .iter()
            .any(|level| level.level == 1 && !level.redone.is_empty());
        if job.progress.checkpoint.is_some() && !job.bfs.has_useful_copy() {
            notes.push(format!(
                "nothing that was stored is held by any worker that is here: going on would compute all {redone} results again; it is done only with --fresh"
            ));
        } else if begins_at_zero {
            notes.push("some shards are computed again from level 0 on".into());
        }
        Some(Outlook {
            levels,
            checkpoint: job.bfs.checkpoint(),
            notes,
        })
    }

    /// Workers that did something for the job and are not here, and why not.
    fn absent(&self, id: JobId) -> Vec<(String, String)> {
        let Some(job) = self.jobs.get(&id) else {
            return Vec::new();
        };
        let known = job.progress.workers.iter();
        let away = known.filter_map(|(worker, participant)| {
            let state = self.workers.get(worker);
            if state.is_some_and(|w| w.is_live()) {
                return None;
            }
            let last = state.and_then(|w| w.history().iter().last());
            let why = last.map_or("not seen since the start".into(), |i| i.what.clone());
            Some((format!("{} ({worker})", participant.name), why))
        });
        away.collect()
    }
}

fn levels(bfs: &Bfs) -> Vec<LevelOutlook> {
    let rows = bfs.rows().iter().enumerate().skip(1);
    let levels = rows.map(|(level, row)| {
        let level = level as Level;
        let mut outlook = LevelOutlook {
            level,
            kept: 0,
            redone: Vec::new(),
            open: 0,
        };
        for (shard, cell) in row.cells.iter().enumerate() {
            let shard = shard as u32;
            if cell.result.is_none() {
                outlook.open += 1;
            } else if cell.result.is_some_and(|result| result.by.is_none()) {
                // Known without a task.
            } else if cell.wanted {
                outlook.redone.push((shard, why(bfs, level, shard)));
            } else {
                outlook.kept += 1;
            }
        }
        outlook
    });
    let items = |level: &LevelOutlook| bfs.graph().is_batch() && level.level == 1;
    let begun = |level: &LevelOutlook| level.kept > 0 || !level.redone.is_empty() || items(level);
    levels.filter(begun).collect()
}

/// Why a task with a result runs again: the artifact that no worker has, and who waits for it.
fn why(bfs: &Bfs, level: Level, shard: u32) -> String {
    let lost = |artifact: &Artifact| bfs.lack(*artifact) == Lack::Copy && bfs.is_needed(*artifact);
    let Some(lost) = bfs.graph().outputs(level, shard).find(lost) else {
        return "it is being computed again".into();
    };
    let waiting = bfs.graph().dependents(lost).find(|&(level, shard)| {
        bfs.cell(level, shard)
            .is_some_and(|cell| cell.wanted && cell.lease.is_none())
    });
    match waiting {
        Some((level, shard)) => {
            format!("no worker has the {lost}, which level {level}, shard {shard} needs")
        }
        None => format!("no worker has the {lost}, which is to be kept"),
    }
}
