//! Literals and constant expressions (PTX ISA 4.5).

use super::{DEEPEST, Parser, Reported, Result};
use crate::ast::{Immediate, Type};
use crate::lexer::Kind;

impl Parser<'_> {
    /// A constant expression. Integers are 64 bits wide and wrap; floats are single literals, maybe negated.
    pub(super) fn constant(&mut self, what: &str) -> Result<Immediate> {
        self.conditional(what, 0)
    }

    /// The count in `%r<100>`: a literal, for in an expression the `>` would compare.
    pub(super) fn register_count(&mut self) -> Result<u32> {
        let span = self.span();
        match self.unary("a number of registers", 0)? {
            Immediate::Int(n) if u32::try_from(n).is_ok() => Ok(n as u32),
            _ => Err(self.error("a number of registers is below 2^32", self.since(span))),
        }
    }

    fn conditional(&mut self, what: &str, depth: usize) -> Result<Immediate> {
        let condition = self.binary(what, 0, depth)?;
        if !self.eat(Kind::Question) {
            return Ok(condition);
        }
        let depth = self.deeper(depth)?;
        let yes = self.conditional(what, depth)?;
        self.expect(Kind::Colon, "`:`")?;
        let no = self.conditional(what, depth)?;
        Ok(if condition == Immediate::Int(0) { no } else { yes })
    }

    fn deeper(&mut self, depth: usize) -> Result<usize> {
        if depth < DEEPEST { Ok(depth + 1) } else { Err(self.error("this expression nests too deep", self.span())) }
    }

    /// Binary operators that bind at least as tightly as `least`.
    fn binary(&mut self, what: &str, least: u8, depth: usize) -> Result<Immediate> {
        let mut left = self.unary(what, depth)?;
        while let Some((operator, binding, tokens)) = self.operator().filter(|(_, binding, _)| *binding >= least) {
            for _ in 0..tokens {
                self.bump();
            }
            let depth = self.deeper(depth)?;
            let span = self.span();
            let right = self.binary(what, binding + 1, depth)?;
            let (Immediate::Int(a), Immediate::Int(b)) = (left, right) else {
                return Err(self.error("constant expressions combine integers only", span));
            };
            left = Immediate::Int(apply(operator, a, b).ok_or_else(|| self.zero_division(span))?);
        }
        Ok(left)
    }

    fn zero_division(&mut self, span: crate::ast::Span) -> Reported {
        self.error("division by zero in a constant expression", span)
    }

    /// The operator here, how tightly it binds, and of how many tokens it is.
    fn operator(&self) -> Option<(Operator, u8, usize)> {
        let twice = |kind| self.ahead(1) == kind;
        Some(match self.kind() {
            Kind::Pipe if twice(Kind::Pipe) => (Operator::LogicOr, 0, 2),
            Kind::Ampersand if twice(Kind::Ampersand) => (Operator::LogicAnd, 1, 2),
            Kind::Pipe => (Operator::Or, 2, 1),
            Kind::Caret => (Operator::Xor, 3, 1),
            Kind::Ampersand => (Operator::And, 4, 1),
            Kind::Equals if twice(Kind::Equals) => (Operator::Eq, 5, 2),
            Kind::Bang if twice(Kind::Equals) => (Operator::Ne, 5, 2),
            Kind::Less if twice(Kind::Less) => (Operator::Shl, 7, 2),
            Kind::Greater if twice(Kind::Greater) => (Operator::Shr, 7, 2),
            Kind::Less if twice(Kind::Equals) => (Operator::Le, 6, 2),
            Kind::Greater if twice(Kind::Equals) => (Operator::Ge, 6, 2),
            Kind::Less => (Operator::Lt, 6, 1),
            Kind::Greater => (Operator::Gt, 6, 1),
            Kind::Plus => (Operator::Add, 8, 1),
            Kind::Minus => (Operator::Sub, 8, 1),
            Kind::Star => (Operator::Mul, 9, 1),
            Kind::Slash => (Operator::Div, 9, 1),
            Kind::Percent => (Operator::Rem, 9, 1),
            _ => return None,
        })
    }

    fn unary(&mut self, what: &str, depth: usize) -> Result<Immediate> {
        let span = self.span();
        match self.kind() {
            Kind::Plus => {
                self.bump();
                let depth = self.deeper(depth)?;
                self.unary(what, depth)
            }
            operator @ (Kind::Minus | Kind::Tilde | Kind::Bang) => {
                self.bump();
                let depth = self.deeper(depth)?;
                match (operator, self.unary(what, depth)?) {
                    (Kind::Minus, Immediate::Int(n)) => Ok(Immediate::Int(n.wrapping_neg())),
                    (Kind::Minus, Immediate::F32(bits)) => Ok(Immediate::F32(bits ^ (1 << 31))),
                    (Kind::Minus, Immediate::F64(bits)) => Ok(Immediate::F64(bits ^ (1 << 63))),
                    (Kind::Tilde, Immediate::Int(n)) => Ok(Immediate::Int(!n)),
                    (Kind::Bang, Immediate::Int(n)) => Ok(Immediate::Int(i64::from(n == 0))),
                    _ => Err(self.error("this operator takes an integer", span)),
                }
            }
            Kind::LParen => {
                self.bump();
                let depth = self.deeper(depth)?;
                // `(.s64) x` and `(.u64) x` only say how to read a value that is 64 bits either way.
                if self.eat_directive(".s64") || self.eat_directive(".u64") {
                    self.expect(Kind::RParen, "`)`")?;
                    return self.unary(what, depth);
                }
                let value = self.conditional(what, depth)?;
                self.expect(Kind::RParen, "`)`")?;
                Ok(value)
            }
            _ => self.literal(what),
        }
    }

    fn literal(&mut self, what: &str) -> Result<Immediate> {
        let span = self.span();
        let text = self.word();
        let value = match self.kind() {
            Kind::Int => integer(text).map(Immediate::Int),
            Kind::Float => text.parse::<f64>().ok().map(|value| Immediate::F64(value.to_bits())),
            Kind::HexF32 => u32::from_str_radix(&text[2..], 16).ok().map(Immediate::F32),
            Kind::HexF64 => u64::from_str_radix(&text[2..], 16).ok().map(Immediate::F64),
            Kind::Name if text == "WARP_SZ" => Some(Immediate::Int(32)),
            _ => return Err(self.expected(what)),
        };
        self.bump();
        value.ok_or_else(|| self.error("this number does not fit in 64 bits", span))
    }
}

