//! Runs: a program, an engine, a machine with or without mechanisms, and the result.
//!
//! This is the crate that others build on: it knows mechanisms only through a registry ([`strata_mechanism::Registry`]), so that
//! one from outside runs like those of the house.
//!
//! * [`run`](mod@run): carries out a [`RunRequest`] (a workload, a launch file or a trace) and saves the [`RunResult`];
//! * [`engine`]: the engines that can stand behind a device;
//! * [`setup`], [`preparation`]: the mechanisms of a run, and what they can ask for before it;
//! * [`launch_file`]: programs without host code;
//! * [`trace`]: recorded programs;
//! * [`gpus`]: the machines a program can be timed on;
//! * [`ptx_check`]: what `strata check` says of PTX files;
//! * [`explain`]: what the requests of a timed run waited for;
//! * [`snapshot`]: what memory holds between launches.
//!
//! Invariants: this crate parses no arguments, prints nothing and names no mechanism; the same request gives the same result,
//! byte for byte, except for what stands in [`HostTimes`]; every file it writes is there whole or not at all.
//!
//! ```
//! use strata_run::What;
//! assert!(matches!(What::named("examples/vecadd.toml"), Ok(What::LaunchFile(_))));
//! assert!(What::named("kernel.ptx").unwrap_err().to_string().contains("launch file"));
//! ```

mod answer;
mod description;
pub mod diagnostics;
pub mod element;
pub mod engine;
mod equal_cost;
mod error;
pub mod explain;
pub mod gpus;
mod graph_input;
pub mod launch_file;
mod monitor;
pub mod npy;
mod outlook;
pub mod parallel;
pub mod preparation;
pub mod ptx_check;
mod request;
mod result;
pub mod run;
pub mod setup;
mod side_table;
pub mod snapshot;
mod stats_file;
pub mod stopwatch;
pub mod table;
mod told_source;
pub mod trace;

pub use answer::answer;
pub use description::{Description, VERSION};
pub use engine::EngineOptions;
pub use equal_cost::{EqualCost, equal_cost};
pub use error::LabError;
pub use monitor::{Abandoned, Monitor, Monitored, Step, StopSign};
pub use outlook::Cost;
pub use request::{DEFAULT_OUT, Resolved, RunRequest, What};
pub use result::{HostTimes, KernelRun, RunResult};
pub use run::{run, run_on};

use std::path::Path;
use strata_core::files;
pub use strata_workloads::{Info, Module, Resources, Size, Workload};

/// Writes a JSON object to a file, whole or not at all.
pub fn write_json(path: &Path, value: &serde_json::Value) -> Result<(), LabError> {
    files::write_text(path, &RunResult::json_text(value)).map_err(|e| LabError::io("write", path, e))
}

/// Writes text to a file, whole or not at all.
pub fn write_text(path: &Path, text: &str) -> Result<(), LabError> {
    files::write_text(path, text).map_err(|e| LabError::io("write", path, e))
}

/// A built-in program by its name or another one that it is known by.
pub fn workload(name: &str) -> Result<&'static dyn strata_workloads::Workload, LabError> {
    strata_workloads::find(name).map_err(|unknown| LabError::Request(unknown.to_string()))
}

/// The built-in programs, in the order they are listed.
pub fn workloads() -> impl Iterator<Item = &'static strata_workloads::Info> {
    strata_workloads::all().iter().map(|workload| workload.info())
}
