//! What an encoder does around its parts: adds their input to their output and normalises the sum. A part that only puts out the
//! last token has the last token of its input added.

use super::{Back, Layer, Norm, Saved};
use crate::matrix::Packed;

pub(crate) struct AddNorm<L> {
    pub(crate) inside: L,
    pub(crate) norm: Norm,
}

impl<L: Layer> Layer for AddNorm<L> {
    fn input(&self) -> usize {
        self.inside.input()
    }

    fn output(&self) -> usize {
        self.norm.output()
    }

    fn forward(&self, parameters: &[f32], x: &[f32], y: &mut Vec<f32>, saved: &mut Saved, packed: &mut Packed) {
        let mut sum = std::mem::take(&mut saved.numbers[0]);
        self.inside.forward(parameters, x, &mut sum, &mut saved.inner(2)[0], packed);
        // The part's own output, for its backward pass.
        saved.numbers[1].clear();
        saved.numbers[1].extend_from_slice(&sum);
        for (sum, x) in sum.chunks_exact_mut(self.output()).zip(x.chunks_exact(self.input())) {
            for (sum, x) in sum.iter_mut().zip(&x[self.input() - self.output()..]) {
                *sum += x;
            }
        }
        self.norm.forward(parameters, &sum, y, &mut saved.inner(2)[1], packed);
        saved.numbers[0] = sum;
    }

    fn backward(&self, parameters: &[f32], back: Back<'_>, saved: &mut Saved, packed: &mut Packed) {
        let Back { x, y, dy, dx, gradients } = back;
        let [sum, out, d_sum, ..] = &mut saved.numbers;
        let [inside, norm, ..] = saved.inner.as_mut_slice() else { return };
        self.norm.backward(parameters, Back { x: sum, y, dy, dx: d_sum, gradients }, norm, packed);
        self.inside.backward(parameters, Back { x, y: out, dy: d_sum, dx, gradients }, inside, packed);
        for (dx, d_sum) in dx.chunks_exact_mut(self.input()).zip(d_sum.chunks_exact(self.output())) {
            for (dx, d_sum) in dx[self.input() - self.output()..].iter_mut().zip(d_sum) {
                *dx += d_sum;
            }
        }
    }

    fn prepare(&self, parameters: &[f32], packed: &mut Packed) {
        self.inside.prepare(parameters, packed);
    }

    fn attention<'a>(&self, saved: &'a Saved) -> Option<&'a [f32]> {
        self.inside.attention(saved.inner.first()?)
    }

    fn multiplications(&self) -> u64 {
        self.inside.multiplications()
    }

    fn activations(&self) -> u64 {
        self.inside.activations() + self.norm.activations()
    }
}
