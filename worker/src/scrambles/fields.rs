//! The columns of a file.

use antipode_columns::{Cell, Field, Kind};
use antipode_solver_core::scramble::table::Loaded;
use antipode_solver_core::scramble::{Column, Format, ScramblesSpec};

/// The fields of the columns that are asked for; children have two.
pub(super) fn of(spec: &ScramblesSpec, loaded: &Loaded) -> Vec<Field> {
    let cell = match loaded.walks.cell_bytes() {
        1 => Cell::U8,
        _ => Cell::U16,
    };
    let moves = spec.puzzle.generators().len();
    let ragged = Kind::Ragged {
        cell: if spec.move_bytes() == 1 {
            Cell::U8
        } else {
            Cell::U16
        },
        longest: spec.walks.shape.depths().1 as usize,
    };
    let vector = |cell, len| Kind::Vector { cell, len };
    let degree = spec.puzzle.degree();
    let columns = loaded.encoder.as_ref().map_or(0, |e| e.columns());
    let mut fields = Vec::new();
    for column in &spec.columns {
        fields.push(match column {
            Column::Row => Field::new("row", Kind::I64),
            Column::State => Field::new("state", vector(cell, degree)),
            Column::Depth => Field::new("depth", Kind::I32),
            Column::Distance => Field::new("distance", Kind::I32),
            Column::Word => Field::new("word", ragged),
            Column::Solution => Field::new("solution", ragged).nullable(),
            Column::PrevMove => Field::new("prev_move", Kind::I32).nullable(),
            Column::NextMove => Field::new("next_move", Kind::I32),
            Column::Key => Field::new("key", Kind::U64),
            Column::Children => Field::new("children", vector(cell, degree * moves)),
            Column::Piece | Column::OneHot => Field::new("encoded", vector(Cell::U8, columns)),
        });
        if *column == Column::Children {
            fields.push(Field::new("children_solved", vector(Cell::Bool, moves)));
        }
    }
    fields
}

/// Bytes of a value in a file, at most.
pub(super) fn bytes_at_most(field: &Field, spec: &ScramblesSpec) -> u64 {
    let (cells, width) = match field.kind {
        Kind::Vector { cell, len } => (len as u64, cell.bytes() as u64),
        Kind::Ragged { cell, longest } => (longest as u64, 2 * cell.bytes() as u64),
        _ => (1, 8),
    };
    match spec.format {
        // A number as text with its comma; the name with quotes.
        Format::JsonLines => cells * 21 + field.name.len() as u64 + 8,
        // A list has a value of four bytes and its levels for every cell.
        Format::Parquet if spec.lists => cells * 8 + 8,
        _ => cells * width + 8,
    }
}
