//! Weights as training leaves them, made rather than trained.
//!
//! What is imitated: most weights are small and a few are large (the tails of a Laplace distribution, kurtosis about 6),
//! because filters care for some of their inputs and not for others; the taps of one kernel resemble each other; filters
//! differ in strength; the first layer sees oriented edges, bars and blobs of opposite colours. Scales are about 1 (half of
//! that where a residual block ends), biases small; a detector expects nothing in most places. Signals keep their size
//! (He et al., 2015). What no such recipe has is meaning: the network tells nothing about its picture.

use super::super::network::Shape;
use super::layers::{Conv, Detector, Network, Op};
use crate::math::sin_pi;
use crate::rng::Rng;

/// What a convolution knows; empty for other layers. `scales`, `mean` and `variance` are there if it is normalised; the
/// last two come from calibration.
#[derive(Default)]
pub(super) struct Parameters {
    /// In the order filter, channel, row, column.
    pub(super) weights: Vec<f32>,
    pub(super) biases: Vec<f32>,
    pub(super) scales: Vec<f32>,
    pub(super) mean: Vec<f32>,
    pub(super) variance: Vec<f32>,
}

/// How far biases and scales spread.
const BIASES: f32 = 0.1;
const SCALES: f32 = 0.25;
/// What a residual block adds is weaker than what it is given.
const RESIDUAL: f32 = 0.5;
/// The bias of a probability that is nearly always low: logistic(-4) is 0.018.
const SELDOM: f32 = -4.0;

/// The parameters of every layer.
pub(super) fn make(network: &Network, seed: u64) -> Vec<Parameters> {
    let of_layer = |index: usize| match network.layers[index].op {
        Op::Conv(conv) => parameters(network, index, conv, seed),
        _ => Parameters::default(),
    };
    (0..network.layers.len()).map(of_layer).collect()
}

fn parameters(network: &Network, index: usize, conv: Conv, seed: u64) -> Parameters {
    let layer = &network.layers[index];
    let mut random = Rng::new(seed, &layer.name);
    let from = network.shape(layer.inputs[0]);
    let filters = layer.shape.channels;
    let sees_pixels = network.layers[layer.inputs[0]].op == Op::Image;
    let mut weights = Vec::with_capacity(filters * from.channels * conv.window.kernel.pow(2));
    for _ in 0..filters {
        if sees_pixels {
            look(&mut random, from, conv.window.kernel, &mut weights);
        } else {
            filter(&mut random, from, conv.window.kernel, &mut weights);
        }
    }
    let next = network.layers.get(index + 1).map(|layer| layer.op);
    let expected = |channel: usize| match next {
        Some(Op::Detect(detector)) => prior(detector, channel),
        _ => 0.0,
    };
    let biases = (0..filters).map(|channel| expected(channel) + BIASES * random.bell()).collect();
    let scales = if conv.normalised { filters } else { 0 };
    let scale = if next == Some(Op::Shortcut) { RESIDUAL } else { 1.0 };
    let scales = (0..scales).map(|_| scale * (1.0 + SCALES * random.bell())).collect();
    Parameters { weights, biases, scales, ..Parameters::default() }
}

/// What a detector's bias says before it has seen anything: there is nothing, and it is of no class.
fn prior(detector: Detector, channel: usize) -> f32 {
    let entry = channel % detector.entries();
    let seldom = match entry {
        0..Detector::COORDINATES => false,
        Detector::COORDINATES => true,
        _ => !detector.exclusive,
    };
    if seldom { SELDOM } else { 0.0 }
}

