//! NumPy's NPY files, version 1.0 or 2.0 (numpy.lib.format): one structured array, or a plain one where
//! there is a single column. Written by hand because rows are streamed and the format is one header line.

use crate::ColumnsError;
use crate::column::{Batch, Cell, Field, Kind, Values};
use std::io::{Read, Write};

/// A file that is being written.
pub struct Writer<W: Write> {
    sink: W,
    fields: Vec<Field>,
    left: u64,
}

impl<W: Write> Writer<W> {
    /// Begins a file of `rows` rows. Missing integers are written as -1, missing doubles as NaN, a missing
    /// boolean as false; ragged columns are padded to their longest with -1 as 16- or 32-bit signed numbers.
    ///
    /// # Errors
    /// [`ColumnsError::Shape`] for texts, which have no fixed length, and for unsigned columns that lack values.
    pub fn new(mut sink: W, fields: &[Field], rows: u64) -> Result<Writer<W>, ColumnsError> {
        let types = fields.iter().map(dtype).collect::<Result<Vec<_>, _>>()?;
        let (descr, shape) = match (fields, types.as_slice()) {
            ([_], [(code, Some(len))]) => (format!("'{code}'"), format!("({rows}, {len})")),
            ([_], [(code, None)]) => (format!("'{code}'"), format!("({rows},)")),
            _ => {
                let entries: Vec<String> = fields
                    .iter()
                    .zip(&types)
                    .map(|(f, (code, len))| match len {
                        Some(len) => format!("('{}', '{code}', ({len},))", f.name),
                        None => format!("('{}', '{code}')", f.name),
                    })
                    .collect();
                (format!("[{}]", entries.join(", ")), format!("({rows},)"))
            }
        };
        let dictionary =
            format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}");
        sink.write_all(&header(&dictionary))?;
        Ok(Writer {
            sink,
            fields: fields.to_vec(),
            left: rows,
        })
    }

    /// Adds the rows of `batch`.
    ///
    /// # Errors
    /// [`ColumnsError::Shape`] where the batch does not fit the file, [`ColumnsError::Io`] from the sink.
    pub fn write(&mut self, batch: &Batch) -> Result<(), ColumnsError> {
        batch.check(&self.fields)?;
        self.left = self
            .left
            .checked_sub(batch.rows() as u64)
            .ok_or_else(|| ColumnsError::Npy("more rows than announced".into()))?;
        let mut out = Vec::new();
        for i in 0..batch.rows() {
            for (field, column) in self.fields.iter().zip(&batch.columns) {
                cell(&mut out, field, &column.values, i, column.is_valid(i));
            }
        }
        self.sink.write_all(&out)?;
        Ok(())
    }

    /// Ends the file and gives back the sink.
    ///
    /// # Errors
    /// [`ColumnsError::Npy`] where fewer rows came than announced.
    pub fn finish(self) -> Result<W, ColumnsError> {
        if self.left > 0 {
            return Err(ColumnsError::Npy(format!("{} rows are missing", self.left)));
        }
        Ok(self.sink)
    }
}

/// The header for a dictionary: magic, version, length, padding to a multiple of 64 with a newline at the end.
fn header(dictionary: &str) -> Vec<u8> {
    let long = dictionary.len() + 11 + 64 > usize::from(u16::MAX);
    let prefix = if long { 12 } else { 10 };
    let total = (prefix + dictionary.len() + 1).next_multiple_of(64);
    let mut out = b"\x93NUMPY".to_vec();
    if long {
        out.extend([2, 0]);
        out.extend(((total - prefix) as u32).to_le_bytes());
    } else {
        out.extend([1, 0]);
        out.extend(((total - prefix) as u16).to_le_bytes());
    }
    out.extend(dictionary.as_bytes());
    out.resize(total - 1, b' ');
    out.push(b'\n');
    out
}

/// NumPy's name of the type, and how many numbers a row has where it is a vector.
fn dtype(field: &Field) -> Result<(&'static str, Option<usize>), ColumnsError> {
    let wrong = |what: &str| {
        Err(ColumnsError::Shape {
            column: field.name.clone(),
            what: what.into(),
        })
    };
    Ok(match field.kind {
        Kind::Vector { .. } if field.nullable => {
            return wrong("NPY has no missing vectors; use Parquet or JSON lines");
        }
        Kind::Vector { cell, len } => match cell {
            Cell::Bool => ("|b1", Some(len)),
            Cell::U8 => ("|u1", Some(len)),
            Cell::U16 => ("<u2", Some(len)),
        },
        Kind::Ragged { cell, longest } => match cell {
            Cell::Bool | Cell::U8 => ("<i2", Some(longest)),
            Cell::U16 => ("<i4", Some(longest)),
        },
        Kind::I32 => ("<i4", None),
        Kind::I64 => ("<i8", None),
        Kind::U64 if field.nullable => return wrong("NPY has no missing unsigned numbers"),
        Kind::U64 => ("<u8", None),
        Kind::F64 => ("<f8", None),
        Kind::Bool => ("|b1", None),
        Kind::Text => return wrong("NPY has no texts of any length; use Parquet or JSON lines"),
    })
}

