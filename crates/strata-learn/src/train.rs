//! Training: deterministic from a seed, at any number of threads.
//!
//! A batch is divided into parts of a fixed size, whose gradients are summed in their order; threads take parts. After every
//! epoch the caller is given the state, to save it and to go on from it later.

use crate::adam::Adam;
use crate::dataset::{Dataset, Split, Vocabularies};
use crate::layers::BOUND;
use crate::model::{Model, Workspace};
use crate::quantise::Precision;
use crate::random::Random;
use crate::score::{Judge, Score};
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Sequences of a batch (from the activations of the paper's Tables 6 and 7).
pub const BATCH: usize = 128;
/// Sequences of the part of a batch that one thread takes.
const PART: usize = 32;
/// Sequences of a part that go through the model together: as many as leave their activations in the second-level cache. How
/// many they are changes no bit, since gradients are sums in the order of sequences.
const TOGETHER: usize = 16;

/// How to train.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Passes over the training part, at most.
    pub epochs: usize,
    /// Step length at the beginning; it falls to a twentieth in equal steps.
    pub rate: f32,
    /// Epochs without a better validation before it stops, with the parameters of the best one. None: it goes on to the end and
    /// keeps what it has then.
    pub patience: Option<usize>,
    /// Seed of the order of samples.
    pub seed: u64,
    /// What weights are held to while training: with four bits, passes see quantised weights and steps move real ones.
    pub precision: Precision,
    /// Stops as soon as the validation part is predicted this well (the paper's pre-training: 0.85).
    pub enough: Option<f64>,
    /// Threads.
    #[serde(skip)]
    pub threads: usize,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            epochs: 8,
            rate: 2e-3,
            patience: Some(5),
            seed: 1,
            precision: Precision::Float,
            enough: None,
            threads: 1,
        }
    }
}

/// What an epoch came to.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Epoch {
    /// Mean loss of the training part while it was learned.
    pub loss: f64,
    /// Mean loss of the validation part.
    pub validation_loss: f64,
    /// Share of the validation part whose most likely prediction is right.
    pub validation_top1: f64,
}

/// How far a training is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Steps done.
    pub step: usize,
    /// Steps that there may be in all.
    pub steps: usize,
    /// Mean loss of the last batch.
    pub loss: f64,
}

/// Everything that a training goes on from.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    /// What each epoch so far came to.
    pub curve: Vec<Epoch>,
    /// The parameters that are kept so far.
    pub best: Vec<f32>,
    pub(crate) adam: Adam,
}

impl State {
    /// Before the first step.
    pub fn new(model: &Model) -> Self {
        Self { curve: Vec::new(), best: model.parameters().to_vec(), adam: Adam::new(model.parameters().len()) }
    }

    /// The best epoch's share of the validation part that is predicted right: what a predictor is judged by. (Its loss is a
    /// worse guide: it rises again while the ranking still improves, as the model grows surer of what it gets wrong.)
    fn best_top1(&self) -> f64 {
        self.curve.iter().map(|epoch| epoch.validation_top1).fold(0.0, f64::max)
    }

    /// Epochs since the best one.
    fn stale(&self) -> usize {
        let best = self.best_top1();
        self.curve.iter().rev().take_while(|epoch| epoch.validation_top1 < best).count()
    }
}

/// Memory of the passes of one training.
struct Parts {
    works: Vec<Workspace>,
    gradients: Vec<Vec<f32>>,
}

/// Trains a model; in the end it has the parameters of its best epoch, or of its last if there is no patience. `heard` is told of every step, `saved` of every epoch.
pub fn train(
    model: &mut Model,
    (data, split, words): (&Dataset, &Split, &Vocabularies),
    plan: &Plan,
    state: &mut State,
    heard: &mut dyn FnMut(Progress),
    saved: &mut dyn FnMut(&Model, &State),
) {
    let steps_of_epoch = split.train.len().div_ceil(BATCH);
    let steps = steps_of_epoch * plan.epochs;
    let count = model.parameters().len();
    let parts = BATCH / PART;
    let mut memory = Parts {
        works: (0..parts).map(|_| Workspace::default()).collect(),
        gradients: (0..parts).map(|_| vec![0.0; count]).collect(),
    };
    let mut effective = Vec::new();
    while state.curve.len() < plan.epochs && plan.patience.is_none_or(|patience| state.stale() < patience.max(1)) {
        let epoch = state.curve.len();
        if state.curve.last().is_some_and(|last| plan.enough.is_some_and(|enough| last.validation_top1 >= enough)) {
            break;
        }
        let mut order = split.train.clone();
        Random::new(plan.seed.wrapping_mul(0x9e37_79b9).wrapping_add(epoch as u64)).shuffle(&mut order);
        let mut total = 0.0;
        for (k, samples) in order.chunks(BATCH).enumerate() {
            let step = epoch * steps_of_epoch + k;
            let rate = plan.rate * (1.0 - 0.95 * step as f32 / steps.max(1) as f32);
            plan.precision.apply(model.parameters(), &mut effective);
            let loss = batch(model, &effective, (data, words), samples, plan.threads, &mut memory);
            let parameters = model.parameters_mut();
            state.adam.step(parameters, &memory.gradients[0], rate);
            if plan.precision != Precision::Float {
                for weight in parameters.iter_mut() {
                    *weight = weight.clamp(-BOUND, BOUND);
                }
            }
            total += loss;
            heard(Progress { step: step + 1, steps, loss: loss / samples.len() as f64 });
        }
        let (validation_loss, score) = evaluate(model, plan.precision, (data, words), &split.validate, plan.threads);
        if plan.patience.is_none() || score.top1 >= state.best_top1() {
            state.best.copy_from_slice(model.parameters());
        }
        let loss = total / split.train.len().max(1) as f64;
        state.curve.push(Epoch { loss, validation_loss, validation_top1: score.top1 });
        saved(model, state);
    }
    model.parameters_mut().copy_from_slice(&state.best);
}

