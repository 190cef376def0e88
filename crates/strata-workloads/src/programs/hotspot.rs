//! Temperature of a chip from its power map.

use crate::check::{Tolerance, close};
use crate::field::smooth;
use crate::gpu::{Gpu, blocks};
use crate::linear::widen;
use crate::module::module;
use crate::program::{Program, sizes};
use crate::rng::Rng;
use crate::{Info, Outcome, Size, Workload};
use strata_host::HostError;

struct Shape {
    rows: usize,
    cols: usize,
    /// Time steps.
    steps: usize,
    /// Time steps per launch; the tile loses as many cells on each side.
    pyramid: usize,
}

const SHAPES: [(Size, Shape); 4] = [
    // Odd extents and a last launch of one step.
    (Size::Tiny, Shape { rows: 50, cols: 77, steps: 5, pyramid: 2 }),
    (Size::Small, Shape { rows: 512, cols: 512, steps: 20, pyramid: 2 }),
    (Size::Medium, Shape { rows: 2048, cols: 2048, steps: 8, pyramid: 2 }),
    // 86x86 blocks, four launches.
    (Size::Paper, Shape { rows: 1024, cols: 1024, steps: 8, pyramid: 2 }),
];

/// A few units in the last place; a step changes most cells by much more.
const TOLERANCE: Tolerance = Tolerance { limit: 1e-6, scale: 1.0 };

pub(super) const PROGRAM: &dyn Workload = &Program {
    info: Info {
        name: "hotspot",
        suite: "rodinia",
        papers: &["uvm"],
        sizes: &sizes(&SHAPES),
        aliases: &[],
        description: "thermal simulation of a chip, several steps per launch",
    },
    module: &[module!("hotspot")],
    shapes: &SHAPES,
    run,
};

/// What a cell is: the heat that it takes, what keeps heat from flowing, and the length of a time step.
struct Coefficients {
    capacity: f32,
    resistance_x: f32,
    resistance_y: f32,
    resistance_z: f32,
    time: f32,
}

/// Ambient temperature in kelvin: 45 °C, as inside a computer's case.
const AMBIENT: f32 = 318.15;
/// Side of the chip in metres; this and the next four are the constants of Rodinia's hotspot.
const CHIP_SIDE: f64 = 0.016;
/// Thickness of the die in metres.
const THICKNESS: f64 = 0.0005;
/// Thermal conductivity of silicon in W/(m K).
const CONDUCTIVITY: f64 = 100.0;
/// Heat capacity of silicon in J/(m³ K).
const HEAT_CAPACITY: f64 = 1.75e6;
/// Highest power density in W/m².
const MAX_POWER_DENSITY: f64 = 3.0e6;

impl Coefficients {
    fn new(rows: usize, cols: usize) -> Self {
        let (height, width) = (CHIP_SIDE / rows as f64, CHIP_SIDE / cols as f64);
        let capacity = 0.5 * HEAT_CAPACITY * THICKNESS * width * height;
        let conductance_x = 2.0 * CONDUCTIVITY * THICKNESS * height / width;
        let conductance_y = 2.0 * CONDUCTIVITY * THICKNESS * width / height;
        let conductance_z = CONDUCTIVITY * height * width / THICKNESS;
        // The scheme is stable while a cell gives away less than all it has; take two fifths of that.
        let step = 0.4 * capacity / (2.0 * conductance_x + 2.0 * conductance_y + conductance_z);
        Self {
            capacity: capacity as f32,
            resistance_x: (1.0 / conductance_x) as f32,
            resistance_y: (1.0 / conductance_y) as f32,
            resistance_z: (1.0 / conductance_z) as f32,
            time: step as f32,
        }
    }
}

fn run(shape: &Shape, seed: u64, gpu: &mut Gpu<'_>) -> Result<Outcome, HostError> {
    const TILE: usize = 16;
    let Shape { rows, cols, steps, pyramid } = *shape;
    let power = power_map(&mut Rng::new(seed, "power"), rows, cols);
    let start = temperatures(&mut Rng::new(seed, "temperature"), rows, cols);
    let coefficients = Coefficients::new(rows, cols);

    let power_array = gpu.array_of("power", &power)?;
    let mut before = gpu.array_of("temperature_0", &start)?;
    let mut after = gpu.array("temperature_1", rows * cols)?;
    let useful = TILE - 2 * pyramid;
    let grid = (blocks(cols, useful), blocks(rows, useful));
    gpu.announce(steps.div_ceil(pyramid));
    let mut done = 0;
    while done < steps {
        let now = pyramid.min(steps - done);
        let args = [
            (now as i32).into(),
            (pyramid as i32).into(),
            power_array.into(),
            before.into(),
            after.into(),
            (rows as i32).into(),
            (cols as i32).into(),
            coefficients.capacity.into(),
            coefficients.resistance_x.into(),
            coefficients.resistance_y.into(),
            coefficients.resistance_z.into(),
            coefficients.time.into(),
            AMBIENT.into(),
        ];
        gpu.launch("calculate_temp", grid, (TILE as u32, TILE as u32), &args)?;
        std::mem::swap(&mut before, &mut after);
        done += now;
    }
    gpu.synchronize();

    let expected = reference(&widen(&start), &power, cols, steps, &coefficients);
    Ok(close("temperatures", &gpu.read(before)?, &expected, TOLERANCE))
}

