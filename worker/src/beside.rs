//! A few threads for what blocks: disks, packing, checking. Not tokio's blocking pool: that grows to
//! hundreds of threads, and each would keep pieces of the large buffers that it once freed.

use crate::error::StartError;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use tokio::sync::oneshot;

/// One reads while the other writes.
const THREADS: usize = 2;

type Job = Box<dyn FnOnce() + Send>;

/// The threads; they end when the last handle is dropped.
#[derive(Debug, Clone)]
pub struct Beside {
    jobs: mpsc::Sender<Job>,
}

/// The job panicked.
#[derive(Debug, thiserror::Error)]
#[error("internal error: a thread of the worker panicked")]
pub struct Panicked;

impl Beside {
    pub fn start() -> Result<Beside, StartError> {
        let (jobs, queue) = mpsc::channel::<Job>();
        let queue = Arc::new(Mutex::new(queue));
        for k in 0..THREADS {
            let queue = queue.clone();
            std::thread::Builder::new()
                .name(format!("beside-{k}"))
                .spawn(move || {
                    loop {
                        // The lock is held while waiting, not while working.
                        let job = queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
                        let Ok(job) = job else { return };
                        // Whoever waits for the answer hears of a panic by its absence.
                        let _ = catch_unwind(AssertUnwindSafe(job));
                    }
                })
                .map_err(|error| StartError::Threads {
                    threads: THREADS,
                    reason: error.to_string(),
                })?;
        }
        Ok(Beside { jobs })
    }

    /// Runs `work` on one of the threads. It runs even if nobody waits for the answer any more.
    pub fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> impl Future<Output = Result<T, Panicked>> + Send + 'static {
        let (sender, receiver) = oneshot::channel();
        let job = Box::new(move || {
            let _ = sender.send(work());
        });
        // The threads live as long as this sender.
        let _ = self.jobs.send(job);
        async move { receiver.await.map_err(|_| Panicked) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_is_an_answer_and_the_threads_go_on() {
        let beside = Beside::start().unwrap();
        for _ in 0..2 * THREADS {
            assert!(beside.run(|| panic!("on purpose")).await.is_err());
        }
        assert_eq!(beside.run(|| 7).await.unwrap(), 7);
    }
}
