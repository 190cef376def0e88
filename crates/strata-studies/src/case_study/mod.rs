//! The paper's case study (Buddy Compression, section IV-D): what a larger memory is worth when networks are trained.
//!
//! Six networks at their full size, described layer by layer in `data/networks/`; a model of their memory ([`Footprint`]) and
//! one of their speed ([`throughput`]), both by mini-batch size. A memory that holds more allows a larger mini-batch, and that
//! one trains faster, up to a point: [`project`] says how much, for compression ratios that were measured elsewhere.
//!
//! Nothing here is fitted to the paper's figures: every constant names its source or says that it is a choice, and all networks
//! share them.
//!
//! ```
//! use strata_core::Bytes;
//! use strata_studies::case_study::{Network, TrainingGpu, footprint, largest_batch, throughput};
//!
//! let network = Network::named("VGG16").expect("a built-in network");
//! let batch = largest_batch(&network, Bytes(12 << 30), 1.0).expect("it fits");
//! assert!(footprint(&network, batch) <= Bytes(12 << 30));
//! assert!(footprint(&network, batch + 1) > Bytes(12 << 30));
//! assert!(throughput(&network, batch, &TrainingGpu::TITAN_V) > throughput(&network, 1, &TrainingGpu::TITAN_V));
//! ```

mod build;
mod footprint;
mod network;
mod reader;
#[cfg(test)]
mod tests;
mod throughput;

pub use footprint::{Footprint, footprint, largest_batch};
pub use network::{Network, Operation, Product, Work};
pub use throughput::{TrainingGpu, throughput};

use strata_core::Bytes;
use strata_core::nearest::suggestion;
use strata_run::LabError;
use strata_run::diagnostics::Diagnostics;

/// The networks that come with the program, in the order of the paper's figures.
const BUILT_IN: [&str; 6] = [
    include_str!("../../data/networks/biglstm.toml"),
    include_str!("../../data/networks/alexnet.toml"),
    include_str!("../../data/networks/inception-v2.toml"),
    include_str!("../../data/networks/squeezenet.toml"),
    include_str!("../../data/networks/vgg16.toml"),
    include_str!("../../data/networks/resnet50.toml"),
];

impl Network {
    /// Reads a description; `path` is for messages.
    pub fn parse(path: &str, text: &str) -> Result<Self, Diagnostics> {
        reader::parse(text).map_err(|errors| Diagnostics::new(path, text, errors))
    }

    /// The networks that come with the program.
    pub fn built_in() -> Vec<Self> {
        // Compiled in and read by a test: it cannot fail for a user.
        BUILT_IN.map(|text| Self::parse("", text).expect("data/networks is checked by a test")).to_vec()
    }

    /// The one of this name.
    pub fn named(name: &str) -> Result<Self, LabError> {
        let all = Self::built_in();
        let names: Vec<_> = all.iter().map(|network| network.name.clone()).collect();
        all.into_iter().find(|network| network.name == name).ok_or_else(|| {
            let help = suggestion(name, names.iter().map(String::as_str));
            LabError::Request(format!("there is no network `{name}`: {help}"))
        })
    }
}

/// What a mini-batch takes and gives: a point of figures 15a and 15b.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Point {
    /// The mini-batch.
    pub batch: u64,
    /// What an iteration takes.
    pub footprint: Bytes,
    /// Samples per second.
    pub throughput: f64,
}

/// The points of these mini-batches, in their order.
pub fn curve(network: &Network, batches: &[u64], gpu: &TrainingGpu) -> Vec<Point> {
    let of = Footprint::of(network);
    let point = |&batch: &u64| Point { batch, footprint: of.bytes(batch), throughput: throughput(network, batch, gpu) };
    batches.iter().map(point).collect()
}

/// A network on a GPU whose memory holds more than it is large.
#[derive(Clone, PartialEq, Debug)]
pub struct Projection {
    /// The network.
    pub network: String,
    /// How many times as much memory holds.
    pub ratio: f64,
    /// The mini-batch from which on the footprint grows with it.
    pub knee: f64,
    /// The largest mini-batch without compression; `None` if no sample fits.
    pub batch: Option<u64>,
    /// The largest mini-batch with it.
    pub compressed_batch: Option<u64>,
    /// How much faster the second trains, as a fraction: 0.14 is 14 %. `None` if one of them does not fit.
    pub speedup: Option<f64>,
    /// The same for the fastest mini-batches that fit, which need not be the largest: the last wave may be full in a smaller one.
    pub best_speedup: Option<f64>,
    /// What the fastest mini-batch of all, however much memory it takes, would gain over the largest without compression.
    pub ceiling: Option<f64>,
}

/// For each network and its compression ratio: the largest mini-batches in a memory of `capacity`, and the projected gain in
/// speed (figure 15c). What compression itself costs is not in it.
pub fn project(ratios: &[(&str, f64)], capacity: Bytes, gpu: &TrainingGpu) -> Result<Vec<Projection>, LabError> {
    ratios.iter().map(|&(name, ratio)| project_one(&Network::named(name)?, ratio, capacity, gpu)).collect()
}

/// Where the search for the fastest mini-batch ends: the GPU is full long before, with every network.
const LARGEST_TRIED: u64 = 4096;

fn project_one(network: &Network, ratio: f64, capacity: Bytes, gpu: &TrainingGpu) -> Result<Projection, LabError> {
    if !(ratio.is_finite() && ratio > 0.0) {
        let message = format!("{} has a compression ratio of {ratio}: give a number greater than 0", network.name);
        return Err(LabError::Request(message));
    }
    let footprint = Footprint::of(network);
    let [batch, compressed_batch] = [1.0, ratio].map(|ratio| footprint.largest_batch(capacity, ratio));
    let speed = |batch| throughput(network, batch, gpu);
    let best = |most: u64| (1..=most.min(LARGEST_TRIED)).map(speed).fold(0.0, f64::max);
    let gain = |speed: &dyn Fn(u64) -> f64| Some(speed(compressed_batch?) / speed(batch?) - 1.0);
    Ok(Projection {
        network: network.name.clone(),
        ratio,
        knee: footprint.knee(),
        batch,
        compressed_batch,
        speedup: gain(&speed),
        best_speedup: gain(&best),
        ceiling: batch.map(|batch| best(LARGEST_TRIED) / speed(batch) - 1.0),
    })
}
