//! The pairs farthest apart and their words.

use super::answer::Pair;
use super::graph::Graph;
use super::search::{distances, least_word};
use rayon::prelude::*;
use std::collections::BTreeMap;

/// Sources searched from at once.
const AT_ONCE: usize = 16;

/// The smallest `max` pairs at distance `greatest`. `sources` are the smallest states of this eccentricity,
/// ascending, at least `max` of them or all there are.
pub(crate) fn pairs(graph: &Graph, sources: &[u32], greatest: u32, max: usize) -> Vec<Pair> {
    let mut found: Vec<(u32, u32)> = Vec::new();
    for some in sources.chunks(AT_ONCE) {
        if found.len() >= max {
            break;
        }
        let more: Vec<(u32, u32)> = some
            .par_iter()
            .flat_map_iter(|&u| {
                let distance = distances(graph, u, false);
                let states = (0..graph.states()).filter(move |&v| distance[v as usize] == greatest);
                states.take(max).map(move |v| (u, v)).collect::<Vec<_>>()
            })
            .collect();
        found.extend(more);
    }
    found.truncate(max);
    words(graph, &found)
}

/// The pairs with their least shortest words, one search to each target.
fn words(graph: &Graph, pairs: &[(u32, u32)]) -> Vec<Pair> {
    let mut by_target: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for (i, &(_, v)) in pairs.iter().enumerate() {
        by_target.entry(v).or_default().push(i);
    }
    let mut words: Vec<(usize, Vec<u16>)> = by_target
        .into_par_iter()
        .flat_map_iter(|(v, list)| {
            let to_it = distances(graph, v, true);
            let word = |i: usize| (i, least_word(graph, pairs[i].0, &to_it).unwrap_or_default());
            list.into_iter().map(word).collect::<Vec<_>>()
        })
        .collect();
    words.sort_unstable();
    pairs
        .iter()
        .zip(words)
        .map(|(&(u, v), (_, word))| Pair {
            from: graph.state(u),
            to: graph.state(v),
            word,
        })
        .collect()
}
