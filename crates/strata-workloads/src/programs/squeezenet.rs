//! Training of a small SqueezeNet: fire modules instead of large convolutions, no dense layer.

use crate::gpu::Gpu;
use crate::nn::{Blob, CLASSES, NEURAL, Network, PUBLISHED_SIDE, Schedule, Shapes, Solver, train, window};
use crate::program::{Program, sizes};
use crate::{Info, Outcome, Size, Workload};
use strata_host::HostError;

const SHAPES: Shapes<4> = [
    (Size::Tiny, Schedule { warm_up: 3, warm_up_batch: 2, batch: 4, side: 16, width: 1 }),
    (Size::Small, Schedule { warm_up: 100, warm_up_batch: 3, batch: 112, side: 16, width: 1 }),
    (Size::Medium, Schedule { warm_up: 200, warm_up_batch: 3, batch: 64, side: 32, width: 2 }),
    // Pictures as the paper has them, which decide how feature maps compress; a narrow network, and few steps.
    (Size::PaperBuddy, Schedule { warm_up: 30, warm_up_batch: 2, batch: 4, side: PUBLISHED_SIDE, width: 2 }),
];

/// Momentum and decay are the published ones.
const SOLVER: Solver = Solver { rate: 0.004, momentum: 0.9, decay: 0.0002 };

pub(super) const PROGRAM: &dyn Workload = &Program {
    info: Info {
        name: "squeezenet",
        suite: "deep-learning",
        papers: &["buddy"],
        sizes: &sizes(&SHAPES),
        aliases: &["SqueezeNet v1.1", "SqueezeNetv1.1"],
        description: "training of a convolutional network of fire modules without dense layers",
    },
    module: &NEURAL,
    shapes: &SHAPES,
    run,
};

fn run(schedule: &Schedule, seed: u64, gpu: &mut Gpu<'_>) -> Result<Outcome, HostError> {
    train(network, schedule, SOLVER, seed, gpu)
}

/// A fire module: few channels at each pixel, then as many 1x1 as 3x3 convolutions of these, side by side.
fn fire(net: &mut Network, name: &str, x: Blob, squeeze: usize, expand: usize) -> Blob {
    let squeezed = net.conv_relu(&format!("{name}/squeeze1x1"), x, squeeze, window(1, 1, 0));
    let ones = net.conv_relu(&format!("{name}/expand1x1"), squeezed, expand, window(1, 1, 0));
    let threes = net.conv_relu(&format!("{name}/expand3x3"), squeezed, expand, window(3, 1, 1));
    net.concat(&format!("{name}/concat"), &[ones, threes])
}

fn network(schedule: &Schedule) -> Network {
    let width = schedule.width;
    let (mut net, data) = Network::new(schedule.side);
    let x = net.conv_relu("conv1", data, 16 * width, window(3, 2, 1));
    let x = net.max_pool("pool1", x, window(3, 2, 0));
    let x = fire(&mut net, "fire2", x, 8 * width, 16 * width);
    let x = fire(&mut net, "fire3", x, 8 * width, 16 * width);
    let x = net.max_pool("pool3", x, window(3, 2, 0));
    let x = fire(&mut net, "fire4", x, 8 * width, 24 * width);
    let x = fire(&mut net, "fire5", x, 8 * width, 24 * width);
    let x = net.max_pool("pool5", x, window(3, 2, 0));
    let x = fire(&mut net, "fire6", x, 12 * width, 32 * width);
    let x = fire(&mut net, "fire7", x, 12 * width, 32 * width);
    let x = fire(&mut net, "fire8", x, 16 * width, 32 * width);
    let x = fire(&mut net, "fire9", x, 16 * width, 32 * width);
    let x = net.dropout(x);
    let x = net.conv_relu("conv10", x, CLASSES, window(1, 1, 0));
    net.global_mean("pool10", x);
    net
}
