//! What buffers hold before the first launch, generated piece by piece so that a large buffer needs little host memory.
//!
//! Element `i` depends on nothing but the buffer's rule, the seed, the buffer's name and `i`: the pieces a buffer is
//! filled in, and the other buffers of the file, do not matter.

use crate::element::{Element, Number};
use strata_core::fnv::Fnv1a64;
use strata_core::random::SplitMix64;

/// A rule that gives every element its value.
#[derive(Clone, Copy, Debug)]
pub(super) enum Rule {
    /// Every element has this value.
    Constant(Number),
    /// Element `k` is start plus `k` times step.
    Iota(Number, Number),
    /// Bounds and the seed of this buffer.
    Random(Number, Number, u64),
}

/// The seed of one buffer: two buffers of a file differ, and renaming others changes nothing.
pub(super) fn buffer_seed(seed: u64, name: &str) -> u64 {
    SplitMix64::new(seed ^ Fnv1a64::of(name.as_bytes()).value()).bits()
}

/// Fills `out` with elements `first..first + count`.
pub(super) fn generate(rule: Rule, element: Element, first: u64, count: u64, out: &mut Vec<u8>) {
    out.clear();
    for index in first..first + count {
        element.encode(value(rule, element, index), out);
    }
}

fn value(rule: Rule, element: Element, index: u64) -> Number {
    match rule {
        Rule::Constant(number) => number,
        Rule::Iota(Number::Int(start), Number::Int(step)) if !element.is_float() => {
            Number::Int(start.wrapping_add(step.wrapping_mul(i128::from(index))))
        }
        Rule::Iota(start, step) => Number::Real(start.as_f64() + step.as_f64() * index as f64),
        Rule::Random(Number::Int(low), Number::Int(high), seed) => {
            // Both bounds fit 64 bits, so there are at most 2^64 values and the product fits 128 bits. Taking its upper
            // half prefers no value over another by more than 2^-64 times their number.
            let values = (high - low) as u128 + 1;
            let offset = if values > u128::from(u64::MAX) {
                u128::from(SplitMix64::at(seed, index))
            } else {
                (u128::from(SplitMix64::at(seed, index)) * values) >> 64
            };
            Number::Int(low + offset as i128)
        }
        Rule::Random(low, high, seed) => {
            let share = (SplitMix64::at(seed, index) >> 11) as f64 / (1u64 << 53) as f64;
            // Not `low + share * (high - low)`: the difference of two large bounds is infinite.
            Number::Real(low.as_f64() * (1.0 - share) + high.as_f64() * share)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(rule: Rule, element: Element, count: u64) -> Vec<Number> {
        let mut bytes = Vec::new();
        generate(rule, element, 0, count, &mut bytes);
        bytes.chunks(element.bytes()).map(|b| element.decode(b)).collect()
    }

    #[test]
    fn pieces_do_not_matter() {
        let rule = Rule::Random(Number::Real(-1.0), Number::Real(1.0), buffer_seed(1, "a"));
        let (mut whole, mut piece) = (Vec::new(), Vec::new());
        generate(rule, Element::F32, 0, 100, &mut whole);
        generate(rule, Element::F32, 37, 63, &mut piece);
        assert_eq!(whole[37 * 4..], piece);
    }

    #[test]
    fn random_values_stay_in_bounds_and_reach_them() {
        let dice = numbers(Rule::Random(Number::Int(1), Number::Int(6), 9), Element::I8, 1000);
        for face in 1..=6 {
            assert!(dice.contains(&Number::Int(face)), "{face}");
        }
        assert!(dice.iter().all(|n| matches!(n, Number::Int(1..=6))));
        let (low, high) = Element::U64.integer_range().expect("an integer type");
        let full = numbers(Rule::Random(Number::Int(low), Number::Int(high), 9), Element::U64, 64);
        assert!(full.iter().any(|n| matches!(n, Number::Int(v) if *v > i128::from(u64::MAX / 2))));
        let wide = Rule::Random(Number::Real(-f64::MAX), Number::Real(f64::MAX), 9);
        assert!(numbers(wide, Element::F64, 100).iter().all(|n| n.as_f64().is_finite()));
    }

    #[test]
    fn iota_counts_and_wraps() {
        let up = numbers(Rule::Iota(Number::Int(254), Number::Int(1)), Element::U8, 4);
        assert_eq!(up, [254, 255, 0, 1].map(Number::Int));
        let down = numbers(Rule::Iota(Number::Real(1.0), Number::Real(-0.25)), Element::F32, 3);
        assert_eq!(down, [1.0, 0.75, 0.5].map(Number::Real));
    }
}
