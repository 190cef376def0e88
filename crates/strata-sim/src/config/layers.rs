//! Files and overrides as layers: the last one that gives a key decides.

use super::isa::{ROW_FIELDS, is_pattern};
use super::kinds::Kind;
use super::schema::{Key, Section, joined};
use super::{GpuConfig, checks};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use strata_core::config::{Diagnostic, Reader};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The table of instruction rows: its keys are patterns, not names of the schema.
pub(super) const ROWS: &str = "isa.rows";
/// The capacity of the whole L2; another way to give `l2.ways`.
pub(super) const L2_SIZE: &str = "l2.size";
/// The bandwidth of all channels; another way to give the width of their buses.
pub(super) const DRAM_BANDWIDTH: &str = "dram.bandwidth";
/// Keys that are about the file, not about the GPU.
const OF_THE_FILE: [&str; 2] = ["base", "sources"];

/// The names a file may use.
pub(super) struct Names {
    leaves: BTreeSet<String>,
}

impl Names {
    pub(super) fn new() -> Self {
        let mut keys: Vec<Key> = Vec::new();
        GpuConfig::keys("", &mut keys);
        let mut leaves: BTreeSet<_> = keys.into_iter().map(|key| key.path).collect();
        leaves.extend([L2_SIZE, DRAM_BANDWIDTH].map(str::to_owned));
        Self { leaves }
    }

    fn is_table(&self, path: &str) -> bool {
        path == ROWS || self.leaves.iter().any(|leaf| leaf.strip_prefix(path).is_some_and(|rest| rest.starts_with('.')))
    }

    /// What can stand in a table.
    fn children(&self, path: &str) -> Vec<&str> {
        let mut children: BTreeSet<&str> = self
            .leaves
            .iter()
            .filter_map(
                |leaf| if path.is_empty() { Some(leaf.as_str()) } else { leaf.strip_prefix(path)?.strip_prefix('.') },
            )
            .map(|rest| rest.split_once('.').map_or(rest, |(first, _)| first))
            .collect();
        match path {
            "" => children.extend(OF_THE_FILE),
            "isa" => drop(children.insert("rows")),
            _ => {}
        }
        children.into_iter().collect()
    }

    fn report(&self, reader: &mut Reader, span: Range<usize>, table: &str, name: &str) {
        let what = if table.is_empty() { "a GPU".to_owned() } else { format!("`{table}`") };
        reader.unknown(span, format!("{what} has no key `{name}`"), name, self.children(table));
    }
}

/// Where some values come from, in words.
struct Source {
    /// A key, or the beginning of keys.
    prefix: String,
    text: String,
}

/// The values of one file, or of all overrides together.
pub(super) struct Layer<'a> {
    /// A preset's name, a path, or `--set`.
    pub(super) name: String,
    pub(super) reader: Reader,
    values: BTreeMap<String, &'a Spanned<DeValue<'a>>>,
    sources: Vec<Source>,
}

