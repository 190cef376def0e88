//! The parameters of a model: named tensors in one vector, so that an optimiser, a checkpoint and a quantiser see them alike.

use crate::random::Random;
use std::ops::{Deref, DerefMut, Range};

/// Where a tensor lies in the vector.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Slot {
    start: usize,
    len: usize,
}

impl Slot {
    /// Its name among prepared factors.
    pub(crate) fn place(self) -> usize {
        self.start
    }

    pub(crate) fn of(self, vector: &[f32]) -> &[f32] {
        &vector[self.start..self.start + self.len]
    }

    pub(crate) fn of_mut(self, vector: &mut [f32]) -> &mut [f32] {
        &mut vector[self.start..self.start + self.len]
    }
}

/// A named tensor.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tensor {
    /// Its name, as in a checkpoint.
    pub name: String,
    /// Extents, the slowest first.
    pub shape: Vec<usize>,
    /// Its part of the vector.
    pub range: Range<usize>,
}

/// All tensors of a model, in one vector.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Parameters {
    tensors: Vec<Tensor>,
    values: Vec<f32>,
    /// The scales of their four-bit form, one for each tensor, if they came from such a form: it is then theirs for good.
    scales: Vec<f32>,
}

impl Parameters {
    /// The tensors, in the order of the vector.
    pub fn tensors(&self) -> &[Tensor] {
        &self.tensors
    }

    /// The fixed scale of a tensor's four-bit form.
    pub(crate) fn fixed_scale(&self, tensor: usize) -> Option<f32> {
        self.scales.get(tensor).copied()
    }

    /// Fixes the scales of the four-bit form.
    pub(crate) fn fix_scales(&mut self, scales: Vec<f32>) {
        self.scales = scales;
    }
}

impl Deref for Parameters {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        &self.values
    }
}

impl DerefMut for Parameters {
    fn deref_mut(&mut self) -> &mut [f32] {
        &mut self.values
    }
}

/// How a tensor begins.
#[derive(Clone, Copy)]
pub(crate) enum Start {
    Same(f32),
    /// Normal, with this deviation.
    Normal(f32),
    /// Even between plus and minus this.
    Even(f32),
}

/// Makes the parameters while layers are made.
pub(crate) struct Builder {
    parameters: Parameters,
    random: Random,
    path: Vec<String>,
}

impl Builder {
    pub(crate) fn new(seed: u64) -> Self {
        Self { parameters: Parameters::default(), random: Random::new(seed), path: Vec::new() }
    }

    /// What is made inside has this name before its own.
    pub(crate) fn within<T>(&mut self, name: &str, make: impl FnOnce(&mut Self) -> T) -> T {
        self.path.push(name.to_owned());
        let made = make(self);
        self.path.pop();
        made
    }

    pub(crate) fn tensor(&mut self, name: &str, shape: &[usize], start: Start) -> Slot {
        let range = self.parameters.values.len()..self.parameters.values.len() + shape.iter().product::<usize>();
        let random = &mut self.random;
        self.parameters.values.extend(range.clone().map(|_| match start {
            Start::Same(value) => value,
            Start::Normal(deviation) => deviation * random.normal(),
            Start::Even(bound) => bound * random.signed(),
        }));
        let name = self.path.iter().map(String::as_str).chain([name]).collect::<Vec<_>>().join(".");
        let slot = Slot { start: range.start, len: range.len() };
        self.parameters.tensors.push(Tensor { name, shape: shape.to_vec(), range });
        slot
    }

    pub(crate) fn finish(self) -> Parameters {
        self.parameters
    }
}
