//! Who reads whom: the fixed shape of the dependencies between the tasks of a search.

use crate::artifact::{Artifact, ArtifactKind};
use antipode_solver_core::batch;
use antipode_solver_core::engine::Level;
use antipode_solver_core::job::{JobDefinition, JobSpec};

#[derive(Debug)]
pub struct Graph {
    /// Source shards, by shard.
    sources: Vec<Vec<u32>>,
    /// Source shards and the shard itself, ascending.
    reads: Vec<Vec<u32>>,
    /// The inverse relation of `reads`.
    readers: Vec<Vec<u32>>,
    directed: bool,
    /// The one row of a batch job: nothing reads what its tasks make.
    items: bool,
    /// They make artifacts.
    rows: bool,
}

impl Graph {
    pub(super) fn new(definition: &JobDefinition) -> Result<Graph, String> {
        let space = &definition.space;
        let (items, rows) = match &definition.spec {
            JobSpec::Bfs(_) => (false, true),
            JobSpec::Batch(batch) => (true, batch.makes_rows()),
        };
        if items != (space.kind == batch::KIND) {
            return Err(format!(
                "a {} job cannot have a space of kind {}",
                definition.spec.kind(),
                space.kind
            ));
        }
        let shards = space.shards;
        if shards == 0 || space.sources.len() != shards as usize {
            return Err(format!(
                "sources are given for {} of {shards} shards",
                space.sources.len()
            ));
        }
        let mut reads = Vec::with_capacity(space.sources.len());
        let mut readers = vec![Vec::new(); space.sources.len()];
        for (shard, sources) in (0..shards).zip(&space.sources) {
            if let Some(wrong) = sources.iter().find(|&&source| source >= shards) {
                return Err(format!(
                    "shard {shard} has the source {wrong}, but there are {shards} shards"
                ));
            }
            let mut all = sources.clone();
            all.extend((!items).then_some(shard));
            all.sort_unstable();
            all.dedup();
            all.iter()
                .for_each(|&source| readers[source as usize].push(shard));
            reads.push(all);
        }
        Ok(Graph {
            sources: space.sources.clone(),
            reads,
            readers,
            directed: space.directed,
            items,
            rows,
        })
    }

    /// Is it the one row of a batch job?
    pub fn is_batch(&self) -> bool {
        self.items
    }

    pub fn shards(&self) -> usize {
        self.reads.len()
    }

    pub fn is_directed(&self) -> bool {
        self.directed
    }

    /// The shards whose states of one level can make states of this shard in the next.
    pub fn sources(&self, shard: u32) -> &[u32] {
        &self.sources[shard as usize]
    }

    /// The artifacts that Expand(level, shard) reads, without those of level 0.
    pub fn inputs(&self, level: Level, shard: u32) -> impl Iterator<Item = Artifact> + '_ {
        let reads = self.reads[shard as usize]
            .iter()
            .map(move |&s| Artifact::frontier(level - 1, s));
        reads.chain(self.seen(level, shard)).filter(|a| a.level > 0)
    }

    /// The input of Expand(level, shard) that nobody reads after it: what was seen before.
    pub fn seen(&self, level: Level, shard: u32) -> Option<Artifact> {
        if self.directed {
            Some(Artifact::visited(level - 1, shard))
        } else {
            level
                .checked_sub(2)
                .map(|level| Artifact::frontier(level, shard))
        }
    }

    /// The Expand tasks that read an artifact.
    pub fn dependents(&self, artifact: Artifact) -> impl Iterator<Item = (Level, u32)> + '_ {
        let Artifact { level, shard, kind } = artifact;
        let readers: &[u32] = match kind {
            ArtifactKind::Frontier => &self.readers[shard as usize],
            ArtifactKind::Visited | ArtifactKind::Distances => &[],
        };
        let own = match (kind, self.directed) {
            (ArtifactKind::Visited, _) => Some(level + 1),
            (ArtifactKind::Frontier, false) => Some(level + 2),
            (ArtifactKind::Frontier, true) | (ArtifactKind::Distances, _) => None,
        };
        let own = own.filter(|_| !self.items);
        readers
            .iter()
            .map(move |&s| (level + 1, s))
            .chain(own.map(|level| (level, shard)))
    }

    /// The artifacts that Expand(level, shard) makes.
    pub fn outputs(&self, level: Level, shard: u32) -> impl Iterator<Item = Artifact> {
        let visited = self.directed.then(|| Artifact::visited(level, shard));
        let made = self.rows.then(|| Artifact::frontier(level, shard));
        made.into_iter().chain(visited)
    }

    /// What a checkpoint at `level` consists of, for one shard, without level 0.
    pub fn checkpoint(&self, level: Level, shard: u32) -> impl Iterator<Item = Artifact> {
        let other = if self.directed {
            Some(Artifact::visited(level, shard))
        } else {
            level
                .checked_sub(1)
                .map(|level| Artifact::frontier(level, shard))
        };
        std::iter::once(Artifact::frontier(level, shard))
            .chain(other)
            .filter(|a| a.level > 0 && self.rows)
    }

    /// Does a checkpoint at `level` contain it?
    pub fn in_checkpoint(&self, level: Level, artifact: Artifact) -> bool {
        self.checkpoint(level, artifact.shard)
            .any(|a| a == artifact)
    }
}
