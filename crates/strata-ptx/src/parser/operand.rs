//! Operands, and what the names in them stand for.

use super::scope::{Body, Entity};
use super::{MOST_SUGGESTIONS, Parser, Reported, Result};
use crate::ast::{Base, Immediate, Operand, RegId, Span};
use crate::diagnostic::Diagnostic;
use crate::lexer::Kind;
use crate::words::{Special, Word};
use strata_core::nearest::nearest;

impl<'a> Parser<'a> {
    /// One operand, as its syntax has it; the instruction table judges it later.
    pub(super) fn operand(&mut self, body: &mut Body<'a>) -> Result<Operand> {
        let first = match self.kind() {
            Kind::LBrace => self.vector(body)?,
            Kind::LBracket => return self.address(body),
            Kind::Bang if self.ahead(1) == Kind::Name => {
                self.bump();
                let span = self.span();
                match self.named(body)? {
                    Operand::Register(register) => Operand::Not(register),
                    _ => return Err(self.error("`!` takes a predicate register", span)),
                }
            }
            Kind::Minus if self.ahead(1) == Kind::Name && !self.is_warp_size(1) => {
                let span = self.span();
                self.bump();
                return Err(self.error("a negated register is no operand here", self.since(span)));
            }
            Kind::Name if !self.is_warp_size(0) => self.named(body)?,
            _ => return Ok(Operand::Immediate(self.constant("an operand")?)),
        };
        if self.eat(Kind::Pipe) {
            let second = match self.kind() {
                Kind::Name => self.named(body)?,
                _ => return Err(self.expected("a register after `|`")),
            };
            return Ok(Operand::Pair(Box::new(first), Box::new(second)));
        }
        Ok(first)
    }

    fn is_warp_size(&self, ahead: usize) -> bool {
        self.tokens.get(self.at + ahead).is_some_and(|token| self.slice(token.span) == "WARP_SZ")
    }

    /// `{a, b, …}`; vectors do not nest.
    fn vector(&mut self, body: &mut Body<'a>) -> Result<Operand> {
        self.expect(Kind::LBrace, "`{`")?;
        let mut items = Vec::new();
        while self.kind() != Kind::RBrace {
            items.push(match self.kind() {
                Kind::Name if !self.is_warp_size(0) => self.named(body)?,
                _ => Operand::Immediate(self.constant("a register or a literal")?),
            });
            if !self.eat(Kind::Comma) {
                break;
            }
        }
        self.expect(Kind::RBrace, "`,` or `}`")?;
        Ok(Operand::Vector(items))
    }

    /// `[a+8]`, or a list in brackets.
    fn address(&mut self, body: &mut Body<'a>) -> Result<Operand> {
        self.expect(Kind::LBracket, "`[`")?;
        let span = self.span();
        let (base, offset) = if self.kind() == Kind::Name && !self.is_warp_size(0) {
            match self.named(body)? {
                Operand::Register(register) => (Base::Register(register), self.offset()?),
                Operand::Symbol(symbol, offset) => (Base::Symbol(symbol), offset),
                _ => return Err(self.error("an address starts with a register or a variable", span)),
            }
        } else {
            match self.constant("an address")? {
                Immediate::Int(n) => (Base::Absolute, n),
                _ => return Err(self.error("an address is an integer", span)),
            }
        };
        let operand = if self.eat(Kind::Comma) {
            let mut items = vec![match base {
                Base::Register(register) if offset == 0 => Operand::Register(register),
                Base::Symbol(symbol) => Operand::Symbol(symbol, offset),
                base => Operand::Address { base, offset },
            }];
            loop {
                items.push(match self.kind() {
                    Kind::LBrace => self.vector(body)?,
                    Kind::Name if !self.is_warp_size(0) => self.named(body)?,
                    _ => Operand::Immediate(self.constant("a coordinate")?),
                });
                if !self.eat(Kind::Comma) {
                    break;
                }
            }
            Operand::Vector(items)
        } else {
            Operand::Address { base, offset }
        };
        self.expect(Kind::RBracket, "`]`")?;
        // A hint that the address is of unified memory; it changes nothing.
        self.eat_directive(".unified");
        Ok(operand)
    }

