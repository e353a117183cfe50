//! Work at hand, on disk: which tasks are being prepared or computed, so that the next start can say
//! what was at work when this process ended without a word, and why it may have ended.
//!
//! A file `journal` in the data folder with two slots that are written in turn, each whole with one
//! write: number (u64), length of the body (u32), checksum (xxh3, u64) over those and the body, all little
//! endian, then the body. The valid slot with the highest number counts; a torn one does not. Nothing is
//! synced: it has to survive the death of the process, not that of the machine. The file has its full
//! length from the start, so that a full disk does not stop it; and where it cannot be written at all,
//! the worker works without.

use crate::machine::Machine;
use crate::session::LeaseId;
use antipode_ids::{Cause, JobId};
use antipode_proto::codec::{self, kind};
use antipode_proto::message::Ended;
use antipode_solver_core::job::Task;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};
use xxhash_rust::xxh3::Xxh3;

const FILE: &str = "journal";
/// Where a supervisor leaves how the process ended.
const END_FILE: &str = "ended";
const SLOT_BYTES: u64 = 64 << 10;
const HEADER_BYTES: usize = 20;

/// How a supervisor saw a process end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Exit(i32),
    Signal(i32),
}

/// What is said of a process from its start to its end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Life {
    pid: u32,
    /// Unix seconds.
    started: u64,
    machine: Machine,
    /// How the process before ended, as long as no coordinator has heard of it.
    unsaid: Option<Ended>,
    /// It ended as it should.
    clean: bool,
}

/// The journal of this process.
#[derive(Debug)]
pub struct Journal {
    file: Option<File>,
    life: Life,
    /// Encoded `(JobId, Task)`.
    running: BTreeMap<LeaseId, Vec<u8>>,
    number: u64,
}

/// The body of a slot.
#[derive(Serialize, Deserialize)]
struct Page {
    life: Life,
    running: Vec<Vec<u8>>,
}

impl Journal {
    /// Begins the journal of this process in `data`, which the caller has locked. How the process
    /// before ended, if nobody was told, is in [`Journal::unsaid`].
    pub fn start(data: &Path) -> Journal {
        let path = data.join(FILE);
        let machine = Machine::now();
        let before = std::fs::read(&path).ok().and_then(|bytes| {
            let at = std::fs::metadata(&path).and_then(|m| m.modified());
            let at = at.map_or(0, unix_seconds);
            let (_, page) = newest(&bytes)?;
            Some((page, at))
        });
        let end = take_end(data);
        let unsaid = before.and_then(|(page, at)| how_it_ended(page, at, &machine, end));
        if let Some(ended) = &unsaid {
            tracing::warn!(cause = %ended.cause, running = ended.running.len(), "the worker's process before this one did not end cleanly");
        }
        let life = Life {
            pid: std::process::id(),
            started: unix_seconds(SystemTime::now()),
            machine,
            unsaid,
            clean: false,
        };
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .open(&path)
            .and_then(|file| {
                file.write_all_at(&vec![0; 2 * SLOT_BYTES as usize], 0)?;
                Ok(file)
            });
        if let Err(error) = &file {
            tracing::warn!(%error, path = %path.display(), "no journal can be kept: the next start will not know what was at work");
        }
        let mut journal = Journal {
            file: file.ok(),
            life,
            running: BTreeMap::new(),
            number: 0,
        };
        journal.write();
        journal
    }

    /// How the process before ended, until a coordinator heard of it.
    pub fn unsaid(&self) -> Option<&Ended> {
        self.life.unsaid.as_ref()
    }

    /// A coordinator has heard how the process before ended.
    pub fn said(&mut self) {
        if self.life.unsaid.take().is_some() {
            self.write();
        }
    }

    /// A task is being prepared from now on.
    pub fn begin(&mut self, lease: LeaseId, job: JobId, task: &Task) {
        let entry = codec::encode(kind::WORKER_JOURNAL, &(job, task));
        self.running.insert(lease, entry);
        self.write();
    }

    /// It is over, or given up.
    pub fn end(&mut self, lease: LeaseId) {
        if self.running.remove(&lease).is_some() {
            self.write();
        }
    }

    /// The process lives: the time of the file is the last one at which that was known.
    pub fn touch(&mut self) {
        self.write();
    }

    /// The process ends as it should.
    pub fn close(mut self) {
        self.life.clean = true;
        self.running.clear();
        self.write();
    }

    fn write(&mut self) {
        let Some(file) = &self.file else { return };
        self.number += 1;
        let mut running: Vec<&Vec<u8>> = self.running.values().collect();
        let mut bytes = page_bytes(&self.life, &running);
        if (HEADER_BYTES + bytes.len()) as u64 > SLOT_BYTES {
            // A list of states can be long; the others are still worth knowing.
            running.retain(|entry| entry.len() < 1 << 10);
            running.truncate(32);
            bytes = page_bytes(&self.life, &running);
        }
        let record = slot(self.number, &bytes);
        let at = self.number % 2 * SLOT_BYTES;
        if let Err(error) = file.write_all_at(&record, at) {
            tracing::warn!(%error, "the journal cannot be written");
        }
    }
}

