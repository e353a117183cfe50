//! The one pool of compute threads; everything parallel in the engine runs in it.

use crate::error::StartError;

/// A pool of `threads` threads, or of as many as the machine has for 0.
pub fn build(threads: usize) -> Result<rayon::ThreadPool, StartError> {
    let threads = if threads == 0 { available() } else { threads };
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .thread_name(|k| format!("compute-{k}"))
        .build()
        .map_err(|error| StartError::Threads {
            threads,
            reason: error.to_string(),
        })
}

fn available() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
