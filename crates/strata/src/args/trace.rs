//! `strata trace`: recorded programs.

use clap::{Args, Subcommand};
use std::path::PathBuf;

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
