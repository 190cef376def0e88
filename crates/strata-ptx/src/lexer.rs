//! Text to tokens.
//!
//! A name carries its dotted words (`ld.global.v4.f32`, `%tid.x`) as one token: the parser looks the whole spelling of
//! an instruction up at once. Invariants: tokens are in order, never overlap, and the last one is [`Kind::End`].

use crate::ast::Span;
use crate::diagnostic::Diagnostic;
use logos::{Lexer, Logos};

/// What a token is.
#[derive(Logos, Clone, Copy, PartialEq, Eq, Debug)]
#[logos(skip r"[ \t\r\n\f]+")]
#[logos(skip(r"(//|#)[^\n]*", allow_greedy = true))]
#[repr(u8)]
pub(crate) enum Kind {
    /// An identifier with the dotted words that follow it.
    #[regex(r"([A-Za-z_$]|%[A-Za-z0-9_$])[A-Za-z0-9_$]*(\.[A-Za-z0-9_]+(::[A-Za-z0-9_]+)*)*")]
    Name,
    /// A directive, or a modifier that stands apart: `.reg`.
    #[regex(r"\.[A-Za-z_][A-Za-z0-9_]*(::[A-Za-z0-9_]+)*")]
    Directive,
    #[regex(r"[0-9]+U?|0[xX][0-9a-fA-F]+U?|0[bB][01]+U?")]
    Int,
    #[regex(r"([0-9]+\.[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+")]
    Float,
    #[regex(r"0[fF][0-9a-fA-F]{8}")]
    HexF32,
    #[regex(r"0[dD][0-9a-fA-F]{16}")]
    HexF64,
    #[token("\"", string)]
    Str,
    #[token("{")]
    LBrace,
    #[token("}")]
    RBrace,
    #[token("(")]
    LParen,
    #[token(")")]
    RParen,
    #[token("[")]
    LBracket,
    #[token("]")]
    RBracket,
    #[token("<")]
    Less,
    #[token(">")]
    Greater,
    #[token(",")]
    Comma,
    #[token(";")]
    Semicolon,
    #[token(":")]
    Colon,
    #[token("|")]
    Pipe,
    #[token("+")]
    Plus,
    #[token("-")]
    Minus,
    #[token("*")]
    Star,
    #[token("/")]
    Slash,
    #[token("%")]
    Percent,
    #[token("&")]
    Ampersand,
    #[token("^")]
    Caret,
    #[token("~")]
    Tilde,
    #[token("!")]
    Bang,
    #[token("?")]
    Question,
    #[token("=")]
    Equals,
    #[token("@")]
    At,
    #[token("/*", comment)]
    Comment,
    /// Past the last token.
    End,
}

/// Moves past the closing quote; false if the line ends first.
fn string(lexer: &mut Lexer<'_, Kind>) -> bool {
    let rest = lexer.remainder().as_bytes();
    let mut at = 0;
    while let Some(&byte) = rest.get(at) {
        match byte {
            b'"' => {
                lexer.bump(at + 1);
                return true;
            }
            b'\n' => break,
            b'\\' if rest.get(at + 1).is_some_and(|b| b.is_ascii() && *b != b'\n') => at += 2,
            _ => at += 1,
        }
    }
    lexer.bump(at);
    false
}

/// Moves past `*/`; an unterminated comment takes the rest of the file.
fn comment(lexer: &mut Lexer<'_, Kind>) -> logos::Filter<()> {
    if let Some(at) = lexer.remainder().find("*/") {
        lexer.bump(at + 2);
        logos::Filter::Skip
    } else {
        lexer.bump(lexer.remainder().len());
        logos::Filter::Emit(())
    }
}

/// One token.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) span: Span,
}

/// Splits `text` (shorter than 4 GiB) into tokens; what is no token is reported once per run of such characters.
pub(crate) fn tokens(text: &str, diagnostics: &mut Vec<Diagnostic>) -> Vec<Token> {
    let mut out = Vec::with_capacity(text.len() / 6 + 1);
    let mut bad: Option<Span> = None;
    for (kind, range) in Kind::lexer(text).spanned() {
        let span = Span { start: range.start as u32, end: range.end as u32 };
        match kind {
            Ok(Kind::Comment) => {
                let open = Span { start: span.start, end: span.start + 2 };
                diagnostics
                    .push(Diagnostic::error("unterminated comment", open).with_help("close it with `*/`".to_owned()));
            }
            Ok(kind) => out.push(Token { kind, span }),
            Err(()) if text[range.clone()].starts_with('"') => {
                diagnostics.push(
                    Diagnostic::error("unterminated string", span)
                        .with_help("close it with `\"` on the same line".to_owned()),
                );
                out.push(Token { kind: Kind::Str, span });
            }
            Err(()) => match &mut bad {
                Some(run) if run.end == span.start => run.end = span.end,
                _ => {
                    report_run(text, bad.replace(span), diagnostics);
                }
            },
        }
    }
    report_run(text, bad, diagnostics);
    let end = text.len() as u32;
    out.push(Token { kind: Kind::End, span: Span { start: end, end } });
    out
}

fn report_run(text: &str, run: Option<Span>, diagnostics: &mut Vec<Diagnostic>) {
    if let Some(span) = run {
        let shown: String = text[span.start as usize..span.end as usize].chars().take(20).collect();
        diagnostics.push(Diagnostic::error(format!("`{}` has no meaning in PTX", shown.escape_debug()), span));
    }
}
