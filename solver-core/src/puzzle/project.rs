//! Projection onto orbits of positions: fewer positions, generators merged that become equal.

use super::checked::{Generator, PositionClass, State};
use super::{roots, text};
use crate::group;
use crate::perm::Perm;

/// The parts of a puzzle that a projection changes.
pub(crate) struct Projection {
    pub generators: Vec<Generator>,
    /// Empty: the identity.
    pub roots: Vec<State>,
    pub colours: Option<State>,
    pub classes: Vec<PositionClass>,
    pub rotations: Vec<Perm>,
}

/// Keeps the positions that `wanted` (comma-separated labels) names, renumbered in ascending order.
/// Returns what the user should know.
pub(crate) fn project(
    puzzle: &mut Projection,
    degree: usize,
    wanted: &str,
) -> Result<Vec<String>, String> {
    let perms: Vec<Perm> = puzzle.generators.iter().map(|g| g.perm.clone()).collect();
    let orbits = group::orbits(degree, &perms);
    let mut keep: Vec<u16> = Vec::new();
    for label in split_labels(wanted) {
        keep.extend(find(&label, &puzzle.classes, &orbits)?);
    }
    keep.sort_unstable();
    keep.dedup();

    let mut place = vec![u16::MAX; degree];
    for (new, &old) in keep.iter().enumerate() {
        place[usize::from(old)] = new as u16;
    }
    let restrict = |p: &Perm| -> Result<Perm, String> {
        let images: Vec<u16> = keep.iter().map(|&i| place[p.at(usize::from(i))]).collect();
        Perm::from_images(&images)
            .map_err(|_| format!("--orbits {wanted} is not mapped to itself by every move"))
    };

    let mut warnings = Vec::new();
    let mut kept: Vec<Generator> = Vec::new();
    for g in &puzzle.generators {
        let perm = restrict(&g.perm)?;
        if perm.is_identity() {
            warnings.push(format!(
                "{} moves nothing of {wanted} and is left out",
                g.name
            ));
        } else if let Some(same) = kept.iter().find(|h| h.perm == perm) {
            warnings.push(format!(
                "{} does the same as {} on {wanted} and is merged with it",
                g.name, same.name
            ));
        } else {
            kept.push(Generator {
                name: g.name.clone(),
                perm,
            });
        }
    }
    if kept.is_empty() {
        return Err(format!(
            "--orbits {wanted}: no generator moves any of these {} positions",
            keep.len()
        ));
    }
    puzzle.generators = kept;
    let cut = |s: &State| -> State { keep.iter().map(|&i| s[usize::from(i)]).collect() };
    puzzle.roots = puzzle.roots.iter().map(cut).collect();
    roots::dense(&mut puzzle.roots);
    let before = puzzle.roots.len();
    let mut distinct: Vec<State> = Vec::new();
    for root in puzzle.roots.drain(..) {
        if !distinct.contains(&root) {
            distinct.push(root);
        }
    }
    puzzle.roots = distinct;
    if puzzle.roots.len() < before {
        warnings.push(format!(
            "{before} roots become {} on {wanted}",
            puzzle.roots.len()
        ));
    }
    puzzle.colours = puzzle.colours.as_ref().map(|colours| {
        let mut colours = [cut(colours)];
        roots::dense(&mut colours);
        let [colours] = colours;
        colours
    });
    puzzle.classes = puzzle
        .classes
        .iter()
        .map(|class| PositionClass {
            label: class.label.clone(),
            positions: class
                .positions
                .iter()
                .map(|&i| place[usize::from(i)])
                .filter(|&i| i != u16::MAX)
                .collect(),
        })
        .filter(|class| !class.positions.is_empty())
        .collect();
    // A rotation that does not keep these positions among themselves cannot be seen on them.
    puzzle.rotations = puzzle
        .rotations
        .iter()
        .filter_map(|p| restrict(p).ok())
        .collect();
    Ok(warnings)
}

