//! A convolutional network as data: tensors, layers and parameters, built layer by layer.
//!
//! Shapes are those of one image; how many images a step has is said when it is planned. ReLU and dropout work in place,
//! as in Caffe: their layer's input is its output, and they must be added before anything else reads the tensor.

/// What one image has in a tensor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Shape {
    pub(crate) channels: usize,
    pub(crate) height: usize,
    pub(crate) width: usize,
}

impl Shape {
    pub(crate) const fn pixels(self) -> usize {
        self.height * self.width
    }

    pub(crate) const fn len(self) -> usize {
        self.channels * self.pixels()
    }
}

/// A square window that moves over an image.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Window {
    pub(crate) kernel: usize,
    pub(crate) stride: usize,
    pub(crate) pad: usize,
}

/// A window of `kernel`² pixels.
pub(crate) const fn window(kernel: usize, stride: usize, pad: usize) -> Window {
    Window { kernel, stride, pad }
}

impl Window {
    /// Places of a convolution along a side of `length` pixels: windows lie inside the padded image.
    pub(crate) const fn places(self, length: usize) -> usize {
        (length + 2 * self.pad).saturating_sub(self.kernel) / self.stride + 1
    }

    /// Places of a pooling window: the last may reach over the border, but not begin behind it.
    const fn pooled(self, length: usize) -> usize {
        let places = (length + 2 * self.pad).saturating_sub(self.kernel).div_ceil(self.stride) + 1;
        if self.pad > 0 && (places - 1) * self.stride >= length + self.pad { places - 1 } else { places }
    }

    /// True if each place sees one pixel: then the image is its own matrix of columns.
    pub(crate) const fn is_pixel(self) -> bool {
        self.kernel == 1 && self.stride == 1 && self.pad == 0
    }
}

/// A tensor of a network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Blob(pub(crate) usize);

/// A tensor's name and shape.
pub(crate) struct BlobInfo {
    pub(crate) name: String,
    pub(crate) shape: Shape,
}

/// What a layer computes. `weights` and its like are indices into [`Network::params`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Op {
    Conv { window: Window, weights: usize, bias: Option<usize> },
    Dense { weights: usize, bias: usize },
    MaxPool(Window),
    MeanPool(Window),
    Relu,
    Dropout,
    Lrn,
    BatchNorm { gain: usize, shift: usize },
    Concat,
    Add,
}

/// A layer: in place if its output is its input.
pub(crate) struct Layer {
    pub(crate) name: String,
    pub(crate) op: Op,
    pub(crate) inputs: Vec<Blob>,
    pub(crate) output: Blob,
}

/// A parameter tensor: its initial values and how it learns.
pub(crate) struct Param {
    pub(crate) name: String,
    pub(crate) len: usize,
    /// Mean and standard deviation of the initial values.
    pub(crate) initial: (f32, f32),
    /// Factors of the network's learning rate and weight decay (Caffe's `lr_mult` and `decay_mult`).
    pub(crate) rate: f32,
    pub(crate) decay: f32,
}

/// Caffe's defaults of the published networks: neighbours, and how much they weigh.
pub(crate) const LRN_SIZE: usize = 5;
pub(crate) const LRN_ALPHA: f32 = 1e-4;
/// Added to a variance before it divides (Caffe's `eps`).
pub(crate) const BATCH_NORM_EPSILON: f32 = 1e-5;
/// Pixels less their mean have a spread of about 50 levels. Networks that do not normalise their first layer begin with
/// weights smaller by this factor, and these learn slower by its square: the same as dividing the pixels by it.
const PIXEL_SPREAD: f32 = 50.0;

/// The last layer's weights begin smaller, so that no class is favoured before anything is learnt.
const LAST_SPREAD: f32 = 10.0;

/// Where a layer with weights stands in its network.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// On pixels that nobody normalises.
    First,
    Within,
    /// Its results are the scores.
    Last,
}

/// A network with one input, which ends in scores for each class.
pub(crate) struct Network {
    pub(crate) blobs: Vec<BlobInfo>,
    pub(crate) layers: Vec<Layer>,
    pub(crate) params: Vec<Param>,
}

impl Network {
    /// A network without layers on square images of three colours.
    pub(crate) fn new(side: usize) -> (Self, Blob) {
        let mut network = Self { blobs: Vec::new(), layers: Vec::new(), params: Vec::new() };
        let data = network.blob("data", Shape { channels: 3, height: side, width: side });
        (network, data)
    }

    pub(crate) fn shape(&self, blob: Blob) -> Shape {
        self.blobs[blob.0].shape
    }

