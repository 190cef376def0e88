//! What a result is of: everything that it depends on, resolved, so that a result can be told from any other by itself.
//!
//! A request says what somebody asked for: `--gpu my.toml --set l2.size=4MB`. A description says what that meant: the machine with
//! every value that differs from its preset, the mechanisms with every setting that differs from its default, the program, its
//! input with digests, the seed, and the sources that the simulator was built from. Its [`key`](Description::key) names results on
//! disk: the same key is the same result, byte for byte, whoever made it.

use crate::error::LabError;
use crate::gpus;
use crate::request::{DEFAULT_OUT, Resolved, RunRequest, What};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use strata_core::fnv::Fnv1a64;
use strata_mechanism::{Chosen, Combination};
use strata_sim::config::{Gpu, Parameter};
use xxhash_rust::xxh3::xxh3_128;

/// The version of the simulator, for people; what a result depends on is the hash of its sources.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What a result is of.
#[derive(Clone, Debug, PartialEq)]
pub struct Description {
    /// The kind of program: `workload`, `launch file`, `trace`, `CUDA program`.
    pub program: &'static str,
    /// Its name, as results show it.
    pub name: String,
    /// Name of a workload's size; `None` for other programs.
    pub size: Option<&'static str>,
    /// Seed of the inputs.
    pub seed: u64,
    /// Files that were read, by name, with hashes of what they held.
    pub inputs: Vec<(String, Fnv1a64)>,
    /// The machine's name; `None` if nothing was timed.
    pub gpu: Option<String>,
    /// Its core clock.
    pub core_khz: Option<u64>,
    /// A hash of every value of that machine.
    pub machine: Option<Fnv1a64>,
    /// The mechanisms in it.
    pub with: Combination,
    /// Values of the machine and settings of mechanisms that differ from the preset and from defaults.
    pub settings: BTreeMap<String, String>,
    /// Options that change what is executed, counted or checked, if they were given.
    pub options: Map<String, Value>,
    /// Hash of the sources that the simulator was built from, as far as they can change this result.
    pub source: String,
}

impl Description {
    /// Of a request, resolved, on its machine.
    pub fn of(request: &RunRequest, resolved: &Resolved, chosen: &Chosen, gpu: Option<&Gpu>) -> Result<Self, LabError> {
        let mut settings = BTreeMap::new();
        if let (Some(gpu), Some(name)) = (gpu, &request.gpu) {
            settings.extend(differing(gpu, name)?);
        }
        for (mechanism, values) in chosen {
            let defaults = mechanism.settings();
            for (key, value) in values.pairs() {
                if defaults.iter().any(|setting| setting.key == key && setting.default != value) {
                    settings.insert(format!("{}.{key}", mechanism.name()), value.to_owned());
                }
            }
        }
        let mut inputs = resolved.inputs.clone();
        inputs.extend(request.files_of_settings());
        Ok(Self {
            program: request.what.kind(),
            name: resolved.name.clone(),
            size: resolved.size,
            seed: resolved.seed,
            inputs,
            gpu: gpu.map(|gpu| gpu.config.name.clone()),
            core_khz: gpu.map(|gpu| gpu.config.clock.core.khz()),
            machine: gpu.map(|gpu| Fnv1a64::of(gpu.config.to_toml().as_bytes())),
            with: request.with.clone(),
            settings,
            options: options(request),
            source: source(request)?,
        })
    }

    /// The keys that results have of it, besides those that they always had.
    pub fn to_json(&self) -> Map<String, Value> {
        let mut object = self.identity();
        object.insert("version".to_owned(), VERSION.into());
        object.insert("key".to_owned(), self.key().into());
        object
    }

    /// Everything that the result depends on; nothing else, and nothing that depends on where files lie.
    fn identity(&self) -> Map<String, Value> {
        let inputs = self.inputs.iter().map(|(path, hash)| json!({ "path": path, "fnv1a64": hash.to_string() }));
        let value = json!({
            "program": self.program,
            "name": self.name,
            "size": self.size,
            "seed": self.seed,
            "inputs": inputs.collect::<Vec<_>>(),
            "gpu": self.gpu,
            "machine": self.machine.map(|hash| hash.to_string()),
            "with": self.with.to_string(),
            "settings": self.settings,
            "options": self.options,
            "model": strata_sim::MODEL,
            "source": self.source,
        });
        if let Value::Object(object) = value { object } else { Map::new() }
    }

