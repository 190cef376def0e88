//! Values as vectors write them: numbers, floats, packed elements, expressions of the lane.
//!
//! `7  -3  0xff  1.5  -inf  nan  {1.0, -2.0}  lane*3  lane<16 ? 1 : old  0.5~1e-6  [1 2 … 32]  _`; brackets hold one value
//! for each lane.

/// How the 16-bit floats of an instruction are encoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Half {
    F16,
    Bf16,
}

/// A value, before it is known for which lane.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Value {
    /// `_`: any result is right.
    Any,
    /// `{a, b}`: elements of equal width, lowest first.
    Packed(Vec<Value>),
    /// A float literal, kept as text so that it is rounded once; with the error that is allowed.
    Float {
        text: String,
        tolerance: Option<f64>,
    },
    Integer(Expr),
    /// `[a b …]`: one for each lane.
    Lanes(Vec<Value>),
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Expr {
    Number(i128),
    /// The lane, or the thread of the block in hand-written kernels.
    Lane,
    /// What the destination held before.
    Old,
    Binary(&'static str, Box<Expr>, Box<Expr>),
    If(Box<Expr>, Box<Expr>, Box<Expr>),
}

impl Value {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text == "_" {
            return Ok(Self::Any);
        }
        if let Some(inner) = text.strip_prefix('{').and_then(|t| t.strip_suffix('}')) {
            return Ok(Self::Packed(list(inner)?));
        }
        if let Some(inner) = text.strip_prefix('[').and_then(|t| t.strip_suffix(']')) {
            let lanes = inner.split_whitespace().map(Self::parse).collect::<Result<Vec<_>, _>>()?;
            return if lanes.len() == 32 { Ok(Self::Lanes(lanes)) } else { Err(format!("`{text}` is not 32 values")) };
        }
        let (number, tolerance) = match text.split_once('~') {
            Some((number, tolerance)) => {
                (number.trim(), Some(tolerance.trim().parse::<f64>().map_err(|e| format!("`{text}`: {e}"))?))
            }
            None => (text, None),
        };
        let magnitude = number.trim_start_matches('-');
        let is_float = matches!(magnitude, "inf" | "nan")
            || magnitude.starts_with(|c: char| c.is_ascii_digit()) && magnitude.contains('.');
        if is_float {
            return Ok(Self::Float { text: number.to_owned(), tolerance });
        }
        let mut parser = ExprParser { rest: text };
        let expr = parser.ternary()?;
        if parser.rest.trim().is_empty() { Ok(Self::Integer(expr)) } else { Err(format!("`{text}` is no value")) }
    }

    /// True if it differs from lane to lane.
    pub(crate) fn depends_on_lane(&self) -> bool {
        match self {
            Self::Packed(items) => items.iter().any(Self::depends_on_lane),
            Self::Integer(expr) => expr.depends_on_lane(),
            Self::Lanes(_) => true,
            _ => false,
        }
    }

    /// The bits in a register of `width` bits.
    pub(crate) fn bits(&self, width: u32, half: Half, lane: u32, old: u128) -> u128 {
        let mask = u128::MAX >> (128 - width);
        mask & match self {
            Self::Any => 0,
            Self::Packed(items) => {
                let each = width / items.len() as u32;
                items.iter().rev().fold(0, |bits, item| bits << each | item.bits(each, half, lane, 0))
            }
            Self::Float { text, .. } => float_bits(text, width, half),
            Self::Integer(expr) => expr.eval(lane, old) as u128,
            Self::Lanes(lanes) => lanes[lane as usize].bits(width, half, lane, old),
        }
    }

    /// True if a result is right.
    pub(crate) fn accepts(&self, got: u128, width: u32, half: Half, lane: u32, old: u128) -> bool {
        match self {
            Self::Any => true,
            Self::Lanes(lanes) => lanes[lane as usize].accepts(got, width, half, lane, old),
            Self::Packed(items) => {
                let each = width / items.len() as u32;
                let mask = u128::MAX >> (128 - each);
                items
                    .iter()
                    .enumerate()
                    .all(|(k, item)| item.accepts(got >> (each * k as u32) & mask, each, half, lane, 0))
            }
            Self::Float { text, tolerance: Some(tolerance) } => {
                let expected: f64 = text.parse().unwrap_or(f64::NAN);
                (number(got, width, half) - expected).abs() <= *tolerance
            }
            _ => got == self.bits(width, half, lane, old),
        }
    }
}

/// Values between commas that no brace or parenthesis encloses.
pub(crate) fn list(text: &str) -> Result<Vec<Value>, String> {
    let mut out = Vec::new();
    let (mut depth, mut start) = (0, 0);
    for (at, c) in text.char_indices() {
        match c {
            '{' | '(' => depth += 1,
            '}' | ')' => depth -= 1,
            ',' if depth == 0 => {
                out.push(Value::parse(&text[start..at])?);
                start = at + 1;
            }
            _ => {}
        }
    }
    if !text[start..].trim().is_empty() {
        out.push(Value::parse(&text[start..])?);
    }
    Ok(out)
}

/// The bits of a float literal; NaN is the one that PTX calls canonical.
fn float_bits(text: &str, width: u32, half: Half) -> u128 {
    let nan = text == "nan";
    match width {
        64 if nan => 0x7ff8_0000_0000_0000,
        32 if nan => 0x7fff_ffff,
        16 if nan => 0x7fff,
        64 => text.parse::<f64>().expect("a float").to_bits().into(),
        32 => text.parse::<f32>().expect("a float").to_bits().into(),
        16 => half_bits(text.parse().expect("a float"), half).into(),
        _ => panic!("`{text}` in {width} bits"),
    }
}

