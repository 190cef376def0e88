//! The GPUs that can be named: presets and files, as tables and as JSON.

use crate::diagnostics::Diagnostics;
use crate::error::LabError;
use crate::table::{Align, columns};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Arc, Mutex, PoisonError};
use strata_core::config::format_size;
use strata_mechanism::Combination;
use strata_sim::config::{ConfigError, load, presets};
pub use strata_sim::config::{Gpu, Parameter};

/// The GPU `name` (a preset, or the path of a `.toml` file) with overrides `key=value`.
pub fn gpu(name: &str, overrides: &[impl AsRef<str>]) -> Result<Gpu, LabError> {
    load(name, overrides).map_err(|error| match error {
        ConfigError::Values(files) => {
            LabError::Gpu(files.into_iter().map(|file| Diagnostics::new(file.path, file.text, file.list)).collect())
        }
        other => LabError::Request(other.to_string()),
    })
}

/// The same without overrides. Presets are read once: each point of a sweep asks for its own.
pub(crate) fn plain(name: &str) -> Result<Arc<Gpu>, LabError> {
    static READ: Mutex<BTreeMap<String, Arc<Gpu>>> = Mutex::new(BTreeMap::new());
    let read = || gpu(name, &[""; 0]).map(Arc::new);
    if !presets().iter().any(|preset| preset.name == name) {
        return read();
    }
    let mut known = READ.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(gpu) = known.get(name) {
        return Ok(Arc::clone(gpu));
    }
    let gpu = read()?;
    known.insert(name.to_owned(), Arc::clone(&gpu));
    Ok(gpu)
}

/// The same as mechanisms have it: some stand for changes of the GPU.
pub fn gpu_with(name: &str, overrides: &[String], with: &Combination) -> Result<Gpu, LabError> {
    let plain = gpu(name, overrides)?;
    let more = with.overrides(&plain.config, overrides)?;
    if more.is_empty() { Ok(plain) } else { gpu(name, &[overrides, &more].concat()) }
}

/// All presets, in alphabetical order.
pub fn all_gpus() -> Result<Vec<Gpu>, LabError> {
    presets().iter().map(|preset| gpu(preset.name, &[""; 0])).collect()
}

/// Gigabytes per second, without digits that mean nothing.
fn gb_per_s(gpu: &Gpu) -> f64 {
    (gpu.config.dram_bytes_per_second() / 1e8).round() / 10.0
}

/// The presets, one to a line.
pub fn list_table(gpus: &[Gpu]) -> String {
    let headings = [
        ("name", Align::Left),
        ("SMs", Align::Right),
        ("core MHz", Align::Right),
        ("DRAM MHz", Align::Right),
        ("L1 per SM", Align::Right),
        ("L2", Align::Right),
        ("DRAM GB/s", Align::Right),
        ("description", Align::Left),
    ];
    let mhz = |khz: u64| (khz as f64 / 1e3).to_string();
    let rows: Vec<_> = gpus
        .iter()
        .map(|gpu| {
            let config = &gpu.config;
            vec![
                config.name.clone(),
                config.sm.count.to_string(),
                mhz(config.clock.core.khz()),
                mhz(config.clock.dram.khz()),
                format_size(config.l1.size),
                format_size(config.l2_size()),
                gb_per_s(gpu).to_string(),
                config.description.clone(),
            ]
        })
        .collect();
    columns(&headings, &rows)
}

/// One GPU: every value with its source.
pub fn table(gpu: &Gpu) -> String {
    let mut out = format!("{}: {}\n", gpu.config.name, gpu.config.description);
    let headings = [("parameter", Align::Left), ("value", Align::Left), ("source", Align::Left)];
    let mut sections: Vec<&str> = Vec::new();
    for parameter in gpu.parameters.iter().filter(|parameter| !parameter.table.is_empty()) {
        if !sections.contains(&parameter.table.as_str()) {
            sections.push(&parameter.table);
        }
    }
    for section in sections {
        let rows: Vec<_> = gpu
            .parameters
            .iter()
            .filter(|parameter| parameter.table == section)
            .map(|parameter| {
                let source = parameter.source.as_deref().unwrap_or("no source given");
                vec![
                    parameter.name.clone(),
                    parameter.value.trim_matches('"').to_owned(),
                    format!("{source} [{}]", parameter.from),
                ]
            })
            .collect();
        // Writing to a string cannot fail.
        let _ = write!(out, "\n[{section}]\n{}", columns(&headings, &rows));
    }
    out
}

/// One GPU for scripts: a summary, and with `values` every value.
pub fn to_json(gpu: &Gpu, values: bool) -> Value {
    let config = &gpu.config;
    let mut object = json!({
        "name": config.name,
        "description": config.description,
        "sms": config.sm.count,
        "core_mhz": config.clock.core.khz() as f64 / 1e3,
        "dram_mhz": config.clock.dram.khz() as f64 / 1e3,
        "l1_bytes": config.l1.size.0,
        "l2_bytes": config.l2_size().0,
        "dram_gb_per_s": gb_per_s(gpu),
    });
    if values {
        let parameters: Vec<_> = gpu
            .parameters
            .iter()
            .map(|parameter| {
                json!({
                    "key": parameter.key(),
                    "value": parameter.value.trim_matches('"'),
                    "meaning": parameter.meaning,
                    "source": parameter.source,
                    "from": parameter.from,
                })
            })
            .collect();
        object["parameters"] = parameters.into();
    }
    object
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A misspelt opcode in a row would never fit anything, and nobody would notice.
    #[test]
    fn the_rows_of_the_presets_name_instructions_that_exist() {
        for gpu in all_gpus().expect("presets are sound") {
            for (pattern, _) in &gpu.config.isa.rows {
                let opcode = pattern.split('.').next().unwrap_or_default();
                let class = strata_core::OpClass::ALL.iter().any(|class| class.name() == opcode);
                assert!(
                    class || strata_ptx::words::Opcode::parse(opcode).is_some(),
                    "{}: `{pattern}`",
                    gpu.config.name
                );
            }
        }
    }

    #[test]
    fn errors_of_overrides_are_shown_with_their_text() {
        let error = gpu("titan-v", &["l2.sets=3", "l2.sise=1MB"]).expect_err("both are wrong");
        let shown = error.render(false);
        assert!(shown.contains("l2.sise=1MB") && shown.contains("did you mean `size`?"), "{shown}");
        assert!(shown.contains("3 sets are not a power of two"), "{shown}");
        assert!(shown.ends_with("--set: 2 errors"), "{shown}");
    }
}
