//! Families, cubes, built-in files and options against the oracle vectors in `tests/data`.

mod support;

use antipode_solver_core::perm::Perm;
use antipode_solver_core::puzzle::{self, Metric, Puzzle, PuzzleOptions};
use serde_json::Value;
use std::collections::{BTreeMap, HashSet};
use support::{CayleyPyRow, data, numbers};

/// A permutation of the 1-based vectors.
fn one_based(value: &Value) -> Perm {
    let zero: Vec<u64> = numbers(value).iter().map(|v| v - 1).collect();
    Perm::from_images(&zero).unwrap()
}

fn resolve(spec: &str, options: &PuzzleOptions) -> Puzzle {
    puzzle::resolve(spec, options).unwrap()
}

fn plain(spec: &str) -> Puzzle {
    resolve(spec, &PuzzleOptions::default())
}

fn moves(text: &str) -> PuzzleOptions {
    PuzzleOptions {
        moves: Some(text.into()),
        ..PuzzleOptions::default()
    }
}

fn names(puzzle: &Puzzle) -> Vec<&str> {
    puzzle
        .generators()
        .iter()
        .map(|g| g.name.as_str())
        .collect()
}

/// Counts of the first levels, over a set of whole states.
fn levels(puzzle: &Puzzle, depth: usize) -> Vec<u64> {
    let mut seen: HashSet<Vec<u16>> = puzzle.roots().iter().map(|r| r.to_vec()).collect();
    let mut frontier: Vec<Vec<u16>> = seen.iter().cloned().collect();
    let mut counts = vec![frontier.len() as u64];
    for _ in 0..depth {
        let mut next = Vec::new();
        for state in &frontier {
            for g in puzzle.generators() {
                let child = g.perm.apply(state);
                if seen.insert(child.clone()) {
                    next.push(child);
                }
            }
        }
        if next.is_empty() {
            break;
        }
        counts.push(next.len() as u64);
        frontier = next;
    }
    counts
}

/// How a row of growth_cayleypy.json is asked for.
enum Plan {
    Spec { spec: String, root: Option<String> },
    File,
}

fn plan(row: &CayleyPyRow) -> Plan {
    let coset = row.family.contains("coset");
    let name = match row.family.as_str() {
        "puzzle" | "puzzle (PuzzleGeometry file)" | "cube 3x3x3 subgroup" => return Plan::File,
        "lrx" | "lrx with X=(0 k)" | "lrx coset" => "lrx",
        "lx (directed)" | "lx coset (directed)" => "lx",
        "topspin" | "topspin coset" => "topspin",
        "coxeter A" | "coxeter coset" => "coxeter",
        "pancake" | "pancake coset" => "pancake",
        "consecutive 3-cycles coset (directed)" => "consecutive-k-cycles",
        _ => {
            // The id is the name and the parameters; published rows spell it with underscores.
            let id = row
                .id
                .strip_prefix("published-")
                .unwrap_or(&row.id)
                .replace('_', "-");
            let known = puzzle::catalogue();
            let entry = known
                .iter()
                .filter(|e| id.starts_with(&format!("{}-", e.name)))
                .max_by_key(|e| e.name.len());
            let name = &entry
                .unwrap_or_else(|| panic!("{id}: no family of this name"))
                .name;
            return Plan::Spec {
                spec: format!("{name}:{}", parameters(row)),
                root: None,
            };
        }
    };
    let n = row.state_size;
    let spec = match name {
        "topspin" if coset || row.params["key"].is_string() => format!("topspin:{n},4"),
        "consecutive-k-cycles" => format!("consecutive-k-cycles:{n},3"),
        _ if coset => format!("{name}:{n}"),
        _ => format!("{name}:{}", parameters(row)),
    };
    let root = coset.then(|| row.id.rsplit('-').next().unwrap().to_owned());
    Plan::Spec { spec, root }
}

/// The row's `params` in order, published ones as their key.
fn parameters(row: &CayleyPyRow) -> String {
    if let Some(key) = row.params["key"].as_str() {
        return key.to_owned();
    }
    let names = [
        "n",
        "perm_type",
        "k",
        "d",
        "subset",
        "left_size",
        "left_index",
        "right_size",
        "right_index",
        "a",
        "b",
    ];
    let params = row.params.as_object().unwrap();
    assert!(
        params.keys().all(|k| names.contains(&k.as_str())),
        "{params:?}"
    );
    let mut values: Vec<String> = names
        .iter()
        .filter_map(|n| params.get(*n))
        .map(|v| v.as_u64().unwrap().to_string())
        .collect();
    if row.id.ends_with("-ic") {
        values.push("ic".into());
    }
    values.join(",")
}

