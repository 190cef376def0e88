//! Studies: what runs are made for.
//!
//! * [`mechanisms`]: the mechanisms of the house, registered;
//! * [`compare`](mod@compare): machines side by side;
//! * [`reproduce`]: a paper's figures, its numbers beside ours, as tables, CSV, SVG and a page ([`report`]);
//! * [`silicon`], [`validate`]: what real GPUs measured, and the machines beside them;
//! * [`calibrate`](mod@calibrate): a preset fitted to what a card measured;
//! * [`fingerprint`](mod@fingerprint): what the model gives, row by row, so that no change of it goes unnoticed;
//! * [`bench`](mod@bench): how fast programs are simulated;
//! * [`observe`](mod@observe), [`profile`](mod@profile): what memory holds, how compressible it is, and what follows for Buddy
//!   Compression;
//! * [`prefetch`]: predictors of page accesses;
//! * [`candidates`]: blocks of code worth running near their data;
//! * [`case_study`]: what a larger memory is worth when networks are trained.
//!
//! Invariants: this crate parses no arguments and prints nothing; a study that was interrupted goes on where it stopped; results
//! do not depend on how many runs go on at once.
//!
//! ```
//! let with = strata_studies::mechanisms::combination("bpc+cmd").expect("they go together");
//! assert_eq!(with.to_string(), "cmd+bpc");
//! ```

pub mod bench;
pub mod calibrate;
pub mod candidates;
pub mod case_study;
pub mod compare;
pub mod fingerprint;
pub mod mechanisms;
pub mod observe;
pub mod prefetch;
pub mod profile;
pub mod report;
pub mod reproduce;
pub mod silicon;
pub mod validate;
