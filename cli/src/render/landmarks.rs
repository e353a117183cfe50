//! A landmark survey for people: a table for each size, then what it says about diameters.

use super::{batch, grouped, json, line};
use crate::exit::Failure;
use crate::report::landmarks::{LandmarkRow, LandmarksReport, SurveyRow};

/// Prints it as one JSON object or for people.
pub fn show(report: &LandmarksReport, as_json: bool) -> Result<(), Failure> {
    match as_json {
        true => json::print(report),
        false => print(report),
    }
}

/// Prints all of it.
fn print(report: &LandmarksReport) -> Result<(), Failure> {
    for survey in &report.surveys {
        line(&heading(survey))?;
        let rows: Vec<&LandmarkRow> = report.of_size(survey.n).collect();
        table(&rows)?;
        remarks(survey)?;
        line("")?;
    }
    summary(report)?;
    batch::print(&report.batch)
}

fn heading(survey: &SurveyRow) -> String {
    let diameter = match survey.diameter {
        Some(d) => format!("diameter {d}, the whole group enumerated"),
        None => format!(
            "diameter at least {}",
            survey.diameter_at_least.unwrap_or_default()
        ),
    };
    let text = format!(
        "n = {}: {}, {} states, {diameter}",
        survey.n,
        survey.puzzle,
        grouped(&survey.group_order)
    );
    console::style(text).bold().to_string()
}

fn table(rows: &[&LandmarkRow]) -> Result<(), Failure> {
    let with_counts = rows.iter().any(|row| row.x.is_some());
    // Names of one letter are written together.
    let words = rows.iter().flat_map(|row| row.word.iter().flatten());
    let between = if words.clone().all(|name| name.len() == 1) {
        ""
    } else {
        " "
    };
    let counts = if with_counts {
        "  nL  nR  nX  theta     phi"
    } else {
        ""
    };
    line(&format!(
        "{:>2} {:<20} {:>8}  ratio{counts}  word",
        "id", "landmark", "distance"
    ))?;
    for row in rows {
        let distance = match (row.distance, row.lower) {
            (Some(d), _) => d.to_string(),
            (None, Some(lower)) => match row.upper {
                Some(upper) => format!("{lower}-{upper}"),
                None => format!(">= {lower}"),
            },
            (None, None) => "-".into(),
        };
        let ratio = match (row.ratio, row.trivial) {
            (Some(ratio), _) => format!("{ratio:.2}"),
            (None, true) => "triv.".into(),
            _ => String::new(),
        };
        let number = |v: Option<u32>| v.map_or(String::new(), |v| v.to_string());
        let angle = |v: Option<f64>| v.map_or(String::new(), |v| format!("{v:.3}"));
        let counts = if with_counts {
            format!(
                " {:>3} {:>3} {:>3} {:>6} {:>7}",
                number(row.l),
                number(row.r),
                number(row.x),
                angle(row.theta),
                angle(row.phi)
            )
        } else {
            String::new()
        };
        let word = match (&row.word, &row.reason) {
            (Some(word), _) => word.join(between),
            (None, Some(reason)) => format!("unreachable: {reason}"),
            (None, None) => String::new(),
        };
        let text = format!(
            "{:>2} {:<20} {distance:>8}  {ratio:>5}{counts}  {word}",
            row.id, row.name
        );
        line(text.trim_end())?;
    }
    Ok(())
}

fn remarks(survey: &SurveyRow) -> Result<(), Failure> {
    if let (Some(points), Some(convex), Some(enclosing)) = (
        survey.hulls.points,
        &survey.hulls.convex,
        &survey.hulls.enclosing,
    ) {
        if convex.degenerate {
            line(&format!("hull: {points} points (nL,nR,nX), no body"))?;
        } else {
            let warning = if enclosing.self_intersecting {
                " (cuts through itself)"
            } else {
                ""
            };
            line(&format!(
                "hull: {points} points (nL,nR,nX), {} extreme, area {:.2}, volume {:.2}; enclosing area {:.2}, volume {:.2}{warning}",
                convex.extreme.len(),
                convex.area,
                convex.volume,
                enclosing.area,
                enclosing.volume
            ))?;
        }
    }
    if !survey.trivial.is_empty() {
        let ids: Vec<String> = survey.trivial.iter().map(|t| t.id.to_string()).collect();
        line(&format!(
            "trivial, in no ratio and no estimate: {}",
            ids.join(", ")
        ))?;
    }
    if let Some(first) = survey.open.first() {
        let what = match survey.ended {
            "time limit" => "the time limit ended the search: what is open is not reproducible",
            "memory" => "the search ended for lack of memory (--memory)",
            _ => "the search ended for lack of nodes (--max-nodes)",
        };
        line(&format!(
            "{} open: {what}; id {}: {}",
            survey.open.len(),
            first.id,
            first.proof
        ))?;
    }
    Ok(())
}

fn summary(report: &LandmarksReport) -> Result<(), Failure> {
    line(" n  diameter  proved >=  estimate (range)        from")?;
    for survey in &report.surveys {
        let number = |v: Option<u32>| v.map_or("?".to_string(), |v| v.to_string());
        let (estimate, from) = match &survey.estimate {
            Some(e) => (
                format!("{:.1} ({:.1} to {:.1})", e.median, e.low, e.high),
                format!("{} ratios of n = {}", e.landmarks, e.from_n),
            ),
            None => ("-".into(), String::new()),
        };
        let text = format!(
            "{:>2}  {:>8}  {:>9}  {estimate:<22}  {from}",
            survey.n,
            number(survey.diameter),
            number(survey.diameter_at_least)
        );
        line(text.trim_end())?;
    }
    line("An estimate is distance / ratio over the landmarks, no bound.")
}
