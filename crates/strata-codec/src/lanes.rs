//! Eight words at a time: the vector that codes are written with.
//!
//! A code is written once, over any [`Lanes`]. There are two: [`Plain`], an array, for every processor, and [`Avx2`],
//! a 256-bit register. `cpu` chooses. AVX-512 is left out: nobody has shown that it is faster here.

use crate::words::{WORDS, Words};

/// Words in a vector.
pub(crate) const LANES: usize = 8;

/// Vectors in an entry.
pub(crate) const VECTORS: usize = WORDS / LANES;

/// Eight 32-bit words.
pub(crate) trait Lanes: Copy {
    fn from_array(lanes: [u32; LANES]) -> Self;
    fn to_array(self) -> [u32; LANES];
    fn splat(word: u32) -> Self;

    fn and(self, other: Self) -> Self;
    fn or(self, other: Self) -> Self;
    fn xor(self, other: Self) -> Self;
    /// Modulo 2^32.
    fn minus(self, other: Self) -> Self;
    /// The smaller, unsigned.
    fn min(self, other: Self) -> Self;
    /// All ones where `self` is less than `other`, both signed; else zero.
    fn less(self, other: Self) -> Self;
    fn shift_left<const BITS: i32>(self) -> Self;
    /// Zeros come in.
    fn shift_right<const BITS: i32>(self) -> Self;

    /// Lane i is lane i xor `DISTANCE`, which is 1, 2 or 4.
    fn swapped<const DISTANCE: usize>(self) -> Self;
    /// Lanes 1 to 7, then the first of `following`.
    fn next(self, following: Self) -> Self;
    /// With another word in lane `lane`; the same if there is no such lane.
    fn with_lane(self, lane: usize, word: u32) -> Self;
    /// Lane 0.
    fn first(self) -> u32;
    /// Bit i is the top bit of lane i.
    fn top_bits(self) -> u32;
    /// Bit i is set if lane i is zero.
    fn zero_lanes(self) -> u32;

    /// An entry in four vectors.
    #[inline(always)]
    fn from_words(words: &Words) -> [Self; VECTORS] {
        let (chunks, _) = words.as_chunks::<LANES>();
        let vector = |k: usize| Self::from_array(chunks[k]);
        [vector(0), vector(1), vector(2), vector(3)]
    }

    /// Four vectors as an entry.
    #[inline(always)]
    fn to_words(vectors: [Self; VECTORS]) -> Words {
        let mut words = [0; WORDS];
        for k in 0..VECTORS {
            words[k * LANES..(k + 1) * LANES].copy_from_slice(&vectors[k].to_array());
        }
        words
    }
}

/// An array, on any processor.
#[derive(Clone, Copy)]
pub(crate) struct Plain([u32; LANES]);

impl Plain {
    fn zip(self, other: Self, f: impl Fn(u32, u32) -> u32) -> Self {
        Self(std::array::from_fn(|i| f(self.0[i], other.0[i])))
    }

    fn mask(self, f: impl Fn(u32) -> bool) -> u32 {
        (0..LANES).fold(0, |mask, i| mask | u32::from(f(self.0[i])) << i)
    }
}

impl Lanes for Plain {
    #[inline(always)]
    fn from_array(lanes: [u32; LANES]) -> Self {
        Self(lanes)
    }

    #[inline(always)]
    fn to_array(self) -> [u32; LANES] {
        self.0
    }

    #[inline(always)]
    fn splat(word: u32) -> Self {
        Self([word; LANES])
    }

    #[inline(always)]
    fn and(self, other: Self) -> Self {
        self.zip(other, |a, b| a & b)
    }

