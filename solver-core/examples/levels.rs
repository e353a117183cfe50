//! Prints the level table of a graph given as `NAME:N[,K]`, for trying out the engine.

use antipode_solver_core::bfs::enumerate::enumerate;
use antipode_solver_core::engine::{Engine, KernelChoice};
use antipode_solver_core::perm::Perm;
use antipode_solver_core::puzzle::{Generator, Metric, Puzzle};
use antipode_solver_core::space::{self, LayoutOptions};
use std::time::Instant;

fn perm(images: Vec<usize>) -> Perm {
    Perm::from_images(&images.into_iter().map(|i| i as u64).collect::<Vec<_>>()).unwrap()
}

/// User and system time of the process in milliseconds.
fn cpu() -> (u64, u64) {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap();
    let f: Vec<&str> = text.rsplit(')').next().unwrap().split_whitespace().collect();
    (f[11].parse::<u64>().unwrap() * 10, f[12].parse::<u64>().unwrap() * 10)
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let n: usize = args[2].parse().unwrap();
    let shift = |n: usize| perm((0..n).map(|i| (i + 1) % n).collect());
    let swap = |n: usize, k: usize| perm((0..n).map(|i| if i < k { k - 1 - i } else { i }).collect());
    let list: Vec<Perm> = match args[1].as_str() {
        "lrx" => vec![shift(n), shift(n).inverse(), swap(n, 2)],
        "lx" => vec![shift(n), swap(n, 2)],
        "topspin" => vec![shift(n), shift(n).inverse(), swap(n, 4)],
        "pancake" => (2..=n).map(|k| swap(n, k)).collect(),
        _ => panic!("unknown"),
    };
    let generators =
        list.into_iter().enumerate().map(|(i, perm)| Generator { name: format!("g{i}"), perm }).collect();
    let puzzle = Puzzle::new(args[1].clone(), generators, vec![], Metric::Generators, vec![]).unwrap();
    let mut options = LayoutOptions::default();
    let mut kernel = KernelChoice::Auto;
    let mut samples = 0;
    for a in &args[3..] {
        match a.split_once('=') {
            Some(("shards", v)) => options.min_shards = Some(v.parse().unwrap()),
            Some(("kernel", "avx2")) => kernel = KernelChoice::Avx2,
            Some(("kernel", "portable")) => kernel = KernelChoice::Portable,
            Some(("samples", v)) => samples = v.parse().unwrap(),
            Some(("threads", v)) => rayon::ThreadPoolBuilder::new().num_threads(v.parse().unwrap()).build_global().unwrap(),
            _ => panic!("unknown"),
        }
    }
    let t = Instant::now();
    let def = space::build(&puzzle, &options).unwrap();
    eprintln!("build {:?} {} states {:?} shards {} body {}", t.elapsed(), def.layout, def.states, def.shards, def.body.len());
    let t = Instant::now();
    let engine = Engine::load(&puzzle, &def, kernel).unwrap();
    eprintln!("load {:?} tables {} kernel {}", t.elapsed(), engine.table_bytes(), engine.kernel());
    let t = Instant::now();
    let mut last = t;
    let mut used = cpu();
    let known = def.states.unwrap().parse().ok();
    let (levels, _) = enumerate(&engine, None, known, samples, |l| {
        println!("{} {} {} {:.1}ms user {} sys {}", l.level, l.count, l.digest, last.elapsed().as_secs_f64() * 1e3, cpu().0 - used.0, cpu().1 - used.1);
        last = Instant::now();
        used = cpu();
    })
    .unwrap();
    let sum: u64 = levels.iter().map(|l| l.count).sum();
    println!("sum {sum} {:?}", t.elapsed());
}
