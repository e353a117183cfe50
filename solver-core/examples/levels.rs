//! Prints the level table of a puzzle with times, for trying out the engine:
//! `levels cube:3 metric=htm moves=U,D,R2,L2,F2,B2 threads=1`.

use antipode_solver_core::bfs::enumerate::enumerate;
use antipode_solver_core::engine::{Engine, KernelChoice};
use antipode_solver_core::puzzle::{PuzzleOptions, resolve};
use antipode_solver_core::space::{self, LayoutOptions};
use std::time::Instant;

/// User and system time of the process in milliseconds.
fn cpu() -> (u64, u64) {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap();
    let f: Vec<&str> = text
        .rsplit(')')
        .next()
        .unwrap()
        .split_whitespace()
        .collect();
    (
        f[11].parse::<u64>().unwrap() * 10,
        f[12].parse::<u64>().unwrap() * 10,
    )
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let mut puzzle_options = PuzzleOptions::default();
    let mut depth = None;
    let mut options = LayoutOptions::default();
    let mut kernel = KernelChoice::Auto;
    let mut samples = 0;
    for a in &args[2..] {
        match a.split_once('=') {
            Some(("shards", v)) => options.min_shards = Some(v.parse().unwrap()),
            Some(("kernel", "avx2")) => kernel = KernelChoice::Avx2,
            Some(("kernel", "portable")) => kernel = KernelChoice::Portable,
            Some(("metric", v)) => puzzle_options.metric = Some(v.into()),
            Some(("moves", v)) => puzzle_options.moves = Some(v.into()),
            Some(("orbits", v)) => puzzle_options.orbits = Some(v.into()),
            Some(("root", v)) => puzzle_options.root = Some(v.into()),
            Some(("colours", _)) => puzzle_options.colours = true,
            Some(("kind", v)) => options.kind = Some(v.into()),
            Some(("leaf", v)) => options.max_leaf = Some(v.parse().unwrap()),
            Some(("depth", v)) => depth = Some(v.parse().unwrap()),
            Some(("samples", v)) => samples = v.parse().unwrap(),
            Some(("threads", v)) => rayon::ThreadPoolBuilder::new()
                .num_threads(v.parse().unwrap())
                .build_global()
                .unwrap(),
            _ => panic!("unknown"),
        }
    }
    options.depth = depth;
    let puzzle = resolve(&args[1], &puzzle_options).unwrap();
    let t = Instant::now();
    let def = space::build(&puzzle, &options).unwrap();
    eprintln!(
        "build {:?} {} states {:?} shards {} body {}",
        t.elapsed(),
        def.layout,
        def.states,
        def.shards,
        def.body.len()
    );
    let t = Instant::now();
    let engine = Engine::load(&puzzle, &def, kernel).unwrap();
    eprintln!(
        "load {:?} tables {} kernel {}",
        t.elapsed(),
        engine.table_bytes(),
        engine.kernel()
    );
    let t = Instant::now();
    let mut last = t;
    let mut used = cpu();
    let known = def.states.and_then(|s| s.parse().ok());
    let (levels, _) = enumerate(&engine, depth, known, samples, |l| {
        println!(
            "{} {} {} {:.1}ms user {} sys {}",
            l.level,
            l.count,
            l.digest,
            last.elapsed().as_secs_f64() * 1e3,
            cpu().0 - used.0,
            cpu().1 - used.1
        );
        last = Instant::now();
        used = cpu();
    })
    .unwrap();
    let sum: u64 = levels.iter().map(|l| l.count).sum();
    println!("sum {sum} {:?}", t.elapsed());
}
