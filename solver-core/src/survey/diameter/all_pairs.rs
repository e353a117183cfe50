//! All pairs by force: the sources cut into items, one item's counts, and the answer of all items.

use super::answer::{Answer, Method, Pairs};
use super::error::SurveyError;
use super::far;
use super::graph::Graph;
use super::search::{distances, farthest};
use super::summary::Summary;
use super::sweep::{Row, SOURCES, Sweep, WORDS};
use super::symmetry::Symmetry;

/// More items than this are not made; larger graphs get longer ones.
const ITEMS_MAX: usize = 2000;

/// The sources of a graph in items. Each item is a pure function of the graph and its number.
#[derive(Debug)]
pub struct AllPairs {
    graph: Graph,
    symmetry: Symmetry,
    /// One source for each class of states that automorphisms carry into each other, classes of one size together.
    sources: Vec<u32>,
    items: Vec<Item>,
    /// A lower bound of the diameter.
    floor: u32,
}

/// Some consecutive sources, each of which stands for `size` states.
#[derive(Debug, Clone, Copy)]
struct Item {
    first: usize,
    end: usize,
    size: u32,
}

impl AllPairs {
    /// Cuts the sources of `graph` into items. States that `symmetry` carries into each other have equal counts: one of
    /// them is searched from.
    pub fn new(graph: Graph, symmetry: Symmetry) -> AllPairs {
        let (sources, sizes) = symmetry.sources(graph.states());
        let batches = sources.len().div_ceil(SOURCES);
        let length = batches.div_ceil(ITEMS_MAX).max(1) * SOURCES;
        let mut items = Vec::new();
        for class in sizes {
            let mut first = class.first;
            while first < class.end {
                let end = class.end.min(first + length);
                items.push(Item {
                    first,
                    end,
                    size: class.size,
                });
                first = end;
            }
        }
        let floor = floor(&graph);
        AllPairs {
            graph,
            symmetry,
            sources,
            items,
            floor,
        }
    }

    /// The graph.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// The automorphisms that the sources are reduced by.
    pub fn symmetry(&self) -> &Symmetry {
        &self.symmetry
    }

    /// Number of items.
    pub fn items(&self) -> u32 {
        self.items.len() as u32
    }

    /// Number of states whose eccentricities item `item` finds; over all items the number of states.
    pub fn states_of(&self, item: u32) -> u64 {
        let item = self.items[item as usize];
        (item.end - item.first) as u64 * u64::from(item.size)
    }

    /// Number of searches of item `item`: its sources.
    pub fn sources_of(&self, item: u32) -> u64 {
        let item = self.items[item as usize];
        (item.end - item.first) as u64
    }

    /// Bytes that [`AllPairs::run`] takes beside the graph.
    pub fn item_bytes(&self) -> u64 {
        u64::from(self.graph.states()) * super::sweep::BYTES_PER_STATE
    }

