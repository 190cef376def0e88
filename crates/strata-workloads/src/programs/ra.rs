//! Random access to a table, by few.

use crate::check::exact;
use crate::gpu::{Gpu, blocks};
use crate::module::module;
use crate::program::{Program, sizes};
use crate::rng::Rng;
use crate::{Info, Outcome, Size, Workload};
use strata_host::HostError;

struct Shape {
    /// Keys, slots and entries of the table; a power of two.
    len: usize,
}

const SHAPES: [(Size, Shape); 4] = [
    (Size::Tiny, Shape { len: 1 << 13 }),
    (Size::Small, Shape { len: 1 << 24 }),
    (Size::Medium, Shape { len: 1 << 26 }),
    // The runs of the unified-memory baseline: three arrays of 4 MB.
    (Size::Paper, Shape { len: 1 << 20 }),
];

pub(super) const PROGRAM: &dyn Workload = &Program {
    info: Info {
        name: "ra",
        suite: "uvmsmart",
        papers: &["uvm"],
        sizes: &sizes(&SHAPES),
        aliases: &["random-access"],
        description: "random access to a table by one thread in a hundred",
    },
    module: &[module!("ra")],
    shapes: &SHAPES,
    run,
};

fn run(shape: &Shape, seed: u64, gpu: &mut Gpu<'_>) -> Result<Outcome, HostError> {
    const BLOCK: usize = 256;
    let mask = shape.len as u32 - 1;
    let mut rng = Rng::new(seed, "keys");
    let keys: Vec<u32> = (0..shape.len).map(|_| rng.bits() as u32).collect();
    let mut rng = Rng::new(seed, "table");
    let table: Vec<u32> = (0..shape.len).map(|_| rng.below(1 << 20)).collect();
    let mut expected = vec![0; shape.len];

    let keys_array = gpu.array_of("keys", &keys)?;
    let found_array = gpu.array_of("found", &expected)?;
    let table_array = gpu.array_of("table", &table)?;
    let args = [mask.into(), keys_array.into(), found_array.into(), table_array.into()];
    gpu.launch("random_access", blocks(shape.len, BLOCK), BLOCK as u32, &args)?;
    gpu.synchronize();

    for (thread, &key) in (0u32..).zip(&keys).step_by(100) {
        expected[slot(thread, mask)] = table[(key & mask) as usize] ^ key;
    }
    Ok(exact("slots", &gpu.read(found_array)?, &expected))
}

/// Where a thread writes: an odd factor permutes the numbers below a power of two.
fn slot(thread: u32, mask: u32) -> usize {
    (thread.wrapping_mul(2_654_435_761) & mask) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_thread_has_a_slot_of_its_own() {
        let mut slots: Vec<usize> = (0..1 << 10).map(|thread| slot(thread, (1 << 10) - 1)).collect();
        slots.sort_unstable();
        assert!(slots.into_iter().eq(0..1 << 10));
    }
}
