//! Convolutions on the CPU, in double precision, from the definition: each weight times the image, shifted.
//!
//! The image is padded and taken apart into the planes that windows of a stride see (for a stride of 1 the padded image
//! itself, for a stride of 2 its even and odd rows and columns). There each weight meets one run of values, in order; the
//! few results at the ends of rows that belong to no window are left out of the output.

use super::super::network::{Shape, Window};

/// The planes of one channel that windows see.
struct Planes {
    rows: usize,
    cols: usize,
    values: Vec<f64>,
}

impl Planes {
    fn new(channel: &[f64], from: Shape, window: Window, to: Shape) -> Self {
        let Window { kernel, stride, pad } = window;
        let more = (kernel - 1) / stride;
        let (rows, cols) = (to.height + more, to.width + more);
        let mut values = Vec::with_capacity(stride * stride * rows * cols);
        for part in 0..stride * stride {
            for row in 0..rows {
                let y = (row * stride + part / stride).wrapping_sub(pad);
                for col in 0..cols {
                    let x = (col * stride + part % stride).wrapping_sub(pad);
                    let inside = y < from.height && x < from.width;
                    values.push(if inside { channel[y * from.width + x] } else { 0.0 });
                }
            }
        }
        Self { rows, cols, values }
    }

    /// What the window's tap at (y, x) sees when it stands at the first place, and all that follows.
    fn seen_by(&self, y: usize, x: usize, stride: usize) -> &[f64] {
        let part = y % stride * stride + x % stride;
        &self.values[(part * self.rows + y / stride) * self.cols + x / stride..]
    }
}

/// The convolution of a batch of images; `weights` are in the order filter, channel, row, column.
pub(super) fn convolve(images: &[f64], weights: &[f32], from: Shape, window: Window, to: Shape) -> Vec<f64> {
    let Window { kernel, stride, .. } = window;
    let mut output = Vec::with_capacity(images.len() / from.len() * to.len());
    for image in images.chunks_exact(from.len()) {
        let channels = image.chunks_exact(from.pixels()).map(|channel| Planes::new(channel, from, window, to));
        let channels: Vec<Planes> = channels.collect();
        let pitch = to.width + (kernel - 1) / stride;
        let mut sums = vec![0.0; (to.height - 1) * pitch + to.width];
        for filter in weights.chunks_exact(from.channels * kernel * kernel) {
            sums.fill(0.0);
            for (planes, taps) in channels.iter().zip(filter.chunks_exact(kernel * kernel)) {
                add_taps(&mut sums, planes, taps, window);
            }
            output.extend(sums.chunks(pitch).flat_map(|row| &row[..to.width]));
        }
    }
    output
}

/// Adds what all taps of a filter see in one channel: a row of three at a time where the window is that wide, which saves
/// passes over the sums.
fn add_taps(sums: &mut [f64], planes: &Planes, taps: &[f32], window: Window) {
    let Window { kernel, stride, .. } = window;
    for (y, row) in taps.chunks_exact(kernel).enumerate() {
        let seen = |x: usize| planes.seen_by(y, x, stride);
        if let [a, b, c] = *row {
            let (a, b, c) = (f64::from(a), f64::from(b), f64::from(c));
            for (((sum, p), q), r) in sums.iter_mut().zip(seen(0)).zip(seen(1)).zip(seen(2)) {
                *sum += a * p + b * q + c * r;
            }
        } else {
            for (x, weight) in row.iter().enumerate() {
                let weight = f64::from(*weight);
                sums.iter_mut().zip(seen(x)).for_each(|(sum, value)| *sum += weight * value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::network::window;
    use super::*;
    use crate::rng::Rng;

    /// Each result is the sum over its window, pixel by pixel.
    fn check(window: Window) {
        let from = Shape { channels: 2, height: 7, width: 5 };
        let to = Shape { channels: 3, height: window.places(7), width: window.places(5) };
        let mut random = Rng::new(1, "convolution");
        let images: Vec<f64> = (0..2 * from.len()).map(|_| f64::from(random.bell())).collect();
        let taps = from.channels * window.kernel * window.kernel;
        let weights: Vec<f32> = (0..to.channels * taps).map(|_| random.bell()).collect();
        let got = convolve(&images, &weights, from, window, to);
        assert_eq!(got.len(), 2 * to.len());
        for (place, got) in got.iter().enumerate() {
            let (x, y) = (place % to.width, place / to.width % to.height);
            let (filter, image) = (place / to.pixels() % to.channels, place / to.len());
            let mut expected = 0.0;
            for tap in 0..taps {
                let (kx, ky) = (tap % window.kernel, tap / window.kernel % window.kernel);
                let channel = tap / (window.kernel * window.kernel);
                let row = (y * window.stride + ky).wrapping_sub(window.pad);
                let col = (x * window.stride + kx).wrapping_sub(window.pad);
                if row < from.height && col < from.width {
                    let pixel = ((image * from.channels + channel) * from.height + row) * from.width + col;
                    expected += f64::from(weights[filter * taps + tap]) * images[pixel];
                }
            }
            assert!((got - expected).abs() < 1e-12, "{window:?}, {place}: {got} instead of {expected}");
        }
    }

    #[test]
    fn convolutions_are_sums_over_windows() {
        check(window(1, 1, 0));
        check(window(3, 1, 1));
        check(window(3, 2, 1));
        check(window(5, 2, 0));
        check(window(2, 3, 1));
    }
}
