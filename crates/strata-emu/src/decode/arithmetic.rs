//! Integer arithmetic, logic, shifts, bit fields and comparisons.

use super::{Decoded, Decoder, inst};
use crate::exec::{CARRY_PREDICATE, Exec, Flow, Inst, OpFn};
use crate::lane_op;
use crate::lanes::{Lane, map1, map2, map3, map4, read_lanes, test2, write_lanes};
use crate::semantics::bits::{self, Amount, ClampedShift};
use crate::semantics::float::{Float, FloatCompare};
use crate::semantics::half::{self, Bf16, F16};
use crate::semantics::int::{self, Carry, Integer};
use strata_core::LaneMask;
use strata_ptx::ast::{Instruction, Opcode as O, Operand, Type, Word};

/// Runs `$body` with `$T` as the lane type of an integer instruction type.
macro_rules! by_integer {
    ($ty:expr, $T:ident => $body:expr) => {
        match $ty {
            Type::U16 | Type::B16 => by_integer!(@ u16, $T, $body),
            Type::S16 => by_integer!(@ i16, $T, $body),
            Type::U32 | Type::B32 => by_integer!(@ u32, $T, $body),
            Type::S32 => by_integer!(@ i32, $T, $body),
            Type::U64 | Type::B64 => by_integer!(@ u64, $T, $body),
            Type::S64 => by_integer!(@ i64, $T, $body),
            _ => return Err("no integer type".into()),
        }
    };
    (@ $ty:ty, $T:ident, $body:expr) => {{
        type $T = $ty;
        $body
    }};
}

/// The same for operations that do not look at the sign.
macro_rules! by_width {
    ($ty:expr, $T:ident => $body:expr) => {
        match $ty.bits() {
            16 => by_integer!(@ u16, $T, $body),
            32 => by_integer!(@ u32, $T, $body),
            64 => by_integer!(@ u64, $T, $body),
            _ => return Err("no width for this operation".into()),
        }
    };
}

/// The same for the types that have extended-precision forms.
macro_rules! by_word {
    ($ty:expr, $T:ident => $body:expr) => {
        match $ty.bits() {
            32 => by_integer!(@ u32, $T, $body),
            64 => by_integer!(@ u64, $T, $body),
            _ => return Err("no width for a carry".into()),
        }
    };
}

pub(super) const FTZ: i64 = 1;