    /// The directory of the result of a request: `<out>/<name>-<key>`.
    pub fn directory(&self, request: &RunRequest) -> PathBuf {
        let out = request.out.as_deref().unwrap_or(Path::new(DEFAULT_OUT));
        out.join(format!("{}-{}", self.name, &self.key()[..12]))
    }

    /// The name of the result in a store: 32 hexadecimal digits of `XXH3` over the identity. Of files it knows what they are called
    /// and what they held, not where they lie.
    pub fn key(&self) -> String {
        format!("{:032x}", self.key_number())
    }

    /// The key as a number, for those who keep many.
    pub fn key_number(&self) -> u128 {
        let called = |path: &str| Path::new(path).file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut moved = self.clone();
        for (path, _) in &mut moved.inputs {
            *path = called(path);
        }
        for value in moved.settings.values_mut() {
            if self.inputs.iter().any(|(path, _)| path == value) {
                *value = called(value);
            }
        }
        xxh3_128(Value::Object(moved.identity()).to_string().as_bytes())
    }
}

/// Values that no preset gave: from `--set`, from a mechanism, or from a file of the user's. `name` is the machine without the
/// first two.
fn differing(gpu: &Gpu, name: &str) -> Result<Vec<(String, String)>, LabError> {
    const OVERRIDES: &str = "--set";
    let is_users = |one: &Parameter| {
        let is_name = one.table.is_empty() && ["name", "description"].contains(&one.name.as_str());
        !is_name && Path::new(&one.from).extension().is_some_and(|extension| extension == "toml")
    };
    let is_overridden = gpu.parameters.iter().any(|one| one.from == OVERRIDES);
    let plain = is_overridden.then(|| gpus::plain(name)).transpose()?;
    let before = |one: &Parameter| {
        let all = plain.iter().flat_map(|plain| &plain.parameters);
        all.into_iter().find(|known| (&known.table, &known.name) == (&one.table, &one.name))
    };
    let differs = |one: &&Parameter| match one.from.as_str() {
        OVERRIDES => before(one).is_none_or(|before| before.value != one.value || is_users(before)),
        _ => is_users(one),
    };
    let changed = gpu.parameters.iter().filter(differs);
    Ok(changed.map(|one| (one.key(), one.value.trim_matches('"').to_owned())).collect())
}

/// The options that were given, of those that are no default.
fn options(request: &RunRequest) -> Map<String, Value> {
    let mut all = Map::new();
    let switches = [
        ("check", request.check),
        ("check_races", request.check_races),
        ("lenient", request.lenient),
        ("check_data", request.check_data),
        ("explain", request.explain),
        ("like_ncu", request.like_ncu),
    ];
    all.extend(switches.into_iter().filter(|(_, asked)| *asked).map(|(name, _)| (name.to_owned(), json!(true))));
    if request.threads > 1 {
        all.insert("threads".to_owned(), json!(request.threads));
    }
    if let Some(most) = request.max_instructions {
        all.insert("max_instructions".to_owned(), json!(most));
    }
    if let What::Program(command) = &request.what {
        let arguments: Vec<_> = command.iter().skip(1).map(|argument| argument.to_string_lossy()).collect();
        all.insert("arguments".to_owned(), json!(arguments));
        all.insert("kernels".to_owned(), json!(request.kernels));
        all.insert("fast_forward".to_owned(), json!(request.fast_forward));
    }
    all
}

/// The hash of the sources that can change the result of a request: of what runs it, of the built-in programs if it is one, and of
/// its mechanisms. One from outside, whose sources are not known, stands for the executable that it is in, unless it says itself what
/// it was loaded from.
pub(crate) fn source(request: &RunRequest) -> Result<String, LabError> {
    let loaded: Vec<String> = request.with.list().iter().filter_map(|mechanism| mechanism.loaded_from()).collect();
    let compiled = request.with.list().iter().filter(|mechanism| mechanism.loaded_from().is_none());
    let mechanisms: Vec<String> = compiled.map(|mechanism| mechanism.home_crate()).collect();
    let mut crates = vec!["strata-run"];
    match request.what {
        What::Workload(_) => crates.push("strata-workloads"),
        What::Program(_) => crates.push("strata-cuda"),
        What::LaunchFile(_) | What::Trace(_) => {}
    }
    crates.extend(mechanisms.iter().map(String::as_str));
    let known = match strata_source::hash_of(&crates) {
        Some(hash) => format!("{hash:016x}"),
        None => format!("executable {}", executable()?),
    };
    Ok([known].into_iter().chain(loaded).collect::<Vec<_>>().join("+"))
}

