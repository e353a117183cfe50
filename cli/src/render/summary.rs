//! The lines below the level table: what the search found and how it is known.

use super::facts::{self, fact};
use super::{grouped, line, short, span};
use crate::exit::Failure;
use crate::memory;
use crate::report::{BfsReport, EngineReport};

/// Prints the summary of a job that is finished, or of one that is not yet.
pub fn print(report: &BfsReport) -> Result<(), Failure> {
    line("")?;
    for (label, text) in lines(report) {
        fact(label, &text)?;
    }
    Ok(())
}

/// Block kind, kernel, devices and layout.
fn engine(engine: &EngineReport) -> String {
    let kernel = engine.kernel.as_deref().unwrap_or("not started");
    let devices = match engine.devices.as_slice() {
        [] => String::new(),
        devices => {
            let names: Vec<&str> = devices.iter().map(|device| &*device.name).collect();
            format!(" + Vulkan ({})", names.join(", "))
        }
    };
    format!("{}, {kernel}{devices}; {}", engine.kind, engine.layout)
}

fn lines(report: &BfsReport) -> Vec<(&'static str, String)> {
    let mut out = Vec::new();
    let mut say = |label, text: String| out.push((label, text));
    say(
        "puzzle",
        facts::puzzle(&report.puzzle, report.generators.len(), report.metric),
    );
    if report.state != "finished" {
        let reason = report
            .reason
            .as_ref()
            .map(|r| format!(": {r}"))
            .unwrap_or_default();
        say("state", format!("{}{reason}", report.state));
    }
    if let Some(eccentricity) = report.eccentricity {
        say("eccentricity", eccentricity.to_string());
    }
    match (report.diameter, report.complete) {
        (Some(diameter), _) => say("diameter", diameter.to_string()),
        (None, true) => say(
            "diameter",
            "not known: the graph is not proved to be transitive".into(),
        ),
        (None, false) => {}
    }
    if let Some(deepest) = report.deepest_level {
        say(
            "deepest level",
            format!("{deepest} (the search is not complete)"),
        );
    }
    if let Some(antipodes) = &report.antipodes {
        say("antipodes", grouped(&antipodes.count));
        for example in &antipodes.examples {
            let word = match (&example.word, &example.word_missing) {
                (Some(word), _) if word.is_empty() => "(no move)".into(),
                (Some(word), _) => word.join(" "),
                (None, Some(why)) => format!("no word: {why}"),
                (None, None) => "no word".into(),
            };
            say("", format!("{word}   {}", facts::state(&example.state)));
        }
    }
    say("check", report.check.clone());
    if report.certificates.predecessors + report.certificates.successors > 0 {
        say(
            "",
            format!(
                "{} sampled states have a predecessor, {} sampled moves end in a known level",
                report.certificates.predecessors, report.certificates.successors
            ),
        );
    }
    say("engine", engine(&report.engine));
    if let Some(resumed) = report.resumed {
        say(
            "resumed",
            format!(
                "from level {}: {} tasks kept, {} redone",
                resumed.from_level, resumed.tasks_kept, resumed.tasks_redone
            ),
        );
    }
    if let Some(date) = &report.cached {
        say("cached", facts::cached(date));
    }
    say(
        "time",
        format!(
            "{} ({} in the engine), {} states/s, {}",
            span(report.seconds),
            span(report.engine_seconds),
            short(report.states_per_second),
            facts::crew(report.workers, report.threads),
        ),
    );
    if report.peak_memory_bytes.sum > 0 {
        say("memory", facts::peak(report.peak_memory_bytes.sum));
    }
    if report.stored_bytes.sum > 0 {
        let places = report.stored_bytes.places.iter();
        let places: Vec<String> = places
            .map(|place| format!("{} {}", place.name, memory::show(place.bytes)))
            .collect();
        let rest = match (report.keep, report.state) {
            ("frontiers", "finished") => "kept for `antipode query`",
            ("frontiers", _) => "to be kept",
            (_, "finished" | "failed" | "cancelled") => "`antipode gc` drops it",
            _ => "only the result will be kept",
        };
        let at = if places.is_empty() {
            String::new()
        } else {
            format!(" ({})", places.join(", "))
        };
        say(
            "on disk",
            format!("{}{at}; {rest}", memory::show(report.stored_bytes.sum)),
        );
    }
    for warning in &report.warnings {
        say("warning", warning.clone());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::DeviceReport;

    #[test]
    fn the_engine_names_its_devices() {
        let with = |devices: &[&str], kernel: Option<&str>| EngineReport {
            kind: "chain".into(),
            kernel: kernel.map(Into::into),
            devices: devices.iter().map(|d| DeviceReport::vulkan(d)).collect(),
            layout: "12 shards".into(),
            shards: 12,
        };
        let avx512 = Some("avx512");
        assert_eq!(engine(&with(&[], avx512)), "chain, avx512; 12 shards");
        assert_eq!(engine(&with(&[], None)), "chain, not started; 12 shards");
        assert_eq!(
            engine(&with(&["NVIDIA H200", "llvmpipe"], avx512)),
            "chain, avx512 + Vulkan (NVIDIA H200, llvmpipe); 12 shards"
        );
    }
}
