//! Training of a small AlexNet: five convolutions with local response normalisation, three large dense layers.

use crate::gpu::Gpu;
use crate::nn::{CLASSES, NEURAL, Network, PUBLISHED_SIDE, Schedule, Shapes, Solver, train, window};
use crate::program::{Program, sizes};
use crate::{Info, Outcome, Size, Workload};
use strata_host::HostError;

const SHAPES: Shapes<4> = [
    (Size::Tiny, Schedule { warm_up: 3, warm_up_batch: 2, batch: 4, side: 16, width: 1 }),
    (Size::Small, Schedule { warm_up: 100, warm_up_batch: 4, batch: 192, side: 16, width: 1 }),
    (Size::Medium, Schedule { warm_up: 200, warm_up_batch: 4, batch: 112, side: 32, width: 2 }),
    // Pictures as the paper has them, which decide how feature maps compress; a narrow network, and few steps.
    (Size::PaperBuddy, Schedule { warm_up: 30, warm_up_batch: 2, batch: 4, side: PUBLISHED_SIDE, width: 2 }),
];

/// Momentum and decay are the published ones.
const SOLVER: Solver = Solver { rate: 0.003, momentum: 0.9, decay: 0.0005 };

pub(super) const PROGRAM: &dyn Workload = &Program {
    info: Info {
        name: "alexnet",
        suite: "deep-learning",
        papers: &["buddy"],
        sizes: &sizes(&SHAPES),
        aliases: &[],
        description: "training of a convolutional network with three large dense layers",
    },
    module: &NEURAL,
    shapes: &SHAPES,
    run,
};

fn run(schedule: &Schedule, seed: u64, gpu: &mut Gpu<'_>) -> Result<Outcome, HostError> {
    train(network, schedule, SOLVER, seed, gpu)
}

fn network(schedule: &Schedule) -> Network {
    let width = schedule.width;
    let (mut net, data) = Network::new(schedule.side);
    // Small pictures have a smaller first kernel than the published one.
    let first = if schedule.side < PUBLISHED_SIDE { window(5, 2, 2) } else { window(11, 4, 2) };
    let x = net.conv_relu("conv1", data, 8 * width, first);
    let x = net.lrn("norm1", x);
    let x = net.max_pool("pool1", x, window(3, 2, 0));
    let x = net.conv_relu("conv2", x, 12 * width, window(3, 1, 1));
    let x = net.lrn("norm2", x);
    let x = net.max_pool("pool2", x, window(3, 2, 0));
    let x = net.conv_relu("conv3", x, 16 * width, window(3, 1, 1));
    let x = net.conv_relu("conv4", x, 16 * width, window(3, 1, 1));
    let x = net.conv_relu("conv5", x, 12 * width, window(3, 1, 1));
    let x = net.max_pool("pool5", x, window(3, 2, 0));
    let x = net.dense_relu("fc6", x, 128 * width * width);
    let x = net.dropout(x);
    let x = net.dense_relu("fc7", x, 128 * width * width);
    let x = net.dropout(x);
    net.classifier("fc8", x, CLASSES);
    net
}
