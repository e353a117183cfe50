//! Scrambles against the oracle vectors of cayleyR, exact word counts, and what a walk must never do.

mod support;

use antipode_solver_core::Perm;
use antipode_solver_core::puzzle::{Puzzle, PuzzleOptions, from_bytes, resolve};
use antipode_solver_core::scramble::children::Children;
use antipode_solver_core::scramble::encode::Encoder;
use antipode_solver_core::scramble::key::key;
use antipode_solver_core::scramble::pieces::Layout;
use antipode_solver_core::scramble::rules::Automaton;
use antipode_solver_core::scramble::targets::{NotFinite, Variant, target};
use antipode_solver_core::scramble::{Block, Rules, ScrambleError, Shape, WalkSpec, Walks};
use serde_json::Value;
use support::{data, numbers};

fn puzzle(spec: &str, options: &[(&str, &str)]) -> Puzzle {
    let mut wanted = PuzzleOptions::default();
    for &(key, value) in options {
        match key {
            "metric" => wanted.metric = Some(value.into()),
            "moves" => wanted.moves = Some(value.into()),
            "orbits" => wanted.orbits = Some(value.into()),
            "root" => wanted.root = Some(value.into()),
            "colours" => wanted.colours = true,
            _ => panic!("{key}"),
        }
    }
    resolve(spec, &wanted).unwrap()
}

fn oracle_puzzle(label: &str) -> Puzzle {
    match label {
        "topspin(6,3)" => puzzle("topspin:6,3", &[]),
        "cube2 all 12" => puzzle("cube:2", &[]),
        "cube3 face turns" => puzzle("cube:3", &[]),
        "cube3 all 18" => puzzle("cube:3", &[("moves", "all")]),
        "cube4 all 24" => puzzle("cube:4", &[]),
        _ => panic!("{label}"),
    }
}

fn list(value: &Value) -> &Vec<Value> {
    value.as_array().unwrap()
}

fn labels(value: &Value) -> Vec<u8> {
    numbers(value).iter().map(|&x| x as u8 - 1).collect()
}

#[test]
fn children_are_the_oracles() {
    let adi: Value = data("cayleyR/adi.json");
    assert_eq!(list(&adi["children"]).len(), 5);
    for case in list(&adi["children"]) {
        let puzzle = oracle_puzzle(case["label"].as_str().unwrap());
        let states: Vec<u8> = list(&case["states"]).iter().flat_map(labels).collect();
        let expect: Vec<u8> = list(&case["children"]).iter().flat_map(labels).collect();
        for children in [Children::new(&puzzle, 1), Children::portable(&puzzle, 1)] {
            assert_eq!(children.moves() as u64, case["n_moves"].as_u64().unwrap());
            let (mut out, mut solved) = (vec![7; 3], vec![7; 3]);
            children.states(&states, &mut out);
            assert_eq!(out, expect);
            children.solved(&states, &mut solved);
            let flags = list(&case["solved"]).iter();
            let flags: Vec<u8> = flags.map(|f| u8::from(f.as_bool().unwrap())).collect();
            assert_eq!(solved, flags);
        }
    }
}

#[test]
fn children_of_states_of_any_length() {
    for n in [5, 16, 17, 31, 32, 33, 63, 64, 65, 128, 129, 256, 257, 300] {
        let puzzle = puzzle(&format!("topspin:{n},4"), &[]);
        let cell = if n > 256 { 2 } else { 1 };
        let bytes = |labels: &[u16]| -> Vec<u8> {
            labels
                .iter()
                .flat_map(|l| l.to_le_bytes().into_iter().take(cell))
                .collect()
        };
        let root = &puzzle.roots()[0];
        let mut state: Vec<u16> = root.iter().rev().copied().collect();
        state.swap(0, 3);
        let states: Vec<Vec<u16>> = vec![
            state,
            root.to_vec(),
            puzzle.generators()[2].perm.apply(root),
        ];
        let flat: Vec<u8> = states.iter().flat_map(|s| bytes(s)).collect();
        let moved = |s: &Vec<u16>| {
            puzzle
                .generators()
                .iter()
                .map(|g| g.perm.apply(s))
                .collect::<Vec<_>>()
        };
        let expect: Vec<u8> = states
            .iter()
            .flat_map(moved)
            .flat_map(|s| bytes(&s))
            .collect();
        let solved: Vec<u8> = states
            .iter()
            .flat_map(moved)
            .map(|s| u8::from(s[..] == root[..]))
            .collect();
        assert!(solved.contains(&1));
        for children in [
            Children::new(&puzzle, cell),
            Children::portable(&puzzle, cell),
        ] {
            let (mut out, mut flags) = (Vec::new(), Vec::new());
            children.states(&flat, &mut out);
            children.solved(&flat, &mut flags);
            assert!(out == expect && flags == solved, "{n}");
        }
    }
}

