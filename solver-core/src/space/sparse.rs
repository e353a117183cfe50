//! The sparse kind: no index, states as exact packed keys in memory, for the first levels of graphs
//! that are too large to number.
//!
//! A key holds the labels of the moved positions, highest bits first, so sorted keys are sorted
//! labellings. A hash of the key decides the shard and nothing else; equality is equality of keys.
//! Duplicates go by sorting, seen states by merging with the two (directed: all) levels before.

use super::fault::two;
use super::{Direction, LayoutOptions, PlantedFault, Space, SpaceError};
use crate::bfs::frontier::{Body, Frontier, ShardGeometry};
use crate::distance::Numbering;
use crate::group::rng::{SplitMix, mix};
use crate::perm::Perm;
use crate::puzzle::State;
use crate::terms::{Certificate, Digest, EngineError, Expanded, Level, Seen, ShardId};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The layout as stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SparseDef {
    pub degree: usize,
    /// Positions that some generator moves or on which roots differ.
    pub positions: Vec<u16>,
    pub bits: u32,
    pub shards: u32,
    pub roots: Vec<Vec<u16>>,
}

/// Chooses key width and shards.
pub(crate) fn build(
    degree: usize,
    moves: &[Perm],
    roots: &[State],
    options: &LayoutOptions,
) -> SparseDef {
    let positions: Vec<u16> = (0..degree as u16)
        .filter(|&i| {
            let i = usize::from(i);
            moves.iter().any(|p| p.at(i) != i) || roots.iter().any(|r| r[i] != roots[0][i])
        })
        .collect();
    let largest = roots
        .iter()
        .flat_map(|r| r.iter().copied())
        .max()
        .unwrap_or(0);
    let bits = (u16::BITS - largest.leading_zeros()).max(1);
    let roots = roots.iter().map(|r| r.to_vec()).collect();
    SparseDef {
        degree,
        positions,
        bits,
        shards: options.min_shards.unwrap_or(1).clamp(1, 4096),
        roots,
    }
}

impl SparseDef {
    pub fn words(&self) -> usize {
        (self.positions.len() * self.bits as usize)
            .div_ceil(64)
            .max(1)
    }

    /// The shape of every shard.
    pub fn geometry(&self) -> ShardGeometry {
        ShardGeometry {
            blocks: 0,
            words: self.words() as u32,
            states: 0,
        }
    }

    /// One line for people.
    pub fn layout(&self) -> String {
        format!(
            "{} shards by hash of packed states of {} bytes; no index, a depth limit is needed and every level must fit in memory",
            self.shards,
            self.words() * 8
        )
    }
}

/// A loaded sparse space.
pub(crate) struct Sparse {
    def: SparseDef,
    moves: Vec<Perm>,
    directed: bool,
    /// For every move: the place in the key that each place takes its label from.
    local: Vec<Vec<u16>>,
    memory_bytes: AtomicU64,
}

/// Checks the definition against the moves.
pub(crate) fn load(def: SparseDef, moves: Vec<Perm>, directed: bool) -> Result<Sparse, SpaceError> {
    let damaged = |what: &str| SpaceError::Damaged(what.into());
    if def.bits == 0
        || def.bits > 16
        || def.shards == 0
        || def.roots.iter().any(|r| r.len() != def.degree)
    {
        return Err(damaged("key width, shards or roots do not fit"));
    }
    let local = moves
        .iter()
        .map(|p| {
            def.positions
                .iter()
                .map(|&i| {
                    let from = p.images().get(usize::from(i))?;
                    def.positions.binary_search(from).ok().map(|k| k as u16)
                })
                .collect::<Option<Vec<u16>>>()
        })
        .collect::<Option<Vec<_>>>()
        .ok_or_else(|| damaged("a move leads out of the stored positions"))?;
    Ok(Sparse {
        def,
        moves,
        directed,
        local,
        memory_bytes: AtomicU64::new(u64::MAX),
    })
}

