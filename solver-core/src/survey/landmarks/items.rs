//! A landmark survey as independent items, one a size.
//!
//! Not one a landmark: the ball around the identity is most of the work and is the same for all landmarks of a size.
//! An item that is asked to stop ends within a part of a level; it begins again from nothing.

use super::size::{Size, Survey};
use super::spec::LandmarksSpec;
use crate::batch::{Batch, ItemOutput, Stop};
use crate::engine::EngineError;
use std::time::Duration;

/// The time since some fixed moment; there is no clock in this crate.
pub type Clock = dyn Fn() -> Duration + Send + Sync;

/// A loaded survey.
pub struct Items {
    surveys: Vec<Survey>,
    limit: Option<Duration>,
    clock: Box<Clock>,
}

impl Items {
    /// Checks the question again and prepares every size.
    ///
    /// # Errors
    /// [`EngineError::Input`] with a sentence.
    pub fn load(spec: &LandmarksSpec, clock: Box<Clock>) -> Result<Items, EngineError> {
        let surveys = (spec.from..=spec.to).map(|n| spec.survey(n));
        Ok(Items {
            surveys: surveys
                .collect::<Result<_, _>>()
                .map_err(EngineError::Input)?,
            limit: spec.time_limit_ms.map(Duration::from_millis),
            clock,
        })
    }
}

impl Batch for Items {
    fn items(&self) -> u32 {
        self.surveys.len() as u32
    }

    fn resident_bytes(&self) -> u64 {
        // Less than a megabyte: it is counted with the items, which may then take all that they are allowed.
        0
    }

    fn item_bytes(&self, item: u32) -> u64 {
        self.surveys.get(item as usize).map_or(0, Survey::bytes)
    }

    fn run(&self, item: u32, stop: &Stop) -> Result<ItemOutput, EngineError> {
        let survey = self
            .surveys
            .get(item as usize)
            .ok_or_else(|| EngineError::Input(format!("there is no item {item}")))?;
        let began = (self.clock)();
        let late = || {
            self.limit
                .is_some_and(|limit| (self.clock)().saturating_sub(began) >= limit)
        };
        let size = survey.run(&|| stop.is_asked(), &late)?;
        Ok(ItemOutput {
            count: size.rows.len() as u64,
            record: serde_json::to_vec(&size)
                .map_err(|e| EngineError::Violated(format!("the record of an item: {e}")))?,
            rows: None,
            on_device: None,
        })
    }
}

/// What an item has found out, from its record.
///
/// # Errors
/// A sentence where the bytes are no record of this version.
pub fn read_record(record: &[u8]) -> Result<Size, String> {
    serde_json::from_slice(record).map_err(|e| format!("the record of a size is damaged: {e}"))
}
