//! `strata trace`.

use super::run::monitor;
use crate::args::{Trace, TraceCommand, TraceInfo, TraceRecord};
use crate::output::{self, Failure};
use crate::progress;
use indicatif::ProgressBar;
use serde_json::json;
use std::process::ExitCode;
use std::sync::Arc;
use strata_lab::{RunRequest, What, trace};

pub(crate) fn trace(args: Trace) -> Result<ExitCode, Failure> {
    match args.command {
        TraceCommand::Record(record) => self::record(record),
        TraceCommand::Info(info) => self::info(&info),
    }
}

fn record(args: TraceRecord) -> Result<ExitCode, Failure> {
    let request = RunRequest {
        size: args.size,
        seed: args.seed,
        max_instructions: args.max_instructions,
        out: args.out,
        ..RunRequest::new(What::named(&args.what)?)
    };
    let bar = ProgressBar::new_spinner();
    let monitor = Arc::new(monitor(bar.clone(), args.json));
    progress::show(&bar, &args.what, &monitor);
    let result = trace::record(&request, &args.output, &monitor);
    bar.finish_and_clear();
    let result = result?;
    let info = if result.is_success() { Some(trace::info(&args.output)?) } else { None };
    if args.json {
        output::json(&json!({
            "file": args.output.display().to_string(),
            "passed": result.passed,
            "error": result.error,
            "trace": info.as_ref().map(trace::TraceInfo::to_json),
            "host": {
                "seconds": result.host.seconds,
                "thread_instructions_per_second": result.thread_instructions_per_second(),
            },
        }))?;
    } else if let Some(info) = &info {
        output::text(&info.table())?;
    }
    if info.is_some() {
        output::message(&format!("recorded in {}\n", args.output.display()));
        return Ok(ExitCode::SUCCESS);
    }
    let why = result.error.as_deref().unwrap_or("its result is wrong");
    output::message(&format!("error: there is no trace, the program failed: {why}\n"));
    Ok(ExitCode::FAILURE)
}

fn info(args: &TraceInfo) -> Result<ExitCode, Failure> {
    let info = trace::info(&args.file)?;
    if args.json {
        output::json(&info.to_json())?;
    } else {
        output::text(&info.table())?;
    }
    Ok(ExitCode::SUCCESS)
}
