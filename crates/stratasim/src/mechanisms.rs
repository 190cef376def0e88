//! Classes of Python on two seams of the machine: prefetchers and replacement policies, registered like any other mechanism.
//!
//! An instance of the class serves the L1 of one SM, or one slice of L2, as an instance of `CachePrefetcher` or `Replacement` does.
//! Every call into it takes the interpreter's lock: `docs/python.md` says what that costs. An exception ends the run, and is raised
//! where the run was called.

use crate::StrataError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::collections::BTreeSet;
use std::panic::resume_unwind;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use strata_core::LineAddr;
use strata_core::settings::{Allowed, Setting, Settings};
use strata_core::stats::Unit;
use strata_lab::Abandoned;
use strata_mechanism::{CacheLevel, Mechanism, MechanismError, Preparation, Prepared, Registry};
use strata_sim::MachineBuilder;
use strata_sim::cache::SectorMask;
use strata_sim::seam::{CacheAccess, CachePrefetcher, Outcome, Proposal, Replacement, SideCount, Ways};

/// The classes that were registered: an interpreter has one set of modules, too.
static CLASSES: Mutex<Vec<Arc<Class>>> = Mutex::new(Vec::new());
/// The exception that ended the last run.
static RAISED: Mutex<Option<PyErr>> = Mutex::new(None);
/// Texts that live as long as the process: names of mechanisms, settings and counters.
static TEXTS: LazyLock<Mutex<BTreeSet<&'static str>>> = LazyLock::new(Mutex::default);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A text that stays; each is kept once.
fn kept(text: &str) -> &'static str {
    let mut texts = lock(&TEXTS);
    if let Some(known) = texts.get(text) {
        return known;
    }
    let text: &'static str = Box::leak(text.to_owned().into_boxed_str());
    texts.insert(text);
    text
}

/// The mechanisms of the house, and those of Python.
pub(crate) fn registry() -> PyResult<Registry> {
    let mut registry = strata_lab::mechanisms::registry().clone();
    for class in lock(&CLASSES).iter() {
        registry.register(OfPython(Arc::clone(class))).map_err(|error| StrataError::new_err(error.to_string()))?;
    }
    Ok(registry)
}

/// The exception that ended a run, if one did.
pub(crate) fn take_error() -> Option<PyErr> {
    lock(&RAISED).take()
}

/// Nothing was raised by what runs from now on.
pub(crate) fn forget_error() {
    // Dropped when the lock is free again: an exception may hold anything.
    let old = take_error();
    drop(old);
}

/// Which seam a class is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Seam {
    Prefetcher,
    Replacement,
}

/// A class that was registered.
struct Class {
    name: &'static str,
    description: &'static str,
    settings: &'static [Setting],
    seam: Seam,
    /// The class itself.
    made_by: Py<PyAny>,
    source: String,
}

/// Registers a class under a name; one that was registered under it before goes. `seam` is `prefetcher` or `replacement`; `settings`
/// are keys, defaults and kinds (`whole`, `real`, `text`); `source` is a hash of what it is made of.
#[pyfunction]
pub(crate) fn register(
    name: &str,
    description: &str,
    seam: &str,
    level: &str,
    settings: Vec<(String, String, String)>,
    class: Py<PyAny>,
    source: String,
) -> PyResult<()> {
    if strata_lab::mechanisms::registry().get(name).is_some() {
        let text = format!("a mechanism `{name}` is registered already: give the other another name");
        return Err(StrataError::new_err(text));
    }
    let is_word = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
    if !is_word(name) {
        let text = format!("`{name}` cannot be the name of a mechanism: letters, digits, `-` and `_` can");
        return Err(StrataError::new_err(text));
    }
    let seam = if seam == "prefetcher" { Seam::Prefetcher } else { Seam::Replacement };
    let mut table = vec![Setting {
        key: "level",
        default: kept(level),
        allowed: CacheLevel::ALLOWED,
        meaning: "the caches that it is in",
        source: "choice: of whoever registered it",
    }];
    table.extend(settings.iter().map(|(key, default, kind)| Setting {
        key: kept(key),
        default: kept(default),
        allowed: match kind.as_str() {
            "whole" => Allowed::Whole(0, u64::MAX),
            "real" => Allowed::Real(f64::MIN, f64::MAX),
            _ => Allowed::Text,
        },
        meaning: "an argument of the class",
        source: "choice: of whoever registered it",
    }));
    let (name, description) = (kept(name), kept(description));
    let class =
        Class { name, description, settings: Box::leak(table.into_boxed_slice()), seam, made_by: class, source };
    let mut classes = lock(&CLASSES);
    classes.retain(|other| other.name != name);
    classes.push(Arc::new(class));
    Ok(())
}

