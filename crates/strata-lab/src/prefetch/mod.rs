//! Learned prefetching: traces of the GMMU, predictors trained on them, and how good they are.
//!
//! What a predictor is and how it learns is `strata-learn`; here it meets programs, files and machines. `learned` puts one into a
//! machine, `study` trains and judges many.

mod attention;
mod fit;
mod learned;
mod study;
mod trace;

pub use attention::{Attention, attention};
pub use fit::{Fitting, train};
pub(crate) use learned::in_loop;
pub use strata_learn::access::{Cluster, Feature};
pub use strata_learn::dataset::Protocol;
pub use strata_learn::quantise::Precision;
pub use strata_learn::spec::Kind;
pub use study::{Row, Study, study, study_tables, table, to_json};
pub use trace::{Traced, record};

use crate::error::LabError;
use strata_core::nearest::suggestion;

/// One of several by its name; the error tells the nearest.
pub fn named<T: Copy>(what: &str, text: &str, all: &[T], name: impl Fn(T) -> &'static str) -> Result<T, LabError> {
    all.iter().copied().find(|one| name(*one) == text).ok_or_else(|| {
        let hint = suggestion(text, all.iter().map(|one| name(*one)));
        LabError::Request(format!("there is no {what} `{text}`; {hint}"))
    })
}
