//! Figures with their tables, and the page that shows them.

use super::Chart;
use super::chart::escaped;
use std::fmt::Write;
use std::path::Path;
use strata_core::files;
use strata_run::LabError;
use strata_run::table::{Align, columns};

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
            Self::Number(value, decimals) => format!("{value:.decimals$}"),
            Self::Verdict(verdict, remark) => format!("{verdict}{remark}"),
            Self::None => "-".to_owned(),
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

    fn html(&self) -> String {
        let mut out = format!(
            "<section id=\"{0}\">\n<h2>{1} <small>{0}</small></h2>\n<p>{2}</p>\n",
            self.id,
            escaped(&self.title),
            escaped(&self.note)
        );
        if let Some(chart) = &self.chart {
            // Writing to a string cannot fail.
            let _ = writeln!(out, "<div class=\"chart\">{}</div>", chart.svg());
        }
        for (file, text) in &self.pictures {
            let _ = writeln!(
                out,
                "<figure><img src=\"{0}\" alt=\"{1}\"><figcaption>{1}</figcaption></figure>",
                escaped(file),
                escaped(text)
            );
        }
        let _ = writeln!(out, "<p class=\"files\">{}</p>", self.links());
        out += "<div class=\"wide\"><table><thead><tr>";
        let class = |words: bool| if words { "" } else { " class=\"n\"" };
        for (column, heading) in self.headings.iter().enumerate() {
            let _ = write!(out, "<th{}>{}</th>", class(self.has_words(column)), escaped(heading));
        }
        out += "</tr></thead><tbody>\n";
        for row in &self.rows {
            out += "<tr>";
            for cell in row {
                let _ = match cell {
                    // Its first word is the name of its colour; a row that is not counted has none.
                    Cell::Verdict(verdict, remark) if remark.is_empty() => {
                        let colour = verdict.split(' ').next().unwrap_or_default();
                        write!(out, "<td><span class=\"verdict {colour}\">{verdict}</span></td>")
                    }
                    cell => {
                        let words = matches!(cell, Cell::Text(_) | Cell::Verdict(..));
                        write!(out, "<td{}>{}</td>", class(words), escaped(&cell.shown()))
                    }
                };
            }
            out += "</tr>\n";
        }
        out + "</tbody></table></div>\n</section>\n"
    }

    /// Links to its files.
    fn links(&self) -> String {
        let link = |ending: &str| format!("<a href=\"{0}.{ending}\">{0}.{ending}</a>", escaped(&self.id));
        let chart = self.chart.as_ref().map_or_else(String::new, |_| format!(", {}", link("svg")));
        format!("{}{chart}", link("csv"))
    }
}

/// A page of figures.
#[derive(Clone, Debug)]
pub struct Page {
    /// Its title.
    pub title: String,
    /// What stands above the figures.
    pub introduction: String,
    /// What it comes to: its note stands first on the page; its table last, as on a terminal.
    pub summary: Option<Figure>,
    /// The figures.
    pub figures: Vec<Figure>,
}

const STYLE: &str = ":root{color-scheme:light dark;--ink:#222;--paper:#fff;--faint:#767676;--line:#ddd}\
@media(prefers-color-scheme:dark){:root{--ink:#ddd;--paper:#16181c;--faint:#999;--line:#3a3d44}.chart{background:#fff;color:#222}}\
body{font:14px/1.45 sans-serif;max-width:1200px;margin:2em auto;padding:0 1em;color:var(--ink);background:var(--paper)}\
table{border-collapse:collapse;margin:1em 0}th,td{padding:2px 10px;border-bottom:1px solid var(--line);text-align:left}\
h2 small,.files{font-weight:normal;color:var(--faint)}.files{font-size:12px}.files a{color:inherit}\
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}.chart,.wide{overflow-x:auto}\
.verdict{padding:0 6px;border-radius:3px;color:#222}.close{background:#9fd8a4}.higher,.lower{background:#f0d48a}\
.opposite{background:#f0a59c}.not{background:#ccc}\
figure{display:inline-block;margin:0 12px 12px 0;vertical-align:top}img{image-rendering:pixelated;max-height:420px;max-width:100%}\
figcaption{font-size:12px}nav a{margin-right:1em;color:inherit}.found{font-size:16px}";

impl Page {
    /// The page as one document; pictures stand beside it.
    pub fn html(&self) -> String {
        let mut links = String::new();
        // Pictures before the long table.
        let all = || self.figures.iter().chain(&self.summary);
        for figure in all() {
            // Writing to a string cannot fail.
            let _ = write!(links, "<a href=\"#{0}\">{0}</a>", figure.id);
        }
        let figures = all().map(Figure::html).collect::<String>();
        let found = self
            .summary
            .as_ref()
            .map_or_else(String::new, |summary| format!("<p class=\"found\">{}</p>\n", escaped(&summary.note)));
        format!(
            "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
             <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\"><title>{0}</title><style>{STYLE}</style></head><body>\n\
             <h1>{0}</h1>\n{found}<p>{1}</p>\n<nav>{links}</nav>\n{figures}</body></html>\n",
            escaped(&self.title),
            escaped(&self.introduction),
        )
    }

    /// All tables for a terminal.
    pub fn text(&self) -> String {
        let figures = self.figures.iter().chain(&self.summary).map(|f| f.text() + "\n").collect::<String>();
        format!("{}\n{}\n\n{figures}", self.title, self.introduction)
    }

    /// Writes `index.html`, and for each figure its table as CSV and its chart as SVG.
    pub fn save(&self, directory: &Path) -> Result<(), LabError> {
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
        write("index.html".to_owned(), &self.html())
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
    fn a_page_is_saved_with_its_figures() {
        let page = Page { title: "T".into(), introduction: "I".into(), summary: None, figures: vec![figure()] };
        let directory = tempfile::tempdir().expect("a folder");
        page.save(directory.path()).expect("saved");
        let html = std::fs::read_to_string(directory.path().join("index.html")).expect("there");
        assert!(html.contains("<td>a&lt;b</td>") && html.contains("a.png"));
        assert!(directory.path().join("figure-1.csv").is_file());
    }
}
