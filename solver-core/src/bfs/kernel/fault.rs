//! Superblock tables made wrong on purpose, for tests of verification.

use super::tables::{BlockTables, Inner, LeafTables};
use crate::group::rng::SplitMix;
use crate::space::fault::two;

impl BlockTables {
    /// Two entries of one element exchanged; `None` where a superblock has only one.
    pub(crate) fn with_entries_exchanged(&self, rng: &mut SplitMix) -> Option<BlockTables> {
        match &self.inner {
            Inner::Leaf(leaf) => {
                let mut rows = leaf.rows.clone();
                let element = rng.below(rows.len() / self.words);
                let (a, b) = two(rng, self.words, &[])?;
                rows.swap(element * self.words + a, element * self.words + b);
                Some(self.with_rows(leaf, rows))
            }
            Inner::Row(row) => {
                let mut images = row.images.clone();
                let element = rng.below(images.len() / row.states);
                let (a, b) = two(rng, row.states, &[])?;
                images.swap(element * row.states + a, element * row.states + b);
                Some(BlockTables::row(self.kernel, row.states, images))
            }
        }
    }

    /// Two words of every superblock (row tables: two states) under each other's names. Those of
    /// `roots`, positions inside a superblock, keep theirs.
    pub(crate) fn with_places_renamed(
        &self,
        rng: &mut SplitMix,
        roots: &[u32],
    ) -> Option<BlockTables> {
        let renamed = |a: usize, b: usize, k: usize| match k {
            _ if k == a => b,
            _ if k == b => a,
            _ => k,
        };
        match &self.inner {
            Inner::Leaf(leaf) => {
                let keep: Vec<usize> = roots.iter().map(|p| (p / 64) as usize).collect();
                let (a, b) = two(rng, self.words, &keep)?;
                let mut rows = leaf.rows.clone();
                for (k, &entry) in leaf.rows.iter().enumerate() {
                    let (element, w) = (k / self.words, k % self.words);
                    let source = renamed(a, b, (entry & 0xffff) as usize / 8) as u32 * 8;
                    rows[element * self.words + renamed(a, b, w)] = entry & 0xffff_0000 | source;
                }
                Some(self.with_rows(leaf, rows))
            }
            Inner::Row(row) => {
                let keep: Vec<usize> = roots.iter().map(|&p| p as usize).collect();
                let (a, b) = two(rng, row.states, &keep)?;
                let mut images = row.images.clone();
                for (k, &image) in row.images.iter().enumerate() {
                    let (element, i) = (k / row.states, k % row.states);
                    images[element * row.states + renamed(a, b, i)] =
                        renamed(a, b, usize::from(image)) as u16;
                }
                Some(BlockTables::row(self.kernel, row.states, images))
            }
        }
    }

    fn with_rows(&self, leaf: &LeafTables, rows: Vec<u32>) -> BlockTables {
        BlockTables {
            words: self.words,
            masks: self.masks.clone(),
            keys: self.keys.clone(),
            inner: Inner::Leaf(LeafTables {
                rows,
                controls: leaf.controls.clone(),
                bytes: leaf.bytes.clone(),
                nibbles: leaf.nibbles.clone(),
            }),
            kernel: self.kernel,
        }
    }
}