#[test]
fn targets_are_the_oracles() {
    let adi: Value = data("cayleyR/adi.json");
    assert_eq!(list(&adi["targets"]).len(), 3);
    for case in list(&adi["targets"]) {
        let moves = case["n_moves"].as_u64().unwrap() as usize;
        let values = list(&case["child_values"]).iter();
        let values: Vec<f64> = values
            .map(|v| v.as_str().unwrap().parse().unwrap())
            .collect();
        let solved = list(&case["child_solved"]).iter();
        let solved: Vec<u8> = solved.map(|f| u8::from(f.as_bool().unwrap())).collect();
        for (name, variant, not_finite) in [
            ("checkout_7573181", Variant::Raw, NotFinite::Skip),
            (
                "newer_ba2b1dd_floored_at_zero",
                Variant::Floored,
                NotFinite::Zero,
            ),
        ] {
            let expect = &case[name];
            for (k, value) in list(&expect["value"]).iter().enumerate() {
                let range = k * moves..(k + 1) * moves;
                let got = target(
                    &values[range.clone()],
                    &solved[range],
                    variant,
                    not_finite,
                    String::new,
                );
                let got = got.unwrap();
                assert_eq!(got.value, value.as_f64().unwrap(), "{name} {k}");
                let policy = numbers(&expect["policy_1based"])[k] as usize - 1;
                assert_eq!(got.policy, policy, "{name} {k}");
            }
        }
    }
}

#[test]
fn values_that_are_no_numbers_are_refused() {
    let refused = |values: &[f64], solved: &[u8], rule: NotFinite, expect: &str| {
        let place = || "row 5".to_owned();
        let message = target(values, solved, Variant::Floored, rule, place)
            .unwrap_err()
            .to_string();
        assert!(message.contains(expect), "{message}");
    };
    refused(
        &[1.0, f64::NAN],
        &[0, 0],
        NotFinite::Refuse,
        "row 5, child 1: the value is NaN",
    );
    refused(
        &[f64::INFINITY, 2.0],
        &[0, 0],
        NotFinite::Refuse,
        "child 0: the value is inf",
    );
    refused(
        &[f64::NAN; 2],
        &[0, 0],
        NotFinite::Skip,
        "no child has a value",
    );
    // What is said of a solved child does not matter.
    let got = target(
        &[f64::NAN, 2.0],
        &[1, 0],
        Variant::Raw,
        NotFinite::Refuse,
        String::new,
    )
    .unwrap();
    assert_eq!((got.value, got.policy), (1.0, 0));
}

#[test]
fn keys_are_the_oracles() {
    let adi: Value = data("cayleyR/adi.json");
    assert_eq!(list(&adi["keys"]).len(), 8);
    for case in list(&adi["keys"]) {
        let state = numbers(&case["state"]).into_iter().map(|x| x as u16 - 1);
        let expect: u64 = case["key"].as_str().unwrap().parse().unwrap();
        assert_eq!(key(state), expect);
    }
}

