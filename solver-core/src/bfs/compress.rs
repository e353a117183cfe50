//! A set of states in few bytes and back: the gaps between its states as Golomb-Rice codes, with a
//! parameter for every piece of the set. Made for stores: a bitmap of the middle levels comes close to the entropy of
//! its density, at the speed of a disk.
//!
//! Layout: a tag (1 positions, 2 bitmap); positions: their number (u32), then pieces of up to 4096, each one byte
//! of parameter and codes. Bitmap: the used bits of a superblock's words and those of its last word
//! (one byte each), then pieces of superblocks, each one byte of mode, where the mode says so one
//! bit a superblock that is not empty, and codes or plain bits. Pieces begin at whole bytes.

use super::frontier::{Body, Frontier, FrontierError, ShardGeometry};
use super::rice::{
    ByteReader, PARAMETER_MAX, READ_PARAMETER_MAX, Reader, WRITTEN_PARAMETER_MAX, Writer, parameter,
};

const POSITIONS: u8 = 1;
const BITMAP: u8 = 2;
/// Positions of a piece.
const PIECE_POSITIONS: usize = 4096;
/// Words of a piece of a bitmap, about: enough for its head to be nothing, few enough for its density
/// to be that of the neighbourhood.
const PIECE_WORDS: usize = 4096;
/// Modes besides the parameter: bits as they are; zeros and ones exchanged; empty superblocks left out.
const PLAIN: u8 = 0x20;
const INVERTED: u8 = 0x40;
const GAPS: u8 = 0x80;

impl Frontier {
    /// The set in few bytes, to be read by [`Frontier::decompress`]; `None` where there is nothing to win (an
    /// empty set, the keys of a space without an index).
    pub fn compress(&self) -> Option<Vec<u8>> {
        match &self.body {
            Body::Empty | Body::Keys(_) => None,
            Body::Sparse(positions) => Some(compress_positions(positions)),
            Body::Dense { words, counts } => Some(compress_bitmap(self.geometry, words, counts)),
        }
    }

    /// The inverse of [`Frontier::compress`], for bytes from anywhere: nothing panics, and no more memory
    /// is asked for than a bitmap of the shard or eight times the bytes.
    ///
    /// # Errors
    /// What does not fit. As for [`Frontier::decode`] it is the digest that says whether the states are the right ones.
    pub fn decompress(geometry: ShardGeometry, bytes: &[u8]) -> Result<Frontier, FrontierError> {
        let wrong = |what: &str| FrontierError(what.to_string());
        let set = match bytes.split_first() {
            Some((&POSITIONS, rest)) if geometry.blocks > 0 => positions_of(geometry, rest),
            Some((&BITMAP, rest)) if geometry.dense_bytes() > 0 => bitmap_of(geometry, rest),
            _ => return Err(wrong("the tag does not fit")),
        };
        let set = set.ok_or_else(|| wrong("the compressed bytes are damaged"))?;
        if set.count > geometry.states {
            return Err(wrong("more states than the shard has"));
        }
        Ok(set)
    }
}

fn compress_positions(positions: &[u32]) -> Vec<u8> {
    let mut out = vec![POSITIONS];
    out.extend_from_slice(&(positions.len() as u32).to_le_bytes());
    let mut next = 0;
    for piece in positions.chunks(PIECE_POSITIONS) {
        let end = u64::from(piece[piece.len() - 1]) + 1;
        let (ones, zeros) = (piece.len() as u64, end - next - piece.len() as u64);
        let (k, _) = parameter(ones, zeros);
        out.push(k as u8);
        let first = out.len();
        out.resize(first + Writer::room(ones, zeros, k), 0);
        let mut writer = Writer::new(&mut out[first..]);
        for &p in piece {
            writer.gap(u64::from(p) - next, k);
            next = u64::from(p) + 1;
        }
        let length = writer.finish();
        out.truncate(first + length);
    }
    out
}

fn positions_of(geometry: ShardGeometry, bytes: &[u8]) -> Option<Frontier> {
    let (count, mut rest) = bytes.split_first_chunk::<4>()?;
    let count = u32::from_le_bytes(*count) as usize;
    let limit = u64::from(geometry.blocks) * u64::from(geometry.words) * 64;
    // Every position takes a bit at least.
    if count > rest.len().saturating_mul(8) || count as u64 > geometry.states {
        return None;
    }
    let mut positions: Vec<u32> = Vec::with_capacity(count);
    let mut next = 0u64;
    while positions.len() < count {
        let (&k, codes) = rest.split_first()?;
        let k = u32::from(k);
        if k > PARAMETER_MAX {
            return None;
        }
        let mut reader = Reader::new(codes);
        for _ in 0..PIECE_POSITIONS.min(count - positions.len()) {
            let left = limit.checked_sub(next + 1)?;
            let position = next + reader.gap(k, left)?;
            positions.push(u32::try_from(position).ok()?);
            next = position + 1;
        }
        rest = reader.rest();
    }
    rest.is_empty()
        .then(|| Frontier::from_positions(geometry, positions))
}

