//! A network for inference as data: layers in Darknet's order, each with the shape of what it gives.
//!
//! Layer 0 is the image. A layer reads the one before it; routes and shortcuts name others.

use super::super::network::{Shape, Window, window};
use crate::Size;

/// How large a run is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    /// The side of an image in pixels.
    pub(crate) side: usize,
    /// What the channels of the published network are divided by.
    pub(crate) thinner: usize,
    /// Images in the batch.
    pub(crate) images: usize,
}

/// The table of shapes of a program.
pub(crate) type Shapes<const N: usize> = [(Size, Scale); N];

/// A convolution.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Conv {
    pub(crate) window: Window,
    /// Normalised and scaled before the bias is added.
    pub(crate) normalised: bool,
    /// Leaky ReLU after the bias; linear otherwise.
    pub(crate) leaky: bool,
}

/// Boxes with classes: for each of `anchors` boxes four coordinates, whether there is something, and the classes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Detector {
    pub(crate) anchors: usize,
    pub(crate) classes: usize,
    /// A thing is of one class (softmax, `YOLOv2`), or may be of several (logistic, `YOLOv3`).
    pub(crate) exclusive: bool,
}

impl Detector {
    /// Coordinates of a box.
    pub(crate) const COORDINATES: usize = 4;

    /// Channels of one box.
    pub(crate) const fn entries(self) -> usize {
        Self::COORDINATES + 1 + self.classes
    }
}

/// What a layer computes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Op {
    Image,
    Conv(Conv),
    MaxPool(Window),
    /// The mean of each channel.
    MeanPool,
    Softmax,
    /// The channels of all inputs, one behind the other.
    Route,
    /// The sum of two layers.
    Shortcut,
    /// Each pixel four times.
    Upsample,
    /// Four times the channels, half the sides (`reorganise` in `workloads/neural/inference.cuh`).
    Reorganise,
    Detect(Detector),
}

/// A layer.
pub(crate) struct Layer {
    pub(crate) name: String,
    pub(crate) op: Op,
    pub(crate) inputs: Vec<usize>,
    pub(crate) shape: Shape,
}

/// A network, built layer by layer; methods that add a layer say which it is.
pub(crate) struct Network {
    pub(crate) layers: Vec<Layer>,
    thinner: usize,
}

impl Network {
    /// A network without layers.
    pub(crate) fn new(scale: &Scale) -> Self {
        let shape = Shape { channels: 3, height: scale.side, width: scale.side };
        let image = Layer { name: "input".to_owned(), op: Op::Image, inputs: Vec::new(), shape };
        Self { layers: vec![image], thinner: scale.thinner }
    }

    /// The last layer so far.
    pub(crate) fn last(&self) -> usize {
        self.layers.len() - 1
    }

    pub(crate) fn shape(&self, layer: usize) -> Shape {
        self.layers[layer].shape
    }

    /// The layers whose output the host reads: detections, or the last layer if there are none.
    pub(crate) fn results(&self) -> Vec<usize> {
        let detects = |layer: &usize| matches!(self.layers[*layer].op, Op::Detect(_));
        let detectors: Vec<usize> = (0..self.layers.len()).filter(detects).collect();
        if detectors.is_empty() { vec![self.last()] } else { detectors }
    }

    /// Adds a layer and numbers it among its kind.
    fn add(&mut self, kind: &str, op: Op, inputs: &[usize], shape: Shape) -> usize {
        let same = |layer: &&Layer| std::mem::discriminant(&layer.op) == std::mem::discriminant(&op);
        let number = 1 + self.layers.iter().filter(same).count();
        self.layers.push(Layer { name: format!("{kind}{number}"), op, inputs: inputs.to_vec(), shape });
        self.last()
    }

    fn add_conv(&mut self, channels: usize, conv: Conv) -> usize {
        let from = self.shape(self.last());
        let (height, width) = (conv.window.places(from.height), conv.window.places(from.width));
        self.add("conv", Op::Conv(conv), &[self.last()], Shape { channels, height, width })
    }

    /// A normalised convolution with leaky ReLU; `filters` are those of the published network.
    fn thinned(&mut self, filters: usize, window: Window) -> usize {
        self.add_conv((filters / self.thinner).max(1), Conv { window, normalised: true, leaky: true })
    }

