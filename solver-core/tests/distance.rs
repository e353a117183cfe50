//! Distance databases against the dull oracle: every state's distance and least shortest word, for random
//! small groups, colourings and several roots, in every block kind that has an index; directed lists from
//! their kept levels. And the packed form against bytes from anywhere.

mod support;

use antipode_oracle as oracle;
use antipode_solver_core::bfs::enumerate::enumerate_with;
use antipode_solver_core::bfs::frontier::{Frontier, ShardGeometry};
use antipode_solver_core::distance::{
    Answer, Builder, Numbering, PackedDistances, Question, expected_digest,
};
use antipode_solver_core::engine::{Digest, Engine, KernelChoice, Level, ShardId};
use antipode_solver_core::perm::Perm;
use antipode_solver_core::puzzle::{Puzzle, PuzzleOptions, resolve};
use antipode_solver_core::space::{self, LayoutOptions};
use proptest::prelude::*;
use std::sync::Arc;
use support::puzzle_of as puzzle;

fn load(puzzle: &Puzzle, kind: Option<&str>, min_shards: u32) -> Engine {
    let options = LayoutOptions {
        min_shards: Some(min_shards),
        kind: kind.map(str::to_string),
        ..Default::default()
    };
    let def = space::build(puzzle, &options).unwrap();
    Engine::load(puzzle, &def, KernelChoice::Auto).unwrap()
}

/// `[level][shard]`.
fn levels_of(engine: &Engine) -> Vec<Vec<Arc<Frontier>>> {
    let mut out = Vec::new();
    enumerate_with(engine, None, None, 4, |_, shards| {
        out.push(shards.iter().cloned().map(Arc::new).collect());
    })
    .unwrap();
    out
}

/// The distances of all shards, taken through bytes and compared with what the levels say.
fn packed(engine: &Engine, levels: &[Vec<Arc<Frontier>>]) -> Vec<Option<Arc<PackedDistances>>> {
    (0..engine.shards())
        .map(|s| {
            let shard = ShardId(s);
            let of_shard = || {
                levels
                    .iter()
                    .enumerate()
                    .map(|(l, shards)| (l as Level, shards[s as usize].as_ref()))
            };
            let numbering = engine.numbering(shard).unwrap();
            let made = PackedDistances::build(numbering, of_shard()).unwrap();
            let mut population = [0; 3];
            of_shard().for_each(|(l, f)| population[l as usize % 3] += f.count());
            assert_eq!(made.population(), population);
            let digests: Vec<(Level, Digest)> = of_shard()
                .map(|(l, f)| (l, engine.digest(shard, f)))
                .collect();
            assert_eq!(
                engine.distance_digest(shard, &made),
                expected_digest(digests)
            );
            let bytes = made.encode();
            let states = engine.geometry(shard).states;
            assert_eq!(bytes.len() as u64, 13 + states.div_ceil(5));
            let back = PackedDistances::decode(engine.geometry(shard), &bytes).unwrap();
            assert_eq!(back, made);
            Some(Arc::new(back))
        })
        .collect()
}

