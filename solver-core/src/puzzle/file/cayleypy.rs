//! CayleyPy's JSON: `{"central_state": [...], "generators": {"name": [...]}}`, 0-based,
//! `new[i] = old[p[i]]`. `central_state` may be absent (all positions told apart) or a digit string;
//! the generators may be a list, named by `generator_names` or numbered.

use super::json::Json;
use super::{FileError, cycles};
use crate::puzzle::checked::{About, Generator, State};
use crate::puzzle::definition::Definition;
use crate::puzzle::roots;
use std::collections::HashSet;

const SHAPE: &str =
    "CayleyPy's JSON is {\"central_state\": [..], \"generators\": {\"name\": [..], ..}}";

pub(super) fn read(name: &str, text: &str) -> Result<Definition, FileError> {
    let json: Json = serde_json::from_str(text)
        .map_err(|e| FileError::at(e.line(), format!("it starts like JSON, but it is not: {e}")))?;
    let Json::Object(entries) = json else {
        return Err(FileError::new(SHAPE));
    };

    let (mut central, mut generators, mut names, mut title) = (None, None, None, None);
    for (key, value) in entries {
        let place = match key.as_str() {
            "central_state" => &mut central,
            "generators" => &mut generators,
            "generator_names" => &mut names,
            "name" => &mut title,
            _ if matches!(value, Json::List(_)) && generators.is_none() && central.is_none() => {
                return Err(FileError::new(format!(
                    "the key {key:?} is unknown; if this is a bare table of moves, put it under \"generators\": {SHAPE}"
                )));
            }
            _ => {
                return Err(FileError::new(format!(
                    "the key {key:?} is unknown; {SHAPE}"
                )));
            }
        };
        if place.replace(value).is_some() {
            return Err(FileError::new(format!(
                "the key {key:?} stands there twice"
            )));
        }
    }
    let Some(generators) = generators else {
        return Err(FileError::new(format!(
            "there is no key \"generators\"; {SHAPE}"
        )));
    };
    let mut out: Vec<Generator> = Vec::new();
    let mut seen = HashSet::new();
    for (g, images) in named(generators, names)? {
        if !seen.insert(g.clone()) {
            return Err(FileError::new(format!(
                "two generators are called {g:?}; give each its own name"
            )));
        }
        let wrong = |e: String| FileError::new(format!("generator {g:?}: {e}"));
        let images = numbers(&images).map_err(wrong)?;
        if let Some(first) = out.first().filter(|f| f.perm.len() != images.len()) {
            return Err(wrong(format!(
                "it has {} entries, but generator {:?} has {}; all must be of one length",
                images.len(),
                first.name,
                first.perm.len()
            )));
        }
        let perm = cycles::from_list(&images, 0).map_err(wrong)?;
        out.push(Generator { name: g, perm });
    }
    if out.is_empty() {
        return Err(FileError::new(
            "generators: there is none; give at least one",
        ));
    }
    let about = About {
        states: match title {
            Some(Json::Text(title)) => title,
            _ => "A puzzle from a CayleyPy file".into(),
        },
        naming: "the names are the file's".into(),
        ..About::default()
    };
    let mut definition = Definition::of_list(name.into(), out, about);
    if let Some(value) = central.filter(|v| !matches!(v, Json::Null)) {
        let root = labels(&value).map_err(|e| FileError::new(format!("central_state: {e}")))?;
        roots::check(&root, definition.degree)
            .map_err(|e| FileError::new(format!("central_state: {e}")))?;
        definition.roots.push(root);
    }
    Ok(definition)
}

/// Names and images, the names taken from `generator_names` or numbered where the generators are a list.
fn named(generators: Json, names: Option<Json>) -> Result<Vec<(String, Json)>, FileError> {
    let list = match (generators, &names) {
        (Json::Object(_), Some(_)) => {
            return Err(FileError::new(
                "generator_names: the generators have names already; leave it out",
            ));
        }
        (Json::Object(pairs), None) => return Ok(pairs),
        (Json::List(list), _) => list,
        (other, _) => {
            return Err(FileError::new(format!(
                "generators: it is {other}, but must be an object of lists {{\"name\": [..]}}"
            )));
        }
    };
    let names = match names {
        None => (0..list.len()).map(|k| k.to_string()).collect(),
        Some(Json::List(names)) => names
            .into_iter()
            .enumerate()
            .map(|(k, name)| match name {
                Json::Text(name) => Ok(name),
                other => Err(FileError::new(format!(
                    "generator_names: entry {k} is {other}, but must be text"
                ))),
            })
            .collect::<Result<Vec<String>, _>>()?,
        Some(other) => {
            return Err(FileError::new(format!(
                "generator_names: it is {other}, but must be a list"
            )));
        }
    };
    if names.len() != list.len() {
        return Err(FileError::new(format!(
            "generator_names: {} names for {} generators",
            names.len(),
            list.len()
        )));
    }
    Ok(names.into_iter().zip(list).collect())
}

fn numbers(value: &Json) -> Result<Vec<u64>, String> {
    let Json::List(list) = value else {
        return Err(format!(
            "it is {value}, but must be a list such as [1, 0, 2]"
        ));
    };
    let number = |(at, v): (usize, &Json)| match v {
        Json::Number(n) => Ok(*n),
        other => Err(format!(
            "entry {at} is {other}; a position is a number from 0 on"
        )),
    };
    list.iter().enumerate().map(number).collect()
}

fn labels(value: &Json) -> Result<State, String> {
    let list = match value {
        Json::Text(text) => return roots::labels(text).map(Into::into),
        Json::List(list) => list,
        other => {
            return Err(format!(
                "it is {other}, but must be a list of labels or a digit string"
            ));
        }
    };
    let label = |(at, v): (usize, &Json)| {
        match v {
            Json::Number(n) => u16::try_from(*n).map_err(|_| ()),
            _ => Err(()),
        }
        .map_err(|()| format!("entry {at} is {v}; a label is a number from 0 to 65535"))
    };
    list.iter().enumerate().map(label).collect()
}
