//! A permutation of the bits of a word as eleven exchanges under masks: Beneš' network (V. E. Beneš, Mathematical Theory
//! of Connecting Networks and Telephone Traffic, 1965), set by the looping algorithm (D. C. Opferman and N. T. Tsao-Wu,
//! Bell System Technical Journal 50, 1971). Twelve instructions an exchange and no table that does not fit the smallest
//! cache, where a look-up a nibble would take sixteen scattered reads.

/// How far apart the bits of each exchange are.
#[cfg(test)]
const DISTANCES: [u32; 11] = [32, 16, 8, 4, 2, 1, 2, 4, 8, 16, 32];

/// Words of the masks of one permutation: one for each exchange between the halves, two for each inside them.
pub const MASK_WORDS: usize = 20;

/// The masks of `out bit k = in bit from[k]`, in the order in which `leaf.wgsl` reads them; `from` holds every number below 64
/// once.
pub fn masks(from: &[u8; 64]) -> [u32; MASK_WORDS] {
    let mut network = [0u64; 11];
    let perm: Vec<usize> = from.iter().map(|&bit| usize::from(bit)).collect();
    route(&perm, 0, 0, &mut network);
    let mut words = [0; MASK_WORDS];
    words[0] = network[0] as u32;
    for (stage, pair) in (1..10).zip(words[1..19].chunks_exact_mut(2)) {
        pair[0] = network[stage] as u32;
        pair[1] = (network[stage] >> 32) as u32;
    }
    words[19] = network[10] as u32;
    words
}

/// Sets the exchanges of the part of the network that begins at bit `base` and at exchange `stage`: output `k` of the part
/// comes from its input `perm[k]`.
fn route(perm: &[usize], base: usize, stage: usize, network: &mut [u64; 11]) {
    let n = perm.len();
    if n == 2 {
        network[stage] |= u64::from(perm[0] == 1) << base;
        return;
    }
    let half = n / 2;
    let partner = |k: usize| k ^ half;
    let mut output_of = vec![0; n];
    for (k, &from) in perm.iter().enumerate() {
        output_of[from] = k;
    }
    // Which half serves each output. Outputs that are partners have different ones, and so have those of partner inputs.
    let mut serves: Vec<Option<bool>> = vec![None; n];
    for start in 0..half {
        let mut k = start;
        while serves[k].is_none() {
            serves[k] = Some(false);
            serves[partner(k)] = Some(true);
            k = output_of[partner(perm[partner(k)])];
        }
    }
    let mut inner = [vec![0; half], vec![0; half]];
    for (k, upper) in serves.iter().enumerate() {
        let upper = *upper == Some(true);
        inner[usize::from(upper)][k % half] = perm[k] % half;
        if k < half {
            network[10 - stage] |= u64::from(upper) << (base + k);
        }
        if perm[k] < half {
            network[stage] |= u64::from(upper) << (base + perm[k]);
        }
    }
    route(&inner[0], base, stage + 1, network);
    route(&inner[1], base + half, stage + 1, network);
}

/// What the shader does.
#[cfg(test)]
fn permute(word: u64, masks: &[u32; MASK_WORDS]) -> u64 {
    let mut network = [0u64; 11];
    network[0] = u64::from(masks[0]);
    for stage in 1..10 {
        network[stage] = u64::from(masks[2 * stage - 1]) | u64::from(masks[2 * stage]) << 32;
    }
    network[10] = u64::from(masks[19]);
    let exchange = |x: u64, (&distance, &mask): (&u32, &u64)| {
        let t = ((x >> distance) ^ x) & mask;
        x ^ t ^ (t << distance)
    };
    DISTANCES.iter().zip(&network).fold(word, exchange)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::Sample;

    #[track_caller]
    fn check(from: [u8; 64]) {
        let masks = masks(&from);
        for (k, &bit) in from.iter().enumerate() {
            assert_eq!(permute(1 << bit, &masks), 1 << k, "{from:?}");
        }
        let word = 0x0123_4567_89ab_cdef;
        let right = (0..64).fold(0, |w, k| w | (word >> from[k] & 1) << k);
        assert_eq!(permute(word, &masks), right, "{from:?}");
    }

    #[test]
    fn every_permutation_has_a_network() {
        let mut sample = Sample::new(7);
        check(std::array::from_fn(|k| k as u8));
        check(std::array::from_fn(|k| 63 - k as u8));
        check(std::array::from_fn(|k| (k as u8 + 1) % 64));
        for used in [2, 3, 24, 60, 63, 64] {
            for _ in 0..200 {
                let some = sample.permutation(used);
                let or_same = |k: usize| some.get(k).map_or(k as u8, |&from| from as u8);
                check(std::array::from_fn(or_same));
            }
        }
    }
}
