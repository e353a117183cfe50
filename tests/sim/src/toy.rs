//! Small graphs whose levels are counted by the dullest search there is: states are numbers, moves
//! are permutations of them, shards are equal ranges. Every graph has at least six shards and six levels.

use antipode_coordinator_core::record::JobRecord;
use antipode_solver_core::Perm;
use antipode_solver_core::batch::{self, BatchSpec, DiameterSpec, ScramblesSpec};
use antipode_solver_core::engine::{Digest, Level};
use antipode_solver_core::job::{BfsSpec, JobDefinition, JobSpec, Keep};
use antipode_solver_core::puzzle::{Generator, Metric, Puzzle};
use antipode_solver_core::scramble::{Column, Format, Rules, Shape, WalkSpec};
use antipode_solver_core::space::{LayoutOptions, SpaceDef};
use antipode_solver_core::survey::diameter::Route;
use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use std::sync::{Arc, OnceLock};

/// Words of a [`Set`].
const WORDS: usize = 3;
/// No graph has more states.
const MOST_STATES: u32 = WORDS as u32 * 64;
pub const LEAST_SHARDS: u32 = 6;
/// Levels after level 0.
pub const LEAST_LEVELS: usize = 6;
const MOST_LEVELS: usize = 13;

/// A set of states, one bit each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Set(pub [u64; WORDS]);

impl Set {
    pub const EMPTY: Set = Set([0; WORDS]);

    pub fn insert(&mut self, state: u32) {
        self.0[state as usize / 64] |= 1 << (state % 64);
    }

    pub fn contains(&self, state: u32) -> bool {
        self.0[state as usize / 64] >> (state % 64) & 1 == 1
    }

    pub fn len(&self) -> u64 {
        self.0.iter().map(|word| u64::from(word.count_ones())).sum()
    }

    pub fn is_empty(&self) -> bool {
        *self == Set::EMPTY
    }

    pub fn union(&self, other: &Set) -> Set {
        Set(std::array::from_fn(|k| self.0[k] | other.0[k]))
    }

    pub fn minus(&self, other: &Set) -> Set {
        Set(std::array::from_fn(|k| self.0[k] & !other.0[k]))
    }

    pub fn common(&self, other: &Set) -> Set {
        Set(std::array::from_fn(|k| self.0[k] & other.0[k]))
    }

    /// Ascending.
    pub fn states(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().enumerate().flat_map(|(k, &word)| {
            let mut left = word;
            std::iter::from_fn(move || {
                let bit = (left != 0).then(|| left.trailing_zeros())?;
                left &= left - 1;
                Some(k as u32 * 64 + bit)
            })
        })
    }

    /// Sum of a hash of each state, so that digests of disjoint sets add up.
    pub fn digest(&self) -> Digest {
        let hash = |x: u32| {
            let product =
                (u128::from(x) + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835);
            Digest(product.rotate_left(41) ^ product)
        };
        self.states()
            .fold(Digest::default(), |sum, x| sum.plus(hash(x)))
    }
}

/// What a job on the graph asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Question {
    pub antipodes: u32,
    pub keep: Keep,
    pub depth: Option<u32>,
    /// Is the number of states known beforehand?
    pub known: bool,
}

/// A graph with the truth about it.
#[derive(Debug, Clone)]
pub struct Toy {
    pub states: u32,
    pub shards: u32,
    pub directed: bool,
    /// `Some`: a batch job whose items are the shards; do they make rows?
    pub batch: Option<bool>,
    /// `moves[m][x]` is where move `m` takes state `x`.
    moves: Vec<Vec<u32>>,
    ranges: Vec<Set>,
    sources: Vec<Vec<u32>>,
    levels: Vec<Set>,
    /// Count and digest by level and shard.
    truth: Vec<Vec<(u64, Digest)>>,
}

impl Toy {
    /// Any of the kinds, at random.
    pub fn any(rng: &mut StdRng) -> Toy {
        loop {
            let shards = rng.random_range(LEAST_SHARDS..=8);
            let toy = match rng.random_range(0..3) {
                0 => Toy::cube(6 + u32::from(rng.random_bool(0.2)), shards),
                1 => Toy::directed(rng.random_range(40..150), shards, rng),
                _ => Toy::path(rng.random_range(30..90), shards, rng),
            };
            if (LEAST_LEVELS..=MOST_LEVELS).contains(&(toy.levels.len() - 1)) {
                return toy;
            }
        }
    }

