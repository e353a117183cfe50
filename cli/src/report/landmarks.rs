//! The answer of a landmark survey: one value that the JSON object, the printed tables and the files are made from.
//! The JSON form is described field by field in `docs/schema/landmarks.schema.json`.

use super::Asked;
use super::batch::BatchReport;
use super::landmark_hulls::{Hulls, hulls};
use crate::exit::Failure;
use crate::label_distances::LabelDistances;
use antipode_proto::status::JobStatus;
use antipode_solver_core::states::distances::Measure;
use antipode_solver_core::states::{States, StatesError};
use antipode_solver_core::survey::landmarks::celestial::Celestial;
use antipode_solver_core::survey::landmarks::items::read_record;
use antipode_solver_core::survey::landmarks::ratios::{self, Estimate};
use antipode_solver_core::survey::landmarks::search::Ended;
use antipode_solver_core::survey::landmarks::size::{Method, Outcome, Row, Size};
use serde::Serialize;

#[derive(Debug, Clone, Serialize)]
pub struct LandmarksReport {
    #[serde(flatten)]
    pub batch: BatchReport,
    /// What computed the distances by labels: `cpu`, or `vulkan` and the device.
    pub label_engine: String,
    pub landmarks: Vec<LandmarkRow>,
    pub surveys: Vec<SurveyRow>,
}

/// One landmark of one size.
#[derive(Debug, Clone, Serialize)]
pub struct LandmarkRow {
    pub n: u32,
    pub id: u8,
    pub name: &'static str,
    pub reachable: bool,
    /// Why it is not reachable: `parity`, `blocks` or `not in the group`.
    pub reason: Option<String>,
    pub distance: Option<u32>,
    pub lower: Option<u32>,
    pub upper: Option<u32>,
    pub word: Option<Vec<String>>,
    /// The word is the lexicographically least of the shortest ones.
    pub word_canonical: bool,
    #[serde(rename = "nL")]
    pub l: Option<u32>,
    #[serde(rename = "nR")]
    pub r: Option<u32>,
    #[serde(rename = "nX")]
    pub x: Option<u32>,
    pub theta: Option<f64>,
    pub phi: Option<f64>,
    /// From the identity, by labels alone.
    pub manhattan: u32,
    pub breakpoint: u32,
    #[serde(skip)]
    pub state: Vec<u16>,
    #[serde(skip)]
    pub ratio: Option<f64>,
    #[serde(skip)]
    pub trivial: bool,
}

/// What one size says as a whole.
#[derive(Debug, Clone, Serialize)]
pub struct SurveyRow {
    pub n: u32,
    pub puzzle: String,
    pub group_order: String,
    /// `exhaustive` or `both ends`.
    pub method: &'static str,
    pub diameter: Option<u32>,
    /// The largest proved lower bound of a landmark's distance: no diameter is smaller.
    pub diameter_at_least: Option<u32>,
    /// From the ratios of a smaller size; no bound.
    pub estimate: Option<Estimate>,
    /// Distance / diameter, where both are known.
    pub ratios: Vec<RatioRow>,
    /// Landmarks that are left out of ratios and estimates.
    pub trivial: Vec<TrivialRow>,
    /// Landmarks whose distance is not exact, with what proves their lower bound.
    pub open: Vec<OpenRow>,
    /// What ended the search: `complete`, `nodes`, `memory` or `time limit`.
    pub ended: &'static str,
    /// False where a time limit ended the search.
    pub reproducible: bool,
    pub nodes: u64,
    pub radius: u32,
    #[serde(flatten)]
    pub hulls: Hulls,
}

#[derive(Debug, Clone, Serialize)]
pub struct RatioRow {
    pub id: u8,
    pub ratio: f64,
}

#[derive(Debug, Clone, Serialize)]
pub struct TrivialRow {
    pub id: u8,
    pub why: String,
}

#[derive(Debug, Clone, Serialize)]
pub struct OpenRow {
    pub id: u8,
    pub lower: u32,
    pub proof: String,
}

impl LandmarksReport {
    /// The answer of a finished job. `labels` computes the distances of landmarks by their labels, all of a size at once.
    pub fn new(
        status: &JobStatus,
        asked: &Asked,
        labels: &mut LabelDistances,
    ) -> Result<LandmarksReport, Failure> {
        let sizes: Vec<Size> = status
            .items
            .iter()
            .map(|record| read_record(record).map_err(Failure::Other))
            .collect::<Result<_, _>>()?;
        let mut landmarks = Vec::new();
        for size in &sizes {
            let [manhattan, breakpoint] = by_labels(size, labels)?;
            let both = manhattan.into_iter().zip(breakpoint);
            let rows = size.rows.iter().zip(both);
            landmarks.extend(rows.map(|(row, by_labels)| landmark(size, row, by_labels)));
        }
        Ok(LandmarksReport {
            batch: BatchReport::new(status, asked),
            label_engine: labels.name(),
            landmarks,
            surveys: sizes.iter().map(|size| survey(&sizes, size)).collect(),
        })
    }