    #[inline(always)]
    fn or(self, other: Self) -> Self {
        self.zip(other, |a, b| a | b)
    }

    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        self.zip(other, |a, b| a ^ b)
    }

    #[inline(always)]
    fn minus(self, other: Self) -> Self {
        self.zip(other, u32::wrapping_sub)
    }

    #[inline(always)]
    fn min(self, other: Self) -> Self {
        self.zip(other, u32::min)
    }

    #[inline(always)]
    fn less(self, other: Self) -> Self {
        self.zip(other, |a, b| u32::from((a as i32) < (b as i32)).wrapping_neg())
    }

    #[inline(always)]
    fn shift_left<const BITS: i32>(self) -> Self {
        Self(self.0.map(|a| a << BITS))
    }

    #[inline(always)]
    fn shift_right<const BITS: i32>(self) -> Self {
        Self(self.0.map(|a| a >> BITS))
    }

    #[inline(always)]
    fn swapped<const DISTANCE: usize>(self) -> Self {
        Self(std::array::from_fn(|i| self.0[i ^ DISTANCE]))
    }

    #[inline(always)]
    fn next(self, following: Self) -> Self {
        Self(std::array::from_fn(|i| if i + 1 < LANES { self.0[i + 1] } else { following.0[0] }))
    }

    #[inline(always)]
    fn with_lane(mut self, lane: usize, word: u32) -> Self {
        if let Some(lane) = self.0.get_mut(lane) {
            *lane = word;
        }
        self
    }

    #[inline(always)]
    fn first(self) -> u32 {
        self.0[0]
    }

    #[inline(always)]
    fn top_bits(self) -> u32 {
        self.mask(|a| a >> 31 == 1)
    }

    #[inline(always)]
    fn zero_lanes(self) -> u32 {
        self.mask(|a| a == 0)
    }
}

#[cfg(target_arch = "x86_64")]
pub(crate) use avx2::Avx2;

#[cfg(target_arch = "x86_64")]
mod avx2 {
    //! Every intrinsic here is safe to call where the processor has AVX2, and `cpu` lets no other come here.

    use super::{LANES, Lanes};
    use std::arch::x86_64::{
        __m256i, _mm_cvtsi128_si32, _mm256_alignr_epi8, _mm256_and_si256, _mm256_blendv_epi8, _mm256_castsi256_ps,
        _mm256_castsi256_si128, _mm256_cmpeq_epi32, _mm256_cmpgt_epi32, _mm256_loadu_si256, _mm256_min_epu32,
        _mm256_movemask_ps, _mm256_or_si256, _mm256_permute2x128_si256, _mm256_set1_epi32, _mm256_setr_epi32,
        _mm256_setzero_si256, _mm256_shuffle_epi32, _mm256_slli_epi32, _mm256_srli_epi32, _mm256_storeu_si256,
        _mm256_sub_epi32, _mm256_xor_si256,
    };

    /// A 256-bit register.
    #[derive(Clone, Copy)]
    pub(crate) struct Avx2(__m256i);

    /// Calls an intrinsic of AVX2.
    macro_rules! avx2 {
        ($call:expr) => {
            // SAFETY: values of this type are made in code that `cpu` runs on processors with AVX2 only.
            unsafe { $call }
        };
    }

    impl Lanes for Avx2 {
        #[inline(always)]
        fn from_array(lanes: [u32; LANES]) -> Self {
            // 32 bytes are readable behind the pointer.
            Self(avx2!(_mm256_loadu_si256(lanes.as_ptr().cast())))
        }

        #[inline(always)]
        fn to_array(self) -> [u32; LANES] {
            let mut lanes = [0; LANES];
            // 32 bytes are writable behind the pointer.
            avx2!(_mm256_storeu_si256(lanes.as_mut_ptr().cast(), self.0));
            lanes
        }

        #[inline(always)]
        fn splat(word: u32) -> Self {
            Self(avx2!(_mm256_set1_epi32(word as i32)))
        }

        #[inline(always)]
        fn and(self, other: Self) -> Self {
            Self(avx2!(_mm256_and_si256(self.0, other.0)))
        }

        #[inline(always)]
        fn or(self, other: Self) -> Self {
            Self(avx2!(_mm256_or_si256(self.0, other.0)))
        }

        #[inline(always)]
        fn xor(self, other: Self) -> Self {
            Self(avx2!(_mm256_xor_si256(self.0, other.0)))
        }

        #[inline(always)]
        fn minus(self, other: Self) -> Self {
            Self(avx2!(_mm256_sub_epi32(self.0, other.0)))
        }

        #[inline(always)]
        fn min(self, other: Self) -> Self {
            Self(avx2!(_mm256_min_epu32(self.0, other.0)))
        }

