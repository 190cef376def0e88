//! Layers to operations: shapes go from layer to layer, and each layer becomes the kernels that a framework runs for it.
//!
//! The rules are those of Caffe (Jia et al., 2014), with which the paper trained: pooling rounds its output up; an activation
//! function works in place; a convolution with batch normalisation has no bias, and both outputs are kept, since the backward
//! pass of the normalisation needs its input.

use super::network::{Operation, Product, Shape, Window, Work, limits};

/// A network that grows layer by layer. A method that refuses says why, and changes nothing.
#[derive(Clone)]
pub(super) struct Builder {
    pub(super) operations: Vec<Operation>,
    /// The output so far.
    pub(super) shape: Shape,
    /// Words of a sequence, each of which has such an output.
    steps: u64,
}

impl Builder {
    pub(super) fn new(shape: Shape, steps: u64) -> Self {
        Self { operations: Vec::new(), shape, steps }
    }

    fn push(&mut self, operation: Operation) -> Result<(), String> {
        if self.operations.len() == limits::OPERATIONS {
            return Err(format!("the network has more than {} operations", limits::OPERATIONS));
        }
        let work = match operation.work {
            Work::Product(product) => product.multiply_adds(),
            Work::Pass(moved) => moved,
        };
        let numbers = [work, operation.parameters, operation.kept];
        if numbers.into_iter().any(|number| number > limits::VALUES) {
            return Err(format!("the layer has more than {} values or multiply-adds", limits::VALUES));
        }
        self.operations.push(operation);
        Ok(())
    }

    /// A pass over the output so far, in place: read and written `times` times for each value.
    fn in_place(&mut self, times: u64) -> Result<(), String> {
        let moved = times * self.steps * self.shape.values();
        self.push(Operation { work: Work::Pass(moved), parameters: 0, gradients: 0, kept: 0 })
    }

    /// A pass that makes the output so far anew.
    fn pass(&mut self, moved: u64, parameters: u64) -> Result<(), String> {
        let (moved, kept) = (moved * self.steps, self.shape.values() * self.steps);
        self.push(Operation { work: Work::Pass(moved), parameters, gradients: parameters, kept })
    }

    fn is_learnt(&self) -> bool {
        self.operations.iter().any(|operation| operation.parameters > 0)
    }

    /// A convolution, with normalisation and activation if wanted.
    pub(super) fn conv(&mut self, out: u64, window: Window, groups: u64, norm: bool, relu: bool) -> Result<(), String> {
        let input = self.shape;
        if !input.channels.is_multiple_of(groups) || !out.is_multiple_of(groups) {
            return Err(format!(
                "{groups} groups divide {} input channels or {out} output channels not",
                input.channels
            ));
        }
        let extent = |size: u64, kernel: u64| {
            let over = (size + 2 * window.pad).checked_sub(kernel);
            over.map(|over| over / window.stride + 1).ok_or_else(|| too_large(kernel, size))
        };
        let shape = Shape {
            channels: out,
            height: extent(input.height, window.height)?,
            width: extent(input.width, window.width)?,
        };
        let depth = input.channels / groups * window.height * window.width;
        let is_lowered = window.height * window.width > 1;
        let product = Product {
            rows: shape.positions() * self.steps,
            columns: out / groups,
            depth,
            groups,
            steps: 1,
            input: input.values() * self.steps,
            input_gradient: self.is_learnt(),
            lowered: if is_lowered { shape.positions().saturating_mul(depth).saturating_mul(groups) } else { 0 },
        };
        let parameters = product.weights().saturating_add(if norm { 0 } else { out });
        self.product(product, parameters, parameters, shape.values() * self.steps)?;
        self.shape = shape;
        if norm {
            // Read for the statistics and read again; a scale and a shift for each channel.
            self.pass(3 * shape.values(), 2 * out)?;
        }
        if relu { self.in_place(2) } else { Ok(()) }
    }

    fn product(&mut self, product: Product, parameters: u64, gradients: u64, kept: u64) -> Result<(), String> {
        self.push(Operation { work: Work::Product(product), parameters, gradients, kept })
    }

    /// Pooling, whichever.
    pub(super) fn pool(&mut self, window: Window) -> Result<(), String> {
        let extent = |size: u64, kernel: u64| {
            let over = (size + 2 * window.pad).checked_sub(kernel).ok_or_else(|| too_large(kernel, size))?;
            let windows = over.div_ceil(window.stride) + 1;
            // One that would begin behind the input is left out.
            let outside = window.pad > 0 && (windows - 1) * window.stride >= size + window.pad;
            Ok::<_, String>(windows - u64::from(outside))
        };
        let input = self.shape;
        let (height, width) = (extent(input.height, window.height)?, extent(input.width, window.width)?);
        self.shape = Shape { height, width, ..input };
        self.pass(input.values() + self.shape.values(), 0)
    }

    /// Pooling of all positions.
    pub(super) fn global_pool(&mut self) -> Result<(), String> {
        let Shape { height, width, .. } = self.shape;
        self.pool(Window { height, width, stride: 1, pad: 0 })
    }

