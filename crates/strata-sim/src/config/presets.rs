//! The GPUs that are built in: the files of `gpus/`, and of `gpus/parts/` for what several of them share.

use std::str::FromStr;

/// A file of `gpus/`.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// Its name: that of the file.
    pub name: &'static str,
    /// The whole file.
    pub text: &'static str,
    /// A GPU of its own, not a part.
    listed: bool,
}

const FILES: &[Preset] = &include!(concat!(env!("OUT_DIR"), "/presets.rs"));

/// The GPUs, in alphabetical order.
pub fn presets() -> Vec<Preset> {
    FILES.iter().copied().filter(|preset| preset.listed).collect()
}

/// GPUs, then parts.
pub(super) fn files() -> &'static [Preset] {
    FILES
}

impl Preset {
    /// The names it builds on.
    pub(super) fn bases(&self) -> Vec<String> {
        let table = toml::Table::from_str(self.text).unwrap_or_default();
        let name = |value: &toml::Value| value.as_str().map(str::to_owned);
        match table.get("base") {
            Some(toml::Value::Array(list)) => list.iter().filter_map(name).collect(),
            Some(value) => name(value).into_iter().collect(),
            None => Vec::new(),
        }
    }
}

/// The text of a GPU or a part.
pub(super) fn text_of(name: &str) -> Option<&'static str> {
    FILES.iter().find(|preset| preset.name == name).map(|preset| preset.text)
}