/// True if `prefix` is `key` or a whole number of its first words.
fn begins(key: &str, prefix: &str) -> bool {
    key.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

impl<'a> Layer<'a> {
    pub(super) fn of_file(name: &str, document: &'a DeTable<'a>, names: &Names) -> Self {
        let mut layer =
            Self { name: name.to_owned(), reader: Reader::default(), values: BTreeMap::new(), sources: Vec::new() };
        layer.table(document, "", names);
        if let Some(table) = document.get("sources").and_then(|value| layer.reader.table(value)) {
            layer.read_sources(table);
        }
        layer
    }

    /// The overrides `values`: each with its key, the place of the key, and the value.
    pub(super) fn of_overrides(values: &'a [(String, Range<usize>, Spanned<DeValue<'a>>)], names: &Names) -> Self {
        let mut layer =
            Self { name: "--set".into(), reader: Reader::default(), values: BTreeMap::new(), sources: Vec::new() };
        for (key, span, value) in values {
            layer.set(key, span.start, value, names);
        }
        layer.sources.extend(layer.values.keys().map(|key| Source { prefix: key.clone(), text: "--set".into() }));
        layer
    }

    fn set(&mut self, key: &str, at: usize, value: &'a Spanned<DeValue<'a>>, names: &Names) {
        if let Some(row) = key.strip_prefix("isa.rows.") {
            let (pattern, field) = row.rsplit_once('.').unwrap_or((row, ""));
            if !ROW_FIELDS.contains(&field) {
                let message = format!("`{key}` does not end in a field of a row");
                let help = format!("write `isa.rows.{row}.issues=2`; fields are {}", ROW_FIELDS.join(", "));
                self.reader.error(at..at + key.len(), message, Some(help));
            } else if self.check_pattern(at..at + key.len(), pattern) {
                self.values.insert(key.to_owned(), value);
            }
            return;
        }
        let mut table = String::new();
        let mut begin = at;
        for word in key.split('.') {
            let path = joined(&table, word);
            if names.leaves.contains(&path) && path == key {
                self.values.insert(path, value);
                return;
            }
            if !names.is_table(&path) {
                names.report(&mut self.reader, begin..begin + word.len(), &table, word);
                return;
            }
            begin += word.len() + 1;
            table = path;
        }
        let known: Vec<_> = names.children(key).into_iter().map(|child| format!("`{key}.{child}`")).collect();
        let help = format!("give one of its keys: {}", known.join(", "));
        self.reader.error(at..at + key.len(), format!("`{key}` is a table"), Some(help));
    }

    fn table(&mut self, table: &'a DeTable<'a>, path: &str, names: &Names) {
        for (key, value) in table {
            let name: &str = key.get_ref();
            let full = joined(path, name);
            if path.is_empty() && OF_THE_FILE.contains(&name) {
                continue;
            }
            if full == ROWS {
                if let Some(rows) = self.reader.table(value) {
                    self.rows(rows);
                }
            } else if names.leaves.contains(&full) {
                self.values.insert(full, value);
            } else if names.is_table(&full) {
                if let Some(inner) = self.reader.table(value) {
                    self.table(inner, &full, names);
                }
            } else {
                names.report(&mut self.reader, key.span(), path, name);
            }
        }
    }

    fn rows(&mut self, rows: &'a DeTable<'a>) {
        for (key, value) in rows {
            let pattern: &str = key.get_ref();
            if !self.check_pattern(key.span(), pattern) {
                continue;
            }
            let Some(row) = self.reader.table(value) else { continue };
            let what = format!("the row `{pattern}` (patterns with a dot need quotes)");
            let fields = self.reader.fields(row, key.span(), &what, &ROW_FIELDS);
            for field in ROW_FIELDS {
                if let Some(value) = fields.get(field) {
                    self.values.insert(format!("{ROWS}.{pattern}.{field}"), value);
                }
            }
        }
    }

    fn check_pattern(&mut self, span: Range<usize>, pattern: &str) -> bool {
        let good = is_pattern(pattern);
        if !good {
            let help = "write an opcode with modifiers (`mul.lo.s32`) or a class (`int_mul`)";
            self.reader.error(span, format!("`{pattern}` is no instruction"), Some(help.into()));
        }
        good
    }

    fn read_sources(&mut self, table: &'a DeTable<'a>) {
        for (key, value) in table {
            let prefix: &str = key.get_ref();
            let Some(text) = self.reader.string(value) else { continue };
            if text.trim().is_empty() {
                let help = "name a table, a data sheet or a measurement, or write \"choice: \" and the reason";
                self.reader.error(value.span(), "the source is empty", Some(help.into()));
            } else if self.values.keys().any(|known| begins(known, prefix)) {
                self.sources.push(Source { prefix: prefix.to_owned(), text: text.to_owned() });
            } else {
                let given: BTreeSet<&str> = self.values.keys().map(String::as_str).collect();
                let message = format!("`{prefix}` names no value of this file");
                self.reader.unknown(key.span(), message, prefix, given);
            }
        }
    }

    /// The source whose prefix is longest.
    fn source(&self, key: &str) -> Option<&str> {
        let matching = self.sources.iter().filter(|source| begins(key, &source.prefix));
        matching.max_by_key(|source| source.prefix.len()).map(|source| source.text.as_str())
    }
}

/// The layers of one GPU, from the deepest base to the overrides.
pub(super) struct Resolver<'a> {
    pub(super) layers: Vec<Layer<'a>>,
    /// Keys that no layer gives.
    missing: Vec<String>,
    /// Keys whose value could not be read.
    unsound: BTreeSet<String>,
}

impl<'a> Resolver<'a> {
    pub(super) fn new(layers: Vec<Layer<'a>>) -> Self {
        Self { layers, missing: Vec::new(), unsound: BTreeSet::new() }
    }

