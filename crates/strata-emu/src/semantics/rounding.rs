//! Arithmetic in all four IEEE rounding directions: `.rn`, `.rz`, `.rm` and `.rp`.
//!
//! An f32 operation is done in f64, where products are exact and the rounding error of sums, quotients and roots is
//! itself computable. *Rounding to odd* (an inexact value gets the neighbour whose last bit is one) keeps what the
//! final rounding needs to know, because f64 has more than two bits beyond f32: rounding the odd value in any direction
//! equals rounding the exact one (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums", 2008).
//!
//! An f64 operation has no wider type. Its result to nearest and the sign of its error decide the neighbour; where that
//! error is not representable (results near overflow or underflow) a software implementation takes over.

use super::float::{Float, FloatMode};
use rustc_apfloat::Float as _;
use rustc_apfloat::Round;
use rustc_apfloat::ieee::Double;

/// A rounding direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Rounding {
    /// `.rn`: to nearest, ties to even.
    #[default]
    Nearest,
    /// `.rz`: toward zero.
    Zero,
    /// `.rm`: toward negative infinity.
    Down,
    /// `.rp`: toward positive infinity.
    Up,
}

impl Rounding {
    /// Every direction.
    pub const ALL: [Self; 4] = [Self::Nearest, Self::Zero, Self::Down, Self::Up];

    /// The software implementation's name of this direction.
    pub(crate) const fn soft(self) -> Round {
        match self {
            Self::Nearest => Round::NearestTiesToEven,
            Self::Zero => Round::TowardZero,
            Self::Down => Round::TowardNegative,
            Self::Up => Round::TowardPositive,
        }
    }
}

macro_rules! odd_rounding {
    ($type:ident, $to_odd:ident, $sum_error:ident) => {
        /// `value`, which is an exact result rounded to nearest, moved to the odd neighbour that encloses the exact
        /// result. Only the sign of `error` (exact minus `value`) matters; zero or NaN means that nothing moves.
        #[inline(always)]
        pub(crate) fn $to_odd(value: $type, error: $type) -> $type {
            let bits = value.to_bits();
            let inexact = (error > 0.0) | (error < 0.0);
            let outward = (error > 0.0) == (value > 0.0);
            let neighbour = if outward { bits.wrapping_add(1) } else { bits.wrapping_sub(1) };
            $type::from_bits(if inexact & (bits & 1 == 0) { neighbour } else { bits })
        }

        /// The rounding error of `sum == a + b` (Knuth's two-sum); NaN if anything is infinite.
        #[inline(always)]
        pub(crate) fn $sum_error(a: $type, b: $type, sum: $type) -> $type {
            let b_part = sum - a;
            (a - (sum - b_part)) + (b - b_part)
        }
    };
}

odd_rounding!(f32, to_odd_f32, sum_error_f32);
odd_rounding!(f64, to_odd_f64, sum_error_f64);

/// `a + b` rounded to odd. Exact zero sums get the sign of `rounding`: x - x is -0 only when rounding down.
#[inline(always)]
pub(crate) fn sum_to_odd(a: f64, b: f64, rounding: Rounding) -> f64 {
    let sum = a + b;
    let odd = to_odd_f64(sum, sum_error_f64(a, b, sum));
    let negative_zero = (rounding == Rounding::Down) & (sum == 0.0) & (a.is_sign_negative() | b.is_sign_negative());
    if negative_zero { -0.0 } else { odd }
}

/// The neighbour that `rounding` asks for, given `nearest` and how the exact value compares with it.
#[inline(always)]
fn step_f32(nearest: f32, exact_is_less: bool, exact_is_more: bool, rounding: Rounding) -> f32 {
    let bits = nearest.to_bits();
    let negative = nearest.is_sign_negative();
    // Stepping up in magnitude is +1 on the bits, whatever the sign; zero carries the sign of the exact value.
    let (moves, outward) = match rounding {
        Rounding::Nearest => (false, false),
        Rounding::Zero => (if negative { exact_is_more } else { exact_is_less }, false),
        Rounding::Down => (exact_is_less, negative),
        Rounding::Up => (exact_is_more, !negative),
    };
    let neighbour = if outward { bits.wrapping_add(1) } else { bits.wrapping_sub(1) };
    f32::from_bits(if moves { neighbour } else { bits })
}

