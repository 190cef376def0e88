//! The distilled predictor, one prediction at a time, as one function without a call: every size is known to the compiler, and
//! all of it is compiled for wide registers where there are any. It is there for four-bit weights alone.
//!
//! Invariant, tested: its logits have the bits of the model's own layers.

use crate::dataset::HISTORY;
use crate::layers::loss::{dots, softmax};
use crate::layers::moments;
use crate::math::positions;
use crate::model::Model;
use crate::spec::Kind;

/// Numbers of a token, of which half stand for each feature; hidden numbers of the feed-forward layer.
const WIDTH: usize = 12;
const HALF: usize = WIDTH / 2;
const HIDDEN: usize = 32;
/// Classes that are computed at once, in two halves: their sums and what they are made of just fit into the registers.
const GROUP: usize = 2 * HALVES;
const HALVES: usize = 16;
/// A token is kept in two wide registers.
const ROOM: usize = 16;

type Token = [f32; WIDTH];

/// A token's numbers in a cache line of their own.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Wide([f32; ROOM]);

/// A group of classes: biases, then a row for each number of the token. Four-bit weights have no more than eight significant
/// bits, so a word holds the upper halves of two: a thousand classes stay in the first-level cache.
#[repr(align(64))]
struct Group([[u32; HALVES]; WIDTH + 1]);

impl Group {
    /// The logits of a token.
    #[inline(always)]
    fn apply(&self, token: &Token, logits: &mut [f32; GROUP]) {
        let [biases, rows @ ..] = &self.0;
        let (mut low, mut high) = (biases.map(low), biases.map(high));
        for (x, row) in token.iter().zip(rows) {
            for ((low_sum, high_sum), word) in low.iter_mut().zip(&mut high).zip(row) {
                *low_sum += x * self::low(*word);
                *high_sum += x * self::high(*word);
            }
        }
        logits[..HALVES].copy_from_slice(&low);
        logits[HALVES..].copy_from_slice(&high);
    }
}

/// The numbers of a word.
#[inline(always)]
fn low(word: u32) -> f32 {
    f32::from_bits(word << 16)
}

#[inline(always)]
fn high(word: u32) -> f32 {
    f32::from_bits(word >> 16 << 16)
}

/// The word of two numbers, if both have so few bits.
fn word(low: f32, high: f32) -> Option<u32> {
    let upper = |x: f32| (x.to_bits() << 16 == 0).then_some(x.to_bits() >> 16);
    Some(upper(high)? << 16 | upper(low)?)
}

/// A linear map: a row for each input; of a token's outputs there are [`ROOM`], zeros behind its own.
#[repr(align(64))]
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

#[repr(align(64))]
struct Normal {
    scale: [f32; ROOM],
    shift: [f32; ROOM],
}

impl Normal {
    /// As `layers::Norm` has it.
    #[inline(always)]
    fn apply(&self, x: &[f32; ROOM]) -> [f32; ROOM] {
        let (mean, inverse) = moments(token(x));
        std::array::from_fn(|k| (x[k] - mean) * inverse * self.scale[k] + self.shift[k])
    }
}

/// The weights, laid out for [`Distilled::logits`].
pub(crate) struct Distilled {
    /// The numbers of each feature in their places of a token, with zeros elsewhere.
    deltas: Vec<Wide>,
    pcs: Vec<Wide>,
    positions: [Wide; HISTORY],
    query: Map<WIDTH, ROOM>,
    out: Map<WIDTH, ROOM>,
    norm1: Normal,
    first: Map<WIDTH, HIDDEN>,
    second: Map<HIDDEN, ROOM>,
    norm2: Normal,
    classes: Vec<Group>,
    logits: Vec<f32>,
    count: usize,
}

