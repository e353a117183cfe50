//! Rows a second of scrambles in memory: `scrambles [PUZZLE] [MAX_DEPTH] [RULES]`, on the threads of RAYON_NUM_THREADS.
//! On a machine that is busy with other things the numbers a CPU second say more.

use antipode_solver_core::puzzle::{PuzzleOptions, resolve};
use antipode_solver_core::scramble::children::Children;
use antipode_solver_core::scramble::{Block, Rules, Shape, WalkSpec, Walks};
use rayon::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Seconds of all threads of this process so far; 0 where the system does not say.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after = stat.rsplit(')').next().unwrap_or_default();
    let ticks = after.split_whitespace().skip(11).take(2);
    ticks.filter_map(|t| t.parse::<f64>().ok()).sum::<f64>() / 100.0
}

/// Prints a rate by the clock and by CPU time.
fn say(what: &str, number: u64, (begin, cpu): (Instant, f64), sum: &AtomicU64) {
    println!(
        "{what}: {:.1} M/s, {:.1} M a CPU second ({})",
        number as f64 / begin.elapsed().as_secs_f64() / 1e6,
        number as f64 / (cpu_seconds() - cpu) / 1e6,
        sum.load(Ordering::Relaxed)
    );
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let puzzle = resolve(
        &args.next().unwrap_or("cube:3".into()),
        &PuzzleOptions::default(),
    )?;
    let max_depth = args.next().map_or(Ok(20), |d| d.parse())?;
    let rules = match args.next().as_deref() {
        Some("no-cancel") => Rules::NoCancel,
        Some("allow-undo") => Rules::AllowUndo,
        _ => Rules::NoUndo,
    };
    let spec = WalkSpec {
        seed: 7,
        shape: Shape::Walk {
            min_depth: 1,
            max_depth,
        },
        rules,
    };
    let begin = Instant::now();
    let walks = Walks::new(&puzzle, &spec)?;
    println!("tables: {:.3} s", begin.elapsed().as_secs_f64());
    let block_rows = walks.block_rows();
    let blocks = 20_000_000 / block_rows as u64;
    // The sum keeps the work from being left out.
    let sum = AtomicU64::new(0);
    let begin = (Instant::now(), cpu_seconds());
    (0..blocks)
        .into_par_iter()
        .for_each_init(Block::default, |block, k| {
            walks.fill(k * block_rows as u64, block_rows, block);
            sum.fetch_add(
                u64::from(block.states[5]) + u64::from(block.depths[3]),
                Ordering::Relaxed,
            );
        });
    let rows = blocks * block_rows as u64;
    say("walks", rows, begin, &sum);

    let children = Children::new(&puzzle, walks.cell_bytes());
    let begin = (Instant::now(), cpu_seconds());
    let rows = rows / 2;
    (0..blocks / 2)
        .into_par_iter()
        .for_each_init(Default::default, |(block, out, solved), k| {
            let block: &mut Block = block;
            if k % 64 == 0 || block.rows() == 0 {
                walks.fill(k * block_rows as u64, block_rows, block);
            }
            for states in block.states.chunks(64 * walks.state_bytes()) {
                children.states(states, out);
                children.solved(states, solved);
                sum.fetch_add(u64::from(out[5]) + u64::from(solved[3]), Ordering::Relaxed);
            }
        });
    say("children", rows * children.moves() as u64, begin, &sum);
    Ok(())
}
