//! From words to states. With `(a*b)[i] = a[b[i]]` the state after the word `a b c` is root[a[b[c[i]]]]: read from the
//! right, every position is followed on its own, so only one position of each class of equal stabilisers is, through
//! tables of the products of a few moves at once. The others follow from it at the end.

use super::pieces::{Classes, orbit_of};
use super::spec::ScrambleError;
use crate::perm::Perm;
use crate::puzzle::State;

/// Bytes of the tables of products, about; they should stay in a core's own cache.
const PRODUCT_BYTES: usize = 192 << 10;

/// Tables for one puzzle.
pub(super) enum Composer {
    Bytes16(Narrow<16>),
    Bytes32(Narrow<32>),
    Bytes64(Narrow<64>),
    Bytes128(Narrow<128>),
    Bytes256(Narrow<256>),
    Wide(Wide),
}

impl Composer {
    pub(super) fn new(
        degree: usize,
        moves: &[Perm],
        root: &State,
    ) -> Result<Composer, ScrambleError> {
        let narrow = degree <= 256 && root.iter().all(|&l| l < 256);
        Ok(match degree {
            _ if !narrow => Composer::Wide(Wide::new(moves, root)),
            ..=16 => Composer::Bytes16(Narrow::new(degree, moves, root)?),
            17..=32 => Composer::Bytes32(Narrow::new(degree, moves, root)?),
            33..=64 => Composer::Bytes64(Narrow::new(degree, moves, root)?),
            65..=128 => Composer::Bytes128(Narrow::new(degree, moves, root)?),
            _ => Composer::Bytes256(Narrow::new(degree, moves, root)?),
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
            Composer::Bytes16(t) => t.bytes(),
            Composer::Bytes32(t) => t.bytes(),
            Composer::Bytes64(t) => t.bytes(),
            Composer::Bytes128(t) => t.bytes(),
            Composer::Bytes256(t) => t.bytes(),
            Composer::Wide(t) => 2 * (t.moves.len() * t.root.len()) as u64,
        }
    }

    /// The states after the words `words[row * stride ..][..lengths[row]]`, row after row.
    pub(super) fn states(&self, words: &[u16], stride: usize, lengths: &[u32], out: &mut Vec<u8>) {
        match self {
            Composer::Bytes16(t) => t.states(words, stride, lengths, out),
            Composer::Bytes32(t) => t.states(words, stride, lengths, out),
            Composer::Bytes64(t) => t.states(words, stride, lengths, out),
            Composer::Bytes128(t) => t.states(words, stride, lengths, out),
            Composer::Bytes256(t) => t.states(words, stride, lengths, out),
            Composer::Wide(t) => t.states(words, stride, lengths, out),
        }
    }
}

/// Up to 256 positions with labels below 256. `N` is a power of two and at least the degree, so that an index
/// masked by `N - 1` needs no check.
pub(super) struct Narrow<const N: usize> {
    degree: usize,
    /// Moves in a product; the number after the last move stands for none.
    at_once: usize,
    radix: usize,
    /// The product of every word of `at_once` moves, as positions.
    products: Vec<[u8; N]>,
    /// The same, at the leaders of the classes only.
    firsts: Vec<[u8; N]>,
    /// Number of classes.
    classes: usize,
    /// Position to class.
    class: [u8; N],
    /// The label at a position when the leader of its class shows a position.
    labels: Vec<[u8; N]>,
}

impl<const N: usize> Narrow<N> {
    fn new(degree: usize, moves: &[Perm], root: &State) -> Result<Narrow<N>, ScrambleError> {
        let found = Classes::of(degree, moves)?;
        let radix = moves.len() + 1;
        let mut at_once = 1;
        while at_once < 4 && radix.pow(at_once as u32 + 1) * N <= PRODUCT_BYTES {
            at_once += 1;
        }
        let mut products: Vec<[u8; N]> = vec![identity()];
        for _ in 0..at_once {
            products = products
                .iter()
                .flat_map(|product| {
                    let with = |p: &Perm| {
                        let mut out = *product;
                        for i in 0..degree {
                            out[i] = product[p.at(i)];
                        }
                        out
                    };
                    moves.iter().map(with).chain([*product]).collect::<Vec<_>>()
                })
                .collect();
        }
        let firsts = products.iter().map(|product| {
            let mut out = [0; N];
            for (k, &leader) in found.leaders.iter().enumerate() {
                out[k] = product[usize::from(leader)];
            }
            out
        });
        let firsts = firsts.collect();
        let mut class = [0; N];
        let mut labels = vec![[0; N]; degree];
        for j in 0..degree {
            class[j] = found.of[j] as u8;
            let leader = found.leaders[found.of[j] as usize];
            for v in orbit_of(usize::from(leader), moves) {
                labels[j][usize::from(v)] = root[found.follower(j, usize::from(v))] as u8;
            }
        }
        Ok(Narrow {
            degree,
            at_once,
            radix,
            products,
            firsts,
            classes: found.classes.len(),
            class,
            labels,
        })
    }

