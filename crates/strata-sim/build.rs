//! Embeds `gpus/*.toml` and `gpus/parts/*.toml`: a GPU is added by adding its file, and nothing else.

use std::fmt::Write;
use std::path::Path;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let variable = |name| env::var(name).map_err(io::Error::other);
    let gpus = Path::new(&variable("CARGO_MANIFEST_DIR")?).join("../../gpus").canonicalize()?;
    let mut code = String::from("[\n");
    for (directory, listed) in [(gpus.clone(), true), (gpus.join("parts"), false)] {
        println!("cargo::rerun-if-changed={}", directory.display());
        let mut files = fs::read_dir(&directory)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
        files.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
        files.sort_by(|a, b| a.file_stem().cmp(&b.file_stem()));
        for path in files {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            // Writing to a string cannot fail.
            let path = path.display().to_string();
            let _ = writeln!(code, "    Preset {{ name: {name:?}, text: include_str!({path:?}), listed: {listed} }},");
        }
    }
    code.push_str("]\n");
    fs::write(Path::new(&variable("OUT_DIR")?).join("presets.rs"), code)
}
