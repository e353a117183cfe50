//! Landmarks against cayleyR's states, distances, words and coordinates, and the search against itself.

use antipode_solver_core::Perm;
use antipode_solver_core::puzzle::{Puzzle, PuzzleOptions, resolve};
use antipode_solver_core::survey::landmarks::celestial::{Celestial, angular_distance, midpoint};
use antipode_solver_core::survey::landmarks::enclosing::enclosing;
use antipode_solver_core::survey::landmarks::hull::convex;
use antipode_solver_core::survey::landmarks::ratios;
use antipode_solver_core::survey::landmarks::rows::{NAMES, landmarks};
use antipode_solver_core::survey::landmarks::search::{Budget, Ended, Found, search};
use antipode_solver_core::survey::landmarks::size::{Method, Outcome, Row, Size, Survey};
use serde_json::Value;

const PLENTY: Budget = Budget {
    max_nodes: 1_000_000_000,
    memory_bytes: 1 << 30,
};

fn data(name: &str) -> String {
    let path = format!("{}/../tests/data/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).unwrap()
}

fn json(name: &str) -> Value {
    serde_json::from_str(&data(name)).unwrap()
}

fn puzzle(spec: &str) -> Puzzle {
    resolve(spec, &PuzzleOptions::default()).unwrap()
}

fn moves(spec: &str) -> Vec<Perm> {
    puzzle(spec)
        .generators()
        .iter()
        .map(|g| g.perm.clone())
        .collect()
}

fn survey(spec: &str, exhaustive: u32) -> Size {
    Survey::new(puzzle(spec), exhaustive, PLENTY)
        .unwrap()
        .run(&|| false, &|| false)
        .unwrap()
}

fn one_based(state: &Perm) -> Vec<u64> {
    state.images().iter().map(|&v| u64::from(v) + 1).collect()
}

fn numbers(v: &Value) -> Vec<u64> {
    v.as_array()
        .unwrap()
        .iter()
        .map(|x| x.as_u64().unwrap())
        .collect()
}

fn letters(size: &Size, word: &[u16]) -> String {
    word.iter()
        .map(|&m| size.moves[usize::from(m)].as_str())
        .collect()
}

#[test]
fn all_printed_rows_are_reproduced() {
    let file = json("cayleyR/landmarks.json");
    let mut seen = 0;
    for entry in file["by_n"].as_object().unwrap().values() {
        let n = entry["n"].as_u64().unwrap() as usize;
        for (ours, theirs) in landmarks(n)
            .unwrap()
            .iter()
            .zip(entry["landmarks"].as_array().unwrap())
        {
            assert_eq!(u64::from(ours.id), theirs["id"].as_u64().unwrap());
            assert_eq!(ours.name, theirs["name"]);
            assert_eq!(
                one_based(&ours.state),
                numbers(&theirs["state"]),
                "n = {n}, {}",
                ours.name
            );
            seen += 1;
        }
    }
    for line in data("landmark_rows.txt").lines().skip(1) {
        let mut words = line.split(' ');
        let n: usize = words.next().unwrap().parse().unwrap();
        let id: usize = words.next().unwrap().parse().unwrap();
        assert_eq!(words.next().unwrap(), NAMES[id - 1]);
        let row: Vec<u64> = words.map(|w| w.parse().unwrap()).collect();
        assert_eq!(
            one_based(&landmarks(n).unwrap()[id - 1].state),
            row,
            "{line}"
        );
        seen += 1;
    }
    assert_eq!(seen, 225 + 50);
}

#[test]
fn distances_words_and_levels_of_topspin_6_to_10() {
    let (words, distances) = (json("landmark_words.json"), json("cayleyR/landmarks.json"));
    for n in 6..=10 {
        let size = survey(&format!("topspin:{n},4"), 13);
        let expect = &words["by_n"][n.to_string()];
        assert_eq!(size.method, Method::Exhaustive);
        assert_eq!(size.levels, Some(numbers(&expect["levels"])));
        let theirs = &distances["by_n"][n.to_string()];
        assert_eq!(
            size.diameter().map(u64::from),
            theirs["graph"]["diameter"].as_u64()
        );
        for (k, row) in size.rows.iter().enumerate() {
            let expect = &expect["landmarks"][k];
            let word = ratios::word(row);
            assert_eq!(
                word.map(|w| w.len() as u64),
                theirs["landmarks"][k]["distance_from_identity"].as_u64()
            );
            assert_eq!(
                word.map(|w| letters(&size, w)).as_deref(),
                expect["word"].as_str(),
                "n = {n}, {k}"
            );
            let counts = ratios::counts(&size, row).map(|c| c.map(u64::from));
            let theirs = ["nL", "nR", "nX"].map(|c| expect[c].as_u64());
            assert_eq!(counts.map_or([None; 3], |c| c.map(Some)), theirs);
        }
    }
}

#[test]
fn diameters_of_11_and_12_and_what_they_foretell() {
    let sizes: Vec<Size> = [6, 8, 9, 10, 11, 12]
        .map(|n| survey(&format!("topspin:{n},4"), 13))
        .into();
    let known: Vec<Option<u32>> = sizes.iter().map(Size::diameter).collect();
    assert_eq!(known, [12, 22, 23, 28, 32, 38].map(Some));
    // From the ratios of n = 10 alone: close, and no bound.
    let twelve = &sizes[5];
    let estimate = ratios::estimate(&sizes, twelve).unwrap();
    assert_eq!((estimate.from_n, estimate.landmarks), (10, 22));
    assert!((estimate.median - 36.2).abs() < 0.1, "{estimate:?}");
    assert_eq!(ratios::proved_bound(twelve), Some(35));
    let trivial = |size: &Size| -> Vec<u8> {
        size.rows
            .iter()
            .filter(|r| ratios::why_trivial(size, r).is_some())
            .map(|r| r.id)
            .collect()
    };
    assert_eq!(trivial(&sizes[0]), [2, 10, 22]);
    // reverse_second is X between two turns for n = 8 and 9.
    assert_eq!(trivial(&sizes[1]), [2, 10, 12, 13]);
    assert_eq!(trivial(&sizes[2]), [8, 10, 13]);
    assert_eq!(trivial(twelve), [2, 10, 20]);
    assert_eq!(ratios::estimate(&sizes, &sizes[0]), None);
}

#[test]
fn the_search_agrees_with_enumerations_of_other_families() {
    // Size compares both ways to every distance itself; that it was both is asked here.
    for spec in [
        "lrx:6",
        "lrx:8",
        "lrx:9",
        "lx:7",
        "lx:8",
        "larx:7",
        "pancake:8",
        "topspin:8,3",
        "topspin:8,5",
        "topspin:9,5",
        "topspin:7,7",
        "coxeter:7",
        "lsl-cycles:7",
    ] {
        let size = survey(spec, 13);
        assert_eq!(size.method, Method::Exhaustive, "{spec}");
        assert_eq!(size.ended, Ended::Complete, "{spec}");
        assert_eq!(size.rows.len(), 25);
    }
}

/// The least word by depth-first search in order: slow, and right by its shape.
fn least_word(moves: &[Perm], to: &Perm, length: usize) -> Option<Vec<u16>> {
    if length == 0 {
        return to.is_identity().then(Vec::new);
    }
    moves.iter().enumerate().find_map(|(m, g)| {
        let mut word = least_word(moves, &g.inverse().then(to), length - 1)?;
        word.insert(0, m as u16);
        Some(word)
    })
}

#[test]
fn words_of_directed_lists_are_the_least() {
    let moves = moves("lx:7");
    let size = survey("lx:7", 13);
    for row in &size.rows {
        let word = ratios::word(row).unwrap();
        let state = Perm::from_images(&row.state).unwrap();
        if word.len() <= 18 {
            assert!((0..word.len()).all(|l| least_word(&moves, &state, l).is_none()));
            assert_eq!(
                least_word(&moves, &state, word.len()).as_deref(),
                Some(word)
            );
        }
    }
}

#[test]
fn little_memory_gives_the_same_words_and_few_nodes_true_bounds() {
    let moves = moves("topspin:10,4");
    let targets: Vec<Perm> = landmarks(10)
        .unwrap()
        .into_iter()
        .map(|l| l.state)
        .collect();
    let none = || false;
    let full = search(&moves, &targets, PLENTY, &none).unwrap();
    assert_eq!(full.ended, Ended::Complete);
    // A ball of radius 9 or so: most targets must be moved before they are looked up.
    let small = Budget {
        memory_bytes: 60_000,
        ..PLENTY
    };
    let moved = search(&moves, &targets, small, &none).unwrap();
    assert!(
        moved.radius < full.radius && moved.ended == Ended::Complete,
        "{moved:?}"
    );
    assert_eq!(moved.found, full.found);
    for max_nodes in [1, 10, 100, 1_000, 5_000, 20_000, 50_000] {
        let few = search(
            &moves,
            &targets,
            Budget {
                max_nodes,
                ..PLENTY
            },
            &none,
        )
        .unwrap();
        assert!(few.nodes <= max_nodes);
        assert_eq!(few.ended, Ended::Nodes);
        let (mut open, mut words) = (0, 0);
        for (few, full) in few.found.iter().zip(&full.found) {
            match (few, full) {
                (Found::Open { lower, proof, word }, Found::Exact { distance, .. }) => {
                    let upper = word.as_ref().map(Vec::len);
                    assert!(upper.is_none_or(|u| u >= *distance as usize));
                    words += usize::from(upper.is_some());
                    open += 1;
                    assert!(lower <= distance);
                    assert_eq!(*lower, proof.ball + proof.probe + 1);
                }
                _ => assert_eq!(few, full),
            }
        }
        assert!(
            open > 0 && (words > open / 2 || max_nodes < 100),
            "{words} of {open}"
        );
    }
    let stopped = search(&moves, &targets, PLENTY, &|| true).unwrap();
    assert_eq!(stopped.ended, Ended::Stopped);
    assert!(
        stopped
            .found
            .iter()
            .all(|f| matches!(f, Found::Open { .. }))
    );
}

#[test]
fn threads_do_not_change_the_answer() {
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        pool.install(|| survey("topspin:11,4", 0))
    };
    let one = run(1);
    assert_eq!(one.method, Method::BothEnds);
    assert_eq!(one, run(3));
}

