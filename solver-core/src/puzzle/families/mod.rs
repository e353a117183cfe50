//! Families of puzzles with parameters, `topspin:11,4`: the table of all of them, and the spec's parser.
//!
//! A new family is one [`Family`] in one of the files beside this one.

mod cubes;
mod cycles;
mod derangements;
mod involutions;
mod reversals;
mod rings;
mod shifts;
mod transpositions;

use super::checked::{About, Generator, PuzzleError};
use super::definition::Definition;
use super::{MAX_DEGREE, MAX_GENERATORS};
use crate::perm::Perm;
use std::sync::OnceLock;

/// One parameter of a family.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Param {
    /// As messages and `key=value` write it.
    pub name: &'static str,
    pub low: usize,
    pub high: usize,
    /// The value where it is left out; `None`: it must be given.
    pub default: Option<usize>,
    /// A word that stands for the value 1, such as `ic`.
    pub word: Option<&'static str>,
}

/// A parameter that must be given.
pub(crate) const fn need(name: &'static str, low: usize, high: usize) -> Param {
    Param {
        name,
        low,
        high,
        default: None,
        word: None,
    }
}

/// A family: what its states are, its parameters, and how its generators come about.
pub(crate) struct Family {
    pub name: &'static str,
    /// Other names that are accepted.
    pub aliases: &'static [&'static str],
    pub params: &'static [Param],
    /// Parameters of an example.
    pub example: &'static str,
    /// What it is, one line.
    pub about: &'static str,
    /// The rule behind the generators' names.
    pub naming: &'static str,
    pub build: Build,
}

/// How a family makes its definition from its parameters, all of them within their ranges.
pub(crate) enum Build {
    /// A list of generators; the error says which condition between parameters is violated.
    List(fn(&[usize]) -> Result<Vec<Generator>, String>),
    /// A definition of its own.
    Whole(fn(&[usize]) -> Definition),
}

/// All families, in the order in which they are listed.
pub(crate) fn all() -> &'static [Family] {
    static ALL: OnceLock<Vec<Family>> = OnceLock::new();
    ALL.get_or_init(|| {
        let mut all = cubes::families();
        all.extend(shifts::families());
        all.extend(reversals::families());
        all.extend(transpositions::families());
        all.extend(cycles::families());
        all.extend(derangements::families());
        all.extend(involutions::families());
        all.extend(rings::families());
        all
    })
}

/// The family of this name, underscores and capitals forgiven.
fn named(head: &str) -> Option<&'static Family> {
    let head = head.trim().to_ascii_lowercase().replace('_', "-");
    all()
        .iter()
        .find(|f| f.name == head || f.aliases.contains(&head.as_str()))
}

/// Is this the name of a family?
pub(crate) fn is_known(head: &str) -> bool {
    named(head).is_some()
}

/// The definition that a spec means; `None` where the name before the colon is no family.
pub(crate) fn find(spec: &str) -> Result<Option<Definition>, PuzzleError> {
    let (head, rest) = spec
        .split_once(':')
        .map_or((spec, None), |(head, rest)| (head, Some(rest)));
    let Some(family) = named(head) else {
        return Ok(None);
    };
    let fail = |message: String| PuzzleError(format!("{spec}: {message}"));
    let values = parameters(family, rest).map_err(fail)?;
    let name = canonical(family, &values);
    let mut definition = match family.build {
        Build::Whole(build) => build(&values),
        Build::List(build) => {
            let generators = build(&values).map_err(fail)?;
            if generators.len() > MAX_GENERATORS
                || generators.iter().any(|g| g.perm.len() > MAX_DEGREE)
            {
                return Err(fail(format!(
                    "too large: at most {MAX_GENERATORS} generators on {MAX_DEGREE} positions are supported"
                )));
            }
            let about = About {
                states: family.about.into(),
                naming: family.naming.into(),
                ..About::default()
            };
            Definition::of_list(name.clone(), generators, about)
        }
    };
    definition.name = name;
    if family.name == "topspin"
        && let super::definition::Moves::List { aliases, .. } = &mut definition.moves
    {
        *aliases = [("1", "L"), ("2", "R"), ("3", "X")]
            .map(|(a, b)| (a.into(), b.into()))
            .into();
    }
    Ok(Some(definition))
}