    /// The rows of one size.
    pub fn of_size(&self, n: u32) -> impl Iterator<Item = &LandmarkRow> {
        self.landmarks.iter().filter(move |row| row.n == n)
    }
}

/// Manhattan and breakpoint distances of all landmarks of a size from the identity.
fn by_labels(size: &Size, labels: &mut LabelDistances) -> Result<[Vec<u32>; 2], Failure> {
    let wrong = |error: StatesError| Failure::Other(format!("n = {}: {error}", size.n));
    let mut states = States::new(size.n as usize).map_err(wrong)?;
    for row in &size.rows {
        states.push(&row.state).map_err(wrong)?;
    }
    let identity = (0..states.degree() as u16).collect();
    let identity = States::of(states.degree(), identity).map_err(wrong)?;
    let mut of = |measure| labels.distances(measure, &states, &identity);
    Ok([of(Measure::Manhattan)?, of(Measure::Breakpoint)?])
}

fn landmark(size: &Size, row: &Row, (manhattan, breakpoint): (u32, u32)) -> LandmarkRow {
    let shortest = ratios::word(row);
    let word = match &row.outcome {
        Outcome::Open { word, .. } | Outcome::Proved { word, .. } => word.as_deref(),
        _ => shortest,
    };
    let counts = word.and_then(|w| ratios::counts_of(size, w));
    let celestial = counts.map(|c| Celestial::of(c.map(f64::from)));
    let length = |w: &[u16]| w.len() as u32;
    let distance = ratios::distance(row);
    let (reason, lower) = match &row.outcome {
        Outcome::Unreachable { reason } => (Some(reason.clone()), None),
        Outcome::Exact { .. } | Outcome::Proved { .. } => (None, distance),
        Outcome::Open { lower, .. } => (None, Some(*lower)),
    };
    LandmarkRow {
        n: size.n,
        id: row.id,
        name: ratios::name(row),
        reachable: reason.is_none(),
        reason,
        distance,
        lower,
        upper: word.map(length).or(distance),
        word: word.map(|w| {
            w.iter()
                .map(|&m| size.moves[usize::from(m)].clone())
                .collect()
        }),
        word_canonical: shortest.is_some(),
        l: counts.map(|c| c[0]),
        r: counts.map(|c| c[1]),
        x: counts.map(|c| c[2]),
        theta: celestial.map(|c| c.theta),
        phi: celestial.map(|c| c.phi),
        manhattan,
        breakpoint,
        state: row.state.clone(),
        ratio: ratios::ratio(size, row),
        trivial: ratios::why_trivial(size, row).is_some(),
    }
}

fn survey(sizes: &[Size], size: &Size) -> SurveyRow {
    let rows = || size.rows.iter();
    SurveyRow {
        n: size.n,
        puzzle: size.puzzle.clone(),
        group_order: size.group_order.clone(),
        method: match size.method {
            Method::Exhaustive => "exhaustive",
            Method::BothEnds => "both ends",
        },
        diameter: size.diameter(),
        diameter_at_least: ratios::proved_bound(size),
        estimate: ratios::estimate(sizes, size),
        ratios: rows()
            .filter_map(|row| {
                let ratio = ratios::ratio(size, row)?;
                Some(RatioRow { id: row.id, ratio })
            })
            .collect(),
        trivial: rows()
            .filter_map(|row| {
                let why = ratios::why_trivial(size, row)?;
                Some(TrivialRow { id: row.id, why })
            })
            .collect(),
        open: rows()
            .filter_map(|row| match &row.outcome {
                Outcome::Open { lower, proof, .. } => Some(OpenRow {
                    id: row.id,
                    lower: *lower,
                    proof: if *lower > proof.ball + proof.probe + 1 {
                        format!("{proof}; and all moves are odd, which leaves every second length")
                    } else {
                        proof.to_string()
                    },
                }),
                _ => None,
            })
            .collect(),
        ended: match size.ended {
            Ended::Complete => "complete",
            Ended::Nodes => "nodes",
            Ended::Memory => "memory",
            Ended::Stopped => "time limit",
        },
        reproducible: size.ended != Ended::Stopped,
        nodes: size.nodes,
        radius: size.radius,
        hulls: hulls(size),
    }
}