/// `value` as f32 in the given direction, NaN made canonical.
#[inline(always)]
pub fn narrow_f64(value: f64, rounding: Rounding) -> f32 {
    let nearest = value as f32;
    let back = nearest as f64;
    let rounded = step_f32(nearest, value < back, value > back, rounding);
    if value.is_nan() { f32::CANONICAL_NAN } else { rounded }
}

/// `value` as f32 rounded to odd, for a second rounding to a narrower type.
#[inline(always)]
pub(crate) fn narrow_to_odd(value: f64) -> f32 {
    let nearest = value as f32;
    let back = nearest as f64;
    let bits = nearest.to_bits();
    let inexact = (value < back) | (value > back);
    // Zero and a value of greater magnitude step outward, the others inward.
    let neighbour = if value.abs() > back.abs() { bits.wrapping_add(1) } else { bits.wrapping_sub(1) };
    f32::from_bits(if inexact & (bits & 1 == 0) { neighbour } else { bits })
}

/// Arithmetic in a chosen rounding direction.
pub trait Rounded: Float {
    /// `add`.
    fn add_rounded(self, b: Self, rounding: Rounding, mode: FloatMode) -> Self;
    /// `sub`.
    fn sub_rounded(self, b: Self, rounding: Rounding, mode: FloatMode) -> Self;
    /// `mul`.
    fn mul_rounded(self, b: Self, rounding: Rounding, mode: FloatMode) -> Self;
    /// `fma` and `mad`.
    fn fma_rounded(self, b: Self, c: Self, rounding: Rounding, mode: FloatMode) -> Self;
    /// `div`.
    fn div_rounded(self, b: Self, rounding: Rounding, mode: FloatMode) -> Self;
    /// `rcp`.
    fn rcp_rounded(self, rounding: Rounding, mode: FloatMode) -> Self;
    /// `sqrt`.
    fn sqrt_rounded(self, rounding: Rounding, mode: FloatMode) -> Self;
}

impl Rounded for f32 {
    #[inline(always)]
    fn add_rounded(self, b: Self, rounding: Rounding, mode: FloatMode) -> Self {
        let (a, b) = (self.flush(mode.ftz) as f64, b.flush(mode.ftz) as f64);
        narrow_f64(sum_to_odd(a, b, rounding), rounding).finish(mode)
    }

    #[inline(always)]
    fn sub_rounded(self, b: Self, rounding: Rounding, mode: FloatMode) -> Self {
        self.add_rounded(-b, rounding, mode)
    }

    #[inline(always)]
    fn mul_rounded(self, b: Self, rounding: Rounding, mode: FloatMode) -> Self {
        let (a, b) = (self.flush(mode.ftz) as f64, b.flush(mode.ftz) as f64);
        narrow_f64(a * b, rounding).finish(mode)
    }

    #[inline(always)]
    fn fma_rounded(self, b: Self, c: Self, rounding: Rounding, mode: FloatMode) -> Self {
        let (a, b, c) = (self.flush(mode.ftz) as f64, b.flush(mode.ftz) as f64, c.flush(mode.ftz) as f64);
        narrow_f64(sum_to_odd(a * b, c, rounding), rounding).finish(mode)
    }

    #[inline(always)]
    fn div_rounded(self, b: Self, rounding: Rounding, mode: FloatMode) -> Self {
        let (a, b) = (self.flush(mode.ftz) as f64, b.flush(mode.ftz) as f64);
        let quotient = a / b;
        let remainder = (-quotient).mul_add(b, a);
        let error = if b < 0.0 { -remainder } else { remainder };
        narrow_f64(to_odd_f64(quotient, error), rounding).finish(mode)
    }

    #[inline(always)]
    fn rcp_rounded(self, rounding: Rounding, mode: FloatMode) -> Self {
        1.0f32.div_rounded(self, rounding, mode)
    }

    #[inline(always)]
    fn sqrt_rounded(self, rounding: Rounding, mode: FloatMode) -> Self {
        let a = self.flush(mode.ftz) as f64;
        let root = a.sqrt();
        let error = (-root).mul_add(root, a);
        narrow_f64(to_odd_f64(root, error), rounding).finish(mode)
    }
}

/// Magnitudes between which the errors of f64 operations are exact and a step by one bit stays finite and normal.
const SAFE: std::ops::Range<f64> = 1e-280..1e300;

