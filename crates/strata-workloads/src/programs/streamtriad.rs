//! z = x + a*y.

use crate::check::{Tolerance, close};
use crate::field::signal;
use crate::gpu::{Gpu, blocks};
use crate::module::module;
use crate::program::{Program, sizes};
use crate::rng::Rng;
use crate::{Info, Outcome, Size, Workload};
use strata_host::HostError;

struct Shape {
    len: usize,
    /// How often the triad is computed; STREAM repeats it too.
    passes: usize,
}

const SHAPES: [(Size, Shape); 4] = [
    (Size::Tiny, Shape { len: 10_000, passes: 1 }),
    (Size::Small, Shape { len: 1 << 24, passes: 1 }),
    (Size::Medium, Shape { len: 1 << 25, passes: 5 }),
    (Size::Paper, Shape { len: 1 << 20, passes: 1 }),
];

/// One fused or two separate roundings of numbers near 1.
const TOLERANCE: Tolerance = Tolerance { limit: 1e-6, scale: 1.0 };

pub(super) const PROGRAM: &dyn Workload = &Program {
    info: Info {
        name: "streamtriad",
        suite: "uvmsmart",
        papers: &["uvm"],
        sizes: &sizes(&SHAPES),
        aliases: &["stream-triad", "triad"],
        description: "STREAM triad z = x + a*y",
    },
    module: &[module!("streamtriad")],
    shapes: &SHAPES,
    run,
};

fn run(shape: &Shape, seed: u64, gpu: &mut Gpu<'_>) -> Result<Outcome, HostError> {
    const BLOCK: usize = 256;
    const A: f32 = 3.0;
    let x = signal(&mut Rng::new(seed, "x"), shape.len, 1.0, 0.25);
    let y = signal(&mut Rng::new(seed, "y"), shape.len, 2.0, 0.5);

    let x_array = gpu.array_of("x", &x)?;
    let y_array = gpu.array_of("y", &y)?;
    let z_array = gpu.zeros("z", shape.len)?;
    let args = [(shape.len as i32).into(), A.into(), x_array.into(), y_array.into(), z_array.into()];
    gpu.announce(shape.passes);
    for _ in 0..shape.passes {
        gpu.launch("stream_triad", blocks(shape.len, BLOCK), BLOCK as u32, &args)?;
    }
    gpu.synchronize();

    let expected: Vec<f64> = x.iter().zip(&y).map(|(x, y)| f64::from(*x) + f64::from(A) * f64::from(*y)).collect();
    Ok(close("values", &gpu.read(z_array)?, &expected, TOLERANCE))
}
