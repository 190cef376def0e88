//! A recurrent network for language: its sizes, its tensors in device memory, and the launches of a training step.
//!
//! Words become vectors; two layers of long short-term memory, whose outputs are projected to fewer values, pass over the
//! text; a softmax over the vocabulary predicts each next word. Rows of all matrices are (step, text). Cells and
//! projections have one step more than the text: the first is the state that the part of the text before left.

use super::launches::{Form, Launches, Matrix, element, int};
use super::network::Param;
use super::tensors::initial;
use crate::gpu::{Array, Gpu};
use strata_core::Addr;
use strata_host::{Arg, HostError};

/// The sizes of a network.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    /// Words of the vocabulary.
    pub(crate) vocabulary: usize,
    /// Cells of a layer.
    pub(crate) units: usize,
    /// Values of a word's vector and of a layer's projected output.
    pub(crate) width: usize,
    /// Words of each text per training step.
    pub(crate) steps: usize,
}

/// Layers of long short-term memory.
pub(crate) const LAYERS: usize = 2;
/// Added to the loss's gradient per text: the loss is the sum over steps, the mean over texts.
pub(crate) fn loss_weight(texts: usize) -> f32 {
    1.0 / texts as f32
}

/// The parameters, in the order of [`Sizes::params`].
pub(crate) const EMBEDDING: usize = 0;
pub(crate) const SOFTMAX: usize = 1;
pub(crate) const SOFTMAX_BIAS: usize = 2;
/// The first parameter of a layer: input weights, recurrent weights, bias, projection.
pub(crate) const fn layer_params(layer: usize) -> usize {
    3 + 4 * layer
}

impl Sizes {
    /// The parameters. Weights begin with the spread 1/√inputs, forget gates open (bias 1).
    pub(crate) fn params(&self) -> Vec<Param> {
        let Self { vocabulary, units, width, .. } = *self;
        let param = |name: &str, rows: usize, cols: usize, initial| Param {
            name: name.to_owned(),
            len: rows * cols,
            initial,
            rate: 1.0,
            decay: 0.0,
        };
        let spread = |inputs: usize| (0.0, 1.0 / (inputs as f32).sqrt());
        let mut params = vec![
            param("embedding", vocabulary, width, spread(width)),
            param("softmax.weights", vocabulary, width, spread(width)),
            param("softmax.bias", vocabulary, 1, (0.0, 0.0)),
        ];
        for layer in 1..=LAYERS {
            params.push(param(&format!("lstm{layer}.input_weights"), width, 4 * units, spread(2 * width)));
            params.push(param(&format!("lstm{layer}.recurrent_weights"), width, 4 * units, spread(2 * width)));
            params.push(param(&format!("lstm{layer}.bias"), 4, units, (0.0, 0.0)));
            params.push(param(&format!("lstm{layer}.projection"), units, width, spread(units)));
        }
        params
    }

    /// The values that the parameters begin with.
    pub(crate) fn initial(&self, seed: u64) -> Vec<Vec<f32>> {
        let mut values: Vec<Vec<f32>> = self.params().iter().map(|param| initial(param, seed)).collect();
        for layer in 0..LAYERS {
            values[layer_params(layer) + 2][2 * self.units..3 * self.units].fill(1.0);
        }
        values
    }
}

struct LayerPlace {
    gates: Addr,
    gates_diff: Addr,
    cells: Addr,
    cell_diff: Addr,
    outputs: Addr,
    outputs_diff: Addr,
    projected: Addr,
    projected_diff: Addr,
}

/// Where everything is.
pub(crate) struct Tensors {
    embedded: Addr,
    embedded_diff: Addr,
    layers: Vec<LayerPlace>,
    scores: Addr,
    scores_diff: Addr,
    probabilities: Addr,
    losses: Addr,
    words: Addr,
    labels: Addr,
    word_starts: Addr,
    word_rows: Addr,
    /// Data, gradient and sum of squares of each parameter.
    params: Vec<[Addr; 3]>,
    partials: Addr,
}

/// The arrays that the host reads and writes.
pub(crate) struct HostArrays {
    pub(crate) words: Array<i32>,
    pub(crate) labels: Array<i32>,
    pub(crate) word_starts: Array<i32>,
    pub(crate) word_rows: Array<i32>,
    pub(crate) scores: Array<f32>,
    pub(crate) losses: Array<f32>,
    pub(crate) weights: Vec<Array<f32>>,
    pub(crate) squares: Vec<Array<f32>>,
    /// Cells and projections of each layer; the first step's are the state.
    pub(crate) states: Vec<Array<f32>>,
}

