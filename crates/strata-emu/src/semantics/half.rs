//! f16 and bf16 arithmetic, single and packed (PTX ISA 9.7.4).
//!
//! Values are bit patterns. Operands widen exactly to f32 (or f64), where sums are more than twice as precise and
//! products exact, and the result is rounded to the half format; the fused multiply-add keeps the remainder of its sum
//! by rounding to odd (see [`super::rounding`]).

use super::approx;
use super::float::{Float, FloatCompare, MinMaxMode};
use super::rounding::{Rounding, narrow_to_odd, sum_error_f32, sum_to_odd, to_odd_f32};

/// The modifiers of half-precision arithmetic.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct HalfMode {
    /// `.ftz`: subnormal operands and results become zero of the same sign.
    pub ftz: bool,
    /// `.sat`: the result is clamped to \[0, 1\], NaN becomes +0.
    pub sat: bool,
    /// `.relu`: a negative result becomes +0, NaN stays NaN.
    pub relu: bool,
}

impl HalfMode {
    /// No modifier.
    pub const PLAIN: Self = Self { ftz: false, sat: false, relu: false };
}

/// The NaN that half-precision arithmetic produces, in both formats.
pub const CANONICAL_NAN: u16 = 0x7fff;

const SIGN: u16 = 0x8000;

/// A 16-bit floating-point format.
pub trait HalfFormat {
    /// The bits of +infinity: also the mask of the exponent.
    const INFINITY: u16;
    /// The bits of 1.0.
    const ONE: u16;

    /// The exact value; NaN stays NaN.
    fn widen(bits: u16) -> f32;
    /// The value rounded to nearest even; NaN becomes canonical.
    fn narrow(value: f32) -> u16;
    /// `a * b + c` of three widened values, rounded to odd.
    fn fused(a: f32, b: f32, c: f32) -> f32;
    /// `a * b` of two widened values, rounded to odd.
    fn product(a: f32, b: f32) -> f32;
}

/// The IEEE half-precision format: 5 exponent and 10 fraction bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct F16;

/// The upper half of an f32: 8 exponent and 7 fraction bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bf16;

impl HalfFormat for F16 {
    const INFINITY: u16 = 0x7c00;
    const ONE: u16 = 0x3c00;

    #[inline(always)]
    fn widen(bits: u16) -> f32 {
        // A subnormal is the fraction of the number just above f16's smallest normal, less that number.
        const SMALLEST_NORMAL: u32 = (127 - 14) << 23;
        let magnitude = (bits & !SIGN) as u32;
        let normal = (magnitude << 13) + (112 << 23);
        let subnormal = f32::from_bits((magnitude << 13) + SMALLEST_NORMAL) - f32::from_bits(SMALLEST_NORMAL);
        let finite = if magnitude < 0x400 { subnormal.to_bits() } else { normal };
        let special = (magnitude << 13) | 0x7f80_0000;
        let magnitude = if magnitude >= Self::INFINITY as u32 { special } else { finite };
        f32::from_bits(magnitude | (((bits & SIGN) as u32) << 16))
    }

    #[inline(always)]
    fn narrow(value: f32) -> u16 {
        const SMALLEST_NORMAL: u32 = (127 - 14) << 23;
        let bits = value.to_bits();
        let magnitude = bits & 0x7fff_ffff;
        let sign = (bits >> 16) & SIGN as u32;
        // Half of the 13 dropped bits' unit, less one unless the kept last bit is one: ties go to even.
        let rounded = magnitude.wrapping_add(0xfff + ((magnitude >> 13) & 1)) >> 13;
        let normal = rounded.wrapping_sub(112 << 10).min(Self::INFINITY as u32);
        // f16's subnormals are multiples of 2^-24, the last place of f32 numbers from 1/2 to 1.
        let subnormal = (f32::from_bits(magnitude) + 0.5).to_bits().wrapping_sub(0.5f32.to_bits());
        let half = if magnitude < SMALLEST_NORMAL { subnormal } else { normal };
        if value.is_nan() { CANONICAL_NAN } else { (sign | half) as u16 }
    }

    // A product of two f16 numbers has 22 bits and no exponent that f32 lacks: it is exact.

    #[inline(always)]
    fn fused(a: f32, b: f32, c: f32) -> f32 {
        let product = a * b;
        let sum = product + c;
        to_odd_f32(sum, sum_error_f32(product, c, sum))
    }

    #[inline(always)]
    fn product(a: f32, b: f32) -> f32 {
        a * b
    }
}