/// Every state of a puzzle, asked as a labelling.
fn check(generators: &[Vec<u16>], roots: &[Vec<u16>]) {
    let puzzle = puzzle(generators, roots);
    let truth = oracle::levels(generators, roots, None);
    let last = truth.len() as Level - 1;
    let mut asked = Vec::new();
    let mut wanted = Vec::new();
    for (distance, level) in truth.iter().enumerate() {
        // Words of the oracle are slow: of large levels some states.
        for state in level.iter().step_by(level.len().div_ceil(25)) {
            asked.push(Question::State(state.clone().into()));
            wanted.push(Ok(Answer {
                distance: distance as Level,
                word: oracle::least_word(generators, roots, state).unwrap(),
            }));
        }
    }
    for (kind, shards) in [(None, 1), (None, 5), (Some("table"), 2)] {
        let engine = load(&puzzle, kind, shards);
        let levels = levels_of(&engine);
        let kept = |l: Level, s: ShardId| Some(levels[l as usize][s.0 as usize].clone());
        assert_eq!(engine.query_levels(&kept, last, &asked), wanted, "{kind:?}");
        let none = |_: Level, _: ShardId| None;
        let none = engine.query_levels(&none, last, &asked[..1]);
        assert!(none[0].as_ref().unwrap_err().contains("is not at hand"));
        if engine.is_directed() {
            let refused = engine.query(&Vec::new(), last, &asked);
            assert!(refused[0].as_ref().unwrap_err().contains("not closed"));
            continue;
        }
        let distances = packed(&engine, &levels);
        assert_eq!(engine.query(&distances, last, &asked), wanted, "{kind:?}");
        // The same states as words, in any detour.
        let words: Vec<Question> = wanted
            .iter()
            .map(|a| Question::Word(a.as_ref().unwrap().word.clone()))
            .collect();
        if roots.len() == 1 {
            assert_eq!(engine.query(&distances, last, &words), wanted, "{kind:?}");
        }
    }
}

fn permutation(n: usize) -> impl Strategy<Value = Vec<u16>> {
    Just((0..n as u16).collect::<Vec<u16>>()).prop_shuffle()
}

fn closed(mut generators: Vec<Vec<u16>>) -> Vec<Vec<u16>> {
    let inverses: Vec<Vec<u16>> = generators
        .iter()
        .map(|p| Perm::from_images(p).unwrap().inverse().into())
        .collect();
    generators.extend(inverses);
    generators
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 30, ..ProptestConfig::default() })]

    #[test]
    fn groups(generators in (2usize..7).prop_flat_map(|n| prop::collection::vec(permutation(n), 1..3))) {
        let root: Vec<u16> = (0..generators[0].len() as u16).collect();
        check(&closed(generators), &[root]);
    }

    #[test]
    fn directed_groups(generators in (2usize..7).prop_flat_map(|n| prop::collection::vec(permutation(n), 1..3))) {
        let root: Vec<u16> = (0..generators[0].len() as u16).collect();
        check(&generators, &[root]);
    }

    #[test]
    fn colourings_and_several_roots(
        (generators, roots, directed) in (2usize..8).prop_flat_map(|n| (
            prop::collection::vec(permutation(n), 1..3),
            prop::collection::vec(prop::collection::vec(0u16..3, n), 1..4),
            any::<bool>(),
        ))
    ) {
        let generators = if directed { generators } else { closed(generators) };
        check(&generators, &roots);
    }

    #[test]
    fn several_roots_with_distinct_labels(
        (generators, roots) in (2usize..6).prop_flat_map(|n| (
            prop::collection::vec(permutation(n), 1..3),
            prop::collection::vec(permutation(n), 2..4),
        ))
    ) {
        check(&closed(generators), &roots);
    }

    /// Whatever the bytes: distances of the shard that encode to the same bytes, or a sentence.
    #[test]
    fn no_bytes_panic(
        head in prop_oneof![Just(1u8), any::<u8>()],
        (group, used) in prop::sample::select(vec![(64u32, 54u32), (64, 64), (128, 108), (0, 0), (7, 3), (u32::MAX, 1)]),
        last in any::<u32>(),
        body in prop_oneof![
            prop::collection::vec(0u8..245, 65),
            prop::collection::vec(any::<u8>(), 0..80),
        ],
        cut in 0usize..80,
        blocks in 0u32..4,
    ) {
        let geometry = ShardGeometry { blocks, words: 2, states: u64::from(blocks) * 108 };
        let mut bytes = vec![head];
        for n in [group, used, last] {
            bytes.extend(n.to_le_bytes());
        }
        bytes.extend(body);
        bytes.truncate(cut.max(bytes.len().saturating_sub(cut)));
        if let Ok(distances) = PackedDistances::decode(geometry, &bytes) {
            prop_assert_eq!(distances.encode(), bytes);
            prop_assert_eq!(distances.population().iter().sum::<u64>(), geometry.states);
            prop_assert_eq!(distances.get(0).is_some(), true);
            prop_assert_eq!(distances.get(63).is_some(), used == 64);
            for residue in 0..3 {
                let set = distances.residue(residue);
                prop_assert_eq!(set.count(), distances.population()[usize::from(residue)]);
            }
        }
    }
}

