//! `puzzle`: which puzzles there are, and what one of them - or a file - means.

use super::Call;
use crate::exit::Failure;
use crate::puzzle_arg::PuzzleArgs;
use crate::render::facts::fact;
use crate::render::{grouped, json, line, table};
use antipode_solver_core::group::chain::Chain;
use antipode_solver_core::group::colouring;
use antipode_solver_core::perm::Perm;
use antipode_solver_core::puzzle::{self, CatalogueEntry, Puzzle};
use antipode_solver_core::space::{self, LayoutOptions};
use serde::Serialize;

/// List puzzles, or explain one
#[derive(Debug, clap::Subcommand)]
pub enum What {
    /// List the families of puzzles and those that come with the program
    List {
        /// Print one JSON object (docs/schema/puzzle-list.schema.json)
        #[arg(long)]
        json: bool,
    },
    /// Explain a puzzle: its states, what is held, every generator
    Show(ShowArgs),
    /// Say what a puzzle file means: order of the group, number of states, identical pieces
    Check(ShowArgs),
}

#[derive(Debug, clap::Args)]
pub struct ShowArgs {
    #[command(flatten)]
    puzzle: PuzzleArgs,

    /// Print one JSON object (docs/schema/puzzle.schema.json)
    #[arg(long)]
    json: bool,
}

/// The list.
#[derive(Debug, Serialize)]
struct PuzzleList {
    puzzles: Vec<CatalogueEntry>,
}

/// One puzzle explained. Numbers that may pass 2^53 are decimal strings.
#[derive(Debug, Serialize)]
struct PuzzleReport {
    puzzle: String,
    about: String,
    held: Option<String>,
    positions: usize,
    metric: String,
    naming: String,
    generators: Vec<GeneratorReport>,
    inverse_closed: bool,
    group_order: Option<String>,
    states: Option<String>,
    states_proof: String,
    orbits: Vec<OrbitReport>,
    roots: Vec<Vec<u16>>,
    identical: Vec<Vec<u16>>,
    warnings: Vec<String>,
}

#[derive(Debug, Serialize)]
struct GeneratorReport {
    name: String,
    about: String,
    cycles: String,
    images: Vec<u16>,
}

#[derive(Debug, Serialize)]
struct OrbitReport {
    label: String,
    positions: Vec<u16>,
}

/// `puzzle list`, `puzzle show` and `puzzle check`.
pub fn puzzle(what: &What, call: &Call) -> Result<(), Failure> {
    match what {
        What::List { json } => list(*json, call),
        What::Show(args) => show(&args.puzzle.load()?, args.json, call),
        What::Check(args) => show(&args.puzzle.load_as_file()?, args.json, call),
    }
}

fn list(as_json: bool, call: &Call) -> Result<(), Failure> {
    let puzzles = puzzle::catalogue();
    if as_json {
        return json::print_signed(&PuzzleList { puzzles }, &call.command);
    }
    let rows = puzzles
        .into_iter()
        .map(|entry| vec![entry.form, entry.about, entry.ranges])
        .collect();
    table::print(&["PUZZLE", "WHAT IT IS", "PARAMETERS"], rows)?;
    line("")?;
    line(
        "`antipode puzzle show PUZZLE` explains one; `antipode puzzle check FILE` reads one from a file",
    )
}

fn show(puzzle: &Puzzle, as_json: bool, call: &Call) -> Result<(), Failure> {
    let report = report(puzzle);
    if as_json {
        return json::print_signed(&report, &call.command);
    }
    print(&report)
}

fn report(puzzle: &Puzzle) -> PuzzleReport {
    let description = puzzle::describe(puzzle);
    let size = Size::of(puzzle);
    let generators = description
        .generators
        .into_iter()
        .zip(puzzle.generators())
        .map(|(note, generator)| GeneratorReport {
            name: note.name,
            about: note.about,
            cycles: note.cycles,
            images: generator.perm.images().to_vec(),
        })
        .collect();
    let orbits = description.orbits.into_iter();
    PuzzleReport {
        puzzle: description.name,
        about: description.states,
        held: description.held,
        positions: description.positions,
        metric: description.metric,
        naming: description.naming,
        generators,
        inverse_closed: description.inverse_closed,
        group_order: size.group_order,
        states: size.states,
        states_proof: size.proof,
        orbits: orbits
            .map(|o| OrbitReport {
                label: o.label,
                positions: o.positions,
            })
            .collect(),
        roots: description.roots,
        identical: description.identical,
        warnings: description.warnings,
    }
}

