//! Batches of words: the permutations they are, what they make of states, their cycles and orders.

use super::{States, StatesError};
use crate::perm::Perm;
use num_bigint::BigUint;
use rayon::prelude::*;

/// Checks that every letter of every word is a generator, and that the generators are as long as each other.
///
/// # Errors
/// The first word with a letter that is none; generators of different lengths.
pub fn check(degree: usize, generators: &[Perm], words: &[Vec<u16>]) -> Result<(), StatesError> {
    for (at, generator) in generators.iter().enumerate() {
        if generator.len() != degree {
            return Err(StatesError::Length {
                at,
                labels: generator.len(),
                degree,
            });
        }
    }
    for (at, word) in words.iter().enumerate() {
        let wrong = word
            .iter()
            .find(|&&letter| usize::from(letter) >= generators.len());
        if let Some(&generator) = wrong {
            return Err(StatesError::NoGenerator {
                at,
                generator,
                generators: generators.len(),
            });
        }
    }
    Ok(())
}

/// The product of every word's letters, from left to right, as a row of images.
///
/// # Errors
/// Those of [`check`], and of [`States::new`] for `degree`.
pub fn compose(
    degree: usize,
    generators: &[Perm],
    words: &[Vec<u16>],
) -> Result<States, StatesError> {
    let empty = States::new(degree)?;
    check(degree, generators, words)?;
    let product = |word: &Vec<u16>| {
        let letters = word.iter().map(|&letter| &generators[usize::from(letter)]);
        letters.fold(Perm::identity(degree), |product, letter| {
            product.then(letter)
        })
    };
    let products: Vec<Perm> = words.par_iter().map(product).collect();
    let labels = products.iter().flat_map(|p| p.images()).copied().collect();
    Ok(States { labels, ..empty })
}

/// Every word, as a row of images, applied to every state: row `w * states.len() + s` is state `s` after word `w`.
///
/// # Errors
/// Words that are no permutations, or of another length than the states.
pub fn apply(words: &States, states: &States) -> Result<States, StatesError> {
    permutations(words)?;
    super::distances::check(states, words)?;
    let mut out = States::new(states.degree())?;
    out.labels = words
        .labels
        .par_chunks_exact(words.degree)
        .flat_map_iter(|word| {
            states.rows().flat_map(move |state| {
                word.iter()
                    .map(move |&position| state[usize::from(position)])
            })
        })
        .collect();
    Ok(out)
}

/// The cycles of every word: at each point that is the least of its cycle the cycle's length, 0 elsewhere.
///
/// # Errors
/// A row that is no permutation.
pub fn cycles(words: &States) -> Result<Vec<u32>, StatesError> {
    permutations(words)?;
    let mut out = vec![0; words.labels.len()];
    out.par_chunks_mut(words.degree)
        .zip(words.labels.par_chunks_exact(words.degree))
        .for_each(|(lengths, word)| {
            let mut seen = vec![false; word.len()];
            for start in 0..word.len() {
                let mut at = start;
                while !seen[at] {
                    seen[at] = true;
                    at = usize::from(word[at]);
                    lengths[start] += 1;
                }
            }
        });
    Ok(out)
}

/// The order of every word: the least common multiple of its cycles, as [`cycles`] gives them.
pub fn orders(degree: usize, cycles: &[u32]) -> Vec<BigUint> {
    cycles.par_chunks_exact(degree.max(1)).map(order).collect()
}

