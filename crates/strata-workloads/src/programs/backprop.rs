//! Training steps of a network with one hidden layer of 16 units and one output.

use crate::check::{Tolerance, close};
use crate::gpu::{Gpu, blocks};
use crate::linear::widen;
use crate::math::sigmoid;
use crate::module::module;
use crate::program::{Program, sizes};
use crate::rng::Rng;
use crate::{Info, Outcome, Size, Workload};
use strata_host::HostError;

struct Shape {
    /// A multiple of 16, at most 16 * 65535 (the limit of a grid in y).
    inputs: usize,
    /// Training steps, all on the same example.
    steps: usize,
}

const SHAPES: [(Size, Shape); 6] = [
    (Size::Tiny, Shape { inputs: 256, steps: 2 }),
    (Size::Small, Shape { inputs: 1 << 19, steps: 1 }),
    (Size::Medium, Shape { inputs: 16 * 65535, steps: 3 }),
    // Rodinia's own command line; the two papers name no size.
    (Size::PaperCmd, Shape { inputs: 65536, steps: 1 }),
    (Size::PaperTom, Shape { inputs: 65536, steps: 1 }),
    (Size::PaperUvm, Shape { inputs: 131_056, steps: 1 }),
];

const HIDDEN: usize = 16;
/// Floats per input in the weights: the bias column and the hidden units.
const STRIDE: usize = HIDDEN + 1;
const LEARNING_RATE: f32 = 0.3;
const MOMENTUM: f32 = 0.3;
const TARGET: f32 = 0.1;

pub(super) const PROGRAM: &dyn Workload = &Program {
    info: Info {
        name: "backprop",
        suite: "rodinia",
        papers: &["uvm", "cmd", "tom"],
        sizes: &sizes(&SHAPES),
        aliases: &["bp"],
        description: "training step of a neural network with one hidden layer",
    },
    module: &[module!("backprop")],
    shapes: &SHAPES,
    run,
};

/// What a network knows: first layer (input by input, [`STRIDE`] floats each), second layer, and their last changes.
/// Input 0 and hidden unit 0 are the biases.
struct Network {
    inputs: Vec<f32>,
    weights: Vec<f32>,
    changes: Vec<f32>,
    output_weights: [f32; STRIDE],
    output_changes: [f32; STRIDE],
}

impl Network {
    /// A network some steps into its training on one picture: weights of the usual initial spread (the inverse root of
    /// the number of inputs), last changes a tenth of that, in proportion to the input that caused them.
    fn new(inputs: usize, seed: u64) -> Self {
        let mut random = Rng::new(seed, "picture");
        // A picture of ink on paper: two fifths of the pixels are blank, the others 8-bit grey.
        let mut pixel = || if random.below(5) < 2 { 0.0 } else { (1 + random.below(255)) as f32 / 255.0 };
        let pixels: Vec<f32> = std::iter::once(1.0).chain((0..inputs).map(|_| pixel())).collect();
        let spread = 1.0 / (inputs as f32).sqrt();
        let mut random = Rng::new(seed, "weights");
        let weights = (0..pixels.len() * STRIDE).map(|_| spread * random.bell()).collect();
        let mut random = Rng::new(seed, "changes");
        let unit_changes: [f32; STRIDE] = std::array::from_fn(|_| 0.1 * spread * random.bell());
        let changes = pixels.iter().flat_map(|p| unit_changes.iter().map(move |c| c * p)).collect();
        let mut random = Rng::new(seed, "output weights");
        let output_weights = std::array::from_fn(|_| 0.25 * random.bell());
        Self { inputs: pixels, weights, changes, output_weights, output_changes: [0.0; STRIDE] }
    }

    /// The host's part of a step: from the sums that reach the hidden units to what their weights must change by.
    fn hidden_deltas(&mut self, sums: &[f32; HIDDEN]) -> [f32; STRIDE] {
        let mut hidden = [1.0; STRIDE];
        for (unit, sum) in sums.iter().enumerate() {
            hidden[unit + 1] = sigmoid(f64::from(self.weights[unit + 1] + sum)) as f32;
        }
        let reached: f32 = hidden.iter().zip(&self.output_weights).map(|(h, w)| h * w).sum();
        let output = sigmoid(f64::from(reached)) as f32;
        let delta = output * (1.0 - output) * (TARGET - output);
        let deltas = std::array::from_fn(|i| hidden[i] * (1.0 - hidden[i]) * delta * self.output_weights[i]);
        for (i, h) in hidden.iter().enumerate() {
            self.output_changes[i] = LEARNING_RATE * delta * h + MOMENTUM * self.output_changes[i];
            self.output_weights[i] += self.output_changes[i];
        }
        deltas
    }
}

