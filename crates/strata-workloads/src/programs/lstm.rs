//! Training of a small language model: two layers of long short-term memory with projections, softmax over all words.

use crate::gpu::Gpu;
use crate::nn::{NEURAL, Reading, Sizes, read_text};
use crate::program::{Program, sizes};
use crate::{Info, Outcome, Size, Workload};
use strata_host::HostError;

const SHAPES: [(Size, Reading); 4] = [
    (
        Size::Tiny,
        Reading {
            sizes: Sizes { vocabulary: 200, units: 16, width: 8, steps: 4 },
            warm_up: 3,
            warm_up_texts: 2,
            texts: 4,
        },
    ),
    (
        Size::Small,
        Reading {
            sizes: Sizes { vocabulary: 300, units: 32, width: 16, steps: 8 },
            warm_up: 100,
            warm_up_texts: 4,
            texts: 112,
        },
    ),
    (Size::Medium, MEDIUM),
    (Size::PaperBuddy, MEDIUM),
];
const MEDIUM: Reading = Reading {
    sizes: Sizes { vocabulary: 1500, units: 96, width: 24, steps: 16 },
    warm_up: 200,
    warm_up_texts: 3,
    texts: 80,
};

/// Adagrad's rate, as BigLSTM was trained (Jozefowicz et al., 2016).
const RATE: f32 = 0.2;

pub(super) const PROGRAM: &dyn Workload = &Program {
    info: Info {
        name: "lstm",
        suite: "deep-learning",
        papers: &["buddy"],
        sizes: &sizes(&SHAPES),
        aliases: &["BigLSTM"],
        description: "training of a language model with long short-term memory",
    },
    module: &NEURAL,
    shapes: &SHAPES,
    run,
};

fn run(reading: &Reading, seed: u64, gpu: &mut Gpu<'_>) -> Result<Outcome, HostError> {
    read_text(reading, RATE, seed, gpu)
}
