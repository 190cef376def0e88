//! `set` and `setp`: comparisons of integers, floats and halves.

use super::arithmetic::{by_integer, plain};
use super::{ALWAYS, Decoded, Decoder};
use crate::exec::{Exec, Flow};
use crate::inst::{Comparison, Inst, OpFn};
use crate::lane_op;
use crate::lanes::{read_lanes, test2, write_lanes};
use crate::semantics::float::{Float, FloatCompare};
use crate::semantics::half::{self, Bf16, F16};
use strata_core::LaneMask;
use strata_ptx::ast::{Instruction, Opcode as O, Operand, Type, Word};

const FTZ: i64 = 1;

impl Decoder<'_> {
    /// `setp` and `set`: a bit per lane, perhaps combined with a predicate, to predicates or as a value.
    pub(super) fn compare(&mut self, i: &Instruction) -> Decoded<Inst> {
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
                        let bits = if i.fields::<Comparison>().how & FTZ == 0 {
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
        self.compare_operands(i, ty, 0, run)
    }

    /// The operands that all comparisons share; `how` is what a form keeps beside them.
    fn compare_operands(&mut self, i: &Instruction, ty: Type, how: i64, run: OpFn) -> Decoded<Inst> {
        let mut decoded = Inst::new(run);
        let how = how | if i.has(Word::Ftz) { FTZ } else { 0 };
        let mut fields = Comparison { holds: None, fails: None, with: ALWAYS, how };
        if i.op == O::Set {
            let result = i.ty().ok_or("the type of the result is missing")?;
            decoded.d = self.destination(&i.operands[0], result)?;
            let pairs = matches!(ty, Type::F16x2 | Type::Bf16x2);
            // What true is: 1.0 of a float type, all ones of an integer, of each half if the sources are pairs.
            let truth: u32 = match result {
                Type::F32 => 0x3f80_0000,
                Type::F16 | Type::F16x2 => 0x3c00,
                Type::Bf16 | Type::Bf16x2 => 0x3f80,
                _ if pairs || result.bits() == 16 => 0xffff,
                _ => u32::MAX,
            };
            fields.how |= VALUE | i64::from(truth) << TRUTH_SHIFT | if pairs { VALUE_PAIR } else { 0 };
        } else {
            (fields.holds, fields.fails) = match &i.operands[0] {
                Operand::Pair(p, q) => (self.predicate_destination(p)?, self.predicate_destination(q)?),
                p => (self.predicate_destination(p)?, None),
            };
        }
        decoded.a = self.source(&i.operands[1], ty)?;
        decoded.b = self.source(&i.operands[2], ty)?;
        if let Some(c) = i.operands.get(3) {
            fields.with = self.predicate_source(c)?;
            fields.how |= i
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
        decoded.set(fields);
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
        self.compare_operands(i, ty, (op as i64) << COMPARE_SHIFT, run)
    }
}

/// Bits of [`Comparison::how`], with [`FTZ`].
const COMBINE_AND: i64 = 1 << 1;
const COMBINE_OR: i64 = 1 << 2;
const COMBINE_XOR: i64 = 1 << 3;
/// The result is a value, not a predicate; of two halves.
const VALUE: i64 = 1 << 4;
const VALUE_PAIR: i64 = 1 << 5;
const COMPARE_SHIFT: u32 = 8;
const COMPARE_BITS: i64 = 0xff;
/// The upper half is the value of true.
const TRUTH_SHIFT: u32 = 32;

fn is_comparison(word: Word) -> bool {
    float_compare(word).is_some() || matches!(word, Word::Lo | Word::Ls | Word::Hi | Word::Hs)
}

fn float_compare(word: Word) -> Option<FloatCompare> {
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
    let Comparison { holds, fails, with, how } = i.fields();
    let combine = |bits: LaneMask| {
        let c = x.truth(with);
        match how & (COMBINE_AND | COMBINE_OR | COMBINE_XOR) {
            COMBINE_AND => bits & c,
            COMBINE_OR => bits | c,
            COMBINE_XOR => bits ^ c,
            _ => bits,
        }
    };
    let (bits, other) = (combine(bits), combine(other));
    if how & VALUE != 0 {
        let truth = (how >> TRUTH_SHIFT) as u32;
        let value = |bits: LaneMask, l: usize| if bits >> l & 1 != 0 { truth } else { 0 };
        // SAFETY: decoding gave a 32-bit destination.
        unsafe {
            if how & VALUE_PAIR == 0 {
                write_lanes::<u32>(x, i.d, m, |l| value(bits, l));
            } else {
                write_lanes::<u32>(x, i.d, m, |l| value(bits, l) | value(other, l) << 16);
            }
        }
        return Flow::Next;
    }
    if let Some(holds) = holds {
        x.set_predicate(holds, m, bits);
    }
    if let Some(fails) = fails {
        x.set_predicate(fails, m, other);
    }
    Flow::Next
}

fn compare_halves<H: half::HalfFormat, const PAIR: bool>(x: &mut Exec<'_>, i: &Inst, m: LaneMask) -> Flow {
    let Comparison { how, .. } = i.fields();
    let op = FLOAT_COMPARES[(how >> COMPARE_SHIFT & COMPARE_BITS) as usize];
    let ftz = how & FTZ != 0;
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
