//! Recorded programs: executed once, timed on many machines.
//!
//! * [`record`]: runs a workload or a launch file without time and writes down what its warps did;
//! * [`info`]: what a trace holds;
//! * `replay`: what [`crate::run()`] does with a trace.
//!
//! A trace holds operations and addresses, not values: a replay has nothing to check, its `passed` is null. It takes the
//! same cycles as the execution, unless the program's control flow depends on the order of CTAs or warps.

mod info;
mod record;
mod replay;

pub use info::{TraceInfo, info};
pub(crate) use record::Recording;
pub use record::record;
pub(crate) use replay::{replay, resolved};

use crate::error::LabError;
use std::fs::File;
use std::path::Path;
use strata_trace::TraceFile;

/// How the name of a trace ends.
pub const EXTENSION: &str = "strata-trace";

fn open(path: &Path) -> Result<TraceFile<File>, LabError> {
    let file = File::open(path).map_err(|e| LabError::io("read", path, e))?;
    TraceFile::open(file).map_err(|e| LabError::trace(path, e))
}
