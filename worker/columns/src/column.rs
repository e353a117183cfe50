//! A batch of rows, column by column.

use crate::ColumnsError;

/// What the bytes of a vector are: one number of this type after another, little-endian.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cell {
    /// One byte, 0 or 1.
    Bool,
    U8,
    U16,
}

impl Cell {
    /// Bytes of one number.
    pub fn bytes(self) -> usize {
        match self {
            Cell::Bool | Cell::U8 => 1,
            Cell::U16 => 2,
        }
    }

    /// The numbers that `bytes` hold.
    pub fn numbers(self, bytes: &[u8]) -> impl ExactSizeIterator<Item = u16> + '_ {
        bytes.chunks_exact(self.bytes()).map(|c| match c {
            [low, high] => u16::from_le_bytes([*low, *high]),
            _ => u16::from(c[0]),
        })
    }
}

/// The type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The same number of cells in every row.
    Vector {
        cell: Cell,
        len: usize,
    },
    /// Any number of cells a row, at most `longest`.
    Ragged {
        cell: Cell,
        longest: usize,
    },
    I32,
    I64,
    U64,
    F64,
    Bool,
    Text,
}

/// Name and type of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    pub name: String,
    pub kind: Kind,
    /// May rows have no value here?
    pub nullable: bool,
}

impl Field {
    /// A column that has a value in every row.
    pub fn new(name: &str, kind: Kind) -> Field {
        Field {
            name: name.into(),
            kind,
            nullable: false,
        }
    }

    /// The same, where rows may lack a value.
    #[must_use]
    pub fn nullable(mut self) -> Field {
        self.nullable = true;
        self
    }
}

/// The values of a column. A row without a value has any placeholder here (ragged: no bytes).
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// Row by row.
    Vector {
        cell: Cell,
        len: usize,
        bytes: Vec<u8>,
    },
    /// `ends[i]` is where the bytes of row i end; they begin where those of the row before end.
    Ragged {
        cell: Cell,
        ends: Vec<usize>,
        bytes: Vec<u8>,
    },
    I32(Vec<i32>),
    I64(Vec<i64>),
    U64(Vec<u64>),
    F64(Vec<f64>),
    Bool(Vec<bool>),
    Text(Vec<String>),
}

impl Values {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        match self {
            Values::Vector { cell, len, bytes } => bytes.len() / (cell.bytes() * len).max(1),
            Values::Ragged { ends, .. } => ends.len(),
            Values::I32(v) => v.len(),
            Values::I64(v) => v.len(),
            Values::U64(v) => v.len(),
            Values::F64(v) => v.len(),
            Values::Bool(v) => v.len(),
            Values::Text(v) => v.len(),
        }
    }

    /// The bytes of row `i` of a vector or ragged column; empty for others.
    pub fn cells(&self, i: usize) -> &[u8] {
        match self {
            Values::Vector { cell, len, bytes } => {
                let width = cell.bytes() * len;
                &bytes[i * width..][..width]
            }
            Values::Ragged { ends, bytes, .. } => {
                let from = if i == 0 { 0 } else { ends[i - 1] };
                &bytes[from..ends[i]]
            }
            _ => &[],
        }
    }

    fn has_kind(&self, kind: Kind) -> bool {
        match (self, kind) {
            (Values::Vector { cell, len, .. }, Kind::Vector { cell: c, len: l }) => {
                *cell == c && *len == l
            }
            (Values::Ragged { cell, .. }, Kind::Ragged { cell: c, .. }) => *cell == c,
            (Values::I32(_), Kind::I32)
            | (Values::I64(_), Kind::I64)
            | (Values::U64(_), Kind::U64)
            | (Values::F64(_), Kind::F64)
            | (Values::Bool(_), Kind::Bool)
            | (Values::Text(_), Kind::Text) => true,
            _ => false,
        }
    }
}

/// A column of a batch.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    pub values: Values,
    /// Which rows have a value; `None`: all.
    pub valid: Option<Vec<bool>>,
}

impl Column {
    /// A column that has a value in every row.
    pub fn full(values: Values) -> Column {
        Column {
            values,
            valid: None,
        }
    }

    /// Has row `i` a value?
    pub fn is_valid(&self, i: usize) -> bool {
        self.valid.as_ref().is_none_or(|v| v[i])
    }
}

/// The same rows of several columns, in the order of the fields.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Batch {
    pub columns: Vec<Column>,
}

impl Batch {
    /// Number of rows; all columns have as many where [`Batch::check`] found nothing.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |c| c.values.rows())
    }

    /// Do the columns fit the fields and each other?
    ///
    /// # Errors
    /// The first column that does not, and why.
    pub fn check(&self, fields: &[Field]) -> Result<(), ColumnsError> {
        if self.columns.len() != fields.len() {
            return Err(ColumnsError::Shape {
                column: "all".into(),
                what: format!("{} columns for {} fields", self.columns.len(), fields.len()),
            });
        }
        let rows = self.rows();
        for (column, field) in self.columns.iter().zip(fields) {
            let wrong = |what: String| {
                Err(ColumnsError::Shape {
                    column: field.name.clone(),
                    what,
                })
            };
            if !column.values.has_kind(field.kind) {
                return wrong(format!("its values are no {:?}", field.kind));
            }
            if let (Values::Vector { bytes, .. }, Kind::Vector { cell, len }) =
                (&column.values, field.kind)
            {
                let width = cell.bytes() * len;
                if width == 0 || bytes.len() % width != 0 {
                    return wrong(format!("{} bytes are no rows of {width}", bytes.len()));
                }
            }
            if let Values::Ragged { ends, bytes, .. } = &column.values {
                let ascending = ends.windows(2).all(|w| w[0] <= w[1]);
                if !ascending || ends.last().copied().unwrap_or(0) != bytes.len() {
                    return wrong("the ends of its rows do not fit its bytes".into());
                }
            }
            if column.values.rows() != rows {
                return wrong(format!(
                    "{} rows, the first column has {rows}",
                    column.values.rows()
                ));
            }
            match &column.valid {
                Some(_) if !field.nullable => return wrong("it may not lack values".into()),
                Some(valid) if valid.len() != rows => {
                    return wrong(format!("{} marks for {rows} rows", valid.len()));
                }
                _ => {}
            }
        }
        Ok(())
    }
}
