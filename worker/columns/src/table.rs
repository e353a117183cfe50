//! A small table as one Parquet file in memory.

use crate::column::{Batch, Column, Field, Kind, Values};
use crate::{ColumnsError, parquet_out};

/// One column of a table; a row may have no value in it.
#[derive(Debug, Clone, PartialEq)]
pub enum Cells {
    Int(Vec<Option<i64>>),
    Float(Vec<Option<f64>>),
    Text(Vec<Option<String>>),
    Bool(Vec<Option<bool>>),
}

/// The table as a Parquet file: 64-bit integers, doubles, UTF-8 strings and booleans, all nullable, one row group,
/// `metadata` as key-value pairs of the file. The same table gives the same bytes.
///
/// # Errors
/// [`ColumnsError::Shape`] where columns differ in length.
///
/// ```
/// use antipode_columns::table::{Cells, parquet};
/// let bytes = parquet(
///     &[
///         ("n", Cells::Int(vec![Some(6), Some(7)])),
///         ("name", Cells::Text(vec![Some("reversed".into()), None])),
///     ],
///     &[("program", "antipode")],
/// )?;
/// assert_eq!(&bytes[..4], b"PAR1");
/// # Ok::<(), antipode_columns::ColumnsError>(())
/// ```
pub fn parquet(
    columns: &[(&str, Cells)],
    metadata: &[(&str, &str)],
) -> Result<Vec<u8>, ColumnsError> {
    let (mut fields, mut batch) = (Vec::new(), Batch::default());
    for (name, cells) in columns {
        let (kind, column) = match cells {
            Cells::Int(v) => (Kind::I64, split(v, Values::I64)),
            Cells::Float(v) => (Kind::F64, split(v, Values::F64)),
            Cells::Text(v) => (Kind::Text, split(v, Values::Text)),
            Cells::Bool(v) => (Kind::Bool, split(v, Values::Bool)),
        };
        fields.push(Field::new(name, kind).nullable());
        batch.columns.push(column);
    }
    let options = parquet_out::Options {
        lists: false,
        metadata: metadata
            .iter()
            .map(|&(k, v)| (k.to_owned(), v.to_owned()))
            .collect(),
    };
    let mut writer = parquet_out::Writer::new(Vec::new(), &fields, &options)?;
    writer.write(vec![batch])?;
    writer.finish()
}

fn split<T: Clone + Default>(cells: &[Option<T>], values: impl Fn(Vec<T>) -> Values) -> Column {
    Column {
        values: values(
            cells
                .iter()
                .map(|c| c.clone().unwrap_or_default())
                .collect(),
        ),
        valid: Some(cells.iter().map(Option::is_some).collect()),
    }
}
