//! Chance with a seed: the same numbers on every machine.

/// What the state of a [`SplitMix64`] grows by at each step: 2^64 over the golden ratio.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// `SplitMix64` (Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", 2014): small, and good enough to pick
/// pages, to start weights and to seed larger generators.
#[derive(Clone, Debug)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// From a seed.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// 64 random bits.
    pub const fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Number `index` of the stream of a seed, without those before it.
    pub const fn at(seed: u64, index: u64) -> u64 {
        Self(seed.wrapping_add(index.wrapping_mul(STEP))).bits()
    }

    /// A number below `end`, which is not 0.
    pub const fn below(&mut self, end: u64) -> u64 {
        ((self.bits() as u128 * end as u128) >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_is_that_of_the_published_generator() {
        // The first outputs of the reference with state 1234567.
        let expected = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
        let mut random = SplitMix64::new(1_234_567);
        for (index, expected) in expected.into_iter().enumerate() {
            assert_eq!(random.bits(), expected);
            assert_eq!(SplitMix64::at(1_234_567, index as u64), expected);
        }
        assert!((0..1000).all(|_| random.below(7) < 7));
    }
}
