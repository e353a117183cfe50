//! One seed, with everything that happened in it.

use antipode_sim::{Backing, Options, Tracing, run};

/// `ANTIPODE_SIM_SEED=123 cargo test -p antipode-sim --release replay -- --nocapture`
#[test]
fn replay() {
    let number = |name: &str| -> Option<u64> { std::env::var(name).ok()?.parse().ok() };
    let Some(seed) = number("ANTIPODE_SIM_SEED") else {
        return;
    };
    let options = Options {
        backing: if number("ANTIPODE_SIM_REDB") == Some(1) {
            Backing::Redb
        } else {
            Backing::Model
        },
        mutant: None,
        faults: true,
        tracing: Tracing::Keep,
    };
    let outcome = run(seed, options);
    outcome.tail.iter().for_each(|line| println!("{line}"));
    if let Err(wrong) = outcome.verdict {
        panic!("seed {seed}: {wrong}");
    }
}
