//! Textures and surfaces.

use super::arithmetic::plain;
use super::{Decoded, Decoder};
use crate::inst::{ImageAccess, ImageQuery, Inst};
use crate::ops::surface::{self, Outside, SurfaceAccess};
use crate::ops::texture::{self, Coordinates, Fetch, Query};
use strata_ptx::ast::{Base, Instruction, Opcode as O, Operand, Type, Word};

impl Decoder<'_> {
    pub(super) fn texture(&mut self, i: &Instruction) -> Decoded<Inst> {
        match i.op {
            O::Tex | O::Tld4 => self.fetch(i),
            O::Suld | O::Sust => self.surface(i),
            _ => self.query(i),
        }
    }

    /// `[a, {…}]`: axes 1 to 3 (a direction, for cubes), after the layer of a layered image; what is left over fills the
    /// vector up.
    fn coordinates(&mut self, i: &Instruction, operand: &Operand) -> Decoded<Coordinates> {
        let Operand::Vector(items) = operand else {
            return Err("the coordinates are missing".into());
        };
        let [object, coordinates] = &items[..] else {
            return Err("samplers of their own (`.texmode_independent`) are not executed".into());
        };
        let coordinates = match coordinates {
            Operand::Vector(items) => &items[..],
            one => std::slice::from_ref(one),
        };
        let layered = i.has(Word::A1d) || i.has(Word::A2d) || i.has(Word::Acube);
        let axes = match () {
            () if i.has(Word::D1d) || i.has(Word::A1d) => 1,
            () if i.has(Word::D2d) || i.has(Word::A2d) => 2,
            () => 3,
        };
        let first = usize::from(layered);
        if coordinates.len() < first + axes {
            return Err(format!("{} coordinates are needed", first + axes));
        }
        Ok(Coordinates {
            object: self.source(object, Type::U64)?,
            cube: i.has(Word::Cube) || i.has(Word::Acube),
            layer: if layered { Some(self.source32(&coordinates[0])?) } else { None },
            axes: coordinates[first..first + axes].iter().map(|c| self.source32(c)).collect::<Decoded<_>>()?,
        })
    }

    fn fetch(&mut self, i: &Instruction) -> Decoded<Inst> {
        let [results, at, ..] = &i.operands[..] else {
            return Err("two operands are needed".into());
        };
        let at = self.coordinates(i, at)?;
        let Operand::Vector(items) = results else {
            return Err("four results are needed".into());
        };
        let [r, g, b, a] = &items[..] else {
            return Err("four results are needed".into());
        };
        let results = [r, g, b, a].map(|item| self.destination(item, Type::B32));
        let [r, g, b, a] = results;
        let gathers =
            (i.op == O::Tld4).then(|| [Word::R, Word::G, Word::B, Word::A].iter().position(|&w| i.has(w))).flatten();
        let integer = i.types().last() == Some(Type::S32);
        let mut decoded = Inst::new(plain(texture::fetch));
        self.fetches.push(Fetch { at, integer, gathers, results: [r?, g?, b?, a?] });
        decoded.set(ImageAccess { entry: self.fetches.len() - 1, touched: self.next_touched() });
        Ok(decoded)
    }

    fn surface(&mut self, i: &Instruction) -> Decoded<Inst> {
        let stores = i.op == O::Sust;
        let [first, second, ..] = &i.operands[..] else {
            return Err("two operands are needed".into());
        };
        let (data, at) = if stores { (second, first) } else { (first, second) };
        let at = self.coordinates(i, at)?;
        let ty = i.types().last().ok_or("the type is missing")?;
        let register = if ty.bits() == 64 { Type::B64 } else { Type::B32 };
        let items = match data {
            Operand::Vector(items) => &items[..],
            one => std::slice::from_ref(one),
        };
        let data = items
            .iter()
            .map(|item| if stores { self.source(item, register) } else { self.destination(item, register) })
            .collect::<Decoded<Vec<_>>>()?;
        let outside = match () {
            () if i.has(Word::Clamp) => Outside::Clamp,
            () if i.has(Word::Zero) => Outside::Zero,
            () => Outside::Trap,
        };
        let mut decoded = Inst::new(plain(surface::access));
        self.surfaces.push(SurfaceAccess { at, data, size: ty.bytes() as usize, outside, stores });
        decoded.set(ImageAccess { entry: self.surfaces.len() - 1, touched: self.next_touched() });
        Ok(decoded)
    }

    fn query(&mut self, i: &Instruction) -> Decoded<Inst> {
        let (d, object, offset) = match &i.operands[..] {
            [d, Operand::Address { base: Base::Register(handle), offset }, ..] => {
                (d, Operand::Register(*handle), *offset)
            }
            [d, Operand::Address { base: Base::Symbol(reference), offset }, ..] => {
                (d, Operand::Symbol(*reference, *offset), 0)
            }
            _ => return Err("the texture or surface is missing".into()),
        };
        let query = i.words.iter().find_map(|w| match w {
            Word::Width => Some(Query::Width),
            Word::Height => Some(Query::Height),
            Word::Depth | Word::ArraySize => Some(Query::Depth),
            Word::NumMipmapLevels => Some(Query::Levels),
            Word::NormalizedCoords => Some(Query::Normalized),
            _ => None,
        });
        let mut decoded = Inst::new(plain(texture::query));
        decoded.d = self.destination(d, Type::B32)?;
        decoded.a = self.source(&object, Type::U64)?;
        let asked = query.ok_or("the question is missing")?;
        decoded.set(ImageQuery { offset, of_surface: i.op == O::Suq, asked });
        Ok(decoded)
    }
}
