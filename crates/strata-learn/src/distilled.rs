//! The distilled predictor, one prediction at a time, as one function without a call: every size is known to the compiler, and
//! all of it is compiled for wide registers where there are any.
//!
//! Invariant, tested: its logits have the bits of the model's own layers.

use crate::dataset::HISTORY;
use crate::layers::loss::{dot, softmax};
use crate::layers::moments;
use crate::math::positions;
use crate::model::Model;
use crate::spec::Kind;

/// Numbers of a token, of which half stand for each feature; hidden numbers of the feed-forward layer.
const WIDTH: usize = 12;
const HALF: usize = WIDTH / 2;
const HIDDEN: usize = 32;
/// Classes that are computed at once: their sums and the token's numbers just fit into the registers.
const GROUP: usize = 32;
/// A token is kept in two wide registers.
const ROOM: usize = 16;

type Token = [f32; WIDTH];
type Wide = [f32; ROOM];

/// A linear map: a row for each input.
struct Map<const IN: usize, const OUT: usize> {
    rows: [[f32; OUT]; IN],
    bias: [f32; OUT],
}

impl<const IN: usize, const OUT: usize> Map<IN, OUT> {
    #[inline(always)]
    fn apply(&self, x: &[f32; IN]) -> [f32; OUT] {
        let mut sums = self.bias;
        for (x, row) in x.iter().zip(&self.rows) {
            for (sum, w) in sums.iter_mut().zip(row) {
                *sum += x * w;
            }
        }
        sums
    }
}

struct Normal {
    scale: Token,
    shift: Token,
}

impl Normal {
    /// As `layers::Norm` has it.
    #[inline(always)]
    fn apply(&self, x: &Token) -> Token {
        let (mean, inverse) = moments(x);
        std::array::from_fn(|k| (x[k] - mean) * inverse * self.scale[k] + self.shift[k])
    }
}

/// The weights, laid out for [`Distilled::logits`].
pub(crate) struct Distilled {
    /// The numbers of each feature in their places of a token, with zeros elsewhere.
    deltas: Vec<Wide>,
    pcs: Vec<Wide>,
    positions: [Wide; HISTORY],
    query: Map<WIDTH, WIDTH>,
    out: Map<WIDTH, WIDTH>,
    norm1: Normal,
    first: Map<WIDTH, HIDDEN>,
    second: Map<HIDDEN, WIDTH>,
    norm2: Normal,
    /// Groups of classes: biases, then a row for each number of the token.
    classes: Vec<[[f32; GROUP]; WIDTH + 1]>,
    logits: Vec<f32>,
    count: usize,
}

impl Distilled {
    /// Of a model of that kind and shape, with these parameters; none of another.
    pub(crate) fn new(model: &Model, parameters: &[f32]) -> Option<Self> {
        let spec = model.spec();
        let widths: Vec<usize> = spec.features.iter().map(|(_, _, width)| *width).collect();
        if spec.kind != Kind::Distilled || spec.clamps || widths != [HALF, HALF] || spec.hidden != HIDDEN {
            return None;
        }
        let tensor = |name: &str| {
            let found = model.parameters().tensors().iter().find(|tensor| tensor.name == name)?;
            parameters.get(found.range.clone())
        };
        let token = |name: &str| Token::try_from(tensor(name)?).ok();
        let normal = |name: &str| {
            let part = |part: &str| token(&format!("{name}.{part}"));
            Some(Normal { scale: part("scale")?, shift: part("shift")? })
        };
        let (weight, bias) = (tensor("classes.weight")?, tensor("classes.bias")?);
        let count = spec.classes;
        let group = |first: usize| -> [[f32; GROUP]; WIDTH + 1] {
            std::array::from_fn(|row| {
                let row = if row == 0 { bias } else { &weight[(row - 1) * count..row * count] };
                std::array::from_fn(|class| row.get(first + class).copied().unwrap_or(0.0))
            })
        };
        let positions = positions(HISTORY, WIDTH);
        let wide = |numbers: &[f32], first: usize| {
            let mut wide = [0.0; ROOM];
            wide[first..first + numbers.len()].copy_from_slice(numbers);
            wide
        };
        let table = |values: &[f32], first: usize| values.chunks_exact(HALF).map(|row| wide(row, first)).collect();
        Some(Self {
            deltas: table(tensor("embedding.page_delta")?, 0),
            pcs: table(tensor("embedding.pc")?, HALF),
            positions: std::array::from_fn(|token| wide(&positions[token * WIDTH..(token + 1) * WIDTH], 0)),
            query: map(tensor("attention.query.weight")?, tensor("attention.query.bias")?)?,
            out: map(tensor("attention.out.weight")?, tensor("attention.out.bias")?)?,
            norm1: normal("norm1")?,
            first: map(tensor("feed_forward1.weight")?, tensor("feed_forward1.bias")?)?,
            second: map(tensor("feed_forward2.weight")?, tensor("feed_forward2.bias")?)?,
            norm2: normal("norm2")?,
            classes: (0..count).step_by(GROUP).map(group).collect(),
            logits: vec![0.0; count.div_ceil(GROUP) * GROUP],
            count,
        })
    }

