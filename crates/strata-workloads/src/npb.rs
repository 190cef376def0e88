//! The random numbers of the NAS parallel benchmarks: x' = 5^13 x mod 2^46, as numbers x' / 2^46 between 0 and 1.
//!
//! Integer arithmetic gives the same sequence as the pairs of half-words in double precision that the benchmarks are
//! published with: every product is exact in both.

use crate::rng::Rng;

/// The factor of the sequence, 5^13.
pub(crate) const MULTIPLIER: u64 = 1_220_703_125;
const MASK: u64 = (1 << 46) - 1;

/// A place in the sequence.
pub(crate) struct Sequence(pub(crate) u64);

impl Sequence {
    /// A sequence that begins anywhere; the benchmarks fix its beginning, here it is the seed's. Odd, for the full period.
    pub(crate) fn new(seed: u64, input: &str) -> Self {
        Self(Rng::new(seed, input).bits() & MASK | 1)
    }

    /// The next number, in (0, 1).
    pub(crate) fn unit(&mut self) -> f64 {
        self.0 = times(self.0, MULTIPLIER);
        self.0 as f64 * (1.0 / (1_u64 << 46) as f64)
    }
}

/// The product modulo 2^46.
pub(crate) const fn times(a: u64, b: u64) -> u64 {
    a.wrapping_mul(b) & MASK
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_is_the_published_one() {
        // The seed of the benchmark that generates nothing else; the product in wider arithmetic.
        let mut sequence = Sequence(271_828_183);
        let first = sequence.unit();
        assert_eq!(u128::from(sequence.0), 271_828_183_u128 * 1_220_703_125 % (1 << 46));
        assert_eq!(first, sequence.0 as f64 / (1_u64 << 46) as f64);
    }

    #[test]
    fn numbers_are_uniform() {
        let mut sequence = Sequence::new(1, "any");
        let mean = (0..100_000).map(|_| sequence.unit()).sum::<f64>() / 1e5;
        assert!((mean - 0.5).abs() < 0.005, "mean {mean}");
    }
}
