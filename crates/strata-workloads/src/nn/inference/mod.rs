//! Inference with convolutional networks, as Darknet does it: what the programs of the darknet suite share.
//!
//! A network is a list of layers ([`layers`]). Its weights are made, not trained ([`weights`]). From the list come the
//! allocations ([`memory`]), the launches of a pass ([`plan`]) and what is expected of them: [`calibration`] goes through
//! the network on the CPU, layer by layer ([`reference`](mod@reference), [`convolution`]), and finds the statistics of its
//! normalisations on the way. [`infer`] puts these together; [`pictures`] says what the network looks at.

mod calibration;
mod convolution;
mod infer;
mod layers;
mod memory;
mod pictures;
mod plan;
mod reference;
mod weights;

pub(crate) use infer::infer;
pub(crate) use layers::{Detector, Network, Scale, Shapes};
pub(crate) use pictures::Framing;
