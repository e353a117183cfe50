//! Small graphs whose levels can be counted by hand: states are numbers, moves are permutations of
//! them, shards are equal ranges.

use antipode_coordinator_core::record::JobRecord;
use antipode_solver_core::Perm;
use antipode_solver_core::engine::Digest;
use antipode_solver_core::job::{BfsSpec, JobDefinition, Keep};
use antipode_solver_core::puzzle::{Generator, Metric, Puzzle};
use antipode_solver_core::space::{LayoutOptions, SpaceDef};
use std::collections::BTreeSet;
use std::sync::Arc;

pub type Set = BTreeSet<u32>;

#[derive(Debug, Clone)]
pub struct Toy {
    pub states: u32,
    pub shards: u32,
    /// `moves[m][x]` is where move `m` takes state `x`.
    pub moves: Vec<Vec<u32>>,
    pub directed: bool,
}

impl Toy {
    /// The n-cube: levels are binomial coefficients.
    pub fn cube(n: u32, shards: u32) -> Toy {
        let moves = (0..n)
            .map(|bit| (0..1 << n).map(|x| x ^ (1 << bit)).collect())
            .collect();
        Toy {
            states: 1 << n,
            shards,
            moves,
            directed: false,
        }
    }

    pub fn shard_of(&self, state: u32) -> u32 {
        (u64::from(state) * u64::from(self.shards) / u64::from(self.states)) as u32
    }

    fn sources(&self) -> Vec<Vec<u32>> {
        let mut sources = vec![BTreeSet::new(); self.shards as usize];
        for p in &self.moves {
            for (from, &to) in p.iter().enumerate() {
                sources[self.shard_of(to) as usize].insert(self.shard_of(from as u32));
            }
        }
        sources
            .into_iter()
            .map(|set| set.into_iter().collect())
            .collect()
    }

    /// The levels, by the dullest search there is.
    pub fn levels(&self) -> Vec<Set> {
        let mut seen = Set::from([0]);
        let mut levels = vec![seen.clone()];
        loop {
            let last = &levels[levels.len() - 1];
            let next: Set = last
                .iter()
                .flat_map(|&x| self.moves.iter().map(move |p| p[x as usize]))
                .filter(|x| !seen.contains(x))
                .collect();
            if next.is_empty() {
                return levels;
            }
            seen.extend(&next);
            levels.push(next);
        }
    }

    pub fn root(&self, shard: u32) -> Set {
        if self.shard_of(0) == shard {
            Set::from([0])
        } else {
            Set::new()
        }
    }

    /// One level of one shard.
    pub fn expand(&self, shard: u32, sources: &Set, minus: &[&Set]) -> Set {
        sources
            .iter()
            .flat_map(|&x| self.moves.iter().map(move |p| p[x as usize]))
            .filter(|&x| self.shard_of(x) == shard && !minus.iter().any(|set| set.contains(&x)))
            .collect()
    }

    pub fn record(&self, antipodes: u32, keep: Keep, depth: Option<u32>, known: bool) -> JobRecord {
        let images: Vec<u16> = vec![1, 0];
        let generator = Generator {
            name: "x".into(),
            perm: Perm::from_images(&images).unwrap(),
        };
        let puzzle = Puzzle::new(
            "toy".into(),
            vec![generator],
            vec![],
            Metric::Custom,
            vec![],
        )
        .unwrap();
        let states: usize = self.levels().iter().map(Set::len).sum();
        let space = SpaceDef {
            kind: "table".into(),
            shards: self.shards,
            sources: self.sources(),
            shard_states: vec![u64::from(self.states / self.shards); self.shards as usize],
            shard_bytes: vec![8; self.shards as usize],
            directed: self.directed,
            group_order: "1".into(),
            states: known.then(|| states.to_string()),
            states_proof: "counted".into(),
            layout: "toy".into(),
            body: vec![],
        };
        let spec = BfsSpec {
            puzzle,
            depth,
            antipodes,
            keep,
            layout: LayoutOptions::default(),
        };
        let definition = JobDefinition {
            spec: spec.into(),
            space,
            fingerprint: "toy".into(),
        };
        let roots = (0..self.shards)
            .map(|shard| {
                let root = self.root(shard);
                (root.len() as u64, digest(&root))
            })
            .collect();
        JobRecord {
            definition: Arc::new(definition),
            roots,
            submitted_at: 0,
        }
    }
}

/// Sum of a hash of each state, so that digests of disjoint sets add up.
pub fn digest(set: &Set) -> Digest {
    let hash = |x: u32| (u128::from(x) + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835);
    set.iter().fold(Digest::default(), |sum, &x| {
        sum.plus(Digest(hash(x).rotate_left(41) ^ hash(x)))
    })
}
