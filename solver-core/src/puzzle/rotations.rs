//! Does a puzzle count whole-puzzle rotations as states?

use super::checked::Generator;
use crate::group::chain::Chain;
use crate::perm::Perm;
use std::collections::HashSet;

/// Up to this many positions the exact answer is computed from the group; above, only rotations
/// that are products of turns of disjoint layers are found (all layers of the default big cubes).
const EXACT_DEGREE_MAX: usize = 100;
/// No solid has more rotations than the icosahedron.
const ROTATIONS_MAX: usize = 60;

/// A warning where rotations of the whole puzzle (`rotations` generate them) are products of the
/// generators, so that every position is counted in several orientations.
pub(crate) fn warning(generators: &[Generator], rotations: &[Perm]) -> Option<String> {
    let first = rotations.first()?;
    let perms: Vec<Perm> = generators.iter().map(|g| g.perm.clone()).collect();
    let all = closure(first.len(), rotations);
    let mut reached = closure(
        first.len(),
        &all.iter()
            .filter(|r| is_product_of_layers(r, &perms))
            .cloned()
            .collect::<Vec<_>>(),
    );
    if reached.len() < all.len() && first.len() <= EXACT_DEGREE_MAX {
        let base: Vec<u16> = (0..first.len() as u16).collect();
        if let Ok(chain) = Chain::build(first.len(), &perms, &base, None) {
            reached = all.iter().filter(|r| chain.contains(r)).cloned().collect();
        }
    }
    (reached.len() > 1).then(|| {
        format!(
            "whole-puzzle rotations are counted as states: the moves reach {} of them, so each position counts \
             {} times",
            reached.len(),
            reached.len()
        )
    })
}

/// All products, the identity included; cut where there are too many for a solid.
fn closure(degree: usize, generators: &[Perm]) -> Vec<Perm> {
    let mut seen = HashSet::from([Perm::identity(degree)]);
    let mut out = vec![Perm::identity(degree)];
    let mut at = 0;
    while at < out.len() && out.len() < ROTATIONS_MAX {
        for g in generators {
            let next = out[at].then(g);
            if seen.insert(next.clone()) {
                out.push(next);
            }
        }
        at += 1;
    }
    out
}

/// Is `rotation` put together from generators that agree with it wherever they move anything?
fn is_product_of_layers(rotation: &Perm, generators: &[Perm]) -> bool {
    let mut missing: Vec<bool> = rotation
        .images()
        .iter()
        .enumerate()
        .map(|(i, &j)| i != usize::from(j))
        .collect();
    for g in generators {
        let moved = || {
            g.images()
                .iter()
                .enumerate()
                .filter(|&(i, &j)| i != usize::from(j))
        };
        if moved().all(|(i, &j)| missing[i] && rotation.images()[i] == j) {
            moved().for_each(|(i, _)| missing[i] = false);
        }
    }
    !missing.contains(&true)
}
