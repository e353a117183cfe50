//! Permutation groups: orbits and stabiliser chains.
