//! The seven-point stencil.

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
    nx: usize,
    ny: usize,
    nz: usize,
    steps: usize,
}

const SHAPES: [(Size, Shape); 4] = [
    (Size::Tiny, Shape { nx: 77, ny: 22, nz: 9, steps: 3 }),
    (Size::Small, Shape { nx: 256, ny: 256, nz: 64, steps: 3 }),
    (Size::Medium, Shape { nx: 512, ny: 512, nz: 128, steps: 4 }),
    // The runs of the unified-memory baseline: two arrays of 64 MB.
    (Size::Paper, Shape { nx: 512, ny: 512, nz: 64, steps: 10 }),
];

const RATE: f32 = 0.1;
/// A few roundings per step, of values up to 1.
const TOLERANCE: Tolerance = Tolerance { limit: 1e-5, scale: 1.0 };

pub(super) const PROGRAM: &dyn Workload = &Program {
    info: Info {
        name: "stencil3d",
        suite: "parboil",
        papers: &["uvm"],
        sizes: &sizes(&SHAPES),
        aliases: &[],
        description: "seven-point stencil on a box",
    },
    module: &[module!("stencil3d")],
    shapes: &SHAPES,
    run,
};

fn run(shape: &Shape, seed: u64, gpu: &mut Gpu<'_>) -> Result<Outcome, HostError> {
    /// A thread has two columns.
    const BLOCK: (usize, usize) = (32, 4);
    let Shape { nx, ny, nz, steps } = *shape;
    let field = smooth(&mut Rng::new(seed, "field"), ny * nz, nx, 32);

    let mut from = gpu.array_of("even", &field)?;
    let mut to = gpu.array("odd", field.len())?;
    let grid = (blocks(nx, 2 * BLOCK.0), blocks(ny, BLOCK.1));
    let extents = [nx, ny, nz].map(|n| n as i32);
    gpu.announce(steps);
    for _ in 0..steps {
        let [x, y, z] = extents.map(Into::into);
        let args = [from.into(), to.into(), x, y, z, RATE.into()];
        gpu.launch("block2D_hybrid_coarsen_x", grid, (BLOCK.0 as u32, BLOCK.1 as u32), &args)?;
        std::mem::swap(&mut from, &mut to);
    }
    gpu.synchronize();

    let mut expected = widen(&field);
    for _ in 0..steps {
        expected = step(&expected, nx, ny);
    }
    Ok(close("cells", &gpu.read(from)?, &expected, TOLERANCE))
}

/// One step in double precision.
fn step(field: &[f64], nx: usize, ny: usize) -> Vec<f64> {
    let plane = nx * ny;
    let mut next = field.to_vec();
    for z in 1..field.len() / plane - 1 {
        for y in 1..ny - 1 {
            let row = z * plane + y * nx;
            for cell in row + 1..row + nx - 1 {
                let beside = field[cell - 1] + field[cell + 1] + field[cell - nx] + field[cell + nx];
                let around = beside + field[cell - plane] + field[cell + plane];
                next[cell] += f64::from(RATE) * (around - 6.0 * field[cell]);
            }
        }
    }
    next
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_spreads_a_peak_and_keeps_the_rim() {
        // 5x4x3 cells, the peak in the middle of the middle plane.
        let mut field = vec![0.0; 60];
        field[27] = 1.0;
        let next = step(&field, 5, 4);
        let rate = f64::from(RATE);
        assert_eq!(next[27], 1.0 - 6.0 * rate);
        assert_eq!((next[26], next[28], next[32]), (rate, rate, rate));
        assert_eq!((next[22], next[7], next[47]), (0.0, 0.0, 0.0), "the rim and the outer planes stay");
    }
}