#[test]
fn five_bits_a_label_and_a_single_answer() {
    // TopSpin(18,4): ids 10 and 12 are near, the others are left open by so few nodes.
    let few = Budget {
        max_nodes: 200_000,
        memory_bytes: 64 << 20,
    };
    let size = Survey::new(puzzle("topspin:18,4"), 13, few)
        .unwrap()
        .run(&|| false, &|| false)
        .unwrap();
    let id10 = &size.rows[9];
    assert_eq!(
        ratios::word(id10).map(|w| letters(&size, w)).as_deref(),
        Some("LLX")
    );
    assert!(
        size.rows
            .iter()
            .any(|r| matches!(r.outcome, Outcome::Open { lower, .. } if lower > 20))
    );
    assert!(
        Survey::new(puzzle("topspin:5,4"), 13, few)
            .err()
            .unwrap()
            .contains("too small")
    );
    assert!(
        Survey::new(puzzle("topspin:26,4"), 13, few)
            .err()
            .unwrap()
            .contains("too large")
    );
}

#[test]
fn a_distance_may_be_proved_where_the_least_word_is_open() {
    // So few nodes leave most rows open; some of them are found by a word as long as the lower bound.
    let few = Budget {
        max_nodes: 2000,
        memory_bytes: 64 << 20,
    };
    let survey = |enumerated: u32| {
        let survey = Survey::new(puzzle("lrx:9"), enumerated, few).unwrap();
        survey.run(&|| false, &|| false).unwrap()
    };
    let (searched, enumerated) = (survey(6), survey(9));
    let proved = |row: &Row| matches!(row.outcome, Outcome::Proved { .. });
    assert!(searched.rows.iter().any(proved));
    assert!(enumerated.rows.iter().any(proved));
    for (row, truth) in searched.rows.iter().zip(&enumerated.rows) {
        assert!(!matches!(truth.outcome, Outcome::Open { .. }), "{truth:?}");
        match (&row.outcome, ratios::distance(row)) {
            (_, Some(distance)) => assert_eq!(Some(distance), ratios::distance(truth), "{row:?}"),
            (Outcome::Open { lower, .. }, None) => {
                assert!(Some(*lower) <= ratios::distance(truth), "{row:?}");
            }
            _ => assert!(ratios::distance(truth).is_none(), "{row:?}"),
        }
    }
}

