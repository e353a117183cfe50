//! Two answers for one task that differ. Tasks are pure, so somebody is wrong: a third worker decides.

use crate::record::ExpandResult;
use antipode_ids::WorkerId;
use antipode_solver_core::engine::{Digest, Level};
use serde::{Deserialize, Serialize};

/// The answers that were given for one Expand task, each by another worker, all different.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dispute {
    pub level: Level,
    pub shard: u32,
    pub claims: Vec<Claim>,
}

/// What one worker says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    pub by: WorkerId,
    /// As users know it.
    pub name: String,
    pub count: u64,
    pub digest: Digest,
}

impl Dispute {
    pub fn has_claim_of(&self, worker: WorkerId) -> bool {
        self.claims.iter().any(|claim| claim.by == worker)
    }

    /// The workers whose claims a result refutes, if it confirms one of another worker.
    pub fn refuted_by(&self, result: &ExpandResult) -> Option<Vec<WorkerId>> {
        let agrees = |claim: &&Claim| (claim.count, claim.digest) == (result.count, result.digest);
        let confirmed = self.claims.iter().find(agrees)?;
        (Some(confirmed.by) != result.by).then(|| {
            let others = self.claims.iter().filter(|claim| !agrees(claim));
            others.map(|claim| claim.by).collect()
        })
    }

    /// The evidence, in words.
    pub fn describe(&self) -> String {
        let claims: Vec<String> = self
            .claims
            .iter()
            .map(|c| {
                format!(
                    "{} states, digest {} from {} ({})",
                    c.count, c.digest, c.name, c.by
                )
            })
            .collect();
        format!(
            "{} answers for level {}, shard {}: {}",
            claims.len(),
            self.level,
            self.shard,
            claims.join("; ")
        )
    }
}
