//! Is a permutation in the group of the moves, and if not, which invariant says so?

use crate::group::chain::{Chain, ChainTooLarge};
use crate::group::orbits;
use crate::perm::Perm;
use std::fmt;

/// Why no word of the moves makes a permutation. The first one that holds is given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unreachable {
    /// All moves are even, the permutation is odd.
    Parity,
    /// The moves permute these sets of positions (0-based, all equally large) among themselves, the permutation does not.
    Blocks(Vec<Vec<u16>>),
    /// Neither of these: sifting through the stabiliser chain leaves a rest.
    NotInGroup,
}

impl Unreachable {
    /// `parity`, `blocks` or `not in the group`.
    pub fn name(&self) -> &'static str {
        match self {
            Unreachable::Parity => "parity",
            Unreachable::Blocks(_) => "blocks",
            Unreachable::NotInGroup => "not in the group",
        }
    }
}

/// A sentence, positions counted from 1.
impl fmt::Display for Unreachable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unreachable::Parity => f.write_str("an odd permutation, and all moves are even"),
            Unreachable::Blocks(blocks) => {
                let set = |b: &Vec<u16>| {
                    let positions: Vec<String> = b.iter().map(|i| (i + 1).to_string()).collect();
                    format!("{{{}}}", positions.join(","))
                };
                let sets: Vec<String> = blocks.iter().map(set).collect();
                write!(
                    f,
                    "it tears up the blocks {}, which all moves keep together",
                    sets.join(" ")
                )
            }
            Unreachable::NotInGroup => {
                f.write_str("sifting through the stabiliser chain leaves a rest")
            }
        }
    }
}

/// Decides membership for one list of moves.
#[derive(Debug, Clone)]
pub struct Reach {
    chain: Chain,
    all_even: bool,
    /// Minimal systems of blocks, each with as many sets as there are.
    systems: Vec<Vec<Vec<u16>>>,
}

impl Reach {
    /// Makes a verified stabiliser chain of the group of `moves` on `degree` points.
    ///
    /// # Errors
    /// Where the chain would be too large; not below some 100 points.
    pub fn new(degree: usize, moves: &[Perm]) -> Result<Reach, ChainTooLarge> {
        let base: Vec<u16> = (0..degree as u16).collect();
        let mut systems: Vec<Vec<Vec<u16>>> = Vec::new();
        if orbits(degree, moves).len() == 1 {
            for with in 1..degree {
                let blocks = blocks_with(degree, moves, with);
                if blocks.len() > 1 && !systems.contains(&blocks) {
                    systems.push(blocks);
                }
            }
        }
        Ok(Reach {
            chain: Chain::build(degree, moves, &base, None)?,
            all_even: moves.iter().all(Perm::is_even),
            systems,
        })
    }

    /// The verified chain.
    pub fn chain(&self) -> &Chain {
        &self.chain
    }

    /// Nothing where `s` is in the group, otherwise why not. Sifting decides; parity and blocks only explain.
    pub fn why_not(&self, s: &Perm) -> Option<Unreachable> {
        if self.chain.contains(s) {
            return None;
        }
        if self.all_even && !s.is_even() {
            return Some(Unreachable::Parity);
        }
        let torn = self.systems.iter().find(|blocks| !keeps(s, blocks));
        Some(match torn {
            Some(blocks) => Unreachable::Blocks(blocks.clone()),
            None => Unreachable::NotInGroup,
        })
    }
}

/// Does `s` permute the blocks among themselves?
fn keeps(s: &Perm, blocks: &[Vec<u16>]) -> bool {
    let mut owner = vec![0usize; s.len()];
    for (k, block) in blocks.iter().enumerate() {
        for &i in block {
            owner[usize::from(i)] = k;
        }
    }
    blocks.iter().all(|block| {
        let to = |i: u16| owner[s.at(usize::from(i))];
        block.iter().all(|&i| to(i) == to(block[0]))
    })
}