#[test]
fn every_row_of_cayleypy_is_reproduced_exactly() {
    let rows = support::cayleypy_rows();
    let (mut by_family, mut by_file, mut by_rule) = (0, 0, 0);
    for row in &rows {
        let id = &row.id;
        let made = match plan(row) {
            Plan::Spec { spec, root } => {
                by_family += 1;
                let options = PuzzleOptions {
                    root,
                    ..PuzzleOptions::default()
                };
                puzzle::resolve(&spec, &options).unwrap_or_else(|e| panic!("{id} as {spec}: {e}"))
            }
            Plan::File => {
                by_file += 1;
                row.as_file().unwrap()
            }
        };
        assert_eq!(made.degree() as u64, row.state_size, "{id}");
        assert_eq!(made.is_inverse_closed(), row.inverse_closed, "{id}");
        let root: Vec<u64> = made.roots()[0].iter().map(|&l| l.into()).collect();
        let expected = row
            .central_state
            .clone()
            .unwrap_or_else(|| (0..row.state_size).collect());
        assert_eq!(root, expected, "{id}");
        let Some(expected) = &row.generators else {
            // Three rows give a rule and the number of generators only.
            by_rule += 1;
            assert_eq!(
                Some(made.generators().len() as u64),
                row.n_generators,
                "{id}"
            );
            continue;
        };
        assert_eq!(made.generators().len(), expected.0.len(), "{id}");
        for (g, (name, images)) in made.generators().iter().zip(&expected.0) {
            let ours: Vec<u64> = g.perm.images().iter().map(|&i| i.into()).collect();
            assert_eq!(&ours, images, "{id}, generator {}", g.name);
            // TopSpin's rows name a generator by its images; L, R, X are the names everybody uses.
            if row.family.starts_with("topspin") {
                assert!(["L", "R", "X"].contains(&g.name.as_str()));
            } else {
                assert_eq!(&g.name, name, "{id}");
            }
        }
    }
    assert_eq!((rows.len(), by_family, by_file, by_rule), (633, 610, 23, 3));
}

#[test]
fn every_named_move_of_the_cubes_is_reproduced() {
    let vectors: Value = data("cayleyR/cube_moves.json");
    let mut moves_seen = 0;
    for (n, cube) in vectors["cube_moves"].as_object().unwrap() {
        let all = resolve(&format!("cube:{n}"), &moves("all"));
        let expected: Vec<&str> = cube["names"]
            .as_array()
            .unwrap()
            .iter()
            .map(|v| v.as_str().unwrap())
            .collect();
        assert_eq!(names(&all), expected, "cube:{n}");
        for g in all.generators() {
            assert_eq!(
                g.perm,
                one_based(&cube["perms"][&g.name]),
                "cube:{n} {}",
                g.name
            );
            moves_seen += 1;
        }
        let usual = if n == "3" { 12 } else { expected.len() };
        assert_eq!(names(&plain(&format!("cube:{n}"))), expected[..usual]);
    }
    assert_eq!(moves_seen, 162);
}

#[test]
fn every_layer_of_the_cubes_turns_as_in_the_vectors() {
    let vectors: Value = data("cayleyR/cube_moves.json");
    let rows = vectors["cube_layer_move"].as_array().unwrap();
    assert_eq!(rows.len(), 126);
    for row in rows {
        let [n, axis, layer, turns] =
            ["n", "axis", "layer", "turns"].map(|k| row[k].as_u64().unwrap());
        let (low, high, slice) =
            [("L", "R", "M"), ("D", "U", "E"), ("B", "F", "S'")][axis as usize - 1];
        // The vectors turn right-handed about the positive axis, as L, D, B do on layer 1.
        let name = match layer {
            1 => low.to_owned(),
            _ if layer == n => format!("{high}'"),
            2 if n == 3 => slice.to_owned(),
            _ => format!("{}{}'", layer - 1, ["x", "y", "z"][axis as usize - 1]),
        };
        let once = resolve(&format!("cube:{n}"), &moves(&name));
        let perm = once.generators()[0].perm.power(turns as u32);
        assert_eq!(perm, one_based(&row["perm"]), "{row}");
    }
}

