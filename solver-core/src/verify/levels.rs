//! A whole enumeration again, level by level from the roots.

use super::Verifier;
use crate::bfs::frontier::Frontier;
use crate::terms::{Digest, EngineError, Level, ShardId};

/// Counts and digests of one level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifiedLevel {
    pub level: Level,
    /// By shard.
    pub shards: Vec<(u64, Digest)>,
}

impl VerifiedLevel {
    /// Number of states of the level.
    pub fn count(&self) -> u64 {
        self.shards.iter().map(|(count, _)| count).sum()
    }

    /// Digest of the level.
    pub fn digest(&self) -> Digest {
        let digests = self.shards.iter().map(|(_, digest)| *digest);
        digests.fold(Digest::default(), Digest::plus)
    }
}

/// The levels one after another; ends after the last one that is not empty, or after the limit. Holds the
/// last two levels (directed lists: the last and everything seen).
pub struct Levels<'a> {
    verifier: &'a Verifier,
    limit: Option<Level>,
    next: Level,
    now: Vec<Frontier>,
    /// Sets that are not new besides the level before, by shard.
    seen: Vec<Frontier>,
    done: bool,
}

impl Verifier {
    /// Level 0 and on, up to `limit`. Memory is that of about four bitmaps of the whole space.
    pub fn levels(&self, limit: Option<Level>) -> Levels<'_> {
        Levels {
            verifier: self,
            limit,
            next: 0,
            now: Vec::new(),
            seen: Vec::new(),
            done: false,
        }
    }
}

impl Levels<'_> {
    /// The frontiers of the level that came last, by shard.
    pub fn frontiers(&self) -> &[Frontier] {
        &self.now
    }

    fn advance(&mut self) -> Result<(), EngineError> {
        let v = self.verifier;
        let shards: Vec<ShardId> = (0..v.shards()).map(ShardId).collect();
        if self.next == 0 {
            self.now = shards.iter().map(|&s| v.roots(s)).collect();
            self.seen = shards
                .iter()
                .map(|&s| Frontier::empty(v.geometry(s)))
                .collect();
            return Ok(());
        }
        let before: Vec<(ShardId, &Frontier)> = shards.iter().copied().zip(&self.now).collect();
        let new = v.expand(self.next, &shards, &before, |s| {
            vec![&self.now[s.0 as usize], &self.seen[s.0 as usize]]
        })?;
        let old = std::mem::replace(&mut self.now, new);
        self.seen = if v.directed {
            old.into_iter()
                .zip(std::mem::take(&mut self.seen))
                .map(|(a, b)| union(a, &b))
                .collect()
        } else {
            old
        };
        Ok(())
    }
}

impl Iterator for Levels<'_> {
    type Item = Result<VerifiedLevel, EngineError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done || self.limit.is_some_and(|limit| self.next > limit) {
            return None;
        }
        if let Err(error) = self.advance() {
            self.done = true;
            return Some(Err(error));
        }
        let sets = (0..).map(ShardId).zip(&self.now);
        let level = VerifiedLevel {
            level: self.next,
            shards: sets
                .map(|(s, set)| (set.count(), self.verifier.digest(s, set)))
                .collect(),
        };
        if self.next > 0 && level.count() == 0 {
            self.done = true;
            return None;
        }
        self.next += 1;
        Some(Ok(level))
    }
}

/// The states of both sets.
fn union(a: Frontier, b: &Frontier) -> Frontier {
    use crate::bfs::frontier::Body;
    let geometry = a.geometry();
    if a.count() == 0 || b.count() == 0 {
        return if a.count() == 0 { b.clone() } else { a };
    }
    match (&a.body, &b.body) {
        (Body::Keys(x), Body::Keys(y)) => {
            let width = geometry.words as usize;
            let mut keys: Vec<&[u64]> =
                x.chunks_exact(width).chain(y.chunks_exact(width)).collect();
            keys.sort_unstable();
            keys.dedup();
            Frontier::from_keys(geometry, keys.concat())
        }
        _ => {
            let mut words = vec![0u64; (geometry.dense_bytes() / 8) as usize];
            for set in [&a, b] {
                set.for_each(|p| words[(p / 64) as usize] |= 1 << (p % 64));
            }
            Frontier::from_words(geometry, words).compact()
        }
    }
}