impl Sparse {
    fn pack(&self, labels: impl Iterator<Item = u16>) -> Vec<u64> {
        let mut key = vec![0u64; self.def.words()];
        for (k, label) in labels.enumerate() {
            self.put(&mut key, k, label);
        }
        key
    }

    #[inline]
    fn put(&self, key: &mut [u64], k: usize, label: u16) {
        let bits = self.def.bits as usize;
        for b in 0..bits {
            let at = k * bits + b;
            let bit = u64::from(label >> (bits - 1 - b) & 1);
            key[at / 64] |= bit << (63 - at % 64);
        }
    }

    fn unpack(&self, key: &[u64], labels: &mut [u16]) {
        let bits = self.def.bits as usize;
        for (k, label) in labels.iter_mut().enumerate() {
            let at = k * bits;
            let (word, offset) = (at / 64, at % 64);
            let mut value = key[word] << offset;
            if offset + bits > 64 {
                value |= key[word + 1] >> (64 - offset);
            }
            *label = (value >> (64 - bits)) as u16;
        }
    }

    fn shard_of(&self, key: &[u64]) -> u32 {
        home(key, self.def.shards)
    }

    fn labelling(&self, key: &[u64]) -> State {
        let mut labels = vec![0u16; self.def.positions.len()];
        self.unpack(key, &mut labels);
        let mut state = self.def.roots[0].clone();
        for (&i, label) in self.def.positions.iter().zip(labels) {
            state[usize::from(i)] = label;
        }
        state.into()
    }

    /// Keys of all states of the sources, moved, that belong to the shard; with repetitions.
    fn candidates(&self, shard: ShardId, sources: &[(ShardId, &Frontier)]) -> Vec<u64> {
        let width = self.def.words();
        let n = self.def.positions.len();
        let lists: Vec<Vec<u64>> = sources
            .iter()
            .flat_map(|(_, f)| keys(f).chunks(width * 4096))
            .collect::<Vec<_>>()
            .into_par_iter()
            .map(|piece| {
                let mut out = Vec::new();
                let (mut labels, mut moved) = (vec![0u16; n], vec![0u64; width]);
                for key in piece.chunks_exact(width) {
                    self.unpack(key, &mut labels);
                    for local in &self.local {
                        moved.fill(0);
                        for (k, &from) in local.iter().enumerate() {
                            self.put(&mut moved, k, labels[usize::from(from)]);
                        }
                        if self.shard_of(&moved) == shard.0 {
                            out.extend_from_slice(&moved);
                        }
                    }
                }
                out
            })
            .collect();
        lists.concat()
    }

    /// Every sampled state must have a predecessor among the sources.
    fn certify(
        &self,
        level: Level,
        shard: ShardId,
        sources: &[(ShardId, &Frontier)],
        new: &[u64],
        samples: u32,
    ) -> Result<Certificate, EngineError> {
        let width = self.def.words();
        let count = new.len() / width;
        let mut rng = SplitMix(mix(u64::from(level) << 32 | u64::from(shard.0)));
        let mut done = Certificate::default();
        for k in 0..count.min(samples as usize) {
            let at = if count <= samples as usize {
                k
            } else {
                rng.below(count)
            };
            let state = self.labelling(&new[at * width..(at + 1) * width]);
            let found = self.moves.iter().any(|p| {
                let before = p.inverse().apply(&state);
                let key = self.pack(self.def.positions.iter().map(|&i| before[usize::from(i)]));
                let home = self.shard_of(&key);
                sources
                    .iter()
                    .any(|(s, f)| s.0 == home && has_key(keys(f), width, &key))
            });
            if !found {
                return Err(EngineError::Violated(format!(
                    "certificate of level {level}, shard {shard}: a state has no predecessor in the level before"
                )));
            }
            done.predecessors += 1;
        }
        Ok(done)
    }
}

/// The shard of a key.
pub(crate) fn home(key: &[u64], shards: u32) -> u32 {
    let hash = key.iter().fold(0x5eed, |h, &w| mix(h ^ w));
    ((u128::from(hash) * u128::from(shards)) >> 64) as u32
}

