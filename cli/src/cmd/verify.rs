//! `verify`: a finished count made again by the slow way, and compared.

use super::Call;
use crate::compute_args::ComputeArgs;
use crate::connect::CoordinatorArgs;
use crate::exit::Failure;
use crate::kept::Kept;
use crate::render::{json, line, short, span};
use crate::verification::{DistanceFinding, Finding, SAMPLES, Verification};
use antipode_solver_core::engine::Level;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Without a word about how much, it takes about so long.
const USUAL: Duration = Duration::from_secs(60);
/// After this time it is known how fast it goes.
const TRIAL: Duration = Duration::from_millis(500);

/// Check a job: make its levels again with plain permutations, without tables and kernels
///
/// Levels are compared by their counts and digests; kept distances by a sample, by their digest and with the levels
/// made again. Exit code 70 if anything differs. By default it does as much as about a minute allows.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The job as `antipode jobs` lists it, or `last`
    job: String,

    /// Only these levels, e.g. 3..7 or 5 (a job that kept no frontiers: all levels up to the last of them)
    #[arg(long, value_name = "A..B", value_parser = parse_levels, conflicts_with_all = ["sample", "all"])]
    levels: Option<(Level, Level)>,

    /// So many states of each kept level, or of the kept distances
    #[arg(long, value_name = "N", conflicts_with = "all", allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..))]
    sample: Option<u32>,

    /// All levels, however long it takes
    #[arg(long)]
    all: bool,

    #[command(flatten)]
    compute: ComputeArgs,

    #[command(flatten)]
    coordinator: CoordinatorArgs,

    /// Check what is stored in this directory, without a coordinator
    #[arg(long, value_name = "DIR", conflicts_with = "coordinator")]
    data: Option<PathBuf>,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

fn parse_levels(text: &str) -> Result<(Level, Level), String> {
    let wrong = || format!("'{text}' is no range of levels; write it like 3..7 or 5");
    let (first, last) = text.split_once("..").unwrap_or((text, text));
    let number = |text: &str| text.trim().parse::<Level>().map_err(|_| wrong());
    let (first, last) = (number(first)?, number(last)?);
    if first > last {
        return Err(wrong());
    }
    Ok((first, last))
}

#[derive(Debug, Serialize)]
struct Report {
    job: String,
    puzzle: String,
    /// `roots`: levels are made again one after another; `frontiers`: each from the kept ones before it.
    from: &'static str,
    agrees: bool,
    levels: Vec<LevelReport>,
    distances: Option<DistanceReport>,
    /// What does not hold, all in one list.
    evidence: Vec<String>,
    seconds: f64,
}

#[derive(Debug, Serialize)]
struct LevelReport {
    level: u32,
    count: String,
    digest: String,
    made_count: Option<String>,
    made_digest: Option<String>,
    /// States of it that were looked at one by one.
    sampled: String,
    verdict: &'static str,
}

#[derive(Debug, Serialize)]
struct DistanceReport {
    sampled: String,
    /// States of the levels made again whose distance was compared.
    compared: String,
    verdict: &'static str,
}

/// Checks, and says what was found.
pub fn verify(args: &Args, call: &Call) -> Result<(), Failure> {
    args.compute.kernel()?;
    let kept = Kept::open(&args.job, args.data.as_deref(), &args.coordinator)?;
    if kept.status.levels.is_empty() {
        return Err(Failure::input(format!(
            "job {} has no finished level yet",
            kept.name
        )));
    }
    let last = kept.last();
    if let Some((_, wanted)) = args.levels.filter(|&(_, wanted)| wanted > last) {
        return Err(Failure::input(format!(
            "--levels: job {} has no level {wanted}, its last is {last}",
            kept.name
        )));
    }
    let pool = args.compute.pool()?;
    let memory = args.compute.memory_bytes();
    let (findings, evidence, distances, from) = pool.install(|| {
        let verification = Verification::new(&kept, memory)?;
        let mut watch = Watch::new(args, &verification, last);
        let frontiers = verification.has_frontiers();
        let (findings, evidence, compared) = match (frontiers, args.sample) {
            (true, _) => (from_frontiers(args, &verification, &mut watch)?, None, 0),
            (false, None) => from_roots(args, &verification, &mut watch)?,
            (false, Some(_)) if verification.distances.is_some() => (Vec::new(), None, 0),
            (false, Some(_)) => {
                return Err(Failure::input(format!(
                    "job {} has kept nothing to be sampled; give --levels A..B or --all, which make its levels again",
                    kept.name
                )));
            }
        };
        watch.bar.finish_and_clear();
        let mut distances = verification.distances(args.sample.unwrap_or(SAMPLES))?;
        if let Some(distances) = &mut distances {
            distances.compared = compared;
        }
        let from = if frontiers { "frontiers" } else { "roots" };
        Ok((findings, evidence, distances, from))
    })?;
    finish(args, call, &kept, (findings, evidence), distances, from)
}