/// Exponent and fraction bits of a half format.
const fn layout(half: Half) -> (i32, u32) {
    match half {
        Half::F16 => (5, 10),
        Half::Bf16 => (8, 7),
    }
}

/// The bits of a number that the format has exactly.
fn half_bits(value: f64, half: Half) -> u16 {
    let (exponent_bits, fraction_bits) = layout(half);
    let bias = (1 << (exponent_bits - 1)) - 1;
    let magnitude = value.abs();
    let exponent = (magnitude.to_bits() >> 52) as i32 - 1023;
    let magnitude = if magnitude.is_infinite() {
        ((1 << exponent_bits) - 1) << fraction_bits
    } else if magnitude < 2f64.powi(1 - bias) {
        (magnitude * 2f64.powi(bias - 1 + fraction_bits as i32)) as u16
    } else {
        let fraction = (magnitude.to_bits() >> (52 - fraction_bits)) as u16 & ((1 << fraction_bits) - 1);
        ((exponent + bias) as u16) << fraction_bits | fraction
    };
    let bits = magnitude | u16::from(value.is_sign_negative()) << 15;
    assert!(number(bits.into(), 16, half) == value, "{value} is no {half:?}");
    bits
}

/// The number that bits stand for.
fn number(bits: u128, width: u32, half: Half) -> f64 {
    match width {
        64 => f64::from_bits(bits as u64),
        32 => f32::from_bits(bits as u32).into(),
        _ => {
            let (exponent_bits, fraction_bits) = layout(half);
            let bias = (1 << (exponent_bits - 1)) - 1;
            let exponent = (bits >> fraction_bits) as i32 & ((1 << exponent_bits) - 1);
            let fraction = (bits & ((1 << fraction_bits) - 1)) as f64 / f64::from(1u32 << fraction_bits);
            let magnitude = if exponent == 0 {
                fraction * 2f64.powi(1 - bias)
            } else if exponent == (1 << exponent_bits) - 1 {
                if fraction == 0.0 { f64::INFINITY } else { f64::NAN }
            } else {
                (1.0 + fraction) * 2f64.powi(exponent - bias)
            };
            if bits >> 15 & 1 == 0 { magnitude } else { -magnitude }
        }
    }
}

impl Expr {
    fn depends_on_lane(&self) -> bool {
        match self {
            Self::Number(_) | Self::Old => false,
            Self::Lane => true,
            Self::Binary(_, a, b) => a.depends_on_lane() || b.depends_on_lane(),
            Self::If(c, a, b) => c.depends_on_lane() || a.depends_on_lane() || b.depends_on_lane(),
        }
    }

    fn eval(&self, lane: u32, old: u128) -> i128 {
        match self {
            Self::Number(n) => *n,
            Self::Lane => lane.into(),
            Self::Old => old as i128,
            Self::If(c, a, b) => if c.eval(lane, old) != 0 { a } else { b }.eval(lane, old),
            Self::Binary(op, a, b) => {
                let (a, b) = (a.eval(lane, old), b.eval(lane, old));
                match *op {
                    "+" => a + b,
                    "-" => a - b,
                    "*" => a * b,
                    "/" => a / b,
                    "%" => a % b,
                    "&" => a & b,
                    "^" => a ^ b,
                    "<<" => a << b,
                    ">>" => a >> b,
                    "<" => (a < b).into(),
                    ">" => (a > b).into(),
                    "==" => (a == b).into(),
                    _ => (a != b).into(),
                }
            }
        }
    }
}

/// Operators, those that bind least first; longer ones before their prefixes.
const LEVELS: [&[&str]; 4] = [&["==", "!=", "&", "^"], &["<<", ">>", "<", ">"], &["+", "-"], &["*", "/", "%"]];

struct ExprParser<'t> {
    rest: &'t str,
}

impl ExprParser<'_> {
    fn eat(&mut self, token: &str) -> bool {
        self.rest = self.rest.trim_start();
        let found = self.rest.starts_with(token);
        if found {
            self.rest = &self.rest[token.len()..];
        }
        found
    }

    fn ternary(&mut self) -> Result<Expr, String> {
        let condition = self.binary(0)?;
        if !self.eat("?") {
            return Ok(condition);
        }
        let yes = self.ternary()?;
        if !self.eat(":") {
            return Err(format!("expected `:` at `{}`", self.rest));
        }
        Ok(Expr::If(condition.into(), yes.into(), self.ternary()?.into()))
    }

    fn binary(&mut self, level: usize) -> Result<Expr, String> {
        let Some(operators) = LEVELS.get(level) else { return self.atom() };
        let mut left = self.binary(level + 1)?;
        while let Some(op) = operators.iter().find(|op| self.eat(op)) {
            left = Expr::Binary(op, left.into(), self.binary(level + 1)?.into());
        }
        Ok(left)
    }

    fn atom(&mut self) -> Result<Expr, String> {
        if self.eat("(") {
            let inner = self.ternary()?;
            return if self.eat(")") { Ok(inner) } else { Err(format!("expected `)` at `{}`", self.rest)) };
        }
        if self.eat("-") {
            return Ok(Expr::Binary("-", Expr::Number(0).into(), self.atom()?.into()));
        }
        let end = self.rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        match word {
            "lane" | "thread" => return Ok(Expr::Lane),
            "old" => return Ok(Expr::Old),
            _ => {}
        }
        let digits = word.replace('_', "");
        let parsed = match digits.strip_prefix("0x") {
            Some(hex) => u128::from_str_radix(hex, 16).map(|v| v as i128),
            None => digits.parse(),
        };
        parsed.map(Expr::Number).map_err(|_| format!("`{word}` is no value"))
    }
}
