//! What the levels of a puzzle take in a store, against the entropy of their density, and how fast they are
//! compressed and read on one core: `stored_bytes topspin:12,4`.

use antipode_solver_core::bfs::enumerate::enumerate_with;
use antipode_solver_core::bfs::frontier::Frontier;
use antipode_solver_core::engine::{Engine, KernelChoice};
use antipode_solver_core::puzzle::{PuzzleOptions, resolve};
use antipode_solver_core::space::{self, LayoutOptions};
use std::time::Duration;

/// Time that this thread has run: other processes do not count.
fn cpu() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    Duration::from_nanos(text.split(' ').next().unwrap().parse().unwrap())
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let mut puzzle_options = PuzzleOptions::default();
    for a in &args[2..] {
        match a.split_once('=') {
            Some(("root", v)) => puzzle_options.root = Some(v.into()),
            Some(("metric", v)) => puzzle_options.metric = Some(v.into()),
            _ => panic!("unknown"),
        }
    }
    let puzzle = resolve(&args[1], &puzzle_options).unwrap();
    let def = space::build(&puzzle, &LayoutOptions::default()).unwrap();
    println!("{}", def.layout);
    let engine = Engine::load(&puzzle, &def, KernelChoice::Auto).unwrap();
    let states: u64 = def.shard_states.iter().sum();
    let bitmap: u64 = def.shard_bytes.iter().sum();
    println!(
        "level      states    bound MB     plain    stored   write MB/s  read MB/s (of bitmap)"
    );
    let mut sums = [0f64; 3];
    let (mut dense, mut writing, mut reading) = (0f64, Duration::ZERO, Duration::ZERO);
    enumerate_with(&engine, None, None, 0, |level, sets| {
        let p = level.count as f64 / states as f64;
        let entropy = if p < 1.0 {
            -p * p.log2() - (1.0 - p) * (1.0 - p).log2()
        } else {
            0.0
        };
        let bound = entropy * states as f64 / 8.0;
        let plain: usize = sets.iter().map(|s| s.encode().len()).sum();
        let t = cpu();
        let stored: Vec<Option<Vec<u8>>> = sets.iter().map(Frontier::compress).collect();
        let wrote = cpu() - t;
        let t = cpu();
        for (set, bytes) in sets.iter().zip(&stored) {
            if let Some(bytes) = bytes {
                let back = Frontier::decompress(set.geometry(), bytes).unwrap();
                assert_eq!(back.count(), set.count());
            }
        }
        let read = cpu() - t;
        let stored: usize = stored.iter().map(|b| b.as_ref().map_or(1, Vec::len)).sum();
        let speed = |t: Duration| bitmap as f64 / t.as_secs_f64() / 1e6;
        println!(
            "{:5} {:11} {:11.3} {:9.3} {:9.3} {:12.0} {:10.0}",
            level.level,
            level.count,
            bound / 1e6,
            plain as f64 / bound,
            stored as f64 / bound,
            speed(wrote),
            speed(read)
        );
        for (sum, x) in sums.iter_mut().zip([bound, plain as f64, stored as f64]) {
            *sum += x;
        }
        if level.count * 900 > states {
            dense += bitmap as f64;
            writing += wrote;
            reading += read;
        }
    })
    .unwrap();
    println!(
        "all levels: bound {:.1} MB, plain {:.3}, stored {:.3}; of the levels kept as bitmaps {:.0} MB/s written, {:.0} MB/s read",
        sums[0] / 1e6,
        sums[1] / sums[0],
        sums[2] / sums[0],
        dense / writing.as_secs_f64() / 1e6,
        dense / reading.as_secs_f64() / 1e6
    );
}