#[test]
fn piece_layouts_and_encodings_are_the_oracles() {
    let adi: Value = data("cayleyR/adi.json");
    let mut rows = 0;
    for (case, encoded) in list(&adi["piece_layout"])
        .iter()
        .zip(list(&adi["encode_pieces"]))
    {
        let puzzle = oracle_puzzle(case["label"].as_str().unwrap());
        assert_eq!(case["label"], encoded["label"]);
        let layout = Layout::of(&puzzle).unwrap();
        assert_eq!(
            layout.pieces.len() as u64,
            case["n_piece"].as_u64().unwrap()
        );
        assert_eq!(layout.width as u64, case["width"].as_u64().unwrap());
        for (piece, slots) in layout.pieces.iter().zip(list(&case["slots"])) {
            let slots = numbers(slots).into_iter().filter(|&s| s > 0);
            assert!(slots.eq(piece.iter().map(|&i| u64::from(i) + 1)));
        }
        let one_based = |pick: fn((u16, u16)) -> u16| -> Vec<u64> {
            let homes = layout.home.iter();
            homes
                .map(|h| h.map_or(0, |h| u64::from(pick(h)) + 1))
                .collect()
        };
        assert_eq!(one_based(|h| h.0), numbers(&case["home"]));
        assert_eq!(one_based(|h| h.1), numbers(&case["turn"]));

        let encoder = Encoder::piece(&puzzle, &layout).unwrap();
        assert_eq!(
            encoder.columns() as u64,
            encoded["n_columns"].as_u64().unwrap()
        );
        for row in list(&encoded["rows"]) {
            let state = labels(&row["state"]);
            let mut out = Vec::new();
            encoder.encode(&state, state.len(), 1, &mut out);
            let ones: Vec<u64> = (0..out.len() as u64)
                .filter(|&c| out[c as usize] == 1)
                .collect();
            assert_eq!(ones, numbers(&row["ones_0based_columns"]));
            assert_eq!(
                out.iter().map(|&x| u64::from(x)).sum::<u64>(),
                ones.len() as u64
            );
            rows += 1;
        }
    }
    assert_eq!(rows, 12);
}

/// Pieces by equal point stabilisers are the cubies of a cube whose every cubie can be turned in place.
#[test]
fn pieces_without_geometry() {
    let by_name = puzzle("cube:3", &[]);
    let by_group = Puzzle::new(
        "nameless".into(),
        by_name.generators().to_vec(),
        vec![],
        by_name.metric(),
        vec![],
    )
    .unwrap();
    let mut cubies = Layout::of(&by_name).unwrap().pieces;
    cubies.sort();
    assert_eq!(Layout::of(&by_group).unwrap().pieces, cubies);
    assert_eq!(
        Layout::of(&by_group).unwrap().left_out(),
        [4, 13, 22, 31, 40, 49]
    );

    let topspin = Layout::of(&puzzle("topspin:8,4", &[])).unwrap();
    assert_eq!((topspin.pieces.len(), topspin.width), (8, 1));
    // Two rings that turn together: positions of both travel together, though in different orbits.
    let toml = b"base = 0\n[generators]\na = [1, 2, 0, 4, 5, 3, 6, 8, 7]\n";
    let rings = from_bytes("rings.toml", toml, &PuzzleOptions::default()).unwrap();
    let layout = Layout::of(&rings).unwrap();
    assert_eq!(layout.pieces, [vec![0, 1, 2, 3, 4, 5], vec![7, 8]]);
    assert_eq!(layout.left_out(), [6]);
}

#[test]
fn word_counts_are_exact() {
    let check = |puzzle: &Puzzle, rules: Rules, expect: &[u64]| {
        let automaton = Automaton::build(puzzle, rules, expect.len() as u32).unwrap();
        let counts = automaton.count_words(expect.len() as u32);
        let expect: Vec<_> = expect.iter().map(|&c| c.into()).collect();
        assert_eq!(counts, expect, "{} {}", puzzle.name(), rules.name());
    };
    use Rules::{AllowUndo, NoCancel, NoUndo};
    let qtm = puzzle("cube:3", &[]);
    check(&qtm, AllowUndo, &[12, 144, 1728]);
    check(&qtm, NoUndo, &[12, 132, 1452, 15972, 175_692]);
    check(&qtm, NoCancel, &[12, 132, 1416, 15144, 162_048]);
    let htm = puzzle("cube:3", &[("metric", "htm")]);
    check(&htm, NoUndo, &[18, 306, 5202, 88434]);
    check(&htm, NoCancel, &[18, 270, 3888, 56376]);
    let all = puzzle("cube:3", &[("moves", "all")]);
    check(&all, NoUndo, &[18, 306, 5202, 88434]);
    check(&all, NoCancel, &[18, 306, 5112, 85104]);
    let topspin = puzzle("topspin:6,4", &[]);
    check(&topspin, NoUndo, &[3, 6, 12, 24, 48, 96, 192, 384, 768]);
    check(&topspin, NoCancel, &[3, 6, 12, 22, 42, 80, 152, 288, 548]);
    let directed = puzzle("topspin:7,4", &[("moves", "L,X")]);
    check(&directed, NoUndo, &[2, 3, 5, 8, 13, 21, 34, 55, 89]);
    check(&directed, NoCancel, &[2, 3, 5, 8, 13, 21, 33, 52, 83]);
}

