//! The engine: one interface over all block kinds. It answers which shards exist, where the
//! inputs of a shard come from, and computes one level of one shard as a pure function.

pub use crate::job::output_fits;
pub use crate::terms::{
    Certificate, Digest, EngineError, Expanded, KernelChoice, Level, OnDevice, Seen, ShardId,
};

use crate::bfs::frontier::{Frontier, ShardGeometry};
use crate::distance::{self, Answer, Numbering, PackedDistances, Question, Residues};
use crate::puzzle::{Puzzle, State};
use crate::space::SpaceDef;

/// A loaded index with its kernel. Immutable and shareable between threads; every method is a
/// pure function of its arguments. Parallel loops run in the rayon pool it is called in.
pub struct Engine {
    inner: Box<dyn crate::space::Space>,
}

impl Engine {
    /// Checks `def` against `puzzle` (closure under the moves, roots, sizes and sources of the shards; that
    /// the states are as many as proved was settled by [`crate::space::build`]) and builds the tables of a kernel.
    ///
    /// # Errors
    /// [`EngineError::NoKernel`] where this processor lacks it, [`EngineError::Space`] where the index is damaged or
    /// belongs to another puzzle.
    pub fn load(
        puzzle: &Puzzle,
        def: &SpaceDef,
        kernel: KernelChoice,
    ) -> Result<Engine, EngineError> {
        Ok(Engine {
            inner: crate::space::load(puzzle, def, kernel)?,
        })
    }

    /// The same engine with a table made wrong, for tests of verification; `None` where it is too small.
    #[doc(hidden)]
    pub fn with_planted_fault(mut self, fault: crate::space::PlantedFault) -> Option<Engine> {
        self.inner.plant(fault).then_some(self)
    }

