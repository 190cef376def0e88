//! The five-point stencil.

use crate::check::{Tolerance, close};
use crate::field::smooth;
use crate::gpu::{Gpu, blocks};
use crate::linear::widen;
use crate::module::module;
use crate::program::{Measured, Program, sizes};
use crate::rng::Rng;
use crate::{Info, Instance, Outcome, Size, Workload};
use strata_host::HostError;

struct Shape {
    rows: usize,
    cols: usize,
    steps: usize,
}

const SHAPES: [(Size, Shape); 3] = [
    (Size::Tiny, Shape { rows: 50, cols: 77, steps: 3 }),
    (Size::Small, Shape { rows: 2048, cols: 2048, steps: 4 }),
    (Size::Medium, Shape { rows: 4096, cols: 4096, steps: 8 }),
];

const INSTANCES: [(Instance, Shape); 1] = [(Instance::bench("1024"), Shape { rows: 1024, cols: 1024, steps: 1 })];

const RATE: f32 = 0.2;
/// A few roundings per step, of values up to 1.
const TOLERANCE: Tolerance = Tolerance { limit: 1e-5, scale: 1.0 };

pub(super) const PROGRAM: &dyn Workload = &Measured {
    program: Program {
        info: Info {
            name: "stencil",
            suite: "micro",
            papers: &[],
            sizes: &sizes(&SHAPES),
            aliases: &[],
            description: "five-point stencil on a grid",
        },
        module: &[module!("stencil")],
        shapes: &SHAPES,
        run,
    },
    instances: &INSTANCES,
};

fn run(shape: &Shape, seed: u64, gpu: &mut Gpu<'_>) -> Result<Outcome, HostError> {
    const BLOCK: (usize, usize) = (32, 8);
    let Shape { rows, cols, steps } = *shape;
    let field = smooth(&mut Rng::new(seed, "field"), rows, cols, 32);

    let mut from = gpu.array_of("even", &field)?;
    let mut to = gpu.array("odd", rows * cols)?;
    let grid = (blocks(cols, BLOCK.0), blocks(rows, BLOCK.1));
    for _ in 0..steps {
        let args = [from.into(), to.into(), (rows as i32).into(), (cols as i32).into(), RATE.into()];
        gpu.launch("stencil5", grid, (BLOCK.0 as u32, BLOCK.1 as u32), &args)?;
        std::mem::swap(&mut from, &mut to);
    }
    gpu.synchronize();

    let mut expected = widen(&field);
    for _ in 0..steps {
        expected = step(&expected, cols);
    }
    Ok(close("cells", &gpu.read(from)?, &expected, TOLERANCE))
}

/// One step in double precision.
fn step(field: &[f64], cols: usize) -> Vec<f64> {
    let rows = field.len() / cols;
    let mut next = field.to_vec();
    for row in 1..rows - 1 {
        for cell in row * cols + 1..(row + 1) * cols - 1 {
            let around = field[cell - cols] + field[cell + cols] + field[cell - 1] + field[cell + 1];
            next[cell] += f64::from(RATE) * (around - 4.0 * field[cell]);
        }
    }
    next
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_spreads_a_peak_and_keeps_the_border() {
        let mut field = vec![0.0; 15];
        field[7] = 1.0;
        let next = step(&field, 5);
        let rate = f64::from(RATE);
        assert_eq!(next[7], 1.0 - 4.0 * rate);
        assert_eq!((next[6], next[8]), (rate, rate));
        assert_eq!((next[2], next[12]), (0.0, 0.0));
    }
}
