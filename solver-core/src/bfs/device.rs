//! The seam for devices that compute a level of a shard in the processor's place, such as graphics processors.
//!
//! A device gets the tables of a space once, and then the sets of each task by reference; it may keep what it was
//! given or has made, under the names of the sets ([`FrontierId`]). It answers with bits, which are not taken on trust (see
//! `space::attempt`); whatever does not hold is computed by the processor, and the device is told that it was wrong.

pub use super::block::Step;

use super::frontier::{Frontier, FrontierId};
use crate::terms::{Level, OnDevice, ShardId};

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
    /// Words of a superblock.
    pub words: usize,
    pub tables: Vec<&'a [u32]>,
}