/// Adds a filter of a layer within the network.
fn filter(random: &mut Rng, from: Shape, kernel: usize, weights: &mut Vec<f32>) {
    let strength = random.between(0.5, 1.5) * (2.0 / (from.channels * kernel * kernel) as f32).sqrt();
    for _ in 0..from.channels {
        // A normal number times 0.75 + 0.25 b^2, with b another one: variance 1.125, kurtosis 5.9.
        let cares = 0.75 + 0.25 * random.bell().powi(2);
        let common = random.bell();
        if kernel == 1 {
            weights.push(strength * cares * common);
        } else {
            // Taps correlate by 0.36 and have variance 1.
            let tap = |_| strength * cares * (0.6 * common + 0.8 * random.bell());
            weights.extend((0..kernel * kernel).map(tap));
        }
    }
}

/// Adds a filter of the first layer: an edge, a bar or a blob.
fn look(random: &mut Rng, from: Shape, kernel: usize, weights: &mut Vec<f32>) {
    let strength = random.between(0.5, 1.5);
    let kind = random.below(4);
    let direction = f64::from(random.between(0.0, 2.0));
    let (across, down) = (sin_pi(direction + 0.5) as f32, sin_pi(direction) as f32);
    let mut colours: Vec<f32> = (0..from.channels).map(|_| random.bell()).collect();
    let mean = colours.iter().sum::<f32>() / colours.len() as f32;
    // Edges and bars are nearly grey; blobs tell one colour from the others.
    let blob = kind == 3;
    for colour in &mut colours {
        *colour = if blob { *colour - mean } else { 1.0 + 0.15 * *colour };
    }
    let middle = (kernel as f32 - 1.0) / 2.0;
    // The mean of the square of a coordinate, so that a bar sees nothing in an even area.
    let even = (kernel * kernel - 1) as f32 / 12.0;
    for colour in colours {
        for place in 0..kernel * kernel {
            let (x, y) = ((place % kernel) as f32 - middle, (place / kernel) as f32 - middle);
            let along = across * x + down * y;
            let profile = match kind {
                0 | 1 => along,
                2 => along * along - even,
                _ => 1.0 / (1.0 + x * x + y * y),
            };
            weights.push(strength * (colour * profile + 0.05 * random.bell()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::layers::Scale;
    use super::*;

    fn moments(values: &[f32]) -> (f64, f64) {
        let moment = |power: i32| values.iter().map(|v| f64::from(*v).powi(power)).sum::<f64>() / values.len() as f64;
        (moment(2), moment(4) / moment(2).powi(2))
    }

    #[test]
    fn weights_have_heavy_tails_and_keep_signals() {
        let mut net = Network::new(&Scale { side: 32, thinner: 1, images: 1 });
        let layers = [net.conv(64), net.conv(64), net.mix(64)];
        let parameters = make(&net, 1);
        for (layer, fan_in) in [(layers[1], 64.0 * 9.0), (layers[2], 64.0)] {
            let (variance, kurtosis) = moments(&parameters[layer].weights);
            // Strengths between 0.5 and 1.5 have a mean square of 1.08.
            let expected = 2.0 / fan_in * 1.125 * 1.083;
            assert!((variance / expected - 1.0).abs() < 0.1, "{layer}: {variance} and {expected}");
            assert!((4.0..8.0).contains(&kurtosis), "{layer}: {kurtosis}");
        }
        // Edges and bars see little in an even area.
        let even = parameters[layers[0]].weights.chunks_exact(9).filter(|k| k.iter().sum::<f32>().abs() < 0.6);
        assert!(even.count() > 64 * 3 / 2);
    }

    #[test]
    fn detectors_expect_nothing() {
        let mut net = Network::new(&Scale { side: 32, thinner: 1, images: 1 });
        net.detect(Detector { anchors: 2, classes: 3, exclusive: false });
        let biases = &make(&net, 1)[1].biases;
        let low: Vec<usize> = (0..16).filter(|channel| biases[*channel] < -3.0).collect();
        assert_eq!(low, [4, 5, 6, 7, 12, 13, 14, 15]);
        assert_eq!(prior(Detector { anchors: 2, classes: 3, exclusive: true }, 5), 0.0);
    }
}
