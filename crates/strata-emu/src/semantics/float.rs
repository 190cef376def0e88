//! f32 and f64 arithmetic rounded to nearest, `min`/`max`, sign operations, comparisons and classes (PTX ISA 9.7.3).
//!
//! Directed rounding is in [`super::rounding`], approximate functions are in [`super::approx`].

/// What happens around an operation: `.ftz` and `.sat`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FloatMode {
    /// `.ftz`: subnormal operands and results become zero of the same sign.
    pub ftz: bool,
    /// `.sat`: the result is clamped to \[0, 1\], NaN becomes +0.
    pub sat: bool,
}

impl FloatMode {
    /// Neither modifier.
    pub const PLAIN: Self = Self { ftz: false, sat: false };
    /// `.ftz` alone.
    pub const FTZ: Self = Self { ftz: true, sat: false };
    /// `.sat` alone.
    pub const SAT: Self = Self { ftz: false, sat: true };
    /// `.ftz` and `.sat`.
    pub const FTZ_SAT: Self = Self { ftz: true, sat: true };
}

/// The modifiers of `min` and `max`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MinMaxMode {
    /// `.ftz`: subnormal operands become zero of the same sign.
    pub ftz: bool,
    /// `.NaN`: one NaN operand makes the result NaN; without it the other operand is the result.
    pub nan: bool,
    /// `.xorsign.abs`: magnitudes are compared and the result's sign is the exclusive or of the operands' signs.
    pub xorsign_abs: bool,
}

/// A floating-point comparison of `setp`, `set` and `slct`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the variants are PTX's own names; a trailing `u` is true for unordered operands")]
pub enum FloatCompare {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    Equ,
    Neu,
    Ltu,
    Leu,
    Gtu,
    Geu,
    /// Both operands are numbers.
    Num,
    /// At least one operand is NaN.
    Nan,
}

/// A property that `testp` asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FloatClass {
    /// Neither infinite nor NaN.
    Finite,
    /// Positive or negative infinity.
    Infinite,
    /// Not NaN.
    Number,
    /// NaN.
    NotANumber,
    /// Finite and not subnormal; PTX counts zeros as normal.
    Normal,
    /// Subnormal, zeros excluded.
    Subnormal,
}

/// The operations of the f32 and f64 types, rounded to nearest even.
pub trait Float: Copy + PartialOrd {
    /// The NaN that arithmetic produces.
    const CANONICAL_NAN: Self;

    /// The operand as an instruction with or without `.ftz` sees it.
    fn flush(self, ftz: bool) -> Self;
    /// The result as an instruction delivers it: NaN canonical, then `.ftz`, then `.sat`.
    fn finish(self, mode: FloatMode) -> Self;
    /// `add.rn`.
    fn add_rn(self, b: Self, mode: FloatMode) -> Self;
    /// `sub.rn`.
    fn sub_rn(self, b: Self, mode: FloatMode) -> Self;
    /// `mul.rn`.
    fn mul_rn(self, b: Self, mode: FloatMode) -> Self;
    /// `fma.rn` and `mad.rn`: one rounding.
    fn fma_rn(self, b: Self, c: Self, mode: FloatMode) -> Self;
    /// `div.rn`.
    fn div_rn(self, b: Self, mode: FloatMode) -> Self;
    /// `rcp.rn`.
    fn rcp_rn(self, mode: FloatMode) -> Self;
    /// `sqrt.rn`.
    fn sqrt_rn(self, mode: FloatMode) -> Self;
    /// `min`: -0 is less than +0; two NaN operands give the canonical NaN.
    fn min_ptx(self, b: Self, mode: MinMaxMode) -> Self;
    /// `max`: +0 is greater than -0; two NaN operands give the canonical NaN.
    fn max_ptx(self, b: Self, mode: MinMaxMode) -> Self;
    /// `abs`: clears the sign bit, of NaN too.
    fn abs_ptx(self, ftz: bool) -> Self;
    /// `neg`: flips the sign bit, of NaN too.
    fn neg_ptx(self, ftz: bool) -> Self;
    /// `copysign d, a, b`: the magnitude of `b` with the sign of `self`, PTX's operand order.
    fn copysign_ptx(self, magnitude: Self) -> Self;
    /// `setp` and `set`.
    fn compare(self, b: Self, op: FloatCompare, ftz: bool) -> bool;
    /// `testp`.
    fn is_class(self, class: FloatClass) -> bool;
}

