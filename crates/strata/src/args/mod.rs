//! The grammar of the command line. Commands with commands or choices of their own have a file of their own.

mod compare;
mod cuda;
mod offload;
mod prefetch;
mod profile;
mod sweep;
mod trace;

pub(crate) use compare::{Compare, Report, View};
pub(crate) use cuda::{Cuda, CudaCommand};
pub(crate) use offload::Offload;
pub(crate) use prefetch::{Prefetch, PrefetchCommand, PrefetchEval, PrefetchTrace, PrefetchTrain, Training};
pub(crate) use profile::Profile;
pub(crate) use sweep::{Engine, Show, Sweep};
pub(crate) use trace::{Trace, TraceCommand, TraceInfo, TraceRecord};

use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use strata_lab::compress::{Codec, Rule};

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
  strata compare                         every mechanism on a small suite, with a report: minutes
  strata compare srad --with bpc,buddy   some of them on your program
  strata view                            the newest report in your browser
  strata sweep plan.toml                 a thousand points, each once
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
    Report(Report),
    View(View),
    Sweep(Sweep),
    Show(Show),
    Profile(Profile),
    Reproduce(Reproduce),
    Validate(Validate),
    Calibrate(Calibrate),
    Bench(Bench),
    Fingerprint(Fingerprint),
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
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = seed)]
    pub(crate) seed: Option<u64>,
    /// Host threads; more than one is refused where the order of memory operations matters
    #[arg(long, value_name = "N", default_value_t = 1, allow_negative_numbers = true, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: u16,
    /// Warn of reads of uninitialised shared and local memory (slower)
    #[arg(long)]
    pub(crate) check: bool,
    /// Warn of conflicting accesses of different warps with no barrier or atomic between (slower)
    #[arg(long)]
    pub(crate) check_races: bool,
    /// Let kernels read outside allocations, as hardware does: they get what lies there, and are told at the end
    #[arg(long)]
    pub(crate) lenient: bool,
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
    /// Time launches as profilers measure them: caches empty before each, and cycles also without launch latency
    #[arg(long)]
    pub(crate) like_ncu: bool,
    /// Change a parameter of that machine or of a mechanism; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Do not run the program again on what its mechanism is compared with: the plain machine of equal cost, simpler prefetchers
    #[arg(long)]
    pub(crate) alone: bool,
    /// Show everything: instructions by class, all kernels, what each count of a mechanism means
    #[arg(long, short)]
    pub(crate) verbose: bool,
    /// Print one JSON object, or write it to a file; with a CUDA program only to a file
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "-")]
    pub(crate) json: Option<PathBuf>,
    /// Directory below which the result is saved [default: strata-out]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}

