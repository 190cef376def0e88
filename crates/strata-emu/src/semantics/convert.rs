//! `cvt`: conversions among the integer and floating-point types (PTX ISA 9.7.9, "cvt").
//!
//! Integers travel as `u64`. An integer *result* is sign- or zero-extended to 64 bits by its own type, so that taking
//! its low bits fills a register of any width as PTX demands; of an integer *operand* only the type's bits are read.
//! With a constant type every function folds to the conversion of that type.

use super::float::{Float, FloatMode};
use super::half::{self, HalfFormat, HalfMode};
use super::rounding::{Rounding, narrow_f64, narrow_to_odd, step_f64, to_odd_f64};

/// An integer type of `cvt`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the variants are PTX's own names")]
pub enum IntType {
    U8,
    S8,
    U16,
    S16,
    U32,
    S32,
    U64,
    S64,
}

impl IntType {
    /// Every type.
    pub const ALL: [Self; 8] = [Self::U8, Self::S8, Self::U16, Self::S16, Self::U32, Self::S32, Self::U64, Self::S64];

    /// True for the `s` types.
    #[inline(always)]
    pub const fn is_signed(self) -> bool {
        matches!(self, Self::S8 | Self::S16 | Self::S32 | Self::S64)
    }

    /// Width in bits.
    #[inline(always)]
    pub const fn bits(self) -> u32 {
        match self {
            Self::U8 | Self::S8 => 8,
            Self::U16 | Self::S16 => 16,
            Self::U32 | Self::S32 => 32,
            Self::U64 | Self::S64 => 64,
        }
    }

    /// The low bits of `bits` as this type, extended to 64 bits by its signedness.
    #[inline(always)]
    pub const fn extend(self, bits: u64) -> u64 {
        match self {
            Self::U8 => bits as u8 as u64,
            Self::S8 => bits as i8 as u64,
            Self::U16 => bits as u16 as u64,
            Self::S16 => bits as i16 as u64,
            Self::U32 => bits as u32 as u64,
            Self::S32 => bits as i32 as u64,
            Self::U64 | Self::S64 => bits,
        }
    }

    /// The greatest value.
    #[inline(always)]
    const fn max(self) -> u64 {
        u64::MAX >> (64 - self.bits() + self.is_signed() as u32)
    }

    /// The least value, as a signed number.
    #[inline(always)]
    const fn min(self) -> i64 {
        if self.is_signed() { i64::MIN >> (64 - self.bits()) } else { 0 }
    }

    /// What NaN converts to where it does not convert to zero: the top bit of the type alone.
    #[inline(always)]
    const fn top_bit(self) -> u64 {
        self.extend(1 << (self.bits() - 1))
    }
}

/// `cvt{.sat}.to.from`: truncation or extension; with `.sat` clamped to the range of the destination.
#[inline(always)]
pub fn int_to_int(bits: u64, from: IntType, to: IntType, sat: bool) -> u64 {
    let value = from.extend(bits);
    if !sat {
        return to.extend(value);
    }
    if from.is_signed() {
        // A maximum beyond i64 (that of u64) limits nothing here.
        let greatest = to.max().min(i64::MAX as u64) as i64;
        (value as i64).clamp(to.min(), greatest) as u64
    } else {
        value.min(to.max())
    }
}

/// A number rounded to an integer in its own type: what `.rni .rzi .rmi .rpi` do.
pub trait Integral: Float {
    /// The integer that `rounding` chooses; zero results keep the sign, NaN stays NaN.
    fn integral(self, rounding: Rounding) -> Self;
}

macro_rules! integral {
    ($type:ident) => {
        impl Integral for $type {
            #[inline(always)]
            fn integral(self, rounding: Rounding) -> Self {
                match rounding {
                    Rounding::Nearest => self.round_ties_even(),
                    Rounding::Zero => self.trunc(),
                    Rounding::Down => self.floor(),
                    Rounding::Up => self.ceil(),
                }
            }
        }
    };
}

integral!(f32);
integral!(f64);

/// Truncation to an integer type, clamped to its range; NaN gives zero.
///
/// The standard library's saturating casts say the same for 32 bits, but a loop of them does not vectorise.
trait Truncate {
    fn truncate_s32(self) -> i32;
    fn truncate_u32(self) -> u32;
    fn truncate(self, to: IntType) -> u64;
}

