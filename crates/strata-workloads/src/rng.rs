//! Random numbers that are the same on every machine.
//!
//! xoshiro256++ (Blackman and Vigna, 2021), seeded through splitmix64 as its authors advise. Only integer operations,
//! and floating operations that IEEE 754 rounds exactly, so inputs do not depend on a mathematics library.

use strata_core::random::SplitMix64;

/// A stream of random numbers.
pub(crate) struct Rng {
    state: [u64; 4],
}

impl Rng {
    /// The stream of one input of a program. Each input has its own, so that adding one changes no other.
    pub(crate) fn new(seed: u64, input: &str) -> Self {
        // FNV-1a of the name, mixed with the seed by splitmix64 below.
        let name = input.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        let mut start = SplitMix64::new(seed.wrapping_mul(0xd134_2543_de82_ef95) ^ name);
        Self { state: std::array::from_fn(|_| start.bits()) }
    }

    /// 64 random bits.
    pub(crate) fn bits(&mut self) -> u64 {
        let [a, b, c, d] = self.state;
        let result = a.wrapping_add(d).rotate_left(23).wrapping_add(a);
        let (c1, d1) = (c ^ a, d ^ b);
        self.state = [a ^ d1, b ^ c1, c1 ^ (b << 17), d1.rotate_left(45)];
        result
    }

    /// Uniform in `[0, 1)`.
    pub(crate) fn unit(&mut self) -> f32 {
        (self.bits() >> 40) as f32 * (1.0 / (1 << 24) as f32)
    }

    /// Uniform in `[low, high)`.
    pub(crate) fn between(&mut self, low: f32, high: f32) -> f32 {
        low + (high - low) * self.unit()
    }

    /// Uniform in `0..n`; `n` must not be 0.
    pub(crate) fn below(&mut self, n: u32) -> u32 {
        // Multiply-shift; its bias, under n / 2^32, does not matter to an input.
        (((self.bits() >> 32) * u64::from(n)) >> 32) as u32
    }

    /// Nearly normal with mean 0 and variance 1: four uniform numbers added (a bell that ends at ±3.46).
    pub(crate) fn bell(&mut self) -> f32 {
        // The variance of a uniform number is 1/12, of four of them 1/3.
        const SCALE: f32 = 1.732_050_8;
        let bits = self.bits();
        let sum: u64 = (0..4).map(|i| (bits >> (16 * i)) & 0xffff).sum();
        (sum as f32 * (1.0 / 65536.0) - 2.0) * SCALE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_is_xoshiro256_plus_plus() {
        // The first outputs for state {1, 2, 3, 4}, worked by hand from the published algorithm:
        // rotl(1 + 4, 23) + 1, then the state becomes {7, 0, 262146, 6 << 45}.
        let mut rng = Rng { state: [1, 2, 3, 4] };
        assert_eq!(rng.bits(), (5 << 23) + 1);
        assert_eq!(rng.state, [7, 0, 262146, 6 << 45]);
    }

    #[test]
    fn seeds_and_inputs_have_their_own_streams() {
        let first = |seed, input| Rng::new(seed, input).bits();
        assert_eq!(first(1, "power"), first(1, "power"));
        assert_ne!(first(1, "power"), first(2, "power"));
        assert_ne!(first(1, "power"), first(1, "temperature"));
    }

    #[test]
    fn distributions_have_their_moments() {
        let mut rng = Rng::new(7, "moments");
        let n = 100_000;
        let bells: Vec<f64> = (0..n).map(|_| f64::from(rng.bell())).collect();
        let mean = bells.iter().sum::<f64>() / f64::from(n);
        let variance = bells.iter().map(|b| (b - mean).powi(2)).sum::<f64>() / f64::from(n);
        assert!(mean.abs() < 0.02 && (variance - 1.0).abs() < 0.02, "mean {mean}, variance {variance}");
        let units: f64 = (0..n).map(|_| f64::from(rng.unit())).sum::<f64>() / f64::from(n);
        assert!((units - 0.5).abs() < 0.01, "mean {units}");
        let mut counts = [0; 5];
        (0..n).for_each(|_| counts[rng.below(5) as usize] += 1);
        assert!(counts.iter().all(|c| (19_000..21_000).contains(c)), "{counts:?}");
    }
}
