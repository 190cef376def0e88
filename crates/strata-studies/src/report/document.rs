//! A report as data: what the page's script draws. Everything that is shown stands here, and nothing of how it looks.

use serde::{Deserialize, Serialize};

/// A whole report.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Document {
    /// Its title.
    pub title: String,
    /// What it comes to, in sentences: the first thing on the page.
    pub lead: Vec<String>,
    /// The sections, in order.
    pub sections: Vec<Section>,
}

/// A part of a report with a heading of its own.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Section {
    /// Its anchor on the page.
    pub id: String,
    /// Its heading.
    pub title: String,
    /// What it shows.
    pub blocks: Vec<Block>,
}

/// Something that is shown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum Block {
    /// A paragraph.
    Text {
        /// The words.
        text: String,
    },
    /// Commands, or another text that keeps its lines.
    Code {
        /// The lines.
        text: String,
    },
    /// A chart.
    Chart(Plot),
    /// A table that sorts and filters.
    Table(Table),
    /// A picture of memory, a cell for each page.
    Heat(Heat),
    /// A picture that is there already, as a data address.
    Picture {
        /// Its address.
        source: String,
        /// What it shows.
        caption: String,
    },
    /// Files that lie beside the page, by name.
    Files {
        /// Their names.
        names: Vec<String>,
    },
    /// What is shown when it is asked for.
    Details {
        /// What it is about.
        title: String,
        /// What is shown then.
        blocks: Vec<Block>,
    },
}

impl Block {
    /// A paragraph.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }
}

/// How the values of a chart are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PlotKind {
    /// A group of bars for each category.
    Bars,
    /// A bar for each category, one series on top of another.
    Stacked,
    /// A line for each series.
    Lines,
    /// Points: each series has an `x` for every value.
    Scatter,
}

/// A chart.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plot {
    /// How values are drawn.
    pub kind: PlotKind,
    /// What it shows.
    pub title: String,
    /// What the horizontal axis is, with its unit.
    pub x: String,
    /// What the values are, with their unit.
    pub y: String,
    /// What stands below bars and stacks, or the numbers below lines.
    pub categories: Vec<String>,
    /// The values.
    pub series: Vec<PlotSeries>,
    /// A line across at this value, such as 1 for ratios.
    pub baseline: Option<f64>,
    /// True if the axes of a scatter plot are logarithmic.
    #[serde(default)]
    pub log: bool,
}

/// Values of one colour.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlotSeries {
    /// Its name in the legend.
    pub name: String,
    /// A value for each category; none where there is none.
    pub values: Vec<Option<f64>>,
    /// Where the values of lines and points stand; empty: in equal steps.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub at: Vec<f64>,
    /// What each point is called.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// True for what somebody else printed, which is drawn apart from what was measured here.
    #[serde(default)]
    pub theirs: bool,
}

impl PlotSeries {
    /// Values in equal steps, measured here.
    pub fn new(name: impl Into<String>, values: Vec<Option<f64>>) -> Self {
        Self { name: name.into(), values, at: Vec::new(), names: Vec::new(), theirs: false }
    }
}

/// A table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// Name of the file that it is downloaded as, without its ending.
    pub name: String,
    /// What the columns are, with their units.
    pub headings: Vec<String>,
    /// The rows.
    pub rows: Vec<Vec<TableCell>>,
}

/// A cell of a table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum TableCell {
    /// Words.
    Text(String),
    /// A number, and how many decimals are shown.
    Number {
        /// All its digits.
        v: f64,
        /// Decimals that are shown.
        d: usize,
    },
    /// Words with a colour: `close`, `higher`, `lower`, `opposite`, `not`, `good`, `bad`.
    Verdict {
        /// The words.
        t: String,
        /// The colour; empty for none.
        c: String,
    },
    /// Nothing is known.
    None,
}

impl TableCell {
    /// A number that may be missing.
    pub fn number(value: Option<f64>, decimals: usize) -> Self {
        value.filter(|v| v.is_finite()).map_or(Self::None, |v| Self::Number { v, d: decimals })
    }
}

impl From<&str> for TableCell {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for TableCell {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

/// A map of memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Heat {
    /// What it shows.
    pub title: String,
    /// What a cell is: `page of 4 KiB`.
    pub cell: String,
    /// What is counted: `walks`.
    pub unit: String,
    /// Cells in a row.
    pub width: usize,
    /// The counts, a cell each.
    pub counts: Vec<u64>,
    /// Where colours end, which then follow the count itself, from blue to red; without it they follow its logarithm.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most: Option<u64>,
}
