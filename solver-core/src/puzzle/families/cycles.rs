//! Families of cycles: three-cycles, k-cycles of several kinds, all cycles.

use super::{
    Build, Family, Param, arrangements, binomial, few_enough, from_cycles, inverse, joined, need,
    subsets,
};

const CYCLE_NAMING: &str = "a name is the generator in cycles: (a,b,c) puts at position a what was at b, at b what was at c";

pub(super) fn families() -> Vec<Family> {
    vec![
        Family {
            name: "all-cycles",
            aliases: &[],
            params: &[const { need("N", 2, 8) }],
            example: "5",
            about: "N labels; any cycle of two or more of them",
            naming: "cycle_k is the k-th cycle: by length, then by the set of positions, then by their order",
            build: Build::List(|p| {
                let n = p[0];
                let mut out = Vec::new();
                for k in 2..=n {
                    for set in subsets(n, k) {
                        for rest in arrangements(&set[1..]) {
                            let cycle = [&set[..1], &rest].concat();
                            out.push(from_cycles(
                                format!("cycle_{}", out.len() + 1),
                                n,
                                &[cycle],
                            )?);
                        }
                    }
                }
                Ok(out)
            }),
        },
        Family {
            name: "down-cycles",
            aliases: &[],
            params: &[const { need("N", 2, 200) }],
            example: "5",
            about: "N labels in a row; shift any stretch by one place. Directed",
            naming: CYCLE_NAMING,
            build: Build::List(|p| {
                let n = p[0];
                let stretches =
                    (0..n).flat_map(|i| (i + 1..n).map(move |j| (i..=j).collect::<Vec<_>>()));
                stretches
                    .map(|c| from_cycles(joined(&c, ","), n, &[c]))
                    .collect()
            }),
        },
        Family {
            name: "prefix-cycles",
            aliases: &[],
            params: &[const { need("N", 2, 1000) }],
            example: "6",
            about: "N labels in a row; shift the first k of them by one place. Directed",
            naming: CYCLE_NAMING,
            build: Build::List(|p| {
                let n = p[0];
                (2..=n)
                    .map(|k| (0..k).collect::<Vec<_>>())
                    .map(|c| from_cycles(joined(&c, ","), n, &[c]))
                    .collect()
            }),
        },
        Family {
            name: "wrapped-k-cycles",
            aliases: &[],
            params: &[const { need("N", 2, 1000) }, const { need("K", 2, 1000) }],
            example: "6,3",
            about: "N labels in a ring; shift K neighbours by one place. Directed",
            naming: "a name is the generator in cycles: (a b c) puts at position a what was at b, at b what was at c",
            build: Build::List(|p| {
                let (n, k) = (p[0], p[1]);
                at_most(k, n)?;
                (0..n)
                    .map(|s| (0..k).map(|j| (s + j) % n).collect::<Vec<_>>())
                    .map(|c| from_cycles(joined(&c, " "), n, &[c]))
                    .collect()
            }),
        },
        Family {
            name: "consecutive-k-cycles",
            aliases: &[],
            params: &[
                const { need("N", 2, 1000) },
                const { need("K", 2, 1000) },
                Param {
                    name: "IC",
                    low: 0,
                    high: 1,
                    default: Some(0),
                    word: Some("ic"),
                },
            ],
            example: "6,4",
            about: "N labels in a row; shift K neighbours by one place. Directed, unless closed under inverse by ic",
            naming: "a name is the generator in cycles: (a,b,c) puts at position a what was at b; ' marks the inverse",
            build: Build::List(|p| {
                let (n, k) = (p[0], p[1]);
                at_most(k, n)?;
                let mut out = (0..=n - k)
                    .map(|s| (s..s + k).collect::<Vec<_>>())
                    .map(|c| from_cycles(joined(&c, ","), n, &[c]))
                    .collect::<Result<Vec<_>, _>>()?;
                if p[2] == 1 && k > 2 {
                    let inverses: Vec<_> = out
                        .iter()
                        .map(|g| inverse(format!("{}'", g.name), g))
                        .collect();
                    out.extend(inverses);
                }
                Ok(out)
            }),
        },
        Family {
            name: "increasing-k-cycles",
            aliases: &[],
            params: &[const { need("N", 2, 1000) }, const { need("K", 2, 1000) }],
            example: "6,4",
            about: "N labels in a row; shift any K of them, in their order, by one place. Directed",
            naming: CYCLE_NAMING,
            build: Build::List(|p| {
                let (n, k) = (p[0], p[1]);
                at_most(k, n)?;
                few_enough(binomial(n, k))?;
                subsets(n, k)
                    .into_iter()
                    .map(|c| from_cycles(joined(&c, ","), n, &[c]))
                    .collect()
            }),
        },
        Family {
            name: "three-cycles",
            aliases: &[],
            params: &[const { need("N", 3, 39) }],
            example: "5",
            about: "N labels; any cycle of three (the alternating group)",
            naming: "a name is the generator in cycles: (a b c) puts at position a what was at b, at b what was at c",
            build: Build::List(|p| three_cycles(p[0], p[0])),
        },
        Family {
            name: "three-cycles-0ij",
            aliases: &[],
            params: &[const { need("N", 3, 142) }],
            example: "5",
            about: "N labels; any cycle of three with the first (the alternating group)",
            naming: "a name is the generator in cycles: (a b c) puts at position a what was at b, at b what was at c",
            build: Build::List(|p| three_cycles(p[0], 1)),
        },
        Family {
            name: "three-cycles-01i",
            aliases: &[],
            params: &[const { need("N", 3, 1000) }],
            example: "6",
            about: "N labels; any cycle of three with the first two, both ways (the alternating group)",
            naming: "a name is the generator in cycles: (a b c) puts at position a what was at b, at b what was at c",
            build: Build::List(|p| {
                let cycles = (2..p[0]).flat_map(|i| [vec![0, 1, i], vec![1, 0, i]]);
                cycles
                    .map(|c| from_cycles(joined(&c, " "), p[0], &[c]))
                    .collect()
            }),
        },
        Family {
            name: "three-cycles-01i-dir",
            aliases: &[],
            params: &[const { need("N", 3, 1000) }],
            example: "6",
            about: "N labels; any cycle of three with the first two, one way (the alternating group). Directed",
            naming: "a name is the generator in cycles: (a b c) puts at position a what was at b, at b what was at c",
            build: Build::List(|p| {
                (2..p[0])
                    .map(|i| vec![0, 1, i])
                    .map(|c| from_cycles(joined(&c, " "), p[0], &[c]))
                    .collect()
            }),
        },
    ]
}

fn at_most(k: usize, n: usize) -> Result<(), String> {
    if k > n {
        return Err(format!("K = {k} must be at most N = {n}"));
    }
    Ok(())
}

/// All cycles `(a b c)` of `0..n` with `a` smallest and below `starts`, in lexicographic order.
fn three_cycles(n: usize, starts: usize) -> Result<Vec<crate::puzzle::Generator>, String> {
    let mut out = Vec::new();
    for a in 0..starts {
        for b in a + 1..n {
            for c in (a + 1..n).filter(|&c| c != b) {
                let cycle = vec![a, b, c];
                out.push(from_cycles(joined(&cycle, " "), n, &[cycle])?);
            }
        }
    }
    Ok(out)
}
