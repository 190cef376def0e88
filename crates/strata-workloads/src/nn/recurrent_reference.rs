//! A training step of the recurrent network on the CPU, in double precision, beginning without a state.

use super::recurrent::{EMBEDDING, LAYERS, SOFTMAX, SOFTMAX_BIAS, Sizes, layer_params, loss_weight};
use super::softmax::{Loss, softmax_loss};
use crate::math::sigmoid;

/// What a step computes before the update.
pub(crate) struct Step {
    pub(crate) scores: Vec<f64>,
    pub(crate) losses: Vec<f64>,
    pub(crate) gradients: Vec<Vec<f64>>,
}

/// `row` times a matrix of rows of `cols` values.
fn times(row: &[f64], matrix: &[f64], cols: usize) -> Vec<f64> {
    let mut result = vec![0.0; cols];
    for (value, weights) in row.iter().zip(matrix.chunks_exact(cols)) {
        result.iter_mut().zip(weights).for_each(|(sum, weight)| *sum += value * weight);
    }
    result
}

/// `row` times the transposed matrix.
fn times_transposed(row: &[f64], matrix: &[f64]) -> Vec<f64> {
    let dot = |weights: &[f64]| row.iter().zip(weights).map(|(a, b)| a * b).sum();
    matrix.chunks_exact(row.len()).map(dot).collect()
}

/// Adds the product of a column and a row.
fn add_outer(matrix: &mut [f64], column: &[f64], row: &[f64]) {
    for (value, sums) in column.iter().zip(matrix.chunks_exact_mut(row.len())) {
        sums.iter_mut().zip(row).for_each(|(sum, other)| *sum += value * other);
    }
}

fn add(to: &mut [f64], values: &[f64]) {
    to.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
}

/// What a layer knew of one word of one text.
#[derive(Clone, Default)]
struct Moment {
    input: Vec<f64>,
    before: Vec<f64>,
    old_cells: Vec<f64>,
    gates: Vec<f64>,
    cells: Vec<f64>,
    outputs: Vec<f64>,
}

/// Forward and backward on rows of (step, text).
pub(crate) fn step(sizes: &Sizes, params: &[Vec<f64>], words: &[i32], labels: &[i32]) -> Step {
    let Sizes { vocabulary, units, width, steps } = *sizes;
    let texts = words.len() / steps;
    let mut gradients: Vec<Vec<f64>> = params.iter().map(|param| vec![0.0; param.len()]).collect();
    let mut current: Vec<Vec<f64>> =
        words.iter().map(|word| params[EMBEDDING][*word as usize * width..][..width].to_vec()).collect();
    let mut moments: Vec<Vec<Moment>> = Vec::new();
    for layer in 0..LAYERS {
        let weights = &params[layer_params(layer)..][..4];
        let mut of_layer: Vec<Moment> = Vec::with_capacity(words.len());
        let mut projected: Vec<Vec<f64>> = Vec::with_capacity(words.len());
        for (row, input) in current.iter().enumerate() {
            let (before, old_cells) = match row.checked_sub(texts) {
                Some(past) => (projected[past].clone(), of_layer[past].cells.clone()),
                None => (vec![0.0; width], vec![0.0; units]),
            };
            let mut gates = times(input, &weights[0], 4 * units);
            add(&mut gates, &times(&before, &weights[1], 4 * units));
            add(&mut gates, &weights[2]);
            for (place, gate) in gates.iter_mut().enumerate() {
                *gate = if place / units == 1 { gate.tanh() } else { sigmoid(*gate) };
            }
            let gate = |kind: usize, unit: usize| gates[kind * units + unit];
            let cell = |unit: usize| gate(2, unit) * old_cells[unit] + gate(0, unit) * gate(1, unit);
            let cells: Vec<f64> = (0..units).map(cell).collect();
            let outputs: Vec<f64> = (0..units).map(|unit| gate(3, unit) * cells[unit].tanh()).collect();
            projected.push(times(&outputs, &weights[3], width));
            of_layer.push(Moment { input: input.clone(), before, old_cells, gates, cells, outputs });
        }
        moments.push(of_layer);
        current = projected;
    }

    let mut scores = Vec::with_capacity(words.len() * vocabulary);
    for row in &current {
        let mut row_scores = times_transposed(row, &params[SOFTMAX]);
        add(&mut row_scores, &params[SOFTMAX_BIAS]);
        scores.extend(row_scores);
    }
    let Loss { losses, diff } = softmax_loss(&scores, labels, vocabulary, f64::from(loss_weight(texts)));
    let mut diffs = Vec::with_capacity(words.len());
    for (row, diff) in current.iter().zip(diff.chunks_exact(vocabulary)) {
        add(&mut gradients[SOFTMAX_BIAS], diff);
        add_outer(&mut gradients[SOFTMAX], diff, row);
        diffs.push(times(diff, &params[SOFTMAX], width));
    }
    for layer in (0..LAYERS).rev() {
        let first = layer_params(layer);
        diffs =
            layer_backward(sizes, &params[first..first + 4], &moments[layer], diffs, &mut gradients[first..first + 4]);
    }
    for (word, diff) in words.iter().zip(&diffs) {
        add(&mut gradients[EMBEDDING][*word as usize * width..][..width], diff);
    }
    Step { scores, losses, gradients }
}