#[test]
fn a_wrong_byte_is_named() {
    let geometry = ShardGeometry {
        blocks: 3,
        words: 2,
        states: 324,
    };
    let mut good = vec![1];
    for n in [64u32, 54, 9] {
        good.extend(n.to_le_bytes());
    }
    good.extend(vec![121; 65]);
    let refused = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = good.clone();
        change(&mut bytes);
        PackedDistances::decode(geometry, &bytes)
            .unwrap_err()
            .to_string()
    };
    // 324 states leave one trit of the last byte unused: 40 = 1 + 3 + 9 + 27.
    assert!(refused(&|_| ()).contains("something follows the last state"));
    good[13 + 64] = 40;
    assert!(PackedDistances::decode(geometry, &good).is_ok());
    let refused = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = good.clone();
        change(&mut bytes);
        PackedDistances::decode(geometry, &bytes)
            .unwrap_err()
            .to_string()
    };
    assert!(refused(&|b| b[20] = 243).contains("byte 7 is 243"));
    assert!(refused(&|b| b[0] = 2).contains("version 2"));
    assert!(refused(&|b| b.truncate(12)).contains("cut off"));
    assert!(refused(&|b| b.push(0)).contains("66 bytes instead of 65"));
    assert!(refused(&|b| b[5] = 55).contains("55 states in every 64 positions"));
}

/// Levels that are no partition of the states are refused.
#[test]
fn every_state_has_one_distance() {
    let named = resolve("topspin:8,4", &PuzzleOptions::default()).unwrap();
    for kind in [None, Some("table")] {
        let engine = load(&named, kind, 1);
        let levels = levels_of(&engine);
        let numbering: Numbering = engine.numbering(ShardId(0)).unwrap();
        let mut builder = Builder::new(numbering);
        for (l, shards) in levels.iter().enumerate().skip(1) {
            builder.add(l as Level, &shards[0]).unwrap();
        }
        let missing = builder.clone().finish().unwrap_err().to_string();
        assert_eq!(
            missing,
            "40319 of the 40320 states of the shard have a distance"
        );
        for level in &levels[1..] {
            let twice = builder.clone().add(0, &level[0]).unwrap_err().to_string();
            assert!(twice.contains("has a distance already"), "{twice}");
        }
        let other = load(&named, kind, 4);
        let other = other.roots(ShardId(0));
        let shape = builder.clone().add(0, &other).unwrap_err().to_string();
        assert!(shape.contains("another shape"), "{shape}");
        builder.add(0, &levels[0][0]).unwrap();
        assert!(builder.finish().is_ok());
    }
}

