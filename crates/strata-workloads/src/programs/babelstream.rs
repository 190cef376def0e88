//! The STREAM kernels in double precision: initialise, copy, multiply, add, triad, dot.

use crate::check::{Tolerance, close_doubles, exact};
use crate::gpu::{Gpu, blocks};
use crate::module::module;
use crate::program::{Measured, Program, sizes};
use crate::{Info, Instance, Outcome, Size, Workload};
use strata_host::HostError;

const BLOCK: usize = 1024;
/// Blocks of the dot product.
const DOT_BLOCKS: usize = 256;

struct Shape {
    /// Values in each of the three arrays: a multiple of the block.
    len: usize,
    /// How often the five kernels after the first run.
    rounds: usize,
}

const SHAPES: [(Size, Shape); 3] = [
    (Size::Tiny, Shape { len: 10 * BLOCK, rounds: 2 }),
    (Size::Small, Shape { len: 1 << 20, rounds: 3 }),
    (Size::Medium, Shape { len: 1 << 23, rounds: 4 }),
];

/// One run whose six launches are the six rows of the table.
const INSTANCES: [(Instance, Shape); 1] = [(Instance::silicon("102400"), Shape { len: 102_400, rounds: 1 })];

/// The values that the benchmark publishes.
const FIRST_A: f64 = 0.1;
const FIRST_B: f64 = 0.2;
const FIRST_C: f64 = 0.0;
const SCALAR: f64 = 0.4;

/// A sum of some million positive terms, in the order of a tree or of a loop.
const TOLERANCE: Tolerance = Tolerance { limit: 1e-9, scale: 1.0 };

pub(super) const PROGRAM: &dyn Workload = &Measured {
    program: Program {
        info: Info {
            name: "babelstream",
            suite: "silicon",
            papers: &[],
            sizes: &sizes(&SHAPES),
            aliases: &["stream"],
            description: "memory streams: init, copy, mul, add, triad, dot",
        },
        module: &[module!("babelstream")],
        shapes: &SHAPES,
        run,
    },
    instances: &INSTANCES,
};

fn run(shape: &Shape, _seed: u64, gpu: &mut Gpu<'_>) -> Result<Outcome, HostError> {
    let len = shape.len;
    let grid = blocks(len, BLOCK);
    let block = BLOCK as u32;
    let a = gpu.array::<f64>("a", len)?;
    let b = gpu.array::<f64>("b", len)?;
    let c = gpu.array::<f64>("c", len)?;
    let sums = gpu.array::<f64>("sums", DOT_BLOCKS)?;
    let args = [a.into(), b.into(), c.into(), FIRST_A.into(), FIRST_B.into(), FIRST_C.into()];
    gpu.launch("stream_init", grid, block, &args)?;
    for _ in 0..shape.rounds {
        gpu.launch("stream_copy", grid, block, &[a.into(), c.into()])?;
        gpu.launch("stream_mul", grid, block, &[b.into(), c.into(), SCALAR.into()])?;
        gpu.launch("stream_add", grid, block, &[a.into(), b.into(), c.into()])?;
        gpu.launch("stream_triad", grid, block, &[a.into(), b.into(), c.into(), SCALAR.into()])?;
        let args = [a.into(), b.into(), sums.into(), (len as i32).into()];
        gpu.launch("stream_dot", DOT_BLOCKS as u32, block, &args)?;
        gpu.synchronize();
    }

    // All elements of an array are alike: the reference is three numbers. The compiler contracts the triad to one
    // rounding, as the definition of `mul_add` does.
    let (mut one_a, mut one_b, mut one_c) = (FIRST_A, FIRST_B, FIRST_C);
    for _ in 0..shape.rounds {
        one_c = one_a;
        one_b = SCALAR * one_c;
        one_c = one_a + one_b;
        one_a = SCALAR.mul_add(one_c, one_b);
    }
    let outcome = exact("values of a", &gpu.read(a)?, &vec![one_a; len])
        .and(&exact("of b", &gpu.read(b)?, &vec![one_b; len]))
        .and(&exact("of c", &gpu.read(c)?, &vec![one_c; len]));
    let dot: f64 = gpu.read(sums)?.iter().sum();
    Ok(outcome.and(&close_doubles("dot products", &[dot], &[one_a * one_b * len as f64], TOLERANCE)))
}
