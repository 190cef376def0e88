//! Rodinia's backprop and hotspot.

use super::{info, measured};
use crate::check::{Tolerance, close};
use crate::gpu::Gpu;
use crate::program::Measured;
use crate::rng::Rng;
use crate::{Instance, Outcome};
use strata_host::HostError;

/// `backprop 65536`: the inputs of the network.
pub(super) const BACKPROP: Measured<usize> = measured(
    info("gv100-backprop", "rodinia", "both kernels of a training step"),
    backprop,
    &[(Instance::silicon("65536"), 65536)],
);

const HIDDEN: usize = 16;
const STRIDE: usize = HIDDEN + 1;

fn backprop(&inputs: &usize, seed: u64, gpu: &mut Gpu<'_>) -> Result<Outcome, HostError> {
    let mut rng = Rng::new(seed, "network");
    let mut values = |n: usize| (0..n).map(|_| rng.unit()).collect::<Vec<f32>>();
    let units = values(inputs + 1);
    let (weights, changes) = (values((inputs + 1) * STRIDE), values((inputs + 1) * STRIDE));
    let deltas = values(STRIDE);
    let groups = inputs / HIDDEN;
    let grid = (1, groups as u32);
    let block = (HIDDEN as u32, HIDDEN as u32);
    let hidden = HIDDEN as i32;

    let units_array = gpu.array_of("input_cuda", &units)?;
    let weights_array = gpu.array_of("input_hidden_cuda", &weights)?;
    let sums_array = gpu.array::<f32>("hidden_partial_sum", groups * HIDDEN)?;
    let args = [units_array.into(), weights_array.into(), sums_array.into(), hidden.into()];
    gpu.launch("layerforward", grid, block, &args)?;
    gpu.synchronize();
    let sums = gpu.read(sums_array)?;

    let deltas_array = gpu.array_of("hidden_delta_cuda", &deltas)?;
    let changes_array = gpu.array_of("input_prev_weights_cuda", &changes)?;
    gpu.write(weights_array, &weights)?;
    let args = [deltas_array.into(), hidden.into(), units_array.into(), weights_array.into(), changes_array.into()];
    gpu.launch("adjust_weights", grid, block, &args)?;
    gpu.synchronize();
    let learned = gpu.read(weights_array)?;

    let product = |row: usize, unit: usize| f64::from(weights[row * STRIDE + unit]) * f64::from(units[row]);
    let expected: Vec<f64> = (0..groups * HIDDEN)
        .map(|at| (0..HIDDEN).map(|k| product(at / HIDDEN * HIDDEN + k + 1, at % HIDDEN + 1)).sum())
        .collect();
    let tolerance = Tolerance { limit: 1e-5, scale: 1.0 };
    let summed = close("sums", &sums, &expected, tolerance);
    let expected: Vec<f64> = weights
        .iter()
        .enumerate()
        .map(|(at, &w)| {
            let (row, unit) = (at / STRIDE, at % STRIDE);
            let input = if row == 0 { 1.0 } else { f64::from(units[row]) };
            let change = 0.3 * f64::from(deltas[unit]) * input + 0.3 * f64::from(changes[at]);
            f64::from(w) + if unit == 0 { 0.0 } else { change }
        })
        .collect();
    Ok(summed.and(&close("weights", &learned, &expected, tolerance)))
}

/// `hotspot 1024 2 2`: cells of a side; two steps in one launch.
pub(super) const HOTSPOT: Measured<usize> = measured(
    info("gv100-hotspot", "rodinia", "two steps of the temperature of a chip"),
    hotspot,
    &[(Instance::silicon("1024"), 1024)],
);

fn hotspot(&side: &usize, seed: u64, gpu: &mut Gpu<'_>) -> Result<Outcome, HostError> {
    const STEPS: usize = 2;
    const TILE: usize = 16;
    const AMBIENT: f64 = 80.0;
    let mut rng = Rng::new(seed, "chip");
    let before: Vec<f32> = (0..side * side).map(|_| rng.between(320.0, 340.0)).collect();
    let power: Vec<f32> = (0..side * side).map(|_| rng.between(0.0, 0.01)).collect();
    // The chip of the public program: 16 mm on a side, half a millimetre of silicon.
    let cell = 0.016 / side as f32;
    let capacity = 0.5 * 1.75e6 * 0.0005 * cell * cell;
    let (across, down) = (1.0 / (2.0 * 100.0 * 0.0005_f32), 0.0005 / (100.0 * cell * cell));
    let step = 0.001 / (3.0e6 / (0.5 * 0.0005 * 1.75e6_f32));

    let power_array = gpu.array_of("power", &power)?;
    let before_array = gpu.array_of("temp_src", &before)?;
    let after_array = gpu.array_of("temp_dst", &before)?;
    let blocks = side.div_ceil(TILE - 2 * STEPS) as u32;
    let args = [
        (STEPS as i32).into(),
        power_array.into(),
        before_array.into(),
        after_array.into(),
        (side as i32).into(),
        (side as i32).into(),
        (STEPS as i32).into(),
        capacity.into(),
        across.into(),
        across.into(),
        down.into(),
        step.into(),
    ];
    gpu.launch("calculate_temp", (blocks, blocks), (TILE as u32, TILE as u32), &args)?;
    gpu.synchronize();
    let after = gpu.read(after_array)?;

    let rate = f64::from(step) / f64::from(capacity);
    let (sideways, up) = (1.0 / f64::from(across), 1.0 / f64::from(down));
    let mut now: Vec<f64> = before.iter().map(|&t| f64::from(t)).collect();
    for _ in 0..STEPS {
        let at = |row: usize, col: usize| now[row.min(side - 1) * side + col.min(side - 1)];
        let next = |i: usize| {
            let (row, col) = (i / side, i % side);
            let here = at(row, col);
            let around = at(row + 1, col) + at(row.saturating_sub(1), col) + at(row, col + 1);
            let around = around + at(row, col.saturating_sub(1)) - 4.0 * here;
            here + rate * (f64::from(power[i]) + around * sideways + (AMBIENT - here) * up)
        };
        now = (0..side * side).map(next).collect();
    }
    Ok(close("temperatures", &after, &now, Tolerance { limit: 1e-5, scale: 1.0 }))
}