/// Digest of a set of keys of so many words each; a sum over the keys.
pub(crate) fn digest_of_keys(keys: &[u64], width: usize) -> Digest {
    keys.chunks_exact(width)
        .fold(Digest::default(), |sum, key| {
            let (a, b) = key.iter().fold((1u64, 2u64), |(a, b), &w| {
                (mix(a ^ w), mix(b ^ w.rotate_left(32)))
            });
            sum.plus(Digest(u128::from(a) << 64 | u128::from(b)))
        })
}

/// The sorted keys of a set.
pub(crate) fn keys(f: &Frontier) -> &[u64] {
    match &f.body {
        Body::Keys(v) => v,
        _ => &[],
    }
}

fn has_key(list: &[u64], width: usize, key: &[u64]) -> bool {
    let (mut low, mut high) = (0, list.len() / width);
    while low < high {
        let middle = usize::midpoint(low, high);
        match list[middle * width..(middle + 1) * width].cmp(key) {
            std::cmp::Ordering::Less => low = middle + 1,
            std::cmp::Ordering::Equal => return true,
            std::cmp::Ordering::Greater => high = middle,
        }
    }
    false
}

/// Sorted and without repetition.
fn sorted(list: &[u64], width: usize) -> Vec<u64> {
    let mut order: Vec<u32> = (0..(list.len() / width) as u32).collect();
    let key = |k: u32| &list[k as usize * width..(k as usize + 1) * width];
    order.par_sort_unstable_by(|&a, &b| key(a).cmp(key(b)));
    order.dedup_by(|a, b| key(*a) == key(*b));
    order
        .into_iter()
        .flat_map(|k| key(k).iter().copied())
        .collect()
}

/// The sorted keys that are in neither of the two sorted lists.
fn without(list: &[u64], width: usize, a: &[u64], b: &[u64]) -> Vec<u64> {
    let mut out = Vec::with_capacity(list.len());
    let mut others = [
        a.chunks_exact(width).peekable(),
        b.chunks_exact(width).peekable(),
    ];
    for key in list.chunks_exact(width) {
        let mut seen = false;
        for other in &mut others {
            while other.next_if(|o| *o < key).is_some() {}
            seen |= other.peek() == Some(&key);
        }
        if !seen {
            out.extend_from_slice(key);
        }
    }
    out
}

