//! Single layers on the CPU, in double precision, from their definitions.

use super::network::{Shape, Window};

/// The sum of products; in four parts, so that the machine's vectors can be used.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; 4];
    let (a4, b4) = (a.chunks_exact(4), b.chunks_exact(4));
    let rest: f64 = a4.remainder().iter().zip(b4.remainder()).map(|(x, y)| x * y).sum();
    for (x, y) in a4.zip(b4) {
        for lane in 0..4 {
            sums[lane] += x[lane] * y[lane];
        }
    }
    sums.iter().sum::<f64>() + rest
}

/// Adds `factor` times `values`.
fn add_scaled(to: &mut [f64], factor: f64, values: &[f64]) {
    for (sum, value) in to.iter_mut().zip(values) {
        *sum += factor * value;
    }
}

pub(super) fn add_to(to: &mut [f64], values: &[f64]) {
    add_scaled(to, 1.0, values);
}

/// The pixels of a window at (row, column) that lie inside the image: (row of the window, column of it, pixel).
fn inside(at: (usize, usize), window: Window, shape: Shape) -> impl Iterator<Item = (usize, usize, usize)> {
    let Window { kernel, stride, pad } = window;
    let line = move |place: usize, length: usize| {
        let pixel = move |tap: usize| (tap, (place * stride + tap).wrapping_sub(pad));
        (0..kernel).map(pixel).filter(move |(_, pixel)| *pixel < length)
    };
    line(at.0, shape.height)
        .flat_map(move |(ky, y)| line(at.1, shape.width).map(move |(kx, x)| (ky, kx, y * shape.width + x)))
}

/// Calls `f` with (tap, place of the result, pixel of the image) for every channel of one image.
fn taps(from: Shape, window: Window, to: Shape, mut f: impl FnMut(usize, usize, usize)) {
    for channel in 0..from.channels {
        for place in 0..to.pixels() {
            for (ky, kx, pixel) in inside((place / to.width, place % to.width), window, from) {
                f((channel * window.kernel + ky) * window.kernel + kx, place, channel * from.pixels() + pixel);
            }
        }
    }
}

/// One row per tap, one column per place.
fn unfold(image: &[f64], from: Shape, window: Window, to: Shape) -> Vec<f64> {
    let mut columns = vec![0.0; from.channels * window.kernel * window.kernel * to.pixels()];
    taps(from, window, to, |tap, place, pixel| columns[tap * to.pixels() + place] = image[pixel]);
    columns
}

pub(super) fn conv_forward(
    x: &[f64],
    weights: &[f64],
    bias: Option<&[f64]>,
    from: Shape,
    window: Window,
    to: Shape,
) -> Vec<f64> {
    let count = weights.len() / to.channels;
    let mut output = Vec::with_capacity(x.len() / from.len() * to.len());
    for image in x.chunks_exact(from.len()) {
        let columns = unfold(image, from, window, to);
        for (channel, weights) in weights.chunks_exact(count).enumerate() {
            let mut plane = vec![bias.map_or(0.0, |bias| bias[channel]); to.pixels()];
            for (weight, column) in weights.iter().zip(columns.chunks_exact(to.pixels())) {
                add_scaled(&mut plane, *weight, column);
            }
            output.extend(plane);
        }
    }
    output
}

/// The gradient of the images (zeros if it is not wanted); adds that of the weights to `weights_diff`.
pub(super) fn conv_backward(
    x: &[f64],
    weights: &[f64],
    dy: &[f64],
    (from, window, to): (Shape, Window, Shape),
    wanted: bool,
    weights_diff: &mut [f64],
) -> Vec<f64> {
    let count = weights.len() / to.channels;
    let mut dx = vec![0.0; x.len()];
    for ((image, diff), dx) in x.chunks_exact(from.len()).zip(dy.chunks_exact(to.len())).zip(dx.chunks_mut(from.len()))
    {
        let columns = unfold(image, from, window, to);
        let mut column_diffs = vec![0.0; columns.len()];
        for (channel, plane) in diff.chunks_exact(to.pixels()).enumerate() {
            for tap in 0..count {
                let column = tap * to.pixels()..(tap + 1) * to.pixels();
                weights_diff[channel * count + tap] += dot(plane, &columns[column.clone()]);
                if wanted {
                    add_scaled(&mut column_diffs[column], weights[channel * count + tap], plane);
                }
            }
        }
        if wanted {
            taps(from, window, to, |tap, place, pixel| dx[pixel] += column_diffs[tap * to.pixels() + place]);
        }
    }
    dx
}

