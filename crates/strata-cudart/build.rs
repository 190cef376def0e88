//! Compiles this crate as `libcudart.so` for each major version of CUDA.
//!
//! The crate has no dependencies, so one call of the compiler makes an archive of it. Linking it is left to the C compiler that
//! rustc itself links with: rustc's own version script would win over ours, and a program refuses (or, without
//! versions, complains about) a library whose symbols do not carry the version it was linked against.

use std::env;
use std::ffi::OsString;
use std::fmt::Write;
use std::fs;
use std::hash::{DefaultHasher, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The names of NVIDIA's library, by the version of CUDA; its symbols carry the same name as their version.
const NAMES: [&str; 3] = ["libcudart.so.11.0", "libcudart.so.12", "libcudart.so.13"];

fn main() {
    println!("cargo:rerun-if-changed=src");
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-check-cfg=cfg(strata_client)");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let linux = env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux");
    let mut list = String::from("[");
    if linux {
        let archive = compile(&out);
        for name in NAMES {
            link(&out, &archive, name);
            let _ = write!(list, "({name:?}, include_bytes!(concat!(env!(\"OUT_DIR\"), \"/{name}\")) as &[u8]),");
        }
    }
    list.push(']');
    println!("cargo:rustc-env=STRATA_LIBRARIES={:016x}", hash(&out));
    fs::write(out.join("libraries.rs"), list).expect("OUT_DIR is writable");
}

/// A hash of all libraries: reading two megabytes takes longer than many a simulation.
fn hash(out: &Path) -> u64 {
    let mut hasher = DefaultHasher::new();
    NAMES.iter().filter_map(|name| fs::read(out.join(name)).ok()).for_each(|bytes| hasher.write(&bytes));
    hasher.finish()
}

fn variable(name: &str, default: &str) -> OsString {
    env::var_os(name).unwrap_or_else(|| default.into())
}

fn run(command: &mut Command) {
    let status = command.status().unwrap_or_else(|e| panic!("cannot run {command:?}: {e}"));
    assert!(status.success(), "{command:?} failed");
}

/// The crate as an archive, with everything it needs of the standard library.
fn compile(out: &Path) -> PathBuf {
    let archive = out.join("libstrata_client.a");
    run(Command::new(variable("RUSTC", "rustc"))
        .args(["--crate-name", "strata_cudart", "--crate-type", "staticlib", "--edition", "2024"])
        .args(["--cfg", "strata_client", "-C", "opt-level=2", "-C", "panic=abort", "-C", "relocation-model=pic"])
        .args(["-C", "codegen-units=4", "-C", "strip=debuginfo", "--cap-lints", "allow", "src/lib.rs"])
        .arg("--target")
        .arg(env::var_os("TARGET").expect("cargo sets TARGET"))
        .arg("-o")
        .arg(&archive));
    archive
}

/// The archive as a library called `name`; only CUDA's functions are visible, each with `name` as its version.
fn link(out: &Path, archive: &Path, name: &str) {
    let script = out.join(format!("{name}.map"));
    let text = format!("{name} {{ global: cuda*; __cuda*; local: *; }};\n");
    fs::write(&script, text).expect("OUT_DIR is writable");
    let mut command = Command::new(variable("RUSTC_LINKER", "cc"));
    command.args(["-shared", "-nostartfiles", "-Wl,--whole-archive"]).arg(archive).arg("-Wl,--no-whole-archive");
    command.arg(format!("-Wl,--version-script={}", script.display())).arg(format!("-Wl,-soname,{name}"));
    command.args([
        "-Wl,--gc-sections",
        "-Wl,-s",
        "-Wl,-z,defs",
        "-Wl,-Bsymbolic",
        "-lgcc_s",
        "-lc",
        "-lm",
        "-ldl",
        "-lpthread",
    ]);
    for line in include_str!("src/client/aliases.txt").lines().filter(|line| !line.starts_with('#')) {
        let (alias, name) = line.split_once(' ').expect("two names");
        command.arg(format!("-Wl,--defsym={alias}={name}"));
    }
    run(command.arg("-o").arg(out.join(name)));
}