    /// The whole configuration; complete only if no layer holds an error after.
    pub(super) fn resolve(&mut self) -> GpuConfig {
        let mut config = GpuConfig::read(self, "");
        checks::apply_l2_size(&mut config, self);
        checks::apply_dram_bandwidth(&mut config, self);
        self.report_missing();
        checks::check(&config, self);
        config
    }

    /// The layer that decides a key.
    pub(super) fn layer_of(&self, key: &str) -> Option<usize> {
        self.layers.iter().rposition(|layer| layer.values.contains_key(key))
    }

    /// A value that must be there.
    pub(super) fn value<K: Kind>(&mut self, key: &str, kind: &K) -> K::Value {
        if self.layer_of(key).is_none() {
            self.missing.push(key.to_owned());
        }
        self.optional(key, kind).unwrap_or_else(|| kind.stand_in())
    }

    /// A value that may be there.
    pub(super) fn optional<K: Kind>(&mut self, key: &str, kind: &K) -> Option<K::Value> {
        let deciding = self.layer_of(key)?;
        let layer = &mut self.layers[deciding];
        let value = *layer.values.get(key)?;
        let read = kind.read(&mut layer.reader, value);
        if read.is_none() {
            self.unsound.insert(key.to_owned());
        }
        read
    }

    /// The patterns of all rows.
    pub(super) fn patterns(&self) -> BTreeSet<String> {
        let keys = self.layers.iter().flat_map(|layer| layer.values.keys());
        keys.filter_map(|key| key.strip_prefix("isa.rows.")?.rsplit_once('.'))
            .map(|(pattern, _)| pattern.to_owned())
            .collect()
    }

    /// Where a value comes from: the layer's name, and what it says of the source.
    pub(super) fn origin(&self, key: &str) -> Option<(&str, Option<&str>)> {
        let by = match key {
            "l2.ways" => L2_SIZE,
            "dram.bus_bytes" | "dram.burst" | "dram.timing.ccd" => DRAM_BANDWIDTH,
            key => key,
        };
        let deciding = if self.layer_of(by).is_some() && self.layer_of(by) >= self.layer_of(key) { by } else { key };
        if let Some(layer) = self.layer_of(deciding) {
            return Some((&self.layers[layer].name, self.layers[layer].source(deciding)));
        }
        // A row: of the fields it was given, the one that was decided last.
        let fields = ROW_FIELDS.map(|field| format!("{key}.{field}"));
        let (layer, field) = fields.iter().filter_map(|field| Some((self.layer_of(field)?, field))).max()?;
        Some((&self.layers[layer].name, self.layers[layer].source(field)))
    }

    /// Adds an error about several keys to the layer that decided one of them last, unless one of them has an error of
    /// its own already.
    pub(super) fn refuse(&mut self, keys: &[&str], message: String, help: Option<String>) {
        if keys.iter().any(|&key| self.unsound.contains(key) || self.missing.iter().any(|missing| missing == key)) {
            return;
        }
        let deciding = keys.iter().filter_map(|&key| Some((self.layer_of(key)?, key))).max_by_key(|&(layer, _)| layer);
        let Some((layer, key)) = deciding else { return };
        let layer = &mut self.layers[layer];
        let span = layer.values[key].span();
        layer.reader.error(span, message, help);
    }

    /// One error for everything that is missing: a file that begins from nothing would draw a hundred.
    fn report_missing(&mut self) {
        if self.layer_of(L2_SIZE).is_some() {
            self.missing.retain(|key| key != "l2.ways");
        }
        let Some(file) = self.layers.iter_mut().rfind(|layer| layer.name != "--set") else { return };
        if !file.values.contains_key("name") && !self.missing.iter().any(|key| key == "name") {
            let help = "results are kept by it: add `name = \"my-gpu\"`".to_owned();
            file.reader.error(0..0, "the file gives its GPU no name of its own", Some(help));
        }
        let shown: Vec<_> = self.missing.iter().take(8).map(|key| format!("`{key}`")).collect();
        let help = "give them, or begin from a preset: `base = \"titan-v\"`".to_owned();
        let message = match self.missing.len() {
            0 => return,
            1 => format!("{} is missing", shown[0]),
            n if n == shown.len() => format!("{} are missing", shown.join(", ")),
            n => format!("{} and {} more values are missing", shown.join(", "), n - shown.len()),
        };
        file.reader.error(0..0, message, Some(help));
    }

    /// The errors of each layer.
    pub(super) fn into_errors(self) -> Vec<Vec<Diagnostic>> {
        self.layers.into_iter().map(|layer| layer.reader.errors).collect()
    }
}
