//! Faults on order, for tests with real processes. All are off unless their variable is set, and are read
//! once, at the start of a worker:
//!
//! - `ANTIPODE_TEST_CRASH="shard=3,level=4"`: the process is aborted when that task begins to compute.
//! - `ANTIPODE_TEST_FAIL="shard=3,level=4"`: that task fails with an error.
//! - `ANTIPODE_TEST_LIE="shard=3,level=4"`: that task's result lacks one state. Count, digest, the
//!   artifact and what is served to others agree with each other, as after a wrong computation.
//!
//! They are about tasks that compute a level. `shard` and `level` may be left out: then any will do.
//! `,times=2` bounds how often it happens, over all starts of this worker: the count is kept in a file
//! `test-crash`, `test-fail` or `test-lie` in the data folder. (The brake is in `delay.rs`; a process that
//! dies at a point of its store is in `antipode_proto::killpoint`.)

use crate::compute::Compute;
use antipode_proto::message::Failure;
use antipode_solver_core::bfs::frontier::{Frontier, ShardGeometry};
use antipode_solver_core::engine::{Digest, Expanded, Level, ShardId};
use antipode_solver_core::job::Task;
use std::path::{Path, PathBuf};

/// What goes wrong in this worker.
#[derive(Debug, Default)]
pub struct Sabotage {
    crash: Option<Fault>,
    fail: Option<Fault>,
    lie: Option<Fault>,
}

#[derive(Debug)]
struct Fault {
    shard: Option<ShardId>,
    level: Option<Level>,
    times: Option<u64>,
    /// How often it happened.
    counter: PathBuf,
}

impl Sabotage {
    /// What the environment asks for. What cannot be read is said and ignored.
    pub fn from_environment(data: &Path) -> Sabotage {
        let fault = |variable: &str, file: &str| {
            let text = std::env::var(variable).ok()?;
            let fault = Fault::parse(&text, data.join(file));
            match &fault {
                Some(_) => {
                    tracing::warn!(%text, "{variable} is set: this worker does not work as it should")
                }
                None => {
                    tracing::warn!(%text, "{variable} is not of the form shard=3,level=4,times=2; ignored")
                }
            }
            fault
        };
        Sabotage {
            crash: fault("ANTIPODE_TEST_CRASH", "test-crash"),
            fail: fault("ANTIPODE_TEST_FAIL", "test-fail"),
            lie: fault("ANTIPODE_TEST_LIE", "test-lie"),
        }
    }

    /// A task begins to compute.
    pub fn at_the_start(&self, task: &Task) -> Result<(), Failure> {
        let Task::Expand { level, shard } = *task else {
            return Ok(());
        };
        if happens(&self.crash, level, shard) {
            eprintln!("ANTIPODE_TEST_CRASH: level {level} of shard {shard} ends the process");
            std::process::abort();
        }
        if happens(&self.fail, level, shard) {
            return Err(Failure::Other("ANTIPODE_TEST_FAIL".into()));
        }
        Ok(())
    }

    /// A level is computed; what is to be reported of it.
    pub fn at_the_end(
        &self,
        engine: &dyn Compute,
        level: Level,
        shard: ShardId,
        result: Expanded,
    ) -> Expanded {
        if result.frontier.count() == 0 || !happens(&self.lie, level, shard) {
            return result;
        }
        let geometry = engine.geometry(shard);
        let Some(victim) = first_state(geometry, &result.frontier) else {
            return result;
        };
        let frontier = without(geometry, &result.frontier, &victim);
        tracing::warn!(level, %shard, "ANTIPODE_TEST_LIE: a state is left out");
        let digest: Digest = engine.digest(shard, &frontier);
        let visited = result
            .visited
            .map(|visited| without(geometry, &visited, &victim));
        Expanded {
            frontier,
            digest,
            visited,
            ..result
        }
    }
}

impl Fault {
    fn parse(text: &str, counter: PathBuf) -> Option<Fault> {
        let mut fault = Fault {
            shard: None,
            level: None,
            times: None,
            counter,
        };
        for part in text.split(',') {
            let (name, value) = part.split_once('=')?;
            match name.trim() {
                "shard" => fault.shard = Some(ShardId(value.trim().parse().ok()?)),
                "level" => fault.level = Some(value.trim().parse().ok()?),
                "times" => fault.times = Some(value.trim().parse().ok()?),
                _ => return None,
            }
        }
        Some(fault)
    }
}

/// Is it this fault's turn? Counts it.
fn happens(fault: &Option<Fault>, level: Level, shard: ShardId) -> bool {
    let Some(fault) = fault else { return false };
    if fault.level.is_some_and(|l| l != level) || fault.shard.is_some_and(|s| s != shard) {
        return false;
    }
    let Some(times) = fault.times else {
        return true;
    };
    let before = std::fs::read_to_string(&fault.counter).unwrap_or_default();
    let before: u64 = before.trim().parse().unwrap_or(0);
    if before >= times {
        return false;
    }
    if let Err(error) = std::fs::write(&fault.counter, (before + 1).to_string()) {
        tracing::warn!(%error, "the count of faults cannot be kept");
    }
    true
}

