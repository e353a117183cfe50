//! The sparse kind, plainly: whole labellings in a sorted set. Keys are packed here again, label by label
//! and bit by bit, so that a wrong packing in the engine shows.

use crate::bfs::frontier::{Frontier, ShardGeometry};
use crate::perm::Perm;
use crate::space::sparse::{SparseDef, home, keys};
use crate::terms::ShardId;
use std::collections::BTreeSet;

/// The key of a labelling: its labels one after another, highest bits first.
fn pack(def: &SparseDef, state: &[u16]) -> Vec<u64> {
    let mut bits: Vec<bool> = Vec::new();
    for &i in &def.positions {
        bits.extend(
            (0..def.bits)
                .rev()
                .map(|b| state[usize::from(i)] >> b & 1 == 1),
        );
    }
    bits.resize(def.words() * 64, false);
    bits.chunks(64)
        .map(|word| word.iter().fold(0, |w, &bit| w << 1 | u64::from(bit)))
        .collect()
}

/// The labelling of a key.
fn unpack(def: &SparseDef, key: &[u64]) -> Vec<u16> {
    let mut state = def.roots[0].clone();
    for (k, &i) in def.positions.iter().enumerate() {
        state[usize::from(i)] = (0..def.bits as usize).fold(0, |label, b| {
            let at = k * def.bits as usize + b;
            label << 1 | (key[at / 64] >> (63 - at % 64) & 1) as u16
        });
    }
    state
}

fn frontier(def: &SparseDef, keys: BTreeSet<Vec<u64>>) -> Frontier {
    Frontier::from_keys(def.geometry(), keys.into_iter().flatten().collect())
}

/// The roots of a shard.
pub(super) fn roots(def: &SparseDef, shard: ShardId) -> Frontier {
    let all = def.roots.iter().map(|root| pack(def, root));
    frontier(
        def,
        all.filter(|key| home(key, def.shards) == shard.0).collect(),
    )
}

/// The successors of some sets, by shard.
pub(super) fn successors(
    def: &SparseDef,
    moves: &[Perm],
    before: &[(ShardId, &Frontier)],
    shards: &[ShardId],
) -> Vec<Frontier> {
    let mut found: Vec<BTreeSet<Vec<u64>>> = vec![BTreeSet::new(); shards.len()];
    for (_, set) in before {
        for key in keys(set).chunks_exact(def.words()) {
            let state = unpack(def, key);
            for p in moves {
                let key = pack(def, &p.apply(&state));
                let at = home(&key, def.shards);
                if let Some(k) = shards.iter().position(|s| s.0 == at) {
                    found[k].insert(key);
                }
            }
        }
    }
    found.into_iter().map(|keys| frontier(def, keys)).collect()
}

/// The keys that are not in another set.
pub(super) fn without(geometry: ShardGeometry, list: &[u64], other: &Frontier) -> Frontier {
    let width = geometry.words as usize;
    let others: BTreeSet<&[u64]> = keys(other).chunks_exact(width).collect();
    let left = list.chunks_exact(width).filter(|key| !others.contains(key));
    Frontier::from_keys(geometry, left.flatten().copied().collect())
}
