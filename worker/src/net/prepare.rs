//! Getting a leased task ready: memory for it, then its inputs. At once where everything is in
//! memory, else beside the loop.

use super::driver::{Driver, Happened, Ready};
use crate::artifacts::fetch::{Gatherer, Inputs};
use crate::artifacts::{Artifacts, Basis, Need, StoreError, Wanted};
use crate::beside::Beside;
use crate::compute::Compute;
use crate::delay::Delay;
use crate::exec;
use crate::session::LeaseId;
use antipode_ids::JobId;
use antipode_proto::message::{Failure, Input};
use antipode_solver_core::engine::ShardId;
use antipode_solver_core::job::Task;
use std::sync::Arc;
use tokio::sync::Mutex;

/// A lease as the session wants it prepared.
pub struct Order {
    pub lease: LeaseId,
    pub job: JobId,
    pub task: Task,
    pub inputs: Vec<Input>,
    pub consume: bool,
    pub alone: bool,
}

/// How the preparation ended.
pub enum Outcome {
    Inputs(Inputs),
    /// No memory now.
    Crowded,
    /// Nor room on the disk, to make some.
    NoRoom,
    Failed(Failure),
}

impl Driver {
    pub fn prepare(&mut self, order: Order) {
        match self.try_prepare(&order) {
            Ok(None) => {}
            Ok(Some(outcome)) => self.outcome(order.lease, outcome),
            Err(failure) => self.outcome(order.lease, Outcome::Failed(failure)),
        }
    }

    /// `None`: it goes on beside the loop.
    fn try_prepare(&mut self, order: &Order) -> Result<Option<Outcome>, Failure> {
        let artifacts = self.parts.artifacts.clone();
        let engine = artifacts
            .engine(order.job)
            .ok_or_else(|| Failure::Other(format!("job {} is not open", order.job)))?;
        let all_wanted = exec::wanted(&*engine, order.job, &order.task, &order.inputs)?;
        let wanted = exec::to_be_gathered(&artifacts, &order.task, &all_wanted);
        let (need, all) = exec::need(&*engine, &artifacts, (&order.task, order.consume), &wanted);
        let (allowed, tables) = artifacts.budget_and_tables();
        if tables + all > allowed {
            return Err(Failure::Memory {
                needed: tables + all,
                allowed,
            });
        }
        let ready = Ready {
            job: order.job,
            task: order.task.clone(),
            engine: engine.clone(),
            wanted: all_wanted,
            basis: Basis::of(&order.inputs),
            consume: order.consume,
        };
        self.preparing.insert(order.lease, ready);
        let wait = Delay::of(self.parts.delay, &order.task);
        let reserved = wait.is_none() && artifacts.reserve(order.lease.0, need);
        let pack = match order.task {
            Task::Pack { shard, .. } => Some(shard),
            _ => None,
        };
        if reserved
            && pack.is_none()
            && let Some(inputs) = self.gatherer.at_hand(&wanted)
        {
            return Ok(Some(Outcome::Inputs(inputs)));
        }
        let room = Room {
            artifacts,
            lease: order.lease,
            need,
            reserved,
            alone: order.alone,
            beside: self.parts.beside.clone(),
            pool: self.parts.pool.clone(),
            pack,
            turn: self.room.clone(),
            ranks: if reserved {
                Wanted::new()
            } else {
                self.session.wanted()
            },
        };
        let (gatherer, events) = (self.gatherer.clone(), self.events.clone());
        let lease = order.lease;
        self.preparations.spawn(async move {
            if let Some(wait) = wait {
                tokio::time::sleep(wait).await;
            }
            let outcome = room.fill(gatherer, engine, wanted).await;
            let _ = events.send(Happened::Prepared(lease, outcome));
        });
        Ok(None)
    }
}

/// Memory to be reserved for one lease.
struct Room {
    artifacts: Arc<Artifacts>,
    lease: LeaseId,
    need: Need,
    reserved: bool,
    alone: bool,
    ranks: Wanted,
    beside: Beside,
    pool: Arc<rayon::ThreadPool>,
    /// The shard whose levels are packed.
    pack: Option<ShardId>,
    turn: Arc<Mutex<()>>,
}

impl Room {
    async fn fill(
        mut self,
        gatherer: Arc<Gatherer>,
        engine: Arc<dyn Compute>,
        wanted: Vec<Input>,
    ) -> Outcome {
        if !self.reserved {
            let (artifacts, lease, need) = (self.artifacts.clone(), self.lease, self.need);
            let ranks = std::mem::take(&mut self.ranks);
            // One at a time: they would only wait for each other, on threads that others need.
            let turn = self.turn.lock().await;
            let made = self
                .beside
                .run(move || artifacts.make_room(lease.0, need, &ranks))
                .await;
            drop(turn);
            match made {
                Ok(Ok(true)) => {}
                Ok(Err(StoreError::Full { .. })) => return Outcome::NoRoom,
                // Whatever is left in memory is in use for a moment (served, written): the task
                // itself fits the budget.
                Ok(Ok(false)) if self.alone => {
                    self.artifacts.reserve_alone(self.lease.0, self.need)
                }
                Ok(Err(error)) if self.alone => {
                    return Outcome::Failed(Failure::Other(format!(
                        "memory is short, and {error}"
                    )));
                }
                Ok(_) => return Outcome::Crowded,
                Err(error) => return Outcome::Failed(Failure::Other(error.to_string())),
            }
        }
        let gathered = match self.pack {
            Some(shard) => {
                let threads = (&self.beside, &self.pool);
                exec::pack::build(engine, shard, wanted, &gatherer, threads).await
            }
            None => gatherer.gather(engine, wanted).await,
        };
        match gathered {
            Ok(inputs) => Outcome::Inputs(inputs),
            Err(failure) => Outcome::Failed(failure),
        }
    }
}
