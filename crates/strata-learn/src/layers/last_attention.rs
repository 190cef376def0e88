//! Attention of the last token alone, whose keys and values are the tokens themselves.
//!
//! For the distilled predictor: only the last token's output is used behind it, so nothing is computed for the others; and as
//! tokens come from tables that are learned, maps from them to keys and values would add nothing that tables cannot hold.

use super::loss::{dot, softmax, softmax_backward};
use super::{Back, Layer, Linear, Saved, zeros};
use crate::matrix::Packed;
use crate::parameters::Builder;

pub(crate) struct LastAttention {
    tokens: usize,
    width: usize,
    query: Linear,
    out: Linear,
}

impl LastAttention {
    pub(crate) fn new(make: &mut Builder, tokens: usize, width: usize) -> Self {
        make.within("attention", |make| Self {
            tokens,
            width,
            query: Linear::new(make, "query", 1, width, width),
            out: Linear::new(make, "out", 1, width, width),
        })
    }

    fn scale(&self) -> f32 {
        1.0 / (self.width as f32).sqrt()
    }

    /// The last tokens of sequences.
    fn last(&self, x: &[f32], out: &mut Vec<f32>) {
        out.clear();
        for sequence in x.chunks_exact(self.input()) {
            out.extend_from_slice(&sequence[self.input() - self.width..]);
        }
    }
}

impl Layer for LastAttention {
    fn input(&self) -> usize {
        self.tokens * self.width
    }

    fn output(&self) -> usize {
        self.width
    }

    fn forward(&self, parameters: &[f32], x: &[f32], y: &mut Vec<f32>, saved: &mut Saved, packed: &mut Packed) {
        saved.inner(2);
        let [last, query, weights, context, ..] = &mut saved.numbers;
        self.last(x, last);
        self.query.forward(parameters, last, query, &mut saved.inner[0], packed);
        zeros(weights, x.len() / self.width);
        zeros(context, query.len());
        let rows = weights.chunks_exact_mut(self.tokens).zip(context.chunks_exact_mut(self.width));
        for ((sequence, query), (weights, context)) in
            x.chunks_exact(self.input()).zip(query.chunks_exact(self.width)).zip(rows)
        {
            for (weight, token) in weights.iter_mut().zip(sequence.chunks_exact(self.width)) {
                *weight = dot(query, token) * self.scale();
            }
            softmax(weights);
            for (weight, token) in weights.iter().zip(sequence.chunks_exact(self.width)) {
                for (context, x) in context.iter_mut().zip(token) {
                    *context += weight * x;
                }
            }
        }
        self.out.forward(parameters, context, y, &mut saved.inner[1], packed);
    }

    fn backward(&self, parameters: &[f32], back: Back<'_>, saved: &mut Saved, packed: &mut Packed) {
        let Back { x, y, dy, dx, gradients } = back;
        let Saved { numbers: [last, query, weights, context, d_context, d_query], inner, .. } = saved;
        self.out.backward(parameters, Back { x: context, y, dy, dx: d_context, gradients }, &mut inner[1], packed);
        zeros(dx, x.len());
        zeros(d_query, query.len());
        let mut d_weights = vec![0.0; self.tokens];
        for (s, sequence) in x.chunks_exact(self.input()).enumerate() {
            let own = s * self.width..(s + 1) * self.width;
            let (query, d_context) = (&query[own.clone()], &d_context[own.clone()]);
            let (weights, dx) =
                (&weights[s * self.tokens..][..self.tokens], &mut dx[s * self.input()..][..self.input()]);
            for (d, token) in d_weights.iter_mut().zip(sequence.chunks_exact(self.width)) {
                *d = token.iter().zip(d_context).map(|(x, d)| x * d).sum();
            }
            softmax_backward(weights, &mut d_weights);
            let tokens = sequence.chunks_exact(self.width).zip(dx.chunks_exact_mut(self.width));
            for ((token, dx), (weight, d)) in tokens.zip(weights.iter().zip(&d_weights)) {
                let d = d * self.scale();
                for at in 0..self.width {
                    dx[at] += weight * d_context[at] + d * query[at];
                    d_query[own.start + at] += d * token[at];
                }
            }
        }
        let mut d_last = Vec::new();
        let query_back = Back { x: last, y: query, dy: d_query, dx: &mut d_last, gradients };
        self.query.backward(parameters, query_back, &mut inner[0], packed);
        for (dx, d) in dx.chunks_exact_mut(self.input()).zip(d_last.chunks_exact(self.width)) {
            for (dx, d) in dx[self.input() - self.width..].iter_mut().zip(d) {
                *dx += d;
            }
        }
    }

    fn prepare(&self, parameters: &[f32], packed: &mut Packed) {
        self.query.prepare(parameters, packed);
        self.out.prepare(parameters, packed);
    }

    fn multiplications(&self) -> u64 {
        self.query.multiplications() + self.out.multiplications() + 2 * self.input() as u64
    }

    fn activations(&self) -> u64 {
        self.query.activations() + self.out.activations()
    }
}
