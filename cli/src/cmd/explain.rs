//! `explain`: why a job, a task or a worker is as it is.

use super::{Call, block_on, show};
use crate::connect::CoordinatorArgs;
use crate::exit::Failure;
use crate::offline::Look;
use crate::render::{json, line};
use crate::report::date;
use crate::stores;
use antipode_proto::client::Client;
use antipode_proto::status::{Explanation, Subject};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Say why a job, a task or a worker is as it is, and what happened to it
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A job (`3`, `last`), a task (`3/12/0`: job, level, shard) or a worker (its name, or `w3`)
    #[arg(value_name = "JOB|JOB/LEVEL/SHARD|WORKER")]
    subject: String,

    #[command(flatten)]
    coordinator: CoordinatorArgs,

    /// Look into this directory's stores, without a coordinator
    #[arg(long, value_name = "DIR", conflicts_with = "coordinator")]
    data: Option<PathBuf>,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Serialize)]
struct Report {
    subject: String,
    /// How things are, the reason first.
    now: Vec<String>,
    /// Oldest first.
    history: Vec<IncidentReport>,
}

#[derive(Debug, Serialize)]
struct IncidentReport {
    at: String,
    what: String,
}

/// Prints the present, then the past.
pub fn explain(args: &Args, call: &Call) -> Result<(), Failure> {
    let explanation = match &args.data {
        Some(data) => stored(data, &args.subject)?,
        None => block_on(async {
            let client = args.coordinator.connect().await;
            let client = client.map_err(stores::or_stored_runs)?;
            let subject = match args.subject.as_str() {
                "last" => Subject::Job(show::number(&client, "last").await?.0),
                text => match text.strip_prefix("last/") {
                    Some(task) => {
                        let job = show::number(&client, "last").await?.0;
                        parse(&format!("{job}/{task}"))?
                    }
                    None => parse(text)?,
                },
            };
            Ok(client.explain(subject).await?)
        })?,
    };
    let report = Report {
        subject: args.subject.clone(),
        now: explanation.now,
        history: explanation
            .history
            .into_iter()
            .map(|incident| IncidentReport {
                at: date(incident.at),
                what: incident.what,
            })
            .collect(),
    };
    if args.json {
        return json::print_signed(&report, &call.command);
    }
    report.now.iter().try_for_each(|text| line(text))?;
    if !report.history.is_empty() {
        line("")?;
    }
    let mut history = report.history.iter();
    history.try_for_each(|incident| line(&format!("{}  {}", incident.at, incident.what)))
}

/// What is meant: numbers are jobs and tasks, anything else is a worker.
fn parse(text: &str) -> Result<Subject, Failure> {
    if let Ok(job) = text.parse() {
        return Ok(Subject::Job(job));
    }
    if !text.contains('/') {
        return Ok(Subject::Worker(text.into()));
    }
    match split_task(text) {
        Some((job, level, shard)) if job.parse::<u64>().is_ok() => Ok(Subject::Task {
            job: job.parse().unwrap_or_default(),
            level,
            shard,
        }),
        _ => Err(Failure::input(format!(
            "'{text}' is no task; write JOB/LEVEL/SHARD in numbers, e.g. 3/12/0, or JOB/item/N"
        ))),
    }
}

/// Job, level and shard of `JOB/LEVEL/SHARD`; items of batch jobs, `JOB/item/N`, stand at level 1.
fn split_task(text: &str) -> Option<(&str, u32, u32)> {
    let (rest, shard) = text.rsplit_once('/')?;
    let (job, level) = rest.rsplit_once('/')?;
    let level = if level == "item" {
        1
    } else {
        level.parse().ok()?
    };
    Some((job, level, shard.parse().ok()?))
}

fn stored(data: &Path, text: &str) -> Result<Explanation, Failure> {
    let jobs = stores::read(data)?;
    let whole = jobs.iter().any(|job| job.name == text);
    let (name, task) = match split_task(text).filter(|_| !whole) {
        Some((job, level, shard)) => (job, Some((level, shard))),
        None => (text, None),
    };
    let job = stores::find(jobs, name)?;
    let number = job.status.job.0;
    let subject = match task {
        Some((level, shard)) => Subject::Task {
            job: number,
            level,
            shard,
        },
        None => Subject::Job(number),
    };
    let look = Look::at(&job)?;
    let mut explanation = look.coordinator.explain(&subject).map_err(Failure::Input)?;
    // A stored run is named by its folder, and needs its --data.
    let asked = format!("`antipode resume {number}`");
    let here = format!(
        "`antipode resume {} --data {}`",
        job.name,
        crate::puzzle_arg::quoted(data.as_os_str())
    );
    for text in &mut explanation.now {
        *text = text.replace(&asked, &here);
    }
    Ok(explanation)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_jobs_and_tasks_and_names_are_workers() {
        assert_eq!(parse("3").unwrap(), Subject::Job(3));
        let task = Subject::Task {
            job: 3,
            level: 12,
            shard: 0,
        };
        assert_eq!(parse("3/12/0").unwrap(), task);
        assert_eq!(parse("w3").unwrap(), Subject::Worker("w3".into()));
        assert!(parse("3/twelve/0").is_err());
        assert!(parse("3/12").is_err());
    }
}
