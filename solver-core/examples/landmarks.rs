//! Measures the search from both ends: `landmarks topspin:14,4 nodes=2000000000 memory=3000000000 threads=2`.

use antipode_solver_core::Perm;
use antipode_solver_core::puzzle::{PuzzleOptions, resolve};
use antipode_solver_core::survey::landmarks::reach::Reach;
use antipode_solver_core::survey::landmarks::rows::landmarks;
use antipode_solver_core::survey::landmarks::search::{Budget, Found, search};
use std::time::Instant;

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let mut budget = Budget {
        max_nodes: 100_000_000,
        memory_bytes: 2 << 30,
    };
    for a in &args[2..] {
        match a.split_once('=') {
            Some(("nodes", v)) => budget.max_nodes = v.parse().unwrap(),
            Some(("memory", v)) => budget.memory_bytes = v.parse().unwrap(),
            Some(("threads", v)) => rayon::ThreadPoolBuilder::new()
                .num_threads(v.parse().unwrap())
                .build_global()
                .unwrap(),
            _ => panic!("unknown"),
        }
    }
    let puzzle = resolve(&args[1], &PuzzleOptions::default()).unwrap();
    let moves: Vec<Perm> = puzzle.generators().iter().map(|g| g.perm.clone()).collect();
    let reach = Reach::new(puzzle.degree(), &moves).unwrap();
    let all: Vec<_> = landmarks(puzzle.degree())
        .unwrap()
        .into_iter()
        .filter(|l| reach.why_not(&l.state).is_none())
        .collect();
    let targets: Vec<Perm> = all.iter().map(|l| l.state.clone()).collect();
    let start = Instant::now();
    let out = search(&moves, &targets, budget, &|| false).unwrap();
    let took = start.elapsed();
    for (l, f) in all.iter().zip(&out.found) {
        match f {
            Found::Exact { distance, word } => {
                let word: String = word
                    .iter()
                    .map(|&m| puzzle.generators()[usize::from(m)].name.as_str())
                    .collect();
                println!("{:2} {:20} {distance:3} {word}", l.id, l.name);
            }
            Found::Open { lower, proof, word } => {
                let upper = word.as_ref().map(Vec::len);
                println!("{:2} {:20} {lower} to {upper:?}, {proof}", l.id, l.name);
            }
        }
    }
    println!(
        "{} of {} exact, {:?}, {} nodes, radius {}, {} bytes, {took:?}",
        out.found
            .iter()
            .filter(|f| matches!(f, Found::Exact { .. }))
            .count(),
        all.len(),
        out.ended,
        out.nodes,
        out.radius,
        out.bytes
    );
}
