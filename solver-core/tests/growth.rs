//! Whole histograms of the oracle vectors through the real engine, sharded and certified: every row up
//! to 5.5 million states on every kernel of this machine, and the larger ones with an index on the best.

mod support;

use antipode_solver_core::bfs::enumerate::enumerate;
use antipode_solver_core::engine::{Engine, EngineError, KernelChoice};
use antipode_solver_core::puzzle::{Puzzle, PuzzleOptions, resolve};
use antipode_solver_core::space::{self, LayoutOptions, SpaceDef, SpaceError};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use support::{cayleypy_rows, published_rows};

/// Largest graph of the tier that runs on all kernels.
const FIRST_TIER_STATES: u64 = 5_500_000;
/// Largest graph of the tier that runs on the best kernel.
const SECOND_TIER_STATES: u64 = 520_000_000;
/// Phase 1 is larger, and the one product of independent coordinates: it belongs there all the same.
const PHASE_1_STATES: u64 = 2_217_093_120;
/// Larger graphs without blocks take minutes.
const SECOND_TIER_TABLE_STATES: u64 = 21_000_000;
/// Incomplete and very large rows are compared up to the last level whose sum stays below this.
const PREFIX_STATES: u64 = 200_000;

/// Checks left out because the processor lacks a kernel.
static SKIPPED: AtomicU32 = AtomicU32::new(0);

/// A row of any file.
struct Row {
    name: String,
    puzzle: Puzzle,
    counts: Vec<u64>,
    complete: bool,
    sensitive: bool,
}

impl Row {
    fn states(&self) -> u64 {
        self.counts.iter().fold(0, |sum, &c| sum.saturating_add(c))
    }

    /// Compares the levels; `depth` limits how many.
    fn check(&self, def: &SpaceDef, kernel: KernelChoice, depth: Option<u32>) {
        let engine = match Engine::load(&self.puzzle, def, kernel) {
            Ok(engine) => engine,
            Err(EngineError::NoKernel(name)) if kernel != KernelChoice::Portable => {
                if SKIPPED.fetch_add(1, Relaxed) == 0 {
                    println!("skipped: this processor has no {name}");
                }
                return;
            }
            Err(e) => panic!("{}: {e}", self.name),
        };
        let known = def.states.as_ref().and_then(|s| s.parse().ok());
        let (levels, _) = enumerate(&engine, depth, known, 8, |_| ())
            .unwrap_or_else(|e| panic!("{}: {e}", self.name));
        let counts: Vec<u64> = levels.iter().map(|l| l.count).collect();
        let wanted = &self.counts[..counts.len().min(self.counts.len())];
        assert_eq!(counts, wanted, "{} {kernel:?} {}", self.name, def.layout);
        if depth.is_none() {
            assert_eq!(counts.len(), self.counts.len(), "{}", self.name);
            if let Some(states) = &def.states {
                assert_eq!(
                    self.states().to_string(),
                    *states,
                    "{}: {}",
                    self.name,
                    def.states_proof
                );
            }
        }
    }

    fn build(&self, min_shards: Option<u32>, depth: Option<u32>) -> Result<SpaceDef, SpaceError> {
        space::build(
            &self.puzzle,
            &LayoutOptions {
                min_shards,
                depth,
                ..Default::default()
            },
        )
    }
}

fn rows() -> Vec<Row> {
    let mut out = Vec::new();
    let mut left_out = 0;
    for row in cayleypy_rows() {
        match row.as_file() {
            Some(puzzle) => out.push(Row {
                name: format!("cayleypy {}", row.id),
                puzzle,
                complete: row.complete,
                sensitive: row.convention_sensitive,
                counts: row.counts,
            }),
            None => {
                left_out += 1;
                println!(
                    "left out: cayleypy {}: the row gives a rule and no generators",
                    row.id
                );
            }
        }
    }
    for row in published_rows() {
        match row.puzzle {
            Ok(puzzle) => out.push(Row {
                name: row.name,
                puzzle,
                complete: !row.prefix_only,
                sensitive: false,
                counts: row.counts,
            }),
            Err(reason) => {
                left_out += 1;
                println!("left out: {}: {reason}", row.name);
            }
        }
    }
    println!("{} rows, {left_out} left out", out.len() + left_out);
    out
}

#[test]
fn rows_up_to_five_million_states_on_all_kernels() {
    let mut checked = 0;
    for row in rows()
        .iter()
        .filter(|r| r.complete && r.states() <= FIRST_TIER_STATES)
    {
        let start = std::time::Instant::now();
        let def = row
            .build(None, None)
            .unwrap_or_else(|e| panic!("{}: {e}", row.name));
        for kernel in [
            KernelChoice::Portable,
            KernelChoice::Avx2,
            KernelChoice::Avx512,
        ] {
            row.check(&def, kernel, None);
        }
        let sharded = row
            .build(Some(5), None)
            .unwrap_or_else(|e| panic!("{}: {e}", row.name));
        row.check(&sharded, KernelChoice::Auto, None);
        checked += 1;
        if start.elapsed().as_secs() >= 1 {
            println!(
                "{:.1} s: {} {}",
                start.elapsed().as_secs_f64(),
                row.name,
                def.layout
            );
        }
    }
    println!(
        "{checked} complete rows checked, {} checks skipped for want of a kernel",
        SKIPPED.load(Relaxed)
    );
    assert!(checked >= 600, "only {checked} rows");
}

