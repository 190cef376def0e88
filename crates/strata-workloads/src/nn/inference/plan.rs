//! The launches of one pass, in Darknet's order.

use super::super::launches::{Form, Launches, Matrix, element, int};
use super::layers::{Conv, Detector, Layer, Network, Op};
use super::memory::{Memory, Place};
use super::reference::LEAK;
use strata_core::Addr;
use strata_host::Arg;

/// A pass under construction.
pub(super) struct Plan<'a> {
    network: &'a Network,
    memory: &'a Memory,
    images: usize,
    pub(super) launches: Launches,
    /// Values that the workspace must hold.
    pub(super) workspace_len: usize,
}

impl<'a> Plan<'a> {
    pub(super) fn new(network: &'a Network, memory: &'a Memory, images: usize) -> Self {
        let launches = Launches::new(memory.partials);
        let mut plan = Self { network, memory, images, launches, workspace_len: 0 };
        for (layer, place) in network.layers.iter().zip(&memory.layers) {
            if layer.op != Op::Image {
                plan.fill(place.delta, images * layer.shape.len());
                plan.layer(layer, *place);
            }
        }
        plan
    }

    /// One thread for each of `total` elements; the kernel's arguments are pointers and then sizes.
    fn each(&mut self, kernel: &'static str, total: usize, pointers: &[Addr], sizes: &[usize]) {
        let pointers = pointers.iter().copied().map(Arg::from);
        let args: Vec<Arg> = pointers.chain(sizes.iter().copied().map(int)).collect();
        self.launches.each(kernel, total, &args);
    }

    fn fill(&mut self, data: Addr, total: usize) {
        self.launches.each("fill", total, &[data.into(), int(total), 0.0_f32.into()]);
    }

    fn copy(&mut self, from: Addr, to: Addr, total: usize) {
        self.each("copy_tensor", total, &[from, to], &[total, 0]);
    }

    fn activate(&mut self, data: Addr, total: usize, leaky: bool) {
        let slope = if leaky { LEAK } else { 1.0 };
        self.launches.each("activate", total, &[data.into(), int(total), slope.into()]);
    }

    fn layer(&mut self, layer: &Layer, place: Place) {
        let input = layer.inputs[0];
        let (from, to) = (self.network.shape(input), layer.shape);
        let (x, y) = (self.memory.layers[input].output, place.output);
        let total = self.images * to.len();
        match layer.op {
            Op::Image => {}
            Op::Conv(conv) => self.convolution(layer, conv, place),
            Op::MaxPool(window) => {
                let planes = self.images * to.channels;
                let window = [window.kernel, window.stride, window.pad];
                let sizes = [&[planes, from.height, from.width][..], &window, &[to.height, to.width]].concat();
                self.each("max_pool_forward", total, &[x, y, place.kept], &sizes);
            }
            Op::MeanPool => {
                let sizes = [self.images * to.channels, from.height, from.width, from.height, 1, 0, 1, 1];
                self.each("mean_pool_forward", total, &[x, y], &sizes);
            }
            Op::Softmax => {
                self.each("softmax", self.images, &[x, y], &[self.images, to.channels, to.channels, 1]);
            }
            Op::Route => {
                let mut offset = 0;
                for input in &layer.inputs {
                    let run = self.network.shape(*input).len();
                    let source = self.memory.layers[*input].output;
                    for image in 0..self.images {
                        self.copy(element(source, image * run), element(y, offset + image * to.len()), run);
                    }
                    offset += run;
                }
            }
            Op::Shortcut => {
                self.copy(x, y, total);
                let other = self.memory.layers[layer.inputs[1]].output;
                self.each("copy_tensor", total, &[other, y], &[total, 1]);
                self.activate(y, total, false);
            }
            Op::Upsample => {
                self.fill(y, total);
                self.each("upsample", total, &[x, y], &[total, to.height, to.width]);
            }
            Op::Reorganise => {
                self.each("reorganise", total, &[x, y], &[total, from.channels, from.height, from.width]);
            }
            Op::Detect(detector) => {
                self.copy(x, y, total);
                self.detect(detector, x, y, to.pixels());
            }
        }
    }

    /// Clears the output, adds the product to it image by image, and treats the results in one pass after the other.
    fn convolution(&mut self, layer: &Layer, conv: Conv, place: Place) {
        let Conv { window, normalised, leaky } = conv;
        let (from, to) = (self.network.shape(layer.inputs[0]), layer.shape);
        let x = self.memory.layers[layer.inputs[0]].output;
        let total = self.images * to.len();
        let taps = from.channels * window.kernel * window.kernel;
        self.fill(place.output, total);
        for image in 0..self.images {
            let picture = element(x, image * from.len());
            let columns = if window.is_pixel() { picture } else { self.memory.workspace };
            if !window.is_pixel() {
                self.workspace_len = self.workspace_len.max(taps * to.pixels());
                let sizes = [from.channels, from.height, from.width, window.stride, window.pad, to.height, to.width];
                let sizes = [&[1][..], &sizes].concat();
                self.each("im2col_3", from.channels * to.pixels(), &[picture, columns], &sizes);
            }
            let a = Matrix::plain(place.weights, taps);
            let b = Matrix::plain(columns, to.pixels());
            let c = Matrix::plain(element(place.output, image * to.len()), to.pixels());
            self.launches.product(Form::Plain, [a, b, c], [to.channels, to.pixels(), taps], true);
        }
        let sizes = [total, to.channels, to.pixels()];
        if normalised {
            self.copy(place.output, place.kept, total);
            self.each("normalise", total, &[place.output, place.mean, place.variance], &sizes);
            self.each("scale_channels", total, &[place.output, place.scales], &sizes);
        }
        self.each("bias_forward", total, &[place.output, place.biases], &sizes);
        self.activate(place.output, total, leaky);
    }

    /// Each box of each image by itself, classes that exclude each other all at once.
    fn detect(&mut self, detector: Detector, x: Addr, y: Addr, pixels: usize) {
        let Detector { anchors, classes, exclusive } = detector;
        let logistic_classes = if exclusive { 0 } else { classes };
        let boxes = self.images * anchors;
        for number in 0..boxes {
            let first = number * detector.entries() * pixels;
            for (entry, entries) in [(0, 2), (Detector::COORDINATES, 1 + logistic_classes)] {
                let total = entries * pixels;
                self.each("logistic", total, &[element(y, first + entry * pixels)], &[total]);
            }
        }
        if exclusive {
            let classes_of = |data: Addr| element(data, (Detector::COORDINATES + 1) * pixels);
            let sizes = [boxes * pixels, classes, detector.entries() * pixels, pixels];
            self.each("softmax", boxes * pixels, &[classes_of(x), classes_of(y)], &sizes);
        }
    }
}
