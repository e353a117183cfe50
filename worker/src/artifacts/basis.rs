//! What a result rests on: the inputs that the lease named. A result stays the answer to its task only as long as
//! these are its inputs; where one was taken back and made again, the task is another one.

use antipode_proto::message::Input;
use xxhash_rust::xxh3::Xxh3;

/// A hash of a task's inputs: the name and digest of each, in the order of the lease. Level 0 does not count: it
/// follows from the definition, which the job's fingerprint stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Basis(u128);

impl Basis {
    /// The basis of a task that was leased with these inputs.
    pub fn of(inputs: &[Input]) -> Basis {
        let mut hasher = Xxh3::new();
        for input in inputs.iter().filter(|input| input.name.level > 0) {
            let name = input.name;
            hasher.update(&name.job.0.to_le_bytes());
            hasher.update(&name.level.to_le_bytes());
            hasher.update(&name.shard.0.to_le_bytes());
            hasher.update(&[name.kind as u8]);
            hasher.update(&input.digest.0.to_le_bytes());
        }
        Basis(hasher.digest128())
    }
}