macro_rules! truncate {
    ($type:ident) => {
        impl Truncate for $type {
            #[inline(always)]
            fn truncate_s32(self) -> i32 {
                const LIMIT: $type = 2147483648.0;
                let low = if self >= -LIMIT { self } else { -LIMIT };
                let inside = if low < LIMIT { low } else { 0.0 };
                // SAFETY: the comparisons, which NaN fails, leave a value of [-2^31, 2^31).
                let integer = unsafe { inside.to_int_unchecked::<i32>() };
                let clamped = if self >= LIMIT { i32::MAX } else { integer };
                if self.is_nan() { 0 } else { clamped }
            }
            #[inline(always)]
            fn truncate_u32(self) -> u32 {
                const LIMIT: $type = 4294967296.0;
                let low = if self > 0.0 { self } else { 0.0 };
                let inside = if low < LIMIT { low } else { 0.0 };
                // SAFETY: the comparisons, which NaN fails, leave a value of [0, 2^32).
                let integer = unsafe { inside.to_int_unchecked::<u32>() };
                if self >= LIMIT { u32::MAX } else { integer }
            }
            #[inline(always)]
            fn truncate(self, to: IntType) -> u64 {
                match to {
                    IntType::U32 => self.truncate_u32() as u64,
                    IntType::U64 => self as u64,
                    IntType::S64 => self as i64 as u64,
                    // Clamping to s32 first changes nothing for the types within it.
                    _ => int_to_int(self.truncate_s32() as u64, IntType::S32, to, true),
                }
            }
        }
    };
}

truncate!(f32);
truncate!(f64);

/// The integer that `rounding` chooses, except for `.rzi`, which the truncation that follows does anyway.
#[inline(always)]
fn rounded_before_truncation<F: Integral>(value: F, rounding: Rounding) -> F {
    if rounding == Rounding::Zero { value } else { value.integral(rounding) }
}

/// `cvt.rXi.int.f32`: clamped to the range of the destination.
///
/// NaN gives zero, or the top bit alone for a 64-bit destination: PTX ISA 9.0, "cvt", "In float-to-integer conversions,
/// depending upon conversion types, NaN input results in": zero if the source is not `.f64` and the destination not
/// `.s64`/`.u64`, otherwise `1 << (BitWidth(dst) - 1)`.
#[inline(always)]
pub fn f32_to_int(value: f32, to: IntType, rounding: Rounding, ftz: bool) -> u64 {
    let value = value.flush(ftz);
    let result = rounded_before_truncation(value, rounding).truncate(to);
    if (to.bits() == 64) & value.is_nan() { to.top_bit() } else { result }
}

/// `cvt.rXi.int.f64`: clamped to the range of the destination; NaN gives the top bit alone (see [`f32_to_int`]).
#[inline(always)]
pub fn f64_to_int(value: f64, to: IntType, rounding: Rounding) -> u64 {
    let result = rounded_before_truncation(value, rounding).truncate(to);
    if value.is_nan() { to.top_bit() } else { result }
}

/// `cvt.rXi.int.f16` and `.bf16`, as from f32.
#[inline(always)]
pub fn half_to_int<H: HalfFormat>(bits: u16, to: IntType, rounding: Rounding) -> u64 {
    f32_to_int(H::widen(bits), to, rounding, false)
}

/// `$bits` of type `$from` as `$float`, to nearest.
macro_rules! nearest {
    ($bits:expr, $from:expr, $float:ident) => {
        match $from {
            IntType::U8 => $bits as u8 as $float,
            IntType::S8 => $bits as i8 as $float,
            IntType::U16 => $bits as u16 as $float,
            IntType::S16 => $bits as i16 as $float,
            IntType::U32 => $bits as u32 as $float,
            IntType::S32 => $bits as i32 as $float,
            IntType::U64 => $bits as $float,
            IntType::S64 => $bits as i64 as $float,
        }
    };
}

/// How much the integer exceeds its nearest f64; zero for all types of up to 32 bits.
#[inline(always)]
fn error_of_nearest(bits: u64, from: IntType, nearest: f64) -> f64 {
    if from.bits() < 64 {
        return 0.0;
    }
    let exact = if from.is_signed() { bits as i64 as i128 } else { bits as i128 };
    (exact - nearest as i128) as f64
}

/// An integer as f64 rounded to odd, for a second rounding.
#[inline(always)]
fn int_to_odd_f64(bits: u64, from: IntType) -> f64 {
    let nearest = nearest!(bits, from, f64);
    to_odd_f64(nearest, error_of_nearest(bits, from, nearest))
}

