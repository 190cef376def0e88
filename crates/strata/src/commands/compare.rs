//! `strata compare`.

use crate::args::Compare;
use crate::output::{self, Failure};
use crate::progress::Series;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;
use strata_lab::compare::{CompareRequest, Wanted, compare as run, save, table, to_json, varied};
use strata_lab::stopwatch::{Times, process_cpu, timed};
use strata_lab::sweep::{Store, engine};
use strata_lab::{DEFAULT_OUT, LabError, Registry, RunRequest, StopSign, What};

/// Runs of CUDA programs so far: their files have different names.
static COUNT: AtomicUsize = AtomicUsize::new(0);

pub(crate) fn compare(args: Compare, registry: &Registry) -> Result<ExitCode, Failure> {
    let command = command_line();
    let mut programs = args.what.iter().map(|what| What::named(what)).collect::<Result<Vec<_>, _>>()?;
    if !args.program.is_empty() {
        programs.push(What::Program(args.program));
    }
    let schemes = match &args.with {
        Some(with) => Some(with.split(',').map(|with| registry.combination(with)).collect::<Result<_, _>>()?),
        None => None,
    };
    let wanted = Wanted {
        programs,
        sizes: args.size,
        gpus: args.gpu,
        schemes,
        vary: args.vary.iter().map(|text| varied(text)).collect::<Result<_, _>>()?,
        set: args.set,
        scale: args.scale,
    };
    let request = CompareRequest { wanted, seeds: args.seed, out: args.out.clone() };
    let store = Store::open(&Store::place(args.store.as_deref())?)?;
    super::interrupt::leave_nothing_in(store.root());
    let stop = output::stop_sign();
    let (began, simulated) = (Instant::now(), Mutex::new(Times::default()));
    let mut line = Series::new();
    let times = store.times();
    let took = |request: &RunRequest| times.seconds(request);
    let comparison = run(&request, registry, &took, &mut |step| line.begins(&step), &|request| {
        let (result, took) = timed(|| result_of(request, &store, &stop));
        let mut all = simulated.lock().unwrap_or_else(PoisonError::into_inner);
        *all = Times { wall: all.wall + took.wall, cpu: all.cpu + took.cpu };
        result
    })?;
    drop(line);
    let report = save(&comparison, &command, args.out.as_deref().unwrap_or(Path::new(DEFAULT_OUT)))?;
    if args.json {
        let mut object = to_json(&comparison);
        object["report"] = json!(report.display().to_string());
        let runs = simulated.into_inner().unwrap_or_else(PoisonError::into_inner);
        object["host"] = json!({
            "seconds": began.elapsed().as_secs_f64(),
            "run_seconds": runs.wall.as_secs_f64(),
            "cpu_seconds": process_cpu().as_secs_f64(),
            "run_cpu_seconds": runs.cpu.as_secs_f64(),
        });
        output::json(&object)?;
    } else {
        output::text(&table(&comparison, args.verbose))?;
        let (took, page) = (crate::progress::short_time(began.elapsed()), report.display());
        output::message(&format!("{took}; report: {page} (`strata view` shows it)\n"));
    }
    Ok(if comparison.has_failures() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// What makes the same comparison again.
fn command_line() -> String {
    let quoted = |text: String| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=+,".contains(c);
        if !text.is_empty() && text.chars().all(plain) { text } else { format!("'{}'", text.replace('\'', "'\\''")) }
    };
    let words = std::env::args_os().skip(1).map(|word| quoted(word.to_string_lossy().into_owned()));
    ["strata".to_owned()].into_iter().chain(words).collect::<Vec<_>>().join(" ")
}

/// One result: from the store if it is there, else by running it.
fn result_of(request: &RunRequest, store: &Store, stop: &StopSign) -> Result<Value, LabError> {
    if let What::Program(command) = &request.what {
        return program(request, command);
    }
    engine::result(request.clone(), store, stop)
}

/// A CUDA program, in a process of its own: what it prints goes to standard error.
fn program(request: &RunRequest, command: &[std::ffi::OsString]) -> Result<Value, LabError> {
    let itself = std::env::current_exe().map_err(|e| LabError::io("find", Path::new("this executable"), e))?;
    let out = request.out.clone().unwrap_or_else(|| PathBuf::from(DEFAULT_OUT));
    std::fs::create_dir_all(&out).map_err(|e| LabError::io("write", &out, e))?;
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let file = out.join(format!(".compare-{}-{number}.json", std::process::id()));
    let mut run = Command::new(itself);
    run.arg("run").arg(format!("--json={}", file.display())).arg("--out").arg(&out);
    run.args(request.gpu.iter().flat_map(|gpu| ["--gpu", gpu]));
    run.args(["--with", &request.with.to_string()]);
    run.args(request.explain.then_some("--explain"));
    run.args(request.set.iter().flat_map(|set| ["--set", set]));
    run.arg("--").args(command);
    let done = run.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).output();
    let done = done.map_err(|e| LabError::Request(format!("cannot start the program: {e}")))?;
    let text = std::fs::read(&file).unwrap_or_default();
    // It was for us alone.
    let _ = std::fs::remove_file(&file);
    serde_json::from_slice(&text).map_err(|_| {
        let told = String::from_utf8_lossy(&done.stderr);
        LabError::Request(format!("the program made no result ({}): {}", done.status, told.trim()))
    })
}
