//! `strata sweep` and `strata show`.

use clap::{Args, ValueEnum};
use std::path::PathBuf;

const SWEEP_EXAMPLES: &str = "\
Examples:
  strata sweep examples/sweep.toml --dry-run    count the points, and say how long they will take
  strata sweep examples/sweep.toml              run them on all cores; the same again goes on where it stopped
  strata sweep plan.toml --engine slurm --slurm=--partition=long --slurm=--time=30
  strata show                                   the results as a table

docs/sweep.md is the reference of plans. Every point is kept in the store under a hash of all that its result depends on:
what ran once is not run again, in this sweep or another, before or after a rebuild that changes no result.
Exit status: 0 every point passed, 1 one failed, 2 bad usage or bad input.";

/// Run a plan of many points: settings, programs, seeds and mechanisms; here or on a cluster
#[derive(Args)]
#[command(after_help = SWEEP_EXAMPLES)]
pub(crate) struct Sweep {
    /// The plan, a `.toml` file
    #[arg(value_name = "PLAN")]
    pub(crate) plan: PathBuf,
    /// Count points and estimate; run nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Points at once [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=4096))]
    pub(crate) jobs: Option<u16>,
    /// Where results are kept [default: stratasim/store in the user's data directory]
    #[arg(long, value_name = "DIR")]
    pub(crate) store: Option<PathBuf>,
    /// Write the collected results here, too
    #[arg(long, value_name = "FILE")]
    pub(crate) results: Option<PathBuf>,
    /// Where points run
    #[arg(long, value_enum, default_value_t = Engine::Local)]
    pub(crate) engine: Engine,
    /// An option of your site for `sbatch`; may be repeated
    #[arg(long, value_name = "OPTION", allow_hyphen_values = true)]
    pub(crate) slurm: Vec<String>,
    /// How long a task of a Slurm job array should last
    #[arg(long, value_name = "MINUTES", default_value_t = 5.0)]
    pub(crate) task_minutes: f64,
    /// Go on where an earlier sweep stopped, which is done in any case
    #[arg(long)]
    pub(crate) resume: bool,
    /// Run one task of a Slurm job array
    #[arg(long, value_name = "FILE", hide = true)]
    pub(crate) task: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Where points run.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Engine {
    /// On the cores of this machine.
    Local,
    /// As a job array of a cluster.
    Slurm,
}

const SHOW_EXAMPLES: &str = "\
Examples:
  strata show                                   the only sweep of the store
  strata show results.parquet --columns cycles,gpu.l2.read_hit_rate
  strata show results.parquet --pareto cycles,gpu.energy.total
  strata show results.parquet --pareto ipc:max,l2.size
  strata show results.parquet --sensitivity cycles";

/// Show the results of a sweep: tables, Pareto fronts, sensitivities
#[derive(Args)]
#[command(after_help = SHOW_EXAMPLES)]
pub(crate) struct Show {
    /// Parquet file of a sweep, its folder, or a store [default: the user's store]
    pub(crate) what: Option<PathBuf>,
    /// Columns to show, separated by commas
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub(crate) columns: Vec<String>,
    /// Only points that nothing beats in these columns; smaller is better, or larger with `:max`
    #[arg(long, value_name = "A,B:max", value_delimiter = ',', conflicts_with = "sensitivity")]
    pub(crate) pareto: Vec<String>,
    /// How a column changes with each setting while all others stay
    #[arg(long, value_name = "COLUMN")]
    pub(crate) sensitivity: Option<String>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}