impl HalfFormat for Bf16 {
    const INFINITY: u16 = 0x7f80;
    const ONE: u16 = 0x3f80;

    #[inline(always)]
    fn widen(bits: u16) -> f32 {
        f32::from_bits((bits as u32) << 16)
    }

    #[inline(always)]
    fn narrow(value: f32) -> u16 {
        let bits = value.to_bits();
        let rounded = bits.wrapping_add(0x7fff + ((bits >> 16) & 1)) >> 16;
        if value.is_nan() { CANONICAL_NAN } else { rounded as u16 }
    }

    // A product of two bf16 numbers can be smaller than any f32; in f64 it is exact.

    #[inline(always)]
    fn fused(a: f32, b: f32, c: f32) -> f32 {
        narrow_to_odd(sum_to_odd(a as f64 * b as f64, c as f64, Rounding::Nearest))
    }

    #[inline(always)]
    fn product(a: f32, b: f32) -> f32 {
        narrow_to_odd(a as f64 * b as f64)
    }
}

/// The value rounded in the given direction; NaN becomes canonical. Rounding an f32 that was itself rounded to odd
/// rounds the number it came from.
#[inline(always)]
pub fn narrow_rounded<H: HalfFormat>(value: f32, rounding: Rounding) -> u16 {
    let nearest = H::narrow(value);
    let back = H::widen(nearest);
    let negative = value.is_sign_negative();
    // As in `rounding`: one on the bits is one step in magnitude.
    let (moves, outward) = match rounding {
        Rounding::Nearest => (false, false),
        Rounding::Zero => (back.abs() > value.abs(), false),
        Rounding::Down => (back > value, negative),
        Rounding::Up => (back < value, !negative),
    };
    let neighbour = if outward { nearest.wrapping_add(1) } else { nearest.wrapping_sub(1) };
    if moves { neighbour } else { nearest }
}

/// True for the bits of a NaN.
#[inline(always)]
pub fn is_nan<H: HalfFormat>(bits: u16) -> bool {
    bits & !SIGN > H::INFINITY
}

/// The operand as an instruction with or without `.ftz` sees it.
#[inline(always)]
pub fn flush<H: HalfFormat>(bits: u16, ftz: bool) -> u16 {
    if ftz & (bits & H::INFINITY == 0) { bits & SIGN } else { bits }
}

/// Applies `.ftz`, `.sat` and `.relu` to a result.
#[inline(always)]
pub fn finish<H: HalfFormat>(bits: u16, mode: HalfMode) -> u16 {
    let bits = flush::<H>(bits, mode.ftz);
    let negative = bits & SIGN != 0;
    if mode.sat {
        let clamped = bits.min(H::ONE);
        if negative | is_nan::<H>(bits) { 0 } else { clamped }
    } else if mode.relu & negative & !is_nan::<H>(bits) {
        0
    } else {
        bits
    }
}

/// `.satfinite` of a conversion: infinities become the greatest number of their sign.
#[inline(always)]
pub fn satfinite<H: HalfFormat>(bits: u16) -> u16 {
    if bits & !SIGN == H::INFINITY { bits - 1 } else { bits }
}

/// `add`.
#[inline(always)]
pub fn add<H: HalfFormat>(a: u16, b: u16, mode: HalfMode) -> u16 {
    let (a, b) = (H::widen(flush::<H>(a, mode.ftz)), H::widen(flush::<H>(b, mode.ftz)));
    // f32 has at least twice the bits of a half plus two: rounding twice is rounding once (Figueroa, 1995).
    finish::<H>(H::narrow(a + b), mode)
}

/// `sub`.
#[inline(always)]
pub fn sub<H: HalfFormat>(a: u16, b: u16, mode: HalfMode) -> u16 {
    add::<H>(a, b ^ SIGN, mode)
}

/// `mul`.
#[inline(always)]
pub fn mul<H: HalfFormat>(a: u16, b: u16, mode: HalfMode) -> u16 {
    let (a, b) = (H::widen(flush::<H>(a, mode.ftz)), H::widen(flush::<H>(b, mode.ftz)));
    finish::<H>(H::narrow(H::product(a, b)), mode)
}

/// `fma`: one rounding.
#[inline(always)]
pub fn fma<H: HalfFormat>(a: u16, b: u16, c: u16, mode: HalfMode) -> u16 {
    let widen = |bits| H::widen(flush::<H>(bits, mode.ftz));
    finish::<H>(H::narrow(H::fused(widen(a), widen(b), widen(c))), mode)
}

