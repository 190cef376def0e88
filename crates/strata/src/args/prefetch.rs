//! `strata prefetch`: traces, training and judging of predictors.

use clap::{Args, Subcommand};
use std::path::PathBuf;

const PREFETCH_EXAMPLES: &str = "\
Examples:
  strata prefetch trace nw --size paper-uvm -o nw.parquet
  strata prefetch train nw.parquet -o nw.safetensors
  strata prefetch eval nw.parquet --checkpoint nw.safetensors
  strata prefetch eval *.parquet --models transformer,revised --protocols paper,time,random

The paper's predictor of pages, and one for a machine:
  strata prefetch train nw.parquet -o nw.safetensors --unit page --model revised --precision float
  strata run nw --gpu gtx1080ti --with uvm --set uvm.prefetcher=learned \\
      --set uvm.predictor=nw.safetensors

docs/learned-prefetching.md says what models, protocols and precisions are.";

/// Predict page accesses: record them, train predictors, judge these
#[derive(Args)]
#[command(after_help = PREFETCH_EXAMPLES)]
pub(crate) struct Prefetch {
    #[command(subcommand)]
    pub(crate) command: PrefetchCommand,
}

#[derive(Subcommand)]
pub(crate) enum PrefetchCommand {
    Trace(PrefetchTrace),
    Train(PrefetchTrain),
    Eval(PrefetchEval),
}

/// Run a program with unified memory and record its requests to the GMMU
#[derive(Args)]
pub(crate) struct PrefetchTrace {
    /// Workload (see `strata workloads`) or launch file (`.toml`)
    pub(crate) what: String,
    /// The trace to write (Parquet)
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// tiny, small, medium, paper, or an instance's label [default: small]
    #[arg(long)]
    pub(crate) size: Option<String>,
    /// Seed of the inputs [default: 1, or the launch file's]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) seed: Option<u64>,
    /// The machine: preset, or path of a `.toml` file
    #[arg(long, value_name = "NAME", default_value = "gtx1080ti")]
    pub(crate) gpu: String,
    /// Change a parameter of that machine or of unified memory; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    /// Directory below which the result is saved [default: strata-out]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}

/// A step length that training can do something with: with any other, weights would stand still or be no numbers.
fn step_length(text: &str) -> Result<f32, String> {
    let rate = text.parse().ok().filter(|rate| *rate > 0.0 && *rate <= 1.0);
    rate.ok_or_else(|| "a step length is more than 0 and at most 1, such as 0.002".to_owned())
}

/// A part of a whole that is not nothing.
fn share(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|share| *share > 0.0 && *share <= 1.0);
    share.ok_or_else(|| "a share is more than 0 and at most 1, such as 0.5".to_owned())
}

/// What models are trained on, and how much
#[derive(Args)]
pub(crate) struct Training {
    /// What is predicted: page, block (64 KB) or root (2 MB); of blocks and roots, first requests count alone
    /// [default: root to train, page to eval]
    #[arg(long, value_name = "UNIT")]
    pub(crate) unit: Option<String>,
    /// Requests ahead that are predicted: 1 to 30
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=30))]
    pub(crate) distance: u16,
    /// What makes a sequence: pc, kernel, sm, cta, warp, sm+warp, array [default: array of blocks and roots; of pages, sm+warp of
    /// revised and distilled, sm of others]
    #[arg(long, value_name = "KEY")]
    pub(crate) cluster: Option<String>,
    /// Features of a token, such as `page_delta,pc` [default: all thirteen of a transformer of pages, these two of others]
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) features: Vec<String>,
    /// Requests that a history has at least; predictors for a machine want 1 [default: 1 of blocks and roots, 30 of pages]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=30))]
    pub(crate) least_history: Option<u16>,
    /// Sequences to train on, at most, evenly spaced; with a checkpoint, to judge
    #[arg(long, value_name = "N", default_value_t = 20_000, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) sequences: u32,
    /// Passes over them [default: 12 of a transformer, 60 of others]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) epochs: Option<u32>,
    /// Step length at the beginning; it falls to a twentieth [default: 0.0005 of a transformer, 0.002 of others]
    #[arg(long, value_name = "RATE", allow_negative_numbers = true, value_parser = step_length)]
    pub(crate) rate: Option<f32>,
    /// Seed of parameters, order and division
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Attention is left out if deltas have converged (auto), always or never
    #[arg(long, value_name = "WHEN", default_value = "auto", value_parser = ["auto", "always", "never"])]
    pub(crate) bypass: String,
    /// Attention between all tokens, or thinned by hashing (HLSH) [default: the model's own]
    #[arg(long, value_name = "KIND", value_parser = ["full", "hashed"])]
    pub(crate) attention: Option<String>,
    /// Requests of every history in random order: what their order is worth
    #[arg(long)]
    pub(crate) shuffle: bool,
    /// Hashing of attention as the paper writes it, with tokens that meet themselves
    #[arg(long)]
    pub(crate) literal_hlsh: bool,
    /// Host threads; results do not depend on them [default: all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) threads: Option<u32>,
}

