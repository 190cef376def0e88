//! What can be asked of the lab.

use crate::error::LabError;
use crate::launch_file::limits;
use crate::trace;
use serde_json::{Value, json};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use strata_core::fnv::Fnv1a64;
use strata_core::settings::Allowed;
use strata_mechanism::Combination;

/// Where results go unless a request says otherwise.
pub const DEFAULT_OUT: &str = "strata-out";

/// What is to be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// A built-in workload, by name.
    Workload(String),
    /// A launch file, by path.
    LaunchFile(PathBuf),
    /// A trace: see [`crate::trace`].
    Trace(PathBuf),
    /// A CUDA program and its arguments, which runs as a process of its own (`strata-cuda`).
    Program(Vec<OsString>),
}

impl What {
    /// What people call it: the workload, or the file without its extension.
    pub fn name(&self) -> String {
        match self {
            Self::Workload(name) => name.clone(),
            Self::LaunchFile(path) | Self::Trace(path) => {
                path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
            }
            Self::Program(command) => {
                let path = Path::new(command.first().map_or(OsStr::new(""), OsString::as_os_str));
                path.file_name().unwrap_or_default().to_string_lossy().into_owned()
            }
        }
    }

    /// The kind of program, as results have it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Workload(_) => "workload",
            Self::LaunchFile(_) => "launch file",
            Self::Trace(_) => "trace",
            Self::Program(_) => "CUDA program",
        }
    }

    /// What a person means by `text`: a path ending in `.toml` is a launch file, one ending in `.strata-trace`
    /// a trace, any other name a workload, even if there is a file of that name (`./bfs` is the file).
    pub fn named(text: &str) -> Result<Self, LabError> {
        let path = Path::new(text);
        match path.extension().and_then(|e| e.to_str()) {
            Some("toml") => Ok(Self::LaunchFile(path.to_owned())),
            Some(trace::EXTENSION) => Ok(Self::Trace(path.to_owned())),
            Some("ptx") => Err(LabError::Request(launch_file_for(path))),
            Some("cu") => Err(LabError::Request(compile_first(path))),
            _ if strata_workloads::find(text).is_ok() => Ok(Self::Workload(text.to_owned())),
            _ if path.is_dir() => {
                Err(LabError::Request(format!("`{text}` is a directory; name a launch file (`.toml`) in it")))
            }
            _ if path.is_file() => Err(LabError::Request(format!(
                "`{text}` is no launch file (`.toml`), PTX file (`.ptx`) or trace (`.strata-trace`); \
                 a CUDA program is run with `strata run -- {text}`"
            ))),
            _ => Ok(Self::Workload(text.to_owned())),
        }
    }
}

/// What to tell somebody who wants to run a bare PTX file.
fn launch_file_for(ptx: &Path) -> String {
    let name = ptx.file_name().map_or_else(|| "kernel.ptx".into(), |n| n.to_string_lossy());
    format!(
        "`{}` says what a kernel does, not with which data, grid and arguments.\n\
         Write a launch file beside it, say `prog.toml`, and run that:\n\n    \
         ptx = \"{name}\"\n\n    \
         [buffers.data]\n    \
         type = \"f32\"\n    \
         count = 1024\n    \
         init = {{ random = [0, 1] }}\n\n    \
         [[launch]]\n    \
         kernel = \"my_kernel\"\n    \
         grid = 4\n    \
         block = 256\n    \
         args = [\"data\", {{ i32 = 1024 }}]\n\n    \
         [[after]]\n    \
         buffer = \"data\"\n    \
         checksum = true\n\n\
         `strata check {}` lists its kernels; docs/launch-files.md is the reference.",
        ptx.display(),
        ptx.display()
    )
}

/// What to tell somebody who wants to run CUDA source.
fn compile_first(source: &Path) -> String {
    let program = source.with_extension("");
    let program = program.file_name().map_or_else(|| "program".into(), |n| n.to_string_lossy());
    format!(
        "`{0}` is CUDA source: compile it first, then run the program:\n\n    \
         strata cuda build {0} -o {program}        (or: nvcc -cudart shared {0} -o {program})\n    \
         strata run -- ./{program}\n\n\
         docs/cuda.md says more.",
        source.display()
    )
}