struct OfPython(Arc<Class>);

impl Mechanism for OfPython {
    fn name(&self) -> &'static str {
        self.0.name
    }

    fn description(&self) -> &'static str {
        self.0.description
    }

    fn settings(&self) -> &'static [Setting] {
        self.0.settings
    }

    /// The seams have none.
    fn looks_at_data(&self) -> bool {
        false
    }

    fn loaded_from(&self) -> Option<String> {
        Some(self.0.source.clone())
    }

    fn prepare(&self, values: &Settings, _: &mut dyn Preparation) -> Result<Box<dyn Prepared>, MechanismError> {
        let values = values.clone();
        Ok(Box::new(Ready { class: Arc::clone(&self.0), level: CacheLevel::of(&values), values }))
    }

    fn shows(&self, path: &str, value: f64) -> bool {
        let of_prefetchers = path.starts_with("l1.prefetch.") || path.starts_with("l2.prefetch.");
        let own = path.contains(&format!("{}.", self.0.name));
        value != 0.0 && (own || self.0.seam == Seam::Prefetcher && of_prefetchers)
    }
}

struct Ready {
    class: Arc<Class>,
    level: CacheLevel,
    values: Settings,
}

impl Prepared for Ready {
    fn install(&mut self, machine: &mut MachineBuilder) {
        let make = || {
            let (class, values) = (Arc::clone(&self.class), self.values.clone());
            move |_: u32| Instance::new(&class, &values)
        };
        let name = self.class.name;
        match self.class.seam {
            Seam::Prefetcher => {
                if self.level.has_l1() {
                    let make = make();
                    machine.l1_prefetcher(name, move |number| Box::new(make(number)));
                }
                if self.level.has_l2() {
                    let make = make();
                    machine.l2_prefetcher(name, move |number| Box::new(make(number)));
                }
            }
            Seam::Replacement => {
                if self.level.has_l1() {
                    let make = make();
                    machine.l1_replacement(name, move |number| Box::new(make(number)));
                }
                if self.level.has_l2() {
                    let make = make();
                    machine.l2_replacement(name, move |number| Box::new(make(number)));
                }
            }
        }
    }
}

/// An instance of a class, for one cache.
struct Instance {
    name: &'static str,
    object: Py<PyAny>,
    counts: bool,
    invalidated: bool,
}

/// Gives up: the exception is kept for whoever called the run.
fn give_up(py: Python<'_>, name: &str, error: PyErr) -> ! {
    let text = format!("`{name}`: {}", error.value(py));
    *lock(&RAISED) = Some(error);
    resume_unwind(Box::new(Abandoned(text)))
}

impl Instance {
    fn new(class: &Class, values: &Settings) -> Self {
        Python::attach(|py| {
            let made = arguments(py, class, values).and_then(|arguments| class.made_by.call(py, (), Some(&arguments)));
            let object = made.unwrap_or_else(|error| give_up(py, class.name, error));
            let has = |method| object.bind(py).hasattr(method).unwrap_or(false);
            let (counts, invalidated) = (has("counts"), has("invalidated"));
            Self { name: class.name, object, counts, invalidated }
        })
    }

    /// Does something with the object; an exception ends the run.
    fn with<T>(&self, what: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>) -> T {
        Python::attach(|py| what(self.object.bind(py)).unwrap_or_else(|error| give_up(py, self.name, error)))
    }

