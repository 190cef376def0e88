//! How the addresses of a warp lie: neighbours, all the same, so in each half of the warp, or anywhere.
//!
//! Most warps touch either 32 neighbouring elements or one and the same, and those of blocks 16 threads wide do so in two
//! halves; all are recognised here, with a few vector instructions, and served by one copy or two elsewhere.

#[cfg(target_arch = "x86_64")]
use crate::lanes::chunk_mask;
use strata_core::{LANES, LaneMask};

/// How the lanes' addresses lie.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Pattern {
    /// Lane `l` at `first + l * width`.
    Sequence,
    /// All lanes at one address.
    Same,
    /// Each half of the warp in a sequence of its own.
    Sequences,
    /// Each half of the warp at an address of its own.
    TwoPlaces,
    /// Anything else.
    Scattered,
}

/// Lanes of half a warp.
pub(crate) const HALF: usize = LANES / 2;

impl Pattern {
    #[inline(always)]
    fn of_lanes(in_sequence: bool, at_one_place: bool) -> Self {
        match (in_sequence, at_one_place) {
            (true, _) => Self::Sequence,
            (_, true) => Self::Same,
            _ => Self::Scattered,
        }
    }

    /// The pattern of a warp each half of which is in sequence, or at one place, if the halves are so far apart and two halves
    /// of one sequence would be `next` apart.
    #[inline(always)]
    fn of_halves(in_sequence: bool, at_one_place: bool, apart: u64, next: u64) -> Self {
        match (in_sequence, at_one_place) {
            (true, _) if apart == next => Self::Sequence,
            (true, _) => Self::Sequences,
            (_, true) if apart == 0 => Self::Same,
            (_, true) => Self::TwoPlaces,
            _ => Self::Scattered,
        }
    }
}

/// Distance of each lane from the first in a sequence, by the logarithm of the width.
const STEPS64: [[u64; LANES]; 6] = {
    let mut steps = [[0; LANES]; 6];
    let mut shift = 0;
    while shift < 6 {
        let mut lane = 0;
        while lane < LANES {
            steps[shift][lane] = (lane as u64) << shift;
            lane += 1;
        }
        shift += 1;
    }
    steps
};
const STEPS32: [[u32; LANES]; 6] = {
    let mut steps = [[0; LANES]; 6];
    let mut shift = 0;
    while shift < 6 {
        let mut lane = 0;
        while lane < LANES {
            steps[shift][lane] = (lane as u32) << shift;
            lane += 1;
        }
        shift += 1;
    }
    steps
};

/// The pattern of 32 base addresses in a slot (8 bytes each if `WIDE`, else 4), for accesses of `width` bytes.
///
/// This runs once per load and store. Left to itself the compiler shuffles lanes through general registers, so the
/// vector version is written out; both give the same answer.
#[inline(always)]
pub(crate) unsafe fn pattern<const WIDE: bool, const VECTOR: bool>(slot: *const u8, width: u64) -> Pattern {
    let shift = (width.trailing_zeros() as usize).min(STEPS64.len() - 1);
    #[cfg(target_arch = "x86_64")]
    if VECTOR {
        // SAFETY: the slot holds 32 lanes; only code compiled for AVX2 passes `VECTOR`.
        return unsafe {
            if WIDE {
                avx2::pattern64(slot.cast(), &STEPS64[shift])
            } else {
                avx2::pattern32(slot.cast(), &STEPS32[shift])
            }
        };
    }
    // SAFETY: the slot holds 32 lanes.
    let distance = |lane: usize, from: usize| unsafe {
        if WIDE {
            let lanes = slot.cast::<u64>();
            lanes.add(lane).read().wrapping_sub(lanes.add(from).read())
        } else {
            let lanes = slot.cast::<u32>();
            u64::from(lanes.add(lane).read().wrapping_sub(lanes.add(from).read()))
        }
    };
    let (mut sequence, mut same) = (0, 0);
    for lane in 0..LANES {
        let distance = distance(lane, lane / HALF * HALF);
        sequence |= distance ^ STEPS64[shift][lane % HALF];
        same |= distance;
    }
    Pattern::of_halves(sequence == 0, same == 0, distance(HALF, 0), STEPS64[shift][HALF])
}

