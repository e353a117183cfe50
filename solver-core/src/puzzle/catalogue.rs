//! What there is to choose from, for `puzzle list` and for the message about an unknown name.

use super::{builtin, families, text};
use serde::Serialize;

/// Where a puzzle comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum EntryKind {
    Family,
    BuiltIn,
}

/// One line of the list of puzzles.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CatalogueEntry {
    pub kind: EntryKind,
    /// `topspin`.
    pub name: String,
    /// `topspin:N,K`; parameters in square brackets may be left out.
    pub form: String,
    /// `N = 2 to 1000, K = 2 to 1000`; empty without parameters.
    pub ranges: String,
    /// `topspin:11,4`.
    pub example: String,
    /// What it is, one line.
    pub about: String,
}

/// All families, then all built-in data files.
pub fn catalogue() -> Vec<CatalogueEntry> {
    let families = families::all().iter().map(|f| CatalogueEntry {
        kind: EntryKind::Family,
        name: f.name.into(),
        form: families::form(f),
        ranges: families::ranges(f),
        example: match f.example {
            "" => f.name.into(),
            example => format!("{}:{example}", f.name),
        },
        about: f.about.into(),
    });
    let files = builtin::ALL.iter().map(|b| CatalogueEntry {
        kind: EntryKind::BuiltIn,
        name: b.name.into(),
        form: b.name.into(),
        ranges: String::new(),
        example: b.name.into(),
        about: b.about.into(),
    });
    families.chain(files).collect()
}

/// The message about a name that is neither a family nor a built-in file.
pub(crate) fn unknown(spec: &str) -> String {
    let head = spec.split(':').next().unwrap_or_default();
    let known: Vec<&str> = builtin::ALL
        .iter()
        .map(|b| b.name)
        .chain(families::all().iter().map(|f| f.name))
        .collect();
    let hint = match text::nearest(head, known.iter().copied()) {
        Some(near) => format!(" (did you mean {near}?)"),
        None => String::new(),
    };
    format!(
        "there is no puzzle {head:?}{hint}; a puzzle is a family with its parameters (topspin:11,4), a built-in \
         name or the path of a puzzle file. Known names: {}",
        text::list(known, usize::MAX)
    )
}