    /// Local response normalisation, as cuDNN does it: the backward pass computes the scale again.
    pub(super) fn lrn(&mut self) -> Result<(), String> {
        self.pass(2 * self.shape.values(), 0)
    }

    /// A fully connected layer.
    pub(super) fn fc(&mut self, out: u64, relu: bool) -> Result<(), String> {
        self.connected(out, out)?;
        if relu { self.in_place(2) } else { Ok(()) }
    }

    /// One matrix that makes `out` values of all so far.
    fn connected(&mut self, out: u64, bias: u64) -> Result<(), String> {
        let depth = self.shape.values();
        let product = Product {
            rows: self.steps,
            columns: out,
            depth,
            groups: 1,
            steps: 1,
            input: depth * self.steps,
            input_gradient: self.is_learnt(),
            lowered: 0,
        };
        let parameters = product.weights().saturating_add(bias);
        self.product(product, parameters, parameters, out * self.steps)?;
        self.shape = Shape { channels: out, height: 1, width: 1 };
        Ok(())
    }

    /// A highway layer (Srivastava et al., 2015): a transformation and a gate of the same size, and a pass that mixes.
    pub(super) fn highway(&mut self) -> Result<(), String> {
        let size = self.shape.values();
        self.connected(2 * size, 2 * size)?;
        self.shape.channels = size;
        self.pass(4 * size, 0)
    }

    /// Rows of a table for numbers.
    pub(super) fn embedding(&mut self, rows: u64, size: u64) -> Result<(), String> {
        self.shape.channels = size;
        self.pass(2 * self.shape.values(), rows * size)
    }

    /// A recurrent layer of LSTM cells whose output is projected, step by step: four gates of input and last output.
    pub(super) fn lstm(&mut self, cells: u64, projection: u64) -> Result<(), String> {
        let input = self.shape.values() + projection;
        let step = |columns, depth| Product {
            rows: 1,
            columns,
            depth,
            groups: 1,
            steps: self.steps,
            input: depth,
            input_gradient: true,
            lowered: 0,
        };
        let (gates, projected) = (step(4 * cells, input), step(projection, cells));
        let steps = self.steps;
        let parameters = gates.weights().saturating_add(4 * cells);
        self.product(gates, parameters, parameters, 4 * cells * steps)?;
        // Reads gates and cell; the new cell and the output are kept.
        let work = Work::Pass(7 * cells * steps);
        self.push(Operation { work, parameters: 0, gradients: 0, kept: 2 * cells * steps })?;
        self.product(projected, projected.weights(), projected.weights(), projection * steps)?;
        self.shape = Shape { channels: projection, height: 1, width: 1 };
        Ok(())
    }

    /// A softmax over words, trained on some of them (importance sampling): only their rows have gradients, and the rows of the
    /// right words of each sample.
    pub(super) fn softmax(&mut self, words: u64, sampled: u64) -> Result<(), String> {
        let depth = self.shape.values();
        let product = Product {
            rows: self.steps,
            columns: sampled,
            depth,
            groups: 1,
            steps: 1,
            input: depth * self.steps,
            input_gradient: self.is_learnt(),
            lowered: 0,
        };
        let (parameters, gradients) = (words.saturating_mul(depth + 1), sampled.saturating_mul(depth + 1));
        self.product(product, parameters, gradients, (sampled + depth) * self.steps)?;
        self.shape = Shape { channels: sampled, height: 1, width: 1 };
        self.in_place(2)
    }

    /// Joins outputs of branches that began at the output so far: one behind the other.
    pub(super) fn concat(&mut self, branches: &[Shape]) -> Result<(), String> {
        let first = branches.first().ok_or("there is no branch")?;
        if let Some(other) = branches.iter().find(|shape| (shape.height, shape.width) != (first.height, first.width)) {
            return Err(format!("a branch of {} cannot be joined to one of {}", extents(*first), extents(*other)));
        }
        self.shape = Shape { channels: branches.iter().map(|shape| shape.channels).sum(), ..*first };
        self.pass(2 * self.shape.values(), 0)
    }

    /// Adds outputs of branches.
    pub(super) fn add(&mut self, branches: &[Shape], relu: bool) -> Result<(), String> {
        let first = branches.first().ok_or("there is no branch")?;
        if let Some(other) = branches.iter().find(|shape| *shape != first) {
            return Err(format!("a branch of {} cannot be added to one of {}", size(*first), size(*other)));
        }
        self.shape = *first;
        self.pass((branches.len() as u64 + 1) * self.shape.values(), 0)?;
        if relu { self.in_place(2) } else { Ok(()) }
    }
}

fn extents(shape: Shape) -> String {
    format!("{} x {} positions", shape.height, shape.width)
}

fn size(shape: Shape) -> String {
    format!("{} channels and {}", shape.channels, extents(shape))
}

fn too_large(kernel: u64, size: u64) -> String {
    format!("a kernel of {kernel} is larger than its input of {size}")
}
