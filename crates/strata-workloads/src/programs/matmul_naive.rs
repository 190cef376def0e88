//! C = AB, one element per thread.

use super::matmul::{TOLERANCE, activations, product, weights};
use crate::check::close;
use crate::gpu::{Gpu, blocks};
use crate::module::module;
use crate::program::{Measured, Program, sizes};
use crate::{Info, Instance, Outcome, Size, Workload};
use strata_host::HostError;

/// A is m x n, B is n x p.
struct Shape {
    m: usize,
    n: usize,
    p: usize,
}

const SHAPES: [(Size, Shape); 3] = [
    // One of the shapes measured on silicon.
    (Size::Tiny, Shape { m: 32, n: 64, p: 128 }),
    (Size::Small, Shape { m: 512, n: 512, p: 512 }),
    (Size::Medium, Shape { m: 1024, n: 1024, p: 1024 }),
];

const INSTANCES: [(Instance, Shape); 3] = [
    (Instance::silicon("32,32,32"), Shape { m: 32, n: 32, p: 32 }),
    (Instance::silicon("32,64,128"), Shape { m: 32, n: 64, p: 128 }),
    (Instance::silicon("128,32,32"), Shape { m: 128, n: 32, p: 32 }),
];

pub(super) const PROGRAM: &dyn Workload = &Measured {
    program: Program {
        info: Info {
            name: "matmul-naive",
            suite: "micro",
            papers: &[],
            sizes: &sizes(&SHAPES),
            aliases: &[],
            description: "matrix product, one element per thread, nothing shared",
        },
        module: &[module!("matmul-naive")],
        shapes: &SHAPES,
        run,
    },
    instances: &INSTANCES,
};

fn run(shape: &Shape, seed: u64, gpu: &mut Gpu<'_>) -> Result<Outcome, HostError> {
    const BLOCK: usize = 32;
    let Shape { m, n, p } = *shape;
    let a = activations(seed, m * n);
    let b = weights(seed, n, n * p);

    let a_array = gpu.array_of("A", &a)?;
    let b_array = gpu.array_of("B", &b)?;
    let c_array = gpu.array("C", m * p)?;
    let extents = [m, n, p].map(|extent| extent as i32);
    let args =
        [a_array.into(), b_array.into(), c_array.into(), extents[0].into(), extents[1].into(), extents[2].into()];
    gpu.announce(1);
    gpu.launch("matmul_naive", (blocks(p, BLOCK), blocks(m, BLOCK)), (BLOCK as u32, BLOCK as u32), &args)?;
    gpu.synchronize();
    Ok(close("elements", &gpu.read(c_array)?, &product(&a, &b, n, p), TOLERANCE))
}
