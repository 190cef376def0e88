//! Compares what a buffer holds with what it should hold.

use crate::element::{Element, Number};
use serde::Serialize;

/// The outcome of a comparison.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Comparison {
    /// Elements compared so far.
    pub elements: u64,
    /// Elements outside the tolerance.
    pub mismatches: u64,
    /// The mismatch with the lowest index.
    pub first: Option<Mismatch>,
    /// The largest absolute difference between finite elements.
    pub largest_difference: f64,
}

/// An element outside the tolerance.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Mismatch {
    /// Index of the element in its buffer, from 0.
    pub index: u64,
    /// The element of the file, as text.
    pub expected: String,
    /// The element of the buffer, as text.
    pub found: String,
}

/// An element may differ by `abs + rel * |expected|`. NaN matches NaN only, an infinity only itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tolerance {
    pub(super) abs: f64,
    pub(super) rel: f64,
}

impl Comparison {
    /// Compares the next elements; both slices hold whole ones, the same number of them.
    pub(super) fn feed(&mut self, element: Element, tolerance: Tolerance, found: &[u8], expected: &[u8]) {
        let width = element.bytes();
        for (found, expected) in found.chunks_exact(width).zip(expected.chunks_exact(width)) {
            let index = self.elements;
            self.elements += 1;
            if found == expected {
                continue;
            }
            let (found, expected) = (element.decode(found), element.decode(expected));
            if !self.close(tolerance, found, expected) {
                self.mismatches += 1;
                self.first.get_or_insert_with(|| Mismatch {
                    index,
                    expected: expected.to_string(),
                    found: found.to_string(),
                });
            }
        }
    }

    fn close(&mut self, tolerance: Tolerance, found: Number, expected: Number) -> bool {
        let difference = if let (Number::Int(a), Number::Int(b)) = (found, expected) {
            (a - b).unsigned_abs() as f64
        } else {
            let (a, b) = (found.as_f64(), expected.as_f64());
            if !a.is_finite() || !b.is_finite() {
                return a == b || (a.is_nan() && b.is_nan());
            }
            (a - b).abs()
        };
        self.largest_difference = self.largest_difference.max(difference.min(f64::MAX));
        difference <= tolerance.abs + tolerance.rel * expected.as_f64().abs()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compared(abs: f64, rel: f64, pairs: &[(f64, f64)]) -> Comparison {
        let (mut found, mut expected) = (Vec::new(), Vec::new());
        for &(f, e) in pairs {
            Element::F64.encode(Number::Real(f), &mut found);
            Element::F64.encode(Number::Real(e), &mut expected);
        }
        let mut comparison = Comparison::default();
        comparison.feed(Element::F64, Tolerance { abs, rel }, &found, &expected);
        comparison
    }

    #[test]
    fn tolerances_add() {
        assert_eq!(compared(0.5, 0.1, &[(11.5, 10.0), (8.5, 10.0)]).mismatches, 0);
        let off = compared(0.5, 0.1, &[(10.0, 10.0), (11.6, 10.0)]);
        assert_eq!(off.mismatches, 1);
        assert_eq!(off.first.expect("one").index, 1);
    }

    #[test]
    fn zero_and_minus_zero_are_equal_and_nan_matches_nan_only() {
        assert_eq!(compared(0.0, 0.0, &[(0.0, -0.0), (f64::NAN, -f64::NAN)]).mismatches, 0);
        assert_eq!(compared(1e9, 1e9, &[(f64::NAN, 1.0), (1.0, f64::NAN), (f64::INFINITY, 1.0)]).mismatches, 3);
        assert_eq!(compared(0.0, 0.0, &[(f64::INFINITY, f64::INFINITY)]).mismatches, 0);
    }
}
