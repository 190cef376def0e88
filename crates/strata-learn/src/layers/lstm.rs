//! Long short-term memory (Hochreiter and Schmidhuber 1997, with forget gates): the state after the last token.

use super::{Back, Layer, Saved, zeros};
use crate::math::{sigmoid, tanh};
use crate::matrix::{Packed, View, multiply_add};
use crate::parameters::{Builder, Slot, Start};

pub(crate) struct Lstm {
    tokens: usize,
    width: usize,
    state: usize,
    /// To the four gates: input, forget, output and candidate.
    from_token: Slot,
    from_state: Slot,
    bias: Slot,
}

impl Lstm {
    pub(crate) fn new(make: &mut Builder, tokens: usize, width: usize, state: usize) -> Self {
        let bound = 1.0 / (state as f32).sqrt();
        make.within("lstm", |make| Self {
            tokens,
            width,
            state,
            from_token: make.tensor("from_token", &[width, 4 * state], Start::Even(bound)),
            from_state: make.tensor("from_state", &[state, 4 * state], Start::Even(bound)),
            bias: make.tensor("bias", &[4 * state], Start::Even(bound)),
        })
    }
}

/// The rows of one token, of all sequences: gathered from rows of tokens.
fn token_rows(x: &[f32], token: usize, tokens: usize, width: usize, out: &mut Vec<f32>) {
    out.clear();
    for sequence in x.chunks_exact(tokens * width) {
        out.extend_from_slice(&sequence[token * width..(token + 1) * width]);
    }
}

impl Layer for Lstm {
    fn input(&self) -> usize {
        self.tokens * self.width
    }

    fn output(&self) -> usize {
        self.state
    }

    fn forward(&self, parameters: &[f32], x: &[f32], y: &mut Vec<f32>, saved: &mut Saved, packed: &mut Packed) {
        let n = x.len() / self.input();
        let (state, gates) = (self.state, 4 * self.state);
        let [all_gates, cells, states, rows, ..] = &mut saved.numbers;
        all_gates.clear();
        // Before the first token there are states of zeros.
        zeros(cells, n * state);
        zeros(states, n * state);
        for token in 0..self.tokens {
            token_rows(x, token, self.tokens, self.width, rows);
            let start = all_gates.len();
            for _ in 0..n {
                all_gates.extend_from_slice(self.bias.of(parameters));
            }
            let own = &mut all_gates[start..];
            let weight = View::rows(self.from_token.of(parameters), gates);
            multiply_add((n, self.width, gates), View::rows(rows, self.width), weight, own, packed);
            let before = token * n * state;
            let weight = View::rows(self.from_state.of(parameters), gates);
            multiply_add((n, state, gates), View::rows(&states[before..], state), weight, own, packed);
            for (sequence, own) in own.chunks_exact_mut(gates).enumerate() {
                for at in 0..state {
                    for gate in 0..3 {
                        own[gate * state + at] = sigmoid(own[gate * state + at]);
                    }
                    own[3 * state + at] = tanh(own[3 * state + at]);
                    let old = cells[before + sequence * state + at];
                    cells.push(own[state + at] * old + own[at] * own[3 * state + at]);
                    states.push(own[2 * state + at] * tanh(cells[cells.len() - 1]));
                }
            }
        }
        y.clear();
        y.extend_from_slice(&states[states.len() - n * state..]);
    }

    fn backward(&self, parameters: &[f32], back: Back<'_>, saved: &mut Saved, packed: &mut Packed) {
        let Back { x, dy, dx, gradients, .. } = back;
        let n = x.len() / self.input();
        let (state, gates) = (self.state, 4 * self.state);
        let [all_gates, cells, states, rows, d_gates, d_rows] = &mut saved.numbers;
        zeros(dx, x.len());
        let mut d_state = dy.to_vec();
        let mut d_cell = vec![0.0; n * state];
        for token in (0..self.tokens).rev() {
            let (before, after) = (token * n * state, (token + 1) * n * state);
            zeros(d_gates, n * gates);
            for at in 0..n * state {
                let (sequence, unit) = (at / state, at % state);
                let own = &all_gates[(token * n + sequence) * gates..][..gates];
                let (input, forget) = (own[unit], own[state + unit]);
                let (output, candidate) = (own[2 * state + unit], own[3 * state + unit]);
                let squashed = tanh(cells[after + at]);
                let d = d_cell[at] + d_state[at] * output * (1.0 - squashed * squashed);
                let to = &mut d_gates[sequence * gates..][..gates];
                to[unit] = d * candidate * input * (1.0 - input);
                to[state + unit] = d * cells[before + at] * forget * (1.0 - forget);
                to[2 * state + unit] = d_state[at] * squashed * output * (1.0 - output);
                to[3 * state + unit] = d * input * (1.0 - candidate * candidate);
                d_cell[at] = d * forget;
            }
            for row in d_gates.chunks_exact(gates) {
                for (bias, d) in self.bias.of_mut(gradients).iter_mut().zip(row) {
                    *bias += d;
                }
            }
            token_rows(x, token, self.tokens, self.width, rows);
            let d = View::rows(d_gates, gates);
            let weight = self.from_token.of_mut(gradients);
            multiply_add((self.width, n, gates), View::transposed(rows, self.width), d, weight, packed);
            let weight = self.from_state.of_mut(gradients);
            multiply_add((state, n, gates), View::transposed(&states[before..], state), d, weight, packed);
            d_state.fill(0.0);
            let weight = View::transposed(self.from_state.of(parameters), gates);
            multiply_add((n, gates, state), d, weight, &mut d_state, packed);
            zeros(d_rows, n * self.width);
            let weight = View::transposed(self.from_token.of(parameters), gates);
            multiply_add((n, gates, self.width), d, weight, d_rows, packed);
            for (sequence, d) in d_rows.chunks_exact(self.width).enumerate() {
                let at = (sequence * self.tokens + token) * self.width;
                dx[at..at + self.width].copy_from_slice(d);
            }
        }
    }

    fn multiplications(&self) -> u64 {
        (self.tokens * 4 * self.state * (self.width + self.state)) as u64
    }

    fn activations(&self) -> u64 {
        (self.tokens * self.state) as u64
    }
}