impl Distilled {
    /// Of a model of that kind and shape, with these parameters; none of another, or whose weights have too many bits.
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
        // A delta, of pages or of larger units, and the program counter.
        let embedding = |k: usize| tensor(&format!("embedding.{}", spec.features[k].0.name()));
        let wide = |numbers: &[f32], first: usize| {
            let mut wide = [0.0; ROOM];
            wide[first..first + numbers.len()].copy_from_slice(numbers);
            Wide(wide)
        };
        let normal = |name: &str| {
            let part = |part: &str| Some(wide(tensor(&format!("{name}.{part}"))?, 0).0);
            Some(Normal { scale: part("scale")?, shift: part("shift")? })
        };
        let (weight, bias) = (tensor("classes.weight")?, tensor("classes.bias")?);
        let count = spec.classes;
        let group = |first: usize| {
            let mut words = [[0; HALVES]; WIDTH + 1];
            for (words, row) in words.iter_mut().zip(std::iter::once(bias).chain(weight.chunks_exact(count))) {
                let number = |class: usize| row.get(class).copied().unwrap_or(0.0);
                for (k, to) in words.iter_mut().enumerate() {
                    *to = word(number(first + k), number(first + HALVES + k))?;
                }
            }
            Some(Group(words))
        };
        let positions = positions(HISTORY, WIDTH);
        let table = |values: &[f32], first: usize| values.chunks_exact(HALF).map(|row| wide(row, first)).collect();
        Some(Self {
            deltas: table(embedding(0)?, 0),
            pcs: table(embedding(1)?, HALF),
            positions: std::array::from_fn(|token| wide(&positions[token * WIDTH..(token + 1) * WIDTH], 0)),
            query: map(tensor("attention.query.weight")?, tensor("attention.query.bias")?)?,
            out: map(tensor("attention.out.weight")?, tensor("attention.out.bias")?)?,
            norm1: normal("norm1")?,
            first: map(tensor("feed_forward1.weight")?, tensor("feed_forward1.bias")?)?,
            second: map(tensor("feed_forward2.weight")?, tensor("feed_forward2.bias")?)?,
            norm2: normal("norm2")?,
            classes: (0..count).step_by(GROUP).map(group).collect::<Option<_>>()?,
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
        let mut tokens = [Wide([0.0; ROOM]); HISTORY];
        for ((token, ids), position) in tokens.iter_mut().zip(ids.as_chunks::<2>().0).zip(&self.positions) {
            let pick = |table: &[Wide], id: u32| table.get(id as usize).unwrap_or(&table[0]).0;
            let (delta, pc) = (pick(&self.deltas, ids[0]), pick(&self.pcs, ids[1]));
            token.0 = std::array::from_fn(|k| (delta[k] + pc[k]) + position.0[k]);
        }
        let last = tokens[HISTORY - 1].0;
        let query = self.query.apply(token(&last));
        let each = tokens.iter().map(|wide| token(&wide.0));
        let mut weights: [f32; HISTORY] = dots(token(&query), each).map(|x| x * (1.0 / (WIDTH as f32).sqrt()));
        softmax(&mut weights);
        let mut context = [0.0f32; ROOM];
        for (weight, token) in weights.iter().zip(&tokens) {
            for (context, x) in context.iter_mut().zip(&token.0) {
                *context += weight * x;
            }
        }
        let mut sum = self.out.apply(token(&context));
        for (sum, x) in sum.iter_mut().zip(&last) {
            *sum += x;
        }
        let middle = self.norm1.apply(&sum);
        let hidden = self.first.apply(token(&middle)).map(|x| x.max(0.0));
        let mut sum = self.second.apply(&hidden);
        for (sum, x) in sum.iter_mut().zip(&middle) {
            *sum += x;
        }
        let end = self.norm2.apply(&sum);
        for (group, logits) in self.classes.iter().zip(self.logits.as_chunks_mut::<GROUP>().0) {
            group.apply(token(&end), logits);
        }
    }
}

fn map<const IN: usize, const OUT: usize>(weight: &[f32], bias: &[f32]) -> Option<Map<IN, OUT>> {
    let padded = |numbers: &[f32]| std::array::from_fn(|k| numbers.get(k).copied().unwrap_or(0.0));
    let mut rows = [[0.0; OUT]; IN];
    if bias.len() > OUT || weight.len() != IN * bias.len() {
        return None;
    }
    for (row, weight) in rows.iter_mut().zip(weight.chunks_exact(bias.len())) {
        *row = padded(weight);
    }
    Some(Map { rows, bias: padded(bias) })
}

/// A token without what pads it.
#[inline(always)]
fn token(wide: &[f32; ROOM]) -> &Token {
    wide.first_chunk().expect("a token is shorter")
}
