//! f32 and f64 arithmetic.

use super::arithmetic::plain;
use super::{Decoded, Decoder, rounding};
use crate::exec::{Exec, Flow};
use crate::inst::{ClassTest, Inst, Modified, OpFn};
use crate::lane_op;
use crate::lanes::{map1, map2, map3, read_lanes};
use crate::semantics::approx;
use crate::semantics::float::{Float, FloatClass, FloatMode, MinMaxMode};
use crate::semantics::half::{Bf16, F16, HalfFormat};
use crate::semantics::rounding::{Rounded, Rounding};
use strata_core::LaneMask;
use strata_ptx::ast::{Instruction, Opcode as O, Type, Word};

/// Bits of [`Modified::modifiers`].
const FTZ: i64 = 1;
const SAT: i64 = 2;
const NAN: i64 = 4;
const XORSIGN: i64 = 8;
const ABS: i64 = 16;
const ROUNDING_SHIFT: u32 = 8;

fn mode(i: &Inst) -> FloatMode {
    let Modified { modifiers } = i.fields();
    FloatMode { ftz: modifiers & FTZ != 0, sat: modifiers & SAT != 0 }
}

fn min_max_mode(i: &Inst) -> MinMaxMode {
    let Modified { modifiers } = i.fields();
    MinMaxMode { ftz: modifiers & FTZ != 0, nan: modifiers & NAN != 0, xorsign_abs: modifiers & XORSIGN != 0 }
}

fn direction(i: &Inst) -> Rounding {
    let Modified { modifiers } = i.fields();
    Rounding::ALL[(modifiers >> ROUNDING_SHIFT) as usize & 3]
}

/// The modifiers of an instruction, packed.
fn modifiers(i: &Instruction) -> i64 {
    let flag = |word, bit| if i.has(word) { bit } else { 0 };
    let towards = Rounding::ALL.iter().position(|&r| r == rounding(i)).unwrap_or(0) as i64;
    flag(Word::Ftz, FTZ)
        | flag(Word::Sat, SAT)
        | flag(Word::NaN, NAN)
        | flag(Word::XorSign, XORSIGN)
        | flag(Word::Abs, ABS)
        | towards << ROUNDING_SHIFT
}

/// An operation of f32 that takes nothing of its modifiers but `.ftz`.
macro_rules! flushing {
    ($v:expr, $map:ident, ($($arg:ident),+), $f:path) => {
        lane_op!($v, |x, i, m| {
            let ftz = mode(i).ftz;
            $map(x, i, m, |$($arg: f32),+| $f($($arg),+, ftz))
        })
    };
}

/// One operation for f32 and f64: a fast path for no modifiers, one that reads them, one with directed rounding.
macro_rules! rounded {
    ($self:ident, $i:ident, $ty:ident, $map:ident, ($($arg:ident),+), $nearest:ident, $directed:ident) => {{
        let v = $self.vector;
        match ($ty, modifiers($i)) {
            (Type::F32, 0) => lane_op!(v, |x, i, m| {
                $map(x, i, m, |$($arg: f32),+| rounded!(@ $nearest, ($($arg),+), FloatMode::PLAIN))
            }),
            (Type::F32, 1..=3) => lane_op!(v, |x, i, m| {
                let mode = mode(i);
                $map(x, i, m, |$($arg: f32),+| rounded!(@ $nearest, ($($arg),+), mode))
            }),
            (Type::F32, _) => lane_op!(v, |x, i, m| {
                let (towards, mode) = (direction(i), mode(i));
                $map(x, i, m, |$($arg: f32),+| rounded!(@ $directed, ($($arg),+), towards, mode))
            }),
            (_, 0) => lane_op!(v, |x, i, m| {
                $map(x, i, m, |$($arg: f64),+| rounded!(@ $nearest, ($($arg),+), FloatMode::PLAIN))
            }),
            (_, _) => lane_op!(v, |x, i, m| {
                let (towards, mode) = (direction(i), mode(i));
                $map(x, i, m, |$($arg: f64),+| rounded!(@ $directed, ($($arg),+), towards, mode))
            }),
        }
    }};
    (@ $f:ident, ($a:ident), $($rest:expr),+) => { $a.$f($($rest),+) };
    (@ $f:ident, ($a:ident, $b:ident), $($rest:expr),+) => { $a.$f($b, $($rest),+) };
    (@ $f:ident, ($a:ident, $b:ident, $c:ident), $($rest:expr),+) => { $a.$f($b, $c, $($rest),+) };
}

