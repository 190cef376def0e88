//! What a convolutional network holds in device memory: one allocation per tensor, as in Caffe.
//!
//! Every tensor between layers has its data and its gradient (`conv1.data`, `conv1.diff`; the input has no gradient),
//! every parameter its data, gradient and history. Some layers keep something for the way back: where a maximum was
//! found, random numbers of a dropout, scales of a normalisation.

use super::network::{Network, Op, Param};
use crate::gpu::{Array, Gpu};
use crate::rng::Rng;
use strata_core::Addr;
use strata_host::HostError;

/// Where a parameter is.
pub(crate) struct ParamPlace {
    pub(crate) data: Addr,
    pub(crate) diff: Addr,
    pub(crate) history: Addr,
}

/// Where everything is.
pub(crate) struct Tensors {
    /// Per blob.
    pub(crate) data: Vec<Addr>,
    pub(crate) diff: Vec<Addr>,
    /// Per layer: what it keeps, if it keeps something.
    pub(crate) extra: Vec<Addr>,
    pub(crate) params: Vec<ParamPlace>,
    pub(crate) labels: Addr,
    pub(crate) probabilities: Addr,
    pub(crate) losses: Addr,
    /// The number of the step, for random numbers.
    pub(crate) step: Addr,
    /// Unfolded images, and parts of split products.
    pub(crate) columns: Addr,
    pub(crate) partials: Addr,
}

/// The arrays that the host reads and writes.
pub(crate) struct HostArrays {
    pub(crate) images: Array<f32>,
    pub(crate) labels: Array<i32>,
    pub(crate) step: Array<u32>,
    pub(crate) scores: Array<f32>,
    pub(crate) losses: Array<f32>,
    pub(crate) weights: Vec<Array<f32>>,
    pub(crate) histories: Vec<Array<f32>>,
}

impl Tensors {
    /// Nowhere: for a plan that is made to learn what it needs.
    pub(crate) fn nowhere(network: &Network) -> Self {
        let none = Addr(0);
        let place = |_: &Param| ParamPlace { data: none, diff: none, history: none };
        Self {
            data: vec![none; network.blobs.len()],
            diff: vec![none; network.blobs.len()],
            extra: vec![none; network.layers.len()],
            params: network.params.iter().map(place).collect(),
            labels: none,
            probabilities: none,
            losses: none,
            step: none,
            columns: none,
            partials: none,
        }
    }

    /// Allocates everything for `batch` images and initialises the parameters. Gradients and histories begin as zeros;
    /// the other tensors are zeros too until a step writes them, as memory fresh from the driver is.
    pub(crate) fn allocate(
        network: &Network,
        batch: usize,
        (columns, partials): (usize, usize),
        seed: u64,
        gpu: &mut Gpu<'_>,
    ) -> Result<(Self, HostArrays), HostError> {
        let mut tensors = Self::nowhere(network);
        let (mut data, mut weights, mut histories) = (Vec::new(), Vec::new(), Vec::new());
        for (index, blob) in network.blobs.iter().enumerate() {
            let len = batch * blob.shape.len();
            let array = gpu.zeros::<f32>(&format!("{}.data", blob.name), len)?;
            tensors.data[index] = array.address();
            if index != Network::INPUT.0 {
                tensors.diff[index] = gpu.zeros::<f32>(&format!("{}.diff", blob.name), len)?.address();
            }
            data.push(array);
        }
        for (index, layer) in network.layers.iter().enumerate() {
            let shape = network.shape(layer.output);
            let (what, len) = match layer.op {
                Op::MaxPool(_) => ("max_index", batch * shape.len()),
                Op::Dropout => ("dropout_mask", batch * shape.len()),
                Op::Lrn => ("scale", batch * shape.len()),
                Op::BatchNorm { .. } => ("statistics", 2 * shape.channels),
                _ => continue,
            };
            tensors.extra[index] = gpu.zeros::<f32>(&format!("{}.{what}", layer.name), len)?.address();
        }
        for (param, place) in network.params.iter().zip(&mut tensors.params) {
            let array = gpu.array_of(&param.name, &initial(param, seed))?;
            let diff = gpu.zeros::<f32>(&format!("{}.diff", param.name), param.len)?;
            let history = gpu.zeros::<f32>(&format!("{}.history", param.name), param.len)?;
            *place = ParamPlace { data: array.address(), diff: diff.address(), history: history.address() };
            weights.push(array);
            histories.push(history);
        }
        let scores = network.scores();
        let labels = gpu.array::<i32>("label", batch)?;
        let losses = gpu.zeros::<f32>("loss", batch)?;
        let step = gpu.array::<u32>("step", 1)?;
        tensors.labels = labels.address();
        tensors.losses = losses.address();
        tensors.step = step.address();
        tensors.probabilities = gpu.zeros::<f32>("probabilities", batch * network.shape(scores).len())?.address();
        tensors.columns = gpu.zeros::<f32>("columns", columns.max(1))?.address();
        tensors.partials = gpu.zeros::<f32>("partials", partials.max(1))?.address();
        let (images, scores) = (data[Network::INPUT.0], data[scores.0]);
        Ok((tensors, HostArrays { images, labels, step, scores, losses, weights, histories }))
    }
}

/// The values that a parameter begins with.
pub(crate) fn initial(param: &Param, seed: u64) -> Vec<f32> {
    let mut random = Rng::new(seed, &param.name);
    let (mean, deviation) = param.initial;
    (0..param.len).map(|_| mean + deviation * random.bell()).collect()
}
