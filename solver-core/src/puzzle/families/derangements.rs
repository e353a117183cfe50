//! Families of permutations that leave no position alone.

use super::{Build, Family, arrangements, from_cycles, generator, need};

pub(super) fn families() -> Vec<Family> {
    vec![
        Family {
            name: "derangements",
            aliases: &[],
            params: &[const { need("N", 2, 8) }],
            example: "5",
            about: "N labels; any permutation that leaves no position alone",
            naming: "Dk is the k-th permutation in lexicographic order, counted from 0",
            build: Build::List(|p| {
                let items: Vec<usize> = (0..p[0]).collect();
                arrangements(&items)
                    .into_iter()
                    .enumerate()
                    .filter(|(_, images)| images.iter().enumerate().all(|(i, &j)| i != j))
                    .map(|(k, images)| generator(format!("D{k}"), images))
                    .collect()
            }),
        },
        Family {
            name: "involutive-derangements",
            aliases: &[],
            params: &[const { need("N", 2, 12) }],
            example: "6",
            about: "N labels, N even; swap them all in pairs, in any pairing",
            naming: "IDk is the k-th pairing in lexicographic order, counted from 1",
            build: Build::List(|p| {
                if !p[0].is_multiple_of(2) {
                    return Err(format!(
                        "N = {} must be even, since all labels are swapped in pairs",
                        p[0]
                    ));
                }
                let items: Vec<usize> = (0..p[0]).collect();
                let pairings = pairings(&items).into_iter().enumerate();
                pairings
                    .map(|(k, pairs)| from_cycles(format!("ID{}", k + 1), p[0], &pairs))
                    .collect()
            }),
        },
    ]
}

/// All ways to put `items` into pairs, the first with each other one in turn.
fn pairings(items: &[usize]) -> Vec<Vec<Vec<usize>>> {
    let Some((&first, others)) = items.split_first() else {
        return vec![Vec::new()];
    };
    let mut out = Vec::new();
    for (k, &partner) in others.iter().enumerate() {
        let rest = [&others[..k], &others[k + 1..]].concat();
        for tail in pairings(&rest) {
            out.push([vec![vec![first, partner]], tail].concat());
        }
    }
    out
}
