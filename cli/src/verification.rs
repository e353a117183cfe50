//! The work of `verify`: levels made again with raw permutations and the slow ranking, never with the kernels, and
//! compared with what a job has accepted; distances compared with the levels.

use crate::exit::Failure;
use crate::kept::Kept;
use crate::memory;
use antipode_proto::message::ArtifactKind;
use antipode_proto::status::LevelStatus;
use antipode_solver_core::bfs::frontier::Frontier;
use antipode_solver_core::distance::{PackedDistances, expected_digest};
use antipode_solver_core::engine::{Digest, EngineError, Level, ShardId};
use antipode_solver_core::verify::Verifier;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// States sampled where nothing is said, of a level or of the distances.
pub const SAMPLES: u32 = 1000;
/// Of samples; any will do, and the same command checks the same states.
const SEED: u64 = 0x5eed;

/// What was found about one level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub level: Level,
    /// What the job has accepted.
    pub accepted: (u64, Digest),
    /// What came out when it was made again.
    pub made: Option<(u64, Digest)>,
    /// States of it that were looked at one by one.
    pub sampled: u64,
    /// What does not hold.
    pub evidence: Option<String>,
}

impl Finding {
    fn nothing(level: &LevelStatus) -> Finding {
        Finding {
            level: level.level,
            accepted: (level.count, level.digest),
            made: None,
            sampled: 0,
            evidence: None,
        }
    }

    /// A level that was made again.
    pub fn made(level: &LevelStatus, made: (u64, Digest)) -> Finding {
        let accepted = (level.count, level.digest);
        Finding {
            made: Some(made),
            evidence: (accepted != made).then(|| {
                format!(
                    "level {}: accepted were {} states with digest {}, made again it has {} states with digest {}",
                    level.level, accepted.0, accepted.1, made.0, made.1
                )
            }),
            ..Finding::nothing(level)
        }
    }

    /// `agrees`, `sampled`, `differs` or `not checked`.
    pub fn verdict(&self) -> &'static str {
        match (&self.evidence, self.made, self.sampled) {
            (Some(_), _, _) => "differs",
            (None, Some(_), _) => "agrees",
            (None, None, 0) => "not checked",
            (None, None, _) => "sampled",
        }
    }
}

/// What was found about packed distances.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DistanceFinding {
    /// States whose distance was followed down to a root, by two ways.
    pub sampled: u64,
    /// States of the levels made again whose distance was compared.
    pub compared: u64,
    pub evidence: Option<String>,
}

/// A job that is checked.
pub struct Verification<'a> {
    kept: &'a Kept,
    verifier: Verifier,
    /// By shard, where the job has them.
    pub distances: Option<Vec<Option<Arc<PackedDistances>>>>,
    /// Number of generators.
    moves: u64,
    memory_bytes: u64,
}

/// A wrong result is a finding, everything else ends the command.
fn evidence<T>(checked: Result<T, EngineError>) -> Result<Result<T, String>, Failure> {
    match checked {
        Ok(value) => Ok(Ok(value)),
        Err(EngineError::Violated(what)) => Ok(Err(what)),
        // What cannot be read is no wrong number.
        Err(EngineError::Input(what)) => Err(Failure::Other(what)),
        Err(other) => Err(other.into()),
    }
}