/// `neg`: flips the sign bit, of NaN too.
#[inline(always)]
pub fn neg<H: HalfFormat>(a: u16, ftz: bool) -> u16 {
    flush::<H>(a, ftz) ^ SIGN
}

/// `abs`: clears the sign bit, of NaN too.
#[inline(always)]
pub fn abs<H: HalfFormat>(a: u16, ftz: bool) -> u16 {
    flush::<H>(a, ftz) & !SIGN
}

/// `min`, as for f32.
#[inline(always)]
pub fn min<H: HalfFormat>(a: u16, b: u16, mode: MinMaxMode) -> u16 {
    let (a, b) = (H::widen(flush::<H>(a, mode.ftz)), H::widen(flush::<H>(b, mode.ftz)));
    H::narrow(a.min_ptx(b, MinMaxMode { ftz: false, ..mode }))
}

/// `max`, as for f32.
#[inline(always)]
pub fn max<H: HalfFormat>(a: u16, b: u16, mode: MinMaxMode) -> u16 {
    let (a, b) = (H::widen(flush::<H>(a, mode.ftz)), H::widen(flush::<H>(b, mode.ftz)));
    H::narrow(a.max_ptx(b, MinMaxMode { ftz: false, ..mode }))
}

/// `setp` and `set`.
#[inline(always)]
pub fn compare<H: HalfFormat>(a: u16, b: u16, op: FloatCompare, ftz: bool) -> bool {
    H::widen(flush::<H>(a, ftz)).compare(H::widen(flush::<H>(b, ftz)), op, false)
}

/// `ex2.approx`: relative error below 2^-9.9 (f16) and 2^-7 (bf16).
#[inline(always)]
pub fn ex2<H: HalfFormat>(a: u16, ftz: bool) -> u16 {
    flush::<H>(H::narrow(approx::ex2_f32(H::widen(flush::<H>(a, ftz)), false)), ftz)
}

/// `tanh.approx`: absolute error below 2^-10.987 (f16), relative error below 2^-8 (bf16).
#[inline(always)]
pub fn tanh<H: HalfFormat>(a: u16) -> u16 {
    H::narrow(approx::tanh_f32(H::widen(a)))
}

/// Applies `f` to both halves of a packed register.
#[inline(always)]
pub fn pair1(a: u32, f: impl Fn(u16) -> u16) -> u32 {
    pair3(a, 0, 0, |a, _, _| f(a))
}

/// Applies `f` to both halves of two packed registers.
#[inline(always)]
pub fn pair2(a: u32, b: u32, f: impl Fn(u16, u16) -> u16) -> u32 {
    pair3(a, b, 0, |a, b, _| f(a, b))
}

