//! Families around a cyclic shift: LRX, LX, LARX, TopSpin, long and sub-long cycles.

use super::{Build, Family, Param, generator, need};
use crate::puzzle::checked::Generator;

const LONG: usize = 1000;

pub(super) fn families() -> Vec<Family> {
    vec![
        Family {
            name: "lrx",
            aliases: &[],
            params: &[
                const { need("N", 2, LONG) },
                Param {
                    name: "K",
                    low: 1,
                    high: LONG,
                    default: Some(1),
                    word: None,
                },
            ],
            example: "7",
            about: "N labels in a row; shift left, shift right, swap the first with the one K places on (K = 1 if not given)",
            naming: "L shifts all labels one place to the left, the first goes to the end; R shifts them to the right; \
                     X swaps positions 0 and K",
            build: Build::List(|p| {
                let (n, k) = (p[0], p[1]);
                if k >= n {
                    return Err(format!("K = {k} must be below N = {n}"));
                }
                Ok(vec![left(n)?, right(n)?, swap(n, k)?])
            }),
        },
        Family {
            name: "lx",
            aliases: &[],
            params: &[const { need("N", 2, LONG) }],
            example: "8",
            about: "N labels in a row; shift left, swap the first two. Directed: there is no shift right",
            naming: "L shifts all labels one place to the left, the first goes to the end; X swaps positions 0 and 1",
            build: Build::List(|p| Ok(vec![left(p[0])?, swap(p[0], 1)?])),
        },
        Family {
            name: "larx",
            aliases: &[],
            params: &[const { need("N", 2, LONG) }],
            example: "7",
            about: "N labels in a row; swap the first two, shift all but the first to the left. Directed",
            naming: "a name is the list of the generator's images",
            build: Build::List(|p| {
                let n = p[0];
                let swap: Vec<usize> = [1, 0].into_iter().chain(2..n).collect();
                let shift: Vec<usize> = [0].into_iter().chain(2..n).chain([1]).collect();
                Ok(vec![
                    generator(super::joined(&swap, " "), swap)?,
                    generator(super::joined(&shift, " "), shift)?,
                ])
            }),
        },
        Family {
            name: "topspin",
            aliases: &["top-spin"],
            params: &[const { need("N", 2, LONG) }, const { need("K", 2, LONG) }],
            example: "11,4",
            about: "TopSpin: a ring of N labels with a turntable that reverses K of them",
            naming: "L shifts all labels one place to the left, the first goes to the end; R shifts them to the right; \
                     X reverses the first K. 1, 2, 3 mean L, R, X",
            build: Build::List(|p| {
                let (n, k) = (p[0], p[1]);
                if k > n {
                    return Err(format!(
                        "K = {k} must be at most N = {n}, the turntable cannot be longer than the ring"
                    ));
                }
                let x = (0..k).rev().chain(k..n).collect();
                Ok(vec![left(n)?, right(n)?, generator("X", x)?])
            }),
        },
        Family {
            name: "lsl-cycles",
            aliases: &[],
            params: &[const { need("N", 3, LONG) }],
            example: "6",
            about: "N labels in a row; shift all, or all but the first, both ways",
            naming: "L shifts all labels one place to the left, S all but the first; L_inv and S_inv are their inverses",
            build: Build::List(|p| {
                let n = p[0];
                let l = left(n)?;
                let s = generator("S", [0].into_iter().chain(2..n).chain([1]).collect())?;
                let (l_inv, s_inv) = (super::inverse("L_inv", &l), super::inverse("S_inv", &s));
                Ok(vec![l, s, l_inv, s_inv])
            }),
        },
    ]
}

fn left(n: usize) -> Result<Generator, String> {
    generator("L", (1..n).chain([0]).collect())
}

fn right(n: usize) -> Result<Generator, String> {
    generator("R", [n - 1].into_iter().chain(0..n - 1).collect())
}

fn swap(n: usize, k: usize) -> Result<Generator, String> {
    super::from_cycles("X", n, &[vec![0, k]])
}
