//! How the addresses of a warp lie: neighbours, all the same, or anywhere.
//!
//! Most warps touch either 32 neighbouring elements or one and the same; both are recognised here, with a few vector
//! instructions, and served by one copy elsewhere.

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
    /// Anything else.
    Scattered,
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
    let (mut sequence, mut same) = (0, 0);
    for lane in 0..LANES {
        // SAFETY: the slot holds 32 lanes.
        let distance = unsafe {
            if WIDE {
                let lanes = slot.cast::<u64>();
                lanes.add(lane).read().wrapping_sub(lanes.read())
            } else {
                let lanes = slot.cast::<u32>();
                u64::from(lanes.add(lane).read().wrapping_sub(lanes.read()))
            }
        };
        sequence |= distance ^ STEPS64[shift][lane];
        same |= distance;
    }
    match (sequence, same) {
        (0, _) => Pattern::Sequence,
        (_, 0) => Pattern::Same,
        _ => Pattern::Scattered,
    }
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
    let pattern = match (sequence, same) {
        (0, _) => Pattern::Sequence,
        (_, 0) => Pattern::Same,
        _ => Pattern::Scattered,
    };
    (pattern, first)
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use super::{LANES, LaneMask, Pattern, chunk_mask};
    use crate::lanes::CHUNK;
    use std::arch::x86_64::{
        __m256i, _mm_loadu_si128, _mm256_and_si256, _mm256_cvtepi32_epi64, _mm256_loadu_si256, _mm256_or_si256,
        _mm256_set1_epi32, _mm256_set1_epi64x, _mm256_setzero_si256, _mm256_sub_epi32, _mm256_sub_epi64,
        _mm256_testz_si256, _mm256_xor_si256,
    };

    #[inline]
    #[target_feature(enable = "avx2")]
    fn verdict(sequence: __m256i, same: __m256i) -> Pattern {
        if _mm256_testz_si256(sequence, sequence) != 0 {
            Pattern::Sequence
        } else if _mm256_testz_si256(same, same) != 0 {
            Pattern::Same
        } else {
            Pattern::Scattered
        }
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
        verdict(sequence, same)
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn pattern64(lanes: *const u64, steps: &[u64; LANES]) -> Pattern {
        // SAFETY: 32 lanes are readable behind both pointers.
        unsafe {
            let first = _mm256_set1_epi64x(lanes.read() as i64);
            let (mut sequence, mut same) = (_mm256_setzero_si256(), _mm256_setzero_si256());
            for at in (0..LANES).step_by(4) {
                let here = _mm256_loadu_si256(lanes.add(at).cast());
                let step = _mm256_loadu_si256(steps.as_ptr().add(at).cast());
                let distance = _mm256_sub_epi64(here, first);
                sequence = _mm256_or_si256(sequence, _mm256_xor_si256(distance, step));
                same = _mm256_or_si256(same, distance);
            }
            verdict(sequence, same)
        }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn pattern32(lanes: *const u32, steps: &[u32; LANES]) -> Pattern {
        // SAFETY: 32 lanes are readable behind both pointers.
        unsafe {
            let first = _mm256_set1_epi32(lanes.read() as i32);
            let (mut sequence, mut same) = (_mm256_setzero_si256(), _mm256_setzero_si256());
            for at in (0..LANES).step_by(8) {
                let here = _mm256_loadu_si256(lanes.add(at).cast());
                let step = _mm256_loadu_si256(steps.as_ptr().add(at).cast());
                let distance = _mm256_sub_epi32(here, first);
                sequence = _mm256_or_si256(sequence, _mm256_xor_si256(distance, step));
                same = _mm256_or_si256(same, distance);
            }
            verdict(sequence, same)
        }
    }
}
