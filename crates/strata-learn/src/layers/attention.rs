//! Multi-head self-attention, full or thinned by hashing.
//!
//! With hashing, queries and keys are the same (Algorithm 1: "shared"); a token that is erased has a query and a key of zeros,
//! so its logits are 0 as the paper writes it, or it is masked, as an option; a copied token has the logits of its base.

use super::loss::{softmax, softmax_backward};
use super::{Back, Hashing, Layer, Linear, Role, Saved, zeros};
use crate::matrix::{Packed, View, multiply_add};
use crate::parameters::Builder;

/// How attention is thinned.
pub(crate) struct Thinning {
    pub(crate) hashing: Hashing,
    /// Nobody attends to erased tokens.
    pub(crate) masks: bool,
}

pub(crate) struct Attention {
    tokens: usize,
    width: usize,
    heads: usize,
    query: Linear,
    /// None: keys are the queries.
    key: Option<Linear>,
    value: Linear,
    out: Linear,
    thinning: Option<Thinning>,
}

/// A logit that leaves nothing after the softmax.
const MASKED: f32 = -1e9;

impl Attention {
    /// Full attention; `heads` divide `width`.
    pub(crate) fn full(make: &mut Builder, tokens: usize, width: usize, heads: usize) -> Self {
        make.within("attention", |make| {
            let mut linear = |name| Linear::new(make, name, tokens, width, width);
            let (query, key) = (linear("query"), Some(linear("key")));
            Self { tokens, width, heads, query, key, value: linear("value"), out: linear("out"), thinning: None }
        })
    }

    /// One head, thinned.
    pub(crate) fn thinned(make: &mut Builder, tokens: usize, width: usize, thinning: Thinning) -> Self {
        make.within("attention", |make| {
            let mut linear = |name| Linear::new(make, name, tokens, width, width);
            let query = linear("shared");
            let (value, out) = (linear("value"), linear("out"));
            Self { tokens, width, heads: 1, query, key: None, value, out, thinning: Some(thinning) }
        })
    }

    fn scale(&self) -> f32 {
        1.0 / ((self.width / self.heads) as f32).sqrt()
    }

    /// Every head of every sequence: where its numbers begin in a matrix of tokens, and the sequence.
    fn heads_of(&self, numbers: usize) -> impl Iterator<Item = (usize, usize)> + use<> {
        let (per_sequence, head, heads) = (self.input(), self.width / self.heads, self.heads);
        (0..numbers / per_sequence).flat_map(move |s| (0..heads).map(move |h| (s * per_sequence + h * head, s)))
    }

    /// The queries, keys and values; then what hashing leaves of them.
    fn project(&self, parameters: &[f32], x: &[f32], saved: &mut Saved, packed: &mut Packed) {
        saved.inner(4);
        let [query, key, value, ..] = &mut saved.numbers;
        let [of_query, of_key, of_value, ..] = saved.inner.as_mut_slice() else { return };
        self.query.forward(parameters, x, query, of_query, packed);
        match &self.key {
            Some(linear) => linear.forward(parameters, x, key, of_key, packed),
            None => key.clone_from(query),
        }
        self.value.forward(parameters, x, value, of_value, packed);
        saved.roles.clear();
        let Some(thinning) = &self.thinning else { return };
        for sequence in query.chunks_exact(self.input()) {
            thinning.hashing.roles(sequence, &mut saved.roles);
        }
        for (token, role) in saved.roles.iter().enumerate() {
            if *role != Role::Kept {
                query[token * self.width..(token + 1) * self.width].fill(0.0);
                key[token * self.width..(token + 1) * self.width].fill(0.0);
            }
        }
    }

    /// Logits of one sequence and head: copies and masks.
    fn thin(&self, roles: &[Role], logits: &mut [f32]) {
        let Some(thinning) = &self.thinning else { return };
        for (token, role) in roles.iter().enumerate() {
            if let Role::Copied(base) = role {
                let base = *base as usize * self.tokens;
                logits.copy_within(base..base + self.tokens, token * self.tokens);
            }
        }
        if thinning.masks {
            for row in logits.chunks_exact_mut(self.tokens) {
                for (logit, _) in row.iter_mut().zip(roles).filter(|(_, role)| **role == Role::Erased) {
                    *logit = MASKED;
                }
            }
        }
    }

    /// The gradient of logits, back through copies and masks.
    fn thin_backward(&self, roles: &[Role], d: &mut [f32]) {
        let Some(thinning) = &self.thinning else { return };
        for (token, role) in roles.iter().enumerate() {
            if let Role::Copied(base) = role {
                for at in 0..self.tokens {
                    d[*base as usize * self.tokens + at] += std::mem::take(&mut d[token * self.tokens + at]);
                }
            }
        }
        if thinning.masks {
            for row in d.chunks_exact_mut(self.tokens) {
                for (d, _) in row.iter_mut().zip(roles).filter(|(_, role)| **role == Role::Erased) {
                    *d = 0.0;
                }
            }
        }
    }
}

/// Copies a small matrix into columns of one whose rows have `width` numbers.
fn put(small: &[f32], into: &mut [f32], columns: usize, width: usize) {
    for (row, values) in small.chunks_exact(columns).enumerate() {
        into[row * width..row * width + columns].copy_from_slice(values);
    }
}

impl Layer for Attention {
    fn input(&self) -> usize {
        self.tokens * self.width
    }

    fn output(&self) -> usize {
        self.tokens * self.width
    }