/// The finest blocks of a transitive group where 0 and `with` lie in one block (Atkinson, An algorithm for finding the
/// blocks of a permutation group, 1975): what has been joined is joined at its images until nothing changes.
fn blocks_with(degree: usize, moves: &[Perm], with: usize) -> Vec<Vec<u16>> {
    fn find(leader: &mut [usize], mut i: usize) -> usize {
        while leader[i] != i {
            leader[i] = leader[leader[i]];
            i = leader[i];
        }
        i
    }
    let mut leader: Vec<usize> = (0..degree).collect();
    leader[with] = 0;
    let mut open = vec![(0, with)];
    while let Some((a, b)) = open.pop() {
        for p in moves {
            let (x, y) = (p.at(a), p.at(b));
            let (i, j) = (find(&mut leader, x), find(&mut leader, y));
            if i != j {
                leader[i.max(j)] = i.min(j);
                open.push((x, y));
            }
        }
    }
    let mut blocks: Vec<Vec<u16>> = vec![Vec::new(); degree];
    for i in 0..degree {
        let l = find(&mut leader, i);
        blocks[l].push(i as u16);
    }
    blocks.retain(|b| !b.is_empty());
    blocks
}

#[cfg(test)]
mod tests {
    use super::super::rows::landmarks;
    use super::*;
    use crate::puzzle::{PuzzleOptions, resolve};
    use num_bigint::BigUint;

    fn reach(spec: &str) -> Reach {
        let puzzle = resolve(spec, &PuzzleOptions::default()).unwrap();
        let moves: Vec<Perm> = puzzle.generators().iter().map(|g| g.perm.clone()).collect();
        Reach::new(puzzle.degree(), &moves).unwrap()
    }

    fn unreachable(spec: &str, n: usize) -> Vec<(u8, &'static str)> {
        let reach = reach(spec);
        landmarks(n)
            .unwrap()
            .iter()
            .filter_map(|l| Some((l.id, reach.why_not(&l.state)?.name())))
            .collect()
    }

    #[test]
    fn odd_rows_of_even_groups() {
        let tables: [(usize, &[u8]); 5] = [
            (7, &[1, 2, 5, 6, 7, 9, 11, 13, 14, 15, 16, 17, 20, 24, 25]),
            (9, &[6, 9, 15, 16, 17, 20, 25]),
            (11, &[1, 2, 3, 5, 6, 7, 9, 11, 12, 14, 15, 16, 19, 20, 23]),
            (13, &[3, 6, 9, 12, 13, 15, 16, 19, 23, 24]),
            (15, &[1, 2, 5, 6, 7, 9, 11, 13, 14, 15, 16, 17, 25]),
        ];
        for (n, ids) in tables {
            let expect: Vec<(u8, &str)> = ids.iter().map(|&id| (id, "parity")).collect();
            assert_eq!(unreachable(&format!("topspin:{n},4"), n), expect);
            assert_eq!(unreachable(&format!("topspin:{n},5"), n), expect);
        }
        for n in [6, 8, 10, 12, 14] {
            assert_eq!(unreachable(&format!("topspin:{n},4"), n), []);
        }
        assert_eq!(unreachable("lrx:9", 9), []);
    }

    #[test]
    fn blocks_are_named_and_small_groups_sift() {
        for (spec, n, order) in [
            ("topspin:6,3", 6, 72u32),
            ("topspin:8,3", 8, 1152),
            ("topspin:8,5", 8, 576),
        ] {
            let reach = reach(spec);
            assert_eq!(reach.chain().order(), BigUint::from(order));
            let mut by_blocks = 0;
            for l in landmarks(n).unwrap() {
                match reach.why_not(&l.state) {
                    Some(Unreachable::Blocks(blocks)) => {
                        by_blocks += 1;
                        assert_eq!(blocks.len() * blocks[0].len(), n);
                        assert!(!keeps(&l.state, &blocks));
                    }
                    Some(Unreachable::NotInGroup) => {
                        assert!(reach.systems.iter().all(|b| keeps(&l.state, b)));
                    }
                    _ => {}
                }
            }
            assert!(by_blocks > 0, "{spec}");
        }
        // The dihedral group of 7 points has no blocks: what it lacks it simply lacks.
        let dihedral = reach("topspin:7,7");
        assert_eq!(dihedral.chain().order(), BigUint::from(14u32));
        let swap = Perm::from_cycles(7, &[vec![0, 1, 2]]).unwrap();
        assert_eq!(dihedral.why_not(&swap), Some(Unreachable::NotInGroup));
    }
}