/// Superblocks of a piece.
fn blocks_of_piece(geometry: ShardGeometry) -> usize {
    (PIECE_WORDS / geometry.words as usize).max(1)
}

/// How many of the lowest bits of a superblock's words can be set, and of its last word.
#[derive(Clone, Copy)]
struct Used {
    inner: u32,
    last: u32,
    words: usize,
}

impl Used {
    fn of(words: &[u64], per_block: usize) -> Used {
        let (mut inner, mut last) = (0, 0);
        for block in words.chunks_exact(per_block) {
            let (end, rest) = (block[per_block - 1], &block[..per_block - 1]);
            last |= end;
            inner |= rest.iter().fold(0, |all, w| all | w);
        }
        Used {
            inner: u64::BITS - inner.leading_zeros(),
            last: u64::BITS - last.leading_zeros(),
            words: per_block,
        }
    }

    /// Bits of a superblock.
    fn block(self) -> u64 {
        u64::from(self.inner) * (self.words as u64 - 1) + u64::from(self.last)
    }

    #[inline(always)]
    fn word(self, w: usize) -> u32 {
        if w + 1 == self.words {
            self.last
        } else {
            self.inner
        }
    }
}

fn mask(bits: u32) -> u64 {
    u64::MAX.checked_shr(u64::BITS - bits).unwrap_or(0)
}

fn compress_bitmap(geometry: ShardGeometry, words: &[u64], counts: &[u16]) -> Vec<u8> {
    let per_block = geometry.words as usize;
    let used = Used::of(words, per_block);
    let blocks = blocks_of_piece(geometry);
    let ones: u64 = counts.iter().map(|&c| u64::from(c)).sum();
    let all = counts.len() as u64 * used.block();
    let (_, bits) = parameter(ones, all - ones);
    let heads = counts.len() / 8 + counts.len() / blocks * 3;
    let mut out = Vec::with_capacity(bits as usize / 8 + heads + 64);
    out.extend([BITMAP, used.inner as u8, used.last as u8]);
    let mut scratch = Vec::new();
    for (words, counts) in words.chunks(blocks * per_block).zip(counts.chunks(blocks)) {
        compress_piece(&mut out, &mut scratch, used, words, counts);
    }
    out
}

/// `scratch` has room for codes that are not as short as hoped, so that `out` is touched where it is needed.
fn compress_piece(
    out: &mut Vec<u8>,
    scratch: &mut Vec<u8>,
    used: Used,
    words: &[u64],
    counts: &[u16],
) {
    let ones: u64 = counts.iter().map(|&c| u64::from(c)).sum();
    let full = counts.iter().filter(|c| **c != 0).count() as u64;
    let all = counts.len() as u64 * used.block();
    let some = full * used.block();
    let (_, with_all) = parameter(ones + 1, all - ones);
    let (_, with_some) = parameter(ones + 1, some - ones);
    let gaps = full < counts.len() as u64 && with_some + counts.len() as u64 <= with_all;
    let total = if gaps { some } else { all };
    let inverted = ones * 2 > total;
    let set = if inverted { total - ones } else { ones };
    // The end is one more.
    let (k, bits) = parameter(set + 1, total - set);
    let plain = bits >= total;
    let mode = if plain { PLAIN } else { k as u8 };
    out.push(mode | (u8::from(inverted) * INVERTED) | (u8::from(gaps) * GAPS));
    if gaps {
        for counts in counts.chunks(8) {
            let flags = counts.iter().rev();
            out.push(flags.fold(0, |byte, &c| byte << 1 | u8::from(c != 0)));
        }
    }
    let room = if plain {
        total as usize / 8 + 16
    } else {
        Writer::room(set + 1, total - set, k)
    };
    if scratch.len() < room {
        scratch.resize(room, 0);
    }
    let writer = Writer::new(scratch);
    let blocks = words
        .chunks_exact(used.words)
        .zip(counts)
        .filter(|(_, count)| !gaps || **count != 0)
        .map(|(words, _)| words);
    let flip = if inverted { u64::MAX } else { 0 };
    // The loops over bytes are made for every parameter by itself. Writers go by value: what lies behind a
    // reference is written to memory at every step, for all that the compiler knows.
    let length = match k {
        _ if plain => write_plain(writer, used, flip, blocks),
        0 => write_bytes::<0>(writer, used, flip, blocks),
        1 => write_bytes::<1>(writer, used, flip, blocks),
        2 => write_bytes::<2>(writer, used, flip, blocks),
        WRITTEN_PARAMETER_MAX => write_bytes::<3>(writer, used, flip, blocks),
        _ => write_gaps(writer, used, flip, blocks, k),
    };
    out.extend_from_slice(&scratch[..length]);
}