/// As [`pattern`] for the lanes of a mask; `first` is where lane 0 is in a sequence, even if it is not active.
#[inline(always)]
pub(crate) fn masked_pattern<const VECTOR: bool>(addr: &[u64; LANES], m: LaneMask, width: u64) -> (Pattern, u64) {
    let shift = (width.trailing_zeros() as usize).min(STEPS64.len() - 1);
    let lane = m.trailing_zeros() as usize;
    let one = addr[lane];
    let first = one.wrapping_sub(STEPS64[shift][lane]);
    #[cfg(target_arch = "x86_64")]
    if VECTOR {
        // SAFETY: only code compiled for AVX2 passes `VECTOR`.
        return (unsafe { avx2::masked_pattern(addr, m, first, one, &STEPS64[shift]) }, first);
    }
    let (mut sequence, mut same) = (0, 0);
    for lane in (0..LANES).filter(|l| m >> l & 1 != 0) {
        sequence |= addr[lane].wrapping_sub(first) ^ STEPS64[shift][lane];
        same |= addr[lane] ^ one;
    }
    (Pattern::of_lanes(sequence == 0, same == 0), first)
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use super::{HALF, LANES, LaneMask, Pattern, chunk_mask};
    use crate::lanes::CHUNK;
    use std::arch::x86_64::{
        __m256i, _mm_loadu_si128, _mm256_and_si256, _mm256_cvtepi32_epi64, _mm256_loadu_si256, _mm256_or_si256,
        _mm256_set1_epi32, _mm256_set1_epi64x, _mm256_setzero_si256, _mm256_sub_epi32, _mm256_sub_epi64,
        _mm256_testz_si256, _mm256_xor_si256,
    };

    #[inline]
    #[target_feature(enable = "avx2")]
    fn is_zero(bits: __m256i) -> bool {
        _mm256_testz_si256(bits, bits) != 0
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn masked_pattern(
        addr: &[u64; LANES],
        m: LaneMask,
        first: u64,
        one: u64,
        steps: &[u64; LANES],
    ) -> Pattern {
        let (first, one) = (_mm256_set1_epi64x(first as i64), _mm256_set1_epi64x(one as i64));
        let (mut sequence, mut same) = (_mm256_setzero_si256(), _mm256_setzero_si256());
        for at in (0..LANES).step_by(4) {
            // SAFETY: all three tables go on for four entries from `at`.
            let (here, step, active) = unsafe {
                (
                    _mm256_loadu_si256(addr.as_ptr().add(at).cast()),
                    _mm256_loadu_si256(steps.as_ptr().add(at).cast()),
                    _mm_loadu_si128(chunk_mask(m, at / CHUNK).as_ptr().add(at % CHUNK).cast()),
                )
            };
            let active = _mm256_cvtepi32_epi64(active);
            let distance = _mm256_xor_si256(_mm256_sub_epi64(here, first), step);
            sequence = _mm256_or_si256(sequence, _mm256_and_si256(distance, active));
            same = _mm256_or_si256(same, _mm256_and_si256(_mm256_xor_si256(here, one), active));
        }
        Pattern::of_lanes(is_zero(sequence), is_zero(same))
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn pattern64(lanes: *const u64, steps: &[u64; LANES]) -> Pattern {
        // SAFETY: 32 lanes are readable behind both pointers.
        unsafe {
            let (mut sequence, mut same) = (_mm256_setzero_si256(), _mm256_setzero_si256());
            for half in [lanes, lanes.add(HALF)] {
                let first = _mm256_set1_epi64x(half.read() as i64);
                for at in (0..HALF).step_by(4) {
                    let here = _mm256_loadu_si256(half.add(at).cast());
                    let step = _mm256_loadu_si256(steps.as_ptr().add(at).cast());
                    let distance = _mm256_sub_epi64(here, first);
                    sequence = _mm256_or_si256(sequence, _mm256_xor_si256(distance, step));
                    same = _mm256_or_si256(same, distance);
                }
            }
            let apart = lanes.add(HALF).read().wrapping_sub(lanes.read());
            Pattern::of_halves(is_zero(sequence), is_zero(same), apart, steps[HALF])
        }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn pattern32(lanes: *const u32, steps: &[u32; LANES]) -> Pattern {
        // SAFETY: 32 lanes are readable behind both pointers.
        unsafe {
            let (mut sequence, mut same) = (_mm256_setzero_si256(), _mm256_setzero_si256());
            for half in [lanes, lanes.add(HALF)] {
                let first = _mm256_set1_epi32(half.read() as i32);
                for at in (0..HALF).step_by(8) {
                    let here = _mm256_loadu_si256(half.add(at).cast());
                    let step = _mm256_loadu_si256(steps.as_ptr().add(at).cast());
                    let distance = _mm256_sub_epi32(here, first);
                    sequence = _mm256_or_si256(sequence, _mm256_xor_si256(distance, step));
                    same = _mm256_or_si256(same, distance);
                }
            }
            let apart = lanes.add(HALF).read().wrapping_sub(lanes.read());
            Pattern::of_halves(is_zero(sequence), is_zero(same), apart.into(), steps[HALF].into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(address: impl Fn(u64) -> u64, width: u64, expected: Pattern) {
        let wide: [u64; LANES] = std::array::from_fn(|l| address(l as u64));
        let narrow = wide.map(|a| a as u32);
        // SAFETY: both arrays hold 32 lanes; the vector version runs where the host has it.
        unsafe {
            assert_eq!(pattern::<true, false>(wide.as_ptr().cast(), width), expected, "64 bits");
            assert_eq!(pattern::<false, false>(narrow.as_ptr().cast(), width), expected, "32 bits");
            #[cfg(target_arch = "x86_64")]
            if std::is_x86_feature_detected!("avx2") {
                assert_eq!(pattern::<true, true>(wide.as_ptr().cast(), width), expected, "64 bits, vector");
                assert_eq!(pattern::<false, true>(narrow.as_ptr().cast(), width), expected, "32 bits, vector");
            }
        }
    }

    #[test]
    fn warps_and_halves_of_warps() {
        check(|l| 0x1000 + 4 * l, 4, Pattern::Sequence);
        check(|_| 0x1000, 4, Pattern::Same);
        check(|l| 0x1000 + 4 * (l % 16), 4, Pattern::Sequences);
        check(|l| 0x9000 - 0x800 * (l / 16) + 8 * (l % 16), 8, Pattern::Sequences);
        check(|l| 0x1000 + 4 * (l / 16), 4, Pattern::TwoPlaces);
        check(|l| 0x1000 - 64 * (l / 16), 4, Pattern::TwoPlaces);
        check(|l| 0x1000 + 4 * (l % 8), 4, Pattern::Scattered);
        check(|l| 0x1000 + 8 * l, 4, Pattern::Scattered);
        check(|l| if l == 31 { 0x1000 } else { 0x1000 + 4 * l }, 4, Pattern::Scattered);
        check(|l| if l == 16 { 0x1000 } else { 0x1000 + 4 * (l / 16) }, 4, Pattern::Scattered);
    }
}
