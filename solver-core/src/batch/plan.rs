//! Which items a batch job has, as the grid that a coordinator plans with.

use crate::space::SpaceDef;

/// The kind of a batch job's [`SpaceDef`].
pub const KIND: &str = "batch";

/// The items of a batch job, known when it is submitted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemPlan {
    /// What each item counts.
    pub counts: Vec<u64>,
    /// Why the sum of the counts must be right, in words, e.g. "every state is a source once".
    pub proof: String,
    /// One line for people, e.g. "79 batches of 512 sources".
    pub layout: String,
}

impl ItemPlan {
    /// The items as the shards of a space without moves.
    ///
    /// # Errors
    /// A sentence where there are none, or too many to number.
    pub fn space(&self) -> Result<SpaceDef, String> {
        let shards = u32::try_from(self.counts.len())
            .ok()
            .filter(|&n| n > 0 && n <= MAX_ITEMS);
        let Some(shards) = shards else {
            return Err(format!(
                "a job has 1 to {MAX_ITEMS} items, this one would have {}",
                self.counts.len()
            ));
        };
        let sum: u128 = self.counts.iter().map(|&n| u128::from(n)).sum();
        Ok(SpaceDef {
            kind: KIND.into(),
            shards,
            sources: vec![Vec::new(); self.counts.len()],
            shard_states: self.counts.clone(),
            shard_bytes: vec![0; self.counts.len()],
            directed: false,
            group_order: String::new(),
            states: Some(sum.to_string()),
            states_proof: self.proof.clone(),
            layout: self.layout.clone(),
            body: Vec::new(),
        })
    }
}

/// At most so many items: each has a result that the coordinator keeps.
pub const MAX_ITEMS: u32 = 1 << 20;
