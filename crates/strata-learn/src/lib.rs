//! Page-delta predictors: from a trace of requests to the GMMU to a prediction in a machine.
//!
//! * [`trace_file`], [`access`], [`vocabulary`], [`dataset`]: requests, their features as numbers, sequences, how they are divided;
//! * [`spec`], [`model`], [`parameters`]: models, whose layers have hand-written backward passes;
//! * [`train`], [`score`], [`baseline`]: learning, and how good it is beside tables that remember;
//! * [`quantise`], [`memory`], [`checkpoint`]: weights of few bits, what a model takes, files;
//! * [`inference`], [`online`], [`remembering`]: one prediction at a time, and predictors that learn while a program runs.
//!
//! Invariants: results are the same on every machine and at any number of threads: no product is fused, no sum reordered, no
//! function of the platform's mathematics library called; every layer's gradients match finite differences; one prediction has
//! the bits of a batch. This crate knows nothing of the simulator: a request is a row of numbers.
//!
//! There is no framework below it. Training here needs eight layers and one optimiser; a matrix product of our own is as fast as
//! its libraries on processors that multiply and add in separate units, builds in seconds and has the same bits everywhere.
//!
//! ```
//! use strata_learn::access::Access;
//! use strata_learn::dataset::{Dataset, Protocol};
//! use strata_learn::model::Model;
//! use strata_learn::spec::{Kind, Spec};
//!
//! // A warp that walks through memory, page by page.
//! let walk: Vec<Access> = (0..100).map(|k| Access { page: k << 12, ..Access::default() }).collect();
//! let data = Dataset::new(&walk, Kind::Distilled.task(1)).expect("it is long enough");
//! let split = data.split(Protocol::Paper, 1, 20_000);
//! let words = data.vocabularies(data.samples(), 100);
//! assert_eq!((split.test.len(), words.labels.value(1)), (70, Some(1)));
//! let model = Model::new(Spec::new(Kind::Distilled, data.task(), &words));
//! assert_eq!(model.spec().classes, 2, "the delta of one page, and the unknown");
//! ```

#![allow(clippy::inline_always, reason = "code is compiled again for wide registers only where it is inlined")]

pub mod access;
mod adam;
pub mod baseline;
pub mod checkpoint;
pub mod dataset;
mod distilled;
mod error;
pub mod inference;
mod layers;
mod math;
mod matrix;
pub mod memory;
pub mod model;
pub mod online;
pub mod parameters;
pub mod quantise;
pub mod random;
pub mod remembering;
pub mod score;
pub mod spec;
#[cfg(test)]
mod tests;
pub mod trace_file;
pub mod train;
pub mod vocabulary;

pub use error::LearnError;
