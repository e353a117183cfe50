//! Where the two sides of a search meet: all states half-way of one goal, and the least word through them.

use super::key::{Key, Renaming};
use super::run::Run;
use super::search::SearchError;
use super::symmetry::{Mirror, conjugate};
use crate::perm::Perm;
use rayon::prelude::*;

/// A state whose distance is asked for.
pub(super) struct Goal<K> {
    pub state: Perm,
    /// Renames by the inverse of the state.
    renaming: Renaming<K>,
    /// The same of its mirror image, where that is another state: `standard(inverse(s) * image(x))` is `standard(inverse(image(s)) * x)`.
    pub mirrored: Option<Renaming<K>>,
}

impl<K: Key> Goal<K> {
    pub fn new(state: Perm, mirror: Option<&Perm>) -> Goal<K> {
        Goal {
            renaming: Renaming::of(&state.inverse()),
            mirrored: mirror
                .map(|p| conjugate(p, &state))
                .filter(|image| *image != state)
                .map(|image| Renaming::of(&image.inverse())),
            state,
        }
    }
}

impl<K: Key> Run<'_, K> {
    /// The least word of radius + probe + outer moves that makes the goal, if there is one.
    pub(super) fn least(
        &self,
        goal: &Goal<K>,
        outer: &[K],
    ) -> Result<Option<Vec<u16>>, SearchError> {
        let mut best: Option<Vec<u16>> = None;
        for &w in outer {
            if (self.stop)() {
                return Ok(None);
            }
            let moved;
            let rest = if self.outer == 0 {
                goal
            } else {
                let images: Vec<u16> = (0..goal.state.len()).map(|i| w.label(i) as u16).collect();
                let w = Perm::from_images(&images).map_err(|_| SearchError::WrongWord)?;
                moved = Goal::new(w.inverse().then(&goal.state), self.mirror.as_ref());
                &moved
            };
            let middles = self.middles(rest);
            if middles.is_empty() {
                continue;
            }
            let (mut word, _) = self.ball.least_word(self.outer, &[w], &self.back);
            word.extend(self.word(rest, &middles)?);
            if best.as_ref().is_none_or(|b| word < *b) {
                best = Some(word);
            }
        }
        match &best {
            Some(word) if !self.makes(word, &goal.state) => Err(SearchError::WrongWord),
            _ => Ok(best),
        }
    }

    /// Does the word, of the length that is looked for, make the state?
    fn makes(&self, word: &[u16], state: &Perm) -> bool {
        self.product(word, state.len()) == *state
            && word.len() == self.ball.depth() + self.probe + self.outer
    }

    /// All `x` of the sphere with `inverse(x) * s` in the last level of the ball.
    fn middles(&self, goal: &Goal<K>) -> Vec<K> {
        let last = self.ball.level(self.ball.depth());
        let mirror = self.ball.mirror();
        let spheres = self.ball.level(self.probe).parts().par_iter();
        spheres
            .flat_map_iter(|keys| {
                let mut out = Vec::new();
                let (mut rests, mut hits) = (Vec::new(), Vec::new());
                for keys in keys.chunks(1024) {
                    if (self.stop)() {
                        break;
                    }
                    rests.clear();
                    rests.extend(keys.iter().map(|&x| self.rest(goal, x)));
                    hits.clear();
                    self.filter.members(&self.ball, last, &rests, &mut hits);
                    out.extend(hits.iter().map(|&hit| keys[hit]));
                    let Some(mirror) = mirror else { continue };
                    if goal.mirrored.is_some() {
                        rests.clear();
                        rests.extend(keys.iter().map(|&x| self.rest_of_image(goal, mirror, x)));
                        hits.clear();
                        self.filter.members(&self.ball, last, &rests, &mut hits);
                    }
                    out.extend(hits.iter().map(|&hit| mirror.image(keys[hit])));
                }
                out
            })
            .collect()
    }

    /// [`Run::rest`] of the mirror image of `x`, or its mirror image.
    fn rest_of_image(&self, goal: &Goal<K>, mirror: &Mirror<K>, x: K) -> K {
        match &goal.mirrored {
            Some(renaming) if self.closed => renaming.apply(x),
            _ => self.rest(goal, mirror.image(x)),
        }
    }

    /// `inverse(x) * s`, or its inverse where that is at the same distance.
    fn rest(&self, goal: &Goal<K>, x: K) -> K {
        if self.closed {
            goal.renaming.apply(x)
        } else {
            self.after(goal, x)
        }
    }

    /// `inverse(x) * s`: at the position where `s` has the label `x[i]` stands `i`.
    fn after(&self, goal: &Goal<K>, x: K) -> K {
        let inverse = goal.renaming.apply(x);
        (0..goal.state.len()).fold(K::default(), |key, i| key | K::put(i, inverse.label(i)))
    }

    /// The least word through one of the middles.
    fn word(&self, goal: &Goal<K>, middles: &[K]) -> Result<Vec<u16>, SearchError> {
        let (mut word, x) = self.ball.least_word(self.probe, middles, &self.back);
        let rest = self.after(goal, x);
        let (second, _) = self.ball.least_word(self.ball.depth(), &[rest], &self.back);
        word.extend(second);
        Ok(word)
    }
}
