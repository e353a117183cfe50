//! Whole graphs level by level, every state of every level compared: all kinds of spaces, directed and closed, cut into
//! shards.

use super::Compared;
use crate::costs::Task;
use crate::error::GpuError;
use crate::expand::DeviceSpace;
use crate::kernels::Kernels;
use antipode_solver_core::bfs::enumerate::enumerate_with;
use antipode_solver_core::engine::{Engine, KernelChoice};
use antipode_solver_core::puzzle::{self, PuzzleOptions};
use antipode_solver_core::space::{self, LayoutOptions};
use std::sync::Arc;

/// What a user would type, the root where it is not the usual one, the shards, and the kind where it is not chosen.
const GRAPHS: [(&str, Option<&str>, u32, Option<&str>); 6] = [
    ("topspin:8,4", None, 1, None),
    ("topspin:8,4", None, 8, None),
    ("lx:7", None, 7, None),
    (
        "topspin:14,4",
        Some("0,0,0,0,0,0,0,1,1,1,1,1,1,1"),
        1,
        Some("product"),
    ),
    ("topspin:7,4", None, 3, Some("table")),
    ("lx:6", None, 2, Some("table")),
];
/// Memory of the device that the sets of a graph may take.
const RESIDENT_BYTES: u64 = 64 << 20;

/// One result for each kind of levels that there is.
pub(super) fn run(kernels: &Arc<Kernels>) -> Result<Vec<Compared>, GpuError> {
    let mut out = [Task::Words, Task::Rows, Task::Tables].map(|kind| Compared::new(kind.name()));
    for graph in GRAPHS {
        compare(&mut out, kernels, graph).map_err(|error| match error {
            Trouble::Device(error) => error,
            Trouble::Ours(rule) => kernels.device().misuse(rule),
        })?;
    }
    Ok(out.to_vec())
}

/// The device's, or a graph that is none.
enum Trouble {
    Device(GpuError),
    Ours(String),
}

fn compare(
    out: &mut [Compared],
    kernels: &Arc<Kernels>,
    (spec, root, shards, kind): (&str, Option<&str>, u32, Option<&str>),
) -> Result<(), Trouble> {
    let ours = |error: &dyn ToString| Trouble::Ours(error.to_string());
    let options = PuzzleOptions {
        root: root.map(str::to_string),
        ..PuzzleOptions::default()
    };
    let puzzle = puzzle::resolve(spec, &options).map_err(|e| ours(&e))?;
    let layout = LayoutOptions {
        min_shards: Some(shards),
        kind: kind.map(str::to_string),
        ..LayoutOptions::default()
    };
    let def = space::build(&puzzle, &layout).map_err(|e| ours(&e))?;
    let load = || Engine::load(&puzzle, &def, KernelChoice::Auto).map_err(|e| ours(&e));
    let levels = |engine: &Engine| -> Result<Vec<Vec<u32>>, Trouble> {
        let mut levels = Vec::new();
        // Nothing but the comparison decides.
        enumerate_with(engine, None, None, 0, |_, sets| {
            let mut positions = Vec::new();
            for (shard, set) in (0u32..).zip(sets) {
                positions.push(shard);
                set.for_each(|position| positions.push(position));
            }
            levels.push(positions);
        })
        .map_err(|e| ours(&e))?;
        Ok(levels)
    };
    let right = levels(&load()?)?;
    let engine = load()?;
    let tables = engine
        .device_tables()
        .ok_or_else(|| ours(&"a space without an index"))?;
    let name = Task::of(&tables).name();
    let space = DeviceSpace::new(kernels, &tables, RESIDENT_BYTES, Box::new(|_| ()));
    let space = Arc::new(space.map_err(Trouble::Device)?);
    drop(tables);
    let made = levels(&engine.with_device(space.clone()))?;
    let Some(compared) = out.iter_mut().find(|compared| compared.kernel == name) else {
        return Ok(());
    };
    match space.why_over() {
        // A level that is wrong is found when it is made, and computed again.
        Some(GpuError::Wrong { what, .. }) => {
            compared.wrong += 1;
            compared
                .first_wrong
                .get_or_insert(format!("{spec}: {what}"));
        }
        Some(why) => return Err(Trouble::Device(why)),
        None => {}
    }
    for (level, (made, right)) in made.iter().zip(&right).enumerate() {
        compared.compare(&format!("{spec}, level {level}"), made, right);
    }
    compared.compare(&format!("{spec}, levels"), &[made.len()], &[right.len()]);
    Ok(())
}
