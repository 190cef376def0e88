//! A convolution over neighbouring tokens with a rectifier behind it; beyond the ends there are zeros.

use super::{Back, Layer, Linear, Saved, zeros};
use crate::matrix::Packed;
use crate::parameters::Builder;

pub(crate) struct Convolution {
    tokens: usize,
    width: usize,
    reach: usize,
    /// From the tokens within reach, one beside the other.
    linear: Linear,
}

impl Convolution {
    /// Over `2 * reach + 1` tokens.
    pub(crate) fn new(
        make: &mut Builder,
        name: &str,
        tokens: usize,
        width: usize,
        outputs: usize,
        reach: usize,
    ) -> Self {
        let linear = Linear::new(make, name, tokens, (2 * reach + 1) * width, outputs).rectified();
        Self { tokens, width, reach, linear }
    }

    /// For every token and every neighbour within reach: where it stands in the gathered row, and where it comes from.
    fn pairs(&self, sequences: usize) -> impl Iterator<Item = (usize, usize)> + use<> {
        let (tokens, width, reach) = (self.tokens, self.width, self.reach);
        let row = (2 * reach + 1) * width;
        (0..sequences * tokens).flat_map(move |token| {
            let at = token % tokens;
            (0..=2 * reach)
                .filter(move |k| (reach..tokens + reach).contains(&(at + k)))
                .map(move |k| (token * row + k * width, (token + k - reach) * width))
        })
    }
}

impl Layer for Convolution {
    fn input(&self) -> usize {
        self.tokens * self.width
    }

    fn output(&self) -> usize {
        self.linear.output()
    }

    fn forward(&self, parameters: &[f32], x: &[f32], y: &mut Vec<f32>, saved: &mut Saved, packed: &mut Packed) {
        saved.inner(1);
        let gathered = &mut saved.numbers[0];
        let sequences = x.len() / self.input();
        zeros(gathered, sequences * self.linear.input());
        for (to, from) in self.pairs(sequences) {
            gathered[to..to + self.width].copy_from_slice(&x[from..from + self.width]);
        }
        self.linear.forward(parameters, gathered, y, &mut saved.inner[0], packed);
    }

    fn backward(&self, parameters: &[f32], back: Back<'_>, saved: &mut Saved, packed: &mut Packed) {
        let Back { x, y, dy, dx, gradients } = back;
        let [gathered, d_gathered, ..] = &mut saved.numbers;
        let inner = Back { x: gathered, y, dy, dx: d_gathered, gradients };
        self.linear.backward(parameters, inner, &mut saved.inner[0], packed);
        zeros(dx, x.len());
        for (from, to) in self.pairs(x.len() / self.input()) {
            for (dx, d) in dx[to..to + self.width].iter_mut().zip(&d_gathered[from..from + self.width]) {
                *dx += d;
            }
        }
    }

    fn prepare(&self, parameters: &[f32], packed: &mut Packed) {
        self.linear.prepare(parameters, packed);
    }

    fn multiplications(&self) -> u64 {
        self.linear.multiplications()
    }

    fn activations(&self) -> u64 {
        self.linear.activations()
    }
}