/// Notes how a process of the worker in `data` ended, for its next start.
pub fn note_end(data: &Path, pid: u32, end: End) -> std::io::Result<()> {
    let (word, number) = match end {
        End::Exit(code) => ("exit", code),
        End::Signal(signal) => ("signal", signal),
    };
    std::fs::write(data.join(END_FILE), format!("{pid} {word} {number}\n"))
}

/// What a supervisor noted, and of which process.
fn take_end(data: &Path) -> Option<(u32, End)> {
    let path = data.join(END_FILE);
    let text = std::fs::read_to_string(&path).ok()?;
    let _ = std::fs::remove_file(&path);
    let mut words = text.split_whitespace();
    let pid = words.next()?.parse().ok()?;
    let word = words.next()?;
    let number = words.next()?.parse().ok()?;
    match word {
        "exit" => Some((pid, End::Exit(number))),
        "signal" => Some((pid, End::Signal(number))),
        _ => None,
    }
}

/// `None`: it ended as it should, and what it had to say is said.
fn how_it_ended(page: Page, at: u64, now: &Machine, end: Option<(u32, End)>) -> Option<Ended> {
    let Page { life, running } = page;
    if life.clean {
        return life.unsaid;
    }
    let running: Vec<(JobId, Task)> = running
        .iter()
        .filter_map(|entry| codec::decode(kind::WORKER_JOURNAL, entry).ok())
        .collect();
    if running.is_empty() && life.unsaid.is_some() {
        // It died before it could say how the one before did, which had work at hand.
        return life.unsaid;
    }
    let seen = end.filter(|(pid, _)| *pid == life.pid).map(|(_, end)| end);
    let cause = if now.is_another_boot(&life.machine) {
        Cause::MachineRestarted
    } else {
        match seen {
            // The kill is all that a supervisor sees of it.
            None | Some(End::Signal(9)) if now.killed_since(&life.machine) => Cause::OutOfMemory,
            None => Cause::Unknown,
            Some(End::Exit(code)) => Cause::Exit(code),
            Some(End::Signal(signal)) => Cause::Signal(signal),
        }
    };
    Some(Ended { cause, at, running })
}

fn page_bytes(life: &Life, running: &[&Vec<u8>]) -> Vec<u8> {
    codec::encode(kind::WORKER_JOURNAL, &(life, running))
}

fn slot(number: u64, body: &[u8]) -> Vec<u8> {
    let mut record = Vec::with_capacity(HEADER_BYTES + body.len());
    record.extend_from_slice(&number.to_le_bytes());
    record.extend_from_slice(&(body.len() as u32).to_le_bytes());
    let sum = checksum(&record, body);
    record.extend_from_slice(&sum.to_le_bytes());
    record.extend_from_slice(body);
    record
}

fn checksum(fields: &[u8], body: &[u8]) -> u64 {
    let mut hasher = Xxh3::new();
    hasher.update(fields);
    hasher.update(body);
    hasher.digest()
}

/// The valid slot with the highest number.
fn newest(file: &[u8]) -> Option<(u64, Page)> {
    let slots = file.chunks(SLOT_BYTES as usize);
    slots
        .filter_map(read_slot)
        .max_by_key(|(number, _)| *number)
}

fn read_slot(bytes: &[u8]) -> Option<(u64, Page)> {
    let (header, rest) = bytes.split_first_chunk::<HEADER_BYTES>()?;
    let number = u64::from_le_bytes(*header.first_chunk()?);
    let length = u32::from_le_bytes([header[8], header[9], header[10], header[11]]);
    let body = rest.get(..length as usize)?;
    let sum = u64::from_le_bytes(*header.last_chunk()?);
    if sum != checksum(&header[..12], body) {
        return None;
    }
    let (life, running) = codec::decode(kind::WORKER_JOURNAL, body).ok()?;
    Some((number, Page { life, running }))
}

