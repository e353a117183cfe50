//! Prints the yardsticks of this machine.
use antipode_solver_core::bfs::yardstick::{leaf_words_per_second, stream_bytes_per_second};
use antipode_solver_core::engine::KernelChoice;
fn main() {
    for k in [
        KernelChoice::Portable,
        KernelChoice::Avx2,
        KernelChoice::Avx512,
    ] {
        println!(
            "{k:?} {:.1} M words/s",
            leaf_words_per_second(k).unwrap() / 1e6
        );
    }
    println!("{:.2} GB/s", stream_bytes_per_second() / 1e9);
}