    /// `chain`, `product`, `table` or `sparse`.
    pub fn kind(&self) -> &'static str {
        self.inner.kind()
    }

    /// `portable`, `avx2` or `avx512`.
    pub fn kernel(&self) -> &'static str {
        self.inner.kernel()
    }

    /// Number of shards.
    pub fn shards(&self) -> u32 {
        self.inner.shards()
    }

    /// Is the generator list not closed under inverse?
    pub fn is_directed(&self) -> bool {
        self.inner.is_directed()
    }

    /// The shape of a shard's sets.
    pub fn geometry(&self, shard: ShardId) -> ShardGeometry {
        self.inner.geometry(shard)
    }

    /// The shards whose frontier(level-1) is an input of level `level` of `shard`, ascending.
    /// The shard itself is listed only if a move maps it to itself.
    pub fn sources(&self, shard: ShardId) -> Vec<ShardId> {
        self.inner.sources(shard)
    }

    /// Level 0 of a shard.
    pub fn roots(&self, shard: ShardId) -> Frontier {
        self.inner.roots(shard)
    }

    /// Frontier(`level`) of `shard`, for `level` of 1 and above. `sources` holds frontier(level-1) of every source
    /// shard, `own` frontier(level-1) of the shard. Up to `samples` states of the result and of each source
    /// are certified (0: none).
    ///
    /// # Errors
    /// [`EngineError::Input`] where a source is missing or a set has the shape of another shard,
    /// [`EngineError::Violated`] where a certificate does not hold, [`EngineError::Memory`] where a level without an
    /// index would need more than allowed. `seen` is consumed either way.
    pub fn expand(
        &self,
        level: Level,
        shard: ShardId,
        sources: &[(ShardId, &Frontier)],
        own: &Frontier,
        seen: Seen,
        samples: u32,
    ) -> Result<Expanded, EngineError> {
        self.inner.expand(level, shard, sources, own, seen, samples)
    }

    /// Digest of a set of states of a shard, equal to that in [`Expanded`] whichever way the set was made or stored.
    pub fn digest(&self, shard: ShardId, frontier: &Frontier) -> Digest {
        self.inner.digest(shard, frontier)
    }

    /// Where a labelling is (in one place, unless parts overlap); empty: not in the space.
    pub(crate) fn places_of(&self, state: &State) -> Vec<(ShardId, u32)> {
        self.inner.places_of(state)
    }

    /// The `limit` states of a set with the lexicographically smallest labellings, ascending, without repetition.
    pub fn smallest(&self, shard: ShardId, frontier: &Frontier, limit: usize) -> Vec<State> {
        self.inner.smallest(shard, frontier, limit)
    }

    /// The lexicographically least shortest words (generator order) of states at distance `level`,
    /// found by a search from both ends within `memory_bytes`. `kept` gives frontiers of levels that
    /// happen to be at hand; they only make the search cheaper. A word is a list of generator numbers, applied from
    /// left to right to a root. One answer a state: the word, or a sentence that says why there is none (no state of
    /// the space, another distance, memory, no index).
    pub fn words(
        &self,
        level: Level,
        states: &[State],
        kept: &(dyn Fn(Level, ShardId) -> Option<std::sync::Arc<Frontier>> + Sync),
        memory_bytes: u64,
    ) -> Vec<Result<Vec<u16>, String>> {
        self.inner.words(level, states, kept, memory_bytes)
    }

    /// How the states of a shard are numbered without gaps; `None` for a space without an index.
    pub fn numbering(&self, shard: ShardId) -> Option<Numbering> {
        self.inner.numbering(shard)
    }

    /// Digest of the distances of a shard, equal to [`crate::distance::expected_digest`] of its levels.
    pub fn distance_digest(&self, shard: ShardId, distances: &PackedDistances) -> Digest {
        distance::digest_of(self.inner.as_ref(), shard, distances)
    }

    /// Exact distances and least shortest words by distances modulo 3, for lists closed under inverse. `last` is the
    /// last level of the whole enumeration. One answer a question, or a sentence that says why there is
    /// none (no state of the space, no index, a directed list, distances that are not at hand or wrong).
    pub fn query(
        &self,
        source: &dyn Residues,
        last: Level,
        questions: &[Question],
    ) -> Vec<Result<Answer, String>> {
        distance::query(self.inner.as_ref(), source, last, questions)
    }

    /// The same from kept frontiers, for directed and closed lists: `kept` gives the frontier of a level and a
    /// shard, where it is at hand. It is asked often and from several threads.
    pub fn query_levels(
        &self,
        kept: &(dyn Fn(Level, ShardId) -> Option<std::sync::Arc<Frontier>> + Sync),
        last: Level,
        questions: &[Question],
    ) -> Vec<Result<Answer, String>> {
        distance::query_levels(self.inner.as_ref(), kept, last, questions)
    }

    /// Of a set of states, by shard, how many have their inverse in it. `None` where states are not group
    /// elements, or the root is not the identity among them.
    pub fn mutual(&self, set: &[Frontier]) -> Option<u64> {
        let mut count = 0;
        for (s, frontier) in (0u32..).zip(set) {
            for position in frontier.positions() {
                let (shard, at) = self.inner.mirror(ShardId(s), position)?;
                count += u64::from(set.get(shard.0 as usize)?.contains(at));
            }
        }
        Some(count)
    }

    /// The distance to the nearest root at the end of every walk, a list of generator numbers that begins at the first
    /// root. For lists closed under inverse; one look-up a move.
    ///
    /// # Errors
    /// The source's, and a sentence for directed lists, spaces without an index and distances of another space.
    pub fn trail_distances(
        &self,
        source: &dyn Residues,
        words: &[&[u16]],
    ) -> Result<Vec<Level>, String> {
        distance::trail_distances(self.inner.as_ref(), source, words)
    }

    /// The distance of every state from the nearest root, by kept frontiers, as [`Engine::query_levels`] but without words.
    pub fn levels_of(
        &self,
        kept: &(dyn Fn(Level, ShardId) -> Option<std::sync::Arc<Frontier>> + Sync),
        last: Level,
        states: &[State],
    ) -> Vec<Result<Level, String>> {
        distance::levels_of(self.inner.as_ref(), kept, last, states)
    }

    /// Levels of a space without an index are refused when they would need more memory than this.
    pub fn limit_memory(&self, bytes: u64) {
        self.inner.limit_memory(bytes);
    }

    /// Bytes of tables, apart from frontiers, about.
    pub fn table_bytes(&self) -> u64 {
        self.inner.table_bytes()
    }

    /// Bytes of the bitmap that one call of `expand` may make for `shard` besides its inputs; 0 for a space
    /// without an index, whose levels [`Engine::limit_memory`] limits.
    pub fn expand_bytes(&self, shard: ShardId) -> u64 {
        self.inner.geometry(shard).dense_bytes()
    }
}
