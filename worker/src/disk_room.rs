//! Room on the disk under the data folder: how much is free, whether that is too little, and what each
//! job takes.
//!
//! The disk counts as full when less than the watermark is free, or when a write found no room. It does
//! so until a tenth more than the watermark is free and, after a refused write, there is more room than
//! then or some time has passed (where quotas rule, free bytes say little).

use crate::artifacts::{folder_of, stored_jobs};
use antipode_ids::JobId;
use antipode_proto::message::DiskUse;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The usual watermark: this much, or this part of the file system if that is less.
const RESERVE_BYTES: u64 = 256 << 20;
const RESERVE_PART: u64 = 50;
/// After a refused write the disk stays full this long, if it does not get room; doubled with every
/// refused write, up to the last.
const HOLD: (Duration, Duration) = (Duration::from_secs(5), Duration::from_secs(60));
/// More room than this since a refused write is worth a try.
const MORE_BYTES: u64 = 1 << 20;
/// How often the jobs' folders are measured.
const MEASURE: Duration = Duration::from_secs(5);
/// `st_blocks` counts these.
const BLOCK_BYTES: u64 = 512;

/// The room of one data folder.
#[derive(Debug)]
pub struct DiskRoom {
    data: PathBuf,
    reserve: Option<u64>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    full: bool,
    refused: Option<Refused>,
    measured: Option<(Instant, Vec<(JobId, u64)>)>,
}

#[derive(Debug, Clone, Copy)]
struct Refused {
    at: Instant,
    hold: Duration,
    free: Option<u64>,
}

