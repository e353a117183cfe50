//! All pairs of states: every method against Floyd and Warshall on random graphs, against cayleyR's values, and
//! against each other on the families up to 40,320 states.

mod support;

use antipode_oracle::{self as oracle, pairs};
use antipode_solver_core::batch::{Batch, Stop};
use antipode_solver_core::bfs::enumerate::enumerate;
use antipode_solver_core::engine::{Engine, EngineError, KernelChoice, ShardId};
use antipode_solver_core::perm::Perm;
use antipode_solver_core::puzzle::{Puzzle, PuzzleOptions, State, resolve};
use antipode_solver_core::space::{self, LayoutOptions};
use antipode_solver_core::survey::diameter::{
    AllPairs, Answer, DiameterSpec, Graph, LastLevel, Pair, Route, Summary, SurveyError, Symmetry,
    Transitivity, answer_by_transitivity, bounds, mean, smallest_states,
};
use proptest::prelude::*;
use serde_json::Value;
use support::puzzle_of;

const MEMORY: u64 = 1 << 30;

fn named(spec: &str, root: Option<&str>, moves: Option<&str>) -> Puzzle {
    let options = PuzzleOptions {
        root: root.map(Into::into),
        moves: moves.map(Into::into),
        ..PuzzleOptions::default()
    };
    resolve(spec, &options).unwrap_or_else(|e| panic!("{spec}: {e}"))
}

/// All items, the last one first: the order must not matter.
fn by_all_pairs(puzzle: &Puzzle, reduced: bool, max_pairs: usize) -> Answer {
    let graph = Graph::build(puzzle, MEMORY).unwrap();
    let symmetry = match reduced {
        true => Symmetry::of(puzzle, &graph),
        false => Symmetry::none("by force"),
    };
    let all = AllPairs::new(graph, symmetry);
    let mut sum = Summary::default();
    let mut states = 0;
    for item in (0..all.items()).rev() {
        let part = all.run(item, max_pairs, &|| false).unwrap();
        assert_eq!(part.sources(), all.states_of(item));
        states += all.states_of(item);
        sum.merge(&part, max_pairs);
    }
    assert_eq!(states, u64::from(all.graph().states()));
    all.finish(&sum, max_pairs, false, String::new()).unwrap()
}

/// Level counts and the last level with its words, by the engine.
fn search(puzzle: &Puzzle, listed: usize) -> (Vec<u128>, Vec<(State, Vec<u16>)>) {
    let def = space::build(puzzle, &LayoutOptions::default()).unwrap();
    let engine = Engine::load(puzzle, &def, KernelChoice::Auto).unwrap();
    let (levels, last) = enumerate(&engine, None, None, 10, |_| ()).unwrap();
    let mut states: Vec<State> = last
        .iter()
        .enumerate()
        .flat_map(|(s, f)| engine.smallest(ShardId(s as u32), f, listed))
        .collect();
    states.sort();
    states.truncate(listed);
    let words = engine.words(levels.len() as u32 - 1, &states, &|_, _| None, MEMORY);
    (
        levels.iter().map(|l| l.count.into()).collect(),
        states
            .into_iter()
            .zip(words.into_iter().map(Result::unwrap))
            .collect(),
    )
}

/// The answer by transitivity; `None` where the graph is not proved transitive.
fn by_transitivity(puzzle: &Puzzle, max_pairs: usize, listed: usize) -> Option<Answer> {
    let transitivity = Transitivity::of(puzzle).unwrap();
    if !transitivity.is_regular() {
        return None;
    }
    let (counts, states) = search(puzzle, listed);
    let last = LastLevel {
        states: &states,
        mutual: None,
    };
    Some(answer_by_transitivity(puzzle, &transitivity, &counts, &last, max_pairs).unwrap())
}

/// What two answers must share, whatever the method.
type Content<'a> = (
    Option<u32>,
    Option<u32>,
    &'a Option<Vec<u128>>,
    &'a Option<Vec<u128>>,
    u128,
    Option<u128>,
    &'a [Pair],
);

