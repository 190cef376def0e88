//! Integer arithmetic, logic, shifts and bit fields.

use super::{ALWAYS, Decoded, Decoder};
use crate::exec::{CARRY_PREDICATE, Exec, Flow, TRUE_PREDICATE};
use crate::inst::{Carrying, DotProduct, Inst, Lop3, OpFn, PredicateLogic};
use crate::lane_op;
use crate::lanes::{Lane, map1, map2, map3, map4, read_lanes, write_lanes};
use crate::semantics::bits::{self, Amount, ClampedShift};
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

pub(super) use by_integer;

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

impl Decoder<'_> {
    /// `d, a, b, c` of one type, as many as there are.
    pub(super) fn uniform(&mut self, i: &Instruction, ty: Type, run: OpFn) -> Decoded<Inst> {
        let mut decoded = Inst::new(run);
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
        if matches!(ty, Type::U16x2 | Type::S16x2 | Type::U8x4 | Type::S8x4) {
            return self.packed(i, ty);
        }
        let run: OpFn = match i.op {
            O::Add if i.has(Word::Sat) && ty == Type::U32 => {
                lane_op!(v, |x, i, m| map2(x, i, m, int::add_sat_u32))
            }
            O::Sub if i.has(Word::Sat) && ty == Type::U32 => {
                lane_op!(v, |x, i, m| map2(x, i, m, int::sub_sat_u32))
            }
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
            let mut decoded = Inst::new(run);
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

    fn shift(&mut self, i: &Instruction, ty: Type) -> Decoded<Inst> {
        let v = self.vector;
        let run: OpFn = if i.op == O::Shl {
            by_width!(ty, T => lane_op!(v, |x, i, m| map2(x, i, m, |a: T, b: u32| ClampedShift::shl(a, b))))
        } else {
            by_integer!(ty, T => lane_op!(v, |x, i, m| map2(x, i, m, |a: T, b: u32| ClampedShift::shr(a, b))))
        };
        let mut decoded = Inst::new(run);
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
        let mut decoded = Inst::new(run);
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
        let mut decoded = Inst::new(lane_op!(self.vector, |x, i, m| {
            let Lop3 { table, .. } = i.fields();
            map3(x, i, m, |a, b, c| bits::lop3(a, b, c, table))
        }));
        let (mut result, mut with) = (TRUE_PREDICATE, ALWAYS);
        if let Operand::Pair(d, p) = &i.operands[0] {
            decoded.run = plain(if i.has(Word::And) { lop3_and } else { lop3_or });
            decoded.d = self.destination(d, Type::B32)?;
            result = self.predicate_destination(p)?.ok_or("the predicate is dropped")?;
            with = self.predicate_source(i.operands.get(5).ok_or("the predicate is missing")?)?;
        } else {
            decoded.d = self.destination(&i.operands[0], Type::B32)?;
        }
        decoded.a = self.source32(&i.operands[1])?;
        decoded.b = self.source32(&i.operands[2])?;
        decoded.c = self.source32(&i.operands[3])?;
        decoded.set(Lop3 { table: *table as u8, result, with });
        Ok(decoded)
    }

    fn dot_product(&mut self, i: &Instruction) -> Decoded<Inst> {
        let types: Vec<Type> = i.types().collect();
        let signed = |k: usize| types.get(k).copied().is_some_and(Type::is_signed);
        let run: OpFn = if i.op == O::Dp4a {
            lane_op!(self.vector, |x, i, m| {
                let DotProduct { signed_a, signed_b, .. } = i.fields();
                map3(x, i, m, |a, b, c| int::dp4a(a, signed_a, b, signed_b, c))
            })
        } else {
            lane_op!(self.vector, |x, i, m| {
                let DotProduct { signed_a, signed_b, upper } = i.fields();
                map3(x, i, m, |a, b, c| int::dp2a(a, signed_a, b, signed_b, upper, c))
            })
        };
        let mut decoded = self.uniform(i, Type::U32, run)?;
        decoded.set(DotProduct { signed_a: signed(0), signed_b: signed(1), upper: i.has(Word::Hi) });
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
        decoded.set(Carrying { writes_flag: i.has(Word::Cc) });
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
        let mut decoded = Inst::new(run);
        let result = self.predicate_result(&i.operands[0])?;
        let a = self.predicate_source(&i.operands[1])?;
        let b = match i.operands.get(2) {
            Some(b) => self.predicate_source(b)?,
            None => a,
        };
        decoded.set(PredicateLogic { result, a, b });
        Ok(decoded)
    }
}

/// A function pointer from a closure that captures nothing.
pub(super) fn plain(run: OpFn) -> OpFn {
    run
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

/// Lane by lane with the carry flag: `f(a, b, c, carry in) -> (result, carry out)`.
#[inline(always)]
unsafe fn with_carry<T: Lane>(x: &mut Exec<'_>, i: &Inst, m: LaneMask, f: impl Fn(T, T, T, bool) -> (T, bool)) -> Flow {
    let flags = x.predicate(CARRY_PREDICATE);
    // SAFETY: decoding gave slots of `T`.
    unsafe {
        let (a, b, c) = (read_lanes::<T>(x, i.a), read_lanes::<T>(x, i.b), read_lanes::<T>(x, i.c));
        let results: [(T, bool); 32] = std::array::from_fn(|l| f(a[l], b[l], c[l], flags >> l & 1 != 0));
        write_lanes::<T>(x, i.d, m, |l| results[l].0);
        if i.fields::<Carrying>().writes_flag {
            let out = (0..32).fold(0, |bits, l| bits | u32::from(results[l].1) << l);
            x.set_predicate(CARRY_PREDICATE, m, out);
        }
    }
    Flow::Next
}

/// `lop3.or`: `d|p = table(a, b, c), (d != 0) | q`.
unsafe fn lop3_or(x: &mut Exec<'_>, i: &Inst, m: LaneMask) -> Flow {
    // SAFETY: as the caller promises.
    unsafe { lop3_combined(x, i, m, |p, q| p | q) }
}

/// `lop3.and`: `d|p = table(a, b, c), (d != 0) & q`.
unsafe fn lop3_and(x: &mut Exec<'_>, i: &Inst, m: LaneMask) -> Flow {
    // SAFETY: as the caller promises.
    unsafe { lop3_combined(x, i, m, |p, q| p & q) }
}

#[inline(always)]
unsafe fn lop3_combined(x: &mut Exec<'_>, i: &Inst, m: LaneMask, f: impl Fn(LaneMask, LaneMask) -> LaneMask) -> Flow {
    let Lop3 { table, result, with } = i.fields();
    // SAFETY: decoding gave 32-bit slots.
    let results: [u32; 32] = unsafe {
        let (a, b, c) = (read_lanes(x, i.a), read_lanes(x, i.b), read_lanes(x, i.c));
        std::array::from_fn(|l| bits::lop3(a[l], b[l], c[l], table))
    };
    let nonzero = results.iter().enumerate().fold(0, |bits, (l, &r)| bits | u32::from(r != 0) << l);
    let q = x.truth(with);
    // SAFETY: as above.
    unsafe { write_lanes::<u32>(x, i.d, m, |l| results[l]) };
    x.set_predicate(result, m, f(nonzero, q));
    Flow::Next
}

#[inline(always)]
fn combine(x: &mut Exec<'_>, i: &Inst, m: LaneMask, f: impl Fn(LaneMask, LaneMask) -> LaneMask) -> Flow {
    let PredicateLogic { result, a, b } = i.fields();
    let (a, b) = (x.truth(a), x.truth(b));
    x.set_predicate(result, m, f(a, b));
    Flow::Next
}
