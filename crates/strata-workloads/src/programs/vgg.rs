//! Training of a small VGG: stacks of 3x3 convolutions between poolings, then dense layers.

use crate::gpu::Gpu;
use crate::nn::{CLASSES, NEURAL, Network, PUBLISHED_SIDE, Schedule, Shapes, Solver, train, window};
use crate::program::{Program, sizes};
use crate::{Info, Outcome, Size, Workload};
use strata_host::HostError;

const SHAPES: Shapes<4> = [
    (Size::Tiny, Schedule { warm_up: 3, warm_up_batch: 2, batch: 4, side: 16, width: 1 }),
    (Size::Small, Schedule { warm_up: 100, warm_up_batch: 2, batch: 112, side: 16, width: 1 }),
    (Size::Medium, Schedule { warm_up: 200, warm_up_batch: 4, batch: 72, side: 24, width: 2 }),
    // Pictures as the paper has them, which decide how feature maps compress; a narrow network, and few steps.
    (Size::PaperBuddy, Schedule { warm_up: 12, warm_up_batch: 1, batch: 2, side: PUBLISHED_SIDE, width: 2 }),
];

/// Momentum and decay are the published ones.
const SOLVER: Solver = Solver { rate: 0.003, momentum: 0.9, decay: 0.0005 };

pub(super) const PROGRAM: &dyn Workload = &Program {
    info: Info {
        name: "vgg",
        suite: "deep-learning",
        papers: &["buddy"],
        sizes: &sizes(&SHAPES),
        aliases: &["VGG16"],
        description: "training of a convolutional network of stacked 3x3 convolutions",
    },
    module: &NEURAL,
    shapes: &SHAPES,
    run,
};

fn run(schedule: &Schedule, seed: u64, gpu: &mut Gpu<'_>) -> Result<Outcome, HostError> {
    train(network, schedule, SOLVER, seed, gpu)
}

/// Convolutions and channels of each stack.
const STACKS: [(usize, usize); 4] = [(2, 8), (2, 16), (3, 16), (3, 24)];
/// The same of a network of width 1, which is to be trained in a second.
const THIN_STACKS: [(usize, usize); 4] = [(1, 8), (1, 8), (2, 16), (2, 16)];

fn network(schedule: &Schedule) -> Network {
    let stacks = if schedule.width == 1 { THIN_STACKS } else { STACKS };
    let (mut net, mut x) = Network::new(schedule.side);
    for (stack, (count, channels)) in (1..).zip(stacks) {
        for conv in 1..=count {
            x = net.conv_relu(&format!("conv{stack}_{conv}"), x, channels, window(3, 1, 1));
        }
        x = net.max_pool(&format!("pool{stack}"), x, window(2, 2, 0));
    }
    for layer in ["fc6", "fc7"] {
        x = net.dense_relu(layer, x, 128 * schedule.width * schedule.width);
        x = net.dropout(x);
    }
    net.classifier("fc8", x, CLASSES);
    net
}
