//! The Python example of `docs/scrambles.md`, run with the real packages. `.ci/run` installs them into `target/python`;
//! without it there is nothing to run, except where `CI` says that there must be.

mod common;

use common::{User, repository};
use std::process::Command;

/// The code blocks of a language, in order.
fn blocks<'t>(text: &'t str, language: &str) -> Vec<&'t str> {
    let fence = format!("```{language}\n");
    let parts = text.split(fence.as_str()).skip(1);
    parts.filter_map(|part| part.split("```").next()).collect()
}

#[test]
fn the_example_of_the_documentation_runs() {
    let python = repository().join("target/python/bin/python");
    if !python.exists() {
        assert!(
            std::env::var_os("CI").is_none(),
            "{} is not there; .ci/run makes it",
            python.display()
        );
        eprintln!("skipped: no {}; .ci/run makes it", python.display());
        return;
    }
    let path = repository().join("docs/scrambles.md");
    let text = std::fs::read_to_string(path).expect("the documentation is there");
    let user = User::new();
    let mut commands = 0;
    for block in blocks(&text, "console") {
        for line in block
            .lines()
            .filter_map(|line| line.strip_prefix("$ antipode "))
        {
            let line = line.split(" #").next().unwrap_or(line);
            if line.starts_with("run scrambles") {
                let output = user.run(line);
                assert_eq!(output.code, Some(0), "{line}: {output:?}");
                commands += 1;
            }
        }
    }
    let code = blocks(&text, "python");
    assert!(commands >= 2 && code.len() >= 2);
    for (k, code) in code.iter().enumerate() {
        let output = Command::new(&python)
            .args(["-c", code])
            .current_dir(user.path(""))
            .output()
            .expect("Python starts");
        assert!(
            output.status.success(),
            "example {k}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    // The values that the first example wrote.
    let report = user.json("scrambles targets data --values v.npy --json");
    assert_eq!(report["rows"], 100_000);
}
