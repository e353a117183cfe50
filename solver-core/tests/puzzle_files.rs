//! Puzzle files in the three formats: what they mean, and what is said about broken ones.

use antipode_solver_core::puzzle::{self, Metric, Puzzle, PuzzleOptions};

fn read(text: &str) -> Result<Puzzle, String> {
    puzzle::from_bytes("p.toml", text.as_bytes(), &PuzzleOptions::default()).map_err(|e| e.0)
}

fn images(puzzle: &Puzzle) -> Vec<(&str, &[u16])> {
    puzzle
        .generators()
        .iter()
        .map(|g| (g.name.as_str(), g.perm.images()))
        .collect()
}

#[test]
fn toml_in_one_line_and_in_cycles() {
    let list =
        read("base = 0\n[generators]\nL = [1, 2, 3, 0]\nX = \"(0 3)(1,2)\"\nA = [0, 1, 3, 2]")
            .unwrap();
    // The order is that of the file, not of the alphabet.
    assert_eq!(
        images(&list),
        [
            ("L", &[1, 2, 3, 0][..]),
            ("X", &[3, 2, 1, 0]),
            ("A", &[0, 1, 3, 2])
        ]
    );
    assert_eq!(list.metric(), Metric::Generators);
    let one =
        read("base = 1\n[generators]\nL = \"(1 2 3 4)\"\nX = [4, 3, 2, 1]\nA = \"(3 4)\"").unwrap();
    assert_eq!(images(&one), images(&list));
}

