//! Shortest words of given states by a search from both ends, and the smallest states of a set.

use super::frontier::Frontier;
use crate::engine::{Level, Seen, ShardId};
use crate::puzzle::State;
use crate::space::Space;
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
/// Backwards from the state the sets of possible predecessors are collected, cut down to the true
/// level wherever its frontier is at hand (`kept`, or the first levels, which are made again while
/// they are small). Every state in the set of step `i` has a path of `level - i` moves to the end, so
/// walking forward from a root by the least generator that stays in the sets is exact.
pub(crate) fn least_words(
    space: &dyn Space,
    level: Level,
    states: &[State],
    kept: &(dyn Fn(Level, ShardId) -> Option<Arc<Frontier>> + Sync),
    memory_bytes: u64,
) -> Vec<Result<Vec<u16>, String>> {
    let early = first_levels(space, level, memory_bytes / 4);
    states
        .iter()
        .map(|state| {
            let places: Vec<Place> =
                space.places_of(state).into_iter().map(|(s, p)| place(s, p)).collect();
            if places.is_empty() {
                return Err("the state is not in the space".to_string());
            }
            least_word(space, level, places, &early, kept, memory_bytes / 2)
        })
        .collect()
}

/// The first levels of the search, as long as they are few states.
fn first_levels(space: &dyn Space, level: Level, memory_bytes: u64) -> Vec<Vec<Frontier>> {
    let shards: Vec<ShardId> = (0..space.shards()).map(ShardId).collect();
    let total: u64 = shards.iter().map(|&s| space.geometry(s).states).sum();
    let limit = (memory_bytes / 8).min((total / 400).max(100_000));
    let mut levels = vec![shards.iter().map(|&s| space.roots(s)).collect::<Vec<_>>()];
    let mut visited: Vec<Frontier> = levels[0].clone();
    let mut sum = 0;
    while (levels.len() as Level) < level {
        let l = levels.len();
        let before = &levels[l - 1];
        let count: u64 = before.iter().map(Frontier::count).sum();
        sum += count;
        if count > limit || sum > limit * 4 {
            break;
        }
        let mut next = Vec::new();
        let mut next_visited = Vec::new();
        for &s in &shards {
            let sources: Vec<(ShardId, &Frontier)> =
                space.sources(s).into_iter().map(|t| (t, &before[t.0 as usize])).collect();
            let own = &before[s.0 as usize];
            let seen = if space.is_directed() {
                Seen::Visited(visited[s.0 as usize].clone())
            } else if l >= 2 {
                Seen::Previous(levels[l - 2][s.0 as usize].clone())
            } else {
                Seen::Previous(Frontier::empty(space.geometry(s)))
            };
            let Ok(out) = space.expand(l as Level, s, &sources, own, seen, 0) else { return levels };
            next.push(out.frontier);
            next_visited.extend(out.visited);
        }
        levels.push(next);
        visited = next_visited;
    }
    levels
}

fn least_word(
    space: &dyn Space,
    level: Level,
    target: Vec<Place>,
    early: &[Vec<Frontier>],
    kept: &(dyn Fn(Level, ShardId) -> Option<Arc<Frontier>> + Sync),
    memory_bytes: u64,
) -> Result<Vec<u16>, String> {
    let moves = space.moves();
    let mut sets: Vec<Vec<Place>> = vec![target];
    let mut bytes = 0u64;
    for l in (0..level).rev() {
        let after = &sets[sets.len() - 1];
        let mut before: Vec<Place> = after
            .par_iter()
            .with_min_len(256)
            .flat_map_iter(|&to| {
                let (shard, position) = parts(to);
                (0..moves).map(move |m| {
                    let (s, p) = space.step(shard, position, m, true);
                    place(s, p)
                })
            })
            .collect();
        before.par_sort_unstable();
        before.dedup();
        if let Some(known) = early.get(l as usize) {
            before.retain(|&q| {
                let (s, p) = parts(q);
                known[s.0 as usize].contains(p)
            });
        } else {
            let mut at: Option<(ShardId, Option<Arc<Frontier>>)> = None;
            before.retain(|&q| {
                let (s, p) = parts(q);
                if at.as_ref().is_none_or(|a| a.0 != s) {
                    at = Some((s, kept(l, s)));
                }
                match &at {
                    Some((_, Some(frontier))) => frontier.contains(p),
                    _ => true,
                }
            });
        }
        bytes += before.len() as u64 * 8;
        if bytes + before.len() as u64 * 8 * moves as u64 > memory_bytes {
            return Err(format!(
                "the search back from the state needs more than {memory_bytes} bytes at step {}; allow more with --memory or keep the levels with --keep frontiers",
                level - l
            ));
        }
        if before.is_empty() {
            return Err(format!("no predecessor at level {l}: the state is not at distance {level}"));
        }
        sets.push(before);
    }
    sets.reverse();
    let mut here: Vec<Place> = sets[0].clone();
    let mut word = Vec::with_capacity(level as usize);
    for set in &sets[1..] {
        let found = (0..moves).find_map(|m| {
            let next: Vec<Place> = here
                .iter()
                .map(|&q| {
                    let (s, p) = parts(q);
                    let (s, p) = space.step(s, p, m, false);
                    place(s, p)
                })
                .filter(|q| set.binary_search(q).is_ok())
                .collect();
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
pub(crate) fn smallest(space: &dyn Space, shard: ShardId, set: &Frontier, limit: usize) -> Vec<State> {
    let mut best: Vec<State> = set
        .positions()
        .par_chunks(4096)
        .map(|piece| {
            let mut list: Vec<State> = Vec::with_capacity(limit * 2 + 1);
            for &p in piece {
                let Some(state) = space.state(shard, p) else { continue };
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
