//! Golomb-Rice codes of the gaps between set bits (Rice, Plaunt: Adaptive variable-length coding, 1971): a gap
//! `g` is `g >> k` ones, a zero, and the lowest `k` bits of `g`. For bits that are set independently with one
//! probability this is within a few percent of their entropy at every density below a half.
//!
//! Zeros can be counted as they come, a one for every `2^k` of them, so where set bits are frequent whole
//! bytes go through a table: what is written depends on the byte and on the zeros left over before it. The way
//! back is a table too: what a byte of code says depends on how far into a gap's code it begins.

/// Larger parameters are of no use for 32-bit positions.
pub(super) const PARAMETER_MAX: u32 = 31;
/// Up to this parameter bytes go through a table when they are read, and when they are written.
pub(super) const READ_PARAMETER_MAX: u32 = 2;
pub(super) const WRITTEN_PARAMETER_MAX: u32 = 3;

/// What a byte of the bitmap adds to the code.
#[derive(Clone, Copy)]
struct Entry {
    bits: u32,
    length: u32,
}

/// What a byte of code says: bits of the bitmap, and where in a code the next byte begins.
#[derive(Clone, Copy)]
struct Said {
    bits: u32,
    length: u8,
    state: u8,
}

/// `[2^k - 1 + state][byte]`. State 0 counts ones; state `2^j + v` has read `j` of the low bits, `v`.
static SAID: [[Said; 256]; READ_ROWS] = said_table();

const fn said_table() -> [[Said; 256]; READ_ROWS] {
    let none = Said {
        bits: 0,
        length: 0,
        state: 0,
    };
    let mut out = [[none; 256]; READ_ROWS];
    let mut k = 0;
    while k <= READ_PARAMETER_MAX {
        let mut state = 0;
        while state < 1 << k {
            let mut byte = 0;
            while byte < 256 {
                out[(1 << k) - 1 + state][byte] = said(k, state as u32, byte);
                byte += 1;
            }
            state += 1;
        }
        k += 1;
    }
    out
}

const fn said(k: u32, mut state: u32, byte: usize) -> Said {
    let (mut bits, mut length) = (0u32, 0);
    let mut b = 0;
    while b < 8 {
        let bit = (byte >> b & 1) as u32;
        if state == 0 && bit == 1 {
            length += 1 << k;
        } else {
            state = if state == 0 {
                1
            } else {
                let read = state.ilog2();
                (2 << read) + (state - (1 << read)) + (bit << read)
            };
            if state >> k == 1 {
                length += state - (1 << k);
                bits |= 1 << length;
                length += 1;
                state = 0;
            }
        }
        b += 1;
    }
    Said {
        bits,
        length: length as u8,
        state: state as u8,
    }
}

/// Zeros above the highest set bit of a byte, and which bits of what was left over before stay. A table, because
/// a branch would be mispredicted at every other byte.
static LEFT_OVER: [[u8; 2]; 256] = after_bytes();

const fn after_bytes() -> [[u8; 2]; 256] {
    let mut out = [[0, 255]; 256];
    let mut byte = 1;
    while byte < 256 {
        out[byte] = [(byte as u8).leading_zeros() as u8, 0];
        byte += 1;
    }
    out
}

const ROWS: usize = (2 << WRITTEN_PARAMETER_MAX) - 1;
const READ_ROWS: usize = (2 << READ_PARAMETER_MAX) - 1;

/// `[2^k - 1 + zeros left over before][byte]`.
static TABLE: [[Entry; 256]; ROWS] = table();

const fn table() -> [[Entry; 256]; ROWS] {
    let none = Entry { bits: 0, length: 0 };
    let mut out = [[none; 256]; ROWS];
    let mut k = 0;
    while k <= WRITTEN_PARAMETER_MAX {
        let mut before = 0;
        while before < 1 << k {
            let mut byte = 0;
            while byte < 256 {
                out[(1 << k) - 1 + before][byte] = entry(k, before, byte);
                byte += 1;
            }
            before += 1;
        }
        k += 1;
    }
    out
}

const fn entry(k: u32, before: usize, byte: usize) -> Entry {
    let (mut bits, mut length, mut left) = (0u32, 0, before as u32);
    let mut b = 0;
    while b < 8 {
        if byte >> b & 1 == 1 {
            bits |= (left << 1) << length;
            length += 1 + k;
            left = 0;
        } else {
            left += 1;
            if left == 1 << k {
                bits |= 1 << length;
                length += 1;
                left = 0;
            }
        }
        b += 1;
    }
    Entry { bits, length }
}