/// Train a predictor on traces and save it
#[derive(Args)]
pub(crate) struct PrefetchTrain {
    /// Traces of `strata prefetch trace`; several are learned together
    #[arg(required = true, value_name = "TRACE")]
    pub(crate) traces: Vec<PathBuf>,
    /// The checkpoint to write (safetensors)
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// transformer, revised, distilled, lstm, cnn, mlp, linear
    #[arg(long, value_name = "KIND", default_value = "distilled")]
    pub(crate) model: String,
    /// float, clamped, 4bit
    #[arg(long, value_name = "KIND", default_value = "4bit")]
    pub(crate) precision: String,
    /// How samples are divided: paper, time, random, window
    #[arg(long, value_name = "NAME", default_value = "paper")]
    pub(crate) protocol: String,
    #[command(flatten)]
    pub(crate) training: Training,
    /// Share of each trace that is used, from its beginning
    #[arg(long, value_name = "SHARE", default_value_t = 1.0, allow_negative_numbers = true, value_parser = share)]
    pub(crate) share: f64,
    /// Values and classes to leave room for, so that more can be learned in a machine
    #[arg(long, value_name = "N", default_value_t = 512, value_parser = clap::value_parser!(u32).range(2..=65536))]
    pub(crate) room: u32,
    /// Stop when this share of the validation part is predicted
    #[arg(long, value_name = "SHARE", allow_negative_numbers = true, value_parser = share)]
    pub(crate) enough: Option<f64>,
    /// Go on with a training that was interrupted
    #[arg(long)]
    pub(crate) resume: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// What a checkpoint has decided already.
const OF_TRAINING: [&str; 14] = [
    "unit",
    "models",
    "protocols",
    "precisions",
    "distance",
    "cluster",
    "features",
    "least_history",
    "epochs",
    "rate",
    "bypass",
    "attention",
    "shuffle",
    "literal_hlsh",
];

/// Judge a checkpoint, or train and judge models, beside table-driven baselines
#[derive(Args)]
pub(crate) struct PrefetchEval {
    /// Traces of `strata prefetch trace`
    #[arg(required = true, value_name = "TRACE")]
    pub(crate) traces: Vec<PathBuf>,
    /// A checkpoint of `strata prefetch train`, judged as it is
    #[arg(long, value_name = "FILE", conflicts_with_all = OF_TRAINING)]
    pub(crate) checkpoint: Option<PathBuf>,
    /// Models to train: transformer, revised, distilled, lstm, cnn, mlp, linear
    #[arg(long, value_name = "KIND", value_delimiter = ',', default_value = "revised")]
    pub(crate) models: Vec<String>,
    /// How samples are divided: paper, time, random, window
    #[arg(long, value_name = "NAME", value_delimiter = ',', default_value = "paper")]
    pub(crate) protocols: Vec<String>,
    /// float, clamped, 4bit
    #[arg(long, value_name = "KIND", value_delimiter = ',', default_value = "float")]
    pub(crate) precisions: Vec<String>,
    #[command(flatten)]
    pub(crate) training: Training,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}
