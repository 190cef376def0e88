//! The approximate functions: `ex2 lg2 sin cos tanh rcp div sqrt rsqrt` with `.approx` or `.full` (PTX ISA 9.7.3).
//!
//! Hardware results differ between GPU generations; the manual only bounds their errors. These are our own polynomials
//! (minimax fits found with a Remez exchange in 120-bit arithmetic) within those bounds, and they give the same bits on
//! every machine. Powers of two go through `ex2`, `lg2`, `rcp` and `sqrt` exactly.

use super::float::{Float, FloatMode};

/// The mode that `.ftz` alone asks for.
#[inline(always)]
const fn flushing(ftz: bool) -> FloatMode {
    FloatMode { ftz, sat: false }
}

/// 2^x for x from -160 to 130; NaN becomes some number.
#[inline(always)]
fn exp2_finite(x: f32) -> f32 {
    // Adding this rounds to an integer that then stands in the low bits.
    const ROUNDER: f32 = 12582912.0;
    let shifted = x + ROUNDER;
    let n = (shifted.to_bits() as i32).wrapping_sub(ROUNDER.to_bits() as i32);
    let f = x - (shifted - ROUNDER);
    // (2^f - 1) / f on [-1/2, 1/2]; the error relative to 2^f is below 2^-28.9.
    let p = 0.000_153_536_03_f32;
    let p = p.mul_add(f, 0.001_339_885_2);
    let p = p.mul_add(f, 0.009_618_436);
    let p = p.mul_add(f, 0.055_503_324);
    let p = p.mul_add(f, 0.240_226_48);
    let p = p.mul_add(f, std::f32::consts::LN_2);
    let power = p.mul_add(f, 1.0);
    // Two factors, so that subnormal results and 2^128 itself are reached by multiplication.
    let half = n >> 1;
    let scale = |e: i32| f32::from_bits(((e + 127) << 23) as u32);
    power * scale(half) * scale(n - half)
}

/// `ex2.approx.f32`: at most 2 ulp (here: relative error below 2^-22.5).
#[inline(always)]
pub fn ex2_f32(x: f32, ftz: bool) -> f32 {
    let x = x.flush(ftz);
    let clamped = if x < 130.0 { x } else { 130.0 };
    let clamped = if clamped > -160.0 { clamped } else { -160.0 };
    let power = exp2_finite(clamped);
    (if x.is_nan() { x } else { power }).finish(flushing(ftz))
}

/// `lg2.approx.f32`: absolute error below 2^-22 on (0.5, 2) (here: 2^-22.6), relative error below 2^-22 elsewhere.
#[inline(always)]
pub fn lg2_f32(x: f32, ftz: bool) -> f32 {
    const SQRT_HALF: u32 = 0x3f35_04f3;
    let x = x.flush(ftz);
    let subnormal = x < f32::MIN_POSITIVE;
    let (scaled, bias) = if subnormal { (x * 8388608.0, -23.0) } else { (x, 0.0) };
    // x = m * 2^e with m in [sqrt(1/2), sqrt(2)).
    let bits = scaled.to_bits();
    let e = (bits.wrapping_sub(SQRT_HALF) as i32) >> 23;
    let m = f32::from_bits(bits.wrapping_sub((e << 23) as u32));
    let s = (m - 1.0) / (m + 1.0);
    // log2((1 + s) / (1 - s)) / s in s^2; error below 2^-28.9.
    let u = s * s;
    let p = 0.431_750_36_f32;
    let p = p.mul_add(u, 0.576_713_74);
    let p = p.mul_add(u, 0.961_798_85);
    let p = p.mul_add(u, 2.885_39);
    let log = s.mul_add(p, e as f32 + bias);
    let log = if x < f32::INFINITY { log } else { x };
    let log = if x > 0.0 { log } else { f32::NAN };
    let log = if x == 0.0 { f32::NEG_INFINITY } else { log };
    (if x.is_nan() { x } else { log }).finish(flushing(ftz))
}

