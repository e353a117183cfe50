//! The states one move away, in generator order, and whether they are solved.

use super::vectors::{Job, Shuffled, Vectors};
use crate::perm::Perm;
use crate::puzzle::Puzzle;

/// What every move changes, byte by byte.
pub struct Children {
    state_bytes: usize,
    /// Per move (byte, the byte whose value it gets), for the bytes that it changes.
    moved: Vec<Vec<(u16, u16)>>,
    /// Per move the states that it takes to a root.
    before: Vec<Vec<Vec<u8>>>,
    roots: Vec<Vec<u8>>,
    vectors: Vectors,
    shuffled: Option<Shuffled>,
}

/// One call of [`Children::states`].
struct Fill<'a> {
    shuffled: &'a Shuffled,
    states: &'a [u8],
    out: &'a mut [u8],
}

impl Job for Fill<'_> {
    #[inline(always)]
    fn run(self) {
        self.shuffled.children(self.states, self.out);
    }
}

impl Children {
    /// Children of states whose labels take `cell_bytes` bytes.
    pub fn new(puzzle: &Puzzle, cell_bytes: usize) -> Children {
        Children::with(puzzle, cell_bytes, Vectors::detect())
    }

    /// The same children by instructions that every processor has.
    pub fn portable(puzzle: &Puzzle, cell_bytes: usize) -> Children {
        Children::with(puzzle, cell_bytes, Vectors::none())
    }

    fn with(puzzle: &Puzzle, cell_bytes: usize, vectors: Vectors) -> Children {
        let perms: Vec<Perm> = puzzle.generators().iter().map(|g| g.perm.clone()).collect();
        let shuffled = match cell_bytes {
            1 => Shuffled::new(&perms, &puzzle.roots()[0], vectors),
            _ => None,
        };
        let bytes = |state: &[u16]| -> Vec<u8> {
            let cells = state.iter().map(|l| l.to_le_bytes());
            cells.flat_map(|b| b.into_iter().take(cell_bytes)).collect()
        };
        let moves = puzzle.generators().iter().map(|g| &g.perm);
        let moved = moves.clone().map(|p| {
            let changed = (0..p.len()).filter(|&i| p.at(i) != i);
            let pairs = changed.flat_map(|i| {
                (0..cell_bytes).map(move |b| (i * cell_bytes + b, p.at(i) * cell_bytes + b))
            });
            pairs.map(|(to, from)| (to as u16, from as u16)).collect()
        });
        let before = moves.map(|p| {
            let inverse = p.inverse();
            let roots = puzzle.roots().iter();
            roots.map(|root| bytes(&inverse.apply(root))).collect()
        });
        Children {
            state_bytes: puzzle.degree() * cell_bytes,
            moved: moved.collect(),
            before: before.collect(),
            roots: puzzle.roots().iter().map(|r| bytes(r)).collect(),
            vectors,
            shuffled,
        }
    }

    /// Number of moves.
    pub fn moves(&self) -> usize {
        self.moved.len()
    }

    /// Is a state a root?
    pub fn is_solved(&self, state: &[u8]) -> bool {
        self.roots.iter().any(|root| root == state)
    }

    /// The children of `states`, state by state and move by move, in place of what is in `out`.
    pub fn states(&self, states: &[u8], out: &mut Vec<u8>) {
        if let Some(shuffled) = &self.shuffled {
            out.resize(states.len() * self.moved.len(), 0);
            return self.vectors.run(Fill {
                shuffled,
                states,
                out,
            });
        }
        match self.state_bytes {
            ..=16 => self.narrow::<16>(states, out),
            17..=32 => self.narrow::<32>(states, out),
            33..=64 => self.narrow::<64>(states, out),
            65..=128 => self.narrow::<128>(states, out),
            129..=256 => self.narrow::<256>(states, out),
            _ => self.wide(states, out),
        }
    }

    /// Is the child a root? In the order of [`Children::states`], in place of what is in `out`.
    pub fn solved(&self, states: &[u8], out: &mut Vec<u8>) {
        out.clear();
        for state in states.chunks_exact(self.state_bytes) {
            let flags = self
                .before
                .iter()
                .map(|before| u8::from(before.iter().any(|b| b[0] == state[0] && b == state)));
            out.extend(flags);
        }
    }

    /// `N` is a power of two and at least a state's bytes, so that an index masked by `N - 1` needs no check.
    fn narrow<const N: usize>(&self, states: &[u8], out: &mut Vec<u8>) {
        let n = self.state_bytes;
        let total = states.len() / n * self.moved.len() * n;
        // A child is written as N bytes; the next one overwrites those beyond its end.
        out.clear();
        out.resize(total + N, 0);
        let mut at = 0;
        for state in states.chunks_exact(n) {
            let mut from = [0; N];
            from[..n].copy_from_slice(state);
            for moved in &self.moved {
                if let Some(child) = out[at..].first_chunk_mut::<N>() {
                    *child = from;
                    for &(to, source) in moved {
                        child[usize::from(to) & (N - 1)] = from[usize::from(source) & (N - 1)];
                    }
                }
                at += n;
            }
        }
        out.truncate(total);
    }

    fn wide(&self, states: &[u8], out: &mut Vec<u8>) {
        out.clear();
        for state in states.chunks_exact(self.state_bytes) {
            for moved in &self.moved {
                let start = out.len();
                out.extend_from_slice(state);
                for &(to, source) in moved {
                    out[start + usize::from(to)] = state[usize::from(source)];
                }
            }
        }
    }
}
