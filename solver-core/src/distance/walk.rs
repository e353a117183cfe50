//! Walks down to the root in a space whose states are the elements of a group and whose one root is
//! its identity.
//!
//! A word `g1 g2 .. gd` that makes `s` of the identity leads from the inverse of `s` back to the
//! identity, and the inverse has the same distance. So the word is read off in order from the inverse:
//! the least generator that leads nearer is the next letter of the least word. No sets are needed.

use super::paths::{Place, place};
use super::query::{Answer, Residues};
use crate::space::Space;
use crate::terms::{Level, ShardId};

struct Walk {
    at: (ShardId, u32),
    residue: u8,
    word: Vec<u16>,
    /// What happened to it, if it is not under way.
    end: Option<Result<(), String>>,
}

/// The words of the states whose inverses are `starts`, taken step by step together.
pub(super) fn down(
    space: &dyn Space,
    source: &dyn Residues,
    last: Level,
    roots: &[Place],
    starts: &[(ShardId, u32)],
) -> Vec<Result<Answer, String>> {
    let mut found = Vec::with_capacity(starts.len() * space.moves());
    if let Err(why) = source.residues(starts, &mut found) {
        return starts.iter().map(|_| Err(why.clone())).collect();
    }
    if found.len() != starts.len() {
        return starts.iter().map(|_| Err(unequal())).collect();
    }
    let mut walks: Vec<Walk> = starts
        .iter()
        .zip(&found)
        .map(|(&at, &residue)| Walk {
            at,
            residue,
            word: Vec::with_capacity(last as usize),
            end: None,
        })
        .collect();
    let mut wanted: Vec<(ShardId, u32)> = Vec::with_capacity(starts.len() * space.moves());
    let mut around: Vec<(ShardId, u32)> = Vec::with_capacity(space.moves());
    loop {
        wanted.clear();
        found.clear();
        for walk in walks.iter_mut().filter(|w| w.end.is_none()) {
            let (s, p) = walk.at;
            if walk.residue == 0 && roots.binary_search(&place(s, p)).is_ok() {
                walk.end = Some(Ok(()));
            } else if walk.word.len() >= last as usize {
                walk.end = Some(Err(no_way(walk.at)));
            } else {
                around.clear();
                space.neighbours(s, p, &mut around);
                wanted.append(&mut around);
            }
        }
        if wanted.is_empty() {
            break;
        }
        let asked = source.residues(&wanted, &mut found).and_then(|()| {
            if found.len() == wanted.len() {
                Ok(())
            } else {
                Err(unequal())
            }
        });
        let moves = space.moves();
        let neighbours = wanted.chunks_exact(moves).zip(found.chunks(moves));
        if let Err(why) = asked {
            for walk in walks.iter_mut().filter(|w| w.end.is_none()) {
                walk.end = Some(Err(why.clone()));
            }
            break;
        }
        for (walk, (places, residues)) in
            walks.iter_mut().filter(|w| w.end.is_none()).zip(neighbours)
        {
            let nearer = (walk.residue + 2) % 3;
            match residues.iter().position(|&r| r == nearer) {
                Some(m) => {
                    walk.at = places[m];
                    walk.residue = nearer;
                    walk.word.push(m as u16);
                }
                None => walk.end = Some(Err(no_way(walk.at))),
            }
        }
    }
    walks
        .into_iter()
        .map(|walk| {
            walk.end.unwrap_or(Ok(())).map(|()| Answer {
                distance: walk.word.len() as Level,
                word: walk.word,
            })
        })
        .collect()
}

fn unequal() -> String {
    "the source of distances answered with another number of distances".to_string()
}

pub(super) fn no_way((shard, position): (ShardId, u32)) -> String {
    format!(
        "the distances do not lead from position {position} of shard {shard} to a root: they are not those of this space; verify or make them again"
    )
}
