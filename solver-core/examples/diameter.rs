//! Measures all-pairs searches: `diameter PUZZLE [root=..] [items=K] [threads=T] [force=1] [bounds=1]`. With `items` only so many items
//! are run and the rest is extrapolated.

use antipode_solver_core::puzzle::{PuzzleOptions, resolve};
use antipode_solver_core::survey::diameter::{AllPairs, Graph, Summary, Symmetry, bounds};
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().collect();
    let mut options = PuzzleOptions::default();
    let (mut items, mut threads, mut force, mut by_bounds) = (u32::MAX, 2, false, false);
    for a in &args[2..] {
        match a.split_once('=') {
            Some(("root", v)) => options.root = Some(v.into()),
            Some(("metric", v)) => options.metric = Some(v.into()),
            Some(("moves", v)) => options.moves = Some(v.into()),
            Some(("orbits", v)) => options.orbits = Some(v.into()),
            Some(("bounds", _)) => by_bounds = true,
            Some(("force", _)) => force = true,
            Some(("items", v)) => items = v.parse()?,
            Some(("threads", v)) => threads = v.parse()?,
            _ => return Err(format!("unknown: {a}").into()),
        }
    }
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build_global()?;
    let puzzle = resolve(&args[1], &options)?;
    let t = Instant::now();
    let graph = Graph::build(&puzzle, 3 << 30)?;
    println!(
        "{} states, {} moves, graph in {:?}, {} bytes",
        graph.states(),
        graph.moves(),
        t.elapsed(),
        graph.bytes()
    );
    let t = Instant::now();
    let symmetry = if force {
        Symmetry::none("measured by force")
    } else {
        Symmetry::of(&puzzle, &graph)
    };
    println!("{} ({:?})", symmetry.proof, t.elapsed());
    if by_bounds {
        let t = Instant::now();
        let done = bounds(&graph, &symmetry, &|| false, |sources, known, now| {
            println!(
                "{sources} sources, {known} known, {now:?}, {:?}",
                t.elapsed()
            )
        })?;
        println!("{done:?} {:?}", t.elapsed());
        return Ok(());
    }
    let all = AllPairs::new(graph, symmetry);
    let t = Instant::now();
    let mut sum = Summary::default();
    let run = all.items().min(items);
    for item in 0..run {
        sum.merge(&all.run(item, 10, &|| false)?, 10);
    }
    let seconds = t.elapsed().as_secs_f64();
    println!(
        "{run} of {} items in {seconds:.3} s, {:.1} s for all; diameter so far {}, {} levels x moves x states x sources / s: {:.3e}",
        all.items(),
        seconds / f64::from(run) * f64::from(all.items()),
        sum.greatest,
        sum.distances.len(),
        sum.sources() as f64 * f64::from(all.graph().states()) * all.graph().moves() as f64
            / seconds,
    );
    if run == all.items() {
        let answer = all.finish(&sum, 3, false, String::new())?;
        println!("{answer:?}");
    }
    Ok(())
}
