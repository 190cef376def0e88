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
mod caller;
mod commands;
mod output;
mod progress;

pub use caller::Caller;

use args::{Arguments, Command};
use clap::Parser;
use output::Failure;
use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::process::ExitCode;
use std::sync::Arc;
use strata_lab::{Abandoned, Registry};

/// The command line with the mechanisms of a registry.
pub fn main(registry: &Registry) -> ExitCode {
    print(Arguments::parse(), registry)
}

/// The same for an interpreter's program: with these words, the first of them the program's name; `again` starts it anew.
pub fn main_of(words: impl IntoIterator<Item = OsString>, again: Vec<String>, registry: &Registry) -> ExitCode {
    output::set_this_command(again);
    print(Arguments::parse_from(words), registry)
}

fn print(arguments: Arguments, registry: &Registry) -> ExitCode {
    let json = arguments.wants_json();
    carry_out(arguments, registry).unwrap_or_else(|failure| explain(&failure, json))
}

/// How a command ended that another program called.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    /// It did what it was asked for.
    Well,
    /// It did so, and a program or a check failed.
    WithFailures,
    /// It was stopped.
    Stopped,
}

/// Carries out a command for a caller, who gets what it says: `words` are its arguments, without a program's name. The error is
/// the text that the command line would have shown.
pub fn call(words: &[String], again: Vec<String>, registry: &Registry, caller: &Arc<Caller>) -> Result<Ended, String> {
    let program = ["strata"].into_iter().chain(words.iter().map(String::as_str));
    let arguments = Arguments::try_parse_from(program).map_err(|wrong| without_label(&wrong.to_string()))?;
    output::set_this_command(again);
    let done = catch_unwind(AssertUnwindSafe(|| caller.while_heard(|| carry_out(arguments, registry))));
    match done {
        Ok(Ok(ExitCode::SUCCESS)) => Ok(Ended::Well),
        Ok(Ok(ExitCode::FAILURE)) => Ok(Ended::WithFailures),
        // A command of several files told of each of them.
        Ok(Ok(_)) => Err(without_label(&caller.messages())),
        Ok(Err(Failure::Lab(error))) => Err(without_label(&error.render(false))),
        Ok(Err(Failure::Output(error))) => Err(error.to_string()),
        Err(_) if caller.stop().is_given() => Ok(Ended::Stopped),
        Err(thrown) => match thrown.downcast::<Abandoned>() {
            Ok(abandoned) => Err(abandoned.0),
            Err(thrown) => resume_unwind(thrown),
        },
    }
}

/// A message without the word that a terminal shows before it.
fn without_label(text: &str) -> String {
    text.strip_prefix("error: ").unwrap_or(text).trim_end().to_owned()
}

fn carry_out(arguments: Arguments, registry: &Registry) -> Result<ExitCode, Failure> {
    match arguments.command {
        Command::Run(run) => commands::run::run(run, registry),
        Command::Workloads(workloads) => commands::workloads::list(&workloads),
        Command::Check(check) => commands::check::check(&check),
        Command::Offload(offload) => commands::offload::offload(&offload),
        Command::Gpus(gpus) => commands::gpus::show(&gpus),
        Command::Mechanisms(mechanisms) => commands::mechanisms::list(&mechanisms, registry),
        Command::Compare(compare) => commands::compare::compare(compare, registry),
        Command::Report(report) => commands::report::report(&report),
        Command::View(view) => commands::view::view(&view),
        Command::Sweep(sweep) => commands::sweep::sweep(&sweep, registry),
        Command::Show(show) => commands::show::show(show),
        Command::Profile(profile) => commands::profile::profile(profile),
        Command::Reproduce(reproduce) => commands::reproduce::reproduce(&reproduce),
        Command::Validate(validate) => commands::validate::validate(validate),
        Command::Calibrate(calibrate) => commands::calibrate::calibrate(calibrate),
        Command::Bench(bench) => commands::bench::bench(&bench),
        Command::Fingerprint(fingerprint) => commands::fingerprint::fingerprint(&fingerprint, registry),
        Command::Compress(compress) => commands::compress::compress(compress),
        Command::Prefetch(prefetch) => commands::prefetch::prefetch(prefetch),
        Command::Trace(trace) => commands::trace::trace(trace),
        Command::Cuda(cuda) => commands::cuda::cuda(cuda),
        Command::Completions(completions) => commands::completions::print(&completions),
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
