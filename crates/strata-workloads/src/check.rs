//! How a result is judged against its reference.

use std::fmt::{Debug, LowerExp};
use strata_core::text::grouped;

/// What came of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// True if the device's result is the reference's, within the program's tolerance.
    pub passed: bool,
    /// What was compared and how well it fits: `max relative error 2.1e-6 over 1,048,576 values (limit 1e-4)`.
    pub checked: String,
}

impl Outcome {
    /// Passes if both do; says what both say.
    pub(crate) fn and(self, other: &Self) -> Self {
        Self { passed: self.passed && other.passed, checked: format!("{}; {}", self.checked, other.checked) }
    }
}

/// What a floating-point result is held to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tolerance {
    /// The largest error allowed, relative to the expected value.
    pub(crate) limit: f64,
    /// Values smaller than this are compared as if they were this large: the scale of the terms that cancelled in them.
    pub(crate) scale: f64,
}

/// Every value must equal its reference.
pub(crate) fn exact<T: PartialEq + Debug>(what: &str, got: &[T], expected: &[T]) -> Outcome {
    let total = count(expected);
    if got.len() != expected.len() {
        let checked = format!("{} {what} came back, {total} were expected", count(got));
        return Outcome { passed: false, checked };
    }
    let wrong = || got.iter().zip(expected).enumerate().filter(|(_, (g, e))| g != e);
    match wrong().next() {
        None => Outcome { passed: true, checked: format!("{total} {what} exactly equal") },
        Some((index, (g, e))) => {
            let wrong = grouped(wrong().count() as u64);
            let checked = format!("{wrong} of {total} {what} differ, first number {index}: {g:?} instead of {e:?}");
            Outcome { passed: false, checked }
        }
    }
}

/// Every value must be near its reference, which was computed in double precision.
pub(crate) fn close(what: &str, got: &[f32], expected: &[f64], tolerance: Tolerance) -> Outcome {
    near(what, got, expected, tolerance)
}

/// The same for values in double precision.
pub(crate) fn close_doubles(what: &str, got: &[f64], expected: &[f64], tolerance: Tolerance) -> Outcome {
    near(what, got, expected, tolerance)
}

fn near<T: Copy + Into<f64> + LowerExp>(what: &str, got: &[T], expected: &[f64], tolerance: Tolerance) -> Outcome {
    let Tolerance { limit, scale } = tolerance;
    let total = count(expected);
    if got.len() != expected.len() {
        let checked = format!("{} {what} came back, {total} were expected", count(got));
        return Outcome { passed: false, checked };
    }
    let mut worst = (0.0, 0);
    for (index, (g, e)) in got.iter().zip(expected).enumerate() {
        let error = ((*g).into() - e).abs() / e.abs().max(scale);
        // A NaN on either side is the worst error there is, and must not vanish in a comparison.
        let error = if error.is_nan() { f64::INFINITY } else { error };
        if error > worst.0 {
            worst = (error, index);
        }
    }
    let (error, index) = worst;
    let passed = error <= limit;
    let place = match (got.get(index), expected.get(index)) {
        (Some(g), Some(e)) if !passed => format!(", at number {index}: {g:e} instead of {e:e}"),
        _ => String::new(),
    };
    let checked = format!("max relative error {error:.1e} over {total} {what} (limit {limit:e}){place}");
    Outcome { passed, checked }
}

fn count<T>(values: &[T]) -> String {
    grouped(values.len() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOLERANCE: Tolerance = Tolerance { limit: 1e-4, scale: 1e-3 };

    #[test]
    fn exact_names_the_first_difference() {
        assert!(exact("scores", &[1, 2], &[1, 2]).passed);
        let outcome = exact("scores", &[1, 5, 6], &[1, 2, 3]);
        assert!(!outcome.passed);
        assert_eq!(outcome.checked, "2 of 3 scores differ, first number 1: 5 instead of 2");
        assert!(!exact("scores", &[1], &[1, 2]).passed);
    }

    #[test]
    fn close_measures_relative_to_value_and_scale() {
        assert!(close("values", &[100.001, 0.0], &[100.0, 1e-8], TOLERANCE).passed);
        let outcome = close("values", &[1.0, 1.1], &[1.0, 1.0], TOLERANCE);
        assert!(!outcome.passed);
        assert_eq!(
            outcome.checked,
            "max relative error 1.0e-1 over 2 values (limit 1e-4), at number 1: 1.1e0 instead of 1e0"
        );
    }

    #[test]
    fn nothing_that_is_not_a_number_passes() {
        assert!(!close("values", &[f32::NAN], &[1.0], TOLERANCE).passed);
        assert!(!close("values", &[1.0], &[f64::NAN], TOLERANCE).passed);
        assert!(!close("values", &[f32::INFINITY], &[f64::INFINITY], TOLERANCE).passed);
    }
}