/// Commas separate labels, but `f1:0,1,1` is one.
fn split_labels(text: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for part in text.split([',', ';']).map(str::trim) {
        match out.last_mut() {
            Some(last) if last.contains(':') && part.starts_with(|c: char| c.is_ascii_digit()) => {
                last.push(',');
                last.push_str(part);
            }
            _ => out.push(part.to_owned()),
        }
    }
    out
}

/// The positions of a label: a class, a kind of cube piece (`corners`, `edges`, `centers`), or `orbit<k>`.
fn find(label: &str, classes: &[PositionClass], orbits: &[Vec<u16>]) -> Result<Vec<u16>, String> {
    let wanted = singular(label);
    let mut found: Vec<u16> = Vec::new();
    for class in classes {
        if class.label == label
            || singular(&class.label) == wanted
            || kind(&class.label) == Some(wanted.as_str())
        {
            found.extend(&class.positions);
        }
    }
    if !found.is_empty() {
        return Ok(found);
    }
    // Orbits of one position never change; numbers count the others.
    let moving: Vec<&Vec<u16>> = orbits.iter().filter(|o| o.len() > 1).collect();
    let number = label
        .strip_prefix("orbit")
        .and_then(|k| k.parse::<usize>().ok());
    if let Some(orbit) = number.and_then(|k| moving.get(k)) {
        return Ok(orbit.to_vec());
    }
    let mut known: Vec<String> = classes.iter().map(|c| c.label.clone()).collect();
    if classes.iter().any(|c| kind(&c.label).is_some()) {
        known.extend(["corners", "edges", "centers"].map(String::from));
    }
    known.extend((0..moving.len()).map(|k| format!("orbit{k}")));
    let hint = match text::nearest(label, known.iter().map(String::as_str)) {
        Some(near) => format!(", did you mean {near}?"),
        None => String::new(),
    };
    Err(format!(
        "--orbits: there is no orbit {label:?}{hint} (there are {})",
        text::list(known.iter().map(String::as_str), 40)
    ))
}

/// `Corners` to `corner`, `centres` to `center`.
fn singular(label: &str) -> String {
    let label = label.to_lowercase().replace("centre", "center");
    label.strip_suffix('s').unwrap_or(&label).to_owned()
}

/// The kind of cube piece that a label such as `f2:0,0,1` belongs to: its number of stickers.
fn kind(label: &str) -> Option<&'static str> {
    match label.split_once(':')?.0 {
        "f3" => Some("corner"),
        "f2" => Some("edge"),
        "f1" => Some("center"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_with_commas_stay_whole() {
        assert_eq!(
            split_labels("corners, f1:0,1,2-,edges"),
            ["corners", "f1:0,1,2-", "edges"]
        );
    }

    #[test]
    fn generators_are_merged_and_roots_stay_dense() {
        let g = |name: &str, images: &[u16]| Generator {
            name: name.into(),
            perm: Perm::from_images(images).unwrap(),
        };
        let mut puzzle = Projection {
            generators: vec![
                g("a", &[1, 0, 3, 2]),
                g("b", &[0, 1, 3, 2]),
                g("c", &[1, 0, 2, 3]),
            ],
            roots: vec![[5, 5, 9, 7].into(), [6, 6, 9, 7].into()],
            colours: None,
            classes: vec![],
            rotations: vec![],
        };
        let warnings = project(&mut puzzle, 4, "orbit1").unwrap();
        assert_eq!(puzzle.generators, [g("a", &[1, 0])]);
        assert_eq!(puzzle.roots, [State::from([1, 0])]);
        assert_eq!(
            warnings,
            [
                "b does the same as a on orbit1 and is merged with it",
                "c moves nothing of orbit1 and is left out",
                "2 roots become 1 on orbit1"
            ]
        );
        let error = project(&mut puzzle, 2, "orbit7").unwrap_err();
        assert!(error.contains("there are orbit0"), "{error}");
    }
}
