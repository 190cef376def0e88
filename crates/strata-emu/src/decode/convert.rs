//! `cvt` and `szext`.
//!
//! The conversions that compiled programs are full of get a vectorised loop of their own; all others share one loop that
//! looks at the types when it runs.

use super::arithmetic::plain;
use super::{Decoded, Decoder, units};
use crate::exec::{Exec, Flow};
use crate::inst::{Conversion, Field, Inst, OpFn};
use crate::lane_op;
use crate::lanes::{map1, map2, read_lanes, write_lanes};
use crate::semantics::bits::{self, Amount};
use crate::semantics::convert::{self, IntType};
use crate::semantics::float::FloatMode;
use crate::semantics::half::{Bf16, F16, HalfMode, pair1, satfinite};
use crate::semantics::rounding::Rounding;
use strata_core::LaneMask;
use strata_ptx::ast::{Instruction, Opcode as O, Operand, Type, Word};

/// What a conversion does: types, rounding and flags.
#[derive(Clone, Copy)]
pub(crate) struct Plan {
    to: Type,
    from: Type,
    rounding: Rounding,
    /// A rounding was written (`.rni` and its kin, in the same float type).
    integral: bool,
    ftz: bool,
    sat: bool,
    relu: bool,
    satfinite: bool,
    /// `.rna`: ties away from zero, for tf32.
    away: bool,
    wide_source: bool,
    wide_result: bool,
}

impl Plan {
    fn of(i: &Instruction, to: Type, from: Type) -> Self {
        let integral = [Word::Rni, Word::Rzi, Word::Rmi, Word::Rpi].iter().any(|&w| i.has(w));
        let rounding = i
            .words
            .iter()
            .find_map(|w| match w {
                Word::Rz | Word::Rzi => Some(Rounding::Zero),
                Word::Rm | Word::Rmi => Some(Rounding::Down),
                Word::Rp | Word::Rpi => Some(Rounding::Up),
                _ => None,
            })
            .unwrap_or(Rounding::Nearest);
        Self {
            to,
            from,
            rounding,
            integral,
            ftz: i.has(Word::Ftz),
            sat: i.has(Word::Sat),
            relu: i.has(Word::Relu),
            satfinite: i.has(Word::Satfinite),
            away: i.has(Word::Rna),
            wide_source: false,
            wide_result: false,
        }
    }

    fn float_mode(self) -> FloatMode {
        FloatMode { ftz: self.ftz, sat: self.sat }
    }

    fn half_mode(self) -> HalfMode {
        HalfMode { ftz: self.ftz, sat: self.sat, relu: self.relu }
    }

    /// The converted bits, extended to 64.
    fn apply(self, bits: u64) -> Option<u64> {
        let converted = self.convert(bits)?;
        Some(match self.to {
            _ if !self.satfinite => converted,
            Type::F16 => u64::from(satfinite::<F16>(converted as u16)),
            Type::Bf16 => u64::from(satfinite::<Bf16>(converted as u16)),
            Type::Tf32 => u64::from(convert::satfinite_tf32(f32::from_bits(converted as u32)).to_bits()),
            _ => converted,
        })
    }

