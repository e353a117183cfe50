//! The seam for devices that compute a level of a shard in the processor's place, such as graphics processors.
//!
//! A device gets the tables of a space once, and then the sets of each task by reference; it may keep what it was
//! given or has made, under the names of the sets ([`FrontierId`]). It answers with bits. Nothing of that is taken on
//! trust: some words of every answer are computed again, state by state, beside the certificate of every level. Whatever
//! does not hold is computed by the processor, and the device is told that it was wrong.

use super::buffers::Buffers;
use super::certificate::{Questions, Subject};
use super::frontier::{Body, Frontier, FrontierId};
use super::level::seen_with;
use crate::group::rng::SplitMix;
use crate::space::Space;
use crate::terms::{Expanded, Level, OnDevice, Seen, ShardId};
use rayon::prelude::*;

/// Computes levels. One that is busy with other threads' levels makes them wait.
pub trait LevelDevice: Send + Sync {
    /// Fills in the new states of the task's shard; `None`: the processor is to compute it, for whatever reason. Then
    /// `out` may hold anything.
    fn level(&self, task: &DeviceTask<'_>, out: &mut DeviceBits<'_>) -> Option<Answer>;

    /// What was made is not what the graph says: nothing that the device holds or says is to be trusted any more. `by`: as in
    /// the answer.
    fn wrong(&self, by: u32, what: &str);
}

/// A level was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer {
    /// Which device it was, where one stands for several.
    pub by: u32,
    pub used: OnDevice,
}

/// One level of one shard.
#[derive(Debug)]
pub struct DeviceTask<'a> {
    pub level: Level,
    pub shard: ShardId,
    /// Frontier(level-1): of the source shard of every move (block tables), of all shards in order (state tables).
    pub sources: &'a [(ShardId, &'a Frontier)],
    /// Frontier(level-1) of the shard.
    pub own: &'a Frontier,
    /// Frontier(level-2) of the shard, or its visited states.
    pub seen: &'a Frontier,
    /// The new states are added to what was seen; then that is called `seen_becomes`.
    pub seen_grows: bool,
    /// What the result will be called.
    pub becomes: FrontierId,
    pub seen_becomes: FrontierId,
}

/// Where the new states go; all zero before.
#[derive(Debug)]
pub struct DeviceBits<'a> {
    pub words: &'a mut [u64],
    /// Number of states in each superblock.
    pub counts: &'a mut [u16],
}

/// The tables of a space that a device needs. `None` of [`crate::engine::Engine::device_tables`] is for spaces without an
/// index.
#[derive(Debug)]
pub enum DeviceTables<'a> {
    Blocks(BlockTablesView<'a>),
    States(StateTablesView<'a>),
}

/// Chain and product spaces: a superblock comes whole from a superblock, and inside it words or bits are permuted.
#[derive(Debug)]
pub struct BlockTablesView<'a> {
    pub moves: usize,
    /// Shards of one part; a shard of another part has the tables of its number modulo this.
    pub shards: u32,
    /// Parts of the space, one an orbit of roots.
    pub parts: u32,
    /// Superblocks of a shard, and words of a superblock.
    pub blocks: u32,
    pub words: usize,
    /// The digits that number the superblocks of a shard, the leading one first.
    pub digits: Vec<DigitView<'a>>,
    /// `entries[shard * moves + move]`: the element that acts on the first digit when a superblock asks where it comes from.
    pub entries: Vec<u32>,
    /// The bits of every word that are states.
    pub masks: &'a [u64],
    pub inner: InnerView<'a>,
}

/// `steps[element * len + x]`: value and element of the next digit, as in [`BlockTablesView`].
#[derive(Debug, Clone, Copy)]
pub struct DigitView<'a> {
    pub len: u32,
    pub steps: &'a [Step],
}

pub use super::block::Step;

/// What an element does inside a superblock.
#[derive(Debug)]
pub enum InnerView<'a> {
    /// `rows[element * words + w]`: the word that word `w` comes from, and above 16 bits the number of the permutation of its
    /// bits; `controls[number][k]`: the bit that bit `k` comes from, for the `used` lowest bits.
    Leaf {
        rows: Vec<u32>,
        controls: Vec<[u8; 64]>,
        used: u32,
    },
    /// `images[element * states + i]`: the bit that bit `i` comes from.
    Row { states: usize, images: &'a [u16] },
}

/// Table spaces: `tables[move][i]` is the number of the state that the move takes to state `i`. Shards are ranges of
/// numbers.
#[derive(Debug)]
pub struct StateTablesView<'a> {
    pub states: u64,
    /// States of every shard but the last, which may have fewer.
    pub shard_states: u64,
    pub tables: Vec<&'a [u32]>,
}

/// Words of an answer that are computed again.
const SAMPLED_WORDS: usize = 48;

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
                self.device.wrong(by, &error.to_string());
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
