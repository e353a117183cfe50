//! All pairs of states by Floyd and Warshall, counted one by one.

use std::collections::BTreeMap;

/// Everything about all pairs, found without any idea.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllPairs {
    /// All states, ascending.
    pub states: Vec<Vec<u16>>,
    /// `distance[u][v]`; `None` where there is no way.
    pub distance: Vec<Vec<Option<u32>>>,
    pub diameter: u32,
    /// The smallest greatest distance from a state.
    pub radius: u32,
    /// States by greatest distance from them.
    pub eccentricities: Vec<u128>,
    /// Ordered pairs by distance, `u = v` included.
    pub distances: Vec<u128>,
    /// All `(u, v)` at distance `diameter`, ascending.
    pub ordered: Vec<(usize, usize)>,
    /// Number of `{u, v}` at this distance one way or the other.
    pub unordered: u128,
}

/// All pairs of the orbits of `roots`; generators as in [`crate::levels`].
pub fn all_pairs(generators: &[Vec<u16>], roots: &[Vec<u16>]) -> AllPairs {
    let mut states: Vec<Vec<u16>> = crate::levels(generators, roots, None).concat();
    states.sort();
    let number: BTreeMap<&[u16], usize> = states
        .iter()
        .enumerate()
        .map(|(i, s)| (s.as_slice(), i))
        .collect();
    let n = states.len();
    let mut distance = vec![vec![None; n]; n];
    for (u, state) in states.iter().enumerate() {
        for p in generators {
            let moved: Vec<u16> = p.iter().map(|&i| state[usize::from(i)]).collect();
            distance[u][number[moved.as_slice()]] = Some(1);
        }
        distance[u][u] = Some(0);
    }
    for k in 0..n {
        for u in 0..n {
            let Some(first) = distance[u][k] else {
                continue;
            };
            for v in 0..n {
                if let Some(second) = distance[k][v]
                    && distance[u][v].is_none_or(|d| first + second < d)
                {
                    distance[u][v] = Some(first + second);
                }
            }
        }
    }
    let greatest: Vec<u32> = distance
        .iter()
        .map(|row| row.iter().flatten().copied().max().unwrap_or(0))
        .collect();
    let diameter = greatest.iter().copied().max().unwrap_or(0);
    let pairs = || (0..n).flat_map(|u| (0..n).map(move |v| (u, v)));
    let far = |u: usize, v: usize| distance[u][v] == Some(diameter);
    let count = |list: &mut dyn Iterator<Item = u32>| {
        let mut out = vec![0u128; diameter as usize + 1];
        list.for_each(|d| out[d as usize] += 1);
        out
    };
    AllPairs {
        diameter,
        radius: greatest.iter().copied().min().unwrap_or(0),
        eccentricities: count(&mut greatest.iter().copied()),
        distances: count(&mut pairs().filter_map(|(u, v)| distance[u][v])),
        ordered: pairs().filter(|&(u, v)| far(u, v)).collect(),
        unordered: pairs()
            .filter(|&(u, v)| u <= v && (far(u, v) || far(v, u)))
            .count() as u128,
        states,
        distance,
    }
}
