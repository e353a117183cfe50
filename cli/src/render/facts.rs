//! Lines of the form "label   text", which every answer for people ends with, and the texts that several answers share.

use super::line;
use crate::exit::Failure;
use crate::memory;

/// Prints one of them.
pub fn fact(label: &str, text: &str) -> Result<(), Failure> {
    line(&format!("{:<13} {text}", console::style(label).dim()))
}

/// A puzzle in a few words.
pub fn puzzle(name: &str, generators: usize, metric: &str) -> String {
    format!("{name}, {generators} generators, metric: {metric}")
}

/// A state, as labels.
pub fn state(labels: &[u16]) -> String {
    let labels: Vec<String> = labels.iter().map(u16::to_string).collect();
    format!("[{}]", labels.join(" "))
}

/// Where an answer came from that was not computed now.
pub fn cached(date: &str) -> String {
    format!("computed {date}, printed from the store (--fresh computes it again)")
}

/// `1 worker with 2 threads`.
pub fn crew(workers: u32, threads: u32) -> String {
    format!(
        "{workers} worker{} with {threads} thread{}",
        plural(workers),
        plural(threads)
    )
}

/// The most memory that processes had.
pub fn peak(bytes: u64) -> String {
    format!("{} at the peak", memory::show(bytes))
}

fn plural(count: u32) -> &'static str {
    if count == 1 { "" } else { "s" }
}
