//! The engine against the dull oracle: whole histograms, smallest antipodes and their least words
//! for random small groups, colourings, directed lists and several roots, on every kernel of this
//! machine and for many layouts.

mod support;

use antipode_oracle as oracle;
use antipode_solver_core::bfs::enumerate::enumerate;
use antipode_solver_core::engine::{Digest, Engine, KernelChoice, ShardId};
use antipode_solver_core::perm::Perm;
use antipode_solver_core::puzzle::Puzzle;
use antipode_solver_core::space::{self, LayoutOptions};
use proptest::prelude::*;
use support::puzzle_of as puzzle;

fn kernels() -> Vec<KernelChoice> {
    [
        KernelChoice::Portable,
        KernelChoice::Avx2,
        KernelChoice::Avx512,
    ]
    .into_iter()
    .filter(|&k| k == KernelChoice::Portable || has(k))
    .collect()
}

fn has(kernel: KernelChoice) -> bool {
    let two = puzzle(&[vec![1, 0]], &[]);
    let def = space::build(&two, &LayoutOptions::default()).unwrap();
    Engine::load(&two, &def, kernel).is_ok()
}

/// Counts, level digests, and the antipodes with words.
type Answer = (Vec<u64>, Vec<Digest>, Vec<(Vec<u16>, Vec<u16>)>);

fn run(puzzle: &Puzzle, options: &LayoutOptions, kernel: KernelChoice) -> Answer {
    let def = space::build(puzzle, options).unwrap();
    let engine = Engine::load(puzzle, &def, kernel).unwrap();
    let (levels, last) = enumerate(&engine, None, None, 50, |_| ()).unwrap();
    let counts: Vec<u64> = levels.iter().map(|l| l.count).collect();
    if let Some(known) = &def.states {
        assert_eq!(
            counts.iter().sum::<u64>().to_string(),
            *known,
            "{}",
            def.states_proof
        );
    }
    let mut states: Vec<_> = last
        .iter()
        .enumerate()
        .flat_map(|(s, f)| engine.smallest(ShardId(s as u32), f, 3))
        .collect();
    states.sort();
    states.truncate(3);
    let words = engine.words(levels.len() as u32 - 1, &states, &|_, _| None, 1 << 28);
    if def.kind == "sparse" {
        return (
            counts,
            levels.iter().map(|l| l.digest).collect(),
            Vec::new(),
        );
    }
    let antipodes = states
        .iter()
        .zip(words)
        .map(|(s, w)| (s.to_vec(), w.expect("a word within the memory")))
        .collect();
    (counts, levels.iter().map(|l| l.digest).collect(), antipodes)
}

fn check(generators: &[Vec<u16>], roots: &[Vec<u16>]) {
    let puzzle = puzzle(generators, roots);
    let truth = oracle::levels(generators, roots, None);
    let counts: Vec<u64> = truth.iter().map(|l| l.len() as u64).collect();
    let antipodes: Vec<(Vec<u16>, Vec<u16>)> = truth[truth.len() - 1]
        .iter()
        .take(3)
        .map(|s| (s.clone(), oracle::least_word(generators, roots, s).unwrap()))
        .collect();
    let mut of_default_layout: Option<Vec<Digest>> = None;
    for (min_shards, max_leaf, max_superblock, kind) in [
        (None, None, None, None),
        (Some(2), None, None, None),
        (Some(7), Some(7), None, None),
        (Some(3), Some(64), Some(30), None),
        (None, Some(1), Some(1), None),
        (Some(3), None, None, Some("table".to_string())),
        (Some(2), None, None, Some("sparse".to_string())),
    ] {
        let default_layout = max_leaf.is_none() && kind.is_none();
        let indexed = kind.as_deref() != Some("sparse");
        let options = LayoutOptions {
            min_shards,
            max_leaf,
            max_superblock,
            kind,
            depth: Some(1000),
        };
        let mut of_layout: Option<Vec<Digest>> = None;
        for kernel in kernels() {
            let (got, digests, got_antipodes) = run(&puzzle, &options, kernel);
            assert_eq!(
                got, counts,
                "{generators:?} {roots:?} {options:?} {kernel:?}"
            );
            assert!(
                !indexed || got_antipodes == antipodes,
                "{generators:?} {roots:?} {options:?} {kernel:?}"
            );
            assert_eq!(
                of_layout.get_or_insert(digests.clone()),
                &digests,
                "{options:?} {kernel:?}"
            );
            if default_layout {
                // Cutting the same index into more shards changes no digest.
                assert_eq!(
                    of_default_layout.get_or_insert(digests.clone()),
                    &digests,
                    "{options:?}"
                );
            }
        }
    }
}

