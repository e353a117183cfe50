//! Antipode's own puzzle files, in TOML.
//!
//! ```toml
//! name = "TopSpin with 6 places"     # optional, for people
//! description = "..."                # optional: what the states are
//! held = "..."                       # optional: what never moves
//! base = 0                           # positions are counted from 0 or from 1; must be given
//! degree = 6                         # optional: positions, where cycles do not tell
//! add_inverses = true                # optional: adds X' after each X whose inverse is missing
//! colouring = "000111"               # optional root with equal labels; or a list of labels
//! roots = ["000111", [0, 1, 0, 1, 0, 1]]   # optional: several roots instead
//!
//! [generators]                       # one-line notation, new[i] = old[p[i]], or disjoint cycles
//! L = [1, 2, 3, 4, 5, 0]
//! X = "(0 3)(1 2)"
//! ```
//!
//! Instead of `[generators]` a file can have `[turns]`, base turns whose powers the metric chooses:
//!
//! ```toml
//! metric = "htm"                     # optional: the metric where none is asked for (qtm)
//! [turns]
//! U = { order = 4, move = "(0 1 2 3)", about = "the upper layer", slice = false }
//! [orbits]                           # optional names for --orbits
//! corners = [0, 1, 2, 3]
//! [rotations]                        # optional whole-puzzle rotations, so that a warning can be given
//! y = "(0 1 2 3)"
//! ```
//!
//! `colours` is the labelling that `--colours` chooses. Labels are not positions: `base` leaves them alone.

use super::table::{Table, Value, integer};
use super::{FileError, cycles, line_of};
use crate::perm::Perm;
use crate::puzzle::checked::{About, Generator, Metric, PositionClass, State};
use crate::puzzle::definition::{Definition, Moves, Turn, Turns};
use crate::puzzle::{MAX_DEGREE, roots};
use ::toml::de::{DeTable, DeValue};

const KEYS: [&str; 14] = [
    "name",
    "description",
    "naming",
    "held",
    "base",
    "degree",
    "add_inverses",
    "colouring",
    "roots",
    "colours",
    "metric",
    "generators",
    "turns",
    "orbits",
];
const LAST_KEY: &str = "rotations";

/// A permutation as it is written, before the number of positions is known.
enum Written {
    List(Vec<u64>),
    Cycles(Vec<Vec<usize>>),
}

/// A written permutation with what messages need.
struct Entry<'a> {
    name: String,
    value: &'a Value<'a>,
    written: Written,
}

fn written<'a>(
    table: &Table<'a>,
    name: &str,
    value: &'a Value<'a>,
) -> Result<Entry<'a>, FileError> {
    let written = match value.get_ref().as_str() {
        Some(text) => {
            Written::Cycles(cycles::parse(text).map_err(|e| table.wrong(value, name, e))?)
        }
        None => Written::List(table.numbers(name, value)?.ok_or_else(|| {
            table.wrong(
                value,
                name,
                "it must be a list such as [1, 0, 2] or cycles in quotes such as \"(0 1)\"",
            )
        })?),
    };
    Ok(Entry {
        name: name.to_owned(),
        value,
        written,
    })
}

