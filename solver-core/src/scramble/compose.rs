//! From words to states. With `(a*b)[i] = a[b[i]]` the state after the word `a b c` is root[a[b[c[i]]]]. There are three ways
//! to it, all with the same result: shuffles of whole states where the processor has them, tables of products for
//! up to 256 positions, and one look-up a move and position for everything else.

use super::compose_narrow::Narrow;
use super::philox::LANES;
use super::spec::ScrambleError;
use super::vectors::{Shuffled, Vectors};
use crate::perm::Perm;
use crate::puzzle::State;

/// Tables for one puzzle.
pub(super) enum Composer {
    Shuffled(Shuffled),
    Narrow(Narrow),
    Wide(Wide),
}

impl Composer {
    pub(super) fn new(
        degree: usize,
        moves: &[Perm],
        root: &State,
        cell_bytes: usize,
        vectors: Vectors,
    ) -> Result<Composer, ScrambleError> {
        if degree > 256 || cell_bytes > 1 {
            return Ok(Composer::Wide(Wide::new(moves, root, cell_bytes)));
        }
        Ok(match Shuffled::new(moves, root, vectors) {
            Some(shuffled) => Composer::Shuffled(shuffled),
            None => Composer::Narrow(Narrow::new(degree, moves, root)?),
        })
    }

    /// Bytes of a label in states: 1 or 2.
    pub(super) fn cell_bytes(&self) -> usize {
        match self {
            Composer::Wide(wide) => wide.cell_bytes,
            _ => 1,
        }
    }

    /// Bytes of the tables.
    pub(super) fn table_bytes(&self) -> u64 {
        match self {
            Composer::Shuffled(t) => t.table_bytes(),
            Composer::Narrow(t) => t.table_bytes(),
            Composer::Wide(t) => 2 * (t.moves.len() * t.root.len()) as u64,
        }
    }

    /// Writes the states after the words of a group to `out[row * state_bytes ..]`.
    #[inline(always)]
    pub(super) fn states(&self, group: &Group<'_>, out: &mut [u8]) {
        match self {
            Composer::Shuffled(t) => t.states(group, out),
            Composer::Narrow(t) => t.states(group, out),
            Composer::Wide(t) => t.states(group, out),
        }
    }
}

/// Rows whose words were drawn together, in ascending order of length.
pub(super) struct Group<'a> {
    pub rows: &'a [usize; LANES],
    /// How many of the rows count; the others repeat the last.
    pub count: usize,
    pub lengths: &'a [usize; LANES],
    /// Row after row.
    pub words: &'a [u16],
    pub stride: usize,
}

impl Group<'_> {
    #[inline(always)]
    pub(super) fn word(&self, lane: usize) -> &[u16] {
        &self.words[self.rows[lane] * self.stride..][..self.lengths[lane]]
    }
}

/// Any number of positions and labels, one move after the other.
pub(super) struct Wide {
    moves: Vec<Vec<u16>>,
    root: State,
    cell_bytes: usize,
}

impl Wide {
    pub(super) fn new(moves: &[Perm], root: &State, cell_bytes: usize) -> Wide {
        Wide {
            moves: moves.iter().map(|p| p.images().to_vec()).collect(),
            root: root.clone(),
            cell_bytes,
        }
    }

    pub(super) fn states(&self, group: &Group<'_>, out: &mut [u8]) {
        let state_bytes = self.root.len() * self.cell_bytes;
        let mut at: Vec<u16> = Vec::new();
        for lane in 0..group.count {
            at.clear();
            at.extend(0..self.root.len() as u16);
            for &a in group.word(lane).iter().rev() {
                let p = &self.moves[usize::from(a)];
                for x in &mut at {
                    *x = p[usize::from(*x)];
                }
            }
            let to = &mut out[group.rows[lane] * state_bytes..][..state_bytes];
            for (to, &x) in to.chunks_exact_mut(self.cell_bytes).zip(&at) {
                let label = self.root[usize::from(x)].to_le_bytes();
                to.copy_from_slice(&label[..self.cell_bytes]);
            }
        }
    }
}