impl Tensors {
    /// Allocates everything for `texts` texts; sums of squares begin as ones, as the published training does.
    pub(crate) fn allocate(
        sizes: &Sizes,
        texts: usize,
        partials: usize,
        seed: u64,
        gpu: &mut Gpu<'_>,
    ) -> Result<(Self, HostArrays), HostError> {
        let Sizes { vocabulary, units, width, steps } = *sizes;
        let rows = steps * texts;
        let (mut params, mut weights, mut squares) = (Vec::new(), Vec::new(), Vec::new());
        for (param, values) in sizes.params().iter().zip(sizes.initial(seed)) {
            let data = gpu.array_of(&param.name, &values)?;
            let diff = gpu.zeros::<f32>(&format!("{}.diff", param.name), param.len)?;
            let square = gpu.array_of(&format!("{}.squares", param.name), &vec![1.0_f32; param.len])?;
            params.push([data, diff, square].map(Array::address));
            weights.push(data);
            squares.push(square);
        }
        let words = gpu.zeros::<i32>("words", rows)?;
        let labels = gpu.zeros::<i32>("labels", rows)?;
        let word_starts = gpu.zeros::<i32>("word_starts", vocabulary + 1)?;
        let word_rows = gpu.zeros::<i32>("word_rows", rows)?;
        let mut zeros = |name: &str, len: usize| gpu.zeros::<f32>(name, len);
        let embedded = zeros("embedded.data", rows * width)?.address();
        let embedded_diff = zeros("embedded.diff", rows * width)?.address();
        let (mut layers, mut states) = (Vec::new(), Vec::new());
        for layer in 1..=LAYERS {
            let mut of_layer = |what: &str, len: usize| zeros(&format!("lstm{layer}.{what}"), len);
            let cells = of_layer("cells", (steps + 1) * texts * units)?;
            let projected = of_layer("projected.data", (steps + 1) * texts * width)?;
            layers.push(LayerPlace {
                gates: of_layer("gates.data", rows * 4 * units)?.address(),
                gates_diff: of_layer("gates.diff", rows * 4 * units)?.address(),
                cells: cells.address(),
                cell_diff: of_layer("cells.diff", texts * units)?.address(),
                outputs: of_layer("outputs.data", rows * units)?.address(),
                outputs_diff: of_layer("outputs.diff", rows * units)?.address(),
                projected: projected.address(),
                projected_diff: of_layer("projected.diff", rows * width)?.address(),
            });
            states.extend([cells, projected]);
        }
        let scores = zeros("scores.data", rows * vocabulary)?;
        let losses = zeros("loss", rows)?;
        let tensors = Self {
            embedded,
            embedded_diff,
            layers,
            scores: scores.address(),
            scores_diff: zeros("scores.diff", rows * vocabulary)?.address(),
            probabilities: zeros("probabilities", rows * vocabulary)?.address(),
            losses: losses.address(),
            words: words.address(),
            labels: labels.address(),
            word_starts: word_starts.address(),
            word_rows: word_rows.address(),
            params,
            partials: zeros("partials", partials.max(1))?.address(),
        };
        let arrays = HostArrays { words, labels, word_starts, word_rows, scores, losses, weights, squares, states };
        Ok((tensors, arrays))
    }

    /// Nowhere: for a plan that is made to learn what it needs.
    pub(crate) fn nowhere() -> Self {
        let none = Addr(0);
        let layer = || LayerPlace {
            gates: none,
            gates_diff: none,
            cells: none,
            cell_diff: none,
            outputs: none,
            outputs_diff: none,
            projected: none,
            projected_diff: none,
        };
        Self {
            embedded: none,
            embedded_diff: none,
            layers: (0..LAYERS).map(|_| layer()).collect(),
            scores: none,
            scores_diff: none,
            probabilities: none,
            losses: none,
            words: none,
            labels: none,
            word_starts: none,
            word_rows: none,
            params: vec![[none; 3]; layer_params(LAYERS)],
            partials: none,
        }
    }
}