/// The hash of this executable, found once.
fn executable() -> Result<Fnv1a64, LabError> {
    static FOUND: OnceLock<Fnv1a64> = OnceLock::new();
    if let Some(hash) = FOUND.get() {
        return Ok(*hash);
    }
    let path = std::env::current_exe().map_err(|e| LabError::io("find", Path::new("this executable"), e))?;
    let hash = Fnv1a64::of_file(&path).map_err(|e| LabError::io("read", &path, e))?;
    Ok(*FOUND.get_or_init(|| hash))
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Description {
        /// One for tests of results.
        pub(crate) fn sample() -> Self {
            let resolved = Resolved { name: "x".into(), size: Some("tiny"), seed: 1, inputs: Vec::new() };
            let request = RunRequest::new(What::Workload("x".into()));
            Self::of(&request, &resolved, &Vec::new(), None).expect("described")
        }
    }

    fn directory(request: &RunRequest, resolved: &Resolved) -> PathBuf {
        Description::of(request, resolved, &Vec::new(), None).expect("described").directory(request)
    }

    #[test]
    fn every_part_of_a_request_names_its_result() {
        let request = RunRequest::new(What::Workload("x".into()));
        let resolved = Resolved { name: "x".into(), size: Some("tiny"), seed: 1, inputs: Vec::new() };
        let base = directory(&request, &resolved);
        assert_eq!(base, directory(&request.clone(), &resolved));
        let others = [
            directory(&request, &Resolved { seed: 2, ..resolved.clone() }),
            directory(&request, &Resolved { size: Some("small"), ..resolved.clone() }),
            directory(&request, &Resolved { inputs: vec![("a".into(), Fnv1a64::of(b"a"))], ..resolved.clone() }),
            directory(&RunRequest { check: true, ..request.clone() }, &resolved),
            directory(&RunRequest { check_races: true, ..request.clone() }, &resolved),
            directory(&RunRequest { lenient: true, ..request.clone() }, &resolved),
            directory(&RunRequest { check_data: true, ..request.clone() }, &resolved),
            directory(&RunRequest { explain: true, ..request.clone() }, &resolved),
            directory(&RunRequest { like_ncu: true, ..request.clone() }, &resolved),
            directory(&RunRequest { max_instructions: Some(1), ..request.clone() }, &resolved),
        ];
        for other in others {
            assert_ne!(base, other);
        }
        let elsewhere = RunRequest { out: Some("elsewhere".into()), ..request };
        assert!(directory(&elsewhere, &resolved).starts_with("elsewhere"));
    }

    fn described(gpu: &str, set: &[&str]) -> Description {
        let request = RunRequest {
            size: Some("tiny".into()),
            gpu: Some(gpu.into()),
            set: set.iter().map(|&one| one.to_owned()).collect(),
            ..RunRequest::new(What::Workload("saxpy".into()))
        };
        crate::run::describe(&request).expect("described")
    }

    #[test]
    fn what_differs_from_the_preset_is_named_and_what_does_not_is_not() {
        let plain = described("titan-v", &[]);
        assert_eq!((plain.gpu.as_deref(), plain.settings.len()), (Some("titan-v"), 0));
        let sms = gpus::gpu("titan-v", &[""; 0]).expect("a preset").config.sm.count;
        assert_eq!(described("titan-v", &[&format!("sm.count={sms}")]), plain, "said, and the same");
        let other = described("titan-v", &["sm.count=8"]);
        assert_eq!(other.settings.into_iter().collect::<Vec<_>>(), [("sm.count".to_owned(), "8".to_owned())]);
        assert_ne!(other.machine, plain.machine);
    }

    #[test]
    fn a_file_of_the_users_is_told_by_what_it_changes_not_by_where_it_lies() {
        let file = |folder: &tempfile::TempDir| {
            let path = folder.path().join("mine.toml");
            std::fs::write(&path, "name = 'mine'\nbase = 'titan-v'\n[sm]\ncount = 8\n").expect("written");
            path.display().to_string()
        };
        let folders = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
        let [here, there] = folders.each_ref().map(|folder| described(&file(folder), &["l2.latency=100"]));
        assert_eq!(here.key(), there.key());
        assert_eq!(here.settings["sm.count"], "8");
        assert_eq!((here.settings["l2.latency"].as_str(), here.settings.len()), ("100", 2));
    }
}
