//! `scrambles targets`: values and policies of the states of a data set, from values that somebody's network gave to
//! their children. The children need not be stored: which of them are solved is told from the states.

use super::super::Call;
use crate::dataset::Manifest;
use crate::exit::Failure;
use crate::render::{grouped, json, line};
use crate::whole_file::put;
use antipode_columns::{Batch, Column, Field, Kind, Values, npy, parquet_in, parquet_out};
use antipode_solver_core::scramble::children::Children;
use antipode_solver_core::scramble::targets::{NotFinite, Variant, target};
use antipode_solver_core::scramble::{Column as Asked, Format, ScramblesSpec};
use serde::Serialize;
use std::fs::File;
use std::io::{BufReader, BufWriter, Read};
use std::path::PathBuf;

/// Values and policies from values of the children: value = min(1 + v(child)), a solved child counts 0
///
/// Writes _targets-*.parquet beside the scrambles, row for row, with the columns value and policy (the number of the
/// first best move; null for a solved state, whose value is 0).
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A folder of Parquet scrambles with their states
    #[arg(value_name = "DIR")]
    folder: PathBuf,

    /// An NPY file of float32 or float64: a value for every child, state by state, in the order of the generators
    #[arg(long, value_name = "FILE")]
    values: PathBuf,

    /// Take negative values of unsolved children as they are; otherwise they count 0
    #[arg(long)]
    raw_targets: bool,

    /// What is made of a value that is NaN: refuse it (infinite ones, too), count it 0, or never choose it
    #[arg(long, value_enum, default_value_t = NanArg::Refuse)]
    nan: NanArg,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum NanArg {
    Refuse,
    Zero,
    Skip,
}

/// The JSON form is described in `docs/schema/targets.schema.json`.
#[derive(Debug, Serialize)]
struct Report {
    kind: &'static str,
    folder: String,
    variant: &'static str,
    rows: u64,
    /// Rows whose state is solved: value 0, no policy.
    solved: u64,
    files: u32,
    mean: f64,
}

#[derive(Default)]
struct Sum {
    rows: u64,
    solved: u64,
    value: f64,
}

/// Reads values and states side by side and writes a file of targets for every part.
pub fn targets(args: &Args, call: &Call) -> Result<(), Failure> {
    let manifest = Manifest::read(&args.folder)?;
    let spec = &manifest.spec;
    if spec.format != Format::Parquet || !spec.has(Asked::State) {
        return Err(Failure::input(format!(
            "{}: targets need Parquet files with a column state, and these have none; make them again with --format parquet",
            args.folder.display()
        )));
    }
    let children = Children::new(&spec.puzzle, spec.cell_bytes() as usize);
    let mut values = Source::open(args, &manifest, children.moves() as u64)?;
    let parts = spec.parts() as u32;
    let mut sum = Sum::default();
    for part in 0..parts {
        one(args, spec, part, &children, &mut values, &mut sum)?;
    }
    let report = Report {
        kind: "targets",
        folder: args.folder.display().to_string(),
        variant: if args.raw_targets { "raw" } else { "floored" },
        rows: sum.rows,
        solved: sum.solved,
        files: parts,
        mean: sum.value / sum.rows.max(1) as f64,
    };
    if args.json {
        return json::print_signed(&report, &call.command);
    }
    line(&format!(
        "targets of {} rows in {} files beside the scrambles, {} of them solved; mean value {:.4}",
        grouped(&report.rows.to_string()),
        report.files,
        grouped(&report.solved.to_string()),
        report.mean
    ))
}

/// The values of children, read as they are needed.
struct Source {
    header: npy::Floats,
    file: BufReader<File>,
    name: String,
}

impl Source {
    fn open(args: &Args, manifest: &Manifest, moves: u64) -> Result<Source, Failure> {
        let name = format!("--values {}", args.values.display());
        let file = File::open(&args.values).map_err(|e| Failure::input(format!("{name}: {e}")))?;
        let mut file = BufReader::with_capacity(1 << 20, file);
        let header =
            npy::read_header(&mut file).map_err(|e| Failure::input(format!("{name}: {e}")))?;
        let rows = rows_of(args, &manifest.spec)?;
        if header.count() != rows * moves || (header.shape.len() == 2 && header.shape[1] != moves) {
            return Err(Failure::input(format!(
                "{name}: an array of shape {:?}, but there are {rows} rows with {moves} children each: the shape must be ({rows}, {moves}) or ({},)",
                header.shape,
                rows * moves
            )));
        }
        Ok(Source { header, file, name })
    }

