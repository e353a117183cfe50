//! Exact distances and least shortest words of given states, from distances modulo 3.

use super::PackedDistances;
use super::paths::{self, Place};
use super::walk;
use crate::puzzle::State;
use crate::space::Space;
use crate::terms::{Level, ShardId};
use rayon::prelude::*;
use std::sync::Arc;

/// Walks that are taken together where distances lie in memory: enough to overlap their cache misses.
const TOGETHER: usize = 128;

/// What is asked about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Question {
    /// A labelling.
    State(State),
    /// The state that a list of generator numbers makes of the first root, applied from left to right.
    Word(Vec<u16>),
}

/// What is known about a state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Number of moves from the nearest root.
    pub distance: Level,
    /// The lexicographically least shortest word (generator order) from a root to the state: generator
    /// numbers, applied from left to right.
    pub word: Vec<u16>,
}

/// Where distances modulo 3 come from: this process, or others.
pub trait Residues: Sync {
    /// Appends the distance modulo 3 of every place, in order. An error is the answer to every question
    /// that needed one of them.
    fn residues(&self, places: &[(ShardId, u32)], out: &mut Vec<u8>) -> Result<(), String>;

    /// How many questions are walked together, so that their places come in one call. One
    /// call a step serves all of them; where a call is expensive this should be large.
    fn together(&self) -> usize {
        TOGETHER
    }
}

/// Distances by shard number; `None` for shards that are not at hand.
impl Residues for [Option<Arc<PackedDistances>>] {
    fn residues(&self, places: &[(ShardId, u32)], out: &mut Vec<u8>) -> Result<(), String> {
        for &(shard, position) in places {
            let Some(Some(distances)) = self.get(shard.0 as usize) else {
                return Err(format!("the distances of shard {shard} are not at hand"));
            };
            let Some(residue) = distances.get(position) else {
                return Err(format!(
                    "the distances of shard {shard} have no position {position}"
                ));
            };
            out.push(residue);
        }
        Ok(())
    }
}

impl Residues for Vec<Option<Arc<PackedDistances>>> {
    fn residues(&self, places: &[(ShardId, u32)], out: &mut Vec<u8>) -> Result<(), String> {
        self.as_slice().residues(places, out)
    }
}

/// One answer a question; parallel in the rayon pool it is called in.
pub(crate) fn query(
    space: &dyn Space,
    source: &dyn Residues,
    last: Level,
    questions: &[Question],
) -> Vec<Result<Answer, String>> {
    if space.is_directed() {
        let why = "the generators are not closed under inverse: distances modulo 3 do not lead to a root, the kept levels do";
        return questions.iter().map(|_| Err(why.to_string())).collect();
    }
    let roots = roots(space);
    let together = source.together().max(1);
    let answers: Vec<Vec<Result<Answer, String>>> = questions
        .par_chunks(together)
        .map(|some| chunk(space, source, last, &roots, some))
        .collect();
    answers.into_iter().flatten().collect()
}

/// The roots' places, ascending.
pub(super) fn roots(space: &dyn Space) -> Vec<Place> {
    let mut roots: Vec<Place> = space
        .root_places()
        .into_iter()
        .map(|(s, p)| paths::place(s, p))
        .collect();
    roots.sort_unstable();
    roots.dedup();
    roots
}

/// Where a question begins: all places of its state.
pub(super) fn places(
    space: &dyn Space,
    question: &Question,
) -> Result<Vec<(ShardId, u32)>, String> {
    match question {
        _ if space.geometry(ShardId(0)).blocks == 0 => {
            Err("the states have no index (sparse kind): only counts are known of them".to_string())
        }
        Question::State(state) => {
            let places = space.places_of(state);
            if places.is_empty() {
                return Err("the state is not in the space".to_string());
            }
            Ok(places)
        }
        Question::Word(word) => {
            let moves = space.moves();
            if let Some(wrong) = word.iter().find(|&&m| usize::from(m) >= moves) {
                return Err(format!(
                    "generator {wrong} is not one of the {moves} generators, which are numbered from 0"
                ));
            }
            let root = space.root_places().first().copied();
            let root = root.ok_or_else(|| "the space has no root".to_string())?;
            Ok(vec![word.iter().fold(root, |(s, p), &m| {
                space.step(s, p, usize::from(m), false)
            })])
        }
    }
}

/// Some questions together: where the space is a group, walked in step; others one by one.
fn chunk(
    space: &dyn Space,
    source: &dyn Residues,
    last: Level,
    roots: &[Place],
    questions: &[Question],
) -> Vec<Result<Answer, String>> {
    let mut answers: Vec<Option<Result<Answer, String>>> = vec![None; questions.len()];
    let mut walks = Vec::with_capacity(questions.len());
    for (k, question) in questions.iter().enumerate() {
        match places(space, question) {
            Err(why) => answers[k] = Some(Err(why)),
            Ok(places) => match places.as_slice() {
                [(s, p)] if let Some(mirror) = space.mirror(*s, *p) => walks.push((k, mirror)),
                _ => {
                    let one = |&(s, p): &(ShardId, u32)| {
                        paths::downhill(space, source, last, roots, paths::place(s, p))
                    };
                    answers[k] = Some(best(places.iter().map(one)));
                }
            },
        }
    }
    let starts: Vec<(ShardId, u32)> = walks.iter().map(|(_, at)| *at).collect();
    let walked = walk::down(space, source, last, roots, &starts);
    for ((k, _), answer) in walks.into_iter().zip(walked) {
        answers[k] = Some(answer);
    }
    answers
        .into_iter()
        .map(|a| a.unwrap_or_else(|| Err("the question was not answered".to_string())))
        .collect()
}

/// The shortest, then least, of the answers for the places of one state.
pub(super) fn best(
    answers: impl Iterator<Item = Result<Answer, String>>,
) -> Result<Answer, String> {
    let mut best: Option<Answer> = None;
    for answer in answers {
        let answer = answer?;
        if best
            .as_ref()
            .is_none_or(|b| (answer.distance, &answer.word) < (b.distance, &b.word))
        {
            best = Some(answer);
        }
    }
    best.ok_or_else(|| "the state is not in the space".to_string())
}
