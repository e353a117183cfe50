//! Scrambles as files: the parts of a job are its items. A part is made row group by row group, a row group in
//! parallel; its bytes depend on the question and the part's number alone.

mod device;
mod fields;
mod metadata;
mod rows;

pub use device::{DeviceDraws, Watch};
pub use metadata::describe;
pub use rows::{Draws, Labels};

use antipode_columns::{Batch as Columns, ColumnsError, Field, json_lines, npy, parquet_out};
use antipode_solver_core::batch::{Batch, ItemOutput, Stop};
use antipode_solver_core::engine::{EngineError, OnDevice};
use antipode_solver_core::scramble::table::Loaded;
use antipode_solver_core::scramble::{Format, ScrambleError, ScramblesSpec};
use std::io::Write;
use std::sync::Arc;

/// A loaded job of scrambles.
pub struct Parts {
    spec: ScramblesSpec,
    loaded: Arc<Loaded>,
    labels: Option<Arc<dyn Labels>>,
    draws: Option<Arc<dyn Draws>>,
    fields: Vec<Field>,
    metadata: Vec<(String, String)>,
}

impl Parts {
    /// Checks the question and makes the tables. `labels` gives exact distances, where they are asked for.
    ///
    /// # Errors
    /// See [`ScrambleError`].
    pub fn new(
        spec: ScramblesSpec,
        labels: Option<Arc<dyn Labels>>,
    ) -> Result<Parts, ScrambleError> {
        let loaded = Arc::new(spec.load()?);
        let fields = fields::of(&spec, &loaded);
        let description = describe(&spec, &loaded).to_string();
        Ok(Parts {
            fields,
            metadata: vec![("antipode".into(), description)],
            spec,
            loaded,
            labels,
            draws: None,
        })
    }

    /// Has rows drawn elsewhere, as long as they can be had there.
    pub fn with_draws(mut self, draws: Arc<dyn Draws>) -> Parts {
        self.draws = Some(draws);
        self
    }

    pub fn spec(&self) -> &ScramblesSpec {
        &self.spec
    }

    /// The columns of the files.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    pub fn loaded(&self) -> &Arc<Loaded> {
        &self.loaded
    }

    /// Writes a part, without the rows of which `dropped` says so; says how many rows it has. Parallel loops run in the
    /// pool that this is called in.
    ///
    /// # Errors
    /// [`PartError`]
    pub fn write<W: Write + Send>(
        &self,
        part: u32,
        sink: W,
        dropped: &dyn Fn(u64) -> bool,
        stop: &Stop,
    ) -> Result<(W, u64), PartError> {
        let (first, rows) = self.spec.part(part);
        let kept = (first..first + rows).filter(|&row| !dropped(row)).count() as u64;
        let mut file = File::begin(sink, self, kept)?;
        let mut from = first;
        while from < first + rows {
            stop.check()?;
            let count = u64::from(self.spec.group_rows()).min(first + rows - from);
            let mut group = rows::group(self, from, count as usize)?;
            let mut at = from;
            for piece in &mut group {
                let rows = at..at + piece.rows() as u64;
                at = rows.end;
                let keep: Vec<bool> = rows.map(|row| !dropped(row)).collect();
                if keep.contains(&false) {
                    rows::retain(piece, &keep);
                }
            }
            group.retain(|piece| piece.rows() > 0);
            if !group.is_empty() {
                file.write(group, &self.fields)?;
            }
            from += count;
        }
        Ok((file.finish()?, kept))
    }

    /// Bytes of a part as a file, at most.
    fn part_bytes(&self) -> u64 {
        let spec = &self.spec;
        let row = self.fields.iter().map(|f| fields::bytes_at_most(f, spec));
        let metadata: usize = self.metadata.iter().map(|(k, v)| k.len() + v.len()).sum();
        let groups = u64::from(spec.part_rows.div_ceil(spec.group_rows().max(1)));
        let around = (groups + 1) * self.fields.len() as u64 * 4096 + 2 * metadata as u64 + 65_536;
        u64::from(spec.part_rows) * row.sum::<u64>() + around
    }
}

impl Batch for Parts {
    fn items(&self) -> u32 {
        self.spec.parts() as u32
    }

    fn resident_bytes(&self) -> u64 {
        self.loaded.walks.table_bytes()
    }

    fn item_bytes(&self, _: u32) -> u64 {
        // The file grows by doubling, and beside it lies the row group, twice while it is put together.
        let group = u64::from(self.spec.group_rows()) * self.spec.row_bytes();
        // Rows that are drawn elsewhere come all at once: as the device leaves them, and as they are read there.
        let elsewhere = if self.draws.is_some() { 2 * group } else { 0 };
        2 * self.part_bytes() + 2 * group + elsewhere
    }

    fn run(&self, item: u32, stop: &Stop) -> Result<ItemOutput, EngineError> {
        let made = self.write(item, Vec::new(), &|_| false, stop);
        let (bytes, count) = made.map_err(|error| match error {
            PartError::Engine(error) => error,
            PartError::Columns(error) => EngineError::Violated(error.to_string()),
        })?;
        let (first, rows) = self.spec.part(item);
        let draws = self.draws.as_ref();
        let on_device = draws.is_some_and(|draws| draws.has_drawn(first..first + rows));
        Ok(ItemOutput {
            count,
            record: Vec::new(),
            rows: Some(bytes),
            // The tables are sent once, before the first row.
            on_device: on_device.then(OnDevice::default),
        })
    }
}

/// Why a part was not written.
#[derive(Debug, thiserror::Error)]
pub enum PartError {
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error(transparent)]
    Columns(#[from] ColumnsError),
}

/// A file of any format.
enum File<W: Write + Send> {
    Parquet(Box<parquet_out::Writer<W>>),
    Npy(npy::Writer<W>),
    JsonLines(W),
}

impl<W: Write + Send> File<W> {
    fn begin(sink: W, parts: &Parts, rows: u64) -> Result<File<W>, ColumnsError> {
        Ok(match parts.spec.format {
            Format::Parquet => {
                let options = parquet_out::Options {
                    lists: parts.spec.lists,
                    metadata: parts.metadata.clone(),
                };
                let writer = parquet_out::Writer::new(sink, &parts.fields, &options)?;
                File::Parquet(Box::new(writer))
            }
            Format::Npy => File::Npy(npy::Writer::new(sink, &parts.fields, rows)?),
            Format::JsonLines => File::JsonLines(sink),
        })
    }

    fn write(&mut self, group: Vec<Columns>, fields: &[Field]) -> Result<(), ColumnsError> {
        match self {
            File::Parquet(writer) => writer.write(group),
            File::Npy(writer) => group.iter().try_for_each(|piece| writer.write(piece)),
            File::JsonLines(sink) => group
                .iter()
                .try_for_each(|piece| json_lines::write(sink, fields, piece)),
        }
    }

    fn finish(self) -> Result<W, ColumnsError> {
        match self {
            File::Parquet(writer) => writer.finish(),
            File::Npy(writer) => writer.finish(),
            File::JsonLines(sink) => Ok(sink),
        }
    }
}
