//! A level by a device: asked first, and not believed. All states of the answer are counted again, some words of it are
//! computed again state by state, and the certificate of every level holds it too.

use super::Space;
use crate::bfs::buffers::Buffers;
use crate::bfs::certificate::{Questions, Subject};
use crate::bfs::device::{Answer, DeviceBits, DeviceTask, LevelDevice};
use crate::bfs::frontier::{Body, Frontier, FrontierId};
use crate::bfs::level::seen_with;
use crate::group::rng::SplitMix;
use crate::terms::{EngineError, Expanded, Seen, ShardId};
use rayon::prelude::*;

/// Words of an answer that are computed again.
const SAMPLED_WORDS: usize = 128;

/// A space that asks a device before it computes by itself.
pub(crate) struct Attempt<'a, S: Space + ?Sized> {
    pub space: &'a S,
    pub device: &'a dyn LevelDevice,
    /// The bits that are states, by word of the shard.
    pub masks: &'a (dyn Fn(usize) -> u64 + Sync),
    pub buffers: &'a Buffers,
}

impl<S: Space + ?Sized> Attempt<'_, S> {
    /// The level, made by the device and certified; what was seen comes back where the processor is to compute.
    /// `sources`: as in [`DeviceTask`].
    pub fn expand(
        &self,
        subject: &Subject<'_>,
        questions: &Questions,
        sources: &[(ShardId, &Frontier)],
        own: &Frontier,
        seen: Seen,
    ) -> Result<Expanded, Seen> {
        let task = DeviceTask {
            level: subject.level,
            shard: subject.shard,
            sources,
            own,
            seen: seen.set(),
            seen_grows: matches!(seen, Seen::Visited(_)),
            becomes: FrontierId::fresh(),
            seen_becomes: FrontierId::fresh(),
        };
        let seen_becomes = task.seen_becomes;
        let Some((frontier, Answer { by, used })) = self.ask(&task) else {
            return Err(seen);
        };
        match subject.check(&frontier, questions.clone()) {
            Err(error) => {
                let what = match error {
                    EngineError::Violated(what) => what,
                    other => other.to_string(),
                };
                self.device.wrong(by, &what);
                self.buffers.recycle(frontier);
                Err(seen)
            }
            Ok(certificate) => {
                let visited = seen_with(seen, &frontier, self.buffers);
                Ok(Expanded {
                    digest: self.space.digest(subject.shard, &frontier),
                    visited: visited.map(|set| set.named(seen_becomes)),
                    frontier,
                    certificate,
                    on_device: Some(used),
                })
            }
        }
    }

    /// What the device answers, if it does, and what is right as far as it was looked at.
    fn ask(&self, task: &DeviceTask<'_>) -> Option<(Frontier, Answer)> {
        if task.sources.iter().all(|(_, source)| source.count() == 0) {
            return None;
        }
        let geometry = self.space.geometry(task.shard);
        let len = geometry.blocks as usize * geometry.words as usize;
        let mut words = self.buffers.take(len);
        let mut counts = vec![0u16; geometry.blocks as usize];
        let mut out = DeviceBits {
            words: &mut words,
            counts: &mut counts,
        };
        let answer = self.device.level(task, &mut out);
        let count = counts.iter().map(|&c| u64::from(c)).sum();
        let made = Frontier::new(geometry, count, Body::Dense { words, counts });
        let made = made.named(task.becomes);
        let Some(answer) = answer else {
            self.buffers.recycle(made);
            return None;
        };
        if let Some(what) = differs(self.space, task, &made, self.masks) {
            self.device.wrong(answer.by, &what);
            self.buffers.recycle(made);
            return None;
        }
        if made.count > 0 {
            return Some((self.buffers.settled(made), answer));
        }
        self.buffers.recycle(made);
        Some((Frontier::empty(geometry).named(task.becomes), answer))
    }
}

/// Counts the states again, which finds what was changed on the way, and computes some words again, half of them from
/// superblocks that are said to hold new states; says what is wrong.
fn differs<S: Space + ?Sized>(
    space: &S,
    task: &DeviceTask<'_>,
    made: &Frontier,
    masks: &(dyn Fn(usize) -> u64 + Sync),
) -> Option<String> {
    let Body::Dense { words, counts } = &made.body else {
        return None;
    };
    let width = made.geometry.words as usize;
    let blocks = words.par_chunks(width).zip(counts).enumerate();
    let miscounted = blocks.find_map_any(|(block, (words, &said))| {
        let counted: u32 = words.iter().map(|word| word.count_ones()).sum();
        (counted != u32::from(said)).then(|| {
            format!(
                "superblock {block} of shard {} is said to have {said} states and has {counted}",
                task.shard
            )
        })
    });
    if miscounted.is_some() {
        return miscounted;
    }
    let mut rng = SplitMix(u64::from(task.shard.0) << 32 ^ made.count.wrapping_mul(0x9e37));
    let mut picked: Vec<usize> = (0..SAMPLED_WORDS / 2)
        .map(|_| rng.below(words.len()))
        .collect();
    let start = rng.below(counts.len());
    let blocks = (start..counts.len()).chain(0..start);
    for block in blocks.filter(|&b| counts[b] != 0).take(SAMPLED_WORDS / 2) {
        picked.push(block * width + rng.below(width));
    }
    picked.into_par_iter().find_map_any(|w| {
        let right = word(space, task, w, masks(w));
        (words[w] != right).then(|| {
            format!(
                "word {w} of shard {} is {:016x} and should be {right:016x}",
                task.shard, words[w]
            )
        })
    })
}

/// One word of the answer, the slow way.
fn word<S: Space + ?Sized>(space: &S, task: &DeviceTask<'_>, w: usize, mask: u64) -> u64 {
    let mut left = mask;
    let mut right = 0;
    while left != 0 {
        let bit = left.trailing_zeros();
        left &= left - 1;
        let position = w as u32 * 64 + bit;
        if task.own.contains(position) || task.seen.contains(position) {
            continue;
        }
        let has_predecessor = (0..space.moves()).any(|generator| {
            let (from, at) = space.step(task.shard, position, generator, true);
            let source = task.sources.iter().find(|(shard, _)| *shard == from);
            source.is_some_and(|(_, source)| source.contains(at))
        });
        right |= u64::from(has_predecessor) << bit;
    }
    right
}
