//! Families of reversals and block moves: pancakes plain and burnt, reversals, transposons.

use super::{Build, Family, generator, need};
use crate::puzzle::checked::Generator;

pub(super) fn families() -> Vec<Family> {
    vec![
        Family {
            name: "pancake",
            aliases: &[],
            params: &[const { need("N", 2, 1000) }],
            example: "9",
            about: "A stack of N pancakes; flip the first k of them",
            naming: "Rk reverses the first k+1 labels",
            build: Build::List(|p| {
                (1..p[0])
                    .map(|k| prefix(p[0], k + 1, format!("R{k}")))
                    .collect()
            }),
        },
        Family {
            name: "burnt-pancake",
            aliases: &[],
            params: &[const { need("N", 1, 500) }],
            example: "6",
            about: "A stack of N pancakes burnt on one side; flip the first k of them. 2N positions: bottom sides, then top sides",
            naming: "Rk flips the first k pancakes",
            build: Build::List(|p| {
                (1..=p[0])
                    .map(|k| signed(p[0], 0, k - 1, format!("R{k}")))
                    .collect()
            }),
        },
        Family {
            name: "cubic-pancake",
            aliases: &[],
            params: &[const { need("N", 2, 1000) }, const { need("SUBSET", 1, 7) }],
            example: "7,4",
            about: "A stack of N pancakes with three flips only: N and N-1 with 2, 3, N-2 or N-3 (subsets 1 to 4), \
                    N and N-2 with 2, 3 or N-3 (5 to 7)",
            naming: "Rk reverses the first k labels",
            build: Build::List(cubic),
        },
        Family {
            name: "full-reversals",
            aliases: &[],
            params: &[const { need("N", 2, 200) }],
            example: "7",
            about: "N labels in a row; reverse any stretch of them",
            naming: "R[i..j] reverses positions i to j",
            build: Build::List(|p| {
                let n = p[0];
                pairs(n, 1)
                    .map(|(i, j)| {
                        let images = (0..i).chain((i..=j).rev()).chain(j + 1..n).collect();
                        generator(format!("R[{i}..{j}]"), images)
                    })
                    .collect()
            }),
        },
        Family {
            name: "signed-reversals",
            aliases: &[],
            params: &[const { need("N", 1, 199) }],
            example: "4",
            about: "N signed labels in a row; reverse any stretch of them and change its signs. 2N positions: the labels' two sides",
            naming: "R[i..j] reverses positions i to j and changes their signs",
            build: Build::List(|p| {
                pairs(p[0], 0)
                    .map(|(i, j)| signed(p[0], i, j, format!("R[{i}..{j}]")))
                    .collect()
            }),
        },
        Family {
            name: "transposons",
            aliases: &[],
            params: &[const { need("N", 2, 49) }],
            example: "6",
            about: "N labels in a row; swap two neighbouring stretches",
            naming: "T[i..j,k] swaps the stretch i to j with the stretch j+1 to k",
            build: Build::List(|p| {
                let n = p[0];
                let mut out = Vec::new();
                for (i, j) in pairs(n, 0) {
                    for k in j + 1..n {
                        let images = (0..i)
                            .chain(j + 1..=k)
                            .chain(i..=j)
                            .chain(k + 1..n)
                            .collect();
                        out.push(generator(format!("T[{i}..{j},{k}]"), images)?);
                    }
                }
                Ok(out)
            }),
        },
        Family {
            name: "block-interchange",
            aliases: &[],
            params: &[const { need("N", 2, 25) }],
            example: "5",
            about: "N labels in a row; swap any two stretches",
            naming: "I[i..j,k..l] swaps the stretch i to j with the stretch k to l",
            build: Build::List(|p| {
                let n = p[0];
                let mut out = Vec::new();
                for (i, j) in pairs(n, 0) {
                    for (k, l) in pairs(n, 0).filter(|&(k, _)| k > j) {
                        let images = (0..i)
                            .chain(k..=l)
                            .chain(j + 1..k)
                            .chain(i..=j)
                            .chain(l + 1..n)
                            .collect();
                        out.push(generator(format!("I[{i}..{j},{k}..{l}]"), images)?);
                    }
                }
                Ok(out)
            }),
        },
    ]
}

/// All `i, j` with `i + gap <= j < n`, in lexicographic order.
fn pairs(n: usize, gap: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..n).flat_map(move |i| (i + gap..n).map(move |j| (i, j)))
}

/// Reverses the first `k` of `n`.
fn prefix(n: usize, k: usize, name: String) -> Result<Generator, String> {
    generator(name, (0..k).rev().chain(k..n).collect())
}

/// Reverses `i..=j` of `n` signed labels: position `x` is one side, `n + x` the other.
fn signed(n: usize, i: usize, j: usize, name: String) -> Result<Generator, String> {
    let side = |near: usize, far: usize| {
        (near..near + i)
            .chain((far + i..=far + j).rev())
            .chain(near + j + 1..near + n)
            .collect::<Vec<_>>()
    };
    generator(name, [side(0, n), side(n, 0)].concat())
}

fn cubic(p: &[usize]) -> Result<Vec<Generator>, String> {
    let (n, subset) = (p[0], p[1]);
    let second = if subset <= 4 { 1 } else { 2 };
    let third = match subset {
        1 | 5 => Some(2),
        2 | 6 => Some(3),
        3 => n.checked_sub(2),
        _ => n.checked_sub(3),
    };
    let lengths = [Some(n), n.checked_sub(second), third];
    let lengths: Option<Vec<usize>> = lengths
        .into_iter()
        .map(|k| k.filter(|k| (1..=n).contains(k)))
        .collect();
    let Some(lengths) = lengths else {
        return Err(format!("N = {n} is too small for the subset {subset}"));
    };
    for (k, length) in lengths.iter().enumerate() {
        if lengths[..k].contains(length) {
            return Err(format!(
                "N = {n} is too small for the subset {subset}: R{length} would be in it twice"
            ));
        }
    }
    lengths
        .into_iter()
        .map(|k| prefix(n, k, format!("R{k}")))
        .collect()
}
