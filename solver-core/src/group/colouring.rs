//! Number of states of a colouring, from the group alone: orbits of colour classes.

use super::chain::{Chain, ChainTooLarge};
use crate::perm::Perm;
use num_bigint::BigUint;
use std::collections::{BTreeMap, HashMap};

/// Orbits of colour classes with more sets than this are not enumerated.
const SETS_MAX: usize = 1_200_000;
/// The search for the stabiliser gives up with this many elements or partial ones.
const STABILISER_MAX: usize = 2_000;

/// The order of the group and the number of states of a colouring, with the way it is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateCount {
    pub group_order: BigUint,
    /// `None`: not proved.
    pub states: Option<BigUint>,
    pub proof: String,
    /// Every arrangement of the labels on the moved positions is a state.
    pub is_multinomial: bool,
}

/// n! as a big number.
fn factorial(n: usize) -> BigUint {
    (1..=n).map(BigUint::from).product()
}

/// Number of states of `root` under the group `<generators>` with this verified chain.
///
/// The states are the cosets of the subgroup that keeps the colouring. Where the group is the
/// alternating or symmetric group on its moved positions the number is a multinomial coefficient;
/// a small stabiliser is found element by element; otherwise the colour classes are stabilised in
/// turn, each orbit of sets enumerated, and each stabiliser proved by its order.
pub fn count_states(
    chain: &Chain,
    generators: &[Perm],
    root: &[u16],
) -> Result<StateCount, ChainTooLarge> {
    let (degree, group_order) = (chain.degree(), &chain.order());
    let done = |states: Option<BigUint>, proof: &str| {
        let proof = proof.to_string();
        Ok(StateCount {
            group_order: group_order.clone(),
            states,
            proof,
            is_multinomial: false,
        })
    };
    let mut classes: BTreeMap<u16, Vec<u16>> = BTreeMap::new();
    for (i, &c) in root.iter().enumerate() {
        classes.entry(c).or_default().push(i as u16);
    }
    let moved: Vec<bool> = (0..degree)
        .map(|i| generators.iter().any(|g| g.at(i) != i))
        .collect();
    let moved_points = moved.iter().filter(|&&m| m).count();
    let sizes: Vec<usize> = classes
        .values()
        .map(|class| class.iter().filter(|&&i| moved[usize::from(i)]).count())
        .collect();
    if sizes.iter().all(|&s| s <= 1) {
        return done(
            Some(group_order.clone()),
            "order of the group by a verified stabiliser chain",
        );
    }
    let full = factorial(moved_points);
    if *group_order == full || (group_order * 2u32 == full) {
        let multinomial = sizes.iter().fold(full, |n, &s| n / factorial(s));
        let count = done(
            Some(multinomial),
            "multinomial coefficient: the group is alternating or symmetric on the moved positions (verified stabiliser chain)",
        )?;
        return Ok(StateCount {
            is_multinomial: true,
            ..count
        });
    }
    if let Some(stabiliser) = chain.elements_between(root, root, STABILISER_MAX) {
        return done(
            Some(group_order / stabiliser.len()),
            "orbit-stabiliser: all elements that keep the colouring, found along a verified stabiliser chain",
        );
    }
    let mut generators: Vec<Perm> = generators.to_vec();
    let mut order = group_order.clone();
    let mut states = BigUint::from(1u32);
    // Small classes first: their orbits of sets are short. The largest class follows from the rest.
    let mut list: Vec<&Vec<u16>> = classes.values().collect();
    list.sort_by_key(|class| class.len());
    list.pop();
    for class in list {
        let Some((length, stabiliser)) = set_orbit(degree, &generators, class, &order)? else {
            return done(
                None,
                "orbit size not proved: too many sets of positions to enumerate",
            );
        };
        states *= length;
        order /= length;
        generators = stabiliser;
    }
    done(
        Some(states),
        "orbit-stabiliser: colour classes stabilised in turn, stabilisers proved by order",
    )
}

/// Length of the orbit of a set of positions, and generators of its stabiliser whose chain has
/// the order `order / length`; `None` if the orbit is too long.
fn set_orbit(
    degree: usize,
    generators: &[Perm],
    set: &[u16],
    order: &BigUint,
) -> Result<Option<(u64, Vec<Perm>)>, ChainTooLarge> {
    let width = degree.div_ceil(64);
    let pack = |points: &mut dyn Iterator<Item = usize>| {
        let mut bits = vec![0u64; width];
        points.for_each(|i| bits[i / 64] |= 1 << (i % 64));
        bits.into_boxed_slice()
    };
    let inverses: Vec<Perm> = generators.iter().map(Perm::inverse).collect();
    let first = pack(&mut set.iter().map(|&i| usize::from(i)));
    let mut places: HashMap<Box<[u64]>, u32> = HashMap::from([(first.clone(), 0)]);
    let mut sets = vec![first];
    // How each set was first reached: from which set, by which generator.
    let mut parents: Vec<(u32, u16)> = vec![(0, 0)];
    let mut edges: Vec<(u32, u16, u32)> = Vec::new();
    let mut rng = super::rng::SplitMix(7);
    let mut at = 0;
    let mut seen_edges = 0usize;
    while at < sets.len() {
        let points: Vec<usize> = (0..degree)
            .filter(|i| sets[at][i / 64] >> (i % 64) & 1 == 1)
            .collect();
        for (g, inverse) in inverses.iter().enumerate() {
            let image = pack(&mut points.iter().map(|&i| inverse.at(i)));
            let next = sets.len() as u32;
            let to = *places.entry(image.clone()).or_insert(next);
            if to == next {
                if sets.len() >= SETS_MAX {
                    return Ok(None);
                }
                sets.push(image);
                parents.push((at as u32, g as u16));
            } else {
                // A reservoir of edges outside the tree: each gives a Schreier generator.
                seen_edges += 1;
                if edges.len() < 4096 {
                    edges.push((at as u32, g as u16, to));
                } else {
                    let k = rng.below(seen_edges);
                    if k < edges.len() {
                        edges[k] = (at as u32, g as u16, to);
                    }
                }
            }
        }
        at += 1;
    }
    let length = sets.len() as u64;
    let wanted = order / length;
    let reach = |mut k: u32| {
        let mut word = Vec::new();
        while k != 0 {
            let (parent, g) = parents[k as usize];
            word.push(g);
            k = parent;
        }
        word.iter().rev().fold(Perm::identity(degree), |s, &g| {
            s.then(&generators[usize::from(g)])
        })
    };
    // Random Schreier generators; orbit lengths of the chain say when they suffice.
    let mut found: Vec<Perm> = Vec::new();
    let mut complete = wanted == BigUint::from(1u32);
    for (from, g, to) in shuffled(edges, &mut rng) {
        if complete {
            break;
        }
        let schreier = reach(from)
            .then(&generators[usize::from(g)])
            .then(&reach(to).inverse());
        if !schreier.is_identity() && !found.contains(&schreier) {
            found.push(schreier);
            if found.len() >= 4 {
                complete = Chain::reaches(degree, &found, &wanted)?;
            }
        }
    }
    if !complete {
        complete = Chain::reaches(degree, &found, &wanted)?;
    }
    Ok(complete.then_some((length, found)))
}

fn shuffled<T>(mut list: Vec<T>, rng: &mut super::rng::SplitMix) -> Vec<T> {
    for i in (1..list.len()).rev() {
        list.swap(i, rng.below(i + 1));
    }
    list
}