/// The automaton against the rule's own words: by brute force over all words.
#[test]
fn cancelling_by_the_book() {
    let moves =
        |p: &Puzzle| -> Vec<Perm> { p.generators().iter().map(|g| g.perm.clone()).collect() };
    let is_power = |a: &Perm, b: &Perm| {
        let mut x = a.clone();
        loop {
            if &x == b {
                return true;
            }
            if x.is_identity() {
                return false;
            }
            x = x.then(a);
        }
    };
    let allowed = |moves: &[Perm], word: &[usize], a: usize| {
        let commutes = |b: &&usize| moves[**b].then(&moves[a]) == moves[a].then(&moves[**b]);
        let tail: Vec<usize> = word.iter().rev().take_while(commutes).copied().collect();
        let kin = |b: usize| is_power(&moves[a], &moves[b]) || is_power(&moves[b], &moves[a]);
        let family: Vec<usize> = (0..moves.len()).filter(|&b| kin(b)).collect();
        let members: Vec<usize> = tail
            .iter()
            .rev()
            .copied()
            .filter(|b| family.contains(b))
            .collect();
        let start = Perm::identity(moves[0].len());
        let product = members
            .iter()
            .chain([&a])
            .fold(start.clone(), |p, &b| p.then(&moves[b]));
        let mut level = vec![start];
        for _ in 0..=members.len() {
            if level.contains(&product) {
                return false;
            }
            level = level
                .iter()
                .flat_map(|p| {
                    family
                        .iter()
                        .map(|&b| p.then(&moves[b]))
                        .collect::<Vec<_>>()
                })
                .collect();
        }
        assert!(level.contains(&product));
        true
    };
    let mixed = from_bytes(
        "mixed.toml",
        b"base = 0\n[generators]\na = [1, 2, 3, 4, 5, 0, 6, 7]\nb = [2, 3, 4, 5, 0, 1, 6, 7]\nc = [3, 4, 5, 0, 1, 2, 6, 7]\nd = [0, 1, 2, 3, 4, 5, 7, 6]\ne = [1, 0, 2, 3, 4, 5, 7, 6]\n",
        &PuzzleOptions::default(),
    )
    .unwrap();
    for (puzzle, length) in [
        (puzzle("cube:3", &[("moves", "U,D,R")]), 5),
        (puzzle("topspin:6,3", &[("moves", "L,X")]), 9),
        (mixed, 5),
    ] {
        let moves = moves(&puzzle);
        let mut words: Vec<Vec<usize>> = vec![vec![]];
        let mut expect = Vec::new();
        for _ in 0..length {
            let longer = words.iter().flat_map(|w| {
                let next = (0..moves.len()).filter(|&a| allowed(&moves, w, a));
                next.map(|a| [w.as_slice(), &[a]].concat())
                    .collect::<Vec<_>>()
            });
            words = longer.collect();
            expect.push(words.len().into());
        }
        let automaton = Automaton::build(&puzzle, Rules::NoCancel, length).unwrap();
        assert_eq!(automaton.count_words(length), expect, "{}", puzzle.name());
    }
}

#[test]
fn dead_ends_are_refused_with_the_word() {
    let puzzle = puzzle("cube:3", &[("moves", "U,D")]);
    let automaton = Automaton::build(&puzzle, Rules::NoCancel, 4).unwrap();
    let expect: Vec<_> = [4u32, 12, 24, 24].map(Into::into).into();
    assert_eq!(automaton.count_words(4), expect);
    let Err(ScrambleError::DeadEnd { word, reached, .. }) =
        Automaton::build(&puzzle, Rules::NoCancel, 5)
    else {
        panic!("there is a dead end");
    };
    assert_eq!((word.as_str(), reached), ("U U D D", 4));
    let involution = resolve("pancake:2", &PuzzleOptions::default()).unwrap();
    assert_eq!(involution.generators().len(), 1);
    assert!(
        Automaton::build(&involution, Rules::NoUndo, 9).is_ok(),
        "a single move is never refused"
    );
    assert!(Automaton::build(&involution, Rules::NoCancel, 9).is_err());
}

fn spec(seed: u64, shape: Shape, rules: Rules) -> WalkSpec {
    WalkSpec { seed, shape, rules }
}

fn walk(max_depth: u32) -> Shape {
    Shape::Walk {
        min_depth: 1,
        max_depth,
    }
}

