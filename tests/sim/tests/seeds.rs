//! Many seeds, whatever fails.

use antipode_sim::{Backing, Options, Outcome, Tracing, run};

#[test]
fn try_some() {
    let n: u64 = std::env::var("N").ok().and_then(|t| t.parse().ok()).unwrap_or(50);
    let from: u64 = std::env::var("FROM").ok().and_then(|t| t.parse().ok()).unwrap_or(0);
    let options = Options { backing: Backing::Model, mutant: None, tracing: Tracing::Off };
    let start = std::time::Instant::now();
    let (mut steps, mut micros, mut bad) = (0, 0, 0);
    let mut tally = antipode_sim::Tally::default();
    for seed in from..from + n {
        let out: Outcome = run(seed, options);
        steps += out.steps; micros += out.micros;
        tally.add(&out.tally);
        if let Err(wrong) = out.verdict { bad += 1; if bad < 20 { println!("seed {seed}: {}", &wrong[..wrong.len().min(400)]); } }
    }
    println!("{}", tally.table());
    println!("{bad} bad of {n}, {:?} a seed, {} steps, {} s a seed", start.elapsed() / n as u32, steps / n, micros as f64 / 1e6 / n as f64);
    println!("missing {:?}", tally.missing(antipode_sim::tally::MUST_OCCUR));
}