/// Forward, backward and update with `texts` texts; the last state becomes the first one of the next step.
pub(crate) fn plan(sizes: &Sizes, tensors: &Tensors, texts: usize, rate: f32) -> Launches {
    let mut plan = Plan { sizes, tensors, texts, launches: Launches::new(tensors.partials) };
    plan.forward();
    plan.backward();
    for (param, [data, diff, squares]) in sizes.params().iter().zip(&tensors.params) {
        let args = [(*data).into(), (*diff).into(), (*squares).into(), int(param.len), rate.into()];
        plan.launches.update("adagrad_update", param.len, &args);
    }
    for layer in &tensors.layers {
        for (start, size) in [(layer.cells, texts * sizes.units), (layer.projected, texts * sizes.width)] {
            let args = [element(start, sizes.steps * size).into(), start.into(), int(size), int(0)];
            plan.launches.each("copy_tensor", size, &args);
        }
    }
    plan.launches
}

struct Plan<'a> {
    sizes: &'a Sizes,
    tensors: &'a Tensors,
    texts: usize,
    launches: Launches,
}

impl Plan<'_> {
    fn rows(&self) -> usize {
        self.sizes.steps * self.texts
    }

    /// The input of a layer and its gradient: the words, or what the layer below makes of them.
    fn input(&self, layer: usize) -> (Addr, Addr) {
        match layer.checked_sub(1).map(|below| &self.tensors.layers[below]) {
            Some(below) => (element(below.projected, self.texts * self.sizes.width), below.projected_diff),
            None => (self.tensors.embedded, self.tensors.embedded_diff),
        }
    }

    fn weights(&self, index: usize, cols: usize) -> Matrix {
        Matrix::plain(self.tensors.params[index][0], cols)
    }

    fn weights_diff(&self, index: usize, cols: usize) -> Matrix {
        Matrix::plain(self.tensors.params[index][1], cols)
    }

    fn forward(&mut self) {
        let Sizes { vocabulary, units, width, .. } = *self.sizes;
        let (rows, texts, tensors) = (self.rows(), self.texts, self.tensors);
        let [table, ..] = tensors.params[EMBEDDING];
        let mut args = [table, tensors.words, tensors.embedded].map(Arg::from).to_vec();
        args.extend([width, rows * width].map(int));
        self.launches.each("embed_forward", rows * width, &args);
        for (index, layer) in tensors.layers.iter().enumerate() {
            let first = layer_params(index);
            let x = Matrix::plain(self.input(index).0, width);
            let gates = Matrix::plain(layer.gates, 4 * units);
            let input_weights = self.weights(first, 4 * units);
            self.launches.product(Form::Plain, [x, input_weights, gates], [rows, 4 * units, width], false);
            for step in 0..self.sizes.steps {
                let gates = element(layer.gates, step * texts * 4 * units);
                let before = Matrix::plain(element(layer.projected, step * texts * width), width);
                let recurrent = self.weights(first + 1, 4 * units);
                let sums = Matrix::plain(gates, 4 * units);
                self.launches.product(Form::Plain, [before, recurrent, sums], [texts, 4 * units, width], true);
                let cells = |step: usize| element(layer.cells, step * texts * units);
                let outputs = element(layer.outputs, step * texts * units);
                let places = [gates, tensors.params[first + 2][0], cells(step), cells(step + 1), outputs];
                let mut args = places.map(Arg::from).to_vec();
                args.extend([units, texts * units].map(int));
                self.launches.each("lstm_forward", texts * units, &args);
                let projection = self.weights(first + 3, width);
                let projected = Matrix::plain(element(layer.projected, (step + 1) * texts * width), width);
                let outputs = Matrix::plain(outputs, units);
                self.launches.product(Form::Plain, [outputs, projection, projected], [texts, width, units], false);
            }
        }
        let last = Matrix::plain(self.input(LAYERS).0, width);
        let scores = Matrix::plain(tensors.scores, vocabulary);
        let softmax = self.weights(SOFTMAX, width);
        self.launches.product(Form::Right, [last, softmax, scores], [rows, vocabulary, width], false);
        let total = rows * vocabulary;
        let mut args = vec![tensors.scores.into(), tensors.params[SOFTMAX_BIAS][0].into()];
        args.extend([total, vocabulary, 1].map(int));
        self.launches.each("bias_forward", total, &args);
        let places = [tensors.scores, tensors.labels, tensors.probabilities, tensors.losses];
        let mut args = places.map(Arg::from).to_vec();
        args.push(int(vocabulary));
        self.launches.groups("softmax_loss", rows, vocabulary, &args);
        let mut args = [tensors.probabilities, tensors.labels, tensors.scores_diff].map(Arg::from).to_vec();
        args.extend([int(vocabulary), int(total), loss_weight(texts).into()]);
        self.launches.each("softmax_backward", total, &args);
    }

    fn backward(&mut self) {
        let Sizes { vocabulary, width, .. } = *self.sizes;
        let (rows, tensors) = (self.rows(), self.tensors);
        self.bias(tensors.scores_diff, SOFTMAX_BIAS, vocabulary);
        let (last, last_diff) = self.input(LAYERS);
        let [last, last_diff] = [last, last_diff].map(|start| Matrix::plain(start, width));
        let scores = Matrix::plain(tensors.scores_diff, vocabulary);
        let (softmax, softmax_diff) = (self.weights(SOFTMAX, width), self.weights_diff(SOFTMAX, width));
        self.launches.product(Form::Left, [scores, last, softmax_diff], [vocabulary, width, rows], false);
        self.launches.product(Form::Plain, [scores, softmax, last_diff], [rows, width, vocabulary], false);
        for layer in (0..LAYERS).rev() {
            self.layer_backward(layer);
        }
        let places = [tensors.embedded_diff, tensors.word_starts, tensors.word_rows, tensors.params[EMBEDDING][1]];
        let mut args = places.map(Arg::from).to_vec();
        args.extend([width, vocabulary * width].map(int));
        self.launches.each("embed_backward", vocabulary * width, &args);
    }

    /// Back through time, then the gradients of the weights over all steps at once.
    fn layer_backward(&mut self, index: usize) {
        let Sizes { units, width, steps, .. } = *self.sizes;
        let (rows, texts, layer, first) = (self.rows(), self.texts, &self.tensors.layers[index], layer_params(index));
        for step in (0..steps).rev() {
            let at = |start: Addr, step: usize, width: usize| element(start, step * texts * width);
            let projected_diff = Matrix::plain(at(layer.projected_diff, step, width), width);
            let outputs_diff = at(layer.outputs_diff, step, units);
            let target = Matrix::plain(outputs_diff, units);
            let projection = self.weights(first + 3, width);
            self.launches.product(Form::Right, [projected_diff, projection, target], [texts, units, width], false);
            let gates_diff = at(layer.gates_diff, step, 4 * units);
            let (gates, cells) = (at(layer.gates, step, 4 * units), |step| at(layer.cells, step, units));
            let places = [gates, cells(step), cells(step + 1), outputs_diff, layer.cell_diff, gates_diff];
            let mut args = places.map(Arg::from).to_vec();
            args.extend([units, texts * units, usize::from(step + 1 == steps)].map(int));
            self.launches.each("lstm_backward", texts * units, &args);
            if step > 0 {
                let gates_diff = Matrix::plain(gates_diff, 4 * units);
                let before = Matrix::plain(at(layer.projected_diff, step - 1, width), width);
                let recurrent = self.weights(first + 1, 4 * units);
                let size = [texts, width, 4 * units];
                self.launches.product(Form::Right, [gates_diff, recurrent, before], size, true);
            }
        }
        let (x, x_diff) = self.input(index);
        let [x, x_diff] = [x, x_diff].map(|start| Matrix::plain(start, width));
        let gates_diff = Matrix::plain(layer.gates_diff, 4 * units);
        let outputs = Matrix::plain(layer.outputs, units);
        let [states, projected_diff] = [layer.projected, layer.projected_diff].map(|s| Matrix::plain(s, width));
        let diffs = [0, 1, 3].map(|param| if param == 3 { (param, width) } else { (param, 4 * units) });
        let [input, recurrent, projection] = diffs.map(|(param, cols)| self.weights_diff(first + param, cols));
        self.launches.product(Form::Left, [outputs, projected_diff, projection], [units, width, rows], false);
        self.launches.product(Form::Left, [states, gates_diff, recurrent], [width, 4 * units, rows], false);
        self.launches.product(Form::Left, [x, gates_diff, input], [width, 4 * units, rows], false);
        self.bias(layer.gates_diff, first + 2, 4 * units);
        let input_weights = self.weights(first, 4 * units);
        self.launches.product(Form::Right, [gates_diff, input_weights, x_diff], [rows, width, 4 * units], false);
    }

    fn bias(&mut self, diff: Addr, param: usize, channels: usize) {
        let mut args = vec![diff.into(), self.tensors.params[param][1].into()];
        args.extend([self.rows(), channels, 1].map(int));
        self.launches.groups("bias_backward", channels, self.rows(), &args);
    }
}