/// The neighbour of `nearest` that `rounding` asks for, given the sign of the error (exact minus nearest).
#[inline(always)]
pub(crate) fn step_f64(nearest: f64, error: f64, rounding: Rounding) -> f64 {
    match rounding {
        Rounding::Zero if nearest > 0.0 && error < 0.0 => nearest.next_down(),
        Rounding::Zero if nearest < 0.0 && error > 0.0 => nearest.next_up(),
        Rounding::Down if error < 0.0 => nearest.next_down(),
        Rounding::Up if error > 0.0 => nearest.next_up(),
        _ => nearest,
    }
}

/// The operand of the software implementation.
fn soft(value: f64) -> Double {
    Double::from_bits(value.to_bits() as u128)
}

/// The result of the software implementation.
fn hard(value: Double) -> f64 {
    f64::from_bits(value.to_bits() as u64)
}

impl Rounded for f64 {
    #[inline]
    fn add_rounded(self, b: Self, rounding: Rounding, mode: FloatMode) -> Self {
        let (a, b) = (self.flush(mode.ftz), b.flush(mode.ftz));
        let sum = a + b;
        let result = if SAFE.contains(&sum.abs()) && a.abs() < SAFE.end && b.abs() < SAFE.end {
            step_f64(sum, sum_error_f64(a, b, sum), rounding)
        } else {
            hard(soft(a).add_r(soft(b), rounding.soft()).value)
        };
        result.finish(mode)
    }

    #[inline]
    fn sub_rounded(self, b: Self, rounding: Rounding, mode: FloatMode) -> Self {
        self.add_rounded(-b, rounding, mode)
    }

    #[inline]
    fn mul_rounded(self, b: Self, rounding: Rounding, mode: FloatMode) -> Self {
        let (a, b) = (self.flush(mode.ftz), b.flush(mode.ftz));
        let product = a * b;
        let result = if SAFE.contains(&product.abs()) {
            step_f64(product, a.mul_add(b, -product), rounding)
        } else {
            hard(soft(a).mul_r(soft(b), rounding.soft()).value)
        };
        result.finish(mode)
    }

    #[inline]
    fn fma_rounded(self, b: Self, c: Self, rounding: Rounding, mode: FloatMode) -> Self {
        if rounding == Rounding::Nearest {
            return self.fma_rn(b, c, mode);
        }
        let (a, b, c) = (self.flush(mode.ftz), b.flush(mode.ftz), c.flush(mode.ftz));
        hard(soft(a).mul_add_r(soft(b), soft(c), rounding.soft()).value).finish(mode)
    }

    #[inline]
    fn div_rounded(self, b: Self, rounding: Rounding, mode: FloatMode) -> Self {
        let (a, b) = (self.flush(mode.ftz), b.flush(mode.ftz));
        let quotient = a / b;
        let result = if SAFE.contains(&quotient.abs()) && SAFE.contains(&a.abs()) {
            let remainder = (-quotient).mul_add(b, a);
            step_f64(quotient, if b < 0.0 { -remainder } else { remainder }, rounding)
        } else {
            hard(soft(a).div_r(soft(b), rounding.soft()).value)
        };
        result.finish(mode)
    }

    #[inline]
    fn rcp_rounded(self, rounding: Rounding, mode: FloatMode) -> Self {
        1.0f64.div_rounded(self, rounding, mode)
    }

