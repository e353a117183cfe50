//! The states around the identity, level by level, as sorted packed keys; the graph looks the same from every state, so one
//! ball serves all searches.

use super::key::{Key, Shifts};
use super::symmetry::Mirror;
use crate::perm::Perm;
use rayon::prelude::*;
use std::ops::Range;

/// Keys are spread over this many parts by their hash, so that parts are equally large and made in parallel.
pub(super) const PARTS: usize = 256;

pub(super) fn part_of(hash: u64) -> usize {
    (hash >> 56) as usize
}

/// The states at one distance: of each mirrored pair the smaller key.
pub(super) struct Level<K> {
    parts: Vec<Vec<K>>,
    /// How many keys there are.
    pub keys: u64,
}

impl<K: Key> Level<K> {
    fn new(parts: Vec<Vec<K>>) -> Level<K> {
        let keys = parts.iter().map(|p| p.len() as u64).sum();
        Level { parts, keys }
    }

    pub fn parts(&self) -> &[Vec<K>] {
        &self.parts
    }

    pub fn has(&self, key: K, hash: u64) -> bool {
        self.parts[part_of(hash)].binary_search(&key).is_ok()
    }
}

/// Levels 0 to `depth` around the identity.
pub(super) struct Ball<K> {
    moves: Vec<Shifts<K>>,
    mirror: Option<Mirror<K>>,
    closed: bool,
    levels: Vec<Level<K>>,
}

impl<K: Key> Ball<K> {
    /// The ball of radius 0. `closed`: the list of moves holds the inverses of all its moves.
    pub fn new(moves: &[Perm], mirror: Option<&Perm>, closed: bool) -> Ball<K> {
        let n = moves.first().map_or(0, Perm::len);
        let identity = K::pack(0..n);
        let mut parts = vec![Vec::new(); PARTS];
        parts[part_of(identity.spread())].push(identity);
        Ball {
            moves: moves.iter().map(Shifts::of).collect(),
            mirror: mirror.map(Mirror::of),
            closed,
            levels: vec![Level::new(parts)],
        }
    }

    pub fn depth(&self) -> usize {
        self.levels.len() - 1
    }

    pub fn level(&self, at: usize) -> &Level<K> {
        &self.levels[at]
    }

    pub fn mirror(&self) -> Option<&Mirror<K>> {
        self.mirror.as_ref()
    }

    /// All states at this distance, mirror images included.
    pub fn states_of(&self, distance: usize) -> Vec<K> {
        let keys = self.levels[distance].parts.iter().flatten();
        match &self.mirror {
            None => keys.copied().collect(),
            Some(m) => keys
                .flat_map(|&k| {
                    let image = m.image(k);
                    [Some(k), (image != k).then_some(image)]
                })
                .flatten()
                .collect(),
        }
    }

    /// The key that stands for a state and its mirror image.
    #[inline]
    pub fn standard(&self, key: K) -> K {
        match &self.mirror {
            Some(m) => m.smaller(key),
            None => key,
        }
    }

    /// Is the state at this distance?
    pub fn is_at(&self, state: K, distance: usize) -> bool {
        let key = self.standard(state);
        self.levels[distance].has(key, key.spread())
    }

    /// Bytes of all levels.
    pub fn bytes(&self) -> u64 {
        self.levels.iter().map(|l| l.keys * K::BYTES).sum()
    }

    /// How many keys the next level may have, judged by the last two.
    pub fn next_keys(&self) -> u64 {
        let last = self.levels[self.depth()].keys;
        let most = last.saturating_mul(self.moves.len() as u64);
        match self.levels.len().checked_sub(2) {
            Some(before) if last > 1000 => {
                let growth = last as f64 / self.levels[before].keys as f64;
                most.min((last as f64 * growth * 1.02) as u64)
            }
            _ => most,
        }
    }

    /// Bytes that [`Ball::grow`] takes besides the new level when it is allowed `most` of them, about.
    pub fn transient(&self, most: u64) -> u64 {
        let candidates = self.levels[self.depth()].keys * self.moves.len() as u64;
        (candidates * K::BYTES * 2).min(most)
    }

