//! Yardsticks of the machine, measured beside every benchmark: one leaf kernel in the first-level
//! cache, and a stream through memory.

use super::pull::{PullChunk, PullSource, SeenChunk, pull_chunk};
use super::{BlockTables, Kernel};
use crate::bfs::block::{Blocks, Digit, Step};
use crate::terms::{EngineError, KernelChoice};
use std::hint::black_box;
use std::time::Instant;

/// Leaf words that one core permutes in a second, everything in the first-level cache.
pub fn leaf_words_per_second(choice: KernelChoice) -> Result<f64, EngineError> {
    let kernel = Kernel::choose(choice)?;
    const WORDS: usize = 24;
    const MOVES: usize = 4;
    const BLOCKS: u32 = 32;
    let rows = (0..MOVES * WORDS)
        .map(|i| ((i * 7 + 3) % WORDS) as u32 | ((i % 4) as u32) << 16)
        .collect();
    let controls: Vec<Vec<u8>> = (1..5u8)
        .map(|k| (0..60u8).map(|b| (b + 11 * k) % 60).collect())
        .collect();
    let tables = BlockTables::leaf(kernel, WORDS, rows, &controls, 60);
    let steps = (0..MOVES as u32)
        .flat_map(|element| {
            (0..BLOCKS).map(move |x| Step {
                to: (x * 7 + element) % BLOCKS,
                element,
            })
        })
        .collect();
    let starts: Vec<u32> = (0..MOVES as u32).collect();
    let blocks = Blocks::new(
        vec![Digit { len: BLOCKS, steps }],
        0,
        tables,
        starts.clone(),
        starts,
    );
    let all = BLOCKS as usize * WORDS;
    let words: Vec<u64> = (1..=all as u64)
        .map(|w| w.wrapping_mul(0x9e37_79b9_7f4a_7c15))
        .collect();
    let counts = [1u16; BLOCKS as usize];
    let sources = [Some(PullSource {
        words: &words,
        counts: &counts,
    }); MOVES];
    let (mut out, mut out_counts) = (vec![0u64; all], counts.to_vec());
    let rounds = 2_000;
    let start = Instant::now();
    for _ in 0..rounds {
        let result = pull_chunk(PullChunk {
            blocks: &blocks,
            entries: &blocks.pull[0],
            sources: black_box(&sources),
            start: 0,
            end: BLOCKS,
            first_block: 0,
            out: &mut out,
            counts: &mut out_counts,
            seen: SeenChunk::Own(None),
        });
        black_box(result);
    }
    Ok((rounds * all * MOVES) as f64 / start.elapsed().as_secs_f64())
}

/// Bytes that one core reads from memory in a second (a buffer larger than the caches).
pub fn stream_bytes_per_second() -> f64 {
    let buffer = vec![1u64; 32 << 20];
    let start = Instant::now();
    let mut rounds = 0u32;
    while rounds < 3 {
        let sum = black_box(&buffer)
            .iter()
            .fold(0u64, |a, &b| a.wrapping_add(b));
        black_box(sum);
        rounds += 1;
    }
    f64::from(rounds) * (buffer.len() * 8) as f64 / start.elapsed().as_secs_f64()
}
