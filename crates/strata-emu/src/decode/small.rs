//! `cvt` from and to pairs of 8-bit floats.

use super::arithmetic::plain;
use super::{Decoded, Decoder};
use crate::inst::{Inst, Modified};
use crate::lanes::{map1, map2};
use crate::semantics::half::{F16, HalfFormat};
use crate::semantics::small::{E4M3, E5M2, Small};
use strata_ptx::ast::{Instruction, Type, Word};

/// Bits of [`Modified::modifiers`]: the format and `.relu`.
const E5M2_FLAG: i64 = 1;
const RELU_FLAG: i64 = 2;

/// True for conversions of this file.
pub(super) fn is_small(i: &Instruction) -> bool {
    i.has(Word::E4m3x2) || i.has(Word::E5m2x2)
}

fn format(i: &Inst) -> Small {
    if i.fields::<Modified>().modifiers & E5M2_FLAG != 0 { E5M2 } else { E4M3 }
}

/// `.relu`: what is negative becomes +0, NaN stays.
fn rectified(i: &Inst, value: f32) -> f32 {
    let relu = i.fields::<Modified>().modifiers & RELU_FLAG != 0;
    if relu && value.is_sign_negative() && !value.is_nan() { 0.0 } else { value }
}

/// Two numbers as a pair; the first is the upper one.
fn pair(i: &Inst, high: f32, low: f32) -> u16 {
    let narrow = |value| u16::from(format(i).narrow_saturating(rectified(i, value)));
    narrow(high) << 8 | narrow(low)
}

impl Decoder<'_> {
    pub(super) fn small_floats(&mut self, i: &Instruction) -> Decoded<Inst> {
        let types: Vec<Type> = i.types().collect();
        let mut decoded = match types[..] {
            [Type::F16x2, _] => Inst::new(plain(|x, i, m| unsafe {
                map1(x, i, m, |pair: u16| {
                    let half = |bits: u8| u32::from(F16::narrow(rectified(i, format(i).widen(bits))));
                    half((pair >> 8) as u8) << 16 | half(pair as u8)
                })
            })),
            [_, Type::F16x2] => Inst::new(plain(|x, i, m| unsafe {
                map1(x, i, m, |halves: u32| pair(i, F16::widen((halves >> 16) as u16), F16::widen(halves as u16)))
            })),
            [_, Type::F32] => Inst::new(plain(|x, i, m| unsafe { map2(x, i, m, |a: f32, b: f32| pair(i, a, b)) })),
            _ => return Err("not a conversion of 8-bit floats".into()),
        };
        decoded.d = self.destination(&i.operands[0], types[0])?;
        decoded.a = self.source(&i.operands[1], types[1])?;
        if let Some(low) = i.operands.get(2) {
            decoded.b = self.source(low, types[1])?;
        }
        let flag = |word, bit| if i.has(word) { bit } else { 0 };
        decoded.set(Modified { modifiers: flag(Word::E5m2x2, E5M2_FLAG) | flag(Word::Relu, RELU_FLAG) });
        Ok(decoded)
    }
}