fn triple(v: &Value) -> [f64; 3] {
    let v: Vec<f64> = v
        .as_array()
        .unwrap()
        .iter()
        .map(|x| x.as_f64().unwrap())
        .collect();
    [v[0], v[1], v[2]]
}

fn close(a: f64, b: &Value, bound: f64) {
    let b = b.as_f64().unwrap();
    assert!((a - b).abs() <= bound * b.abs().max(1.0), "{a} is not {b}");
}

#[test]
fn celestial_coordinates() {
    let file = json("cayleyR/celestial.json");
    // The file has 15 digits.
    let check = |c: Celestial, row: &Value| {
        close(c.theta, &row["theta"], 1e-13);
        close(c.phi, &row["phi"], 1e-13);
        close(c.omega, &row["omega"], 1e-13);
        close(c.z.0, &row["z"]["re"], 1e-13);
        close(c.z.1, &row["z"]["im"], 1e-13);
    };
    let rows = |name: &str| file[name].as_array().unwrap().clone();
    for row in rows("convert_LRX_to_celestial") {
        let counts = ["nL", "nR", "nX"].map(|k| row[k].as_f64().unwrap());
        check(Celestial::of(counts), &row);
    }
    for row in rows("angular_distance") {
        // Near zero the arc cosine has half the digits.
        close(
            angular_distance(triple(&row["a"]), triple(&row["b"])),
            &row["angle"],
            2e-8,
        );
    }
    for row in rows("midpoint") {
        check(midpoint(triple(&row["a"]), triple(&row["b"])), &row);
    }
}