#[test]
fn words_of_the_cubes_are_products_of_their_moves() {
    let vectors: Value = data("cayleyR/cube_moves.json");
    for row in vectors["cube_expand_word"].as_array().unwrap() {
        let (n, word) = (row["n"].as_u64().unwrap(), row["word"].as_str().unwrap());
        let one = resolve(&format!("cube:{n}"), &moves(word));
        assert_eq!(
            one.generators()[0].perm,
            one_based(&row["perm"]),
            "cube:{n} {word}"
        );
        let letters: Vec<&str> = row["expanded"]
            .as_array()
            .unwrap()
            .iter()
            .map(|v| v.as_str().unwrap())
            .collect();
        if letters.len() > 1 {
            let long = resolve(&format!("cube:{n}"), &moves(&letters.join(" ")));
            assert_eq!(long.generators()[0].perm, one.generators()[0].perm);
            assert_eq!(long.metric(), Metric::Custom);
        }
    }
    for row in vectors["rejected_moves"].as_array().unwrap() {
        let spec = format!("cube:{}", row["n"]);
        let word = row["move"].as_str().unwrap();
        let error = puzzle::resolve(&spec, &moves(word)).unwrap_err().0;
        assert!(error.starts_with(&spec) && error.contains(word), "{error}");
    }
}

#[test]
fn pieces_of_the_cubes_have_the_labels_of_the_vectors() {
    let vectors: Value = data("cayleyR/cube_moves.json");
    for (n, orbits) in vectors["cube_orbits"].as_object().unwrap() {
        let cube = plain(&format!("cube:{n}"));
        let classes: BTreeMap<&str, &[u16]> = cube
            .classes()
            .iter()
            .map(|c| (c.label.as_str(), c.positions.as_slice()))
            .collect();
        let ours: Vec<&str> = classes.keys().copied().collect();
        let mut expected: Vec<&str> = Vec::new();
        for orbit in orbits.as_array().unwrap() {
            let label = orbit["label"].as_str().unwrap();
            let size =
                orbit["n_pieces"].as_u64().unwrap() * orbit["stickers_per_piece"].as_u64().unwrap();
            assert_eq!(classes[label].len() as u64, size, "cube:{n} {label}");
            expected.push(label);
        }
        expected.sort_unstable();
        assert_eq!(ours, expected, "cube:{n}");
        for piece in vectors["cube_pieces"][n]["pieces"].as_array().unwrap() {
            let class = classes[piece["label"].as_str().unwrap()];
            for sticker in piece["stickers"].as_str().unwrap().split(',') {
                let at = sticker.trim().parse::<u16>().unwrap() - 1;
                assert!(class.contains(&at), "cube:{n} sticker {sticker} of {piece}");
            }
        }
    }
}

#[test]
fn topspin_moves_and_words_are_those_of_the_vectors() {
    let vectors: Value = data("cayleyR/topspin.json");
    let mut seen = 0;
    for row in vectors["single_ops"].as_array().unwrap() {
        let (n, k) = (row["n"].as_u64().unwrap(), row["k"].as_u64().unwrap());
        if n < 2 || k < 2 || k > n {
            continue;
        }
        seen += 1;
        let topspin = plain(&format!("topspin:{n},{k}"));
        for g in topspin.generators() {
            assert_eq!(
                g.perm.apply(&numbers(&row["state"])),
                numbers(&row[&g.name]),
                "{row}"
            );
        }
    }
    assert!(seen >= 20, "{seen}");
    for row in vectors["word_orders"].as_array().unwrap() {
        let word = row["word"].as_str().unwrap();
        let one = resolve(&format!("topspin:{},{}", row["n"], row["k"]), &moves(word));
        assert_eq!(
            one.generators()[0].perm,
            one_based(&row["perm_1based"]),
            "{row}"
        );
    }
}

