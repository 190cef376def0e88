//! y = x + y.

use crate::check::exact;
use crate::field::signal;
use crate::gpu::{Gpu, blocks};
use crate::module::module;
use crate::program::{Program, sizes};
use crate::rng::Rng;
use crate::{Info, Outcome, Size, Workload};
use strata_host::HostError;

struct Shape {
    len: usize,
    /// How often x is added.
    passes: usize,
}

const SHAPES: [(Size, Shape); 4] = [
    (Size::Tiny, Shape { len: 10_000, passes: 1 }),
    (Size::Small, Shape { len: 1 << 24, passes: 1 }),
    (Size::Medium, Shape { len: 1 << 25, passes: 6 }),
    // The paper's 23 068 672 instructions are 22 for each of 2^20 elements.
    (Size::Paper, Shape { len: 1 << 20, passes: 1 }),
];

pub(super) const PROGRAM: &dyn Workload = &Program {
    info: Info {
        name: "addvectors",
        suite: "uvmsmart",
        papers: &["uvm"],
        sizes: &sizes(&SHAPES),
        aliases: &[],
        description: "sum of two vectors, in place",
    },
    module: &[module!("addvectors")],
    shapes: &SHAPES,
    run,
};

fn run(shape: &Shape, seed: u64, gpu: &mut Gpu<'_>) -> Result<Outcome, HostError> {
    const BLOCK: usize = 256;
    let x = signal(&mut Rng::new(seed, "x"), shape.len, 1.0, 0.25);
    let mut y = signal(&mut Rng::new(seed, "y"), shape.len, 2.0, 0.5);

    let x_array = gpu.array_of("x", &x)?;
    let y_array = gpu.array_of("y", &y)?;
    let args = [(shape.len as i32).into(), x_array.into(), y_array.into()];
    gpu.announce(shape.passes);
    for _ in 0..shape.passes {
        gpu.launch("add", blocks(shape.len, BLOCK), BLOCK as u32, &args)?;
    }
    gpu.synchronize();

    // A sum of two numbers has one correctly rounded value: the device must have found it.
    for _ in 0..shape.passes {
        y.iter_mut().zip(&x).for_each(|(y, x)| *y += x);
    }
    Ok(exact("sums", &gpu.read(y_array)?, &y))
}