fn write_plain<'a>(
    mut writer: Writer<'_>,
    used: Used,
    flip: u64,
    blocks: impl Iterator<Item = &'a [u64]>,
) -> usize {
    for words in blocks {
        for (w, &word) in words.iter().enumerate() {
            let bits = used.word(w);
            let word = (word ^ flip) & mask(bits);
            writer.put(word & 0xffff_ffff, bits.min(32));
            writer.put(word >> 32, bits.saturating_sub(32));
        }
    }
    writer.finish()
}

/// Frequent bits, sixteen at a time.
fn write_bytes<'a, const K: u32>(
    mut writer: Writer<'_>,
    used: Used,
    flip: u64,
    blocks: impl Iterator<Item = &'a [u64]>,
) -> usize {
    let (mut bits, mut ready, mut left) = (0u64, 0u32, 0u32);
    for words in blocks {
        for (w, &word) in words.iter().enumerate() {
            let length = used.word(w);
            let word = (word ^ flip) & mask(length);
            // Fewer than 16 bits are waiting, so a word goes in two halves at most.
            for (half, length) in [
                (word & 0xffff_ffff, length.min(32)),
                (word >> 32, length.saturating_sub(32)),
            ] {
                bits |= half << ready;
                ready += length;
                while ready >= 16 {
                    let [a, b] = (bits as u16).to_le_bytes();
                    left = writer.two_bytes([a, b], left, K);
                    bits >>= 16;
                    ready -= 16;
                }
            }
        }
    }
    // What is left, and the end as one more set bit.
    let mut gap = u64::from(left);
    for b in 0..ready {
        if bits >> b & 1 == 1 {
            writer.gap(gap, K);
            gap = 0;
        } else {
            gap += 1;
        }
    }
    writer.gap(gap, K);
    writer.finish()
}

/// Rare bits, one by one.
fn write_gaps<'a>(
    mut writer: Writer<'_>,
    used: Used,
    flip: u64,
    blocks: impl Iterator<Item = &'a [u64]>,
    k: u32,
) -> usize {
    let (mut base, mut next) = (0u64, 0u64);
    for words in blocks {
        for (w, &word) in words.iter().enumerate() {
            let length = used.word(w);
            let mut word = (word ^ flip) & mask(length);
            while word != 0 {
                let at = base + u64::from(word.trailing_zeros());
                writer.gap(at - next, k);
                next = at + 1;
                word &= word - 1;
            }
            base += u64::from(length);
        }
    }
    writer.gap(base - next, k);
    writer.finish()
}

fn bitmap_of(geometry: ShardGeometry, bytes: &[u8]) -> Option<Frontier> {
    let (&[inner, last], mut rest) = bytes.split_first_chunk::<2>()?;
    if inner > 64 || last > 64 {
        return None;
    }
    let per_block = geometry.words as usize;
    let used = Used {
        inner: inner.into(),
        last: last.into(),
        words: per_block,
    };
    let mut words = vec![0u64; (geometry.dense_bytes() / 8) as usize];
    for piece in words.chunks_mut(blocks_of_piece(geometry) * per_block) {
        rest = piece_of(piece, used, rest)?;
    }
    rest.is_empty()
        .then(|| Frontier::from_words(geometry, words))
}

