//! Ten thousand histories of a cluster in which everything fails: all invariants hold after every step, and
//! when the faults end every job ends with the right answer. Names of faults and transitions that never
//! occurred fail the test.

use antipode_sim::tally::{MUST_NOT_OCCUR, MUST_OCCUR};
use antipode_sim::{Backing, Options, Outcome, Tally, Tracing, run};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

fn number(name: &str, usual: u64) -> u64 {
    let set = std::env::var(name).ok();
    set.and_then(|text| text.parse().ok()).unwrap_or(usual)
}

/// What many seeds came to.
#[derive(Default)]
struct Sum {
    tally: Tally,
    wrong: Vec<(u64, String)>,
    steps: u64,
    micros: u64,
}

impl Sum {
    fn add(&mut self, outcome: Outcome) {
        self.tally.add(&outcome.tally);
        self.steps += outcome.steps;
        self.micros += outcome.micros;
        if let Err(wrong) = outcome.verdict {
            self.wrong.push((outcome.seed, wrong));
        }
    }
}

/// Runs seeds on all processors; says what they came to.
fn run_all(first: u64, seeds: u64, backing: Backing) -> Sum {
    let options = Options {
        backing,
        mutant: None,
        faults: true,
        tracing: Tracing::Off,
    };
    let (next, sum) = (AtomicU64::new(first), Mutex::new(Sum::default()));
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    let began = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= first + seeds {
                        return;
                    }
                    let outcome = run(seed, options);
                    sum.lock().unwrap().add(outcome);
                }
            });
        }
    });
    let mut sum = sum.into_inner().unwrap();
    sum.wrong.sort();
    eprintln!("{}", sum.tally.table());
    eprintln!(
        "{seeds} seeds in {:.1?}: {} wrong; {:.0} steps of the core and {:.1} s of simulated time each",
        began.elapsed(),
        sum.wrong.len(),
        sum.steps as f64 / seeds as f64,
        sum.micros as f64 / 1e6 / seeds as f64,
    );
    sum
}

/// Fails with the command that replays the first wrong seed, and with the end of its history.
fn judge(sum: &Sum, backing: Backing) {
    for (seed, wrong) in sum.wrong.iter().take(20) {
        eprintln!("seed {seed}: {wrong:.600}");
    }
    if let Some((seed, wrong)) = sum.wrong.first() {
        let options = Options {
            backing,
            mutant: None,
            faults: true,
            tracing: Tracing::Keep,
        };
        let tail = run(*seed, options).tail;
        let telling = |line: &&String| !line.contains("Tick") && !line.contains("Heartbeat");
        let lines: Vec<&String> = tail.iter().filter(telling).collect();
        for line in &lines[lines.len().saturating_sub(60)..] {
            eprintln!("{line:.300}");
        }
        panic!(
            "seed {seed}: {wrong}\nreplay it: {}ANTIPODE_SIM_SEED={seed} cargo test -p antipode-sim --release replay -- --nocapture",
            if backing == Backing::Redb {
                "ANTIPODE_SIM_REDB=1 "
            } else {
                ""
            },
        );
    }
}

/// Others with e.g. ANTIPODE_SIM_FIRST=10000 ANTIPODE_SIM_SEEDS=50000.
#[test]
fn whatever_fails_the_answer_is_the_same() {
    let seeds = number("ANTIPODE_SIM_SEEDS", 10_000);
    let sum = run_all(number("ANTIPODE_SIM_FIRST", 0), seeds, Backing::Model);
    judge(&sum, Backing::Model);
    let occurred: Vec<_> = MUST_NOT_OCCUR
        .iter()
        .filter(|n| sum.tally.get(n) > 0)
        .collect();
    assert!(occurred.is_empty(), "must never occur: {occurred:?}");
    let missing = sum.tally.missing(MUST_OCCUR);
    assert!(
        missing.is_empty() || seeds < 10_000,
        "never occurred: {missing:?}"
    );
}

/// The same on the real stores.
#[test]
fn on_files_that_fail_the_answer_is_the_same() {
    let seeds = number("ANTIPODE_SIM_REDB_SEEDS", 300);
    let sum = run_all(number("ANTIPODE_SIM_FIRST", 0), seeds, Backing::Redb);
    judge(&sum, Backing::Redb);
}

#[test]
fn without_faults_nothing_is_done_twice() {
    let options = Options {
        backing: Backing::Model,
        mutant: None,
        faults: false,
        tracing: Tracing::Off,
    };
    for seed in 0..500 {
        let outcome = run(seed, options);
        assert_eq!(outcome.verdict, Ok(()), "seed {seed}");
    }
}

#[test]
fn one_seed_gives_one_history() {
    let options = Options {
        backing: Backing::Model,
        mutant: None,
        faults: true,
        tracing: Tracing::Hash,
    };
    for seed in 0..100 {
        let (a, b) = (run(seed, options), run(seed, options));
        assert_eq!(a.hash, b.hash, "seed {seed}");
        assert!(a.steps > 20 && a.hash != run(seed + 1000, options).hash);
    }
}