/// Power per cell: a floor plan of rectangular units, each with its own density, over leakage everywhere.
fn power_map(rng: &mut Rng, rows: usize, cols: usize) -> Vec<f32> {
    let full = MAX_POWER_DENSITY * (CHIP_SIDE / rows as f64) * (CHIP_SIDE / cols as f64);
    let mut power = vec![0.05; rows * cols];
    for _ in 0..30 {
        let height = 1 + rng.below((rows / 4 + 1) as u32) as usize;
        let width = 1 + rng.below((cols / 4 + 1) as u32) as usize;
        let (top, left) = (rng.below(rows as u32) as usize, rng.below(cols as u32) as usize);
        let density = rng.between(0.1, 1.0);
        for row in power.chunks_exact_mut(cols).skip(top).take(height) {
            let right = (left + width).min(cols);
            row[left..right].fill(density);
        }
    }
    for cell in &mut power {
        *cell *= full as f32;
    }
    power
}

/// Temperatures between 320 and 345 K: smooth, hotter in places, with the noise of a sensor.
fn temperatures(rng: &mut Rng, rows: usize, cols: usize) -> Vec<f32> {
    let wide = smooth(rng, rows, cols, 96);
    let spots = smooth(rng, rows, cols, 24);
    wide.iter().zip(&spots).map(|(w, s)| 321.0 + 10.0 * w + 12.0 * s * s * s * s + 0.1 * rng.bell()).collect()
}

fn reference(start: &[f64], power: &[f32], cols: usize, steps: usize, coefficients: &Coefficients) -> Vec<f64> {
    let rows = start.len() / cols;
    // The kernel divides in single precision.
    let Coefficients { capacity, resistance_x, resistance_y, resistance_z, time } = *coefficients;
    let [gx, gy, gz] = [resistance_x, resistance_y, resistance_z].map(|resistance| f64::from(1.0 / resistance));
    let rate = f64::from(time / capacity);
    let mut now = start.to_vec();
    for _ in 0..steps {
        let mut next = Vec::with_capacity(now.len());
        for row in 0..rows {
            for col in 0..cols {
                let at = |r: usize, c: usize| now[r * cols + c];
                let here = at(row, col);
                let mut heat = f64::from(power[row * cols + col]) + (f64::from(AMBIENT) - here) * gz;
                // Heat flows to the neighbours there are; through the edge of the chip none does.
                if row > 0 {
                    heat += (at(row - 1, col) - here) * gy;
                }
                if row + 1 < rows {
                    heat += (at(row + 1, col) - here) * gy;
                }
                if col > 0 {
                    heat += (at(row, col - 1) - here) * gx;
                }
                if col + 1 < cols {
                    heat += (at(row, col + 1) - here) * gx;
                }
                next.push(here + rate * heat);
            }
        }
        now = next;
    }
    now
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_power_or_sink_heat_is_conserved_and_evens_out() {
        // The coefficients of a fine grid, where most heat flows sideways.
        let mut coefficients = Coefficients::new(1024, 1024);
        coefficients.resistance_z = f32::INFINITY;
        let mut start = vec![320.0; 16];
        start[5] = 336.0;
        let end = reference(&start, &[0.0; 16], 4, 200, &coefficients);
        assert!((end.iter().sum::<f64>() - start.iter().sum::<f64>()).abs() < 1e-6);
        assert!(end.iter().all(|t| (t - 321.0).abs() < 1e-3), "{end:?}");
    }

    #[test]
    fn a_step_changes_more_than_the_tolerance_forgives() {
        let (rows, cols) = (64, 64);
        let start = temperatures(&mut Rng::new(1, "temperature"), rows, cols);
        assert!(start.iter().all(|t| (320.0..345.0).contains(t)));
        let power = power_map(&mut Rng::new(1, "power"), rows, cols);
        let end = reference(&widen(&start), &power, cols, 1, &Coefficients::new(rows, cols));
        assert!(!close("temperatures", &start, &end, TOLERANCE).passed);
    }
}
