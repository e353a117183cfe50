//! The AVX2 kernel: a bit permutation as byte shuffle, mask and compare; rows shuffle every 16-byte
//! piece that a word takes from.

use super::gather::{Active, Block, Gather, block_with};
use super::{LeafTables, RowTables};
#[cfg(target_arch = "x86_64")]
use crate::terms::Digest;

/// Does this processor have it?
pub(super) fn available() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("popcnt")
    }
    #[cfg(not(target_arch = "x86_64"))]
    false
}

#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
pub(super) struct Leaf<'a>(pub &'a LeafTables);

#[cfg(target_arch = "x86_64")]
impl Gather for Leaf<'_> {
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
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
        use std::arch::x86_64::*;
        let controls = self.0.bytes.as_ptr().cast::<__m256i>();
        // SAFETY: only called from a function with AVX2 enabled after detection; rows, sources and
        // controls were checked against each other when the tables were made; lines are aligned.
        unsafe {
            let mut low = _mm256_setzero_si256();
            let mut high = _mm256_setzero_si256();
            for a in active {
                let entry = *a.row.cast::<u32>().add(w);
                let source =
                    _mm256_set1_epi64x(*a.source.byte_add((entry & 0xffff) as usize) as i64);
                let control = controls.byte_add((entry >> 16) as usize * 2);
                let mask0 = _mm256_load_si256(control.add(2));
                let mask1 = _mm256_load_si256(control.add(3));
                let byte0 = _mm256_shuffle_epi8(source, _mm256_load_si256(control));
                let byte1 = _mm256_shuffle_epi8(source, _mm256_load_si256(control.add(1)));
                low = _mm256_or_si256(
                    low,
                    _mm256_cmpeq_epi8(_mm256_and_si256(byte0, mask0), mask0),
                );
                high = _mm256_or_si256(
                    high,
                    _mm256_cmpeq_epi8(_mm256_and_si256(byte1, mask1), mask1),
                );
            }
            let low = _mm256_movemask_epi8(low) as u32;
            let high = _mm256_movemask_epi8(high) as u32;
            u64::from(low) | u64::from(high) << 32
        }
    }
}

#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
pub(super) struct Row<'a>(pub &'a RowTables);

#[cfg(target_arch = "x86_64")]
impl Gather for Row<'_> {
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    unsafe fn block(&self, block: Block<'_>) -> (u32, Digest) {
        // SAFETY: passed on to the caller.
        unsafe { block_with(self, block) }
    }

    #[inline(always)]
    fn row_bytes(&self, words: usize) -> usize {
        words
    }

    /// Not memory: rows are counted in words here, see `word`.
    fn rows(&self) -> *const u8 {
        std::ptr::null()
    }

    #[inline(always)]
    unsafe fn word(&self, active: &[Active], w: usize, words: usize) -> u64 {
        use std::arch::x86_64::*;
        // SAFETY: only called from a function with AVX2 enabled after detection; `starts` has an entry for
        // every element and word; a last piece of a row with an odd number of words is read as 8 bytes.
        unsafe {
            let (mut low, mut high) = (_mm256_setzero_si256(), _mm256_setzero_si256());
            for a in active {
                let at = a.row as usize + w;
                let (start, end) = (
                    *self.0.starts.get_unchecked(at),
                    *self.0.starts.get_unchecked(at + 1),
                );
                let (mut byte0, mut byte1) = (_mm256_setzero_si256(), _mm256_setzero_si256());
                for (piece, line) in self.0.pieces.get_unchecked(start as usize..end as usize) {
                    let from = a.source.add(*piece as usize * 2);
                    let half = if *piece as usize * 2 + 1 < words {
                        _mm_loadu_si128(from.cast())
                    } else {
                        _mm_loadl_epi64(from.cast())
                    };
                    let source = _mm256_broadcastsi128_si256(half);
                    let control = std::ptr::from_ref(line).cast::<__m256i>();
                    byte0 = _mm256_or_si256(
                        byte0,
                        _mm256_shuffle_epi8(source, _mm256_load_si256(control)),
                    );
                    byte1 = _mm256_or_si256(
                        byte1,
                        _mm256_shuffle_epi8(source, _mm256_load_si256(control.add(1))),
                    );
                }
                let bits = self.0.bits.as_ptr().add(at).cast::<__m256i>();
                let (mask0, mask1) = (_mm256_load_si256(bits), _mm256_load_si256(bits.add(1)));
                low = _mm256_or_si256(
                    low,
                    _mm256_cmpeq_epi8(_mm256_and_si256(byte0, mask0), mask0),
                );
                high = _mm256_or_si256(
                    high,
                    _mm256_cmpeq_epi8(_mm256_and_si256(byte1, mask1), mask1),
                );
            }
            let (low, high) = (
                _mm256_movemask_epi8(low) as u32,
                _mm256_movemask_epi8(high) as u32,
            );
            u64::from(low) | u64::from(high) << 32
        }
    }
}