fn order(lengths: &[u32]) -> BigUint {
    let mut different: Vec<u32> = lengths.iter().copied().filter(|&l| l > 1).collect();
    different.sort_unstable();
    different.dedup();
    let mut order = BigUint::from(1u32);
    for length in different {
        // The remainder is below 2^32, because the length is.
        let rest: u32 = (&order % length).try_into().unwrap_or(0);
        order *= length / gcd(length, rest);
    }
    order
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Checks that every row is a permutation.
///
/// # Errors
/// The first row that is none.
pub fn permutations(words: &States) -> Result<(), StatesError> {
    let wrong = |(at, word): (usize, &[u16])| {
        let mut seen = vec![false; word.len()];
        let value = word.iter().copied().find(|&value| {
            seen.get_mut(usize::from(value))
                .is_none_or(|seen| std::mem::replace(seen, true))
        });
        value.map(|value| StatesError::NoPermutation { at, value })
    };
    let rows = words.labels.par_chunks_exact(words.degree).enumerate();
    match rows.find_map_first(wrong) {
        Some(error) => Err(error),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::puzzle::{PuzzleOptions, resolve};
    use serde_json::Value;

    fn moves(spec: &str) -> Vec<Perm> {
        let puzzle = resolve(spec, &PuzzleOptions::default()).expect("a known puzzle");
        let generators = puzzle.generators().iter();
        generators.map(|g| g.perm.clone()).collect()
    }

    #[test]
    fn the_orders_of_cayley_r() {
        let text = include_str!("../../../tests/data/cayleyR/topspin.json");
        let vectors: Value = serde_json::from_str(text).expect("JSON");
        let rows = vectors["word_orders"].as_array().expect("a list");
        assert_eq!(rows.len(), 80);
        for row in rows {
            let number = |name: &str| row[name].as_u64().expect("a number") as usize;
            let (n, k) = (number("n"), number("k"));
            // 1 shifts to the left, 2 to the right, 3 reverses the first k.
            let shift = |by: usize| -> Vec<u64> { (0..n).map(|i| ((i + by) % n) as u64).collect() };
            let reversed = (0..n).map(|i| if i < k { k - 1 - i } else { i } as u64);
            let generators = [shift(1), shift(n - 1), reversed.collect()]
                .map(|images| Perm::from_images(&images).expect("a permutation"));
            let word = row["word"].as_str().expect("a word").split(' ');
            let word: Vec<u16> = word
                .map(|l| l.parse::<u16>().expect("1, 2, 3") - 1)
                .collect();
            let product = compose(n, &generators, &[word]).expect("a word");
            let images = row["perm_1based"].as_array().expect("a list").iter();
            let images: Vec<u16> = images
                .map(|x| x.as_u64().expect("a number") as u16 - 1)
                .collect();
            assert_eq!(product.row(0), images, "{row}");
            let order = orders(n, &cycles(&product).expect("a permutation"));
            assert_eq!(order, [BigUint::from(number("order"))], "{row}");
        }
    }

    #[test]
    fn the_order_of_sexy_move_and_its_cycles() {
        let generators = moves("cube:3");
        let puzzle = resolve("cube:3", &PuzzleOptions::default()).expect("a known puzzle");
        let letter = |name: &str| {
            let at = puzzle.generators().iter().position(|g| g.name == name);
            at.expect("a generator") as u16
        };
        let word: Vec<u16> = ["R", "U", "R'", "U'"].map(letter).to_vec();
        let degree = puzzle.degree();
        let product = compose(degree, &generators, &[word.clone(), vec![]]).expect("words");
        let lengths = cycles(&product).expect("permutations");
        assert_eq!(orders(degree, &lengths), [6u32, 1].map(BigUint::from));
        assert_eq!(lengths.iter().sum::<u32>() as usize, 2 * degree);
        // Letter by letter it is the same.
        let root = &puzzle.roots()[0];
        let mut state = root.to_vec();
        for &letter in &word {
            state = generators[usize::from(letter)].apply(&state);
        }
        let states = States::of(degree, root.to_vec()).expect("a state");
        let made = apply(&product, &states).expect("of one puzzle");
        assert_eq!(made.row(0), state);
        assert_eq!(made.row(1), &root[..]);
    }

    #[test]
    fn orders_beyond_64_bits() {
        // Cycles of the first sixteen primes: 381 points.
        let primes = [
            2u16, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53,
        ];
        let mut images = Vec::new();
        for prime in primes {
            let first = images.len() as u16;
            images.extend((0..prime).map(|i| first + (i + 1) % prime));
        }
        let degree = images.len();
        let word = States::of(degree, images).expect("a row");
        let order = orders(degree, &cycles(&word).expect("a permutation"));
        let product: BigUint = primes.iter().map(|&p| BigUint::from(p)).product();
        assert!(product.bits() > 64);
        assert_eq!(order, [product]);
    }

    #[test]
    fn what_is_no_word_is_refused() {
        let generators = moves("lrx:5");
        assert_eq!(
            compose(5, &generators, &[vec![0], vec![1, 3]]),
            Err(StatesError::NoGenerator {
                at: 1,
                generator: 3,
                generators: 3
            })
        );
        assert!(compose(6, &generators, &[]).is_err());
        let twice = States::of(3, vec![0, 1, 2, 0, 2, 2]).expect("rows");
        let error = StatesError::NoPermutation { at: 1, value: 2 };
        assert_eq!(cycles(&twice), Err(error.clone()));
        assert_eq!(apply(&twice, &twice), Err(error));
        let large = States::of(2, vec![0, 2]).expect("a row");
        assert!(cycles(&large).is_err());
    }
}
