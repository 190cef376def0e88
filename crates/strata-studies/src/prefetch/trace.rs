//! A program's requests to the GMMU, recorded.

use super::{Output, may_write};
use crate::mechanisms::combination;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use strata_learn::trace_file;
use strata_run::LabError;
use strata_run::Monitor;
use strata_run::RunRequest;
use strata_run::RunResult;
use strata_run::run::run;

/// A recorded trace.
pub struct Traced {
    /// The run that it is of.
    pub result: RunResult,
    /// Where it is.
    pub path: PathBuf,
    /// Requests, and the share of them whose page was on the device.
    pub requests: usize,
    /// See above.
    pub hit_rate: f64,
}

impl Traced {
    /// For scripts.
    pub fn to_json(&self) -> Value {
        json!({
            "workload": self.result.about.name,
            "passed": self.result.passed,
            "trace": self.path.display().to_string(),
            "requests": self.requests,
            "page_hit_rate": self.hit_rate,
        })
    }
}

/// The file beside its result in which a run keeps the requests to the GMMU.
pub(crate) const TRACE: &str = "gmmu.parquet";

/// A request that records what reaches the GMMU.
pub(crate) fn recording(mut request: RunRequest) -> Result<RunRequest, LabError> {
    request.with = combination("uvm")?;
    // Before those of the request, which may change it.
    request.set.insert(0, "uvm.prefetcher=none".to_owned());
    request.set.push("uvm.trace=on".to_owned());
    Ok(request)
}

/// Runs a program with unified memory on the machine of the request and puts its requests to the GMMU into `output`.
///
/// Pages come on demand unless the request says otherwise: what one prefetcher hides is not there for another to learn. The
/// paper's traces must have been made so, too: only then does one delta make up 99 % of the requests of ATAX and BICG (its
/// section 5.3: 0.9926), since warps that wait for the same page stay together.
pub fn record(request: RunRequest, output: &Path, monitor: &Arc<Monitor>) -> Result<Traced, LabError> {
    may_write(Output::Trace, output)?;
    let result = run(&recording(request)?, monitor)?;
    let made = result.host.directory.join(TRACE);
    // The result's own copy is not needed twice; between file systems a rename is not possible.
    std::fs::rename(&made, output)
        .or_else(|_| std::fs::copy(&made, output).map(|_| ()))
        .map_err(|error| LabError::io("write", output, error))?;
    let accesses = trace_file::read(output)
        .inspect_err(|_| {
            // An empty one is of no use to anybody.
            let _ = std::fs::remove_file(output);
        })
        .map_err(LabError::other)?;
    let hits = accesses.iter().filter(|access| access.hit).count();
    let hit_rate = hits as f64 / accesses.len() as f64;
    Ok(Traced { result, path: output.to_owned(), requests: accesses.len(), hit_rate })
}
