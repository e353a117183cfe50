//! `query`: exact distances and shortest words of given states, from what a finished job has kept.

use super::Call;
use crate::compute_args::ComputeArgs;
use crate::connect::CoordinatorArgs;
use crate::exit::Failure;
use crate::kept::{AtWorkers, Kept};
use crate::memory;
use crate::questions::{self, Reader};
use crate::render::{self, json, short, span};
use antipode_proto::message::ArtifactKind;
use antipode_solver_core::bfs::frontier::Frontier;
use antipode_solver_core::distance::{Answer, PackedDistances, Question};
use antipode_solver_core::engine::{Engine, Level, ShardId};
use rayon::prelude::*;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Exact distance and a shortest word of states, from a job that ran with --keep frontiers
///
/// Prints a line a question: the distance and the least of the shortest words. States and words are written as the
/// program prints them.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The job as `antipode jobs` lists it, or `last`
    job: String,

    /// A state by its labels, e.g. "[0 1 3 2]"
    #[arg(long, value_name = "LABELS")]
    state: Vec<String>,

    /// The state that a word makes of the root, e.g. "U F U'"
    #[arg(long, value_name = "WORD", allow_hyphen_values = true)]
    word: Vec<String>,

    /// A file with a state or a word on every line, `-` for stdin
    #[arg(long, value_name = "FILE", conflicts_with_all = ["state", "word"])]
    file: Option<PathBuf>,

    #[command(flatten)]
    compute: ComputeArgs,

    #[command(flatten)]
    coordinator: CoordinatorArgs,

    /// Ask what is stored in this directory, without a coordinator
    #[arg(long, value_name = "DIR", conflicts_with = "coordinator")]
    data: Option<PathBuf>,

    /// Say on stderr how long loading took, and how many questions were answered a second
    #[arg(short, long)]
    verbose: bool,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Serialize)]
struct Report {
    job: String,
    puzzle: String,
    /// What was asked: `distances`, `frontiers` or `workers`.
    source: &'static str,
    answers: Vec<AnswerReport>,
    seconds: Seconds,
    queries_per_second: f64,
}

#[derive(Debug, Serialize)]
struct Seconds {
    load: f64,
    answer: f64,
}

#[derive(Debug, Serialize)]
struct AnswerReport {
    /// As it was asked.
    query: String,
    distance: Option<u32>,
    /// Names of generators, applied from left to right to the root.
    word: Option<Vec<String>>,
    /// Why there is no answer.
    missing: Option<String>,
}

/// Where the answers come from.
pub enum Source<'a> {
    /// At the workers, which are asked for single values.
    Workers(AtWorkers<'a>),
    Distances(Vec<Option<Arc<PackedDistances>>>),
    /// By level, then by shard.
    Frontiers(Vec<Vec<Arc<Frontier>>>),
}

/// A position and its value on the wire.
const BYTES_A_VALUE: u64 = 5;
/// All distances are fetched where single values would come to more than such a part of them.
const WORTH_FETCHING: u64 = 4;

/// Answers everything that is asked, in order.
pub fn query(args: &Args, call: &Call) -> Result<(), Failure> {
    let kernel = args.compute.kernel()?;
    if args.state.is_empty() && args.word.is_empty() && args.file.is_none() {
        return Err(Failure::input(
            "nothing is asked; add --state LABELS, --word WORD or --file FILE",
        ));
    }
    let file = args.file.as_deref();
    let file = file
        .map(|path| questions::read("--file", path))
        .transpose()?;
    let kept = Kept::open(&args.job, args.data.as_deref(), &args.coordinator)?;
    let definition = Arc::clone(&kept.status.definition);
    let puzzle = &kept.bfs()?.puzzle;
    let asked = asked(args, file.as_deref(), &Reader::new(puzzle))?;
    let has_all = kept.has_distances() || (kept.has_levels() && keeps(&kept));
    if !has_all {
        return Err(kept.nothing_kept());
    }
    let pool = args.compute.pool()?;
    let begin = Instant::now();
    let (engine, source) = pool.install(|| -> Result<_, Failure> {
        let engine = Engine::load(puzzle, &definition.space, kernel)?;
        let source = load(&kept, &engine, args.compute.memory_bytes(), asked.len())?;
        Ok((engine, source))
    })?;
    let loaded = begin.elapsed();
    let begin = Instant::now();
    let (texts, questions): (Vec<&str>, Vec<Question>) = asked.into_iter().unzip();
    let answers = pool.install(|| source.answer(&engine, kept.last(), &questions));
    let took = begin.elapsed();
    if args.verbose {
        say(&source, loaded, took, questions.len());
    }
    print(args, call, &kept, &source, (loaded, took), &texts, &answers)
}

