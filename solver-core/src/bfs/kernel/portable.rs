//! The portable kernel: nibble tables for leaves, bit by bit for rows.

use super::gather::{Active, Block, Gather, block_with};
use super::{LeafTables, RowTables};
use crate::terms::Digest;

pub(super) struct Leaf<'a>(pub &'a LeafTables);

impl Gather for Leaf<'_> {
    unsafe fn block(&self, block: Block<'_>) -> (u32, Digest) {
        // SAFETY: passed on to the caller.
        unsafe { block_with(self, block) }
    }

    #[inline(always)]
    fn row_bytes(&self, words: usize) -> usize {
        words * 4
    }

    fn rows(&self) -> *const u8 {
        self.0.rows.as_ptr().cast()
    }

    #[inline(always)]
    unsafe fn word(&self, active: &[Active], w: usize, _words: usize) -> u64 {
        let mut acc = 0u64;
        for a in active {
            // SAFETY: the caller promises rows of `words` entries and sources of `words` words;
            // the entries were checked against both when the tables were made.
            let (mut source, control) = unsafe {
                let entry = *a.row.cast::<u32>().add(w);
                (
                    *a.source.byte_add((entry & 0xffff) as usize),
                    (entry >> 22) as usize,
                )
            };
            if source == 0 {
                continue;
            }
            for table in &self.0.nibbles[control] {
                acc |= table[(source & 15) as usize];
                source >>= 4;
            }
        }
        acc
    }
}

pub(super) struct Row<'a>(pub &'a RowTables);

impl Gather for Row<'_> {
    unsafe fn block(&self, block: Block<'_>) -> (u32, Digest) {
        // SAFETY: passed on to the caller.
        unsafe { block_with(self, block) }
    }

    #[inline(always)]
    fn row_bytes(&self, _words: usize) -> usize {
        self.0.states * 2
    }

    fn rows(&self) -> *const u8 {
        self.0.images.as_ptr().cast()
    }

    #[inline(always)]
    unsafe fn word(&self, active: &[Active], w: usize, _words: usize) -> u64 {
        let first = w * 64;
        let bits = (self.0.states - first).min(64);
        let mut acc = 0u64;
        for a in active {
            for k in 0..bits {
                // SAFETY: the row has `states` entries, each a bit of the source (checked when made).
                let bit = unsafe {
                    let from = usize::from(*a.row.cast::<u16>().add(first + k));
                    *a.source.cast::<u64>().add(from >> 6) >> (from & 63) & 1
                };
                acc |= bit << k;
            }
        }
        acc
    }
}
