//! Verification against the dull oracle and the engine, and against engines with a planted wrong table: what
//! the kernels did wrong without noticing is found by raw permutations and the slow ranking.

mod support;

use antipode_oracle as oracle;
use antipode_solver_core::bfs::enumerate::enumerate_with;
use antipode_solver_core::bfs::frontier::Frontier;
use antipode_solver_core::distance::PackedDistances;
use antipode_solver_core::engine::{Digest, Engine, EngineError, KernelChoice, Level, ShardId};
use antipode_solver_core::perm::Perm;
use antipode_solver_core::puzzle::{Puzzle, PuzzleOptions, resolve};
use antipode_solver_core::space::{self, LayoutOptions, PlantedFault, SpaceDef};
use antipode_solver_core::verify::Verifier;
use proptest::prelude::*;
use std::sync::Arc;
use support::puzzle_of as puzzle;

fn named(spec: &str, root: Option<&str>) -> Puzzle {
    let options = PuzzleOptions {
        root: root.map(str::to_string),
        ..Default::default()
    };
    resolve(spec, &options).unwrap()
}

fn built(puzzle: &Puzzle, kind: Option<&str>, min_shards: u32) -> SpaceDef {
    let options = LayoutOptions {
        min_shards: Some(min_shards),
        kind: kind.map(str::to_string),
        depth: Some(1000),
        ..Default::default()
    };
    space::build(puzzle, &options).unwrap()
}

/// By level: counts, digests and frontiers by shard.
struct Run {
    levels: Vec<Vec<(u64, Digest)>>,
    kept: Vec<Vec<Arc<Frontier>>>,
}

impl Run {
    /// Without certificates, as far as `limit`.
    fn of(engine: &Engine, limit: Option<Level>) -> Result<Run, EngineError> {
        let mut run = Run {
            levels: Vec::new(),
            kept: Vec::new(),
        };
        enumerate_with(engine, limit, None, 0, |_, sets| {
            let shards = (0..).map(ShardId).zip(sets);
            run.levels.push(
                shards
                    .map(|(s, f)| (f.count(), engine.digest(s, f)))
                    .collect(),
            );
            run.kept.push(sets.iter().cloned().map(Arc::new).collect());
        })?;
        Ok(run)
    }

    fn counts(&self) -> Vec<u64> {
        let level = |l: &Vec<(u64, Digest)>| l.iter().map(|(count, _)| count).sum();
        self.levels.iter().map(level).collect()
    }

    fn kept(&self, level: Level, shard: ShardId) -> Option<Arc<Frontier>> {
        Some(self.kept.get(level as usize)?[shard.0 as usize].clone())
    }

    fn last(&self) -> Level {
        self.levels.len() as Level - 1
    }
}

/// What verification makes of it.
fn verified(verifier: &Verifier, limit: Option<Level>) -> Vec<Vec<(u64, Digest)>> {
    let levels = verifier.levels(limit);
    levels.map(|level| level.unwrap().shards).collect()
}

/// Engine and verifier agree in every count and digest, and every kept frontier passes.
fn check(puzzle: &Puzzle, kind: Option<&str>, min_shards: u32) -> Vec<u64> {
    let def = built(puzzle, kind, min_shards);
    let engine = Engine::load(puzzle, &def, KernelChoice::Auto).unwrap();
    let verifier = Verifier::load(puzzle, &def).unwrap();
    let run = Run::of(&engine, None).unwrap();
    assert_eq!(verified(&verifier, None), run.levels, "{}", def.layout);
    for s in (0..engine.shards()).map(ShardId) {
        assert_eq!(verifier.sources(s).unwrap(), engine.sources(s));
        assert_eq!(verifier.geometry(s), engine.geometry(s));
    }
    assert_eq!(
        verified(&verifier, Some(2)),
        run.levels[..run.levels.len().min(3)]
    );
    let kept = |l: Level, s: ShardId| run.kept(l, s);
    for (l, shards) in run.levels.iter().enumerate() {
        for (s, &(count, digest)) in shards.iter().enumerate() {
            let (level, shard) = (l as Level, ShardId(s as u32));
            verifier
                .check_exactly(level, shard, &kept, count, digest)
                .unwrap();
            let sampled = verifier.check_sample(level, shard, run.last(), &kept, 20, 7);
            match sampled {
                Ok(done) => assert_eq!(
                    done.successors,
                    count.min(20) * puzzle.generators().len() as u64
                ),
                Err(error) => {
                    assert_eq!(def.kind, "sparse");
                    assert!(error.to_string().contains("no index"), "{error}");
                }
            }
        }
    }
    run.counts()
}

fn check_all(generators: &[Vec<u16>], roots: &[Vec<u16>]) {
    let puzzle = puzzle(generators, roots);
    let truth = oracle::level_counts(generators, roots, None);
    for (kind, shards) in [
        (None, 1),
        (None, 5),
        (Some("table"), 2),
        (Some("sparse"), 3),
    ] {
        assert_eq!(check(&puzzle, kind, shards), truth, "{kind:?}");
    }
}