impl<'a> Verification<'a> {
    /// Reads the index, and the distances where the job has them.
    pub fn new(kept: &'a Kept, memory_bytes: u64) -> Result<Verification<'a>, Failure> {
        let definition = &kept.status.definition;
        let puzzle = &kept.bfs()?.puzzle;
        let verifier = Verifier::load(puzzle, &definition.space)?;
        let mut verification = Verification {
            kept,
            verifier,
            moves: puzzle.generators().len() as u64,
            distances: None,
            memory_bytes,
        };
        if kept.has_distances() {
            let bytes: u64 = kept.all(ArtifactKind::Distances).map(|i| i.count / 5).sum();
            verification.refuse_above(bytes, "its distances")?;
            let load = |shard: ShardId| {
                let mut all = kept.all(ArtifactKind::Distances);
                if !all.any(|input| input.name.shard == shard) {
                    return Ok(None);
                }
                let geometry = verification.verifier.geometry(shard);
                kept.distances(shard, geometry).map(Some)
            };
            let loaded: Result<Vec<_>, String> =
                verification.shards().into_par_iter().map(load).collect();
            verification.distances = Some(loaded.map_err(Failure::Other)?);
        }
        Ok(verification)
    }

    fn shards(&self) -> Vec<ShardId> {
        (0..self.verifier.shards()).map(ShardId).collect()
    }

    fn levels(&self) -> &[LevelStatus] {
        &self.kept.status.levels
    }

    /// Are the frontiers of all levels there, so that each level can be checked for itself?
    pub fn has_frontiers(&self) -> bool {
        let sparse = self.kept.status.definition.space.kind == "sparse";
        !sparse && self.kept.last() > 0 && self.kept.has_levels()
    }

    /// How much work a level is: the states that are moved.
    pub fn cost(&self, level: Level) -> u64 {
        let before = level
            .checked_sub(1)
            .and_then(|l| self.levels().get(l as usize));
        1 + before.map_or(0, |level| level.count)
    }

    fn refuse_above(&self, bytes: u64, what: &str) -> Result<(), Failure> {
        if bytes <= self.memory_bytes {
            return Ok(());
        }
        Err(Failure::input(format!(
            "{what} of job {} take {} of memory, {} are allowed; allow more with --memory, or check fewer with --levels 0..N",
            self.kept.name,
            memory::show(bytes),
            memory::show(self.memory_bytes)
        )))
    }

    /// Bytes that making a level again from the roots takes, about.
    pub fn level_bytes(&self, level: Level) -> u64 {
        let dense: u64 = self
            .shards()
            .iter()
            .map(|&s| self.verifier.geometry(s).dense_bytes())
            .sum();
        let sets = (level.saturating_sub(2)..=level).filter_map(|l| self.levels().get(l as usize));
        let lists: u64 = sets.map(|l| l.count.saturating_mul(4)).sum();
        let successors = self
            .cost(level)
            .saturating_mul(self.moves)
            .saturating_mul(4);
        (lists + successors).min(dense.saturating_mul(4))
    }

    /// Makes levels again from the roots, until `go_on` says no.
    pub fn count_again(
        &self,
        last: Level,
        mut go_on: impl FnMut(Finding, u64) -> Result<bool, Failure>,
    ) -> Result<Option<String>, Failure> {
        for level in 0..=last {
            self.refuse_above(self.level_bytes(level), &format!("level {level}"))?;
        }
        // After the last level of a search that is complete there must be nothing.
        let whole = self.kept.status.exhausted && last == self.kept.last();
        let mut levels = self.verifier.levels((!whole).then_some(last));
        let mut accepted = self.levels().iter().take(last as usize + 1);
        while let Some(made) = levels.next() {
            let made = match evidence(made)? {
                Ok(made) => made,
                Err(what) => return Ok(Some(what)),
            };
            let Some(known) = accepted.next() else {
                return Ok(Some(format!(
                    "level {} was not counted, made again it has {} states",
                    made.level,
                    made.count()
                )));
            };
            let mut finding = Finding::made(known, (made.count(), made.digest()));
            let compared = match &self.distances {
                Some(distances) => {
                    let wrong = self.wrong_distance(distances, made.level, levels.frontiers());
                    finding.evidence = finding.evidence.or(wrong);
                    made.count()
                }
                None => 0,
            };
            if !go_on(finding, compared)? {
                return Ok(None);
            }
        }
        Ok(accepted.next().map(|missing| {
            format!(
                "level {} cannot be made again: it has no states",
                missing.level
            )
        }))
    }

    /// A state of a level made again that has another distance.
    fn wrong_distance(
        &self,
        distances: &[Option<Arc<PackedDistances>>],
        level: Level,
        made: &[Frontier],
    ) -> Option<String> {
        let wrong = |(shard, set): (usize, &Frontier)| {
            let known = distances.get(shard)?.as_ref();
            let residue = |p: u32| known.and_then(|known| known.get(p));
            let wanted = (level % 3) as u8;
            let mut wrong = None;
            set.for_each(|p| {
                if wrong.is_none() && residue(p) != Some(wanted) {
                    wrong = Some(p);
                }
            });
            let p = wrong?;
            Some(format!(
                "level {level}: position {p} of shard {shard} has distance {:?} modulo 3",
                residue(p)
            ))
        };
        made.par_iter().enumerate().find_map_any(wrong)
    }

    /// Makes one level again from the kept frontiers before it.
    pub fn exactly(&self, level: Level) -> Result<Finding, Failure> {
        let known = &self.levels()[level as usize];
        let mut sum = (0, Digest::default());
        let frontiers = Frontiers::new(self);
        for shard in self.shards() {
            let input = self.kept.artifact(ArtifactKind::Frontier, level, shard);
            let roots = || {
                let roots = self.verifier.roots(shard);
                (roots.count(), self.verifier.digest(shard, &roots))
            };
            let (count, digest) = match input {
                _ if level == 0 => roots(),
                Some(input) => (input.count, input.digest),
                None => (0, Digest::default()),
            };
            let get = |level: Level, shard: ShardId| frontiers.get(level, shard);
            let checked = self
                .verifier
                .check_exactly(level, shard, &get, count, digest);
            match evidence(checked) {
                Ok(Ok(())) => {}
                Ok(Err(what)) => {
                    return Ok(Finding {
                        evidence: Some(what),
                        ..Finding::nothing(known)
                    });
                }
                Err(failure) => return Err(frontiers.failure().unwrap_or(failure)),
            }
            sum = (sum.0 + count, sum.1.plus(digest));
        }
        Ok(Finding::made(known, sum))
    }

    /// Looks at some states of a kept level.
    pub fn sampled(&self, level: Level, samples: u32) -> Result<Finding, Failure> {
        let known = &self.levels()[level as usize];
        let mut finding = Finding::nothing(known);
        let frontiers = Frontiers::new(self);
        for shard in self.shards() {
            let input = self.kept.artifact(ArtifactKind::Frontier, level, shard);
            let count = match input {
                _ if level == 0 => self.verifier.roots(shard).count(),
                input => input.map_or(0, |input| input.count),
            };
            if count == 0 {
                continue;
            }
            let part = share(samples, count, known.count);
            let get = |level: Level, shard: ShardId| frontiers.get(level, shard);
            let last = self.kept.last();
            let checked = self
                .verifier
                .check_sample(level, shard, last, &get, part, SEED);
            match evidence(checked) {
                // Successors are looked for at every sampled state.
                Ok(Ok(_)) => finding.sampled += u64::from(part).min(count),
                Ok(Err(what)) => {
                    finding.evidence = Some(what);
                    return Ok(finding);
                }
                Err(failure) => return Err(frontiers.failure().unwrap_or(failure)),
            }
        }
        Ok(finding)
    }

    /// A level that is not looked at.
    pub fn unchecked(&self, level: Level) -> Finding {
        Finding::nothing(&self.levels()[level as usize])
    }

    /// Compares the distances with the accepted levels, and follows a sample of them down to the roots.
    pub fn distances(&self, samples: u32) -> Result<Option<DistanceFinding>, Failure> {
        let Some(distances) = &self.distances else {
            return Ok(None);
        };
        let mut finding = DistanceFinding::default();
        let mut population = [0u64; 3];
        let mut digests = [Digest::default(); 3];
        for (&shard, known) in self.shards().iter().zip(distances) {
            let Some(known) = known else { continue };
            for (sum, more) in population.iter_mut().zip(known.population()) {
                *sum += more;
            }
            for (residue, sum) in (0..3u8).zip(&mut digests) {
                *sum = sum.plus(self.verifier.digest(shard, &known.residue(residue)));
            }
        }
        let mut wanted = [0u64; 3];
        for level in self.levels() {
            wanted[(level.level % 3) as usize] += level.count;
        }
        let accepted = expected_digest(self.levels().iter().map(|l| (l.level, l.digest)));
        let found = expected_digest((0..).zip(digests));
        if population != wanted {
            finding.evidence = Some(format!(
                "{population:?} states have distance 0, 1 and 2 modulo 3, the levels have {wanted:?}"
            ));
        } else if found != accepted {
            finding.evidence = Some(format!(
                "the distances have digest {found}, the levels give {accepted}"
            ));
        }
        let states: u64 = population.iter().sum();
        for (&shard, known) in self.shards().iter().zip(distances) {
            let Some(known) = known.as_ref().filter(|_| finding.evidence.is_none()) else {
                continue;
            };
            let part = share(samples, known.numbering().states(), states);
            let last = self.kept.last();
            let checked = self
                .verifier
                .check_distances(distances, shard, last, part, SEED);
            match evidence(checked)? {
                Ok(sampled) => finding.sampled += sampled,
                Err(what) => finding.evidence = Some(what),
            }
        }
        Ok(Some(finding))
    }
}

/// A part of the samples, at least one.
fn share(samples: u32, part: u64, whole: u64) -> u32 {
    let share = u128::from(samples) * u128::from(part);
    let share = share.div_ceil(u128::from(whole.max(1)));
    u32::try_from(share).unwrap_or(u32::MAX).max(1)
}

/// Kept frontiers, read once for a level.
struct Frontiers<'a> {
    of: &'a Verification<'a>,
    read: Mutex<BTreeMap<(Level, ShardId), Arc<Frontier>>>,
    failed: Mutex<Option<String>>,
}

impl<'a> Frontiers<'a> {
    fn new(of: &'a Verification<'a>) -> Frontiers<'a> {
        Frontiers {
            of,
            read: Default::default(),
            failed: Default::default(),
        }
    }

    fn get(&self, level: Level, shard: ShardId) -> Option<Arc<Frontier>> {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = read.get(&(level, shard)) {
            return Some(Arc::clone(known));
        }
        if level == 0 {
            let roots = Arc::new(self.of.verifier.roots(shard));
            read.insert((level, shard), Arc::clone(&roots));
            return Some(roots);
        }
        let geometry = self.of.verifier.geometry(shard);
        match self.of.kept.frontier(level, shard, geometry) {
            Ok(frontier) => {
                let frontier = Arc::new(frontier);
                read.insert((level, shard), Arc::clone(&frontier));
                Some(frontier)
            }
            Err(why) => {
                *self.failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(why);
                None
            }
        }
    }

    /// Why a frontier could not be read.
    fn failure(&self) -> Option<Failure> {
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        failed.take().map(Failure::Other)
    }
}
