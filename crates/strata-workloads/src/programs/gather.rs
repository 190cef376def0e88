//! Reads from anywhere in a table.

use crate::check::exact;
use crate::gpu::{Gpu, blocks};
use crate::module::module;
use crate::program::{Measured, Program, sizes};
use crate::rng::Rng;
use crate::{Info, Instance, Outcome, Size, Workload};
use strata_host::HostError;

struct Shape {
    /// Values in the table.
    table: usize,
    /// How many of them are read.
    reads: usize,
}

const SHAPES: [(Size, Shape); 3] = [
    (Size::Tiny, Shape { table: 100_000, reads: 5_001 }),
    (Size::Small, Shape { table: 1 << 24, reads: 1 << 22 }),
    (Size::Medium, Shape { table: 1 << 26, reads: 1 << 25 }),
];

const INSTANCES: [(Instance, Shape); 1] = [(Instance::bench("256K"), Shape { table: 1 << 22, reads: 1 << 18 })];

pub(super) const PROGRAM: &dyn Workload = &Measured {
    program: Program {
        info: Info {
            name: "gather",
            suite: "micro",
            papers: &[],
            sizes: &sizes(&SHAPES),
            aliases: &[],
            description: "random reads from a table",
        },
        module: &[module!("gather")],
        shapes: &SHAPES,
        run,
    },
    instances: &INSTANCES,
};

fn run(shape: &Shape, seed: u64, gpu: &mut Gpu<'_>) -> Result<Outcome, HostError> {
    const BLOCK: usize = 256;
    let mut rng = Rng::new(seed, "table");
    // Counters: small numbers with leading zeros, as tables of identifiers and degrees have them.
    let table: Vec<i32> = (0..shape.table).map(|_| rng.below(1 << 20) as i32).collect();
    let mut rng = Rng::new(seed, "index");
    let index: Vec<i32> = (0..shape.reads).map(|_| rng.below(shape.table as u32) as i32).collect();

    let table_array = gpu.array_of("table", &table)?;
    let index_array = gpu.array_of("index", &index)?;
    let out = gpu.array("out", shape.reads)?;
    let args = [table_array.into(), index_array.into(), out.into(), (shape.reads as i32).into()];
    gpu.launch("gather", blocks(shape.reads, BLOCK), BLOCK as u32, &args)?;
    gpu.synchronize();

    let expected: Vec<i32> = index.iter().map(|i| table[*i as usize]).collect();
    Ok(exact("values", &gpu.read(out)?, &expected))
}
