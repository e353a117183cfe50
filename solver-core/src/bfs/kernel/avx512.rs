//! The AVX-512 kernel: one `vpshufbitqmb` permutes the bits of a leaf word. Rows are those of AVX2, which
//! measured a quarter faster than `vpermi2b` over the whole row.

use super::LeafTables;
use super::gather::{Active, Block, Gather, block_with};
#[cfg(target_arch = "x86_64")]
use crate::terms::Digest;

/// Does this processor have it?
pub(super) fn available() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512bitalg")
            && super::avx2::available()
    }
    #[cfg(not(target_arch = "x86_64"))]
    false
}

#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
pub(super) struct Leaf<'a>(pub &'a LeafTables);

#[cfg(target_arch = "x86_64")]
impl Gather for Leaf<'_> {
    #[target_feature(
        enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512bitalg,bmi1,bmi2,popcnt,avx2"
    )]
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
        // Fixed numbers of sources keep their pointers in registers.
        // SAFETY: passed on to the caller.
        unsafe {
            match active {
                [a] => self.few([a], w),
                [a, b] => self.few([a, b], w),
                [a, b, c] => self.few([a, b, c], w),
                [a, b, c, d, rest @ ..] => {
                    let mut acc = self.few([a, b, c, d], w);
                    for a in rest {
                        acc |= self.few([a], w);
                    }
                    acc
                }
                [] => 0,
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
impl Leaf<'_> {
    /// # Safety
    /// As for [`Gather::word`].
    #[inline(always)]
    unsafe fn few<const N: usize>(&self, active: [&Active; N], w: usize) -> u64 {
        use std::arch::x86_64::*;
        let controls = self.0.controls.as_ptr().cast::<__m512i>();
        let mut acc = 0u64;
        for a in active {
            // SAFETY: only called from a function with these features enabled after detection;
            // rows, sources and controls were checked against each other when the tables were
            // made; lines are aligned.
            acc |= unsafe {
                let entry = a.row.cast::<u16>().add(w * 2);
                let (from, control) = (usize::from(*entry), usize::from(*entry.add(1)));
                let source = _mm512_set1_epi64(*a.source.byte_add(from) as i64);
                let control = _mm512_load_si512(controls.byte_add(control));
                _mm512_bitshuffle_epi64_mask(source, control)
            };
        }
        acc
    }
}
