//! `strata compare`, `strata report` and `strata view`.

use super::seed;
use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;

const COMPARE_EXAMPLES: &str = "\
Examples:
  strata compare                         every mechanism on a small suite, each on the machine of its paper
  strata compare srad                    the same on a program of yours: workload, launch file or trace
  strata compare ep cg --with bpc,buddy --size small,medium
  strata compare srad --gpu titan-v,v100 machines against the first
  strata compare srad --gpu v100 --vary l2.ways=8,16,32
  strata compare bfs --with cmd --seed 1,2,3
  strata compare --with cmd --gpu cmd-gddr6 -- ./prog 512    a CUDA program

`+` combines mechanisms in one machine, `,` separates machines; the one that the others are compared with is always there.
Runs that are in the store already are not made again. The report, a CSV file and JSON are saved in\nstrata-out/compare-<hash>/.
Exit status: 0 every program passed, 1 one failed, 2 bad usage or bad input.";

/// Run programs on machines side by side and report: speed, traffic, capacity, energy; without arguments every mechanism
#[derive(Args)]
#[command(after_help = COMPARE_EXAMPLES)]
pub(crate) struct Compare {
    /// Workloads, launch files or traces [default: a small suite for each mechanism]
    #[arg(value_name = "WHAT", conflicts_with = "program")]
    pub(crate) what: Vec<String>,
    /// CUDA program and its arguments, after `--`
    #[arg(last = true, conflicts_with_all = ["size", "seed"])]
    pub(crate) program: Vec<OsString>,
    /// tiny, small, medium, paper, or an instance's label, separated by commas [default: small]
    #[arg(long, value_delimiter = ',')]
    pub(crate) size: Vec<String>,
    /// Seeds of the inputs, separated by commas
    #[arg(long, value_name = "N", value_delimiter = ',', allow_negative_numbers = true, value_parser = seed)]
    pub(crate) seed: Vec<u64>,
    /// Machines, separated by commas: presets, or paths of `.toml` files [default: that of each mechanism's paper]
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) gpu: Vec<String>,
    /// Mechanisms of each machine (see `strata mechanisms`) [default: all]
    #[arg(long, value_name = "A,B+C")]
    pub(crate) with: Option<String>,
    /// A machine for each value of a parameter or setting; may be repeated
    #[arg(long, value_name = "KEY=A,B")]
    pub(crate) vary: Vec<String>,
    /// Change a parameter of the machines or of a mechanism; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Machines smaller by this factor in every part, as programs are smaller than the papers'
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(crate) scale: Option<u32>,
    /// Show every program, however many there are
    #[arg(long, short)]
    pub(crate) verbose: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    /// Directory below which the report is saved [default: strata-out]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Where runs are kept [default: stratasim/store in the user's data directory]
    #[arg(long, value_name = "DIR")]
    pub(crate) store: Option<PathBuf>,
}

const REPORT_EXAMPLES: &str = "\
Examples:
  strata report strata-out/bfs-1a2b3c4d5e6f      the folder of a run
  strata report strata-out/bfs-*                 several runs side by side
  strata report strata-out/reproduce-cmd         a reproduction
  strata validate --json > v.json; strata report v.json -o silicon.html
  strata report results.parquet                  a sweep

The page is one file that fetches nothing: mail it, put it on a server, print it.";

/// Make one HTML page of saved results: of `run`, `compare`, `sweep`, `reproduce` and `validate` alike
#[derive(Args)]
#[command(after_help = REPORT_EXAMPLES)]
pub(crate) struct Report {
    /// Folders of results, their JSON files, or Parquet files of sweeps
    #[arg(required = true, value_name = "RESULT")]
    pub(crate) results: Vec<PathBuf>,
    /// The page
    #[arg(long, short, value_name = "FILE", default_value = "report.html")]
    pub(crate) output: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

const VIEW_EXAMPLES: &str = "\
Examples:
  strata view                            what is in strata-out, newest first
  strata view strata-out/compare-1a2b3c4d5e6f
  strata view ~/.local/share/stratasim/store     a sweep while it runs: the page follows it

The page is served on this computer alone, until Ctrl-C.";

/// Show results in a browser, and follow runs and sweeps while they go on
#[derive(Args)]
#[command(after_help = VIEW_EXAMPLES)]
pub(crate) struct View {
    /// A folder of results, a report, or a sweep's store
    #[arg(value_name = "WHAT", default_value = "strata-out")]
    pub(crate) what: PathBuf,
    /// Port on the loopback interface; 0: any that is free
    #[arg(long, value_name = "N", default_value_t = 8427)]
    pub(crate) port: u16,
}
