//! Puzzles that are data files inside the binary. A new one is a file in `data/` and a line here.

use super::checked::PuzzleError;
use super::definition::Definition;
use super::file;

/// Name, content, and one line for the list.
pub(crate) struct Builtin {
    pub name: &'static str,
    text: &'static str,
    pub about: &'static str,
}

/// All built-in files, in the order in which they are listed.
pub(crate) const ALL: [Builtin; 7] = [
    Builtin {
        name: "pyraminx",
        text: include_str!("data/pyraminx.toml"),
        about: "The Pyraminx with its tips, 75,582,720 states",
    },
    Builtin {
        name: "pyraminx-tipless",
        text: include_str!("data/pyraminx-tipless.toml"),
        about: "The Pyraminx without tips, 933,120 states",
    },
    Builtin {
        name: "skewb",
        text: include_str!("data/skewb.toml"),
        about: "The Skewb with a corner held, 3,149,280 states",
    },
    Builtin {
        name: "skewb-diamond",
        text: include_str!("data/skewb-diamond.toml"),
        about: "The Skewb Diamond, 12 orientations counted apart, 1,658,880 states",
    },
    Builtin {
        name: "dino",
        text: include_str!("data/dino.toml"),
        about: "The Dino cube, 12 orientations counted apart, 239,500,800 states",
    },
    Builtin {
        name: "dino-fixed",
        text: include_str!("data/dino-fixed.toml"),
        about: "The Dino cube with an edge held, 19,958,400 states",
    },
    Builtin {
        name: "phase1",
        text: include_str!("data/phase1.toml"),
        about: "Phase 1 of the two-phase algorithm: cosets of <U,D,R2,L2,F2,B2> in the 3x3x3, 2,217,093,120 states",
    },
];

fn named(name: &str) -> Option<&'static Builtin> {
    let name = name.trim().to_ascii_lowercase().replace('_', "-");
    ALL.iter().find(|b| b.name == name)
}

/// Is this the name of a built-in file?
pub(crate) fn is_known(head: &str) -> bool {
    named(head).is_some()
}

/// The built-in puzzle of this name, if there is one.
pub(crate) fn find(spec: &str) -> Result<Option<Definition>, PuzzleError> {
    let (head, rest) = spec
        .split_once(':')
        .map_or((spec, None), |(head, rest)| (head, Some(rest)));
    let Some(builtin) = named(head) else {
        return Ok(None);
    };
    if rest.is_some() {
        return Err(PuzzleError(format!(
            "{spec}: {} takes no parameters",
            builtin.name
        )));
    }
    let definition = file::read_toml(builtin.name, builtin.text)
        .map_err(|e| PuzzleError(format!("built-in file {}: {}", builtin.name, e.message)))?;
    Ok(Some(definition))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_file_is_sound() {
        for builtin in &ALL {
            assert!(find(builtin.name).unwrap().is_some(), "{}", builtin.name);
        }
        assert!(find("pyraminx:3").is_err());
    }
}
