//! The command line of StrataSim: a thin door on `strata-lab`.
//!
//! What belongs here: the grammar of the arguments, what goes to which stream, exit statuses, progress bars. Everything
//! else is the lab's. Exit statuses: 0 success, 1 the program or check failed, 2 bad usage or bad input.
//!
//! It is a library so that a researcher's own program can be this command line with a mechanism more: `examples/mechanism`.
//!
//! ```no_run
//! use std::process::ExitCode;
//!
//! fn main() -> ExitCode {
//!     // Register a mechanism of your own in a clone of the house's registry.
//!     strata::main(strata_lab::mechanisms::registry())
//! }
//! ```

mod args;
mod commands;
mod heap;
mod output;
mod progress;

use args::{Arguments, Command};
use clap::Parser;
use output::Failure;
use std::process::ExitCode;
use strata_lab::Registry;

/// The command line with the mechanisms of a registry.
pub fn main(registry: &Registry) -> ExitCode {
    let arguments = Arguments::parse();
    let json = arguments.wants_json();
    let done = match arguments.command {
        Command::Run(run) => commands::run::run(run, registry),
        Command::Workloads(workloads) => commands::workloads::list(&workloads),
        Command::Check(check) => commands::check::check(&check),
        Command::Offload(offload) => commands::offload::offload(&offload),
        Command::Gpus(gpus) => commands::gpus::show(&gpus),
        Command::Mechanisms(mechanisms) => commands::mechanisms::list(&mechanisms, registry),
        Command::Compare(compare) => commands::compare::compare(compare, registry),
        Command::Sweep(sweep) => commands::sweep::sweep(&sweep, registry),
        Command::Show(show) => commands::show::show(show),
        Command::Profile(profile) => commands::profile::profile(profile),
        Command::Reproduce(reproduce) => commands::reproduce::reproduce(&reproduce),
        Command::Validate(validate) => commands::validate::validate(validate),
        Command::Bench(bench) => commands::bench::bench(&bench),
        Command::Fingerprint(fingerprint) => commands::fingerprint::fingerprint(&fingerprint, registry),
        Command::Compress(compress) => commands::compress::compress(compress),
        Command::Prefetch(prefetch) => commands::prefetch::prefetch(prefetch),
        Command::Trace(trace) => commands::trace::trace(trace),
        Command::Cuda(cuda) => commands::cuda::cuda(cuda),
        Command::Completions(completions) => commands::completions::print(&completions),
    };
    match done {
        Ok(status) => status,
        Err(failure) => explain(&failure, json),
    }
}

/// Says what went wrong and picks the exit status.
fn explain(failure: &Failure, json: bool) -> ExitCode {
    match failure {
        // The reader of our output has seen enough: `strata workloads | head`.
        Failure::Output(error) if error.kind() == std::io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Failure::Output(error) => {
            output::message(&format!("error: cannot write to standard output: {error}\n"));
            ExitCode::FAILURE
        }
        Failure::Lab(error) => {
            output::message(&format!("{}\n", error.render(output::colours())));
            if json {
                // Nothing more can be done if this cannot be written either.
                let _ = output::json(&serde_json::json!({ "error": error.to_string() }));
            }
            ExitCode::from(2)
        }
    }
}
