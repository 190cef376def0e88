//! Studies as figures: a table, perhaps a chart and a picture, each written as text, CSV and SVG, and all of them on one page.

mod chart;
mod page;

pub use chart::{Chart, Kind, Series};
pub use page::{Cell, Figure, Page};