#[test]
fn pocket_is_the_cube_with_a_corner_held() {
    assert_eq!(names(&plain("pocket")), ["U", "F", "R", "U'", "F'", "R'"]);
    // Position of the pocket -> sticker of cube:2, both counted from 1 in the source.
    let map = [
        1, 2, 3, 4, 9, 10, 5, 6, 21, 22, 17, 18, 11, 12, 7, 8, 23, 20, 13, 14, 16,
    ]
    .map(|s| s - 1);
    let cube = plain("cube:2");
    for g in plain("pocket").generators() {
        let full = &cube
            .generators()
            .iter()
            .find(|h| h.name == g.name)
            .unwrap()
            .perm;
        for (i, &sticker) in map.iter().enumerate() {
            assert_eq!(map[g.perm.at(i)], full.at(sticker), "{} at {i}", g.name);
        }
    }
    let htm = resolve(
        "pocket",
        &PuzzleOptions {
            metric: Some("htm".into()),
            ..PuzzleOptions::default()
        },
    );
    assert_eq!(
        names(&htm),
        ["U", "U2", "U'", "F", "F2", "F'", "R", "R2", "R'"]
    );
    assert_eq!(levels(&htm, 5), [1, 9, 54, 321, 1847, 9992]);
}

#[test]
fn metrics_choose_powers() {
    let with = |metric: &str, list: Option<&str>| {
        let options = PuzzleOptions {
            metric: Some(metric.into()),
            moves: list.map(String::from),
            ..PuzzleOptions::default()
        };
        resolve("cube:3", &options)
    };
    assert_eq!(with("qtm", None).generators().len(), 12);
    assert_eq!(with("htm", None).generators().len(), 18);
    assert_eq!(with("qtm", Some("all")).generators().len(), 18);
    let stm = with("stm", None);
    assert_eq!(stm.generators().len(), 27);
    assert_eq!(
        names(&stm)[18..],
        ["M", "M2", "M'", "E", "E2", "E'", "S", "S2", "S'"]
    );
    let g1 = with("htm", Some("U,D,R2,L2,F2,B2"));
    assert_eq!(
        names(&g1),
        ["U", "U2", "U'", "D", "D2", "D'", "R2", "L2", "F2", "B2"]
    );
    assert_eq!(g1.metric(), Metric::Custom);
    assert_eq!(g1.name(), "cube:3 --metric htm --moves U,D,R2,L2,F2,B2");
    let ur = with("htm", Some("U, R"));
    assert_eq!(
        (names(&ur), ur.metric()),
        (vec!["U", "U2", "U'", "R", "R2", "R'"], Metric::Half)
    );
    let same = with("qtm", Some("U’,Ri,F-,D3,B2,2R,r,x'"));
    assert_eq!(
        names(&same),
        ["U'", "R'", "F'", "D'", "B2", "2R", "2R'", "Rw", "Rw'", "x'"]
    );
}

#[test]
fn what_does_not_exist_is_named_with_what_does() {
    let error = |spec: &str, options: PuzzleOptions| puzzle::resolve(spec, &options).unwrap_err().0;
    let metric = |m: &str| PuzzleOptions {
        metric: Some(m.into()),
        ..PuzzleOptions::default()
    };
    let root = |r: &str| PuzzleOptions {
        root: Some(r.into()),
        ..PuzzleOptions::default()
    };
    let orbits = |o: &str| PuzzleOptions {
        orbits: Some(o.into()),
        ..PuzzleOptions::default()
    };
    for (message, expected) in [
        (
            error("topsipn:11,4", Default::default()),
            "did you mean topspin?)",
        ),
        (
            error("sudoku", Default::default()),
            "Known names: pyraminx, ",
        ),
        (
            error("topspin:3,9", Default::default()),
            "K = 9 must be at most N = 3",
        ),
        (
            error("cube:1", Default::default()),
            "N = 1 is out of range; it can be 2 to",
        ),
        (error("lrx:0", Default::default()), "N = 0 is out of range"),
        (
            error("cube:3", metric("atm")),
            "there is no metric atm; there are qtm",
        ),
        (error("pyraminx", metric("stm")), "needs slices"),
        (
            error("topspin:11,4", metric("htm")),
            "needs a puzzle that marks base turns",
        ),
        (error("cube:3", moves("U,Q")), "there is no move Q"),
        (error("cube:3", moves("U,")), "empty entry"),
        (error("cube:3", moves("U,U'")), "names U' twice"),
        (error("cube:3", moves("U4")), "U4 does nothing"),
        (error("cube:4", moves("M")), "names a slice of the 3x3x3"),
        (error("topspin:11,4", moves("L,Y")), "there is no move Y"),
        (
            error("topspin:11,4", root("0011")),
            "4 labels for 11 positions",
        ),
        (
            error("topspin:4,4", root("1111")),
            "all 4 positions have the label 1",
        ),
        (
            error("cube:3", orbits("corner,tips")),
            "there is no orbit \"tips\"",
        ),
        (
            error("cube:3", orbits("centers")),
            "no generator moves any of these 6 positions",
        ),
        (
            error(
                "topspin:4,4",
                PuzzleOptions {
                    colours: true,
                    ..Default::default()
                },
            ),
            "knows no colours",
        ),
    ] {
        assert!(message.contains(expected), "{message}");
    }
    assert!(
        puzzle::is_known("topspin:banana")
            && puzzle::is_known("pyraminx")
            && !puzzle::is_known("a.toml")
    );
}