fn content(answer: &Answer) -> Content<'_> {
    let pairs = answer.pairs.as_ref().unwrap();
    (
        answer.diameter,
        answer.radius,
        &answer.eccentricities,
        &answer.distances,
        pairs.ordered,
        pairs.unordered,
        &pairs.list,
    )
}

fn assert_same(a: &Answer, b: &Answer, what: &str) {
    assert_eq!(content(a), content(b), "{what}");
}

/// Bounds must find diameter and radius of `answer`.
fn assert_bounds(puzzle: &Puzzle, answer: &Answer, what: &str) {
    let graph = Graph::build(puzzle, MEMORY).unwrap();
    for symmetry in [Symmetry::none(""), Symmetry::of(puzzle, &graph)] {
        let found = bounds(&graph, &symmetry, &|| false, |_, _, now| {
            assert!(now[0] <= answer.radius.unwrap() && answer.radius.unwrap() <= now[1]);
            assert!(now[2] <= answer.diameter.unwrap() && answer.diameter.unwrap() <= now[3]);
        })
        .unwrap();
        assert_eq!(
            (Some(found.diameter), Some(found.radius)),
            (answer.diameter, answer.radius),
            "{what}"
        );
    }
}

/// Every method against Floyd and Warshall, with pairs and words.
fn check_against_oracle(generators: &[Vec<u16>], roots: &[Vec<u16>], max_pairs: usize) {
    let what = format!("{generators:?} {roots:?}");
    let truth = pairs::all_pairs(generators, roots);
    let puzzle = puzzle_of(generators, roots);
    let list: Vec<Pair> = truth
        .ordered
        .iter()
        .take(max_pairs)
        .map(|&(u, v)| {
            let (from, to) = (&truth.states[u], &truth.states[v]);
            Pair {
                word: oracle::least_word(generators, std::slice::from_ref(from), to).unwrap(),
                from: from.clone().into(),
                to: to.clone().into(),
            }
        })
        .collect();
    let expected: Content<'_> = (
        Some(truth.diameter),
        Some(truth.radius),
        &Some(truth.eccentricities.clone()),
        &Some(truth.distances.clone()),
        truth.ordered.len() as u128,
        Some(truth.unordered),
        &list,
    );
    let forced = by_all_pairs(&puzzle, false, max_pairs);
    assert_eq!(content(&forced), expected, "{what}");
    assert_same(&by_all_pairs(&puzzle, true, max_pairs), &forced, &what);
    assert_bounds(&puzzle, &forced, &what);
    if let Some(quick) = by_transitivity(&puzzle, max_pairs, 100_000) {
        assert_same(&quick, &forced, &what);
    }
}

fn permutation(n: usize) -> impl Strategy<Value = Vec<u16>> {
    Just((0..n as u16).collect::<Vec<u16>>()).prop_shuffle()
}

