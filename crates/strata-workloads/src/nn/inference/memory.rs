//! What a network holds in device memory: one allocation per array, as in Darknet.
//!
//! Of what Darknet allocates only that is left out which inference never touches (the updates of the parameters and what
//! training remembers of a batch). `delta` is there: Darknet clears it in every pass. All but parameters and input begin as
//! zeros, as Darknet's host copies of them do.

use super::layers::{Conv, Network, Op};
use super::weights::Parameters;
use crate::gpu::{Array, Gpu};
use strata_core::Addr;
use strata_host::HostError;

/// Where a layer's arrays are; nowhere, if it has no such array.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) output: Addr,
    pub(super) delta: Addr,
    /// A normalised convolution: its results before that. A maximum: where each was found.
    pub(super) kept: Addr,
    pub(super) weights: Addr,
    pub(super) biases: Addr,
    pub(super) scales: Addr,
    pub(super) mean: Addr,
    pub(super) variance: Addr,
}

impl Place {
    const NOWHERE: Self = {
        let none = Addr(0);
        Self {
            output: none,
            delta: none,
            kept: none,
            weights: none,
            biases: none,
            scales: none,
            mean: none,
            variance: none,
        }
    };
}

/// Where everything is.
pub(super) struct Memory {
    pub(super) layers: Vec<Place>,
    /// The unfolded image of one convolution at a time.
    pub(super) workspace: Addr,
    /// Parts of split products.
    pub(super) partials: Addr,
    /// The output of each layer, for the host.
    pub(super) outputs: Vec<Array<f32>>,
}

impl Memory {
    /// Nowhere: for a plan that is made to learn what it needs.
    pub(super) fn nowhere(network: &Network) -> Self {
        let layers = vec![Place::NOWHERE; network.layers.len()];
        Self { layers, workspace: Addr(0), partials: Addr(0), outputs: Vec::new() }
    }

    /// Allocates everything for `images` images, with `workspace` and `partials` values for those.
    pub(super) fn allocate(
        network: &Network,
        parameters: &[Parameters],
        images: usize,
        (workspace, partials): (usize, usize),
        gpu: &mut Gpu<'_>,
    ) -> Result<Self, HostError> {
        let mut memory = Self::nowhere(network);
        for ((layer, place), parameters) in network.layers.iter().zip(&mut memory.layers).zip(parameters) {
            let len = images * layer.shape.len();
            let name = |what: &str| format!("{}.{what}", layer.name);
            let output = gpu.zeros(&name("output"), len)?;
            memory.outputs.push(output);
            place.output = output.address();
            if layer.op == Op::Image {
                continue;
            }
            place.delta = gpu.zeros::<f32>(&name("delta"), len)?.address();
            let mut copy = |what: &str, values: &[f32]| gpu.array_of(&name(what), values).map(Array::address);
            match layer.op {
                Op::Conv(Conv { normalised, .. }) => {
                    place.weights = copy("weights", &parameters.weights)?;
                    place.biases = copy("biases", &parameters.biases)?;
                    if normalised {
                        place.scales = copy("scales", &parameters.scales)?;
                        place.mean = copy("rolling_mean", &parameters.mean)?;
                        place.variance = copy("rolling_variance", &parameters.variance)?;
                        place.kept = gpu.zeros::<f32>(&name("x"), len)?.address();
                    }
                }
                Op::MaxPool(_) => place.kept = gpu.zeros::<i32>(&name("indexes"), len)?.address(),
                _ => {}
            }
        }
        memory.workspace = gpu.zeros::<f32>("workspace", workspace.max(1))?.address();
        memory.partials = gpu.zeros::<f32>("partials", partials.max(1))?.address();
        Ok(memory)
    }
}
