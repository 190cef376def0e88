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
    fn sigmoid_saturates() {
        assert_eq!(sigmoid(0.0), 0.5);
        assert_eq!(sigmoid(1e9), 1.0);
        assert!(sigmoid(-1e9) < 1e-300);
    }
}
