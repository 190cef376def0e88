//! The grammar of the command line.

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use strata_lab::LabError;
use strata_lab::compress::{Codec, Rule};
use strata_lab::offload::Assumptions;

const EXAMPLES: &str = "\
Examples:
  strata workloads                       the programs that are built in
  strata run hotspot --size small        run one of them
  strata run examples/vecadd.toml        run your own PTX with a launch file
  strata run bfs --json | jq .kernels    for scripts
  strata run --gpu v100 -- ./prog 512    a CUDA program as it is
  strata check kernel.ptx                errors, kernels, registers, loops
  strata offload kernel.ptx              blocks worth running in a memory stack
  strata gpus titan-v                    a machine: every value with its source
  strata compare srad --with bpc,buddy   mechanisms against the plain machine
  strata validate                        the machines beside real GPUs
  strata bench                           how fast programs are simulated
  strata compress model.safetensors      how compressible data are, tensor by tensor
  strata prefetch trace nw -o nw.parquet what a predictor of page accesses learns from
  strata trace record bfs -o bfs.strata-trace   execute once, time often";

/// A GPU memory-system laboratory: runs real PTX programs on real data.
#[derive(Parser)]
#[command(name = "strata", version, after_help = EXAMPLES, arg_required_else_help = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    Run(Run),
    Workloads(Workloads),
    Check(Check),
    Offload(Offload),
    Gpus(Gpus),
    Mechanisms(Mechanisms),
    Compare(Compare),
    Profile(Profile),
    Reproduce(Reproduce),
    Validate(Validate),
    Bench(Bench),
    Compress(Compress),
    Prefetch(Prefetch),
    Trace(Trace),
    Cuda(Cuda),
    Completions(Completions),
}

const RUN_EXAMPLES: &str = "\
Examples:
  strata run hotspot                     at size small, seed 1
  strata run matmul-tiled --size medium --seed 7
  strata run examples/vecadd.toml        a launch file: your PTX, no host code
  strata run bfs --input roads.gr        a graph of your own
  strata run nw --json --out results     one JSON object on standard output
  strata run bfs.strata-trace --gpu v100 a trace (see `strata trace`) on a machine
  strata run --gpu v100 -- ./hotspot 512 2 2 temp power out
                                         a CUDA program as it is (built with `-cudart shared`)

The result is saved in strata-out/<name>-<hash>/ (result.json, stats.parquet, request.json, files
that a launch file writes).
Exit status: 0 passed, 1 the program failed or its result is wrong, 2 bad usage or bad input.
With `-- PROGRAM` output and exit status are the program's own; 125 if the simulator itself fails.";

/// Run a workload or a launch file and check its result, replay a trace, or run a CUDA program
#[derive(Args)]
#[command(after_help = RUN_EXAMPLES)]
#[allow(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub(crate) struct Run {
    /// Workload (see `strata workloads`), launch file (`.toml`) or trace (`.strata-trace`)
    #[arg(required_unless_present = "program", conflicts_with = "program")]
    pub(crate) what: Option<String>,
    /// CUDA program and its arguments, after `--`: docs/cuda.md
    #[arg(last = true, conflicts_with_all = ["size", "seed"])]
    pub(crate) program: Vec<OsString>,
    /// tiny, small, medium, paper, or an instance's label [default: small]
    #[arg(long)]
    pub(crate) size: Option<String>,
    /// Run on the graph of a Matrix Market (`.mtx`) or DIMACS (`.gr`, `.col`) file
    #[arg(long, value_name = "FILE")]
    pub(crate) input: Option<PathBuf>,
    /// Seed of the inputs [default: 1, or the launch file's]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) seed: Option<u64>,
    /// Host threads; more than one is refused where the order of memory operations matters
    #[arg(long, value_name = "N", default_value_t = 1, allow_negative_numbers = true, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: u16,
    /// Warn of reads of uninitialised shared and local memory (slower)
    #[arg(long)]
    pub(crate) check: bool,
    /// Stop a launch that executes more than N warp instructions
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) max_instructions: Option<u64>,
    /// Time only these launches of a CUDA program, by number or part of the kernel's name: `3,10-20,50-90/10,matmul`
    #[arg(long, value_name = "LIST", requires = "program")]
    pub(crate) kernels: Option<String>,
    /// Execute the first N launches of a CUDA program without timing them
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true, requires = "program")]
    pub(crate) fast_forward: u64,
    /// Time the program on this machine (see `strata gpus`), or on the one of a `.toml` file
    #[arg(long, value_name = "NAME")]
    pub(crate) gpu: Option<String>,
    /// Put mechanisms into that machine, joined by `+` (see `strata mechanisms`)
    #[arg(long, value_name = "M+M", default_value = "none")]
    pub(crate) with: String,
    /// Check that every load would get the right data on that machine (slower)
    #[arg(long)]
    pub(crate) check_data: bool,
    /// Say what memory requests waited for on that machine, and about which allocations
    #[arg(long)]
    pub(crate) explain: bool,
    /// Change a parameter of that machine or of a mechanism; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Print one JSON object, or write it to a file; with a CUDA program only to a file
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "-")]
    pub(crate) json: Option<PathBuf>,
    /// Directory below which the result is saved [default: strata-out]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}

