//! What a file says about itself: everything that is needed to make it again, and to understand its columns.

use antipode_solver_core::scramble::table::Loaded;
use antipode_solver_core::scramble::{Column, Format, ScramblesSpec, Shape};
use serde_json::{Value, json};

/// Generators with more entries than this are named only.
const ENTRIES_MAX: usize = 200_000;

/// The description in a file of scrambles (Parquet: the key `antipode` of its metadata) and beside the files. No
/// times, no hosts.
pub fn describe(spec: &ScramblesSpec, loaded: &Loaded) -> Value {
    let puzzle = &spec.puzzle;
    let small = puzzle.generators().len() * puzzle.degree() <= ENTRIES_MAX;
    let generators: Vec<Value> = puzzle
        .generators()
        .iter()
        .map(|g| match small {
            true => json!({"name": g.name, "images": g.perm.images()}),
            false => json!({"name": g.name}),
        })
        .collect();
    let roots: &[_] = if small { puzzle.roots() } else { &[] };
    let (shape, least) = match spec.walks.shape {
        Shape::Walk { min_depth, .. } => ("walk", min_depth),
        Shape::Trajectory { min_depth, .. } => ("trajectory", min_depth),
        Shape::Pivot { k_min, .. } => ("pivot", k_min),
    };
    let mut out = json!({
        "program": "antipode",
        "version": env!("CARGO_PKG_VERSION"),
        "kind": "scrambles",
        "puzzle": puzzle.name(),
        "degree": puzzle.degree(),
        "base": 0,
        "convention": "new[i] = old[images[i]]; a word is applied from left to right to the first root",
        "generators": generators,
        "roots": roots,
        "seed": spec.walks.seed.to_string(),
        "generator_of_numbers": "Philox4x32-10",
        "rules": spec.walks.rules.name(),
        "shape": shape,
        "min_depth": least,
        "max_depth": spec.walks.shape.max_depth(),
        "offset": spec.offset,
        "rows": spec.rows,
        "part_rows": spec.part_rows,
        "row_group_rows": match spec.format {
            Format::Parquet => Value::from(spec.group_rows()),
            _ => Value::Null,
        },
        "label_bytes": loaded.walks.cell_bytes(),
        "move_bytes": spec.move_bytes(),
    });
    if let Some(encoder) = &loaded.encoder {
        out["encode"] = json!({
            "kind": if spec.has(Column::Piece) { "piece" } else { "one-hot" },
            "shape": encoder.shape(),
        });
    }
    if let Some(layout) = &loaded.layout {
        out["pieces"] = json!(layout.pieces);
        out["left_out"] = json!(layout.left_out());
    }
    out
}