/// The sine of `x` moved by `quarter` quarter turns. Exact to f32 up to about 2^50, in \[-1, 1\] beyond.
#[inline(always)]
fn sine(x: f32, quarter: u64) -> f32 {
    const ROUNDER: f64 = 6755399441055744.0;
    const HALF_PI_LOW: f64 = 6.123233995736766e-17;
    const LIMIT: f64 = 0.786;
    let wide = x as f64;
    let shifted = wide.mul_add(std::f64::consts::FRAC_2_PI, ROUNDER);
    let n = shifted - ROUNDER;
    let r = (-n).mul_add(std::f64::consts::FRAC_PI_2, wide);
    let r = (-n).mul_add(HALF_PI_LOW, r);
    // Beyond the reach of the reduction the remainder means nothing; keep it where the polynomials are bounded.
    let r = if r < LIMIT { r } else { LIMIT };
    let r = if r > -LIMIT { r } else { -LIMIT };
    let quadrant = shifted.to_bits().wrapping_add(quarter);
    let u = r * r;
    // sin(r) / r and cos(r) in r^2 on [-pi/4, pi/4]; errors below 2^-37.7 and 2^-34.2.
    let s = 2.7173151300381625e-06_f64;
    let s = s.mul_add(u, -0.00019839199029309947);
    let s = s.mul_add(u, 0.008333328772451142);
    let s = s.mul_add(u, -0.16666666631495647);
    let s = s.mul_add(u, 0.99999999999566);
    let c = 2.4379511140988593e-05_f64;
    let c = c.mul_add(u, -0.0013886614694180648);
    let c = c.mul_add(u, 0.04166661658993823);
    let c = c.mul_add(u, -0.49999999613898644);
    let c = c.mul_add(u, 0.9999999999523638);
    let value = if quadrant & 1 == 0 { r * s } else { c };
    let value = if quadrant & 2 == 0 { value } else { -value };
    (if x.abs() < f32::INFINITY { value } else { f64::NAN }) as f32
}

/// `sin.approx.f32`: absolute error below 2^-20.5 on \[-2pi, 2pi\] (here: everywhere up to 2^50).
#[inline(always)]
pub fn sin_f32(x: f32, ftz: bool) -> f32 {
    sine(x.flush(ftz), 0).finish(flushing(ftz))
}

/// `cos.approx.f32`: absolute error below 2^-20.5 on \[-2pi, 2pi\] (here: everywhere up to 2^50).
#[inline(always)]
pub fn cos_f32(x: f32, ftz: bool) -> f32 {
    sine(x.flush(ftz), 1).finish(flushing(ftz))
}

/// `tanh.approx.f32`: relative error below 2^-11 (here: below 2^-21).
#[inline(always)]
pub fn tanh_f32(x: f32) -> f32 {
    const TWO_OVER_LN_2: f32 = 2.885_39;
    let magnitude = x.abs();
    let clamped = if magnitude < 10.0 { magnitude } else { 10.0 };
    let large = 1.0 - 2.0 / (exp2_finite(clamped * TWO_OVER_LN_2) + 1.0);
    // (tanh(x) / x - 1) / x^2 in x^2 on [0, 0.6]; error below 2^-23.5.
    let u = magnitude * magnitude;
    let p = 0.015_600_656_f32;
    let p = p.mul_add(u, -0.052_208_353);
    let p = p.mul_add(u, 0.133_131_52);
    let p = p.mul_add(u, -0.333_326_07);
    let small = (magnitude * u).mul_add(p, magnitude);
    let value = (if magnitude < 0.6 { small } else { large }).copysign(x);
    (if x.is_nan() { x } else { value }).finish(FloatMode::PLAIN)
}

/// `rcp.approx.f32`: at most 1 ulp (here: correctly rounded).
#[inline(always)]
pub fn rcp_f32(x: f32, ftz: bool) -> f32 {
    x.rcp_rn(flushing(ftz))
}

