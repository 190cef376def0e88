//! A network as the model sees it: a list of operations, each with what it computes, moves and keeps for one sample.

use std::ops::Range;

/// A matrix product: what a convolution, a fully connected layer or a gate of an LSTM is to a GPU.
///
/// Of one sample, in the forward pass: `groups` products of `rows` x `depth` with `depth` x `columns`, and all that `steps`
/// times, one after the other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Product {
    /// Rows for each sample: positions of the output.
    pub rows: u64,
    /// Columns: output channels of a group.
    pub columns: u64,
    /// What is summed over: input channels of a group, times the kernel.
    pub depth: u64,
    /// Products that do not depend on each other.
    pub groups: u64,
    /// Times that depend on each other: steps of a recurrent layer.
    pub steps: u64,
    /// Values of the input for each sample and step: fewer than `rows * depth` where kernels overlap.
    pub input: u64,
    /// Whether the backward pass needs the gradient of the input; nobody needs that of an image.
    pub input_gradient: bool,
    /// Values of one sample's lowered input, where the library lowers it to make it a matrix; otherwise 0.
    pub lowered: u64,
}

impl Product {
    /// Multiply-adds of one sample.
    pub fn multiply_adds(&self) -> u64 {
        [self.rows, self.steps].into_iter().fold(self.weights(), u64::saturating_mul)
    }

    /// Values of the weights.
    pub fn weights(&self) -> u64 {
        // Saturating: a description that is too large is refused after this is known.
        [self.depth, self.groups].into_iter().fold(self.columns, u64::saturating_mul)
    }

    /// Values of the output for each sample and step.
    pub fn output(&self) -> u64 {
        self.rows * self.columns * self.groups
    }
}

/// What an operation does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Work {
    /// A matrix product.
    Product(Product),
    /// A pass over tensors that computes next to nothing: values it reads and writes for each sample.
    Pass(u64),
}

/// One kernel of the forward pass, and what training needs for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Operation {
    /// What it does.
    pub work: Work,
    /// Values that are learnt.
    pub parameters: u64,
    /// Of these, how many have a gradient in one iteration: fewer than all if only some rows of a table are used.
    pub gradients: u64,
    /// Values that it makes for each sample and that stay for the backward pass. What works in place makes none.
    pub kept: u64,
}

/// A network.
#[derive(Clone, PartialEq, Debug)]
pub struct Network {
    /// Its name in tables.
    pub name: String,
    /// Where its layers are described.
    pub source: String,
    /// Values of one sample.
    pub input: u64,
    /// The forward pass, in order.
    pub operations: Vec<Operation>,
}

impl Network {
    /// Values that are learnt.
    pub fn parameters(&self) -> u64 {
        self.operations.iter().map(|operation| operation.parameters).sum()
    }

    /// Multiply-adds of the forward pass, for one sample.
    pub fn multiply_adds(&self) -> u64 {
        self.products().map(Product::multiply_adds).sum()
    }

    /// The matrix products.
    pub fn products(&self) -> impl Iterator<Item = &Product> {
        self.operations.iter().filter_map(|operation| match &operation.work {
            Work::Product(product) => Some(product),
            Work::Pass(_) => None,
        })
    }
}

/// Channels, and positions in two directions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Shape {
    pub(super) channels: u64,
    pub(super) height: u64,
    pub(super) width: u64,
}

impl Shape {
    pub(super) fn positions(self) -> u64 {
        self.height * self.width
    }

    pub(super) fn values(self) -> u64 {
        self.channels * self.positions()
    }
}

/// A window that is moved over positions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Window {
    pub(super) height: u64,
    pub(super) width: u64,
    pub(super) stride: u64,
    pub(super) pad: u64,
}

/// What numbers of a description may be: large enough for every network, and small enough for their products.
pub(super) mod limits {
    use super::Range;

    pub(crate) const CHANNELS: Range<i128> = 1..1 << 20;
    pub(crate) const POSITIONS: Range<i128> = 1..1 << 12;
    pub(crate) const KERNEL: Range<i128> = 1..64;
    pub(crate) const REPEAT: Range<i128> = 1..1000;
    pub(crate) const STEPS: Range<i128> = 1..10_000;
    /// Operations of a network.
    pub(crate) const OPERATIONS: usize = 1 << 12;
    /// Values of a tensor or a layer's weights, and multiply-adds of an operation.
    pub(crate) const VALUES: u64 = 1 << 40;
    /// Lists within lists.
    pub(crate) const DEPTH: usize = 8;
}
