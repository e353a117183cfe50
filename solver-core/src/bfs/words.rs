//! Shortest words of given states by a search from both ends, and the smallest states of a set.

use super::frontier::Frontier;
use crate::bfs::block::Direction;
use crate::puzzle::State;
use crate::space::Space;
use crate::terms::{Level, Seen, ShardId};
use rayon::prelude::*;
use std::sync::Arc;

/// A state as shard and position in one number.
type Place = u64;

fn place(shard: ShardId, position: u32) -> Place {
    u64::from(shard.0) << 32 | u64::from(position)
}

fn parts(place: Place) -> (ShardId, u32) {
    (ShardId((place >> 32) as u32), place as u32)
}

/// The lexicographically least shortest words (in generator order) of states at distance `level`.
///
/// Levels are made from the roots forwards and from the state backwards (with inverse moves), always
/// on the side that is smaller, until together they span the distance; frontiers of levels that
/// happen to be at hand (`kept`) cut the backward sets down to the true level. Where the two meet, states
/// on shortest paths are followed back to the roots, and the word is read off forwards, by the
/// least generator that stays on a shortest path: every state in the backward set of step `j` has a path of
/// `j` moves to the end, so this is exact whether or not the sets were cut.
pub(crate) fn least_words<S: Space + ?Sized>(
    space: &S,
    level: Level,
    states: &[State],
    kept: &(dyn Fn(Level, ShardId) -> Option<Arc<Frontier>> + Sync),
    memory_bytes: u64,
) -> Vec<Result<Vec<u16>, String>> {
    let mut forward = Sweep::new(
        space,
        Direction::Forward,
        (0..space.shards())
            .map(|s| space.roots(ShardId(s)))
            .collect(),
    );
    states
        .iter()
        .map(|state| {
            let places = space.places_of(state);
            if places.is_empty() {
                return Err("the state is not in the space".to_string());
            }
            let roots = (0..space.shards())
                .map(|s| {
                    let mut here: Vec<u32> = places
                        .iter()
                        .filter(|(t, _)| t.0 == s)
                        .map(|&(_, p)| p)
                        .collect();
                    here.sort_unstable();
                    Frontier::from_positions(space.geometry(ShardId(s)), here)
                })
                .collect();
            let mut backward = Sweep::new(space, Direction::Backward, roots);
            least_word(
                space,
                level,
                &mut forward,
                &mut backward,
                kept,
                memory_bytes,
            )
        })
        .collect()
}

/// Levels around some states, kept as positions where that is smaller than bits.
struct Sweep<'a, S: ?Sized> {
    space: &'a S,
    direction: Direction,
    levels: Vec<Vec<Frontier>>,
    visited: Vec<Frontier>,
    bytes: u64,
}

