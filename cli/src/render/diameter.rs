//! The answer to `diameter` for people: a table of distances and eccentricities, then what follows from them.

use super::facts::{self, fact};
use super::{grouped, line, span};
use crate::exit::Failure;
use crate::report::diameter::{DiameterReport, PairReport};

/// Prints the answer.
pub fn print(report: &DiameterReport) -> Result<(), Failure> {
    if report.method != "from-start" {
        table(report)?;
    }
    for (label, text) in lines(report) {
        fact(label, &text)?;
    }
    Ok(())
}

fn table(report: &DiameterReport) -> Result<(), Failure> {
    let (Some(pairs), Some(states)) = (&report.distances, &report.eccentricities) else {
        return Ok(());
    };
    let width = |list: &[String], head: &str| {
        let longest = list.iter().map(String::len).max().unwrap_or(0);
        longest.max(head.len())
    };
    let heads = ["ordered pairs", "states of this eccentricity"];
    let (a, b) = (width(pairs, heads[0]), width(states, heads[1]));
    line(&format!("distance  {:>a$}  {:>b$}", heads[0], heads[1]))?;
    for (d, (pairs, states)) in pairs.iter().zip(states).enumerate() {
        let states = if states == "0" { "" } else { states };
        line(format!("{d:>8}  {pairs:>a$}  {states:>b$}").trim_end())?;
    }
    line("")
}

fn lines(report: &DiameterReport) -> Vec<(&'static str, String)> {
    let mut out = Vec::new();
    let mut say = |label, text: String| out.push((label, text));
    say(
        "puzzle",
        facts::puzzle(&report.puzzle, report.generators.len(), report.metric),
    );
    let parts = match report.components {
        1 => String::new(),
        n => format!(
            " in {n} components, one for each orbit of the roots; only pairs of one component are counted"
        ),
    };
    say("states", format!("{}{parts}", grouped(&report.states)));
    if let Some(eccentricity) = report.root_eccentricity {
        say("eccentricity", format!("{eccentricity} (of the root)"));
    }
    let or_unknown =
        |n: Option<u32>| n.map_or("not found by this method".into(), |n| n.to_string());
    say("diameter", or_unknown(report.diameter));
    say("radius", or_unknown(report.radius));
    if let (Some(mean), Some(with_self)) = (report.mean, report.mean_with_self) {
        say(
            "mean",
            format!("{mean:.6} ({with_self:.6} with the pairs of a state and itself)"),
        );
    }
    if let Some(ordered) = &report.pairs_ordered {
        let unordered = report.pairs_unordered.as_deref().map(grouped);
        say(
            "pairs",
            format!(
                "{} ordered, {} unordered at this distance",
                grouped(ordered),
                unordered.unwrap_or("unknown".into())
            ),
        );
    }
    for pair in report.pairs.iter().flatten() {
        say("", pair_line(pair));
    }
    if let Some(missing) = &report.pairs_missing {
        say("", missing.clone());
    }
    say("method", format!("{}: {}", report.method, report.reason));
    if let Some(symmetry) = &report.symmetry {
        say("sources", symmetry.clone());
    }
    if let Some(resumed) = report.resumed {
        say(
            "resumed",
            format!(
                "{} tasks kept, {} redone",
                resumed.tasks_kept, resumed.tasks_redone
            ),
        );
    }
    if let Some(date) = &report.cached {
        say("cached", facts::cached(date));
    }
    say(
        "time",
        format!(
            "{} ({} in the engine), {}",
            span(report.seconds),
            span(report.engine_seconds),
            facts::crew(report.workers, report.threads),
        ),
    );
    if !report.devices.is_empty() {
        let names: Vec<&str> = report.devices.iter().map(|d| &*d.name).collect();
        say("devices", format!("Vulkan ({})", names.join(", ")));
    }
    if report.peak_memory_bytes.sum > 0 {
        say("memory", facts::peak(report.peak_memory_bytes.sum));
    }
    for warning in &report.warnings {
        say("warning", warning.clone());
    }
    out
}

fn pair_line(pair: &PairReport) -> String {
    let word = match pair.word.is_empty() {
        true => "(no move)".into(),
        false => pair.word.join(" "),
    };
    format!(
        "{} to {}   {word}",
        facts::state(&pair.from),
        facts::state(&pair.to)
    )
}