#[derive(Clone, Copy)]
enum Operator {
    LogicOr,
    LogicAnd,
    Or,
    Xor,
    And,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    Shl,
    Shr,
    Add,
    Sub,
    Mul,
    Div,
    Rem,
}

/// `None` for a division by zero.
fn apply(operator: Operator, a: i64, b: i64) -> Option<i64> {
    if b == 0 && matches!(operator, Operator::Div | Operator::Rem) {
        return None;
    }
    Some(match operator {
        Operator::LogicOr => i64::from(a != 0 || b != 0),
        Operator::LogicAnd => i64::from(a != 0 && b != 0),
        Operator::Or => a | b,
        Operator::Xor => a ^ b,
        Operator::And => a & b,
        Operator::Eq => i64::from(a == b),
        Operator::Ne => i64::from(a != b),
        Operator::Lt => i64::from(a < b),
        Operator::Le => i64::from(a <= b),
        Operator::Gt => i64::from(a > b),
        Operator::Ge => i64::from(a >= b),
        Operator::Shl => a.wrapping_shl(b as u32),
        Operator::Shr => a.wrapping_shr(b as u32),
        Operator::Add => a.wrapping_add(b),
        Operator::Sub => a.wrapping_sub(b),
        Operator::Mul => a.wrapping_mul(b),
        Operator::Div => a.wrapping_div(b),
        Operator::Rem => a.wrapping_rem(b),
    })
}

/// A decimal, hexadecimal, octal or binary literal; values over `i64::MAX` keep their bits.
fn integer(text: &str) -> Option<i64> {
    let digits = text.strip_suffix('U').unwrap_or(text);
    let value = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => u64::from_str_radix(&digits[2..], 16),
        [b'0', b'b' | b'B', ..] => u64::from_str_radix(&digits[2..], 2),
        [b'0', _, ..] => u64::from_str_radix(&digits[1..], 8),
        _ => digits.parse(),
    };
    value.ok().map(|value| value as i64)
}

/// The literal as a value of type `ty`: a float literal takes the precision of a float type, an integer becomes a
/// float where one is expected. Everything else keeps its bits, which whoever uses it truncates to the type.
pub(crate) fn convert(value: Immediate, ty: Type) -> Immediate {
    match (value, ty) {
        (Immediate::F64(bits), Type::F32) => Immediate::F32((f64::from_bits(bits) as f32).to_bits()),
        (Immediate::F32(bits), Type::F64) => Immediate::F64(f64::from(f32::from_bits(bits)).to_bits()),
        (Immediate::Int(n), Type::F32) => Immediate::F32((n as f32).to_bits()),
        (Immediate::Int(n), Type::F64) => Immediate::F64((n as f64).to_bits()),
        _ => value,
    }
}
