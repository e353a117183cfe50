//! Makes the distance database of a puzzle and measures questions about random states:
//! `distances topspin:12,4 questions=200000 threads=2`.

use antipode_solver_core::bfs::enumerate::enumerate_with;
use antipode_solver_core::distance::{Builder, PackedDistances, Question, expected_digest};
use antipode_solver_core::engine::{Digest, Engine, KernelChoice, Level, ShardId};
use antipode_solver_core::group::rng::SplitMix;
use antipode_solver_core::puzzle::{PuzzleOptions, resolve};
use antipode_solver_core::space::{self, LayoutOptions};
use std::sync::Arc;
use std::time::{Duration, Instant};

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let (mut questions, mut puzzle_options) = (200_000, PuzzleOptions::default());
    for a in &args[2..] {
        match a.split_once('=') {
            Some(("questions", v)) => questions = v.parse().unwrap(),
            Some(("root", v)) => puzzle_options.root = Some(v.into()),
            Some(("colours", _)) => puzzle_options.colours = true,
            Some(("metric", v)) => puzzle_options.metric = Some(v.into()),
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
    let shards: Vec<ShardId> = (0..engine.shards()).map(ShardId).collect();
    let mut builders: Vec<Builder> = shards
        .iter()
        .map(|&s| Builder::new(engine.numbering(s).unwrap()))
        .collect();
    let mut digests: Vec<Vec<(Level, Digest)>> = vec![Vec::new(); shards.len()];
    let (mut adding, mut last) = (Duration::ZERO, 0);
    enumerate_with(&engine, None, None, 0, |level, sets| {
        let t = Instant::now();
        for (builder, set) in builders.iter_mut().zip(sets) {
            builder.add(level.level, set).unwrap();
        }
        adding += t.elapsed();
        last = level.level;
        for (&s, set) in shards.iter().zip(sets) {
            digests[s.0 as usize].push((level.level, engine.digest(s, set)));
        }
    })
    .unwrap();
    let t = Instant::now();
    let distances: Vec<Option<Arc<PackedDistances>>> = builders
        .into_iter()
        .map(|b| Some(Arc::new(b.finish().unwrap())))
        .collect();
    let finishing = t.elapsed();
    let bytes: usize = distances.iter().flatten().map(|d| d.encode().len()).sum();
    let states: u64 = def.shard_states.iter().sum();
    println!(
        "{states} states, {bytes} bytes, {:.4} bits a state; adding {adding:?}, finishing {finishing:?}",
        bytes as f64 * 8.0 / states as f64
    );
    let t = Instant::now();
    for (&s, levels) in shards.iter().zip(digests) {
        let made = distances[s.0 as usize].as_ref().unwrap();
        assert_eq!(engine.distance_digest(s, made), expected_digest(levels));
    }
    println!("digests agree, {:?}", t.elapsed());

    let mut rng = SplitMix(1);
    let moves = puzzle.generators();
    let asked: Vec<Question> = (0..questions)
        .map(|_| {
            let mut state = puzzle.roots()[0].to_vec();
            for _ in 0..2000 {
                state = moves[rng.below(moves.len())].perm.apply(&state);
            }
            Question::State(state.into())
        })
        .collect();
    let t = Instant::now();
    let answers = engine.query(&distances, last, &asked);
    let took = t.elapsed();
    let mut sum = 0u64;
    for (question, answer) in asked.iter().zip(&answers) {
        let answer = answer.as_ref().unwrap();
        sum += u64::from(answer.distance);
        let Question::State(state) = question else {
            continue;
        };
        let mut made = puzzle.roots()[0].to_vec();
        for &m in &answer.word {
            made = moves[usize::from(m)].perm.apply(&made);
        }
        assert_eq!(made.as_slice(), &**state);
    }
    println!(
        "{questions} questions in {took:?}: {:.0} a second, mean distance {:.2}",
        f64::from(questions) / took.as_secs_f64(),
        sum as f64 / f64::from(questions)
    );
    let mut slowest = Duration::ZERO;
    for one in asked.chunks(1).take(1000) {
        let t = Instant::now();
        engine.query(&distances, last, one)[0].as_ref().unwrap();
        slowest = slowest.max(t.elapsed());
    }
    println!("slowest of 1000 single questions {slowest:?}");
}