/// The definition that a file called `name` means.
pub(crate) fn read(name: &str, text: &str) -> Result<Definition, FileError> {
    let document = DeTable::parse(text).map_err(|e| {
        let why = e.message().lines().next().unwrap_or_default();
        let place = e.span().and_then(|span| text.get(span));
        let message = match (why, place) {
            ("duplicate key", Some(key)) => {
                format!("the name {} is given twice; give each once", key.trim())
            }
            _ => format!("it is not TOML: {why}"),
        };
        match e.span() {
            Some(span) => FileError::at(line_of(text, span.start), message),
            None => FileError::new(message),
        }
    })?;
    let top = Table::new(text, "", document.get_ref());
    top.only(&[&KEYS[..], &[LAST_KEY]].concat())?;
    let base = base(&top)?;
    let (generators, turns) = (top.table("generators")?, top.table("turns")?);
    let (table, is_turns) = match (&generators, &turns) {
        (Some(table), None) => (table, false),
        (None, Some(table)) => (table, true),
        (None, None) => {
            return Err(FileError::new(
                "there is neither [generators] nor [turns]; a puzzle needs its moves",
            ));
        }
        (Some(_), Some(_)) => {
            return Err(FileError::new(
                "there are [generators] and [turns]; give the moves in one of them",
            ));
        }
    };
    if table.entries.is_empty() {
        return Err(FileError::new(format!(
            "{} is empty; give at least one move",
            table.place
        )));
    }
    let rotations = top.table("rotations")?;

    // First everything as written, since all of it together tells the number of positions.
    let mut moves = Vec::new();
    for (key, _, value) in &table.entries {
        let value = match value.get_ref() {
            DeValue::Table(t) if is_turns => t
                .iter()
                .find(|(k, _)| k.get_ref() == "move")
                .map(|(_, v)| v),
            _ => Some(*value),
        };
        let value = value
            .ok_or_else(|| FileError::new(format!("[turns] {key}: there is no move = ...")))?;
        moves.push(written(table, key, value)?);
    }
    let mut whole = Vec::new();
    if let Some(table) = &rotations {
        for (key, _, value) in &table.entries {
            whole.push(written(table, key, value)?);
        }
    }
    let degree = degree(&top, base, moves.iter().chain(&whole))?;
    let perm = |table: &Table<'_>, entry: &Entry<'_>| -> Result<Perm, FileError> {
        let wrong = |e: String| table.wrong(entry.value, &entry.name, e);
        match &entry.written {
            Written::Cycles(c) => cycles::permutation(c, base, degree).map_err(wrong),
            Written::List(list) if list.len() != degree => Err(wrong(format!(
                "it has {} entries, but the puzzle has {degree} positions; all must be of one length",
                list.len()
            ))),
            Written::List(list) => cycles::from_list(list, base).map_err(wrong),
        }
    };
    let perms = moves
        .iter()
        .map(|e| perm(table, e))
        .collect::<Result<Vec<_>, _>>()?;
    let rotations = match &rotations {
        None => Vec::new(),
        Some(table) => whole
            .iter()
            .map(|e| perm(table, e))
            .collect::<Result<Vec<_>, _>>()?,
    };
    let moves = if is_turns {
        Moves::Turns(turns_of(&top, table, perms)?)
    } else {
        Moves::List {
            generators: list_of(&top, table, perms)?,
            aliases: Vec::new(),
        }
    };
    let colours = match top.find("colours") {
        None => None,
        Some(v) => {
            let colours = top.labels("colours", v)?;
            roots::check(&colours, degree).map_err(|e| top.wrong(v, "colours", e))?;
            Some(colours)
        }
    };
    let title = top.text("name")?;
    let description = top.text("description")?;
    Ok(Definition {
        name: name.to_owned(),
        degree,
        moves,
        roots: roots_of(&top, degree)?,
        colours,
        classes: classes_of(&top, base, degree)?,
        rotations,
        about: About {
            states: match (title, description) {
                (Some(title), Some(text)) => format!("{title}: {text}"),
                (Some(text), None) | (None, Some(text)) => text,
                (None, None) => "A puzzle from a file".into(),
            },
            held: top.text("held")?,
            naming: top
                .text("naming")?
                .unwrap_or_else(|| "the names are the file's".into()),
            turns: Vec::new(),
        },
    })
}

fn base(top: &Table<'_>) -> Result<usize, FileError> {
    let Some(value) = top.find("base") else {
        return Err(FileError::new(
            "there is no base; write base = 0 if positions are counted from 0, base = 1 if from 1",
        ));
    };
    match integer(value.get_ref()) {
        Some(base @ (0 | 1)) => Ok(base as usize),
        _ => Err(top.wrong(
            value,
            "base",
            "it must be 0 or 1: where the positions are counted from",
        )),
    }
}

/// The number of positions: stated, or the length of a list, or the largest position of a cycle.
fn degree<'a>(
    top: &Table<'_>,
    base: usize,
    all: impl Iterator<Item = &'a Entry<'a>>,
) -> Result<usize, FileError> {
    let stated = top.number("degree")?;
    let (mut longest, mut largest) = (0, 0);
    let mut first_list = None;
    for entry in all {
        match &entry.written {
            Written::List(list) => {
                first_list.get_or_insert(list.len());
                longest = longest.max(list.len());
            }
            Written::Cycles(c) => {
                let point = c.iter().flatten().copied().max();
                largest = largest.max(point.map_or(0, |p| p.saturating_add(1 - base.min(1))));
            }
        }
    }
    let degree = stated.or(first_list).unwrap_or(largest);
    if degree == 0 {
        return Err(FileError::new(
            "no move moves anything; write degree = the number of positions",
        ));
    }
    if degree.max(longest) > MAX_DEGREE {
        return Err(FileError::new(format!(
            "there are {} positions; at most {MAX_DEGREE} are supported",
            degree.max(longest)
        )));
    }
    Ok(degree)
}

fn list_of(
    top: &Table<'_>,
    table: &Table<'_>,
    perms: Vec<Perm>,
) -> Result<Vec<Generator>, FileError> {
    let add_inverses = top.flag("add_inverses")?;
    if let Some(v) = top.find("metric") {
        return Err(top.wrong(
            v,
            "metric",
            "it needs [turns]; each entry of [generators] is one step",
        ));
    }
    let mut out: Vec<Generator> = Vec::new();
    for ((name, ..), perm) in table.entries.iter().zip(&perms) {
        out.push(Generator {
            name: name.clone(),
            perm: perm.clone(),
        });
        let inverse = perm.inverse();
        if add_inverses && !perms.contains(&inverse) && out.iter().all(|g| g.perm != inverse) {
            let name = format!("{name}'");
            if table.find(&name).is_some() {
                return Err(FileError::new(format!(
                    "add_inverses would add a second generator {name}; rename the first one"
                )));
            }
            out.push(Generator {
                name,
                perm: inverse,
            });
        }
    }
    Ok(out)
}

