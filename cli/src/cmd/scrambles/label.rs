//! Exact labels: the cost to go, that is the distance from a state to the root. A breadth-first search gives
//! distances from the root, so for lists without inverses the search runs over the inverted moves.

use super::super::Call;
use super::super::query::{self, Source};
use super::super::run::{self, RunArgs};
use crate::compute_args::ComputeArgs;
use crate::connect::CoordinatorArgs;
use crate::exit::Failure;
use crate::kept::Kept;
use antipode_proto::status::JobState;
use antipode_solver_core::bfs::frontier::Frontier;
use antipode_solver_core::distance::PackedDistances;
use antipode_solver_core::engine::{Engine, Level, ShardId};
use antipode_solver_core::job::{BfsSpec, JobSpec, Keep};
use antipode_solver_core::puzzle::{Generator, Puzzle, State};
use antipode_solver_core::scramble::Rows;
use antipode_solver_core::space::LayoutOptions;
use antipode_worker::scrambles::Labels;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Distances in memory.
pub struct Exact {
    engine: Engine,
    state_bytes: usize,
    cell_bytes: usize,
    last: Level,
    known: Known,
    /// Numbers of our moves in the list that was searched, where that is closed under inverse.
    order: Vec<u16>,
}

enum Known {
    Distances(Vec<Option<Arc<PackedDistances>>>),
    /// By level, then by shard.
    Frontiers(Vec<Vec<Arc<Frontier>>>),
}

/// The distances of a puzzle: those of a stored enumeration, or of one that is made now.
pub fn made_here(puzzle: &Puzzle, args: &RunArgs, call: &Call) -> Result<Exact, Failure> {
    let spec = JobSpec::Bfs(BfsSpec {
        puzzle: searched(puzzle)?,
        depth: None,
        antipodes: 0,
        keep: Keep::Frontiers,
        layout: LayoutOptions::default(),
    });
    eprintln!("labels: distances of all states of {}", spec.title());
    // What it prints is no answer to this command.
    let quiet = RunArgs {
        json: true,
        fresh: false,
        ..args.clone()
    };
    let done = run::job(&spec, &quiet, call)?;
    let kept = Kept::stored("last", done.folder.path())?;
    load(puzzle, &kept, &args.how.compute)
}

/// The distances that a finished job of a coordinator keeps.
pub fn of_job(
    puzzle: &Puzzle,
    job: &str,
    coordinator: &CoordinatorArgs,
    how: &ComputeArgs,
) -> Result<Exact, Failure> {
    let kept = Kept::open(job, None, coordinator)?;
    let searched = searched(puzzle)?;
    let perms = |p: &Puzzle| -> BTreeSet<Vec<u16>> {
        p.generators()
            .iter()
            .map(|g| g.perm.images().to_vec())
            .collect()
    };
    let found = kept.bfs()?;
    let whole = kept.status.state == JobState::Finished && found.depth.is_none();
    if !whole
        || perms(&found.puzzle) != perms(&searched)
        || found.puzzle.roots() != searched.roots()
    {
        return Err(Failure::input(format!(
            "job {} is no finished enumeration of {}; `antipode submit bfs` with --keep frontiers makes one",
            kept.name,
            searched.name()
        )));
    }
    load(puzzle, &kept, how)
}

/// Brings all distances into memory.
fn load(puzzle: &Puzzle, kept: &Kept, how: &ComputeArgs) -> Result<Exact, Failure> {
    if !kept.has_distances() && !kept.has_levels() {
        return Err(kept.nothing_kept());
    }
    let kernel = how.kernel()?;
    let (engine, known, order) = how.pool()?.install(|| -> Result<_, Failure> {
        let searched = &kept.bfs()?.puzzle;
        let engine = Engine::load(searched, &kept.status.definition.space, kernel)?;
        let known = match query::load(kept, &engine, how.memory_bytes(), usize::MAX)? {
            Source::Distances(distances) => Known::Distances(distances),
            Source::Frontiers(levels) => Known::Frontiers(levels),
            Source::Workers(_) => {
                return Err(Failure::input(
                    "the distances take more memory than is allowed; allow more with --memory",
                ));
            }
        };
        // Another list of the same moves may have another order.
        let place = |g: &Generator| searched.generators().iter().position(|h| h.perm == g.perm);
        let order = puzzle
            .generators()
            .iter()
            .map(|g| place(g).unwrap_or(0) as u16);
        Ok((engine, known, order.collect()))
    })?;
    let wide = puzzle
        .roots()
        .iter()
        .flat_map(|r| r.iter())
        .any(|&l| l > 255);
    let cell_bytes = if wide { 2 } else { 1 };
    Ok(Exact {
        engine,
        cell_bytes,
        state_bytes: puzzle.degree() * cell_bytes,
        last: kept.last(),
        known,
        order,
    })
}

/// The puzzle whose distances from the root are the wanted ones to it.
fn searched(puzzle: &Puzzle) -> Result<Puzzle, Failure> {
    match puzzle.is_inverse_closed() {
        true => Ok(puzzle.clone()),
        false => inverted(puzzle),
    }
}

/// The puzzle whose moves are the inverses.
fn inverted(puzzle: &Puzzle) -> Result<Puzzle, Failure> {
    let generators = puzzle.generators().iter().map(|g| Generator {
        name: format!("{}^-1", g.name),
        perm: g.perm.inverse(),
    });
    let inverted = Puzzle::new(
        format!("{} with its moves inverted", puzzle.name()),
        generators.collect(),
        puzzle.roots().to_vec(),
        puzzle.metric(),
        Vec::new(),
    )?;
    Ok(inverted)
}

impl Labels for Exact {
    fn distances(&self, block: &Rows<'_>) -> Result<Vec<u32>, String> {
        match &self.known {
            Known::Distances(distances) => {
                let word = |row| -> Vec<u16> {
                    let moves = block.word(row).iter();
                    moves.map(|&a| self.order[usize::from(a)]).collect()
                };
                let words: Vec<Vec<u16>> = (0..block.rows()).map(word).collect();
                let words: Vec<&[u16]> = words.iter().map(Vec::as_slice).collect();
                self.engine.trail_distances(distances, &words)
            }
            Known::Frontiers(levels) => {
                let states: Vec<State> = block
                    .states
                    .chunks_exact(self.state_bytes)
                    .map(|state| self.labels(state))
                    .collect();
                let kept = |level: Level, shard: ShardId| {
                    let shards = levels.get(level as usize)?;
                    shards.get(shard.0 as usize).map(Arc::clone)
                };
                let found = self.engine.levels_of(&kept, self.last, &states);
                found.into_iter().collect()
            }
        }
    }
}

impl Exact {
    fn labels(&self, state: &[u8]) -> State {
        let cells = state.chunks_exact(self.cell_bytes);
        cells
            .map(|c| match c {
                [low, high] => u16::from_le_bytes([*low, *high]),
                _ => u16::from(c[0]),
            })
            .collect()
    }
}
