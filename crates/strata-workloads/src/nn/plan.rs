//! The launches of one training step of a convolutional network.

use super::launches::{Form, Launches, Matrix, element, int};
use super::network::{
    BATCH_NORM_EPSILON, Blob, Gradient, LRN_ALPHA, LRN_SIZE, Layer, Network, Op, Shape, Window, backward_order,
};
use super::tensors::Tensors;
use strata_core::Addr;
use strata_host::Arg;

/// How weights learn: Caffe's solver.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Solver {
    pub(crate) rate: f32,
    pub(crate) momentum: f32,
    pub(crate) decay: f32,
}

/// A convolution unfolds as many images at a time as fit into so many values.
const MOST_COLUMNS: usize = 1 << 18;

/// A step under construction.
pub(crate) struct Plan<'a> {
    network: &'a Network,
    tensors: &'a Tensors,
    batch: usize,
    pub(crate) launches: Launches,
    /// Values that the column buffer must hold.
    pub(crate) columns_len: usize,
}

impl<'a> Plan<'a> {
    /// Forward, backward and update with `batch` images.
    pub(crate) fn new(network: &'a Network, tensors: &'a Tensors, batch: usize, solver: Solver) -> Self {
        let launches = Launches::new(tensors.partials);
        let mut plan = Self { network, tensors, batch, launches, columns_len: 0 };
        for (index, layer) in network.layers.iter().enumerate() {
            plan.forward(index, layer);
        }
        plan.loss();
        for (index, layer, gradients) in backward_order(network) {
            plan.backward(index, layer, &gradients);
        }
        for (param, place) in network.params.iter().zip(&tensors.params) {
            let mut args: Vec<Arg> = vec![place.data.into(), place.diff.into(), place.history.into(), int(param.len)];
            args.extend([solver.rate * param.rate, solver.momentum, solver.decay * param.decay].map(Arg::from));
            plan.launches.update("momentum_update", param.len, &args);
        }
        plan
    }

    fn data(&self, blob: Blob) -> Addr {
        self.tensors.data[blob.0]
    }

    fn diff(&self, blob: Blob) -> Addr {
        self.tensors.diff[blob.0]
    }

    /// Values of a tensor in all images.
    fn total(&self, blob: Blob) -> usize {
        self.batch * self.network.shape(blob).len()
    }

    fn forward(&mut self, index: usize, layer: &Layer) {
        let (input, output) = (layer.inputs[0], layer.output);
        let (from, to) = (self.network.shape(input), self.network.shape(output));
        let (x, y) = (self.data(input), self.data(output));
        let total = self.total(output);
        let params = &self.tensors.params;
        match layer.op {
            Op::Conv { window, weights, bias } => {
                let taps = from.channels * window.kernel * window.kernel;
                for (first, count) in self.groups(taps * to.pixels()) {
                    let columns = self.columns(input, window, to, first, count);
                    let a = Matrix::plain(self.tensors.params[weights].data, taps);
                    let c = Matrix::images(element(y, first * to.len()), to.channels, to.pixels());
                    let size = [to.channels, count * to.pixels(), taps];
                    self.launches.product(Form::Plain, [a, columns, c], size, false);
                }
                if let Some(bias) = bias {
                    let args = [y.into(), self.tensors.params[bias].data.into()];
                    self.each_of("bias_forward", total, &args, &[total, to.channels, to.pixels()]);
                }
            }
            Op::Dense { weights, bias } => {
                let a = Matrix::plain(x, from.len());
                let b = Matrix::plain(params[weights].data, from.len());
                let c = Matrix::plain(y, to.channels);
                let bias = params[bias].data;
                self.launches.product(Form::Right, [a, b, c], [self.batch, to.channels, from.len()], false);
                self.each_of("bias_forward", total, &[y.into(), bias.into()], &[total, to.channels, 1]);
            }
            Op::MaxPool(window) => {
                let args = [x.into(), y.into(), self.tensors.extra[index].into()];
                self.each_of("max_pool_forward", total, &args, &self.pool_sizes(from, window, to));
            }
            Op::MeanPool(window) => {
                self.each_of("mean_pool_forward", total, &[x.into(), y.into()], &self.pool_sizes(from, window, to));
            }
            Op::Relu => self.each_of("relu_forward", total, &[y.into()], &[total]),
            Op::Dropout => {
                let layer = Arg::U32(index as u32);
                let args = [y.into(), self.tensors.extra[index].into(), self.tensors.step.into(), layer];
                self.each_of("dropout_forward", total, &args, &[total]);
            }
            Op::Lrn => {
                let mut args = vec![x.into(), y.into(), self.tensors.extra[index].into()];
                args.extend([total, to.channels, to.pixels(), LRN_SIZE].map(int));
                args.push(LRN_ALPHA.into());
                self.launches.each("lrn_forward", total, &args);
            }
            Op::BatchNorm { gain, shift } => {
                let (gain, shift) = (params[gain].data, params[shift].data);
                let (mean, inverse) = self.statistics(index, to);
                let mut args = vec![x.into(), mean.into(), inverse.into()];
                args.extend([self.batch, to.channels, to.pixels()].map(int));
                args.push(BATCH_NORM_EPSILON.into());
                self.launches.groups("batch_statistics", to.channels, self.batch * to.pixels(), &args);
                let args = [x, mean, inverse, gain, shift, y].map(Arg::from);
                self.each_of("batch_norm_forward", total, &args, &[total, to.channels, to.pixels()]);
            }
            Op::Concat => {
                let mut offset = 0;
                for part in &layer.inputs {
                    let run = self.network.shape(*part).len();
                    let args = [self.data(*part).into(), int(run), element(y, offset).into(), int(to.len())];
                    self.each_of("copy_runs", self.batch * run, &args, &[run, self.batch * run, 0]);
                    offset += run;
                }
            }
            Op::Add => {
                let args = [x, self.data(layer.inputs[1]), y].map(Arg::from);
                self.each_of("add_tensors", total, &args, &[total]);
            }
        }
    }

