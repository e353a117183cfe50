//! Columns of rows: blocks of walks, drawn in parallel here, or all at once elsewhere.

use super::Parts;
use antipode_columns::{Batch, Cell, Column as Made, Values};
use antipode_solver_core::engine::EngineError;
use antipode_solver_core::scramble::{Block, Column, Drawn, Rows, Wanted};
use rayon::prelude::*;
use std::ops::Range;

/// Exact distances of rows, from somewhere.
pub trait Labels: Send + Sync {
    /// The distance to the nearest root of every row; moves are there.
    ///
    /// # Errors
    /// Why they cannot be had.
    fn distances(&self, rows: &Rows<'_>) -> Result<Vec<u32>, String>;
}

/// Draws rows somewhere else than in the threads of this processor.
pub trait Draws: Send + Sync {
    /// The rows `first .. first + rows` as [`antipode_solver_core::scramble::table::Loaded::drawn`] has them, with what the
    /// columns of the job need ([`Wanted::of`]); none where they cannot be had (any more). Not to be called back from: it
    /// may wait for other threads of the pool that it is called in.
    fn draw(&self, first: u64, rows: usize) -> Option<Drawn>;

    /// Were some of these rows drawn there?
    fn has_drawn(&self, rows: Range<u64>) -> bool;
}

/// Rows that are put together by one thread.
const ROWS_TOGETHER: usize = 4096;

/// The rows `first .. first + rows`, in pieces that follow each other.
pub(super) fn group(parts: &Parts, first: u64, rows: usize) -> Result<Vec<Batch>, EngineError> {
    let drawn = parts.draws.as_ref();
    let drawn = drawn.and_then(|draws| draws.draw(first, rows));
    if let Some(drawn) = &drawn {
        let checked = parts.loaded.check(Wanted::of(&parts.spec), rows, drawn);
        checked.map_err(|error| EngineError::Violated(error.to_string()))?;
    }
    let starts: Vec<usize> = (0..rows).step_by(ROWS_TOGETHER).collect();
    starts
        .into_par_iter()
        .map_init(Block::default, |block, from| {
            let count = ROWS_TOGETHER.min(rows - from);
            match &drawn {
                None => piece(parts, first + from as u64, count, block),
                Some(drawn) => {
                    let rows = drawn.view(&parts.loaded.walks, from..from + count);
                    columns(parts, first + from as u64, &rows)
                }
            }
        })
        .collect()
}

/// Rows that are drawn and put together by one thread.
fn piece(parts: &Parts, first: u64, rows: usize, block: &mut Block) -> Result<Batch, EngineError> {
    let walks = &parts.loaded.walks;
    let mut out: Option<Batch> = None;
    for from in (0..rows).step_by(walks.block_rows()) {
        let count = walks.block_rows().min(rows - from);
        walks.fill(first + from as u64, count, block);
        let made = columns(parts, first + from as u64, &block.view())?;
        match &mut out {
            None => out = Some(made),
            Some(out) => {
                for (to, from) in out.columns.iter_mut().zip(made.columns) {
                    append(to, from);
                }
            }
        }
    }
    Ok(out.unwrap_or_default())
}

/// The columns of rows; what was derived with them is taken over.
fn columns(parts: &Parts, first: u64, block: &Rows<'_>) -> Result<Batch, EngineError> {
    let (spec, loaded) = (&parts.spec, &parts.loaded);
    let cell_bytes = loaded.walks.cell_bytes();
    let cell = if cell_bytes == 1 { Cell::U8 } else { Cell::U16 };
    let degree = spec.puzzle.degree();
    let moves = loaded.children.moves();
    let rows = 0..block.rows();
    let full = Made::full;
    let mut columns = Vec::new();
    for column in &spec.columns {
        let made = match column {
            Column::Row => full(Values::I64(
                rows.clone().map(|r| first as i64 + r as i64).collect(),
            )),
            Column::State => full(Values::Vector {
                cell,
                len: degree,
                bytes: block.states.to_vec(),
            }),
            Column::Depth => full(Values::I32(
                block.depths.iter().map(|&d| d.cast_signed()).collect(),
            )),
            Column::Distance => {
                let labels = parts.labels.as_ref();
                let labels =
                    labels.ok_or_else(|| EngineError::Input("there are no distances".into()))?;
                let distances = labels.distances(block).map_err(EngineError::Input)?;
                full(Values::I32(
                    distances.into_iter().map(u32::cast_signed).collect(),
                ))
            }
            Column::Word => words(spec.move_bytes(), rows.clone(), |row, out| {
                out.extend_from_slice(block.word(row));
                true
            }),
            Column::Solution => words(spec.move_bytes(), rows.clone(), |row, out| {
                let back = block.word(row).iter().rev();
                for a in back.map(|&a| loaded.inverses[usize::from(a)]) {
                    match a {
                        Some(a) => out.push(a),
                        None => return false,
                    }
                }
                true
            }),
            Column::PrevMove => {
                let last = |row: usize| loaded.inverses[usize::from(*block.word(row).last()?)];
                let found: Vec<Option<u16>> = rows.clone().map(last).collect();
                Made {
                    values: Values::I32(found.iter().map(|a| a.unwrap_or(0).into()).collect()),
                    valid: Some(found.iter().map(Option::is_some).collect()),
                }
            }
            Column::NextMove => {
                let next = |row| block.next_move(row).unwrap_or(0).into();
                full(Values::I32(rows.clone().map(next).collect()))
            }
            Column::Key => full(Values::U64(match block.keys {
                Some(keys) => keys.to_vec(),
                None => loaded.keys_of(block.states),
            })),
            Column::Children => {
                let (bytes, solved) = match (block.children, block.solved) {
                    (Some(children), Some(solved)) => (children.to_vec(), solved.to_vec()),
                    _ => loaded.children_of(block.states),
                };
                columns.push(full(Values::Vector {
                    cell,
                    len: degree * moves,
                    bytes,
                }));
                full(Values::Vector {
                    cell: Cell::Bool,
                    len: moves,
                    bytes: solved,
                })
            }
            Column::Piece | Column::OneHot => full(Values::Vector {
                cell: Cell::U8,
                len: loaded.encoder.as_ref().map_or(0, |e| e.columns()),
                bytes: match block.encoded {
                    Some(encoded) => encoded.to_vec(),
                    None => loaded.encodings_of(block.states).unwrap_or_default(),
                },
            }),
        };
        columns.push(made);
    }
    Ok(Batch { columns })
}

/// Moves of rows; `word` appends those of a row and says whether it has any such list.
fn words(
    move_bytes: u64,
    rows: std::ops::Range<usize>,
    word: impl Fn(usize, &mut Vec<u16>) -> bool,
) -> Made {
    let (mut bytes, mut ends, mut valid) = (Vec::new(), Vec::new(), Vec::new());
    let mut moves = Vec::new();
    for row in rows {
        moves.clear();
        let is_there = word(row, &mut moves);
        valid.push(is_there);
        if is_there && move_bytes == 1 {
            bytes.extend(moves.iter().map(|&a| a as u8));
        } else if is_there {
            bytes.extend(moves.iter().flat_map(|a| a.to_le_bytes()));
        }
        ends.push(bytes.len());
    }
    let values = Values::Ragged {
        cell: if move_bytes == 1 { Cell::U8 } else { Cell::U16 },
        ends,
        bytes,
    };
    Made {
        values,
        valid: valid.contains(&false).then_some(valid),
    }
}

/// Puts the rows of `from` behind those of `to`, which has the same type.
fn append(to: &mut Made, from: Made) {
    let (before, more) = (to.values.rows(), from.values.rows());
    match (&mut to.values, from.values) {
        (Values::Vector { bytes: a, .. }, Values::Vector { bytes: b, .. }) => a.extend(b),
        (
            Values::Ragged { ends, bytes, .. },
            Values::Ragged {
                ends: e, bytes: b, ..
            },
        ) => {
            let start = bytes.len();
            ends.extend(e.into_iter().map(|end| start + end));
            bytes.extend(b);
        }
        (Values::I32(a), Values::I32(b)) => a.extend(b),
        (Values::I64(a), Values::I64(b)) => a.extend(b),
        (Values::U64(a), Values::U64(b)) => a.extend(b),
        (Values::F64(a), Values::F64(b)) => a.extend(b),
        (Values::Bool(a), Values::Bool(b)) => a.extend(b),
        (Values::Text(a), Values::Text(b)) => a.extend(b),
        _ => {}
    }
    if to.valid.is_some() || from.valid.is_some() {
        let valid = to.valid.get_or_insert_with(|| vec![true; before]);
        valid.extend(from.valid.unwrap_or_else(|| vec![true; more]));
    }
}

/// Leaves the rows for which `keep` holds.
pub(super) fn retain(batch: &mut Batch, keep: &[bool]) {
    fn those<T>(values: &mut Vec<T>, keep: &[bool]) {
        let mut keep = keep.iter();
        values.retain(|_| keep.next().is_some_and(|&k| k));
    }
    for column in &mut batch.columns {
        match &mut column.values {
            Values::Vector { cell, len, bytes } => {
                let width = cell.bytes() * *len;
                let rows = bytes.chunks_exact(width).zip(keep).filter(|(_, k)| **k);
                *bytes = rows.flat_map(|(row, _)| row.iter().copied()).collect();
            }
            Values::Ragged { ends, bytes, .. } => {
                let (mut kept, mut stops, mut from) = (Vec::new(), Vec::new(), 0);
                for (&end, &keep) in ends.iter().zip(keep) {
                    if keep {
                        kept.extend_from_slice(&bytes[from..end]);
                        stops.push(kept.len());
                    }
                    from = end;
                }
                (*ends, *bytes) = (stops, kept);
            }
            Values::I32(v) => those(v, keep),
            Values::I64(v) => those(v, keep),
            Values::U64(v) => those(v, keep),
            Values::F64(v) => those(v, keep),
            Values::Bool(v) => those(v, keep),
            Values::Text(v) => those(v, keep),
        }
        if let Some(valid) = &mut column.valid {
            those(valid, keep);
        }
    }
}
