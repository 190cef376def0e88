//! f16 and bf16 arithmetic, single and in pairs.

use super::{Decoded, Decoder};
use crate::inst::{Inst, Modified, OpFn};
use crate::lane_op;
use crate::lanes::{map1, map2, map3};
use crate::semantics::float::MinMaxMode;
use crate::semantics::half::{self, Bf16, F16, HalfMode, pair1, pair2, pair3};
use strata_ptx::ast::{Instruction, Opcode as O, Type, Word};

/// Bits of [`Modified::modifiers`].
const FTZ: i64 = 1;
const SAT: i64 = 2;
const RELU: i64 = 4;
const NAN: i64 = 8;
const XORSIGN: i64 = 16;

fn mode(i: &Inst) -> HalfMode {
    let Modified { modifiers } = i.fields();
    HalfMode { ftz: modifiers & FTZ != 0, sat: modifiers & SAT != 0, relu: modifiers & RELU != 0 }
}

fn min_max_mode(i: &Inst) -> MinMaxMode {
    let Modified { modifiers } = i.fields();
    MinMaxMode { ftz: modifiers & FTZ != 0, nan: modifiers & NAN != 0, xorsign_abs: modifiers & XORSIGN != 0 }
}

/// One operation for the four half-precision types.
macro_rules! halves {
    ($v:expr, $ty:expr, $one:ident, $pair:ident, ($($arg:ident),+), |$i:ident| $mode:expr, $f:ident) => {
        match $ty {
            Type::F16 => lane_op!($v, |x, $i, m| {
                let mode = $mode;
                $one(x, $i, m, |$($arg: u16),+| half::$f::<F16>($($arg),+, mode))
            }),
            Type::Bf16 => lane_op!($v, |x, $i, m| {
                let mode = $mode;
                $one(x, $i, m, |$($arg: u16),+| half::$f::<Bf16>($($arg),+, mode))
            }),
            Type::F16x2 => lane_op!($v, |x, $i, m| {
                let mode = $mode;
                $one(x, $i, m, |$($arg: u32),+| $pair($($arg),+, |$($arg),+| half::$f::<F16>($($arg),+, mode)))
            }),
            _ => lane_op!($v, |x, $i, m| {
                let mode = $mode;
                $one(x, $i, m, |$($arg: u32),+| $pair($($arg),+, |$($arg),+| half::$f::<Bf16>($($arg),+, mode)))
            }),
        }
    };
}

impl Decoder<'_> {
    pub(super) fn half(&mut self, i: &Instruction) -> Decoded<Inst> {
        let ty = i.ty().ok_or("the type is missing")?;
        let v = self.vector;
        if matches!(i.op, O::Set | O::Setp) {
            return self.arithmetic(i);
        }
        let run: OpFn = match i.op {
            O::Add => halves!(v, ty, map2, pair2, (a, b), |i| mode(i), add),
            O::Sub => halves!(v, ty, map2, pair2, (a, b), |i| mode(i), sub),
            O::Mul => halves!(v, ty, map2, pair2, (a, b), |i| mode(i), mul),
            O::Fma => halves!(v, ty, map3, pair3, (a, b, c), |i| mode(i), fma),
            O::Neg => halves!(v, ty, map1, pair1, (a), |i| mode(i).ftz, neg),
            O::Abs => halves!(v, ty, map1, pair1, (a), |i| mode(i).ftz, abs),
            O::Min => halves!(v, ty, map2, pair2, (a, b), |i| min_max_mode(i), min),
            O::Max => halves!(v, ty, map2, pair2, (a, b), |i| min_max_mode(i), max),
            O::Ex2 => halves!(v, ty, map1, pair1, (a), |i| mode(i).ftz, ex2),
            O::Tanh => match ty {
                Type::F16 => lane_op!(v, |x, i, m| map1(x, i, m, |a: u16| half::tanh::<F16>(a))),
                Type::Bf16 => lane_op!(v, |x, i, m| map1(x, i, m, |a: u16| half::tanh::<Bf16>(a))),
                Type::F16x2 => lane_op!(v, |x, i, m| map1(x, i, m, |a: u32| pair1(a, half::tanh::<F16>))),
                _ => lane_op!(v, |x, i, m| map1(x, i, m, |a: u32| pair1(a, half::tanh::<Bf16>))),
            },
            _ => return Err("not an instruction of half precision".into()),
        };
        let mut decoded = self.uniform(i, ty, run)?;
        let flag = |word, bit| if i.has(word) { bit } else { 0 };
        let modifiers = flag(Word::Ftz, FTZ)
            | flag(Word::Sat, SAT)
            | flag(Word::Relu, RELU)
            | flag(Word::NaN, NAN)
            | flag(Word::XorSign, XORSIGN);
        decoded.set(Modified { modifiers });
        Ok(decoded)
    }
}