#[test]
fn hulls() {
    let file = json("cayleyR/hull.json");
    for set in file["sets"].as_array().unwrap() {
        let name = set["name"].as_str().unwrap();
        let points: Vec<[f64; 3]> = set["points"]
            .as_array()
            .unwrap()
            .iter()
            .map(triple)
            .collect();
        let ours = convex(&points);
        let theirs = &set["convex"];
        assert_eq!(ours.is_degenerate(), theirs["degenerate"], "{name}");
        close(ours.area, &theirs["area"], 1e-12);
        close(ours.volume, &theirs["volume"], 1e-12);
        let outer = enclosing(&points);
        let plus_one =
            |list: &[usize]| -> Vec<u64> { list.iter().map(|&i| i as u64 + 1).collect() };
        if name == "grid27" {
            assert_eq!((ours.vertices.len(), ours.faces.len()), (8, 12));
            continue;
        }
        assert_eq!(
            ours.faces.len() as u64,
            theirs["n_faces"].as_u64().unwrap(),
            "{name}"
        );
        assert_eq!(
            plus_one(&ours.vertices),
            numbers(&theirs["vertices_1based"]),
            "{name}"
        );
        let theirs = &set["enclosing"];
        assert_eq!(outer.hull.is_degenerate(), theirs["degenerate"]);
        assert_eq!(
            outer.hull.faces.len() as u64,
            theirs["n_faces"].as_u64().unwrap(),
            "{name}"
        );
        assert_eq!(
            outer.hull.vertices.len() as u64,
            theirs["n_vertices"].as_u64().unwrap()
        );
        assert_eq!(
            plus_one(&outer.pushed),
            numbers(&theirs["pushed_1based"]),
            "{name}"
        );
        close(outer.hull.area, &theirs["area"], 1e-12);
        close(outer.hull.volume, &theirs["volume"], 1e-12);
        // Where more is inside than the convex hull holds, the surface must cut through itself.
        let expect = outer.hull.volume > ours.volume * (1.0 + 1e-9);
        assert!(outer.crosses_itself || !expect, "{name}");
        if [
            "cube",
            "cube_plus_centre",
            "octa_plus_origin",
            "sphere25",
            "flat",
        ]
        .contains(&name)
        {
            assert!(!outer.crosses_itself, "{name}");
        }
    }
}

#[test]
fn repeated_points_and_points_in_faces_change_nothing() {
    let cube = |i: usize| [i & 1, i >> 1 & 1, i >> 2 & 1].map(|x| (2 * x) as f64);
    let mut points: Vec<[f64; 3]> = vec![[1.0, 1.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 1.0]];
    points.extend((0..8).map(cube));
    points.extend((0..8).map(cube));
    let hull = convex(&points);
    assert_eq!(hull.vertices, (3..11).collect::<Vec<_>>());
    assert_eq!((hull.faces.len(), hull.area), (12, 24.0));
    assert!((hull.volume - 8.0).abs() < 1e-12);
    assert!(convex(&points[..3]).is_degenerate());
    assert!(convex(&[]).is_degenerate() && convex(&[[1.0; 3]; 9]).is_degenerate());
    let outer = enclosing(&points);
    assert_eq!(outer.pushed, [0, 1, 2]);
}
