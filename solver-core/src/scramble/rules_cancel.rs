//! The rule against moves that cancel. The family of a move `a` are the moves that are powers of `a` or of which `a` is a
//! power; its tail is the longest end of the walk all of whose moves commute with `a`. Let the tail hold `c` moves of
//! the family, with product `q`: `a` may follow if the shortest word for `q * a` in the family's own moves has
//! `c + 1` letters.
//!
//! What matters of a walk is `q` for every move `a`: while the family's moves were chosen well, `c` is the length of `q`;
//! once they say less than they cost, `a` stays refused until a move that does not commute with it.

use crate::perm::Perm;
use std::collections::HashMap;

/// A move that stays refused until its tail begins anew.
const REFUSED: u32 = u32::MAX;
/// Powers of a move that are looked at to find its family, and products of a family, at most.
const PRODUCTS_MAX: usize = 1 << 16;

/// With more moves every situation has a product for each, and there are more situations than can be listed.
const MOVES_MAX: usize = 128;

/// Tails, products and lengths for every move.
pub(super) struct Cancel {
    families: Vec<Family>,
    /// `commute[a][b]`.
    commute: Vec<Vec<bool>>,
}

/// The products of a family's moves up to a length.
struct Family {
    /// Number of the move within the family, where it belongs to it.
    place: Vec<Option<usize>>,
    /// `next[q][place]`: the product times that move, if it is longer by one; else [`REFUSED`].
    next: Vec<Vec<u32>>,
}

impl Cancel {
    /// The rule for walks of up to `max_depth` moves. The error says which move has too many powers.
    pub(super) fn new(moves: &[Perm], max_depth: u32) -> Result<Cancel, String> {
        if moves.len() > MOVES_MAX {
            return Err(format!(
                "--no-cancel compares every move with every other, and there are {}, more than {MOVES_MAX}; leave the option out, or choose fewer moves (--moves)",
                moves.len()
            ));
        }
        let powers = moves
            .iter()
            .enumerate()
            .map(|(a, p)| powers_among(moves, a, p))
            .collect::<Result<Vec<_>, _>>()?;
        let families = (0..moves.len())
            .map(|a| {
                let members: Vec<usize> = (0..moves.len())
                    .filter(|&b| powers[a][b] || powers[b][a])
                    .collect();
                Family::new(moves, &members, max_depth)
            })
            .collect::<Result<Vec<_>, _>>()?;
        let commute = moves
            .iter()
            .map(|p| moves.iter().map(|q| p.then(q) == q.then(p)).collect())
            .collect();
        Ok(Cancel { families, commute })
    }

    /// Before the first move: every product is empty.
    pub(super) fn empty(&self) -> Box<[u32]> {
        vec![0; self.families.len()].into()
    }

    /// The products after `chosen`; `None` where it is refused.
    pub(super) fn follow(&self, products: &[u32], chosen: usize) -> Option<Box<[u32]>> {
        let step = |a: usize| -> u32 {
            let (family, q) = (&self.families[a], products[a]);
            match family.place[chosen] {
                _ if !self.commute[a][chosen] => 0,
                Some(place) if q != REFUSED => family.next[q as usize][place],
                _ => q,
            }
        };
        if step(chosen) == REFUSED {
            return None;
        }
        Some((0..products.len()).map(step).collect())
    }
}

/// Which moves are powers of move `a`.
fn powers_among(moves: &[Perm], a: usize, p: &Perm) -> Result<Vec<bool>, String> {
    let mut out = vec![false; moves.len()];
    let mut by_perm: HashMap<&Perm, Vec<usize>> = HashMap::new();
    for (b, q) in moves.iter().enumerate() {
        by_perm.entry(q).or_default().push(b);
    }
    let mut power = p.clone();
    for _ in 0..PRODUCTS_MAX {
        for &b in by_perm.get(&power).into_iter().flatten() {
            out[b] = true;
        }
        if power.is_identity() {
            return Ok(out);
        }
        power = power.then(p);
    }
    Err(format!(
        "--no-cancel needs the powers of every move, and move {a} (counted from 0) has more than {PRODUCTS_MAX}; leave the option out"
    ))
}

impl Family {
    fn new(moves: &[Perm], members: &[usize], max_depth: u32) -> Result<Family, String> {
        let mut place = vec![None; moves.len()];
        for (k, &b) in members.iter().enumerate() {
            place[b] = Some(k);
        }
        let start = Perm::identity(moves.first().map_or(0, Perm::len));
        let mut number = HashMap::from([(start.clone(), 0usize)]);
        let (mut products, mut lengths) = (vec![start], vec![0u32]);
        let mut next: Vec<Vec<u32>> = Vec::new();
        while next.len() < products.len() {
            let (from, length) = (next.len(), lengths[next.len()]);
            let mut row = vec![REFUSED; members.len()];
            if length < max_depth {
                for (k, &b) in members.iter().enumerate() {
                    let product = products[from].then(&moves[b]);
                    let to = *number.entry(product.clone()).or_insert_with(|| {
                        products.push(product);
                        lengths.push(length + 1);
                        products.len() - 1
                    });
                    if lengths[to] == length + 1 {
                        row[k] = to as u32;
                    }
                }
            }
            next.push(row);
            if products.len() > PRODUCTS_MAX {
                return Err(format!(
                    "--no-cancel needs the products of moves that are powers of each other, and there are more than \
                     {PRODUCTS_MAX}; leave the option out"
                ));
            }
        }
        Ok(Family { place, next })
    }
}
