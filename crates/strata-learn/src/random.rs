//! Chance with a seed: the same numbers on every machine.

use strata_core::random::SplitMix64;

/// A stream of numbers as models need them.
#[derive(Clone, Debug)]
pub struct Random(SplitMix64);

impl Random {
    /// From a seed.
    pub const fn new(seed: u64) -> Self {
        Self(SplitMix64::new(seed))
    }

    /// A number below `end`, which is not 0.
    pub fn below(&mut self, end: usize) -> usize {
        self.0.below(end as u64) as usize
    }

    /// A number between -1 and 1.
    pub fn signed(&mut self) -> f32 {
        (self.0.bits() >> 40) as f32 / (1u64 << 23) as f32 - 1.0
    }

    /// About normal, with a variance of 1: the sum of twelve even ones (Irwin and Hall), which needs no logarithm.
    pub fn normal(&mut self) -> f32 {
        (0..12).map(|_| self.signed()).sum::<f32>() / 2.0
    }

    /// Puts things into a random order.
    pub fn shuffle<T>(&mut self, things: &mut [T]) {
        for last in (1..things.len()).rev() {
            things.swap(last, self.below(last + 1));
        }
    }
}