/// `cvt.rX.f32.int`.
#[inline(always)]
pub fn int_to_f32(bits: u64, from: IntType, rounding: Rounding, mode: FloatMode) -> f32 {
    let value = if rounding == Rounding::Nearest {
        nearest!(bits, from, f32)
    } else {
        narrow_f64(int_to_odd_f64(bits, from), rounding)
    };
    if mode.sat { value.finish(mode) } else { value }
}

/// `cvt.rX.f64.int`.
#[inline(always)]
pub fn int_to_f64(bits: u64, from: IntType, rounding: Rounding, mode: FloatMode) -> f64 {
    let nearest = nearest!(bits, from, f64);
    let value = if rounding == Rounding::Nearest {
        nearest
    } else {
        step_f64(nearest, error_of_nearest(bits, from, nearest), rounding)
    };
    if mode.sat { value.finish(mode) } else { value }
}

/// `cvt.rX.f16.int` and `.bf16.int`.
#[inline(always)]
pub fn int_to_half<H: HalfFormat>(bits: u64, from: IntType, rounding: Rounding, mode: HalfMode) -> u16 {
    let value = narrow_to_odd(int_to_odd_f64(bits, from));
    half::finish::<H>(half::narrow_rounded::<H>(value, rounding), mode)
}

/// `cvt.f64.f32`: exact.
#[inline(always)]
pub fn f32_to_f64(value: f32, mode: FloatMode) -> f64 {
    (value.flush(mode.ftz) as f64).finish(FloatMode { ftz: false, sat: mode.sat })
}

/// `cvt.rX.f32.f64`; `.ftz` flushes the f32 result.
#[inline(always)]
pub fn f64_to_f32(value: f64, rounding: Rounding, mode: FloatMode) -> f32 {
    narrow_f64(value, rounding).finish(mode)
}

/// `cvt.f32.f32` and `cvt.f64.f64`, with `.rXi` if `rounding` is given.
#[inline(always)]
pub fn same_float<F: Integral>(value: F, rounding: Option<Rounding>, mode: FloatMode) -> F {
    let value = value.flush(mode.ftz);
    match rounding {
        Some(rounding) => value.integral(rounding),
        None => value,
    }
    .finish(mode)
}

/// `cvt.f32.f16` and `cvt.f32.bf16`: exact.
#[inline(always)]
pub fn half_to_f32<H: HalfFormat>(bits: u16, mode: FloatMode) -> f32 {
    H::widen(bits).finish(mode)
}

/// `cvt.f64.f16` and `cvt.f64.bf16`: exact.
#[inline(always)]
pub fn half_to_f64<H: HalfFormat>(bits: u16, mode: FloatMode) -> f64 {
    (H::widen(bits) as f64).finish(mode)
}

/// `cvt.rX.f16.f32` and `cvt.rX.bf16.f32`; `.ftz` flushes the f32 operand.
#[inline(always)]
pub fn f32_to_half<H: HalfFormat>(value: f32, rounding: Rounding, mode: HalfMode) -> u16 {
    let result = half::narrow_rounded::<H>(value.flush(mode.ftz), rounding);
    half::finish::<H>(result, HalfMode { ftz: false, ..mode })
}

/// `cvt.rX.f16.f64` and `cvt.rX.bf16.f64`: one rounding.
#[inline(always)]
pub fn f64_to_half<H: HalfFormat>(value: f64, rounding: Rounding, mode: HalfMode) -> u16 {
    half::finish::<H>(half::narrow_rounded::<H>(narrow_to_odd(value), rounding), mode)
}

/// `cvt` between half formats: `.f16.f16` and `.bf16.bf16` (with `.rXi` if `integral` is given), `.bf16.f16` and
/// `.f16.bf16` (with `rounding`).
#[inline(always)]
pub fn half_to_half<From: HalfFormat, To: HalfFormat>(
    bits: u16,
    integral: Option<Rounding>,
    rounding: Rounding,
    mode: HalfMode,
) -> u16 {
    let value = From::widen(bits);
    let value = match integral {
        Some(rounding) => value.integral(rounding),
        None => value,
    };
    half::finish::<To>(half::narrow_rounded::<To>(value, rounding), mode)
}

/// `cvt.rX.f16x2.f32 d, a, b` and `.bf16x2`: `a` goes to the upper half, `b` to the lower.
#[inline(always)]
pub fn f32_pair_to_half2<H: HalfFormat>(a: f32, b: f32, rounding: Rounding, mode: HalfMode) -> u32 {
    let (high, low) = (f32_to_half::<H>(a, rounding, mode), f32_to_half::<H>(b, rounding, mode));
    ((high as u32) << 16) | low as u32
}