impl Decoder<'_> {
    /// `d, a, b, c` of one type, as many as there are.
    pub(super) fn uniform(&mut self, i: &Instruction, ty: Type, run: OpFn) -> Decoded<Inst> {
        let mut decoded = inst(run);
        decoded.d = self.destination(i.operands.first().ok_or("operands are missing")?, ty)?;
        for (k, operand) in i.operands[1..].iter().enumerate() {
            let slot = self.source(operand, ty)?;
            match k {
                0 => decoded.a = slot,
                1 => decoded.b = slot,
                2 => decoded.c = slot,
                _ => return Err("too many operands".into()),
            }
        }
        Ok(decoded)
    }

    /// The mode `.clamp` or `.wrap`.
    fn amount(i: &Instruction) -> Amount {
        if i.has(Word::Wrap) { Amount::Wrap } else { Amount::Clamp }
    }

    pub(super) fn arithmetic(&mut self, i: &Instruction) -> Decoded<Inst> {
        let ty = i.ty().ok_or("the type is missing")?;
        let v = self.vector;
        if ty == Type::Pred {
            return self.predicate_logic(i);
        }
        let carries = i.has(Word::Cc) || matches!(i.op, O::Addc | O::Subc | O::Madc);
        if carries {
            return self.carry(i, ty);
        }
        if matches!(ty, Type::U16x2 | Type::S16x2) {
            return self.packed(i, ty);
        }
        let run: OpFn = match i.op {
            O::Add if i.has(Word::Sat) => lane_op!(v, |x, i, m| map2(x, i, m, int::add_sat_s32)),
            O::Sub if i.has(Word::Sat) => lane_op!(v, |x, i, m| map2(x, i, m, int::sub_sat_s32)),
            O::Add => {
                by_width!(ty, T => lane_op!(v, |x, i, m| map2(x, i, m, |a: T, b: T| a.wrapping_add(b))))
            }
            O::Sub => {
                by_width!(ty, T => lane_op!(v, |x, i, m| map2(x, i, m, |a: T, b: T| a.wrapping_sub(b))))
            }
            O::Mul | O::Mad => return self.multiply(i, ty),
            O::Mul24 | O::Mad24 => return self.multiply24(i, ty),
            O::Sad => by_integer!(ty, T => lane_op!(v, |x, i, m| map3(x, i, m, |a: T, b: T, c: T| a.sad(b, c)))),
            O::Div => by_integer!(ty, T => lane_op!(v, |x, i, m| {
                count_zeros::<T>(x, i, m);
                map2(x, i, m, |a: T, b: T| a.divide(b))
            })),
            O::Rem => by_integer!(ty, T => lane_op!(v, |x, i, m| {
                count_zeros::<T>(x, i, m);
                map2(x, i, m, |a: T, b: T| a.remainder(b))
            })),
            O::Abs => by_integer!(ty, T => lane_op!(v, |x, i, m| map1(x, i, m, |a: T| a.absolute()))),
            O::Neg => by_integer!(ty, T => lane_op!(v, |x, i, m| map1(x, i, m, |a: T| a.negate()))),
            O::Min if i.has(Word::Relu) => {
                lane_op!(v, |x, i, m| map2(x, i, m, |a: i32, b: i32| a.min(b).relu()))
            }
            O::Max if i.has(Word::Relu) => {
                lane_op!(v, |x, i, m| map2(x, i, m, |a: i32, b: i32| a.max(b).relu()))
            }
            O::Min => by_integer!(ty, T => lane_op!(v, |x, i, m| map2(x, i, m, |a: T, b: T| a.min(b)))),
            O::Max => by_integer!(ty, T => lane_op!(v, |x, i, m| map2(x, i, m, |a: T, b: T| a.max(b)))),
            O::And => by_width!(ty, T => lane_op!(v, |x, i, m| map2(x, i, m, |a: T, b: T| a & b))),
            O::Or => by_width!(ty, T => lane_op!(v, |x, i, m| map2(x, i, m, |a: T, b: T| a | b))),
            O::Xor => by_width!(ty, T => lane_op!(v, |x, i, m| map2(x, i, m, |a: T, b: T| a ^ b))),
            O::Not => by_width!(ty, T => lane_op!(v, |x, i, m| map1(x, i, m, |a: T| !a))),
            O::Cnot => by_width!(ty, T => lane_op!(v, |x, i, m| map1(x, i, m, |a: T| a.cnot()))),
            O::Shl | O::Shr => return self.shift(i, ty),
            O::Shf | O::Lop3 | O::Bfe | O::Bfi | O::Bfind | O::Brev | O::Clz | O::Popc | O::Bmsk | O::Fns => {
                return self.bit_fields(i, ty);
            }
            O::Dp4a | O::Dp2a => return self.dot_product(i),
            O::Set | O::Setp => return self.compare(i),
            _ => return Err("not an instruction of this type".into()),
        };
        self.uniform(i, ty, run)
    }

    fn multiply(&mut self, i: &Instruction, ty: Type) -> Decoded<Inst> {
        let v = self.vector;
        let mad = i.op == O::Mad;
        if i.has(Word::Wide) {
            let run: OpFn = match (ty, mad) {
                (Type::U16, false) => lane_op!(v, |x, i, m| map2(x, i, m, |a: u16, b: u16| a.mul_wide(b))),
                (Type::S16, false) => lane_op!(v, |x, i, m| map2(x, i, m, |a: i16, b: i16| a.mul_wide(b))),
                (Type::U32, false) => lane_op!(v, |x, i, m| map2(x, i, m, |a: u32, b: u32| a.mul_wide(b))),
                (Type::S32, false) => lane_op!(v, |x, i, m| map2(x, i, m, |a: i32, b: i32| a.mul_wide(b))),
                (Type::U16, true) => lane_op!(v, |x, i, m| map3(x, i, m, |a: u16, b: u16, c: u32| a.mad_wide(b, c))),
                (Type::S16, true) => lane_op!(v, |x, i, m| map3(x, i, m, |a: i16, b: i16, c: i32| a.mad_wide(b, c))),
                (Type::U32, true) => lane_op!(v, |x, i, m| map3(x, i, m, |a: u32, b: u32, c: u64| a.mad_wide(b, c))),
                (Type::S32, true) => lane_op!(v, |x, i, m| map3(x, i, m, |a: i32, b: i32, c: i64| a.mad_wide(b, c))),
                _ => return Err("no wide product of this type".into()),
            };
            let wide = if ty.bits() == 16 { Type::U32 } else { Type::U64 };
            let mut decoded = inst(run);
            decoded.d = self.destination(&i.operands[0], wide)?;
            decoded.a = self.source(&i.operands[1], ty)?;
            decoded.b = self.source(&i.operands[2], ty)?;
            if mad {
                decoded.c = self.source(&i.operands[3], wide)?;
            }
            return Ok(decoded);
        }
        let run: OpFn = match (i.has(Word::Hi), mad) {
            (true, true) if i.has(Word::Sat) => lane_op!(v, |x, i, m| map3(x, i, m, int::mad_hi_sat_s32)),
            (true, false) => {
                by_integer!(ty, T => lane_op!(v, |x, i, m| map2(x, i, m, |a: T, b: T| a.mul_hi(b))))
            }
            (true, true) => {
                by_integer!(ty, T => lane_op!(v, |x, i, m| map3(x, i, m, |a: T, b: T, c: T| a.mad_hi(b, c))))
            }
            (false, false) => {
                by_width!(ty, T => lane_op!(v, |x, i, m| map2(x, i, m, |a: T, b: T| a.mul_lo(b))))
            }
            (false, true) => {
                by_width!(ty, T => lane_op!(v, |x, i, m| map3(x, i, m, |a: T, b: T, c: T| a.mad_lo(b, c))))
            }
        };
        self.uniform(i, ty, run)
    }

    fn multiply24(&mut self, i: &Instruction, ty: Type) -> Decoded<Inst> {
        let v = self.vector;
        let run: OpFn = match (i.op == O::Mad24, i.has(Word::Hi), ty) {
            (false, false, Type::U32) => lane_op!(v, |x, i, m| map2(x, i, m, int::mul24_lo_u32)),
            (false, false, Type::S32) => lane_op!(v, |x, i, m| map2(x, i, m, int::mul24_lo_s32)),
            (false, true, Type::U32) => lane_op!(v, |x, i, m| map2(x, i, m, int::mul24_hi_u32)),
            (false, true, Type::S32) => lane_op!(v, |x, i, m| map2(x, i, m, int::mul24_hi_s32)),
            (true, false, Type::U32) => lane_op!(v, |x, i, m| map3(x, i, m, int::mad24_lo_u32)),
            (true, false, Type::S32) => lane_op!(v, |x, i, m| map3(x, i, m, int::mad24_lo_s32)),
            (true, true, Type::S32) if i.has(Word::Sat) => {
                lane_op!(v, |x, i, m| map3(x, i, m, int::mad24_hi_sat_s32))
            }
            (true, true, Type::U32) => lane_op!(v, |x, i, m| map3(x, i, m, int::mad24_hi_u32)),
            (true, true, Type::S32) => lane_op!(v, |x, i, m| map3(x, i, m, int::mad24_hi_s32)),
            _ => return Err("no 24-bit product of this type".into()),
        };
        self.uniform(i, ty, run)
    }

    fn packed(&mut self, i: &Instruction, ty: Type) -> Decoded<Inst> {
        let v = self.vector;
        let relu = i.has(Word::Relu);
        let run: OpFn = match (i.op, ty) {
            (O::Add, _) => lane_op!(v, |x, i, m| map2(x, i, m, int::add_16x2)),
            (O::Min, Type::U16x2) => lane_op!(v, |x, i, m| map2(x, i, m, int::min_u16x2)),
            (O::Max, Type::U16x2) => lane_op!(v, |x, i, m| map2(x, i, m, int::max_u16x2)),
            (O::Min, _) if relu => lane_op!(v, |x, i, m| map2(x, i, m, |a, b| int::min_s16x2(a, b, true))),
            (O::Max, _) if relu => lane_op!(v, |x, i, m| map2(x, i, m, |a, b| int::max_s16x2(a, b, true))),
            (O::Min, _) => lane_op!(v, |x, i, m| map2(x, i, m, |a, b| int::min_s16x2(a, b, false))),
            (O::Max, _) => lane_op!(v, |x, i, m| map2(x, i, m, |a, b| int::max_s16x2(a, b, false))),
            _ => return Err("not an instruction of packed halves".into()),
        };
        self.uniform(i, ty, run)
    }

    fn shift(&mut self, i: &Instruction, ty: Type) -> Decoded<Inst> {
        let v = self.vector;
        let run: OpFn = if i.op == O::Shl {
            by_width!(ty, T => lane_op!(v, |x, i, m| map2(x, i, m, |a: T, b: u32| ClampedShift::shl(a, b))))
        } else {
            by_integer!(ty, T => lane_op!(v, |x, i, m| map2(x, i, m, |a: T, b: u32| ClampedShift::shr(a, b))))
        };
        let mut decoded = inst(run);
        decoded.d = self.destination(&i.operands[0], ty)?;
        decoded.a = self.source(&i.operands[1], ty)?;
        decoded.b = self.source32(&i.operands[2])?;
        Ok(decoded)
    }

    fn bit_fields(&mut self, i: &Instruction, ty: Type) -> Decoded<Inst> {
        let v = self.vector;
        let amount = Self::amount(i);
        let wrap = amount == Amount::Wrap;
        let short = i.has(Word::Shiftamt);
        let run: OpFn = match (i.op, ty) {
            (O::Shf, _) if i.has(Word::L) && wrap => {
                lane_op!(v, |x, i, m| map3(x, i, m, |a, b, c| bits::shf_l(a, b, c, Amount::Wrap)))
            }
            (O::Shf, _) if i.has(Word::L) => {
                lane_op!(v, |x, i, m| map3(x, i, m, |a, b, c| bits::shf_l(a, b, c, Amount::Clamp)))
            }
            (O::Shf, _) if wrap => {
                lane_op!(v, |x, i, m| map3(x, i, m, |a, b, c| bits::shf_r(a, b, c, Amount::Wrap)))
            }
            (O::Shf, _) => lane_op!(v, |x, i, m| map3(x, i, m, |a, b, c| bits::shf_r(a, b, c, Amount::Clamp))),
            (O::Bmsk, _) if wrap => lane_op!(v, |x, i, m| map2(x, i, m, |a, b| bits::bmsk(a, b, Amount::Wrap))),
            (O::Bmsk, _) => lane_op!(v, |x, i, m| map2(x, i, m, |a, b| bits::bmsk(a, b, Amount::Clamp))),
            (O::Lop3, _) => return self.lop3(i),
            (O::Bfe, Type::U32) => lane_op!(v, |x, i, m| map3(x, i, m, bits::bfe_u32)),
            (O::Bfe, Type::S32) => lane_op!(v, |x, i, m| map3(x, i, m, bits::bfe_s32)),
            (O::Bfe, Type::U64) => lane_op!(v, |x, i, m| map3(x, i, m, bits::bfe_u64)),
            (O::Bfe, Type::S64) => lane_op!(v, |x, i, m| map3(x, i, m, bits::bfe_s64)),
            (O::Bfi, Type::B32) => lane_op!(v, |x, i, m| map4(x, i, m, bits::bfi_b32)),
            (O::Bfi, Type::B64) => lane_op!(v, |x, i, m| map4(x, i, m, bits::bfi_b64)),
            (O::Bfind, Type::U32) if short => lane_op!(v, |x, i, m| map1(x, i, m, |a| bits::bfind_u32(a, true))),
            (O::Bfind, Type::S32) if short => lane_op!(v, |x, i, m| map1(x, i, m, |a| bits::bfind_s32(a, true))),
            (O::Bfind, Type::U64) if short => lane_op!(v, |x, i, m| map1(x, i, m, |a| bits::bfind_u64(a, true))),
            (O::Bfind, Type::S64) if short => lane_op!(v, |x, i, m| map1(x, i, m, |a| bits::bfind_s64(a, true))),
            (O::Bfind, Type::U32) => lane_op!(v, |x, i, m| map1(x, i, m, |a| bits::bfind_u32(a, false))),
            (O::Bfind, Type::S32) => lane_op!(v, |x, i, m| map1(x, i, m, |a| bits::bfind_s32(a, false))),
            (O::Bfind, Type::U64) => lane_op!(v, |x, i, m| map1(x, i, m, |a| bits::bfind_u64(a, false))),
            (O::Bfind, Type::S64) => lane_op!(v, |x, i, m| map1(x, i, m, |a| bits::bfind_s64(a, false))),
            (O::Brev, Type::B32) => lane_op!(v, |x, i, m| map1(x, i, m, u32::reverse_bits)),
            (O::Brev, Type::B64) => lane_op!(v, |x, i, m| map1(x, i, m, u64::reverse_bits)),
            (O::Clz, Type::B32) => lane_op!(v, |x, i, m| map1(x, i, m, u32::leading_zeros)),
            (O::Clz, Type::B64) => lane_op!(v, |x, i, m| map1(x, i, m, u64::leading_zeros)),
            (O::Popc, Type::B32) => lane_op!(v, |x, i, m| map1(x, i, m, u32::count_ones)),
            (O::Popc, Type::B64) => lane_op!(v, |x, i, m| map1(x, i, m, u64::count_ones)),
            (O::Fns, _) => lane_op!(v, |x, i, m| map3(x, i, m, bits::fns)),
            _ => return Err("not an instruction of this type".into()),
        };
        let result = if matches!(i.op, O::Bfind | O::Clz | O::Popc) { Type::U32 } else { ty };
        let mut decoded = inst(run);
        decoded.d = self.destination(&i.operands[0], result)?;
        decoded.a = self.source(&i.operands[1], ty)?;
        match (i.op, &i.operands[2..]) {
            (O::Bfi, [b, pos, len]) => {
                decoded.b = self.source(b, ty)?;
                decoded.c = self.source32(pos)?;
                decoded.e = self.source32(len)?;
            }
            (_, rest) => {
                if let Some(b) = rest.first() {
                    decoded.b = self.source32(b)?;
                }
                if let Some(c) = rest.get(1) {
                    decoded.c = self.source32(c)?;
                }
            }
        }
        Ok(decoded)
    }

    fn lop3(&mut self, i: &Instruction) -> Decoded<Inst> {
        let Some(Operand::Immediate(strata_ptx::ast::Immediate::Int(table))) = i.operands.get(4) else {
            return Err("the truth table is no constant".into());
        };
        let run = lane_op!(self.vector, |x, i, m| {
            let table = i.imm as u8;
            map3(x, i, m, |a, b, c| bits::lop3(a, b, c, table))
        });
        let mut decoded = inst(run);
        decoded.d = self.destination(&i.operands[0], Type::B32)?;
        decoded.a = self.source32(&i.operands[1])?;
        decoded.b = self.source32(&i.operands[2])?;
        decoded.c = self.source32(&i.operands[3])?;
        decoded.imm = *table;
        Ok(decoded)
    }

    fn dot_product(&mut self, i: &Instruction) -> Decoded<Inst> {
        let types: Vec<Type> = i.types().collect();
        let signed = |k: usize| i64::from(types.get(k).copied().is_some_and(Type::is_signed));
        let run: OpFn = if i.op == O::Dp4a {
            lane_op!(self.vector, |x, i, m| {
                let (sa, sb) = (i.imm & 1 != 0, i.imm & 2 != 0);
                map3(x, i, m, |a, b, c| int::dp4a(a, sa, b, sb, c))
            })
        } else {
            lane_op!(self.vector, |x, i, m| {
                let (sa, sb, high) = (i.imm & 1 != 0, i.imm & 2 != 0, i.imm & 4 != 0);
                map3(x, i, m, |a, b, c| int::dp2a(a, sa, b, sb, high, c))
            })
        };
        let mut decoded = self.uniform(i, Type::U32, run)?;
        decoded.imm = signed(0) | signed(1) << 1 | i64::from(i.has(Word::Hi)) << 2;
        Ok(decoded)
    }

    /// Extended precision: the carry of each lane is a bit of a hidden predicate.
    fn carry(&mut self, i: &Instruction, ty: Type) -> Decoded<Inst> {
        let run: OpFn = match (i.op, i.has(Word::Hi)) {
            (O::Add, _) => {
                by_word!(ty, T => plain(|x, i, m| unsafe { with_carry::<T>(x, i, m, |a, b, _, _| a.add_cc(b)) }))
            }
            (O::Addc, _) => {
                by_word!(ty, T => plain(|x, i, m| unsafe { with_carry::<T>(x, i, m, |a, b, _, c| a.addc_cc(b, c)) }))
            }
            (O::Sub, _) => {
                by_word!(ty, T => plain(|x, i, m| unsafe { with_carry::<T>(x, i, m, |a, b, _, _| a.sub_cc(b)) }))
            }
            (O::Subc, _) => {
                by_word!(ty, T => plain(|x, i, m| unsafe { with_carry::<T>(x, i, m, |a, b, _, c| a.subc_cc(b, c)) }))
            }
            (O::Mad, false) => {
                by_word!(ty, T => plain(|x, i, m| unsafe { with_carry::<T>(x, i, m, |a, b, c, _| a.mad_lo_cc(b, c)) }))
            }
            (O::Madc, false) => {
                by_word!(ty, T => plain(|x, i, m| unsafe { with_carry::<T>(x, i, m, Carry::madc_lo_cc) }))
            }
            (O::Mad, true) if ty.is_signed() => match ty {
                Type::S32 => plain(|x, i, m| unsafe { with_carry::<i32>(x, i, m, |a, b, c, _| a.mad_hi_cc(b, c)) }),
                _ => plain(|x, i, m| unsafe { with_carry::<i64>(x, i, m, |a, b, c, _| a.mad_hi_cc(b, c)) }),
            },
            (O::Madc, true) if ty.is_signed() => match ty {
                Type::S32 => plain(|x, i, m| unsafe { with_carry::<i32>(x, i, m, Carry::madc_hi_cc) }),
                _ => plain(|x, i, m| unsafe { with_carry::<i64>(x, i, m, Carry::madc_hi_cc) }),
            },
            (O::Mad, true) => {
                by_word!(ty, T => plain(|x, i, m| unsafe { with_carry::<T>(x, i, m, |a, b, c, _| a.mad_hi_cc(b, c)) }))
            }
            (O::Madc, true) => {
                by_word!(ty, T => plain(|x, i, m| unsafe { with_carry::<T>(x, i, m, Carry::madc_hi_cc) }))
            }
            _ => return Err("no carry for this operation".into()),
        };
        let mut decoded = self.uniform(i, ty, run)?;
        if !matches!(i.op, O::Mad | O::Madc) {
            decoded.c = decoded.a;
        }
        decoded.imm = i64::from(i.has(Word::Cc));
        Ok(decoded)
    }

    /// `and or xor not` of predicates: one word operation for the whole warp.
    fn predicate_logic(&mut self, i: &Instruction) -> Decoded<Inst> {
        let run: OpFn = match i.op {
            O::And => plain(|x, i, m| combine(x, i, m, |a, b| a & b)),
            O::Or => plain(|x, i, m| combine(x, i, m, |a, b| a | b)),
            O::Xor => plain(|x, i, m| combine(x, i, m, |a, b| a ^ b)),
            O::Not => plain(|x, i, m| combine(x, i, m, |a, _| !a)),
            _ => return Err("not an instruction of predicates".into()),
        };
        let mut decoded = inst(run);
        decoded.p = self.predicate_destination(&i.operands[0])?.ok_or("the result is dropped")?;
        let (a, a_flip) = self.predicate_source(&i.operands[1])?;
        let (b, b_flip) = match i.operands.get(2) {
            Some(b) => self.predicate_source(b)?,
            None => (a, a_flip),
        };
        (decoded.q, decoded.r) = (a, b);
        decoded.imm = i64::from(a_flip);
        decoded.aux = b_flip;
        Ok(decoded)
    }

    /// `setp` and `set`: a bit per lane, perhaps combined with a predicate, to predicates or as a value.
    fn compare(&mut self, i: &Instruction) -> Decoded<Inst> {
        let types: Vec<Type> = i.types().collect();
        let set = i.op == O::Set;
        let ty = *types.get(usize::from(set)).ok_or("the type of the operands is missing")?;
        let word = *i.words.iter().find(|w| is_comparison(**w)).ok_or("the comparison is missing")?;
        let v = self.vector;
        macro_rules! integers {
            ($compare:expr) => {
                by_integer!(ty, T => lane_op!(v, |x, i, m| {
                    let compare: fn(&T, &T) -> bool = $compare;
                    let bits = test2(x, i, |a: T, b: T| compare(&a, &b));
                    deliver(x, i, m, bits)
                }))
            };
        }
        macro_rules! floats {
            ($op:expr) => {
                match ty {
                    Type::F32 => lane_op!(v, |x, i, m| {
                        let bits = if i.imm & FTZ == 0 {
                            test2(x, i, |a: f32, b: f32| a.compare(b, $op, false))
                        } else {
                            test2(x, i, |a: f32, b: f32| a.compare(b, $op, true))
                        };
                        deliver(x, i, m, bits)
                    }),
                    _ => lane_op!(v, |x, i, m| {
                        let bits = test2(x, i, |a: f64, b: f64| a.compare(b, $op, false));
                        deliver(x, i, m, bits)
                    }),
                }
            };
        }
        let run: OpFn = match ty {
            Type::F32 | Type::F64 => match float_compare(word).ok_or("not a comparison of floats")? {
                FloatCompare::Eq => floats!(FloatCompare::Eq),
                FloatCompare::Ne => floats!(FloatCompare::Ne),
                FloatCompare::Lt => floats!(FloatCompare::Lt),
                FloatCompare::Le => floats!(FloatCompare::Le),
                FloatCompare::Gt => floats!(FloatCompare::Gt),
                FloatCompare::Ge => floats!(FloatCompare::Ge),
                FloatCompare::Equ => floats!(FloatCompare::Equ),
                FloatCompare::Neu => floats!(FloatCompare::Neu),
                FloatCompare::Ltu => floats!(FloatCompare::Ltu),
                FloatCompare::Leu => floats!(FloatCompare::Leu),
                FloatCompare::Gtu => floats!(FloatCompare::Gtu),
                FloatCompare::Geu => floats!(FloatCompare::Geu),
                FloatCompare::Num => floats!(FloatCompare::Num),
                FloatCompare::Nan => floats!(FloatCompare::Nan),
            },
            Type::F16 | Type::F16x2 | Type::Bf16 | Type::Bf16x2 => return self.compare_half(i, ty, word),
            _ => match word {
                Word::Eq => integers!(T::eq),
                Word::Ne => integers!(T::ne),
                Word::Lt | Word::Lo => integers!(T::lt),
                Word::Le | Word::Ls => integers!(T::le),
                Word::Gt | Word::Hi => integers!(T::gt),
                Word::Ge | Word::Hs => integers!(T::ge),
                _ => return Err("not a comparison of integers".into()),
            },
        };
        self.compare_operands(i, ty, run)
    }

    /// The operands that all comparisons share.
    fn compare_operands(&mut self, i: &Instruction, ty: Type, run: OpFn) -> Decoded<Inst> {
        let mut decoded = inst(run);
        decoded.imm = if i.has(Word::Ftz) { FTZ } else { 0 };
        if i.op == O::Set {
            let result = i.ty().ok_or("the type of the result is missing")?;
            decoded.d = self.destination(&i.operands[0], result)?;
            decoded.imm |= if result.is_float() { VALUE_FLOAT } else { VALUE_INTEGER };
            if result.bits() == 16 {
                decoded.imm |= VALUE_HALF;
            }
        } else {
            let (p, q) = match &i.operands[0] {
                Operand::Pair(p, q) => (self.predicate_destination(p)?, self.predicate_destination(q)?),
                p => (self.predicate_destination(p)?, None),
            };
            // Results nobody wants go to the hidden carry predicate's neighbour: encoded as "no write".
            decoded.p = p.unwrap_or(NO_PREDICATE);
            decoded.q = q.unwrap_or(NO_PREDICATE);
        }
        decoded.a = self.source(&i.operands[1], ty)?;
        decoded.b = self.source(&i.operands[2], ty)?;
        if let Some(c) = i.operands.get(3) {
            (decoded.r, decoded.aux) = self.predicate_source(c)?;
            decoded.imm |= i
                .words
                .iter()
                .find_map(|w| match w {
                    Word::And => Some(COMBINE_AND),
                    Word::Or => Some(COMBINE_OR),
                    Word::Xor => Some(COMBINE_XOR),
                    _ => None,
                })
                .ok_or("the combination is missing")?;
        }
        Ok(decoded)
    }

    fn compare_half(&mut self, i: &Instruction, ty: Type, word: Word) -> Decoded<Inst> {
        let op = float_compare(word).ok_or("not a comparison of floats")?;
        let run: OpFn = match ty {
            Type::F16 => plain(compare_halves::<F16, false>),
            Type::F16x2 => plain(compare_halves::<F16, true>),
            Type::Bf16 => plain(compare_halves::<Bf16, false>),
            _ => plain(compare_halves::<Bf16, true>),
        };
        let mut decoded = self.compare_operands(i, ty, run)?;
        decoded.imm |= (op as i64) << COMPARE_SHIFT;
        Ok(decoded)
    }
}

