//! s = Aᵀr and q = Ap.

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
    /// How many pairs of vectors are multiplied, one after another.
    vectors: usize,
}

const SHAPES: [(Size, Shape); 4] = [
    (Size::Tiny, Shape { rows: 70, cols: 100, vectors: 1 }),
    (Size::Small, Shape { rows: 6144, cols: 6144, vectors: 1 }),
    (Size::Medium, Shape { rows: 8192, cols: 8192, vectors: 4 }),
    // The paper's 167 936 000 instructions are 4096 * 41 000.
    (Size::Paper, Shape { rows: 4096, cols: 4096, vectors: 1 }),
];

/// Sums of thousands of positive terms in single precision.
const TOLERANCE: Tolerance = Tolerance { limit: 3e-5, scale: 0.0 };

pub(super) const PROGRAM: &dyn Workload = &Program {
    info: Info {
        name: "bicg",
        suite: "polybench",
        papers: &["uvm"],
        sizes: &sizes(&SHAPES),
        aliases: &[],
        description: "the two matrix-vector products of a biconjugate-gradient step",
    },
    module: &[module!("bicg")],
    shapes: &SHAPES,
    run,
};

fn run(shape: &Shape, seed: u64, gpu: &mut Gpu<'_>) -> Result<Outcome, HostError> {
    const BLOCK: usize = 256;
    let Shape { rows, cols, vectors } = *shape;
    let a = Matrix::ramp(&mut Rng::new(seed, "A"), rows, cols);
    let (mut random_r, mut random_p) = (Rng::new(seed, "r"), Rng::new(seed, "p"));

    let a_array = gpu.array_of("A", &a.values)?;
    let r_array = gpu.array("r", rows)?;
    let s_array = gpu.array::<f32>("s", cols)?;
    let p_array = gpu.array("p", cols)?;
    let q_array = gpu.array::<f32>("q", rows)?;
    let (mut got_s, mut expected_s) = (Vec::new(), Vec::new());
    let (mut got_q, mut expected_q) = (Vec::new(), Vec::new());
    gpu.announce(2 * vectors);
    for _ in 0..vectors {
        let (r, p) = (ramp(&mut random_r, rows), ramp(&mut random_p, cols));
        gpu.write(r_array, &r)?;
        gpu.write(p_array, &p)?;
        let (m, n) = (rows as i32, cols as i32);
        let args = [m.into(), n.into(), a_array.into(), r_array.into(), s_array.into()];
        gpu.launch("bicg_kernel1", blocks(cols, BLOCK), BLOCK as u32, &args)?;
        let args = [m.into(), n.into(), a_array.into(), p_array.into(), q_array.into()];
        gpu.launch("bicg_kernel2", blocks(rows, BLOCK), BLOCK as u32, &args)?;
        gpu.synchronize();
        got_s.extend(gpu.read(s_array)?);
        got_q.extend(gpu.read(q_array)?);
        expected_s.extend(a.transposed_times(&widen(&r)));
        expected_q.extend(a.times(&widen(&p)));
    }
    let s = close("values of s", &got_s, &expected_s, TOLERANCE);
    Ok(s.and(&close("values of q", &got_q, &expected_q, TOLERANCE)))
}
