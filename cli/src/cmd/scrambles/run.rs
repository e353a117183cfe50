//! `run scrambles`: parts are made straight into the output directory, by this process. A row costs less than storing
//! it somewhere else first would, and the parts that are there already are all that is needed to go on.

use super::super::run::{HowArgs, RunArgs};
use super::super::{Call, block_on};
use super::label;
use super::unique::{self, Dropped};
use super::watched::Watched;
use crate::connect::CoordinatorArgs;
use crate::dataset::{Dataset, Manifest};
use crate::exit::Failure;
use crate::gpu_args::Asker;
use crate::render::{json, scrambles, short};
use crate::report::scrambles::ScramblesReport;
use crate::scramble_args::ScrambleArgs;
use crate::signals::Signals;
use antipode_gpu::Kernels;
use antipode_solver_core::batch::Stop;
use antipode_solver_core::engine::EngineError;
use antipode_solver_core::scramble::ScramblesSpec;
use antipode_worker::scrambles::{DeviceDraws, Draws, Labels, PartError, Parts, Watch, describe};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::collections::BTreeSet;
use std::io::{BufWriter, IsTerminal};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    scrambles: ScrambleArgs,

    /// Where the files go: an empty directory, or one that the same command has begun to fill
    #[arg(long, value_name = "DIR")]
    out: PathBuf,

    /// Replace the scrambles that are there
    #[arg(long)]
    overwrite: bool,

    /// Leave out rows whose state an earlier row has, and say how many; adds a column with the row's number
    #[arg(long)]
    unique: bool,

    /// With --label: take the distances of this finished job of a coordinator, `run bfs` otherwise
    #[arg(long, value_name = "JOB", requires = "label")]
    distances: Option<String>,

    #[command(flatten)]
    coordinator: CoordinatorArgs,

    #[command(flatten)]
    run: RunArgs,
}

/// `run scrambles PUZZLE --out DIR`.
pub fn run(args: &Args, call: &Call) -> Result<(), Failure> {
    args.run.how.compute.kernel()?;
    let puzzle = args.scrambles.puzzle.load()?;
    let spec = args.scrambles.spec(puzzle, args.unique)?;
    let loaded = spec.load().map_err(|e| Failure::input(e.to_string()))?;
    let kernels = kernels(&args.run.how, &spec)?;
    for warning in spec.puzzle.warnings().iter().filter(|_| !args.run.json) {
        eprintln!("warning: {warning}");
    }
    let about = describe(&spec, &loaded);
    let manifest = Manifest::new(spec.clone(), about, args.unique)?;
    Dataset::look(&args.out, &manifest, args.overwrite)?;
    let labels = match (args.scrambles.label, &args.distances) {
        (None, _) => None,
        (Some(_), None) => Some(label::made_here(&spec.puzzle, &args.run, call)?),
        (Some(_), Some(job)) => {
            let how = &args.run.how.compute;
            Some(label::of_job(&spec.puzzle, job, &args.coordinator, how)?)
        }
    };
    let labels = labels.map(|exact| Arc::new(exact) as Arc<dyn Labels>);
    let dataset = Dataset::open(&args.out, &manifest, args.overwrite)?;
    let mut parts = Parts::new(spec, labels).map_err(|e| Failure::input(e.to_string()))?;
    let watched = Arc::new(Watched::default());
    let watch = Arc::clone(&watched) as Arc<dyn Watch>;
    let devices = DeviceDraws::new(&kernels, parts.spec(), parts.loaded(), watch)?;
    let devices = devices.map(Arc::new);
    if let Some(devices) = &devices {
        parts = parts.with_draws(Arc::clone(devices) as Arc<dyn Draws>);
    }
    let work = Arc::new(Work {
        parts,
        devices,
        watched,
        dataset,
        unique: args.unique,
        memory_bytes: args.run.how.compute.memory_bytes(),
        pool: args.run.how.compute.pool()?,
        stop: Stop::default(),
        bar: bar(),
    });
    let begin = Instant::now();
    let made = block_on(until_a_signal(&work, call))?;
    work.bar.finish_and_clear();
    let report = report(&work, &made, begin.elapsed().as_secs_f64());
    match args.run.json {
        true => json::print_signed(&report, &call.command),
        false => scrambles::print(&report),
    }
}