/// The bytes of one state in the encoded form of a set.
type State = Vec<u8>;

/// The forms of an encoded set, see [`Frontier::encode`].
const SPARSE: u8 = 1;
const DENSE: u8 = 2;
const KEYS: u8 = 3;
const THIN: u8 = 4;

fn first_state(geometry: ShardGeometry, set: &Frontier) -> Option<State> {
    let bytes = set.encode();
    let (tag, body) = bytes.split_first()?;
    match *tag {
        SPARSE | THIN => body.get(..4).map(<[u8]>::to_vec),
        KEYS => body.get(..geometry.words as usize * 8).map(<[u8]>::to_vec),
        _ => {
            let at = body.iter().position(|&byte| byte != 0)?;
            let position = at as u32 * 8 + body[at].trailing_zeros();
            Some(position.to_le_bytes().to_vec())
        }
    }
}

/// The set without this state; the set as it is if the state is not in it.
fn without(geometry: ShardGeometry, set: &Frontier, state: &State) -> Frontier {
    let mut bytes = set.encode();
    if bytes[0] == DENSE {
        let position = u32::from_le_bytes([state[0], state[1], state[2], state[3]]) as usize;
        bytes[1 + position / 8] &= !(1 << (position % 8));
    } else {
        let others = bytes[1..]
            .chunks_exact(state.len())
            .filter(|&other| other != &state[..])
            .flatten()
            .copied();
        bytes = bytes[..1].iter().copied().chain(others).collect();
    }
    Frontier::decode(geometry, &bytes).unwrap_or_else(|_| set.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{definition, engine};
    use tempfile::tempdir;

    fn fault(text: &str, data: &Path) -> Option<Fault> {
        Fault::parse(text, data.join("count"))
    }

    fn task(level: Level, shard: u32) -> Task {
        let shard = ShardId(shard);
        Task::Expand { level, shard }
    }

    #[test]
    fn the_form_is_read_and_the_turns_are_counted_over_starts() {
        let data = tempdir().unwrap();
        for text in ["", "shard", "shard=x", "shard=1,what=2", "3,4"] {
            assert!(fault(text, data.path()).is_none(), "{text}");
        }
        for turn in 0..4 {
            let sabotage = Sabotage {
                fail: fault("shard=3,level=4,times=2", data.path()),
                ..Sabotage::default()
            };
            assert!(sabotage.at_the_start(&task(4, 2)).is_ok());
            assert!(sabotage.at_the_start(&task(3, 3)).is_ok());
            assert_eq!(
                sabotage.at_the_start(&task(4, 3)).is_err(),
                turn < 2,
                "{turn}"
            );
        }
        let any = Sabotage {
            fail: fault("level=4", data.path()),
            ..Sabotage::default()
        };
        assert!(any.at_the_start(&task(4, 9)).is_err() && any.at_the_start(&task(5, 9)).is_ok());
    }

    #[test]
    fn a_lie_lacks_one_state_and_fits_itself() {
        let data = tempdir().unwrap();
        for directed in [false, true] {
            let engine = engine(&definition(7, directed));
            let sabotage = Sabotage {
                lie: fault("level=2,shard=0", data.path()),
                ..Sabotage::default()
            };
            // All states at once, as if they were one level: a bitmap.
            for dense in [false, true] {
                let shard = ShardId(0);
                let geometry = Compute::geometry(&*engine, shard);
                let roots = Compute::roots(&*engine, shard);
                let frontier = if dense {
                    let mut bytes = vec![DENSE];
                    bytes.resize(1 + geometry.dense_bytes() as usize, 0x01);
                    Frontier::decode(geometry, &bytes).unwrap()
                } else {
                    roots.clone()
                };
                let expanded = || Expanded {
                    digest: Compute::digest(&*engine, shard, &frontier),
                    frontier: frontier.clone(),
                    visited: directed.then(|| frontier.clone()),
                    certificate: Default::default(),
                    on_device: None,
                };
                let honest = sabotage.at_the_end(&*engine, 1, shard, expanded());
                assert_eq!(honest.frontier, frontier);
                let lie = sabotage.at_the_end(&*engine, 2, shard, expanded());
                assert_eq!(lie.frontier.count(), frontier.count() - 1);
                assert_ne!(lie.digest, honest.digest);
                assert_eq!(lie.digest, Compute::digest(&*engine, shard, &lie.frontier));
                if let Some(visited) = lie.visited {
                    assert_eq!(visited, lie.frontier);
                }
            }
        }
    }
}
