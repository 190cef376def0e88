//! Mathematics that gives the same bits on every machine.

/// `e` to the power `x`, to within a few units in the last place; for `x` between -700 and 700.
///
/// Inputs are made with it: the library's own may differ from machine to machine.
pub(crate) fn exp(x: f64) -> f64 {
    // x = whole * ln 2 + rest with |rest| <= ln 2 / 2, where fourteen terms of the series leave less than 2^-60.
    let whole = (x * std::f64::consts::LOG2_E).round_ties_even();
    let rest = x - whole * std::f64::consts::LN_2;
    let series = (1..=14).rev().fold(1.0, |sum, n| 1.0 + sum * rest / f64::from(n));
    series * f64::from_bits(((1023 + whole as i64) as u64) << 52)
}

/// The sine of `x` half turns (pi x), to within a few units in the last place.
pub(crate) fn sin_pi(x: f64) -> f64 {
    // x = whole + rest with |rest| <= 1/2; the sign changes with every half turn. Twelve terms leave less than 2^-60.
    let whole = x.round_ties_even();
    let angle = (x - whole) * std::f64::consts::PI;
    let square = angle * angle;
    let series = (1..=12).rev().fold(1.0, |sum, n| 1.0 - sum * square / f64::from(2 * n * (2 * n + 1)));
    if (whole as i64) % 2 == 0 { angle * series } else { -angle * series }
}

/// The logistic function.
pub(crate) fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + exp(-x.clamp(-700.0, 700.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exp_agrees_with_the_library() {
        for i in -2000..=2000 {
            let x = f64::from(i) * 0.0371;
            assert!((exp(x) / x.exp() - 1.0).abs() < 1e-13, "exp({x})");
        }
        assert_eq!(exp(0.0), 1.0);
    }

    #[test]
    fn sin_pi_agrees_with_the_library() {
        for i in -500..=500 {
            let x = f64::from(i) * 0.0123;
            assert!((sin_pi(x) - (x * std::f64::consts::PI).sin()).abs() < 1e-13, "sin_pi({x})");
        }
        assert!(sin_pi(3.0) == 0.0 && sin_pi(2.25) > 0.707);
    }

    #[test]
    fn sigmoid_saturates() {
        assert_eq!(sigmoid(0.0), 0.5);
        assert_eq!(sigmoid(1e9), 1.0);
        assert!(sigmoid(-1e9) < 1e-300);
    }
}
