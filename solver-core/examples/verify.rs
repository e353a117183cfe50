//! Makes the levels of a puzzle again with raw permutations and compares them with the engine's, with times:
//! `verify topspin:11,4 threads=2`.

use antipode_solver_core::bfs::enumerate::enumerate;
use antipode_solver_core::engine::{Engine, KernelChoice};
use antipode_solver_core::puzzle::{PuzzleOptions, resolve};
use antipode_solver_core::space::{self, LayoutOptions};
use antipode_solver_core::verify::Verifier;
use std::time::Instant;

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let mut puzzle_options = PuzzleOptions::default();
    let mut limit = None;
    for a in &args[2..] {
        match a.split_once('=') {
            Some(("root", v)) => puzzle_options.root = Some(v.into()),
            Some(("limit", v)) => limit = Some(v.parse().unwrap()),
            Some(("threads", v)) => rayon::ThreadPoolBuilder::new()
                .num_threads(v.parse().unwrap())
                .build_global()
                .unwrap(),
            _ => panic!("unknown"),
        }
    }
    let puzzle = resolve(&args[1], &puzzle_options).unwrap();
    let def = space::build(&puzzle, &LayoutOptions::default()).unwrap();
    let engine = Engine::load(&puzzle, &def, KernelChoice::Auto).unwrap();
    let t = Instant::now();
    let (levels, _) = enumerate(&engine, limit, None, 0, |_| ()).unwrap();
    println!("engine {:?}", t.elapsed());
    let t = Instant::now();
    let verifier = Verifier::load(&puzzle, &def).unwrap();
    println!("verifier loaded {:?}", t.elapsed());
    let t = Instant::now();
    let mut states = 0;
    for (level, wanted) in verifier.levels(limit).zip(&levels) {
        let level = level.unwrap();
        assert_eq!(
            (level.count(), level.digest()),
            (wanted.count, wanted.digest)
        );
        states += level.count();
    }
    println!(
        "{} levels, {states} states verified in {:?}: {:.0} states a second",
        levels.len(),
        t.elapsed(),
        states as f64 / t.elapsed().as_secs_f64()
    );
}
