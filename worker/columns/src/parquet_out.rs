//! Parquet, one row group a batch. Plain encoding and no compression: states of puzzles have no repetition that a
//! dictionary would find, and a reader gets fixed-length binary as one copy.

use crate::column::{Batch, Column, Field, Values};
use crate::{ColumnsError, parquet_schema};
use bytes::Bytes;
use parquet::basic::{Compression, Encoding};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::{ByteArray, FixedLenByteArray};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use std::io::Write;
use std::sync::Arc;

/// Rows handed to the encoder at once.
const ROWS_AT_ONCE: usize = 4096;

/// A page ends when it has so many bytes; its buffers stay small enough to be used again by the allocator.
const PAGE_BYTES: usize = 256 << 10;

/// How a file is made.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Vectors and ragged columns as lists instead of binary.
    pub lists: bool,
    /// Key-value metadata of the file, in this order.
    pub metadata: Vec<(String, String)>,
}

/// A file that is being written.
pub struct Writer<W: Write + Send> {
    file: SerializedFileWriter<W>,
    fields: Vec<Field>,
    lists: bool,
}

impl<W: Write + Send> Writer<W> {
    /// Begins a file with these columns.
    ///
    /// # Errors
    /// [`ColumnsError::Parquet`] for a schema that Parquet cannot hold, [`ColumnsError::Io`] from `sink`.
    pub fn new(sink: W, fields: &[Field], options: &Options) -> Result<Writer<W>, ColumnsError> {
        let metadata = options.metadata.iter();
        let metadata = metadata.map(|(k, v)| KeyValue::new(k.clone(), v.clone()));
        let properties = WriterProperties::builder()
            .set_writer_version(WriterVersion::PARQUET_1_0)
            .set_created_by(format!("antipode version {}", env!("CARGO_PKG_VERSION")))
            .set_compression(Compression::UNCOMPRESSED)
            .set_dictionary_enabled(false)
            .set_encoding(Encoding::PLAIN)
            .set_statistics_enabled(EnabledStatistics::None)
            .set_offset_index_disabled(true)
            .set_data_page_size_limit(PAGE_BYTES)
            .set_data_page_row_count_limit(1 << 20)
            .set_write_batch_size(1024)
            .set_key_value_metadata(Some(metadata.collect()))
            .build();
        let schema = parquet_schema::message(fields, options.lists)?;
        Ok(Writer {
            file: SerializedFileWriter::new(sink, schema, Arc::new(properties))?,
            fields: fields.to_vec(),
            lists: options.lists,
        })
    }

    /// Adds the rows of all `batches`, in order, as one row group.
    ///
    /// # Errors
    /// [`ColumnsError::Shape`] where a batch does not fit the file, [`ColumnsError::Io`] from the sink.
    pub fn write(&mut self, batches: Vec<Batch>) -> Result<(), ColumnsError> {
        for batch in &batches {
            batch.check(&self.fields)?;
        }
        let mut group = self.file.next_row_group()?;
        let mut batches: Vec<_> = batches.into_iter().map(|b| b.columns.into_iter()).collect();
        while let Some(mut writer) = group.next_column()? {
            for column in batches.iter_mut().filter_map(Iterator::next) {
                let cells = matches!(column.values, Values::Vector { .. } | Values::Ragged { .. });
                if self.lists && cells {
                    list(&mut writer, &column)?;
                } else {
                    flat(&mut writer, column)?;
                }
            }
            writer.close()?;
        }
        group.close()?;
        Ok(())
    }

    /// Ends the file and gives back the sink.
    ///
    /// # Errors
    /// [`ColumnsError::Io`] from the sink.
    pub fn finish(self) -> Result<W, ColumnsError> {
        Ok(self.file.into_inner()?)
    }
}

/// Definition levels of a column that may lack values, and the values it has.
fn present<T: Clone>(values: &[T], valid: Option<&[bool]>) -> (Option<Vec<i16>>, Vec<T>) {
    match valid {
        None => (None, values.to_vec()),
        Some(valid) => (
            Some(valid.iter().map(|&v| i16::from(v)).collect()),
            values
                .iter()
                .zip(valid)
                .filter(|(_, v)| **v)
                .map(|(x, _)| x.clone())
                .collect(),
        ),
    }
}