/// Reads one piece; the bytes after it.
fn piece_of<'a>(words: &mut [u64], used: Used, bytes: &'a [u8]) -> Option<&'a [u8]> {
    let (&mode, mut rest) = bytes.split_first()?;
    let bits = words.len() as u64 * 64;
    let blocks = words.len() / used.words;
    let mut flags: Option<&[u8]> = None;
    if mode & GAPS != 0 {
        let (some, after) = rest.split_at_checked(blocks.div_ceil(8))?;
        flags = Some(some);
        rest = after;
    }
    let is_there = |block: usize| flags.is_none_or(|f| f[block / 8] >> (block % 8) & 1 == 1);
    let flip = if mode & INVERTED != 0 { u64::MAX } else { 0 };
    let blocks = words
        .chunks_exact_mut(used.words)
        .enumerate()
        .filter(|(block, _)| is_there(*block))
        .map(|(_, words)| words);
    let mut reader = Reader::new(rest);
    if mode & PLAIN != 0 {
        for words in blocks {
            for (w, word) in words.iter_mut().enumerate() {
                let bits = used.word(w);
                let low = reader.take(bits.min(32));
                let high = reader.take(bits.saturating_sub(32));
                *word = ((high << 32 | low) ^ flip) & mask(bits);
            }
            if reader.is_past_end() {
                return None;
            }
        }
        return Some(reader.rest());
    }
    match u32::from(mode & 0x1f) {
        0 => read_bytes::<0>(rest, used, flip, blocks),
        1 => read_bytes::<1>(rest, used, flip, blocks),
        READ_PARAMETER_MAX => read_bytes::<2>(rest, used, flip, blocks),
        k => read_gaps(reader, used, flip, blocks, k, bits),
    }
}

/// What [`write_bytes`] wrote.
fn read_bytes<'a, 'b, const K: u32>(
    bytes: &'b [u8],
    used: Used,
    flip: u64,
    blocks: impl Iterator<Item = &'a mut [u64]>,
) -> Option<&'b [u8]> {
    let mut reader = ByteReader::<K>::new(bytes);
    for words in blocks {
        for (w, word) in words.iter_mut().enumerate() {
            let length = used.word(w);
            let low = reader.take(length.min(32))?;
            let high = reader.take(length.saturating_sub(32))?;
            *word = ((high << 32 | low) ^ flip) & mask(length);
        }
    }
    // The end itself.
    (reader.take(1)? == 1).then(|| reader.rest())
}

