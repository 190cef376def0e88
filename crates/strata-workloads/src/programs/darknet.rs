//! The Darknet reference network: classification of pictures.

use crate::gpu::Gpu;
use crate::nn::NEURAL;
use crate::nn::inference::{Framing, Network, Scale, Shapes, infer};
use crate::program::{Program, sizes};
use crate::{Info, Outcome, Size, Workload};
use strata_host::HostError;

const SHAPES: Shapes<4> = [
    (Size::Tiny, Scale { side: 32, thinner: 8, images: 2 }),
    (Size::Small, Scale { side: 128, thinner: 1, images: 1 }),
    (Size::Medium, MEDIUM),
    (Size::PaperCmd, MEDIUM),
];
/// The published network: sides and channels of `darknet.cfg`, one picture at a time as Darknet classifies.
const MEDIUM: Scale = Scale { side: 224, thinner: 1, images: 1 };

/// Those of ILSVRC2012.
const CLASSES: usize = 1000;

pub(super) const PROGRAM: &dyn Workload = &Program {
    info: Info {
        name: "darknet",
        suite: "darknet",
        papers: &["cmd"],
        sizes: &sizes(&SHAPES),
        aliases: &[],
        description: "inference with the Darknet reference classifier",
    },
    module: &NEURAL,
    shapes: &SHAPES,
    run,
};

fn run(scale: &Scale, seed: u64, gpu: &mut Gpu<'_>) -> Result<Outcome, HostError> {
    infer(network, Framing::Cropped, scale, seed, gpu)
}

fn network(scale: &Scale) -> Network {
    let mut net = Network::new(scale);
    for filters in [16, 32, 64, 128, 256, 512] {
        net.conv(filters);
        net.max_pool(2);
    }
    net.conv(1024);
    net.classify(CLASSES);
    net
}
