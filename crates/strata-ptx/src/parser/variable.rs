//! Variable declarations and their initial values.

use super::constant::convert;
use super::module::state_space;
use super::scope::Body;
use super::{DEEPEST, Parser, Result};
use crate::ast::{Immediate, Initial, Linkage, Span, StateSpace, Symbol, Type, Variable};
use crate::lexer::Kind;

/// Elements that an initialiser may come to when inner braces are filled up with zeros.
const MOST_INITIAL: usize = 1 << 26;

/// What stands before the name in a declaration.
pub(super) struct Shape {
    pub(super) ty: Type,
    pub(super) vector: u32,
    pub(super) align: Option<u32>,
    pub(super) managed: bool,
}

impl<'a> Parser<'a> {
    /// `.global .align 4 .b8 name[4] = { … }, other;`, from the state space on. `body` is the function around it.
    pub(super) fn variables(&mut self, linkage: Linkage, body: Option<&Body<'a>>) -> Result<Vec<(Variable, &'a str)>> {
        let space = state_space(self.word()).unwrap_or(StateSpace::Global);
        self.bump();
        // `.const[2]`: the banks of old modules.
        if self.eat(Kind::LBracket) {
            self.constant("a bank number")?;
            self.expect(Kind::RBracket, "`]`")?;
        }
        let shape = self.shape()?;
        let mut out = Vec::new();
        loop {
            let (name, span) = self.name("a name")?;
            let mut variable = self.declarator(space, &shape, name, span)?;
            variable.linkage = linkage;
            if self.eat(Kind::Equals) {
                if matches!(shape.ty, Type::Texref | Type::Samplerref | Type::Surfref) {
                    self.reference_properties()?;
                } else {
                    self.initial(&mut variable, body)?;
                }
            }
            out.push((variable, name));
            if !self.eat(Kind::Comma) {
                break;
            }
        }
        self.expect(Kind::Semicolon, "`;`")?;
        Ok(out)
    }

    /// Alignment, attributes, vector and type, in any order.
    pub(super) fn shape(&mut self) -> Result<Shape> {
        let mut ty = None;
        let mut shape = Shape { ty: Type::B8, vector: 1, align: None, managed: false };
        while self.kind() == Kind::Directive {
            match self.word() {
                ".align" => {
                    self.bump();
                    shape.align = Some(self.alignment()?);
                }
                ".attribute" => {
                    self.bump();
                    let start = self.span();
                    self.skip_parentheses();
                    shape.managed |= self.slice(self.since(start)).contains(".managed");
                }
                ".v2" => {
                    self.bump();
                    shape.vector = 2;
                }
                ".v4" => {
                    self.bump();
                    shape.vector = 4;
                }
                ".v8" => {
                    self.bump();
                    shape.vector = 8;
                }
                ".ptr" => {
                    self.bump();
                    self.pointee()?;
                }
                _ => match self.eat_type() {
                    Some(found) => ty = Some(found),
                    None => return Err(self.expected("a type such as `.b32`")),
                },
            }
        }
        shape.ty = ty.ok_or_else(|| self.expected("a type such as `.b32`"))?;
        Ok(shape)
    }

    fn alignment(&mut self) -> Result<u32> {
        let span = self.span();
        let align = self.integer("an alignment")?;
        if align.is_power_of_two() { Ok(align) } else { Err(self.error("an alignment is a power of two", span)) }
    }

    /// What `.ptr` says of a parameter that is a pointer: its space and alignment. A hint that nothing here uses.
    fn pointee(&mut self) -> Result<()> {
        if self.kind() == Kind::Directive
            && matches!(self.word(), ".global" | ".const" | ".local" | ".shared" | ".generic" | ".param")
        {
            self.bump();
        }
        if self.eat_directive(".align") {
            self.alignment()?;
        }
        Ok(())
    }

    /// The extents after a name.
    pub(super) fn declarator(&mut self, space: StateSpace, shape: &Shape, name: &str, span: Span) -> Result<Variable> {
        let mut extents = Vec::new();
        while self.eat(Kind::LBracket) {
            if self.eat(Kind::RBracket) {
                extents.push(0);
                continue;
            }
            extents.push(self.integer("an array extent")?);
            self.expect(Kind::RBracket, "`]`")?;
        }
        Ok(Variable {
            name: name.to_owned(),
            space,
            ty: shape.ty,
            vector: shape.vector,
            extents,
            align: shape.align.unwrap_or(shape.ty.bytes() * shape.vector),
            initial: Vec::new(),
            linkage: Linkage::Internal,
            managed: shape.managed,
            span,
        })
    }

    /// `{ addr_mode_0 = wrap, … }` of samplers and textures.
    fn reference_properties(&mut self) -> Result<()> {
        self.expect(Kind::LBrace, "`{`")?;
        while !matches!(self.kind(), Kind::RBrace | Kind::Semicolon | Kind::End) {
            self.bump();
        }
        self.expect(Kind::RBrace, "`}`").map(|_| ())
    }

