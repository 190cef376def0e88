//! A model: an embedding, layers, and parameters.

use crate::dataset::HISTORY;
use crate::layers::{
    AddNorm, Attention, Back, Chain, Clamp, Convolution, Embedding, Hashing, LastAttention, Layer, Linear, Lstm, Norm,
    Saved, Thinning, loss,
};
use crate::matrix::Packed;
use crate::parameters::{Builder, Parameters};
use crate::spec::{Kind, Spec};

/// A model and its parameters.
pub struct Model {
    spec: Spec,
    parameters: Parameters,
    embedding: Embedding,
    chain: Chain,
}

/// Memory of a pass over some sequences, kept between passes.
#[derive(Default)]
pub struct Workspace {
    embedded: Vec<f32>,
    logits: Vec<f32>,
    d_embedded: Vec<f32>,
    saved: Saved,
    packed: Packed,
}

impl Model {
    /// A model with its first parameters.
    pub fn new(spec: Spec) -> Self {
        let mut make = Builder::new(spec.seed);
        let positional = matches!(spec.kind, Kind::Transformer | Kind::Revised | Kind::Distilled);
        let features: Vec<_> =
            spec.features.iter().map(|&(feature, size, width)| (feature.name(), size, width)).collect();
        let embedding = Embedding::new(&mut make, HISTORY, &features, positional);
        let chain = build(&spec, &mut make);
        Self { parameters: make.finish(), spec, embedding, chain }
    }

    /// The features and layers it was built from.
    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    /// All its tensors, by name.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// All its tensors, to be changed by a step of training.
    pub fn parameters_mut(&mut self) -> &mut Parameters {
        &mut self.parameters
    }

    /// Multiplications of one prediction, in matrix products.
    pub fn multiplications(&self) -> u64 {
        self.chain.multiplications()
    }

    /// Numbers that its modules put out for one sequence, as torchinfo counts them.
    pub fn activations(&self) -> u64 {
        self.embedding.activations() + self.chain.activations()
    }

    /// The logits of sequences, given as the numbers of their tokens' features: a row of classes for each.
    pub fn forward<'a>(&self, parameters: &[f32], ids: &[u32], work: &'a mut Workspace) -> &'a mut [f32] {
        let Workspace { embedded, logits, saved, packed, .. } = work;
        self.embedding.forward(parameters, ids, embedded);
        self.chain.forward(parameters, embedded, logits, saved, packed);
        logits
    }

    /// The weights of the first attention layer in the last pass: for every sequence and head, a row of weights for each token.
    pub fn attention<'a>(&self, work: &'a Workspace) -> Option<&'a [f32]> {
        self.chain.attention(&work.saved)
    }

    /// Packs weights for good, for predictions with these parameters and no others in this workspace.
    pub(crate) fn prepare(&self, parameters: &[f32], work: &mut Workspace) {
        self.chain.prepare(parameters, &mut work.packed);
    }

    /// The summed loss of sequences; adds the gradients of the loss divided by `of`.
    pub(crate) fn learn(
        &self,
        parameters: &[f32],
        (ids, labels): (&[u32], &[u32]),
        of: usize,
        work: &mut Workspace,
        gradients: &mut [f32],
    ) -> f64 {
        self.forward(parameters, ids, work);
        let Workspace { embedded, logits, d_embedded, saved, packed } = work;
        let outputs = if self.spec.clamps { logits.clone() } else { Vec::new() };
        let loss = loss::cross_entropy(logits, labels, self.spec.classes, of);
        let back = Back { x: embedded, y: &outputs, dy: logits, dx: d_embedded, gradients };
        self.chain.backward(parameters, back, saved, packed);
        self.embedding.backward(ids, d_embedded, gradients);
        loss
    }
}

/// The layers behind the embedding.
fn build(spec: &Spec, make: &mut Builder) -> Chain {
    let width = spec.width();
    let clamp = |numbers: usize| spec.clamps.then_some(Clamp(numbers));
    let all = HISTORY * width;
    let mut chain = Chain::default().then_if(clamp(all));
    match spec.kind {
        Kind::Transformer | Kind::Revised => {
            for layer in 0..if spec.bypass { 0 } else { spec.layers } {
                chain = make.within(&format!("encoder{layer}"), |make| {
                    let attention = attention(spec, make);
                    let norm = Norm::new(make, "norm1", HISTORY, width);
                    let feed_forward = feed_forward(spec, make, HISTORY);
                    chain
                        .then(AddNorm { inside: attention, norm })
                        .then_if(clamp(all))
                        .then(feed_forward)
                        .then_if(clamp(all))
                });
            }
            chain.then(Linear::new(make, "classes", 1, all, spec.classes)).then_if(clamp(spec.classes))
        }
        Kind::Distilled => {
            let inside = LastAttention::new(make, HISTORY, width);
            let norm = Norm::new(make, "norm1", 1, width);
            chain.then(AddNorm { inside, norm }).then(feed_forward(spec, make, 1)).then(Linear::new(
                make,
                "classes",
                1,
                width,
                spec.classes,
            ))
        }
        Kind::Lstm => {
            let state = 4 * spec.hidden;
            chain.then(Lstm::new(make, HISTORY, width, state)).then(Linear::new(
                make,
                "classes",
                1,
                state,
                spec.classes,
            ))
        }
        Kind::Cnn => chain
            .then(Convolution::new(make, "convolution1", HISTORY, width, spec.hidden, 1))
            .then(Convolution::new(make, "convolution2", HISTORY, spec.hidden, spec.hidden, 1))
            .then(Linear::new(make, "classes", 1, HISTORY * spec.hidden, spec.classes)),
        Kind::Mlp => {
            let hidden = 8 * spec.hidden;
            chain
                .then(Linear::new(make, "hidden1", 1, all, hidden).rectified())
                .then(Linear::new(make, "hidden2", 1, hidden, hidden).rectified())
                .then(Linear::new(make, "classes", 1, hidden, spec.classes))
        }
        Kind::Linear => chain.then(Linear::new(make, "classes", 1, all, spec.classes)),
    }
}

fn attention(spec: &Spec, make: &mut Builder) -> Attention {
    let width = spec.width();
    match &spec.hlsh {
        None => Attention::full(make, HISTORY, width, spec.heads),
        Some(hlsh) => {
            let hashing = Hashing::new(HISTORY, width, spec.seed, hlsh.literal, (hlsh.alike, hlsh.unlike));
            Attention::thinned(make, HISTORY, width, Thinning { hashing, masks: hlsh.masks })
        }
    }
}

fn feed_forward(spec: &Spec, make: &mut Builder, tokens: usize) -> AddNorm<Chain> {
    let width = spec.width();
    let inside = Chain::default()
        .then(Linear::new(make, "feed_forward1", tokens, width, spec.hidden).rectified())
        .then_if(spec.clamps.then_some(Clamp(tokens * spec.hidden)))
        .then(Linear::new(make, "feed_forward2", tokens, spec.hidden, width));
    AddNorm { inside, norm: Norm::new(make, "norm2", tokens, width) }
}
