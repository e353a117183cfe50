//! Exact distances and least shortest words from kept levels: for directed lists, whose distances modulo
//! 3 lead nowhere, and for anybody who has the frontiers at hand.

use super::paths::{self, Place, parts};
use super::query::{Answer, Question, best, places};
use crate::bfs::frontier::Frontier;
use crate::puzzle::State;
use crate::space::Space;
use crate::terms::{Level, ShardId};
use rayon::prelude::*;
use std::sync::Arc;

/// The frontiers at hand.
type Kept<'a> = dyn Fn(Level, ShardId) -> Option<Arc<Frontier>> + Sync + 'a;

/// One answer a question; `kept` gives frontier(level, shard) of the levels up to `last`.
pub(crate) fn query_levels(
    space: &dyn Space,
    kept: &Kept<'_>,
    last: Level,
    questions: &[Question],
) -> Vec<Result<Answer, String>> {
    questions
        .par_iter()
        .map(|question| {
            let places = places(space, question)?;
            best(places.iter().map(|&at| one(space, kept, last, at)))
        })
        .collect()
}

/// The level of every state, without a word.
pub(crate) fn states(
    space: &dyn Space,
    kept: &Kept<'_>,
    last: Level,
    states: &[State],
) -> Vec<Result<Level, String>> {
    let level = |state: &State| {
        let places = places(space, &Question::State(state.clone()))?;
        let mut least: Option<Level> = None;
        for at in places {
            let level = level_of(kept, last, at)?;
            least = Some(least.map_or(level, |l| l.min(level)));
        }
        least.ok_or_else(|| "the state is not in the space".to_string())
    };
    states.par_iter().map(level).collect()
}

fn not_kept(level: Level, shard: ShardId) -> String {
    format!("frontier({level}, {shard}) is not at hand; the job must keep its frontiers")
}

/// The level that contains a state.
fn level_of(
    kept: &Kept<'_>,
    last: Level,
    (shard, position): (ShardId, u32),
) -> Result<Level, String> {
    let mut missing = None;
    for level in 0..=last {
        match kept(level, shard) {
            Some(frontier) if frontier.contains(position) => return Ok(level),
            Some(_) => {}
            None => missing = missing.or(Some(level)),
        }
    }
    Err(match missing {
        Some(level) => not_kept(level, shard),
        None => format!("the state is in none of the levels up to {last}"),
    })
}

fn one(
    space: &dyn Space,
    kept: &Kept<'_>,
    last: Level,
    start: (ShardId, u32),
) -> Result<Answer, String> {
    let distance = level_of(kept, last, start)?;
    let contains = |level: Level, (s, p): (ShardId, u32)| {
        Ok::<bool, String>(
            kept(level, s)
                .ok_or_else(|| not_kept(level, s))?
                .contains(p),
        )
    };
    if let Some(mirror) = space.mirror(start.0, start.1) {
        return walk(space, &contains, distance, mirror);
    }
    let mut layers: Vec<Vec<Place>> = vec![vec![paths::place(start.0, start.1)]];
    let mut total = 1;
    for level in (0..distance).rev() {
        let mut layer = Vec::new();
        for at in paths::before(space, &layers[layers.len() - 1]) {
            if contains(level, parts(at))? {
                layer.push(at);
            }
        }
        if layer.is_empty() {
            return Err(breaks_off(level));
        }
        paths::push(&mut layers, &mut total, layer)?;
    }
    paths::least_word(space, &layers)
}

/// In a group with the identity as its root the word is read off in order: its first letter is the least
/// generator `g` for which the inverse of `g`, multiplied from the left, leads to the level before.
fn walk(
    space: &dyn Space,
    contains: &dyn Fn(Level, (ShardId, u32)) -> Result<bool, String>,
    distance: Level,
    mirror: (ShardId, u32),
) -> Result<Answer, String> {
    let mut at = mirror;
    let mut word = Vec::with_capacity(distance as usize);
    'letters: for level in (0..distance).rev() {
        for m in 0..space.moves() {
            let next = space.step(at.0, at.1, m, false);
            let rest = space
                .mirror(next.0, next.1)
                .ok_or_else(|| breaks_off(level))?;
            if contains(level, rest)? {
                at = next;
                word.push(m as u16);
                continue 'letters;
            }
        }
        return Err(breaks_off(level));
    }
    Ok(Answer { distance, word })
}

fn breaks_off(level: Level) -> String {
    format!(
        "a state of level {} has no predecessor in level {level}: the kept frontiers are not those of this space",
        level + 1
    )
}
