//! Automorphisms of the graph that come from positions and labels, found and proved.
//!
//! A permutation `t` of the positions with `t p t^-1` in the list for every move `p`, and a renaming `r` of the
//! labels, carry the state `s` to `new[i] = r[s[t[i]]]`. Such a map takes edges to edges (with the moves permuted); it is an
//! automorphism of the graph if it takes every root to a state. Each one used is checked edge by edge on the
//! explicit graph, so classes rest on that and not on the search for candidates, which may miss some.

use super::graph::Graph;
use super::symmetry::Symmetry;
use crate::perm::Perm;
use crate::puzzle::Puzzle;
use rayon::prelude::*;

/// Partial position maps tried at most, and at most so many times positions times moves.
const TRIES_MAX: usize = 20_000;
const WORK_MAX: usize = 100_000_000;
/// Position maps kept.
const MAPS_MAX: usize = 100;
/// Up to so many labels all renamings are tried.
const LABELS_ALL: usize = 5;
/// Candidates that are carried out on the whole graph.
const CHECKS_MAX: usize = 64;

/// A candidate: positions `t` and labels `r`.
type Candidate = (Perm, Vec<u16>);

/// Classes of states that automorphisms carry into each other; every state for itself where none were found.
pub(super) fn classes(puzzle: &Puzzle, graph: &Graph) -> Symmetry {
    let mut leader: Vec<u32> = (0..graph.states()).collect();
    let (mut proved, mut checks) = (0, 0);
    for candidate in candidates(puzzle) {
        if checks == CHECKS_MAX {
            break;
        }
        if !keeps_roots(puzzle, graph, &candidate) || is_settled(graph, &leader, &candidate) {
            continue;
        }
        checks += 1;
        if let Some(map) = proved_map(graph, &candidate) {
            proved += 1;
            for (a, &b) in map.iter().enumerate() {
                unite(&mut leader, a as u32, b);
            }
        }
    }
    if proved == 0 {
        return Symmetry::none(
            "no automorphism of positions and labels was found: every state is searched from",
        );
    }
    for s in 0..leader.len() {
        leader[s] = find(&leader, s as u32);
    }
    let classes = (0u32..).zip(&leader).filter(|(s, l)| s == *l).count();
    let proof = format!(
        "{classes} of {} states are searched from: {proved} automorphisms, proved edge by edge, carry them to the others",
        graph.states()
    );
    Symmetry::new(leader, proof)
}

/// The smallest state of the class; parents are never larger than their children.
fn find(leader: &[u32], mut s: u32) -> u32 {
    while leader[s as usize] != s {
        s = leader[s as usize];
    }
    s
}

fn unite(leader: &mut [u32], a: u32, b: u32) {
    let (top_a, top_b) = (find(leader, a), find(leader, b));
    let top = top_a.min(top_b);
    // Everything on both ways points at the smallest one from now on, so that ways stay short.
    for mut s in [a, b] {
        loop {
            let next = std::mem::replace(&mut leader[s as usize], top);
            if next == s {
                break;
            }
            s = next;
        }
    }
}

fn image(candidate: &Candidate, labels: &[u16]) -> Vec<u16> {
    let (t, r) = candidate;
    t.images()
        .iter()
        .map(|&i| r[usize::from(labels[usize::from(i)])])
        .collect()
}

fn keeps_roots(puzzle: &Puzzle, graph: &Graph, candidate: &Candidate) -> bool {
    let mut roots = puzzle.roots().iter();
    roots.all(|root| graph.number(&image(candidate, root)).is_some())
}

/// Does the candidate join no classes among some sampled states? Then it is taken to be a product of earlier ones.
fn is_settled(graph: &Graph, leader: &[u32], candidate: &Candidate) -> bool {
    let mut rng = crate::group::rng::SplitMix(1);
    (0..64).all(|_| {
        let s = rng.below(graph.states() as usize) as u32;
        let to = graph.number(&image(candidate, &graph.state(s)));
        to.is_some_and(|to| find(leader, to) == find(leader, s))
    })
}

