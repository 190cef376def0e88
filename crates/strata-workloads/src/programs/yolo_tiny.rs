//! Tiny YOLO: a detector of few layers.

use crate::gpu::Gpu;
use crate::nn::NEURAL;
use crate::nn::inference::{Detector, Framing, Network, Scale, Shapes, infer};
use crate::program::{Program, sizes};
use crate::{Info, Outcome, Size, Workload};
use strata_host::HostError;

const SHAPES: Shapes<4> = [
    (Size::Tiny, Scale { side: 32, thinner: 8, images: 2 }),
    (Size::Small, Scale { side: 192, thinner: 2, images: 1 }),
    (Size::Medium, MEDIUM),
    (Size::PaperCmd, MEDIUM),
];
/// All channels of `yolov2-tiny.cfg`, half its side.
const MEDIUM: Scale = Scale { side: 224, thinner: 1, images: 1 };

/// Boxes per place, and the classes of MSCOCO.
const BOXES: Detector = Detector { anchors: 5, classes: 80, exclusive: true };

pub(super) const PROGRAM: &dyn Workload = &Program {
    info: Info {
        name: "yolo-tiny",
        suite: "darknet",
        papers: &["cmd"],
        sizes: &sizes(&SHAPES),
        aliases: &["tiny", "tiny-yolo"],
        description: "inference with Tiny YOLO, a small detector",
    },
    module: &NEURAL,
    shapes: &SHAPES,
    run,
};

fn run(scale: &Scale, seed: u64, gpu: &mut Gpu<'_>) -> Result<Outcome, HostError> {
    infer(network, Framing::Letterboxed, scale, seed, gpu)
}

fn network(scale: &Scale) -> Network {
    let mut net = Network::new(scale);
    for filters in [16, 32, 64, 128, 256] {
        net.conv(filters);
        net.max_pool(2);
    }
    net.conv(512);
    net.max_pool(1);
    net.conv(1024);
    net.conv(512);
    net.detect(BOXES);
    net
}