/// From the gradients of a layer's results to those of its inputs; adds those of its weights to `gradients`.
fn layer_backward(
    sizes: &Sizes,
    weights: &[Vec<f64>],
    moments: &[Moment],
    mut diffs: Vec<Vec<f64>>,
    gradients: &mut [Vec<f64>],
) -> Vec<Vec<f64>> {
    let units = sizes.units;
    let texts = moments.len() / sizes.steps;
    let mut cell_diffs = vec![vec![0.0; units]; texts];
    let mut input_diffs = vec![Vec::new(); moments.len()];
    for (row, moment) in moments.iter().enumerate().rev() {
        let projected_diff = std::mem::take(&mut diffs[row]);
        add_outer(&mut gradients[3], &moment.outputs, &projected_diff);
        let outputs_diff = times_transposed(&projected_diff, &weights[3]);
        let cell_diff = &mut cell_diffs[row % texts];
        let mut gates_diff = vec![0.0; 4 * units];
        for unit in 0..units {
            let [input, candidate, forget, output] = [0, 1, 2, 3].map(|kind| moment.gates[kind * units + unit]);
            let squashed = moment.cells[unit].tanh();
            let diff = cell_diff[unit] + outputs_diff[unit] * output * (1.0 - squashed * squashed);
            gates_diff[unit] = diff * candidate * input * (1.0 - input);
            gates_diff[units + unit] = diff * input * (1.0 - candidate * candidate);
            gates_diff[2 * units + unit] = diff * moment.old_cells[unit] * forget * (1.0 - forget);
            gates_diff[3 * units + unit] = outputs_diff[unit] * squashed * output * (1.0 - output);
            cell_diff[unit] = diff * forget;
        }
        add_outer(&mut gradients[0], &moment.input, &gates_diff);
        add_outer(&mut gradients[1], &moment.before, &gates_diff);
        add(&mut gradients[2], &gates_diff);
        input_diffs[row] = times_transposed(&gates_diff, &weights[0]);
        if let Some(past) = row.checked_sub(texts) {
            add(&mut diffs[past], &times_transposed(&gates_diff, &weights[1]));
        }
    }
    input_diffs
}

/// Parameters and sums of squares after an update of Adagrad.
pub(crate) fn update(rate: f32, params: &mut [Vec<f64>], squares: &mut [Vec<f64>], gradients: &[Vec<f64>]) {
    for ((param, squares), gradients) in params.iter_mut().zip(squares).zip(gradients) {
        for ((weight, square), gradient) in param.iter_mut().zip(squares).zip(gradients) {
            *square += gradient * gradient;
            *weight -= f64::from(rate) * gradient / square.sqrt();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linear::widen;

    #[test]
    fn gradients_are_slopes() {
        let sizes = Sizes { vocabulary: 7, units: 4, width: 3, steps: 4 };
        let params: Vec<_> = sizes.initial(3).iter().map(|values| widen(values)).collect();
        let (words, labels) = ([1, 5, 2, 0, 6, 6, 3, 1], [2, 0, 6, 6, 3, 1, 4, 4]);
        let analytic = step(&sizes, &params, &words, &labels);
        for (index, param) in sizes.params().iter().enumerate() {
            for place in [3, param.len / 2, param.len - 1] {
                let nudged = |by: f64| {
                    let mut params = params.clone();
                    params[index][place] += by;
                    step(&sizes, &params, &words, &labels).losses.iter().sum::<f64>() / 2.0
                };
                let slope = (nudged(1e-5) - nudged(-1e-5)) / 2e-5;
                let gradient = analytic.gradients[index][place];
                assert!((slope - gradient).abs() < 1e-8, "{} {place}: {gradient:e}, {slope:e}", param.name);
            }
        }
    }
}