#[test]
fn projections_keep_what_they_should() {
    let with = |spec: &str, orbits: &str, list: Option<&str>| {
        let options = PuzzleOptions {
            orbits: Some(orbits.into()),
            moves: list.map(String::from),
            ..PuzzleOptions::default()
        };
        resolve(spec, &options)
    };
    let corners = with("cube:3", "corners", None);
    assert_eq!((corners.degree(), corners.generators().len()), (24, 12));
    assert!(corners.has_distinct_labels());
    assert_eq!(levels(&corners, 5), [1, 12, 114, 924, 6539, 39528]);
    assert!(
        corners
            .warnings()
            .iter()
            .any(|w| w.contains("reach 24 of them")),
        "{:?}",
        corners.warnings()
    );
    assert_eq!(with("cube:3", "corners,edges", None).degree(), 72 - 24);
    // Slices do nothing to corners, and say so.
    let all = with("cube:3", "corners", Some("all"));
    assert_eq!(names(&all), names(&corners));
    assert!(
        all.warnings()
            .iter()
            .any(|w| w.starts_with("M moves nothing of corners"))
    );
    // On two colours of centers a wide turn and its inner layer are different moves, on corners equal ones.
    let wide = with("cube:4", "corners", Some("R,Rw,1x"));
    assert_eq!(names(&wide), ["R", "R'"]);
    assert!(
        wide.warnings()
            .iter()
            .any(|w| w.starts_with("Rw does the same as R on corners"))
    );
    assert_eq!(with("cube:6", "f1:0,1,2-,f1:0,1,2+", None).degree(), 48);
    assert_eq!(with("cube:7", "edges", None).degree(), 48 + 48 + 24);
    let tips = with("pyraminx", "tips", None);
    assert_eq!(tips.degree(), 12);
}

#[test]
fn whole_puzzle_rotations_are_told() {
    let warned = |spec: &str, list: Option<&str>| {
        let options = PuzzleOptions {
            moves: list.map(String::from),
            ..PuzzleOptions::default()
        };
        resolve(spec, &options)
            .warnings()
            .iter()
            .any(|w| w.contains("rotations are counted"))
    };
    for (spec, list, expected) in [
        ("cube:2", None, true),
        ("cube:2", Some("U,R,F"), false),
        ("cube:2", Some("U,D"), true),
        ("cube:3", None, false),
        ("cube:3", Some("all"), true),
        ("cube:3", Some("U,x"), true),
        ("cube:4", None, true),
        ("cube:4", Some("U,R,F,Uw,Rw,Fw"), false),
        ("cube:7", None, true),
        ("pocket", None, false),
        ("dino", None, true),
        ("dino-fixed", None, false),
        ("skewb", None, false),
        ("skewb-diamond", None, true),
    ] {
        assert_eq!(warned(spec, list), expected, "{spec} {list:?}");
    }
}

#[test]
fn colours_and_roots_choose_the_labelling() {
    let coloured = resolve(
        "cube:2",
        &PuzzleOptions {
            colours: true,
            ..PuzzleOptions::default()
        },
    );
    assert_eq!(coloured.roots()[0][..9], [0, 0, 0, 0, 1, 1, 1, 1, 2]);
    assert_eq!(coloured.name(), "cube:2 --colours");
    let two = PuzzleOptions {
        root: Some("0011;1,1,0,0".into()),
        ..PuzzleOptions::default()
    };
    let two = resolve("topspin:4,4", &two);
    assert_eq!(
        two.roots().iter().map(|r| r.to_vec()).collect::<Vec<_>>(),
        [[0, 0, 1, 1], [1, 1, 0, 0]]
    );
}

