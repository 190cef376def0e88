//! Figures with their tables, and the page that shows them.

use super::Chart;
use super::document::{Block, Document, Section, Table, TableCell};
use std::path::Path;
use strata_core::files;
use strata_core::text::grouped_decimals;
use strata_run::LabError;
use strata_run::table::{Align, columns, wrapped};

/// A cell of a table.
#[derive(Clone, PartialEq, Debug)]
pub enum Cell {
    /// Words.
    Text(String),
    /// A number, shown with so many decimals.
    Number(f64, usize),
    /// A verdict, which has a colour, and a remark on it.
    Verdict(&'static str, String),
    /// Nothing is known.
    None,
}

impl Cell {
    /// A number that may be missing.
    pub fn number(value: Option<f64>, decimals: usize) -> Self {
        value.filter(|v| v.is_finite()).map_or(Self::None, |v| Self::Number(v, decimals))
    }

    /// For people.
    fn shown(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Number(value, decimals) => grouped_decimals(*value, *decimals),
            Self::Verdict(verdict, remark) => format!("{verdict}{remark}"),
            Self::None => "-".to_owned(),
        }
    }

    /// On a page: a verdict has the colour of its first word, unless its row is not counted.
    fn shown_on_page(&self) -> TableCell {
        match self {
            Self::Text(text) => text.as_str().into(),
            Self::Number(value, decimals) => TableCell::number(Some(*value), *decimals),
            Self::Verdict(verdict, remark) => {
                let colour = verdict.split(' ').next().filter(|_| remark.is_empty()).unwrap_or_default();
                TableCell::Verdict { t: format!("{verdict}{remark}"), c: colour.to_owned() }
            }
            Self::None => TableCell::None,
        }
    }

    /// For programs: all digits, and nothing for nothing.
    fn csv(&self) -> String {
        match self {
            Self::Text(text) => quoted(text),
            Self::Verdict(verdict, remark) => quoted(&format!("{verdict}{remark}")),
            Self::Number(value, _) => value.to_string(),
            Self::None => String::new(),
        }
    }
}

/// Bytes as text that a page can hold.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let word = (0..3).fold(0u32, |word, k| word << 8 | u32::from(chunk.get(k).copied().unwrap_or(0)));
        for k in 0..4 {
            let letter = LETTERS[(word >> (18 - 6 * k) & 63) as usize];
            out.push(if k <= chunk.len() { char::from(letter) } else { '=' });
        }
    }
    out
}

/// A field of a CSV file.
fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

/// A figure or a table of a study.
#[derive(Clone, Debug)]
pub struct Figure {
    /// Name of its files: `figure-7`.
    pub id: String,
    /// What it shows.
    pub title: String,
    /// How it was made, and how that differs from its model.
    pub note: String,
    /// Headings of the table.
    pub headings: Vec<String>,
    /// Its rows.
    pub rows: Vec<Vec<Cell>>,
    /// The same as a chart.
    pub chart: Option<Chart>,
    /// Pictures beside the page, with what they show.
    pub pictures: Vec<(String, String)>,
}

impl Figure {
    /// True if a column holds words, which begin at the left; numbers end at the right.
    fn has_words(&self, column: usize) -> bool {
        self.rows.iter().any(|row| matches!(row.get(column), Some(Cell::Text(_) | Cell::Verdict(..))))
    }

    /// The table for a terminal.
    pub fn text(&self) -> String {
        let align = |c: usize| if self.has_words(c) { Align::Left } else { Align::Right };
        let headings: Vec<_> = self.headings.iter().enumerate().map(|(c, h)| (h.as_str(), align(c))).collect();
        let rows: Vec<Vec<_>> = self.rows.iter().map(|row| row.iter().map(Cell::shown).collect()).collect();
        format!("{}: {}\n{}\n\n{}", self.id, self.title, self.note, columns(&headings, &rows))
    }

    fn csv(&self) -> String {
        let heads = self.headings.iter().map(|h| Cell::Text(h.clone()).csv()).collect::<Vec<_>>().join(",");
        let mut out = heads + "\n";
        for row in &self.rows {
            out += &(row.iter().map(Cell::csv).collect::<Vec<_>>().join(",") + "\n");
        }
        out
    }

    /// On the page: the chart, pictures, and the table, which is folded away if it is long and the chart shows what is in it.
    fn section(&self, directory: &Path, folds: bool) -> Section {
        let mut blocks = vec![Block::text(self.note.clone())];
        let below = self.headings.first().map_or("", String::as_str);
        blocks.extend(self.chart.as_ref().map(|chart| Block::Chart(chart.plot(&self.title, below))));
        for (file, caption) in &self.pictures {
            // A picture that is not there is left out: the table says all that it would.
            if let Ok(bytes) = std::fs::read(directory.join(file)) {
                let kind =
                    if Path::new(file).extension().is_some_and(|ending| ending == "svg") { "svg+xml" } else { "png" };
                let source = format!("data:image/{kind};base64,{}", base64(&bytes));
                blocks.push(Block::Picture { source, caption: caption.clone() });
            }
        }
        let kinds = ["csv"].into_iter().chain(self.chart.as_ref().map(|_| "svg"));
        blocks.push(Block::Files { names: kinds.map(|kind| format!("{}.{kind}", self.id)).collect() });
        let table = Block::Table(self.table());
        if folds && self.chart.is_some() && self.rows.len() > 12 {
            blocks.push(Block::Details { title: format!("Table: {} rows", self.rows.len()), blocks: vec![table] });
        } else {
            blocks.push(table);
        }
        Section { id: self.id.clone(), title: self.heading(), blocks }
    }

