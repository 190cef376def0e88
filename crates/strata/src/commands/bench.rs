//! `strata bench`.

use crate::args::Bench;
use crate::heap;
use crate::output::{self, Failure};
use crate::progress::Series;
use std::process::{Command, ExitCode};
use strata_lab::bench::{Peer, Plan, measure, once_on};
use strata_lab::stopwatch;

pub(crate) fn bench(args: &Bench) -> Result<ExitCode, Failure> {
    if args.process {
        return process(args);
    }
    let peer = args.beside.as_deref().map_or_else(|| Ok(Peer::default()), Peer::read)?;
    let plan = Plan { programs: &args.programs, gpus: &args.gpu, set: &args.set, peer };
    let mut line = Series::new();
    let mut whole = |program: &str, gpu: &str| whole_process(program, gpu, &args.set);
    let speeds = measure(plan, Some(&mut whole), &mut |step| line.begins(&step))?;
    drop(line);
    if args.json {
        output::json(&speeds.to_json())?;
    } else {
        output::text(&speeds.table())?;
    }
    for failure in &speeds.failures {
        output::message(&format!("error: {failure}\n"));
    }
    Ok(if speeds.failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// This executable once more, for one run and nothing else: its CPU seconds, as it says at its end.
fn whole_process(program: &str, gpu: &str, set: &[String]) -> Result<f64, String> {
    let executable = std::env::current_exe().map_err(|e| e.to_string())?;
    let mut command = Command::new(executable);
    command.args(["bench", "--process", program, "--gpu", gpu]);
    command.args(set.iter().flat_map(|set| ["--set", set]));
    let output = command.output().map_err(|e| e.to_string())?;
    let text = String::from_utf8_lossy(&output.stdout);
    text.trim().parse().map_err(|_| format!("its process failed: {}", String::from_utf8_lossy(&output.stderr).trim()))
}

fn process(args: &Bench) -> Result<ExitCode, Failure> {
    heap::prepare();
    for (program, gpu) in args.programs.iter().zip(&args.gpu) {
        once_on(program, gpu, &args.set)?;
    }
    output::text(&format!("{}\n", stopwatch::process_cpu().as_secs_f64()))?;
    Ok(ExitCode::SUCCESS)
}