fn permutation(n: usize) -> impl Strategy<Value = Vec<u16>> {
    Just((0..n as u16).collect::<Vec<u16>>()).prop_shuffle()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 30, ..ProptestConfig::default() })]

    #[test]
    fn groups(
        (mut generators, directed) in (2usize..7).prop_flat_map(|n| (
            prop::collection::vec(permutation(n), 1..3), any::<bool>(),
        ))
    ) {
        if !directed {
            let inverses: Vec<Vec<u16>> = generators
                .iter()
                .map(|p| Perm::from_images(p).unwrap().inverse().into())
                .collect();
            generators.extend(inverses);
        }
        let root: Vec<u16> = (0..generators[0].len() as u16).collect();
        check_all(&generators, &[root]);
    }

    #[test]
    fn colourings_and_several_roots(
        (generators, roots) in (2usize..8).prop_flat_map(|n| (
            prop::collection::vec(permutation(n), 1..4),
            prop::collection::vec(prop::collection::vec(0u16..3, n), 1..4),
        ))
    ) {
        check_all(&generators, &roots);
    }
}

const TWO: &str = "0,0,0,0,0,0,1,1,1,1,1,1";

/// Larger graphs, in which levels are dense too.
#[test]
fn larger_graphs_of_every_kind() {
    for (spec, root, kind) in [
        ("topspin:9,4", None, "chain"),
        ("lx:8", None, "chain"),
        ("topspin:12,4", Some(TWO), "product"),
        ("lx:12", Some(TWO), "product"),
        ("lrx:8", None, "table"),
        ("lx:7", None, "table"),
        ("lrx:7", None, "sparse"),
    ] {
        check(&named(spec, root), Some(kind), 4);
    }
}

/// Faults of each sort that are planted in each graph.
const SEEDS: u64 = 8;

/// Does anything that verification offers for this run object to it?
fn is_caught(verifier: &Verifier, truth: &[Vec<(u64, Digest)>], run: &Run) -> bool {
    let by_levels = run.levels != truth;
    let kept = |l: Level, s: ShardId| run.kept(l, s);
    let mut exactly = false;
    for (l, shards) in run.levels.iter().enumerate() {
        for (s, &(count, digest)) in shards.iter().enumerate() {
            let shard = ShardId(s as u32);
            let one = verifier.check_exactly(l as Level, shard, &kept, count, digest);
            exactly |= one.is_err();
        }
    }
    // The whole run and the levels one by one say the same.
    assert!(!exactly || by_levels);
    by_levels && exactly
}

#[test]
fn planted_wrong_tables_are_caught() {
    for (spec, root, kind) in [
        ("lrx:8", None, "chain"),
        ("lx:8", None, "chain"),
        ("lrx:12", Some(TWO), "product"),
        ("lx:12", Some(TWO), "product"),
        ("lrx:7", None, "table"),
        ("lx:7", None, "table"),
        ("lrx:6", None, "sparse"),
    ] {
        let puzzle = named(spec, root);
        let def = built(&puzzle, Some(kind), 4);
        assert_eq!(def.kind, kind);
        let verifier = Verifier::load(&puzzle, &def).unwrap();
        let truth = verified(&verifier, None);
        let counts: Vec<u64> = truth.iter().map(|l| l.iter().map(|s| s.0).sum()).collect();
        let (mut wrong, mut counts_right) = (0, 0);
        for seed in 0..SEEDS {
            for fault in [PlantedFault::Entry(seed), PlantedFault::Renamed(seed)] {
                let engine = Engine::load(&puzzle, &def, KernelChoice::Auto).unwrap();
                let engine = engine.with_planted_fault(fault).unwrap();
                let run = Run::of(&engine, Some(truth.len() as Level)).unwrap();
                let differs = run.levels != truth;
                assert_eq!(
                    is_caught(&verifier, &truth, &run),
                    differs,
                    "{spec} {kind} {fault:?}"
                );
                wrong += u32::from(differs && matches!(fault, PlantedFault::Entry(_)));
                if let PlantedFault::Renamed(_) = fault {
                    assert_eq!(run.counts(), counts, "{spec} {kind} {fault:?}");
                    counts_right += u32::from(differs);
                }
            }
        }
        println!(
            "{spec} {kind}: of {SEEDS} wrong entries {wrong} show, of renamed places {counts_right}"
        );
        assert!(wrong >= 1, "{spec} {kind}: {wrong}");
        assert!(counts_right >= 4, "{spec} {kind}: {counts_right}");
    }
}