#[test]
fn built_in_puzzles_have_the_published_first_levels() {
    let published: Value = data("growth_published.json");
    let find = |puzzle: &str, metric: &str| -> Vec<u64> {
        let rows = published.as_array().unwrap();
        let row = rows.iter().find(|r| {
            r["puzzle"].as_str().unwrap().starts_with(puzzle)
                && r["metric"].as_str().unwrap().starts_with(metric)
        });
        numbers(&row.unwrap_or_else(|| panic!("{puzzle}"))["counts"])
    };
    for (spec, metric, expected, depth) in [
        (
            "pyraminx-tipless",
            None,
            find("Pyraminx without tips", ""),
            6,
        ),
        ("skewb", None, find("Skewb", "corner"), 6),
        ("skewb-diamond", None, find("Skewb diamond", ""), 5),
        ("dino", None, find("Dino cube", ""), 5),
        ("phase1", None, find("Two-phase phase 1", "HTM"), 4),
        ("phase1", Some("qtm"), find("Two-phase phase 1", "QTM"), 5),
    ] {
        let options = PuzzleOptions {
            metric: metric.map(String::from),
            ..PuzzleOptions::default()
        };
        let made = resolve(spec, &options);
        assert!(made.is_inverse_closed());
        assert_eq!(levels(&made, depth), expected[..=depth], "{spec}");
    }
    let twsearch: Value = data("growth_twsearch.json");
    let tips = twsearch
        .as_array()
        .unwrap()
        .iter()
        .find(|r| r["id"] == "pyratips_htm")
        .unwrap();
    assert_eq!(
        levels(&plain("pyraminx"), 4),
        numbers(&tips["counts"])[..=4]
    );
}

#[test]
fn phase1_is_the_coset_space_of_g1() {
    let phase1 = plain("phase1");
    let cube = plain("cube:3");
    assert_eq!(phase1.generators().len(), 18);
    for g in phase1
        .generators()
        .iter()
        .filter(|g| !g.name.ends_with('2'))
    {
        assert!(cube.generators().contains(g), "{}", g.name);
    }
    let root = &phase1.roots()[0];
    for g in phase1.generators() {
        let keeps = g.perm.apply(root)[..] == root[..];
        let in_g1 = g.name.starts_with(['U', 'D']) || g.name.ends_with('2');
        assert_eq!(keeps, in_g1, "{}", g.name);
    }
    // The corner part: all twists; the edge part: flips and places of the middle edges.
    for (orbit, states) in [("corners", 2187), ("edges", 1_013_760)] {
        let options = PuzzleOptions {
            orbits: Some(orbit.into()),
            ..PuzzleOptions::default()
        };
        let counts = levels(&resolve("phase1", &options), 99);
        assert_eq!(counts.iter().sum::<u64>(), states, "{orbit}");
    }
}

#[test]
fn a_description_explains_every_generator() {
    let show = puzzle::describe(&resolve("cube:3", &moves("U,R2,Rw,(M U)")));
    let about: BTreeMap<&str, &str> = show
        .generators
        .iter()
        .map(|g| (g.name.as_str(), g.about.as_str()))
        .collect();
    assert!(
        about["U"].starts_with("the upper face clockwise"),
        "{about:?}"
    );
    assert!(about["U'"].starts_with("the inverse of U"), "{about:?}");
    assert!(about["R2"].starts_with("R twice"), "{about:?}");
    assert!(about["Rw"].contains("2 layers"), "{about:?}");
    assert!(about["(M U)"].contains("as one move"), "{about:?}");
    let show = puzzle::describe(&plain("topspin:6,4"));
    let about: Vec<&str> = show.generators.iter().map(|g| g.about.as_str()).collect();
    assert_eq!(
        about,
        [
            "shifts positions 0 to 5 by one to the left, the first comes last",
            "shifts positions 0 to 5 by one to the right, the last comes first",
            "reverses positions 0 to 3"
        ]
    );
    assert_eq!(
        puzzle::describe(&plain("pocket")).held.unwrap()[..10],
        *"the corner"
    );
    for entry in puzzle::catalogue() {
        let show = puzzle::describe(&plain(&entry.example));
        assert!(
            !show.states.is_empty() && show.generators.iter().all(|g| !g.about.is_empty()),
            "{}",
            entry.name
        );
    }
}
