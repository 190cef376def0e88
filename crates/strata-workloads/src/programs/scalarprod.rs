//! Dot products of many pairs of vectors.

use crate::check::{Tolerance, close};
use crate::gpu::Gpu;
use crate::module::module;
use crate::program::{Program, sizes};
use crate::rng::Rng;
use crate::{Info, Outcome, Size, Workload};
use strata_host::HostError;

struct Shape {
    pairs: usize,
    length: usize,
}

const SHAPES: [(Size, Shape); 4] = [
    (Size::Tiny, Shape { pairs: 5, length: 2_500 }),
    (Size::Small, Shape { pairs: 512, length: 16_384 }),
    (Size::Medium, Shape { pairs: 1_024, length: 32_768 }),
    // NVIDIA's sample; TOM names no size.
    (Size::PaperTom, Shape { pairs: 256, length: 4_096 }),
];

/// As many additions of positive numbers as a sum has in a row: at most some tens, each within 2^-24.
const TOLERANCE: Tolerance = Tolerance { limit: 1e-5, scale: 1.0 };

pub(super) const PROGRAM: &dyn Workload = &Program {
    info: Info {
        name: "scalarprod",
        suite: "cuda-samples",
        papers: &["tom"],
        sizes: &sizes(&SHAPES),
        // TOM's name for it, SP, is another program's here.
        aliases: &[],
        description: "dot products of many pairs of vectors",
    },
    module: &[module!("scalarprod")],
    shapes: &SHAPES,
    run,
};

fn run(shape: &Shape, seed: u64, gpu: &mut Gpu<'_>) -> Result<Outcome, HostError> {
    const BLOCK: u32 = 256;
    const BLOCKS: u32 = 128;
    let Shape { pairs, length } = *shape;
    let [a, b] = ["a", "b"].map(|name| {
        let mut rng = Rng::new(seed, name);
        (0..pairs * length).map(|_| rng.unit()).collect::<Vec<f32>>()
    });

    let arrays = (gpu.array_of("a", &a)?, gpu.array_of("b", &b)?);
    let products = gpu.array::<f32>("products", pairs)?;
    let sizes = [(pairs as i32).into(), (length as i32).into()];
    let args = [&[arrays.0.into(), arrays.1.into(), products.into()][..], &sizes].concat();
    gpu.launch("scalar_product", BLOCKS, BLOCK, &args)?;
    gpu.synchronize();

    let pair = |(x, y): (&[f32], &[f32])| x.iter().zip(y).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum();
    let expected: Vec<f64> = a.chunks_exact(length).zip(b.chunks_exact(length)).map(pair).collect();
    Ok(close("dot products", &gpu.read(products)?, &expected, TOLERANCE))
}