/// The questions with the texts that asked them.
fn asked<'t>(
    args: &'t Args,
    file: Option<&'t str>,
    reader: &Reader<'_>,
) -> Result<Vec<(&'t str, Question)>, Failure> {
    if let Some(text) = file {
        let shown = args.file.as_deref().unwrap_or(Path::new("-")).display();
        let asked = questions::lines(reader, text)
            .map_err(|(line, why)| Failure::input(format!("--file {shown}, line {line}: {why}")))?;
        return match asked.is_empty() {
            false => Ok(asked),
            true => Err(Failure::input(format!("--file {shown} asks nothing"))),
        };
    }
    let states = args.state.iter().map(|text| ("--state", text));
    let words = args.word.iter().map(|text| ("--word", text));
    states
        .chain(words)
        .map(|(flag, text)| {
            let question = match flag {
                "--state" => reader.state(text),
                _ => reader.word(text),
            };
            let question = question.map_err(|why| Failure::input(format!("{flag}: {why}")))?;
            Ok((text.trim(), question))
        })
        .collect()
}

/// Does the job keep its levels? (A job of level 0 alone needs none.)
fn keeps(kept: &Kept) -> bool {
    kept.status.definition.spec.keep() == antipode_solver_core::job::Keep::Frontiers
        && crate::report::is_ended(&kept.status.state)
}

/// Brings all that may be asked into memory.
pub fn load<'a>(
    kept: &'a Kept,
    engine: &Engine,
    memory_bytes: u64,
    questions: usize,
) -> Result<Source<'a>, Failure> {
    let shards = || (0..engine.shards()).map(ShardId);
    let packed = kept.has_distances();
    let need: u64 = if packed {
        kept.all(ArtifactKind::Distances)
            .map(|i| i.count / 5 + 64)
            .sum()
    } else {
        kept.all(ArtifactKind::Frontier)
            .map(|i| engine.geometry(i.name.shard).memory_bytes(i.count))
            .sum()
    };
    let far = kept.is_far();
    if packed && far {
        // Every step of a question asks for the values of all neighbours.
        let moves = kept.bfs()?.puzzle.generators().len() as u64;
        let steps = u64::from(kept.last()) + 1;
        let moved = (questions as u64).saturating_mul(moves * steps * BYTES_A_VALUE);
        if moved < need / WORTH_FETCHING || need + engine.table_bytes() > memory_bytes {
            return Ok(Source::Workers(AtWorkers(kept)));
        }
    }
    let need = need + engine.table_bytes();
    if need > memory_bytes {
        return Err(Failure::input(format!(
            "the distances of job {} take {} of memory, {} are allowed; allow more with --memory, or ask on a larger machine",
            kept.name,
            memory::show(need),
            memory::show(memory_bytes)
        )));
    }
    if packed {
        let one = |shard: ShardId| {
            let Some(input) = kept
                .all(ArtifactKind::Distances)
                .find(|i| i.name.shard == shard)
            else {
                return Ok(None);
            };
            let distances = kept.distances(shard, engine.geometry(shard))?;
            if far && engine.distance_digest(shard, &distances) != input.digest {
                return Err(format!("the distances of shard {shard} came damaged"));
            }
            Ok(Some(distances))
        };
        let shards: Vec<ShardId> = shards().collect();
        let loaded: Result<Vec<_>, String> = shards.into_par_iter().map(one).collect();
        return Ok(Source::Distances(loaded.map_err(Failure::Other)?));
    }
    let one = |level: Level, shard: ShardId| {
        if level == 0 {
            return Ok(Arc::new(engine.roots(shard)));
        }
        let frontier = kept.frontier(level, shard, engine.geometry(shard))?;
        let known = kept.artifact(ArtifactKind::Frontier, level, shard);
        if far && known.is_some_and(|i| engine.digest(shard, &frontier) != i.digest) {
            return Err(format!(
                "the frontier of level {level}, shard {shard} came damaged"
            ));
        }
        Ok(Arc::new(frontier))
    };
    let level = |level: Level| shards().map(|shard| one(level, shard)).collect();
    let levels: Vec<Level> = (0..=kept.last()).collect();
    let loaded: Result<Vec<Vec<_>>, String> = levels.into_par_iter().map(level).collect();
    Ok(Source::Frontiers(loaded.map_err(Failure::Other)?))
}

