//! States from tables of products. Read from the right, every position is followed on its own, so only one position of
//! each class of equal stabilisers is, a few moves at once. The others follow from it at the end.

use super::compose::Group;
use super::pieces::{Classes, orbit_of};
use super::spec::ScrambleError;
use crate::perm::Perm;
use crate::puzzle::State;

/// Bytes of the tables of products, about; they should stay in a core's own cache.
const PRODUCT_BYTES: usize = 192 << 10;

/// A row of a table that a byte may index whatever it is; only the first entries are the row's own.
type Row = [u8; 256];

/// Rows of bytes, one after the other, with room after the last so that each can be seen as a [`Row`].
struct Rows {
    bytes: Vec<u8>,
    stride: usize,
}

impl Rows {
    fn new<R: AsRef<[u8]>>(rows: &[R], stride: usize) -> Rows {
        let mut bytes = vec![0; rows.len() * stride + 256];
        for (to, row) in bytes.chunks_exact_mut(stride).zip(rows) {
            to[..row.as_ref().len()].copy_from_slice(row.as_ref());
        }
        Rows { bytes, stride }
    }

    #[inline(always)]
    fn at(&self, k: usize) -> &Row {
        const NONE: &Row = &[0; 256];
        let row = self.bytes.get(k * self.stride..);
        row.and_then(|r| r.first_chunk()).unwrap_or(NONE)
    }
}

/// Up to 256 positions with labels below 256.
pub(super) struct Narrow {
    degree: usize,
    /// Moves in a product; the number after the last move stands for none.
    at_once: usize,
    radix: usize,
    /// The product of every word of `at_once` moves, as positions.
    products: Rows,
    /// The same, at the leaders of the classes only.
    firsts: Rows,
    /// Number of classes that are moved, made a multiple of four; they come first.
    moved: usize,
    /// Position to class.
    class: Vec<u8>,
    /// The label at a position when the leader of its class shows a position, at 256 * position + that position: two
    /// bytes are an index that needs no check.
    labels: Box<[u8; 1 << 16]>,
}

impl Narrow {
    pub(super) fn new(
        degree: usize,
        moves: &[Perm],
        root: &State,
    ) -> Result<Narrow, ScrambleError> {
        let found = Classes::of(degree, moves)?;
        let radix = moves.len() + 1;
        let mut at_once = 1;
        while at_once < 4 && radix.pow(at_once as u32 + 1) * degree <= PRODUCT_BYTES {
            at_once += 1;
        }
        let identity: Vec<u8> = (0..degree).map(|i| i as u8).collect();
        let mut products = vec![identity];
        for _ in 0..at_once {
            let longer = products.iter().flat_map(|product| {
                let with = |p: &Perm| (0..degree).map(|i| product[p.at(i)]).collect();
                moves.iter().map(with).chain([product.clone()])
            });
            products = longer.collect();
        }
        // Classes that move come first; the one that does not needs no look-ups.
        let moves_at = |i: u16| moves.iter().any(|p| p.at(usize::from(i)) != usize::from(i));
        let mut order: Vec<usize> = (0..found.leaders.len()).collect();
        order.sort_by_key(|&k| !moves_at(found.leaders[k]));
        let moved = found.leaders.iter().filter(|&&i| moves_at(i)).count();
        let leaders: Vec<u16> = order.iter().map(|&k| found.leaders[k]).collect();
        let firsts: Vec<Vec<u8>> = products
            .iter()
            .map(|product| leaders.iter().map(|&l| product[usize::from(l)]).collect())
            .collect();
        let mut place = vec![0; order.len()];
        for (new, &old) in order.iter().enumerate() {
            place[old] = new as u8;
        }
        let mut labels = Box::new([0; 1 << 16]);
        for j in 0..degree {
            for v in orbit_of(usize::from(found.leaders[found.of[j] as usize]), moves) {
                labels[256 * j + usize::from(v)] = root[found.follower(j, usize::from(v))] as u8;
            }
        }
        Ok(Narrow {
            degree,
            at_once,
            radix,
            products: Rows::new(&products, degree.next_multiple_of(16)),
            firsts: Rows::new(&firsts, leaders.len().next_multiple_of(16)),
            moved: moved.next_multiple_of(4),
            class: found.of.iter().map(|&k| place[k as usize]).collect(),
            labels,
        })
    }

    pub(super) fn table_bytes(&self) -> u64 {
        (self.products.bytes.len() + self.firsts.bytes.len() + self.labels.len()) as u64
    }

    pub(super) fn states(&self, group: &Group<'_>, out: &mut [u8]) {
        for lane in 0..group.count {
            let to = &mut out[group.rows[lane] * self.degree..][..self.degree];
            self.state(group.word(lane), to);
        }
    }

    /// The number of the product of up to `at_once` moves.
    #[inline(always)]
    fn number(&self, word: &[u16]) -> usize {
        let mut number = 0;
        for &a in word {
            number = number * self.radix + usize::from(a);
        }
        for _ in word.len()..self.at_once {
            number = number * self.radix + self.radix - 1;
        }
        number
    }

    #[inline(always)]
    fn state(&self, word: &[u16], out: &mut [u8]) {
        // From the right in whole products; the incomplete one is the first of the word.
        let last = word.len().saturating_sub(self.at_once);
        let (mut before, end) = word.split_at(last);
        let mut at = *self.firsts.at(self.number(end));
        let moved = self.moved;
        while !before.is_empty() {
            let split = before.len().saturating_sub(self.at_once);
            let product = self.products.at(self.number(&before[split..]));
            for four in at[..moved].chunks_exact_mut(4) {
                for x in four {
                    *x = product[usize::from(*x)];
                }
            }
            before = &before[..split];
        }
        for (j, (to, &class)) in (0u8..).zip(out.iter_mut().zip(&self.class)) {
            let v = at[usize::from(class)];
            *to = self.labels[usize::from(u16::from_be_bytes([j, v]))];
        }
    }
}