        #[inline(always)]
        fn less(self, other: Self) -> Self {
            Self(avx2!(_mm256_cmpgt_epi32(other.0, self.0)))
        }

        #[inline(always)]
        fn shift_left<const BITS: i32>(self) -> Self {
            Self(avx2!(_mm256_slli_epi32::<BITS>(self.0)))
        }

        #[inline(always)]
        fn shift_right<const BITS: i32>(self) -> Self {
            Self(avx2!(_mm256_srli_epi32::<BITS>(self.0)))
        }

        #[inline(always)]
        fn swapped<const DISTANCE: usize>(self) -> Self {
            Self(match DISTANCE {
                1 => avx2!(_mm256_shuffle_epi32::<0b10_11_00_01>(self.0)),
                2 => avx2!(_mm256_shuffle_epi32::<0b01_00_11_10>(self.0)),
                _ => avx2!(_mm256_permute2x128_si256::<0x01>(self.0, self.0)),
            })
        }

        #[inline(always)]
        fn next(self, following: Self) -> Self {
            let middle = avx2!(_mm256_permute2x128_si256::<0x21>(self.0, following.0));
            Self(avx2!(_mm256_alignr_epi8::<4>(middle, self.0)))
        }

        #[inline(always)]
        fn with_lane(self, lane: usize, word: u32) -> Self {
            let chosen =
                avx2!(_mm256_cmpeq_epi32(_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), _mm256_set1_epi32(lane as i32)));
            Self(avx2!(_mm256_blendv_epi8(self.0, _mm256_set1_epi32(word as i32), chosen)))
        }

        #[inline(always)]
        fn first(self) -> u32 {
            avx2!(_mm_cvtsi128_si32(_mm256_castsi256_si128(self.0))) as u32
        }

        #[inline(always)]
        fn top_bits(self) -> u32 {
            avx2!(_mm256_movemask_ps(_mm256_castsi256_ps(self.0))) as u32
        }

        #[inline(always)]
        fn zero_lanes(self) -> u32 {
            Self(avx2!(_mm256_cmpeq_epi32(self.0, _mm256_setzero_si256()))).top_bits()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Everything a vector can do with two others.
    fn everything<L: Lanes>(a: [u32; LANES], b: [u32; LANES], lane: usize) -> Vec<[u32; LANES]> {
        let (a, b) = (L::from_array(a), L::from_array(b));
        let vectors = [
            a.and(b),
            a.or(b),
            a.xor(b),
            a.minus(b),
            a.min(b),
            a.less(b),
            a.shift_left::<5>(),
            a.shift_right::<31>(),
            a.swapped::<1>(),
            a.swapped::<2>(),
            a.swapped::<4>(),
            a.next(b),
            a.with_lane(lane, b.first()),
            L::splat(a.top_bits()),
            L::splat(a.and(b).zero_lanes()),
        ];
        vectors.map(L::to_array).to_vec()
    }

    proptest! {
        #[test]
        fn a_register_does_what_an_array_does(
            a: [u32; LANES], b: [u32; LANES], few in 0u32..3, lane in 0usize..10,
        ) {
            #[cfg(target_arch = "x86_64")]
            if is_x86_feature_detected!("avx2") {
                prop_assert_eq!(everything::<Plain>(a, b, lane), everything::<Avx2>(a, b, lane));
                let few = a.map(|word| word & few);
                prop_assert_eq!(everything::<Plain>(few, b, lane), everything::<Avx2>(few, b, lane));
                prop_assert_eq!(everything::<Plain>(few, few, lane), everything::<Avx2>(few, few, lane));
            }
        }
    }

    #[test]
    fn an_array_does_what_is_said() {
        let count = Plain([0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(count.next(Plain([8; LANES])).0, [1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(count.swapped::<4>().0, [4, 5, 6, 7, 0, 1, 2, 3]);
        assert_eq!(count.swapped::<1>().0, [1, 0, 3, 2, 5, 4, 7, 6]);
        assert_eq!(count.less(Plain([2; LANES])).0, [!0, !0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(count.with_lane(8, 9).0, count.0);
        assert_eq!((count.zero_lanes(), count.minus(Plain([6; LANES])).top_bits()), (1, 0b0011_1111));
    }
}
