//! Training of a small Inception network: mixed blocks of four branches with batch normalisation.

use crate::gpu::Gpu;
use crate::nn::{Blob, CLASSES, NEURAL, Network, PUBLISHED_SIDE, Schedule, Shapes, Solver, train, window};
use crate::program::{Program, sizes};
use crate::{Info, Outcome, Size, Workload};
use strata_host::HostError;

const SHAPES: Shapes<4> = [
    (Size::Tiny, Schedule { warm_up: 3, warm_up_batch: 2, batch: 4, side: 16, width: 1 }),
    (Size::Small, Schedule { warm_up: 100, warm_up_batch: 3, batch: 96, side: 16, width: 1 }),
    (Size::Medium, Schedule { warm_up: 180, warm_up_batch: 3, batch: 56, side: 24, width: 2 }),
    // Pictures as the paper has them, which decide how feature maps compress; a narrow network, and few steps.
    (Size::PaperBuddy, Schedule { warm_up: 12, warm_up_batch: 1, batch: 2, side: PUBLISHED_SIDE, width: 2 }),
];

/// Momentum and decay are the published ones.
const SOLVER: Solver = Solver { rate: 0.01, momentum: 0.9, decay: 0.0002 };

pub(super) const PROGRAM: &dyn Workload = &Program {
    info: Info {
        name: "inception",
        suite: "deep-learning",
        papers: &["buddy"],
        sizes: &sizes(&SHAPES),
        aliases: &["Inception v2", "Inception-v2", "InceptionV2"],
        description: "training of a convolutional network of mixed blocks",
    },
    module: &NEURAL,
    shapes: &SHAPES,
    run,
};

fn run(schedule: &Schedule, seed: u64, gpu: &mut Gpu<'_>) -> Result<Outcome, HostError> {
    train(network, schedule, SOLVER, seed, gpu)
}

/// 1x1, 3x3, two 3x3 in sequence, and pooling with 1x1, side by side.
fn mixed(net: &mut Network, name: &str, x: Blob, channels: usize) -> Blob {
    let (point, field) = (window(1, 1, 0), window(3, 1, 1));
    let label = |branch: &str| format!("{name}/{branch}");
    let ones = net.conv_norm_relu(&label("1x1"), x, channels, point);
    let threes = net.conv_norm_relu(&label("3x3_reduce"), x, channels, point);
    let threes = net.conv_norm_relu(&label("3x3"), threes, channels, field);
    let double = net.conv_norm_relu(&label("double3x3_reduce"), x, channels, point);
    let double = net.conv_norm_relu(&label("double3x3a"), double, channels, field);
    let double = net.conv_norm_relu(&label("double3x3b"), double, channels, field);
    let pooled = net.mean_pool(&label("pool"), x, field);
    let pooled = net.conv_norm_relu(&label("pool_proj"), pooled, channels, point);
    net.concat(&label("output"), &[ones, threes, double, pooled])
}

/// The blocks that shrink the image: 3x3 and double 3x3 with stride 2, and a maximum.
fn shrinking(net: &mut Network, name: &str, x: Blob, channels: usize) -> Blob {
    let (point, stride) = (window(1, 1, 0), window(3, 2, 1));
    let label = |branch: &str| format!("{name}/{branch}");
    let threes = net.conv_norm_relu(&label("3x3_reduce"), x, channels, point);
    let threes = net.conv_norm_relu(&label("3x3"), threes, channels, stride);
    let double = net.conv_norm_relu(&label("double3x3_reduce"), x, channels, point);
    let double = net.conv_norm_relu(&label("double3x3a"), double, channels, window(3, 1, 1));
    let double = net.conv_norm_relu(&label("double3x3b"), double, channels, stride);
    let largest = net.max_pool(&label("pool"), x, window(2, 2, 0));
    net.concat(&label("output"), &[threes, double, largest])
}

fn network(schedule: &Schedule) -> Network {
    // A network of width 1 is to be trained in a second: it has one block of each kind.
    let width = schedule.width;
    let (mut net, data) = Network::new(schedule.side);
    // Small pictures have a smaller first kernel than the published one.
    let first = if schedule.side < PUBLISHED_SIDE { window(3, 2, 1) } else { window(7, 2, 3) };
    let x = net.conv_norm_relu("conv1", data, 8 * width, first);
    let x = net.max_pool("pool1", x, window(2, 2, 0));
    let x = mixed(&mut net, "inception_3a", x, 8 * width);
    let x = if width > 1 { mixed(&mut net, "inception_3b", x, 8 * width) } else { x };
    let x = shrinking(&mut net, "inception_3c", x, 8 * width);
    let x = mixed(&mut net, "inception_4a", x, 16 * width);
    let x = if width > 1 { mixed(&mut net, "inception_4b", x, 16 * width) } else { x };
    let x = net.global_mean("pool5", x);
    net.classifier("loss/classifier", x, CLASSES);
    net
}
