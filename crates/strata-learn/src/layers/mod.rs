//! Layers: each knows its forward and its backward pass, written by hand. One file each.
//!
//! A layer maps the numbers of a sequence to others; it is given many sequences at once, one behind the other. Parameters are
//! in a vector that it does not own, gradients in one of the same layout, to which it adds. What a backward pass needs beside
//! the layer's input and output is in its [`Saved`], whose memory is kept from step to step.
//!
//! Invariants, tested for every layer in `tests`: gradients match finite differences, every parameter gets one, and the
//! result of a sequence does not depend on those beside it.

mod add_norm;
mod attention;
mod chain;
mod clamp;
mod convolution;
mod embedding;
mod hlsh;
mod last_attention;
mod linear;
pub(crate) mod loss;
mod lstm;
mod norm;
#[cfg(test)]
mod tests;

pub(crate) use add_norm::AddNorm;
pub(crate) use attention::{Attention, Thinning};
pub(crate) use chain::Chain;
pub(crate) use clamp::{BOUND, Clamp};
pub(crate) use convolution::Convolution;
pub(crate) use embedding::Embedding;
pub(crate) use hlsh::{ALIKE, Hashing, Role, UNLIKE};
pub(crate) use last_attention::LastAttention;
pub(crate) use linear::Linear;
pub(crate) use lstm::Lstm;
pub(crate) use norm::{Norm, moments};

use crate::matrix::Packed;

/// What a forward pass leaves for the backward pass.
#[derive(Default)]
pub(crate) struct Saved {
    pub(crate) numbers: [Vec<f32>; 6],
    pub(crate) roles: Vec<Role>,
    pub(crate) inner: Vec<Saved>,
}

impl Saved {
    /// Those of `count` layers inside.
    pub(crate) fn inner(&mut self, count: usize) -> &mut [Saved] {
        self.inner.resize_with(count.max(self.inner.len()), Self::default);
        &mut self.inner
    }
}

/// One step of a model.
pub(crate) trait Layer: Send + Sync {
    /// Numbers of a sequence before it.
    fn input(&self) -> usize;

    /// Numbers of a sequence behind it.
    fn output(&self) -> usize;

    /// Fills `y`.
    fn forward(&self, parameters: &[f32], x: &[f32], y: &mut Vec<f32>, saved: &mut Saved, packed: &mut Packed);

    /// Fills `back.dx` and adds to `back.gradients`.
    fn backward(&self, parameters: &[f32], back: Back<'_>, saved: &mut Saved, packed: &mut Packed);

    /// Packs its weights for good; these parameters are then not to change any more.
    fn prepare(&self, _parameters: &[f32], _packed: &mut Packed) {}

    /// The weights of the first attention inside, as the last forward pass left them: for every sequence and head, a row of
    /// weights for each token.
    fn attention<'a>(&self, _saved: &'a Saved) -> Option<&'a [f32]> {
        None
    }

    /// Multiplications of one sequence in matrix products, forward.
    fn multiplications(&self) -> u64;

    /// Numbers that its modules put out for one sequence, as torchinfo counts the forward pass: nothing for a function that is
    /// no module.
    fn activations(&self) -> u64;
}

/// What a backward pass is given and fills.
pub(crate) struct Back<'a> {
    pub(crate) x: &'a [f32],
    pub(crate) y: &'a [f32],
    pub(crate) dy: &'a [f32],
    pub(crate) dx: &'a mut Vec<f32>,
    pub(crate) gradients: &'a mut [f32],
}

/// Empties a vector and fills it with zeros; its memory stays.
pub(crate) fn zeros(vector: &mut Vec<f32>, len: usize) {
    vector.clear();
    vector.resize(len, 0.0);
}
