//! One part for each orbit of roots: labellings stand for group elements, part by part.

use super::{ChainIndex, ChainPart};
use crate::group::chain::Chain;
use crate::perm::Perm;
use crate::puzzle::State;
use crate::space::Index;
use crate::terms::ShardId;

/// The chain index of all parts, by shard number of the whole space.
pub(crate) struct ChainParts {
    pub index: ChainIndex,
    /// Shards of one part.
    pub shards: u32,
}

impl ChainParts {
    /// Group elements `g` with `labels * g = state`.
    fn elements_of_state(&self, labels: &[u16], state: &[u16]) -> Vec<Perm> {
        if labels.len() != state.len() {
            return Vec::new();
        }
        if let Some(places) = distinct(labels) {
            let images: Option<Vec<u16>> = state
                .iter()
                .map(|&l| places.get(usize::from(l)).copied().flatten())
                .collect();
            return images
                .and_then(|images| Perm::from_images(&images).ok())
                .into_iter()
                .collect();
        }
        // Divide out transversal elements for every digit value that the labels allow; labels that
        // repeat leave a choice, which the next digits and the final comparison settle.
        let def = &self.index.def;
        let mut open: Vec<(Vec<u16>, Perm)> = vec![(state.to_vec(), Perm::identity(def.degree))];
        let tail: Vec<&Perm> = def
            .cosets
            .iter()
            .chain(&def.words)
            .chain(&def.leaf)
            .collect();
        for (i, digit) in def.points.iter().enumerate() {
            let deeper = || {
                def.points[i + 1..]
                    .iter()
                    .flat_map(|d| &d.transversal)
                    .chain(tail.iter().copied())
            };
            let fixed: Vec<u16> = (0..def.degree as u16)
                .filter(|&x| deeper().all(|g| g.at(usize::from(x)) == usize::from(x)))
                .collect();
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
        let mut out = Vec::new();
        for c in &def.cosets {
            for r in &def.words {
                let rc = r.then(c);
                for l in &def.leaf {
                    let h = l.then(&rc);
                    let image = h.apply(labels);
                    out.extend(
                        open.iter()
                            .filter(|(rest, _)| *rest == image)
                            .map(|(_, made)| h.then(made)),
                    );
                }
            }
        }
        out
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
        let element = Perm::from_images(element).ok()?;
        let (shard, position) = self.index.rank(&element)?;
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
        for (k, part) in self.index.def.parts.iter().enumerate() {
            for g in self.elements_of_state(&part.labels, state) {
                if let Some((shard, position)) = self.index.rank(&g) {
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
        let (to, at) = self.index.rank(&element.inverse())?;
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
