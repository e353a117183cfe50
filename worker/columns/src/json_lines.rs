//! JSON lines: one object a row, in the order of the columns.

use crate::ColumnsError;
use crate::column::{Batch, Cell, Field, Values};
use serde_json::Value;
use std::io::Write;

/// Writes the rows of `batch`. Vectors become arrays of numbers (of booleans where the cells are), unsigned 64-bit
/// numbers stay numbers, a missing value and a double that JSON lacks become null.
///
/// # Errors
/// [`ColumnsError::Shape`] where the batch does not fit the fields, [`ColumnsError::Io`] from the sink.
pub fn write(sink: &mut impl Write, fields: &[Field], batch: &Batch) -> Result<(), ColumnsError> {
    batch.check(fields)?;
    let names: Vec<String> = fields
        .iter()
        .map(|f| Value::from(f.name.as_str()).to_string())
        .collect();
    for i in 0..batch.rows() {
        for (k, (name, column)) in names.iter().zip(&batch.columns).enumerate() {
            write!(sink, "{}{name}:", if k == 0 { "{" } else { "," })?;
            if column.is_valid(i) {
                value(sink, &column.values, i)?;
            } else {
                write!(sink, "null")?;
            }
        }
        writeln!(sink, "}}")?;
    }
    Ok(())
}

fn value(sink: &mut impl Write, values: &Values, i: usize) -> std::io::Result<()> {
    match values {
        Values::Vector { cell, .. } | Values::Ragged { cell, .. } => {
            write!(sink, "[")?;
            for (k, x) in cell.numbers(values.cells(i)).enumerate() {
                let comma = if k == 0 { "" } else { "," };
                match cell {
                    Cell::Bool => write!(sink, "{comma}{}", x != 0)?,
                    _ => write!(sink, "{comma}{x}")?,
                }
            }
            write!(sink, "]")
        }
        Values::I32(v) => write!(sink, "{}", v[i]),
        Values::I64(v) => write!(sink, "{}", v[i]),
        Values::U64(v) => write!(sink, "{}", v[i]),
        Values::F64(v) => write!(sink, "{}", Value::from(v[i])),
        Values::Bool(v) => write!(sink, "{}", v[i]),
        Values::Text(v) => write!(sink, "{}", Value::from(v[i].as_str())),
    }
}
