//! How fast are the kernels? Whole small graphs, level by level, on every kernel of this machine:
//! leaves (TopSpin(10,4)), rows (a colouring of independent coordinates) and tables (two colours).

use antipode_solver_core::bfs::enumerate::enumerate;
use antipode_solver_core::engine::{Engine, KernelChoice};
use antipode_solver_core::puzzle::{PuzzleOptions, resolve};
use antipode_solver_core::space::{self, LayoutOptions};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;

fn graphs(c: &mut Criterion) {
    let two_colours = Some("0,0,0,0,0,0,0,0,0,1,1,1,1,1,1,1,1,1".to_string());
    for (name, spec, root) in [
        ("leaf", "topspin:10,4", None),
        ("leaf of 54", "pocket", None),
        ("table", "topspin:18,4", two_colours),
    ] {
        let puzzle = resolve(
            spec,
            &PuzzleOptions {
                root,
                ..Default::default()
            },
        )
        .unwrap();
        let def = space::build(&puzzle, &LayoutOptions::default()).unwrap();
        let states: u64 = def.states.as_ref().unwrap().parse().unwrap();
        let mut group = c.benchmark_group(format!("{name} ({spec})"));
        group.throughput(Throughput::Elements(
            states * puzzle.generators().len() as u64,
        ));
        group.sample_size(10);
        for kernel in [
            KernelChoice::Portable,
            KernelChoice::Avx2,
            KernelChoice::Avx512,
        ] {
            let Ok(engine) = Engine::load(&puzzle, &def, kernel) else {
                continue;
            };
            group.bench_function(format!("{kernel:?}"), |b| {
                b.iter(|| {
                    black_box(
                        enumerate(&engine, None, Some(states), 0, |_| ())
                            .unwrap()
                            .0
                            .len(),
                    )
                });
            });
        }
        group.finish();
    }
}

criterion_group!(benches, graphs);
criterion_main!(benches);