/// List the built-in programs
#[derive(Args)]
pub(crate) struct Workloads {
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

const CHECK_EXAMPLES: &str = "\
Examples:
  strata check kernel.ptx
  strata check build/*.ptx --json | jq '.files[] | select(.errors > 0) | .path'

Exit status: 0 every file parses, 1 some file has errors, 2 a file cannot be read.";

/// Parse and analyse PTX files: errors, unsupported instructions, registers, loops
#[derive(Args)]
#[command(after_help = CHECK_EXAMPLES)]
pub(crate) struct Check {
    /// PTX files
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

const OFFLOAD_EXAMPLES: &str = "\
Examples:
  strata offload kernel.ptx
  strata offload kernel.ptx --load-miss-rate 0.8 --address-bytes 8
  strata offload build/*.ptx --json | jq '.files[].candidates[] | select(.condition)'

TX and RX are the change of traffic of one warp to and from the memory stack, in words of 32 bits;
negative is saved. docs/offload.md explains the table.
Exit status: 0 every file was searched, 2 bad usage, or a file that cannot be read or parsed.";

/// Find the blocks of PTX files that are worth offloading to a memory stack (TOM)
#[derive(Args)]
#[command(after_help = OFFLOAD_EXAMPLES)]
pub(crate) struct Offload {
    /// PTX files
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Share of the cache lines of a load that miss in the GPU's caches
    #[arg(long, value_name = "SHARE", default_value_t = Assumptions::default().load_miss_rate, allow_negative_numbers = true)]
    pub(crate) load_miss_rate: f64,
    /// Cache lines that a load of a warp touches
    #[arg(long, value_name = "LINES", default_value_t = Assumptions::default().load_coalescing, allow_negative_numbers = true)]
    pub(crate) load_coalescing: f64,
    /// Cache lines that a store of a warp touches
    #[arg(long, value_name = "LINES", default_value_t = Assumptions::default().store_coalescing, allow_negative_numbers = true)]
    pub(crate) store_coalescing: f64,
    /// Lanes of a warp
    #[arg(long, value_name = "N", default_value_t = Assumptions::default().warp_size)]
    pub(crate) warp_size: u32,
    /// Bytes of an address on the links: 4 or 8
    #[arg(long, value_name = "N", default_value_t = Assumptions::default().address_bytes)]
    pub(crate) address_bytes: u32,
    /// The most candidates of a kernel
    #[arg(long, value_name = "N", default_value_t = Assumptions::default().table_entries)]
    pub(crate) table_entries: usize,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

impl Offload {
    /// What the search takes for granted.
    pub(crate) fn assumptions(&self) -> Result<Assumptions, LabError> {
        let assumptions = Assumptions {
            warp_size: self.warp_size,
            load_coalescing: self.load_coalescing,
            store_coalescing: self.store_coalescing,
            load_miss_rate: self.load_miss_rate,
            address_bytes: self.address_bytes,
            table_entries: self.table_entries,
        };
        assumptions.check().map_err(|error| LabError::Request(error.to_string()))?;
        Ok(assumptions)
    }
}

const GPUS_EXAMPLES: &str = "\
Examples:
  strata gpus                            the machines that are built in
  strata gpus titan-v                    every value with its source
  strata gpus my-gpu.toml --set l2.size=5MB
  strata gpus v100 --toml > my-gpu.toml  one file with everything, to begin from

docs/configuration.md is the reference.";

/// List the GPUs, or show one: every value with its source
#[derive(Args)]
#[command(after_help = GPUS_EXAMPLES)]
pub(crate) struct Gpus {
    /// Preset, or path of a `.toml` file
    pub(crate) name: Option<String>,
    /// Override a value
    #[arg(long, value_name = "KEY=VALUE", requires = "name")]
    pub(crate) set: Vec<String>,
    /// Print the GPU as one complete TOML file
    #[arg(long, requires = "name", conflicts_with = "json")]
    pub(crate) toml: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// List the mechanisms that can be put into a machine, with their settings
#[derive(Args)]
pub(crate) struct Mechanisms {
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

const COMPARE_EXAMPLES: &str = "\
Examples:
  strata compare ep cg --with bpc,buddy  two programs on three machines: plain, bpc, buddy
  strata compare srad --size paper --with buddy --set host_link.bandwidth=50GB/s
  strata compare *.toml --gpu titan-v --with bpc --json

`+` combines mechanisms in one machine, `,` separates the machines. The plain machine is always there.
Exit status: 0 every program passed, 1 one failed, 2 bad usage or bad input.";

/// Run programs on the plain machine and on machines with mechanisms, side by side
#[derive(Args)]
#[command(after_help = COMPARE_EXAMPLES)]
pub(crate) struct Compare {
    /// Workloads or launch files
    #[arg(required = true, value_name = "WHAT")]
    pub(crate) what: Vec<String>,
    /// tiny, small, medium, paper, or an instance's label [default: small]
    #[arg(long)]
    pub(crate) size: Option<String>,
    /// The machine: preset, or path of a `.toml` file
    #[arg(long, value_name = "NAME", default_value = "p100-buddy")]
    pub(crate) gpu: String,
    /// Mechanisms of each machine (see `strata mechanisms`)
    #[arg(long, value_name = "A,B+C", default_value = "bpc,buddy")]
    pub(crate) with: String,
    /// Change a parameter of the machines or of a mechanism; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    /// Directory below which the results are saved [default: strata-out]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}

const PROFILE_EXAMPLES: &str = "\
Examples:
  strata profile ep --size small -o ep-targets.toml
  strata run ep --size medium --gpu p100-buddy --with buddy --set buddy.targets=ep-targets.toml
  strata profile prog.toml --threshold 0.1 --design per-allocation
  strata profile ep --snapshots ep && strata compress ep/*.safetensors";

/// Take snapshots of a program's memory and choose Buddy Compression's target for each allocation
#[derive(Args)]
#[command(after_help = PROFILE_EXAMPLES)]
pub(crate) struct Profile {
    /// Workload or launch file
    pub(crate) what: String,
    /// tiny, small, medium, paper, or an instance's label [default: small]
    #[arg(long)]
    pub(crate) size: Option<String>,
    /// Seed of the inputs [default: 1, or the launch file's]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) seed: Option<u64>,
    /// How finely to annotate
    #[arg(long, value_enum, default_value_t = Design::ZeroPage)]
    pub(crate) design: Design,
    /// Buddy Threshold: the largest share of an allocation's entries that may be over its target
    #[arg(long, value_name = "SHARE", default_value_t = 0.3)]
    pub(crate) threshold: f64,
    /// Least share of entries within 8 bytes, in every snapshot, for a target of 16x
    #[arg(long, value_name = "SHARE", default_value_t = 0.95)]
    pub(crate) mostly_zero: f64,
    /// Save the snapshots in this directory, for `strata compress`
    #[arg(long, value_name = "DIR")]
    pub(crate) snapshots: Option<PathBuf>,
    /// Write the targets to this annotation file
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// The designs that the paper compares
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Design {
    /// One target for the whole program
    Naive,
    /// A target for each allocation, up to 4x
    PerAllocation,
    /// And 16x for allocations that stay mostly zero
    ZeroPage,
}

impl From<Design> for strata_lab::profile::Design {
    fn from(design: Design) -> Self {
        match design {
            Design::Naive => Self::Naive,
            Design::PerAllocation => Self::PerAllocation,
            Design::ZeroPage => Self::ZeroPage,
        }
    }
}

impl Profile {
    /// The rule that the shares make.
    pub(crate) fn rule(&self) -> Result<Rule, LabError> {
        for (share, option) in [(self.threshold, "--threshold"), (self.mostly_zero, "--mostly-zero")] {
            if !(0.0..=1.0).contains(&share) {
                return Err(LabError::Request(format!("`{option}` is a share: 0 to 1, not {share}")));
            }
        }
        Ok(Rule { threshold: self.threshold, mostly_zero: self.mostly_zero })
    }
}

const REPRODUCE_EXAMPLES: &str = "\
Examples:
  strata reproduce buddy --quick         small inputs, caches scaled with them, two speeds of the link
  strata reproduce buddy                 snapshots of larger inputs, all speeds of the link
  strata reproduce buddy --full          timed on the larger inputs, too, and three seeds
  strata reproduce buddy --json | jq '.rows[] | select(.verdict == \"close\")'

Tables, CSV, SVG and a page are saved in strata-out/reproduce-<paper>/.";

/// Reproduce a paper's figures, its printed numbers beside ours
#[derive(Args)]
#[command(after_help = REPRODUCE_EXAMPLES)]
pub(crate) struct Reproduce {
    /// buddy, or all
    pub(crate) paper: String,
    /// Small inputs, two speeds of the link
    #[arg(long, conflicts_with = "full")]
    pub(crate) quick: bool,
    /// Everything on the larger inputs, and three seeds
    #[arg(long)]
    pub(crate) full: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    /// Directory below which the figures are saved [default: strata-out]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}

const VALIDATE_EXAMPLES: &str = "\
Examples:
  strata validate                        every table on the machine that stands for its card
  strata validate --gpu titan-v          the table of one card
  strata validate --set l2.latency=140   what a parameter changes
  strata validate --gpu v100             all rows on another machine: shown, not judged

Exit status: 0 every program ran, whatever its row says, 1 a program failed, 2 bad usage or bad input.";

/// Compare the machines with what real GPUs measured
#[derive(Args)]
#[command(after_help = VALIDATE_EXAMPLES)]
pub(crate) struct Validate {
    /// Preset, or path of a `.toml` file [default: the machine that stands for each table's card]
    #[arg(long, value_name = "NAME")]
    pub(crate) gpu: Option<String>,
    /// Change a parameter of the machines; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

const BENCH_EXAMPLES: &str = "\
Examples:
  strata bench                           the fixed set of programs, without time and timed
  strata bench --gpu titan-v --json      timed on another machine, for scripts

Speed is per second of CPU time inside launches, of one core, the best of a few repetitions.
Exit status: 0 every program ran, 1 a program failed, 2 bad usage or bad input.";

/// Measure the speed of simulation
#[derive(Args)]
#[command(after_help = BENCH_EXAMPLES)]
pub(crate) struct Bench {
    /// Machine of the timed runs: preset, or path of a `.toml` file
    #[arg(long, value_name = "NAME", default_value = strata_lab::bench::DEFAULT_GPU)]
    pub(crate) gpu: String,
    /// Change a parameter of that machine; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

const COMPRESS_EXAMPLES: &str = "\
Examples:
  strata compress model.safetensors      every codec, and a target for every tensor
  strata compress dump.bin --heat-map maps      where in memory compressible data are
  strata compress step*.npz --threshold 0.1     a tensor in several files: each is a snapshot of it
  strata compress weights.npy --codec bpc,bdi --json

Read are .safetensors, .npy, .npz, and any other file as raw bytes. Entries have 128 bytes;
ratios are those of the sizes 0, 8, 16, 32, 64, 80, 96 and 128. All files are one program:
its targets together stay within 4x.
Exit status: 0 everything was measured, 2 bad usage, or a file that cannot be read.";

/// Measure how compressible data are, and which targets Buddy Compression would give them
#[derive(Args)]
#[command(after_help = COMPRESS_EXAMPLES)]
pub(crate) struct Compress {
    /// Files of tensors
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Codecs to compare, separated by commas [default: all]
    #[arg(long, value_name = "CODEC", value_delimiter = ',')]
    pub(crate) codec: Vec<Codec>,
    /// Write a spatial heat map of each file (PNG) to this directory
    #[arg(long, value_name = "DIR")]
    pub(crate) heat_map: Option<PathBuf>,
    /// Buddy Threshold: the largest share of a tensor's entries that may need buddy memory
    #[arg(long, value_name = "SHARE", default_value_t = Rule::default().threshold, allow_negative_numbers = true)]
    pub(crate) threshold: f64,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

const PREFETCH_EXAMPLES: &str = "\
Examples:
  strata prefetch trace nw --size paper -o nw.parquet
  strata prefetch train nw.parquet -o nw.safetensors
  strata prefetch eval nw.parquet --checkpoint nw.safetensors
  strata prefetch eval *.parquet --models transformer,revised --protocols paper,time,random
  strata run nw --gpu gtx1080ti --with uvm --set uvm.prefetcher=learned --set uvm.predictor=nw.safetensors

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

/// What models are trained on, and how much
#[derive(Args)]
pub(crate) struct Training {
    /// Requests ahead that are predicted: 1 to 30
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=30))]
    pub(crate) distance: u16,
    /// What makes a sequence: pc, kernel, sm, cta, warp, sm+warp [default: the model's own]
    #[arg(long, value_name = "KEY")]
    pub(crate) cluster: Option<String>,
    /// Features of a token, separated by commas [default: the model's own]
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) features: Vec<String>,
    /// Requests that a history has at least; predictors for a machine want 1
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u16).range(1..=30))]
    pub(crate) least_history: u16,
    /// Sequences to train on, at most, evenly spaced
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    pub(crate) sequences: usize,
    /// Passes over them [default: the model's own]
    #[arg(long, value_name = "N")]
    pub(crate) epochs: Option<usize>,
    /// Seed of parameters, order and division
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Attention is left out if deltas have converged (auto), always or never
    #[arg(long, value_name = "WHEN", default_value = "auto", value_parser = ["auto", "always", "never"])]
    pub(crate) bypass: String,
    /// Hashing of attention as the paper writes it, with tokens that meet themselves
    #[arg(long)]
    pub(crate) literal_hlsh: bool,
    /// Host threads; results do not depend on them [default: all]
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<usize>,
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
    #[arg(long, value_name = "KIND", default_value = "revised")]
    pub(crate) model: String,
    /// float, clamped, 4bit
    #[arg(long, value_name = "KIND", default_value = "float")]
    pub(crate) precision: String,
    /// How samples are divided: paper, time, random
    #[arg(long, value_name = "NAME", default_value = "paper")]
    pub(crate) protocol: String,
    #[command(flatten)]
    pub(crate) training: Training,
    /// Share of each trace that is used, from its beginning
    #[arg(long, value_name = "SHARE", default_value_t = 1.0)]
    pub(crate) share: f64,
    /// Values and classes to leave room for, so that more can be learned in a machine
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=65536))]
    pub(crate) room: Option<u32>,
    /// Stop when this share of the validation part is predicted
    #[arg(long, value_name = "SHARE")]
    pub(crate) enough: Option<f64>,
    /// Go on with a training that was interrupted
    #[arg(long)]
    pub(crate) resume: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Judge a checkpoint, or train and judge models, beside table-driven baselines
#[derive(Args)]
pub(crate) struct PrefetchEval {
    /// Traces of `strata prefetch trace`
    #[arg(required = true, value_name = "TRACE")]
    pub(crate) traces: Vec<PathBuf>,
    /// A checkpoint of `strata prefetch train`, judged as it is
    #[arg(long, value_name = "FILE", conflicts_with = "models")]
    pub(crate) checkpoint: Option<PathBuf>,
    /// Models to train: transformer, revised, distilled, lstm, cnn, mlp, linear
    #[arg(long, value_name = "KIND", value_delimiter = ',', default_value = "revised")]
    pub(crate) models: Vec<String>,
    /// How samples are divided: paper, time, random
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

const TRACE_EXAMPLES: &str = "\
Examples:
  strata trace record bfs --size small -o bfs.strata-trace
  strata trace info bfs.strata-trace
  strata run bfs.strata-trace --gpu titan-x-pascal

A replay takes the same cycles as the execution, unless the program's control flow depends on the order of blocks or warps.";

/// Record what a program's warps do, to time it on many machines without executing it again
#[derive(Args)]
#[command(after_help = TRACE_EXAMPLES)]
pub(crate) struct Trace {
    #[command(subcommand)]
    pub(crate) command: TraceCommand,
}

#[derive(Subcommand)]
pub(crate) enum TraceCommand {
    Record(TraceRecord),
    Info(TraceInfo),
}

/// Run a program without time and record it
#[derive(Args)]
#[command(after_help = "The result of the run is saved as by `strata run`. A program that fails leaves no trace.")]
pub(crate) struct TraceRecord {
    /// Workload (see `strata workloads`) or launch file (`.toml`)
    pub(crate) what: String,
    /// The trace to write; its name ends in `.strata-trace`
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// tiny, small, medium, paper, or an instance's label [default: small]
    #[arg(long)]
    pub(crate) size: Option<String>,
    /// Seed of the inputs [default: 1, or the launch file's]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) seed: Option<u64>,
    /// Stop a launch that executes more than N warp instructions
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) max_instructions: Option<u64>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    /// Directory below which the result is saved [default: strata-out]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}

/// Show what a trace holds
#[derive(Args)]
pub(crate) struct TraceInfo {
    /// The trace
    pub(crate) file: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

const CUDA_EXAMPLES: &str = "\
Examples:
  strata cuda build vecadd.cu            compile to ./vecadd
  strata cuda build main.cu kernels.cu -o prog -- -O2 -lineinfo -Iinclude
  strata run --gpu v100 -- ./prog        and run it

The compiler is NVIDIA's own `nvcc`, from $STRATA_CUDA_BIN or the path, or from Python packages (no GPU and no
CUDA installation is needed). docs/cuda.md says how to get it.";

/// Compile CUDA programs so that `strata run --` can run them
#[derive(Args)]
#[command(after_help = CUDA_EXAMPLES)]
pub(crate) struct Cuda {
    #[command(subcommand)]
    pub(crate) command: CudaCommand,
}

#[derive(Subcommand)]
pub(crate) enum CudaCommand {
    Build(CudaBuild),
}

/// Compile and link CUDA sources with PTX in them and the CUDA runtime as a shared library
#[derive(Args)]
pub(crate) struct CudaBuild {
    /// Sources
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// The program to write [default: the first source without its extension]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Further arguments of nvcc
    #[arg(last = true, value_name = "NVCC ARGUMENTS")]
    pub(crate) arguments: Vec<OsString>,
}

/// Print a completion script for a shell
#[derive(Args)]
#[command(after_help = "Example:\n  strata completions bash > ~/.local/share/bash-completion/completions/strata")]
pub(crate) struct Completions {
    /// The shell
    pub(crate) shell: Shell,
}

impl Arguments {
    /// True if standard output belongs to one JSON object.
    pub(crate) fn wants_json(&self) -> bool {
        match &self.command {
            Command::Run(run) => run.prints_json(),
            Command::Workloads(Workloads { json, .. })
            | Command::Check(Check { json, .. })
            | Command::Offload(Offload { json, .. })
            | Command::Gpus(Gpus { json, .. })
            | Command::Mechanisms(Mechanisms { json })
            | Command::Compare(Compare { json, .. })
            | Command::Profile(Profile { json, .. })
            | Command::Reproduce(Reproduce { json, .. })
            | Command::Validate(Validate { json, .. })
            | Command::Bench(Bench { json, .. })
            | Command::Compress(Compress { json, .. })
            | Command::Prefetch(Prefetch {
                command:
                    PrefetchCommand::Trace(PrefetchTrace { json, .. })
                    | PrefetchCommand::Train(PrefetchTrain { json, .. })
                    | PrefetchCommand::Eval(PrefetchEval { json, .. }),
            })
            | Command::Trace(Trace {
                command: TraceCommand::Record(TraceRecord { json, .. }) | TraceCommand::Info(TraceInfo { json, .. }),
            }) => *json,
            Command::Cuda(_) | Command::Completions(_) => false,
        }
    }
}

impl Run {
    /// True if the JSON object goes to standard output.
    pub(crate) fn prints_json(&self) -> bool {
        self.json.as_deref() == Some(Path::new("-"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grammar_is_sound() {
        <Arguments as clap::CommandFactory>::command().debug_assert();
    }
}
