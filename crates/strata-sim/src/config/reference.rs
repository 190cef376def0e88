//! What the keys mean and where the presets' numbers come from, as text: made from the structures and the presets
//! themselves, so that neither can go stale.

use super::presets::{files, presets};
use super::schema::{Key, Section, Written};
use super::{ConfigError, GpuConfig, Parameter, load};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::OnceLock;

/// The structures' own documentation is the description of the keys: one text, no copy.
const STRUCTURES: &str = include_str!("mod.rs");

/// Documentation by structure and field.
fn documentation() -> BTreeMap<(&'static str, &'static str), String> {
    let mut found = BTreeMap::new();
    let (mut structure, mut text) = ("", String::new());
    for line in STRUCTURES.lines() {
        let code = line.trim();
        if let Some(words) = code.strip_prefix("/// ") {
            text.push_str(if text.is_empty() { "" } else { " " });
            text.push_str(words);
        } else if let Some(name) = code.strip_prefix("pub struct ") {
            structure = name.trim_end_matches(" {");
            text.clear();
        } else if let Some((field, _)) = code.strip_prefix("pub ").and_then(|rest| rest.split_once(':')) {
            found.insert((structure, field), std::mem::take(&mut text));
        } else if !code.starts_with("#[") {
            text.clear();
        }
    }
    found
}

/// The keys of a configuration with their meaning.
fn described() -> &'static [(Key, String)] {
    static DESCRIBED: OnceLock<Vec<(Key, String)>> = OnceLock::new();
    DESCRIBED.get_or_init(|| {
        let texts = documentation();
        let mut keys = Vec::new();
        GpuConfig::keys("", &mut keys);
        keys.into_iter()
            .map(|key| {
                let meaning = texts.get(&key.place).cloned().unwrap_or_default();
                (key, meaning)
            })
            .collect()
    })
}

/// What a value means.
pub(super) fn meaning_of(written: &Written) -> String {
    if written.table == super::layers::ROWS {
        return format!("Machine instructions and their timing for `{}`.", written.name);
    }
    let path = written.path();
    described().iter().find(|(key, _)| key.path == path).map(|(_, meaning)| meaning.clone()).unwrap_or_default()
}

/// Every key, what it may be and what it means, as Markdown tables: part of `docs/configuration.md`.
pub fn key_reference() -> String {
    let mut out = String::new();
    let mut table = None;
    for (key, meaning) in described() {
        let (section, name) = key.path.rsplit_once('.').unwrap_or(("", &key.path));
        // Writing to a string cannot fail.
        if table != Some(section) {
            table = Some(section);
            let title = if section.is_empty() { "At the top of the file".to_owned() } else { format!("`[{section}]`") };
            let _ = writeln!(out, "\n### {title}\n\n| key | value | meaning |\n| --- | --- | --- |");
        }
        let _ = writeln!(out, "| `{name}` | {} | {meaning} |", key.allowed);
    }
    out
}

/// Every value of every preset with its source, as Markdown: `docs/calibration.md`. A value stands once, under the file that
/// sets it.
pub fn calibration() -> Result<String, ConfigError> {
    let mut out = String::from(INTRODUCTION);
    let gpus = presets().iter().map(|preset| load(preset.name, &[""; 0])).collect::<Result<Vec<_>, _>>()?;
    for file in files() {
        // A part is no GPU of its own: its values are found in those that build on it.
        let mut values = BTreeMap::new();
        let all = gpus.iter().flat_map(|gpu| gpu.parameters.iter().enumerate());
        for (at, parameter) in all.filter(|(_, parameter)| parameter.from == file.name && !parameter.table.is_empty()) {
            values.entry(parameter.key()).or_insert((at, parameter));
        }
        let mut values: Vec<_> = values.into_values().collect();
        values.sort_by_key(|&(at, _)| at);
        // Writing to a string cannot fail.
        let _ = writeln!(out, "\n## {}\n", file.name);
        if let Some(gpu) = gpus.iter().find(|gpu| gpu.config.name == file.name) {
            let _ = writeln!(out, "{}.\n", gpu.config.description);
        }
        let bases = file.bases();
        if !bases.is_empty() {
            let _ = writeln!(out, "Builds on {}.\n", bases.join(", then "));
        }
        if values.is_empty() {
            continue;
        }
        let _ = writeln!(out, "| source and reason | what it gives |\n| --- | --- |");
        for (source, given) in by_source(values.into_iter().map(|(_, parameter)| parameter)) {
            let _ = writeln!(out, "| {} | {} |", source.replace('|', "\\|"), given.join(", "));
        }
    }
    Ok(out)
}

/// Parameters with their values, by the source that they share, in the order in which sources first come.
fn by_source<'a>(parameters: impl Iterator<Item = &'a Parameter>) -> Vec<(&'a str, Vec<String>)> {
    let mut groups: Vec<(&str, Vec<String>)> = Vec::new();
    for parameter in parameters {
        let source = parameter.source.as_deref().unwrap_or_default();
        let given = format!("`{}` {}", parameter.key(), parameter.value.trim_matches('"'));
        match groups.iter_mut().find(|(known, _)| *known == source) {
            Some((_, group)) => group.push(given),
            None => groups.push((source, vec![given])),
        }
    }
    groups
}

const INTRODUCTION: &str = "\
# Calibration

Every parameter of every preset, by where its number comes from and why it is that. A value stands once, under the file of
`gpus/` that sets it; a preset has the values of the files it builds on unless it sets its own. \"choice:\" marks numbers
that no source gives, with the reason for the one that was taken; \"(recalled)\" marks sources that were cited from memory and
are to be looked up before a digit matters. `docs/configuration.md` says what each parameter means, and
`strata gpus NAME` shows one preset whole.

Made from the presets by a test; `UPDATE_DOCS=1 cargo test -p strata-sim` writes it anew.
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_stands_once_with_all_that_it_gives() {
        let gpu = load("titan-x-pascal", &[""; 0]).expect("a preset");
        let groups = by_source(gpu.parameters.iter());
        let sources: std::collections::BTreeSet<_> = groups.iter().map(|(source, _)| source).collect();
        assert_eq!(sources.len(), groups.len());
        assert_eq!(groups.iter().map(|(_, given)| given.len()).sum::<usize>(), gpu.parameters.len());
    }

    #[test]
    fn every_key_has_a_meaning() {
        for (key, meaning) in described() {
            assert!(!meaning.is_empty(), "{} has no documentation in mod.rs", key.path);
        }
    }
}
