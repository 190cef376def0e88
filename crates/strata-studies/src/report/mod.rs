//! Reports: a study or a saved result as one self-contained page, and its tables as text, CSV and SVG.
//!
//! [`document`] is what a page shows, as data; `html.rs` puts it into one file with the script that draws it (`assets/`).
//! [`comparison`] and the others make documents; [`Page`] is a study of a paper with its figures.

mod chart;
mod comparison;
pub mod document;
mod html;
mod page;
mod places;
mod saved;
mod statistics;

pub use chart::{Chart, Kind, Series};
pub use comparison::comparison;
pub use document::Document;
pub use page::{Cell, Figure, Page};
pub use saved::{from_saved, run_document};
