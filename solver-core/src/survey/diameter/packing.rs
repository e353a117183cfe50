//! Labellings packed into words, so that comparing words compares labellings lexicographically.

/// How labels are packed: `bits` each, the first position in the highest bits of the first word. No label
/// straddles two words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Packing {
    degree: usize,
    bits: usize,
    per_word: usize,
}

impl Packing {
    /// For labellings of `degree` positions whose labels are at most `greatest`.
    pub fn new(degree: usize, greatest: u16) -> Packing {
        let bits = (16 - greatest.leading_zeros() as usize).max(1);
        Packing {
            degree,
            bits,
            per_word: 64 / bits,
        }
    }

    /// Words of a labelling.
    pub fn words(&self) -> usize {
        self.degree.div_ceil(self.per_word)
    }

    /// Packs `labels` into `words`.
    pub fn pack(&self, labels: &[u16], words: &mut [u64]) {
        for (word, labels) in words.iter_mut().zip(labels.chunks(self.per_word)) {
            let packed = labels
                .iter()
                .fold(0, |w, &label| w << self.bits | u64::from(label));
            // The last word is filled up from below, so that all words have their labels at the same places.
            *word = packed << ((self.per_word - labels.len()) * self.bits);
        }
    }

    /// The labels of `words`, into `labels`.
    pub fn unpack(&self, words: &[u64], labels: &mut [u16]) {
        let mask = (1u64 << self.bits) - 1;
        for (&word, labels) in words.iter().zip(labels.chunks_mut(self.per_word)) {
            let mut shift = self.per_word * self.bits;
            for label in labels {
                shift -= self.bits;
                *label = (word >> shift & mask) as u16;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_keep_labels_and_their_order() {
        for greatest in [0, 1, 2, 5, 255, 256, u16::MAX] {
            for degree in [1, 3, 4, 5, 20, 64, 65, 130] {
                let packing = Packing::new(degree, greatest);
                let mut rng = crate::group::rng::SplitMix(7);
                let mut packed = Vec::new();
                for _ in 0..40 {
                    let labels: Vec<u16> = (0..degree)
                        .map(|_| rng.below(usize::from(greatest) + 1) as u16)
                        .collect();
                    let mut words = vec![0; packing.words()];
                    packing.pack(&labels, &mut words);
                    let mut back = vec![0; degree];
                    packing.unpack(&words, &mut back);
                    assert_eq!(back, labels);
                    packed.push((labels, words));
                }
                for (a, b) in packed.iter().zip(&packed[1..]) {
                    assert_eq!(a.0.cmp(&b.0), a.1.cmp(&b.1), "{a:?} {b:?}");
                }
            }
        }
    }
}
