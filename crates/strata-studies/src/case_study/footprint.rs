//! How much memory one training iteration takes, by mini-batch size (figure 15a).
//!
//! The model, all in 32-bit floating point:
//!
//! * weights and one value of optimiser state for each (momentum of SGD in Caffe's solver; the sum of Adagrad, with which
//!   Jozefowicz et al. trained), and a gradient for each that has one;
//! * for each sample its input, and every output that the backward pass needs, with its gradient beside it: a blob of Caffe is
//!   data and diff (Jia et al., 2014);
//! * a workspace: the largest lowered input of a convolution; Caffe lowers one image at a time, and the allocator of a framework
//!   gives each layer the same memory (Chetlur et al., cuDNN, 2014, section 3).
//!
//! Left out: the CUDA context, masks of dropout, fragmentation.

use super::Network;
use strata_core::Bytes;

/// Bytes of a value.
pub(super) const VALUE: u64 = 4;

/// What an iteration takes, apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Footprint {
    /// Weights, optimiser state, gradients, workspace: whatever the batch.
    pub fixed: Bytes,
    /// Each sample.
    pub per_sample: Bytes,
}

impl Footprint {
    /// What an iteration of this network takes.
    pub fn of(network: &Network) -> Self {
        let sum = |of: fn(&super::Operation) -> u64| network.operations.iter().map(of).sum::<u64>();
        let workspace = network.products().map(|product| product.lowered).max().unwrap_or(0);
        let fixed = 2 * network.parameters() + sum(|operation| operation.gradients) + workspace;
        let per_sample = network.input + 2 * sum(|operation| operation.kept);
        Self { fixed: Bytes(VALUE * fixed), per_sample: Bytes(VALUE * per_sample) }
    }

    /// All of it for a mini-batch.
    pub fn bytes(&self, batch: u64) -> Bytes {
        Bytes(self.per_sample.0.saturating_mul(batch).saturating_add(self.fixed.0))
    }

    /// The mini-batch at which samples take as much as everything else: from there on the footprint grows with it.
    pub fn knee(&self) -> f64 {
        self.fixed.0 as f64 / self.per_sample.0 as f64
    }

    /// The largest mini-batch in a memory of so many bytes that holds `ratio` times as much; `None` if no sample fits.
    pub fn largest_batch(&self, capacity: Bytes, ratio: f64) -> Option<u64> {
        let room = (capacity.0 as f64 * ratio) as u64;
        let batch = room.checked_sub(self.fixed.0)?.checked_div(self.per_sample.0)?;
        (batch > 0).then_some(batch)
    }
}

/// Bytes of a training iteration with this mini-batch.
pub fn footprint(network: &Network, batch: u64) -> Bytes {
    Footprint::of(network).bytes(batch)
}

/// The largest mini-batch in a memory of so many bytes that holds `ratio` times as much; `None` if no sample fits.
pub fn largest_batch(network: &Network, capacity: Bytes, ratio: f64) -> Option<u64> {
    Footprint::of(network).largest_batch(capacity, ratio)
}
