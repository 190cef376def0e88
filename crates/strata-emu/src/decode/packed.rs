//! Integers packed into a register, and pairs of f32.

use super::{Decoded, Decoder, rounding};
use crate::inst::{Inst, Modified, OpFn};
use crate::lane_op;
use crate::lanes::{map2, map3};
use crate::semantics::float::FloatMode;
use crate::semantics::packed::{self, S8x4, S16x2, U8x4, U16x2};
use crate::semantics::rounding::{Rounded, Rounding};
use strata_ptx::ast::{Instruction, Opcode as O, Type, Word};

/// One operation for the four packed integer types.
macro_rules! packed {
    ($v:expr, $ty:expr, $f:ident) => {
        match $ty {
            Type::U16x2 => lane_op!($v, |x, i, m| map2(x, i, m, packed::$f::<U16x2>)),
            Type::S16x2 => lane_op!($v, |x, i, m| map2(x, i, m, packed::$f::<S16x2>)),
            Type::U8x4 => lane_op!($v, |x, i, m| map2(x, i, m, packed::$f::<U8x4>)),
            _ => lane_op!($v, |x, i, m| map2(x, i, m, packed::$f::<S8x4>)),
        }
    };
}

/// `.ftz` in [`Modified::modifiers`] of an instruction on pairs of f32; the rounding is above it.
const FTZ: i64 = 1;
const ROUNDING_SHIFT: u32 = 8;

fn mode(i: &Inst) -> (Rounding, FloatMode) {
    let Modified { modifiers } = i.fields();
    let mode = FloatMode { ftz: modifiers & FTZ != 0, sat: false };
    (Rounding::ALL[(modifiers >> ROUNDING_SHIFT) as usize & 3], mode)
}

/// Applies `f` to both elements of pairs of f32.
#[inline(always)]
fn each<const N: usize>(pairs: [u64; N], f: impl Fn([f32; N]) -> f32) -> u64 {
    let element = |shift: u32| f(pairs.map(|p| f32::from_bits((p >> shift) as u32))).to_bits();
    u64::from(element(0)) | u64::from(element(32)) << 32
}

impl Decoder<'_> {
    /// `add sub min max` of `.u16x2 .s16x2 .u8x4 .s8x4`.
    pub(super) fn packed(&mut self, i: &Instruction, ty: Type) -> Decoded<Inst> {
        let v = self.vector;
        let run: OpFn = match i.op {
            O::Add if i.has(Word::Sat) => packed!(v, ty, add_sat),
            O::Sub if i.has(Word::Sat) => packed!(v, ty, sub_sat),
            O::Add => packed!(v, ty, add),
            O::Sub => packed!(v, ty, sub),
            O::Min if i.has(Word::Relu) => packed!(v, ty, min_relu),
            O::Max if i.has(Word::Relu) => packed!(v, ty, max_relu),
            O::Min => packed!(v, ty, min),
            O::Max => packed!(v, ty, max),
            _ => return Err("not an instruction of packed integers".into()),
        };
        self.uniform(i, ty, run)
    }

    /// `add sub mul fma` of `.f32x2`.
    pub(super) fn float_pairs(&mut self, i: &Instruction) -> Decoded<Inst> {
        let v = self.vector;
        let run: OpFn = match i.op {
            O::Add => lane_op!(v, |x, i, m| {
                let (towards, mode) = mode(i);
                map2(x, i, m, |a, b| each([a, b], |[a, b]| a.add_rounded(b, towards, mode)))
            }),
            O::Sub => lane_op!(v, |x, i, m| {
                let (towards, mode) = mode(i);
                map2(x, i, m, |a, b| each([a, b], |[a, b]| a.sub_rounded(b, towards, mode)))
            }),
            O::Mul => lane_op!(v, |x, i, m| {
                let (towards, mode) = mode(i);
                map2(x, i, m, |a, b| each([a, b], |[a, b]| a.mul_rounded(b, towards, mode)))
            }),
            O::Fma => lane_op!(v, |x, i, m| {
                let (towards, mode) = mode(i);
                map3(x, i, m, |a, b, c| each([a, b, c], |[a, b, c]| a.fma_rounded(b, c, towards, mode)))
            }),
            _ => return Err("not an instruction of pairs of floats".into()),
        };
        let mut decoded = self.uniform(i, Type::F32x2, run)?;
        let towards = Rounding::ALL.iter().position(|&r| r == rounding(i)).unwrap_or(0) as i64;
        let modifiers = if i.has(Word::Ftz) { FTZ } else { 0 } | towards << ROUNDING_SHIFT;
        decoded.set(Modified { modifiers });
        Ok(decoded)
    }
}
