//! The library that programs load, on disk: unpacked once per user and build.

use std::env;
use std::io::Write;
use std::path::{Path, PathBuf};
use strata_core::files::AtomicFile;
use strata_cudart::{LIBRARIES, LIBRARIES_HASH};
use strata_run::LabError;

/// The folder that holds `libcudart.so` under all its names, made if need be.
pub(crate) fn folder() -> Result<PathBuf, LabError> {
    if LIBRARIES.is_empty() {
        return Err(LabError::Request("CUDA programs can be run on Linux only".into()));
    }
    let folder = cache().join(format!("cudart-{LIBRARIES_HASH}"));
    for (name, bytes) in LIBRARIES {
        let path = folder.join(name);
        // The folder is named by what is in it, and files appear whole: one that is there is right.
        if !path.is_file() {
            write(&path, bytes).map_err(|e| LabError::io("write", &path, e))?;
        }
    }
    Ok(folder)
}

/// True if a program asks for the library, as one does that was linked with `-cudart shared`: its name stands among those
/// of the program's dynamic section.
pub(crate) fn is_named_in(program: &[u8]) -> bool {
    LIBRARIES.iter().any(|(name, _)| {
        let named: Vec<u8> = [&[0], name.as_bytes(), &[0]].concat();
        program.windows(named.len()).any(|bytes| bytes == named)
    })
}

fn write(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut file = AtomicFile::create(path)?;
    file.write_all(bytes)?;
    file.commit()
}

/// Where this user keeps what can be made again (XDG Base Directory Specification).
fn cache() -> PathBuf {
    let absolute = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")));
    cache.unwrap_or_else(env::temp_dir).join("stratasim")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_names_the_library_it_is_linked_with() {
        assert!(is_named_in(b"\x7fELF...\0libc.so.6\0libcudart.so.12\0..."));
        assert!(!is_named_in(b"\x7fELF... cannot load libcudart.so.12 from here\0"));
    }
}