/// The parameter with the shortest code for `ones` gaps of together `zeros`, and the bits it needs, about.
pub(super) fn parameter(ones: u64, zeros: u64) -> (u32, u64) {
    let bits = |k: u32| {
        // A gap's low bits are half of what they could be, on average.
        let low = ones * ((1 << k) - 1) / 2;
        ones * (1 + u64::from(k)) + (zeros.saturating_sub(low) >> k)
    };
    (0..=PARAMETER_MAX)
        .map(|k| (k, bits(k)))
        .min_by_key(|&(_, bits)| bits)
        .unwrap_or((0, zeros))
}

/// Zeros left over after a byte, below `2^k`. Known without the table, so that look-ups need not wait for each
/// other: a byte of zeros is a multiple of `2^k`, any other begins anew.
#[inline(always)]
fn left_over(byte: u8, left: u32, k: u32) -> u32 {
    let after = LEFT_OVER[usize::from(byte)];
    u32::from(after[0]) & ((1 << k) - 1) | left & u32::from(after[1])
}

/// Writes codes, lowest bits first, into bytes that were made long enough.
pub(super) struct Writer<'a> {
    out: &'a mut [u8],
    at: usize,
    bits: u64,
    ready: u32,
}

impl<'a> Writer<'a> {
    /// Bytes that so many gaps of together so many zeros need at most.
    pub fn room(ones: u64, zeros: u64, k: u32) -> usize {
        ((ones * (1 + u64::from(k)) + (zeros >> k)) / 8) as usize + 16
    }

    pub fn new(out: &'a mut [u8]) -> Writer<'a> {
        Writer {
            out,
            at: 0,
            bits: 0,
            ready: 0,
        }
    }

    /// Up to 56 bits.
    #[inline(always)]
    pub fn put(&mut self, value: u64, length: u32) {
        self.bits |= value << self.ready;
        self.ready += length;
        self.out[self.at..self.at + 8].copy_from_slice(&self.bits.to_le_bytes());
        self.at += (self.ready / 8) as usize;
        self.bits >>= self.ready & 56;
        self.ready &= 7;
    }

    /// One gap.
    #[inline(always)]
    pub fn gap(&mut self, gap: u64, k: u32) {
        let mut ones = gap >> k;
        while ones > 20 {
            self.put((1 << 20) - 1, 20);
            ones -= 20;
        }
        let low = gap & ((1 << k) - 1);
        self.put((low << 1 << ones) | ((1 << ones) - 1), ones as u32 + 1 + k);
    }

    /// Sixteen bits of a bitmap, where `left` zeros came before; the zeros left over after them.
    #[inline(always)]
    pub fn two_bytes(&mut self, bytes: [u8; 2], left: u32, k: u32) -> u32 {
        let first = TABLE[((1 << k) - 1 + left) as usize][usize::from(bytes[0])];
        let left = left_over(bytes[0], left, k);
        let second = TABLE[((1 << k) - 1 + left) as usize][usize::from(bytes[1])];
        if k < WRITTEN_PARAMETER_MAX {
            self.put(
                u64::from(first.bits) | u64::from(second.bits) << first.length,
                first.length + second.length,
            );
        } else {
            // Together they may have 64 bits.
            self.put(first.bits.into(), first.length);
            self.put(second.bits.into(), second.length);
        }
        left_over(bytes[1], left, k)
    }

    /// Number of bytes written.
    pub fn finish(self) -> usize {
        self.at + usize::from(self.ready > 0)
    }
}

/// Reads codes from bytes that may be anything.
pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    /// Bits read.
    at: usize,
}

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader { bytes, at: 0 }
    }

    /// At least 57 of the next bits; zeros after the end.
    #[inline(always)]
    fn window(&self) -> u64 {
        let first = self.at / 8;
        let word = match self.bytes.get(first..first + 8) {
            Some(b) => u64::from_le_bytes([b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7]]),
            None => {
                let rest = self.bytes.get(first..).unwrap_or(&[]);
                let bytes = rest.iter().rev();
                bytes.fold(0, |word, &b| word << 8 | u64::from(b))
            }
        };
        word >> (self.at % 8)
    }

    /// Up to 32 bits.
    #[inline(always)]
    pub fn take(&mut self, length: u32) -> u64 {
        let value = self.window() & ((1 << length) - 1);
        self.at += length as usize;
        value
    }

    /// One gap; `None` beyond `max` or after the end of the bytes.
    #[inline(always)]
    pub fn gap(&mut self, k: u32, max: u64) -> Option<u64> {
        let mut ones = 0u64;
        let mut window = self.window();
        let mut run = window.trailing_ones();
        while run >= 32 {
            ones += 32;
            if ones << k > max {
                return None;
            }
            self.at += 32;
            window = self.window();
            run = window.trailing_ones();
        }
        ones += u64::from(run);
        let gap = if run + 1 + k <= 56 {
            self.at += (run + 1 + k) as usize;
            ones << k | (window >> (run + 1)) & ((1 << k) - 1)
        } else {
            self.at += run as usize + 1;
            ones << k | self.take(k)
        };
        (gap <= max && self.at <= self.bytes.len() * 8).then_some(gap)
    }

    /// The bytes after the last one that was read from.
    pub fn rest(self) -> &'a [u8] {
        self.bytes.get(self.at.div_ceil(8)..).unwrap_or(&[])
    }

    /// Was more read than there is?
    pub fn is_past_end(&self) -> bool {
        self.at > self.bytes.len() * 8
    }
}