    /// The title, and which figure or table of a paper it is.
    fn heading(&self) -> String {
        let number = self.id.split("-beside").next().unwrap_or_default();
        if number.starts_with("figure-") || number.starts_with("table-") {
            format!("{} ({})", self.title, number.replace('-', " "))
        } else {
            self.title.clone()
        }
    }

    fn table(&self) -> Table {
        Table {
            name: self.id.clone(),
            headings: self.headings.clone(),
            rows: self.rows.iter().map(|row| row.iter().map(Cell::shown_on_page).collect()).collect(),
        }
    }
}

/// A page of figures.
#[derive(Clone, Debug)]
pub struct Page {
    /// Its title.
    pub title: String,
    /// What was run: machine, inputs, effort.
    pub introduction: String,
    /// What it comes to: its note stands with the headline; its table last, as on a terminal.
    pub summary: Option<Figure>,
    /// The figures.
    pub figures: Vec<Figure>,
}

impl Page {
    /// The page as a document, under its headline; pictures are taken from this directory.
    pub fn document(&self, headline: &[String], directory: &Path) -> Document {
        let note = self.summary.as_ref().map(|summary| summary.note.clone());
        let lead = headline.iter().cloned().chain(note).collect();
        let mut sections: Vec<Section> = self.summary.iter().map(|summary| summary.section(directory, false)).collect();
        sections.extend(self.figures.iter().map(|figure| figure.section(directory, true)));
        let how = Section {
            id: "how".into(),
            title: "What was run".into(),
            blocks: vec![Block::text(self.introduction.clone())],
        };
        sections.push(how);
        Document { title: self.title.clone(), lead, sections }
    }

    /// What it comes to, for a terminal: the headline, and the summary's table.
    pub fn brief(&self, headline: &[String]) -> String {
        let mut out = format!("{}\n", self.title);
        for line in headline {
            out += &wrapped(line, 100, 2);
        }
        if let Some(summary) = &self.summary {
            out += &wrapped(&summary.note, 100, 2);
        }
        out
    }

    /// All tables for a terminal.
    pub fn text(&self) -> String {
        let figures = self.figures.iter().chain(&self.summary).map(|f| f.text() + "\n").collect::<String>();
        format!("{}\n{}\n\n{figures}", self.title, self.introduction)
    }

    /// Writes `index.html`, and for each figure its table as CSV and its chart as SVG.
    pub fn save(&self, headline: &[String], directory: &Path) -> Result<(), LabError> {
        let write = |name: String, text: &str| {
            let path = directory.join(name);
            files::write_text(&path, text).map_err(|e| LabError::io("write", &path, e))
        };
        for figure in self.summary.iter().chain(&self.figures) {
            write(format!("{}.csv", figure.id), &figure.csv())?;
            if let Some(chart) = &figure.chart {
                write(format!("{}.svg", figure.id), &chart.svg())?;
            }
        }
        let document = self.document(headline, directory);
        let saved = serde_json::json!({ "document": document });
        write("reproduction.json".to_owned(), &format!("{saved:#}\n"))?;
        write("index.html".to_owned(), &document.html())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure() -> Figure {
        Figure {
            id: "figure-1".into(),
            title: "Ratios".into(),
            note: "made up".into(),
            headings: vec!["program".into(), "ratio, mean".into()],
            rows: vec![vec!["a<b".into(), Cell::Number(1.0 / 3.0, 2)], vec!["c".into(), Cell::None]],
            chart: None,
            pictures: vec![("a.png".into(), "a map".into())],
        }
    }

    #[test]
    fn tables_are_short_for_people_and_exact_for_programs() {
        assert_eq!(
            figure().text(),
            "figure-1: Ratios\nmade up\n\nprogram  ratio, mean\na<b             0.33\nc                  -\n"
        );
        assert_eq!(figure().csv(), "program,\"ratio, mean\"\na<b,0.3333333333333333\nc,\n");
    }

    #[test]
    fn bytes_become_letters() {
        assert_eq!([base64(b""), base64(b"f"), base64(b"fo"), base64(b"foobar")], ["", "Zg==", "Zm8=", "Zm9vYmFy"]);
    }

    #[test]
    fn a_page_is_saved_with_its_figures() {
        let page = Page { title: "T".into(), introduction: "I".into(), summary: None, figures: vec![figure()] };
        let directory = tempfile::tempdir().expect("a folder");
        std::fs::write(directory.path().join("a.png"), [1, 2]).expect("written");
        page.save(&[], directory.path()).expect("saved");
        let html = std::fs::read_to_string(directory.path().join("index.html")).expect("there");
        assert!(
            html.contains("a\\u003cb") && html.contains("data:image/png;base64,AQI="),
            "the picture is in the page"
        );
        let saved = std::fs::read_to_string(directory.path().join("reproduction.json")).expect("there");
        assert!(saved.contains("\"document\""), "`strata report` makes the page anew");
        assert!(directory.path().join("figure-1.csv").is_file());
        assert!(html.contains("\"figure-1.csv\""), "the page links what lies beside it");
        assert!(html.contains("Ratios (figure 1)"));
        assert_eq!(Figure { id: "beside-the-paper".into(), ..figure() }.heading(), "Ratios");
        assert_eq!(Figure { id: "figure-2-beside".into(), ..figure() }.heading(), "Ratios (figure 2)");
    }
}
