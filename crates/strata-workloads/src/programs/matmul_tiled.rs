//! C = AB through tiles in shared memory.

use super::matmul::{TOLERANCE, activations, product, weights};
use crate::check::close;
use crate::gpu::{Gpu, blocks};
use crate::module::module;
use crate::program::{Measured, Program, sizes};
use crate::{Info, Instance, Outcome, Size, Workload};
use strata_host::HostError;

struct Shape {
    /// Rows and columns of all matrices: a multiple of 32.
    order: usize,
}

const SHAPES: [(Size, Shape); 3] = [
    // One of the orders measured on silicon.
    (Size::Tiny, Shape { order: 64 }),
    (Size::Small, Shape { order: 512 }),
    (Size::Medium, Shape { order: 1024 }),
];

const INSTANCES: [(Instance, Shape); 4] = [
    (Instance::silicon("32"), Shape { order: 32 }),
    (Instance::silicon("64"), Shape { order: 64 }),
    (Instance::silicon("128"), Shape { order: 128 }),
    (Instance::bench("256"), Shape { order: 256 }),
];

pub(super) const PROGRAM: &dyn Workload = &Measured {
    program: Program {
        info: Info {
            name: "matmul-tiled",
            suite: "micro",
            papers: &[],
            sizes: &sizes(&SHAPES),
            aliases: &["matrixmul"],
            description: "matrix product through 32x32 tiles in shared memory",
        },
        module: &[module!("matmul-tiled")],
        shapes: &SHAPES,
        run,
    },
    instances: &INSTANCES,
};

fn run(shape: &Shape, seed: u64, gpu: &mut Gpu<'_>) -> Result<Outcome, HostError> {
    const TILE: usize = 32;
    let n = shape.order;
    let a = activations(seed, n * n);
    let b = weights(seed, n, n * n);

    let a_array = gpu.array_of("A", &a)?;
    let b_array = gpu.array_of("B", &b)?;
    let c_array = gpu.array("C", n * n)?;
    let args = [a_array.into(), b_array.into(), c_array.into(), (n as i32).into()];
    gpu.announce(1);
    gpu.launch("matmul_tiled", (blocks(n, TILE), blocks(n, TILE)), (TILE as u32, TILE as u32), &args)?;
    gpu.synchronize();
    Ok(close("elements", &gpu.read(c_array)?, &product(&a, &b, n, n), TOLERANCE))
}