/// Reads whole bytes of code for the smallest parameters and gives the bitmap that they say.
pub(super) struct ByteReader<'a, const K: u32> {
    bytes: std::slice::Iter<'a, u8>,
    state: u8,
    bits: u64,
    ready: u32,
}

impl<'a, const K: u32> ByteReader<'a, K> {
    pub fn new(bytes: &'a [u8]) -> ByteReader<'a, K> {
        ByteReader {
            bytes: bytes.iter(),
            state: 0,
            bits: 0,
            ready: 0,
        }
    }

    /// The next bits of the bitmap, 32 at most; `None` after the end of the bytes.
    #[inline(always)]
    pub fn take(&mut self, length: u32) -> Option<u64> {
        while self.ready < length {
            let byte = *self.bytes.next()?;
            let row = (1 << K) - 1 + usize::from(self.state);
            let said = SAID[row][usize::from(byte)];
            self.bits |= u64::from(said.bits) << self.ready;
            self.ready += u32::from(said.length);
            self.state = said.state;
        }
        let taken = self.bits & ((1 << length) - 1);
        self.bits >>= length;
        self.ready -= length;
        Some(taken)
    }

    /// The bytes after the one with the code of the last set bit taken.
    pub fn rest(self) -> &'a [u8] {
        self.bytes.as_slice()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bits_of<const K: u32>(code: &[u8], count: usize) -> Vec<bool> {
        let mut reader = ByteReader::<K>::new(code);
        let bits = (0..count).map(|_| reader.take(1) == Some(1)).collect();
        assert_eq!(reader.rest(), &[99]);
        bits
    }

    proptest! {
        /// Gap by gap and byte by byte the same code, and back.
        #[test]
        fn gaps_come_back(bits in prop::collection::vec(prop::bool::weighted(0.2), 0..400), k in 0u32..8) {
            let mut bits = bits;
            while bits.len() % 16 != 15 {
                bits.push(false);
            }
            bits.push(true);
            let mut gaps = vec![0u64];
            for &bit in &bits {
                match bit {
                    true => gaps.push(0),
                    false => *gaps.last_mut().unwrap() += 1,
                }
            }
            gaps.pop();
            let (ones, zeros) = (gaps.len() as u64, gaps.iter().sum());
            let mut out = vec![0; Writer::room(ones, zeros, k)];
            let mut writer = Writer::new(&mut out);
            gaps.iter().for_each(|&g| writer.gap(g, k));
            let length = writer.finish();
            if k <= WRITTEN_PARAMETER_MAX {
                let mut other = vec![0; Writer::room(ones, zeros, k)];
                let mut writer = Writer::new(&mut other);
                let mut left = 0;
                let bytes: Vec<u8> = bits
                    .chunks(8)
                    .map(|byte| byte.iter().rev().fold(0, |b, &bit| b << 1 | u8::from(bit)))
                    .collect();
                for two in bytes.chunks(2) {
                    left = writer.two_bytes([two[0], two[1]], left, k);
                }
                prop_assert_eq!(left, 0);
                let same = writer.finish();
                prop_assert_eq!(&out[..length], &other[..same]);
                let code = [&other[..same], &[99]].concat();
                let back = match k {
                    0 => bits_of::<0>(&code, bits.len()),
                    1 => bits_of::<1>(&code, bits.len()),
                    READ_PARAMETER_MAX => bits_of::<2>(&code, bits.len()),
                    _ => bits.clone(),
                };
                prop_assert_eq!(back, bits.clone());
            }
            out.truncate(length);
            out.push(99);
            let mut reader = Reader::new(&out);
            for &gap in &gaps {
                prop_assert_eq!(reader.gap(k, gap), Some(gap));
            }
            prop_assert_eq!(reader.rest(), &[99]);
        }

        #[test]
        fn large_gaps_come_back(gaps in prop::collection::vec(0u64..1 << 32, 1..50), k in 20u32..32) {
            let mut out = vec![0; Writer::room(gaps.len() as u64, gaps.iter().sum(), k)];
            let mut writer = Writer::new(&mut out);
            gaps.iter().for_each(|&g| writer.gap(g, k));
            let length = writer.finish();
            let mut reader = Reader::new(&out[..length]);
            for &gap in &gaps {
                prop_assert_eq!(reader.gap(k, u64::from(u32::MAX)), Some(gap));
            }
            prop_assert_eq!(reader.gap(k, u64::from(u32::MAX)), None);
            prop_assert!(reader.rest().is_empty());
        }
    }
}
