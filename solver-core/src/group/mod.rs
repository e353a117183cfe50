//! Permutation groups: orbits of points, stabiliser chains, orbits of colour classes.

pub mod chain;
pub mod colouring;
pub mod rng;

use crate::perm::Perm;

/// The orbits of `0..degree` under the generators, each ascending, in order of their first point.
pub fn orbits(degree: usize, generators: &[Perm]) -> Vec<Vec<u16>> {
    let mut leader: Vec<usize> = (0..degree).collect();
    fn find(leader: &mut [usize], mut i: usize) -> usize {
        while leader[i] != i {
            leader[i] = leader[leader[i]];
            i = leader[i];
        }
        i
    }
    for p in generators {
        for i in 0..degree {
            let (a, b) = (find(&mut leader, i), find(&mut leader, p.at(i)));
            let (low, high) = (a.min(b), a.max(b));
            leader[high] = low;
        }
    }
    let mut out: Vec<Vec<u16>> = Vec::new();
    let mut place = vec![usize::MAX; degree];
    for i in 0..degree {
        let l = find(&mut leader, i);
        if place[l] == usize::MAX {
            place[l] = out.len();
            out.push(Vec::new());
        }
        out[place[l]].push(i as u16);
    }
    out
}
