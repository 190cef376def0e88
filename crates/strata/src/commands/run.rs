//! `strata run`.

use crate::args::Run;
use crate::caller::Caller;
use crate::output::{self, Failure};
use crate::progress;
use indicatif::ProgressBar;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use strata_lab::{DEFAULT_OUT, LabError, Monitor, Registry, RunRequest, What, table};

pub(crate) fn run(args: Run, registry: &Registry) -> Result<ExitCode, Failure> {
    let (json, printed_json, verbose) = (args.json.clone(), args.prints_json(), args.verbose);
    let what = match &args.what {
        Some(name) => What::named(name)?,
        None => return Ok(super::cuda::run(args, registry)),
    };
    let name = what.name();
    let request = request(args, what, registry)?;
    super::interrupt::leave_nothing_in(request.out.as_deref().unwrap_or(Path::new(DEFAULT_OUT)));
    let bar = ProgressBar::new_spinner();
    let monitor = Arc::new(monitor(bar.clone(), printed_json));
    progress::show(&bar, &name, &monitor);
    let result = strata_lab::run(&request, &monitor);
    bar.finish_and_clear();
    let result = result?;
    for warning in &result.warnings {
        output::message(&format!("warning: {warning}\n"));
    }
    match json {
        Some(_) if printed_json => output::json(&result.to_json())?,
        Some(path) => strata_lab::write_json(&path, &result.to_json())?,
        None => output::text(&table::run_result(&result, verbose))?,
    }
    if let Some(error) = &result.error {
        output::message(&format!("error: {error}\n"));
    }
    output::message(&format!("saved in {}\n", result.host.directory.display()));
    Ok(if result.is_success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What the lab is asked to do.
pub(super) fn request(args: Run, what: What, registry: &Registry) -> Result<RunRequest, LabError> {
    Ok(RunRequest {
        what,
        size: args.size,
        input: args.input,
        seed: args.seed,
        threads: usize::from(args.threads),
        check: args.check,
        check_races: args.check_races,
        lenient: args.lenient,
        check_data: args.check_data,
        explain: args.explain,
        like_ncu: args.like_ncu,
        max_instructions: args.max_instructions,
        kernels: args.kernels,
        fast_forward: args.fast_forward,
        gpu: args.gpu,
        with: registry.combination(&args.with)?,
        set: args.set,
        out: args.out,
    })
}

/// What the device program prints is its output, unless standard output belongs to the JSON object.
pub(super) fn monitor(bar: ProgressBar, json: bool) -> Monitor {
    if let Some(caller) = Caller::here() {
        let stop = caller.stop().clone();
        return Monitor::new(move |printed| caller.hear_printed(printed)).stopped_by(stop);
    }
    Monitor::new(move |printed| {
        // A closed pipe is found out when the result is printed.
        let _ = bar.suspend(|| if json { io::stderr().write_all(printed) } else { output::bytes(printed) });
    })
}