    fn read(&mut self, out: &mut [f64]) -> Result<(), Failure> {
        let read = self.header.read(&mut self.file, out);
        read.map_err(|error| Failure::input(format!("{}: {error}", self.name)))
    }

    /// Nothing may follow.
    fn finish(&mut self) -> Result<(), Failure> {
        let mut rest = [0];
        match self.file.read(&mut rest) {
            Ok(0) => Ok(()),
            _ => Err(Failure::input(format!(
                "{}: it has more values than its shape says",
                self.name
            ))),
        }
    }
}

fn open(args: &Args, spec: &ScramblesSpec, part: u32) -> Result<parquet_in::Reader<File>, Failure> {
    let path = args.folder.join(spec.part_name(part));
    let unreadable = |why: String| {
        Failure::input(format!(
            "{}: {why}; the data set is not whole: give the command that made it again",
            path.display()
        ))
    };
    let file = File::open(&path).map_err(|error| unreadable(error.to_string()))?;
    parquet_in::Reader::open(file).map_err(|error| unreadable(error.to_string()))
}

fn rows_of(args: &Args, spec: &ScramblesSpec) -> Result<u64, Failure> {
    let mut rows = 0;
    for part in 0..spec.parts() as u32 {
        rows += open(args, spec, part)?.rows();
    }
    Ok(rows)
}

fn one(
    args: &Args,
    spec: &ScramblesSpec,
    part: u32,
    children: &Children,
    source: &mut Source,
    sum: &mut Sum,
) -> Result<(), Failure> {
    let variant = if args.raw_targets {
        Variant::Raw
    } else {
        Variant::Floored
    };
    let not_finite = match args.nan {
        NanArg::Refuse => NotFinite::Refuse,
        NanArg::Zero => NotFinite::Zero,
        NanArg::Skip => NotFinite::Skip,
    };
    let reader = open(args, spec, part)?;
    let damaged = |error: antipode_columns::ColumnsError| {
        Failure::input(format!(
            "{}: {error}",
            args.folder.join(spec.part_name(part)).display()
        ))
    };
    let fields = [
        Field::new("value", Kind::F64),
        Field::new("policy", Kind::I32).nullable(),
    ];
    let options = parquet_out::Options::default();
    let (cell, moves) = (spec.cell_bytes() as usize, children.moves());
    let width = spec.puzzle.degree() * cell;
    let name = spec.part_name(part).replace("scrambles-", "_targets-");
    put(&args.folder, &name, |file| {
        let unwritable =
            |error: antipode_columns::ColumnsError| Failure::other(format!("{name}: {error}"));
        let mut writer = parquet_out::Writer::new(BufWriter::new(file), &fields, &options)
            .map_err(unwritable)?;
        for group in 0..reader.group_rows().len() {
            let states = reader.vectors(group, "state", cell).map_err(damaged)?;
            let rows = states.len() / width;
            let mut values = vec![0.0; rows * moves];
            source.read(&mut values)?;
            let mut solved = Vec::new();
            children.solved(&states, &mut solved);
            let mut out = Out::default();
            for (k, state) in states.chunks_exact(width).enumerate() {
                if children.is_solved(state) {
                    out.push(0.0, None);
                    sum.solved += 1;
                    continue;
                }
                let range = k * moves..(k + 1) * moves;
                let place = || {
                    format!(
                        "--values {}: state {}",
                        args.values.display(),
                        sum.rows + k as u64
                    )
                };
                let found = target(
                    &values[range.clone()],
                    &solved[range],
                    variant,
                    not_finite,
                    place,
                );
                let found = found.map_err(|error| Failure::input(error.to_string()))?;
                sum.value += found.value;
                out.push(found.value, Some(found.policy as i32));
            }
            sum.rows += rows as u64;
            writer.write(vec![out.batch()]).map_err(unwritable)?;
        }
        writer.finish().map_err(unwritable)?;
        if part + 1 == spec.parts() as u32 {
            source.finish()?;
        }
        Ok(())
    })
}

#[derive(Default)]
struct Out {
    values: Vec<f64>,
    policies: Vec<i32>,
    valid: Vec<bool>,
}

impl Out {
    fn push(&mut self, value: f64, policy: Option<i32>) {
        self.values.push(value);
        self.policies.push(policy.unwrap_or(0));
        self.valid.push(policy.is_some());
    }

    fn batch(self) -> Batch {
        Batch {
            columns: vec![
                Column::full(Values::F64(self.values)),
                Column {
                    values: Values::I32(self.policies),
                    valid: Some(self.valid),
                },
            ],
        }
    }
}
