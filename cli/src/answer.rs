//! What is printed of a job of any kind: its answer, or how far it is.

use crate::exit::Failure;
use crate::label_distances::LabelDistances;
use crate::render::table::LevelTable;
use crate::render::{batch, json, landmarks, line, summary};
use crate::report::batch::BatchReport;
use crate::report::diameter::{DiameterReport, Findings};
use crate::report::landmarks::LandmarksReport;
use crate::report::{Asked, BfsReport};
use antipode_proto::status::{JobState, JobStatus};
use antipode_solver_core::batch::BatchSpec;
use antipode_solver_core::job::JobSpec;

/// Prints what is known about a job, its levels first.
pub fn print(status: &JobStatus, asked: &Asked, as_json: bool) -> Result<(), Failure> {
    if !as_json && status.definition.spec.bfs().is_some() {
        let states = status.definition.space.states.as_deref();
        for text in LevelTable::new(states).new_lines(&status.levels) {
            line(&text)?;
        }
    }
    print_rest(status, asked, as_json)
}

/// The same where the levels were shown already, as they were found.
pub fn print_rest(status: &JobStatus, asked: &Asked, as_json: bool) -> Result<(), Failure> {
    match &status.definition.spec {
        JobSpec::Bfs(spec) => {
            let report = BfsReport::new(status, spec, asked)?;
            if as_json {
                return json::print(&report);
            }
            summary::print(&report)
        }
        JobSpec::Batch(BatchSpec::Diameter(spec)) if status.state == JobState::Finished => {
            let findings = Findings::of_records(status, spec.max_pairs as usize)?;
            DiameterReport::new(status, &spec.puzzle, findings, asked).print(as_json)
        }
        JobSpec::Batch(BatchSpec::Landmarks(_)) if status.state == JobState::Finished => {
            let mut labels = LabelDistances::cpu();
            landmarks::show(&LandmarksReport::new(status, asked, &mut labels)?, as_json)
        }
        JobSpec::Batch(_) => {
            let report = BatchReport::new(status, asked);
            if as_json {
                return json::print(&report);
            }
            batch::print(&report)
        }
    }
}
