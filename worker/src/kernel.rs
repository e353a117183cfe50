//! The name of the leaf kernel that the engines of this worker use.

use crate::error::StartError;
use antipode_solver_core::engine::KernelChoice;

/// Refuses what the processor does not have, before anything is started.
pub fn name(choice: KernelChoice) -> Result<&'static str, StartError> {
    let (avx2, avx512) = features();
    match choice {
        KernelChoice::Auto if avx512 => Ok("avx512"),
        KernelChoice::Auto if avx2 => Ok("avx2"),
        KernelChoice::Auto | KernelChoice::Portable => Ok("portable"),
        KernelChoice::Avx2 if avx2 => Ok("avx2"),
        KernelChoice::Avx512 if avx512 => Ok("avx512"),
        KernelChoice::Avx2 => Err(StartError::NoKernel("AVX2")),
        KernelChoice::Avx512 => Err(StartError::NoKernel("AVX-512 BITALG")),
    }
}

#[cfg(target_arch = "x86_64")]
fn features() -> (bool, bool) {
    let avx512 = is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("avx512bitalg");
    (is_x86_feature_detected!("avx2"), avx512)
}

#[cfg(not(target_arch = "x86_64"))]
fn features() -> (bool, bool) {
    (false, false)
}
