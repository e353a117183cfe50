//! `distance`: how far states are from targets by their labels, on the CPU or a graphics processor.

use super::Call;
use crate::compute_args::ComputeArgs;
use crate::exit::Failure;
use crate::gpu_args::OneGpuArgs;
use crate::label_distances::LabelDistances;
use crate::puzzle_arg::PuzzleArgs;
use crate::questions::{self, Reader};
use crate::render::{json, lines};
use antipode_solver_core::distance::Question;
use antipode_solver_core::puzzle::Puzzle;
use antipode_solver_core::states::distances::{self, Measure};
use antipode_solver_core::states::{States, StatesError};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Manhattan or breakpoint distance of states to targets, by labels alone (`query` gives distances in the graph)
///
/// Prints a line a state: its distances to all targets in order, then the state as it was asked.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    puzzle: PuzzleArgs,

    /// manhattan: the sum of the labels' differences; breakpoint: neighbours that do not rise by one, read in the
    /// target's order
    #[arg(long, value_enum, default_value_t = MeasureArg::Manhattan)]
    measure: MeasureArg,

    /// A state by its labels, e.g. "[0 1 3 2]", or a word that makes it of the root, e.g. "U F U'"
    #[arg(long, value_name = "STATE", allow_hyphen_values = true)]
    state: Vec<String>,

    /// A file with a state or a word on every line, `-` for stdin
    #[arg(long, value_name = "FILE", conflicts_with = "state")]
    file: Option<PathBuf>,

    /// A target, written as a state [default: the root]
    #[arg(long, value_name = "STATE", allow_hyphen_values = true)]
    target: Vec<String>,

    /// A file of targets
    #[arg(long, value_name = "FILE", conflicts_with = "target")]
    targets: Option<PathBuf>,

    #[command(flatten)]
    gpu: OneGpuArgs,

    #[command(flatten)]
    compute: ComputeArgs,

    /// Print one JSON object (docs/schema/distance.schema.json)
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum MeasureArg {
    Manhattan,
    Breakpoint,
}

#[derive(Debug, Serialize)]
struct Report {
    puzzle: String,
    measure: &'static str,
    states: usize,
    targets: usize,
    /// A list a state: its distances to the targets.
    distances: Vec<Vec<u32>>,
    /// `cpu`, or `vulkan` and the device.
    engine: String,
    seconds: f64,
}

/// Distances computed at once: 64 MiB.
const BLOCK_DISTANCES: usize = 16 << 20;
/// One JSON object holds no more.
const JSON_DISTANCES: usize = 64 << 20;

/// Answers everything that is asked, in order.
pub fn distance(args: &Args, call: &Call) -> Result<(), Failure> {
    let puzzle = args.puzzle.load()?;
    let reader = Reader::new(&puzzle);
    let texts = Texts::read(args)?;
    let (asked, states) = texts.states(&puzzle, &reader)?;
    let targets = texts.targets(&puzzle, &reader)?;
    let measure = match args.measure {
        MeasureArg::Manhattan => Measure::Manhattan,
        MeasureArg::Breakpoint => Measure::Breakpoint,
    };
    if measure == Measure::Breakpoint {
        // Before anything is printed.
        distances::orders(&targets).map_err(input)?;
    }
    let all = states.len().saturating_mul(targets.len());
    if args.json && all > JSON_DISTANCES {
        return Err(Failure::input(format!(
            "{all} distances do not fit one JSON object ({JSON_DISTANCES} do); ask without --json, or in parts"
        )));
    }
    let mut engine = LabelDistances::on(args.gpu.open()?);
    let pool = args.compute.pool()?;
    let mut report = Report {
        puzzle: puzzle.name().to_string(),
        measure: measure.name(),
        states: states.len(),
        targets: targets.len(),
        distances: Vec::new(),
        engine: String::new(),
        seconds: 0.0,
    };
    let rows = (BLOCK_DISTANCES / targets.len()).max(1);
    for (block, asked) in states
        .labels()
        .chunks(rows * states.degree())
        .zip(asked.chunks(rows))
    {
        let begun = Instant::now();
        let block = States::of(states.degree(), block.to_vec()).map_err(input)?;
        let made = pool.install(|| engine.distances(measure, &block, &targets))?;
        report.seconds += begun.elapsed().as_secs_f64();
        let made = made.chunks(targets.len());
        if args.json {
            report.distances.extend(made.map(<[u32]>::to_vec));
        } else {
            lines(made.zip(asked).map(|(row, text)| {
                let row: Vec<String> = row.iter().map(u32::to_string).collect();
                format!("{}  {text}", row.join(" "))
            }))?;
        }
    }
    report.engine = engine.name();
    match args.json {
        true => json::print_signed(&report, &call.command),
        false => Ok(()),
    }
}

