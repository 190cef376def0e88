//! y = a*x + y.

use crate::check::{Tolerance, close};
use crate::field::signal;
use crate::gpu::{Gpu, blocks};
use crate::module::module;
use crate::program::{Measured, Program, sizes};
use crate::rng::Rng;
use crate::{Info, Instance, Outcome, Size, Workload};
use strata_host::HostError;

struct Shape {
    len: usize,
    /// How often a*x is added.
    passes: usize,
}

const SHAPES: [(Size, Shape); 3] = [
    (Size::Tiny, Shape { len: 10_001, passes: 1 }),
    (Size::Small, Shape { len: 1 << 24, passes: 3 }),
    (Size::Medium, Shape { len: 1 << 25, passes: 12 }),
];

/// One rounding per pass, of sums near the result.
const TOLERANCE: Tolerance = Tolerance { limit: 1e-5, scale: 1.0 };

const INSTANCES: [(Instance, Shape); 1] = [(Instance::bench("1M"), Shape { len: 1 << 20, passes: 1 })];

pub(super) const PROGRAM: &dyn Workload = &Measured {
    program: Program {
        info: Info {
            name: "saxpy",
            suite: "micro",
            papers: &[],
            sizes: &sizes(&SHAPES),
            aliases: &[],
            description: "scaled vector added to a vector, grid-stride loop",
        },
        module: &[module!("saxpy")],
        shapes: &SHAPES,
        run,
    },
    instances: &INSTANCES,
};

fn run(shape: &Shape, seed: u64, gpu: &mut Gpu<'_>) -> Result<Outcome, HostError> {
    const BLOCK: usize = 256;
    /// More blocks than any GPU runs at once; from here on threads loop.
    const MOST_BLOCKS: u32 = 1024;
    const A: f32 = 0.7;
    let x = signal(&mut Rng::new(seed, "x"), shape.len, 1.0, 0.25);
    let y = signal(&mut Rng::new(seed, "y"), shape.len, 2.0, 0.5);

    let x_array = gpu.array_of("x", &x)?;
    let y_array = gpu.array_of("y", &y)?;
    let args = [(shape.len as i32).into(), A.into(), x_array.into(), y_array.into()];
    gpu.announce(shape.passes);
    for _ in 0..shape.passes {
        gpu.launch("saxpy", blocks(shape.len, BLOCK).min(MOST_BLOCKS), BLOCK as u32, &args)?;
    }
    gpu.synchronize();

    let scale = f64::from(A) * shape.passes as f64;
    let expected: Vec<f64> = x.iter().zip(&y).map(|(x, y)| scale * f64::from(*x) + f64::from(*y)).collect();
    Ok(close("values", &gpu.read(y_array)?, &expected, TOLERANCE))
}
