//! Words: the permutations they are (`compose.wgsl`), and what they make of states (`gather.wgsl`).

use super::rows::{pack, pairs, row_bytes, unpack};
use super::{Kernels, blocks};
use crate::error::GpuError;
use crate::pace::Pace;
use crate::vulkan::Place;
use antipode_solver_core::perm::Perm;
use antipode_solver_core::states::{States, distances, words};

/// Letters of a word in one dispatch; longer words take several.
const PIECE_LETTERS: usize = 1024;

impl Kernels {
    /// As [`words::compose`].
    ///
    /// # Errors
    /// Its own, and those of the device.
    pub fn compose(
        &self,
        degree: usize,
        generators: &[Perm],
        words: &[Vec<u16>],
    ) -> Result<States, GpuError> {
        let mut table = States::new(degree)?;
        words::check(degree, generators, words)?;
        for generator in generators {
            table.push(generator.images())?;
        }
        let pairs = pairs(degree);
        let fits = self.rows_that_fit("a permutation", row_bytes(degree))?;
        // Empty words need a table too, of whatever.
        self.rows_that_fit(
            "the generators",
            table.len().max(1) as u64 * row_bytes(degree),
        )?;
        let table = self.upload(&pack(&table, 0..generators.len()))?;
        let piece = PIECE_LETTERS.min(self.rows_that_fit("a letter", 4)?);
        let most = fits
            .min(self.rows_that_fit("a word's letters", 4 * piece as u64)?)
            .min(self.rows_that_fit("two numbers", 8)?);
        let mut labels = vec![0; words.len() * degree];
        let mut pace = Pace::new((pairs * piece) as u64);
        for block in blocks(words.len(), most) {
            let here = &words[block.clone()];
            let points = self.device.buffer(here.len() * pairs, Place::Device)?;
            let longest = here.iter().map(Vec::len).max().unwrap_or(0);
            for k in 0..longest.div_ceil(piece).max(1) {
                let (letters, starts) = pieces(here, k * piece, piece);
                let letters = self.upload(&letters)?;
                let starts = self.upload(&starts)?;
                self.dispatch(
                    &self.compose,
                    &[&table, &letters, &starts, &points],
                    here.len() as u64,
                    pairs as u64,
                    &mut pace,
                    |first, count| {
                        vec![pairs as u32, degree as u32, first, count, u32::from(k == 0)]
                    },
                )?;
            }
            let out = self.download(&points, here.len() * pairs)?;
            let labels = &mut labels[block.start * degree..block.end * degree];
            unpack(&out, degree, labels);
        }
        Ok(States::of(degree, labels)?)
    }

    /// As [`words::apply`].
    ///
    /// # Errors
    /// Its own, and those of the device.
    pub fn apply(&self, words: &States, states: &States) -> Result<States, GpuError> {
        words::permutations(words)?;
        distances::check(states, words)?;
        let degree = states.degree();
        let pairs = pairs(degree);
        let fits = self.rows_that_fit("a state", row_bytes(degree))?;
        let most_states = fits.min(states.len().max(1));
        let mut labels = vec![0; words.len() * states.len() * degree];
        let mut pace = Pace::new(2 * pairs as u64);
        for of_states in blocks(states.len(), most_states) {
            let count = of_states.len();
            let from = self.upload(&pack(states, of_states.clone()))?;
            for of_words in blocks(words.len(), fits / count) {
                let rows = of_words.len() * count;
                let table = self.upload(&pack(words, of_words.clone()))?;
                let to = self.device.buffer(rows * pairs, Place::Device)?;
                self.dispatch(
                    &self.gather,
                    &[&from, &table, &to],
                    rows as u64,
                    pairs as u64,
                    &mut pace,
                    |first, rows| vec![pairs as u32, degree as u32, count as u32, first, rows],
                )?;
                let made = self.download(&to, rows * pairs)?;
                for (word, made) in of_words.zip(made.chunks_exact(count * pairs)) {
                    let first = (word * states.len() + of_states.start) * degree;
                    unpack(made, degree, &mut labels[first..first + count * degree]);
                }
            }
        }
        Ok(States::of(degree, labels)?)
    }
}

/// The letters of every word from `skip` before its end on, at most `most`, last letter first; and where each word's begin.
fn pieces(words: &[Vec<u16>], skip: usize, most: usize) -> (Vec<u32>, Vec<u32>) {
    let mut letters = Vec::new();
    let mut starts = vec![0];
    for word in words {
        let piece = word.iter().rev().skip(skip).take(most);
        letters.extend(piece.map(|&letter| u32::from(letter)));
        starts.push(letters.len() as u32);
    }
    (letters, starts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_cut_from_their_end() {
        let words = [vec![1, 2, 3, 4, 5], vec![], vec![6, 7]];
        assert_eq!(pieces(&words, 0, 2), (vec![5, 4, 7, 6], vec![0, 2, 2, 4]));
        assert_eq!(pieces(&words, 2, 2), (vec![3, 2], vec![0, 2, 2, 2]));
        assert_eq!(pieces(&words, 4, 2), (vec![1], vec![0, 1, 1, 1]));
    }
}
