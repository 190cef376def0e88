//! The door for mechanisms: what can be put into a machine implements [`Mechanism`] and is registered by name.
//!
//! A mechanism is known by its name, its settings and what it does not go together with ([`Mechanism`]). For one run it is
//! prepared ([`Mechanism::prepare`]): its settings are checked against the GPU, and what it has to know of the program is found
//! by executing that once without time ([`Preparation`]). What comes of that ([`Prepared`]) goes into the machine at the seams of
//! `strata_sim`, hears what the host does, and saves what it saw.
//!
//! A [`Registry`] is given to a run; the command line's `--with`, `--set`, tables and reference are made from it, so that a
//! mechanism from outside appears like those of the house:
//!
//! ```
//! use strata_core::settings::Settings;
//! use strata_mechanism::{Mechanism, MechanismError, Preparation, Prepared, Registry};
//! use strata_sim::MachineBuilder;
//!
//! /// A mechanism that does nothing.
//! struct Idle;
//!
//! impl Mechanism for Idle {
//!     fn name(&self) -> &'static str {
//!         "idle"
//!     }
//!     fn description(&self) -> &'static str {
//!         "does nothing"
//!     }
//!     fn prepare(&self, _: &Settings, _: &mut dyn Preparation) -> Result<Box<dyn Prepared>, MechanismError> {
//!         Ok(Box::new(Idle))
//!     }
//! }
//!
//! impl Prepared for Idle {
//!     fn install(&mut self, _: &mut MachineBuilder) {}
//! }
//!
//! let mut registry = Registry::default();
//! registry.register(Idle)?;
//! assert_eq!(registry.combination("idle")?.to_string(), "idle");
//! let error = registry.combination("idel").unwrap_err().to_string();
//! assert_eq!(error, "there is no mechanism `idel`; did you mean `idle`?");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Invariants: this crate names no mechanism; nothing here depends on how a program is executed.

mod cache_level;
mod combination;
mod error;
mod memory;
mod preparation;
mod reference;
mod registry;

pub use cache_level::CacheLevel;
pub use combination::{Chosen, Combination};
pub use error::MechanismError;
pub use memory::{DeviceMemory, PlainMemory};
pub use preparation::{Input, Look, Moment, Preparation, ReadMemory, Spectator};
pub use reference::{list_table, matrix, matrix_json, reference, table, to_json};
pub use registry::{NameTaken, Registry};

use std::path::Path;
use strata_core::settings::{Setting, Settings};
use strata_core::{Bytes, Stats};
use strata_sim::MachineBuilder;
use strata_sim::config::GpuConfig;

/// What a mechanism does to memory, as far as others must know: conflicts are told by it, so that they hold for mechanisms
/// that nobody has written yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// Stores equal lines once: lines are elsewhere than their addresses say.
    Deduplicates,
    /// Stores lines in fewer bytes.
    Compresses,
    /// Moves pages between memories.
    Pages,
    /// Moves code to the data.
    Offloads,
}

/// Whom a mechanism does not go together with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum With {
    /// The mechanism of this name.
    Name(&'static str),
    /// Every mechanism with this role.
    Role(Role),
}

/// That two mechanisms do not go together, and why.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Conflict {
    /// Whom it is with.
    pub with: With,
    /// The reason, and what to use instead if there is something.
    pub why: &'static str,
}

/// Something that can be put into a machine.
pub trait Mechanism: Send + Sync {
    /// Its name on the command line, and the prefix of its settings.
    fn name(&self) -> &'static str;

    /// What it does, in a line.
    fn description(&self) -> &'static str;

    /// Its settings, `NAME.key`.
    fn settings(&self) -> &'static [Setting] {
        &[]
    }

    /// What it does to memory.
    fn roles(&self) -> &'static [Role] {
        &[]
    }

    /// Whom it does not go together with. It is enough if one of two says so. What no machine can do is refused by the
    /// machine itself; here stands what makes no sense although it could be built.
    fn conflicts(&self) -> &'static [Conflict] {
        &[]
    }

    /// True if it must see the data of a program: a recorded trace, which has none, is refused then.
    fn looks_at_data(&self) -> bool {
        true
    }

    /// The preset of the plain machine that costs as much as a preset with this mechanism, if that is another: what it gains is told
    /// over that one.
    fn equal_cost(&self, _gpu: &str) -> Option<&'static str> {
        None
    }

    /// Changes of the GPU that it stands for, `key=value`; `set` are those that the user made. The error is a reason.
    fn overrides(&self, _gpu: &GpuConfig, _set: &[String]) -> Result<Vec<String>, String> {
        Ok(Vec::new())
    }

    /// The crate that it is from, as its author needs not say: results are kept under a hash of that crate's sources, or, if
    /// these are not of this project, of the executable.
    fn home_crate(&self) -> String {
        std::any::type_name::<Self>().split("::").next().unwrap_or_default().replace('_', "-")
    }

    /// A hash of what it is made of, if that was not compiled with us, such as a class of Python: results are kept under it in place
    /// of the sources of its crate.
    fn loaded_from(&self) -> Option<String> {
        None
    }

    /// Makes it ready for one run.
    fn prepare(&self, settings: &Settings, run: &mut dyn Preparation) -> Result<Box<dyn Prepared>, MechanismError>;

    /// True if a statistic, by its path below the machine's, belongs into the short table that a run prints. All others are
    /// in the result.
    fn shows(&self, path: &str, value: f64) -> bool {
        value != 0.0 && path.strip_prefix(self.name()).is_some_and(|rest| rest.starts_with('.'))
    }

    /// A table of its own for people, if it has one; `prefix` is the machine's path in the statistics.
    fn table(&self, _prefix: &str, _stats: &Stats) -> Option<String> {
        None
    }
}

/// A mechanism that was made ready for one run.
pub trait Prepared {
    /// Changes what it needs otherwise in the machine.
    fn adapt(&self, _gpu: &mut GpuConfig) {}

    /// Puts it into the machine: seams, and what hears of the host's events.
    fn install(&mut self, machine: &mut MachineBuilder);

    /// The granularity at which memory is to be given out.
    fn page(&self) -> Option<Bytes> {
        None
    }

    /// True if all allocations are managed memory, unless the program says that one stays on the device.
    fn manages_all(&self) -> bool {
        false
    }

    /// Why data cannot be checked with it, if it models something that could not be right.
    fn refuses_checking(&self) -> Option<String> {
        None
    }

    /// Who keeps the books of device memory, if not the plain ones.
    fn device_memory(&self) -> Option<Box<dyn DeviceMemory>> {
        None
    }

    /// Adds rates to the statistics of a launch, whose other counts are there.
    fn add_rates(&self, _prefix: &str, _stats: &mut Stats) {}

    /// Saves what it saw beside the result, once the program has ended.
    fn save(&self, _folder: &Path) -> Result<(), MechanismError> {
        Ok(())
    }

    /// What looks like a mistake of the user's, once the program has ended.
    fn warnings(&self) -> Vec<String> {
        Vec::new()
    }
}