    fn convert(self, bits: u64) -> Option<u64> {
        let (rounding, mode, half) = (self.rounding, self.float_mode(), self.half_mode());
        if let (Some(from), Some(to)) = (int_type(self.from), int_type(self.to)) {
            return Some(convert::int_to_int(bits, from, to, self.sat));
        }
        if let Some(to) = int_type(self.to) {
            return Some(match self.from {
                Type::F32 => convert::f32_to_int(f32::from_bits(bits as u32), to, rounding, self.ftz),
                Type::F64 => convert::f64_to_int(f64::from_bits(bits), to, rounding),
                Type::F16 => convert::half_to_int::<F16>(bits as u16, to, rounding),
                Type::Bf16 => convert::half_to_int::<Bf16>(bits as u16, to, rounding),
                _ => return None,
            });
        }
        if let Some(from) = int_type(self.from) {
            return Some(match self.to {
                Type::F32 => u64::from(convert::int_to_f32(bits, from, rounding, mode).to_bits()),
                Type::F64 => convert::int_to_f64(bits, from, rounding, mode).to_bits(),
                Type::F16 => u64::from(convert::int_to_half::<F16>(bits, from, rounding, half)),
                Type::Bf16 => u64::from(convert::int_to_half::<Bf16>(bits, from, rounding, half)),
                _ => return None,
            });
        }
        let integral = self.integral.then_some(rounding);
        let single = f32::from_bits(bits as u32);
        Some(match (self.to, self.from) {
            (Type::F32, Type::F32) => u64::from(convert::same_float(single, integral, mode).to_bits()),
            (Type::F64, Type::F64) => convert::same_float(f64::from_bits(bits), integral, mode).to_bits(),
            (Type::F64, Type::F32) => convert::f32_to_f64(single, mode).to_bits(),
            (Type::F32, Type::F64) => u64::from(convert::f64_to_f32(f64::from_bits(bits), rounding, mode).to_bits()),
            (Type::F16, Type::F32) => u64::from(convert::f32_to_half::<F16>(single, rounding, half)),
            (Type::Bf16, Type::F32) => u64::from(convert::f32_to_half::<Bf16>(single, rounding, half)),
            (Type::F16, Type::F64) => u64::from(convert::f64_to_half::<F16>(f64::from_bits(bits), rounding, half)),
            (Type::Bf16, Type::F64) => u64::from(convert::f64_to_half::<Bf16>(f64::from_bits(bits), rounding, half)),
            (Type::F32, Type::F16) => u64::from(convert::half_to_f32::<F16>(bits as u16, mode).to_bits()),
            (Type::F32, Type::Bf16) => u64::from(convert::half_to_f32::<Bf16>(bits as u16, mode).to_bits()),
            (Type::F64, Type::F16) => convert::half_to_f64::<F16>(bits as u16, mode).to_bits(),
            (Type::F64, Type::Bf16) => convert::half_to_f64::<Bf16>(bits as u16, mode).to_bits(),
            (Type::F16, Type::Bf16) => {
                u64::from(convert::half_to_half::<Bf16, F16>(bits as u16, integral, rounding, half))
            }
            (Type::Bf16, Type::F16) => {
                u64::from(convert::half_to_half::<F16, Bf16>(bits as u16, integral, rounding, half))
            }
            (Type::F16, Type::F16) => {
                u64::from(convert::half_to_half::<F16, F16>(bits as u16, integral, rounding, half))
            }
            (Type::Bf16, Type::Bf16) => {
                u64::from(convert::half_to_half::<Bf16, Bf16>(bits as u16, integral, rounding, half))
            }
            (Type::Tf32, Type::F32) if self.away => u64::from(convert::f32_to_tf32_rna(single).to_bits()),
            (Type::Tf32, Type::F32) => u64::from(convert::f32_to_tf32(single, rounding, self.relu).to_bits()),
            _ => return None,
        })
    }
}

fn int_type(ty: Type) -> Option<IntType> {
    Some(match ty {
        Type::U8 | Type::B8 => IntType::U8,
        Type::S8 => IntType::S8,
        Type::U16 | Type::B16 => IntType::U16,
        Type::S16 => IntType::S16,
        Type::U32 | Type::B32 => IntType::U32,
        Type::S32 => IntType::S32,
        Type::U64 | Type::B64 => IntType::U64,
        Type::S64 => IntType::S64,
        _ => return None,
    })
}