    /// The logits of a history of two numbers per token.
    #[inline]
    pub(crate) fn logits(&mut self, ids: &[u32]) -> &mut [f32] {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has what it was compiled for.
            unsafe { self.fill_avx2(ids) };
            return &mut self.logits[..self.count];
        }
        self.fill(ids);
        &mut self.logits[..self.count]
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn fill_avx2(&mut self, ids: &[u32]) {
        self.fill(ids);
    }

    #[inline(always)]
    fn fill(&mut self, ids: &[u32]) {
        let mut tokens = [[0.0f32; ROOM]; HISTORY];
        for ((token, ids), position) in tokens.iter_mut().zip(ids.as_chunks::<2>().0).zip(&self.positions) {
            let pick = |table: &[Wide], id: u32| *table.get(id as usize).unwrap_or(&table[0]);
            let (delta, pc) = (pick(&self.deltas, ids[0]), pick(&self.pcs, ids[1]));
            *token = std::array::from_fn(|k| (delta[k] + pc[k]) + position[k]);
        }
        let last: Token = std::array::from_fn(|k| tokens[HISTORY - 1][k]);
        let query = self.query.apply(&last);
        let mut weights = [0.0f32; HISTORY];
        for (weight, token) in weights.iter_mut().zip(&tokens) {
            *weight = dot(&query, &token[..WIDTH]) * (1.0 / (WIDTH as f32).sqrt());
        }
        softmax(&mut weights);
        let mut context = [0.0f32; ROOM];
        for (weight, token) in weights.iter().zip(&tokens) {
            for (context, x) in context.iter_mut().zip(token) {
                *context += weight * x;
            }
        }
        let mut sum = self.out.apply(&std::array::from_fn(|k| context[k]));
        for (sum, x) in sum.iter_mut().zip(&last) {
            *sum += x;
        }
        let middle = self.norm1.apply(&sum);
        let hidden = self.first.apply(&middle).map(|x| x.max(0.0));
        let mut sum = self.second.apply(&hidden);
        for (sum, x) in sum.iter_mut().zip(&middle) {
            *sum += x;
        }
        let end = self.norm2.apply(&sum);
        for (group, logits) in self.classes.iter().zip(self.logits.as_chunks_mut::<GROUP>().0) {
            let mut sums = group[0];
            for (x, row) in end.iter().zip(&group[1..]) {
                for (sum, w) in sums.iter_mut().zip(row) {
                    *sum += x * w;
                }
            }
            *logits = sums;
        }
    }
}

fn map<const IN: usize, const OUT: usize>(weight: &[f32], bias: &[f32]) -> Option<Map<IN, OUT>> {
    Some(Map { rows: weight.as_chunks().0.try_into().ok()?, bias: bias.try_into().ok()? })
}
