//! Orbits of labellings, listed one by one: for spaces small enough to be held as lists.

use crate::group::rng::mix;
use crate::perm::Perm;
use crate::puzzle::State;
use rayon::prelude::*;
use std::collections::HashSet;

/// All states reachable from the roots, sorted; `None` beyond `max`.
pub(crate) fn orbit(moves: &[Perm], roots: &[Vec<u16>], max: u64) -> Option<Vec<Box<[u16]>>> {
    let mut seen: HashSet<Box<[u16]>> = HashSet::new();
    let mut open: Vec<Box<[u16]>> = Vec::new();
    for root in roots {
        let root: Box<[u16]> = root.clone().into();
        if seen.insert(root.clone()) {
            open.push(root);
        }
    }
    while let Some(state) = open.pop() {
        for p in moves {
            let next: Box<[u16]> = p.apply(&state).into();
            if !seen.contains(&next) {
                if seen.len() as u64 >= max {
                    return None;
                }
                seen.insert(next.clone());
                open.push(next);
            }
        }
    }
    let mut list: Vec<Box<[u16]>> = seen.into_iter().collect();
    list.par_sort_unstable();
    Some(list)
}

/// The first root of every orbit among the roots; no orbit has more than `max` states.
pub(crate) fn orbit_leaders(moves: &[Perm], roots: &[State], max: u64) -> Vec<usize> {
    let mut leaders = Vec::new();
    let mut reached: HashSet<Box<[u16]>> = HashSet::new();
    for (k, root) in roots.iter().enumerate() {
        if !reached.contains(root) {
            leaders.push(k);
            reached.extend(orbit(moves, &[root.to_vec()], max).unwrap_or_default());
        }
    }
    leaders
}

/// Digest of a sorted list of states.
pub(crate) fn list_digest(list: &[Box<[u16]>]) -> u64 {
    list.iter()
        .flatten()
        .fold(list.len() as u64, |h, &v| mix(h ^ u64::from(v)))
}