/// The operands as `min`/`max` compare them, and whether `.xorsign` makes the result negative.
macro_rules! min_max_operands {
    ($a:expr, $b:expr, $mode:expr) => {{
        let (a, b) = ($a.flush($mode.ftz), $b.flush($mode.ftz));
        let negative = a.is_sign_negative() ^ b.is_sign_negative();
        if $mode.xorsign_abs { (a.abs(), b.abs(), negative) } else { (a, b, negative) }
    }};
}

macro_rules! min_max_result {
    ($type:ident, $a:expr, $b:expr, $take_a:expr, $negative:expr, $mode:expr) => {{
        let chosen = if $take_a { $a } else { $b };
        let signed = if $mode.xorsign_abs & $negative { -chosen } else { chosen };
        // A chosen NaN means that both operands are; `.NaN` also looks at the one not chosen.
        let is_nan = chosen.is_nan() | ($mode.nan & ($a.is_nan() | $b.is_nan()));
        if is_nan { $type::CANONICAL_NAN } else { signed }
    }};
}

macro_rules! float {
    ($type:ident, $canonical_nan:literal) => {
        impl Float for $type {
            const CANONICAL_NAN: Self = $type::from_bits($canonical_nan);

            #[inline(always)]
            fn flush(self, ftz: bool) -> Self {
                if ftz && self.abs() < $type::MIN_POSITIVE { (0.0 as $type).copysign(self) } else { self }
            }
            #[inline(always)]
            fn finish(self, mode: FloatMode) -> Self {
                let result = if self.is_nan() { Self::CANONICAL_NAN } else { self }.flush(mode.ftz);
                if mode.sat {
                    // Written so that NaN and -0 fail the first comparison and become +0.
                    let at_most_one = if result < 1.0 { result } else { 1.0 };
                    if result > 0.0 { at_most_one } else { 0.0 }
                } else {
                    result
                }
            }
            #[inline(always)]
            fn add_rn(self, b: Self, mode: FloatMode) -> Self {
                (self.flush(mode.ftz) + b.flush(mode.ftz)).finish(mode)
            }
            #[inline(always)]
            fn sub_rn(self, b: Self, mode: FloatMode) -> Self {
                (self.flush(mode.ftz) - b.flush(mode.ftz)).finish(mode)
            }
            #[inline(always)]
            fn mul_rn(self, b: Self, mode: FloatMode) -> Self {
                (self.flush(mode.ftz) * b.flush(mode.ftz)).finish(mode)
            }
            #[inline(always)]
            fn fma_rn(self, b: Self, c: Self, mode: FloatMode) -> Self {
                self.flush(mode.ftz).mul_add(b.flush(mode.ftz), c.flush(mode.ftz)).finish(mode)
            }
            #[inline(always)]
            fn div_rn(self, b: Self, mode: FloatMode) -> Self {
                (self.flush(mode.ftz) / b.flush(mode.ftz)).finish(mode)
            }
            #[inline(always)]
            fn rcp_rn(self, mode: FloatMode) -> Self {
                (1.0 / self.flush(mode.ftz)).finish(mode)
            }
            #[inline(always)]
            fn sqrt_rn(self, mode: FloatMode) -> Self {
                let a = self.flush(mode.ftz);
                // The optimiser takes any NaN for the root of a negative number and drops what makes it canonical; of a
                // magnitude it cannot say so.
                let magnitude = a.abs().sqrt();
                let root = if a < 0.0 { Self::CANONICAL_NAN } else { magnitude.copysign(a) };
                root.finish(mode)
            }
            #[inline(always)]
            fn min_ptx(self, b: Self, mode: MinMaxMode) -> Self {
                let (a, b, sign) = min_max_operands!(self, b, mode);
                let take_a = (a < b) | ((a == b) & a.is_sign_negative()) | b.is_nan();
                min_max_result!($type, a, b, take_a, sign, mode)
            }
            #[inline(always)]
            fn max_ptx(self, b: Self, mode: MinMaxMode) -> Self {
                let (a, b, sign) = min_max_operands!(self, b, mode);
                let take_a = (a > b) | ((a == b) & a.is_sign_positive()) | b.is_nan();
                min_max_result!($type, a, b, take_a, sign, mode)
            }
            #[inline(always)]
            fn abs_ptx(self, ftz: bool) -> Self {
                self.abs().flush(ftz)
            }
            #[inline(always)]
            fn neg_ptx(self, ftz: bool) -> Self {
                (-self).flush(ftz)
            }
            #[inline(always)]
            fn copysign_ptx(self, magnitude: Self) -> Self {
                magnitude.copysign(self)
            }
            #[inline(always)]
            fn compare(self, b: Self, op: FloatCompare, ftz: bool) -> bool {
                let (a, b) = (self.flush(ftz), b.flush(ftz));
                match op {
                    FloatCompare::Eq => a == b,
                    FloatCompare::Ne => (a < b) | (a > b),
                    FloatCompare::Lt => a < b,
                    FloatCompare::Le => a <= b,
                    FloatCompare::Gt => a > b,
                    FloatCompare::Ge => a >= b,
                    FloatCompare::Equ => !((a < b) | (a > b)),
                    FloatCompare::Neu => a != b,
                    FloatCompare::Ltu => !(a >= b),
                    FloatCompare::Leu => !(a > b),
                    FloatCompare::Gtu => !(a <= b),
                    FloatCompare::Geu => !(a < b),
                    FloatCompare::Num => !(a.is_nan() | b.is_nan()),
                    FloatCompare::Nan => a.is_nan() | b.is_nan(),
                }
            }
            #[inline(always)]
            fn is_class(self, class: FloatClass) -> bool {
                let magnitude = self.abs();
                let subnormal = (magnitude > 0.0) & (magnitude < $type::MIN_POSITIVE);
                match class {
                    FloatClass::Finite => magnitude < $type::INFINITY,
                    FloatClass::Infinite => magnitude == $type::INFINITY,
                    FloatClass::Number => !self.is_nan(),
                    FloatClass::NotANumber => self.is_nan(),
                    FloatClass::Normal => (magnitude < $type::INFINITY) & !subnormal,
                    FloatClass::Subnormal => subnormal,
                }
            }
        }
    };
}