    #[inline]
    fn sqrt_rounded(self, rounding: Rounding, mode: FloatMode) -> Self {
        /// 2^200 and the inverse of its root: exact factors that keep the residual of a tiny operand representable.
        const UP: f64 = f64::from_bits((1023 + 200) << 52);
        const DOWN: f64 = f64::from_bits((1023 - 100) << 52);
        let a = self.flush(mode.ftz);
        let (scaled, back) = if a < SAFE.start { (a * UP, DOWN) } else { (a, 1.0) };
        let root = scaled.sqrt();
        let error = (-root).mul_add(root, scaled);
        (step_f64(root, error, rounding) * back).finish(mode)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::semantics::reference::{F32_EDGES, F64_EDGES, any_f32, any_f64, triples};
    use proptest::prelude::*;
    use rustc_apfloat::FloatConvert;
    use rustc_apfloat::ieee::{Quad, Single};

    macro_rules! check_directions {
        ($check:ident, $type:ident, $bits:ident, $soft:ident) => {
            fn $check(a: $type, b: $type, c: $type) {
                let mode = FloatMode::PLAIN;
                let soft = |v: $type| $soft::from_bits(v.to_bits() as u128);
                let canonical =
                    |v: $soft| if v.is_nan() { $type::CANONICAL_NAN.to_bits() } else { v.to_bits() as $bits };
                for r in Rounding::ALL {
                    let context = format!("{r:?} {a:e} {b:e} {c:e}");
                    let sum = soft(a).add_r(soft(b), r.soft()).value;
                    assert_eq!(a.add_rounded(b, r, mode).to_bits(), canonical(sum), "add {context}");
                    let difference = soft(a).sub_r(soft(b), r.soft()).value;
                    assert_eq!(a.sub_rounded(b, r, mode).to_bits(), canonical(difference), "sub {context}");
                    let product = soft(a).mul_r(soft(b), r.soft()).value;
                    assert_eq!(a.mul_rounded(b, r, mode).to_bits(), canonical(product), "mul {context}");
                    let fused = soft(a).mul_add_r(soft(b), soft(c), r.soft()).value;
                    assert_eq!(a.fma_rounded(b, c, r, mode).to_bits(), canonical(fused), "fma {context}");
                    let quotient = soft(a).div_r(soft(b), r.soft()).value;
                    assert_eq!(a.div_rounded(b, r, mode).to_bits(), canonical(quotient), "div {context}");
                    let reciprocal = soft(1.0).div_r(soft(a), r.soft()).value;
                    assert_eq!(a.rcp_rounded(r, mode).to_bits(), canonical(reciprocal), "rcp {context}");
                    let root = a.sqrt_rounded(r, mode);
                    check_root(a as f64, [root.next_down() as f64, root as f64, root.next_up() as f64], r);
                    let ftz = a.fma_rounded(b, c, r, FloatMode::FTZ);
                    assert_eq!(
                        ftz.to_bits(),
                        a.flush(true).fma_rounded(b.flush(true), c.flush(true), r, mode).flush(true).to_bits(),
                        "fma.ftz {context}"
                    );
                }
            }
        };
    }

    check_directions!(check_f32, f32, u32, Single);
    check_directions!(check_f64, f64, u64, Double);

    /// Checks a root by squaring it and its neighbours below and above exactly.
    fn check_root(a: f64, [below, root, above]: [f64; 3], rounding: Rounding) {
        if a.is_nan() || a < 0.0 {
            assert!(root.is_nan(), "{a:e}");
            return;
        }
        if a == 0.0 || a == f64::INFINITY {
            assert_eq!(root.to_bits(), a.to_bits());
            return;
        }
        let wide = |v: f64| -> Quad { soft(v).convert(&mut false).value };
        let square = |v: f64| (wide(v) * wide(v)).value;
        let exact = wide(a);
        match rounding {
            Rounding::Nearest => {}
            Rounding::Zero | Rounding::Down => {
                assert!(square(root) <= exact && square(above) > exact, "{rounding:?} {a:e} {root:e}");
            }
            Rounding::Up => {
                assert!(square(root) >= exact && square(below) < exact, "{rounding:?} {a:e} {root:e}");
            }
        }
    }

    #[test]
    fn edge_values_match_soft_float_in_every_direction() {
        triples(F32_EDGES).for_each(|(a, b, c)| check_f32(a, b, c));
        for &a in F64_EDGES {
            for &b in F64_EDGES {
                check_f64(a, b, a);
                check_f64(a, b, 1.0);
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn random_f32_match_soft_float(a in any_f32(), b in any_f32(), c in any_f32()) {
            check_f32(a, b, c);
            // A third operand that nearly cancels the product.
            check_f32(a, b, -(a * b));
        }

        #[test]
        fn random_f64_match_soft_float(a in any_f64(), b in any_f64(), c in any_f64()) {
            check_f64(a, b, c);
        }

        #[test]
        fn narrowing_matches_soft_float(a in any_f64(), f in any_f32(), nudge in -2i64..=2) {
            // Uniform f64 are mostly out of range of f32: also take neighbours of f32 values and of their midpoints.
            let near = f64::from_bits((f as f64).to_bits().wrapping_add_signed(nudge));
            let middle = f64::from_bits(((f as f64).to_bits() | (1 << 28)).wrapping_add_signed(nudge));
            for value in [a, near, middle] {
                for r in Rounding::ALL {
                    let expected: Single = soft(value).convert_r(r.soft(), &mut false).value;
                    let expected = if value.is_nan() { 0x7fff_ffff } else { expected.to_bits() as u32 };
                    prop_assert_eq!(narrow_f64(value, r).to_bits(), expected, "{:?} {:e}", r, value);
                }
            }
        }
    }
}
