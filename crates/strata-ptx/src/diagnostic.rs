//! What is wrong with a file, where, and what to do: [`Diagnostic`], and its rendering in the manner of rustc.

use crate::ast::Span;
use crate::source::LineIndex;
use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};

/// How bad it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Severity {
    /// The module cannot be used.
    Error,
    /// The module can be used.
    Warning,
}

/// One finding in a source file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong, in one line.
    pub message: String,
    /// The text at fault.
    pub span: Span,
    /// Other places that explain it, each with its words.
    pub labels: Vec<(Span, String)>,
    /// What to do about it.
    pub help: Option<String>,
}

impl Diagnostic {
    /// An error at `span`.
    pub fn error(message: impl Into<String>, span: Span) -> Self {
        Self { severity: Severity::Error, message: message.into(), span, labels: Vec::new(), help: None }
    }

    /// A warning at `span`.
    pub fn warning(message: impl Into<String>, span: Span) -> Self {
        Self { severity: Severity::Warning, ..Self::error(message, span) }
    }

    /// Adds what to do, if anything is known.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<Option<String>>) -> Self {
        self.help = help.into();
        self
    }

    /// Adds a place that explains the finding.
    #[must_use]
    pub fn with_label(mut self, span: Span, words: impl Into<String>) -> Self {
        self.labels.push((span, words.into()));
        self
    }
}

/// The longest stretch of a line that is quoted: generated files hold lines of megabytes.
const QUOTED: usize = 400;

/// Renders findings as a compiler would, each with the line at fault, one after another.
///
/// `name` and `text` are those of the file that was parsed; `color` asks for ANSI colours.
pub fn render(name: &str, text: &str, diagnostics: &[Diagnostic], color: bool) -> String {
    let index = LineIndex::new(text);
    let renderer = if color { Renderer::styled() } else { Renderer::plain() };
    let mut out = String::new();
    for diagnostic in diagnostics {
        out.push_str(&renderer.render(&[report(name, text, &index, diagnostic)]));
        out.push_str("\n\n");
    }
    out
}

fn report<'a>(name: &'a str, text: &'a str, index: &LineIndex, diagnostic: &'a Diagnostic) -> Group<'a> {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let mut group = level.primary_title(&*diagnostic.message).element(quote(
        name,
        text,
        index,
        diagnostic.span,
        AnnotationKind::Primary,
        "",
    ));
    for (span, words) in &diagnostic.labels {
        group = group.element(quote(name, text, index, *span, AnnotationKind::Context, words));
    }
    if let Some(help) = &diagnostic.help {
        group = group.element(Level::HELP.message(&**help));
    }
    group
}

/// The first line of `span` with a mark under it. Only that line is handed to the renderer, so that rendering costs
/// the same in a file of any size.
fn quote<'a>(
    name: &'a str,
    text: &'a str,
    index: &LineIndex,
    span: Span,
    kind: AnnotationKind,
    words: &'a str,
) -> Snippet<'a, annotate_snippets::Annotation<'a>> {
    let line = index.line(span.start);
    let whole = index.range(line, text);
    let at = (span.start as usize).clamp(whole.start, whole.end);
    let from = if at - whole.start > QUOTED { floor(text, at - QUOTED / 2) } else { whole.start };
    let to = if whole.end - from > 2 * QUOTED { floor(text, from + 2 * QUOTED) } else { whole.end };
    let mark = floor(text, at.min(to)) - from..floor(text, (span.end as usize).clamp(at, to)) - from;
    let annotation = kind.span(mark);
    let annotation = if words.is_empty() { annotation } else { annotation.label(words) };
    Snippet::source(&text[from..to]).line_start(line as usize).path(name).annotation(annotation)
}

/// The nearest character boundary at or below `at`.
fn floor(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}
