//! A stored job looked at without a coordinator: the coordinator's store together with what the worker's
//! directory holds, so that it is known what going on would keep. Nothing is changed.

use crate::exit::Failure;
use crate::run_folder::RunFolder;
use crate::stores::{Place, StoredJob};
use antipode_coordinator::{Announced, Offline};
use antipode_proto::ids::JobId;
use antipode_proto::status::Outlook;
use antipode_worker::Stored;

/// The name of the worker in a run's process.
pub const RUN_WORKER: &str = "run";

/// Both stores; as long as this lives nobody else can have them.
pub struct Look {
    pub coordinator: Offline,
    /// `None`: the worker's directory is not there, or it is not known where the workers' are.
    pub worker: Option<Stored>,
}

impl Look {
    /// Looks at where a stored job is.
    pub fn at(job: &StoredJob) -> Result<Look, Failure> {
        match &job.place {
            Place::Run(folder) => Look::at_run(folder),
            Place::Coordinator(data) => Ok(Look {
                coordinator: Offline::open(data)?,
                worker: None,
            }),
            Place::Cluster => Err(Failure::Internal("a running job is not in a store".into())),
        }
    }

    /// Looks at a run's folder.
    pub fn at_run(folder: &RunFolder) -> Result<Look, Failure> {
        // A store in use is said first: its worker's files are being written.
        drop(Offline::open(&folder.coordinator())?);
        let worker = Stored::open(&folder.worker())?;
        let announced = worker.as_ref().map(|worker| Announced {
            name: RUN_WORKER.into(),
            member: worker.member.clone(),
            incarnation: worker.incarnation,
            held: worker.held(),
        });
        Ok(Look {
            coordinator: Offline::with(&folder.coordinator(), announced)?,
            worker,
        })
    }

    /// What going on would keep and redo, with what the worker's directory is found to lack.
    pub fn outlook(&self, job: JobId) -> Result<Outlook, Failure> {
        let outlook = self.coordinator.outlook(job);
        let mut outlook = outlook
            .ok_or_else(|| Failure::input(format!("there is no job {job} in this store")))?;
        let damaged = self.worker.iter().flat_map(|worker| &worker.damaged);
        let damaged = damaged.map(|what| format!("damaged, counts as gone: {what}"));
        outlook.notes.extend(damaged);
        Ok(outlook)
    }
}

/// Why a run's job cannot go on where it stopped: what a checkpoint promised to keep is gone.
pub fn all_is_gone(folder: &RunFolder, job: JobId) -> Result<Option<String>, Failure> {
    let look = Look::at_run(folder)?;
    let outlook = look.outlook(job)?;
    let Some(level) = outlook.checkpoint.filter(|&level| level > 0) else {
        return Ok(None);
    };
    let held = look.worker.iter().flat_map(Stored::held);
    if held.filter(|held| held.name.job == job).count() > 0 {
        return Ok(None);
    }
    let place = folder.worker();
    let results: usize = outlook
        .levels
        .iter()
        .map(|level| level.kept as usize + level.redone.len())
        .sum();
    let why = if !place.is_dir() {
        "is not there".to_string()
    } else {
        match look.worker.iter().flat_map(|worker| &worker.damaged).next() {
            Some(damage) => format!("is damaged ({damage})"),
            None => "holds nothing of this job".into(),
        }
    };
    Ok(Some(format!(
        "everything that was stored to go on from is gone: the checkpoint at level {level} and the frontiers of {results} results were in {}, which {why}; \
         put it back, or begin anew with --fresh",
        place.display()
    )))
}
