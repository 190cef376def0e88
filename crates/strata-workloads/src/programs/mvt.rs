//! x1 += A·y1 and x2 += Aᵀ·y2.

use crate::check::{Tolerance, close};
use crate::gpu::{Gpu, blocks};
use crate::linear::{Matrix, ramp, widen};
use crate::module::module;
use crate::program::{Program, sizes};
use crate::rng::Rng;
use crate::{Info, Outcome, Size, Workload};
use strata_host::HostError;

struct Shape {
    order: usize,
}

const SHAPES: [(Size, Shape); 4] = [
    (Size::Tiny, Shape { order: 70 }),
    (Size::Small, Shape { order: 2048 }),
    (Size::Medium, Shape { order: 6144 }),
    (Size::Paper, Shape { order: 4096 }),
];

/// Sums of thousands of positive terms in single precision.
const TOLERANCE: Tolerance = Tolerance { limit: 3e-5, scale: 0.0 };

pub(super) const PROGRAM: &dyn Workload = &Program {
    info: Info {
        name: "mvt",
        suite: "polybench",
        papers: &["uvm"],
        sizes: &sizes(&SHAPES),
        aliases: &[],
        description: "products of a matrix and of its transpose with two vectors",
    },
    module: &[module!("mvt")],
    shapes: &SHAPES,
    run,
};

fn run(shape: &Shape, seed: u64, gpu: &mut Gpu<'_>) -> Result<Outcome, HostError> {
    /// As every matrix-vector program of the family of sources that the unified-memory baseline ships.
    const BLOCK: (u32, u32) = (256, 1);
    let n = shape.order;
    let a = Matrix::ramp(&mut Rng::new(seed, "a"), n, n);
    let [x1, x2, y1, y2] = ["x1", "x2", "y1", "y2"].map(|name| ramp(&mut Rng::new(seed, name), n));

    let a_array = gpu.array_of("a", &a.values)?;
    let x1_array = gpu.array_of("x1", &x1)?;
    let x2_array = gpu.array_of("x2", &x2)?;
    let y1_array = gpu.array_of("y1", &y1)?;
    let y2_array = gpu.array_of("y2", &y2)?;
    let grid = blocks(n, BLOCK.0 as usize);
    let args = [(n as i32).into(), a_array.into(), y1_array.into(), x1_array.into()];
    gpu.announce(2);
    gpu.launch("mvt_kernel1", grid, BLOCK, &args)?;
    let args = [(n as i32).into(), a_array.into(), y2_array.into(), x2_array.into()];
    gpu.launch("mvt_kernel2", grid, BLOCK, &args)?;
    gpu.synchronize();

    let added = |x: &[f32], product: Vec<f64>| x.iter().zip(product).map(|(x, p)| f64::from(*x) + p).collect();
    let expected1: Vec<f64> = added(&x1, a.times(&widen(&y1)));
    let expected2: Vec<f64> = added(&x2, a.transposed_times(&widen(&y2)));
    let first = close("values of x1", &gpu.read(x1_array)?, &expected1, TOLERANCE);
    Ok(first.and(&close("values of x2", &gpu.read(x2_array)?, &expected2, TOLERANCE)))
}
