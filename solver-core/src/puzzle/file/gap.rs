//! GAP cycles as CayleyPy's `.gap` files (written by PuzzleGeometry) have them: `M_F:=(1,3)(2,4);` for
//! each move, `Gen:=[M_F,..];` for the list of generators, `ip:=[[1,2],..];` for classes of identical
//! pieces. Points are counted from 1.

use super::{FileError, cycles, line_of};
use crate::puzzle::checked::{About, Generator, State};
use crate::puzzle::definition::Definition;

/// A statement `key:=value;` with its line.
struct Statement {
    line: usize,
    key: String,
    value: String,
}

pub(super) fn read(name: &str, text: &str) -> Result<Definition, FileError> {
    let mut moves: Vec<(usize, String, Vec<Vec<usize>>)> = Vec::new();
    let mut generators: Option<(usize, Vec<String>)> = None;
    let mut identical: Option<(usize, Vec<Vec<usize>>)> = None;
    for Statement { line, key, value } in statements(text)? {
        let wrong = |e: String| FileError::at(line, format!("{key}: {e}"));
        if key == "Gen" {
            let list = value.strip_prefix('[').and_then(|v| v.strip_suffix(']'));
            let list =
                list.ok_or_else(|| wrong("it must be a list of moves, as in [M_F,M_R]".into()))?;
            let names = list
                .split(',')
                .map(|m| m.trim().to_owned())
                .filter(|m| !m.is_empty())
                .collect();
            if generators.replace((line, names)).is_some() {
                return Err(wrong("it stands there twice".into()));
            }
        } else if key == "ip" {
            let classes: Vec<Vec<usize>> = serde_json::from_str(&value).map_err(|_| {
                wrong("it must be a list of lists of positions, as in [[1,2],[3,4]]".into())
            })?;
            if identical.replace((line, classes)).is_some() {
                return Err(wrong("it stands there twice".into()));
            }
        } else if key.starts_with("M_") {
            if let Some((before, ..)) = moves.iter().find(|(_, k, _)| *k == key) {
                return Err(wrong(format!(
                    "line {before} has the same name; give each move its own"
                )));
            }
            moves.push((line, key.clone(), cycles::parse(&value).map_err(wrong)?));
        } else {
            return Err(wrong("this is none of M_<name>, Gen and ip".into()));
        }
    }
    let chosen = match generators {
        None => moves,
        Some((line, names)) => names
            .iter()
            .map(|n| {
                moves.iter().find(|(_, key, _)| key == n).cloned().ok_or_else(|| {
                    FileError::at(line, format!("Gen: there is no move {n}; each entry must be one of the moves above"))
                })
            })
            .collect::<Result<_, _>>()?,
    };
    if chosen.is_empty() {
        return Err(FileError::new(
            "Gen: there is no generator; give at least one move M_<name>:=(..); and list it in Gen",
        ));
    }
    let points = chosen.iter().flat_map(|(_, _, c)| c).flatten().copied();
    let degree = points
        .chain(identical.iter().flat_map(|(_, c)| c).flatten().copied())
        .max()
        .unwrap_or(0);
    if degree == 0 {
        return Err(FileError::new(
            "no move moves anything; a line such as M_F:=(1,2,3); is needed",
        ));
    }
    if degree > crate::puzzle::MAX_DEGREE {
        return Err(FileError::new(format!(
            "there are {degree} positions; at most {} are supported",
            crate::puzzle::MAX_DEGREE
        )));
    }
    let mut out: Vec<Generator> = Vec::new();
    for (line, key, parsed) in chosen {
        let short = key.trim_start_matches("M_");
        let perm = cycles::permutation(&parsed, 1, degree)
            .map_err(|e| FileError::at(line, format!("{key}: {e}")))?;
        if out.iter().any(|g| g.name == short) {
            return Err(FileError::at(
                line,
                format!("two generators are called {short}; give each its own name"),
            ));
        }
        out.push(Generator {
            name: short.to_owned(),
            perm,
        });
    }
    let about = About {
        states: "A puzzle from a GAP file".into(),
        naming: "the names are the file's, without M_".into(),
        ..About::default()
    };
    let mut definition = Definition::of_list(name.into(), out, about);
    if let Some((line, classes)) = identical {
        let state =
            colouring(&classes, degree).map_err(|e| FileError::at(line, format!("ip: {e}")))?;
        // Classes of one position each say that nothing is identical.
        if state.iter().enumerate().any(|(i, &l)| i != usize::from(l)) {
            definition.roots.push(state);
        }
    }
    Ok(definition)
}

/// Splits at `;`, comments from `#` to the end of the line left out.
fn statements(text: &str) -> Result<Vec<Statement>, FileError> {
    let mut out = Vec::new();
    // Comments become blanks, so that offsets, and with them lines, stay.
    let mut clean = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let code = line.split('#').next().unwrap_or_default();
        clean.push_str(code);
        if code.len() < line.len() && line.ends_with('\n') {
            clean.extend(std::iter::repeat_n(' ', line.len() - code.len() - 1));
            clean.push('\n');
        }
    }
    let mut offset = 0;
    for part in clean.split(';') {
        let start = offset + (part.len() - part.trim_start().len());
        offset += part.len() + 1;
        if part.trim().is_empty() {
            continue;
        }
        let line = line_of(&clean, start);
        let Some((key, value)) = part.split_once(":=") else {
            let head: String = part.trim().chars().take(30).collect();
            return Err(FileError::at(
                line,
                format!("{head:?} is no statement of the form name:=value;"),
            ));
        };
        if value.contains(":=") {
            return Err(FileError::at(
                line,
                format!("{}: the statement is not ended by ;", key.trim()),
            ));
        }
        out.push(Statement {
            line,
            key: key.trim().to_owned(),
            value: value.trim().to_owned(),
        });
    }
    Ok(out)
}

/// Labels in order of first appearance; positions that no class names are alone.
fn colouring(classes: &[Vec<usize>], degree: usize) -> Result<State, String> {
    let mut class_of: Vec<Option<usize>> = vec![None; degree];
    for (k, class) in classes.iter().enumerate() {
        for &point in class {
            let at = cycles::index(point, 1, degree)?;
            if class_of[at].replace(k).is_some() {
                return Err(format!(
                    "position {point} is in two classes; it can be in one only"
                ));
            }
        }
    }
    let mut label_of_class: Vec<Option<u16>> = vec![None; classes.len()];
    let mut next = 0;
    let mut fresh = || {
        next += 1;
        next - 1
    };
    Ok(class_of
        .into_iter()
        .map(|class| match class {
            None => fresh(),
            Some(k) => *label_of_class[k].get_or_insert_with(&mut fresh),
        })
        .collect())
}
