//! Layers on the CPU, in double precision, from their definitions.

use super::super::network::{Shape, Window};
use super::convolution::convolve;
use super::layers::{Conv, Detector, Layer, Network, Op};
use super::weights::Parameters;

/// What leaky ReLU makes of a negative value (Darknet's).
pub(super) const LEAK: f32 = 0.1;
/// Added to a variance before it divides (Darknet's).
const EPSILON: f64 = 1e-5;

/// A convolution before its results are normalised.
pub(super) fn convolved(network: &Network, layer: &Layer, conv: Conv, data: &[Vec<f64>], weights: &[f32]) -> Vec<f64> {
    let input = layer.inputs[0];
    convolve(&data[input], weights, network.shape(input), conv.window, layer.shape)
}

/// What follows a convolution: normalisation, scale, bias, activation.
pub(super) fn finish(convolved: &mut [f64], shape: Shape, conv: Conv, parameters: &Parameters) {
    for (plane, values) in convolved.chunks_exact_mut(shape.pixels()).enumerate() {
        let channel = plane % shape.channels;
        let (gain, shift) = if conv.normalised {
            let deviation = (f64::from(parameters.variance[channel]) + EPSILON).sqrt();
            let gain = f64::from(parameters.scales[channel]) / deviation;
            (gain, -gain * f64::from(parameters.mean[channel]))
        } else {
            (1.0, 0.0)
        };
        let shift = shift + f64::from(parameters.biases[channel]);
        let slope = if conv.leaky { f64::from(LEAK) } else { 1.0 };
        for value in values {
            let sum = gain * *value + shift;
            *value = if sum > 0.0 { sum } else { slope * sum };
        }
    }
}

/// A layer without weights, from the outputs of those before it.
pub(super) fn evaluate(network: &Network, layer: &Layer, data: &[Vec<f64>]) -> Vec<f64> {
    let x = &data[layer.inputs[0]];
    let (from, to) = (network.shape(layer.inputs[0]), layer.shape);
    match layer.op {
        // These have no input or need weights: calibration, which knows pictures and weights, computes them.
        Op::Image | Op::Conv(_) => Vec::new(),
        Op::MaxPool(window) => max_pool(x, from, window, to),
        Op::MeanPool => x.chunks_exact(from.pixels()).map(|p| p.iter().sum::<f64>() / from.pixels() as f64).collect(),
        Op::Softmax => x.chunks_exact(to.len()).flat_map(softmax).collect(),
        Op::Route => {
            let images = x.len() / from.len();
            let part = |image: usize, input: usize| &data[input][image * network.shape(input).len()..];
            let parts = |image: usize| layer.inputs.iter().map(move |input| (image, *input));
            let all = (0..images).flat_map(parts);
            all.flat_map(|(image, input)| part(image, input)[..network.shape(input).len()].to_vec()).collect()
        }
        Op::Shortcut => x.iter().zip(&data[layer.inputs[1]]).map(|(a, b)| a + b).collect(),
        Op::Upsample => {
            let pixel = |place: usize| (place / to.width % to.height / 2) * from.width + place % to.width / 2;
            (0..x.len() * 4).map(|place| x[place / to.pixels() * from.pixels() + pixel(place)]).collect()
        }
        Op::Reorganise => x.chunks_exact(from.len()).flat_map(|image| reorganise(image, from)).collect(),
        Op::Detect(detector) => {
            let boxes = x.chunks_exact(detector.entries() * to.pixels());
            boxes.flat_map(|entries| detect(entries, detector, to.pixels())).collect()
        }
    }
}

fn max_pool(x: &[f64], from: Shape, window: Window, to: Shape) -> Vec<f64> {
    let mut output = Vec::with_capacity(x.len() / from.pixels() * to.pixels());
    for plane in x.chunks_exact(from.pixels()) {
        for place in 0..to.pixels() {
            let (top, left) = (place / to.width * window.stride, place % to.width * window.stride);
            let rows = top..(top + window.kernel).min(from.height);
            let cols = left..(left + window.kernel).min(from.width);
            let largest = |row: usize| plane[row * from.width..][cols.clone()].iter().copied().fold(f64::MIN, f64::max);
            output.push(rows.map(largest).fold(f64::MIN, f64::max));
        }
    }
    output
}