impl Decoder<'_> {
    pub(super) fn float(&mut self, i: &Instruction) -> Decoded<Inst> {
        let ty = i.ty().ok_or("the type is missing")?;
        let v = self.vector;
        let approximate = i.has(Word::Approx);
        if let Some(half @ (Type::F16 | Type::Bf16)) = i.types().nth(1) {
            return self.mixed(i, half);
        }
        let run: OpFn = match i.op {
            O::Add => rounded!(self, i, ty, map2, (a, b), add_rn, add_rounded),
            O::Sub => rounded!(self, i, ty, map2, (a, b), sub_rn, sub_rounded),
            O::Mul => rounded!(self, i, ty, map2, (a, b), mul_rn, mul_rounded),
            O::Fma | O::Mad => rounded!(self, i, ty, map3, (a, b, c), fma_rn, fma_rounded),
            O::Div if approximate => flushing!(v, map2, (a, b), approx::div_approx_f32),
            O::Div if i.has(Word::Full) => flushing!(v, map2, (a, b), approx::div_full_f32),
            O::Div => rounded!(self, i, ty, map2, (a, b), div_rn, div_rounded),
            O::Rcp if approximate && ty == Type::F64 => lane_op!(v, |x, i, m| map1(x, i, m, approx::rcp_ftz_f64)),
            O::Rcp if approximate => flushing!(v, map1, (a), approx::rcp_f32),
            O::Rcp => rounded!(self, i, ty, map1, (a), rcp_rn, rcp_rounded),
            O::Sqrt if approximate => flushing!(v, map1, (a), approx::sqrt_f32),
            O::Sqrt => rounded!(self, i, ty, map1, (a), sqrt_rn, sqrt_rounded),
            O::Rsqrt if ty == Type::F64 && i.has(Word::Ftz) => {
                lane_op!(v, |x, i, m| map1(x, i, m, approx::rsqrt_ftz_f64))
            }
            O::Rsqrt if ty == Type::F64 => lane_op!(v, |x, i, m| map1(x, i, m, approx::rsqrt_f64)),
            O::Rsqrt => flushing!(v, map1, (a), approx::rsqrt_f32),
            O::Sin => flushing!(v, map1, (a), approx::sin_f32),
            O::Cos => flushing!(v, map1, (a), approx::cos_f32),
            O::Ex2 => flushing!(v, map1, (a), approx::ex2_f32),
            O::Lg2 => flushing!(v, map1, (a), approx::lg2_f32),
            O::Tanh => lane_op!(v, |x, i, m| map1(x, i, m, approx::tanh_f32)),
            O::Min | O::Max => return self.min_max(i, ty),
            O::Abs | O::Neg | O::Copysign => match (i.op, ty) {
                (O::Abs, Type::F32) => flushing!(v, map1, (a), f32::abs_ptx),
                (O::Neg, Type::F32) => flushing!(v, map1, (a), f32::neg_ptx),
                (O::Abs, _) => lane_op!(v, |x, i, m| map1(x, i, m, |a: f64| a.abs_ptx(false))),
                (O::Neg, _) => lane_op!(v, |x, i, m| map1(x, i, m, |a: f64| a.neg_ptx(false))),
                (_, Type::F32) => lane_op!(v, |x, i, m| map2(x, i, m, |a: f32, b: f32| a.copysign_ptx(b))),
                _ => lane_op!(v, |x, i, m| map2(x, i, m, |a: f64, b: f64| a.copysign_ptx(b))),
            },
            O::Testp => return self.test_class(i, ty),
            _ => return Err("not an instruction of floats".into()),
        };
        let mut decoded = self.uniform(i, ty, run)?;
        decoded.set(Modified { modifiers: modifiers(i) });
        Ok(decoded)
    }

    /// `add sub fma` of f32 with operands in half precision, which widen exactly.
    fn mixed(&mut self, i: &Instruction, half: Type) -> Decoded<Inst> {
        let v = self.vector;
        macro_rules! mixed {
            ($H:ty) => {
                match i.op {
                    O::Add => lane_op!(v, |x, i, m| {
                        let (towards, mode) = (direction(i), mode(i));
                        map2(x, i, m, |a: u16, c: f32| <$H>::widen(a).add_rounded(c, towards, mode))
                    }),
                    O::Sub => lane_op!(v, |x, i, m| {
                        let (towards, mode) = (direction(i), mode(i));
                        map2(x, i, m, |a: u16, c: f32| <$H>::widen(a).sub_rounded(c, towards, mode))
                    }),
                    O::Fma => lane_op!(v, |x, i, m| {
                        let (towards, mode) = (direction(i), mode(i));
                        map3(x, i, m, |a: u16, b: u16, c: f32| {
                            <$H>::widen(a).fma_rounded(<$H>::widen(b), c, towards, mode)
                        })
                    }),
                    _ => return Err("not an instruction of mixed precision".into()),
                }
            };
        }
        let mut decoded = Inst::new(if half == Type::F16 { mixed!(F16) } else { mixed!(Bf16) });
        decoded.d = self.destination(&i.operands[0], Type::F32)?;
        decoded.a = self.source(&i.operands[1], half)?;
        if let [_, _, b, c] = &i.operands[..] {
            decoded.b = self.source(b, half)?;
            decoded.c = self.source(c, Type::F32)?;
        } else {
            decoded.b = self.source(i.operands.get(2).ok_or("operands are missing")?, Type::F32)?;
        }
        decoded.set(Modified { modifiers: modifiers(i) });
        Ok(decoded)
    }

    fn min_max(&mut self, i: &Instruction, ty: Type) -> Decoded<Inst> {
        let v = self.vector;
        if i.operands.len() == 4 {
            let run = if i.op == O::Min {
                lane_op!(v, |x, i, m| {
                    let (mode, magnitudes) = (min_max_mode(i), i.fields::<Modified>().modifiers & ABS != 0);
                    let read = |a: f32| if magnitudes { a.abs() } else { a };
                    map3(x, i, m, |a, b, c| read(a).min_ptx(read(b), mode).min_ptx(read(c), mode))
                })
            } else {
                lane_op!(v, |x, i, m| {
                    let (mode, magnitudes) = (min_max_mode(i), i.fields::<Modified>().modifiers & ABS != 0);
                    let read = |a: f32| if magnitudes { a.abs() } else { a };
                    map3(x, i, m, |a, b, c| read(a).max_ptx(read(b), mode).max_ptx(read(c), mode))
                })
            };
            let mut decoded = self.uniform(i, ty, run)?;
            decoded.set(Modified { modifiers: modifiers(i) });
            return Ok(decoded);
        }
        let run: OpFn = match (i.op == O::Min, ty) {
            (true, Type::F32) => lane_op!(v, |x, i, m| {
                let mode = min_max_mode(i);
                map2(x, i, m, |a: f32, b: f32| a.min_ptx(b, mode))
            }),
            (false, Type::F32) => lane_op!(v, |x, i, m| {
                let mode = min_max_mode(i);
                map2(x, i, m, |a: f32, b: f32| a.max_ptx(b, mode))
            }),
            (true, _) => {
                lane_op!(v, |x, i, m| map2(x, i, m, |a: f64, b: f64| a.min_ptx(b, MinMaxMode::default())))
            }
            (false, _) => {
                lane_op!(v, |x, i, m| map2(x, i, m, |a: f64, b: f64| a.max_ptx(b, MinMaxMode::default())))
            }
        };
        let mut decoded = self.uniform(i, ty, run)?;
        decoded.set(Modified { modifiers: modifiers(i) });
        Ok(decoded)
    }

    /// `testp`: the class of a number, as a predicate.
    fn test_class(&mut self, i: &Instruction, ty: Type) -> Decoded<Inst> {
        let class = CLASSES.iter().position(|c| i.has(c.0)).ok_or("the class is missing")?;
        let run: OpFn = if ty == Type::F32 { plain(test_f32) } else { plain(test_f64) };
        let mut decoded = Inst::new(run);
        decoded.a = self.source(&i.operands[1], ty)?;
        decoded.set(ClassTest { result: self.predicate_result(&i.operands[0])?, class });
        Ok(decoded)
    }
}