fn permutation(n: usize) -> impl Strategy<Value = Vec<u16>> {
    Just((0..n as u16).collect::<Vec<u16>>()).prop_shuffle()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn random_groups(generators in (1usize..8).prop_flat_map(|n| prop::collection::vec(permutation(n), 1..4))) {
        let root: Vec<u16> = (0..generators[0].len() as u16).collect();
        check(&generators, &[root]);
    }

    #[test]
    fn inverse_closed_groups(mut generators in (2usize..8).prop_flat_map(|n| prop::collection::vec(permutation(n), 1..3))) {
        let inverses: Vec<Vec<u16>> =
            generators.iter().map(|p| Perm::from_images(p).unwrap().inverse().into()).collect();
        generators.extend(inverses);
        let root: Vec<u16> = (0..generators[0].len() as u16).collect();
        check(&generators, &[root]);
    }

    #[test]
    fn colourings_and_several_roots(
        (generators, roots) in (2usize..8).prop_flat_map(|n| (
            prop::collection::vec(permutation(n), 1..4),
            prop::collection::vec(prop::collection::vec(0u16..3, n), 1..4),
        ))
    ) {
        check(&generators, &roots);
    }

    #[test]
    fn several_roots_with_distinct_labels(
        (generators, roots) in (2usize..7).prop_flat_map(|n| (
            prop::collection::vec(permutation(n), 1..3),
            prop::collection::vec(permutation(n), 2..4),
        ))
    ) {
        check(&generators, &roots);
    }
}

/// Every number of states from 1 to 200: cyclic groups, one of each order, forwards only and closed.
#[test]
fn all_small_sizes() {
    for n in 1..=200u16 {
        let shift: Vec<u16> = (0..n).map(|i| (i + 1) % n).collect();
        let back: Vec<u16> = (0..n).map(|i| (i + n - 1) % n).collect();
        let root: Vec<u16> = (0..n).collect();
        for (generators, eccentricity) in [
            (vec![shift.clone()], usize::from(n) - 1),
            (vec![shift.clone(), back], usize::from(n) / 2),
        ] {
            let puzzle = puzzle(&generators, std::slice::from_ref(&root));
            for min_shards in [None, Some(3)] {
                let options = LayoutOptions {
                    min_shards,
                    ..Default::default()
                };
                for kernel in kernels() {
                    let (counts, _, antipodes) = run(&puzzle, &options, kernel);
                    assert_eq!(
                        counts,
                        oracle::level_counts(&generators, std::slice::from_ref(&root), None)
                    );
                    assert_eq!(counts.len() - 1, eccentricity, "n = {n}");
                    assert_eq!(antipodes[0].1.len(), eccentricity);
                }
            }
        }
    }
}

/// The same counts, digests and antipodes for 1, 2 and 3 threads.
#[test]
fn threads_do_not_matter() {
    let n = 8u16;
    let generators: Vec<Vec<u16>> = (2..=n)
        .map(|k| (0..n).map(|i| if i < k { k - 1 - i } else { i }).collect())
        .collect();
    let puzzle = puzzle(&generators, &[]);
    let options = LayoutOptions {
        min_shards: Some(4),
        ..Default::default()
    };
    let answers: Vec<Answer> = (1..=3)
        .map(|threads| {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            pool.install(|| run(&puzzle, &options, KernelChoice::Auto))
        })
        .collect();
    let root: Vec<u16> = (0..n).collect();
    assert_eq!(
        answers[0].0,
        oracle::level_counts(&generators, &[root], None)
    );
    assert_eq!(answers[0], answers[1]);
    assert_eq!(answers[0], answers[2]);
}