fn turns_of(top: &Table<'_>, table: &Table<'_>, perms: Vec<Perm>) -> Result<Turns, FileError> {
    if let Some(v) = top.find("add_inverses") {
        return Err(top.wrong(
            v,
            "add_inverses",
            "it belongs to [generators]; the metric says which powers of [turns] are moves",
        ));
    }
    let default_metric = match (top.find("metric"), top.text("metric")?.as_deref()) {
        (_, None | Some("qtm")) => Metric::Quarter,
        (_, Some("htm")) => Metric::Half,
        (Some(v), Some(other)) => {
            return Err(top.wrong(
                v,
                "metric",
                format!("there is no metric {other}; there are qtm and htm"),
            ));
        }
        (None, Some(_)) => Metric::Quarter,
    };
    let mut turns = Vec::new();
    for ((name, _, value), perm) in table.entries.iter().zip(perms) {
        let real = order(&perm);
        if real < 2 {
            return Err(table.wrong(value, name, "this turn does nothing; leave it out"));
        }
        let (mut slice, mut about) = (false, format!("the turn {name}"));
        if let DeValue::Table(t) = value.get_ref() {
            let inner = Table::new(table.text, &format!("[turns] {name}"), t);
            inner.only(&["move", "order", "slice", "about"])?;
            if let (Some(stated), Some(v)) = (inner.number("order")?, inner.find("order"))
                && stated as u64 != real
            {
                return Err(table.wrong(
                    v,
                    name,
                    format!("order = {stated}, but the move has order {real}"),
                ));
            }
            slice = inner.flag("slice")?;
            about = inner.text("about")?.unwrap_or(about);
        }
        let order = u32::try_from(real)
            .ok()
            .filter(|&r| r <= 1000)
            .ok_or_else(|| {
                table.wrong(
                    value,
                    name,
                    format!(
                        "a turn of order {real} has too many powers; at most 1000 are supported"
                    ),
                )
            })?;
        turns.push(Turn {
            name: name.clone(),
            perm,
            order,
            slice,
            about,
        });
    }
    if turns.iter().all(|t| t.slice) {
        return Err(FileError::new(
            "[turns]: all are slices, so there is no move without --metric stm",
        ));
    }
    Ok(Turns {
        turns,
        default_metric,
        inverses_last: false,
        cube: None,
    })
}

/// The least positive power that is the identity, 2^64-1 where it is larger.
fn order(p: &Perm) -> u64 {
    fn gcd(a: u64, b: u64) -> u64 {
        if b == 0 { a } else { gcd(b, a % b) }
    }
    p.cycles()
        .iter()
        .map(|c| c.len() as u64)
        .fold(1, |order, c| (order / gcd(order, c)).saturating_mul(c))
}

fn roots_of(top: &Table<'_>, degree: usize) -> Result<Vec<State>, FileError> {
    match (top.find("colouring"), top.find("roots")) {
        (None, None) => Ok(Vec::new()),
        (Some(_), Some(v)) => {
            Err(top.wrong(v, "roots", "there is a colouring, too; give one of the two"))
        }
        (Some(v), None) => {
            let root = top.labels("colouring", v)?;
            roots::check(&root, degree).map_err(|e| top.wrong(v, "colouring", e))?;
            Ok(vec![root])
        }
        (None, Some(v)) => {
            let DeValue::Array(list) = v.get_ref() else {
                return Err(top.wrong(
                    v,
                    "roots",
                    "it must be a list of labellings, as in [\"0011\", \"1100\"]",
                ));
            };
            let mut out: Vec<State> = Vec::new();
            for (k, v) in list.iter().enumerate() {
                let key = format!("roots, entry {k}");
                let root = top.labels(&key, v)?;
                roots::check(&root, degree).map_err(|e| top.wrong(v, &key, e))?;
                if let Some(first) = out.iter().position(|r| *r == root) {
                    return Err(top.wrong(
                        v,
                        &key,
                        format!("it is the same as entry {first}; leave one out"),
                    ));
                }
                out.push(root);
            }
            if out.is_empty() {
                return Err(top.wrong(v, "roots", "it is empty; give a root or leave the key out"));
            }
            Ok(out)
        }
    }
}

fn classes_of(
    top: &Table<'_>,
    base: usize,
    degree: usize,
) -> Result<Vec<PositionClass>, FileError> {
    let Some(table) = top.table("orbits")? else {
        return Ok(Vec::new());
    };
    let mut out = Vec::new();
    for (label, _, value) in &table.entries {
        let list = table
            .numbers(label, value)?
            .ok_or_else(|| table.wrong(value, label, "it must be a list of positions"))?;
        let mut positions = Vec::new();
        for point in list {
            let at = cycles::index(usize::try_from(point).unwrap_or(usize::MAX), base, degree);
            positions.push(at.map_err(|e| table.wrong(value, label, e))? as u16);
        }
        positions.sort_unstable();
        out.push(PositionClass {
            label: label.clone(),
            positions,
        });
    }
    Ok(out)
}