/// The rows by the definition in the module's text: nothing but Philox, the rules and permutations.
fn by_definition(puzzle: &Puzzle, spec: &WalkSpec, row: u64) -> (Vec<u8>, u32, Vec<u16>) {
    let (low, high) = spec.shape.depths();
    let (stream, fixed) = match spec.shape {
        Shape::Trajectory { .. } => {
            let k = u64::from(high - low) + 1;
            (row / k, Some(low + (row % k) as u32))
        }
        _ => (row, None),
    };
    let draw = |i: u64| philox(spec.seed, stream, (i / 4) as u32)[(i % 4) as usize];
    let below = |u: u32, m: u64| ((u64::from(u) * m) >> 32) as usize;
    let depth = fixed.unwrap_or(low + below(draw(0), u64::from(high - low) + 1) as u32);
    let moves: Vec<&Perm> = puzzle.generators().iter().map(|g| &g.perm).collect();
    let mut word: Vec<u16> = Vec::new();
    for i in 0..depth + spec.shape.extra() {
        let last = word.last().map(|&a| moves[usize::from(a)]);
        let undoes = |a: &usize| {
            spec.rules == Rules::NoUndo
                && moves.len() > 1
                && last.is_some_and(|p| p.then(moves[*a]).is_identity())
        };
        let allowed: Vec<usize> = (0..moves.len()).filter(|a| !undoes(a)).collect();
        word.push(allowed[below(draw(u64::from(i) + 1), allowed.len() as u64)] as u16);
    }
    let state = word[..depth as usize]
        .iter()
        .fold(puzzle.roots()[0].to_vec(), |s, &a| {
            moves[usize::from(a)].apply(&s)
        });
    let wide = puzzle.roots()[0].iter().any(|&l| l > 255);
    let bytes = state
        .iter()
        .flat_map(|l| l.to_le_bytes().into_iter().take(if wide { 2 } else { 1 }));
    (bytes.collect(), depth, word)
}

fn philox(seed: u64, stream: u64, block: u32) -> [u32; 4] {
    let mut c = [stream as u32, (stream >> 32) as u32, block, 0];
    let mut k = [seed as u32, (seed >> 32) as u32];
    for _ in 0..10 {
        let a = 0xD251_1F53u64 * u64::from(c[0]);
        let b = 0xCD9E_8D57u64 * u64::from(c[2]);
        c = [
            (b >> 32) as u32 ^ c[1] ^ k[0],
            b as u32,
            (a >> 32) as u32 ^ c[3] ^ k[1],
            a as u32,
        ];
        k = [
            k[0].wrapping_add(0x9E37_79B9),
            k[1].wrapping_add(0xBB67_AE85),
        ];
    }
    c
}

#[test]
fn rows_are_those_of_the_definition() {
    let wide = "topspin:300,4";
    for (puzzle, max) in [
        (puzzle("cube:3", &[]), 20),
        (puzzle("cube:3", &[("colours", "")]), 9),
        (puzzle("cube:3", &[("moves", "U,R")]), 30),
        (puzzle("cube:2", &[("metric", "htm")]), 13),
        (puzzle("cube:4", &[]), 12),
        (puzzle("cube:7", &[("colours", "")]), 5),
        (puzzle("topspin:12,4", &[]), 40),
        (puzzle("topspin:40,4", &[]), 3),
        (puzzle("pancake:2", &[]), 6),
        (puzzle(wide, &[]), 7),
        (puzzle("lx:9", &[]), 11),
    ] {
        for shape in [
            walk(max),
            Shape::Walk {
                min_depth: 0,
                max_depth: 3,
            },
            Shape::Walk {
                min_depth: max,
                max_depth: max,
            },
            Shape::Trajectory {
                min_depth: 1,
                max_depth: max,
            },
            Shape::Pivot {
                k_min: 2,
                max_depth: max.max(3),
            },
        ] {
            for rules in [Rules::NoUndo, Rules::AllowUndo] {
                let spec = spec(0xfeed_beef_0123, shape, rules);
                let first = (1 << 33) - 7;
                for walks in [
                    Walks::new(&puzzle, &spec).unwrap(),
                    Walks::portable(&puzzle, &spec).unwrap(),
                ] {
                    let mut block = Block::default();
                    walks.fill(first, 61, &mut block);
                    for row in 0..61 {
                        let (state, depth, word) =
                            by_definition(&puzzle, &spec, first + row as u64);
                        let place = format!("{} {shape:?} row {row}", puzzle.name());
                        assert_eq!(block.depths[row], depth, "{place}");
                        assert_eq!(block.word(row), &word[..depth as usize], "{place}");
                        assert_eq!(
                            block.next_move(row),
                            word.get(depth as usize).copied(),
                            "{place}"
                        );
                        let bytes = walks.state_bytes();
                        assert_eq!(block.states[row * bytes..][..bytes], state, "{place}");
                    }
                }
            }
        }
    }
}

