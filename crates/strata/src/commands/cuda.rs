//! `strata run -- PROGRAM` and `strata cuda`.

use super::run::request;
use crate::args::{Cuda, CudaCommand, Run};
use crate::output::{self, Failure};
use crate::progress;
use indicatif::ProgressBar;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use std::os::unix::process::ExitStatusExt;
use std::process::{ExitCode, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use strata_lab::cuda::{self, Printed, ProgramRun};
use strata_lab::{LabError, Monitor, Registry, What};

/// The simulator itself failed; any other status is the program's.
const OUR_FAILURE: u8 = 125;

/// Runs a CUDA program: its output and its exit status are its own.
pub(crate) fn run(args: Run, registry: &Registry) -> ExitCode {
    if args.prints_json() {
        let reason = "standard output belongs to the program: write the JSON object to a file with `--json=FILE`";
        return failed(&LabError::Request(reason.into()));
    }
    run_program(args, registry).unwrap_or_else(|error| failed(&error))
}

fn failed(error: &LabError) -> ExitCode {
    output::message(&format!("{}\n", error.render(output::colours())));
    ExitCode::from(OUR_FAILURE)
}

fn run_program(args: Run, registry: &Registry) -> Result<ExitCode, LabError> {
    let json = args.json.clone();
    let what = What::Program(args.program.clone());
    let name = what.name();
    let request = request(args, what, registry)?;
    let printed = Arc::new(Printed::default());
    let kept = Arc::clone(&printed);
    let monitor = Arc::new(Monitor::new(move |bytes| kept.add(bytes)));
    let bar = ProgressBar::new_spinner();
    progress::show(&bar, &name, &monitor);
    let stop = signals()?;
    let run = cuda::run(&request, &monitor, printed, &stop);
    bar.finish_and_clear();
    let ProgramRun { result, status } = run?;
    for warning in &result.warnings {
        output::message(&format!("strata: warning: {warning}\n"));
    }
    if let Some(path) = json {
        strata_lab::write_json(&path, &result.to_json())?;
    }
    // Standard output is the program's; what was found out is told beside it.
    let told = strata_lab::answer(&result).map(|answer| format!("strata: {answer}\n"));
    output::message(&format!("{}strata: saved in {}\n", told.unwrap_or_default(), result.host.directory.display()));
    Ok(ExitCode::from(status_of(status)))
}

/// From now on a signal that would end us does not, so that the result can be saved. Ctrl-C reaches the program by itself; of
/// the others it is told: they make the value true.
fn signals() -> Result<Arc<AtomicBool>, LabError> {
    let (stop, ignored) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    for (signal, flag) in [(SIGINT, &ignored), (SIGTERM, &stop), (SIGHUP, &stop)] {
        let registered = flag::register(signal, Arc::clone(flag));
        registered.map_err(|e| LabError::Request(format!("cannot take signal {signal}: {e}")))?;
    }
    Ok(stop)
}

/// The program's own status; for one that a signal ended, what a shell says of it.
fn status_of(status: ExitStatus) -> u8 {
    let signal = || status.signal().map_or(1, |signal| 128 + signal);
    u8::try_from(status.code().unwrap_or_else(signal)).unwrap_or(1)
}

/// `strata cuda`.
pub(crate) fn cuda(args: Cuda) -> Result<ExitCode, Failure> {
    let CudaCommand::Build(build) = args.command;
    let status = cuda::build::build(&build.files, build.output.as_deref(), &build.arguments)?;
    Ok(ExitCode::from(status_of(status)))
}
