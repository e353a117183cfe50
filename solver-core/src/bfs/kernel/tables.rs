//! What the elements of a space do inside a superblock, in the form that each kernel reads.
//!
//! A superblock is an array of words. Its tables are of one of two kinds:
//! - leaf: word `w` comes from word `w'` with its 64 bits permuted by one of a few fixed bit
//!   permutations ("controls"): `out bit k = in bit control[k]`;
//! - row: every bit of the superblock comes from any other bit, one permutation an element.

use super::Kernel;
use crate::bfs::device::InnerView;
use crate::group::rng::SplitMix;

/// 64 bytes that start on a cache line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C, align(64))]
pub(crate) struct Line(pub [u8; 64]);

/// What elements do inside a superblock.
pub(crate) struct BlockTables {
    /// Words of a superblock, at most 1023.
    pub words: usize,
    /// The used bits of each word.
    pub masks: Vec<u64>,
    /// Multipliers of the digest, see [`crate::bfs::digest`].
    pub keys: Vec<[u32; 4]>,
    pub inner: Inner,
    pub kernel: Kernel,
}

/// The two kinds of superblock.
pub(crate) enum Inner {
    Leaf(LeafTables),
    Row(RowTables),
}

/// Word tables.
pub(crate) struct LeafTables {
    /// `[element * words + w]`: byte offset of the source word in its superblock, and in the upper
    /// half byte offset of the control (64 bytes each): offsets, so that the kernel shifts nothing.
    pub rows: Vec<u32>,
    /// `controls[kappa].0[k]` = the bit that bit `k` comes from.
    pub controls: Vec<Line>,
    /// For AVX2: byte numbers and bit masks of each control.
    pub bytes: Vec<[Line; 2]>,
    /// For the portable kernel: what each nibble of the source word contributes.
    pub nibbles: Vec<[[u64; 16]; 16]>,
}

/// Bit tables: `images[element * states + i]` = the bit that bit `i` comes from.
pub(crate) struct RowTables {
    pub states: usize,
    pub images: Vec<u16>,
    /// For vectors: `[element * words + w]` where the word's pieces begin, and their end after the last.
    pub starts: Vec<u32>,
    /// For vectors: number of a 16-byte piece of the row, and which of its bytes every bit takes (128: none).
    pub pieces: Vec<(u32, Line)>,
    /// For vectors: the bit of the byte, `[element * words + w]`.
    pub bits: Vec<Line>,
}

/// `out bit k = in bit control[k]`, for `k < used`; other bits of the result are arbitrary.
fn nibble_table(control: &Line, used: usize) -> [[u64; 16]; 16] {
    let mut table = [[0u64; 16]; 16];
    for (k, &from) in control.0.iter().enumerate().take(used) {
        let (nibble, bit) = (usize::from(from) / 4, from % 4);
        for (value, entry) in table[nibble].iter_mut().enumerate() {
            if value >> bit & 1 == 1 {
                *entry |= 1 << k;
            }
        }
    }
    table
}

/// Multipliers of the digest for the words of a superblock.
pub(crate) fn digest_keys(words: usize) -> Vec<[u32; 4]> {
    let mut rng = SplitMix(0xd16e_5700_0000_0001);
    (0..words)
        .map(|_| {
            let (a, b) = (rng.next_u64(), rng.next_u64());
            [
                a as u32 | 1,
                (a >> 32) as u32 | 1,
                b as u32 | 1,
                (b >> 32) as u32 | 1,
            ]
        })
        .collect()
}

impl BlockTables {
    /// Word tables. `rows[element * words + w] = w' | kappa << 16`; `controls[kappa][k]` for `k < used`.
    pub fn leaf(
        kernel: Kernel,
        words: usize,
        rows: Vec<u32>,
        controls: &[Vec<u8>],
        used: u32,
    ) -> BlockTables {
        assert!(words <= 1023 && used <= 64 && controls.len() <= 1023);
        assert!(
            rows.iter()
                .all(|r| ((r & 0xffff) as usize) < words && ((r >> 16) as usize) < controls.len())
        );
        assert!(
            controls
                .iter()
                .all(|c| c.len() == used as usize && c.iter().all(|&b| u32::from(b) < used))
        );
        let rows = rows
            .into_iter()
            .map(|r| ((r & 0xffff) * 8) | (((r >> 16) * 64) << 16))
            .collect();
        let controls: Vec<Line> = controls
            .iter()
            .map(|c| {
                let mut line = Line([0; 64]);
                line.0[..c.len()].copy_from_slice(c);
                line
            })
            .collect();
        let bytes = match kernel {
            Kernel::Avx2 => controls
                .iter()
                .map(|c| [Line(c.0.map(|b| b >> 3)), Line(c.0.map(|b| 1 << (b & 7)))])
                .collect(),
            _ => Vec::new(),
        };
        let nibbles = match kernel {
            Kernel::Portable => controls
                .iter()
                .map(|c| nibble_table(c, used as usize))
                .collect(),
            _ => Vec::new(),
        };
        BlockTables {
            words,
            masks: vec![u64::MAX >> (64 - used); words],
            keys: digest_keys(words),
            inner: Inner::Leaf(LeafTables {
                rows,
                controls,
                bytes,
                nibbles,
            }),
            kernel,
        }
    }

