//! Does a job fit this machine? Memory and disk that an enumeration needs, from its index alone.
//!
//! In memory: two bitmaps of the whole graph (frontiers l-1 and l-2, whose buffer takes l; directed lists have
//! a third, the visited set), one shard more while it is made, and the tables. Out of core: the inputs and the output of one
//! task in memory, three bitmaps on disk. Frontiers are smaller while levels are small; these are upper bounds.

use crate::exit::Failure;
use crate::memory::show;
use antipode_coordinator::DISK_RESERVE_BYTES;
use antipode_solver_core::engine::{Engine, KernelChoice};
use antipode_solver_core::job::{BfsSpec, Keep};
use antipode_solver_core::space::SpaceDef;
use serde::Serialize;
use std::path::Path;

/// Bits a state that the frontiers of all levels together take at most, as measured on graphs of large diameter.
const BITS_A_STATE_KEPT: u128 = 6;

/// What a task takes beside its bitmaps, however small they are.
const SMALLEST_TASK_BYTES: u64 = 16 << 10;

/// Bytes needed, upper bounds.
#[derive(Debug, Clone, Serialize)]
pub struct Need {
    /// One bit for every state (and for every unused place of a leaf word).
    pub bitmap_bytes: u64,
    /// How many such bitmaps are held.
    pub bitmaps: u32,
    pub tables_bytes: u64,
    /// With everything in memory.
    pub memory_bytes: u64,
    /// With shards streamed from disk.
    pub out_of_core_memory_bytes: u64,
    /// On disk when everything is in memory.
    pub disk_bytes: u64,
    /// On disk when shards are streamed.
    pub out_of_core_disk_bytes: u64,
}

/// What is there.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Have {
    pub memory_bytes: u64,
    /// `None` where the system does not say.
    pub disk_bytes: Option<u64>,
}

/// How the job can run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    InMemory,
    OutOfCore,
    /// It cannot; how much is needed, and what would fit.
    TooLarge(String),
}

impl Need {
    /// What `spec` needs with the index `space`, whose tables take `tables_bytes` once loaded.
    pub fn of(spec: &BfsSpec, space: &SpaceDef, tables_bytes: u64) -> Need {
        let bitmap_bytes: u64 = space.shard_bytes.iter().sum();
        let largest = space.shard_bytes.iter().copied().max().unwrap_or(0);
        let bitmaps = if space.directed { 3 } else { 2 };
        let states: u128 = space.shard_states.iter().map(|&n| u128::from(n)).sum();
        let kept = match spec.keep {
            Keep::Result => 0,
            Keep::Frontiers => u64::try_from(states * BITS_A_STATE_KEPT / 8).unwrap_or(u64::MAX),
        };
        Need {
            bitmap_bytes,
            bitmaps,
            tables_bytes,
            memory_bytes: bitmap_bytes
                .saturating_mul(bitmaps.into())
                .saturating_add(largest)
                .saturating_add(tables_bytes)
                .saturating_add(SMALLEST_TASK_BYTES),
            out_of_core_memory_bytes: one_task_bytes(space)
                .saturating_add(tables_bytes)
                .saturating_add(SMALLEST_TASK_BYTES),
            disk_bytes: kept,
            out_of_core_disk_bytes: bitmap_bytes.saturating_mul(3).saturating_add(kept),
        }
    }

    /// Compares what is needed with what is there.
    pub fn verdict(&self, have: &Have) -> Verdict {
        let disk = have.disk_bytes.unwrap_or(u64::MAX);
        if self.memory_bytes <= have.memory_bytes && self.disk_bytes <= disk {
            return Verdict::InMemory;
        }
        if self.out_of_core_memory_bytes <= have.memory_bytes && self.out_of_core_disk_bytes <= disk
        {
            return Verdict::OutOfCore;
        }
        Verdict::TooLarge(format!(
            "it needs {} of memory, or {} of memory and {} of disk; there are {} of memory and {} of disk. {}",
            show(self.memory_bytes),
            show(self.out_of_core_memory_bytes),
            show(self.out_of_core_disk_bytes),
            show(have.memory_bytes),
            have.disk_bytes.map_or("unknown bytes".into(), show),
            self.advice(have)
        ))
    }

