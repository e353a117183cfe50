//! Exact distances of states at the ends of given walks, without searching: a walk begins at a root, and from one state
//! to the next the distance changes by at most one, so its residue modulo 3 says how.

use super::query::Residues;
use crate::space::Space;
use crate::terms::{Level, ShardId};

/// The distance to the nearest root at the end of every walk (generator numbers, from the first root). One
/// look-up a move; all of `words` are asked for in one call.
pub(crate) fn distances(
    space: &dyn Space,
    source: &dyn Residues,
    words: &[&[u16]],
) -> Result<Vec<Level>, String> {
    if space.is_directed() {
        return Err("the generators are not closed under inverse: distances modulo 3 do not add up along a walk".into());
    }
    if space.geometry(ShardId(0)).blocks == 0 {
        return Err("the states have no index (sparse kind)".into());
    }
    let root = space.root_places().first().copied();
    let root = root.ok_or("the space has no root")?;
    let mut places = Vec::with_capacity(words.iter().map(|w| w.len()).sum());
    for word in words {
        let mut at = root;
        for &a in *word {
            if usize::from(a) >= space.moves() {
                return Err(format!("there is no generator {a}"));
            }
            at = space.step(at.0, at.1, usize::from(a), false);
            places.push(at);
        }
    }
    let mut residues = Vec::with_capacity(places.len());
    source.residues(&places, &mut residues)?;
    if residues.len() != places.len() {
        return Err("the source of distances answered with another number of distances".into());
    }
    let mut rest = residues.as_slice();
    let mut out = Vec::with_capacity(words.len());
    for word in words {
        let (own, after) = rest.split_at(word.len());
        rest = after;
        let mut distance: Level = 0;
        for &residue in own {
            distance = match (residue + 3 - (distance % 3) as u8) % 3 {
                0 => distance,
                1 => distance + 1,
                _ => distance
                    .checked_sub(1)
                    .ok_or("a distance below 0: the distances are not those of this space")?,
            };
        }
        out.push(distance);
    }
    Ok(out)
}