impl Source<'_> {
    fn name(&self) -> &'static str {
        match self {
            Source::Workers(_) => "workers",
            Source::Distances(_) => "distances",
            Source::Frontiers(_) => "frontiers",
        }
    }

    fn answer(
        &self,
        engine: &Engine,
        last: Level,
        questions: &[Question],
    ) -> Vec<Result<Answer, String>> {
        match self {
            Source::Workers(workers) => engine.query(workers, last, questions),
            Source::Distances(distances) => engine.query(distances, last, questions),
            Source::Frontiers(levels) => {
                let kept = |level: Level, shard: ShardId| {
                    levels
                        .get(level as usize)?
                        .get(shard.0 as usize)
                        .map(Arc::clone)
                };
                engine.query_levels(&kept, last, questions)
            }
        }
    }
}

fn rate(questions: usize, took: Duration) -> f64 {
    questions as f64 / took.as_secs_f64().max(1e-9)
}

fn say(source: &Source<'_>, loaded: Duration, took: Duration, questions: usize) {
    eprintln!(
        "{} loaded in {}; {questions} questions in {}, {} a second",
        source.name(),
        span(loaded.as_secs_f64()),
        span(took.as_secs_f64()),
        short(rate(questions, took))
    );
}

fn print(
    args: &Args,
    call: &Call,
    kept: &Kept,
    source: &Source<'_>,
    (loaded, took): (Duration, Duration),
    texts: &[&str],
    answers: &[Result<Answer, String>],
) -> Result<(), Failure> {
    let puzzle = &kept.bfs()?.puzzle;
    let names: Vec<&str> = puzzle
        .generators()
        .iter()
        .map(|g| g.name.as_str())
        .collect();
    let word = |answer: &Answer| -> Vec<&str> {
        let letters = answer.word.iter();
        letters.map(|&g| names[usize::from(g)]).collect()
    };
    if args.json {
        let report = Report {
            job: kept.name.clone(),
            puzzle: puzzle.name().into(),
            source: source.name(),
            answers: texts
                .iter()
                .zip(answers)
                .map(|(text, answer)| AnswerReport {
                    query: text.to_string(),
                    distance: answer.as_ref().ok().map(|a| a.distance),
                    word: answer
                        .as_ref()
                        .ok()
                        .map(|a| word(a).into_iter().map(String::from).collect()),
                    missing: answer.as_ref().err().cloned(),
                })
                .collect(),
            seconds: Seconds {
                load: loaded.as_secs_f64(),
                answer: took.as_secs_f64(),
            },
            queries_per_second: rate(texts.len(), took),
        };
        json::print_signed(&report, &call.command)?;
    } else {
        render::lines(answers.iter().map(|answer| match answer {
            Ok(answer) if answer.word.is_empty() => format!("{}  (no move)", answer.distance),
            Ok(answer) => format!("{}  {}", answer.distance, word(answer).join(" ")),
            Err(why) => format!("-  {why}"),
        }))?;
    }
    let missing = answers.iter().filter(|answer| answer.is_err()).count();
    match (missing, texts.len()) {
        (0, _) => Ok(()),
        (_, 1) => Err(Failure::input("it has no answer: see above")),
        (missing, all) => Err(Failure::input(format!(
            "{missing} of {all} questions have no answer: see the lines that begin with '-'"
        ))),
    }
}