    /// Bit tables: `images` as in [`RowTables`].
    pub fn row(kernel: Kernel, states: usize, images: Vec<u16>) -> BlockTables {
        let words = states.div_ceil(64);
        assert!(words <= 1023 && images.len().is_multiple_of(states));
        assert!(images.iter().all(|&i| usize::from(i) < states));
        let mut masks = vec![u64::MAX; words];
        if !states.is_multiple_of(64) {
            masks[words - 1] = (1 << (states % 64)) - 1;
        }
        let (mut starts, mut pieces, mut bits) = (Vec::new(), Vec::new(), Vec::new());
        if kernel != Kernel::Portable {
            for word in images
                .chunks_exact(states)
                .flat_map(|image| image.chunks(64))
            {
                starts.push(pieces.len() as u32);
                let mut bit = Line([0; 64]);
                for (k, &from) in word.iter().enumerate() {
                    bit.0[k] = 1 << (from % 8);
                    let (piece, byte) = (u32::from(from) / 128, (from / 8 % 16) as u8);
                    let first = starts[starts.len() - 1] as usize;
                    let at = match pieces[first..].iter().position(|(p, _)| *p == piece) {
                        Some(at) => first + at,
                        None => {
                            pieces.push((piece, Line([128; 64])));
                            pieces.len() - 1
                        }
                    };
                    pieces[at].1.0[k] = byte;
                }
                bits.push(bit);
            }
            starts.push(pieces.len() as u32);
        }
        BlockTables {
            words,
            masks,
            keys: digest_keys(words),
            inner: Inner::Row(RowTables {
                states,
                images,
                starts,
                pieces,
                bits,
            }),
            kernel,
        }
    }

    /// Applies an element to a position inside the superblock.
    #[inline]
    pub fn apply(&self, element: u32, inside: u32) -> u32 {
        match &self.inner {
            Inner::Leaf(leaf) => {
                let row = leaf.rows[element as usize * self.words + (inside / 64) as usize];
                let bit = leaf.controls[(row >> 22) as usize].0[(inside % 64) as usize];
                (row & 0xffff) * 8 + u32::from(bit)
            }
            Inner::Row(row) => {
                u32::from(row.images[element as usize * row.states + inside as usize])
            }
        }
    }

    /// The tables without what belongs to one kernel.
    pub fn view(&self) -> InnerView<'_> {
        match &self.inner {
            Inner::Leaf(leaf) => InnerView::Leaf {
                rows: leaf
                    .rows
                    .iter()
                    .map(|row| ((row & 0xffff) / 8) | ((row >> 22) << 16))
                    .collect(),
                controls: leaf.controls.iter().map(|line| line.0).collect(),
                used: self.masks[0].count_ones(),
            },
            Inner::Row(row) => InnerView::Row {
                states: row.states,
                images: &row.images,
            },
        }
    }

    /// Of every so many positions so many are states, from the first on.
    pub fn group(&self) -> (u32, u32) {
        match &self.inner {
            Inner::Leaf(_) => (64, self.masks[0].count_ones()),
            Inner::Row(row) => (self.words as u32 * 64, row.states as u32),
        }
    }

    pub fn states_per_block(&self) -> u64 {
        self.masks.iter().map(|m| u64::from(m.count_ones())).sum()
    }

    pub fn bytes(&self) -> u64 {
        (match &self.inner {
            Inner::Leaf(t) => {
                t.rows.len() * 4
                    + t.controls.len() * 64
                    + t.bytes.len() * 128
                    + t.nibbles.len() * 2048
            }
            Inner::Row(t) => t.images.len() * 2 + (t.bits.len() + t.pieces.len() * 2) * 64,
        }) as u64
    }
}