impl Decoder<'_> {
    pub(super) fn convert(&mut self, i: &Instruction) -> Decoded<Inst> {
        if i.op == O::Szext {
            return self.extend(i);
        }
        let types: Vec<Type> = i.types().collect();
        let (Some(&to), Some(&from)) = (types.first(), types.get(1)) else {
            return Err("a conversion needs two types".into());
        };
        if matches!(to, Type::F16x2 | Type::Bf16x2) && i.operands.len() == 3 {
            return self.pack_halves(i, to);
        }
        let mut plan = Plan::of(i, to, from);
        if plan.apply(0).is_none() {
            return Err("not executed between these types".into());
        }
        // Registers may be wider than the types they are converted as.
        let width = |operand: &Operand, ty: Type| match operand {
            Operand::Register(r) => units(self.register_type(*r).bits()).max(units(ty.bits())),
            _ => units(ty.bits()),
        };
        plan.wide_result = width(&i.operands[0], to) == 2;
        plan.wide_source = width(&i.operands[1], from) == 2;
        let as_wide = |wide: bool| if wide { Type::B64 } else { Type::B32 };
        let mut decoded = Inst::new(self.fast_conversion(plan).unwrap_or_else(|| plain(slow_conversion)));
        decoded.d = self.destination(&i.operands[0], as_wide(plan.wide_result))?;
        decoded.a = match &i.operands[1] {
            Operand::Immediate(value) => self.literal(*value, from),
            operand => self.source(operand, as_wide(plan.wide_source))?,
        };
        decoded.set(Conversion { plan });
        Ok(decoded)
    }

    /// Vectorised loops for what compilers emit most.
    fn fast_conversion(&self, p: Plan) -> Option<OpFn> {
        use Type as T;
        let v = self.vector;
        if p.sat || p.ftz || p.relu || p.away || p.satfinite {
            return None;
        }
        let nearest = p.rounding == Rounding::Nearest;
        Some(match (p.to, p.from, p.wide_result, p.wide_source) {
            (T::U64 | T::S64 | T::B64, T::U32 | T::B32, true, false) => {
                lane_op!(v, |x, i, m| map1(x, i, m, |a: u32| u64::from(a)))
            }
            (T::S64 | T::U64 | T::B64, T::S32, true, false) => {
                lane_op!(v, |x, i, m| map1(x, i, m, |a: i32| i64::from(a)))
            }
            (T::U32 | T::S32 | T::B32, T::U64 | T::S64 | T::B64, false, true) => {
                lane_op!(v, |x, i, m| map1(x, i, m, |a: u64| a as u32))
            }
            (T::U32 | T::S32, T::U16 | T::B16, false, false) => {
                lane_op!(v, |x, i, m| map1(x, i, m, |a: u16| u32::from(a)))
            }
            (T::U32 | T::S32, T::S16, false, false) => {
                lane_op!(v, |x, i, m| map1(x, i, m, |a: i16| i32::from(a)))
            }
            (T::U32 | T::S32, T::U8 | T::B8, false, false) => {
                lane_op!(v, |x, i, m| map1(x, i, m, |a: u8| u32::from(a)))
            }
            (T::U32 | T::S32, T::S8, false, false) => lane_op!(v, |x, i, m| map1(x, i, m, |a: i8| i32::from(a))),
            (T::U16 | T::S16, T::U32 | T::S32, false, false) => {
                lane_op!(v, |x, i, m| map1(x, i, m, |a: u32| a as u16))
            }
            (T::F32, T::S32, false, false) if nearest => {
                lane_op!(v, |x, i, m| map1(x, i, m, |a: i32| a as f32))
            }
            (T::F32, T::U32, false, false) if nearest => {
                lane_op!(v, |x, i, m| map1(x, i, m, |a: u32| a as f32))
            }
            (T::F64, T::S32, true, false) => lane_op!(v, |x, i, m| map1(x, i, m, |a: i32| f64::from(a))),
            (T::F64, T::U32, true, false) => lane_op!(v, |x, i, m| map1(x, i, m, |a: u32| f64::from(a))),
            (T::F64, T::F32, true, false) => {
                lane_op!(v, |x, i, m| map1(x, i, m, |a: f32| convert::f32_to_f64(a, FloatMode::PLAIN)))
            }
            (T::F32, T::F64, false, true) if nearest => lane_op!(v, |x, i, m| {
                map1(x, i, m, |a: f64| convert::f64_to_f32(a, Rounding::Nearest, FloatMode::PLAIN))
            }),
            (T::S32, T::F32, false, false) if p.rounding == Rounding::Zero => {
                lane_op!(v, |x, i, m| map1(x, i, m, |a: f32| a as i32))
            }
            (T::F32, T::F16, false, false) => {
                lane_op!(v, |x, i, m| map1(x, i, m, |a: u16| convert::half_to_f32::<F16>(a, FloatMode::PLAIN)))
            }
            (T::F16, T::F32, false, false) if nearest => lane_op!(v, |x, i, m| {
                map1(x, i, m, |a: f32| convert::f32_to_half::<F16>(a, Rounding::Nearest, HalfMode::PLAIN))
            }),
            _ => return None,
        })
    }

    /// `cvt.rn.f16x2.f32 d, a, b`: two floats to a pair, `a` in the upper half.
    fn pack_halves(&mut self, i: &Instruction, to: Type) -> Decoded<Inst> {
        let run: OpFn = if to == Type::F16x2 {
            lane_op!(self.vector, |x, i, m| {
                let Conversion { plan: p } = i.fields();
                map2(x, i, m, |a, b| {
                    let pair = convert::f32_pair_to_half2::<F16>(a, b, p.rounding, p.half_mode());
                    if p.satfinite { pair1(pair, satfinite::<F16>) } else { pair }
                })
            })
        } else {
            lane_op!(self.vector, |x, i, m| {
                let Conversion { plan: p } = i.fields();
                map2(x, i, m, |a, b| {
                    let pair = convert::f32_pair_to_half2::<Bf16>(a, b, p.rounding, p.half_mode());
                    if p.satfinite { pair1(pair, satfinite::<Bf16>) } else { pair }
                })
            })
        };
        let mut decoded = Inst::new(run);
        decoded.d = self.destination(&i.operands[0], Type::B32)?;
        decoded.a = self.source(&i.operands[1], Type::F32)?;
        decoded.b = self.source(&i.operands[2], Type::F32)?;
        decoded.set(Conversion { plan: Plan::of(i, to, Type::F32) });
        Ok(decoded)
    }

    fn extend(&mut self, i: &Instruction) -> Decoded<Inst> {
        let v = self.vector;
        let run: OpFn = match (i.ty(), i.has(Word::Wrap)) {
            (Some(Type::U32), true) => {
                lane_op!(v, |x, i, m| map2(x, i, m, |a, b| bits::szext_u32(a, b, Amount::Wrap)))
            }
            (Some(Type::U32), false) => {
                lane_op!(v, |x, i, m| map2(x, i, m, |a, b| bits::szext_u32(a, b, Amount::Clamp)))
            }
            (_, true) => lane_op!(v, |x, i, m| map2(x, i, m, |a, b| bits::szext_s32(a, b, Amount::Wrap))),
            (_, false) => lane_op!(v, |x, i, m| map2(x, i, m, |a, b| bits::szext_s32(a, b, Amount::Clamp))),
        };
        self.uniform(i, Type::U32, run)
    }
}