/// The fraction bits that f32 has and tf32 has not.
const TF32_DROPPED: u32 = 0x1fff;

/// `cvt.rna.tf32.f32`: to nearest, ties away from zero; the dropped bits are zero.
#[inline(always)]
pub fn f32_to_tf32_rna(value: f32) -> f32 {
    let rounded = f32::from_bits(value.to_bits().wrapping_add(0x1000) & !TF32_DROPPED);
    let rounded = if value.is_infinite() { value } else { rounded };
    if value.is_nan() { f32::CANONICAL_NAN } else { rounded }
}

/// `cvt.rn{.relu}.tf32.f32` and `cvt.rz{.relu}.tf32.f32` (other directions round to nearest); the dropped bits are
/// zero.
#[inline(always)]
pub fn f32_to_tf32(value: f32, rounding: Rounding, relu: bool) -> f32 {
    let bits = value.to_bits();
    let rounded = match rounding {
        Rounding::Zero => bits,
        _ => bits.wrapping_add(0xfff + ((bits >> 13) & 1)),
    };
    let rounded = f32::from_bits(rounded & !TF32_DROPPED);
    let rounded = if value.is_infinite() { value } else { rounded };
    let rounded = if relu & rounded.is_sign_negative() { 0.0 } else { rounded };
    if value.is_nan() { f32::CANONICAL_NAN } else { rounded }
}