fn run(shape: &Shape, seed: u64, gpu: &mut Gpu<'_>) -> Result<Outcome, HostError> {
    let mut network = Network::new(shape.inputs, seed);
    let expected = reference(&network, shape.steps);

    let groups = shape.inputs / HIDDEN;
    let inputs = gpu.array_of("input_units", &network.inputs)?;
    let weights = gpu.array("input_hidden_weights", network.weights.len())?;
    let changes = gpu.array_of("input_prev_weights", &network.changes)?;
    let partial_sums = gpu.array::<f32>("hidden_partial_sum", groups * HIDDEN)?;
    let deltas = gpu.array("hidden_delta", STRIDE)?;
    let grid = (1, blocks(groups, 1));
    let block = (HIDDEN as u32, 16);
    gpu.announce(2 * shape.steps);
    for _ in 0..shape.steps {
        gpu.write(weights, &network.weights)?;
        gpu.launch("layerforward", grid, block, &[inputs.into(), weights.into(), partial_sums.into()])?;
        gpu.synchronize();
        let mut sums = [0.0; HIDDEN];
        for group in gpu.read(partial_sums)?.chunks_exact(HIDDEN) {
            sums.iter_mut().zip(group).for_each(|(sum, part)| *sum += part);
        }
        gpu.write(deltas, &network.hidden_deltas(&sums))?;
        // The forward kernel left its partial sums in the place of the weights.
        gpu.write(weights, &network.weights)?;
        gpu.launch("adjust_weights", grid, block, &[deltas.into(), inputs.into(), weights.into(), changes.into()])?;
        gpu.synchronize();
        network.weights = gpu.read(weights)?;
    }
    network.changes = gpu.read(changes)?;

    // Values are as large as a weight is before training; a change comes from a sum over all inputs.
    let tolerance = Tolerance { limit: 1e-4, scale: 1.0 / (shape.inputs as f64).sqrt() };
    let learned = close("weights", &network.weights, &expected.0, tolerance);
    Ok(learned.and(&close("changes", &network.changes, &expected.1, tolerance)))
}

/// The first layer's weights and last changes after `steps` steps of gradient descent, in double precision.
fn reference(network: &Network, steps: usize) -> (Vec<f64>, Vec<f64>) {
    let (rate, momentum) = (f64::from(LEARNING_RATE), f64::from(MOMENTUM));
    let inputs = widen(&network.inputs);
    let (mut weights, mut changes) = (widen(&network.weights), widen(&network.changes));
    let (mut output_weights, mut output_changes) = (widen(&network.output_weights), widen(&network.output_changes));
    for _ in 0..steps {
        let mut hidden = vec![0.0; STRIDE];
        for (row, x) in weights.chunks_exact(STRIDE).zip(&inputs) {
            hidden.iter_mut().zip(row).for_each(|(sum, w)| *sum += w * x);
        }
        for h in &mut hidden {
            *h = sigmoid(*h);
        }
        hidden[0] = 1.0;
        let output = sigmoid(hidden.iter().zip(&output_weights).map(|(h, w)| h * w).sum());
        let delta = output * (1.0 - output) * (f64::from(TARGET) - output);
        let deltas: Vec<f64> = hidden.iter().zip(&output_weights).map(|(h, w)| h * (1.0 - h) * delta * w).collect();
        for unit in 0..STRIDE {
            output_changes[unit] = rate * delta * hidden[unit] + momentum * output_changes[unit];
            output_weights[unit] += output_changes[unit];
        }
        for (input, x) in inputs.iter().enumerate() {
            // Column 0 belongs to the bias unit of the hidden layer, which has no weights.
            for (unit, delta) in deltas.iter().enumerate().skip(1) {
                let place = input * STRIDE + unit;
                changes[place] = rate * delta * x + momentum * changes[place];
                weights[place] += changes[place];
            }
        }
    }
    (weights, changes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The squared error of the network's output, by definition.
    fn loss(network: &Network, weights: &[f64], output_weights: &[f64]) -> f64 {
        let mut reached = output_weights[0];
        for unit in 1..STRIDE {
            let sum =
                (0..network.inputs.len()).map(|i| weights[i * STRIDE + unit] * f64::from(network.inputs[i])).sum();
            reached += output_weights[unit] * sigmoid(sum);
        }
        (f64::from(TARGET) - sigmoid(reached)).powi(2) / 2.0
    }

    #[test]
    fn a_step_without_momentum_descends_the_gradient() {
        let mut network = Network::new(32, 3);
        network.changes.fill(0.0);
        let (after, _) = reference(&network, 1);
        let before = widen(&network.weights);
        let output_weights = widen(&network.output_weights);
        for place in [1, 16, STRIDE + 5, 20 * STRIDE + 9] {
            let nudged = |by: f64| {
                let mut weights = before.clone();
                weights[place] += by;
                loss(&network, &weights, &output_weights)
            };
            let slope = (nudged(1e-5) - nudged(-1e-5)) / 2e-5;
            let step = after[place] - before[place];
            assert!((step + f64::from(LEARNING_RATE) * slope).abs() < 1e-9, "step {step:e}, slope {slope:e}");
        }
    }

    #[test]
    fn training_reaches_the_target() {
        let network = Network::new(64, 5);
        let start = loss(&network, &widen(&network.weights), &widen(&network.output_weights));
        let (weights, _) = reference(&network, 20);
        let end = loss(&network, &weights, &widen(&network.output_weights));
        assert!(end < start, "{start} to {end}");
    }
}