    /// Index of the input.
    pub(crate) const INPUT: Blob = Blob(0);

    /// The output of the last layer: the scores.
    pub(crate) fn scores(&self) -> Blob {
        self.layers.last().map_or(Self::INPUT, |layer| layer.output)
    }

    fn blob(&mut self, name: &str, shape: Shape) -> Blob {
        self.blobs.push(BlobInfo { name: name.to_owned(), shape });
        Blob(self.blobs.len() - 1)
    }

    fn param(&mut self, name: String, len: usize, initial: (f32, f32), rate: f32, decay: f32) -> usize {
        self.params.push(Param { name, len, initial, rate, decay });
        self.params.len() - 1
    }

    fn layer(&mut self, name: &str, op: Op, inputs: &[Blob], shape: Shape) -> Blob {
        let output = self.blob(name, shape);
        self.layers.push(Layer { name: name.to_owned(), op, inputs: inputs.to_vec(), output });
        output
    }

    /// Weights spread so that signals keep their size through ReLU (He et al., 2015).
    fn weights(&mut self, name: &str, outputs: usize, fan_in: usize, place: Place) -> usize {
        let (spread, rate) = match place {
            Place::First => (PIXEL_SPREAD, PIXEL_SPREAD.powi(-2)),
            Place::Within => (1.0, 1.0),
            Place::Last => (LAST_SPREAD, 1.0),
        };
        let deviation = (2.0 / fan_in as f32).sqrt() / spread;
        self.param(format!("{name}.weights"), outputs * fan_in, (0.0, deviation), rate, 1.0)
    }

    fn add_conv(&mut self, name: &str, input: Blob, channels: usize, window: Window, bias: bool) -> Blob {
        let from = self.shape(input);
        let fan_in = from.channels * window.kernel * window.kernel;
        let place = if bias && input == Self::INPUT { Place::First } else { Place::Within };
        let weights = self.weights(name, channels, fan_in, place);
        // Biases learn twice as fast and do not decay, as in the published networks.
        let bias = bias.then(|| self.param(format!("{name}.bias"), channels, (0.0, 0.0), 2.0, 0.0));
        let shape = Shape { channels, height: window.places(from.height), width: window.places(from.width) };
        self.layer(name, Op::Conv { window, weights, bias }, &[input], shape)
    }

    /// A convolution with bias, then ReLU.
    pub(crate) fn conv_relu(&mut self, name: &str, input: Blob, channels: usize, window: Window) -> Blob {
        let output = self.add_conv(name, input, channels, window, true);
        self.relu(output)
    }

    /// A convolution, normalised over the batch.
    pub(crate) fn conv_norm(&mut self, name: &str, input: Blob, channels: usize, window: Window) -> Blob {
        let convolved = self.add_conv(name, input, channels, window, false);
        let gain = self.param(format!("{name}_bn.gain"), channels, (1.0, 0.0), 1.0, 0.0);
        let shift = self.param(format!("{name}_bn.shift"), channels, (0.0, 0.0), 1.0, 0.0);
        let shape = self.shape(convolved);
        self.layer(&format!("{name}_bn"), Op::BatchNorm { gain, shift }, &[convolved], shape)
    }

    /// A convolution, normalised over the batch, then ReLU.
    pub(crate) fn conv_norm_relu(&mut self, name: &str, input: Blob, channels: usize, window: Window) -> Blob {
        let output = self.conv_norm(name, input, channels, window);
        self.relu(output)
    }

    fn add_dense(&mut self, name: &str, input: Blob, outputs: usize, place: Place) -> Blob {
        let fan_in = self.shape(input).len();
        let weights = self.weights(name, outputs, fan_in, place);
        let bias = self.param(format!("{name}.bias"), outputs, (0.0, 0.0), 2.0, 0.0);
        let shape = Shape { channels: outputs, height: 1, width: 1 };
        self.layer(name, Op::Dense { weights, bias }, &[input], shape)
    }

    /// A layer where every output sees every input, then ReLU.
    pub(crate) fn dense_relu(&mut self, name: &str, input: Blob, outputs: usize) -> Blob {
        let output = self.add_dense(name, input, outputs, Place::Within);
        self.relu(output)
    }

    /// The scores of `classes` classes, each of which sees every input.
    pub(crate) fn classifier(&mut self, name: &str, input: Blob, classes: usize) -> Blob {
        self.add_dense(name, input, classes, Place::Last)
    }