    fn bytes(&self) -> u64 {
        ((self.products.len() * 2 + self.degree) * N) as u64
    }

    fn states(&self, words: &[u16], stride: usize, lengths: &[u32], out: &mut Vec<u8>) {
        let n = self.degree;
        out.clear();
        // A state is written as N bytes; the next one overwrites those beyond its end.
        out.resize(lengths.len() * n + N, 0);
        let mut numbers = Vec::new();
        for (row, &length) in lengths.iter().enumerate() {
            let word = &words[row * stride..][..length as usize];
            self.numbers(word, &mut numbers);
            let state = self.state(&numbers);
            if let Some(to) = out[row * n..].first_chunk_mut::<N>() {
                *to = state;
            }
        }
        out.truncate(lengths.len() * n);
    }

    /// The numbers of the products that make up a word.
    #[inline(always)]
    fn numbers(&self, word: &[u16], out: &mut Vec<u32>) {
        out.clear();
        let radix = self.radix as u32;
        let none = radix - 1;
        let whole = word.chunks_exact(self.at_once);
        let rest = whole.remainder();
        out.extend(whole.map(|c| c.iter().fold(0, |x, &a| x * radix + u32::from(a))));
        if !rest.is_empty() {
            let x = rest.iter().fold(0, |x, &a| x * radix + u32::from(a));
            out.push((rest.len()..self.at_once).fold(x, |x, _| x * radix + none));
        }
    }

    #[inline(always)]
    fn state(&self, numbers: &[u32]) -> [u8; N] {
        let Some((&last, before)) = numbers.split_last() else {
            return self.expand(&self.firsts[self.firsts.len() - 1]);
        };
        let mut at = self.firsts[last as usize];
        for &number in before.iter().rev() {
            let product = &self.products[number as usize];
            for x in &mut at[..self.classes] {
                *x = product[usize::from(*x) & (N - 1)];
            }
        }
        self.expand(&at)
    }

    #[inline(always)]
    fn expand(&self, at: &[u8; N]) -> [u8; N] {
        let mut out = [0; N];
        for ((to, labels), &class) in out.iter_mut().zip(&self.labels).zip(&self.class) {
            let v = at[usize::from(class) & (N - 1)];
            *to = labels[usize::from(v) & (N - 1)];
        }
        out
    }
}

fn identity<const N: usize>() -> [u8; N] {
    let mut out = [0; N];
    for (i, x) in out.iter_mut().enumerate() {
        *x = i as u8;
    }
    out
}

/// Any number of positions and labels, one move after the other.
pub(super) struct Wide {
    moves: Vec<Vec<u16>>,
    root: State,
    cell_bytes: usize,
}

impl Wide {
    fn new(moves: &[Perm], root: &State) -> Wide {
        Wide {
            moves: moves.iter().map(|p| p.images().to_vec()).collect(),
            root: root.clone(),
            cell_bytes: if root.iter().all(|&l| l < 256) { 1 } else { 2 },
        }
    }

    fn states(&self, words: &[u16], stride: usize, lengths: &[u32], out: &mut Vec<u8>) {
        out.clear();
        let mut at: Vec<u16> = Vec::new();
        for (row, &length) in lengths.iter().enumerate() {
            at.clear();
            at.extend(0..self.root.len() as u16);
            for &a in words[row * stride..][..length as usize].iter().rev() {
                let p = &self.moves[usize::from(a)];
                for x in &mut at {
                    *x = p[usize::from(*x)];
                }
            }
            let labels = at.iter().map(|&x| self.root[usize::from(x)]);
            if self.cell_bytes == 1 {
                out.extend(labels.map(|l| l as u8));
            } else {
                out.extend(labels.flat_map(u16::to_le_bytes));
            }
        }
    }
}