/// Up to three permutations of `n` points, and perhaps their inverses.
fn generators(n: std::ops::Range<usize>) -> impl Strategy<Value = Vec<Vec<u16>>> {
    n.prop_flat_map(|n| (prop::collection::vec(permutation(n), 1..4), any::<bool>()))
        .prop_map(|(mut list, closed)| {
            if closed {
                let inverse = |p: &Vec<u16>| Perm::from_images(p).unwrap().inverse().into();
                let inverses: Vec<Vec<u16>> = list.iter().map(inverse).collect();
                list.extend(inverses);
            }
            list
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn random_groups(generators in generators(1..6), max_pairs in 0usize..300) {
        let root: Vec<u16> = (0..generators[0].len() as u16).collect();
        check_against_oracle(&generators, &[root], max_pairs);
    }

    #[test]
    fn random_colourings_and_several_roots(
        (generators, roots) in generators(2..8).prop_flat_map(|generators| {
            let n = generators[0].len();
            let roots = prop::collection::vec(prop::collection::vec(0u16..3, n), 1..3);
            (Just(generators), roots)
        }),
        max_pairs in 0usize..20,
    ) {
        let states = oracle::levels(&generators, &roots, None).concat().len();
        prop_assume!(states <= 250);
        check_against_oracle(&generators, &roots, max_pairs);
    }

    /// Regular, but the root is not the smallest state, and labels may repeat.
    #[test]
    fn other_roots_of_regular_actions(
        (generators, root) in generators(2..5).prop_flat_map(|generators| {
            let n = generators[0].len();
            (Just(generators), permutation(n))
        }),
    ) {
        check_against_oracle(&generators, &[root], 30);
    }
}

/// A few larger ones: several batches of sources, several chunks of rows.
#[test]
fn directed_and_closed_graphs_of_720_states() {
    let shift: Vec<u16> = vec![1, 2, 3, 4, 5, 0];
    let back: Vec<u16> = vec![5, 0, 1, 2, 3, 4];
    let swap: Vec<u16> = vec![1, 0, 2, 3, 4, 5];
    let identity: Vec<u16> = (0..6).collect();
    let root = std::slice::from_ref(&identity);
    check_against_oracle(&[shift.clone(), swap.clone()], root, 1000);
    check_against_oracle(&[shift, back, swap], root, 10);
}

#[test]
fn one_state_is_its_own_pair() {
    let answer = by_all_pairs(&puzzle_of(&[vec![0, 1]], &[vec![0, 1]]), false, 5);
    let pairs = answer.pairs.clone().unwrap();
    assert_eq!((answer.diameter, answer.radius), (Some(0), Some(0)));
    assert_eq!(
        (pairs.ordered, pairs.unordered, pairs.list.len()),
        (1, Some(1), 1)
    );
    assert_eq!(mean(&answer.distances.clone().unwrap(), true), Some(0.0));
    assert_eq!(mean(&answer.distances.unwrap(), false), None);
}

#[test]
fn means_are_over_ordered_pairs() {
    // A directed triangle: three pairs each at distance 0, 1 and 2.
    assert_eq!(mean(&[3, 3, 3], true), Some(1.0));
    assert_eq!(mean(&[3, 3, 3], false), Some(1.5));
}

/// cayleyR's diameters, level counts and (for closed lists) pairs.
#[test]
fn cayley_r() {
    let file: Value = support::data("cayleyR/diameter.json");
    let entries = file["entries"].as_array().unwrap();
    assert!(entries.len() >= 18);
    for entry in entries {
        let moves: Option<Vec<&str>> = entry["moves"]
            .as_array()
            .map(|list| list.iter().map(|m| m.as_str().unwrap()).collect());
        let puzzle = match entry["cube"].as_u64() {
            Some(n) => {
                // A bare base turn stands for itself and its inverse.
                let turns = moves.iter().flatten().filter(|m| !m.ends_with('\''));
                let turns: Vec<&str> = turns.copied().collect();
                let options = PuzzleOptions {
                    metric: Some("qtm".into()),
                    moves: Some(turns.join(",")),
                    ..PuzzleOptions::default()
                };
                resolve(&format!("cube:{n}"), &options).unwrap()
            }
            None => {
                let names = moves.as_ref().map(|list| {
                    let name = |m: &&str| ["L", "R", "X"][m.parse::<usize>().unwrap() - 1];
                    list.iter().map(name).collect::<Vec<_>>().join(",")
                });
                named(
                    &format!("topspin:{},{}", entry["n"], entry["k"]),
                    None,
                    names.as_deref(),
                )
            }
        };
        let what = entry.to_string();
        let states = entry["n_vertices"].as_u64().unwrap() as u128;
        let levels: Vec<u128> = support::numbers(&entry["dist_hist"])
            .into_iter()
            .map(u128::from)
            .collect();
        let answer = by_all_pairs(&puzzle, false, 10);
        assert_eq!(answer.states, states, "{what}");
        assert_eq!(
            answer.diameter.map(u64::from),
            entry["diameter"].as_u64(),
            "{what}"
        );
        let all: Vec<u128> = levels.iter().map(|n| n * states).collect();
        assert_eq!(answer.distances, Some(all), "{what}");
        let pairs = answer.pairs.clone().unwrap();
        assert_eq!(pairs.ordered, states * levels[levels.len() - 1], "{what}");
        if puzzle.is_inverse_closed() {
            let unordered = entry["n_pairs_unordered"].as_u64().unwrap();
            assert_eq!(pairs.unordered, Some(unordered.into()), "{what}");
        }
        if let Some(quick) = by_transitivity(&puzzle, 10, 1000) {
            assert_same(&quick, &answer, &what);
        } else {
            panic!("{what}: not transitive");
        }
        // The pairs that cayleyR names are pairs at this distance.
        let graph = Graph::build(&puzzle, MEMORY).unwrap();
        for pair in entry["first_pairs"].as_array().into_iter().flatten() {
            let number = |key: &str| {
                let labels = pair[key].as_str().unwrap().split('_');
                let labels: Vec<u16> = labels.map(|l| l.parse::<u16>().unwrap() - 1).collect();
                graph.number(&labels).unwrap()
            };
            let generators: Vec<Vec<u16>> = puzzle
                .generators()
                .iter()
                .map(|g| g.perm.images().to_vec())
                .collect();
            let (from, to) = (graph.state(number("from")), graph.state(number("to")));
            let word = oracle::least_word(&generators, &[from.to_vec()], &to).unwrap();
            assert_eq!(word.len() + 1, levels.len(), "{what}");
        }
    }
}

/// Pairs of TopSpin by {L, X}, ordered and unordered: counted one by one by an independent program.
#[test]
fn pairs_of_directed_topspin() {
    for (n, k, ordered, unordered) in [
        (4, 2, 72, 60),
        (5, 2, 240, 240),
        (5, 3, 120, 60),
        (6, 3, 216, 216),
        (6, 4, 1440, 1080),
        (7, 3, 5040, 5040),
        (8, 4, 80640, 80640),
    ] {
        let puzzle = named(&format!("topspin:{n},{k}"), None, Some("L,X"));
        assert!(!puzzle.is_inverse_closed());
        let quick = by_transitivity(&puzzle, 20, 100).unwrap();
        let pairs = quick.pairs.clone().unwrap();
        assert_eq!(
            (pairs.ordered, pairs.unordered),
            (ordered, Some(unordered)),
            "{n},{k}"
        );
        assert_same(&by_all_pairs(&puzzle, false, 20), &quick, "{n},{k}");
    }
}

/// All methods agree on the families, up to 40,320 states; every source is searched from.
#[test]
fn methods_agree_on_families() {
    for spec in [
        "topspin:8,4",
        "topspin:8,3",
        "topspin:8,2",
        "topspin:9,9",
        "lrx:7",
        "lrx:8",
        "lrx:8,3",
        "lx:7",
        "larx:7",
        "pancake:8",
        "burnt-pancake:5",
        "cubic-pancake:7,4",
        "full-reversals:7",
        "signed-reversals:4",
        "transposons:7",
        "block-interchange:6",
        "all-transpositions:7",
        "coxeter:8",
        "cyclic-coxeter:7",
        "coxeter-b:5",
        "coxeter-d:5",
        "stars:8",
        "generalized-stars:7,3",
        "all-cycles:5",
        "down-cycles:6",
        "prefix-cycles:7",
        "wrapped-k-cycles:7,3",
        "consecutive-k-cycles:7,3",
        "consecutive-k-cycles:7,4,ic",
        "increasing-k-cycles:6,4",
        "three-cycles:7",
        "three-cycles-0ij:7",
        "three-cycles-01i:8",
        "three-cycles-01i-dir:7",
        "derangements:6",
        "involutive-derangements:6",
        "rapaport-m1:7",
        "rapaport-m2:8",
        "koltsov3:8,1,2,1",
        "sheveleva2:7,2",
        "lsl-cycles:7",
        "globe:1,2",
        "hungarian-rings:5,0,4,0",
    ] {
        let puzzle = named(spec, None, None);
        let forced = by_all_pairs(&puzzle, false, 25);
        assert!(forced.states <= 40_320, "{spec}");
        match by_transitivity(&puzzle, 25, 50_000) {
            Some(quick) => assert_same(&quick, &forced, spec),
            None => panic!("{spec} is a group"),
        }
        assert_same(&by_all_pairs(&puzzle, true, 25), &forced, spec);
        assert_bounds(&puzzle, &forced, spec);
    }
}

/// The same where states are cosets, so that eccentricities differ.
#[test]
fn methods_agree_on_colourings() {
    for (spec, root) in [
        ("topspin:14,4", "00000001111111"),
        ("topspin:9,4", "000111222"),
        ("lrx:10", "0000011122"),
        ("lx:9", "000011122"),
        ("lx:14", "00000001111111"),
        ("larx:9", "000112345"),
        ("pancake:9", "000111222"),
        ("down-cycles:8", "00011122"),
        ("wrapped-k-cycles:9,3", "000111222"),
        ("lrx:6", "000111;001011;000012"),
        ("lx:6", "000111;000012"),
        ("topspin:9,4", "001122345"),
    ] {
        let puzzle = named(spec, Some(root), None);
        let what = format!("{spec} {root}");
        let forced = by_all_pairs(&puzzle, false, 40);
        assert!(!Transitivity::of(&puzzle).unwrap().is_regular(), "{what}");
        assert!(forced.radius < forced.diameter, "{what}");
        assert_same(&by_all_pairs(&puzzle, true, 40), &forced, &what);
        assert_bounds(&puzzle, &forced, &what);
    }
}

/// Labels repeat, and still the group acts regularly: the order decides, not the labels.
#[test]
fn repeated_labels_may_be_regular() {
    let ring: Vec<u16> = vec![1, 2, 3, 4, 5, 0];
    let puzzle = puzzle_of(std::slice::from_ref(&ring), &[vec![0, 0, 0, 0, 0, 1]]);
    let quick = by_transitivity(&puzzle, 10, 10).unwrap();
    assert_eq!((quick.diameter, quick.states), (Some(5), 6));
    assert_same(&by_all_pairs(&puzzle, false, 10), &quick, "ring");
    let three = puzzle_of(&[ring], &[vec![0, 0, 1, 0, 0, 1]]);
    assert!(!Transitivity::of(&three).unwrap().is_regular());
}

/// What can be said when only the first states of the last level are listed.
#[test]
fn a_partial_last_level_is_enough_where_it_can_be() {
    let closed = named("topspin:7,5", None, None);
    let whole = by_transitivity(&closed, 5, 1000).unwrap();
    let part = by_transitivity(&closed, 5, 5).unwrap();
    assert_eq!(whole.pairs.as_ref().unwrap().ordered, 2520 * 20);
    assert_same(&part, &whole, "closed");
    let more = by_transitivity(&closed, 30, 5).unwrap().pairs.unwrap();
    assert_eq!(more.unordered, whole.pairs.unwrap().unordered);
    assert!(
        more.list.is_empty()
            && more
                .missing
                .unwrap()
                .contains("20 states are at distance 15")
    );
    let directed = named("topspin:6,4", None, Some("L,X"));
    let part = by_transitivity(&directed, 1, 1).unwrap().pairs.unwrap();
    assert!(part.unordered.is_none() && part.missing.is_some());
    assert_eq!(part.list.len(), 1);
}

#[test]
fn smallest_states_come_in_order() {
    for (spec, root) in [
        ("topspin:7,4", None),
        ("lx:5", Some("4,2,0,1,3")),
        ("coxeter-b:3", None),
        ("lrx:6", Some("543210")),
        ("cubic-pancake:5,1", Some("24013")),
    ] {
        let puzzle = named(spec, root, None);
        let graph = Graph::build(&puzzle, MEMORY).unwrap();
        let all: Vec<State> = (0..graph.states()).map(|i| graph.state(i)).collect();
        assert!(all.windows(2).all(|w| w[0] < w[1]));
        for count in [0, 1, 7, all.len(), all.len() + 5] {
            let found = smallest_states(&puzzle, count).unwrap();
            assert_eq!(found, all[..count.min(all.len())], "{spec} {count}");
        }
    }
}

#[test]
fn what_is_too_large_is_refused_with_the_numbers() {
    let puzzle = named("topspin:12,4", None, None);
    let error = Graph::build(&puzzle, MEMORY).unwrap_err();
    assert!(matches!(error, SurveyError::TooLarge { .. }));
    let message = error.to_string();
    assert!(
        message.contains("479001600 states with 3 moves"),
        "{message}"
    );
    assert!(message.contains("1073741824 are allowed"), "{message}");
    // As a job it is refused when it is submitted, whatever memory there is.
    let spec = DiameterSpec {
        puzzle,
        route: Route::AllPairs,
        max_pairs: 3,
    };
    let message = spec.plan().unwrap_err();
    assert!(
        message.contains("workers are asked for at most"),
        "{message}"
    );
    // The same puzzle fits or not by its numbers alone.
    let small = named("topspin:6,4", None, None);
    assert!(Graph::build(&small, 720 * 1000).is_ok());
    assert!(Graph::build(&small, 720 * 10).is_err());
}

#[test]
fn who_is_asked_to_stop_stops() {
    let puzzle = named("topspin:9,4", Some("000111222"), None);
    let graph = Graph::build(&puzzle, MEMORY).unwrap();
    let symmetry = Symmetry::none("");
    let stopped = bounds(&graph, &symmetry, &|| true, |_, _, _| ()).unwrap_err();
    assert_eq!(stopped, SurveyError::Stopped);
    let all = AllPairs::new(graph, symmetry);
    assert_eq!(all.run(0, 1, &|| true).unwrap_err(), SurveyError::Stopped);
}

/// The same bytes for 1, 2 and 3 threads.
#[test]
fn threads_do_not_matter() {
    let puzzle = named("lx:9", Some("000011122"), None);
    let all = AllPairs::new(Graph::build(&puzzle, MEMORY).unwrap(), Symmetry::none(""));
    let answers: Vec<Summary> = (1..=3)
        .map(|threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
            pool.unwrap()
                .install(|| all.run(1, 100, &|| false).unwrap())
        })
        .collect();
    assert_eq!(answers[0], answers[1]);
    assert_eq!(answers[0], answers[2]);
}

/// A job's items are what the search makes of them, and its answer is theirs; what is only listed changes nothing.
#[test]
fn items_of_a_job_give_its_answer() {
    let spec = |route, max_pairs| DiameterSpec {
        puzzle: named("lx:8", Some("00011122"), None),
        route,
        max_pairs,
    };
    assert_eq!(
        spec(Route::AllPairs, 3).question(),
        spec(Route::AllPairs, 9).question()
    );
    assert_ne!(
        spec(Route::AllPairs, 3).question(),
        spec(Route::Bounds, 3).question()
    );
    let forced = by_all_pairs(&spec(Route::AllPairs, 0).puzzle, false, 30);
    for route in [Route::AllPairs, Route::Bounds] {
        let spec = spec(route, 30);
        let plan = spec.plan().unwrap();
        let batch = spec.load().unwrap();
        assert_eq!(batch.items() as usize, plan.counts.len());
        assert_eq!(plan.counts.iter().sum::<u64>(), 560);
        let records: Vec<Vec<u8>> = (0..batch.items())
            .map(|item| {
                let made = batch.run(item, &Stop::default()).unwrap();
                assert_eq!(made.count, plan.counts[item as usize]);
                assert_eq!(batch.run(item, &Stop::default()).unwrap(), made);
                made.record
            })
            .collect();
        let found = spec.answer(&records, 30).unwrap().answer;
        assert_eq!(
            (found.diameter, found.radius, found.states),
            (forced.diameter, forced.radius, forced.states)
        );
        if route == Route::AllPairs {
            assert_same(&found, &forced, "records");
        }
        let stop = Stop::default();
        stop.ask();
        assert!(matches!(batch.run(0, &stop), Err(EngineError::Stopped)));
        assert!(batch.run(batch.items(), &Stop::default()).is_err());
        assert!(spec.answer(&[b"{".to_vec()], 30).is_err());
    }
}
