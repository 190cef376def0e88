//! A training step of a convolutional network on the CPU, in double precision, from the definitions of its layers.

use super::network::{BATCH_NORM_EPSILON, Gradient, LRN_ALPHA, LRN_SIZE, Layer, Network, Op, backward_order};
use super::plan::Solver;
use super::reference_layers::{
    BatchNorm, add_to, conv_backward, conv_forward, dense_backward, dense_forward, dropout_factor, lrn_backward,
    lrn_forward, max_pool, mean_pool, mean_pool_backward,
};
use super::softmax::{Loss, softmax_loss};

/// What a step computes before the update.
pub(crate) struct Step {
    /// The last layer's output.
    pub(crate) scores: Vec<f64>,
    /// Each image's loss.
    pub(crate) losses: Vec<f64>,
    /// The gradient of the mean loss by each parameter.
    pub(crate) gradients: Vec<Vec<f64>>,
}

/// What a layer keeps for the way back.
enum Kept {
    Nothing,
    Places(Vec<usize>),
    Statistics(BatchNorm),
    Scales(Vec<f64>),
}

struct Pass<'a> {
    network: &'a Network,
    params: &'a [Vec<f64>],
    batch: usize,
    /// The number of the step, for the random numbers of dropout.
    step: u32,
    data: Vec<Vec<f64>>,
    kept: Vec<Kept>,
}

/// Forward and backward on the images of `labels`.
pub(crate) fn step(network: &Network, params: &[Vec<f64>], images: &[f64], labels: &[i32], step: u32) -> Step {
    let data = vec![Vec::new(); network.blobs.len()];
    let mut pass = Pass { network, params, batch: labels.len(), step, data, kept: Vec::new() };
    pass.data[Network::INPUT.0] = images.to_vec();
    for (index, layer) in network.layers.iter().enumerate() {
        let kept = pass.forward(index, layer);
        pass.kept.push(kept);
    }
    let scores = network.scores();
    let Loss { losses, diff } =
        softmax_loss(&pass.data[scores.0], labels, network.shape(scores).len(), 1.0 / labels.len() as f64);
    let gradients = pass.backward(diff);
    Step { scores: std::mem::take(&mut pass.data[scores.0]), losses, gradients }
}

/// Parameters and histories after the update of Caffe's solver.
pub(crate) fn update(
    network: &Network,
    solver: Solver,
    params: &mut [Vec<f64>],
    histories: &mut [Vec<f64>],
    gradients: &[Vec<f64>],
) {
    for (index, param) in network.params.iter().enumerate() {
        let rate = f64::from(solver.rate * param.rate);
        let (momentum, decay) = (f64::from(solver.momentum), f64::from(solver.decay * param.decay));
        for ((weight, history), gradient) in params[index].iter_mut().zip(&mut histories[index]).zip(&gradients[index])
        {
            *history = momentum * *history + rate * (gradient + decay * *weight);
            *weight -= *history;
        }
    }
}

