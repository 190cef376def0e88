//! How well predictions agree with measurements: two numbers over pairs of them.

/// A prediction and what was measured.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Pair {
    /// What was predicted.
    pub predicted: f64,
    /// What was measured; not 0.
    pub measured: f64,
}

/// The agreement of pairs.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Score {
    /// Mean of |predicted - measured| / measured, in percent.
    pub mape: f64,
    /// Pearson's correlation; `None` where it is not defined: fewer than two pairs, or no spread.
    pub correlation: Option<f64>,
}

impl Score {
    /// The agreement of all these pairs; `None` if there are none.
    pub fn of(pairs: &[Pair]) -> Option<Self> {
        if pairs.is_empty() {
            return None;
        }
        let errors = pairs.iter().map(|pair| ((pair.predicted - pair.measured) / pair.measured).abs());
        let mape = 100.0 * errors.sum::<f64>() / pairs.len() as f64;
        Some(Self { mape, correlation: correlation(pairs) })
    }
}

/// Covariance over the product of the standard deviations.
fn correlation(pairs: &[Pair]) -> Option<f64> {
    let mean = |of: fn(&Pair) -> f64| pairs.iter().map(of).sum::<f64>() / pairs.len() as f64;
    let (predicted, measured) = (mean(|p| p.predicted), mean(|p| p.measured));
    let (mut both, mut first, mut second) = (0.0, 0.0, 0.0);
    for pair in pairs {
        let (x, y) = (pair.predicted - predicted, pair.measured - measured);
        both += x * y;
        first += x * x;
        second += y * y;
    }
    let spread = (first * second).sqrt();
    (spread > 0.0).then(|| both / spread)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pairs: &[(f64, f64)], mape: f64, correlation: Option<f64>) {
        let pairs: Vec<_> = pairs.iter().map(|&(predicted, measured)| Pair { predicted, measured }).collect();
        let score = Score::of(&pairs).expect("there are pairs");
        assert!((score.mape - mape).abs() < 1e-9, "{pairs:?}: {score:?}");
        let close = score.correlation.zip(correlation).is_none_or(|(a, b)| (a - b).abs() < 1e-9);
        assert!(close && score.correlation.is_some() == correlation.is_some(), "{pairs:?}: {score:?}");
    }

    #[test]
    fn values_computed_by_hand() {
        // Everything right.
        check(&[(1.0, 1.0), (2.0, 2.0)], 0.0, Some(1.0));
        // Twice too much everywhere is wrong by 100 %, and perfectly correlated.
        check(&[(2.0, 1.0), (4.0, 2.0), (20.0, 10.0)], 100.0, Some(1.0));
        // Too little and too much do not cancel.
        check(&[(50.0, 100.0), (300.0, 200.0)], 50.0, Some(1.0));
        // The wrong way round.
        check(&[(4.0, 2.0), (2.0, 4.0)], 75.0, Some(-1.0));
        // Means 2 and 2; deviations (-1, 1, 0) and (-1, 0, 1): 1 / sqrt(2 * 2). Errors 0, 1/2 and 1/3.
        check(&[(1.0, 1.0), (3.0, 2.0), (2.0, 3.0)], 250.0 / 9.0, Some(0.5));
    }

    #[test]
    fn what_is_not_defined_has_no_value() {
        check(&[(3.0, 2.0)], 50.0, None);
        check(&[(3.0, 2.0), (3.0, 2.0)], 50.0, None);
        assert_eq!(Score::of(&[]), None);
    }
}
