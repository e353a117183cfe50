//! Words that need not be shortest, for states that a search left open: a beam search that walks towards
//! neighbours in order, until it steps into the ball.

use super::ball::Ball;
use super::key::{Key, Shifts};
use std::collections::HashSet;

/// States kept of each step.
const WIDTH: usize = 4096;
/// Of these the most ordered are looked up in the ball.
const LOOKED_UP: usize = 128;

/// One state of a step: where it came from, and by which move.
struct Node<K> {
    key: K,
    parent: u32,
    by: u16,
}

/// A word (numbers of moves) that makes `state` and has at most `longest` moves, the best that the beam comes upon. The
/// order is that of a ring or row: the fewer neighbouring labels are not neighbours, the better. `inverse` gives the
/// move that undoes each.
pub(super) fn word<K: Key>(
    ball: &Ball<K>,
    moves: &[Shifts<K>],
    inverse: &[u16],
    (state, points): (K, usize),
    longest: usize,
    stop: &(dyn Fn() -> bool + Sync),
) -> Option<Vec<u16>> {
    let mut steps = vec![vec![Node {
        key: state,
        parent: 0,
        by: 0,
    }]];
    let mut seen = HashSet::from([state]);
    let mut best: Option<(usize, usize, usize)> = None;
    let limit =
        |best: &Option<(usize, usize, usize)>| best.map_or(longest, |(total, _, _)| total - 1);
    while steps.len() <= limit(&best) && !stop() {
        let last = &steps[steps.len() - 1];
        let mut next: Vec<(u32, K, u32, u16)> = Vec::new();
        for (parent, node) in last.iter().enumerate() {
            for (by, shifts) in moves.iter().enumerate() {
                let key = shifts.apply(node.key);
                if seen.insert(key) {
                    next.push((disorder(key, points), key, parent as u32, by as u16));
                }
            }
        }
        next.sort_unstable();
        next.truncate(WIDTH);
        if next.is_empty() {
            break;
        }
        let step = steps.len();
        for (at, &(_, key, _, _)) in next.iter().take(LOOKED_UP).enumerate() {
            let room = (limit(&best) + 1).saturating_sub(step);
            let found = (0..=ball.depth()).take(room).find(|&d| ball.is_at(key, d));
            if let Some(d) = found {
                best = Some((step + d, step, at));
            }
        }
        let nodes = next
            .into_iter()
            .map(|(_, key, parent, by)| Node { key, parent, by });
        steps.push(nodes.collect());
    }
    let (total, step, at) = best?;
    let end = steps[step][at].key;
    // state * w = end, so state = end * inverse(w).
    let back: Vec<Shifts<K>> = inverse
        .iter()
        .map(|&m| moves[usize::from(m)].clone())
        .collect();
    let (mut word, _) = ball.least_word(total - step, &[end], &back);
    let mut here = at;
    for nodes in steps[1..=step].iter().rev() {
        word.push(inverse[usize::from(nodes[here].by)]);
        here = nodes[here].parent as usize;
    }
    Some(word)
}

/// How many neighbours on the ring of positions are not neighbours on the ring of labels.
fn disorder<K: Key>(key: K, points: usize) -> u32 {
    let mut before = key.label(points - 1);
    let mut broken = 0;
    for at in 0..points {
        let label = key.label(at);
        let apart = (label + points - before) % points;
        broken += u32::from(apart != 1 && apart != points - 1);
        before = label;
    }
    broken
}