/// Bits of `imm` of a comparison.
const COMBINE_AND: i64 = 1 << 1;
const COMBINE_OR: i64 = 1 << 2;
const COMBINE_XOR: i64 = 1 << 3;
const VALUE_INTEGER: i64 = 1 << 4;
const VALUE_FLOAT: i64 = 1 << 5;
const VALUE_HALF: i64 = 1 << 6;
const COMPARE_SHIFT: u32 = 8;
/// A predicate result that is dropped.
const NO_PREDICATE: u16 = u16::MAX;

/// A function pointer from a closure that captures nothing.
pub(super) fn plain(run: OpFn) -> OpFn {
    run
}

fn is_comparison(word: Word) -> bool {
    float_compare(word).is_some() || matches!(word, Word::Lo | Word::Ls | Word::Hi | Word::Hs)
}

pub(super) fn float_compare(word: Word) -> Option<FloatCompare> {
    Some(match word {
        Word::Eq => FloatCompare::Eq,
        Word::Ne => FloatCompare::Ne,
        Word::Lt => FloatCompare::Lt,
        Word::Le => FloatCompare::Le,
        Word::Gt => FloatCompare::Gt,
        Word::Ge => FloatCompare::Ge,
        Word::Equ => FloatCompare::Equ,
        Word::Neu => FloatCompare::Neu,
        Word::Ltu => FloatCompare::Ltu,
        Word::Leu => FloatCompare::Leu,
        Word::Gtu => FloatCompare::Gtu,
        Word::Geu => FloatCompare::Geu,
        Word::Num => FloatCompare::Num,
        Word::Nan => FloatCompare::Nan,
        _ => return None,
    })
}

