//! PTX text to a typed module, with a compiler's diagnostics, and the analyses that other rooms need.
//!
//! ```
//! let text = ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry k() { ret; }\n";
//! let parsed = strata_ptx::parse("k.ptx", text);
//! let module = parsed.module.expect("no errors");
//! assert_eq!(module.entry("k").unwrap().instructions.len(), 1);
//!
//! let parsed = strata_ptx::parse("k.ptx", &text.replace("ret", "rett"));
//! assert!(parsed.module.is_none());
//! assert!(parsed.render(text, false).contains("did you mean `ret`?"));
//! ```
//!
//! Invariants: parsing never panics, takes time and memory linear in the text, and reports every error of a file; a
//! module is given out only if there is none.

pub mod analysis;
pub mod ast;
mod check;
mod diagnostic;
mod isa;
mod kind;
mod lexer;
mod parser;
mod print;
mod source;
pub mod words;

pub use diagnostic::{Diagnostic, Severity, render};
pub use isa::{Form, FormId, SAMPLE_REGISTERS, coverage_table, forms};
pub use kind::kind_of;
pub use source::LineIndex;

use ast::{Module, Span};

/// What parsing a file gives.
#[derive(Clone, PartialEq, Debug)]
pub struct Parsed {
    /// The name of the file, for messages.
    pub name: String,
    /// The module, unless there are errors.
    pub module: Option<Module>,
    /// Findings, in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
}

impl Parsed {
    /// The findings as a compiler would print them; `text` is what was parsed.
    pub fn render(&self, text: &str, color: bool) -> String {
        render(&self.name, text, &self.diagnostics, color)
    }
}

/// Parses and checks a PTX module; `name` is that of its file, for messages.
pub fn parse(name: &str, text: &str) -> Parsed {
    // Spans are 32 bits wide.
    if u32::try_from(text.len()).is_err() {
        let diagnostics = vec![Diagnostic::error("the file is larger than 4 GiB", Span::default())];
        return Parsed { name: name.to_owned(), module: None, diagnostics };
    }
    let (module, diagnostics) = parser::parse(text);
    let failed = diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error);
    Parsed { name: name.to_owned(), module: (!failed).then_some(module), diagnostics }
}