/// `topspin:N,K`, optional parameters in square brackets.
pub(crate) fn form(family: &Family) -> String {
    let mut out = family.name.to_owned();
    for (k, p) in family.params.iter().enumerate() {
        let name = p.word.unwrap_or(p.name);
        let before = if k == 0 { ":" } else { "," };
        match p.default {
            None => out.push_str(&format!("{before}{name}")),
            Some(_) => out.push_str(&format!("[{before}{name}]")),
        }
    }
    out
}

/// `N = 2 to 1000, K = 2 to N`.
pub(crate) fn ranges(family: &Family) -> String {
    let one = |p: &Param| match p.word {
        Some(word) => format!("the word {word} or nothing"),
        None => format!("{} = {} to {}", p.name, p.low, p.high),
    };
    family.params.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn parameters(family: &Family, rest: Option<&str>) -> Result<Vec<usize>, String> {
    let usage = || {
        format!(
            "write {}, for example {}:{}",
            form(family),
            family.name,
            family.example
        )
    };
    if family.params.is_empty() {
        return match rest {
            None => Ok(Vec::new()),
            Some(_) => Err(format!("{} takes no parameters", family.name)),
        };
    }
    let mut values: Vec<Option<usize>> = vec![None; family.params.len()];
    let parts: Vec<&str> = rest.map_or(Vec::new(), |r| r.split(',').map(str::trim).collect());
    for (at, part) in parts.iter().enumerate() {
        let (place, value) = match part.split_once('=') {
            Some((key, value)) => {
                let key = key.trim();
                let place = family
                    .params
                    .iter()
                    .position(|p| p.name.eq_ignore_ascii_case(key));
                (
                    place.ok_or_else(|| format!("there is no parameter {key}; {}", usage()))?,
                    value.trim(),
                )
            }
            None => match family.params.iter().position(|p| p.word == Some(part)) {
                Some(place) => (place, "1"),
                None if at < values.len() => (at, *part),
                None => {
                    return Err(format!(
                        "{} too many; {}",
                        parameters_are(parts.len()),
                        usage()
                    ));
                }
            },
        };
        let p = &family.params[place];
        let number: usize = value.parse().map_err(|_| {
            format!(
                "the parameter {} is {value:?}, which is not a number; {}",
                p.name,
                usage()
            )
        })?;
        if number < p.low || number > p.high {
            return Err(format!(
                "{} = {number} is out of range; it can be {} to {}",
                p.name, p.low, p.high
            ));
        }
        if values[place].replace(number).is_some() {
            return Err(format!(
                "the parameter {} is given twice; {}",
                p.name,
                usage()
            ));
        }
    }
    let values: Option<Vec<usize>> = values
        .iter()
        .zip(family.params)
        .map(|(v, p)| v.or(p.default))
        .collect();
    values.ok_or_else(|| format!("{} too few; {}", parameters_are(parts.len()), usage()))
}

fn parameters_are(number: usize) -> String {
    match number {
        1 => "1 parameter is".into(),
        n => format!("{n} parameters are"),
    }
}

/// The shortest spec: optional parameters left out where they have their usual value.
fn canonical(family: &Family, values: &[usize]) -> String {
    let parts: Vec<String> = family
        .params
        .iter()
        .zip(values)
        .filter(|(p, v)| p.default != Some(**v))
        .map(|(p, v)| p.word.map_or_else(|| v.to_string(), str::to_owned))
        .collect();
    if parts.is_empty() {
        family.name.to_owned()
    } else {
        format!("{}:{}", family.name, parts.join(","))
    }
}

/// A generator from its images, which the families compute right; a mistake would show as an error.
fn generator(name: impl Into<String>, images: Vec<usize>) -> Result<Generator, String> {
    let name = name.into();
    let images: Vec<u64> = images.into_iter().map(|i| i as u64).collect();
    match Perm::from_images(&images) {
        Ok(perm) => Ok(Generator { name, perm }),
        Err(e) => Err(format!("generator {name}: {e}")),
    }
}

/// The generator that is a product of disjoint cycles, `p[c0] = c1, p[c1] = c2, ..`.
fn from_cycles(
    name: impl Into<String>,
    n: usize,
    cycles: &[Vec<usize>],
) -> Result<Generator, String> {
    let mut images: Vec<usize> = (0..n).collect();
    for cycle in cycles {
        for (k, &c) in cycle.iter().enumerate() {
            images[c] = cycle[(k + 1) % cycle.len()];
        }
    }
    generator(name, images)
}

/// Numbers joined, for names such as `(0,1,2)`.
fn joined(numbers: &[usize], between: &str) -> String {
    let parts: Vec<String> = numbers.iter().map(usize::to_string).collect();
    format!("({})", parts.join(between))
}

/// The inverse under another name.
fn inverse(name: impl Into<String>, g: &Generator) -> Generator {
    Generator {
        name: name.into(),
        perm: g.perm.inverse(),
    }
}

/// All subsets of `0..n` with `k` elements, ascending, in lexicographic order.
fn subsets(n: usize, k: usize) -> Vec<Vec<usize>> {
    let mut out = Vec::new();
    let mut now: Vec<usize> = (0..k).collect();
    if k > n {
        return out;
    }
    loop {
        out.push(now.clone());
        let Some(i) = (0..k).rev().find(|&i| now[i] < n - k + i) else {
            return out;
        };
        now[i] += 1;
        for j in i + 1..k {
            now[j] = now[j - 1] + 1;
        }
    }
}

/// All arrangements of `items` in lexicographic order of their places.
fn arrangements(items: &[usize]) -> Vec<Vec<usize>> {
    if items.is_empty() {
        return vec![Vec::new()];
    }
    let mut out = Vec::new();
    for (k, &first) in items.iter().enumerate() {
        let rest: Vec<usize> = [&items[..k], &items[k + 1..]].concat();
        out.extend(arrangements(&rest).into_iter().map(|mut tail| {
            tail.insert(0, first);
            tail
        }));
    }
    out
}

/// Refuses a family whose list of generators would be too long to build.
fn few_enough(count: Option<usize>) -> Result<(), String> {
    match count {
        Some(count) if count <= MAX_GENERATORS => Ok(()),
        Some(count) => Err(format!(
            "that is {count} generators; at most {MAX_GENERATORS} are supported"
        )),
        None => Err(format!(
            "that is far more than the {MAX_GENERATORS} generators that are supported"
        )),
    }
}

/// `n` over `k`, if it fits.
fn binomial(n: usize, k: usize) -> Option<usize> {
    (0..k).try_fold(1usize, |b, i| Some(b.checked_mul(n - i)? / (i + 1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_example_resolves_and_its_name_leads_back_to_it() {
        for family in all() {
            let spec = match family.example {
                "" => family.name.to_owned(),
                example => format!("{}:{example}", family.name),
            };
            let definition = find(&spec).unwrap().unwrap();
            assert_eq!(definition.name, spec);
        }
    }

    #[test]
    fn parameters_out_of_range_are_named() {
        for (spec, expect) in [
            ("topspin:3,9", "K = 9"),
            ("topspin:11", "1 parameter is too few; write topspin:N,K"),
            ("topspin", "0 parameters are too few"),
            ("topspin:11,4,5", "too many"),
            ("topspin:11,x", "the parameter K is \"x\""),
            ("topspin:11,4,k=4", "the parameter K is given twice"),
            ("topspin:11,j=4", "no parameter j"),
            ("cube:1", "N = 1 is out of range; it can be 2 to"),
            ("lrx:0", "N = 0 is out of range"),
            ("lrx:7,7", "K = 7"),
            ("pocket:3", "takes no parameters"),
            ("generalized-stars:1000,500", "250000 generators"),
            ("increasing-k-cycles:1000,500", "far more"),
            ("sheveleva2:5,3", "K = 3"),
            ("hungarian-rings:5,0,4,1", "both"),
            ("involutive-derangements:5", "even"),
            ("lrx:99999999999999999999", "not a number"),
            ("lrx:-3", "not a number"),
        ] {
            let error = find(spec).unwrap_err().0;
            assert!(
                error.starts_with(spec) && error.contains(expect),
                "{spec}: {error}"
            );
        }
    }

    #[test]
    fn specs_can_be_written_in_several_ways() {
        for (spec, name) in [
            ("LRX:7,k=3", "lrx:7,3"),
            ("lrx:7,1", "lrx:7"),
            ("burnt_pancake:3", "burnt-pancake:3"),
            ("consecutive-k-cycles:5,3,ic", "consecutive-k-cycles:5,3,ic"),
            ("coxeter-a:4", "coxeter:4"),
            ("koltsov3:8,t=1,k=1,d=3", "koltsov3:8,1,1,3"),
        ] {
            assert_eq!(find(spec).unwrap().unwrap().name, name);
        }
    }
}