/// List the built-in programs, or describe one
#[derive(Args)]
pub(crate) struct Workloads {
    /// One program: its sizes, its kernels, how to run it
    pub(crate) name: Option<String>,
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

const MECHANISMS_EXAMPLES: &str = "\
Examples:
  strata mechanisms                      all of them, a line each
  strata mechanisms --matrix             which go together
  strata mechanisms uvm                  the settings of one: what they mean, and where defaults come from

docs/mechanisms.md has all settings.";

/// List the mechanisms that can be put into a machine, or show one: its settings
#[derive(Args)]
#[command(after_help = MECHANISMS_EXAMPLES)]
pub(crate) struct Mechanisms {
    /// A mechanism
    pub(crate) name: Option<String>,
    /// Show which go together, two by two, and why others do not
    #[arg(long, conflicts_with = "name")]
    pub(crate) matrix: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

const REPRODUCE_EXAMPLES: &str = "\
Examples:
  strata reproduce buddy --quick         compression: minutes, small inputs
  strata reproduce cmd                   deduplication: all figures
  strata reproduce uvm                   unified memory: prefetchers, predictors trained and in the loop
  strata reproduce uvm --part learning   only how well predictors predict; `loop`: only prefetchers in a machine
  strata reproduce tom                   near-data processing: all figures and sensitivities
  strata reproduce tom --program KM --figure 8   one program, one figure, and no other runs
  strata reproduce all --quick           all four
  strata reproduce composition --quick   their mechanisms together, pair by pair; `--part oversubscription`: Figure 14 of buddy's paper
  strata reproduce buddy --json | jq '.rows[] | select(.verdict == \"close\")'

Tables, CSV, SVG and a page are saved in strata-out/reproduce-<paper>/. Runs are kept in the store of `strata sweep` and\n`strata compare`: what is interrupted goes on where it stopped, and nothing is run twice.";

/// Reproduce a paper's figures, its printed numbers beside ours
#[allow(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
#[derive(Args)]
#[command(after_help = REPRODUCE_EXAMPLES)]
pub(crate) struct Reproduce {
    /// buddy, cmd, uvm, tom, all four of them, or composition: their mechanisms together
    pub(crate) paper: String,
    /// Small inputs and the main figures
    #[arg(long, conflicts_with = "full")]
    pub(crate) quick: bool,
    /// Everything on the larger inputs
    #[arg(long)]
    pub(crate) full: bool,
    /// Only one part of a study that has several: uvm has `loop`, `learning` and `judged`, composition `pairs` and `oversubscription`
    #[arg(long, value_name = "NAME")]
    pub(crate) part: Option<String>,
    /// Only this program of tom, as its paper abbreviates it, of buddy, or of uvm's part `judged`; may be repeated
    #[arg(long, value_name = "NAME")]
    pub(crate) program: Vec<String>,
    /// Only this figure of tom, and the runs that it needs: a number, or the name of a sensitivity
    #[arg(long, value_name = "NAME")]
    pub(crate) figure: Option<String>,
    /// Print every table; all of them are on the page
    #[arg(long, short)]
    pub(crate) verbose: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    /// Directory below which the figures are saved [default: strata-out]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Where runs are kept [default: stratasim/store in the user's data directory]
    #[arg(long, value_name = "DIR")]
    pub(crate) store: Option<PathBuf>,
}

const VALIDATE_EXAMPLES: &str = "\
Examples:
  strata validate                        every table on the machine that stands for its card
  strata validate --gpu titan-v          the table of one card
  strata validate --set l2.latency=140   what a parameter changes
  strata validate --gpu v100             all rows on another machine: shown, not judged
  strata validate --emit-cuda micro      the microbenchmarks as a CUDA program, for a real card
  strata validate --silicon card.toml --gpu v100
                                         a machine beside what that program printed

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
    /// Write the microbenchmarks as a CUDA program, with a script that runs it on a card, and measure nothing
    #[arg(long, value_name = "DIR", conflicts_with_all = ["gpu", "set", "silicon", "json"])]
    pub(crate) emit_cuda: Option<PathBuf>,
    /// Write a page with all rows and a plot of cycles against silicon into this directory, too
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// What the microbenchmarks printed on a card, which `--gpu` stands for
    #[arg(long, value_name = "FILE", requires = "gpu")]
    pub(crate) silicon: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

const CALIBRATE_EXAMPLES: &str = "\
Examples:
  strata validate --emit-cuda micro            then, on the machine with the card: cd micro && ./collect > card.toml
  strata calibrate card.toml --gpu v100        a preset fitted to that card, from the nearest that there is
  strata calibrate card.toml --gpu v100 --set sm.count=68 --set 'clock.core=1350 MHz'
                                               with what is known of the card
  strata calibrate card.toml --gpu v100 --only l2.latency --only l1.latency

Each parameter is fitted to the one microbenchmark that shows it, within what hardware can have.
Exit status: 0 the preset was written, 1 a microbenchmark failed, 2 bad usage or bad input.";

/// Fit a preset to what the microbenchmarks measured on a card
#[derive(Args)]
#[command(after_help = CALIBRATE_EXAMPLES)]
pub(crate) struct Calibrate {
    /// What the program of `strata validate --emit-cuda` printed on the card
    #[arg(value_name = "SILICON")]
    pub(crate) silicon: PathBuf,
    /// Preset to begin with, or path of a `.toml` file
    #[arg(long, value_name = "NAME")]
    pub(crate) gpu: String,
    /// Change a parameter that is known; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Fit this parameter, and those named likewise, only
    #[arg(long, value_name = "KEY")]
    pub(crate) only: Vec<String>,
    /// The GPU file to write [default: NAME-calibrated.toml]
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

const BENCH_EXAMPLES: &str = "\
Examples:
  strata bench                           the fixed set of programs, without time and timed on two machines
  strata bench gather chase --gpu v100   two of them on one machine
  strata bench --beside peer.json        beside what another simulator was measured to do

Speed is in CPU time of one core: inside launches (the best of a few repetitions), and of the whole process, as a user
measures it. Factors over another simulator are of whole processes.
Exit status: 0 every program ran, 1 a program failed, 2 bad usage or bad input.";

/// Measure the speed of simulation
#[derive(Args)]
#[command(after_help = BENCH_EXAMPLES)]
pub(crate) struct Bench {
    /// Programs of the set; all if none is named
    #[arg(value_name = "PROGRAM")]
    pub(crate) programs: Vec<String>,
    /// Machine of the timed runs: preset, or path of a `.toml` file; may be repeated
    #[arg(long, value_name = "NAME", default_values = strata_lab::bench::DEFAULT_GPUS)]
    pub(crate) gpu: Vec<String>,
    /// Change a parameter of those machines; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Compare with another simulator's figures: JSON with `simulator`, `measured`, and `rows` of `name` and
    /// `thread_instructions_per_second`
    #[arg(long, value_name = "FILE")]
    pub(crate) beside: Option<PathBuf>,
    /// Run one program on one machine once, and print the CPU seconds of this process
    #[arg(long, hide = true)]
    pub(crate) process: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

const FINGERPRINT_EXAMPLES: &str = "\
Examples:
  strata fingerprint                     all rows: does this computer give what the project's did?
  strata fingerprint bfs nw --gpu v100 --with none,cmd
  strata fingerprint --write crates/strata-studies/data/fingerprint.tsv  after a change of the model

Exit status: 0 nothing moved, 1 a row moved, 2 bad usage or bad input.";

/// Compare the model with its fingerprint: programs at tiny on every GPU, with every mechanism
#[derive(Args)]
#[command(after_help = FINGERPRINT_EXAMPLES)]
pub(crate) struct Fingerprint {
    /// Workloads [default: all alone and with each mechanism, with pairs on the machines of the papers, a dozen elsewhere]
    #[arg(value_name = "WORKLOAD")]
    pub(crate) programs: Vec<String>,
    /// A preset; may be repeated [default: all]
    #[arg(long, value_name = "NAME")]
    pub(crate) gpu: Vec<String>,
    /// Mechanisms of each machine [default: none, each, and each pair that goes together]
    #[arg(long, value_name = "A,B+C")]
    pub(crate) with: Option<String>,
    /// Write the rows to a file
    #[arg(long, value_name = "FILE")]
    pub(crate) write: Option<PathBuf>,
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
    /// Say what targets come to, too, if a framework's caching allocator keeps the tensors in segments, in the order of the files
    #[arg(long)]
    pub(crate) cached: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Print a completion script for a shell
#[derive(Args)]
#[command(after_help = "Example:\n  strata completions bash > ~/.local/share/bash-completion/completions/strata")]
pub(crate) struct Completions {
    /// The shell
    pub(crate) shell: Shell,
}

/// Reads a seed.
fn seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("a seed is a whole number from 0 to {}", u64::MAX))
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
            | Command::Mechanisms(Mechanisms { json, .. })
            | Command::Compare(Compare { json, .. })
            | Command::Report(Report { json, .. })
            | Command::Sweep(Sweep { json, .. })
            | Command::Show(Show { json, .. })
            | Command::Profile(Profile { json, .. })
            | Command::Reproduce(Reproduce { json, .. })
            | Command::Validate(Validate { json, .. })
            | Command::Calibrate(Calibrate { json, .. })
            | Command::Bench(Bench { json, .. })
            | Command::Fingerprint(Fingerprint { json, .. })
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
            Command::View(_) | Command::Cuda(_) | Command::Completions(_) => false,
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
