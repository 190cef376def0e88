//! Tokens to a [`Module`]: recursive descent, one statement at a time.
//!
//! A statement that fails is reported where it fails and skipped (to its `;`, or to the `}` that ends its block), so one
//! pass reports everything. Invariants: time and memory are linear in the text (declared registers come into being
//! when used), recursion is bounded by [`DEEPEST`], and every name in a module without errors is resolved.

mod constant;
mod function;
mod instruction;
mod module;
mod operand;
mod scope;
mod variable;

use crate::ast::{Function, Immediate, Module, Span, Symbol, Type};
use crate::diagnostic::Diagnostic;
use crate::lexer::{Kind, Token, tokens};
use crate::words::Word;
pub(crate) use constant::convert;
use instruction::Spellings;
use rustc_hash::FxHashMap;

/// How deep blocks, initialisers and expressions may nest.
const DEEPEST: usize = 200;

/// How many undeclared names get a suggestion: finding one looks at every name there is.
const MOST_SUGGESTIONS: u32 = 100;

/// The error has been reported; whoever receives this skips to where parsing can go on.
#[derive(Debug)]
struct Reported;

type Result<T> = std::result::Result<T, Reported>;

struct Parser<'a> {
    text: &'a str,
    tokens: Vec<Token>,
    at: usize,
    diagnostics: Vec<Diagnostic>,
    module: Module,
    /// What a name at module scope stands for; an alias stands for its target.
    names: FxHashMap<&'a str, Symbol>,
    /// Every function named in the file, found before parsing, so that calls may come before definitions.
    function_ids: FxHashMap<&'a str, u32>,
    functions: Vec<Option<Function>>,
    spellings: Spellings<'a>,
    suggestions: u32,
}

/// Parses a text of less than 4 GiB; the module is complete only if no diagnostic is an error.
pub(crate) fn parse(text: &str) -> (Module, Vec<Diagnostic>) {
    let mut diagnostics = Vec::new();
    let tokens = tokens(text, &mut diagnostics);
    let mut parser = Parser {
        text,
        tokens,
        at: 0,
        diagnostics,
        module: Module { address_size: 32, ..Module::default() },
        names: FxHashMap::default(),
        function_ids: FxHashMap::default(),
        functions: Vec::new(),
        spellings: Spellings::default(),
        suggestions: 0,
    };
    parser.scan_functions();
    parser.module();
    let mut diagnostics = parser.diagnostics;
    diagnostics.sort_by_key(|d| d.span.start);
    (parser.module, diagnostics)
}

impl<'a> Parser<'a> {
    fn kind(&self) -> Kind {
        self.tokens[self.at].kind
    }

    /// The kind of the token `n` ahead.
    fn ahead(&self, n: usize) -> Kind {
        self.tokens.get(self.at + n).map_or(Kind::End, |token| token.kind)
    }

    /// The text of the token `n` ahead.
    fn text_ahead(&self, n: usize) -> &'a str {
        self.tokens.get(self.at + n).map_or("", |token| self.slice(token.span))
    }

    fn span(&self) -> Span {
        self.tokens[self.at].span
    }

    /// From the start of `from` to the end of the last token taken.
    fn since(&self, from: Span) -> Span {
        let end = self.tokens[self.at.saturating_sub(1)].span.end;
        Span { start: from.start, end: end.max(from.end) }
    }

    fn slice(&self, span: Span) -> &'a str {
        &self.text[span.start as usize..span.end as usize]
    }

    /// The text of the current token.
    fn word(&self) -> &'a str {
        self.slice(self.span())
    }

    /// Takes a token; the last one stays.
    fn bump(&mut self) {
        self.at = (self.at + 1).min(self.tokens.len() - 1);
    }

    fn eat(&mut self, kind: Kind) -> bool {
        let found = self.kind() == kind;
        if found {
            self.bump();
        }
        found
    }

    /// Takes the current token if it is that directive.
    fn eat_directive(&mut self, name: &str) -> bool {
        let found = self.kind() == Kind::Directive && self.word() == name;
        if found {
            self.bump();
        }
        found
    }

    fn error(&mut self, message: impl Into<String>, span: Span) -> Reported {
        self.report(Diagnostic::error(message, span))
    }

    fn report(&mut self, diagnostic: Diagnostic) -> Reported {
        self.diagnostics.push(diagnostic);
        Reported
    }

    /// Reports that something else should stand here.
    fn expected(&mut self, what: &str) -> Reported {
        let span = self.span();
        let found = match self.kind() {
            Kind::End => "the end of the file".to_owned(),
            _ => format!("`{}`", abbreviated(self.slice(span))),
        };
        self.error(format!("expected {what}, found {found}"), span)
    }

    fn expect(&mut self, kind: Kind, what: &str) -> Result<Span> {
        let span = self.span();
        if self.eat(kind) { Ok(span) } else { Err(self.expected(what)) }
    }

    fn name(&mut self, what: &str) -> Result<(&'a str, Span)> {
        let span = self.expect(Kind::Name, what)?;
        Ok((self.slice(span), span))
    }

    fn integer(&mut self, what: &str) -> Result<u32> {
        let span = self.span();
        let value = self.constant(what)?;
        match value {
            Immediate::Int(n) if u32::try_from(n).is_ok() => Ok(n as u32),
            _ => Err(self.error(format!("{what} must be a whole number below 2^32"), self.since(span))),
        }
    }

    /// The type the current directive names, if it names one; takes it.
    fn eat_type(&mut self) -> Option<Type> {
        if self.kind() != Kind::Directive {
            return None;
        }
        let ty = match &self.word()[1..] {
            "texref" => Type::Texref,
            "samplerref" => Type::Samplerref,
            "surfref" => Type::Surfref,
            name => Word::parse(name)?.as_type()?,
        };
        self.bump();
        Some(ty)
    }

    /// Skips a statement that failed, from its first token on so that its braces are counted: past its `;`, or up to
    /// the `}` that closes the block around it.
    fn skip_statement(&mut self, start: usize) {
        let failed_at = self.at;
        self.at = start;
        let mut depth = 0u32;
        loop {
            match self.kind() {
                Kind::Semicolon if self.at >= failed_at || depth == 0 => {
                    self.bump();
                    return;
                }
                Kind::LBrace => depth += 1,
                Kind::RBrace if depth == 0 => return,
                Kind::RBrace => depth -= 1,
                Kind::End => return,
                _ => {}
            }
            self.bump();
        }
    }
}

/// At most a line's worth of what was found.
fn abbreviated(text: &str) -> String {
    let mut shown: String = text.chars().take(40).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}