/// How large the group and the graph are, known without a search.
struct Size {
    group_order: Option<String>,
    states: Option<String>,
    proof: String,
}

impl Size {
    fn of(puzzle: &Puzzle) -> Size {
        let degree = puzzle.degree();
        let moves: Vec<Perm> = puzzle.generators().iter().map(|g| g.perm.clone()).collect();
        let natural: Vec<u16> = (0..=u16::MAX).take(degree).collect();
        let chain = match Chain::build(degree, &moves, &natural, None) {
            Ok(chain) => chain,
            Err(error) => {
                return Size {
                    group_order: None,
                    states: None,
                    proof: format!("not proved: {error}"),
                };
            }
        };
        let counted = match puzzle.roots() {
            [root] => colouring::count_states(&chain, &moves, root)
                .map(|count| (count.states.map(|n| n.to_string()), count.proof))
                .map_err(|error| error.to_string()),
            // Several roots may share an orbit: only the index knows.
            _ => space::build(puzzle, &LayoutOptions::default())
                .map(|space| (space.states, space.states_proof))
                .map_err(|error| error.to_string()),
        };
        let (states, proof) =
            counted.unwrap_or_else(|error| (None, format!("not proved: {error}")));
        Size {
            group_order: Some(chain.order().to_string()),
            states,
            proof,
        }
    }
}

fn print(report: &PuzzleReport) -> Result<(), Failure> {
    let say = fact;
    say("puzzle", &report.puzzle)?;
    say("states", &report.about)?;
    if let Some(held) = &report.held {
        say("held", held)?;
    }
    say("positions", &report.positions.to_string())?;
    say("metric", &report.metric)?;
    if !report.naming.is_empty() {
        say("names", &report.naming)?;
    }
    say(
        "list",
        if report.inverse_closed {
            "inverse-closed: every generator's inverse is one too"
        } else {
            "directed: not closed under inverse, so distances there and back may differ"
        },
    )?;
    let number = |n: &Option<String>| n.as_deref().map_or("not known".into(), grouped);
    say("group order", &number(&report.group_order))?;
    say(
        "states",
        &format!("{} ({})", number(&report.states), report.states_proof),
    )?;
    for orbit in &report.orbits {
        say(
            "orbit",
            &format!("{}: {}", orbit.label, positions(&orbit.positions)),
        )?;
    }
    match report.identical.as_slice() {
        [] => say("identical", "no pieces are identical")?,
        classes => {
            for class in classes {
                say("identical", &format!("the pieces at {}", positions(class)))?;
            }
        }
    }
    if report.roots.len() > 1 {
        say("roots", &report.roots.len().to_string())?;
    }
    for warning in &report.warnings {
        say("warning", warning)?;
    }
    line("")?;
    let rows = report
        .generators
        .iter()
        .map(|g| vec![g.name.clone(), g.about.clone(), shortened(&g.cycles)])
        .collect();
    table::print(&["GENERATOR", "WHAT IT DOES", "CYCLES"], rows)
}

/// The beginning of a list of positions that is too long to be read.
fn positions(list: &[u16]) -> String {
    const SHOWN: usize = 30;
    let text: Vec<String> = list.iter().take(SHOWN).map(u16::to_string).collect();
    let more = if list.len() > SHOWN {
        format!(" ... ({} in all)", list.len())
    } else {
        String::new()
    };
    format!("{}{more}", text.join(" "))
}

fn shortened(text: &str) -> String {
    const SHOWN: usize = 100;
    if text.chars().count() <= SHOWN {
        return text.into();
    }
    let beginning: String = text.chars().take(SHOWN).collect();
    format!("{beginning} ... (--json has all)")
}
