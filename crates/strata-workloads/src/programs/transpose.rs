//! The transpose of a matrix, directly or through tiles in shared memory.

use crate::check::exact;
use crate::field::smooth;
use crate::gpu::{Gpu, blocks};
use crate::module::module;
use crate::program::{Measured, Program, sizes};
use crate::rng::Rng;
use crate::{Info, Instance, Outcome, Size, Workload};
use strata_host::HostError;

const NAIVE: &str = "transpose_naive";
const COALESCED: &str = "transpose_coalesced";

struct Shape {
    kernels: &'static [&'static str],
    /// Rows and columns of the input: multiples of 16.
    rows: usize,
    cols: usize,
}

const fn square(kernels: &'static [&'static str], order: usize) -> Shape {
    Shape { kernels, rows: order, cols: order }
}

const SHAPES: [(Size, Shape); 3] = [
    (Size::Tiny, Shape { kernels: &[NAIVE, COALESCED], rows: 48, cols: 80 }),
    (Size::Small, square(&[NAIVE, COALESCED], 2048)),
    (Size::Medium, square(&[NAIVE, COALESCED], 4096)),
];

const INSTANCES: [(Instance, Shape); 4] = [
    (Instance::silicon("128-coalesced"), square(&[COALESCED], 128)),
    (Instance::silicon("128-naive"), square(&[NAIVE], 128)),
    (Instance::silicon("256-coalesced"), square(&[COALESCED], 256)),
    (Instance::silicon("256-naive"), square(&[NAIVE], 256)),
];

pub(super) const PROGRAM: &dyn Workload = &Measured {
    program: Program {
        info: Info {
            name: "transpose",
            suite: "silicon",
            papers: &[],
            sizes: &sizes(&SHAPES),
            aliases: &[],
            description: "matrix transpose, directly and through 16x16 tiles",
        },
        module: &[module!("transpose")],
        shapes: &SHAPES,
        run,
    },
    instances: &INSTANCES,
};

fn run(shape: &Shape, seed: u64, gpu: &mut Gpu<'_>) -> Result<Outcome, HostError> {
    const TILE: usize = 16;
    let Shape { kernels, rows, cols } = *shape;
    let matrix = smooth(&mut Rng::new(seed, "in"), rows, cols, 16);
    let expected: Vec<f32> =
        (0..cols).flat_map(|col| (0..rows).map(move |row| (row, col))).map(|(r, c)| matrix[r * cols + c]).collect();

    let input = gpu.array_of("in", &matrix)?;
    let output = gpu.array("out", rows * cols)?;
    let args = [output.into(), input.into(), (cols as i32).into(), (rows as i32).into()];
    let mut judged: Option<Outcome> = None;
    for kernel in kernels {
        if judged.is_some() {
            // The next kernel must not be judged by what the one before left behind.
            gpu.write(output, &vec![f32::NAN; rows * cols])?;
        }
        gpu.launch(kernel, (blocks(cols, TILE), blocks(rows, TILE)), (TILE as u32, TILE as u32), &args)?;
        gpu.synchronize();
        let outcome = exact("elements", &gpu.read(output)?, &expected);
        judged = Some(judged.map_or_else(|| outcome.clone(), |before| before.and(&outcome)));
    }
    judged.ok_or_else(|| HostError::Call { call: "run", reason: "no kernel to run".to_owned() })
}