type FromRoots = (Vec<Finding>, Option<String>, u64);

/// Level by level, from level 0 on.
fn from_roots(
    args: &Args,
    verification: &Verification<'_>,
    watch: &mut Watch<'_>,
) -> Result<FromRoots, Failure> {
    let last = args.levels.map_or(watch.last, |(_, last)| last);
    let bounded = args.levels.is_none() && !args.all;
    let mut target = last;
    if bounded {
        // What does not fit the memory is no part of what is done unasked.
        let memory = args.compute.memory_bytes();
        while target > 0 && verification.level_bytes(target) > memory {
            target -= 1;
        }
    }
    let mut findings = Vec::new();
    let mut compared = 0;
    let evidence = verification.count_again(target, |finding, more| {
        let level = finding.level;
        watch.found(&finding)?;
        findings.push(finding);
        compared += more;
        if bounded && watch.is_trial_over() {
            target = watch.reach(level, target);
            watch.announce(0, target);
        }
        Ok(level < target)
    })?;
    let rest = findings.len() as Level..=watch.last;
    findings.extend(rest.map(|level| verification.unchecked(level)));
    Ok((findings, evidence, compared))
}

/// Each level from the kept frontiers before it; what is not made again is sampled.
fn from_frontiers(
    args: &Args,
    verification: &Verification<'_>,
    watch: &mut Watch<'_>,
) -> Result<Vec<Finding>, Failure> {
    let mut findings = Vec::new();
    // The cheapest levels first: most of them are checked in the time that there is.
    let mut order: Vec<Level> = (0..=watch.last).collect();
    if args.levels.is_none() && !args.all {
        order.sort_by_key(|&level| verification.cost(level));
    }
    let mut spent = Duration::ZERO;
    for level in order {
        let (exactly, samples) = match (args.levels, args.sample) {
            (Some((first, last)), _) => ((first..=last).contains(&level), None),
            (None, Some(samples)) => (false, Some(samples)),
            (None, None) if args.all => (true, None),
            (None, None) => {
                let will_take = watch.will_take(verification.cost(level));
                (spent + will_take <= USUAL, Some(SAMPLES))
            }
        };
        let begin = Instant::now();
        let finding = match (exactly, samples) {
            (true, _) => verification.exactly(level)?,
            (false, Some(samples)) => verification.sampled(level, samples)?,
            (false, None) => verification.unchecked(level),
        };
        spent += begin.elapsed();
        if exactly {
            watch.count(level);
        }
        findings.push(finding);
    }
    findings.sort_by_key(|finding| finding.level);
    findings
        .iter()
        .try_for_each(|finding| watch.print(finding))?;
    Ok(findings)
}

/// How fast it goes, and what the user sees of it.
struct Watch<'a> {
    args: &'a Args,
    verification: &'a Verification<'a>,
    began: Instant,
    done: u64,
    last: Level,
    announced: bool,
    heading: bool,
    bar: ProgressBar,
}

