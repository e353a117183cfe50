//! Kernels: pulling one superblock from its sources. All kernels give the same bits; which one
//! runs is chosen when an engine is loaded. The only place where `unsafe` is allowed.

#![allow(
    unsafe_code,
    reason = "SIMD and unchecked table reads; every block says why it is sound"
)]

mod avx2;
mod avx512;
mod fault;
mod gather;
pub(crate) mod pages;
mod portable;
mod pull;
mod tables;
pub mod yardstick;

pub(crate) use pull::{PullChunk, PullSource, SeenChunk, pull_chunk};
pub(crate) use tables::{BlockTables, digest_keys};

use tables::{Inner, LeafTables, RowTables};

use crate::terms::{EngineError, KernelChoice};

impl KernelChoice {
    /// `portable`, `avx2` or `avx512`: what an engine loaded with this choice will use on this processor.
    pub fn resolve(self) -> Result<&'static str, EngineError> {
        Ok(Kernel::choose(self)?.name())
    }
}

/// The kernels there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kernel {
    Portable,
    Avx2,
    Avx512,
}

impl Kernel {
    /// The kernel for a wish, if this processor has it.
    pub fn choose(choice: KernelChoice) -> Result<Kernel, EngineError> {
        let (avx2, avx512) = (avx2::available(), avx512::available());
        match choice {
            KernelChoice::Auto if avx512 => Ok(Kernel::Avx512),
            KernelChoice::Auto if avx2 => Ok(Kernel::Avx2),
            KernelChoice::Auto | KernelChoice::Portable => Ok(Kernel::Portable),
            KernelChoice::Avx2 if avx2 => Ok(Kernel::Avx2),
            KernelChoice::Avx512 if avx512 => Ok(Kernel::Avx512),
            KernelChoice::Avx2 => Err(EngineError::NoKernel("AVX2")),
            KernelChoice::Avx512 => Err(EngineError::NoKernel("AVX-512 with BITALG")),
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Kernel::Portable => "portable",
            Kernel::Avx2 => "avx2",
            Kernel::Avx512 => "avx512",
        }
    }
}
