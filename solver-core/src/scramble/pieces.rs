//! Pieces: positions that always travel together. On the cube:N a piece is a cubie; elsewhere two positions belong
//! to one piece when the same elements of the group fix them.

use super::spec::ScrambleError;
use crate::perm::Perm;
use crate::puzzle::{self, Puzzle};

/// Entries of the maps between pieces that are kept, at most.
const ENTRIES_MAX: usize = 1 << 24;

/// Positions sorted into classes of equal point stabilisers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Classes {
    /// Each ascending, in order of their smallest position.
    pub classes: Vec<Vec<u16>>,
    /// Position to class.
    pub of: Vec<u32>,
    /// One position of every class; those of classes that moves take to each other are in one orbit.
    pub leaders: Vec<u16>,
    /// For every position `v` in the orbit of a leader: the class of `v`, in the order in which moves take classes to
    /// each other, `v` first. Empty for others.
    tuples: Vec<Vec<u16>>,
}

impl Classes {
    /// The classes of the group of `moves`. Two points `i`, `j` have equal stabilisers if and only if their orbits have
    /// one size and `t(i) -> t(j)` is a map.
    pub(crate) fn of(degree: usize, moves: &[Perm]) -> Result<Classes, ScrambleError> {
        let mut tuples: Vec<Vec<u16>> = vec![Vec::new(); degree];
        let mut covered = vec![false; degree];
        let orbit_size = orbit_sizes(degree, moves);
        let fixed_by = |i: usize| moves.iter().map(move |p| p.at(i) == i);
        let mut entries = 0;
        for i in 0..degree {
            if covered[i] {
                continue;
            }
            let orbit = orbit_of(i, moves);
            let mut maps = Vec::new();
            for j in i..degree {
                let may =
                    !covered[j] && orbit_size[i] == orbit_size[j] && fixed_by(i).eq(fixed_by(j));
                if let Some(map) = may
                    .then(|| transport(i, j, degree, &orbit, moves))
                    .flatten()
                {
                    entries += orbit.len();
                    if entries > ENTRIES_MAX {
                        return Err(ScrambleError::TooLarge(format!(
                            "the pieces of {degree} positions take maps of more than {ENTRIES_MAX} entries"
                        )));
                    }
                    maps.push(map);
                }
            }
            for &v in &orbit {
                let tuple: Vec<u16> = maps.iter().map(|map| map[usize::from(v)]).collect();
                for &w in &tuple {
                    covered[usize::from(w)] = true;
                }
                tuples[usize::from(v)] = tuple;
            }
        }
        let mut of = vec![u32::MAX; degree];
        let mut found: Vec<(Vec<u16>, u16)> = Vec::new();
        for (i, tuple) in tuples.iter().enumerate().filter(|(_, t)| !t.is_empty()) {
            if of[i] == u32::MAX {
                for &w in tuple {
                    of[usize::from(w)] = 0;
                }
                let mut class = tuple.clone();
                class.sort_unstable();
                found.push((class, i as u16));
            }
        }
        found.sort_unstable();
        for (k, (class, _)) in found.iter().enumerate() {
            for &w in class {
                of[usize::from(w)] = k as u32;
            }
        }
        let (classes, leaders) = found.into_iter().unzip();
        Ok(Classes {
            classes,
            of,
            leaders,
            tuples,
        })
    }

    /// Where position `j` goes under an element that takes the leader of its class to `v`.
    pub(crate) fn follower(&self, j: usize, v: usize) -> usize {
        let leader = usize::from(self.leaders[self.of[j] as usize]);
        let at = self.tuples[leader]
            .iter()
            .position(|&w| usize::from(w) == j);
        // Every position is in the tuple of its leader.
        usize::from(self.tuples[v][at.unwrap_or(0)])
    }
}

/// Points that products of moves take `i` to, ascending.
pub(crate) fn orbit_of(i: usize, moves: &[Perm]) -> Vec<u16> {
    let mut seen = vec![false; moves.first().map_or(i + 1, Perm::len)];
    let mut orbit = vec![i as u16];
    seen[i] = true;
    let mut at = 0;
    while at < orbit.len() {
        for p in moves {
            let w = p.at(usize::from(orbit[at]));
            if !seen[w] {
                seen[w] = true;
                orbit.push(w as u16);
            }
        }
        at += 1;
    }
    orbit.sort_unstable();
    orbit
}