    /// A batch job: level 0 is empty and level 1 is everything.
    pub fn batch(rows: bool, rng: &mut StdRng) -> Toy {
        let shards = rng.random_range(LEAST_SHARDS..=16);
        let states = rng.random_range(shards..60);
        let mut toy = Toy::new(states, shards, Vec::new(), false);
        let all = toy.ranges.iter().fold(Set::EMPTY, |all, r| all.union(r));
        toy.batch = Some(rows);
        toy.levels = vec![Set::EMPTY, all];
        toy.truth = toy.tell();
        toy
    }

    /// What an item answers where it makes no rows.
    pub fn record_of(&self, item: u32) -> Vec<u8> {
        self.range(item).states().map(|x| x as u8).collect()
    }

    /// The states of a shard.
    pub fn range(&self, shard: u32) -> Set {
        self.ranges[shard as usize]
    }

    /// The n-cube: levels are binomial coefficients.
    pub fn cube(n: u32, shards: u32) -> Toy {
        let moves = (0..n)
            .map(|bit| (0..1 << n).map(|x| x ^ (1 << bit)).collect())
            .collect();
        Toy::new(1 << n, shards, moves, false)
    }

    /// A ring with a second, random permutation: its list of moves is not closed under inverse.
    fn directed(states: u32, shards: u32, rng: &mut StdRng) -> Toy {
        let ring = (0..states).map(|x| (x + 1) % states).collect();
        let mut random: Vec<u32> = (0..states).collect();
        random.shuffle(rng);
        Toy::new(states, shards, vec![ring, random], true)
    }

    /// A long path with short cuts, all involutions: many levels, many of them empty in a shard.
    fn path(states: u32, shards: u32, rng: &mut StdRng) -> Toy {
        let swap = |start: u32| {
            let mut p: Vec<u32> = (0..states).collect();
            (start..states - 1)
                .step_by(2)
                .for_each(|x| p.swap(x as usize, x as usize + 1));
            p
        };
        let mut cut: Vec<u32> = (0..states).collect();
        for _ in 0..rng.random_range(4..12) {
            let (a, b) = (rng.random_range(0..states), rng.random_range(0..states));
            if cut[a as usize] == a && cut[b as usize] == b {
                cut.swap(a as usize, b as usize);
            }
        }
        Toy::new(states, shards, vec![swap(0), swap(1), cut], false)
    }

    fn new(states: u32, shards: u32, moves: Vec<Vec<u32>>, directed: bool) -> Toy {
        assert!(states <= MOST_STATES && shards <= states);
        let shard_of = |x: u32| x * shards / states;
        let mut ranges = vec![Set::EMPTY; shards as usize];
        (0..states).for_each(|x| ranges[shard_of(x) as usize].insert(x));
        let mut sources = vec![Vec::new(); shards as usize];
        for p in &moves {
            for (from, &to) in p.iter().enumerate() {
                sources[shard_of(to) as usize].push(shard_of(from as u32));
            }
        }
        for list in &mut sources {
            list.sort_unstable();
            list.dedup();
        }
        let mut toy = Toy {
            states,
            shards,
            directed,
            batch: None,
            moves,
            ranges,
            sources,
            levels: Vec::new(),
            truth: Vec::new(),
        };
        toy.levels = toy.search();
        toy.truth = toy.tell();
        toy
    }

    fn tell(&self) -> Vec<Vec<(u64, Digest)>> {
        let levels = self.levels.iter();
        let row = |level: &Set| {
            let part = |range: &Set| (level.common(range).len(), level.common(range).digest());
            self.ranges.iter().map(part).collect()
        };
        levels.map(row).collect()
    }

    fn search(&self) -> Vec<Set> {
        let root = Set([1, 0, 0]);
        let (mut seen, mut levels) = (root, vec![root]);
        loop {
            let next = self.moved(&levels[levels.len() - 1]).minus(&seen);
            if next.is_empty() {
                return levels;
            }
            seen = seen.union(&next);
            levels.push(next);
        }
    }