impl DiskRoom {
    /// `reserve`: the watermark in bytes; `None`: 256 MiB or 2 % of the file system, whichever is less.
    pub fn new(data: &Path, reserve: Option<u64>) -> DiskRoom {
        DiskRoom {
            data: data.into(),
            reserve,
            state: Mutex::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Is there too little room, as far as was seen last?
    pub fn is_full(&self) -> bool {
        self.state().full
    }

    /// A write found no room.
    pub fn refused(&self) {
        let free = space(&self.data).map(|(free, _)| free);
        let mut state = self.state();
        let hold = match state.refused {
            Some(before) => (before.hold * 2).min(HOLD.1),
            None => HOLD.0,
        };
        if !state.full {
            tracing::error!(data = %self.data.display(), free, "the disk is full: nothing is written to save memory until there is room");
        }
        let at = Instant::now();
        state.full = true;
        state.refused = Some(Refused { at, hold, free });
    }

    /// A write found room.
    pub fn accepted(&self) {
        self.state().refused = None;
    }

    /// How the disk stands now.
    pub fn look(&self, now: Instant) -> DiskUse {
        let space = space(&self.data);
        let mut state = self.state();
        if let Some((free, whole)) = space {
            let reserve = self
                .reserve
                .unwrap_or(RESERVE_BYTES.min(whole / RESERVE_PART));
            state.judge(now, free, reserve, &self.data);
        }
        let due = state
            .measured
            .as_ref()
            .is_none_or(|(at, _)| now.duration_since(*at) >= MEASURE);
        if due {
            let jobs = stored_jobs(&self.data);
            let jobs = jobs
                .into_iter()
                .map(|job| (job, folder_bytes(&folder_of(&self.data, job))));
            state.measured = Some((now, jobs.collect()));
        }
        DiskUse {
            free_bytes: space.map(|(free, _)| free),
            full: state.full,
            jobs: state
                .measured
                .as_ref()
                .map(|(_, jobs)| jobs.clone())
                .unwrap_or_default(),
        }
    }
}

impl State {
    fn judge(&mut self, now: Instant, free: u64, reserve: u64, data: &Path) {
        if !self.full {
            if free < reserve {
                tracing::error!(data = %data.display(), free, reserve, "the disk is nearly full: no new tasks are taken until there is room");
                self.full = true;
            }
            return;
        }
        let held = self.refused.is_some_and(|refused| {
            let more = refused
                .free
                .is_some_and(|then| free >= then.saturating_add(MORE_BYTES));
            !more && now.saturating_duration_since(refused.at) < refused.hold
        });
        if free >= reserve.saturating_add(reserve / 10) && !held {
            tracing::info!(data = %data.display(), free, "there is room on the disk again");
            // What was refused stays known: if it is refused again, it waits longer.
            self.full = false;
        }
    }
}

/// Free bytes for us, and the size of the file system; `None` where the system does not say.
fn space(path: &Path) -> Option<(u64, u64)> {
    let stat = rustix::fs::statvfs(path).ok()?;
    Some((
        stat.f_bavail.saturating_mul(stat.f_frsize),
        stat.f_blocks.saturating_mul(stat.f_frsize),
    ))
}

/// Less free than any write of ours needs: whatever goes wrong there now goes wrong because of it.
pub fn is_out_of_room(path: &Path) -> bool {
    space(path).is_some_and(|(free, _)| free < MORE_BYTES)
}

/// Does the error say that there is no room?
pub fn says_no_room(error: &std::io::Error) -> bool {
    matches!(
        error.kind(),
        std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded
    )
}

/// Bytes on disk of the files in a folder.
fn folder_bytes(path: &Path) -> u64 {
    let entries = std::fs::read_dir(path).into_iter().flatten();
    entries
        .filter_map(|entry| entry.ok()?.metadata().ok())
        .map(|file| file.blocks() * BLOCK_BYTES)
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(state: &mut State, now: Instant, free: u64) -> bool {
        state.judge(now, free, 100 << 20, Path::new("d"));
        state.full
    }

    #[test]
    fn the_state_is_left_a_tenth_above_where_it_is_entered() {
        let (mut state, now) = (State::default(), Instant::now());
        for (mebibytes, full) in [
            (100, false),
            (99, true),
            (105, true),
            (110, false),
            (105, false),
        ] {
            assert_eq!(
                judged(&mut state, now, mebibytes << 20),
                full,
                "{mebibytes}"
            );
        }
    }

    #[test]
    fn a_refused_write_holds_it_until_there_is_more_room_or_time_has_passed() {
        let (mut state, now) = (State::default(), Instant::now());
        let refused = Refused {
            at: now,
            hold: HOLD.0,
            free: Some(500 << 20),
        };
        let refuse = |state: &mut State| {
            state.full = true;
            state.refused = Some(refused);
        };
        refuse(&mut state);
        assert!(judged(&mut state, now, 500 << 20));
        assert!(!judged(&mut state, now, 502 << 20), "more room");
        refuse(&mut state);
        assert!(judged(&mut state, now + HOLD.0 / 2, 500 << 20));
        assert!(!judged(&mut state, now + HOLD.0, 500 << 20), "time passed");
        refuse(&mut state);
        assert!(
            judged(&mut state, now + HOLD.0, 50 << 20),
            "below the watermark"
        );
    }

    #[test]
    fn refusals_in_a_row_hold_longer_and_jobs_are_measured() {
        let data = tempfile::tempdir().unwrap();
        let folder = folder_of(data.path(), JobId(4));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("store.redb"), vec![1; 300_000]).unwrap();
        let room = DiskRoom::new(data.path(), Some(0));
        let held = || room.state().refused.map(|refused| refused.hold);
        room.refused();
        assert!(room.is_full());
        assert_eq!(held(), Some(HOLD.0));
        (0..9).for_each(|_| room.refused());
        assert_eq!(held(), Some(HOLD.1));
        room.accepted();
        room.refused();
        assert_eq!(held(), Some(HOLD.0));
        let seen = room.look(Instant::now());
        assert!(seen.full && seen.free_bytes.is_some());
        let [(JobId(4), bytes)] = seen.jobs[..] else {
            panic!("{:?}", seen.jobs)
        };
        assert!((300_000..500_000).contains(&bytes), "{bytes}");
        assert!(!room.look(Instant::now() + HOLD.0).full);
    }
}