float!(f32, 0x7fff_ffff);
float!(f64, 0x7ff8_0000_0000_0000);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::semantics::reference::{F32_EDGES, F64_EDGES, any_f32, any_f64, triples};
    use proptest::prelude::*;
    use rustc_apfloat::Float as _;
    use rustc_apfloat::ieee::{Double, Single};

    const FTZ: MinMaxMode = MinMaxMode { ftz: true, nan: false, xorsign_abs: false };
    const NUMBER: MinMaxMode = MinMaxMode { ftz: false, nan: false, xorsign_abs: false };
    const NAN: MinMaxMode = MinMaxMode { ftz: false, nan: true, xorsign_abs: false };
    const XORSIGN: MinMaxMode = MinMaxMode { ftz: false, nan: false, xorsign_abs: true };

    macro_rules! check_against_soft_float {
        ($check:ident, $type:ident, $bits:ident, $soft:ident) => {
            /// Compares all operations with an independent software implementation.
            fn $check(a: $type, b: $type, c: $type) {
                let soft = |v: $type| $soft::from_bits(v.to_bits() as u128);
                let canonical = |v: $soft| {
                    if v.is_nan() { $type::CANONICAL_NAN.to_bits() } else { v.to_bits() as $bits }
                };
                let plain = FloatMode::PLAIN;
                let context = format!("{a:e} {b:e} {c:e}");
                assert_eq!(a.add_rn(b, plain).to_bits(), canonical((soft(a) + soft(b)).value), "add {context}");
                assert_eq!(a.sub_rn(b, plain).to_bits(), canonical((soft(a) - soft(b)).value), "sub {context}");
                assert_eq!(a.mul_rn(b, plain).to_bits(), canonical((soft(a) * soft(b)).value), "mul {context}");
                assert_eq!(a.div_rn(b, plain).to_bits(), canonical((soft(a) / soft(b)).value), "div {context}");
                assert_eq!(a.rcp_rn(plain).to_bits(), canonical((soft(1.0) / soft(a)).value), "rcp {context}");
                let fused = soft(a).mul_add(soft(b), soft(c)).value;
                assert_eq!(a.fma_rn(b, c, plain).to_bits(), canonical(fused), "fma {context}");
                // Flushing is what it says: on the operands, then on the result.
                let flushed = |v: $type| v.flush(true);
                assert_eq!(
                    a.fma_rn(b, c, FloatMode::FTZ).to_bits(),
                    flushed(flushed(a).fma_rn(flushed(b), flushed(c), plain)).to_bits(),
                    "fma.ftz {context}"
                );
                assert_eq!(
                    a.add_rn(b, FloatMode::FTZ).to_bits(),
                    flushed(flushed(a).add_rn(flushed(b), plain)).to_bits(),
                    "add.ftz {context}"
                );
                // Saturation: in range, NaN and negative to +0.
                let sum = a.add_rn(b, plain);
                let clamped = if sum.is_nan() || sum <= 0.0 { 0.0 } else { sum.min(1.0) };
                assert_eq!(a.add_rn(b, FloatMode::SAT).to_bits(), clamped.to_bits(), "add.sat {context}");
                // Exactly one of less, equal, greater, unordered holds, and the `u` forms complement their opposites.
                let is = |op| a.compare(b, op, false);
                let relations = [FloatCompare::Lt, FloatCompare::Eq, FloatCompare::Gt, FloatCompare::Nan];
                assert_eq!(relations.iter().filter(|&&op| is(op)).count(), 1, "trichotomy {context}");
                for (ordered, complement) in [
                    (FloatCompare::Eq, FloatCompare::Neu),
                    (FloatCompare::Ne, FloatCompare::Equ),
                    (FloatCompare::Lt, FloatCompare::Geu),
                    (FloatCompare::Le, FloatCompare::Gtu),
                    (FloatCompare::Gt, FloatCompare::Leu),
                    (FloatCompare::Ge, FloatCompare::Ltu),
                    (FloatCompare::Num, FloatCompare::Nan),
                ] {
                    assert_ne!(is(ordered), is(complement), "{ordered:?} {context}");
                }
                assert_eq!(is(FloatCompare::Le), is(FloatCompare::Lt) || is(FloatCompare::Eq), "le {context}");
                assert_eq!(is(FloatCompare::Ge), is(FloatCompare::Gt) || is(FloatCompare::Eq), "ge {context}");
                assert_eq!(is(FloatCompare::Ne), is(FloatCompare::Lt) || is(FloatCompare::Gt), "ne {context}");
                // Minimum and maximum.
                let (least, most) = (a.min_ptx(b, NUMBER), a.max_ptx(b, NUMBER));
                if a.is_nan() || b.is_nan() {
                    let other = if a.is_nan() { b } else { a };
                    let expected = if other.is_nan() { $type::CANONICAL_NAN } else { other };
                    assert_eq!(
                        (least.to_bits(), most.to_bits()),
                        (expected.to_bits(), expected.to_bits()),
                        "{context}"
                    );
                    assert_eq!(a.min_ptx(b, NAN).to_bits(), $type::CANONICAL_NAN.to_bits());
                    assert_eq!(a.max_ptx(b, NAN).to_bits(), $type::CANONICAL_NAN.to_bits());
                } else {
                    let (low, high) = if a.total_cmp(&b).is_le() { (a, b) } else { (b, a) };
                    assert_eq!((least.to_bits(), most.to_bits()), (low.to_bits(), high.to_bits()), "{context}");
                    assert_eq!(a.min_ptx(b, NAN).to_bits(), low.to_bits());
                    let sign: $type = if a.is_sign_negative() == b.is_sign_negative() { 1.0 } else { -1.0 };
                    assert_eq!(a.min_ptx(b, XORSIGN).to_bits(), a.abs().min(b.abs()).copysign(sign).to_bits());
                    assert_eq!(a.max_ptx(b, XORSIGN).to_bits(), a.abs().max(b.abs()).copysign(sign).to_bits());
                    assert_eq!(a.min_ptx(b, FTZ).to_bits(), flushed(a).min_ptx(flushed(b), NUMBER).to_bits());
                }
                assert_eq!(b.copysign_ptx(a).to_bits(), a.copysign(b).to_bits());
                assert_eq!(a.neg_ptx(false).to_bits(), a.to_bits() ^ (1 << ($bits::BITS - 1)));
                assert_eq!(a.abs_ptx(false).to_bits(), a.to_bits() & !(1 << ($bits::BITS - 1)));
                // Classes.
                let class = a.classify();
                let subnormal = class == std::num::FpCategory::Subnormal;
                assert_eq!(a.is_class(FloatClass::Finite), a.is_finite());
                assert_eq!(a.is_class(FloatClass::Infinite), a.is_infinite());
                assert_eq!(a.is_class(FloatClass::Number), !a.is_nan());
                assert_eq!(a.is_class(FloatClass::NotANumber), a.is_nan());
                assert_eq!(a.is_class(FloatClass::Subnormal), subnormal);
                assert_eq!(a.is_class(FloatClass::Normal), a.is_finite() && !subnormal);
            }
        };
    }

    check_against_soft_float!(check_f32, f32, u32, Single);
    check_against_soft_float!(check_f64, f64, u64, Double);

    #[test]
    fn edge_values_match_soft_float() {
        triples(F32_EDGES).for_each(|(a, b, c)| check_f32(a, b, c));
        triples(F64_EDGES).for_each(|(a, b, c)| check_f64(a, b, c));
    }

    proptest! {
        #[test]
        fn random_f32_match_soft_float(a in any_f32(), b in any_f32(), c in any_f32()) {
            check_f32(a, b, c);
        }

        #[test]
        fn random_f64_match_soft_float(a in any_f64(), b in any_f64(), c in any_f64()) {
            check_f64(a, b, c);
        }

        #[test]
        fn roots_are_the_nearest(a in any_f32()) {
            // The f64 root of an f32 is accurate to 53 bits, more than twice 24 plus two, so rounding it once more is
            // rounding correctly.
            let root = ((a.abs() as f64).sqrt() as f32).copysign(a);
            let expected = if a.is_nan() || a < 0.0 { f32::CANONICAL_NAN } else { root };
            prop_assert_eq!(a.sqrt_rn(FloatMode::PLAIN).to_bits(), expected.to_bits());
        }
    }

    #[test]
    fn flushing_keeps_the_sign_and_the_smallest_normal() {
        assert_eq!((-1e-40f32).flush(true).to_bits(), 0x8000_0000);
        assert_eq!(f32::MIN_POSITIVE.flush(true), f32::MIN_POSITIVE);
        assert_eq!((1e-40f32).flush(false), 1e-40);
        assert_eq!((-0.0f32).finish(FloatMode::SAT).to_bits(), 0);
        assert!(1e-40f32.compare(0.0, FloatCompare::Eq, true));
    }
}