/// `sqrt.approx.f32`: relative error below 2^-23 (here: correctly rounded).
#[inline(always)]
pub fn sqrt_f32(x: f32, ftz: bool) -> f32 {
    x.sqrt_rn(flushing(ftz))
}

/// `rsqrt.approx.f32`: relative error below 2^-22.9.
#[inline(always)]
pub fn rsqrt_f32(x: f32, ftz: bool) -> f32 {
    (1.0 / x.flush(ftz).sqrt()).finish(flushing(ftz))
}

/// `div.approx.f32`: at most 2 ulp for |b| up to 2^126; a zero (NaN for infinite `a`) for greater |b|, whose
/// reciprocal a GPU's multiplication by 1/b loses.
#[inline(always)]
pub fn div_approx_f32(a: f32, b: f32, ftz: bool) -> f32 {
    const LARGEST: f32 = f32::from_bits((127 + 126) << 23);
    let (a, b) = (a.flush(ftz), b.flush(ftz));
    let quotient = if b.abs() > LARGEST { a * 0.0f32.copysign(b) } else { a / b };
    let quotient = if b.is_nan() { b } else { quotient };
    quotient.finish(flushing(ftz))
}

/// `div.full.f32`: at most 2 ulp in the full range (here: correctly rounded).
#[inline(always)]
pub fn div_full_f32(a: f32, b: f32, ftz: bool) -> f32 {
    a.div_rn(b, flushing(ftz))
}

/// `rsqrt.approx.f64`.
#[inline(always)]
pub fn rsqrt_f64(x: f64) -> f64 {
    (1.0 / x.sqrt()).finish(FloatMode::PLAIN)
}

/// What the coarse approximations make of NaN (PTX ISA 9.7.3.14 and 9.7.3.17).
const COARSE_NAN: f64 = f64::from_bits(0x7fff_ffff_0000_0000);

/// The part of an f64 that the coarse approximations read: its high word, subnormals as zero.
#[inline(always)]
fn high_word(x: f64) -> f64 {
    let kept = f64::from_bits(x.to_bits() & 0xffff_ffff_0000_0000);
    // A NaN whose payload stands in the low word must not turn into an infinity.
    if x.is_nan() { f64::CANONICAL_NAN } else { kept.flush(true) }
}

/// An f64 as the coarse approximations deliver it: 20 fraction bits, low word zero.
#[inline(always)]
fn coarse(x: f64) -> f64 {
    let rounded = f64::from_bits(x.flush(true).to_bits().wrapping_add(0x8000_0000) & 0xffff_ffff_0000_0000);
    if x.is_nan() { COARSE_NAN } else { rounded }
}

/// `rcp.approx.ftz.f64`: reads and writes only the high word.
#[inline(always)]
pub fn rcp_ftz_f64(x: f64) -> f64 {
    coarse(1.0 / high_word(x))
}

