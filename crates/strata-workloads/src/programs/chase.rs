//! Walks along a linked list whose nodes lie anywhere.

use crate::check::exact;
use crate::gpu::{Gpu, blocks};
use crate::module::module;
use crate::program::{Measured, Program, sizes};
use crate::rng::Rng;
use crate::{Info, Instance, Outcome, Size, Workload};
use strata_host::HostError;

struct Shape {
    nodes: usize,
    walkers: usize,
    /// Links that each walker follows.
    hops: usize,
}

const SHAPES: [(Size, Shape); 3] = [
    (Size::Tiny, Shape { nodes: 4_096, walkers: 40, hops: 100 }),
    (Size::Small, Shape { nodes: 1 << 22, walkers: 4_096, hops: 4_096 }),
    (Size::Medium, Shape { nodes: 1 << 24, walkers: 16_384, hops: 8_192 }),
];

const INSTANCES: [(Instance, Shape); 1] = [(Instance::bench("4K"), Shape { nodes: 1 << 20, walkers: 4_096, hops: 64 })];

pub(super) const PROGRAM: &dyn Workload = &Measured {
    program: Program {
        info: Info {
            name: "chase",
            suite: "micro",
            papers: &[],
            sizes: &sizes(&SHAPES),
            aliases: &[],
            description: "pointer chase: every load waits for the one before",
        },
        module: &[module!("chase")],
        shapes: &SHAPES,
        run,
    },
    instances: &INSTANCES,
};

fn run(shape: &Shape, seed: u64, gpu: &mut Gpu<'_>) -> Result<Outcome, HostError> {
    const BLOCK: usize = 32;
    let Shape { nodes, walkers, hops } = *shape;
    let order = shuffled(&mut Rng::new(seed, "order"), nodes);
    let mut next = vec![0; nodes];
    for (place, node) in order.iter().enumerate() {
        next[*node as usize] = order[(place + 1) % nodes];
    }
    // Walkers start evenly spread over the list.
    let place = |walker: usize| walker * nodes / walkers;
    let first: Vec<i32> = (0..walkers).map(|walker| order[place(walker)]).collect();

    let next_array = gpu.array_of("next", &next)?;
    let first_array = gpu.array_of("first", &first)?;
    let last = gpu.array("last", walkers)?;
    let args = [next_array.into(), first_array.into(), last.into(), (walkers as i32).into(), (hops as i32).into()];
    gpu.launch("chase", blocks(walkers, BLOCK), BLOCK as u32, &args)?;
    gpu.synchronize();

    let expected: Vec<i32> = (0..walkers).map(|walker| order[(place(walker) + hops) % nodes]).collect();
    Ok(exact("ends", &gpu.read(last)?, &expected))
}

/// The numbers below `count` in random order (Fisher and Yates).
fn shuffled(rng: &mut Rng, count: usize) -> Vec<i32> {
    let mut order: Vec<i32> = (0..count as i32).collect();
    for last in (1..count).rev() {
        order.swap(last, rng.below(last as u32 + 1) as usize);
    }
    order
}
