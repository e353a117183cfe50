//! The tables for the kernels: what every element that can turn up does to every digit, to the words
//! of a superblock and to the bits of a word.

use super::ChainIndex;
use super::key::{KeyMap, key};
use crate::bfs::block::{Blocks, Digit, Step};
use crate::bfs::kernel::{BlockTables, Kernel};
use crate::perm::Perm;
use crate::terms::SpaceError;

/// Elements of one digit's table at most.
pub(super) const ELEMENTS_MAX: usize = 6_000_000;

impl ChainIndex {
    /// The tables for the kernels. Fails where the stored chain is not closed under the moves, so
    /// a damaged or wrong index is found here.
    pub fn tables(&self, moves: &[Perm], kernel: Kernel) -> Result<Blocks, SpaceError> {
        let def = &self.def;
        let escaped =
            || SpaceError::Damaged("a move leads out of the stored stabiliser chain".into());
        let mut elements = Elements::new(self.bases_from(0));
        let forward: Vec<u32> = moves.iter().map(|p| elements.number(p.clone())).collect();
        let backward: Vec<u32> = moves.iter().map(|p| elements.number(p.inverse())).collect();
        let mut digits = Vec::new();
        for (i, digit) in def.points.iter().enumerate() {
            let mut next = Elements::new(self.bases_from(i + 1));
            let mut steps = Vec::with_capacity(elements.list.len() * digit.orbit.len());
            for sigma in &elements.list {
                let inverse = sigma.inverse();
                for (&x, u) in digit.orbit.iter().zip(&digit.transversal) {
                    let to = self.places[i][inverse.at(usize::from(x))];
                    if to == u32::MAX {
                        return Err(escaped());
                    }
                    let rest = u.then(sigma).then(&self.inverses[i][to as usize]);
                    steps.push(Step {
                        to,
                        element: next.number(rest),
                    });
                }
                if next.list.len() > ELEMENTS_MAX {
                    return Err(SpaceError::Unsupported(
                        "the tables of the digits would be too large".into(),
                    ));
                }
            }
            digits.push(Digit {
                len: digit.orbit.len() as u32,
                steps,
            });
            elements = next;
        }
        if def.cosets.len() > 1 {
            let mut next = Elements::new(def.tail_base.clone());
            let mut steps = Vec::with_capacity(elements.list.len() * def.cosets.len());
            let inverses: Vec<Perm> = def.cosets.iter().map(Perm::inverse).collect();
            for sigma in &elements.list {
                for c in &def.cosets {
                    let product = c.then(sigma);
                    let &(to, ..) = self
                        .tail
                        .get(&key(&def.tail_base, &product))
                        .ok_or_else(escaped)?;
                    let rest = product.then(&inverses[to as usize]);
                    steps.push(Step {
                        to,
                        element: next.number(rest),
                    });
                }
            }
            digits.push(Digit {
                len: def.cosets.len() as u32,
                steps,
            });
            elements = next;
        }
        let mut rows = Vec::with_capacity(elements.list.len() * def.words.len());
        for tau in &elements.list {
            for r in &def.words {
                match self.tail.get(&key(&def.tail_base, &r.then(tau))) {
                    Some(&(0, w, k)) => rows.push(w | k << 16),
                    _ => return Err(escaped()),
                }
            }
        }
        let mut controls = Vec::new();
        for kappa in &def.leaf {
            let mut control = Vec::new();
            for k in &def.leaf {
                match self.tail.get(&key(&def.tail_base, &k.then(kappa))) {
                    Some(&(0, 0, to)) => control.push(to as u8),
                    _ => return Err(escaped()),
                }
            }
            controls.push(control);
        }
        let tables = BlockTables::leaf(
            kernel,
            def.words.len(),
            rows,
            &controls,
            def.leaf.len() as u32,
        );
        Ok(Blocks::new(digits, def.prefix, tables, forward, backward))
    }

    fn bases_from(&self, first: usize) -> Vec<u16> {
        self.def.points[first..]
            .iter()
            .map(|d| d.base)
            .chain(self.def.tail_base.iter().copied())
            .collect()
    }
}

/// The distinct elements that act on a digit, in order of discovery.
struct Elements {
    base: Vec<u16>,
    numbers: KeyMap<u32>,
    list: Vec<Perm>,
}

impl Elements {
    fn new(base: Vec<u16>) -> Elements {
        Elements {
            base,
            numbers: KeyMap::default(),
            list: Vec::new(),
        }
    }

    fn number(&mut self, p: Perm) -> u32 {
        let next = self.list.len() as u32;
        let number = *self.numbers.entry(key(&self.base, &p)).or_insert(next);
        if number == next {
            self.list.push(p);
        }
        number
    }
}