/// States and targets as they are written, each with where.
struct Texts {
    states: Vec<(String, String)>,
    targets: Vec<(String, String)>,
}

impl Texts {
    fn read(args: &Args) -> Result<Texts, Failure> {
        let stdin = Some(Path::new("-"));
        if args.file.as_deref() == stdin && args.targets.as_deref() == stdin {
            return Err(Failure::input(
                "--file - and --targets - both read stdin; give one of them a file",
            ));
        }
        let texts = Texts {
            states: list("--state", &args.state, "--file", args.file.as_deref())?,
            targets: list(
                "--target",
                &args.target,
                "--targets",
                args.targets.as_deref(),
            )?,
        };
        match texts.states.is_empty() {
            false => Ok(texts),
            true => Err(Failure::input(
                "nothing is asked; add --state STATE or --file FILE",
            )),
        }
    }

    /// The states with their texts.
    fn states(&self, puzzle: &Puzzle, reader: &Reader<'_>) -> Result<(Vec<&str>, States), Failure> {
        let asked = self.states.iter().map(|(_, text)| text.as_str()).collect();
        Ok((asked, read_all(&self.states, puzzle, reader)?))
    }

    /// The targets; the root where none is named.
    fn targets(&self, puzzle: &Puzzle, reader: &Reader<'_>) -> Result<States, Failure> {
        let mut targets = read_all(&self.targets, puzzle, reader)?;
        if targets.is_empty() {
            targets.push(root(puzzle)?).map_err(input)?;
        }
        Ok(targets)
    }
}

/// The texts of a flag, or of the lines of a file; empty lines and those that begin with `#` say nothing.
fn list(
    flag: &str,
    given: &[String],
    file_flag: &str,
    file: Option<&Path>,
) -> Result<Vec<(String, String)>, Failure> {
    let Some(file) = file else {
        let given = given
            .iter()
            .map(|text| (format!("{flag} {text}"), text.clone()));
        return Ok(given.collect());
    };
    let text = questions::read(file_flag, file)?;
    let lines: Vec<(String, String)> = questions::asking_lines(&text)
        .map(|(number, line)| {
            let place = format!("{file_flag} {}, line {number}", file.display());
            (place, line.to_string())
        })
        .collect();
    match lines.is_empty() {
        false => Ok(lines),
        true => Err(Failure::input(format!(
            "{file_flag} {} names no state",
            file.display()
        ))),
    }
}

fn read_all(
    texts: &[(String, String)],
    puzzle: &Puzzle,
    reader: &Reader<'_>,
) -> Result<States, Failure> {
    let mut states = States::new(puzzle.degree()).map_err(input)?;
    for (place, text) in texts {
        let state = match reader.line(text) {
            Ok(Question::State(state)) => state.to_vec(),
            Ok(Question::Word(word)) => {
                let mut state = root(puzzle)?.to_vec();
                for letter in word {
                    state = puzzle.generators()[usize::from(letter)].perm.apply(&state);
                }
                state
            }
            Err(why) => return Err(Failure::input(format!("{place}: {why}"))),
        };
        states.push(&state).map_err(input)?;
    }
    Ok(states)
}

fn root(puzzle: &Puzzle) -> Result<&[u16], Failure> {
    let root = puzzle.roots().first();
    root.map(|root| &root[..])
        .ok_or_else(|| Failure::input("the puzzle has no root"))
}

fn input(error: StatesError) -> Failure {
    Failure::Input(error.to_string())
}
