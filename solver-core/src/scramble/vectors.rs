//! Whole states in two vector registers: a move is two shuffles. Needs AVX-512 and at most 64 positions; `pulp` asks
//! the processor and keeps what is unsafe about its instructions to itself.

#[cfg(target_arch = "x86_64")]
pub(super) use x86::{Shuffled, Vectors};

#[cfg(not(target_arch = "x86_64"))]
pub(super) use portable::{Shuffled, Vectors};

/// Work that is worth compiling for the processor at hand.
pub(super) trait Job {
    fn run(self);
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::Job;
    use crate::perm::Perm;
    use crate::puzzle::State;
    use crate::scramble::compose::Group;
    use crate::scramble::philox::LANES;
    use pulp::x86::V4;
    use std::arch::x86_64::__m512i;

    /// 32 numbers of 16 bits, a register.
    type Half = [u16; 32];

    /// Which instructions there are.
    #[derive(Clone, Copy)]
    pub(in super::super) struct Vectors(Option<V4>);

    impl Vectors {
        /// Those of this processor.
        pub(in super::super) fn detect() -> Vectors {
            Vectors(V4::try_new())
        }

        /// None but those that every processor has.
        pub(in super::super) fn none() -> Vectors {
            Vectors(None)
        }

        /// Runs `job`, compiled for these instructions.
        pub(in super::super) fn run(self, job: impl Job) {
            struct Call<J>(J);
            impl<J: Job> pulp::NullaryFnOnce for Call<J> {
                type Output = ();
                #[inline(always)]
                fn call(self) {
                    self.0.run();
                }
            }
            match self.0 {
                Some(simd) => simd.vectorize(Call(job)),
                None => job.run(),
            }
        }
    }

    /// The positions that a state's bytes come from: those of its first 32 bytes and of its last 32 (of all, twice,
    /// where there are no more than 32).
    #[derive(Clone, Copy)]
    struct Shuffle {
        first: Half,
        last: Half,
    }

    /// Moves as shuffles.
    pub(in super::super) struct Shuffled {
        simd: V4,
        degree: usize,
        root: [Half; 2],
        /// Per move the positions of the low and the high half; after the moves, one that changes nothing.
        moves: Vec<[Half; 2]>,
        /// Per move what its children are stored by; after the moves, what a state is.
        stores: Vec<Shuffle>,
    }

    impl Shuffled {
        /// `None` where the processor or the puzzle does not suit. Labels are below 256.
        pub(in super::super) fn new(
            moves: &[Perm],
            root: &State,
            vectors: Vectors,
        ) -> Option<Shuffled> {
            let simd = vectors.0?;
            let degree = root.len();
            if degree > 64 || root.iter().any(|&l| l > 255) {
                return None;
            }
            let half = |from: usize, at: &dyn Fn(usize) -> u16| {
                let mut out = [0; 32];
                for (k, x) in out.iter_mut().enumerate() {
                    *x = if from + k < degree { at(from + k) } else { 0 };
                }
                out
            };
            let both = |at: &dyn Fn(usize) -> u16| [half(0, at), half(32, at)];
            let store = |at: &dyn Fn(usize) -> u16| Shuffle {
                first: half(0, at),
                last: half(degree.saturating_sub(32), at),
            };
            let same = |i: usize| i as u16;
            let mut shuffles: Vec<[Half; 2]> = Vec::new();
            let mut stores: Vec<Shuffle> = Vec::new();
            for p in moves {
                shuffles.push(both(&|i| p.images()[i]));
                stores.push(store(&|i| p.images()[i]));
            }
            shuffles.push(both(&same));
            stores.push(store(&same));
            Some(Shuffled {
                simd,
                degree,
                root: both(&|i| root[i]),
                moves: shuffles,
                stores,
            })
        }

        pub(in super::super) fn table_bytes(&self) -> u64 {
            (self.moves.len() * 256) as u64
        }

