//! Layer normalisation of every token (Ba, Kiros and Hinton 2016).

use super::loss::sum;
use super::{Back, Layer, Saved, zeros};
use crate::matrix::Packed;
use crate::parameters::{Builder, Slot, Start};

/// What keeps the deviation of equal numbers from being 0: the default of torch.
const EPSILON: f32 = 1e-5;

pub(crate) struct Norm {
    tokens: usize,
    width: usize,
    scale: Slot,
    shift: Slot,
}

impl Norm {
    pub(crate) fn new(make: &mut Builder, name: &str, tokens: usize, width: usize) -> Self {
        make.within(name, |make| Self {
            tokens,
            width,
            scale: make.tensor("scale", &[width], Start::Same(1.0)),
            shift: make.tensor("shift", &[width], Start::Same(0.0)),
        })
    }

    /// Normalises one token.
    #[inline]
    pub(crate) fn token(&self, parameters: &[f32], x: &[f32], y: &mut [f32]) {
        let (mean, inverse) = moments(x);
        let factors = self.scale.of(parameters).iter().zip(self.shift.of(parameters));
        for ((y, x), (scale, shift)) in y.iter_mut().zip(x).zip(factors) {
            *y = (x - mean) * inverse * scale + shift;
        }
    }
}

/// The mean, and one over the deviation.
#[inline(always)]
pub(crate) fn moments(x: &[f32]) -> (f32, f32) {
    let count = x.len() as f32;
    let mean = sum(x) / count;
    let (fours, rest) = x.as_chunks::<4>();
    let mut squares = [0.0f32; 4];
    for four in fours {
        for (square, x) in squares.iter_mut().zip(four) {
            *square += (x - mean) * (x - mean);
        }
    }
    let rest = rest.iter().map(|x| (x - mean) * (x - mean)).fold(0.0, |a, b| a + b);
    let variance = (sum(&squares) + rest) / count;
    (mean, 1.0 / (variance + EPSILON).sqrt())
}

impl Layer for Norm {
    fn input(&self) -> usize {
        self.tokens * self.width
    }

    fn output(&self) -> usize {
        self.tokens * self.width
    }

    fn forward(&self, parameters: &[f32], x: &[f32], y: &mut Vec<f32>, _: &mut Saved, _: &mut Packed) {
        zeros(y, x.len());
        for (x, y) in x.chunks_exact(self.width).zip(y.chunks_exact_mut(self.width)) {
            self.token(parameters, x, y);
        }
    }

    fn backward(&self, parameters: &[f32], back: Back<'_>, _: &mut Saved, _: &mut Packed) {
        let scale = self.scale.of(parameters);
        let count = self.width as f32;
        zeros(back.dx, back.x.len());
        let tokens = back.x.chunks_exact(self.width).zip(back.dy.chunks_exact(self.width));
        for ((x, dy), dx) in tokens.zip(back.dx.chunks_exact_mut(self.width)) {
            let (mean, inverse) = moments(x);
            let (mut total, mut product) = (0.0, 0.0);
            for at in 0..self.width {
                let normal = (x[at] - mean) * inverse;
                self.scale.of_mut(back.gradients)[at] += dy[at] * normal;
                self.shift.of_mut(back.gradients)[at] += dy[at];
                total += dy[at] * scale[at];
                product += dy[at] * scale[at] * normal;
            }
            for at in 0..self.width {
                let normal = (x[at] - mean) * inverse;
                dx[at] = inverse * (dy[at] * scale[at] - total / count - normal * product / count);
            }
        }
    }

    fn multiplications(&self) -> u64 {
        0
    }

    fn activations(&self) -> u64 {
        self.output() as u64
    }
}
