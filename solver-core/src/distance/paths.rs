//! All shortest paths to a state, layer by layer, and the least word among them.
//!
//! From the state down every layer holds the predecessors that are one nearer to a root; from the roots
//! up the least generator that stays in the layers is the next letter. Exact for any space and any
//! number of roots; a walk needs less where it serves.

use super::query::{Answer, Residues};
use super::walk::no_way;
use crate::space::Space;
use crate::terms::{Level, ShardId};

/// A state as shard and position in one number.
pub(super) type Place = u64;

/// States on the shortest paths to one state at most.
const PATH_STATES_MAX: usize = 1 << 24;

pub(super) fn place(shard: ShardId, position: u32) -> Place {
    u64::from(shard.0) << 32 | u64::from(position)
}

pub(super) fn parts(place: Place) -> (ShardId, u32) {
    (ShardId((place >> 32) as u32), place as u32)
}

/// The answer for one place by distances modulo 3.
pub(super) fn downhill(
    space: &dyn Space,
    source: &dyn Residues,
    last: Level,
    roots: &[Place],
    start: Place,
) -> Result<Answer, String> {
    let mut found = Vec::new();
    source.residues(&[parts(start)], &mut found)?;
    let mut residue = *found.first().ok_or_else(|| no_way(parts(start)))?;
    let at_root = |layer: &[Place], residue: u8| {
        residue == 0 && layer.iter().any(|p| roots.binary_search(p).is_ok())
    };
    let mut layers = vec![vec![start]];
    let mut total = 1;
    while !at_root(&layers[layers.len() - 1], residue) {
        if layers.len() > last as usize {
            return Err(no_way(parts(start)));
        }
        residue = (residue + 2) % 3;
        let before = before(space, &layers[layers.len() - 1]);
        let places: Vec<(ShardId, u32)> = before.iter().map(|&p| parts(p)).collect();
        found.clear();
        source.residues(&places, &mut found)?;
        let layer: Vec<Place> = before
            .into_iter()
            .zip(&found)
            .filter(|(_, r)| **r == residue)
            .map(|(p, _)| p)
            .collect();
        if layer.is_empty() {
            return Err(no_way(parts(start)));
        }
        push(&mut layers, &mut total, layer)?;
    }
    least_word(space, &layers)
}

/// Adds a layer, unless they become too many states.
pub(super) fn push(
    layers: &mut Vec<Vec<Place>>,
    total: &mut usize,
    layer: Vec<Place>,
) -> Result<(), String> {
    *total += layer.len();
    if *total > PATH_STATES_MAX {
        return Err(format!(
            "more than {PATH_STATES_MAX} states lie on the shortest paths to this state"
        ));
    }
    layers.push(layer);
    Ok(())
}

/// The states with a move into a layer, ascending.
pub(super) fn before(space: &dyn Space, layer: &[Place]) -> Vec<Place> {
    let mut out = Vec::with_capacity(layer.len() * space.moves());
    for &at in layer {
        let (s, p) = parts(at);
        for m in 0..space.moves() {
            let (s, p) = space.step(s, p, m, true);
            out.push(place(s, p));
        }
    }
    out.sort_unstable();
    out.dedup();
    out
}

/// The least word through sorted layers, the state's own first and that of the roots last.
pub(super) fn least_word(space: &dyn Space, layers: &[Vec<Place>]) -> Result<Answer, String> {
    let Some((roots, rest)) = layers.split_last() else {
        return Err("there is no path".to_string());
    };
    let mut here = roots.clone();
    let mut word = Vec::with_capacity(rest.len());
    for layer in rest.iter().rev() {
        let next = (0..space.moves()).find_map(|m| {
            let mut next: Vec<Place> = here
                .iter()
                .map(|&at| {
                    let (s, p) = parts(at);
                    let (s, p) = space.step(s, p, m, false);
                    place(s, p)
                })
                .filter(|at| layer.binary_search(at).is_ok())
                .collect();
            next.sort_unstable();
            next.dedup();
            (!next.is_empty()).then_some((m as u16, next))
        });
        let Some((m, next)) = next else {
            return Err("a path to the state breaks off".to_string());
        };
        word.push(m);
        here = next;
    }
    Ok(Answer {
        distance: word.len() as Level,
        word,
    })
}