/// A request for one run; what it leaves open gets its default when it is carried out.
#[derive(Clone, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub struct RunRequest {
    /// The program to run.
    pub what: What,
    /// Size of a workload; `None` means `small`. A launch file has its own sizes and takes none.
    pub size: Option<String>,
    /// A file with the graph that a workload shall run on, in place of a size.
    pub input: Option<PathBuf>,
    /// Seed of the inputs; `None` means 1, or what the launch file says.
    pub seed: Option<u64>,
    /// Host threads of the functional engine.
    pub threads: usize,
    /// Look for reads of uninitialised shared and local memory.
    pub check: bool,
    /// Look for conflicting accesses of different warps that nothing orders.
    pub check_races: bool,
    /// Reads outside every allocation get what lies there, and are counted.
    pub lenient: bool,
    /// Check that every load of a timed run would get the right data.
    pub check_data: bool,
    /// Say what the requests of a timed run waited for.
    pub explain: bool,
    /// Time launches by the rules of a profiler: caches are empty before each, and cycles are told without the launch.
    pub like_ncu: bool,
    /// Stop a launch that executes more than so many warp instructions.
    pub max_instructions: Option<u64>,
    /// Which launches of a CUDA program are timed: by number or name, as `strata-cuda` reads them.
    pub kernels: Option<String>,
    /// How many launches of a CUDA program are executed, and not timed, before the rest.
    pub fast_forward: u64,
    /// The machine to time the program on, a preset or a file; `None` runs it without time.
    pub gpu: Option<String>,
    /// Mechanisms in that machine, with their settings.
    pub with: Combination,
    /// Changes to that machine and to the settings of its mechanisms, `key=value`.
    pub set: Vec<String>,
    /// Directory below which the result goes; `None` means [`DEFAULT_OUT`].
    pub out: Option<PathBuf>,
}

impl RunRequest {
    /// A run of `what` with nothing special.
    pub fn new(what: What) -> Self {
        Self {
            what,
            size: None,
            input: None,
            seed: None,
            threads: 1,
            check: false,
            check_races: false,
            lenient: false,
            check_data: false,
            explain: false,
            like_ncu: false,
            max_instructions: None,
            kernels: None,
            fast_forward: 0,
            gpu: None,
            with: Combination::default(),
            set: Vec::new(),
            out: None,
        }
    }

    /// The files that settings of mechanisms name, such as a predictor: with other contents it is another request.
    pub(crate) fn files_of_settings(&self) -> Vec<(String, Fnv1a64)> {
        let registry = self.with.registry();
        let is_file = |key: &str| {
            let Some((mechanism, key)) = key.split_once('.') else { return false };
            let table = registry.get(mechanism).map_or(&[][..], |mechanism| mechanism.settings());
            table.iter().any(|setting| setting.allowed == Allowed::Text && setting.key == key)
        };
        let named = self.set.iter().filter_map(|text| text.split_once('=')).filter(|(key, _)| is_file(key));
        let read = named.filter_map(|(_, path)| Some((path.to_owned(), Fnv1a64::of_file(Path::new(path)).ok()?)));
        read.collect()
    }
}

/// A request with every default filled in: what is saved beside the result.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// Name of the program, as results show it.
    pub name: String,
    /// Name of the workload's size; `None` for other programs.
    pub size: Option<&'static str>,
    /// Seed of the workload's inputs.
    pub seed: u64,
    /// Files read, with hashes of their contents: a changed file is another request.
    pub inputs: Vec<(String, Fnv1a64)>,
}

impl Resolved {
    /// The seed to use, given what the request and the program say.
    pub fn seed(request: &RunRequest, program: Option<u64>) -> u64 {
        request.seed.or(program).unwrap_or(limits::DEFAULT_SEED)
    }

    /// The request as saved. Nothing in it depends on the machine or on where the files lie.
    pub fn to_json(&self, request: &RunRequest) -> Value {
        let files = request.files_of_settings();
        let inputs = self.inputs.iter().chain(&files);
        let inputs: Vec<_> = inputs.map(|(path, hash)| json!({ "path": path, "fnv1a64": hash.to_string() })).collect();
        let mut saved = json!({
            "program": request.what.kind(),
            "name": self.name,
            "size": self.size,
            "seed": self.seed,
            "threads": request.threads,
            "check": request.check,
            "check_data": request.check_data,
            "explain": request.explain,
            "max_instructions": request.max_instructions,
            "gpu": request.gpu,
            "with": request.with.to_string(),
            "set": request.set,
            "inputs": inputs,
        });
        // Later than the rest: what was saved before they came has the name it had.
        let later =
            [("check_races", request.check_races), ("lenient", request.lenient), ("like_ncu", request.like_ncu)];
        for (name, asked) in later {
            if asked {
                saved[name] = json!(true);
            }
        }
        if let What::Program(command) = &request.what {
            let arguments: Vec<_> = command.iter().skip(1).map(|argument| argument.to_string_lossy()).collect();
            saved["arguments"] = json!(arguments);
            saved["kernels"] = json!(request.kernels);
            saved["fast_forward"] = json!(request.fast_forward);
        }
        saved
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_workload_is_the_workload_whatever_files_there_are() {
        assert_eq!(What::named("bfs").ok(), Some(What::Workload("bfs".into())));
        let file = tempfile::NamedTempFile::new().expect("a file");
        let path = file.path().display().to_string();
        let told = What::named(&path).expect_err("a file that is no workload").to_string();
        assert!(told.contains(&format!("strata run -- {path}")), "{told}");
    }
}