    /// Softmax of the scores, each image's loss, and the gradient of the mean loss.
    fn loss(&mut self) {
        let scores = self.network.scores();
        let (classes, total) = (self.network.shape(scores).len(), self.total(scores));
        let Tensors { labels, probabilities, losses, .. } = *self.tensors;
        let mut args = [self.data(scores), labels, probabilities, losses].map(Arg::from).to_vec();
        args.push(int(classes));
        self.launches.groups("softmax_loss", self.batch, classes, &args);
        let mut args = [probabilities, labels, self.diff(scores)].map(Arg::from).to_vec();
        args.extend([int(classes), int(total), (1.0 / self.batch as f32).into()]);
        self.launches.each("softmax_backward", total, &args);
    }

    fn backward(&mut self, index: usize, layer: &Layer, gradients: &[Gradient]) {
        let (input, output) = (layer.inputs[0], layer.output);
        let (from, to) = (self.network.shape(input), self.network.shape(output));
        let (x, y, dx, dy) = (self.data(input), self.data(output), self.diff(input), self.diff(output));
        let (total, inputs) = (self.total(output), self.total(input));
        let wanted = gradients[0] != Gradient::Unused;
        let add = usize::from(gradients[0] == Gradient::Add);
        let params = &self.tensors.params;
        match layer.op {
            Op::Conv { window, weights, bias } => {
                if let Some(bias) = bias {
                    self.bias_backward(dy, params[bias].diff, to);
                }
                self.conv_backward(layer, window, weights, wanted, add);
            }
            Op::Dense { weights, bias } => {
                let (weights, bias) = (&params[weights], params[bias].diff);
                self.bias_backward(dy, bias, to);
                let outputs = Matrix::plain(dy, to.channels);
                let [input_data, input_diff] = [x, dx].map(|start| Matrix::plain(start, from.len()));
                let [data, diff] = [weights.data, weights.diff].map(|start| Matrix::plain(start, from.len()));
                let size = [to.channels, from.len(), self.batch];
                self.launches.product(Form::Left, [outputs, input_data, diff], size, false);
                if wanted {
                    let size = [self.batch, from.len(), to.channels];
                    self.launches.product(Form::Plain, [outputs, data, input_diff], size, add == 1);
                }
            }
            Op::MaxPool(window) => {
                let mut sizes = self.pool_sizes(from, window, to).to_vec();
                sizes.push(add);
                let args = [dy, self.tensors.extra[index], dx].map(Arg::from);
                self.each_of("max_pool_backward", inputs, &args, &sizes);
            }
            Op::MeanPool(window) => {
                let mut sizes = self.pool_sizes(from, window, to).to_vec();
                sizes.push(add);
                self.each_of("mean_pool_backward", inputs, &[dy.into(), dx.into()], &sizes);
            }
            Op::Relu => self.each_of("relu_backward", total, &[y.into(), dy.into()], &[total]),
            Op::Dropout => {
                let args = [self.tensors.extra[index].into(), dy.into()];
                self.each_of("dropout_backward", total, &args, &[total]);
            }
            Op::Lrn => {
                let mut args = [x, y, self.tensors.extra[index], dy, dx].map(Arg::from).to_vec();
                args.extend([total, to.channels, to.pixels(), LRN_SIZE].map(int));
                args.extend([LRN_ALPHA.into(), int(add)]);
                self.launches.each("lrn_backward", total, &args);
            }
            Op::BatchNorm { gain, shift } => {
                let (gain, shift) = (&params[gain], &params[shift]);
                let (mean, inverse) = self.statistics(index, to);
                let sizes = [self.batch, to.channels, to.pixels()].map(int);
                let mut args = [x, mean, inverse, dy, gain.diff, shift.diff].map(Arg::from).to_vec();
                args.extend(sizes.clone());
                self.launches.groups("batch_norm_sums", to.channels, self.batch * to.pixels(), &args);
                let places = [x, mean, inverse, gain.data, gain.diff, shift.diff, dy, dx];
                let mut args = places.map(Arg::from).to_vec();
                args.extend(sizes);
                args.push(int(add));
                self.launches.each("batch_norm_backward", total, &args);
            }
            Op::Concat => {
                let mut offset = 0;
                for (part, gradient) in layer.inputs.iter().zip(gradients) {
                    let run = self.network.shape(*part).len();
                    let args = [element(dy, offset).into(), int(to.len()), self.diff(*part).into(), int(run)];
                    let add = usize::from(*gradient == Gradient::Add);
                    self.each_of("copy_runs", self.batch * run, &args, &[run, self.batch * run, add]);
                    offset += run;
                }
            }
            Op::Add => {
                for (part, gradient) in layer.inputs.iter().zip(gradients) {
                    let add = usize::from(*gradient == Gradient::Add);
                    let args = [dy.into(), self.diff(*part).into()];
                    self.each_of("copy_tensor", total, &args, &[total, add]);
                }
            }
        }
    }

