//! The microbenchmarks as a CUDA program for people with a card.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use strata_workloads::micro;

/// Compiles and runs the program; standard output is the file for `strata validate --silicon`.
const COLLECT: &str = r#"#!/bin/sh
# Runs the microbenchmarks on the first card of this machine: ./collect > card.toml
# Lock the clocks before, if you may (nvidia-smi -lgc MHZ,MHZ): cycles are computed with the clock that the driver tells.
set -e
cd "$(dirname "$0")"
"${NVCC:-nvcc}" -O3 -std=c++17 ${NVCC_FLAGS:--arch=native} -o microbenchmarks microbenchmarks.cu >&2
./microbenchmarks --repeat "${REPEAT:-5}" --scale "${SCALE:-16}" "$@"
"#;

/// The files that make the program.
pub struct CardProgram {
    files: [(&'static str, String); 2],
}

impl Default for CardProgram {
    fn default() -> Self {
        Self { files: [("microbenchmarks.cu", micro::cuda_program()), ("collect", COLLECT.to_owned())] }
    }
}

impl CardProgram {
    /// Writes them into a folder, which is made if need be; where they are.
    pub fn write(&self, folder: &Path) -> io::Result<Vec<PathBuf>> {
        fs::create_dir_all(folder)?;
        let write = |(name, text): &(&str, String)| {
            let path = folder.join(name);
            fs::write(&path, text)?;
            if text.starts_with("#!") {
                make_executable(&path)?;
            }
            Ok(path)
        };
        self.files.iter().map(write).collect()
    }
}

#[cfg(unix)]
fn make_executable(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))
}

#[cfg(not(unix))]
fn make_executable(_: &Path) -> io::Result<()> {
    Ok(())
}
