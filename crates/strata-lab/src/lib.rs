//! The lab: runs programs on engines and turns what they did into results.
//!
//! * [`run`]: carries out a [`RunRequest`] (a workload, a launch file or a trace) and saves the [`RunResult`];
//! * [`launch_file`]: programs without host code;
//! * [`ptx_check`]: what `strata check` says of PTX files;
//! * [`offload`]: what `strata offload` says of them;
//! * [`gpus`]: the machines a program can be timed on;
//! * [`engine`]: the engines that can stand behind a device;
//! * [`tensors`]: files of data, as named tensors;
//! * [`compress`]: how compressible they are, and their targets;
//! * [`cuda`]: unmodified CUDA programs;
//! * [`trace`]: recorded programs;
//! * [`explain`]: what the requests of a timed run waited for;
//! * [`mechanisms`]: what can be put into a machine;
//! * [`snapshot`], [`observe`], [`profile`](mod@profile): what memory holds, how compressible it is, and what follows for Buddy
//!   Compression;
//! * [`prefetch`]: predictors of page accesses;
//! * [`silicon`]: what real GPUs measured;
//! * [`validate`]: the machine beside them;
//! * [`compare`](mod@compare): machines side by side;
//! * [`bench`](mod@bench): how fast programs are simulated.
//! * [`bench`](mod@bench): how fast programs are simulated;
//! * [`case_study`]: what a larger memory is worth when networks are trained.
//!
//! The command line and the Python package are thin doors on this crate.
//!
//! Invariants: this crate parses no arguments and prints nothing; the same request gives the same result, byte for
//! byte, except for what stands in [`HostTimes`]; every file it writes is there whole or not at all.
//!
//! ```
//! use strata_lab::What;
//! assert!(matches!(What::named("examples/vecadd.toml"), Ok(What::LaunchFile(_))));
//! assert!(What::named("kernel.ptx").unwrap_err().to_string().contains("launch file"));
//! ```

pub mod bench;
pub mod case_study;
pub mod compare;
pub mod compress;
pub mod cuda;
pub mod diagnostics;
pub mod element;
pub mod engine;
mod error;
pub mod explain;
pub mod fnv;
mod gmmu_file;
pub mod gpus;
mod graph_input;
pub mod launch_file;
pub mod mechanisms;
mod monitor;
mod near_data;
mod npy;
pub mod observe;
pub mod offload;
mod page_heat;
mod parallel;
pub mod prefetch;
pub mod profile;
pub mod ptx_check;
pub mod report;
pub mod reproduce;
mod request;
mod request_table;
mod result;
mod run;
mod save;
mod setup;
mod side_table;
pub mod silicon;
pub mod snapshot;
mod stats_file;
pub mod stopwatch;
pub mod table;
pub mod tensors;
mod told_source;
pub mod trace;
pub mod unified;
pub mod validate;

use std::path::Path;

pub use engine::EngineOptions;
pub use error::LabError;
pub use monitor::{Monitor, Step};
pub use request::{DEFAULT_OUT, RunRequest, What};
pub use result::{HostTimes, KernelRun, RunResult};
pub use run::{run, run_on};

/// Writes a JSON object to a file, whole or not at all.
pub fn write_json(path: &Path, value: &serde_json::Value) -> Result<(), LabError> {
    save::write_text(path, &format!("{value:#}\n")).map_err(|e| LabError::io("write", path, e))
}

/// The built-in programs, in the order they are listed.
pub fn workloads() -> impl Iterator<Item = &'static strata_workloads::Info> {
    strata_workloads::all().iter().map(|workload| workload.info())
}
