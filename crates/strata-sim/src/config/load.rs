//! A name, files and overrides to a [`Gpu`], or to all their errors at once.

use super::GpuConfig;
use super::kinds::quoted;
use super::layers::{Layer, Names, Resolver};
use super::presets::text_of;
use super::reference::meaning_of;
use super::schema::{Section, Written};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::{self, Write};
use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};
use strata_core::config::{Diagnostic, Reader};
use strata_core::nearest::suggestion;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A GPU is text that people write; anything larger is not one.
const FILE_BYTES: u64 = 1 << 20;
/// Files of one GPU, bases included: a base of a base of a base is plenty.
const MOST_FILES: usize = 32;
/// What overrides are called where a file has its name.
const OVERRIDES: &str = "--set";

/// A GPU and where each of its values comes from.
#[derive(Clone, Debug)]
pub struct Gpu {
    /// The machine.
    pub config: GpuConfig,
    /// Its values, in the order of the schema.
    pub parameters: Vec<Parameter>,
}

/// One value of a GPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its table; empty for what stands at the top.
    pub table: String,
    /// Its name in the table; for an instruction row, the pattern.
    pub name: String,
    /// The value as TOML.
    pub value: String,
    /// What it means.
    pub meaning: String,
    /// Where the number comes from: a table, a data sheet, a measurement, or "choice: " and the reason.
    pub source: Option<String>,
    /// The file that decided it: a preset's name, a path, or `--set`.
    pub from: String,
}

impl Parameter {
    /// Its whole name: `dram.timing.rcd`.
    pub fn key(&self) -> String {
        super::schema::joined(&self.table, &self.name)
    }
}

/// The errors of one file, or of the overrides (which then are its text, one to a line).
#[derive(Clone, Debug)]
pub struct FileErrors {
    /// Its path, or a preset's, or `--set`.
    pub path: String,
    /// Everything in it, for showing the places at fault.
    pub text: String,
    /// The errors.
    pub list: Vec<Diagnostic>,
}

/// Why there is no GPU.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ConfigError {
    /// Nothing is called so.
    #[error("there is no GPU `{name}`; {help}")]
    Unknown {
        /// The name that no preset has.
        name: String,
        /// The nearest name, and how a file of one's own is named.
        help: String,
    },
    /// The file cannot be read.
    #[error("cannot read `{path}`: {reason}")]
    Unreadable {
        /// The file that was named.
        path: String,
        /// Why.
        reason: String,
    },
    /// Values are wrong; the files in which, in the order they were read.
    #[error("{}", Lines(.0))]
    Values(Vec<FileErrors>),
}

/// Errors as `file:line: message (help)`, one to a line; for logs. Terminals get the text at fault as well.
struct Lines<'a>(&'a [FileErrors]);

impl fmt::Display for Lines<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut first = true;
        for file in self.0 {
            for error in &file.list {
                let end = error.span.start.min(file.text.len());
                let line = 1 + file.text.bytes().take(end).filter(|&b| b == b'\n').count();
                let help = error.help.as_ref().map(|help| format!(" ({help})")).unwrap_or_default();
                write!(f, "{}{}:{line}: {}{help}", if first { "" } else { "\n" }, file.path, error.message)?;
                first = false;
            }
        }
        Ok(())
    }
}

/// A file that was read.
struct SourceFile {
    /// What people call it.
    name: String,
    text: Cow<'static, str>,
    /// Errors about its bases.
    errors: Vec<Diagnostic>,
}

/// The GPU `name`: a preset, or the path of a `.toml` file. Overrides are `key=value`.
///
/// Every error of the file, its bases and the overrides is reported, not only the first.
pub fn load(name: &str, overrides: &[impl AsRef<str>]) -> Result<Gpu, ConfigError> {
    let top = find(name, Path::new(""))?;
    let text = text_of(DEFAULTS).unwrap_or_default().into();
    let mut texts = vec![SourceFile { name: DEFAULTS.to_owned(), text, errors: Vec::new() }];
    collect(top, &mut Vec::new(), &mut texts);
    let overrides = Overrides::new(overrides);
    resolve(texts, &overrides)
}

/// The part that every GPU begins from: the keys that a file may leave out, because files of users are older than these.
const DEFAULTS: &str = "defaults";

/// Where a GPU's text is.
struct Place {
    name: String,
    text: Cow<'static, str>,
    /// What relative paths of bases are relative to.
    directory: PathBuf,
}