impl<'a> Watch<'a> {
    fn new(args: &'a Args, verification: &'a Verification<'a>, last: Level) -> Watch<'a> {
        let bar = if std::io::stderr().is_terminal() {
            ProgressBar::with_draw_target(Some(1000), ProgressDrawTarget::stderr_with_hz(4))
        } else {
            ProgressBar::hidden()
        };
        let style = ProgressStyle::with_template("{prefix} {bar:24} {msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Watch {
            args,
            verification,
            began: Instant::now(),
            done: 0,
            last,
            announced: false,
            heading: false,
            bar,
        }
    }

    fn cost(&self, first: Level, last: Level) -> u64 {
        let levels = first..=last;
        levels.map(|level| self.verification.cost(level)).sum()
    }

    /// States a second.
    fn rate(&self) -> f64 {
        self.done as f64 / self.began.elapsed().as_secs_f64().max(1e-3)
    }

    fn is_trial_over(&self) -> bool {
        !self.announced && self.began.elapsed() >= TRIAL
    }

    /// As fast as it went so far; nothing is known of the very first.
    fn will_take(&self, cost: u64) -> Duration {
        if self.done == 0 {
            return Duration::ZERO;
        }
        Duration::try_from_secs_f64(cost as f64 / self.rate()).unwrap_or(Duration::MAX)
    }

    /// The level that is reached in the usual time.
    fn reach(&self, done: Level, limit: Level) -> Level {
        let mut left = (USUAL.as_secs_f64() * self.rate()) as u64;
        let mut reach = done;
        while reach < limit {
            let cost = self.verification.cost(reach + 1);
            if cost > left {
                break;
            }
            left -= cost;
            reach += 1;
        }
        reach
    }

    /// Says before the long part what will be done.
    fn announce(&mut self, first: Level, target: Level) {
        self.announced = true;
        let seconds = |first, last| span(self.cost(first, last) as f64 / self.rate());
        let text = if target < self.last {
            format!(
                "checking levels {first} to {target} of {}, about {}; --all checks all of them in about {}",
                self.last,
                seconds(first, target),
                seconds(first, self.last)
            )
        } else {
            format!("checking all levels, about {}", seconds(first, self.last))
        };
        self.bar.suspend(|| eprintln!("{text}"));
    }

    fn count(&mut self, level: Level) {
        self.done += self.verification.cost(level);
        let all = self.cost(0, self.last).max(1);
        self.bar
            .set_position((self.done as f64 / all as f64 * 1000.0) as u64);
        self.bar.set_prefix(format!("level {level}"));
        let left = all.saturating_sub(self.done) as f64 / self.rate();
        self.bar.set_message(format!(
            "{} states/s, time left for all: {}",
            short(self.rate()),
            span(left)
        ));
    }

    /// A level is done: counts it and prints it.
    fn found(&mut self, finding: &Finding) -> Result<(), Failure> {
        self.count(finding.level);
        self.print(finding)
    }

    fn print(&mut self, finding: &Finding) -> Result<(), Failure> {
        if self.args.json {
            return Ok(());
        }
        let heading = !std::mem::replace(&mut self.heading, true);
        self.bar.suspend(|| {
            if heading {
                line(&format!(
                    "{:>5}  {:>14} {:<32}  {:>14} {:<32}",
                    "level", "accepted", "digest", "made again", "digest"
                ))?;
            }
            line(&text(finding))
        })
    }
}

fn text(finding: &Finding) -> String {
    let (made_count, made_digest) = match finding.made {
        Some((count, digest)) => (count.to_string(), digest.to_string()),
        None => ("-".into(), "-".into()),
    };
    let more = match finding.sampled {
        0 => String::new(),
        sampled => format!(" ({sampled} states)"),
    };
    format!(
        "{:>5}  {:>14} {:<32}  {made_count:>14} {made_digest:<32}  {}{more}",
        finding.level,
        finding.accepted.0,
        finding.accepted.1.to_string(),
        finding.verdict()
    )
}

fn finish(
    args: &Args,
    call: &Call,
    kept: &Kept,
    (findings, evidence): (Vec<Finding>, Option<String>),
    distances: Option<DistanceFinding>,
    from: &'static str,
) -> Result<(), Failure> {
    let mut all: Vec<String> = findings
        .iter()
        .filter_map(|f| f.evidence.clone())
        .chain(evidence)
        .collect();
    all.extend(distances.iter().filter_map(|d| d.evidence.clone()));
    let checked = findings.iter().filter(|f| f.made.is_some()).count();
    let sampled: u64 = findings.iter().map(|f| f.sampled).sum();
    if args.json {
        let report = Report {
            job: kept.name.clone(),
            puzzle: kept.status.definition.spec.title(),
            from,
            agrees: all.is_empty(),
            levels: findings.iter().map(level_report).collect(),
            distances: distances.as_ref().map(|d| DistanceReport {
                sampled: d.sampled.to_string(),
                compared: d.compared.to_string(),
                verdict: if d.evidence.is_some() {
                    "differs"
                } else {
                    "agrees"
                },
            }),
            evidence: all.clone(),
            seconds: call.started.elapsed().as_secs_f64(),
        };
        json::print_signed(&report, &call.command)?;
    } else {
        for what in &all {
            line(&format!("differs: {what}"))?;
        }
        if let Some(d) = distances.filter(|d| d.evidence.is_none()) {
            line(&format!(
                "distances agree with the digests of all levels; {} were followed to a root, {} compared with levels made again",
                d.sampled, d.compared
            ))?;
        }
        let seconds = span(call.started.elapsed().as_secs_f64());
        let sampled = match sampled {
            0 => String::new(),
            sampled => format!(", {sampled} states of levels sampled"),
        };
        line(&format!(
            "{checked} of {} levels made again{sampled}, {seconds}",
            kept.status.levels.len()
        ))?;
    }
    match all.first() {
        None => Ok(()),
        Some(first) => Err(Failure::Internal(format!(
            "job {} does not hold: {first}{}",
            kept.name,
            match all.len() {
                1 => String::new(),
                n => format!(" (and {} more)", n - 1),
            }
        ))),
    }
}

fn level_report(finding: &Finding) -> LevelReport {
    LevelReport {
        level: finding.level,
        count: finding.accepted.0.to_string(),
        digest: finding.accepted.1.to_string(),
        made_count: finding.made.map(|(count, _)| count.to_string()),
        made_digest: finding.made.map(|(_, digest)| digest.to_string()),
        sampled: finding.sampled.to_string(),
        verdict: finding.verdict(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_a_range_or_one() {
        assert_eq!(parse_levels("3..7"), Ok((3, 7)));
        assert_eq!(parse_levels("5"), Ok((5, 5)));
        for text in ["7..3", "a..b", "..", "-1", ""] {
            assert!(parse_levels(text).is_err(), "{text}");
        }
    }
}