/// Comparisons in the order of `FloatCompare as i64`.
const FLOAT_COMPARES: [FloatCompare; 14] = [
    FloatCompare::Eq,
    FloatCompare::Ne,
    FloatCompare::Lt,
    FloatCompare::Le,
    FloatCompare::Gt,
    FloatCompare::Ge,
    FloatCompare::Equ,
    FloatCompare::Neu,
    FloatCompare::Ltu,
    FloatCompare::Leu,
    FloatCompare::Gtu,
    FloatCompare::Geu,
    FloatCompare::Num,
    FloatCompare::Nan,
];

/// Combines a comparison with its predicate operand and writes it.
#[inline(always)]
fn deliver(x: &mut Exec<'_>, i: &Inst, m: LaneMask, bits: LaneMask) -> Flow {
    deliver_both(x, i, m, bits, !bits)
}

/// The same when the second result is not the complement of the first.
#[inline(always)]
fn deliver_both(x: &mut Exec<'_>, i: &Inst, m: LaneMask, bits: LaneMask, other: LaneMask) -> Flow {
    let combine = |bits: LaneMask| {
        let c = x.predicate(i.r) ^ i.aux;
        match i.imm & (COMBINE_AND | COMBINE_OR | COMBINE_XOR) {
            COMBINE_AND => bits & c,
            COMBINE_OR => bits | c,
            COMBINE_XOR => bits ^ c,
            _ => bits,
        }
    };
    let (bits, other) = (combine(bits), combine(other));
    if i.imm & (VALUE_INTEGER | VALUE_FLOAT) != 0 {
        let one = match (i.imm & VALUE_FLOAT != 0, i.imm & VALUE_HALF != 0) {
            (true, false) => 1f32.to_bits(),
            (true, true) => 0x3c00,
            (false, false) => u32::MAX,
            (false, true) => 0xffff,
        };
        // SAFETY: decoding gave a 32-bit destination.
        unsafe { write_lanes::<u32>(x, i.d, m, |l| if bits >> l & 1 != 0 { one } else { 0 }) };
        return Flow::Next;
    }
    if i.p != NO_PREDICATE {
        x.set_predicate(i.p, m, bits);
    }
    if i.q != NO_PREDICATE {
        x.set_predicate(i.q, m, other);
    }
    Flow::Next
}

