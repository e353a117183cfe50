//! Plain breadth-first search from one state: distances, and shortest words read off them.

use super::graph::Graph;

/// Distance of what was not reached.
pub(crate) const FAR: u32 = u32::MAX;

/// Distances from `source` along the moves, or to it where `backwards`; [`FAR`] in other components.
pub(crate) fn distances(graph: &Graph, source: u32, backwards: bool) -> Vec<u32> {
    let mut distance = vec![FAR; graph.states() as usize];
    distance[source as usize] = 0;
    let mut queue = vec![source];
    let (edges, moves) = (graph.edges(backwards), graph.moves());
    let mut at = 0;
    while let Some(&u) = queue.get(at) {
        let next = distance[u as usize] + 1;
        for &v in &edges[u as usize * moves..][..moves] {
            if distance[v as usize] == FAR {
                distance[v as usize] = next;
                queue.push(v);
            }
        }
        at += 1;
    }
    distance
}

/// The greatest finite distance and the first state at it.
pub(crate) fn farthest(distances: &[u32]) -> (u32, u32) {
    let mut best = (0, 0);
    for (v, &d) in distances.iter().enumerate() {
        if d != FAR && (d > best.1 || v == 0) {
            best = (v as u32, d);
        }
    }
    best
}

/// The lexicographically least shortest word (generator numbers, applied left to right) from `from` to the
/// state that `to_it` are the distances to: at every state the least generator that comes one nearer.
/// `None` where there is no way.
pub(crate) fn least_word(graph: &Graph, from: u32, to_it: &[u32]) -> Option<Vec<u16>> {
    let (mut at, mut left) = (from, to_it[from as usize]);
    if left == FAR {
        return None;
    }
    let mut word = Vec::with_capacity(left as usize);
    while left > 0 {
        let nearer = |&to: &u32| to_it[to as usize] == left - 1;
        let g = graph.after(at).iter().position(nearer)?;
        word.push(g as u16);
        at = graph.after(at)[g];
        left -= 1;
    }
    Some(word)
}
