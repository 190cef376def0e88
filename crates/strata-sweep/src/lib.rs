//! Design spaces: many runs from one plan, each done once.
//!
//! * [`PlanFile`]: which programs, machines, mechanisms and settings there are (`plan.toml`), with all errors at once;
//! * [`Points`]: the runs that a plan stands for, each with the key of its result;
//! * [`Store`]: results by key, outside the checkout;
//! * [`local`](engine::local), [`slurm`]: carry out what the store does not have, here or on a cluster;
//! * [`collect`]: all results of a sweep in one Parquet file;
//! * [`show`]: tables, Pareto fronts and sensitivities of that file.
//!
//! Invariants: a point is keyed by everything its result depends on (`strata_run::Description`) and appears in the store whole or
//! not at all, so a sweep that is killed goes on where it stopped, and the same point is never run twice or counted twice; what
//! a sweep collects has the same bytes whatever happened on the way; failures are listed, never hidden. This crate prints
//! nothing and parses no arguments.
//!
//! ```
//! let (plan, errors) = strata_sweep::parse("programs = ['saxpy']\n[grid]\nl2.latency = [100, 200]\n");
//! assert!(errors.is_empty() && plan.name.is_none());
//! let (_, errors) = strata_sweep::parse("programs = ['saxpy']\ngird = 1\n");
//! assert_eq!(errors[0].help.as_deref(), Some("did you mean `grid`?"));
//! ```

pub mod collect;
pub mod engine;
mod plan;
mod points;
mod record;
mod sharing;
pub mod show;
pub mod slurm;
mod store;

pub use plan::{Plan, PlanFile, Word, parse};
pub use points::{Point, Points};
pub use record::Record;
pub use store::{Estimate, Store, Times};