    /// Reads the initial values; an unknown first extent becomes what they need.
    fn initial(&mut self, variable: &mut Variable, body: Option<&Body<'a>>) -> Result<()> {
        let start = self.span();
        let mut shape: Vec<usize> = variable.extents.iter().map(|&extent| extent as usize).collect();
        if variable.vector > 1 {
            shape.push(variable.vector as usize);
        }
        let mut values = Vec::new();
        self.initial_values(variable.ty, &shape, &mut values, body, 0)?;
        if variable.extents.first() == Some(&0) {
            let inner = shape[1..].iter().fold(1usize, |n, &extent| n.saturating_mul(extent)).max(1);
            variable.extents[0] = values.len().div_ceil(inner) as u32;
        }
        let room = variable.bytes() / u64::from(variable.ty.bytes());
        if values.len() as u64 > room {
            let message = format!("{} initial values for {room} elements", values.len());
            return Err(self.error(message, self.since(start)));
        }
        variable.initial = values;
        Ok(())
    }

    /// One value, or `{ … }` of them. Braces around a row of an array fill the row up with zeros.
    fn initial_values(
        &mut self,
        ty: Type,
        shape: &[usize],
        out: &mut Vec<Initial>,
        body: Option<&Body<'a>>,
        depth: usize,
    ) -> Result<()> {
        if self.kind() != Kind::LBrace {
            let value = self.initial_value(ty, body)?;
            out.push(value);
            return Ok(());
        }
        if depth >= DEEPEST {
            return Err(self.error("this initialiser nests too deep", self.span()));
        }
        let start = self.span();
        self.bump();
        let row = shape.get(1..).unwrap_or(&[]);
        let row_len = row.iter().fold(1usize, |n, &extent| n.saturating_mul(extent));
        while self.kind() != Kind::RBrace {
            let before = out.len();
            let braced = self.kind() == Kind::LBrace;
            self.initial_values(ty, row, out, body, depth + 1)?;
            let more = self.eat(Kind::Comma);
            if braced && more && !row.is_empty() {
                let end = before.saturating_add(row_len);
                if end > MOST_INITIAL {
                    return Err(self.error("this initialiser needs too many zeros", self.since(start)));
                }
                if out.len() < end {
                    out.resize(end, Initial::Value(Immediate::Int(0)));
                }
            }
            if !more {
                break;
            }
        }
        self.expect(Kind::RBrace, "`,` or `}`").map(|_| ())
    }

    fn initial_value(&mut self, ty: Type, body: Option<&Body<'a>>) -> Result<Initial> {
        if self.kind() == Kind::Name && self.word() != "WARP_SZ" {
            return self.initial_address(None, body);
        }
        let span = self.span();
        let value = self.constant("an initial value")?;
        if !self.eat(Kind::LParen) {
            return Ok(Initial::Value(convert(value, ty)));
        }
        // `0xFF00(name)`: one byte of an address.
        let mask = if let Immediate::Int(mask) = value { mask as u64 } else { 0 };
        let shift = mask.trailing_zeros();
        if mask == 0 || shift % 8 != 0 || mask >> shift != 0xFF {
            return Err(self.error("a mask selects one byte: `0xFF`, `0xFF00`, …", span));
        }
        let address = self.initial_address(Some((shift / 8) as u8), body)?;
        self.expect(Kind::RParen, "`)`")?;
        Ok(address)
    }

    /// `name`, `name+4`, `generic(name)`, `generic(name)+4`.
    fn initial_address(&mut self, byte: Option<u8>, body: Option<&Body<'a>>) -> Result<Initial> {
        let generic = self.word() == "generic" && self.ahead(1) == Kind::LParen;
        if generic {
            self.bump();
            self.bump();
        }
        let (name, span) = self.name("a name")?;
        let symbol = body.and_then(|body| body.symbol(name)).or_else(|| self.names.get(name).copied());
        let symbol: Symbol = symbol.ok_or_else(|| self.undeclared(name, span, body))?;
        let mut offset = 0i64;
        if generic {
            offset = self.offset()?;
            self.expect(Kind::RParen, "`)`")?;
        }
        offset = offset.wrapping_add(self.offset()?);
        Ok(Initial::Address { symbol, offset, generic, byte })
    }

    /// `+4` or `-4` after a name; 0 if there is none.
    pub(super) fn offset(&mut self) -> Result<i64> {
        if !matches!(self.kind(), Kind::Plus | Kind::Minus) {
            return Ok(0);
        }
        let span = self.span();
        match self.constant("an offset")? {
            Immediate::Int(n) => Ok(n),
            _ => Err(self.error("an offset is an integer", self.since(span))),
        }
    }
}
