//! Oracle vectors for the tests: rows of the growth files with the puzzle each of them is.
#![allow(dead_code, reason = "every test binary uses a part of it")]

use antipode_solver_core::perm::Perm;
use antipode_solver_core::puzzle::{self, Generator, Metric, Puzzle, PuzzleOptions};
use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, MapAccess, Visitor};
use serde_json::Value;
use std::path::PathBuf;

fn text(name: &str) -> String {
    // Other crates of the workspace use this module too.
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let path = here
        .ancestors()
        .map(|folder| folder.join("tests/data").join(name))
        .find(|path| path.is_file())
        .unwrap_or_else(|| panic!("{name} is not in tests/data"));
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// A JSON file of `tests/data`.
pub fn data<T: DeserializeOwned>(name: &str) -> T {
    serde_json::from_str(&text(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
}

pub fn numbers(value: &Value) -> Vec<u64> {
    value
        .as_array()
        .unwrap()
        .iter()
        .map(|v| v.as_u64().unwrap())
        .collect()
}

/// A row of growth_cayleypy.json, its generators in the order of the file.
#[derive(Deserialize)]
pub struct CayleyPyRow {
    pub id: String,
    pub family: String,
    pub params: Value,
    pub state_size: u64,
    pub generators: Option<InOrder>,
    /// Given where the generators are not.
    pub n_generators: Option<u64>,
    pub central_state: Option<Vec<u64>>,
    pub inverse_closed: bool,
    pub counts: Vec<u64>,
    pub complete: bool,
    #[serde(default)]
    pub convention_sensitive: bool,
}

/// Names and images in the order of the file.
pub struct InOrder(pub Vec<(String, Vec<u64>)>);

impl<'de> Deserialize<'de> for InOrder {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<InOrder, D::Error> {
        struct Pairs;
        impl<'de> Visitor<'de> for Pairs {
            type Value = InOrder;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object of generators")
            }
            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<InOrder, M::Error> {
                let mut out = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    out.push(entry);
                }
                Ok(InOrder(out))
            }
        }
        deserializer.deserialize_map(Pairs)
    }
}

impl CayleyPyRow {
    /// The row's generators and colouring read as a CayleyPy file; `None` where the row has a rule only.
    pub fn as_file(&self) -> Option<Puzzle> {
        let generators: Vec<String> = self
            .generators
            .as_ref()?
            .0
            .iter()
            .map(|(name, images)| format!("{}: {images:?}", Value::from(name.as_str())))
            .collect();
        let central = Value::from(self.central_state.clone());
        let text = format!(
            "{{\"central_state\": {central}, \"generators\": {{{}}}}}",
            generators.join(", ")
        );
        let made = puzzle::from_bytes(&self.id, text.as_bytes(), &PuzzleOptions::default());
        Some(made.unwrap_or_else(|e| panic!("{e}")))
    }
}

pub fn cayleypy_rows() -> Vec<CayleyPyRow> {
    data("growth_cayleypy.json")
}

/// A row of growth_published.json or growth_twsearch.json with its puzzle.
pub struct PublishedRow {
    /// For messages, e.g. `published 4, 3x3x3 corners`.
    pub name: String,
    pub counts: Vec<u64>,
    /// The row holds the first levels only.
    pub prefix_only: bool,
    /// Our puzzle, or why there is none.
    pub puzzle: Result<Puzzle, String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MapFile {
    published: Vec<MapEntry>,
    twsearch: Vec<MapEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MapEntry {
    index: Option<usize>,
    puzzle: Option<String>,
    id: Option<String>,
    spec: Option<String>,
    row: Option<String>,
    metric: Option<String>,
    moves: Option<String>,
    orbits: Option<String>,
    root: Option<String>,
    #[serde(default)]
    colours: bool,
    #[serde(default)]
    prefix_only: bool,
    left_out: Option<String>,
}

impl MapEntry {
    fn puzzle(self, name: &str, files: &[CayleyPyRow]) -> Result<Puzzle, String> {
        let options = PuzzleOptions {
            metric: self.metric,
            moves: self.moves,
            root: self.root,
            orbits: self.orbits,
            colours: self.colours,
        };
        match (self.spec, self.row, self.left_out) {
            (Some(spec), None, None) => {
                Ok(puzzle::resolve(&spec, &options).unwrap_or_else(|e| panic!("{name}: {e}")))
            }
            (None, Some(row), None) => {
                let row = files
                    .iter()
                    .find(|r| r.id == row)
                    .unwrap_or_else(|| panic!("{name}: no row {row}"));
                Ok(row.as_file().unwrap())
            }
            (None, None, Some(reason)) => Err(reason),
            _ => panic!("{name}: exactly one of spec, row and left_out is needed"),
        }
    }
}

/// Every row of both files, in order; panics where the map misses one.
pub fn published_rows() -> Vec<PublishedRow> {
    let map: MapFile = toml::from_str(&text("published_map.toml")).unwrap();
    let files = cayleypy_rows();
    let published: Vec<Value> = data("growth_published.json");
    let twsearch: Vec<Value> = data("growth_twsearch.json");
    assert_eq!(map.published.len(), published.len());
    assert_eq!(map.twsearch.len(), twsearch.len());
    let mut out = Vec::new();
    for (k, (entry, row)) in map.published.into_iter().zip(&published).enumerate() {
        assert_eq!(
            (entry.index, entry.puzzle.as_deref()),
            (Some(k), row["puzzle"].as_str())
        );
        let name = format!("published {k}, {}", row["puzzle"]);
        let prefix_only = entry.prefix_only;
        let puzzle = entry.puzzle(&name, &files);
        if puzzle.is_ok() {
            assert_eq!(prefix_only, row["complete"] == false, "{name}");
        }
        out.push(PublishedRow {
            counts: numbers(&row["counts"]),
            prefix_only,
            puzzle,
            name,
        });
    }
    for (entry, row) in map.twsearch.into_iter().zip(&twsearch) {
        assert_eq!(entry.id.as_deref(), row["id"].as_str());
        let name = format!("twsearch {}", row["id"]);
        let prefix_only = entry.prefix_only;
        out.push(PublishedRow {
            counts: numbers(&row["counts"]),
            prefix_only,
            puzzle: entry.puzzle(&name, &files),
            name,
        });
    }
    out
}

/// Counts of the first levels over a set of whole states, as long as the expected ones are below `limit`.
pub fn first_levels(puzzle: &Puzzle, expected: &[u64], limit: u64) -> Vec<u64> {
    let mut seen: std::collections::HashSet<Box<[u16]>> = puzzle.roots().iter().cloned().collect();
    let mut frontier: Vec<Box<[u16]>> = seen.iter().cloned().collect();
    let mut counts = vec![frontier.len() as u64];
    while expected.get(counts.len()).is_some_and(|&c| c <= limit) {
        let mut next = Vec::new();
        for state in &frontier {
            for g in puzzle.generators() {
                let child: Box<[u16]> = g.perm.apply(state).into();
                if seen.insert(child.clone()) {
                    next.push(child);
                }
            }
        }
        counts.push(next.len() as u64);
        frontier = next;
    }
    counts
}

/// A puzzle of moves `g0`, `g1`, ... given by their images.
pub fn puzzle_of(generators: &[Vec<u16>], roots: &[Vec<u16>]) -> Puzzle {
    let generators = generators
        .iter()
        .enumerate()
        .map(|(i, p)| Generator {
            name: format!("g{i}"),
            perm: Perm::from_images(p).unwrap(),
        })
        .collect();
    let roots = roots.iter().map(|r| r.clone().into()).collect();
    Puzzle::new("test".into(), generators, roots, Metric::Custom, vec![]).unwrap()
}