    fn moved(&self, set: &Set) -> Set {
        let mut moved = Set::EMPTY;
        for x in set.states() {
            self.moves.iter().for_each(|p| moved.insert(p[x as usize]));
        }
        moved
    }

    /// All levels, from level 0 on.
    pub fn levels(&self) -> &[Set] {
        &self.levels
    }

    pub fn sources(&self, shard: u32) -> &[u32] {
        &self.sources[shard as usize]
    }

    /// Level 0 of a shard.
    pub fn root(&self, shard: u32) -> Set {
        self.levels[0].common(&self.ranges[shard as usize])
    }

    /// Count and digest that a result must have.
    pub fn frontier(&self, level: Level, shard: u32) -> (u64, Digest) {
        let none = (0, Digest::default());
        self.truth
            .get(level as usize)
            .map_or(none, |row| row[shard as usize])
    }

    /// The same of the union of all levels up to `level`.
    pub fn visited(&self, level: Level, shard: u32) -> (u64, Digest) {
        (0..=level).fold((0, Digest::default()), |(count, digest), l| {
            let (more, part) = self.frontier(l, shard);
            (count + more, digest.plus(part))
        })
    }

    /// One level of one shard.
    pub fn expand(&self, shard: u32, sources: &Set, minus: &Set) -> Set {
        self.moved(sources)
            .common(&self.ranges[shard as usize])
            .minus(minus)
    }

    /// The job that asks `question` about this graph.
    pub fn record(&self, question: Question) -> JobRecord {
        let all: u64 = self.levels.iter().map(Set::len).sum();
        let space = SpaceDef {
            kind: if self.batch.is_some() {
                batch::KIND.into()
            } else {
                "table".into()
            },
            shards: self.shards,
            sources: self.sources.clone(),
            shard_states: vec![u64::from(self.states / self.shards); self.shards as usize],
            shard_bytes: vec![8; self.shards as usize],
            directed: self.directed,
            group_order: "1".into(),
            states: (question.known || self.batch.is_some()).then(|| all.to_string()),
            states_proof: "counted".into(),
            layout: "toy".into(),
            body: Vec::new(),
        };
        let puzzle = puzzle();
        let spec = match self.batch {
            Some(true) => BatchSpec::Scrambles(scrambles(puzzle)).into(),
            Some(false) => BatchSpec::Diameter(DiameterSpec {
                puzzle,
                route: Route::AllPairs,
                max_pairs: 0,
            })
            .into(),
            None => JobSpec::Bfs(BfsSpec {
                puzzle,
                depth: question.depth,
                antipodes: question.antipodes,
                keep: question.keep,
                layout: LayoutOptions::default(),
            }),
        };
        let fingerprint = format!("toy {} {} {}", self.states, self.shards, self.directed);
        let definition = JobDefinition {
            spec,
            space,
            fingerprint,
        };
        let root = |shard| (self.root(shard).len(), self.root(shard).digest());
        JobRecord {
            definition: Arc::new(definition),
            roots: (0..self.shards).map(root).collect(),
            submitted_at: 0,
        }
    }
}

/// Nobody looks into it.
fn puzzle() -> Puzzle {
    static PUZZLE: OnceLock<Puzzle> = OnceLock::new();
    let make = || {
        let perm = Perm::from_images(&[1u16, 0]).expect("a permutation");
        let generator = Generator {
            name: "x".into(),
            perm,
        };
        Puzzle::new(
            "toy".into(),
            vec![generator],
            vec![],
            Metric::Custom,
            vec![],
        )
        .expect("a puzzle")
    };
    PUZZLE.get_or_init(make).clone()
}

/// Rows that nobody draws.
fn scrambles(puzzle: Puzzle) -> ScramblesSpec {
    ScramblesSpec {
        puzzle,
        walks: WalkSpec {
            seed: 0,
            shape: Shape::Walk {
                min_depth: 1,
                max_depth: 1,
            },
            rules: Rules::AllowUndo,
        },
        offset: 0,
        rows: 1,
        columns: vec![Column::State],
        format: Format::Parquet,
        lists: false,
        part_rows: 1,
    }
}