/// Where the candidate takes every state, if it is a bijection of the states that takes edges to edges, one move to one
/// move everywhere.
fn proved_map(graph: &Graph, candidate: &Candidate) -> Option<Vec<u32>> {
    let map: Vec<u32> = (0..graph.states())
        .into_par_iter()
        .map(|s| graph.number(&image(candidate, &graph.state(s))))
        .collect::<Option<_>>()?;
    let mut hit = vec![false; map.len()];
    map.iter().for_each(|&s| hit[s as usize] = true);
    let moves = graph.moves();
    let renamed = |g: usize| {
        (0..moves).find(|&h| {
            (0..graph.states())
                .into_par_iter()
                .all(|s| graph.after(map[s as usize])[h] == map[graph.after(s)[g] as usize])
        })
    };
    (hit.iter().all(|&h| h) && (0..moves).all(|g| renamed(g).is_some())).then_some(map)
}

/// Renamings with the positions kept first, then position maps with the renamings that suit them.
fn candidates(puzzle: &Puzzle) -> Vec<Candidate> {
    let root = &puzzle.roots()[0];
    let labels = puzzle.roots().iter().flat_map(|r| r.iter());
    let labels = usize::from(labels.copied().max().unwrap_or(0)) + 1;
    let same = Perm::identity(puzzle.degree());
    let renamings = renamings(root, labels);
    let mut out: Vec<Candidate> = renamings
        .iter()
        .skip(1)
        .map(|r| (same.clone(), r.clone()))
        .collect();
    for t in position_maps(puzzle) {
        if labels <= LABELS_ALL {
            out.extend(renamings.iter().map(|r| (t.clone(), r.clone())));
        } else {
            out.push((t.clone(), renamings[0].clone()));
            out.extend(back_to(root, &t.apply(root), labels).map(|r| (t, r)));
        }
    }
    out
}

/// Renamings of the labels that keep how often each occurs, the identity first: all of them for few labels, else
/// exchanges of neighbours in a class of equally frequent labels and products of two of those, which generate what is even.
fn renamings(root: &[u16], labels: usize) -> Vec<Vec<u16>> {
    let mut times = vec![0usize; labels];
    root.iter().for_each(|&l| times[usize::from(l)] += 1);
    let same: Vec<u16> = (0..labels as u16).collect();
    let mut out = vec![same.clone()];
    if labels <= LABELS_ALL {
        let mut next = same.clone();
        while advance(&mut next) {
            if (0..labels).all(|l| times[l] == times[usize::from(next[l])]) {
                out.push(next.clone());
            }
        }
        return out;
    }
    let mut class: Vec<u16> = same.clone();
    class.retain(|&l| times[usize::from(l)] > 0);
    class.sort_by_key(|&l| times[usize::from(l)]);
    let swaps: Vec<(u16, u16)> = class
        .windows(2)
        .filter(|w| times[usize::from(w[0])] == times[usize::from(w[1])])
        .map(|w| (w[0], w[1]))
        .collect();
    let swapped = |r: &[u16], (a, b): (u16, u16)| {
        let mut r = r.to_vec();
        r.swap(usize::from(a), usize::from(b));
        r
    };
    out.extend(swaps.iter().map(|&s| swapped(&same, s)));
    out.extend(
        swaps
            .windows(2)
            .map(|w| swapped(&swapped(&same, w[0]), w[1])),
    );
    out
}

/// The next permutation in lexicographic order, in place; false after the last.
fn advance(p: &mut [u16]) -> bool {
    let Some(i) = (1..p.len()).rev().find(|&i| p[i - 1] < p[i]) else {
        return false;
    };
    if let Some(j) = (i..p.len()).rev().find(|&j| p[j] > p[i - 1]) {
        p.swap(i - 1, j);
    }
    p[i..].reverse();
    true
}

/// The renaming that takes `moved` back to `root`, if one does.
fn back_to(root: &[u16], moved: &[u16], labels: usize) -> Option<Vec<u16>> {
    let mut r: Vec<Option<u16>> = vec![None; labels];
    for (&to, &from) in root.iter().zip(moved) {
        let place = &mut r[usize::from(from)];
        if place.is_some_and(|before| before != to) {
            return None;
        }
        *place = Some(to);
    }
    let full: Vec<u16> = (0u16..).zip(&r).map(|(l, to)| to.unwrap_or(l)).collect();
    Some(full)
}

