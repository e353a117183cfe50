//! The files of a landmark survey: CSV and Parquet of the rows, and the ratios as a picture (SVG and PNG).

use crate::exit::Failure;
use crate::out_dir::OutDir;
use crate::report::landmarks::{LandmarkRow, LandmarksReport};
use antipode_columns::table::{Cells, parquet};
use antipode_plot::{Chart, Line, png, svg};
use antipode_solver_core::survey::landmarks::rows::NAMES;

/// Writes all four. Each appears whole or not at all.
pub fn write(report: &LandmarksReport, dir: &OutDir) -> Result<(), Failure> {
    let chart = chart(report);
    let failed = |e: antipode_plot::PlotError| Failure::Internal(e.to_string());
    dir.write("landmarks.csv", &csv(report)?)?;
    dir.write("landmarks.parquet", &columns(report)?)?;
    dir.write("ratios.svg", svg(&chart).map_err(failed)?.as_bytes())?;
    dir.write("ratios.png", &png(&chart).map_err(failed)?)?;
    eprintln!(
        "written: landmarks.csv, landmarks.parquet, ratios.svg, ratios.png in {}",
        dir.path().display()
    );
    Ok(())
}

const COLUMNS: [&str; 20] = [
    "n",
    "id",
    "name",
    "reachable",
    "reason",
    "distance",
    "lower",
    "upper",
    "word",
    "word_canonical",
    "nL",
    "nR",
    "nX",
    "theta",
    "phi",
    "manhattan",
    "breakpoint",
    "ratio",
    "trivial",
    "state",
];

fn word(row: &LandmarkRow) -> Option<String> {
    row.word.as_ref().map(|w| w.join(" "))
}

/// Labels from 0 on, in the order of positions.
fn state(row: &LandmarkRow) -> String {
    let labels: Vec<String> = row.state.iter().map(u16::to_string).collect();
    labels.join(" ")
}

fn csv(report: &LandmarksReport) -> Result<Vec<u8>, Failure> {
    fn cell<T: ToString>(value: &Option<T>) -> String {
        value.as_ref().map_or(String::new(), T::to_string)
    }
    let failed = |e: csv::Error| Failure::Internal(format!("the CSV file: {e}"));
    let mut out = csv::Writer::from_writer(Vec::new());
    out.write_record(COLUMNS).map_err(failed)?;
    for row in &report.landmarks {
        let record: [String; COLUMNS.len()] = [
            row.n.to_string(),
            row.id.to_string(),
            row.name.to_string(),
            row.reachable.to_string(),
            cell(&row.reason),
            cell(&row.distance),
            cell(&row.lower),
            cell(&row.upper),
            cell(&word(row)),
            row.word_canonical.to_string(),
            cell(&row.l),
            cell(&row.r),
            cell(&row.x),
            cell(&row.theta),
            cell(&row.phi),
            row.manhattan.to_string(),
            row.breakpoint.to_string(),
            cell(&row.ratio),
            row.trivial.to_string(),
            state(row),
        ];
        out.write_record(&record).map_err(failed)?;
    }
    out.into_inner()
        .map_err(|e| Failure::Internal(format!("the CSV file: {e}")))
}

fn columns(report: &LandmarksReport) -> Result<Vec<u8>, Failure> {
    let rows = &report.landmarks;
    let ints = |get: &dyn Fn(&LandmarkRow) -> Option<u32>| {
        Cells::Int(rows.iter().map(|r| get(r).map(i64::from)).collect())
    };
    let floats =
        |get: &dyn Fn(&LandmarkRow) -> Option<f64>| Cells::Float(rows.iter().map(get).collect());
    let texts =
        |get: &dyn Fn(&LandmarkRow) -> Option<String>| Cells::Text(rows.iter().map(get).collect());
    let bools = |get: &dyn Fn(&LandmarkRow) -> bool| {
        Cells::Bool(rows.iter().map(|r| Some(get(r))).collect())
    };
    let cells: [Cells; COLUMNS.len()] = [
        ints(&|r| Some(r.n)),
        ints(&|r| Some(r.id.into())),
        texts(&|r| Some(r.name.into())),
        bools(&|r| r.reachable),
        texts(&|r| r.reason.clone()),
        ints(&|r| r.distance),
        ints(&|r| r.lower),
        ints(&|r| r.upper),
        texts(&word),
        bools(&|r| r.word_canonical),
        ints(&|r| r.l),
        ints(&|r| r.r),
        ints(&|r| r.x),
        floats(&|r| r.theta),
        floats(&|r| r.phi),
        ints(&|r| Some(r.manhattan)),
        ints(&|r| Some(r.breakpoint)),
        floats(&|r| r.ratio),
        bools(&|r| r.trivial),
        texts(&|r| Some(state(r))),
    ];
    let table: Vec<(&str, Cells)> = COLUMNS.into_iter().zip(cells).collect();
    parquet(
        &table,
        &[
            ("kind", report.batch.kind),
            ("title", &report.batch.title),
            ("version", report.batch.version),
        ],
    )
    .map_err(|e| Failure::Internal(format!("the Parquet file: {e}")))
}

/// Distance / diameter against n, one line a landmark.
fn chart(report: &LandmarksReport) -> Chart {
    let lines = NAMES.iter().enumerate().map(|(k, name)| Line {
        name: format!("{} {name}", k + 1),
        points: report
            .landmarks
            .iter()
            .filter(|row| usize::from(row.id) == k + 1)
            .filter_map(|row| Some((row.n, row.ratio?)))
            .collect(),
    });
    let lines: Vec<Line> = lines.collect();
    let sizes = report.surveys.iter().map(|s| s.n);
    let none = lines.iter().all(|line| line.points.is_empty());
    Chart {
        title: format!(
            "Landmarks of {}{}",
            report.batch.title,
            if none { ": no diameter is known" } else { "" }
        ),
        x_label: "n".into(),
        y_label: "distance / diameter".into(),
        x: (sizes.clone().min().unwrap_or(0), sizes.max().unwrap_or(1)),
        y: (0.0, 1.05),
        lines,
    }
}
