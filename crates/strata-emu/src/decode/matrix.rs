//! Matrix products of a warp.

use super::arithmetic::plain;
use super::memory::Address;
use super::{Decoded, Decoder, rounding};
use crate::exec::Slot;
use crate::fragment::{Fragment, Number, Part, Shape, footprint};
use crate::inst::{Inst, MatrixOperation, OpFn};
use crate::kernel::{Control, Matrix};
use crate::lane_op;
use crate::ops::matrix::{self, Product};
use crate::ops::matrix_memory::{self, Rows, Transfer};
use strata_ptx::ast::{Instruction, Opcode as O, Operand, Type, Word};

/// True for instructions that all lanes of a warp execute together on registers of all of them.
pub(super) fn is_matrix(op: O) -> bool {
    matches!(op, O::Wmma | O::Mma | O::Ldmatrix | O::Stmatrix | O::Movmatrix)
}

/// True for those that move matrices between registers and memory, and whether they store.
pub(super) fn transfers(i: &Instruction) -> Option<bool> {
    match i.op {
        O::Ldmatrix => Some(false),
        O::Stmatrix => Some(true),
        O::Wmma if i.has(Word::Load) => Some(false),
        O::Wmma if i.has(Word::Store) => Some(true),
        _ => None,
    }
}

/// Bytes per lane of a transfer, as it is told to whoever times it.
pub(super) fn transfer_width(i: &Instruction) -> usize {
    match (wmma_part(i), shape(i), numbers(i).first()) {
        (Some(part), Some(shape), Some(&number)) => {
            let (rows, columns) = part.extent(shape);
            footprint(rows, columns, number).1
        }
        // The rows of `ldmatrix`.
        _ => 16,
    }
}

/// The matrix that `wmma.load` or `wmma.store` moves.
fn wmma_part(i: &Instruction) -> Option<Part> {
    i.words.iter().find_map(|w| match w {
        Word::A => Some(Part::A),
        Word::B => Some(Part::B),
        Word::C | Word::D => Some(Part::Sum),
        _ => None,
    })
}

fn shape(i: &Instruction) -> Option<Shape> {
    i.words.iter().find_map(|&w| Shape::of(w))
}

fn numbers(i: &Instruction) -> Vec<Number> {
    i.words.iter().filter_map(|&w| Number::of(w)).collect()
}

fn items(operand: &Operand) -> &[Operand] {
    match operand {
        Operand::Vector(items) => items,
        one => std::slice::from_ref(one),
    }
}

