//! A linear map of every token, with or without a rectifier behind it.

use super::{Back, Layer, Saved, zeros};
use crate::matrix::{Packed, View, multiply_add};
use crate::parameters::{Builder, Slot, Start};

pub(crate) struct Linear {
    tokens: usize,
    pub(super) inputs: usize,
    pub(super) outputs: usize,
    rectifies: bool,
    weight: Slot,
    bias: Slot,
}

impl Linear {
    pub(crate) fn new(make: &mut Builder, name: &str, tokens: usize, inputs: usize, outputs: usize) -> Self {
        // Glorot and Bengio 2010.
        let bound = (6.0 / (inputs + outputs) as f32).sqrt();
        make.within(name, |make| Self {
            tokens,
            inputs,
            outputs,
            rectifies: false,
            weight: make.tensor("weight", &[inputs, outputs], Start::Even(bound)),
            bias: make.tensor("bias", &[outputs], Start::Same(0.0)),
        })
    }

    /// With a rectifier behind it.
    pub(crate) fn rectified(mut self) -> Self {
        self.rectifies = true;
        self
    }
}

impl Layer for Linear {
    fn input(&self) -> usize {
        self.tokens * self.inputs
    }

    fn output(&self) -> usize {
        self.tokens * self.outputs
    }

    fn forward(&self, parameters: &[f32], x: &[f32], y: &mut Vec<f32>, _: &mut Saved, packed: &mut Packed) {
        let rows = x.len() / self.inputs;
        let (weight, bias) = (self.weight.of(parameters), self.bias.of(parameters));
        y.clear();
        for _ in 0..rows {
            y.extend_from_slice(bias);
        }
        if let Some(prepared) = packed.prepared(self.weight.place()) {
            prepared.multiply_add(x, y);
        } else {
            let size = (rows, self.inputs, self.outputs);
            multiply_add(size, View::rows(x, self.inputs), View::rows(weight, self.outputs), y, packed);
        }
        if self.rectifies {
            for y in y {
                *y = y.max(0.0);
            }
        }
    }

    fn backward(&self, parameters: &[f32], back: Back<'_>, saved: &mut Saved, packed: &mut Packed) {
        let rows = back.x.len() / self.inputs;
        let Back { x, y, dy, dx, gradients } = back;
        let masked = &mut saved.numbers[0];
        let dy = if self.rectifies {
            masked.clear();
            masked.extend(dy.iter().zip(y).map(|(d, y)| if *y > 0.0 { *d } else { 0.0 }));
            masked.as_slice()
        } else {
            dy
        };
        let bias = self.bias.of_mut(gradients);
        for dy in dy.chunks_exact(self.outputs) {
            for (bias, d) in bias.iter_mut().zip(dy) {
                *bias += d;
            }
        }
        let size = (self.inputs, rows, self.outputs);
        let weight = self.weight.of_mut(gradients);
        multiply_add(size, View::transposed(x, self.inputs), View::rows(dy, self.outputs), weight, packed);
        zeros(dx, x.len());
        let weight = self.weight.of(parameters);
        let size = (rows, self.outputs, self.inputs);
        multiply_add(size, View::rows(dy, self.outputs), View::transposed(weight, self.outputs), dx, packed);
    }

    fn prepare(&self, parameters: &[f32], packed: &mut Packed) {
        packed.prepare(self.weight.place(), self.weight.of(parameters), (self.inputs, self.outputs));
    }

    fn multiplications(&self) -> u64 {
        (self.tokens * self.inputs * self.outputs) as u64
    }

    fn activations(&self) -> u64 {
        self.output() as u64
    }
}