fn find(name: &str, directory: &Path) -> Result<Place, ConfigError> {
    if let Some(text) = text_of(name) {
        return Ok(Place { name: name.to_owned(), text: text.into(), directory: PathBuf::new() });
    }
    if !Path::new(name).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("toml")) {
        let known: Vec<_> = super::presets().iter().map(|preset| preset.name).collect();
        let help = format!("{}; a file of your own ends in `.toml`", suggestion(name, known));
        return Err(ConfigError::Unknown { name: name.to_owned(), help });
    }
    let path = directory.join(name);
    let shown = path.display().to_string();
    let unreadable = |reason: String| ConfigError::Unreadable { path: shown.clone(), reason };
    let mut text = String::new();
    let file = std::fs::File::open(&path).map_err(|error| unreadable(error.to_string()))?;
    file.take(FILE_BYTES + 1).read_to_string(&mut text).map_err(|error| unreadable(error.to_string()))?;
    if text.len() as u64 > FILE_BYTES {
        return Err(unreadable("it is larger than 1 MiB, which no GPU is".into()));
    }
    let directory = path.parent().unwrap_or(Path::new("")).to_owned();
    Ok(Place { name: shown, text: text.into(), directory })
}

/// Appends the bases of a file, deepest first, then the file. `above` are the files that led here.
fn collect(place: Place, above: &mut Vec<String>, texts: &mut Vec<SourceFile>) {
    let mut errors = Vec::new();
    let (document, _) = DeTable::parse_recoverable(&place.text);
    let mut reader = Reader::default();
    let bases: Vec<(&str, Range<usize>)> = match document.get_ref().get("base") {
        None => Vec::new(),
        Some(value) => match value.get_ref() {
            DeValue::Array(list) => list.iter().filter_map(|item| Some((reader.string(item)?, item.span()))).collect(),
            _ => reader.string(value).map(|name| (name, value.span())).into_iter().collect(),
        },
    };
    errors.append(&mut reader.errors);
    above.push(place.name.clone());
    for (base, span) in bases {
        let error = |message: String, help: Option<String>| errors.push(Diagnostic { span, message, help });
        if texts.len() + above.len() > MOST_FILES {
            error("too many files make up this GPU".into(), Some(format!("at most {MOST_FILES} are read")));
            break;
        }
        match find(base, &place.directory) {
            Ok(found) if above.contains(&found.name) => {
                error(format!("`{base}` is its own base"), Some(format!("the way here: {}", above.join(", "))));
            }
            Ok(found) => collect(found, above, texts),
            Err(reason) => error(reason.to_string(), None),
        }
    }
    above.pop();
    texts.push(SourceFile { name: place.name, text: place.text, errors });
}

/// All `key=value`, one to a line, so that errors have a text to point at.
struct Overrides {
    text: String,
}

impl Overrides {
    fn new(list: &[impl AsRef<str>]) -> Self {
        // A line break inside an override would shift the lines of the others.
        let lines: Vec<_> = list.iter().map(|one| one.as_ref().replace(['\n', '\r'], " ")).collect();
        Self { text: lines.join("\n") }
    }

    /// Keys with their places, and values: TOML if it reads as such, else text (`96KiB` needs no quotes here).
    fn values(&self, errors: &mut Vec<Diagnostic>) -> Vec<(String, Range<usize>, Spanned<DeValue<'_>>)> {
        let mut values = Vec::new();
        let mut at = 0;
        for line in self.text.split('\n') {
            let span = at..at + line.len();
            at += line.len() + 1;
            let Some((key, value)) = line.split_once('=').filter(|(key, value)| !key.is_empty() && !value.is_empty())
            else {
                if !line.is_empty() || self.text.contains('\n') {
                    let help = Some("write `key=value`, as in `l2.size=5MB`".into());
                    errors.push(Diagnostic { span, message: format!("`{line}` sets nothing"), help });
                }
                continue;
            };
            let place = span.start + key.len() + 1..span.end;
            let parsed = DeValue::parse(value).map_or_else(|_| DeValue::String(value.into()), Spanned::into_inner);
            values.push((key.trim().to_owned(), span.start..span.start + key.len(), Spanned::new(place, parsed)));
        }
        values
    }
}

