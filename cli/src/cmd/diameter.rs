//! `run diameter` and `submit diameter`: all pairs of states, by the cheapest road that is proved to be enough.
//!
//! A transitive graph's job is the enumeration that `run bfs` would make, so that either finds the other's
//! answer stored. Everything else is a batch job.

use super::Call;
use super::run::{self, RunArgs};
use super::submit::{self, SubmitArgs};
use crate::compute_args::ComputeArgs;
use crate::exit::Failure;
use crate::memory;
use crate::puzzle_arg::PuzzleArgs;
use crate::report::Asked;
use crate::report::diameter::{DiameterReport, Findings};
use antipode_proto::status::JobStatus;
use antipode_solver_core::engine::{EngineError, KernelChoice};
use antipode_solver_core::job::{BfsSpec, JobSpec, Keep};
use antipode_solver_core::puzzle::{Puzzle, State};
use antipode_solver_core::space::LayoutOptions;
use antipode_solver_core::survey::diameter::{
    Answer, DiameterSpec, FAR_MAX, Graph, GraphSize, LastLevel, Method, Route, SurveyError,
    Transitivity, answer_by_transitivity, mutual_of_last_level, smallest_states,
};

/// What a user may say about the question.
#[derive(Debug, Clone, clap::Args)]
pub struct DiameterArgs {
    #[command(flatten)]
    puzzle: PuzzleArgs,

    /// How the diameter is found
    #[arg(long, value_enum, default_value_t = MethodArg::Auto)]
    method: MethodArg,

    /// How many pairs of states farthest apart are listed, each with a shortest word
    #[arg(
        long,
        value_name = "N",
        default_value_t = 3,
        allow_negative_numbers = true,
        value_parser = clap::value_parser!(u32).range(0..=FAR_MAX as i64)
    )]
    max_pairs: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum MethodArg {
    /// One search where the graph is proved to be transitive, otherwise all-pairs
    Auto,
    /// A search from every state
    AllPairs,
    /// Diameter and radius alone, exactly, from few states
    Bounds,
    /// The eccentricity of the root alone
    FromStart,
}

#[derive(Debug, clap::Args)]
pub struct Run {
    #[command(flatten)]
    job: DiameterArgs,
    #[command(flatten)]
    run: RunArgs,
}

#[derive(Debug, clap::Args)]
pub struct Submit {
    #[command(flatten)]
    job: DiameterArgs,
    #[command(flatten)]
    submit: SubmitArgs,
}

/// `run diameter PUZZLE`.
pub fn run(args: &Run, call: &Call) -> Result<(), Failure> {
    let compute = &args.run.how.compute;
    let question = args.job.question()?;
    if let JobSpec::Batch(_) = question.spec {
        refuse_if_too_large(&question.puzzle, compute)?;
    }
    let kernel = compute.kernel()?;
    let done = run::job(&question.spec, &args.run, call)?;
    let report = compute.pool()?.install(|| {
        let asked = done.asked(None, call);
        question.report(&done.status, &asked, kernel, compute.memory_bytes())
    })?;
    report.print(args.run.json)
}

/// `submit diameter PUZZLE`.
pub fn submit(args: &Submit, call: &Call) -> Result<(), Failure> {
    let question = args.job.question()?;
    let finished = submit::job_for(question.spec.clone(), &args.submit, None, call)?;
    let Some((status, asked)) = finished else {
        return Ok(());
    };
    let memory = memory::default_bytes();
    let report = question.report(&status, &asked, KernelChoice::Auto, memory)?;
    report.print(args.submit.json)
}

/// A batch job's graph must fit, with the searches.
fn refuse_if_too_large(puzzle: &Puzzle, compute: &ComputeArgs) -> Result<(), Failure> {
    let allowed = compute.memory_bytes();
    let size = GraphSize::of(puzzle).map_err(EngineError::from)?;
    // Where the number of states is not proved, only listing them tells.
    let refused = match size.bytes() {
        Some(_) => size.check(allowed),
        None => Graph::build(puzzle, allowed).map(|_| ()),
    };
    refused.map_err(|error| Failure::from(EngineError::from(error)))
}

/// The question and the job that answers it.
struct Question {
    puzzle: Puzzle,
    transitivity: Transitivity,
    max_pairs: u32,
    is_from_start: bool,
    spec: JobSpec,
}