fn unix_seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use antipode_solver_core::engine::ShardId;
    use std::time::Instant;
    use tempfile::tempdir;

    const JOB: JobId = JobId(3);

    fn task(shard: u32) -> Task {
        let shard = ShardId(shard);
        Task::Expand { level: 4, shard }
    }

    /// The process dies: nothing is closed.
    fn die(journal: Journal) {
        drop(journal);
    }

    #[test]
    fn what_was_at_work_is_known_until_it_is_said() {
        let data = tempdir().unwrap();
        let mut journal = Journal::start(data.path());
        assert_eq!(journal.unsaid(), None, "a first start");
        for k in 0..5 {
            journal.begin(LeaseId(k.into()), JOB, &task(k));
        }
        journal.end(LeaseId(1));
        journal.end(LeaseId(3));
        die(journal);
        let journal = Journal::start(data.path());
        let ended = journal.unsaid().cloned().unwrap();
        assert_eq!(ended.cause, Cause::Unknown);
        assert_eq!(ended.running, [0, 2, 4].map(|k| (JOB, task(k))));
        assert!(unix_seconds(SystemTime::now()) - ended.at < 60);
        // It dies again, before anybody heard of it; then it is heard.
        die(journal);
        let mut journal = Journal::start(data.path());
        assert_eq!(journal.unsaid(), Some(&ended));
        journal.said();
        die(journal);
        let journal = Journal::start(data.path());
        assert_eq!(
            journal.unsaid().map(|ended| ended.running.len()),
            Some(0),
            "it died idle"
        );
        // Not said, but ended well: the next one says it.
        journal.close();
        let mut journal = Journal::start(data.path());
        assert!(journal.unsaid().is_some());
        journal.said();
        journal.close();
        assert_eq!(Journal::start(data.path()).unsaid(), None);
    }

    #[test]
    fn a_supervisor_knows_better_but_only_of_its_own_process() {
        for (end, cause) in [
            (End::Exit(70), Cause::Exit(70)),
            (End::Signal(11), Cause::Signal(11)),
        ] {
            let data = tempdir().unwrap();
            die(Journal::start(data.path()));
            note_end(data.path(), std::process::id(), end).unwrap();
            let journal = Journal::start(data.path());
            assert_eq!(journal.unsaid().map(|ended| ended.cause), Some(cause));
            die(journal);
            note_end(data.path(), std::process::id() + 1, end).unwrap();
            let mut journal = Journal::start(data.path());
            journal.said();
            die(journal);
            let journal = Journal::start(data.path());
            assert_eq!(
                journal.unsaid().map(|ended| ended.cause),
                Some(Cause::Unknown)
            );
        }
    }

    #[test]
    fn the_cause_is_the_best_that_is_known() {
        let machine = |boot: &str, kills: u64| -> Machine {
            let groups: BTreeMap<String, u64> = [("g".to_string(), kills)].into();
            let bytes = codec::encode(kind::SCRATCH, &(boot, groups, None::<u64>));
            codec::decode(kind::SCRATCH, &bytes).unwrap()
        };
        let page = || Page {
            life: Life {
                pid: 5,
                started: 0,
                machine: machine("a", 1),
                unsaid: None,
                clean: false,
            },
            running: vec![],
        };
        let signal = |number| Some((5, End::Signal(number)));
        for (now, end, cause) in [
            (machine("a", 1), None, Cause::Unknown),
            (machine("a", 2), None, Cause::OutOfMemory),
            (machine("a", 2), signal(9), Cause::OutOfMemory),
            (machine("a", 1), signal(9), Cause::Signal(9)),
            (machine("a", 2), signal(11), Cause::Signal(11)),
            (machine("b", 0), None, Cause::MachineRestarted),
            (machine("b", 0), signal(9), Cause::MachineRestarted),
        ] {
            let ended = how_it_ended(page(), 0, &now, end).unwrap();
            assert_eq!(ended.cause, cause, "{now:?} {end:?}");
        }
    }

    #[test]
    fn torn_and_foreign_bytes_are_passed_over() {
        let data = tempdir().unwrap();
        let path = data.path().join(FILE);
        let mut journal = Journal::start(data.path());
        journal.begin(LeaseId(0), JOB, &task(0));
        journal.begin(LeaseId(1), JOB, &task(1));
        die(journal);
        let whole = std::fs::read(&path).unwrap();
        let (number, page) = newest(&whole).unwrap();
        assert_eq!((number, page.running.len()), (3, 2));
        let last = (number % 2 * SLOT_BYTES) as usize;
        // The last write torn anywhere: the one before counts.
        for at in 0..200 {
            let mut torn = whole.clone();
            torn[last + at] ^= 0x40;
            let (number, page) = newest(&torn).unwrap();
            assert_eq!((number, page.running.len()), (2, 1), "byte {at}");
        }
        for cut in (0..whole.len()).step_by(997) {
            let _ = newest(&whole[..cut]);
        }
        for bytes in [&b""[..], b"hello", &[0xff; 200_000]] {
            std::fs::write(&path, bytes).unwrap();
            assert_eq!(Journal::start(data.path()).unsaid(), None);
        }
    }

    #[test]
    fn long_tasks_do_not_crowd_out_the_others() {
        let data = tempdir().unwrap();
        let mut journal = Journal::start(data.path());
        journal.begin(LeaseId(0), JOB, &task(0));
        let states = vec![vec![7u16; 200].into(); 1000];
        let words = Task::Words { level: 9, states };
        journal.begin(LeaseId(1), JOB, &words);
        die(journal);
        let journal = Journal::start(data.path());
        assert_eq!(journal.unsaid().unwrap().running, [(JOB, task(0))]);
    }

    #[test]
    fn a_change_costs_microseconds() {
        let data = tempdir().unwrap();
        let mut journal = Journal::start(data.path());
        let changes = 2000u64;
        let start = Instant::now();
        for k in 0..changes / 2 {
            journal.begin(LeaseId(k + 6), JOB, &task(k as u32));
            if k >= 6 {
                journal.end(LeaseId(k));
            }
        }
        let each = start.elapsed() / changes as u32;
        println!("{each:?} a change");
        assert!(each.as_micros() < 200, "{each:?} a change");
    }
}
