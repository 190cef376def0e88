//! Layers one behind the other.

use super::{Back, Layer, Saved};
use crate::matrix::Packed;

#[derive(Default)]
pub(crate) struct Chain(Vec<Box<dyn Layer>>);

impl Chain {
    /// One more behind the others.
    pub(crate) fn then(mut self, layer: impl Layer + 'static) -> Self {
        debug_assert!(self.0.last().is_none_or(|last| last.output() == layer.input()), "sizes meet");
        self.0.push(Box::new(layer));
        self
    }

    /// Adds a layer if it is there.
    pub(crate) fn then_if(self, layer: Option<impl Layer + 'static>) -> Self {
        match layer {
            Some(layer) => self.then(layer),
            None => self,
        }
    }
}

impl Layer for Chain {
    fn input(&self) -> usize {
        self.0.first().map_or(0, |layer| layer.input())
    }

    fn output(&self) -> usize {
        self.0.last().map_or(0, |layer| layer.output())
    }

    fn forward(&self, parameters: &[f32], x: &[f32], y: &mut Vec<f32>, saved: &mut Saved, packed: &mut Packed) {
        let last = self.0.len() - 1;
        saved.inner(self.0.len());
        for (k, layer) in self.0.iter().enumerate() {
            // What a layer puts out stays in its own place, since the backward pass wants it; the last one's is the caller's.
            let (before, own) = saved.inner.split_at_mut(k);
            let x = before.last().map_or(x, |saved| saved.numbers[5].as_slice());
            if k == last {
                layer.forward(parameters, x, y, &mut own[0], packed);
            } else {
                let mut out = std::mem::take(&mut own[0].numbers[5]);
                layer.forward(parameters, x, &mut out, &mut own[0], packed);
                own[0].numbers[5] = out;
            }
        }
    }

    fn backward(&self, parameters: &[f32], back: Back<'_>, saved: &mut Saved, packed: &mut Packed) {
        let Back { x, y, dy, dx, gradients } = back;
        let (mut behind, mut before) = (std::mem::take(&mut saved.numbers[3]), std::mem::take(&mut saved.numbers[4]));
        behind.clear();
        behind.extend_from_slice(dy);
        for (k, layer) in self.0.iter().enumerate().rev() {
            let (earlier, own) = saved.inner.split_at_mut(k);
            let x = earlier.last().map_or(x, |saved| saved.numbers[5].as_slice());
            let out = std::mem::take(&mut own[0].numbers[5]);
            let y = if k + 1 == self.0.len() { y } else { &out };
            let back = Back { x, y, dy: &behind, dx: &mut before, gradients };
            layer.backward(parameters, back, &mut own[0], packed);
            own[0].numbers[5] = out;
            std::mem::swap(&mut behind, &mut before);
        }
        dx.clear();
        dx.extend_from_slice(&behind);
        (saved.numbers[3], saved.numbers[4]) = (behind, before);
    }

    fn prepare(&self, parameters: &[f32], packed: &mut Packed) {
        for layer in &self.0 {
            layer.prepare(parameters, packed);
        }
    }

    fn attention<'a>(&self, saved: &'a Saved) -> Option<&'a [f32]> {
        self.0.iter().zip(&saved.inner).find_map(|(layer, saved)| layer.attention(saved))
    }

    fn multiplications(&self) -> u64 {
        self.0.iter().map(|layer| layer.multiplications()).sum()
    }

    fn activations(&self) -> u64 {
        self.0.iter().map(|layer| layer.activations()).sum()
    }
}
