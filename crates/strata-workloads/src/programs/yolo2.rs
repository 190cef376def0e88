//! `YOLOv2`: a detector that also looks at features of the finer scale before its last.

use crate::gpu::Gpu;
use crate::nn::NEURAL;
use crate::nn::inference::{Detector, Framing, Network, Scale, Shapes, infer};
use crate::program::{Program, sizes};
use crate::{Info, Outcome, Size, Workload};
use strata_host::HostError;

const SHAPES: Shapes<4> = [
    (Size::Tiny, Scale { side: 32, thinner: 16, images: 2 }),
    (Size::Small, Scale { side: 192, thinner: 4, images: 1 }),
    (Size::Medium, MEDIUM),
    (Size::PaperCmd, MEDIUM),
];
/// Half the channels of `yolov2.cfg` and half its side.
const MEDIUM: Scale = Scale { side: 192, thinner: 2, images: 1 };

/// Boxes per place, and the classes of MSCOCO.
const BOXES: Detector = Detector { anchors: 5, classes: 80, exclusive: true };

pub(super) const PROGRAM: &dyn Workload = &Program {
    info: Info {
        name: "yolo2",
        suite: "darknet",
        papers: &["cmd"],
        sizes: &sizes(&SHAPES),
        aliases: &["yolov2"],
        description: "inference with YOLOv2, a detector with a pass-through layer",
    },
    module: &NEURAL,
    shapes: &SHAPES,
    run,
};

fn run(scale: &Scale, seed: u64, gpu: &mut Gpu<'_>) -> Result<Outcome, HostError> {
    infer(network, Framing::Letterboxed, scale, seed, gpu)
}

/// 3x3 convolutions with 1x1 convolutions of half as many channels between them.
fn stack(net: &mut Network, filters: usize, convolutions: usize) -> usize {
    for convolution in 0..convolutions {
        if convolution > 0 {
            net.mix(filters / 2);
        }
        net.conv(filters);
    }
    net.last()
}

fn network(scale: &Scale) -> Network {
    let mut net = Network::new(scale);
    for (filters, convolutions) in [(32, 1), (64, 1), (128, 2), (256, 2)] {
        stack(&mut net, filters, convolutions);
        net.max_pool(2);
    }
    let fine = stack(&mut net, 512, 3);
    net.max_pool(2);
    stack(&mut net, 1024, 3);
    net.conv(1024);
    let coarse = net.conv(1024);
    net.route(&[fine]);
    net.mix(64);
    let passed = net.reorganise();
    net.route(&[passed, coarse]);
    net.conv(1024);
    net.detect(BOXES);
    net
}
