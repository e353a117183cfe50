//! Philox4x32-10, a counter-based generator: 128 bits of counter and 64 of key give 128 random bits, in 32-bit
//! integer arithmetic that a GPU does as well. Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as
//! 1, 2, 3, SC 2011.

/// Counters that are computed together; the loops over them become vector instructions.
pub const LANES: usize = 8;

/// The words of [`LANES`] counters: `words[k][lane]`.
pub type Words = [[u32; LANES]; 4];

const MULTIPLIERS: [u32; 2] = [0xD251_1F53, 0xCD9E_8D57];
const WEYL: [u32; 2] = [0x9E37_79B9, 0xBB67_AE85];

/// The low and high half.
fn halves(x: u64) -> [u32; 2] {
    [x as u32, (x >> 32) as u32]
}

/// The four words of the counter (`low`, `high` of `stream`, `block`, 0) under the key `seed`, for every lane.
#[inline(always)]
pub fn words(seed: u64, streams: &[u64; LANES], block: u32) -> Words {
    let mut out = [[0; LANES]; 4];
    for lane in 0..LANES {
        let words = one(seed, streams[lane], block);
        for k in 0..4 {
            out[k][lane] = words[k];
        }
    }
    out
}

/// The words of one counter. A word lies in the low half of 64 bits, whatever is above it: the product of two low
/// halves is one instruction, of vectors as well.
#[inline(always)]
fn one(seed: u64, stream: u64, block: u32) -> [u32; 4] {
    const LOW: u64 = 0xffff_ffff;
    let mut key = halves(seed);
    let (mut c0, mut c1, mut c2, mut c3) = (stream, stream >> 32, u64::from(block), 0);
    for _ in 0..10 {
        let a = u64::from(MULTIPLIERS[0]) * (c0 & LOW);
        let b = u64::from(MULTIPLIERS[1]) * (c2 & LOW);
        c0 = (b >> 32) ^ c1 ^ u64::from(key[0]);
        c2 = (a >> 32) ^ c3 ^ u64::from(key[1]);
        c1 = b;
        c3 = a;
        key[0] = key[0].wrapping_add(WEYL[0]);
        key[1] = key[1].wrapping_add(WEYL[1]);
    }
    [c0, c1, c2, c3].map(|c| c as u32)
}

/// `u * m >> 32`: a number below `m`, every one for as many `u` as any other, give or take one.
pub fn below(u: u32, m: u32) -> u32 {
    ((u64::from(u) * u64::from(m)) >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Known answers of the authors' library Random123 (tests/kat_vectors, philox4x32 10), as far as the
    /// fourth counter word is 0; the others are computed by the plain definition below.
    #[test]
    fn known_answers() {
        let words = words(0, &[0; LANES], 0);
        for lane in 0..LANES {
            let got = [0, 1, 2, 3].map(|k| words[k][lane]);
            assert_eq!(got, [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
        }
        assert_eq!(
            plain([u32::MAX; 4], [u32::MAX; 2]),
            [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]
        );
        assert_eq!(
            plain(
                [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344],
                [0xa409_3822, 0x299f_31d0]
            ),
            [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]
        );
    }

    fn plain(mut c: [u32; 4], mut k: [u32; 2]) -> [u32; 4] {
        for _ in 0..10 {
            let a = 0xD251_1F53u64 * u64::from(c[0]);
            let b = 0xCD9E_8D57u64 * u64::from(c[2]);
            c = [
                (b >> 32) as u32 ^ c[1] ^ k[0],
                b as u32,
                (a >> 32) as u32 ^ c[3] ^ k[1],
                a as u32,
            ];
            k = [
                k[0].wrapping_add(0x9E37_79B9),
                k[1].wrapping_add(0xBB67_AE85),
            ];
        }
        c
    }

    #[test]
    fn lanes_are_the_plain_definition() {
        let streams = [0, 1, 7, u64::MAX, 1 << 32, 0xdead_beef_0123, 5, 1 << 63];
        for (seed, block) in [(7, 0), (u64::MAX, 3), (1 << 40, u32::MAX)] {
            let words = words(seed, &streams, block);
            for lane in 0..LANES {
                let [low, high] = halves(streams[lane]);
                let expect = plain([low, high, block, 0], halves(seed));
                assert_eq!([0, 1, 2, 3].map(|k| words[k][lane]), expect);
            }
        }
    }
}
