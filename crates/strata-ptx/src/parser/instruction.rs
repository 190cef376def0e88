//! Instructions: spelling, operands, and the form of the table they match.

use super::scope::Body;
use super::{Parser, Result, abbreviated};
use crate::ast::{Guard, Instruction, Operand, SourceLine, Span};
use crate::check;
use crate::diagnostic::Diagnostic;
use crate::isa::{Form, Mismatch, forms_of, matching, mismatch};
use crate::lexer::Kind;
use crate::words::{Opcode, Word};
use rustc_hash::FxHashMap;
use std::fmt::Write;
use std::rc::Rc;
use strata_core::nearest::nearest;

/// An opcode with its modifiers, understood once per file.
pub(super) struct Spelling {
    op: Opcode,
    words: Vec<Word>,
    forms: Vec<&'static Form>,
}

/// Why a spelling means nothing, and which of its bytes are at fault.
struct Fault {
    message: String,
    help: Option<String>,
    from: u32,
    to: u32,
}

/// The spellings of a file. Modules repeat a few hundred of them millions of times.
#[derive(Default)]
pub(super) struct Spellings<'a> {
    known: FxHashMap<&'a str, Rc<std::result::Result<Spelling, Fault>>>,
    /// Where the operands of the instruction at hand stand.
    operand_spans: Vec<Span>,
}

impl<'a> Parser<'a> {
    /// `@p opcode.modifiers operands;`.
    pub(super) fn instruction(&mut self, body: &mut Body<'a>, loc: Option<SourceLine>) -> Result<()> {
        let start = self.span();
        let guard = if self.eat(Kind::At) { Some(self.guard(body)?) } else { None };
        let (text, span) = self.name("an instruction")?;
        let spelling = self.spelling(text, span);
        let spelling = match &*spelling {
            Ok(spelling) => spelling,
            Err(fault) => {
                let at = Span { start: span.start + fault.from, end: span.start + fault.to };
                let diagnostic = Diagnostic::error(fault.message.clone(), at).with_help(fault.help.clone());
                return Err(self.report(diagnostic));
            }
        };
        self.spellings.operand_spans.clear();
        let mut operands = match spelling.op {
            Opcode::Call => self.call_operands(body)?,
            Opcode::Bra => {
                let (name, span) = self.name("a label")?;
                self.spellings.operand_spans.push(span);
                vec![Operand::Label(body.label(name, span))]
            }
            _ => self.operands(body)?,
        };
        if self.kind() != Kind::Semicolon {
            return Err(self.expected("`,` or `;`"));
        }
        let span = self.since(start);
        let registers = &body.function.registers;
        let spans = &self.spellings.operand_spans;
        match check::select(&spelling.forms, &spelling.words, &mut operands, registers) {
            Ok(form) => body.function.instructions.push(Instruction {
                op: spelling.op,
                words: spelling.words.clone(),
                outputs: if spelling.op == Opcode::Call { 1 } else { form.outputs.min(operands.len() as u8) },
                operands,
                guard,
                form: form.id,
                executes: form.executes,
                span,
                loc,
            }),
            Err(misfits) => {
                for misfit in misfits {
                    let at = misfit.operand.and_then(|at| spans.get(at)).copied().unwrap_or(span);
                    self.diagnostics.push(Diagnostic::error(misfit.message, at).with_help(misfit.help));
                }
            }
        }
        self.bump();
        Ok(())
    }

    fn guard(&mut self, body: &mut Body<'a>) -> Result<Guard> {
        let negated = self.eat(Kind::Bang);
        let span = self.span();
        match self.operand(body)? {
            Operand::Register(register) => {
                if body.function.registers[register.0 as usize].ty != crate::ast::Type::Pred {
                    self.error("a guard is a predicate register", span);
                }
                Ok(Guard { register, negated })
            }
            _ => Err(self.error("a guard is a predicate register", span)),
        }
    }

    fn operands(&mut self, body: &mut Body<'a>) -> Result<Vec<Operand>> {
        let mut out = Vec::with_capacity(4);
        if self.kind() == Kind::Semicolon {
            return Ok(out);
        }
        loop {
            let start = self.span();
            out.push(self.operand(body)?);
            let span = self.since(start);
            self.spellings.operand_spans.push(span);
            if !self.eat(Kind::Comma) {
                return Ok(out);
            }
        }
    }

