//! Families around the two products of neighbouring swaps: Rapaport, Koltsov, Sheveleva.

use super::{Build, Family, Param, from_cycles, need};
use crate::puzzle::checked::Generator;

pub(super) fn families() -> Vec<Family> {
    vec![
        Family {
            name: "rapaport-m1",
            aliases: &[],
            params: &[const { need("N", 2, 1000) }],
            example: "6",
            about: "N labels in a row; swap the first 1, 2, 3 .. pairs of neighbours, starting at position 0 or at 1",
            naming: "M1_s_k swaps k pairs of neighbours from position s on",
            build: Build::List(|p| {
                let n = p[0];
                let kinds = (0..2).flat_map(|s| (1..=(n - s) / 2).map(move |k| (s, k)));
                kinds
                    .map(|(s, k)| from_cycles(format!("M1_{s}_{k}"), n, &pairs(s, s + 2 * k)))
                    .collect()
            }),
        },
        Family {
            name: "rapaport-m2",
            aliases: &[],
            params: &[const { need("N", 2, 1000) }],
            example: "7",
            about: "N labels in a row; swap the first two, or all pairs of neighbours starting at position 0 or at 1",
            naming: "(0,1) swaps positions 0 and 1; EvenDisjTrans swaps 0 1, 2 3, ..; OddDisjTrans swaps 1 2, 3 4, ..",
            build: Build::List(|p| {
                let n = p[0];
                Ok(vec![
                    from_cycles("(0,1)", n, &[vec![0, 1]])?,
                    from_cycles("EvenDisjTrans", n, &pairs(0, n))?,
                    from_cycles("OddDisjTrans", n, &pairs(1, n))?,
                ])
            }),
        },
        Family {
            name: "koltsov3",
            aliases: &[],
            params: &[
                const { need("N", 2, 1000) },
                const { need("T", 1, 2) },
                const { need("K", 0, 999) },
                Param {
                    name: "D",
                    low: 1,
                    high: 999,
                    default: Some(1),
                    word: None,
                },
            ],
            example: "8,1,1,3",
            about: "N labels in a row; all pairs of neighbours from 0 or from 1, and a short swap of type T = 1: \
                    positions K and K+D, or T = 2: K with K+3 and K+1 with K+2",
            naming: "I swaps 0 1, 2 3, ..; K swaps 1 2, 3 4, ..; S is the short swap",
            build: Build::List(|p| {
                let &[n, kind, k, d] = p else {
                    return Err("four parameters are needed".into());
                };
                let reach = if kind == 1 { k + d } else { k + 3 };
                if reach >= n {
                    return Err(format!(
                        "the short swap reaches position {reach}, but N = {n}; take a smaller K"
                    ));
                }
                let short = if kind == 1 {
                    vec![vec![k, k + d]]
                } else {
                    vec![vec![k, k + 3], vec![k + 1, k + 2]]
                };
                Ok(vec![
                    from_cycles("I", n, &pairs(0, n))?,
                    from_cycles("K", n, &pairs(1, n))?,
                    from_cycles("S", n, &short)?,
                ])
            }),
        },
        Family {
            name: "sheveleva2",
            aliases: &[],
            params: &[const { need("N", 4, 1000) }, const { need("K", 1, 997) }],
            example: "7,2",
            about: "N labels in a row; neighbouring swaps dealt out in turn to two generators, with one cycle of four \
                    at K-1 .. K+2 in place of three of them. Directed",
            naming: "A is the product of its swaps, S of its swaps and the cycle of four",
            build: Build::List(sheveleva2),
        },
    ]
}

/// Neighbouring pairs `s s+1`, `s+2 s+3`, .. below `end`.
fn pairs(start: usize, end: usize) -> Vec<Vec<usize>> {
    (start..end.saturating_sub(1))
        .step_by(2)
        .map(|i| vec![i, i + 1])
        .collect()
}

fn sheveleva2(p: &[usize]) -> Result<Vec<Generator>, String> {
    let (n, k) = (p[0], p[1]);
    if k + 3 > n {
        return Err(format!("K = {k} must be at most N - 3 = {}", n - 3));
    }
    // The path of swaps 0-1, 1-2, .. is cut at the square k-1 .. k+2: the swaps of S are those of the
    // square's parity, those of A the others, and A alone crosses from k to the far side of the square.
    let parity = (k - 1) % 2;
    let outside = |c: &Vec<usize>| c[1] < k || c[0] > k + 1;
    let mut square: Vec<Vec<usize>> = pairs(parity, n)
        .into_iter()
        .filter(|c| c[1] < k - 1 || c[0] > k + 2)
        .collect();
    square.push(vec![k - 1, k, k + 1, k + 2]);
    let mut swaps: Vec<Vec<usize>> = pairs(1 - parity, n)
        .into_iter()
        .filter(|c| outside(c) && c[0] != k + 2)
        .collect();
    if k + 3 < n {
        swaps.push(vec![k + 1, k + 3]);
    }
    Ok(vec![
        from_cycles("A", n, &swaps)?,
        from_cycles("S", n, &square)?,
    ])
}