/// A sample of kept frontiers finds the same faults where they are frequent, and names what is missing.
#[test]
fn samples_of_kept_frontiers() {
    let puzzle = named("lrx:8", None);
    let def = built(&puzzle, None, 4);
    let verifier = Verifier::load(&puzzle, &def).unwrap();
    let load = || Engine::load(&puzzle, &def, KernelChoice::Auto).unwrap();
    let good = Run::of(&load(), None).unwrap();
    let engine = load().with_planted_fault(PlantedFault::Renamed(1)).unwrap();
    let bad = Run::of(&engine, None).unwrap();
    assert_eq!(good.counts(), bad.counts());
    let complaints = |run: &Run| {
        let kept = |l: Level, s: ShardId| run.kept(l, s);
        let mut out = Vec::new();
        for level in 0..=run.last() {
            for s in 0..verifier.shards() {
                let last = run.last();
                let done = verifier.check_sample(level, ShardId(s), last, &kept, 50, 3);
                out.extend(done.err().map(|e| e.to_string()));
            }
        }
        out
    };
    assert_eq!(complaints(&good), [""; 0]);
    let found = complaints(&bad);
    assert!(found.len() > 10, "{found:?}");
    assert!(found[0].starts_with("internal error: verification of level "));

    let gone = |l: Level, s: ShardId| (l != 4).then(|| good.kept(l, s)).flatten();
    let shard = (0..).find(|&s| good.levels[5][s].0 > 0).unwrap() as u32;
    let missing = verifier.check_sample(5, ShardId(shard), good.last(), &gone, 5, 1);
    assert!(missing.unwrap_err().to_string().contains("frontier(4, "));
    let missing = verifier.check_exactly(5, ShardId(0), &gone, 1, Digest(0));
    assert!(missing.unwrap_err().to_string().contains("frontier(4, "));
    let kept = |l: Level, s: ShardId| good.kept(l, s);
    let wrong = verifier.check_exactly(5, ShardId(0), &kept, 1, Digest(0));
    assert!(
        wrong
            .unwrap_err()
            .to_string()
            .contains("accepted were 1 states")
    );
}

#[test]
fn distances_are_checked_by_walking() {
    for (spec, root, kind) in [
        ("topspin:8,4", None, "chain"),
        ("lrx:12", Some(TWO), "product"),
        ("lrx:6", None, "table"),
    ] {
        let puzzle = named(spec, root);
        let def = built(&puzzle, Some(kind), 1);
        let engine = Engine::load(&puzzle, &def, KernelChoice::Auto).unwrap();
        let verifier = Verifier::load(&puzzle, &def).unwrap();
        let run = Run::of(&engine, None).unwrap();
        let last = run.last();
        let of_shard = |s: usize| {
            let levels = run.kept.iter().enumerate();
            levels.map(move |(l, shards)| (l as Level, shards[s].as_ref()))
        };
        let good: Vec<Option<Arc<PackedDistances>>> = (0..engine.shards())
            .map(|s| {
                let numbering = engine.numbering(ShardId(s)).unwrap();
                let made = PackedDistances::build(numbering, of_shard(s as usize)).unwrap();
                let counts = of_shard(s as usize).map(|(l, f)| (l, f.count()));
                made.check_population(ShardId(s), counts).unwrap();
                Some(Arc::new(made))
            })
            .collect();
        for s in (0..engine.shards()).map(ShardId) {
            let states = engine.geometry(s).states;
            let checked = verifier.check_distances(&good, s, last, 300, 5).unwrap();
            assert_eq!(checked, states.min(300));
        }
        // One trit of one state is wrong: all states together notice, and so do population and digest.
        let shard = ShardId(0);
        let right = good[0].as_ref().unwrap();
        let bytes = right.encode();
        let mut caught = 0;
        for (k, at) in (13..bytes.len() - 1).step_by(bytes.len() / 7).enumerate() {
            let mut altered = bytes.clone();
            let value = altered[at];
            altered[at] = if value % 3 == 2 { value - 2 } else { value + 1 };
            let wrong = PackedDistances::decode(engine.geometry(shard), &altered).unwrap();
            let counts = of_shard(0).map(|(l, f)| (l, f.count()));
            assert!(wrong.check_population(shard, counts).is_err());
            assert_ne!(
                engine.distance_digest(shard, &wrong),
                engine.distance_digest(shard, right)
            );
            let mut some = good.clone();
            some[0] = Some(Arc::new(wrong));
            let error = verifier.check_distances(&some, shard, last, u32::MAX, k as u64);
            assert!(error.unwrap_err().to_string().contains("position"));
            caught += 1;
        }
        assert!(caught >= 6);
        let nothing: Vec<Option<Arc<PackedDistances>>> = vec![None];
        let error = verifier.check_distances(&nothing, shard, last, 5, 1);
        assert!(error.unwrap_err().to_string().contains("not at hand"));
    }
}

#[test]
fn an_altered_index_is_refused() {
    let puzzle = named("topspin:8,4", None);
    let def = built(&puzzle, None, 8);
    type Change<'a> = &'a dyn Fn(&mut SpaceDef);
    let cases: [Change<'_>; 6] = [
        &|d| d.shards += 1,
        &|d| d.directed = !d.directed,
        &|d| d.kind = "table".into(),
        &|d| d.shard_states[0] -= 1,
        &|d| d.states = Some("40321".into()),
        &|d| d.body.truncate(100),
    ];
    for change in cases {
        let mut other = def.clone();
        change(&mut other);
        assert!(Verifier::load(&puzzle, &other).is_err());
    }
    assert!(Verifier::load(&named("topspin:9,4", None), &def).is_err());
}
