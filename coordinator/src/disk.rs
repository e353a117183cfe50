//! Is there room on the disk under the store? Below a watermark nothing new is accepted, so that what
//! was accepted can be written to its end.

use std::path::{Path, PathBuf};

/// Watches the file system of one directory.
#[derive(Debug)]
pub struct Watermark {
    data: PathBuf,
    reserve: u64,
    is_full: bool,
    /// Why the last commit failed.
    failed: Option<String>,
}

impl Watermark {
    /// `reserve` bytes are to stay free.
    pub fn new(data: &Path, reserve: u64) -> Watermark {
        Watermark {
            data: data.into(),
            reserve,
            is_full: false,
            failed: None,
        }
    }

    /// A commit did not work, or worked again.
    pub fn note_commit(&mut self, failed: Option<String>) {
        self.failed = failed;
    }

    /// Looks; why nothing more may be stored, if so.
    pub fn look(&mut self) -> Option<String> {
        let data = self.data.display();
        if let Some(reason) = &self.failed {
            return Some(format!(
                "the coordinator's disk takes nothing more: its store in {data} cannot be written ({reason}); it tries again every second, and goes on by itself when it can"
            ));
        }
        let free = free_bytes(&self.data)?;
        // A little more room before it counts as room again.
        let enough = if self.is_full {
            self.reserve + self.reserve / 10
        } else {
            self.reserve
        };
        self.is_full = free < enough;
        self.is_full.then(|| {
            format!(
                "the disk of the coordinator's store in {data} is nearly full ({free} bytes free, {} are kept in reserve); it goes on by itself when there is room",
                self.reserve
            )
        })
    }
}

/// Bytes that may still be written there; `None` where the system does not say.
fn free_bytes(path: &Path) -> Option<u64> {
    let stat = rustix::fs::statvfs(path).ok()?;
    Some(stat.f_bavail.saturating_mul(stat.f_frsize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn below_the_watermark_and_after_a_failed_commit_it_is_full() {
        let data = tempfile::tempdir().unwrap();
        assert_eq!(Watermark::new(data.path(), 1).look(), None);
        let mut full = Watermark::new(data.path(), u64::MAX / 2);
        assert!(full.look().unwrap().contains("nearly full"));
        let mut failing = Watermark::new(data.path(), 1);
        failing.note_commit(Some("no space".into()));
        assert!(failing.look().unwrap().contains("no space"));
        failing.note_commit(None);
        assert_eq!(failing.look(), None);
    }
}