pub(super) fn dense_forward(x: &[f64], weights: &[f64], bias: &[f64], batch: usize) -> Vec<f64> {
    let inputs = x.len() / batch;
    let row = |x: &[f64]| -> Vec<f64> {
        weights.chunks_exact(inputs).zip(bias).map(|(weights, bias)| dot(x, weights) + bias).collect()
    };
    x.chunks_exact(inputs).flat_map(row).collect()
}

pub(super) fn dense_backward(
    x: &[f64],
    weights: &[f64],
    dy: &[f64],
    batch: usize,
    weights_diff: &mut [f64],
) -> Vec<f64> {
    let (inputs, outputs) = (x.len() / batch, dy.len() / batch);
    let mut dx = vec![0.0; x.len()];
    for ((x, dy), dx) in x.chunks_exact(inputs).zip(dy.chunks_exact(outputs)).zip(dx.chunks_mut(inputs)) {
        for (unit, diff) in dy.iter().enumerate() {
            let weights_of = unit * inputs..(unit + 1) * inputs;
            add_scaled(&mut weights_diff[weights_of.clone()], *diff, x);
            add_scaled(dx, *diff, &weights[weights_of]);
        }
    }
    dx
}

/// The largest value of each window, and where it was found first.
pub(super) fn max_pool(x: &[f64], from: Shape, window: Window, to: Shape) -> (Vec<f64>, Vec<usize>) {
    let (mut output, mut places) = (Vec::new(), Vec::new());
    for (plane, values) in x.chunks_exact(from.pixels()).enumerate() {
        for place in 0..to.pixels() {
            let mut largest = (f64::NEG_INFINITY, 0);
            for (_, _, pixel) in inside((place / to.width, place % to.width), window, from) {
                if values[pixel] > largest.0 {
                    largest = (values[pixel], plane * from.pixels() + pixel);
                }
            }
            output.push(largest.0);
            places.push(largest.1);
        }
    }
    (output, places)
}

/// What a mean divides by: the window as far as the padding goes, which counts as zeros.
fn window_size(place: (usize, usize), window: Window, from: Shape) -> f64 {
    let side = |at: usize, length: usize| {
        let begin = at * window.stride;
        (begin + window.kernel).min(length + 2 * window.pad) - begin
    };
    (side(place.0, from.height) * side(place.1, from.width)) as f64
}

pub(super) fn mean_pool(x: &[f64], from: Shape, window: Window, to: Shape) -> Vec<f64> {
    let mean = |values: &[f64], place: usize| {
        let at = (place / to.width, place % to.width);
        inside(at, window, from).map(|(_, _, pixel)| values[pixel]).sum::<f64>() / window_size(at, window, from)
    };
    x.chunks_exact(from.pixels()).flat_map(|values| (0..to.pixels()).map(move |place| mean(values, place))).collect()
}

pub(super) fn mean_pool_backward(dy: &[f64], len: usize, from: Shape, window: Window, to: Shape) -> Vec<f64> {
    let mut dx = vec![0.0; len];
    for (dx, dy) in dx.chunks_mut(from.pixels()).zip(dy.chunks_exact(to.pixels())) {
        for (place, diff) in dy.iter().enumerate() {
            let at = (place / to.width, place % to.width);
            inside(at, window, from).for_each(|(_, _, pixel)| dx[pixel] += diff / window_size(at, window, from));
        }
    }
    dx
}

/// The neighbours of a channel.
fn neighbours(channel: usize, channels: usize, size: usize) -> std::ops::RangeInclusive<usize> {
    channel.saturating_sub(size / 2)..=(channel + size / 2).min(channels - 1)
}

/// Each value over the power 3/4 of its scale, and the scales.
pub(super) fn lrn_forward(x: &[f64], shape: Shape, size: usize, alpha: f64) -> (Vec<f64>, Vec<f64>) {
    let pixels = shape.pixels();
    let mut scales = vec![1.0; x.len()];
    for (image, scales) in x.chunks_exact(shape.len()).zip(scales.chunks_mut(shape.len())) {
        for (place, scale) in scales.iter_mut().enumerate() {
            let around = neighbours(place / pixels, shape.channels, size).map(|c| image[c * pixels + place % pixels]);
            *scale += alpha / size as f64 * around.map(|v| v * v).sum::<f64>();
        }
    }
    (x.iter().zip(&scales).map(|(v, scale)| v * scale.powf(-0.75)).collect(), scales)
}

