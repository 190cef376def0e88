//! A pass on the CPU that finds the statistics of batch normalisation on its way.
//!
//! Training leaves in each normalised layer the mean and variance of what reaches it, over many pictures. Here they are
//! made from the pictures at hand, as if these were a few of many: the mean lies beside theirs, and where a channel has few
//! values (coarse layers of small runs) its variance leans on the strength of the whole layer. A layer's statistics are
//! fixed before anything reads its results, so what the pass returns is what the network gives.

use super::layers::{Network, Op};
use super::reference::{convolved, evaluate, finish};
use super::weights::Parameters;
use crate::linear::widen;
use crate::rng::Rng;

/// How far the mean of a few pictures is from that of all, in standard deviations.
const MEANS_APART: f64 = 0.3;
/// For how many values of a channel the strength of its layer stands: otherwise a channel of few and similar values would
/// be divided by next to nothing.
const LENT: f64 = 4.0;

/// Fills in `mean` and `variance` of every normalised layer; returns the outputs of all layers.
pub(super) fn calibrate(
    network: &Network,
    pictures: &[f32],
    parameters: &mut [Parameters],
    seed: u64,
) -> Vec<Vec<f64>> {
    let mut random = Rng::new(seed, "calibration");
    let mut data: Vec<Vec<f64>> = Vec::with_capacity(network.layers.len());
    for (layer, parameters) in network.layers.iter().zip(parameters) {
        let output = match layer.op {
            Op::Image => widen(pictures),
            Op::Conv(conv) => {
                let mut output = convolved(network, layer, conv, &data, &parameters.weights);
                if conv.normalised {
                    let planes = |channel| {
                        let planes = output.chunks_exact(layer.shape.pixels());
                        planes.skip(channel).step_by(layer.shape.channels)
                    };
                    let channels: Vec<_> = (0..layer.shape.channels).map(|c| statistics(planes(c))).collect();
                    let values = output.len() / layer.shape.channels;
                    (parameters.mean, parameters.variance) = of_many(&channels, values as f64, &mut random);
                }
                finish(&mut output, layer.shape, conv, parameters);
                output
            }
            _ => evaluate(network, layer, &data),
        };
        data.push(output);
    }
    data
}

/// Mean and variance of all values of some planes.
fn statistics<'a>(planes: impl Iterator<Item = &'a [f64]> + Clone) -> (f64, f64) {
    let count = planes.clone().map(<[f64]>::len).sum::<usize>() as f64;
    let mean = planes.clone().flatten().sum::<f64>() / count;
    let variance = planes.flatten().map(|v| (v - mean).powi(2)).sum::<f64>() / count;
    (mean, variance)
}

/// Means and variances of all channels in many pictures, of which a few have these, with so many values per channel.
fn of_many(channels: &[(f64, f64)], values: f64, random: &mut Rng) -> (Vec<f32>, Vec<f32>) {
    let strength = channels.iter().map(|(mean, variance)| mean * mean + variance).sum::<f64>() / channels.len() as f64;
    let of_one = |(mean, variance): &(f64, f64)| {
        let variance = (values * variance + LENT * strength) / (values + LENT);
        let mean = mean + MEANS_APART * f64::from(random.bell()) * variance.sqrt();
        (mean as f32, variance as f32)
    };
    channels.iter().map(of_one).unzip()
}

#[cfg(test)]
mod tests {
    use super::super::layers::Scale;
    use super::super::pictures::{Camera, Framing};
    use super::super::weights::make;
    use super::*;

    #[test]
    fn activations_stay_about_one_and_half_of_them_are_negative() {
        let mut net = Network::new(&Scale { side: 64, thinner: 1, images: 2 });
        for _ in 0..8 {
            net.conv(16);
            net.mix(16);
        }
        let mut camera = Camera::new(1, 64, Framing::Letterboxed);
        let pictures = [camera.picture(), camera.picture()].concat();
        let outputs = calibrate(&net, &pictures, &mut make(&net, 1), 1);
        for (layer, output) in net.layers.iter().zip(&outputs).skip(1) {
            let share = |f: fn(&f64) -> f64| output.iter().map(f).sum::<f64>() / output.len() as f64;
            let (negative, square) = (share(|v| f64::from(*v < 0.0)), share(|v| v * v));
            assert!((0.35..0.65).contains(&negative), "{}: {negative} are negative", layer.name);
            assert!((0.3..1.2).contains(&square), "{}: mean square {square}", layer.name);
        }
    }

    #[test]
    fn a_channel_of_few_values_leans_on_its_layer() {
        let variance = |values: f64| of_many(&[(0.0, 1e-9), (3.0, 1.0)], values, &mut Rng::new(1, "many")).1[0];
        // The strength of the layer is 5.
        assert!((variance(4.0) - 2.5).abs() < 1e-6);
        assert!(variance(4e6) < 1e-5);
    }

    #[test]
    fn statistics_are_over_all_planes() {
        let planes: [&[f64]; 2] = [&[1.0, 3.0], &[5.0, 7.0]];
        assert_eq!(statistics(planes.into_iter()), (4.0, 5.0));
    }
}