fn orbit_sizes(degree: usize, moves: &[Perm]) -> Vec<usize> {
    let mut sizes = vec![0; degree];
    for orbit in crate::group::orbits(degree, moves) {
        for &v in &orbit {
            sizes[usize::from(v)] = orbit.len();
        }
    }
    sizes
}

/// The map `t(i) -> t(j)` on the orbit of `i`, if it is one.
fn transport(i: usize, j: usize, degree: usize, orbit: &[u16], moves: &[Perm]) -> Option<Vec<u16>> {
    const NONE: u16 = u16::MAX;
    let mut map = vec![NONE; degree];
    map[i] = j as u16;
    let mut open = Vec::with_capacity(orbit.len());
    open.push(i);
    while let Some(v) = open.pop() {
        for p in moves {
            let (w, x) = (p.at(v), p.at(usize::from(map[v])) as u16);
            if map[w] == NONE {
                map[w] = x;
                open.push(w);
            } else if map[w] != x {
                return None;
            }
        }
    }
    Some(map)
}

/// The pieces of a puzzle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// The positions of every piece, ascending. On cubes pieces are in lexicographic order of the cubie's
    /// coordinates, elsewhere in order of their smallest position.
    pub pieces: Vec<Vec<u16>>,
    /// Position to (piece, turn), where the turn is its place within the piece; `None` for positions left out.
    pub home: Vec<Option<(u16, u16)>>,
    /// The size of the largest piece.
    pub width: usize,
}

impl Layout {
    /// The pieces of `puzzle`. Left out are, on cubes, all centres if no generator moves any; elsewhere, pieces
    /// that no generator moves.
    ///
    /// # Errors
    /// [`ScrambleError::TooLarge`] where the pieces of very many positions cannot be found.
    pub fn of(puzzle: &Puzzle) -> Result<Layout, ScrambleError> {
        let moves: Vec<Perm> = puzzle.generators().iter().map(|g| g.perm.clone()).collect();
        let moved = |i: &u16| {
            moves
                .iter()
                .any(|p| p.at(usize::from(*i)) != usize::from(*i))
        };
        let pieces = match cubies(puzzle, &moves) {
            Some(mut cubies) => {
                let centres = cubies.iter().filter(|c| c.len() == 1);
                if !centres.flatten().any(moved) {
                    cubies.retain(|c| c.len() > 1);
                }
                cubies
            }
            None => {
                let mut classes = Classes::of(puzzle.degree(), &moves)?.classes;
                classes.retain(|c| c.iter().any(moved));
                classes
            }
        };
        let mut home = vec![None; puzzle.degree()];
        for (p, piece) in pieces.iter().enumerate() {
            for (turn, &i) in piece.iter().enumerate() {
                home[usize::from(i)] = Some((p as u16, turn as u16));
            }
        }
        let width = pieces.iter().map(Vec::len).max().unwrap_or(0);
        Ok(Layout {
            pieces,
            home,
            width,
        })
    }

    /// The positions that belong to no piece, ascending.
    pub fn left_out(&self) -> Vec<u16> {
        let homes = self.home.iter().enumerate();
        homes
            .filter(|(_, home)| home.is_none())
            .map(|(i, _)| i as u16)
            .collect()
    }
}

/// The cubies of a cube:N, if the puzzle is one with all its stickers and every move keeps them together.
fn cubies(puzzle: &Puzzle, moves: &[Perm]) -> Option<Vec<Vec<u16>>> {
    let rest = puzzle.name().strip_prefix("cube:")?;
    let n: usize = rest.split_whitespace().next()?.parse().ok()?;
    if n < 2 || n.checked_mul(n)?.checked_mul(6)? != puzzle.degree() {
        return None;
    }
    let of = puzzle::cubies(n);
    let mut cubies: Vec<Vec<u16>> = vec![Vec::new(); of.iter().max()? + 1];
    for (i, &c) in of.iter().enumerate() {
        cubies[c].push(i as u16);
    }
    let together = moves.iter().all(|p| {
        cubies.iter().all(|cubie| {
            let mut to = cubie.iter().map(|&i| of[p.at(usize::from(i))]);
            let first = to.next();
            to.all(|c| Some(c) == first)
        })
    });
    together.then_some(cubies)
}
