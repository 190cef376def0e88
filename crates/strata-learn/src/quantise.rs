//! Weights of few bits.
//!
//! The prefetching paper clamps weights and activations to [-8, 8] and concludes that four bits are enough (section 6), though
//! what it measured are clamped floats. Here are both: the clamp, and real four-bit weights, -8 to 7 times a scale per tensor.

use crate::layers::BOUND;
use crate::parameters::Parameters;
use serde::{Deserialize, Serialize};

/// How weights are stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Precision {
    /// As floating-point numbers.
    #[default]
    Float,
    /// The same, held in [-8, 8], activations too.
    Clamped,
    /// Four bits, -8 to 7, and a scale per tensor.
    FourBit,
}

impl Precision {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Float, Self::Clamped, Self::FourBit];

    /// Its name in tables and arguments.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Float => "float",
            Self::Clamped => "clamped",
            Self::FourBit => "4bit",
        }
    }

    /// Bits of a weight, as the paper counts the clamped ones.
    pub const fn bits(self) -> u64 {
        match self {
            Self::Float => 32,
            Self::Clamped | Self::FourBit => 4,
        }
    }

    /// What is left of the parameters, written to `out`.
    pub fn apply(self, parameters: &Parameters, out: &mut Vec<f32>) {
        out.clear();
        match self {
            Self::Float => out.extend_from_slice(parameters),
            Self::Clamped => out.extend(parameters.iter().map(|w| w.clamp(-BOUND, BOUND))),
            Self::FourBit => {
                for (k, tensor) in parameters.tensors().iter().enumerate() {
                    let weights = &parameters[tensor.range.clone()];
                    let scale = parameters.fixed_scale(k).unwrap_or_else(|| scale(weights));
                    out.extend(weights.iter().map(|&w| f32::from(nibble(w, scale)) * scale));
                }
            }
        }
    }
}

/// The four-bit number nearest to a weight.
pub(crate) fn nibble(weight: f32, scale: f32) -> i8 {
    // Halves away from zero: the same on every machine.
    (weight / scale).round().clamp(-8.0, 7.0) as i8
}

/// A scale of five significant bits, so that a nibble times it has at most eight: weights fit into sixteen bits (bfloat16)
/// exactly, which halves what a prediction reads.
fn short(scale: f32) -> f32 {
    const DROPPED: u32 = f32::MANTISSA_DIGITS - 5;
    f32::from_bits((scale.to_bits() + (1 << (DROPPED - 1))) >> DROPPED << DROPPED)
}

/// The scale of a tensor: of some candidates below the one that reaches the largest weight, the one with the least squared error.
pub(crate) fn scale(weights: &[f32]) -> f32 {
    let most = weights.iter().fold(0.0f32, |most, w| most.max(w.abs()));
    if most == 0.0 {
        return 1.0;
    }
    let error = |scale: f32| -> f64 {
        // A sample of a large tensor says as much.
        let step = 1 + weights.len() / 4096;
        weights.iter().step_by(step).map(|&w| f64::from(w - f32::from(nibble(w, scale)) * scale)).map(|e| e * e).sum()
    };
    let candidates = (0..16).map(|k| short(most / 7.0 * (1.0 - k as f32 * 0.05)));
    let mut best = (short(most / 7.0), f64::INFINITY);
    for candidate in candidates {
        let error = error(candidate);
        if error < best.1 {
            best = (candidate, error);
        }
    }
    best.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn four_bits_are_sixteen_values_near_the_weights() {
        let mut random = Random::new(2);
        let weights: Vec<f32> = (0..1000).map(|_| random.normal()).collect();
        let scale = scale(&weights);
        let mut values: Vec<i8> = weights.iter().map(|&w| nibble(w, scale)).collect();
        let error: f32 = weights.iter().zip(&values).map(|(w, &q)| (w - f32::from(q) * scale).powi(2)).sum();
        assert!(error / 1000.0 < 0.02, "{error}");
        let fits = |q: &i8| (f32::from(*q) * scale).to_bits() << 16 == 0;
        assert!((-8..=7).all(|q| fits(&q)), "{scale}");
        values.sort_unstable();
        values.dedup();
        assert!(values.len() <= 16 && values[0] >= -8 && values[values.len() - 1] <= 7);
    }
}
