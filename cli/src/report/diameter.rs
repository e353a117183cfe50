//! The answer to `diameter`, described field by field in `docs/schema/diameter.schema.json`.

use super::DeviceReport;
use super::{Asked, COMMIT, PeakMemory, ResumedReport, VERSION, date, peak_memory};
use crate::exit::Failure;
use crate::render::{diameter, json};
use antipode_proto::status::JobStatus;
use antipode_solver_core::batch::BatchSpec;
use antipode_solver_core::engine::EngineError;
use antipode_solver_core::job::JobSpec;
use antipode_solver_core::puzzle::Puzzle;
use antipode_solver_core::survey::diameter::{Answer, Method, Pair, mean};
use serde::Serialize;

/// What a finished job found, whatever kind of job it was.
#[derive(Debug, Clone)]
pub struct Findings {
    pub answer: Answer,
    /// Where the root alone was searched from.
    pub root_eccentricity: Option<u32>,
    /// States that were searched from.
    pub sources: u64,
    /// Why these were enough, where there are several.
    pub symmetry: Option<String>,
}

impl Findings {
    /// From the records of a finished batch job, with up to `max_pairs` pairs.
    pub fn of_records(status: &JobStatus, max_pairs: usize) -> Result<Findings, Failure> {
        let JobSpec::Batch(BatchSpec::Diameter(spec)) = &status.definition.spec else {
            return Err(Failure::Internal(format!(
                "job {} is not about a diameter",
                status.job
            )));
        };
        let found = spec
            .answer(&status.items, max_pairs)
            .map_err(EngineError::from)?;
        Ok(Findings {
            answer: found.answer,
            root_eccentricity: None,
            sources: found.sources,
            symmetry: Some(found.symmetry),
        })
    }
}

/// Numbers that may pass 2^53 are decimal strings. `None`: not found by this method.
#[derive(Debug, Clone, Serialize)]
pub struct DiameterReport {
    pub job: u64,
    pub state: &'static str,
    pub puzzle: String,
    pub generators: Vec<String>,
    pub metric: &'static str,
    pub roots: usize,
    pub directed: bool,
    pub warnings: Vec<String>,
    pub states: String,
    pub components: usize,
    /// `transitive`, `all-pairs`, `bounds` or `from-start`.
    pub method: &'static str,
    pub transitive: bool,
    /// Why this method, and why it is enough.
    pub reason: String,
    pub diameter: Option<u32>,
    pub radius: Option<u32>,
    pub root_eccentricity: Option<u32>,
    /// States by outward eccentricity.
    pub eccentricities: Option<Vec<String>>,
    /// Ordered pairs by distance, u = v included.
    pub distances: Option<Vec<String>>,
    pub mean: Option<f64>,
    pub mean_with_self: Option<f64>,
    pub pairs_ordered: Option<String>,
    pub pairs_unordered: Option<String>,
    pub pairs: Option<Vec<PairReport>>,
    /// Why pairs, or the number of unordered ones, are missing.
    pub pairs_missing: Option<String>,
    /// States that were searched from.
    pub sources: u64,
    /// Why these were enough.
    pub symmetry: Option<String>,
    /// Graphics processors that computed.
    pub devices: Vec<DeviceReport>,
    pub workers: u32,
    pub threads: u32,
    pub resumed: Option<ResumedReport>,
    pub seconds: f64,
    pub engine_seconds: f64,
    pub peak_memory_bytes: PeakMemory,
    /// When the answer was computed, where it came from the store.
    pub cached: Option<String>,
    pub version: &'static str,
    pub commit: &'static str,
    pub command: String,
    pub fingerprint: String,
}

/// Two states and the least shortest word from one to the other.
#[derive(Debug, Clone, Serialize)]
pub struct PairReport {
    pub from: Vec<u16>,
    pub to: Vec<u16>,
    /// Names of generators, applied from left to right.
    pub word: Vec<String>,
}

impl DiameterReport {
    /// The report of a finished job.
    pub fn new(
        status: &JobStatus,
        puzzle: &Puzzle,
        findings: Findings,
        asked: &Asked,
    ) -> DiameterReport {
        let answer = findings.answer;
        let names: Vec<String> = puzzle.generators().iter().map(|g| g.name.clone()).collect();
        let strings = |list: &Vec<u128>| list.iter().map(u128::to_string).collect();
        // From the root alone there are no pairs of any two states.
        let all_pairs = answer
            .distances
            .as_ref()
            .filter(|_| answer.method != Method::FromStart);
        let mean_of = |with_self| all_pairs.and_then(|d| mean(d, with_self));
        let (mean_without, mean_with_self) = (mean_of(false), mean_of(true));
        let pairs = answer.pairs.as_ref();
        let seconds = asked.elapsed.unwrap_or(status.run_time);
        let cached = asked.cached;
        DiameterReport {
            job: status.job.0,
            state: super::state_words(&status.state).0,
            puzzle: puzzle.name().into(),
            metric: puzzle.metric().name(),
            roots: puzzle.roots().len(),
            directed: !puzzle.is_inverse_closed(),
            warnings: puzzle.warnings().to_vec(),
            states: answer.states.to_string(),
            components: answer.components,
            method: match answer.method {
                Method::Transitive => "transitive",
                Method::AllPairs => "all-pairs",
                Method::Bounds => "bounds",
                Method::FromStart => "from-start",
            },
            transitive: answer.transitive,
            reason: answer.reason.clone(),
            diameter: answer.diameter,
            radius: answer.radius,
            root_eccentricity: findings.root_eccentricity,
            eccentricities: answer.eccentricities.as_ref().map(strings),
            distances: answer.distances.as_ref().map(strings),
            mean: mean_without,
            mean_with_self,
            pairs_ordered: pairs.map(|p| p.ordered.to_string()),
            pairs_unordered: pairs.and_then(|p| p.unordered).map(|n| n.to_string()),
            pairs: pairs.map(|p| p.list.iter().map(|pair| pair_of(pair, &names)).collect()),
            pairs_missing: pairs.and_then(|p| p.missing.clone()),
            sources: findings.sources,
            symmetry: findings.symmetry,
            devices: DeviceReport::all(status),
            workers: status.workers,
            threads: status.threads,
            resumed: status.resumed.map(ResumedReport::from),
            seconds: seconds.as_secs_f64(),
            engine_seconds: status.engine_time.as_secs_f64(),
            peak_memory_bytes: peak_memory(status, asked),
            cached: cached.then(|| date(status.finished_at.unwrap_or(status.submitted_at))),
            version: VERSION,
            commit: COMMIT,
            command: asked.command.clone(),
            fingerprint: status.definition.fingerprint.clone(),
            generators: names,
        }
    }

    /// As one JSON object, or for people.
    pub fn print(&self, as_json: bool) -> Result<(), Failure> {
        match as_json {
            true => json::print(self),
            false => diameter::print(self),
        }
    }
}

fn pair_of(pair: &Pair, names: &[String]) -> PairReport {
    let name = |&g: &u16| {
        let known = names.get(usize::from(g)).cloned();
        known.unwrap_or_else(|| format!("generator {g}"))
    };
    PairReport {
        from: pair.from.to_vec(),
        to: pair.to.to_vec(),
        word: pair.word.iter().map(name).collect(),
    }
}
