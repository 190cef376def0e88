//! Tokens of whole numbers to vectors: a table for each feature, one beside the other, and the position added.

use crate::math::positions;
use crate::parameters::{Builder, Slot, Start};

struct Table {
    width: usize,
    entries: usize,
    weight: Slot,
}

pub(crate) struct Embedding {
    tokens: usize,
    tables: Vec<Table>,
    positions: Vec<f32>,
}

impl Embedding {
    /// A table for each feature: its name, how many values it has, and how many numbers stand for one.
    pub(crate) fn new(make: &mut Builder, tokens: usize, features: &[(&str, usize, usize)], positional: bool) -> Self {
        let tables: Vec<_> = make.within("embedding", |make| {
            let table = |&(name, entries, width): &(&str, usize, usize)| {
                // A deviation that leaves room for the positions, whose numbers are up to 1.
                let weight = make.tensor(name, &[entries, width], Start::Normal(0.5));
                Table { width, entries, weight }
            };
            features.iter().map(table).collect()
        });
        let width = tables.iter().map(|table| table.width).sum();
        let positions = if positional { positions(tokens, width) } else { vec![0.0; tokens * width] };
        Self { tokens, tables, positions }
    }

    /// Numbers of a sequence behind it.
    pub(crate) fn output(&self) -> usize {
        self.positions.len()
    }

    /// Numbers that its modules put out for a sequence.
    pub(crate) fn activations(&self) -> u64 {
        // The tables, then the sum with the positions.
        2 * self.output() as u64
    }

    /// Ids are those of the features of a token, token by token. An id beyond its table is its first entry, "unknown".
    pub(crate) fn forward(&self, parameters: &[f32], ids: &[u32], y: &mut Vec<f32>) {
        y.clear();
        for sequence in ids.chunks_exact(self.tokens * self.tables.len()) {
            for token in sequence.chunks_exact(self.tables.len()) {
                for (table, &id) in self.tables.iter().zip(token) {
                    let id = if (id as usize) < table.entries { id as usize } else { 0 };
                    y.extend_from_slice(&table.weight.of(parameters)[id * table.width..(id + 1) * table.width]);
                }
            }
            let start = y.len() - self.positions.len();
            for (y, position) in y[start..].iter_mut().zip(&self.positions) {
                *y += position;
            }
        }
    }

    /// Adds to the gradients.
    pub(crate) fn backward(&self, ids: &[u32], dy: &[f32], gradients: &mut [f32]) {
        let width = self.output() / self.tokens;
        for (token, dy) in ids.chunks_exact(self.tables.len()).zip(dy.chunks_exact(width)) {
            let mut first = 0;
            for (table, &id) in self.tables.iter().zip(token) {
                let id = if (id as usize) < table.entries { id as usize } else { 0 };
                let row = &mut table.weight.of_mut(gradients)[id * table.width..(id + 1) * table.width];
                for (gradient, d) in row.iter_mut().zip(&dy[first..first + table.width]) {
                    *gradient += d;
                }
                first += table.width;
            }
        }
    }
}