    /// 3x3.
    pub(crate) fn conv(&mut self, filters: usize) -> usize {
        self.thinned(filters, window(3, 1, 1))
    }

    /// 1x1.
    pub(crate) fn mix(&mut self, filters: usize) -> usize {
        self.thinned(filters, window(1, 1, 0))
    }

    /// 3x3 at every other pixel.
    pub(crate) fn halve(&mut self, filters: usize) -> usize {
        self.thinned(filters, window(3, 2, 1))
    }

    /// A 1x1 convolution that is not normalised, whose channels mean something: they are as many as published.
    fn scores(&mut self, channels: usize, leaky: bool) -> usize {
        self.add_conv(channels, Conv { window: window(1, 1, 0), normalised: false, leaky })
    }

    /// The largest of 2x2 pixels; what lies outside of the image does not count.
    pub(crate) fn max_pool(&mut self, stride: usize) -> usize {
        let from = self.shape(self.last());
        let (height, width) = (from.height.div_ceil(stride), from.width.div_ceil(stride));
        self.add("max", Op::MaxPool(window(2, stride, 0)), &[self.last()], Shape { height, width, ..from })
    }

    /// Scores of classes at each pixel, their mean, and probabilities.
    pub(crate) fn classify(&mut self, classes: usize) {
        self.scores(classes, true);
        let shape = Shape { channels: classes, height: 1, width: 1 };
        self.add("mean", Op::MeanPool, &[self.last()], shape);
        self.add("softmax", Op::Softmax, &[self.last()], shape);
    }

    /// Scores of boxes, and detections.
    pub(crate) fn detect(&mut self, detector: Detector) -> usize {
        self.scores(detector.anchors * detector.entries(), false);
        self.add("detect", Op::Detect(detector), &[self.last()], self.shape(self.last()))
    }

    pub(crate) fn route(&mut self, inputs: &[usize]) -> usize {
        let channels = inputs.iter().map(|input| self.shape(*input).channels).sum();
        let first = inputs.first().map_or(0, |first| *first);
        self.add("route", Op::Route, inputs, Shape { channels, ..self.shape(first) })
    }

    /// Adds the output of `other`, which has the same shape.
    pub(crate) fn shortcut(&mut self, other: usize) -> usize {
        self.add("shortcut", Op::Shortcut, &[self.last(), other], self.shape(self.last()))
    }

    pub(crate) fn upsample(&mut self) -> usize {
        let Shape { channels, height, width } = self.shape(self.last());
        let shape = Shape { channels, height: 2 * height, width: 2 * width };
        self.add("upsample", Op::Upsample, &[self.last()], shape)
    }

    pub(crate) fn reorganise(&mut self) -> usize {
        let Shape { channels, height, width } = self.shape(self.last());
        let shape = Shape { channels: 4 * channels, height: height / 2, width: width / 2 };
        self.add("reorg", Op::Reorganise, &[self.last()], shape)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_are_darknets() {
        let mut net = Network::new(&Scale { side: 26, thinner: 4, images: 1 });
        let check = |net: &Network, layer: usize, expected: [usize; 3]| {
            let Shape { channels, height, width } = net.shape(layer);
            assert_eq!([channels, height, width], expected, "{}", net.layers[layer].name);
        };
        let wide = net.conv(64);
        check(&net, wide, [16, 26, 26]);
        let parts = net.reorganise();
        check(&net, parts, [64, 13, 13]);
        let pooled = net.max_pool(2);
        check(&net, pooled, [64, 7, 7]);
        let same = net.max_pool(1);
        check(&net, same, [64, 7, 7]);
        let half = net.halve(32);
        check(&net, half, [8, 4, 4]);
        let twice = net.upsample();
        check(&net, twice, [8, 8, 8]);
        let both = net.route(&[twice, twice]);
        check(&net, both, [16, 8, 8]);
        let boxes = net.detect(Detector { anchors: 3, classes: 80, exclusive: false });
        check(&net, boxes, [255, 8, 8]);
        assert_eq!(net.results(), [boxes]);
        assert_eq!(net.layers[half].name, "conv2");
    }
}
