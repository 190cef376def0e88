//! `YOLOv3`: residual blocks, and detections at three scales.

use crate::gpu::Gpu;
use crate::nn::NEURAL;
use crate::nn::inference::{Detector, Framing, Network, Scale, Shapes, infer};
use crate::program::{Program, sizes};
use crate::{Info, Outcome, Size, Workload};
use strata_host::HostError;

const SHAPES: Shapes<4> = [
    (Size::Tiny, Scale { side: 64, thinner: 16, images: 1 }),
    (Size::Small, Scale { side: 128, thinner: 4, images: 1 }),
    (Size::Medium, MEDIUM),
    (Size::PaperCmd, MEDIUM),
];
/// A quarter of the channels of `yolov3.cfg`, half its side.
const MEDIUM: Scale = Scale { side: 224, thinner: 4, images: 1 };

/// Boxes per place of each scale, and the classes of MSCOCO.
const BOXES: Detector = Detector { anchors: 3, classes: 80, exclusive: false };

pub(super) const PROGRAM: &dyn Workload = &Program {
    info: Info {
        name: "yolo3",
        suite: "darknet",
        papers: &["cmd"],
        sizes: &sizes(&SHAPES),
        aliases: &["yolov3"],
        description: "inference with YOLOv3, a residual detector at three scales",
    },
    module: &NEURAL,
    shapes: &SHAPES,
    run,
};

fn run(scale: &Scale, seed: u64, gpu: &mut Gpu<'_>) -> Result<Outcome, HostError> {
    infer(network, Framing::Letterboxed, scale, seed, gpu)
}

/// Half the sides, then blocks that add something to what they were given.
fn stage(net: &mut Network, filters: usize, blocks: usize) -> usize {
    let mut given = net.halve(filters);
    for _ in 0..blocks {
        net.mix(filters / 2);
        net.conv(filters);
        given = net.shortcut(given);
    }
    given
}

/// The layers of one scale and its detections; the layer that the next finer scale goes on from.
fn head(net: &mut Network, filters: usize) -> usize {
    for _ in 0..2 {
        net.mix(filters);
        net.conv(2 * filters);
    }
    let branch = net.mix(filters);
    net.conv(2 * filters);
    net.detect(BOXES);
    branch
}

/// Goes on from `branch` at twice the sides, beside what the stage of this scale gave.
fn finer(net: &mut Network, branch: usize, filters: usize, stage: usize) {
    net.route(&[branch]);
    net.mix(filters);
    let wide = net.upsample();
    net.route(&[wide, stage]);
}

fn network(scale: &Scale) -> Network {
    let mut net = Network::new(scale);
    net.conv(32);
    stage(&mut net, 64, 1);
    stage(&mut net, 128, 2);
    let fine = stage(&mut net, 256, 8);
    let middle = stage(&mut net, 512, 8);
    stage(&mut net, 1024, 4);
    let branch = head(&mut net, 512);
    finer(&mut net, branch, 256, middle);
    let branch = head(&mut net, 256);
    finer(&mut net, branch, 128, fine);
    head(&mut net, 128);
    net
}