/// A nullable column in which all values are there has no marks; Parquet wants levels all the same.
fn flat(writer: &mut SerializedColumnWriter<'_>, column: Column) -> Result<(), ColumnsError> {
    let rows = column.values.rows();
    let optional = match writer.untyped() {
        ColumnWriter::BoolColumnWriter(w) => w.get_descriptor().max_def_level() > 0,
        ColumnWriter::Int32ColumnWriter(w) => w.get_descriptor().max_def_level() > 0,
        ColumnWriter::Int64ColumnWriter(w) => w.get_descriptor().max_def_level() > 0,
        ColumnWriter::DoubleColumnWriter(w) => w.get_descriptor().max_def_level() > 0,
        ColumnWriter::ByteArrayColumnWriter(w) => w.get_descriptor().max_def_level() > 0,
        ColumnWriter::FixedLenByteArrayColumnWriter(w) => w.get_descriptor().max_def_level() > 0,
        _ => false,
    };
    let valid = match column.valid {
        None if optional => Some(vec![true; rows]),
        other => other,
    };
    let mut from = 0;
    let (values, shared) = share(column.values);
    while from < rows {
        let to = (from + ROWS_AT_ONCE).min(rows);
        let valid = valid.as_ref().map(|v| &v[from..to]);
        match (writer.untyped(), &values) {
            (ColumnWriter::BoolColumnWriter(w), Values::Bool(v)) => {
                let (levels, v) = present(&v[from..to], valid);
                w.write_batch(&v, levels.as_deref(), None)?;
            }
            (ColumnWriter::Int32ColumnWriter(w), Values::I32(v)) => {
                let (levels, v) = present(&v[from..to], valid);
                w.write_batch(&v, levels.as_deref(), None)?;
            }
            (ColumnWriter::Int64ColumnWriter(w), Values::I64(v)) => {
                let (levels, v) = present(&v[from..to], valid);
                w.write_batch(&v, levels.as_deref(), None)?;
            }
            (ColumnWriter::Int64ColumnWriter(w), Values::U64(v)) => {
                let (levels, v) = present(&v[from..to], valid);
                let v: Vec<i64> = v.into_iter().map(u64::cast_signed).collect();
                w.write_batch(&v, levels.as_deref(), None)?;
            }
            (ColumnWriter::DoubleColumnWriter(w), Values::F64(v)) => {
                let (levels, v) = present(&v[from..to], valid);
                w.write_batch(&v, levels.as_deref(), None)?;
            }
            (ColumnWriter::ByteArrayColumnWriter(w), Values::Text(v)) => {
                let (levels, v) = present(&v[from..to], valid);
                let v: Vec<ByteArray> = v.iter().map(|s| ByteArray::from(s.as_str())).collect();
                w.write_batch(&v, levels.as_deref(), None)?;
            }
            (ColumnWriter::ByteArrayColumnWriter(w), Values::Ragged { .. }) => {
                let (levels, v) = present(&shared[from..to], valid);
                let v: Vec<ByteArray> = v.into_iter().map(ByteArray::from).collect();
                w.write_batch(&v, levels.as_deref(), None)?;
            }
            (ColumnWriter::FixedLenByteArrayColumnWriter(w), Values::Vector { .. }) => {
                let (levels, v) = present(&shared[from..to], valid);
                let v: Vec<FixedLenByteArray> =
                    v.into_iter().map(|b| ByteArray::from(b).into()).collect();
                w.write_batch(&v, levels.as_deref(), None)?;
            }
            _ => {
                return Err(ColumnsError::Shape {
                    column: "?".into(),
                    what: "its values have another type than the file's".into(),
                });
            }
        }
        from = to;
    }
    Ok(())
}

/// Every row's bytes of a vector or ragged column, without copying them; the column itself is left without bytes.
fn share(mut values: Values) -> (Values, Vec<Bytes>) {
    let ends: Vec<usize> = match &values {
        Values::Vector { cell, len, .. } => {
            let width = cell.bytes() * len;
            (1..=values.rows()).map(|row| row * width).collect()
        }
        Values::Ragged { ends, .. } => ends.clone(),
        _ => return (values, Vec::new()),
    };
    let (Values::Vector { bytes, .. } | Values::Ragged { bytes, .. }) = &mut values else {
        return (values, Vec::new());
    };
    let all = Bytes::from(std::mem::take(bytes));
    let mut from = 0;
    let rows = ends.into_iter().map(|to| {
        let row = all.slice(from..to);
        from = to;
        row
    });
    let rows = rows.collect();
    (values, rows)
}

/// A list of numbers in every row. Levels: 0 no list, then an empty one, then an element.
fn list(writer: &mut SerializedColumnWriter<'_>, column: &Column) -> Result<(), ColumnsError> {
    let (Values::Vector { cell, .. } | Values::Ragged { cell, .. }) = &column.values else {
        return Ok(());
    };
    let full = match writer.untyped() {
        ColumnWriter::BoolColumnWriter(w) => w.get_descriptor().max_def_level(),
        ColumnWriter::Int32ColumnWriter(w) => w.get_descriptor().max_def_level(),
        _ => 1,
    };
    let rows = column.values.rows();
    let (mut numbers, mut definition, mut repetition) = (Vec::new(), Vec::new(), Vec::new());
    let mut from = 0;
    while from < rows {
        let to = (from + ROWS_AT_ONCE).min(rows);
        for i in from..to {
            let cells = column.values.cells(i);
            if !column.is_valid(i) || cells.is_empty() {
                definition.push(if column.is_valid(i) { full - 1 } else { 0 });
                repetition.push(0);
                continue;
            }
            for (k, x) in cell.numbers(cells).enumerate() {
                numbers.push(i32::from(x));
                definition.push(full);
                repetition.push(i16::from(k > 0));
            }
        }
        match writer.untyped() {
            ColumnWriter::BoolColumnWriter(w) => {
                let flags: Vec<bool> = numbers.iter().map(|&x| x != 0).collect();
                w.write_batch(&flags, Some(&definition), Some(&repetition))?;
            }
            ColumnWriter::Int32ColumnWriter(w) => {
                w.write_batch(&numbers, Some(&definition), Some(&repetition))?;
            }
            _ => {}
        }
        numbers.clear();
        definition.clear();
        repetition.clear();
        from = to;
    }
    Ok(())
}
