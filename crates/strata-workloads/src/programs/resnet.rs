//! Training of a small residual network: bottleneck blocks with batch normalisation.

use crate::gpu::Gpu;
use crate::nn::{Blob, CLASSES, NEURAL, Network, PUBLISHED_SIDE, Schedule, Shapes, Solver, train, window};
use crate::program::{Program, sizes};
use crate::{Info, Outcome, Size, Workload};
use strata_host::HostError;

const SHAPES: Shapes<4> = [
    (Size::Tiny, Schedule { warm_up: 3, warm_up_batch: 2, batch: 4, side: 16, width: 1 }),
    (Size::Small, Schedule { warm_up: 100, warm_up_batch: 4, batch: 128, side: 16, width: 1 }),
    (Size::Medium, Schedule { warm_up: 200, warm_up_batch: 4, batch: 96, side: 32, width: 2 }),
    // Pictures as the paper has them, which decide how feature maps compress; a narrow network, and few steps.
    (Size::PaperBuddy, Schedule { warm_up: 30, warm_up_batch: 2, batch: 4, side: PUBLISHED_SIDE, width: 2 }),
];

/// Momentum and decay are the published ones.
const SOLVER: Solver = Solver { rate: 0.01, momentum: 0.9, decay: 0.0001 };

pub(super) const PROGRAM: &dyn Workload = &Program {
    info: Info {
        name: "resnet",
        suite: "deep-learning",
        papers: &["buddy"],
        sizes: &sizes(&SHAPES),
        aliases: &["ResNet50", "ResNet-50"],
        description: "training of a residual network of bottleneck blocks",
    },
    module: &NEURAL,
    shapes: &SHAPES,
    run,
};

fn run(schedule: &Schedule, seed: u64, gpu: &mut Gpu<'_>) -> Result<Outcome, HostError> {
    train(network, schedule, SOLVER, seed, gpu)
}

/// 1x1, 3x3, 1x1, around them the input itself, or its projection where the shape changes.
fn bottleneck(net: &mut Network, name: &str, x: Blob, channels: usize, stride: Option<usize>) -> Blob {
    let step = stride.unwrap_or(1);
    let shortcut = match stride {
        Some(stride) => net.conv_norm(&format!("{name}_branch1"), x, 4 * channels, window(1, stride, 0)),
        None => x,
    };
    let y = net.conv_norm_relu(&format!("{name}_branch2a"), x, channels, window(1, step, 0));
    let y = net.conv_norm_relu(&format!("{name}_branch2b"), y, channels, window(3, 1, 1));
    let y = net.conv_norm(&format!("{name}_branch2c"), y, 4 * channels, window(1, 1, 0));
    let sum = net.add(name, shortcut, y);
    net.relu(sum)
}

/// Blocks of each stage; channels double from stage to stage while pixels halve.
const STAGES: [usize; 3] = [2, 2, 2];

fn network(schedule: &Schedule) -> Network {
    let (mut net, data) = Network::new(schedule.side);
    let mut channels = 4 * schedule.width;
    // Small pictures have a smaller first kernel than the published one.
    let first = if schedule.side < PUBLISHED_SIDE { window(3, 2, 1) } else { window(7, 2, 3) };
    let x = net.conv_norm_relu("conv1", data, 2 * channels, first);
    let mut x = net.max_pool("pool1", x, window(3, 2, 0));
    for (stage, blocks) in (2..).zip(STAGES) {
        for (block, letter) in (0..blocks).zip('a'..) {
            let stride = (block == 0).then_some(if stage == 2 { 1 } else { 2 });
            x = bottleneck(&mut net, &format!("res{stage}{letter}"), x, channels, stride);
        }
        channels *= 2;
    }
    let x = net.global_mean("pool5", x);
    net.classifier("fc1000", x, CLASSES);
    net
}
