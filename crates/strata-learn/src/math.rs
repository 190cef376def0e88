//! Functions that the platform's mathematics library would compute a little differently on every machine: here they are sums
//! and products, so that a model trained anywhere has the same bits.

use std::f32::consts::LOG2_E;

/// e to the power of `x`, with a relative error below 3e-7; that of -87 below -87.
#[inline(always)]
pub(crate) fn exp(x: f32) -> f32 {
    // 1.5 * 2^23: adding it rounds to a whole number.
    const ROUND: f32 = 12_582_912.0;
    // ln 2 in two parts, the first exact in few bits (Cody and Waite).
    const LN2: [f32; 2] = [0.693_359_4, -2.121_944_4e-4];
    // Coefficients of Cephes' expf.
    const C: [f32; 6] = [1.987_569_1e-4, 1.398_2e-3, 8.333_452e-3, 4.166_579_6e-2, 0.166_666_66, 0.5];
    let x = x.clamp(-87.0, 88.0);
    let shifted = x * LOG2_E + ROUND;
    let whole = shifted - ROUND;
    let r = (x - whole * LN2[0]) - whole * LN2[1];
    let p = ((((C[0] * r + C[1]) * r + C[2]) * r + C[3]) * r + C[4]) * r + C[5];
    let bits = ((shifted.to_bits() as i32).wrapping_sub(ROUND.to_bits() as i32) + 127) << 23;
    (p * r * r + r + 1.0) * f32::from_bits(bits as u32)
}

/// The logistic function.
#[inline(always)]
pub(crate) fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + exp(-x))
}

/// The hyperbolic tangent.
#[inline(always)]
pub(crate) fn tanh(x: f32) -> f32 {
    2.0 * sigmoid(2.0 * x) - 1.0
}

/// The natural logarithm of a positive number.
pub(crate) fn ln(x: f64) -> f64 {
    // x = m * 2^e with m near 1; ln m = 2 artanh((m - 1) / (m + 1)), whose series ends below 2^-60.
    let bits = x.to_bits();
    let mut exponent = (bits >> 52) as i64 - 1023;
    let mut m = f64::from_bits(bits & ((1 << 52) - 1) | 1023 << 52);
    if m > std::f64::consts::SQRT_2 {
        m /= 2.0;
        exponent += 1;
    }
    let z = (m - 1.0) / (m + 1.0);
    let series = (0..18).rev().fold(0.0, |sum, k| 1.0 / f64::from(2 * k + 1) + z * z * sum);
    exponent as f64 * std::f64::consts::LN_2 + 2.0 * z * series
}

/// Sine and cosine of an angle that is not large.
fn sin_cos(x: f64) -> (f64, f64) {
    let turns = (x / std::f64::consts::TAU).round();
    // An eighth of the angle by its series, then doubled three times.
    let y = (x - turns * std::f64::consts::TAU) / 8.0;
    let square = y * y;
    let term = |sum: f64, k: i32, odd: i32| 1.0 - square / f64::from((2 * k + odd) * (2 * k + odd + 1)) * sum;
    let mut s = y * (1..10).rev().fold(1.0, |sum, k| term(sum, k, 0));
    let mut c = (1..10).rev().fold(1.0, |sum, k| term(sum, k, -1));
    for _ in 0..3 {
        (s, c) = (2.0 * s * c, c * c - s * s);
    }
    (s, c)
}

/// The positional encoding of Vaswani et al. 2017 for `tokens` of `width` numbers.
pub(crate) fn positions(tokens: usize, width: usize) -> Vec<f32> {
    let ratio = 1e4f64;
    // 10000^(-2 i / width) by repeated square roots would lose digits; the logarithm and a series keep them.
    let power = |exponent: f64| {
        let x = exponent * ln(ratio) / 1024.0;
        let small = (1..12).rev().fold(1.0, |sum, k| 1.0 + x / f64::from(k) * sum);
        (0..10).fold(small, |p, _| p * p)
    };
    let mut encoding = Vec::with_capacity(tokens * width);
    for token in 0..tokens {
        for at in 0..width {
            let angle = token as f64 * power(-((at / 2 * 2) as f64) / width as f64);
            let (sine, cosine) = sin_cos(angle);
            encoding.push(if at % 2 == 0 { sine } else { cosine } as f32);
        }
    }
    encoding
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_near_the_platforms() {
        for k in -800..=800 {
            let x = k as f32 / 10.0;
            assert!((exp(x) / x.exp() - 1.0).abs() < 3e-7, "{x}");
            assert!((tanh(x) - x.tanh()).abs() < 1e-6, "{x}");
            let positive = f64::from(k + 801) * 1.7;
            assert!((ln(positive) - positive.ln()).abs() < 1e-13 * positive.ln().abs().max(1.0), "{positive}");
            let (s, c) = sin_cos(f64::from(x));
            assert!((s - f64::from(x).sin()).abs() < 1e-12 && (c - f64::from(x).cos()).abs() < 1e-12, "{x}");
        }
        assert_eq!(exp(0.0), 1.0);
        assert!(exp(-1000.0) < 1e-37);
    }

    #[test]
    fn positions_are_sinusoids() {
        let encoding = positions(3, 4);
        let expected = [0.0, 1.0, 0.0, 1.0, 0.841_471, 0.540_302_3, 0.009_999_833, 0.999_95];
        for (ours, theirs) in encoding.iter().zip(expected) {
            assert!((ours - theirs).abs() < 1e-6, "{ours} {theirs}");
        }
    }
}
