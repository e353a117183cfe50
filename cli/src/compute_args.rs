//! What a user may say about the machine that computes: flags of `run`, `worker`, `plan` and `bench`.

use crate::exit::Failure;
use crate::memory;
use antipode_solver_core::engine::KernelChoice;

#[derive(Debug, Clone, clap::Args)]
pub struct ComputeArgs {
    /// Threads that compute [default: as many as the machine has]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub threads: Option<u32>,

    /// Memory for frontiers, e.g. 8GiB [default: 80 % of what is available]
    #[arg(long, value_name = "SIZE", value_parser = memory::parse)]
    pub memory: Option<u64>,

    /// The leaf kernel; auto takes the fastest that the processor has
    #[arg(long, value_enum, default_value_t = KernelArg::Auto)]
    pub kernel: KernelArg,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum KernelArg {
    Auto,
    Portable,
    Avx2,
    Avx512,
}

impl ComputeArgs {
    /// Number of threads: as told, or those of the machine (or of the control group we are in).
    pub fn threads(&self) -> u32 {
        self.threads.unwrap_or_else(|| {
            std::thread::available_parallelism()
                .map_or(1, |n| u32::try_from(n.get()).unwrap_or(u32::MAX))
        })
    }

    /// A pool of that many threads, for what computes without a worker.
    pub fn pool(&self) -> Result<rayon::ThreadPool, Failure> {
        let threads = self.threads();
        rayon::ThreadPoolBuilder::new()
            .num_threads(threads as usize)
            .build()
            .map_err(|error| {
                Failure::input(format!(
                    "{threads} threads cannot be started: {error}; ask for fewer with --threads"
                ))
            })
    }

    /// Bytes allowed for frontiers.
    pub fn memory_bytes(&self) -> u64 {
        self.memory.unwrap_or_else(memory::default_bytes)
    }

    /// The kernel, refused here if the processor does not have it.
    pub fn kernel(&self) -> Result<KernelChoice, Failure> {
        let missing = |name: &str| {
            Failure::input(format!(
                "--kernel {name}: this processor has no {name}; use --kernel auto"
            ))
        };
        match self.kernel {
            KernelArg::Auto => Ok(KernelChoice::Auto),
            KernelArg::Portable => Ok(KernelChoice::Portable),
            KernelArg::Avx2 if has_avx2() => Ok(KernelChoice::Avx2),
            KernelArg::Avx2 => Err(missing("avx2")),
            KernelArg::Avx512 if has_avx512() => Ok(KernelChoice::Avx512),
            KernelArg::Avx512 => Err(missing("avx512")),
        }
    }
}

#[cfg(target_arch = "x86_64")]
fn has_avx2() -> bool {
    std::arch::is_x86_feature_detected!("avx2")
}

#[cfg(target_arch = "x86_64")]
fn has_avx512() -> bool {
    std::arch::is_x86_feature_detected!("avx512bitalg")
}

#[cfg(not(target_arch = "x86_64"))]
fn has_avx2() -> bool {
    false
}

#[cfg(not(target_arch = "x86_64"))]
fn has_avx512() -> bool {
    false
}
