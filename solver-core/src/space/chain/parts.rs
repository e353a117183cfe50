//! One part for each orbit of roots: labellings stand for group elements, part by part.

use super::{ChainIndex, ChainPart};
use crate::group::chain::Chain;
use crate::perm::Perm;
use crate::puzzle::State;
use crate::space::Index;
use crate::terms::ShardId;
use std::collections::HashMap;
use std::sync::OnceLock;

/// The chain index of all parts, by shard number of the whole space.
pub(crate) struct ChainParts {
    pub index: ChainIndex,
    /// Shards of one part.
    pub shards: u32,
    /// By part, made when first asked for.
    lookups: Vec<OnceLock<Lookup>>,
}

/// What leads from the labellings of a part to group elements.
enum Lookup {
    /// Where each label is, where no label occurs twice.
    Distinct(Vec<Option<u16>>),
    /// For every point digit the positions that no later element moves, and what the elements of the last
    /// stabiliser make of the labels.
    Repeated {
        fixed: Vec<Vec<u16>>,
        ends: HashMap<Vec<u16>, Vec<Perm>>,
    },
}

impl ChainParts {
    /// `shards`: those of one part.
    pub fn new(index: ChainIndex, shards: u32) -> ChainParts {
        let lookups = index.def.parts.iter().map(|_| OnceLock::new()).collect();
        ChainParts {
            index,
            shards,
            lookups,
        }
    }

    /// Group elements `g` with `labels * g = state`, for the labels of a part.
    fn elements_of_state(&self, part: usize, state: &[u16]) -> Vec<Perm> {
        let labels = self.index.def.parts[part].labels.as_slice();
        if labels.len() != state.len() {
            return Vec::new();
        }
        match self.lookups[part].get_or_init(|| self.lookup(labels)) {
            Lookup::Distinct(places) => {
                let images: Option<Vec<u16>> = state
                    .iter()
                    .map(|&l| places.get(usize::from(l)).copied().flatten())
                    .collect();
                let element = images.and_then(|images| Perm::from_images(&images).ok());
                element.into_iter().collect()
            }
            Lookup::Repeated { fixed, ends } => self.divide_out(labels, fixed, ends, state),
        }
    }

    fn lookup(&self, labels: &[u16]) -> Lookup {
        if let Some(places) = distinct(labels) {
            return Lookup::Distinct(places);
        }
        let def = &self.index.def;
        let tail = || def.cosets.iter().chain(&def.words).chain(&def.leaf);
        let fixed = (0..def.points.len())
            .map(|i| {
                let deeper = || {
                    let points = def.points[i + 1..].iter();
                    points.flat_map(|d| &d.transversal).chain(tail())
                };
                (0..def.degree as u16)
                    .filter(|&x| deeper().all(|g| g.at(usize::from(x)) == usize::from(x)))
                    .collect()
            })
            .collect();
        let mut ends: HashMap<Vec<u16>, Vec<Perm>> = HashMap::new();
        for c in &def.cosets {
            for r in &def.words {
                let rc = r.then(c);
                for l in &def.leaf {
                    let h = l.then(&rc);
                    ends.entry(h.apply(labels)).or_default().push(h);
                }
            }
        }
        Lookup::Repeated { fixed, ends }
    }

    /// Divides out transversal elements for every digit value that the labels allow; labels that
    /// repeat leave a choice, which the next digits and the end of the chain settle.
    fn divide_out(
        &self,
        labels: &[u16],
        fixed: &[Vec<u16>],
        ends: &HashMap<Vec<u16>, Vec<Perm>>,
        state: &[u16],
    ) -> Vec<Perm> {
        let def = &self.index.def;
        let mut open: Vec<(Vec<u16>, Perm)> = vec![(state.to_vec(), Perm::identity(def.degree))];
        for (i, (digit, fixed)) in def.points.iter().zip(fixed).enumerate() {
            let mut next = Vec::new();
            for (state, made) in &open {
                for (k, &x) in digit.orbit.iter().enumerate() {
                    if state[usize::from(x)] == labels[usize::from(digit.base)] {
                        let rest = self.index.inverses[i][k].apply(state);
                        if fixed
                            .iter()
                            .all(|&b| rest[usize::from(b)] == labels[usize::from(b)])
                        {
                            next.push((rest, digit.transversal[k].then(made)));
                        }
                    }
                }
            }
            open = next;
        }
        open.iter()
            .flat_map(|(rest, made)| {
                let ends = ends.get(rest).map_or(&[][..], Vec::as_slice);
                ends.iter().map(move |h| h.then(made))
            })
            .collect()
    }
}

/// Where each label is, if no label occurs twice.
fn distinct(labels: &[u16]) -> Option<Vec<Option<u16>>> {
    let mut places = vec![None; labels.iter().max().map_or(0, |&m| usize::from(m) + 1)];
    for (i, &label) in labels.iter().enumerate() {
        if places[usize::from(label)].replace(i as u16).is_some() {
            return None;
        }
    }
    Some(places)
}

impl Index for ChainParts {
    fn unrank(&self, shard: ShardId, position: u32) -> Option<Vec<u16>> {
        self.index
            .unrank(shard.0 % self.shards, position)
            .map(Vec::from)
    }

    fn rank(&self, near: ShardId, element: &[u16]) -> Option<(ShardId, u32)> {
        let (shard, position) = self.index.rank(element)?;
        Some((
            ShardId(near.0 / self.shards * self.shards + shard),
            position,
        ))
    }

    fn state(&self, shard: ShardId, element: &[u16]) -> State {
        let labels = &self.index.def.parts[(shard.0 / self.shards) as usize].labels;
        element.iter().map(|&i| labels[usize::from(i)]).collect()
    }

    fn places_of(&self, state: &State) -> Vec<(ShardId, u32)> {
        let mut out = Vec::new();
        for k in 0..self.lookups.len() {
            for g in self.elements_of_state(k, state) {
                if let Some((shard, position)) = self.index.rank(g.images()) {
                    out.push((ShardId(k as u32 * self.shards + shard), position));
                }
            }
        }
        out
    }

    fn mirror(&self, shard: ShardId, position: u32) -> Option<(ShardId, u32)> {
        let part = self.index.def.parts.get((shard.0 / self.shards) as usize)?;
        if !matches!(part.roots.as_slice(), [root] if root.is_identity()) {
            return None;
        }
        let element = self.index.unrank(shard.0 % self.shards, position)?;
        let (to, at) = self.index.rank(element.inverse().images())?;
        Some((ShardId(shard.0 / self.shards * self.shards + to), at))
    }
}

/// Groups roots by orbit; each part keeps the group elements of its roots. Only for roots on
/// which the group acts regularly.
pub(crate) fn parts_of(degree: usize, chain: &Chain, roots: &[State]) -> Vec<ChainPart> {
    let mut parts: Vec<ChainPart> = Vec::new();
    'root: for root in roots {
        for part in &mut parts {
            // The action is regular, so there is one element at most and few partial ones.
            let found = chain
                .elements_between(&part.labels, root, usize::MAX)
                .unwrap_or_default();
            if let Some(g) = found.into_iter().next() {
                if !part.roots.contains(&g) {
                    part.roots.push(g);
                }
                continue 'root;
            }
        }
        parts.push(ChainPart {
            labels: root.to_vec(),
            roots: vec![Perm::identity(degree)],
        });
    }
    parts
}