        /// To be called within [`Vectors::run`].
        #[inline(always)]
        pub(in super::super) fn states(&self, group: &Group<'_>, out: &mut [u8]) {
            let words = &self.simd.avx512bw;
            let none = self.moves.len() - 1;
            let mut low: [__m512i; LANES] = [pulp::cast(self.root[0]); LANES];
            let mut high: [__m512i; LANES] = [pulp::cast(self.root[1]); LANES];
            let starts = group.rows.map(|row| row * group.stride);
            for t in 0..group.lengths[LANES - 1] {
                for lane in 0..LANES {
                    let inside = t < group.lengths[lane];
                    let drawn = usize::from(group.words[starts[lane] + t]);
                    let [a, b] = &self.moves[if inside { drawn } else { none }];
                    let (l, h) = (low[lane], high[lane]);
                    low[lane] = words._mm512_permutex2var_epi16(l, pulp::cast(*a), h);
                    high[lane] = words._mm512_permutex2var_epi16(l, pulp::cast(*b), h);
                }
            }
            for lane in 0..group.count {
                let to = &mut out[group.rows[lane] * self.degree..][..self.degree];
                self.store(low[lane], high[lane], &self.stores[none], to);
            }
        }

        /// The children of `states` after each other. To be called within [`Vectors::run`].
        #[inline(always)]
        pub(in super::super) fn children(&self, states: &[u8], out: &mut [u8]) {
            let moves = &self.stores[..self.stores.len() - 1];
            let size = self.degree * moves.len();
            let mut bytes = [0u8; 64];
            for (state, to) in states
                .chunks_exact(self.degree)
                .zip(out.chunks_exact_mut(size))
            {
                bytes[..self.degree].copy_from_slice(state);
                let half =
                    |from: usize| -> Half { std::array::from_fn(|k| u16::from(bytes[from + k])) };
                let (low, high) = (pulp::cast(half(0)), pulp::cast(half(32)));
                for (store, to) in moves.iter().zip(to.chunks_exact_mut(self.degree)) {
                    self.store(low, high, store, to);
                }
            }
        }

        /// Writes a shuffled state: its first and its last 32 bytes, which overlap.
        #[inline(always)]
        fn store(&self, low: __m512i, high: __m512i, by: &Shuffle, to: &mut [u8]) {
            let words = &self.simd.avx512bw;
            let pick = |half: &Half| -> [u8; 32] {
                let picked = words._mm512_permutex2var_epi16(low, pulp::cast(*half), high);
                pulp::cast(words._mm512_cvtepi16_epi8(picked))
            };
            let first = pick(&by.first);
            match to.first_chunk_mut::<32>() {
                Some(start) => {
                    *start = first;
                    if let Some(end) = to.last_chunk_mut::<32>() {
                        *end = pick(&by.last);
                    }
                }
                None => to.copy_from_slice(&first[..to.len()]),
            }
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod portable {
    use super::Job;
    use crate::perm::Perm;
    use crate::puzzle::State;
    use crate::scramble::compose::Group;

    /// No instructions but those that every processor has.
    #[derive(Clone, Copy)]
    pub(in super::super) struct Vectors;

    impl Vectors {
        pub(in super::super) fn detect() -> Vectors {
            Vectors
        }

        pub(in super::super) fn none() -> Vectors {
            Vectors
        }

        pub(in super::super) fn run(self, job: impl Job) {
            job.run();
        }
    }

    /// There are none.
    pub(in super::super) enum Shuffled {}

    impl Shuffled {
        pub(in super::super) fn new(_: &[Perm], _: &State, _: Vectors) -> Option<Shuffled> {
            None
        }

        pub(in super::super) fn table_bytes(&self) -> u64 {
            match *self {}
        }

        pub(in super::super) fn states(&self, _: &Group<'_>, _: &mut [u8]) {
            match *self {}
        }

        pub(in super::super) fn children(&self, _: &[u8], _: &mut [u8]) {
            match *self {}
        }
    }
}
