//! y = Aᵀ(Ax).

use crate::check::{Tolerance, close};
use crate::gpu::{Gpu, blocks};
use crate::linear::{Matrix, ramp, widen};
use crate::module::module;
use crate::program::{Program, sizes};
use crate::rng::Rng;
use crate::{Info, Outcome, Size, Workload};
use strata_host::HostError;

struct Shape {
    rows: usize,
    cols: usize,
    /// How many vectors x are multiplied, one after another.
    vectors: usize,
}

const SHAPES: [(Size, Shape); 4] = [
    (Size::Tiny, Shape { rows: 100, cols: 70, vectors: 1 }),
    (Size::Small, Shape { rows: 6144, cols: 6144, vectors: 1 }),
    (Size::Medium, Shape { rows: 8192, cols: 8192, vectors: 4 }),
    (Size::Paper, Shape { rows: 1200, cols: 1200, vectors: 1 }),
];

/// Sums of thousands of positive terms in single precision, one feeding the other.
const TOLERANCE: Tolerance = Tolerance { limit: 3e-5, scale: 0.0 };

pub(super) const PROGRAM: &dyn Workload = &Program {
    info: Info {
        name: "atax",
        suite: "polybench",
        papers: &["uvm"],
        sizes: &sizes(&SHAPES),
        aliases: &[],
        description: "matrix-vector product, then product with the transposed matrix",
    },
    module: &[module!("atax")],
    shapes: &SHAPES,
    run,
};

fn run(shape: &Shape, seed: u64, gpu: &mut Gpu<'_>) -> Result<Outcome, HostError> {
    const BLOCK: usize = 256;
    let Shape { rows, cols, vectors } = *shape;
    let a = Matrix::ramp(&mut Rng::new(seed, "A"), rows, cols);
    let mut random = Rng::new(seed, "x");

    let a_array = gpu.array_of("A", &a.values)?;
    let x_array = gpu.array("x", cols)?;
    let y_array = gpu.array::<f32>("y", cols)?;
    let tmp_array = gpu.array::<f32>("tmp", rows)?;
    let (mut got, mut expected) = (Vec::new(), Vec::new());
    gpu.announce(2 * vectors);
    for _ in 0..vectors {
        let x = ramp(&mut random, cols);
        gpu.write(x_array, &x)?;
        let (m, n) = (rows as i32, cols as i32);
        let args = [m.into(), n.into(), a_array.into(), x_array.into(), tmp_array.into()];
        gpu.launch("atax_kernel1", blocks(rows, BLOCK), BLOCK as u32, &args)?;
        let args = [m.into(), n.into(), a_array.into(), tmp_array.into(), y_array.into()];
        gpu.launch("atax_kernel2", blocks(cols, BLOCK), BLOCK as u32, &args)?;
        gpu.synchronize();
        got.extend(gpu.read(y_array)?);
        expected.extend(a.transposed_times(&a.times(&widen(&x))));
    }
    Ok(close("values of y", &got, &expected, TOLERANCE))
}
