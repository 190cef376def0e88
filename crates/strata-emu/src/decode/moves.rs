//! Moves, selections, packing, address conversions, permutations, special registers.

use super::arithmetic::plain;
use super::{Decoded, Decoder, literal_bits, units};
use crate::exec::Slot;
use crate::inst::{
    AddressConversion, Inst, LocalAddress, OpFn, Parts, PredicateMove, Selection, SignSelection, SpaceTest,
};
use crate::kernel::Constant;
use crate::lane_op;
use crate::lanes::{map1, map3, select};
use crate::memory::{LOCAL_WINDOW, SHARED_WINDOW};
use crate::ops::moves::{is_space, local_address, pack, pack_bytes, unpack};
use crate::ops::special;
use crate::semantics::bits::{self, PermuteMode};
use crate::semantics::float::Float;
use strata_core::Space;
use strata_ptx::ast::{Instruction, Opcode as O, Operand, Special, StateSpace, Symbol, Type, Word};

impl Decoder<'_> {
    pub(super) fn moves(&mut self, i: &Instruction) -> Decoded<Inst> {
        match i.op {
            O::Mov => self.mov(i),
            O::Cvta => self.convert_address(i),
            O::Selp => self.select(i),
            O::Slct => self.select_by_sign(i),
            O::Isspacep => self.is_space(i),
            _ => self.permute(i),
        }
    }

    /// A copy of a slot of one or two units.
    fn copy(&self, wide: bool) -> OpFn {
        if wide {
            lane_op!(self.vector, |x, i, m| map1(x, i, m, |a: u64| a))
        } else {
            lane_op!(self.vector, |x, i, m| map1(x, i, m, |a: u32| a))
        }
    }

    fn mov(&mut self, i: &Instruction) -> Decoded<Inst> {
        let ty = i.ty().ok_or("the type is missing")?;
        let [d, a] = &i.operands[..] else {
            return Err("a move has two operands".into());
        };
        if ty == Type::Pred {
            let mut decoded = Inst::new(plain(|x, i, m| {
                let PredicateMove { result, from } = i.fields();
                let bits = x.truth(from);
                x.set_predicate(result, m, bits);
                crate::exec::Flow::Next
            }));
            decoded.set(PredicateMove { result: self.predicate_result(d)?, from: self.predicate_source(a)? });
            return Ok(decoded);
        }
        match (d, a) {
            (Operand::Vector(parts), whole) => return self.unpack(parts, whole, ty),
            (whole, Operand::Vector(parts)) => return self.pack(whole, parts, ty),
            (_, Operand::Special(special)) => return self.special(d, *special),
            (_, Operand::Symbol(symbol, offset)) => {
                if let Some(decoded) = self.frame_address(d, *symbol, *offset, ty, 0)? {
                    return Ok(decoded);
                }
            }
            _ => {}
        }
        if ty == Type::B128 {
            let mut decoded = Inst::new(plain(crate::ops::moves::copy128));
            decoded.d = self.destination(d, ty)?;
            decoded.a = self.source(a, ty)?;
            return Ok(decoded);
        }
        let mut decoded = Inst::new(self.copy(units(ty.bits()) == 2));
        decoded.d = self.destination(d, ty)?;
        decoded.a = self.source(a, ty)?;
        Ok(decoded)
    }

    /// Addresses that are only known when the frame or the launch is: `.local` variables and parameters. Those of local
    /// memory are moved into `window`.
    fn frame_address(
        &mut self,
        d: &Operand,
        symbol: Symbol,
        offset: i64,
        ty: Type,
        window: u64,
    ) -> Decoded<Option<Inst>> {
        match symbol {
            Symbol::Local(v) if self.function.variables[v as usize].space == StateSpace::Local => {
                let mut decoded = Inst::new(plain(local_address));
                decoded.d = self.destination(d, ty)?;
                let offset = (self.frame.local_at[v as usize] as i64 + offset).wrapping_add(window as i64);
                decoded.set(LocalAddress { offset, wide: units(ty.bits()) == 2 });
                Ok(Some(decoded))
            }
            Symbol::Param(p) if self.function.is_entry => {
                let base = super::frame::param_offsets(self.function).0[p as usize];
                let mut decoded = Inst::new(self.copy(true));
                decoded.d = self.destination(d, Type::U64)?;
                decoded.a = self.constant(Constant::ParamAddress((i64::from(base) + offset) as u32));
                Ok(Some(decoded))
            }
            _ => Ok(None),
        }
    }

    /// `mov.b64 {lo, hi}, a`.
    fn unpack(&mut self, parts: &[Operand], whole: &Operand, ty: Type) -> Decoded<Inst> {
        let bits = ty.bits() / parts.len() as u32;
        let slots = self.parts(parts, bits, true)?;
        let mut decoded = Inst::new(match (ty.bits(), bits) {
            (32, 16) => plain(unpack::<u32, 16>),
            (32, 8) => plain(unpack::<u32, 8>),
            (64, 32) => plain(unpack::<u64, 32>),
            (64, 16) => plain(unpack::<u64, 16>),
            (64, 8) => plain(unpack::<u64, 8>),
            (16, 8) => plain(unpack::<u16, 8>),
            (128, 64) => plain(crate::ops::moves::unpack128),
            _ => return Err("no such division of a register".into()),
        });
        decoded.a = self.source(whole, ty)?;
        decoded.set(Parts { count: parts.len() as u16 });
        [decoded.d, decoded.b, decoded.c, decoded.e] = slots;
        Ok(decoded)
    }

    /// `mov.b64 d, {lo, hi}`.
    fn pack(&mut self, whole: &Operand, parts: &[Operand], ty: Type) -> Decoded<Inst> {
        let bits = ty.bits() / parts.len() as u32;
        let slots = self.parts(parts, bits, false)?;
        let mut decoded = Inst::new(match (ty.bits(), bits) {
            (32, 16) => plain(pack::<u32, 16>),
            (32, 8) => plain(pack_bytes::<u32>),
            (64, 32) => plain(pack::<u64, 32>),
            (64, 16) => plain(pack::<u64, 16>),
            (16, 8) => plain(pack_bytes::<u16>),
            (128, 64) => plain(crate::ops::moves::pack128),
            _ => return Err("no such composition of a register".into()),
        });
        decoded.d = self.destination(whole, ty)?;
        decoded.set(Parts { count: parts.len() as u16 });
        [decoded.a, decoded.b, decoded.c, decoded.e] = slots;
        Ok(decoded)
    }

    /// The slots of up to four parts of a register; results nobody wants go to scratch.
    fn parts(&mut self, parts: &[Operand], bits: u32, written: bool) -> Decoded<[Slot; 4]> {
        if parts.len() > 4 {
            return Err("more than four parts".into());
        }
        let ty = match bits {
            8 => Type::B8,
            16 => Type::B16,
            32 => Type::B32,
            _ => Type::B64,
        };
        let mut slots = [Slot::register(self.frame.scratch); 4];
        for (slot, part) in slots.iter_mut().zip(parts) {
            *slot = match part {
                Operand::Immediate(v) if units(bits) == 1 => self.word(literal_bits(*v, ty) as u32),
                part if written => self.destination(part, ty)?,
                part => self.source(part, ty)?,
            };
        }
        Ok(slots)
    }

    fn special(&mut self, d: &Operand, special: Special) -> Decoded<Inst> {
        let lanes = |f: fn(u32) -> u32| Constant::Lanes(Box::new(std::array::from_fn(|l| f(l as u32))));
        let wide = matches!(d, Operand::Register(r) if units(self.register_type(*r).bits()) == 2);
        let constant = match special {
            Special::Laneid => Some(lanes(|l| l)),
            Special::LanemaskEq => Some(lanes(|l| 1 << l)),
            Special::LanemaskLt => Some(lanes(|l| (1 << l) - 1)),
            Special::LanemaskLe => Some(lanes(|l| u32::MAX >> (31 - l))),
            Special::LanemaskGt => Some(lanes(|l| u32::MAX.unbounded_shl(l + 1))),
            Special::LanemaskGe => Some(lanes(|l| u32::MAX << l)),
            _ => None,
        };
        if let Some(constant) = constant {
            let mut decoded = Inst::new(self.copy(false));
            decoded.d = self.destination(d, Type::U32)?;
            decoded.a = self.constant(constant);
            return Ok(decoded);
        }
        let mut decoded = Inst::new(special::reader(special, wide).ok_or("not a special register this machine has")?);
        decoded.d = self.destination(d, if wide { Type::U64 } else { Type::U32 })?;
        Ok(decoded)
    }

    /// `cvta`: between a generic address and one of a space. Global and constant addresses are the same in both.
    fn convert_address(&mut self, i: &Instruction) -> Decoded<Inst> {
        let ty = i.ty().ok_or("the type is missing")?;
        let window = match i.space() {
            Some(StateSpace::Shared) => SHARED_WINDOW,
            Some(StateSpace::Local) => LOCAL_WINDOW,
            _ => 0,
        };
        if ty.bits() != 64 && window != 0 {
            return Err("32-bit generic addresses are not executed".into());
        }
        let [d, a] = &i.operands[..] else {
            return Err("two operands are needed".into());
        };
        // A variable named here may be local to the frame: take its address first, then move it into the window.
        if let Operand::Symbol(symbol, offset) = a
            && let Some(decoded) = self.frame_address(d, *symbol, *offset, ty, window)?
        {
            return Ok(decoded);
        }
        let mut decoded = Inst::new(self.copy(true));
        if window != 0 {
            decoded.run = lane_op!(self.vector, |x, i, m| {
                let distance = i.fields::<AddressConversion>().distance as u64;
                map1(x, i, m, |a: u64| a.wrapping_add(distance))
            });
            let distance = if i.has(Word::To) { (window as i64).wrapping_neg() } else { window as i64 };
            decoded.set(AddressConversion { distance });
        } else if ty.bits() == 32 {
            decoded.run = self.copy(false);
        }
        decoded.d = self.destination(d, ty)?;
        decoded.a = self.source(a, ty)?;
        Ok(decoded)
    }

    fn select(&mut self, i: &Instruction) -> Decoded<Inst> {
        let ty = i.ty().ok_or("the type is missing")?;
        let run: OpFn = if units(ty.bits()) == 2 {
            lane_op!(self.vector, |x, i, m| {
                let p = x.truth(i.fields::<Selection>().by);
                select::<u64>(x, i, m, p)
            })
        } else {
            lane_op!(self.vector, |x, i, m| {
                let p = x.truth(i.fields::<Selection>().by);
                select::<u32>(x, i, m, p)
            })
        };
        let [d, a, b, c] = &i.operands[..] else {
            return Err("four operands are needed".into());
        };
        let mut decoded = Inst::new(run);
        decoded.d = self.destination(d, ty)?;
        decoded.a = self.source(a, ty)?;
        decoded.b = self.source(b, ty)?;
        decoded.set(Selection { by: self.predicate_source(c)? });
        Ok(decoded)
    }

    /// `slct`: `c >= 0 ? a : b`; an f32 NaN is not, and with `.ftz` a subnormal is zero.
    fn select_by_sign(&mut self, i: &Instruction) -> Decoded<Inst> {
        let types: Vec<Type> = i.types().collect();
        let (Some(&ty), Some(&by)) = (types.first(), types.get(1)) else {
            return Err("two types are needed".into());
        };
        let v = self.vector;
        let run: OpFn = match (units(ty.bits()) == 2, by == Type::F32) {
            (false, false) => {
                lane_op!(v, |x, i, m| map3(x, i, m, |a: u32, b: u32, c: i32| if c >= 0 { a } else { b }))
            }
            (false, true) => lane_op!(v, |x, i, m| {
                let SignSelection { ftz } = i.fields();
                map3(x, i, m, |a: u32, b: u32, c: f32| if c.flush(ftz) >= 0.0 { a } else { b })
            }),
            (true, false) => {
                lane_op!(v, |x, i, m| map3(x, i, m, |a: u64, b: u64, c: i32| if c >= 0 { a } else { b }))
            }
            (true, true) => lane_op!(v, |x, i, m| {
                let SignSelection { ftz } = i.fields();
                map3(x, i, m, |a: u64, b: u64, c: f32| if c.flush(ftz) >= 0.0 { a } else { b })
            }),
        };
        let [d, a, b, c] = &i.operands[..] else {
            return Err("four operands are needed".into());
        };
        let mut decoded = Inst::new(run);
        decoded.d = self.destination(d, ty)?;
        decoded.a = self.source(a, ty)?;
        decoded.b = self.source(b, ty)?;
        decoded.c = self.source(c, by)?;
        decoded.set(SignSelection { ftz: i.has(Word::Ftz) });
        Ok(decoded)
    }

    fn is_space(&mut self, i: &Instruction) -> Decoded<Inst> {
        let mut decoded = Inst::new(plain(is_space));
        let result = self.predicate_result(&i.operands[0])?;
        decoded.a = self.source(&i.operands[1], Type::U64)?;
        let space = match i.space() {
            Some(StateSpace::Shared) => Space::Shared,
            Some(StateSpace::Local) => Space::Local,
            Some(StateSpace::Global) => Space::Global,
            _ => Space::None,
        };
        decoded.set(SpaceTest { result, space });
        Ok(decoded)
    }

    fn permute(&mut self, i: &Instruction) -> Decoded<Inst> {
        let v = self.vector;
        macro_rules! permute {
            ($mode:expr) => {
                lane_op!(v, |x, i, m| map3(x, i, m, |a, b, c| bits::prmt(a, b, c, $mode)))
            };
        }
        let run: OpFn = i
            .words
            .iter()
            .find_map(|w| {
                Some(match w {
                    Word::F4e => permute!(PermuteMode::Forward4),
                    Word::B4e => permute!(PermuteMode::Backward4),
                    Word::Rc8 => permute!(PermuteMode::Replicate8),
                    Word::Ecl => permute!(PermuteMode::EdgeClampLeft),
                    Word::Ecr => permute!(PermuteMode::EdgeClampRight),
                    Word::Rc16 => permute!(PermuteMode::Replicate16),
                    _ => return None,
                })
            })
            .unwrap_or_else(|| permute!(PermuteMode::Default));
        self.uniform(i, Type::B32, run)
    }
}