/// The graphics processors that are asked for, or that are quicker than the CPU.
fn kernels(how: &HowArgs, spec: &ScramblesSpec) -> Result<Vec<(u32, Arc<Kernels>)>, Failure> {
    if !how.gpu.is_wanted(spec.rows >= LARGE) {
        return Ok(Vec::new());
    }
    let pool = how.compute.pool()?;
    let offers = how.gpu.open(Asker::Command, how.compute.kernel()?, &pool)?;
    Ok(antipode_worker::Devices::new(offers).for_rows())
}

/// Rows from which it takes long enough to look for a graphics processor.
const LARGE: u64 = 20_000_000;

/// What the threads share.
struct Work {
    parts: Parts,
    devices: Option<Arc<DeviceDraws>>,
    watched: Arc<Watched>,
    dataset: Dataset,
    unique: bool,
    memory_bytes: u64,
    pool: rayon::ThreadPool,
    stop: Stop,
    bar: ProgressBar,
}

/// What was done.
#[derive(Default)]
struct Made {
    written: AtomicU64,
    kept: AtomicU32,
    dropped: u64,
}

fn bar() -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(8));
    let style = ProgressStyle::with_template("scrambles {bar:24} {msg}");
    bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

/// The first Ctrl-C ends after the row groups at work, the second at once.
async fn until_a_signal(work: &Arc<Work>, call: &Call) -> Result<Made, Failure> {
    let mut signals = Signals::new()?;
    let mine = Arc::clone(work);
    let mut making = tokio::task::spawn_blocking(move || make(&mine));
    let ended = |joined: Result<Result<Made, Failure>, tokio::task::JoinError>| {
        joined.unwrap_or_else(|panic| Err(Failure::Internal(format!("a thread ended: {panic}"))))
    };
    let signal = tokio::select! {
        made = &mut making => return ended(made),
        signal = signals.next() => signal,
    };
    signals.next_one_kills();
    work.stop.ask();
    match ended(making.await) {
        Ok(made) => Ok(made),
        Err(Failure::Internal(what)) => Err(Failure::Internal(what)),
        Err(_) => Err(Failure::Interrupted {
            signal,
            say: format!(
                "stopped; the files that are whole stay in {}; to go on, give the same command again:\n  {}",
                work.dataset.path().display(),
                call.command.replace(" --overwrite", "")
            ),
        }),
    }
}

/// Makes the parts that are not there, as many at once as there are threads.
fn make(work: &Work) -> Result<Made, Failure> {
    let spec = work.parts.spec();
    let mut made = Made::default();
    let dropped = match work.unique {
        false => Dropped::none(spec),
        true => {
            let walks = &work.parts.loaded().walks;
            let find = || unique::find(spec, walks, work.memory_bytes, &work.stop);
            work.pool.install(find)?
        }
    };
    made.dropped = dropped.count;
    let parts = spec.parts() as u32;
    work.bar.set_length(spec.rows);
    let next = AtomicU32::new(0);
    let failure: Mutex<Option<Failure>> = Mutex::new(None);
    let writers = work.pool.current_num_threads().min(parts as usize);
    std::thread::scope(|scope| {
        for _ in 0..writers {
            scope.spawn(|| {
                loop {
                    let part = next.fetch_add(1, Relaxed);
                    if part >= parts || work.stop.is_asked() {
                        return;
                    }
                    if let Err(error) = one(work, part, &dropped, &made) {
                        work.stop.ask();
                        let mut first = failure.lock().unwrap_or_else(PoisonError::into_inner);
                        first.get_or_insert(error);
                        return;
                    }
                }
            });
        }
    });
    if let Some(error) = failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(error);
    }
    work.stop.check()?;
    make_again(work, &dropped)?;
    Ok(made)
}