impl DiameterArgs {
    fn question(&self) -> Result<Question, Failure> {
        let puzzle = self.puzzle.load()?;
        let transitivity = Transitivity::of(&puzzle).map_err(EngineError::from)?;
        let batch = |route| {
            let (puzzle, max_pairs) = (puzzle.clone(), self.max_pairs);
            JobSpec::Batch(antipode_solver_core::batch::BatchSpec::Diameter(
                DiameterSpec {
                    puzzle,
                    route,
                    max_pairs,
                },
            ))
        };
        let spec = match (self.method, transitivity.is_regular()) {
            (MethodArg::Auto, true) => {
                search(&puzzle, antipodes_needed(&puzzle, self.max_pairs)?).into()
            }
            (MethodArg::Auto | MethodArg::AllPairs, _) => batch(Route::AllPairs),
            (MethodArg::Bounds, _) => batch(Route::Bounds),
            (MethodArg::FromStart, _) if puzzle.roots().len() > 1 => {
                return Err(Failure::input(format!(
                    "--method from-start is about one root, {} has {}; name one with --root",
                    puzzle.name(),
                    puzzle.roots().len()
                )));
            }
            (MethodArg::FromStart, _) => search(&puzzle, 0).into(),
        };
        Ok(Question {
            puzzle,
            transitivity,
            max_pairs: self.max_pairs,
            is_from_start: self.method == MethodArg::FromStart,
            spec,
        })
    }
}

/// The enumeration that `run bfs` makes.
fn search(puzzle: &Puzzle, antipodes: u32) -> BfsSpec {
    BfsSpec {
        puzzle: puzzle.clone(),
        depth: None,
        antipodes,
        keep: Keep::Result,
        layout: LayoutOptions::default(),
    }
}

/// How many farthest states must be listed for `max_pairs` pairs: the smallest pairs begin at the smallest state.
fn antipodes_needed(puzzle: &Puzzle, max_pairs: u32) -> Result<u32, Failure> {
    let first = smallest_states(puzzle, 1).map_err(EngineError::from)?;
    let is_smallest = first.first() == puzzle.roots().first();
    Ok(match is_smallest {
        true => max_pairs,
        false => max_pairs.max(FAR_MAX as u32),
    })
}

impl Question {
    /// The report of the finished job. Takes its time: pairs and words are found here.
    fn report(
        &self,
        status: &JobStatus,
        asked: &Asked,
        kernel: KernelChoice,
        memory: u64,
    ) -> Result<DiameterReport, Failure> {
        let findings = match &self.spec {
            JobSpec::Batch(_) => Findings::of_records(status, self.max_pairs as usize)?,
            JobSpec::Bfs(_) => self.of_search(status, kernel, memory)?,
        };
        Ok(DiameterReport::new(status, &self.puzzle, findings, asked))
    }

    /// What one search from the root says.
    fn of_search(
        &self,
        status: &JobStatus,
        kernel: KernelChoice,
        memory: u64,
    ) -> Result<Findings, Failure> {
        let counts: Vec<u128> = status.levels.iter().map(|l| l.count.into()).collect();
        let eccentricity = (counts.len() as u32).saturating_sub(1);
        let answer = match self.is_from_start {
            true => self.root_alone(counts, eccentricity),
            false => self.transitive(status, &counts, kernel, memory)?,
        };
        Ok(Findings {
            answer,
            root_eccentricity: Some(eccentricity),
            sources: 1,
            symmetry: None,
        })
    }

    fn transitive(
        &self,
        status: &JobStatus,
        counts: &[u128],
        kernel: KernelChoice,
        memory: u64,
    ) -> Result<Answer, Failure> {
        let listed: Vec<(State, Vec<u16>)> = status
            .antipodes
            .iter()
            .map_while(|a| Some((a.state.clone(), a.word.clone().ok()?)))
            .collect();
        let is_whole = counts.last() == Some(&(listed.len() as u128));
        let mutual = match self.puzzle.is_inverse_closed() || is_whole {
            true => None,
            false => {
                let space = &status.definition.space;
                mutual_of_last_level(&self.puzzle, space, kernel, memory)?
            }
        };
        let last = LastLevel {
            states: &listed,
            mutual,
        };
        let max_pairs = self.max_pairs as usize;
        answer_by_transitivity(&self.puzzle, &self.transitivity, counts, &last, max_pairs)
            .map_err(|error: SurveyError| EngineError::from(error).into())
    }

    fn root_alone(&self, counts: Vec<u128>, eccentricity: u32) -> Answer {
        let transitive = self.transitivity.is_regular();
        let mut eccentricities = vec![0; counts.len()];
        eccentricities[eccentricity as usize] = 1;
        Answer {
            method: Method::FromStart,
            transitive,
            reason: format!(
                "the search from the root alone, as was asked: its eccentricity is {eccentricity}; {}",
                self.transitivity.reason()
            ),
            states: counts.iter().sum(),
            components: 1,
            diameter: transitive.then_some(eccentricity),
            radius: transitive.then_some(eccentricity),
            eccentricities: Some(eccentricities),
            distances: Some(counts),
            pairs: None,
        }
    }
}