impl Space for Sparse {
    fn kind(&self) -> &'static str {
        "sparse"
    }

    fn kernel(&self) -> &'static str {
        "portable"
    }

    fn shards(&self) -> u32 {
        self.def.shards
    }

    fn is_directed(&self) -> bool {
        self.directed
    }

    fn geometry(&self, _shard: ShardId) -> ShardGeometry {
        self.def.geometry()
    }

    fn sources(&self, _shard: ShardId) -> Vec<ShardId> {
        (0..self.def.shards).map(ShardId).collect()
    }

    fn roots(&self, shard: ShardId) -> Frontier {
        let all: Vec<u64> = self
            .def
            .roots
            .iter()
            .map(|root| self.pack(self.def.positions.iter().map(|&i| root[usize::from(i)])))
            .filter(|key| self.shard_of(key) == shard.0)
            .flatten()
            .collect();
        Frontier::from_keys(self.def.geometry(), sorted(&all, self.def.words()))
    }

    fn expand(
        &self,
        level: Level,
        shard: ShardId,
        sources: &[(ShardId, &Frontier)],
        own: &Frontier,
        seen: Seen,
        samples: u32,
    ) -> Result<Expanded, EngineError> {
        let (Seen::Previous(before) | Seen::Visited(before)) = &seen;
        super::check_inputs(level, shard, self.def.geometry(), sources, own, before)?;
        for s in 0..self.def.shards {
            super::input_of(level, shard, ShardId(s), sources)?;
        }
        let width = self.def.words();
        let total: u64 = sources.iter().map(|(_, f)| f.count()).sum();
        // Candidates, their order, and the sorted copy.
        let needed =
            total * self.moves.len() as u64 / u64::from(self.def.shards) * (width as u64 * 16 + 4);
        let allowed = self.memory_bytes.load(Relaxed);
        if needed > allowed || total * self.moves.len() as u64 >= u64::from(u32::MAX) {
            return Err(EngineError::Memory { needed, allowed });
        }
        let candidates = sorted(&self.candidates(shard, sources), width);
        let new = without(&candidates, width, keys(own), keys(before));
        let certificate = if samples == 0 {
            Certificate::default()
        } else {
            self.certify(level, shard, sources, &new, samples)?
        };
        let visited = match &seen {
            Seen::Visited(v) => {
                let all = [keys(v), &new].concat();
                Some(Frontier::from_keys(
                    self.def.geometry(),
                    sorted(&all, width),
                ))
            }
            Seen::Previous(_) => None,
        };
        let frontier = Frontier::from_keys(self.def.geometry(), new);
        let digest = self.digest(shard, &frontier);
        Ok(Expanded {
            frontier,
            visited,
            digest,
            certificate,
            on_device: None,
        })
    }

    fn sweep(
        &self,
        _direction: Direction,
        level: Level,
        shard: ShardId,
        sources: &[(ShardId, &Frontier)],
        own: &Frontier,
        seen: Seen,
    ) -> Result<Expanded, EngineError> {
        // Only forwards: nothing here searches back.
        self.expand(level, shard, sources, own, seen, 0)
    }

    fn digest(&self, _shard: ShardId, frontier: &Frontier) -> Digest {
        digest_of_keys(keys(frontier), self.def.words())
    }

    fn table_bytes(&self) -> u64 {
        0
    }

    fn moves(&self) -> usize {
        self.moves.len()
    }

    fn step(
        &self,
        shard: ShardId,
        position: u32,
        _generator: usize,
        _inverse: bool,
    ) -> (ShardId, u32) {
        // There are no positions to step between; `words` and `smallest` are answered below.
        (shard, position)
    }

    fn state(&self, _shard: ShardId, _position: u32) -> Option<State> {
        None
    }

    fn places_of(&self, _state: &State) -> Vec<(ShardId, u32)> {
        Vec::new()
    }

    fn root_places(&self) -> Vec<(ShardId, u32)> {
        Vec::new()
    }

    fn plant(&mut self, fault: PlantedFault) -> bool {
        let places = self.def.positions.len();
        match fault {
            PlantedFault::Entry(seed) => {
                let mut rng = SplitMix(seed);
                let m = rng.below(self.local.len());
                let Some((a, b)) = two(&mut rng, places, &[]) else {
                    return false;
                };
                self.local[m].swap(a, b);
            }
            PlantedFault::Renamed(seed) => {
                let Some((a, b)) = two(&mut SplitMix(seed), places, &[]) else {
                    return false;
                };
                for local in &mut self.local {
                    local.swap(a, b);
                    for from in local.iter_mut() {
                        *from = match usize::from(*from) {
                            k if k == a => b as u16,
                            k if k == b => a as u16,
                            _ => *from,
                        };
                    }
                }
            }
        }
        true
    }

    fn numbering(&self, _shard: ShardId) -> Option<Numbering> {
        None
    }

    fn limit_memory(&self, bytes: u64) {
        self.memory_bytes.store(bytes, Relaxed);
    }

    fn smallest(&self, _shard: ShardId, frontier: &Frontier, limit: usize) -> Vec<State> {
        keys(frontier)
            .chunks_exact(self.def.words())
            .take(limit)
            .map(|key| self.labelling(key))
            .collect()
    }

    fn words(
        &self,
        _level: Level,
        states: &[State],
        _kept: &(dyn Fn(Level, ShardId) -> Option<Arc<Frontier>> + Sync),
        _memory_bytes: u64,
    ) -> Vec<Result<Vec<u16>, String>> {
        states
            .iter()
            .map(|_| Err("the sparse kind has no index to search back with".to_string()))
            .collect()
    }
}