    fn forward(&self, parameters: &[f32], x: &[f32], y: &mut Vec<f32>, saved: &mut Saved, packed: &mut Packed) {
        self.project(parameters, x, saved, packed);
        let (tokens, width, head) = (self.tokens, self.width, self.width / self.heads);
        let [query, key, value, weights, context, small] = &mut saved.numbers;
        zeros(weights, x.len() / self.input() * self.heads * tokens * tokens);
        zeros(context, x.len());
        for ((at, sequence), weights) in self.heads_of(x.len()).zip(weights.chunks_exact_mut(tokens * tokens)) {
            let (q, k) = (View::rows(&query[at..], width), View::transposed(&key[at..], width));
            multiply_add((tokens, head, tokens), q, k, weights, packed);
            let roles = saved.roles.get(sequence * tokens..(sequence + 1) * tokens).unwrap_or_default();
            self.thin(roles, weights);
            for row in weights.chunks_exact_mut(tokens) {
                for logit in row.iter_mut() {
                    *logit *= self.scale();
                }
                softmax(row);
            }
            zeros(small, tokens * head);
            let v = View::rows(&value[at..], width);
            multiply_add((tokens, tokens, head), View::rows(weights, tokens), v, small, packed);
            put(small, &mut context[at..], head, width);
        }
        self.out.forward(parameters, context, y, &mut saved.inner[3], packed);
    }

    fn backward(&self, parameters: &[f32], back: Back<'_>, saved: &mut Saved, packed: &mut Packed) {
        let (tokens, width, head) = (self.tokens, self.width, self.width / self.heads);
        let Back { x, y, dy, dx, gradients } = back;
        let Saved { numbers: [query, key, value, weights, context, small], roles, inner } = saved;
        let [of_query, of_key, of_value, of_out, ..] = inner.as_mut_slice() else { return };
        let mut d_context = std::mem::take(&mut of_out.numbers[1]);
        self.out.backward(parameters, Back { x: context, y, dy, dx: &mut d_context, gradients }, of_out, packed);
        let [d_query, d_key, d_value] = [&mut *of_query, &mut *of_key, &mut *of_value].map(|saved| {
            let mut d = std::mem::take(&mut saved.numbers[1]);
            zeros(&mut d, x.len());
            d
        });
        let (mut d_query, mut d_key, mut d_value) = (d_query, d_key, d_value);
        let mut d_weights = std::mem::take(&mut of_out.numbers[2]);
        for ((at, sequence), weights) in self.heads_of(x.len()).zip(weights.chunks_exact(tokens * tokens)) {
            let d_out = View::rows(&d_context[at..], width);
            zeros(small, tokens * head);
            multiply_add((tokens, tokens, head), View::transposed(weights, tokens), d_out, small, packed);
            put(small, &mut d_value[at..], head, width);
            zeros(&mut d_weights, tokens * tokens);
            let v = View::transposed(&value[at..], width);
            multiply_add((tokens, head, tokens), d_out, v, &mut d_weights, packed);
            for (row, weights) in d_weights.chunks_exact_mut(tokens).zip(weights.chunks_exact(tokens)) {
                softmax_backward(weights, row);
                for d in row {
                    *d *= self.scale();
                }
            }
            let roles = roles.get(sequence * tokens..(sequence + 1) * tokens).unwrap_or_default();
            self.thin_backward(roles, &mut d_weights);
            zeros(small, tokens * head);
            let k = View::rows(&key[at..], width);
            multiply_add((tokens, tokens, head), View::rows(&d_weights, tokens), k, small, packed);
            put(small, &mut d_query[at..], head, width);
            zeros(small, tokens * head);
            let q = View::rows(&query[at..], width);
            multiply_add((tokens, tokens, head), View::transposed(&d_weights, tokens), q, small, packed);
            put(small, &mut d_key[at..], head, width);
        }
        for (token, role) in roles.iter().enumerate() {
            if *role != Role::Kept {
                d_query[token * width..(token + 1) * width].fill(0.0);
                d_key[token * width..(token + 1) * width].fill(0.0);
            }
        }
        let mut part = std::mem::take(&mut d_context);
        let mut add = |linear: &Linear, d: &[f32], saved: &mut Saved, first: bool| {
            let target = if first { &mut *dx } else { &mut part };
            linear.backward(parameters, Back { x, y: &[], dy: d, dx: target, gradients }, saved, packed);
            if !first {
                for (dx, part) in dx.iter_mut().zip(&part) {
                    *dx += part;
                }
            }
        };
        if let Some(linear) = &self.key {
            add(&self.query, &d_query, of_query, true);
            add(linear, &d_key, of_key, false);
        } else {
            for (d, key) in d_query.iter_mut().zip(&d_key) {
                *d += key;
            }
            add(&self.query, &d_query, of_query, true);
        }
        add(&self.value, &d_value, of_value, false);
        (of_query.numbers[1], of_key.numbers[1], of_value.numbers[1]) = (d_query, d_key, d_value);
        (of_out.numbers[1], of_out.numbers[2]) = (part, d_weights);
    }

    fn prepare(&self, parameters: &[f32], packed: &mut Packed) {
        for linear in [Some(&self.query), self.key.as_ref(), Some(&self.value), Some(&self.out)].into_iter().flatten() {
            linear.prepare(parameters, packed);
        }
    }

    fn attention<'a>(&self, saved: &'a Saved) -> Option<&'a [f32]> {
        Some(&saved.numbers[3])
    }

    fn multiplications(&self) -> u64 {
        let projections = 3 + u64::from(self.key.is_some());
        let products = 2 * (self.tokens * self.tokens * self.width) as u64;
        let hashing = self.thinning.as_ref().map_or(0, |thinning| thinning.hashing.multiplications());
        projections * self.query.multiplications() + products + hashing
    }

    fn activations(&self) -> u64 {
        (3 + u64::from(self.key.is_some())) * self.query.activations()
    }
}
