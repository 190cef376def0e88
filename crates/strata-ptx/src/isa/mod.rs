//! The instruction table: every form of every instruction, read from `instructions.isa`.
//!
//! The text is the source; the forms and the look-ups of this module are views of it. That the text is well formed is a test, so a
//! mistake in it cannot reach a user.

mod coverage;
mod matching;
mod samples;
mod table;

pub use coverage::coverage_table;
pub(crate) use matching::{Mismatch, matching, mismatch};
pub use samples::SAMPLE_REGISTERS;
pub(crate) use table::{Expect, Pairing, Role, Spec, forms_of};
pub use table::{Form, FormId, forms};