#[test]
fn toml_with_everything() {
    let text = "
        name = \"Test\"
        description = \"six labels\"
        held = \"nothing\"
        base = 0
        degree = 6
        add_inverses = true
        roots = [\"000111\", [0, 1, 0, 1, 0, 1]]
        colours = [0, 0, 1, 1, 2, 2]
        [generators]
        L = [1, 2, 3, 4, 5, 0]
        X = \"(0 3)(1 2)\"
        [orbits]
        all = [0, 1, 2, 3, 4, 5]";
    let made = read(text).unwrap();
    assert_eq!(
        images(&made).iter().map(|g| g.0).collect::<Vec<_>>(),
        ["L", "L'", "X"]
    );
    assert!(made.is_inverse_closed());
    assert_eq!(made.roots().len(), 2);
    assert_eq!(made.classes()[0].label, "all");
    let show = puzzle::describe(&made);
    assert_eq!(
        (show.states.as_str(), show.held.as_deref()),
        ("Test: six labels", Some("nothing"))
    );
    let options = PuzzleOptions {
        colours: true,
        ..PuzzleOptions::default()
    };
    let coloured = puzzle::from_bytes("p", text.as_bytes(), &options).unwrap();
    assert_eq!(coloured.roots()[0][..], [0, 0, 1, 1, 2, 2]);
}

#[test]
fn toml_turns_follow_the_metric() {
    let text = "
        base = 0
        metric = \"htm\"
        [turns]
        U = { order = 4, move = \"(0 1 2 3)\", about = \"the upper layer\" }
        V = \"(0 4)\"
        M = { move = \"(2 3 4)\", slice = true }";
    let with = |metric: Option<&str>, list: Option<&str>| {
        let options = PuzzleOptions {
            metric: metric.map(String::from),
            moves: list.map(String::from),
            ..PuzzleOptions::default()
        };
        let made = puzzle::from_bytes("p", text.as_bytes(), &options).unwrap();
        (
            images(&made)
                .iter()
                .map(|g| g.0.to_owned())
                .collect::<Vec<_>>(),
            made.metric(),
        )
    };
    let list = |names: &[&str]| names.iter().map(|n| n.to_string()).collect::<Vec<_>>();
    assert_eq!(
        with(None, None),
        (list(&["U", "U2", "U'", "V"]), Metric::Half)
    );
    assert_eq!(
        with(Some("qtm"), None),
        (list(&["U", "U'", "V"]), Metric::Quarter)
    );
    assert_eq!(
        with(Some("stm"), None),
        (list(&["U", "U2", "U'", "V", "M", "M'"]), Metric::Slice)
    );
    assert_eq!(
        with(None, Some("M,U2")),
        (list(&["M", "M'", "U2"]), Metric::Custom)
    );
}

#[test]
fn cayleypy_json_keeps_its_order() {
    let made =
        read("{\"generators\": {\"b\": [1, 0, 2], \"a\": [0, 2, 1]}, \"central_state\": \"011\"}")
            .unwrap();
    assert_eq!(images(&made), [("b", &[1, 0, 2][..]), ("a", &[0, 2, 1])]);
    assert_eq!(made.roots()[0][..], [0, 1, 1]);
    let plain =
        read("{\"generators\": [[1, 0, 2], [0, 2, 1]], \"generator_names\": [\"b\", \"a\"]}")
            .unwrap();
    assert_eq!(images(&plain), images(&made));
    assert!(plain.has_distinct_labels());
}

#[test]
fn gap_files_of_puzzle_geometry() {
    let text = "# a comment; with a semicolon and M_Z:=
M_M_D:=(1,3,2)(4,6,5);
M_U:=(1,4)
  (2,5);
M_unused:=(1,2);
Gen:=[
M_U,M_M_D
];
ip:=[[1,2],[4],[5,6]];
# Size(Group(Gen));
";
    let made = read(text).unwrap();
    assert_eq!(
        images(&made),
        [("U", &[3, 4, 2, 0, 1, 5][..]), ("D", &[2, 0, 1, 5, 3, 4])]
    );
    assert_eq!(made.roots()[0][..], [0, 0, 1, 2, 3, 3]);
    assert_eq!(puzzle::identical_positions(&made), [[0, 1], [4, 5]]);
    let distinct = read("M_U:=(1,2,3);ip:=[[1],[2]];").unwrap();
    assert!(distinct.has_distinct_labels());
}

#[test]
fn broken_files_are_told_where_and_what() {
    let generators = "base = 0\n[generators]\n";
    for (text, expected) in [
        // No puzzle at all.
        ("", "p.toml: the file is empty"),
        (" \n\t\n", "the file is empty"),
        ("base = 0", "neither [generators] nor [turns]"),
        ("base = 0\n[generators]", "[generators] is empty"),
        (
            "[generators]\nL = [1, 0]",
            "there is no base; write base = 0",
        ),
        (
            "base = 2\n[generators]\nL = [1, 0]",
            "p.toml, line 1: base: it must be 0 or 1",
        ),
        (
            "base = 0\n[generators]\nL = [1, 0]\n[turns]\nU = [1, 0]",
            "give the moves in one of them",
        ),
        ("base = ", "p.toml, line 1: it is not TOML"),
        // Permutations.
        (
            &format!("{generators}L = [1, 0]\nX = [0, 0]"),
            "p.toml, line 4: [generators] X: it is not a permutation: entry 1 is 0, which entry 0 has already",
        ),
        (
            &format!("{generators}L = [1, 2]"),
            "entry 1 is 2, but its 2 entries must be the numbers 0 to 1",
        ),
        (
            &format!("{generators}L = [1, 0]\nX = [1, 0, 2]"),
            "line 4: [generators] X: it has 3 entries, but the puzzle has 2 positions",
        ),
        (&format!("{generators}L = [1, -1]"), "entry 1 is no number"),
        (
            &format!("{generators}L = \"(0 1)(1 2)\""),
            "position 1 occurs twice",
        ),
        (&format!("{generators}L = \"(0 1\""), "is not closed by )"),
        (&format!("{generators}L = 3"), "it must be a list such as"),
        (
            "base = 1\n[generators]\nL = [0, 1]",
            "entry 1 is 0, but positions are counted from 1",
        ),
        (
            "base = 1\n[generators]\nL = \"(0 1)\"",
            "position 0 is out of range; positions are 1 to 1",
        ),
        (&format!("{generators}L = \"()\""), "no move moves anything"),
        (
            &format!("{generators}L = \"(0 99999999)\""),
            "at most 10000",
        ),
        // Names.
        (
            &format!("{generators}L = [1, 0]\nL = [0, 1]"),
            "line 4: the name L is given twice",
        ),
        (
            "base = 0\nadd_inverses = true\n[generators]\nL = [1, 2, 0]\n\"L'\" = [1, 0, 2]",
            "a second generator L'",
        ),
        (
            "base = 0\ncoloring = \"01\"\n[generators]\nL = [1, 0]",
            "p.toml, line 2: the key \"coloring\" is unknown; did you mean colouring?",
        ),
        (
            "base = 0\n[turns]\nU = { order = 3, move = \"(0 1)\" }",
            "order = 3, but the move has order 2",
        ),
        (
            "base = 0\n[turns]\nU = { order = 2 }",
            "[turns] U: there is no move",
        ),
        (
            "base = 0\n[turns]\nU = { mov = \"(0 1)\", move = \"(0 1)\" }",
            "[turns] U: the key \"mov\" is unknown; did you mean move?",
        ),
        (
            "base = 0\n[turns]\nU = \"()\"\nV = \"(0 1)\"",
            "this turn does nothing",
        ),
        (
            "base = 0\nmetric = \"htm\"\n[generators]\nL = [1, 0]",
            "it needs [turns]",
        ),
        // Labels.
        (
            "base = 0\ncolouring = \"011\"\n[generators]\nL = [1, 0]",
            "line 2: colouring: 3 labels for 2 positions",
        ),
        (
            "base = 0\ncolouring = \"00\"\n[generators]\nL = [1, 0]",
            "all 2 positions have the label 0",
        ),
        (
            "base = 0\ncolouring = [0, 70000]\n[generators]\nL = [1, 0]",
            "entry 1 is 70000",
        ),
        (
            "base = 0\nroots = [\"01\", \"01\"]\n[generators]\nL = [1, 0]",
            "it is the same as entry 0",
        ),
        (
            "base = 0\nroots = []\n[generators]\nL = [1, 0]",
            "it is empty",
        ),
        (
            "base = 0\n[generators]\nL = [1, 0]\n[orbits]\na = [0]",
            "across the border of orbit a",
        ),
        (
            "base = 0\n[generators]\nL = [1, 0]\n[orbits]\na = [7]",
            "position 7 is out of range",
        ),
        // JSON.
        (
            "{\"generators\": {\"a\": [1, 0]",
            "p.toml, line 1: it starts like JSON, but it is not",
        ),
        (
            "{\"central_state\": [0, 1]}",
            "there is no key \"generators\"",
        ),
        ("{\"generators\": {}}", "generators: there is none"),
        (
            "{\"generators\": {\"a\": [1, 0], \"a\": [0, 1]}}",
            "two generators are called \"a\"",
        ),
        (
            "{\"generators\": {\"a\": [1, 0], \"b\": [0]}}",
            "it has 1 entries, but generator \"a\" has 2",
        ),
        (
            "{\"generators\": {\"a\": [1, 1]}}",
            "generator \"a\": it is not a permutation: entry 1 is 1",
        ),
        ("{\"generators\": {\"a\": [1, -1]}}", "entry 1 is -1"),
        (
            "{\"generators\": {\"a\": [1, 0]}, \"central_state\": [1, 1]}",
            "central_state: all 2 positions have the label 1",
        ),
        (
            "{\"generators\": {\"a\": [1, 0]}, \"central_state\": [1]}",
            "central_state: 1 labels for 2",
        ),
        (
            "{\"generators\": {\"a\": [1, 0]}, \"colour\": 1}",
            "the key \"colour\" is unknown",
        ),
        ("{\"f0\": [1, 0]}", "put it under \"generators\""),
        // GAP.
        (
            "M_U:=(1,2)\nM_D:=(1,2);",
            "p.toml, line 1: M_U: the statement is not ended by ;",
        ),
        (
            "M_U:=(1,2);\nM_U:=(1,2);",
            "p.toml, line 2: M_U: line 1 has the same name",
        ),
        (
            "M_U:=(1,2);\nGen:=[M_V];",
            "line 2: Gen: there is no move M_V",
        ),
        (
            "M_U:=(0,2);",
            "position 0 is out of range; positions are 1 to 2",
        ),
        (
            "M_U:=(1,2);\nip:=[[1],[1]];",
            "line 2: ip: position 1 is in two classes",
        ),
        (
            "M_U:=(1,2);\nSize(G);\nx:=1;",
            "line 2: \"Size(G)\" is no statement",
        ),
        ("M_U:=(1,2);\nx:=1;", "line 2: x: this is none of"),
        (
            "M_U:=(1,2);Gen:=[];ip:=[[1,2]];",
            "Gen: there is no generator",
        ),
        // Other formats.
        (
            "Name 2x2x2\n\nSet CORNERS 8 3\n\nSolved\nCORNERS\n1 2\nEnd\n\nMove U\nCORNERS\n2 1\nEnd",
            "this looks like a ksolve definition",
        ),
        (
            "Name x\nSet C 3 1\nStartState\nC\n1 2 3\nEnd\nMoveTransform U\nC\n2 1 3\nEnd",
            "a twsearch (tws) definition",
        ),
        ("{'f0': [1, 0]}", "a Santa 2023 move table"),
        (
            "id,puzzle_type,solution_state,initial_state,num_wildcards\n0,cube,A,B,0",
            "a Santa 2023 table",
        ),
    ] {
        let message = read(text).expect_err(text);
        assert!(
            message.starts_with("p.toml") && message.contains(expected),
            "{text}\n{message}"
        );
        assert!(!message.contains('\n'), "{message}");
    }
}

#[test]
fn bytes_that_are_no_text() {
    let read = |bytes: &[u8]| {
        puzzle::from_bytes("p", bytes, &PuzzleOptions::default())
            .unwrap_err()
            .0
    };
    assert_eq!(
        read(b"base = 0\n\xff\xfe"),
        "p, line 2: byte 9 is not UTF-8 text; a puzzle file is text, save it in the encoding UTF-8"
    );
    let marked = "\u{feff}base = 0\n[generators]\nL = [1, 0]";
    assert!(puzzle::from_bytes("p", marked.as_bytes(), &PuzzleOptions::default()).is_ok());
}