    fn in_place(&mut self, op: Op, blob: Blob) -> Blob {
        let name = self.blobs[blob.0].name.clone();
        self.layers.push(Layer { name, op, inputs: vec![blob], output: blob });
        blob
    }

    pub(crate) fn relu(&mut self, blob: Blob) -> Blob {
        self.in_place(Op::Relu, blob)
    }

    pub(crate) fn dropout(&mut self, blob: Blob) -> Blob {
        self.in_place(Op::Dropout, blob)
    }

    fn pool(&mut self, name: &str, input: Blob, window: Window, op: Op) -> Blob {
        let from = self.shape(input);
        let (height, width) = (window.pooled(from.height), window.pooled(from.width));
        self.layer(name, op, &[input], Shape { height, width, ..from })
    }

    pub(crate) fn max_pool(&mut self, name: &str, input: Blob, window: Window) -> Blob {
        self.pool(name, input, window, Op::MaxPool(window))
    }

    pub(crate) fn mean_pool(&mut self, name: &str, input: Blob, window: Window) -> Blob {
        self.pool(name, input, window, Op::MeanPool(window))
    }

    /// The mean of each channel.
    pub(crate) fn global_mean(&mut self, name: &str, input: Blob) -> Blob {
        self.mean_pool(name, input, window(self.shape(input).height, 1, 0))
    }

    /// Each value relative to its neighbours in other channels.
    pub(crate) fn lrn(&mut self, name: &str, input: Blob) -> Blob {
        self.layer(name, Op::Lrn, &[input], self.shape(input))
    }

    /// The channels of all inputs, one behind the other.
    pub(crate) fn concat(&mut self, name: &str, inputs: &[Blob]) -> Blob {
        let channels = inputs.iter().map(|input| self.shape(*input).channels).sum();
        let shape = inputs.first().map_or(Shape { channels: 0, height: 0, width: 0 }, |first| self.shape(*first));
        self.layer(name, Op::Concat, inputs, Shape { channels, ..shape })
    }

    /// The sum of two tensors.
    pub(crate) fn add(&mut self, name: &str, a: Blob, b: Blob) -> Blob {
        self.layer(name, Op::Add, &[a, b], self.shape(a))
    }
}

/// What goes backward through the network: each layer with, for each of its inputs, what to do with its gradient.
pub(crate) fn backward_order(network: &Network) -> impl Iterator<Item = (usize, &Layer, Vec<Gradient>)> {
    let mut written = vec![false; network.blobs.len()];
    network.layers.iter().enumerate().rev().map(move |(index, layer)| {
        let mut gradient = |input: &Blob| match *input {
            Network::INPUT => Gradient::Unused,
            Blob(blob) if std::mem::replace(&mut written[blob], true) => Gradient::Add,
            _ => Gradient::Store,
        };
        let gradients = layer.inputs.iter().map(&mut gradient).collect();
        (index, layer, gradients)
    })
}

/// What a layer does with the gradient of an input.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Gradient {
    /// The input is the data: nobody wants its gradient.
    Unused,
    /// The layer is the first to write it.
    Store,
    /// Another layer that reads the same tensor has written it.
    Add,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_cover_an_image_as_in_caffe() {
        let check = |window: Window, length, places, pooled| {
            assert_eq!((window.places(length), window.pooled(length)), (places, pooled), "{window:?} on {length}");
        };
        check(window(11, 4, 0), 227, 55, 55);
        check(window(3, 2, 0), 55, 27, 27);
        check(window(3, 2, 0), 112, 55, 56);
        check(window(7, 2, 3), 224, 112, 113);
        check(window(2, 2, 1), 3, 2, 2);
        check(window(3, 1, 1), 7, 7, 7);
    }

    #[test]
    fn a_tensor_that_two_layers_read_gets_both_gradients() {
        let (mut network, data) = Network::new(4);
        let first = network.conv_relu("first", data, 2, window(3, 1, 1));
        let second = network.conv_relu("second", first, 2, window(3, 1, 1));
        network.add("sum", first, second);
        let order: Vec<_> = backward_order(&network).map(|(_, layer, gradients)| (layer.op, gradients)).collect();
        assert_eq!(order[0], (Op::Add, vec![Gradient::Store, Gradient::Store]));
        let shares = |index: usize| order[index].1.clone();
        // ReLU of the second, the second, ReLU of the first, the first.
        assert_eq!((shares(2), shares(4)), (vec![Gradient::Add], vec![Gradient::Unused]));
        assert_eq!(network.shape(first), Shape { channels: 2, height: 4, width: 4 });
    }
}