/// What has no answer is a sentence, and answers nothing else.
#[test]
fn questions_without_an_answer() {
    let named = resolve("lrx:8", &PuzzleOptions::default()).unwrap();
    let engine = load(&named, None, 3);
    let levels = levels_of(&engine);
    let last = levels.len() as Level - 1;
    let mut distances = packed(&engine, &levels);
    let mut lost = 0;
    let root: Vec<u16> = (0..8).collect();
    let ask = |distances: &Vec<Option<Arc<PackedDistances>>>, q: Question| {
        let both = engine.query(distances, last, &[q, Question::State(root.clone().into())]);
        both[0].clone()
    };
    let no_state = ask(
        &distances,
        Question::State(vec![0, 0, 1, 2, 3, 4, 5, 6].into()),
    );
    assert!(no_state.unwrap_err().contains("not in the space"));
    let short = ask(&distances, Question::State(vec![0, 1].into()));
    assert!(short.unwrap_err().contains("not in the space"));
    let word = ask(&distances, Question::Word(vec![0, 3]));
    assert!(
        word.unwrap_err()
            .contains("generator 3 is not one of the 3")
    );
    assert_eq!(
        ask(&distances, Question::Word(vec![])),
        Ok(Answer {
            distance: 0,
            word: vec![]
        })
    );
    assert_eq!(
        ask(
            &distances,
            Question::Word(vec![0, 0, 0, 0, 0, 0, 0, 0, 2, 1])
        ),
        Ok(Answer {
            distance: 2,
            word: vec![2, 1]
        })
    );
    for gone in 0..distances.len() {
        // A root's neighbours lie in other shards: without them only the root itself is known.
        let missing = distances[gone].take();
        let answer = ask(&distances, Question::Word(vec![0]));
        if let Err(why) = answer {
            assert_eq!(
                why,
                format!("the distances of shard {gone} are not at hand")
            );
            lost += 1;
        }
        distances[gone] = missing;
    }
    assert!(lost > 0);

    // Distances that are not this space's lead nowhere, in a bounded number of steps.
    let flat: Vec<Option<Arc<PackedDistances>>> = (0..engine.shards())
        .map(|s| {
            let geometry = engine.geometry(ShardId(s));
            let bytes = packed(&engine, &levels)[s as usize]
                .as_ref()
                .unwrap()
                .encode();
            let body = vec![0; bytes.len() - 13];
            PackedDistances::decode(geometry, &[&bytes[..13], &body].concat())
                .ok()
                .map(Arc::new)
        })
        .collect();
    let nowhere = ask(&flat, Question::Word(vec![2, 1]));
    assert!(nowhere.unwrap_err().contains("do not lead"));

    let sparse = LayoutOptions {
        kind: Some("sparse".into()),
        depth: Some(3),
        ..Default::default()
    };
    let def = space::build(&named, &sparse).unwrap();
    let sparse = Engine::load(&named, &def, KernelChoice::Auto).unwrap();
    assert_eq!(sparse.numbering(ShardId(0)), None);
    for answer in [
        &sparse.query(&distances, 3, &[Question::Word(vec![0])])[0],
        &sparse.query_levels(&|_, _| None, 3, &[Question::Word(vec![0])])[0],
    ] {
        assert!(answer.as_ref().unwrap_err().contains("no index"));
    }
}

/// A product of independent coordinates, where least words need all shortest paths.
#[test]
fn words_in_a_product_are_those_of_the_search_from_both_ends() {
    let options = PuzzleOptions {
        root: Some("0,0,0,0,0,0,1,1,1,1,1,1".into()),
        ..Default::default()
    };
    for spec in ["lrx:12", "lx:12", "topspin:12,4"] {
        let named = resolve(spec, &options).unwrap();
        let engine = load(&named, Some("product"), 1);
        assert_eq!(engine.kind(), "product");
        let levels = levels_of(&engine);
        let last = levels.len() as Level - 1;
        let kept = |l: Level, s: ShardId| Some(levels[l as usize][s.0 as usize].clone());
        for (l, level) in levels.iter().enumerate() {
            let states = engine.smallest(ShardId(0), &level[0], 10);
            let words = engine.words(l as Level, &states, &|_, _| None, 1 << 28);
            let wanted: Vec<Result<Answer, String>> = words
                .into_iter()
                .map(|w| {
                    w.map(|word| Answer {
                        distance: l as Level,
                        word,
                    })
                })
                .collect();
            let asked: Vec<Question> = states.into_iter().map(Question::State).collect();
            assert_eq!(engine.query_levels(&kept, last, &asked), wanted);
            if !engine.is_directed() {
                let distances = packed(&engine, &levels);
                assert_eq!(engine.query(&distances, last, &asked), wanted);
            }
        }
    }
}