    /// The counts of item `item`, with the smallest `max_far` sources of greatest eccentricity.
    /// `stop` is asked between levels.
    ///
    /// # Errors
    /// [`SurveyError::Stopped`].
    pub fn run(
        &self,
        item: u32,
        max_far: usize,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Summary, SurveyError> {
        let Item { first, end, size } = self.items[item as usize];
        let mut sweep = Sweep::new(self.graph.states());
        let mut sum = Summary::default();
        for sources in self.sources[first..end].chunks(SOURCES) {
            let floor = self.floor.max(sum.greatest);
            let batch = self.batch(&mut sweep, sources, size, floor, max_far, stop)?;
            sum.merge(&batch, max_far);
        }
        Ok(sum)
    }

    fn batch(
        &self,
        sweep: &mut Sweep,
        sources: &[u32],
        size: u32,
        floor: u32,
        max_far: usize,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Summary, SurveyError> {
        let graph = &self.graph;
        let size = u64::from(size);
        let wanted: u64 = sources.iter().map(|&s| u64::from(graph.reachable(s))).sum();
        let complete = complete(sources.len());
        let (edges, moves) = (graph.edges(true), graph.moves());
        sweep.start(sources);
        let mut eccentricity = vec![0u32; sources.len()];
        let mut pairs = vec![sources.len() as u64];
        let mut found = pairs[0];
        while found < wanted {
            if stop() {
                return Err(SurveyError::Stopped);
            }
            let level = sweep.step(edges, moves, &complete);
            if level.pairs == 0 {
                return Err(SurveyError::Violated(format!(
                    "a search reached {found} pairs of {wanted}"
                )));
            }
            let distance = pairs.len() as u32;
            for (s, e) in eccentricity.iter_mut().enumerate() {
                if level.sources[s / 64] >> (s % 64) & 1 == 1 {
                    *e = distance;
                }
            }
            found += level.pairs;
            pairs.push(level.pairs);
        }
        let greatest = pairs.len() as u32 - 1;
        let mut out = Summary {
            greatest,
            ordered: pairs[greatest as usize] * size,
            distances: pairs.iter().map(|p| p * size).collect(),
            eccentricities: vec![0; pairs.len()],
            ..Summary::default()
        };
        for (&s, &e) in sources.iter().zip(&eccentricity) {
            out.eccentricities[e as usize] += size;
            if e == greatest && out.far.len() < max_far {
                out.far.push(s);
            }
        }
        out.mutual = match graph.is_directed() {
            false => out.ordered,
            true if greatest < floor => 0,
            true => size * self.mutual(sweep, sources, greatest, &complete, stop)?,
        };
        Ok(out)
    }

    /// Pairs of the last level of `sweep` whose way back is `greatest` too.
    fn mutual(
        &self,
        sweep: &mut Sweep,
        sources: &[u32],
        greatest: u32,
        complete: &Row,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<u64, SurveyError> {
        let last: Vec<(u32, Row)> = (0..self.graph.states())
            .map(|v| (v, sweep.news(v)))
            .filter(|(_, row)| *row != [0; WORDS])
            .collect();
        let (edges, moves) = (self.graph.edges(false), self.graph.moves());
        sweep.start(sources);
        for _ in 0..greatest {
            if stop() {
                return Err(SurveyError::Stopped);
            }
            if sweep.step(edges, moves, complete).pairs == 0 {
                return Ok(0);
            }
        }
        let both = |&(v, there): &(u32, Row)| -> u64 {
            let back = sweep.news(v);
            (0..WORDS)
                .map(|w| u64::from((there[w] & back[w]).count_ones()))
                .sum()
        };
        // At distance 0 nothing was new: the one pair is u = v.
        Ok(if greatest == 0 {
            sources.len() as u64
        } else {
            last.iter().map(both).sum()
        })
    }

    /// The answer from the sum of all items, with the lexicographically smallest `max_pairs` pairs. `reason` says why
    /// this road was taken.
    ///
    /// # Errors
    /// [`SurveyError::Violated`] where the counts do not add up to all pairs.
    pub fn finish(
        &self,
        sum: &Summary,
        max_pairs: usize,
        transitive: bool,
        reason: String,
    ) -> Result<Answer, SurveyError> {
        let graph = &self.graph;
        let squares = |n: &u32| u128::from(*n) * u128::from(*n);
        let all: u128 = graph.component_states().iter().map(squares).sum();
        let counted: u128 = sum.distances.iter().map(|&d| u128::from(d)).sum();
        if counted != all || sum.sources() != u64::from(graph.states()) {
            return Err(SurveyError::Violated(format!(
                "{counted} pairs from {} sources were counted, {all} from {} there are",
                sum.sources(),
                graph.states()
            )));
        }
        let radius = sum.eccentricities.iter().position(|&n| n > 0).unwrap_or(0);
        let sources = self.symmetry.members(&sum.far, max_pairs);
        // Where every distance is 0, each pair is its own way back.
        let unordered = if sum.greatest == 0 {
            sum.ordered
        } else {
            sum.ordered - sum.mutual / 2
        };
        let wide = |list: &[u64]| list.iter().map(|&n| u128::from(n)).collect();
        Ok(Answer {
            method: Method::AllPairs,
            transitive,
            reason,
            states: u128::from(graph.states()),
            components: graph.component_states().len(),
            diameter: Some(sum.greatest),
            radius: Some(radius as u32),
            eccentricities: Some(wide(&sum.eccentricities)),
            distances: Some(wide(&sum.distances)),
            pairs: Some(Pairs {
                ordered: sum.ordered.into(),
                unordered: Some(unordered.into()),
                list: far::pairs(graph, &sources, sum.greatest, max_pairs),
                missing: None,
            }),
        })
    }
}

/// The bits of `sources` sources.
pub(crate) fn complete(sources: usize) -> Row {
    std::array::from_fn(|w| match sources.saturating_sub(64 * w) {
        0 => 0,
        n if n >= 64 => u64::MAX,
        n => (1 << n) - 1,
    })
}

/// A lower bound of the diameter: eccentricities of the first root and of what is farthest from it, and so on.
/// It saves directed lists the way back of batches that do not matter.
fn floor(graph: &Graph) -> u32 {
    let (mut at, mut best) = (graph.roots()[0], 0);
    for turn in 0..4 {
        let (next, distance) = farthest(&distances(graph, at, turn % 2 == 1));
        best = best.max(distance);
        at = next;
    }
    best
}