/// By the chain rule, scattered: what a value does to its neighbours' results.
pub(super) fn lrn_backward(x: &[f64], scales: &[f64], dy: &[f64], shape: Shape, size: usize, alpha: f64) -> Vec<f64> {
    let pixels = shape.pixels();
    let mut dx = vec![0.0; x.len()];
    for place in 0..x.len() {
        let (first, within) = (place - place % shape.len(), place % shape.len());
        dx[place] += dy[place] * scales[place].powf(-0.75);
        let by_scale = dy[place] * x[place] * -0.75 * scales[place].powf(-1.75);
        for channel in neighbours(within / pixels, shape.channels, size) {
            let other = first + channel * pixels + within % pixels;
            dx[other] += by_scale * 2.0 * alpha / size as f64 * x[other];
        }
    }
    dx
}

/// Mean and inverse deviation of each channel.
pub(super) struct BatchNorm {
    mean: Vec<f64>,
    inverse: Vec<f64>,
    /// Values of a channel in the batch.
    values: f64,
}

impl BatchNorm {
    pub(super) fn of(x: &[f64], shape: Shape, epsilon: f64) -> Self {
        let values = (x.len() / shape.channels) as f64;
        let sums = |f: &dyn Fn(usize, f64) -> f64| {
            let mut sums = vec![0.0; shape.channels];
            for (plane, pixels) in x.chunks_exact(shape.pixels()).enumerate() {
                let channel = plane % shape.channels;
                sums[channel] += pixels.iter().map(|v| f(channel, *v)).sum::<f64>();
            }
            sums.into_iter().map(|sum| sum / values).collect::<Vec<f64>>()
        };
        let mean = sums(&|_, v| v);
        let variance = sums(&|channel, v| (v - mean[channel]).powi(2));
        let inverse = variance.iter().map(|v| 1.0 / (v + epsilon).sqrt()).collect();
        Self { mean, inverse, values }
    }

    fn normal(&self, channel: usize, value: f64) -> f64 {
        (value - self.mean[channel]) * self.inverse[channel]
    }

    pub(super) fn forward(&self, x: &[f64], shape: Shape, gain: &[f64], shift: &[f64]) -> Vec<f64> {
        let channel = |place: usize| place / shape.pixels() % shape.channels;
        let result =
            |(place, v): (usize, &f64)| self.normal(channel(place), *v) * gain[channel(place)] + shift[channel(place)];
        x.iter().enumerate().map(result).collect()
    }

    /// The gradients of input, gain and shift.
    pub(super) fn backward(&self, x: &[f64], dy: &[f64], shape: Shape, gain: &[f64]) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
        let channel = |place: usize| place / shape.pixels() % shape.channels;
        let (mut gain_diff, mut shift_diff) = (vec![0.0; shape.channels], vec![0.0; shape.channels]);
        for (place, (v, diff)) in x.iter().zip(dy).enumerate() {
            gain_diff[channel(place)] += diff * self.normal(channel(place), *v);
            shift_diff[channel(place)] += diff;
        }
        let result = |(place, (v, diff)): (usize, (&f64, &f64))| {
            let c = channel(place);
            let common = shift_diff[c] + self.normal(c, *v) * gain_diff[c];
            gain[c] * self.inverse[c] * (diff - common / self.values)
        };
        let dx = x.iter().zip(dy).enumerate().map(result).collect();
        (dx, gain_diff, shift_diff)
    }
}

/// 0 or 2, by the random bits that the device draws for this place.
pub(super) fn dropout_factor(place: usize, step: u32, layer: usize) -> f64 {
    let mixed = (place as u32)
        .wrapping_mul(0x9e37_79b9)
        .wrapping_add(step.wrapping_mul(0x85eb_ca6b))
        .wrapping_add((layer as u32).wrapping_mul(0xc2b2_ae35));
    let mixed = (mixed ^ (mixed >> 16)).wrapping_mul(0x7feb_352d);
    let mixed = (mixed ^ (mixed >> 15)).wrapping_mul(0x846c_a68b);
    2.0 * f64::from((mixed ^ (mixed >> 16)) >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dropout_keeps_half() {
        let kept = (0..10_000).filter(|place| dropout_factor(*place, 3, 9) > 0.0).count();
        assert!((4_800..5_200).contains(&kept), "{kept}");
    }

    #[test]
    fn windows_over_the_border_see_what_is_inside() {
        let shape = Shape { channels: 1, height: 3, width: 3 };
        let window = Window { kernel: 3, stride: 2, pad: 1 };
        let to = Shape { height: 2, width: 2, ..shape };
        let image: Vec<f64> = (1..=9).map(f64::from).collect();
        assert_eq!(max_pool(&image, shape, window, to).0, [5.0, 6.0, 8.0, 9.0]);
        assert_eq!(mean_pool(&image, shape, window, to)[0], (1.0 + 2.0 + 4.0 + 5.0) / 9.0);
        let sums = conv_forward(&image, &[1.0; 9], None, shape, window, to);
        assert_eq!(sums, [12.0, 16.0, 24.0, 28.0]);
    }
}