/// `rsqrt.approx.ftz.f64`: reads and writes only the high word.
#[inline(always)]
pub fn rsqrt_ftz_f64(x: f64) -> f64 {
    coarse(1.0 / high_word(x).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAN: u32 = 0x7fff_ffff;

    /// Finite f32 values of `low..high`, densely and evenly over the representations.
    fn samples(low: f32, high: f32) -> impl Iterator<Item = f32> {
        let (a, b) = (low.to_bits(), high.to_bits());
        let step = ((b - a) / 200_000).max(1) as usize;
        (a..=b).step_by(step).map(f32::from_bits)
    }

    /// Asserts `error(x) <= 2^bound` over samples of both signs or one.
    fn bounded(name: &str, values: impl Iterator<Item = f32>, bound: f64, error: impl Fn(f32) -> f64) {
        let (worst, at) =
            values.map(|x| (error(x), x)).fold((0.0, 0.0), |worst, next| if next.0 > worst.0 { next } else { worst });
        assert!(worst <= bound.exp2(), "{name}: error 2^{:.2} at {at:e}", worst.log2());
    }

    fn relative(got: f32, exact: f64) -> f64 {
        ((got as f64 - exact) / exact).abs()
    }

    fn absolute(got: f32, exact: f64) -> f64 {
        (got as f64 - exact).abs()
    }

    #[test]
    fn ex2_is_within_the_bound() {
        let exact = |x: f32| (x as f64).exp2();
        bounded("ex2 > 0", samples(1e-9, 127.99999), -22.5, |x| relative(ex2_f32(x, false), exact(x)));
        bounded("ex2 < 0", samples(1e-9, 126.0), -22.5, |x| relative(ex2_f32(-x, false), exact(-x)));
        // Subnormal results: their own last place.
        bounded("ex2 subnormal", samples(126.0, 151.0), -149.0, |x| absolute(ex2_f32(-x, false), exact(-x)));
        for n in -149..=127 {
            assert_eq!(ex2_f32(n as f32, false) as f64, (n as f64).exp2());
        }
    }

    #[test]
    fn lg2_is_within_the_bound() {
        let exact = |x: f32| (x as f64).log2();
        bounded("lg2 near 1", samples(0.5, 2.0), -22.6, |x| absolute(lg2_f32(x, false), exact(x)));
        bounded("lg2 > 2", samples(2.0, f32::MAX), -22.0, |x| relative(lg2_f32(x, false), exact(x)));
        bounded("lg2 < 0.5", samples(f32::from_bits(1), 0.5), -22.0, |x| relative(lg2_f32(x, false), exact(x)));
        for n in -149..=127 {
            assert_eq!(lg2_f32((n as f64).exp2() as f32, false), n as f32);
        }
    }

    #[test]
    fn sine_and_cosine_are_within_the_bound() {
        for (low, high) in [(1e-20, 6.3), (6.3, 314.0), (314.0, 1e9)] {
            for sign in [1.0, -1.0] {
                let values = || samples(low, high).map(|x| x * sign);
                bounded("sin", values(), -20.5, |x| absolute(sin_f32(x, false), (x as f64).sin()));
                bounded("cos", values(), -20.5, |x| absolute(cos_f32(x, false), (x as f64).cos()));
            }
        }
        bounded("sin of anything", samples(1e9, f32::MAX), 0.0, |x| sin_f32(x, false).abs() as f64);
    }

    #[test]
    fn tanh_is_within_the_bound() {
        for sign in [1.0, -1.0] {
            let values = samples(1e-30, 20.0).map(|x| x * sign);
            bounded("tanh", values, -21.0, |x| relative(tanh_f32(x), (x as f64).tanh()));
        }
    }

    #[test]
    fn reciprocals_and_roots_are_within_the_bound() {
        let values = || samples(f32::MIN_POSITIVE, 8e37);
        bounded("rcp", values(), -23.0, |x| relative(rcp_f32(x, false), 1.0 / x as f64));
        bounded("sqrt", values(), -23.0, |x| relative(sqrt_f32(x, false), (x as f64).sqrt()));
        bounded("rsqrt", values(), -22.9, |x| relative(rsqrt_f32(x, false), 1.0 / (x as f64).sqrt()));
        bounded("div.approx", values(), -22.0, |x| relative(div_approx_f32(3.0, x, false), 3.0 / x as f64));
        for x in values().map(|x| x as f64 * 1.000000123) {
            for (got, exact) in [(rcp_ftz_f64(x), 1.0 / x), (rsqrt_ftz_f64(x), 1.0 / x.sqrt())] {
                assert_eq!(got.to_bits() as u32, 0, "the low word is zero");
                assert!(((got - exact) / exact).abs() < 1.5 / 1_048_576.0, "{x:e}");
            }
            assert!((rsqrt_f64(x) * x.sqrt() - 1.0).abs() < 1e-15);
        }
    }

    #[test]
    fn special_operands_follow_the_tables_of_the_manual() {
        let (inf, sub) = (f32::INFINITY, 1e-40f32);
        let check = |f: &dyn Fn(f32) -> f32, table: &[(f32, f32)]| {
            for &(x, expected) in table {
                let expected = if expected.is_nan() { NAN } else { expected.to_bits() };
                assert_eq!(f(x).to_bits(), expected, "operand {x:e}");
            }
            assert_eq!(f(f32::from_bits(0xff80_0001)).to_bits(), NAN);
        };
        for ftz in [false, true] {
            check(
                &|x| ex2_f32(x, ftz),
                &[
                    (-inf, 0.0),
                    (-sub, 1.0),
                    (-0.0, 1.0),
                    (0.0, 1.0),
                    (sub, 1.0),
                    (inf, inf),
                    (500.0, inf),
                    (-500.0, 0.0),
                ],
            );
            check(&|x| cos_f32(x, ftz), &[(-inf, f32::NAN), (-sub, 1.0), (-0.0, 1.0), (0.0, 1.0), (inf, f32::NAN)]);
        }
        let nan = f32::NAN;
        check(
            &|x| lg2_f32(x, true),
            &[(-inf, nan), (-1.0, nan), (-sub, -inf), (-0.0, -inf), (0.0, -inf), (sub, -inf), (inf, inf)],
        );
        check(
            &|x| lg2_f32(x, false),
            &[(-inf, nan), (-1.0, nan), (-sub, nan), (-0.0, -inf), (0.0, -inf), (inf, inf), (1.0, 0.0)],
        );
        check(&|x| sin_f32(x, true), &[(-inf, nan), (-sub, -0.0), (-0.0, -0.0), (0.0, 0.0), (sub, 0.0), (inf, nan)]);
        check(&|x| sin_f32(x, false), &[(-sub, -sub), (-0.0, -0.0), (0.0, 0.0), (sub, sub)]);
        check(&tanh_f32, &[(-inf, -1.0), (-sub, -sub), (-0.0, -0.0), (0.0, 0.0), (sub, sub), (inf, 1.0), (30.0, 1.0)]);
        check(
            &|x| rcp_f32(x, true),
            &[(-inf, -0.0), (-sub, -inf), (-0.0, -inf), (0.0, inf), (sub, inf), (inf, 0.0), (2e38, 0.0)],
        );
        check(
            &|x| sqrt_f32(x, true),
            &[(-inf, nan), (-1.0, nan), (-sub, -0.0), (-0.0, -0.0), (0.0, 0.0), (sub, 0.0), (inf, inf)],
        );
        check(
            &|x| rsqrt_f32(x, true),
            &[(-inf, nan), (-1.0, nan), (-sub, -inf), (-0.0, -inf), (0.0, inf), (sub, inf), (inf, 0.0)],
        );
        check(&|x| rsqrt_f32(x, false), &[(4.0, 0.5), (-0.0, -inf), (-sub, nan)]);
        check(&|b| div_approx_f32(1.0, b, false), &[(2e38, 0.0), (-2e38, -0.0), (0.0, inf), (-0.0, -inf), (inf, 0.0)]);
        check(&|b| div_approx_f32(inf, b, false), &[(2e38, nan), (1.0, inf), (inf, nan)]);
        check(&|b| div_full_f32(1.0, b, false), &[(2e38, 1.0 / 2e38), (-0.0, -inf)]);
        let high = |x: f64| rcp_ftz_f64(x).to_bits();
        assert_eq!(high(-0.0), f64::NEG_INFINITY.to_bits());
        assert_eq!(high(1e-310), f64::INFINITY.to_bits());
        assert_eq!(high(f64::NEG_INFINITY), (-0.0f64).to_bits());
        assert_eq!(high(f64::MAX), 0);
        assert_eq!(high(f64::from_bits(0x7ff0_0000_0000_0001)), 0x7fff_ffff_0000_0000);
        assert_eq!(rsqrt_ftz_f64(-1e-310), f64::NEG_INFINITY);
        assert_eq!(rsqrt_ftz_f64(-1.0).to_bits(), 0x7fff_ffff_0000_0000);
        assert_eq!(rsqrt_f64(4.0), 0.5);
    }
}
