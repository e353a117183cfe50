//! The dull oracle: breadth-first search over a hash set of whole states, obviously right and
//! slow. For tests only; nothing that ships links it.

pub mod pairs;

use std::collections::HashSet;

/// Level counts from the roots. `generators` are lists `p` that take a state `s` to
/// `new[i] = s[p[i]]`; a state is a list of labels. Stops after `depth` levels if given.
pub fn level_counts(generators: &[Vec<u16>], roots: &[Vec<u16>], depth: Option<u32>) -> Vec<u64> {
    levels(generators, roots, depth)
        .iter()
        .map(|level| level.len() as u64)
        .collect()
}

/// The states of every level, each level sorted.
pub fn levels(
    generators: &[Vec<u16>],
    roots: &[Vec<u16>],
    depth: Option<u32>,
) -> Vec<Vec<Vec<u16>>> {
    let mut seen: HashSet<Vec<u16>> = HashSet::new();
    let mut level: Vec<Vec<u16>> = Vec::new();
    for root in roots {
        if seen.insert(root.clone()) {
            level.push(root.clone());
        }
    }
    let mut out = Vec::new();
    while !level.is_empty() {
        let mut next = Vec::new();
        if depth.is_none_or(|d| (out.len() as u32) < d) {
            for state in &level {
                for p in generators {
                    let moved: Vec<u16> = p.iter().map(|&i| state[usize::from(i)]).collect();
                    if seen.insert(moved.clone()) {
                        next.push(moved);
                    }
                }
            }
        }
        level.sort();
        out.push(std::mem::replace(&mut level, next));
    }
    out
}

/// The lexicographically least shortest word (by generator number) to a state, if it is reachable.
pub fn least_word(generators: &[Vec<u16>], roots: &[Vec<u16>], target: &[u16]) -> Option<Vec<u16>> {
    // First in, first out, with generators in order: the first word that reaches a state from one
    // root is its least one; several roots compete word by word.
    let mut best: Option<Vec<u16>> = None;
    for root in roots {
        let mut seen: HashSet<Vec<u16>> = HashSet::from([root.clone()]);
        let mut queue: std::collections::VecDeque<(Vec<u16>, Vec<u16>)> =
            std::collections::VecDeque::from([(root.clone(), Vec::new())]);
        while let Some((state, word)) = queue.pop_front() {
            if state == target {
                let better = best
                    .as_ref()
                    .is_none_or(|b| (word.len(), &word) < (b.len(), b));
                if better {
                    best = Some(word);
                }
                break;
            }
            for (g, p) in generators.iter().enumerate() {
                let moved: Vec<u16> = p.iter().map(|&i| state[usize::from(i)]).collect();
                if seen.insert(moved.clone()) {
                    let mut longer = word.clone();
                    longer.push(g as u16);
                    queue.push_back((moved, longer));
                }
            }
        }
    }
    best
}
