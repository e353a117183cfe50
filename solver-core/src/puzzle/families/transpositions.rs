//! Families of swaps: Coxeter generators of types A, B and D, stars, all transpositions.

use super::{Build, Family, few_enough, from_cycles, need};

pub(super) fn families() -> Vec<Family> {
    vec![
        Family {
            name: "all-transpositions",
            aliases: &[],
            params: &[const { need("N", 2, 200) }],
            example: "7",
            about: "N labels; swap any two",
            naming: "(i,j) swaps positions i and j",
            build: Build::List(|p| {
                let n = p[0];
                let pairs = (0..n).flat_map(|i| (i + 1..n).map(move |j| (i, j)));
                pairs
                    .map(|(i, j)| from_cycles(format!("({i},{j})"), n, &[vec![i, j]]))
                    .collect()
            }),
        },
        Family {
            name: "coxeter",
            aliases: &["coxeter-a"],
            params: &[const { need("N", 2, 1000) }],
            example: "7",
            about: "N labels in a row; swap two neighbours (Coxeter group A, bubble sort)",
            naming: "(i,i+1) swaps positions i and i+1",
            build: Build::List(|p| {
                (1..p[0])
                    .map(|i| from_cycles(format!("({},{i})", i - 1), p[0], &[vec![i - 1, i]]))
                    .collect()
            }),
        },
        Family {
            name: "cyclic-coxeter",
            aliases: &[],
            params: &[const { need("N", 2, 1000) }],
            example: "6",
            about: "N labels in a ring; swap two neighbours",
            naming: "(i,j) swaps positions i and j",
            build: Build::List(|p| {
                let n = p[0];
                let mut out = (1..n)
                    .map(|i| from_cycles(format!("({},{i})", i - 1), n, &[vec![i - 1, i]]))
                    .collect::<Result<Vec<_>, _>>()?;
                // With two labels the ring's closing swap is the same one again.
                let name = if n == 2 {
                    "(0,1)#1".to_owned()
                } else {
                    format!("(0,{})", n - 1)
                };
                out.push(from_cycles(name, n, &[vec![0, n - 1]])?);
                Ok(out)
            }),
        },
        Family {
            name: "coxeter-b",
            aliases: &[],
            params: &[const { need("N", 1, 500) }],
            example: "4",
            about: "N signed labels in a row; swap two neighbours, or change the first one's sign (Coxeter group B)",
            naming: "a name is the generator in cycles; positions i and N+i are the two signs of place i",
            build: Build::List(|p| {
                let n = p[0];
                let mut out = vec![from_cycles(format!("(0,{n})"), 2 * n, &[vec![0, n]])?];
                for i in 1..n {
                    out.push(signed_swap(n, i)?);
                }
                Ok(out)
            }),
        },
        Family {
            name: "coxeter-d",
            aliases: &[],
            params: &[const { need("N", 2, 500) }],
            example: "4",
            about: "N signed labels in a row; swap two neighbours, or swap the first two with change of sign (Coxeter group D)",
            naming: "a name is the generator in cycles; positions i and N+i are the two signs of place i",
            build: Build::List(|p| {
                let n = p[0];
                let name = format!("(0,{})(1,{n})", n + 1);
                let mut out = vec![from_cycles(name, 2 * n, &[vec![0, n + 1], vec![1, n]])?];
                for i in 1..n {
                    out.push(signed_swap(n, i)?);
                }
                Ok(out)
            }),
        },
        Family {
            name: "stars",
            aliases: &[],
            params: &[const { need("N", 2, 1000) }],
            example: "8",
            about: "N labels; swap the first with any other",
            naming: "Si swaps positions 0 and i",
            build: Build::List(|p| {
                (1..p[0])
                    .map(|i| from_cycles(format!("S{i}"), p[0], &[vec![0, i]]))
                    .collect()
            }),
        },
        Family {
            name: "generalized-stars",
            aliases: &["generalised-stars"],
            params: &[const { need("N", 2, 1000) }, const { need("K", 1, 999) }],
            example: "7,3",
            about: "N labels; swap any of the first K with any of the others",
            naming: "Si-j swaps positions i and j",
            build: Build::List(|p| {
                let (n, k) = (p[0], p[1]);
                if k >= n {
                    return Err(format!("K = {k} must be below N = {n}"));
                }
                few_enough(k.checked_mul(n - k))?;
                let pairs = (0..k).flat_map(|i| (k..n).map(move |j| (i, j)));
                pairs
                    .map(|(i, j)| from_cycles(format!("S{i}-{j}"), n, &[vec![i, j]]))
                    .collect()
            }),
        },
    ]
}

/// Swaps the signed labels of places `i - 1` and `i`.
fn signed_swap(n: usize, i: usize) -> Result<crate::puzzle::Generator, String> {
    let name = format!("({},{i})({},{})", i - 1, n + i - 1, n + i);
    from_cycles(name, 2 * n, &[vec![i - 1, i], vec![n + i - 1, n + i]])
}