fn compare_halves<H: half::HalfFormat, const PAIR: bool>(x: &mut Exec<'_>, i: &Inst, m: LaneMask) -> Flow {
    let op = FLOAT_COMPARES[(i.imm >> COMPARE_SHIFT) as usize];
    let ftz = i.imm & FTZ != 0;
    // SAFETY: decoding gave 32-bit slots.
    let (a, b) = unsafe { (read_lanes::<u32>(x, i.a), read_lanes::<u32>(x, i.b)) };
    let test = |shift: u32| {
        (0..32).fold(0, |bits, l| {
            let holds = half::compare::<H>((a[l] >> shift) as u16, (b[l] >> shift) as u16, op, ftz);
            bits | u32::from(holds) << l
        })
    };
    let low = test(0);
    let other = if PAIR { test(16) } else { !low };
    deliver_both(x, i, m, low, other)
}

/// Counts the active lanes that divide by zero.
#[inline(always)]
unsafe fn count_zeros<T: Lane + Integer>(x: &mut Exec<'_>, i: &Inst, m: LaneMask)
where
    T::Stored: PartialEq + Default,
{
    // SAFETY: decoding gave a slot of `T`.
    let divisors = unsafe { read_lanes::<T>(x, i.b) };
    let zeros =
        divisors.iter().enumerate().fold(0, |bits, (l, d)| bits | u32::from(d.store() == T::Stored::default()) << l);
    x.divisions_by_zero += u64::from((zeros & m).count_ones());
}

/// Lane by lane with the carry flag: `f(a, b, c, carry in) -> (result, carry out)`; `imm` says whether to keep it.
#[inline(always)]
unsafe fn with_carry<T: Lane>(x: &mut Exec<'_>, i: &Inst, m: LaneMask, f: impl Fn(T, T, T, bool) -> (T, bool)) -> Flow {
    let flags = x.predicate(CARRY_PREDICATE);
    // SAFETY: decoding gave slots of `T`.
    unsafe {
        let (a, b, c) = (read_lanes::<T>(x, i.a), read_lanes::<T>(x, i.b), read_lanes::<T>(x, i.c));
        let results: [(T, bool); 32] = std::array::from_fn(|l| f(a[l], b[l], c[l], flags >> l & 1 != 0));
        write_lanes::<T>(x, i.d, m, |l| results[l].0);
        if i.imm != 0 {
            let out = (0..32).fold(0, |bits, l| bits | u32::from(results[l].1) << l);
            x.set_predicate(CARRY_PREDICATE, m, out);
        }
    }
    Flow::Next
}

#[inline(always)]
fn combine(x: &mut Exec<'_>, i: &Inst, m: LaneMask, f: impl Fn(LaneMask, LaneMask) -> LaneMask) -> Flow {
    let a = x.predicate(i.q) ^ i.imm as u32;
    let b = x.predicate(i.r) ^ i.aux;
    x.set_predicate(i.p, m, f(a, b));
    Flow::Next
}