/// Permutations of the positions, other than the identity, that conjugate the list of moves into itself and keep what no
/// move moves.
fn position_maps(puzzle: &Puzzle) -> Vec<Perm> {
    let moves: Vec<&Perm> = puzzle.generators().iter().map(|g| &g.perm).collect();
    let shape = |p: &Perm| {
        let mut lengths: Vec<usize> = p.cycles().iter().map(Vec::len).collect();
        lengths.sort_unstable();
        lengths
    };
    let mut search = PositionSearch {
        shapes: moves.iter().map(|p| shape(p)).collect(),
        moved: (0..puzzle.degree())
            .map(|i| moves.iter().any(|p| p.at(i) != i))
            .collect(),
        tries_left: TRIES_MAX.min(WORK_MAX / (moves.len() * puzzle.degree())),
        moves,
        found: Vec::new(),
    };
    let mut start: Partial = Partial {
        to: vec![None; puzzle.degree()],
        taken: vec![false; puzzle.degree()],
        partner: Vec::new(),
    };
    for i in (0..puzzle.degree()).filter(|&i| !search.moved[i]) {
        start.set(i, i);
    }
    search.extend(start);
    search.found.retain(|t| !t.is_identity());
    search.found
}

/// Images of some positions, and which move the first moves become.
#[derive(Clone)]
struct Partial {
    to: Vec<Option<u16>>,
    taken: Vec<bool>,
    partner: Vec<usize>,
}

impl Partial {
    fn set(&mut self, i: usize, to: usize) {
        self.to[i] = Some(to as u16);
        self.taken[to] = true;
    }
}

struct PositionSearch<'a> {
    moves: Vec<&'a Perm>,
    shapes: Vec<Vec<usize>>,
    moved: Vec<bool>,
    tries_left: usize,
    found: Vec<Perm>,
}

impl PositionSearch<'_> {
    /// Depth first: the next move gets its partner as soon as a position has its image, since each choice
    /// then carries images along whole orbits.
    fn extend(&mut self, partial: Partial) {
        if self.tries_left == 0 || self.found.len() >= MAPS_MAX {
            return;
        }
        self.tries_left -= 1;
        let some_known = (0..self.moved.len()).any(|i| self.moved[i] && partial.to[i].is_some());
        let next = partial.partner.len();
        if some_known && next < self.moves.len() {
            for k in 0..self.moves.len() {
                if self.shapes[k] == self.shapes[next] && !partial.partner.contains(&k) {
                    let mut more = partial.clone();
                    more.partner.push(k);
                    if self.carry(&mut more) {
                        self.extend(more);
                    }
                }
            }
        } else if let Some(i) = (0..self.moved.len()).find(|&i| partial.to[i].is_none()) {
            for to in 0..self.moved.len() {
                if self.moved[to] && !partial.taken[to] {
                    let mut more = partial.clone();
                    more.set(i, to);
                    if self.carry(&mut more) {
                        self.extend(more);
                    }
                }
            }
        } else {
            let images: Vec<u16> = partial.to.iter().map(|to| to.unwrap_or(0)).collect();
            self.found.extend(Perm::from_images(&images).ok());
        }
    }

    /// What follows: `t(p(i)) = q(t(i))` for every move `p` with partner `q`. False where that contradicts itself.
    fn carry(&self, partial: &mut Partial) -> bool {
        loop {
            let mut changed = false;
            for (p, &k) in self.moves.iter().zip(&partial.partner.clone()) {
                for i in 0..self.moved.len() {
                    let Some(to) = partial.to[i] else { continue };
                    let (from, to) = (p.at(i), self.moves[k].at(usize::from(to)));
                    match partial.to[from] {
                        Some(known) if usize::from(known) == to => {}
                        None if !partial.taken[to] => {
                            partial.set(from, to);
                            changed = true;
                        }
                        _ => return false,
                    }
                }
            }
            if !changed {
                return true;
            }
        }
    }
}
