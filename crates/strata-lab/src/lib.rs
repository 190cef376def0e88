//! The lab: all of StrataSim's rooms behind one door, for the command line and for whoever wants everything.
//!
//! Nothing is done here. What a run is comes from `strata-run`, studies from `strata-studies`, CUDA programs from `strata-cuda`,
//! files of data from `strata-tensors`. A mechanism from outside needs less than all of this: `strata-mechanism` and `strata-run`.
//!
//! ```
//! use strata_lab::What;
//! assert!(matches!(What::named("examples/vecadd.toml"), Ok(What::LaunchFile(_))));
//! ```

pub use strata_cuda as cuda;
pub use strata_mechanism::{Combination, Mechanism, MechanismError, Preparation, Prepared, Registry};
pub use strata_run::*;
pub use strata_studies::*;
pub use strata_sweep as sweep;
pub use strata_tensors::*;

/// Mechanisms: those of the house, and what can be said of any.
pub mod mechanisms {
    pub use strata_mechanism::{list_table, matrix, matrix_json, table, to_json};
    pub use strata_studies::mechanisms::*;
}