#[test]
fn larger_rows_with_an_index() {
    let mut checked = Vec::new();
    let mut seen: Vec<Vec<u64>> = Vec::new();
    for row in rows()
        .iter()
        .filter(|r| r.complete && r.states() > FIRST_TIER_STATES)
    {
        let limit = if row.states() == PHASE_1_STATES {
            PHASE_1_STATES
        } else if row.puzzle.has_distinct_labels() {
            SECOND_TIER_STATES
        } else {
            SECOND_TIER_TABLE_STATES
        };
        if row.states() > limit || seen.contains(&row.counts) {
            let why = if row.states() > limit {
                "too large for a test"
            } else {
                "same counts as a row checked"
            };
            println!(
                "left out of the second tier: {} ({} states): {why}",
                row.name,
                row.states()
            );
            continue;
        }
        let start = std::time::Instant::now();
        match row.build(None, None) {
            Ok(def) => row.check(&def, KernelChoice::Auto, None),
            Err(e) => panic!("{}: {e}", row.name),
        }
        println!(
            "{:.1} s: {} {}",
            start.elapsed().as_secs_f64(),
            row.name,
            row.states()
        );
        seen.push(row.counts.clone());
        checked.push(row.name.clone());
    }
    println!("{} larger rows checked: {checked:#?}", checked.len());
    assert!(checked.len() >= 10, "{checked:?}");
    assert_eq!(
        checked
            .iter()
            .filter(|name| name.contains("phase 1"))
            .count(),
        2
    );
}

#[test]
fn first_levels_of_incomplete_rows() {
    let mut checked = 0;
    for row in rows()
        .iter()
        .filter(|r| !r.complete || r.states() > SECOND_TIER_STATES)
    {
        let mut sum = 0;
        let depth = row
            .counts
            .iter()
            .take_while(|&&c| {
                sum += c;
                sum <= PREFIX_STATES
            })
            .count() as u32
            - 1;
        let kind = Some("sparse".to_string());
        match space::build(
            &row.puzzle,
            &LayoutOptions {
                kind,
                depth: Some(depth),
                ..Default::default()
            },
        ) {
            Ok(def) => row.check(&def, KernelChoice::Auto, Some(depth)),
            Err(e) => panic!("{}: {e}", row.name),
        }
        checked += 1;
    }
    println!("{checked} incomplete or very large rows checked");
    assert!(checked >= 20, "only {checked} rows");
}

/// Right answers do not prove a right convention: these rows alone catch a move applied the wrong way.
#[test]
fn convention_sensitive_rows() {
    let rows: Vec<Row> = rows().into_iter().filter(|r| r.sensitive).collect();
    assert_eq!(rows.len(), 4);
    for row in &rows {
        for min_shards in [None, Some(3)] {
            let def = row
                .build(min_shards, None)
                .unwrap_or_else(|e| panic!("{}: {e}", row.name));
            row.check(&def, KernelChoice::Auto, None);
        }
        // The same rows with every move inverted must not give these counts.
        let inverted = row
            .puzzle
            .generators()
            .iter()
            .map(|g| antipode_solver_core::puzzle::Generator {
                name: g.name.clone(),
                perm: g.perm.inverse(),
            })
            .collect();
        let other = Puzzle::new(
            "inverted".into(),
            inverted,
            row.puzzle.roots().to_vec(),
            row.puzzle.metric(),
            vec![],
        )
        .unwrap();
        let def = space::build(&other, &LayoutOptions::default()).unwrap();
        let engine = Engine::load(&other, &def, KernelChoice::Auto).unwrap();
        let counts: Vec<u64> = enumerate(&engine, None, None, 0, |_| ())
            .unwrap()
            .0
            .iter()
            .map(|l| l.count)
            .collect();
        assert_ne!(counts, row.counts, "{}", row.name);
    }
}

/// The puzzles that ship with the program have the numbers of states that their names promise.
#[test]
fn built_in_puzzles() {
    for (name, states) in [
        ("pocket", 3_674_160u64),
        ("pyraminx", 75_582_720),
        ("pyraminx-tipless", 933_120),
        ("skewb", 3_149_280),
        ("dino-fixed", 19_958_400),
        ("dino", 239_500_800),
        ("skewb-diamond", 1_658_880),
        ("phase1", 2_217_093_120),
    ] {
        let puzzle = resolve(name, &PuzzleOptions::default()).unwrap();
        let def = space::build(&puzzle, &LayoutOptions::default()).unwrap();
        assert_eq!(def.states, Some(states.to_string()), "{name}");
        if name == "phase1" {
            assert_eq!(def.kind, "product");
        }
    }
}