    /// What the user can change.
    fn advice(&self, have: &Have) -> String {
        let disk = have.disk_bytes.unwrap_or(u64::MAX);
        let mut ways = Vec::new();
        if self.out_of_core_memory_bytes > have.memory_bytes {
            ways.push(format!(
                "allow at least --memory {} (smaller shards need less: --shards N of `run bfs`)",
                crate::memory::flag(self.out_of_core_memory_bytes)
            ));
        }
        if self.out_of_core_disk_bytes > disk {
            ways.push(format!(
                "name a --data directory with {} free",
                show(self.out_of_core_disk_bytes)
            ));
        }
        let bitmaps = u64::from(self.bitmaps) + 1;
        // Out of core a task of a smaller graph needs less in proportion.
        let streamed = u128::from(self.bitmap_bytes) * u128::from(have.memory_bytes)
            / u128::from(self.out_of_core_memory_bytes.max(1));
        let streamed = u64::try_from(streamed).unwrap_or(u64::MAX).min(disk / 3);
        let bytes = (have.memory_bytes / bitmaps).max(streamed);
        format!(
            "To make it fit, {}; as it is, a graph of about {} states would fit",
            ways.join(" and "),
            crate::render::short(bytes as f64 * 8.0)
        )
    }
}

/// Largest sum of the bitmaps that computing one shard holds: sources, its own level, what was seen (and a copy where
/// it must be kept), the result, and a sixteenth for the numbers of states that are kept beside the words.
fn one_task_bytes(space: &SpaceDef) -> u64 {
    let bytes = |shard: usize| space.shard_bytes.get(shard).copied().unwrap_or(0);
    space
        .sources
        .iter()
        .enumerate()
        .map(|(shard, sources)| {
            let inputs: u64 = sources
                .iter()
                .map(|&s| s as usize)
                .filter(|&s| s != shard)
                .map(bytes)
                .sum();
            let sum = inputs + 4 * bytes(shard);
            sum + sum / 16
        })
        .max()
        .unwrap_or(0)
}

/// Refuses a job that cannot run here.
pub fn refuse_if_too_large(
    spec: &BfsSpec,
    space: &SpaceDef,
    kernel: KernelChoice,
    have: &Have,
) -> Result<(), Failure> {
    // Tables are made only where it is close: what fits in memory with so much to spare needs no exact sum.
    let guess = Need::of(spec, space, space.body.len() as u64);
    if guess.memory_bytes.saturating_mul(2) <= have.memory_bytes
        && guess.verdict(have) == Verdict::InMemory
    {
        return Ok(());
    }
    let tables_bytes = Engine::load(&spec.puzzle, space, kernel)?.table_bytes();
    match Need::of(spec, space, tables_bytes).verdict(have) {
        Verdict::InMemory | Verdict::OutOfCore => Ok(()),
        Verdict::TooLarge(why) => Err(Failure::input(format!(
            "{} is too large for this machine: {why}",
            spec.puzzle.name()
        ))),
    }
}

/// Refuses a store on a disk that is all but full: the work would only wait for room.
pub fn refuse_without_room(data: &Path, have: &Have) -> Result<(), Failure> {
    match have.disk_bytes {
        Some(free) if free < DISK_RESERVE_BYTES => Err(Failure::input(format!(
            "{} are free where {} is; at least {} must be: make room there, or name another directory with --data",
            show(free),
            data.display(),
            show(DISK_RESERVE_BYTES)
        ))),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn need(memory: u64, out_of_core: u64, disk: u64) -> Need {
        Need {
            bitmap_bytes: memory / 3,
            bitmaps: 2,
            tables_bytes: 0,
            memory_bytes: memory,
            out_of_core_memory_bytes: out_of_core,
            disk_bytes: 0,
            out_of_core_disk_bytes: disk,
        }
    }

    #[test]
    fn memory_is_preferred_then_disk_and_a_refusal_says_what_is_missing() {
        let have = Have {
            memory_bytes: 1 << 30,
            disk_bytes: Some(10 << 30),
        };
        assert_eq!(
            need(1 << 29, 1 << 20, 1 << 29).verdict(&have),
            Verdict::InMemory
        );
        assert_eq!(
            need(4 << 30, 1 << 20, 4 << 30).verdict(&have),
            Verdict::OutOfCore
        );
        let Verdict::TooLarge(text) = need(40 << 30, 1 << 20, 40 << 30).verdict(&have) else {
            panic!("40 GiB do not fit 10 GiB of disk");
        };
        assert!(
            text.contains("40.0 GiB") && text.contains("--data"),
            "{text}"
        );
    }

    #[test]
    fn what_would_fit_is_smaller_than_what_does_not() {
        let have = Have {
            memory_bytes: 1 << 20,
            disk_bytes: Some(1 << 40),
        };
        let Verdict::TooLarge(text) = need(120 << 20, 30 << 20, 120 << 20).verdict(&have) else {
            panic!("30 MiB do not fit 1 MiB of memory");
        };
        // A thirtieth of the 40 MiB of bitmap, in bits.
        assert!(text.contains("about 11.2 M states"), "{text}");
    }
}