impl Decoder<'_> {
    pub(super) fn matrix(&mut self, i: &Instruction) -> Decoded<Inst> {
        match i.op {
            O::Movmatrix => {
                let mut decoded = Inst::new(plain(matrix_memory::transpose_register));
                decoded.d = self.destination(&i.operands[0], Type::B32)?;
                decoded.a = self.source32(&i.operands[1])?;
                decoded.set(self.together(0));
                Ok(decoded)
            }
            O::Ldmatrix | O::Stmatrix => self.rows(i),
            _ if transfers(i).is_some() => self.transfer(i),
            _ => self.product(i),
        }
    }

    /// The fields of an instruction for which all lanes come together, without an address.
    fn together(&mut self, operands: u32) -> MatrixOperation {
        let scheduled = self.add_control(Control::Together, operands);
        MatrixOperation { scheduled, touched: 0, space: 0, wide_address: false }
    }

    /// The same with matrix operands.
    fn with_operands(&mut self, operands: Matrix) -> MatrixOperation {
        self.matrices.push(operands);
        self.together(self.matrices.len() as u32 - 1)
    }

    fn matrix_registers(&mut self, operand: &Operand, number: Number, written: bool) -> Decoded<Box<[Slot]>> {
        let ty = if number == Number::F64 { Type::B64 } else { Type::B32 };
        let slot = |item: &Operand| {
            if written { self.destination(item, ty) } else { self.source(item, ty) }
        };
        items(operand).iter().map(slot).collect()
    }

    fn product(&mut self, i: &Instruction) -> Decoded<Inst> {
        let shape = shape(i).ok_or("the shape is missing")?;
        let (d, a, b, c) = match numbers(i)[..] {
            [d, c] => (d, Number::F16, Number::F16, c),
            [d, a, b, c] => (d, a, b, c),
            _ => return Err("the element types are missing".into()),
        };
        let [od, oa, ob, oc] = &i.operands[..] else {
            return Err("four operands are needed".into());
        };
        let quads = i.op == O::Mma && shape == Shape { m: 8, n: 8, k: 4 } && a == Number::F16;
        let mut layouts = i.words.iter().filter(|w| matches!(w, Word::Row | Word::Col)).map(|&w| w == Word::Row);
        let (a_row, b_row) = (layouts.next().unwrap_or(true), layouts.next().unwrap_or(false));
        let mut fragment = |operand: &Operand, part: Part, number: Number, row_major: bool, written: bool| {
            let registers = self.matrix_registers(operand, number, written)?;
            let made = if quads {
                Fragment::quad_pairs(part, row_major, number, registers)
            } else {
                Fragment::tiled(part, shape, number, registers)
            };
            made.ok_or_else(|| format!("these registers do not hold a matrix of {shape:?}"))
        };
        let product = Product {
            shape,
            d: fragment(od, Part::Sum, d, true, true)?,
            a: fragment(oa, Part::A, a, a_row, false)?,
            b: fragment(ob, Part::B, b, b_row, false)?,
            c: fragment(oc, Part::Sum, c, true, false)?,
            matrices: if quads { 4 } else { 1 },
            saturate: i.has(Word::Satfinite),
            rounding: rounding(i),
            bit_and: i.has(Word::And),
        };
        let v = self.vector;
        let run = match a {
            Number::F64 => plain(|x, i, m| unsafe { matrix::product_f64(x, i, m) }),
            Number::S8 | Number::U8 => lane_op!(v, |x, i, m| matrix::product_bytes(x, i, m)),
            Number::S4 | Number::U4 | Number::B1 => plain(|x, i, m| unsafe { matrix::product_small(x, i, m) }),
            _ => lane_op!(v, |x, i, m| matrix::product_f32(x, i, m)),
        };
        let mut decoded = Inst::new(run);
        decoded.set(self.with_operands(Matrix::Product(Box::new(product))));
        Ok(decoded)
    }

    /// The address of a transfer.
    fn transfer_address(&mut self, i: &Instruction, operand: &Operand) -> Decoded<Address> {
        let place = self.address(operand)?;
        if !place.wide && Self::space(i) != crate::ops::memory::SHARED {
            return Err("32-bit addresses are executed in shared memory only".into());
        }
        Ok(place)
    }

    /// An instruction that moves matrices between registers and an address.
    fn moving(&mut self, i: &Instruction, run: OpFn, place: &Address, operands: Matrix) -> Inst {
        let mut decoded = Inst::new(run);
        decoded.a = place.base;
        let (touched, space) = (self.next_touched(), Self::space(i));
        let fields = self.with_operands(operands);
        decoded.set(MatrixOperation { touched, space, wide_address: place.wide, ..fields });
        decoded
    }

    fn transfer(&mut self, i: &Instruction) -> Decoded<Inst> {
        let stores = i.has(Word::Store);
        let (part, shape) = (wmma_part(i).ok_or("the matrix is missing")?, shape(i).ok_or("the shape is missing")?);
        let number = *numbers(i).first().ok_or("the element type is missing")?;
        let [first, second, rest @ ..] = &i.operands[..] else {
            return Err("two operands are needed".into());
        };
        let (data, address) = if stores { (second, first) } else { (first, second) };
        let registers = self.matrix_registers(data, number, !stores)?;
        let fragment = Fragment::tiled(part, shape, number, registers)
            .ok_or_else(|| format!("these registers do not hold a matrix of {shape:?}"))?;
        let stride = rest.first().map(|s| self.source32(s)).transpose()?;
        let place = self.transfer_address(i, address)?;
        let operands = Transfer { fragment, row_major: i.has(Word::Row), offset: place.offset, stride };
        let run: OpFn = if stores {
            |x, i, m| unsafe { matrix_memory::store_fragment(x, i, m) }
        } else {
            |x, i, m| unsafe { matrix_memory::load_fragment(x, i, m) }
        };
        Ok(self.moving(i, run, &place, Matrix::Transfer(Box::new(operands))))
    }

    fn rows(&mut self, i: &Instruction) -> Decoded<Inst> {
        let stores = i.op == O::Stmatrix;
        let [first, second, ..] = &i.operands[..] else {
            return Err("two operands are needed".into());
        };
        let (data, address) = if stores { (second, first) } else { (first, second) };
        let registers = self.matrix_registers(data, Number::F16, !stores)?;
        if !matches!(registers.len(), 1 | 2 | 4) {
            return Err("one, two or four matrices are moved".into());
        }
        let place = self.transfer_address(i, address)?;
        let operands = Matrix::Rows(Rows { registers, transposed: i.has(Word::Trans), offset: place.offset });
        let run: OpFn = if stores {
            |x, i, m| unsafe { matrix_memory::store_rows(x, i, m) }
        } else {
            |x, i, m| unsafe { matrix_memory::load_rows(x, i, m) }
        };
        Ok(self.moving(i, run, &place, operands))
    }
}
