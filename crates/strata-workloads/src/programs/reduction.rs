//! The sum of an array.

use crate::check::exact;
use crate::gpu::{Gpu, blocks};
use crate::module::module;
use crate::program::{Measured, Program, sizes};
use crate::rng::Rng;
use crate::{Info, Instance, Outcome, Size, Workload};
use strata_host::HostError;

struct Shape {
    len: usize,
    /// With more elements than these blocks have threads, threads loop.
    most_blocks: u32,
}

impl Shape {
    /// Eight elements for each thread of the benchmark's million.
    const fn of(len: usize) -> Self {
        Self { len, most_blocks: 512 }
    }
}

const SHAPES: [(Size, Shape); 4] = [
    (Size::Tiny, Shape::of(20_001)),
    (Size::Small, Shape::of(1 << 25)),
    (Size::Medium, Shape::of(1 << 26)),
    // TOM names no size. As many elements as the CUDA SDK's program has by default, and log2 of that, rounded up to a power
    // of two, for each thread: what Harris, "Optimizing Parallel Reduction in CUDA", which comes with it, calls cost-optimal.
    // The SDK's default of at most 64 blocks would leave one block for each SM.
    (Size::PaperTom, Shape { len: 1 << 24, most_blocks: (1 << 24) / (32 * BLOCK as u32) }),
];

const BLOCK: usize = 256;

const INSTANCES: [(Instance, Shape); 1] = [(Instance::bench("1M"), Shape::of(1 << 20))];

pub(super) const PROGRAM: &dyn Workload = &Measured {
    program: Program {
        info: Info {
            name: "reduction",
            suite: "cuda-samples",
            papers: &["tom"],
            sizes: &sizes(&SHAPES),
            aliases: &["rd"],
            description: "sum of an array, in blocks and then of the blocks",
        },
        module: &[module!("reduction")],
        shapes: &SHAPES,
        run,
    },
    instances: &INSTANCES,
};

fn run(shape: &Shape, seed: u64, gpu: &mut Gpu<'_>) -> Result<Outcome, HostError> {
    let mut rng = Rng::new(seed, "values");
    let values: Vec<i32> = (0..shape.len).map(|_| (rng.bits() & 0xff) as i32).collect();

    let value_array = gpu.array_of("values", &values)?;
    let grid = blocks(shape.len, BLOCK).min(shape.most_blocks);
    let sums = gpu.array::<i32>("sums", grid as usize)?;
    let total = gpu.array::<i32>("total", 1)?;
    let args = [value_array.into(), sums.into(), (shape.len as i32).into()];
    gpu.launch("reduce_sum", grid, BLOCK as u32, &args)?;
    gpu.launch("reduce_sum", 1, BLOCK as u32, &[sums.into(), total.into(), (grid as i32).into()])?;
    gpu.synchronize();

    // Additions of integers that wrap give the same sum in every order.
    let expected = values.iter().fold(0, |sum: i32, value| sum.wrapping_add(*value));
    Ok(exact("sums", &gpu.read(total)?, &[expected]))
}