/// `.satfinite` of a tf32 conversion: infinities become the greatest tf32 number of their sign.
#[inline(always)]
pub fn satfinite_tf32(value: f32) -> f32 {
    const GREATEST: f32 = f32::from_bits(0x7f7f_ffff & !TF32_DROPPED);
    if value.is_infinite() { GREATEST.copysign(value) } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::semantics::half::{Bf16, CANONICAL_NAN, F16};
    use crate::semantics::reference::{F32_EDGES, F64_EDGES, any_f32, any_f64};
    use proptest::prelude::*;
    use rustc_apfloat::ieee::{BFloat, Double, Half, Single};
    use rustc_apfloat::{Float as Soft, FloatConvert};

    const PLAIN: FloatMode = FloatMode::PLAIN;

    /// The number that the low bits of `bits` stand for.
    fn number(bits: u64, of: IntType) -> i128 {
        if of.is_signed() { of.extend(bits) as i64 as i128 } else { of.extend(bits) as i128 }
    }

    fn range(of: IntType) -> std::ops::RangeInclusive<i128> {
        if of.is_signed() { -(1 << (of.bits() - 1))..=(1 << (of.bits() - 1)) - 1 } else { 0..=(1 << of.bits()) - 1 }
    }

    /// What a float converts to, by a software implementation: exact value, clamped.
    fn float_to_int_by_soft<S: Soft>(value: S, to: IntType, rounding: Rounding, wide_nan: bool) -> u64 {
        if value.is_nan() {
            return if wide_nan { to.extend(1 << (to.bits() - 1)) } else { 0 };
        }
        // 100 bits hold every 64-bit integer; what is beyond saturates there and again below.
        let integer = value.to_i128_r(100, rounding.soft(), &mut false).value;
        let (low, high) = range(to).into_inner();
        integer.clamp(low, high) as u64
    }

    fn check_to_int(single: f32, double: f64) {
        for to in IntType::ALL {
            for r in Rounding::ALL {
                let soft = Single::from_bits(single.to_bits() as u128);
                let expected = float_to_int_by_soft(soft, to, r, to.bits() == 64);
                assert_eq!(f32_to_int(single, to, r, false), expected, "{to:?} {r:?} {single:e}");
                let soft = Double::from_bits(double.to_bits() as u128);
                let expected = float_to_int_by_soft(soft, to, r, true);
                assert_eq!(f64_to_int(double, to, r), expected, "{to:?} {r:?} {double:e}");
            }
        }
    }

    fn check_from_int(bits: u64) {
        for from in IntType::ALL {
            let value = number(bits, from);
            for r in Rounding::ALL {
                let single = Single::from_i128_r(value, r.soft()).value.to_bits() as u32;
                assert_eq!(int_to_f32(bits, from, r, PLAIN).to_bits(), single, "{from:?} {r:?} {value}");
                let double = Double::from_i128_r(value, r.soft()).value.to_bits() as u64;
                assert_eq!(int_to_f64(bits, from, r, PLAIN).to_bits(), double, "{from:?} {r:?} {value}");
                let half = Half::from_i128_r(value, r.soft()).value.to_bits() as u16;
                assert_eq!(int_to_half::<F16>(bits, from, r, HalfMode::PLAIN), half, "{from:?} {r:?} {value}");
                let bfloat = BFloat::from_i128_r(value, r.soft()).value.to_bits() as u16;
                assert_eq!(int_to_half::<Bf16>(bits, from, r, HalfMode::PLAIN), bfloat, "{from:?} {r:?} {value}");
            }
        }
    }

    fn check_between_floats(double: f64) {
        let wide = Double::from_bits(double.to_bits() as u128);
        for r in Rounding::ALL {
            let half: Half = wide.convert_r(r.soft(), &mut false).value;
            let half = if half.is_nan() { CANONICAL_NAN } else { half.to_bits() as u16 };
            assert_eq!(f64_to_half::<F16>(double, r, HalfMode::PLAIN), half, "{r:?} {double:e}");
            let bfloat: BFloat = wide.convert_r(r.soft(), &mut false).value;
            let bfloat = if bfloat.is_nan() { CANONICAL_NAN } else { bfloat.to_bits() as u16 };
            assert_eq!(f64_to_half::<Bf16>(double, r, HalfMode::PLAIN), bfloat, "{r:?} {double:e}");
            // Rounding to an integer and back through one agree where the integer fits.
            let integral = same_float(double, Some(r), PLAIN);
            if double.abs() < 1e15 {
                assert_eq!(integral, f64_to_int(double, IntType::S64, r) as i64 as f64);
                assert_eq!(integral.is_sign_negative(), double.is_sign_negative(), "{r:?} {double:e}");
            }
        }
    }

    #[test]
    fn edge_values_match_soft_float() {
        for &single in F32_EDGES {
            check_to_int(single, single as f64);
            check_between_floats(single as f64);
        }
        for &double in F64_EDGES {
            check_to_int(double as f32, double);
            check_between_floats(double);
        }
        // The limits of every type and their neighbours, as integers and as floats.
        for shift in 0..64 {
            for bits in [1u64 << shift, (1 << shift) - 1, (1 << shift) + 1, (1u64 << shift).wrapping_neg()] {
                check_from_int(bits);
                let value = bits as i64 as f64;
                for value in [value, value + 0.5, value - 0.5, value * 2.0, value.next_down()] {
                    check_to_int(value as f32, value);
                }
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1500))]

        #[test]
        fn random_values_match_soft_float(single in any_f32(), double in any_f64(), bits: u64, down in 0u32..64, up in 0u32..40) {
            check_to_int(single, double);
            // Magnitudes around those of the integer types.
            let scaled = (bits as i64 >> down) as f64 / (1u64 << up) as f64;
            check_to_int(scaled as f32, scaled);
            check_from_int(bits >> down);
            check_from_int((bits as i64 >> down) as u64);
            check_between_floats(double);
            check_between_floats(scaled);
            check_between_floats(single as f64);
        }

        #[test]
        fn integers_truncate_or_saturate(bits: u64, down in 0u32..64) {
            let bits = (bits as i64 >> down) as u64;
            for from in IntType::ALL {
                for to in IntType::ALL {
                    let value = number(bits, from);
                    let (low, high) = range(to).into_inner();
                    prop_assert_eq!(number(int_to_int(bits, from, to, true), to), value.clamp(low, high));
                    prop_assert_eq!(int_to_int(bits, from, to, true), to.extend(int_to_int(bits, from, to, true)));
                    prop_assert_eq!(int_to_int(bits, from, to, false), to.extend(value as u64));
                }
            }
        }

        #[test]
        fn tf32_keeps_ten_fraction_bits(value in any_f32()) {
            // 2^13 times the scaled fraction is an integer; ties away is `round`, ties even `round_ties_even`.
            let unit = if value.is_normal() { ((value.to_bits() >> 23) & 0xff) as i32 - 127 - 10 } else { -126 - 10 };
            let scaled = value as f64 / (unit as f64).exp2();
            let back = |v: f64| (v * (unit as f64).exp2()) as f32;
            if value.is_finite() {
                prop_assert_eq!(f32_to_tf32_rna(value).to_bits(), back(scaled.round()).to_bits());
                prop_assert_eq!(f32_to_tf32(value, Rounding::Nearest, false).to_bits(), back(scaled.round_ties_even()).to_bits());
                prop_assert_eq!(f32_to_tf32(value, Rounding::Zero, false).to_bits(), back(scaled.trunc()).to_bits());
                let relu = f32_to_tf32(value, Rounding::Zero, true);
                prop_assert_eq!(relu.to_bits(), if value.is_sign_negative() { 0 } else { back(scaled.trunc()).to_bits() });
            }
        }
    }

    #[test]
    fn every_half_converts_like_its_f32() {
        for bits in 0..=u16::MAX {
            for to in IntType::ALL {
                for r in Rounding::ALL {
                    assert_eq!(half_to_int::<F16>(bits, to, r), f32_to_int(F16::widen(bits), to, r, false));
                }
            }
            if !half::is_nan::<F16>(bits) {
                assert_eq!(half_to_half::<F16, F16>(bits, None, Rounding::Nearest, HalfMode::PLAIN), bits);
                assert_eq!(half_to_f32::<F16>(bits, PLAIN), F16::widen(bits));
                assert_eq!(half_to_f64::<F16>(bits, PLAIN), F16::widen(bits) as f64);
                let floor = half_to_half::<F16, F16>(bits, Some(Rounding::Down), Rounding::Nearest, HalfMode::PLAIN);
                assert_eq!(F16::widen(floor), F16::widen(bits).floor());
                let bfloat = half_to_half::<F16, Bf16>(bits, None, Rounding::Nearest, HalfMode::PLAIN);
                assert_eq!(bfloat, Bf16::narrow(F16::widen(bits)));
            }
        }
    }

    #[test]
    fn modifiers() {
        let sub = 1e-40f32;
        assert_eq!(f32_to_int(sub, IntType::S32, Rounding::Up, false), 1);
        assert_eq!(f32_to_int(sub, IntType::S32, Rounding::Up, true), 0);
        assert_eq!(f32_to_int(f32::NAN, IntType::S32, Rounding::Zero, false), 0);
        assert_eq!(f32_to_int(f32::NAN, IntType::U64, Rounding::Zero, false), 1 << 63);
        assert_eq!(f64_to_int(f64::NAN, IntType::U32, Rounding::Zero), 0x8000_0000);
        assert_eq!(f64_to_int(f64::NAN, IntType::S32, Rounding::Zero) as u32, 0x8000_0000);
        assert_eq!(f32_to_f64(sub, FloatMode::FTZ), 0.0);
        assert_eq!(f32_to_f64(sub, PLAIN), sub as f64);
        assert_eq!(f64_to_f32(1e-40, Rounding::Nearest, FloatMode::FTZ), 0.0);
        assert_eq!(f64_to_f32(7.0, Rounding::Nearest, FloatMode::SAT), 1.0);
        assert_eq!(same_float(f32::NAN, None, FloatMode::SAT).to_bits(), 0);
        assert_eq!(same_float(-f32::NAN, None, PLAIN).to_bits(), 0x7fff_ffff);
        assert_eq!(same_float(-0.25f32, Some(Rounding::Nearest), PLAIN).to_bits(), 0x8000_0000);
        assert_eq!(int_to_f32(9, IntType::U8, Rounding::Nearest, FloatMode::SAT), 1.0);
        assert_eq!(int_to_f64(u64::MAX, IntType::S8, Rounding::Nearest, FloatMode::SAT), 0.0);
        let relu = HalfMode { relu: true, ..HalfMode::PLAIN };
        assert_eq!(f32_pair_to_half2::<F16>(1.0, -2.0, Rounding::Nearest, relu), 0x3c00_0000);
        assert_eq!(f32_pair_to_half2::<Bf16>(1.0, -2.0, Rounding::Nearest, HalfMode::PLAIN), 0x3f80_c000);
        assert_eq!(f32_to_half::<Bf16>(sub, Rounding::Up, HalfMode { ftz: true, ..HalfMode::PLAIN }), 0);
        // The half result itself is not subject to `.ftz`, which speaks of f32.
        assert_eq!(f32_to_half::<F16>(6e-8, Rounding::Nearest, HalfMode { ftz: true, ..HalfMode::PLAIN }), 1);
        assert_eq!(f32_to_tf32_rna(f32::NEG_INFINITY), f32::NEG_INFINITY);
        assert_eq!(f32_to_tf32(f32::NAN, Rounding::Zero, true).to_bits(), 0x7fff_ffff);
        assert_eq!(satfinite_tf32(f32_to_tf32_rna(-f32::MAX)).to_bits(), 0xff7f_e000);
        assert_eq!(satfinite_tf32(2.0), 2.0);
    }
}