const CLASSES: [(Word, FloatClass); 6] = [
    (Word::Finite, FloatClass::Finite),
    (Word::Infinite, FloatClass::Infinite),
    (Word::Number, FloatClass::Number),
    (Word::Notanumber, FloatClass::NotANumber),
    (Word::Normal, FloatClass::Normal),
    (Word::Subnormal, FloatClass::Subnormal),
];

unsafe fn test_f32(x: &mut Exec<'_>, i: &Inst, m: LaneMask) -> Flow {
    // SAFETY: decoding gave a 32-bit slot.
    let a = unsafe { read_lanes::<f32>(x, i.a) };
    test_class_of(x, i, m, &a)
}

unsafe fn test_f64(x: &mut Exec<'_>, i: &Inst, m: LaneMask) -> Flow {
    // SAFETY: decoding gave a 64-bit slot.
    let a = unsafe { read_lanes::<f64>(x, i.a) };
    test_class_of(x, i, m, &a)
}

fn test_class_of<F: Float>(x: &mut Exec<'_>, i: &Inst, m: LaneMask, a: &[F; 32]) -> Flow {
    let ClassTest { result, class } = i.fields();
    let class = CLASSES[class].1;
    let bits = a.iter().enumerate().fold(0, |bits, (l, v)| bits | u32::from(v.is_class(class)) << l);
    x.set_predicate(result, m, bits);
    Flow::Next
}
