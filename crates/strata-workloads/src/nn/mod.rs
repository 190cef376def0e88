//! Training of neural networks, and inference with them: what the programs of the deep-learning and darknet suites share.
//!
//! A convolutional network is a list of layers ([`network`]); from it come its tensors in device memory ([`tensors`]), the
//! launches of a step ([`plan`], [`launches`]) and a reference on the CPU ([`reference`](mod@reference)). [`train`] puts
//! these together. The recurrent network is a list of parameters and two passes ([`recurrent`]), with its own reference;
//! [`read_text`] trains it. Networks that are only used are in [`inference`].

mod images;
pub(crate) mod inference;
mod language;
mod launches;
mod network;
mod plan;
mod read_text;
mod recurrent;
mod recurrent_reference;
mod reference;
mod reference_layers;
mod softmax;
mod tensors;
mod train;

use crate::Module;
use crate::module::module;

pub(crate) use images::CLASSES;
pub(crate) use network::{Blob, Network, window};
pub(crate) use plan::Solver;
pub(crate) use read_text::{Reading, read_text};
pub(crate) use recurrent::Sizes;
pub(crate) use train::{PUBLISHED_SIDE, Schedule, Shapes, train};

/// The kernels of all of them.
pub(crate) static NEURAL: [Module; 1] = [module!("neural")];