impl<'a, S: Space + ?Sized> Sweep<'a, S> {
    fn new(space: &'a S, direction: Direction, roots: Vec<Frontier>) -> Sweep<'a, S> {
        Sweep {
            space,
            direction,
            visited: roots.clone(),
            levels: vec![roots],
            bytes: 0,
        }
    }

    /// Number of the last level.
    fn last(&self) -> Level {
        self.levels.len() as Level - 1
    }

    fn width(&self) -> u64 {
        self.levels[self.levels.len() - 1]
            .iter()
            .map(Frontier::count)
            .sum()
    }

    /// One more level, cut down to `wanted` frontiers where given.
    fn grow(&mut self, wanted: &dyn Fn(ShardId) -> Option<Arc<Frontier>>) -> Result<(), String> {
        let l = self.levels.len();
        let before = &self.levels[l - 1];
        let (mut next, mut visited) = (Vec::new(), Vec::new());
        for s in (0..self.space.shards()).map(ShardId) {
            let at = s.0 as usize;
            let sources: Vec<(ShardId, &Frontier)> = (0..self.space.shards())
                .map(|t| (ShardId(t), &before[t as usize]))
                .collect();
            let seen = if self.space.is_directed() {
                Seen::Visited(self.visited[at].clone())
            } else if l >= 2 {
                Seen::Previous(self.levels[l - 2][at].clone())
            } else {
                Seen::Previous(Frontier::empty(self.space.geometry(s)))
            };
            let out = self
                .space
                .sweep(self.direction, l as Level, s, &sources, &before[at], seen)
                .map_err(|e| e.to_string())?;
            visited.extend(out.visited);
            let mut frontier = out.frontier;
            if let Some(true_level) = wanted(s) {
                frontier = frontier.common(&true_level);
            }
            let frontier = frontier.compact();
            self.bytes += frontier.memory_bytes();
            next.push(frontier);
        }
        self.levels.push(next);
        self.visited = visited;
        Ok(())
    }

    fn contains(&self, level: usize, place: Place) -> bool {
        let (shard, position) = parts(place);
        self.levels[level][shard.0 as usize].contains(position)
    }
}

fn least_word<S: Space + ?Sized>(
    space: &S,
    level: Level,
    forward: &mut Sweep<'_, S>,
    backward: &mut Sweep<'_, S>,
    kept: &(dyn Fn(Level, ShardId) -> Option<Arc<Frontier>> + Sync),
    memory_bytes: u64,
) -> Result<Vec<u16>, String> {
    // The forward sweep may be longer than needed already, from an earlier state.
    while backward.last() + forward.last() < level {
        if forward.bytes + backward.bytes > memory_bytes {
            return Err(format!(
                "the search from both ends needs more than {memory_bytes} bytes ({} of {level} levels done); allow more with --memory",
                backward.last() + forward.last()
            ));
        }
        if forward.width() < backward.width() {
            forward.grow(&|_| None)?;
        } else {
            let l = level - backward.last() - 1;
            backward.grow(&|s| kept(l, s))?;
        }
        if backward.width() == 0 || forward.width() == 0 {
            return Err(format!("the state is not at distance {level}"));
        }
    }
    let moves = space.moves();
    let meet = (level - backward.last()) as usize;
    // States on shortest paths, from where the sweeps meet back to the roots.
    let mut paths: Vec<Vec<Place>> = vec![Vec::new(); meet + 1];
    for s in (0..space.shards()).map(ShardId) {
        let (a, b) = (
            &forward.levels[meet][s.0 as usize],
            &backward.levels[backward.last() as usize][s.0 as usize],
        );
        let (few, many) = if a.count() < b.count() {
            (a, b)
        } else {
            (b, a)
        };
        few.for_each(|p| {
            if many.contains(p) {
                paths[meet].push(place(s, p));
            }
        });
    }
    for l in (0..meet).rev() {
        let mut before: Vec<Place> = paths[l + 1]
            .par_iter()
            .with_min_len(256)
            .flat_map_iter(|&to| {
                let (shard, position) = parts(to);
                (0..moves).map(move |m| {
                    let (s, p) = space.step(shard, position, m, true);
                    place(s, p)
                })
            })
            .filter(|&q| forward.contains(l, q))
            .collect();
        before.par_sort_unstable();
        before.dedup();
        paths[l] = before;
    }
    let mut here = paths[0].clone();
    let mut word = Vec::with_capacity(level as usize);
    for l in 1..=level as usize {
        let on_path = |q: Place| {
            if l <= meet {
                paths[l].binary_search(&q).is_ok()
            } else {
                backward.contains(level as usize - l, q)
            }
        };
        let found = (0..moves).find_map(|m| {
            let mut next: Vec<Place> = here
                .iter()
                .map(|&q| {
                    let (s, p) = parts(q);
                    let (s, p) = space.step(s, p, m, false);
                    place(s, p)
                })
                .filter(|&q| on_path(q))
                .collect();
            next.sort_unstable();
            next.dedup();
            (!next.is_empty()).then_some((m, next))
        });
        let Some((m, next)) = found else {
            return Err("the search from both ends did not meet".to_string());
        };
        word.push(m as u16);
        here = next;
    }
    Ok(word)
}

/// The lexicographically smallest `limit` states of a set, ascending, without repetition.
pub(crate) fn smallest<S: Space + ?Sized>(
    space: &S,
    shard: ShardId,
    set: &Frontier,
    limit: usize,
) -> Vec<State> {
    let mut best: Vec<State> = set
        .positions()
        .par_chunks(4096)
        .map(|piece| {
            let mut list: Vec<State> = Vec::with_capacity(limit * 2 + 1);
            for &p in piece {
                let Some(state) = space.state(shard, p) else {
                    continue;
                };
                if list.len() >= limit && list.last().is_some_and(|last| *last <= state) {
                    continue;
                }
                let at = list.partition_point(|s| *s < state);
                list.insert(at, state);
                list.truncate(limit);
            }
            list
        })
        .reduce(Vec::new, |mut a, b| {
            a.extend(b);
            a.sort_unstable();
            a.dedup();
            a.truncate(limit);
            a
        });
    best.truncate(limit);
    best
}