    /// The gradients of weights and image. The columns are made again, as in Caffe: keeping them would take more room
    /// than everything else.
    fn conv_backward(&mut self, layer: &Layer, window: Window, weights: usize, wanted: bool, add: usize) {
        let (input, output) = (layer.inputs[0], layer.output);
        let (from, to) = (self.network.shape(input), self.network.shape(output));
        let taps = from.channels * window.kernel * window.kernel;
        let weights = &self.tensors.params[weights];
        for (first, count) in self.groups(taps * to.pixels()) {
            let columns = self.columns(input, window, to, first, count);
            let dy = Matrix::images(element(self.diff(output), first * to.len()), to.channels, to.pixels());
            let diff = Matrix::plain(weights.diff, taps);
            let width = count * to.pixels();
            self.launches.product(Form::Right, [dy, columns, diff], [to.channels, taps, width], first > 0);
            if !wanted {
                continue;
            }
            let data = Matrix::plain(weights.data, taps);
            let dx = element(self.diff(input), first * from.len());
            if window.is_pixel() {
                let target = Matrix::images(dx, from.channels, from.pixels());
                self.launches.product(Form::Left, [data, dy, target], [taps, width, to.channels], add == 1);
            } else {
                let target = Matrix::plain(self.tensors.columns, width);
                self.launches.product(Form::Left, [data, dy, target], [taps, width, to.channels], false);
                let Window { kernel, stride, pad } = window;
                let planes = [count, from.channels, from.height, from.width];
                let sizes = [&planes[..], &[kernel, stride, pad, to.height, to.width, add]].concat();
                let args = [self.tensors.columns.into(), dx.into()];
                self.each_of("col2im", count * from.len(), &args, &sizes);
            }
        }
    }

    /// The batch in groups of images whose columns fit the buffer: first image and count.
    fn groups(&self, values: usize) -> Vec<(usize, usize)> {
        let most = (MOST_COLUMNS / values).clamp(1, self.batch);
        (0..self.batch).step_by(most).map(|first| (first, most.min(self.batch - first))).collect()
    }

    /// The columns of `count` images.
    fn columns(&mut self, input: Blob, window: Window, to: Shape, first: usize, count: usize) -> Matrix {
        let from = self.network.shape(input);
        let images = element(self.data(input), first * from.len());
        if window.is_pixel() {
            return Matrix::images(images, from.channels, from.pixels());
        }
        let width = count * to.pixels();
        self.columns_len = self.columns_len.max(from.channels * window.kernel * window.kernel * width);
        let args = [images.into(), self.tensors.columns.into()];
        let kernel = match window.kernel {
            1 => "im2col_1",
            3 => "im2col_3",
            _ => "im2col_5",
        };
        let Window { stride, pad, .. } = window;
        let sizes = [count, from.channels, from.height, from.width, stride, pad, to.height, to.width];
        self.each_of(kernel, from.channels * width, &args, &sizes);
        Matrix::plain(self.tensors.columns, width)
    }

    fn pool_sizes(&self, from: Shape, window: Window, to: Shape) -> [usize; 8] {
        let Window { kernel, stride, pad } = window;
        [self.batch * from.channels, from.height, from.width, kernel, stride, pad, to.height, to.width]
    }

    /// Where the mean and the inverse deviation of each channel are.
    fn statistics(&self, index: usize, shape: Shape) -> (Addr, Addr) {
        let start = self.tensors.extra[index];
        (start, element(start, shape.channels))
    }

    fn bias_backward(&mut self, dy: Addr, bias: Addr, shape: Shape) {
        let mut args = vec![dy.into(), bias.into()];
        args.extend([self.batch, shape.channels, shape.pixels()].map(int));
        self.launches.groups("bias_backward", shape.channels, self.batch * shape.pixels(), &args);
    }

    /// One thread per element; arguments, then sizes.
    fn each_of(&mut self, kernel: &'static str, threads: usize, args: &[Arg], sizes: &[usize]) {
        let args: Vec<Arg> = args.iter().cloned().chain(sizes.iter().map(|size| int(*size))).collect();
        self.launches.each(kernel, threads, &args);
    }
}
