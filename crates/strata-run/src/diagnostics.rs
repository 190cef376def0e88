//! Errors of a launch file or a GPU, each with the place it is about; rendered by the PTX front end's own renderer, so that all
//! errors look alike.

use std::fmt;
use std::ops::Range;
pub use strata_core::config::Diagnostic;
use strata_ptx::ast::Span;

/// A hostile file can hold a mistake on every line; nobody reads more than this many.
const MOST_SHOWN: usize = 50;

/// All errors of one file, in the order of the file.
#[derive(Clone, Debug)]
pub struct Diagnostics {
    path: String,
    text: String,
    list: Vec<Diagnostic>,
}

impl Diagnostics {
    /// The errors `list` of the file `path` that holds `text`.
    pub fn new(path: impl Into<String>, text: impl Into<String>, mut list: Vec<Diagnostic>) -> Self {
        list.sort_by_key(|d| (d.span.start, d.span.end));
        Self { path: path.into(), text: text.into(), list }
    }

    /// The text that they are about.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// All diagnostics, in the order of the text.
    pub fn list(&self) -> &[Diagnostic] {
        &self.list
    }

    /// The line, counted from 1, that holds the first byte of `span`.
    pub fn line(&self, span: &Range<usize>) -> usize {
        let end = span.start.min(self.text.len());
        1 + self.text.bytes().take(end).filter(|&b| b == b'\n').count()
    }

    /// The errors as text for a terminal, with or without colours.
    pub fn render(&self, colours: bool) -> String {
        let offset = |at: usize| u32::try_from(at.min(self.text.len())).unwrap_or(u32::MAX);
        let shown: Vec<_> = self
            .list
            .iter()
            .take(MOST_SHOWN)
            .map(|d| {
                let span = Span { start: offset(d.span.start), end: offset(d.span.end.max(d.span.start)) };
                strata_ptx::Diagnostic::error(&*d.message, span).with_help(d.help.clone())
            })
            .collect();
        let mut out = strata_ptx::render(&self.path, &self.text, &shown, colours);
        if let Some(more) = self.list.len().checked_sub(MOST_SHOWN).filter(|&more| more > 0) {
            out.extend(["… and ", &more.to_string(), " more errors\n\n"]);
        }
        let errors = if self.list.len() == 1 { "1 error".to_owned() } else { format!("{} errors", self.list.len()) };
        out + &format!("{}: {errors}", self.path)
    }
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(false))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_outside_the_text_or_inside_a_character_are_shown_anyway() {
        let list = [0..1, 1..2, 90..99].map(|span| Diagnostic {
            span,
            message: "wrong".into(),
            help: Some("right it".into()),
        });
        let shown = Diagnostics::new("x.toml", "é = 1", list.to_vec()).render(false);
        assert_eq!(shown.matches("error: wrong").count(), 3, "{shown}");
        assert!(shown.ends_with("x.toml: 3 errors"), "{shown}");
    }

    #[test]
    fn a_flood_of_errors_is_cut() {
        let one = Diagnostic { span: 0..1, message: "wrong".into(), help: None };
        let shown = Diagnostics::new("x.toml", "x = 1", vec![one; MOST_SHOWN + 7]).render(false);
        assert_eq!(shown.matches("error: wrong").count(), MOST_SHOWN);
        assert!(shown.contains("and 7 more errors"));
    }
}
