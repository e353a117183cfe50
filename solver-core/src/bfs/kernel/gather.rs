//! What the kernels have in common: gather a superblock word by word from all moves, take away what was
//! seen, count, digest. They differ in how a word is permuted.

use crate::bfs::digest;
use crate::terms::Digest;

/// A source superblock that holds states, and the table row that permutes it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Active {
    pub source: *const u64,
    pub row: *const u8,
}

/// What was seen of one superblock.
pub(super) enum BlockSeen<'a> {
    /// `out` holds the level before the last; these are the words of the last.
    Own(&'a [u64]),
    OwnEmpty,
    Visited(&'a mut [u64]),
}

/// One superblock to be computed.
pub(super) struct Block<'a> {
    pub active: &'a [Active],
    pub masks: &'a [u64],
    pub keys: &'a [[u32; 4]],
    pub out: &'a mut [u64],
    pub seen: BlockSeen<'a>,
    /// Number of the superblock in the whole index.
    pub index: u64,
}

/// One way of permuting source words into a destination word.
pub(super) trait Gather {
    /// Distance between the rows of two elements.
    fn row_bytes(&self, words: usize) -> usize;
    /// Row of element 0.
    fn rows(&self) -> *const u8;
    /// Word `w` of the union over all active sources. Unused bits are arbitrary.
    ///
    /// # Safety
    /// Every source has `words` words and every row belongs to an element of the tables.
    unsafe fn word(&self, active: &[Active], w: usize, words: usize) -> u64;
    /// Number of new states and their digest. One call of `block_with` in a function that has the
    /// processor's features switched on: a closure around the words would not inherit them.
    ///
    /// # Safety
    /// As for `word`, for all words of the superblock; and the processor has the features.
    unsafe fn block(&self, block: Block<'_>) -> (u32, Digest);
}

/// The loop over the words of a superblock.
///
/// # Safety
/// As for [`Gather::word`].
#[inline(always)]
pub(super) unsafe fn block_with<G: Gather>(gather: &G, block: Block<'_>) -> (u32, Digest) {
    let Block {
        active,
        masks,
        keys,
        out,
        seen,
        index,
    } = block;
    let words = masks.len();
    let mut count = 0u32;
    match seen {
        BlockSeen::Own(own) => {
            for (w, (o, (&s, &mask))) in out.iter_mut().zip(own.iter().zip(masks)).enumerate() {
                // SAFETY: passed on to the caller.
                let new = unsafe { gather.word(active, w, words) } & mask & !s & !*o;
                *o = new;
                count += new.count_ones();
            }
        }
        BlockSeen::OwnEmpty => {
            for (w, (o, &mask)) in out.iter_mut().zip(masks).enumerate() {
                // SAFETY: passed on to the caller.
                let new = unsafe { gather.word(active, w, words) } & mask & !*o;
                *o = new;
                count += new.count_ones();
            }
        }
        BlockSeen::Visited(visited) => {
            for (w, (o, (v, &mask))) in out
                .iter_mut()
                .zip(visited.iter_mut().zip(masks))
                .enumerate()
            {
                if *v == mask {
                    *o = 0;
                    continue;
                }
                // SAFETY: passed on to the caller.
                let new = unsafe { gather.word(active, w, words) } & mask & !*v;
                *o = new;
                *v |= new;
                count += new.count_ones();
            }
        }
    }
    if count == 0 {
        (0, Digest::default())
    } else {
        (count, digest::block(index, out, keys))
    }
}
