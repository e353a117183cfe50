//! Reading back what [`crate::parquet_out`] wrote, column by column and row group by row group.

use crate::ColumnsError;
use parquet::column::reader::ColumnReader;
use parquet::data_type::{ByteArray, FixedLenByteArray};
use parquet::file::reader::{ChunkReader, FileReader, SerializedFileReader};

/// An open file.
pub struct Reader<R: ChunkReader + 'static> {
    file: SerializedFileReader<R>,
}

impl<R: ChunkReader + 'static> Reader<R> {
    /// Opens a file (`std::fs::File`) or its bytes (`bytes::Bytes`).
    ///
    /// # Errors
    /// [`ColumnsError::Parquet`] for what is no Parquet file, or a damaged one.
    pub fn open(source: R) -> Result<Reader<R>, ColumnsError> {
        Ok(Reader {
            file: SerializedFileReader::new(source)?,
        })
    }

    /// Number of rows.
    pub fn rows(&self) -> u64 {
        let rows = self.file.metadata().file_metadata().num_rows();
        u64::try_from(rows).unwrap_or(0)
    }

    /// Number of rows of every row group.
    pub fn group_rows(&self) -> Vec<u64> {
        let groups = self.file.metadata().row_groups().iter();
        groups
            .map(|g| u64::try_from(g.num_rows()).unwrap_or(0))
            .collect()
    }

    /// The value of a key of the file's metadata.
    pub fn metadata(&self, key: &str) -> Option<&str> {
        let pairs = self.file.metadata().file_metadata().key_value_metadata()?;
        pairs.iter().find(|p| p.key == key)?.value.as_deref()
    }

    /// The top-level columns.
    pub fn columns(&self) -> Vec<String> {
        let schema = self.file.metadata().file_metadata().schema();
        schema
            .get_fields()
            .iter()
            .map(|f| f.name().to_owned())
            .collect()
    }

    fn column(&self, group: usize, name: &str) -> Result<(ColumnReader, usize), ColumnsError> {
        let shape = |what: &str| ColumnsError::Shape {
            column: name.into(),
            what: what.into(),
        };
        let schema = self.file.metadata().file_metadata().schema_descr();
        let at = (0..schema.num_columns())
            .find(|&k| schema.column(k).path().parts().first().map(String::as_str) == Some(name))
            .ok_or_else(|| shape("the file has no such column"))?;
        let group = self.file.get_row_group(group)?;
        let rows = usize::try_from(group.metadata().num_rows())
            .map_err(|_| shape("a negative number of rows"))?;
        Ok((group.get_column_reader(at)?, rows))
    }

    /// The bytes of a vector column of a row group, row after row; binary and lists of small numbers
    /// give the same.
    ///
    /// # Errors
    /// [`ColumnsError::Shape`] where there is no such column or it holds something else.
    pub fn vectors(
        &self,
        group: usize,
        name: &str,
        cell_bytes: usize,
    ) -> Result<Vec<u8>, ColumnsError> {
        let (reader, rows) = self.column(group, name)?;
        let mut out = Vec::new();
        match reader {
            ColumnReader::FixedLenByteArrayColumnReader(mut r) => {
                let mut values: Vec<FixedLenByteArray> = Vec::new();
                r.read_records(rows, None, None, &mut values)?;
                for v in &values {
                    out.extend_from_slice(v.data());
                }
            }
            ColumnReader::Int32ColumnReader(mut r) => {
                let (mut d, mut p, mut values) = (Vec::new(), Vec::new(), Vec::new());
                r.read_records(rows, Some(&mut d), Some(&mut p), &mut values)?;
                for v in values {
                    out.extend_from_slice(&v.to_le_bytes()[..cell_bytes.min(4)]);
                }
            }
            ColumnReader::BoolColumnReader(mut r) => {
                let (mut d, mut p, mut values) = (Vec::new(), Vec::new(), Vec::new());
                r.read_records(rows, Some(&mut d), Some(&mut p), &mut values)?;
                out.extend(values.into_iter().map(u8::from));
            }
            _ => {
                return Err(ColumnsError::Shape {
                    column: name.into(),
                    what: "it holds neither fixed-length binary nor lists of numbers".into(),
                });
            }
        }
        Ok(out)
    }

    /// A column of doubles, a missing one as NaN.
    ///
    /// # Errors
    /// [`ColumnsError::Shape`] where there is no such column or it holds something else.
    pub fn doubles(&self, group: usize, name: &str) -> Result<Vec<Option<f64>>, ColumnsError> {
        match self.column(group, name)? {
            (ColumnReader::DoubleColumnReader(mut r), rows) => {
                let (mut levels, mut values) = (Vec::new(), Vec::new());
                r.read_records(rows, Some(&mut levels), None, &mut values)?;
                Ok(spread(&levels, values))
            }
            _ => Err(ColumnsError::Shape {
                column: name.into(),
                what: "it holds no doubles".into(),
            }),
        }
    }

    /// A column of 32- or 64-bit integers (unsigned ones as the signed numbers with the same bits).
    ///
    /// # Errors
    /// [`ColumnsError::Shape`] where there is no such column or it holds something else.
    pub fn integers(&self, group: usize, name: &str) -> Result<Vec<Option<i64>>, ColumnsError> {
        let mut levels = Vec::new();
        match self.column(group, name)? {
            (ColumnReader::Int32ColumnReader(mut r), rows) => {
                let mut values = Vec::new();
                r.read_records(rows, Some(&mut levels), None, &mut values)?;
                Ok(spread(&levels, values.into_iter().map(i64::from).collect()))
            }
            (ColumnReader::Int64ColumnReader(mut r), rows) => {
                let mut values = Vec::new();
                r.read_records(rows, Some(&mut levels), None, &mut values)?;
                Ok(spread(&levels, values))
            }
            _ => Err(ColumnsError::Shape {
                column: name.into(),
                what: "it holds no integers".into(),
            }),
        }
    }

    /// A column of binary values or texts.
    ///
    /// # Errors
    /// [`ColumnsError::Shape`] where there is no such column or it holds something else.
    pub fn binaries(&self, group: usize, name: &str) -> Result<Vec<Option<Vec<u8>>>, ColumnsError> {
        match self.column(group, name)? {
            (ColumnReader::ByteArrayColumnReader(mut r), rows) => {
                let (mut levels, mut values): (_, Vec<ByteArray>) = (Vec::new(), Vec::new());
                r.read_records(rows, Some(&mut levels), None, &mut values)?;
                let values = values.iter().map(|v| v.data().to_vec()).collect();
                Ok(spread(&levels, values))
            }
            _ => Err(ColumnsError::Shape {
                column: name.into(),
                what: "it holds no binary values".into(),
            }),
        }
    }
}

/// Values at the rows that have one. Without levels every row has one.
fn spread<T>(levels: &[i16], values: Vec<T>) -> Vec<Option<T>> {
    if levels.is_empty() {
        return values.into_iter().map(Some).collect();
    }
    let mut values = values.into_iter();
    levels
        .iter()
        .map(|&l| if l > 0 { values.next() } else { None })
        .collect()
}
