//! Launch files: GPU programs without host code.
//!
//! A TOML file names PTX modules, device buffers and what they hold, launches, and what to do with the buffers after;
//! `docs/launch-files.md` is its reference. Three stages, each of which reports *all* its errors with their lines:
//!
//! 1. [`parse`] reads the text and touches nothing else (this is what is fuzzed);
//! 2. [`Loaded::read`] also finds, measures and hashes the files it names;
//! 3. [`execute`] loads the modules, checks every launch against its kernel, and only then runs.
//!
//! Invariants: nothing is allocated before all sizes are known and fit the device; results are written below one
//! directory only.
//!
//! ```
//! let (program, errors) = strata_run::launch_file::parse("ptx = 'a.ptx'\n[[launch]]\nkernle = 'k'\n");
//! assert!(program.launches.is_empty());
//! assert_eq!(errors[0].help.as_deref(), Some("did you mean `kernel`?"));
//! ```

mod compare;
mod contents;
mod execute;
mod fields;
mod files;
pub mod limits;
mod program;
mod reader;
#[cfg(test)]
mod tests;

pub use compare::{Comparison, Mismatch};
pub use execute::{Finding, Outcome, execute};
pub use files::Loaded;
pub use files::{open_regular, read_text};
pub use program::{Action, After, ArgValue, At, Buffer, Contents, LaunchStep, Program, SymbolValue};
pub use reader::parse;