    /// `(returns), callee, (arguments), list` with all but the callee optional, as four operands.
    fn call_operands(&mut self, body: &mut Body<'a>) -> Result<Vec<Operand>> {
        let mut returns = Vec::new();
        if self.kind() == Kind::LParen {
            returns = self.call_list(body)?;
            self.expect(Kind::Comma, "`,`")?;
        }
        let start = self.span();
        let callee = self.operand(body)?;
        let callee_span = self.since(start);
        if !matches!(callee, Operand::Symbol(..) | Operand::Register(_)) {
            return Err(self.error("a call names a function or a register that holds its address", callee_span));
        }
        let mut arguments = Vec::new();
        let mut list = Operand::Sink;
        if self.eat(Kind::Comma) {
            let mut more = true;
            if self.kind() == Kind::LParen {
                arguments = self.call_list(body)?;
                more = self.eat(Kind::Comma);
            }
            if more {
                let start = self.span();
                list = self.operand(body)?;
                if !matches!(list, Operand::List(_)) {
                    let message = "an indirect call ends with a `.callprototype` or `.calltargets` name";
                    return Err(self.error(message, self.since(start)));
                }
            }
        }
        Ok(vec![Operand::Vector(returns), callee, Operand::Vector(arguments), list])
    }

    fn call_list(&mut self, body: &mut Body<'a>) -> Result<Vec<Operand>> {
        self.expect(Kind::LParen, "`(`")?;
        let mut out = Vec::new();
        while self.kind() != Kind::RParen {
            out.push(self.operand(body)?);
            if !self.eat(Kind::Comma) {
                break;
            }
        }
        self.expect(Kind::RParen, "`,` or `)`")?;
        Ok(out)
    }

    /// Understands a spelling, once.
    fn spelling(&mut self, text: &'a str, span: Span) -> Rc<std::result::Result<Spelling, Fault>> {
        // Modifiers set apart from the opcode: `ld .global .u32`.
        if self.kind() == Kind::Directive {
            while self.kind() == Kind::Directive {
                self.bump();
            }
            let joined: String = self.slice(self.since(span)).split_whitespace().collect();
            return Rc::new(understand(&joined));
        }
        if let Some(known) = self.spellings.known.get(text) {
            return Rc::clone(known);
        }
        let spelling = Rc::new(understand(text));
        self.spellings.known.insert(text, Rc::clone(&spelling));
        spelling
    }
}

fn understand(text: &str) -> std::result::Result<Spelling, Fault> {
    let mut parts = text.split('.');
    let name = parts.next().unwrap_or_default();
    let Some(op) = Opcode::parse(name) else {
        let known = nearest(name, Opcode::ALL.iter().map(|op| op.name()));
        return Err(Fault {
            message: format!("unknown instruction `{}`", abbreviated(name)),
            help: known.map(|known| format!("did you mean `{known}`?")),
            from: 0,
            to: name.len() as u32,
        });
    };
    let mut words = Vec::new();
    let mut at = name.len() as u32;
    let mut spans = Vec::new();
    for part in parts {
        let span = (at, at + 1 + part.len() as u32);
        let Some(word) = Word::parse(part) else {
            return Err(unknown_modifier(op, part, span));
        };
        words.push(word);
        spans.push(span);
        at = span.1;
    }
    let forms = matching(op, &words);
    if !forms.is_empty() {
        return Ok(Spelling { op, words, forms });
    }
    Err(match mismatch(op, &words) {
        Mismatch::Unknown(index) => unknown_modifier(op, words[index].name(), spans[index]),
        Mismatch::Combination => Fault {
            message: format!("`{}` is no form of `{}`", abbreviated(text), op.name()),
            help: Some(format!("its forms are {}", some_forms(op))),
            from: 0,
            to: text.len() as u32,
        },
    })
}

fn unknown_modifier(op: Opcode, part: &str, (from, to): (u32, u32)) -> Fault {
    let known = forms_of(op).flat_map(|form| form.slots.iter()).flat_map(|slot| slot.words.iter());
    let help = match nearest(part, known.map(|word| word.name())) {
        Some(known) => format!("did you mean `.{known}`?"),
        None => format!("its forms are {}", some_forms(op)),
    };
    Fault { message: format!("`{}` has no modifier `.{}`", op.name(), abbreviated(part)), help: Some(help), from, to }
}

/// The first few forms of an opcode as the table spells them.
fn some_forms(op: Opcode) -> String {
    const SHOWN: usize = 4;
    let mut names: Vec<&str> = forms_of(op).map(|form| form.text.split(' ').next().unwrap_or_default()).collect();
    names.dedup();
    let more = names.len().saturating_sub(SHOWN);
    names.truncate(SHOWN);
    let mut out = names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    if more > 0 {
        let _ = write!(out, " and {more} more");
    }
    out
}