impl Pass<'_> {
    fn forward(&mut self, index: usize, layer: &Layer) -> Kept {
        let (from, to) = (self.network.shape(layer.inputs[0]), self.network.shape(layer.output));
        let x = &self.data[layer.inputs[0].0];
        let (output, kept) = match layer.op {
            Op::Conv { window, weights, bias } => {
                let bias = bias.map(|bias| self.params[bias].as_slice());
                (conv_forward(x, &self.params[weights], bias, from, window, to), Kept::Nothing)
            }
            Op::Dense { weights, bias } => {
                (dense_forward(x, &self.params[weights], &self.params[bias], self.batch), Kept::Nothing)
            }
            Op::MaxPool(window) => {
                let (output, places) = max_pool(x, from, window, to);
                (output, Kept::Places(places))
            }
            Op::MeanPool(window) => (mean_pool(x, from, window, to), Kept::Nothing),
            Op::Relu => (x.iter().map(|v| v.max(0.0)).collect(), Kept::Nothing),
            Op::Dropout => {
                let output = x.iter().enumerate().map(|(i, v)| v * dropout_factor(i, self.step, index)).collect();
                (output, Kept::Nothing)
            }
            Op::Lrn => {
                let (output, scales) = lrn_forward(x, from, LRN_SIZE, f64::from(LRN_ALPHA));
                (output, Kept::Scales(scales))
            }
            Op::BatchNorm { gain, shift } => {
                let statistics = BatchNorm::of(x, from, f64::from(BATCH_NORM_EPSILON));
                let output = statistics.forward(x, from, &self.params[gain], &self.params[shift]);
                (output, Kept::Statistics(statistics))
            }
            Op::Concat => {
                let mut output = Vec::with_capacity(self.batch * to.len());
                for image in 0..self.batch {
                    for part in &layer.inputs {
                        let run = self.network.shape(*part).len();
                        output.extend_from_slice(&self.data[part.0][image * run..][..run]);
                    }
                }
                (output, Kept::Nothing)
            }
            Op::Add => {
                let other = &self.data[layer.inputs[1].0];
                (x.iter().zip(other).map(|(a, b)| a + b).collect(), Kept::Nothing)
            }
        };
        self.data[layer.output.0] = output;
        kept
    }

    /// The gradients of all parameters from the gradient of the scores.
    fn backward(&self, scores: Vec<f64>) -> Vec<Vec<f64>> {
        let mut gradients: Vec<Vec<f64>> = self.params.iter().map(|param| vec![0.0; param.len()]).collect();
        let mut diffs: Vec<Vec<f64>> = self.data.iter().map(|data| vec![0.0; data.len()]).collect();
        diffs[self.network.scores().0] = scores;
        for (index, layer, wanted) in backward_order(self.network) {
            let dy = std::mem::take(&mut diffs[layer.output.0]);
            let inputs = self.layer_backward(index, layer, &dy, wanted[0] != Gradient::Unused, &mut gradients);
            for (input, diff) in layer.inputs.iter().zip(inputs) {
                if *input == layer.output {
                    diffs[input.0] = diff;
                } else {
                    add_to(&mut diffs[input.0], &diff);
                }
            }
        }
        gradients
    }

    /// The gradients of a layer's inputs; those of its parameters go to `gradients`.
    fn layer_backward(
        &self,
        index: usize,
        layer: &Layer,
        dy: &[f64],
        wanted: bool,
        gradients: &mut [Vec<f64>],
    ) -> Vec<Vec<f64>> {
        let (from, to) = (self.network.shape(layer.inputs[0]), self.network.shape(layer.output));
        let x = &self.data[layer.inputs[0].0];
        let y = &self.data[layer.output.0];
        match (layer.op, &self.kept[index]) {
            (Op::Conv { window, weights, bias }, _) => {
                if let Some(bias) = bias {
                    for (plane, values) in dy.chunks_exact(to.pixels()).enumerate() {
                        gradients[bias][plane % to.channels] += values.iter().sum::<f64>();
                    }
                }
                let into = &mut gradients[weights];
                vec![conv_backward(x, &self.params[weights], dy, (from, window, to), wanted, into)]
            }
            (Op::Dense { weights, bias }, _) => {
                dy.chunks_exact(to.len()).for_each(|row| add_to(&mut gradients[bias], row));
                vec![dense_backward(x, &self.params[weights], dy, self.batch, &mut gradients[weights])]
            }
            (Op::MaxPool(_), Kept::Places(places)) => {
                let mut dx = vec![0.0; x.len()];
                places.iter().zip(dy).for_each(|(place, diff)| dx[*place] += diff);
                vec![dx]
            }
            (Op::MeanPool(window), _) => vec![mean_pool_backward(dy, x.len(), from, window, to)],
            (Op::Relu, _) => vec![y.iter().zip(dy).map(|(v, diff)| if *v > 0.0 { *diff } else { 0.0 }).collect()],
            (Op::Dropout, _) => {
                vec![dy.iter().enumerate().map(|(i, diff)| diff * dropout_factor(i, self.step, index)).collect()]
            }
            (Op::Lrn, Kept::Scales(scales)) => {
                vec![lrn_backward(x, scales, dy, from, LRN_SIZE, f64::from(LRN_ALPHA))]
            }
            (Op::BatchNorm { gain, shift }, Kept::Statistics(statistics)) => {
                let (dx, gain_diff, shift_diff) = statistics.backward(x, dy, from, &self.params[gain]);
                gradients[gain] = gain_diff;
                gradients[shift] = shift_diff;
                vec![dx]
            }
            (Op::Concat, _) => {
                let mut offset = 0;
                let part = |part: &super::network::Blob| {
                    let run = self.network.shape(*part).len();
                    let diff = dy.chunks_exact(to.len()).flat_map(|image| &image[offset..offset + run]).copied();
                    let diff = diff.collect();
                    offset += run;
                    diff
                };
                layer.inputs.iter().map(part).collect()
            }
            (Op::Add, _) => vec![dy.to_vec(), dy.to_vec()],
            // A layer that keeps something always has it: forward made it.
            (Op::MaxPool(_) | Op::Lrn | Op::BatchNorm { .. }, _) => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::network::window;
    use super::*;
    use crate::linear::widen;
    use crate::nn::tensors::initial;
    use crate::rng::Rng;

    /// Every gradient of a small network is the slope of its loss.
    fn check(build: impl Fn(&mut Network, super::super::network::Blob)) {
        let (mut network, data) = Network::new(6);
        build(&mut network, data);
        let mut random = Rng::new(5, "pixels");
        let images: Vec<f64> = (0..4 * 3 * 36).map(|_| f64::from(50.0 * random.bell())).collect();
        let labels = [0, 2, 1, 1];
        let params: Vec<_> = network.params.iter().map(|param| widen(&initial(param, 3))).collect();
        let analytic = step(&network, &params, &images, &labels, 7);
        let loss = |params: &[Vec<f64>]| {
            step(&network, params, &images, &labels, 7).losses.iter().sum::<f64>() / labels.len() as f64
        };
        for (index, param) in network.params.iter().enumerate() {
            for place in [0, param.len / 2, param.len - 1] {
                // The first layer of some networks has small weights and a large slope.
                let nudge = 1e-6 * if param.rate < 0.01 { 0.02 } else { 1.0 };
                let nudged = |by: f64| {
                    let mut params = params.clone();
                    params[index][place] += by;
                    loss(&params)
                };
                let slope = (nudged(nudge) - nudged(-nudge)) / (2.0 * nudge);
                let gradient = analytic.gradients[index][place];
                let scale = analytic.gradients[index].iter().fold(1e-3_f64, |most, g| most.max(g.abs()));
                assert!((slope - gradient).abs() < 1e-4 * scale, "{} {place}: {gradient:e}, {slope:e}", param.name);
            }
        }
    }

    #[test]
    fn gradients_of_plain_layers_are_slopes() {
        check(|network, data| {
            let x = network.conv_relu("conv1", data, 4, window(3, 1, 1));
            let x = network.lrn("norm1", x);
            let x = network.max_pool("pool1", x, window(3, 2, 0));
            let x = network.conv_relu("conv2", x, 5, window(3, 2, 1));
            let x = network.dense_relu("fc", x, 8);
            let x = network.dropout(x);
            network.classifier("scores", x, 3);
        });
    }

    #[test]
    fn gradients_of_branches_are_slopes() {
        check(|network, data| {
            let x = network.conv_norm_relu("conv1", data, 4, window(3, 1, 1));
            let left = network.conv_norm("left", x, 4, window(1, 1, 0));
            let sum = network.add("sum", x, left);
            let sum = network.relu(sum);
            let right = network.mean_pool("right", sum, window(3, 1, 1));
            let both = network.concat("both", &[right, sum]);
            let x = network.conv_relu("conv2", both, 3, window(1, 1, 0));
            network.global_mean("scores", x);
        });
    }

    #[test]
    fn an_update_is_caffes() {
        let (mut network, data) = Network::new(1);
        network.classifier("fc", data, 1);
        let solver = Solver { rate: 0.5, momentum: 0.5, decay: 0.25 };
        let mut params = vec![vec![4.0, 0.0, 0.0], vec![4.0]];
        let mut histories = vec![vec![2.0, 0.0, 0.0], vec![2.0]];
        update(&network, solver, &mut params, &mut histories, &[vec![1.0, 0.0, 0.0], vec![1.0]]);
        // The weight: 0.5*2 + 0.5*(1 + 0.25*4); the bias learns twice as fast and does not decay.
        assert_eq!((histories[0][0], params[0][0]), (2.0, 2.0));
        assert_eq!((histories[1][0], params[1][0]), (2.0, 2.0));
    }
}