/// The parts of this call in which there are rows of a device that was wrong later.
fn make_again(work: &Work, dropped: &Dropped) -> Result<(), Failure> {
    let spec = work.parts.spec();
    let rows = work.watched.take();
    let part = |row: u64| (row - spec.offset) / u64::from(spec.part_rows.max(1));
    let parts: BTreeSet<u64> = rows.into_iter().map(part).collect();
    if parts.is_empty() {
        return Ok(());
    }
    eprintln!(
        "files that rows of this device are in are made again: {}",
        parts.len()
    );
    for part in parts {
        work.stop.check()?;
        write(work, part as u32, dropped)?;
    }
    Ok(())
}

fn one(work: &Work, part: u32, dropped: &Dropped, made: &Made) -> Result<(), Failure> {
    let spec = work.parts.spec();
    let (first, rows) = spec.part(part);
    let left_out = (first..first + rows)
        .filter(|&row| dropped.has(row))
        .count() as u64;
    if work.dataset.has(spec, part, rows - left_out) {
        made.kept.fetch_add(1, Relaxed);
    } else {
        write(work, part, dropped)?;
    }
    made.written.fetch_add(rows - left_out, Relaxed);
    work.bar.inc(rows);
    work.bar.set_message(format!(
        "{} of {} rows, {}/s",
        short(work.bar.position() as f64),
        short(spec.rows as f64),
        short(work.bar.per_sec())
    ));
    Ok(())
}

/// Writes a part.
fn write(work: &Work, part: u32, dropped: &Dropped) -> Result<(), Failure> {
    work.dataset
        .put(&work.parts.spec().part_name(part), |file| {
            let sink = BufWriter::with_capacity(1 << 20, file);
            let write = || {
                work.parts
                    .write(part, sink, &|row| dropped.has(row), &work.stop)
            };
            let (sink, _) = work.pool.install(write).map_err(failure)?;
            let flushed = sink.into_inner().map_err(|error| error.into_error());
            flushed
                .map(|_| ())
                .map_err(|error| Failure::other(format!("the disk: {error}")))
        })
}

fn failure(error: PartError) -> Failure {
    match error {
        PartError::Engine(EngineError::Input(what)) => Failure::Other(what),
        PartError::Engine(error) => error.into(),
        PartError::Columns(error) => Failure::Other(format!(
            "a file in --out cannot be written: {error}; the files that are there are whole, and the same command goes on after them"
        )),
    }
}

fn report(work: &Work, made: &Made, seconds: f64) -> ScramblesReport {
    let spec = work.parts.spec();
    let parts = spec.parts() as u32;
    let path = |part| work.dataset.path().join(spec.part_name(part));
    let bytes = (0..parts).filter_map(|part| path(part).metadata().ok());
    ScramblesReport {
        kind: "scrambles",
        puzzle: spec.puzzle.name().into(),
        out: work.dataset.path().display().to_string(),
        format: spec.format.extension(),
        seed: spec.walks.seed.to_string(),
        rules: spec.walks.rules.name(),
        offset: spec.offset,
        rows: spec.rows,
        written: made.written.load(Relaxed),
        dropped: work.unique.then_some(made.dropped),
        files: parts,
        kept: made.kept.load(Relaxed),
        columns: work.parts.fields().iter().map(|f| f.name.clone()).collect(),
        row_group_rows: spec.group_rows(),
        part_rows: spec.part_rows,
        bytes: bytes.map(|about| about.len()).sum(),
        seconds,
        rows_per_second: spec.rows as f64 / seconds.max(1e-9),
        engine: work
            .devices
            .as_ref()
            .map_or("cpu".into(), |devices| devices.engine()),
    }
}