/// Applies `f` to both halves of three packed registers.
#[inline(always)]
pub fn pair3(a: u32, b: u32, c: u32, f: impl Fn(u16, u16, u16) -> u16) -> u32 {
    let mut packed = 0;
    // A loop, because a closure with a single call site is always inlined.
    for shift in [0, 16] {
        packed |= (f((a >> shift) as u16, (b >> shift) as u16, (c >> shift) as u16) as u32) << shift;
    }
    packed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::semantics::reference::{F32_EDGES, any_f32};
    use proptest::prelude::*;
    use rustc_apfloat::ieee::{BFloat, Half, Single};
    use rustc_apfloat::{Float as Soft, FloatConvert};

    fn soft<S: Soft>(bits: u16) -> S {
        S::from_bits(bits as u128)
    }

    fn canonical<S: Soft>(value: S) -> u16 {
        if value.is_nan() { CANONICAL_NAN } else { value.to_bits() as u16 }
    }

    /// Values at which the formats change behaviour: zeros, subnormal and normal limits, ones, maxima, NaN.
    fn edges<H: HalfFormat>() -> Vec<u16> {
        let step = (H::INFINITY & H::INFINITY.wrapping_neg()) - 1;
        let magnitudes = [
            0,
            1,
            2,
            3,
            step - 1,
            step,
            step + 1,
            step + 2,
            2 * step + 2,
            H::ONE - 1,
            H::ONE,
            H::ONE + 1,
            H::ONE + 3,
            H::ONE - step,
            H::INFINITY - 1,
            H::INFINITY - 2,
            H::INFINITY,
            H::INFINITY + 1,
            0x7fff,
            H::ONE / 2,
            H::ONE / 2 + 1,
        ];
        magnitudes.iter().flat_map(|&m| [m, m | SIGN]).collect()
    }

    fn check<H: HalfFormat, S: Soft>(a: u16, b: u16, c: u16) {
        let plain = HalfMode::PLAIN;
        let context = format!("{a:04x} {b:04x} {c:04x}");
        assert_eq!(add::<H>(a, b, plain), canonical((soft::<S>(a) + soft(b)).value), "add {context}");
        assert_eq!(sub::<H>(a, b, plain), canonical((soft::<S>(a) - soft(b)).value), "sub {context}");
        assert_eq!(mul::<H>(a, b, plain), canonical((soft::<S>(a) * soft(b)).value), "mul {context}");
        let fused = fma::<H>(a, b, c, plain);
        assert_eq!(fused, canonical(soft::<S>(a).mul_add(soft(b), soft(c)).value), "fma {context}");
        let flushed = |bits| flush::<H>(bits, true);
        assert_eq!(
            fma::<H>(a, b, c, HalfMode { ftz: true, ..plain }),
            flushed(fma::<H>(flushed(a), flushed(b), flushed(c), plain)),
            "fma.ftz {context}"
        );
        let value = H::widen(fused);
        let relu = if value < 0.0 { 0 } else { fused & if fused == SIGN { 0 } else { u16::MAX } };
        assert_eq!(fma::<H>(a, b, c, HalfMode { relu: true, ..plain }), relu, "fma.relu {context}");
        let sat = H::narrow(if value.is_nan() || value <= 0.0 { 0.0 } else { value.min(1.0) });
        assert_eq!(fma::<H>(a, b, c, HalfMode { sat: true, ..plain }), sat, "fma.sat {context}");
    }

    #[test]
    fn edge_values_match_soft_float() {
        for &a in &edges::<F16>() {
            for &b in &edges::<F16>() {
                for &c in &edges::<F16>() {
                    check::<F16, Half>(a, b, c);
                }
            }
        }
        for &a in &edges::<Bf16>() {
            for &b in &edges::<Bf16>() {
                for &c in &edges::<Bf16>() {
                    check::<Bf16, BFloat>(a, b, c);
                }
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(5000))]

        #[test]
        fn random_values_match_soft_float(a: u16, b: u16, c: u16) {
            check::<F16, Half>(a, b, c);
            check::<Bf16, BFloat>(a, b, c);
        }

        #[test]
        fn near_cancellation_matches_soft_float(a: u16, b: u16, near in -2i16..=2) {
            let plain = HalfMode::PLAIN;
            check::<F16, Half>(a, b, (mul::<F16>(a, b, plain) ^ SIGN).wrapping_add_signed(near));
            check::<Bf16, BFloat>(a, b, (mul::<Bf16>(a, b, plain) ^ SIGN).wrapping_add_signed(near));
        }

        #[test]
        fn narrowing_matches_soft_float_in_every_direction(value in any_f32(), small in 0x3000_0000u32..0x4800_0000) {
            for value in [value, f32::from_bits(small), -f32::from_bits(small)] {
                check_narrow(value);
            }
        }
    }

    fn check_narrow(value: f32) {
        let wide = Single::from_bits(value.to_bits() as u128);
        for r in Rounding::ALL {
            let half: Half = wide.convert_r(r.soft(), &mut false).value;
            assert_eq!(narrow_rounded::<F16>(value, r), canonical(half), "f16 {r:?} {value:e}");
            let bfloat: BFloat = wide.convert_r(r.soft(), &mut false).value;
            assert_eq!(narrow_rounded::<Bf16>(value, r), canonical(bfloat), "bf16 {r:?} {value:e}");
        }
    }

    #[test]
    fn narrowing_edge_values_matches_soft_float() {
        for &value in F32_EDGES {
            check_narrow(value);
        }
    }

    #[test]
    fn every_pattern_widens_and_comes_back() {
        for bits in 0..=u16::MAX {
            let half: Single = soft::<Half>(bits).convert(&mut false).value;
            let bfloat: Single = soft::<BFloat>(bits).convert(&mut false).value;
            if is_nan::<F16>(bits) {
                assert!(F16::widen(bits).is_nan() && F16::narrow(F16::widen(bits)) == CANONICAL_NAN);
            } else {
                assert_eq!(F16::widen(bits).to_bits() as u128, half.to_bits());
                assert_eq!(F16::narrow(F16::widen(bits)), bits);
            }
            if is_nan::<Bf16>(bits) {
                assert!(Bf16::widen(bits).is_nan() && Bf16::narrow(Bf16::widen(bits)) == CANONICAL_NAN);
            } else {
                assert_eq!(Bf16::widen(bits).to_bits() as u128, bfloat.to_bits());
                assert_eq!(Bf16::narrow(Bf16::widen(bits)), bits);
            }
            // Midpoints between neighbours and the values beside them, where ties are decided.
            let middle = f32::from_bits(((bits as u32) << 16) | 0x8000);
            let middle16 = f32::from_bits(F16::widen(bits).to_bits() | 0x1000);
            for value in [middle, middle16] {
                check_narrow(value);
                check_narrow(f32::from_bits(value.to_bits().wrapping_add(1)));
                check_narrow(f32::from_bits(value.to_bits().wrapping_sub(1)));
            }
        }
    }

    #[test]
    fn every_pattern_is_approximated_within_the_bound() {
        for bits in 0..=u16::MAX {
            let half = F16::widen(bits) as f64;
            let bfloat = Bf16::widen(bits) as f64;
            if half.is_nan() {
                assert_eq!((ex2::<F16>(bits, false), tanh::<F16>(bits)), (CANONICAL_NAN, CANONICAL_NAN));
            } else {
                let (got, exact) = (F16::widen(ex2::<F16>(bits, false)) as f64, half.exp2());
                let in_range = (-14.0..15.99).contains(&half);
                assert!(!in_range || ((got - exact) / exact).abs() < (-9.9f64).exp2(), "ex2.f16 {half}");
                let got = F16::widen(tanh::<F16>(bits)) as f64;
                assert!((got - half.tanh()).abs() < (-10.987f64).exp2(), "tanh.f16 {half}");
            }
            if bfloat.is_nan() {
                assert_eq!((ex2::<Bf16>(bits, true), tanh::<Bf16>(bits)), (CANONICAL_NAN, CANONICAL_NAN));
            } else {
                let (got, exact) = (Bf16::widen(ex2::<Bf16>(bits, true)) as f64, bfloat.exp2());
                let in_range = (-126.0..127.5).contains(&bfloat);
                assert!(!in_range || ((got - exact) / exact).abs() < (-7.0f64).exp2(), "ex2.bf16 {bfloat}");
                let (got, exact) = (Bf16::widen(tanh::<Bf16>(bits)) as f64, bfloat.tanh());
                assert!((got - exact).abs() <= (-8.0f64).exp2() * exact.abs(), "tanh.bf16 {bfloat}");
            }
            for ftz in [false, true] {
                assert_eq!(neg::<F16>(bits, ftz) ^ SIGN, flush::<F16>(bits, ftz));
                assert_eq!(abs::<Bf16>(bits, ftz), flush::<Bf16>(bits, ftz) & 0x7fff);
            }
        }
    }

    #[test]
    fn minimum_maximum_and_comparison_follow_the_widened_values() {
        for &a in &edges::<F16>() {
            for &b in &edges::<F16>() {
                let (x, y) = (F16::widen(a), F16::widen(b));
                for nan in [false, true] {
                    for xorsign_abs in [false, true] {
                        let mode = MinMaxMode { ftz: false, nan, xorsign_abs };
                        assert_eq!(min::<F16>(a, b, mode), F16::narrow(x.min_ptx(y, mode)));
                        assert_eq!(max::<F16>(a, b, mode), F16::narrow(x.max_ptx(y, mode)));
                    }
                }
                assert_eq!(compare::<F16>(a, b, FloatCompare::Ltu, false), x.compare(y, FloatCompare::Ltu, false));
            }
        }
        // f16's subnormals are normal f32 numbers: only f16's own flush sees them.
        let ftz = MinMaxMode { ftz: true, ..MinMaxMode::default() };
        assert_eq!(max::<F16>(3, SIGN, ftz), 0);
        assert!(compare::<F16>(3, 0, FloatCompare::Eq, true));
        assert!(!compare::<F16>(3, 0, FloatCompare::Eq, false));
    }

    #[test]
    fn satfinite_only_moves_infinities() {
        assert_eq!([0x7c00, 0xfc00, 0x7bff, 0x7fff].map(satfinite::<F16>), [0x7bff, 0xfbff, 0x7bff, 0x7fff]);
        assert_eq!([0x7f80, 0xff80, 0x0001].map(satfinite::<Bf16>), [0x7f7f, 0xff7f, 0x0001]);
    }

    #[test]
    fn packed_operands_keep_their_places() {
        assert_eq!(pair1(0x1234_5678, |a| a + 1), 0x1235_5679);
        assert_eq!(pair2(0x0001_0002, 0x0010_0020, |a, b| a + b), 0x0011_0022);
        assert_eq!(pair3(0x0001_0002, 0x0010_0020, 0x0100_0200, |a, b, c| a + b + c), 0x0111_0222);
    }
}