    /// A name used as a value.
    fn named(&mut self, body: &mut Body<'a>) -> Result<Operand> {
        let (name, span) = self.name("a name")?;
        if name == "_" {
            return Ok(Operand::Sink);
        }
        if let Some(entity) = body.find(name) {
            return Ok(match entity {
                Entity::Register(register) => Operand::Register(register),
                Entity::VectorRegister { first, len } => {
                    Operand::Vector((first.0..first.0 + len).map(|id| Operand::Register(RegId(id))).collect())
                }
                Entity::Symbol(symbol) => Operand::Symbol(symbol, self.offset()?),
                Entity::List(list) => Operand::List(list),
            });
        }
        if let Some((base, suffix)) = name.split_once('.')
            && let Some(entity) = body.find(base)
        {
            return self.part(entity, suffix, span);
        }
        if let Some(special) = name.strip_prefix('%').and_then(Special::parse) {
            return Ok(Operand::Special(special));
        }
        if let Some(elements) = vector_special(name) {
            return Ok(elements);
        }
        match self.names.get(name) {
            Some(&symbol) => Ok(Operand::Symbol(symbol, self.offset()?)),
            None if body.first_undeclared(name) => Err(self.undeclared(name, span, Some(body))),
            None => Err(Reported),
        }
    }

    /// `.x` of a vector register, `.b0` or `.h1` of any other.
    fn part(&mut self, entity: Entity, suffix: &str, span: Span) -> Result<Operand> {
        match entity {
            Entity::Register(register) => match Word::parse(suffix) {
                Some(word) if is_selector(suffix) => Ok(Operand::Selector(register, word)),
                _ => Err(self.error(format!("`.{suffix}` selects no part of a register"), span)),
            },
            Entity::VectorRegister { first, len } => {
                let element = match suffix {
                    "x" | "r" => 0,
                    "y" | "g" => 1,
                    "z" | "b" => 2,
                    "w" | "a" => 3,
                    _ => u32::MAX,
                };
                if element < len {
                    Ok(Operand::Register(RegId(first.0 + element)))
                } else {
                    Err(self.error(format!("`.{suffix}` is no element of this vector register"), span))
                }
            }
            _ => Err(self.error("only registers have parts", span)),
        }
    }

    /// Whether to spend time on a suggestion.
    pub(super) fn may_suggest(&mut self) -> bool {
        self.suggestions += 1;
        self.suggestions <= MOST_SUGGESTIONS
    }

    /// Reports a name that stands for nothing, with the nearest one that does.
    pub(super) fn undeclared(&mut self, name: &'a str, span: Span, body: Option<&Body<'a>>) -> Reported {
        let diagnostic = Diagnostic::error(format!("`{}` is not declared", super::abbreviated(name)), span);
        if let Some((prefix, family)) = body.and_then(|body| body.family_of(name)) {
            let last = family.count.saturating_sub(1);
            return self.report(
                diagnostic
                    .with_label(family.span, format!("this declares `{prefix}0` to `{prefix}{last}`"))
                    .with_help("declare more registers".to_owned()),
            );
        }
        let help = self.may_suggest().then(|| {
            if let Some(special) = name.strip_prefix('%') {
                let specials = Special::ALL.iter().map(|special| special.name());
                if let Some(known) = nearest(special, specials) {
                    return Some(format!("did you mean `%{known}`?"));
                }
            }
            let local = body.into_iter().flat_map(Body::names);
            nearest(name, local.chain(self.names.keys().copied())).map(|known| format!("did you mean `{known}`?"))
        });
        self.report(diagnostic.with_help(help.flatten()))
    }
}

/// `%tid` and its like as vectors of their elements; the fourth is always 0.
fn vector_special(name: &str) -> Option<Operand> {
    let element = |axis: char| Special::parse(&format!("{}.{axis}", &name[1..])).map(Operand::Special);
    if !name.starts_with('%') || name.contains('.') {
        return None;
    }
    Some(Operand::Vector(vec![element('x')?, element('y')?, element('z')?, Operand::Immediate(Immediate::Int(0))]))
}

/// Byte selectors `.b0` to `.b3210` and half selectors `.h0 .h1 .h10`.
fn is_selector(suffix: &str) -> bool {
    let rest = suffix.strip_prefix('b').or_else(|| suffix.strip_prefix('h'));
    rest.is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
}