#[test]
fn any_split_gives_the_same_rows_and_another_seed_others() {
    let puzzle = puzzle("cube:3", &[]);
    let draw = |seed: u64, cuts: &[usize]| {
        let walks = Walks::new(&puzzle, &spec(seed, walk(20), Rules::NoCancel)).unwrap();
        let (mut states, mut words) = (Vec::new(), Vec::new());
        let mut block = Block::default();
        for cut in cuts.windows(2) {
            walks.fill(cut[0] as u64, cut[1] - cut[0], &mut block);
            states.extend_from_slice(&block.states);
            words.extend((0..block.rows()).map(|r| block.word(r).to_vec()));
        }
        (states, words)
    };
    let whole = draw(7, &[0, 1000]);
    assert_eq!(whole, draw(7, &[0, 1, 2, 9, 500, 507, 1000]));
    let other = draw(8, &[0, 1000]);
    let same = whole.1.iter().zip(&other.1).filter(|(a, b)| a == b).count();
    assert!(
        same < 20,
        "{same} of 1000 words are the same under another seed"
    );
}

/// Chi-square of counts that should be equal, in standard deviations from its mean.
fn excess(counts: &[u64]) -> f64 {
    let mean = counts.iter().sum::<u64>() as f64 / counts.len() as f64;
    let chi: f64 = counts
        .iter()
        .map(|&c| (c as f64 - mean).powi(2) / mean)
        .sum();
    let freedom = (counts.len() - 1) as f64;
    (chi - freedom) / (2.0 * freedom).sqrt()
}

#[test]
fn depths_and_moves_are_uniform_and_no_pair_is_forbidden() {
    let puzzle = puzzle("cube:3", &[]);
    let moves: Vec<&Perm> = puzzle.generators().iter().map(|g| &g.perm).collect();
    let walks = Walks::new(&puzzle, &spec(7, walk(20), Rules::NoUndo)).unwrap();
    let mut depths = vec![0u64; 20];
    let mut firsts = vec![0u64; 12];
    let mut pairs = vec![0u64; 144];
    let mut block = Block::default();
    for k in 0..400 {
        walks.fill(k * 1000, 1000, &mut block);
        for row in 0..1000 {
            depths[block.depths[row] as usize - 1] += 1;
            let word = block.word(row);
            firsts[usize::from(word[0])] += 1;
            for pair in word.windows(2) {
                pairs[usize::from(pair[0]) * 12 + usize::from(pair[1])] += 1;
            }
        }
    }
    assert!(excess(&depths).abs() < 5.0, "{depths:?}");
    assert!(excess(&firsts).abs() < 5.0, "{firsts:?}");
    for a in 0..12 {
        let row = &pairs[a * 12..][..12];
        let undo = (0..12)
            .find(|&b| moves[a].then(moves[b]).is_identity())
            .unwrap();
        assert_eq!(row[undo], 0, "{a} is undone by {undo}");
        let others: Vec<u64> = (0..12).filter(|&b| b != undo).map(|b| row[b]).collect();
        assert!(excess(&others).abs() < 5.0, "after {a}: {others:?}");
    }
    // The same counts would be told apart if one were off by 4 per cent.
    let mut wrong = firsts.clone();
    wrong[3] += wrong[3] / 25;
    assert!(excess(&wrong) > 5.0);
}

#[test]
fn shapes_out_of_range_are_named() {
    let refused = |shape: Shape, expect: &str| {
        let message = shape.check().unwrap_err().to_string();
        assert!(message.contains(expect), "{message}");
    };
    refused(walk(0), "--max-depth is 0");
    refused(walk(70_000), "65535");
    refused(
        Shape::Walk {
            min_depth: 9,
            max_depth: 8,
        },
        "--min-depth is 9",
    );
    refused(
        Shape::Pivot {
            k_min: 2,
            max_depth: 2,
        },
        "raise --max-depth to 3",
    );
    refused(
        Shape::Pivot {
            k_min: 0,
            max_depth: 2,
        },
        "--k-min is 0",
    );
}
