//! Hashes the sources of every crate that can change a result, each apart, and notes which of our crates it depends on.
//!
//! These are what a run is made of (`strata-run`, and `strata-cuda` for CUDA programs), the mechanisms (crates that know
//! `strata-mechanism` and not what runs them), and what these depend on. Nothing here depends on where the checkout lies or on the
//! order in which a file system lists files. Left out are tests; and `gpus/`, since results name every value of their machine.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// What a run is made of, besides mechanisms.
const ROOTS: [&str; 2] = ["strata-run", "strata-cuda"];
/// What every mechanism knows.
const DOOR: &str = "strata-mechanism";

fn main() -> io::Result<()> {
    let variable = |name| env::var(name).map_err(io::Error::other);
    let crates = Path::new(&variable("CARGO_MANIFEST_DIR")?).join("..").canonicalize()?;
    let mut known = BTreeMap::new();
    for entry in fs::read_dir(&crates)? {
        let folder = entry?.path();
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if let Ok(manifest) = fs::read_to_string(folder.join("Cargo.toml")) {
            known.insert(name, dependencies(&manifest));
        }
    }
    let is_mechanism = |ours: &BTreeSet<String>| ours.contains(DOOR) && !ours.contains("strata-run");
    let mechanisms = known.iter().filter(|(_, ours)| is_mechanism(ours)).map(|(name, _)| name.clone());
    let mut wanted: Vec<String> = mechanisms.chain(ROOTS.map(str::to_owned)).collect();
    let mut table = BTreeMap::new();
    while let Some(name) = wanted.pop() {
        // This crate changes no result.
        if table.contains_key(&name) || name == "strata-source" {
            continue;
        }
        let Some(ours) = known.get(&name) else {
            return Err(io::Error::other(format!("the sources of `{name}` are not in {}", crates.display())));
        };
        wanted.extend(ours.iter().cloned());
        table.insert(name.clone(), (hash(&crates, &name)?, ours));
    }
    let mut code = String::from("[\n");
    for (name, (hash, ours)) in &table {
        let ours: Vec<_> = ours.iter().filter(|other| table.contains_key(*other)).collect();
        // Writing to a string cannot fail.
        let _ = writeln!(code, "    Crate {{ name: {name:?}, hash: {hash}, depends_on: &{ours:?} }},");
    }
    code.push_str("]\n");
    // Changes with the crates of the workspace and what they depend on. The folder of crates itself would stand for every file
    // below it, those that change no result among them.
    println!("cargo::rerun-if-changed={}", crates.join("../Cargo.lock").display());
    fs::write(Path::new(&variable("OUT_DIR")?).join("sources.rs"), code)
}

/// Our crates among the `[dependencies]` of a manifest.
fn dependencies(manifest: &str) -> BTreeSet<String> {
    let section = manifest.split("\n[").find_map(|part| part.strip_prefix("dependencies]")).unwrap_or_default();
    let names = section.lines().filter_map(|line| line.split(['.', '=', ' ']).next());
    names.filter(|name| name.starts_with("strata-")).map(str::to_owned).collect()
}

/// The hash of everything that a crate is built from: names of files below it, and what they hold.
fn hash(crates: &Path, name: &str) -> io::Result<u64> {
    let folder = crates.join(name);
    let mut files = Vec::new();
    for part in ["build.rs", "data", "src"].map(|part| folder.join(part)).iter().filter(|part| part.exists()) {
        println!("cargo::rerun-if-changed={}", part.display());
        list(part, &mut files)?;
    }
    if name == "strata-workloads" {
        // The programs themselves, and what an assembler made of them.
        let programs = crates.join("../workloads").canonicalize()?;
        println!("cargo::rerun-if-changed={}", programs.display());
        list(&programs, &mut files)?;
        files.retain(|path| path.starts_with(&folder) || is_built_in(path));
    }
    // By name below the checkout: the same on every machine.
    let root = crates.join("..").canonicalize()?;
    let mut named: Vec<(String, PathBuf)> = Vec::new();
    for path in files {
        let below = path.strip_prefix(&root).map_err(io::Error::other)?;
        let words: Vec<_> = below.components().map(|part| part.as_os_str().to_string_lossy()).collect();
        named.push((words.join("/"), path.clone()));
    }
    named.sort();
    let mut hash = 0xcbf2_9ce4_8422_2325;
    for (name, path) in named {
        feed(&mut hash, name.as_bytes());
        let text = fs::read(path)?;
        feed(&mut hash, &(text.len() as u64).to_le_bytes());
        feed(&mut hash, &text);
    }
    Ok(hash)
}

fn is_built_in(path: &Path) -> bool {
    path.extension().is_some_and(|e| e == "ptx") || path.file_name().is_some_and(|name| name == "registers.toml")
}

/// Adds a file, or all files below a folder; tests are no part of what is built.
fn list(path: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let is_test = name == "tests" || name == "tests.rs" || name.ends_with("_tests.rs");
    if is_test {
        return Ok(());
    }
    if !path.is_dir() {
        files.push(path.to_owned());
        return Ok(());
    }
    fs::read_dir(path)?.try_for_each(|entry| list(&entry?.path(), files))
}

/// FNV-1a, as in `strata_core::fnv`: a build script of a crate that depends on nothing.
fn feed(hash: &mut u64, bytes: &[u8]) {
    for &byte in bytes {
        *hash = (*hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
}