/// The summed loss of a batch; the gradients are in the first vector of the memory.
fn batch(
    model: &Model,
    parameters: &[f32],
    (data, words): (&Dataset, &Vocabularies),
    samples: &[u32],
    threads: usize,
    memory: &mut Parts,
) -> f64 {
    let parts: Vec<&[u32]> = samples.chunks(PART).collect();
    let jobs: Vec<_> = memory.works.iter_mut().zip(&mut memory.gradients).zip(&parts).map(Mutex::new).collect();
    let losses: Vec<Mutex<f64>> = parts.iter().map(|_| Mutex::new(0.0)).collect();
    in_parallel(jobs.len(), threads, |k| {
        let mut job = jobs[k].lock().unwrap_or_else(PoisonError::into_inner);
        let ((work, gradients), part) = &mut *job;
        let (mut ids, mut labels) = (Vec::new(), Vec::new());
        gradients.fill(0.0);
        let mut loss = 0.0;
        for few in part.chunks(TOGETHER) {
            data.batch(few, words, &mut ids, &mut labels);
            loss += model.learn(parameters, (&ids, &labels), samples.len(), work, gradients);
        }
        *losses[k].lock().unwrap_or_else(PoisonError::into_inner) = loss;
    });
    drop(jobs);
    if let Some((first, others)) = memory.gradients[..parts.len()].split_first_mut() {
        for other in others {
            for (sum, part) in first.iter_mut().zip(other) {
                *sum += *part;
            }
        }
    }
    losses.into_iter().map(|loss| loss.into_inner().unwrap_or_else(PoisonError::into_inner)).sum()
}

/// The mean loss and the quality of predictions of samples, with weights of a precision.
pub fn evaluate(
    model: &Model,
    precision: Precision,
    (data, words): (&Dataset, &Vocabularies),
    samples: &[u32],
    threads: usize,
) -> (f64, Score) {
    let mut parameters = Vec::new();
    precision.apply(model.parameters(), &mut parameters);
    let parts: Vec<&[u32]> = samples.chunks(TOGETHER).collect();
    let rows: Vec<Mutex<(f64, Vec<[u32; 3]>)>> = parts.iter().map(|_| Mutex::default()).collect();
    let works: Vec<Mutex<Workspace>> = (0..threads.max(1)).map(|_| Mutex::default()).collect();
    let classes = model.spec().classes;
    in_parallel(parts.len(), threads, |k| {
        let mut work = works.iter().find_map(|work| work.try_lock().ok());
        let mut own = Workspace::default();
        let work = work.as_deref_mut().unwrap_or(&mut own);
        let (mut ids, mut labels) = (Vec::new(), Vec::new());
        data.batch(parts[k], words, &mut ids, &mut labels);
        let logits = model.forward(&parameters, &ids, work);
        let judged = logits.chunks_exact(classes).zip(&labels).map(|(row, &label)| Judge::rank(row, label)).collect();
        let loss = crate::layers::loss::cross_entropy(logits, &labels, classes, 1);
        *rows[k].lock().unwrap_or_else(PoisonError::into_inner) = (loss, judged);
    });
    let (mut judge, mut total) = (Judge::default(), 0.0);
    for row in rows {
        let (loss, judged) = row.into_inner().unwrap_or_else(PoisonError::into_inner);
        total += loss;
        for [guess, label, ten] in judged {
            judge.guess(guess, label, ten != 0);
        }
    }
    (total / samples.len().max(1) as f64, judge.score())
}

/// Jobs 0 to `count`, taken by threads one after the other.
fn in_parallel(count: usize, threads: usize, work: impl Fn(usize) + Sync) {
    let next = AtomicUsize::new(0);
    let worker = || {
        loop {
            let job = next.fetch_add(1, Ordering::Relaxed);
            if job >= count {
                break;
            }
            work(job);
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.clamp(1, count.max(1)) {
            scope.spawn(worker);
        }
        worker();
    });
}
