//! Dyadic convolution by the fast Walsh transform.

use crate::check::{Tolerance, close};
use crate::gpu::{Array, Gpu, blocks};
use crate::module::module;
use crate::program::{Program, sizes};
use crate::rng::Rng;
use crate::{Info, Outcome, Size, Workload};
use strata_host::HostError;

struct Shape {
    /// Numbers, as a power of two; at least the kernel and a piece.
    log: u32,
    /// Numbers of the kernel, as a power of two.
    kernel_log: u32,
}

/// As NVIDIA's sample has it.
const MEDIUM: Shape = Shape { log: 23, kernel_log: 7 };

const SHAPES: [(Size, Shape); 4] = [
    (Size::Tiny, Shape { log: 13, kernel_log: 5 }),
    (Size::Small, Shape { log: 20, kernel_log: 7 }),
    (Size::Medium, MEDIUM),
    // TOM names no size.
    (Size::PaperTom, MEDIUM),
];

/// Steps that are done in shared memory at most: pieces of 2048.
const PIECE_LOG: u32 = 11;
/// Sums are of 32 to 128 products of numbers below one, of about 8 to 32. Two transforms and one back take some sixty
/// additions in a row, of numbers that are larger than their sums: single precision leaves five digits.
const TOLERANCE: Tolerance = Tolerance { limit: 1e-4, scale: 8.0 };

pub(super) const PROGRAM: &dyn Workload = &Program {
    info: Info {
        name: "fwt",
        suite: "cuda-samples",
        papers: &["tom"],
        sizes: &sizes(&SHAPES),
        aliases: &["fastWalshTransform"],
        description: "convolution over exclusive-or, by the fast Walsh transform",
    },
    module: &[module!("fwt")],
    shapes: &SHAPES,
    run,
};

fn run(shape: &Shape, seed: u64, gpu: &mut Gpu<'_>) -> Result<Outcome, HostError> {
    const BLOCK: usize = 256;
    /// The multiplication's, each thread of which takes many numbers.
    const BLOCKS: u32 = 128;
    let len = 1usize << shape.log;
    let mut rng = Rng::new(seed, "data");
    let values: Vec<f32> = (0..len).map(|_| rng.unit()).collect();
    let mut rng = Rng::new(seed, "kernel");
    let factors: Vec<f32> = (0..1 << shape.kernel_log).map(|_| rng.unit()).collect();

    let data = gpu.array_of("data", &values)?;
    let kernel = gpu.zeros::<f32>("kernel", len)?;
    gpu.write(kernel, &factors)?;
    transform(data, shape.log, gpu)?;
    transform(kernel, shape.log, gpu)?;
    let args = [data.into(), kernel.into(), (len as i32).into(), (1.0 / len as f32).into()];
    gpu.launch("multiply", BLOCKS, BLOCK as u32, &args)?;
    transform(data, shape.log, gpu)?;
    gpu.synchronize();

    let sum = |i: usize| factors.iter().enumerate().map(|(j, f)| f64::from(*f) * f64::from(values[i ^ j])).sum();
    let expected: Vec<f64> = (0..len).map(sum).collect();
    Ok(close("sums", &gpu.read(data)?, &expected, TOLERANCE))
}

/// Transforms an array of 2^`log` numbers in place.
fn transform(data: Array<f32>, log: u32, gpu: &mut Gpu<'_>) -> Result<(), HostError> {
    const BLOCK: usize = 256;
    let quarter = 1usize << (log - 2);
    let mut steps = log;
    while steps > PIECE_LOG {
        let args = [data.into(), (1i32 << (steps - 2)).into()];
        gpu.launch("walsh_two_steps", blocks(quarter, BLOCK), BLOCK as u32, &args)?;
        steps -= 2;
    }
    let threads = 1u32 << (steps - 2);
    gpu.launch("walsh_pieces", 1u32 << (log - steps), threads, &[data.into(), (steps as i32).into()])
}