fn cell(out: &mut Vec<u8>, field: &Field, values: &Values, i: usize, valid: bool) {
    match (values, field.kind) {
        (Values::Ragged { cell, .. }, Kind::Ragged { longest, .. }) => {
            let cells = if valid { values.cells(i) } else { &[] };
            let numbers = cell.numbers(cells).map(i32::from);
            for x in numbers.chain(std::iter::repeat(-1)).take(longest) {
                match cell {
                    Cell::Bool | Cell::U8 => out.extend((x as i16).to_le_bytes()),
                    Cell::U16 => out.extend(x.to_le_bytes()),
                }
            }
        }
        (Values::Vector { .. }, _) => out.extend(values.cells(i)),
        (Values::I32(v), _) => out.extend(if valid { v[i] } else { -1 }.to_le_bytes()),
        (Values::I64(v), _) => out.extend(if valid { v[i] } else { -1 }.to_le_bytes()),
        (Values::U64(v), _) => out.extend(v[i].to_le_bytes()),
        (Values::F64(v), _) => out.extend(if valid { v[i] } else { f64::NAN }.to_le_bytes()),
        (Values::Bool(v), _) => out.push(u8::from(v[i] && valid)),
        _ => {}
    }
}

/// What the header of a file of floating-point numbers says; the numbers follow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Floats {
    pub shape: Vec<u64>,
    /// Bytes of a number: 4 or 8.
    pub width: usize,
}

impl Floats {
    /// How many numbers follow.
    pub fn count(&self) -> u64 {
        self.shape.iter().product()
    }

    /// Reads the next `out.len()` numbers.
    ///
    /// # Errors
    /// [`ColumnsError::Io`], also where the file ends early.
    pub fn read(&self, source: &mut impl Read, out: &mut [f64]) -> Result<(), ColumnsError> {
        let mut bytes = vec![0; out.len() * self.width];
        source.read_exact(&mut bytes)?;
        for (x, b) in out.iter_mut().zip(bytes.chunks_exact(self.width)) {
            *x = match *b {
                [a, b, c, d] => f64::from(f32::from_le_bytes([a, b, c, d])),
                [a, b, c, d, e, f, g, h] => f64::from_le_bytes([a, b, c, d, e, f, g, h]),
                _ => f64::NAN,
            };
        }
        Ok(())
    }
}

/// Reads the header of a file of 32- or 64-bit floats, little-endian, in C order.
///
/// # Errors
/// [`ColumnsError::Npy`] for what is no such file, with what it is instead.
pub fn read_header(source: &mut impl Read) -> Result<Floats, ColumnsError> {
    let no = |what: String| ColumnsError::Npy(what);
    let mut start = [0; 8];
    source
        .read_exact(&mut start)
        .map_err(|_| no("the file is too short to be one".into()))?;
    if &start[..6] != b"\x93NUMPY" {
        return Err(no("the file does not begin like one".into()));
    }
    let length = match start[6] {
        1 => {
            let mut b = [0; 2];
            source.read_exact(&mut b)?;
            usize::from(u16::from_le_bytes(b))
        }
        2 | 3 => {
            let mut b = [0; 4];
            source.read_exact(&mut b)?;
            u32::from_le_bytes(b) as usize
        }
        version => return Err(no(format!("version {version} is unknown"))),
    };
    if length > 1 << 20 {
        return Err(no(format!("a header of {length} bytes")));
    }
    let mut text = vec![0; length];
    source
        .read_exact(&mut text)
        .map_err(|_| no("the header ends early".into()))?;
    let text = String::from_utf8_lossy(&text);
    let descr = entry(&text, "descr").unwrap_or_default();
    let width = match descr.trim_matches(['\'', '"']) {
        "<f4" => 4,
        "<f8" => 8,
        _ => {
            return Err(no(format!(
                "the array has type {descr}; it must be float32 or float64 ('<f4' or '<f8')"
            )));
        }
    };
    if entry(&text, "fortran_order").is_none_or(|v| v != "False") {
        return Err(no("the array must be in C order".into()));
    }
    let shape = entry(&text, "shape").unwrap_or_default();
    let shape = shape
        .trim_matches(['(', ')'])
        .split(',')
        .map(str::trim)
        .filter(|s| !s.is_empty())
        .map(|s| s.parse().map_err(|_| no(format!("shape {shape}"))))
        .collect::<Result<Vec<u64>, _>>()?;
    if shape
        .iter()
        .try_fold(8u64, |a, &b| a.checked_mul(b))
        .is_none()
    {
        return Err(no("the shape is too large".into()));
    }
    Ok(Floats { shape, width })
}

/// The value of a key of the header's dictionary.
fn entry<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let at = [format!("'{key}'"), format!("\"{key}\"")]
        .iter()
        .find_map(|k| text.find(k.as_str()).map(|at| at + k.len()))?;
    let rest = text[at..].trim_start().strip_prefix(':')?.trim_start();
    let end = if rest.starts_with('(') {
        rest.find(')')? + 1
    } else {
        rest.find([',', '}'])?
    };
    Some(rest[..end].trim())
}
