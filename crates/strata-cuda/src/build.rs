//! `strata cuda build`: NVIDIA's compiler, called so that `strata run --` can run what it makes.

use std::env;
use std::ffi::OsString;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use strata_run::LabError;

/// The compiler's packages, pinned where the workloads are compiled (`workloads/regenerate`).
const PACKAGES: &str = "nvidia-cuda-nvcc nvidia-cuda-crt nvidia-nvvm nvidia-cuda-runtime nvidia-cuda-cccl";

/// Names the folder that holds `nvcc`.
const VARIABLE: &str = "STRATA_CUDA_BIN";

/// The oldest architecture that current compilers support: its PTX runs on every later one.
const ARCHITECTURE: &str = "-arch=compute_75";

/// Compiles `files` to the program `output` (by default named like the first of them), `arguments` going to nvcc as they are.
/// The compiler writes to our standard streams.
pub fn build(files: &[PathBuf], output: Option<&Path>, arguments: &[OsString]) -> Result<ExitStatus, LabError> {
    let nvcc = compiler()?;
    let output = match (output, files.first()) {
        (Some(output), _) => output.to_owned(),
        (None, Some(first)) => first.with_extension(""),
        (None, None) => return Err(LabError::Request("name a CUDA source".into())),
    };
    let links = tempdir()?;
    let mut command = Command::new(&nvcc);
    let chosen = |argument: &OsString| {
        let text = argument.to_string_lossy();
        ["-arch", "--gpu-architecture", "-gencode", "--generate-code"].iter().any(|option| text.starts_with(option))
    };
    if !arguments.iter().any(chosen) {
        command.arg(ARCHITECTURE);
    }
    command.args(["-cudart", "shared"]).args(library_path(&nvcc, &links.0)?);
    command.args(removed_calls(&nvcc, &links.0)?);
    let status = command.args(files).args(arguments).arg("-o").arg(&output).status();
    status.map_err(|e| LabError::io("run", &nvcc, e))
}

/// A folder that goes when it is dropped.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn tempdir() -> Result<Folder, LabError> {
    let folder = env::temp_dir().join(format!("strata-build-{}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(|e| LabError::io("write", &folder, e))?;
    Ok(Folder(folder))
}

/// The Python packages have `libcudart.so.13` but not the `libcudart.so` that a linker looks for: a link in `links` is.
fn library_path(nvcc: &Path, links: &Path) -> Result<Vec<OsString>, LabError> {
    let Some(libraries) = nvcc.parent().and_then(Path::parent).map(|root| root.join("lib")) else {
        return Ok(Vec::new());
    };
    let versioned = ["libcudart.so.13", "libcudart.so.12"].map(|name| libraries.join(name));
    let Some(library) = versioned.iter().find(|path| path.is_file()) else { return Ok(Vec::new()) };
    let link = links.join("libcudart.so");
    symlink(library, &link).map_err(|e| LabError::io("write", &link, e))?;
    let option = |folder: &Path| {
        let mut option = OsString::from("-L");
        option.push(folder);
        option
    };
    Ok(vec![option(links), option(&libraries)])
}

/// Calls that old programs make and CUDA 13 has removed.
const REMOVED_CALLS: &str = include_str!("removed_calls.h");

/// If the compiler's headers lack calls that old programs make: a header of ours before every source. The compiler itself
/// says where one of them is used.
fn removed_calls(nvcc: &Path, folder: &Path) -> Result<Vec<OsString>, LabError> {
    let root = nvcc.parent().and_then(Path::parent).unwrap_or(Path::new(""));
    let headers = ["include", "targets/x86_64-linux/include"].map(|place| root.join(place).join("cuda_runtime_api.h"));
    let Some(text) = headers.iter().find_map(|path| std::fs::read_to_string(path).ok()) else {
        return Ok(Vec::new());
    };
    if text.contains("cudaThreadSynchronize(void)") {
        return Ok(Vec::new());
    }
    let header = folder.join("strata_removed_calls.h");
    std::fs::write(&header, REMOVED_CALLS).map_err(|e| LabError::io("write", &header, e))?;
    Ok(vec!["-include".into(), header.into_os_string()])
}

/// The compiler: named by the environment, on the path, or as a Python package.
fn compiler() -> Result<PathBuf, LabError> {
    if let Some(folder) = env::var_os(VARIABLE) {
        let nvcc = Path::new(&folder).join("nvcc");
        let missing =
            || LabError::Request(format!("{VARIABLE} is `{}`, where no nvcc is", Path::new(&folder).display()));
        return if nvcc.is_file() { Ok(nvcc) } else { Err(missing()) };
    }
    let on_path = env::var_os("PATH").unwrap_or_default();
    let on_path = env::split_paths(&on_path).map(|folder| folder.join("nvcc")).find(|nvcc| nvcc.is_file());
    on_path.or_else(package).ok_or_else(|| {
        LabError::Request(format!(
            "there is no CUDA compiler. It can be had as Python packages, without a GPU and without root:\n\n    \
             pip install {PACKAGES}\n\nOr name the folder that holds `nvcc` in {VARIABLE}. nvcc also needs g++."
        ))
    })
}

/// The compiler of the Python packages, asked from the Python on the path.
fn package() -> Option<PathBuf> {
    let program = "import nvidia, os; print(os.pathsep.join(nvidia.__path__))";
    let said = Command::new("python3").args(["-c", program]).output().ok().filter(|said| said.status.success())?;
    let folders = String::from_utf8(said.stdout).ok()?;
    env::split_paths(folders.trim()).map(|folder| folder.join("cu13/bin/nvcc")).find(|nvcc| nvcc.is_file())
}