    fn side_counts(&self) -> Vec<SideCount> {
        if !self.counts {
            return Vec::new();
        }
        let counted: Vec<(String, u64)> = self.with(|object| {
            let counts = object.call_method0("counts")?;
            counts
                .cast_into::<PyDict>()
                .map_err(PyErr::from)?
                .iter()
                .map(|(key, value)| Ok((key.extract()?, value.extract()?)))
                .collect()
        });
        let what = "counted by a class of Python";
        let named = |(key, value): (String, u64)| SideCount {
            name: kept(&format!("{}.{key}", self.name)),
            unit: Unit::Events,
            what,
            value,
        };
        counted.into_iter().map(named).collect()
    }
}

/// The settings as arguments of the class.
fn arguments<'py>(py: Python<'py>, class: &Class, values: &Settings) -> PyResult<Bound<'py, PyDict>> {
    let all = PyDict::new(py);
    for setting in class.settings.iter().filter(|setting| setting.key != "level") {
        let key = setting.key;
        match setting.allowed {
            Allowed::Whole(..) => all.set_item(key, values.whole(key))?,
            Allowed::Real(..) => all.set_item(key, values.real(key))?,
            _ => all.set_item(key, values.text(key))?,
        }
    }
    Ok(all)
}

/// An access to a cache, as a prefetcher sees it.
#[pyclass(frozen, get_all)]
pub(crate) struct Access {
    /// Number of the line: its address over 128.
    line: u64,
    /// A bit for each sector of 32 bytes that it wants or writes.
    sectors: u8,
    /// Program counter of the instruction.
    pc: u32,
    /// The warp that issued it.
    warp: u32,
    /// The SM that the warp runs on.
    sm: u32,
    /// True for stores.
    write: bool,
    /// `hit`, `pending` or `miss`.
    outcome: &'static str,
    /// This is the first access to a line that was prefetched.
    prefetched: bool,
    /// When, in picoseconds.
    now: u64,
}

impl CachePrefetcher for Instance {
    fn accessed(&mut self, access: &CacheAccess, out: &mut Vec<Proposal>) {
        let outcome = match access.outcome {
            Outcome::Hit => "hit",
            Outcome::Pending => "pending",
            Outcome::Miss => "miss",
        };
        let access = Access {
            line: access.line.0,
            sectors: access.sectors.0,
            pc: access.pc,
            warp: access.warp.0,
            sm: access.sm,
            write: access.write,
            outcome,
            prefetched: access.prefetched,
            now: access.now.0,
        };
        self.with(|object| {
            let proposed = object.call_method1(pyo3::intern!(object.py(), "accessed"), (access,))?;
            if proposed.is_none() {
                return Ok(());
            }
            for one in proposed.try_iter()? {
                let one = one?;
                let (line, sectors) = match one.extract::<u64>() {
                    Ok(line) => (line, SectorMask::ALL),
                    Err(_) => one.extract::<(u64, u8)>().map(|(line, sectors)| (line, SectorMask(sectors & 0b1111)))?,
                };
                out.push(Proposal { line: LineAddr(line), sectors });
            }
            Ok(())
        });
    }

    fn counts(&self) -> Vec<SideCount> {
        self.side_counts()
    }
}

impl Replacement for Instance {
    fn attach(&mut self, sets: u32, ways: u32) {
        self.with(|object| object.call_method1("attach", (sets, ways)).map(drop));
    }

    fn hit(&mut self, set: u32, way: u32) {
        self.with(|object| object.call_method1(pyo3::intern!(object.py(), "hit"), (set, way)).map(drop));
    }

    fn filled(&mut self, set: u32, way: u32) {
        self.with(|object| object.call_method1(pyo3::intern!(object.py(), "filled"), (set, way)).map(drop));
    }

    fn victim(&mut self, set: u32, ways: &Ways) -> u32 {
        let ways: Vec<u32> = ways.iter().collect();
        self.with(|object| object.call_method1(pyo3::intern!(object.py(), "victim"), (set, ways))?.extract())
    }

    fn invalidated(&mut self, set: u32, way: u32) {
        if self.invalidated {
            self.with(|object| object.call_method1(pyo3::intern!(object.py(), "invalidated"), (set, way)).map(drop));
        }
    }

    fn counts(&self) -> Vec<SideCount> {
        self.side_counts()
    }
}