/// Types that a conversion can name, in the order of their code.
const TYPES: [Type; 17] = [
    Type::U8,
    Type::S8,
    Type::U16,
    Type::S16,
    Type::U32,
    Type::S32,
    Type::U64,
    Type::S64,
    Type::F16,
    Type::Bf16,
    Type::F32,
    Type::F64,
    Type::Tf32,
    Type::B8,
    Type::B16,
    Type::B32,
    Type::B64,
];

impl Field<(i64,)> for Plan {
    #[inline(always)]
    fn load((bits,): (i64,)) -> Self {
        let flag = |k: u32| bits >> (24 + k) & 1 != 0;
        Self {
            to: TYPES[bits as usize & 0xff],
            from: TYPES[(bits >> 8) as usize & 0xff],
            rounding: Rounding::ALL[(bits >> 16) as usize & 3],
            integral: flag(0),
            ftz: flag(1),
            sat: flag(2),
            relu: flag(3),
            away: flag(4),
            wide_source: flag(5),
            wide_result: flag(6),
            satfinite: flag(7),
        }
    }

    fn store(self) -> (i64,) {
        let code = |ty: Type| TYPES.iter().position(|&t| t == ty).unwrap_or(0) as i64;
        let towards = Rounding::ALL.iter().position(|&r| r == self.rounding).unwrap_or(0) as i64;
        let Self { integral, ftz, sat, relu, away, wide_source, wide_result, satfinite, .. } = self;
        let flags = [integral, ftz, sat, relu, away, wide_source, wide_result, satfinite];
        let flags = flags.iter().enumerate().fold(0, |all, (k, &f)| all | i64::from(f) << k);
        (code(self.to) | code(self.from) << 8 | towards << 16 | flags << 24,)
    }
}

unsafe fn slow_conversion(x: &mut Exec<'_>, i: &Inst, m: LaneMask) -> Flow {
    let Conversion { plan } = i.fields();
    // SAFETY: decoding gave slots of the widths in the plan.
    unsafe {
        let from: [u64; 32] =
            if plan.wide_source { read_lanes::<u64>(x, i.a) } else { read_lanes::<u32>(x, i.a).map(u64::from) };
        let to = from.map(|bits| plan.apply(bits).unwrap_or_default());
        if plan.wide_result {
            write_lanes::<u64>(x, i.d, m, |l| to[l]);
        } else {
            write_lanes::<u32>(x, i.d, m, |l| to[l] as u32);
        }
    }
    Flow::Next
}