fn resolve(texts: Vec<SourceFile>, overrides: &Overrides) -> Result<Gpu, ConfigError> {
    let names = Names::new();
    let mut syntax: Vec<Vec<Diagnostic>> = texts.iter().map(|text| text.errors.clone()).collect();
    let mut documents = Vec::new();
    for (text, errors) in texts.iter().zip(&mut syntax) {
        let (document, found) = DeTable::parse_recoverable(&text.text);
        let diagnostic = |error: &toml::de::Error| Diagnostic {
            span: error.span().unwrap_or(0..0),
            message: error.message().to_owned(),
            help: None,
        };
        errors.extend(found.iter().map(diagnostic));
        documents.push(document.into_inner());
    }
    let mut override_errors = Vec::new();
    let values = overrides.values(&mut override_errors);

    let mut gpu = None;
    // A half-read document would draw complaints about what the syntax error hid.
    let mut all = if syntax.iter().all(Vec::is_empty) {
        let mut layers: Vec<_> =
            texts.iter().zip(&documents).map(|(text, document)| Layer::of_file(&text.name, document, &names)).collect();
        layers.push(Layer::of_overrides(&values, &names));
        let mut resolver = Resolver::new(layers);
        let config = resolver.resolve();
        gpu = Some(Gpu { parameters: parameters(&config, &resolver), config });
        resolver.into_errors()
    } else {
        syntax.push(Vec::new());
        syntax
    };
    if let Some(last) = all.last_mut() {
        last.append(&mut override_errors);
    }
    for errors in &mut all {
        errors.sort_by_key(|error| (error.span.start, error.span.end));
    }
    let paths = texts.into_iter().map(|text| (text.name, text.text.into_owned()));
    let paths = paths.chain([(OVERRIDES.to_owned(), overrides.text.clone())]);
    let wrong: Vec<_> = paths
        .zip(all)
        .filter(|(_, list)| !list.is_empty())
        .map(|((path, text), list)| FileErrors { path, text, list })
        .collect();
    match gpu {
        Some(gpu) if wrong.is_empty() => Ok(gpu),
        _ => Err(ConfigError::Values(wrong)),
    }
}

fn parameters(config: &GpuConfig, resolver: &Resolver<'_>) -> Vec<Parameter> {
    let mut written = Vec::new();
    config.write("", &mut written);
    written
        .into_iter()
        .map(|one| {
            let (from, source) = resolver.origin(&one.path()).unwrap_or_default();
            let (from, source) = (from.to_owned(), source.map(str::to_owned));
            let meaning = meaning_of(&one);
            let Written { table, name, value } = one;
            Parameter { table, name, value, meaning, source, from }
        })
        .collect()
}

impl Gpu {
    /// The whole GPU as one file without bases: what is saved beside results. Reading it gives this GPU again.
    pub fn to_toml(&self) -> String {
        let mut out = self.config.to_toml();
        let mut sources: BTreeMap<String, &str> = BTreeMap::new();
        for parameter in &self.parameters {
            if let Some(source) = &parameter.source {
                sources.insert(parameter.key(), source);
            }
        }
        // Writing to a string cannot fail.
        let _ = writeln!(out, "\n[sources]");
        for (key, source) in sources {
            let _ = writeln!(out, "{} = {}", quoted(&key), quoted(source));
        }
        out
    }
}

impl GpuConfig {
    /// The configuration as TOML, complete and without bases; [`load`] reads it back as it is.
    pub fn to_toml(&self) -> String {
        let mut written = Vec::new();
        self.write("", &mut written);
        let mut out = String::new();
        let mut table = "";
        for one in &written {
            // Writing to a string cannot fail.
            if one.table != table {
                table = &one.table;
                let _ = writeln!(out, "\n[{table}]");
            }
            let name = if one.name.contains('.') { quoted(&one.name) } else { one.name.clone() };
            let _ = writeln!(out, "{name} = {}", one.value);
        }
        out
    }

    /// Bytes per second that the DRAM moves at most.
    pub fn dram_bytes_per_second(&self) -> f64 {
        let per_cycle = u64::from(self.dram.channels) * u64::from(self.dram.bus_bytes) * u64::from(self.dram.data_rate);
        per_cycle as f64 * self.clock.dram.khz() as f64 * 1e3
    }

    /// SMs of the GPU and of all memory stacks.
    pub fn all_sms(&self) -> u32 {
        self.sm.count + self.stacks.count * self.stacks.sms
    }

    /// Capacity of the whole L2.
    pub fn l2_size(&self) -> strata_core::Bytes {
        let lines = u64::from(self.l2.slices) * u64::from(self.l2.sets) * u64::from(self.l2.ways);
        strata_core::Bytes(lines * strata_core::LINE_BYTES)
    }
}

impl super::StackConfig {
    /// Bytes that all links of the stacks could carry in a time, both ways together; links between stacks are counted where
    /// there are SMs that use them.
    pub fn bytes_in(&self, time: crate::time::Picos) -> u64 {
        let pairs = if self.sms > 0 { f64::from(self.count * self.count.saturating_sub(1) / 2) } else { 0.0 };
        let gb_per_s = 2.0 * (f64::from(self.count) * self.link.gb_per_s + pairs * self.cross_link.gb_per_s);
        (gb_per_s * time.0 as f64 / 1e3) as u64
    }
}