/// What [`write_gaps`] wrote.
fn read_gaps<'a, 'b>(
    mut reader: Reader<'b>,
    used: Used,
    flip: u64,
    blocks: impl Iterator<Item = &'a mut [u64]>,
    k: u32,
    max: u64,
) -> Option<&'b [u8]> {
    // `gap` zeros are still to come before the next set bit.
    let mut gap = reader.gap(k, max)?;
    for words in blocks {
        for (w, word) in words.iter_mut().enumerate() {
            let length = used.word(w);
            let (mut at, mut bits) = (0u64, 0u64);
            // The bit at `at + gap`, if it lies within this word.
            while at + gap < u64::from(length) {
                at += gap;
                bits |= 1 << at;
                at += 1;
                gap = reader.gap(k, max)?;
            }
            gap -= u64::from(length) - at;
            *word = (bits ^ flip) & mask(length);
        }
    }
    // The end itself.
    (gap == 0).then(|| reader.rest())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A bitmap in which `weight` of 256 used bits are set, in the superblocks that `is_there` names.
    fn bitmap(
        geometry: ShardGeometry,
        used: &[u32],
        weight: u8,
        seed: u64,
        is_there: impl Fn(usize) -> bool,
    ) -> Frontier {
        let mut rng = crate::group::rng::SplitMix(seed);
        let per_block = geometry.words as usize;
        let words = (0..geometry.blocks as usize * per_block)
            .map(|w| {
                let bits = used[w % per_block];
                (0..bits).fold(0, |word, b| {
                    let set = rng.below(256) < usize::from(weight) && is_there(w / per_block);
                    word | u64::from(set) << b
                })
            })
            .collect();
        Frontier::from_words(geometry, words)
    }

    fn comes_back(set: &Frontier) -> usize {
        let Some(bytes) = set.compress() else {
            assert_eq!(set.count(), 0);
            return 0;
        };
        assert_eq!(
            Frontier::decompress(set.geometry(), &bytes).as_ref(),
            Ok(set)
        );
        bytes.len()
    }

    #[test]
    fn bitmaps_of_every_density_take_little_more_than_their_entropy() {
        let geometry = ShardGeometry {
            blocks: 300,
            words: 42,
            states: 300 * 42 * 60,
        };
        let used = [60; 42];
        for weight in [1u8, 2, 5, 13, 30, 60, 90, 128, 170, 200, 240, 254] {
            let set = bitmap(geometry, &used, weight, 1, |_| true);
            let p = set.count() as f64 / geometry.states as f64;
            let entropy = -p * p.log2() - (1.0 - p) * (1.0 - p).log2();
            let bits = comes_back(&set) as f64 * 8.0 / geometry.states as f64;
            assert!(bits < entropy * 1.06 + 0.001, "{p}: {bits}, not {entropy}");
            // Every second superblock empty: half of that.
            let half = bitmap(geometry, &used, weight, 1, |t| t % 2 == 0);
            let bits = comes_back(&half) as f64 * 8.0 / geometry.states as f64;
            assert!(
                bits < entropy * 0.54 + 0.002,
                "{p}: {bits}, not half of {entropy}"
            );
        }
        // A full set, as a visited set becomes, is next to nothing.
        assert!(comes_back(&bitmap(geometry, &used, 255, 1, |_| true)) < 7000);
        let full = Frontier::from_words(geometry, vec![mask(60); 300 * 42]);
        assert!(comes_back(&full) < 100);
    }

    #[test]
    fn few_positions_take_little_more_than_their_entropy() {
        let geometry = ShardGeometry {
            blocks: 1 << 16,
            words: 1023,
            states: (1 << 16) * 1023 * 64,
        };
        for (step, spread) in [(1u32, 1usize), (3, 2), (900, 1800), (100_000, 200_000)] {
            let mut rng = crate::group::rng::SplitMix(7);
            let mut next = 0u32;
            let positions: Vec<u32> = (0..20_000)
                .map(|_| {
                    next += 1 + rng.below(spread) as u32;
                    next - 1
                })
                .collect();
            let set = Frontier::from_positions(geometry, positions);
            let bits = comes_back(&set) as f64 * 8.0 / 20_000.0;
            let bound = (f64::from(step) * std::f64::consts::E).log2();
            assert!(bits < bound * 1.05 + 0.3, "{step}: {bits}, not {bound}");
        }
        let ends = Frontier::from_positions(geometry, vec![0, u32::MAX - (1 << 22)]);
        comes_back(&ends);
    }

    proptest! {
        #[test]
        fn any_set_comes_back(
            (blocks, words) in (1u32..9, 1u32..5).prop_union((1u32..4, 1000u32..1023)),
            (inner, last) in (0u32..65, 1u32..65),
            weight in any::<u8>(),
            seed in any::<u64>(),
            gaps in any::<u8>(),
        ) {
            let geometry = ShardGeometry {
                blocks,
                words,
                states: u64::from(blocks) * u64::from(words) * 64,
            };
            let mut used = vec![inner; words as usize];
            used[words as usize - 1] = last;
            let set = bitmap(geometry, &used, weight, seed, |t| gaps >> (t % 8) & 1 == 1);
            comes_back(&set);
            comes_back(&Frontier::from_positions(geometry, set.positions()));
        }

        /// Whatever the bytes: a set of the shard, or an error.
        #[test]
        fn no_bytes_panic(
            tag in 0u8..4,
            rest in prop::collection::vec(any::<u8>(), 0..200),
            blocks in 0u32..5,
            words in prop::sample::select(vec![0u32, 1, 2, 5000]),
        ) {
            let geometry = ShardGeometry {
                blocks,
                words,
                states: u64::from(blocks) * u64::from(words) * 60,
            };
            let bytes = [vec![tag], rest].concat();
            if let Ok(set) = Frontier::decompress(geometry, &bytes) {
                prop_assert!(set.count() <= geometry.states);
                prop_assert!(set.positions().windows(2).all(|w| w[0] < w[1]));
            }
        }

        /// The same from bytes that were right before one of them was changed or cut off.
        #[test]
        fn no_damage_panics(
            weight in any::<u8>(),
            seed in any::<u64>(),
            at in any::<prop::sample::Index>(),
            value in any::<u8>(),
            cut in any::<bool>(),
            thin in any::<bool>(),
        ) {
            let geometry = ShardGeometry { blocks: 200, words: 42, states: 200 * 42 * 60 };
            let mut set = bitmap(geometry, &[60; 42], weight, seed, |t| t % 3 != 1);
            if thin {
                set = Frontier::from_positions(geometry, set.positions());
            }
            let Some(mut bytes) = set.compress() else { return Ok(()) };
            let at = at.index(bytes.len());
            if cut {
                bytes.truncate(at);
            } else {
                bytes[at] = value;
            }
            if let Ok(set) = Frontier::decompress(geometry, &bytes) {
                prop_assert!(set.count() <= geometry.states);
                prop_assert!(set.positions().last().is_none_or(|&p| p < 200 * 42 * 64));
            }
        }
    }
}
