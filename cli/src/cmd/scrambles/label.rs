//! Exact labels: the cost to go, that is the distance from a state to the root. A breadth-first search gives
//! distances from the root, so for lists without inverses the search runs over the inverted moves.

use super::super::Call;
use super::super::query::{self, Source};
use super::super::run::{self, RunArgs};
use crate::exit::Failure;
use crate::kept::Kept;
use antipode_solver_core::bfs::frontier::Frontier;
use antipode_solver_core::distance::PackedDistances;
use antipode_solver_core::engine::{Engine, Level, ShardId};
use antipode_solver_core::job::{BfsSpec, JobSpec, Keep};
use antipode_solver_core::puzzle::{Generator, Puzzle, State};
use antipode_solver_core::scramble::Block;
use antipode_solver_core::space::LayoutOptions;
use antipode_worker::scrambles::Labels;
use std::sync::Arc;

/// Distances in memory.
pub struct Exact {
    engine: Engine,
    state_bytes: usize,
    cell_bytes: usize,
    last: Level,
    known: Known,
}

enum Known {
    Distances(Vec<Option<Arc<PackedDistances>>>),
    /// By level, then by shard.
    Frontiers(Vec<Vec<Arc<Frontier>>>),
}

/// The distances of a puzzle: those of a stored enumeration, or of one that is made now.
pub fn exact(puzzle: &Puzzle, args: &RunArgs, call: &Call) -> Result<Exact, Failure> {
    let searched = match puzzle.is_inverse_closed() {
        true => puzzle.clone(),
        false => inverted(puzzle)?,
    };
    let spec = JobSpec::Bfs(BfsSpec {
        puzzle: searched,
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
    if !kept.has_distances() && !kept.has_levels() {
        return Err(kept.nothing_kept());
    }
    let kernel = args.how.compute.kernel()?;
    let memory = args.how.compute.memory_bytes();
    let pool = args.how.compute.pool()?;
    let (engine, known) = pool.install(|| -> Result<_, Failure> {
        let engine = Engine::load(&kept.bfs()?.puzzle, &kept.status.definition.space, kernel)?;
        let known = match query::load(&kept, &engine, memory, usize::MAX)? {
            Source::Distances(distances) => Known::Distances(distances),
            Source::Frontiers(levels) => Known::Frontiers(levels),
            Source::Workers(_) => {
                return Err(Failure::Internal("a stored run is not at workers".into()));
            }
        };
        Ok((engine, known))
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
    })
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
    fn distances(&self, block: &Block) -> Result<Vec<u32>, String> {
        match &self.known {
            Known::Distances(distances) => {
                let words: Vec<&[u16]> = (0..block.rows()).map(|row| block.word(row)).collect();
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