fn softmax(scores: &[f64]) -> Vec<f64> {
    let largest = scores.iter().copied().fold(f64::MIN, f64::max);
    let powers: Vec<f64> = scores.iter().map(|score| (score - largest).exp()).collect();
    let sum: f64 = powers.iter().sum();
    powers.into_iter().map(|power| power / sum).collect()
}

/// By scattering: memory of `channels` planes is taken as a quarter as many of twice the sides, and each pixel of these goes
/// to the plane of its place in its group of four.
fn reorganise(image: &[f64], from: Shape) -> Vec<f64> {
    let quarter = from.channels / 4;
    let mut output = vec![0.0; image.len()];
    for (place, value) in image.iter().enumerate() {
        let (x, y) = (place % (2 * from.width), place / (2 * from.width) % (2 * from.height));
        let channel = y % 2 * 2 * quarter + x % 2 * quarter + place / (4 * from.pixels());
        output[(channel * from.height + y / 2) * from.width + x / 2] = *value;
    }
    output
}

/// One box at all pixels: the centre and whether there is something are logistic, width and height stay as they are.
fn detect(entries: &[f64], detector: Detector, pixels: usize) -> Vec<f64> {
    let mut output = entries.to_vec();
    let logistic = |values: &mut [f64]| values.iter_mut().for_each(|v| *v = 1.0 / (1.0 + (-*v).exp()));
    let (coordinates, rest) = output.split_at_mut(Detector::COORDINATES * pixels);
    logistic(&mut coordinates[..2 * pixels]);
    if detector.exclusive {
        let (something, classes) = rest.split_at_mut(pixels);
        logistic(something);
        for pixel in 0..pixels {
            let scores: Vec<f64> = classes.iter().skip(pixel).step_by(pixels).copied().collect();
            let places = classes.iter_mut().skip(pixel).step_by(pixels);
            places.zip(softmax(&scores)).for_each(|(place, probability)| *place = probability);
        }
    } else {
        logistic(rest);
    }
    output
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pooling_leaves_out_what_is_outside() {
        let from = Shape { channels: 1, height: 3, width: 3 };
        let image: Vec<f64> = (0..9).map(|v| -f64::from(v)).collect();
        let pool = |stride: usize, side: usize| {
            let window = Window { kernel: 2, stride, pad: 0 };
            max_pool(&image, from, window, Shape { channels: 1, height: side, width: side })
        };
        assert_eq!(pool(2, 2), [0.0, -2.0, -6.0, -8.0]);
        assert_eq!(pool(1, 3), image);
    }

    #[test]
    fn reorganising_is_what_darknet_does() {
        // Four channels of one row of four and two rows: one plane of 8 x 4 taken apart.
        let from = Shape { channels: 4, height: 2, width: 4 };
        let image: Vec<f64> = (0..32).map(f64::from).collect();
        let output = reorganise(&image, from);
        assert_eq!(output[..4], [0.0, 2.0, 4.0, 6.0]);
        assert_eq!(output[8..12], [1.0, 3.0, 5.0, 7.0]);
        assert_eq!(output[16..20], [8.0, 10.0, 12.0, 14.0]);
        assert_eq!(output[28..], [25.0, 27.0, 29.0, 31.0]);
    }

    #[test]
    fn a_box_has_probabilities_and_plain_sizes() {
        let exclusive = Detector { anchors: 1, classes: 2, exclusive: true };
        // Two pixels: x, y, width, height, something, two classes.
        let entries = [0.0, 0.0, 0.0, 0.0, 3.0, 4.0, 5.0, 6.0, 0.0, 0.0, 1.0, 7.0, 1.0, 7.0];
        let output = detect(&entries, exclusive, 2);
        assert_eq!(output, [0.5, 0.5, 0.5, 0.5, 3.0, 4.0, 5.0, 6.0, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5]);
        let several = detect(&entries, Detector { exclusive: false, ..exclusive }, 2);
        assert!(several[10..].iter().all(|p| *p > 0.7));
    }
}