    /// Makes one more level within about `transient` bytes of scratch memory; false when it was stopped before the end, then
    /// nothing has changed.
    pub fn grow(&mut self, transient: u64, stop: &(dyn Fn() -> bool + Sync)) -> bool {
        let last = &self.levels[self.depth()];
        let scratch = last.keys * self.moves.len() as u64 * K::BYTES * 2;
        let batches = (scratch.div_ceil(transient.max(1)) as usize).clamp(1, PARTS);
        let mut parts = Vec::with_capacity(PARTS);
        for b in 0..batches {
            let wanted = PARTS * b / batches..PARTS * (b + 1) / batches;
            if stop() {
                return false;
            }
            parts.extend(self.make(wanted, stop));
        }
        if stop() {
            return false;
        }
        self.levels.push(Level::new(parts));
        true
    }

    /// Some parts of the next level.
    fn make(&self, wanted: Range<usize>, stop: &(dyn Fn() -> bool + Sync)) -> Vec<Vec<K>> {
        let last = &self.levels[self.depth()];
        let moved: Vec<Vec<Vec<K>>> = last
            .parts
            .par_iter()
            .map(|keys| {
                let mut out = vec![Vec::new(); wanted.len()];
                if stop() {
                    return out;
                }
                for &key in keys {
                    for m in &self.moves {
                        let next = self.standard(m.apply(key));
                        let part = part_of(next.spread());
                        if wanted.contains(&part) {
                            out[part - wanted.start].push(next);
                        }
                    }
                }
                out
            })
            .collect();
        let earliest = if self.closed {
            self.depth().saturating_sub(1)
        } else {
            0
        };
        wanted
            .clone()
            .into_par_iter()
            .map(|part| {
                let mut keys: Vec<K> = Vec::new();
                if stop() {
                    return keys;
                }
                let lists = moved.iter().map(|lists| &lists[part - wanted.start]);
                keys.reserve_exact(lists.clone().map(Vec::len).sum());
                lists.for_each(|list| keys.extend_from_slice(list));
                keys.sort_unstable();
                keys.dedup();
                for level in &self.levels[earliest..] {
                    take_away(&mut keys, &level.parts[part]);
                }
                keys.shrink_to_fit();
                keys
            })
            .collect()
    }

    /// The lexicographically least word (numbers of moves, applied left to right to the identity) of `distance` moves that
    /// ends in one of `ends`, and that end; `ends` are states at this distance.
    ///
    /// The sets of states on shortest paths are made from the ends to the identity, then the word is read off forwards by
    /// the least move that stays in them: no other word of this length that ends there is smaller.
    pub fn least_word(&self, distance: usize, ends: &[K], back: &[Shifts<K>]) -> (Vec<u16>, K) {
        let mut sets: Vec<Vec<K>> = vec![Vec::new(); distance + 1];
        sets[distance] = ends.to_vec();
        sets[distance].sort_unstable();
        sets[distance].dedup();
        for at in (0..distance).rev() {
            let mut before: Vec<K> = sets[at + 1]
                .par_iter()
                .flat_map_iter(|&key| back.iter().map(move |m| m.apply(key)))
                .filter(|&key| self.is_at(key, at))
                .collect();
            before.par_sort_unstable();
            before.dedup();
            sets[at] = before;
        }
        let mut word = Vec::with_capacity(distance);
        let mut here = self.levels[0].parts.iter().flatten().copied().next();
        for set in &sets[1..] {
            let step = here.and_then(|key| {
                self.moves.iter().enumerate().find_map(|(m, shifts)| {
                    let next = shifts.apply(key);
                    set.binary_search(&next).is_ok().then_some((m, next))
                })
            });
            let Some((m, next)) = step else { break };
            word.push(m as u16);
            here = Some(next);
        }
        (word, here.unwrap_or_default())
    }
}

/// Removes from sorted `keys` what is in sorted `known`.
fn take_away<K: Key>(keys: &mut Vec<K>, known: &[K]) {
    let mut known = known.iter().peekable();
    keys.retain(|key| {
        while known.next_if(|k| *k < key).is_some() {}
        known.peek() != Some(&key)
    });
}
