//! Video instructions: parts of registers, with a second operation.
//!
//! They are rare, so one loop serves all scalar forms and one all packed forms; what they do is looked up in their
//! modifiers.

use super::{Decoded, Decoder};
use crate::exec::{Exec, Flow};
use crate::inst::{Inst, Modified};
use crate::lanes::{read_lanes, write_lanes};
use crate::semantics::bits::Amount;
use crate::semantics::video::{
    Combine, Elements, Part, SimdResult, SimdSelect, VideoCompare, VideoOp, VideoOperand, VideoResult, VmadForm, video,
    video_simd, vmad,
};
use strata_core::LaneMask;
use strata_ptx::ast::{Instruction, Opcode as O, Operand, Type, Word};

/// What a video instruction does: index into this table in the low byte of
/// [`Modified::modifiers`].
const OPERATIONS: [VideoOp; 16] = [
    VideoOp::Add,
    VideoOp::Sub,
    VideoOp::AbsDiff,
    VideoOp::Min,
    VideoOp::Max,
    VideoOp::Average,
    VideoOp::Set(VideoCompare::Eq),
    VideoOp::Set(VideoCompare::Ne),
    VideoOp::Set(VideoCompare::Lt),
    VideoOp::Set(VideoCompare::Le),
    VideoOp::Set(VideoCompare::Gt),
    VideoOp::Set(VideoCompare::Ge),
    VideoOp::ShiftLeft(Amount::Clamp),
    VideoOp::ShiftLeft(Amount::Wrap),
    VideoOp::ShiftRight(Amount::Clamp),
    VideoOp::ShiftRight(Amount::Wrap),
];

/// Parts of a register: index into this table.
const PARTS: [Part; 7] = [Part::Word, Part::B0, Part::B1, Part::B2, Part::B3, Part::H0, Part::H1];

/// Bits of [`Modified::modifiers`]: the operation below them, fields above.
const SIGNED_A: i64 = 1 << 8;
const SIGNED_B: i64 = 1 << 9;
const SIGNED_D: i64 = 1 << 10;
const SAT: i64 = 1 << 11;
/// The third operand: none, merged, added, the least, the greatest.
const COMBINE_SHIFT: u32 = 12;
const NOTHING: i64 = 0;
const MERGE: i64 = 1;
const ADD: i64 = 2;
const MIN: i64 = 3;
const MAX: i64 = 4;
/// Parts of scalar operands.
const PART_A_SHIFT: u32 = 16;
const PART_B_SHIFT: u32 = 20;
const PART_D_SHIFT: u32 = 24;
/// Elements of a packed result that are written.
const MASK_SHIFT: u32 = 28;
/// `vmad`: how far the result is shifted, and whether one is added.
const SCALE_SHIFT: u32 = 32;
const PLUS_ONE: i64 = 1 << 40;

impl Decoder<'_> {
    pub(super) fn video(&mut self, i: &Instruction) -> Decoded<Inst> {
        let elements = match i.op {
            O::Vadd2 | O::Vsub2 | O::Vavrg2 | O::Vabsdiff2 | O::Vmin2 | O::Vmax2 | O::Vset2 => Some(Elements::Two),
            O::Vadd4 | O::Vsub4 | O::Vavrg4 | O::Vabsdiff4 | O::Vmin4 | O::Vmax4 | O::Vset4 => Some(Elements::Four),
            _ => None,
        };
        let [d, a, b, rest @ ..] = &i.operands[..] else {
            return Err("operands are missing".into());
        };
        let mut decoded = Inst::new(match (elements, i.op) {
            (Some(Elements::Two), _) => packed_halves,
            (Some(Elements::Four), _) => packed_bytes,
            (None, O::Vmad) => multiply_add,
            (None, _) => scalar,
        });
        let types: Vec<Type> = i.types().collect();
        // `vset` has no type of its own: its result is unsigned.
        let sources = types.get(types.len().saturating_sub(2)..).unwrap_or_default();
        let signed = |ty: Option<&Type>, bit: i64| if ty.is_some_and(|t| t.is_signed()) { bit } else { 0 };
        let result = if types.len() == 3 { types.first() } else { None };
        let mut modifiers = operation(i)?
            | signed(sources.first(), SIGNED_A)
            | signed(sources.get(1), SIGNED_B)
            | signed(result, SIGNED_D)
            | if i.has(Word::Sat) { SAT } else { 0 };
        let second = i.words.iter().find_map(|w| match w {
            Word::Add => Some(ADD),
            Word::Min => Some(MIN),
            Word::Max => Some(MAX),
            _ => None,
        });
        let combine = match (second, rest) {
            (Some(second), [_, ..]) => second,
            (None, [_, ..]) => MERGE,
            (_, []) => NOTHING,
        };
        modifiers |= combine << COMBINE_SHIFT;
        if elements.is_none() {
            modifiers |= part(a)? << PART_A_SHIFT | part(b)? << PART_B_SHIFT | part(d)? << PART_D_SHIFT;
        } else {
            whole(a)?;
            whole(b)?;
            modifiers |= written_elements(d, elements)? << MASK_SHIFT;
        }
        if i.op == O::Vmad {
            let scale = if i.has(Word::Shr7) {
                7
            } else if i.has(Word::Shr15) {
                15
            } else {
                0
            };
            modifiers |= scale << SCALE_SHIFT | if i.has(Word::Po) { PLUS_ONE } else { 0 };
        }
        decoded.set(Modified { modifiers });
        decoded.d = self.destination(&register(d), Type::U32)?;
        decoded.a = self.source32(&register(a))?;
        decoded.b = self.source32(&register(b))?;
        decoded.c = match rest.first() {
            Some(c) => self.source32(c)?,
            None => decoded.a,
        };
        Ok(decoded)
    }
}

/// The index of the operation among [`OPERATIONS`].
fn operation(i: &Instruction) -> Decoded<i64> {
    let wrap = i64::from(i.has(Word::Wrap));
    let comparison = i.words.iter().find_map(|w| match w {
        Word::Eq => Some(6),
        Word::Ne => Some(7),
        Word::Lt => Some(8),
        Word::Le => Some(9),
        Word::Gt => Some(10),
        Word::Ge => Some(11),
        _ => None,
    });
    Ok(match i.op {
        O::Vadd | O::Vadd2 | O::Vadd4 | O::Vmad => 0,
        O::Vsub | O::Vsub2 | O::Vsub4 => 1,
        O::Vabsdiff | O::Vabsdiff2 | O::Vabsdiff4 => 2,
        O::Vmin | O::Vmin2 | O::Vmin4 => 3,
        O::Vmax | O::Vmax2 | O::Vmax4 => 4,
        O::Vavrg2 | O::Vavrg4 => 5,
        O::Vshl => 12 + wrap,
        O::Vshr => 14 + wrap,
        _ => comparison.ok_or("the comparison is missing")?,
    })
}

/// The operand without its selector.
fn register(operand: &Operand) -> Operand {
    match operand {
        Operand::Selector(r, _) => Operand::Register(*r),
        other => other.clone(),
    }
}

/// The part of a scalar operand, as an index into [`PARTS`].
fn part(operand: &Operand) -> Decoded<i64> {
    Ok(match operand {
        Operand::Selector(_, word) => match word.name() {
            "b0" => 1,
            "b1" => 2,
            "b2" => 3,
            "b3" => 4,
            "h0" => 5,
            "h1" => 6,
            other => return Err(format!("`.{other}` selects elements; this instruction reads one part")),
        },
        _ => 0,
    })
}

/// Source selectors of packed forms permute elements; the only ones that are executed are those that do not.
fn whole(operand: &Operand) -> Decoded<()> {
    match operand {
        Operand::Selector(_, word) if !matches!(word, Word::H10 | Word::B3210) => {
            Err(format!("elements are not permuted here: `.{}` is not executed", word.name()))
        }
        _ => Ok(()),
    }
}

/// The elements of a packed destination, one bit each.
fn written_elements(operand: &Operand, elements: Option<Elements>) -> Decoded<i64> {
    let Operand::Selector(_, word) = operand else {
        return Ok(0xf);
    };
    let kind = if elements == Some(Elements::Two) { 'h' } else { 'b' };
    let numbers = word.name().strip_prefix(kind).ok_or_else(|| format!("`.{}` selects no elements", word.name()))?;
    Ok(numbers.bytes().fold(0, |mask, digit| mask | 1 << (digit & 3)))
}

fn operation_of(modifiers: i64) -> VideoOp {
    OPERATIONS[modifiers as usize & 0xf]
}

fn part_at(modifiers: i64, shift: u32) -> Part {
    PARTS[(modifiers >> shift) as usize & 7]
}

/// Reads the three sources and writes `f` of them.
unsafe fn apply(x: &mut Exec<'_>, i: &Inst, m: LaneMask, f: impl Fn(u32, u32, u32) -> u32) -> Flow {
    // SAFETY: decoding gave 32-bit slots.
    unsafe {
        let (a, b, c) = (read_lanes::<u32>(x, i.a), read_lanes::<u32>(x, i.b), read_lanes::<u32>(x, i.c));
        write_lanes::<u32>(x, i.d, m, |l| f(a[l], b[l], c[l]));
    }
    Flow::Next
}

fn operands(modifiers: i64, a: u32, b: u32) -> (VideoOperand, VideoOperand) {
    (
        VideoOperand { bits: a, signed: modifiers & SIGNED_A != 0, part: part_at(modifiers, PART_A_SHIFT) },
        VideoOperand { bits: b, signed: modifiers & SIGNED_B != 0, part: part_at(modifiers, PART_B_SHIFT) },
    )
}

unsafe fn scalar(x: &mut Exec<'_>, i: &Inst, m: LaneMask) -> Flow {
    let Modified { modifiers } = i.fields();
    let combine = match modifiers >> COMBINE_SHIFT & 0xf {
        NOTHING => Combine::Nothing,
        MERGE => Combine::Merge(part_at(modifiers, PART_D_SHIFT)),
        ADD => Combine::Add,
        MIN => Combine::Min,
        _ => Combine::Max,
    };
    let result = VideoResult { signed: modifiers & SIGNED_D != 0, sat: modifiers & SAT != 0, combine };
    let op = operation_of(modifiers);
    // SAFETY: the caller of an `OpFn` guarantees what the loop needs.
    unsafe {
        apply(x, i, m, |a, b, c| {
            let (a, b) = operands(modifiers, a, b);
            video(op, a, b, c, result)
        })
    }
}

unsafe fn multiply_add(x: &mut Exec<'_>, i: &Inst, m: LaneMask) -> Flow {
    let Modified { modifiers } = i.fields();
    let form = if modifiers & PLUS_ONE != 0 { VmadForm::PlusOne } else { VmadForm::Plain };
    let scale = (modifiers >> SCALE_SHIFT) as u32 & 0xf;
    // SAFETY: the caller of an `OpFn` guarantees what the loop needs.
    unsafe {
        apply(x, i, m, |a, b, c| {
            let (a, b) = operands(modifiers, a, b);
            vmad(a, b, c, form, scale, modifiers & SAT != 0)
        })
    }
}

/// The elements of two registers, in order.
unsafe fn packed(x: &mut Exec<'_>, i: &Inst, m: LaneMask, elements: Elements) -> Flow {
    let Modified { modifiers } = i.fields();
    let (first, second) = match elements {
        Elements::Two => ([0, 1, 0, 0], [2, 3, 0, 0]),
        Elements::Four => ([0, 1, 2, 3], [4, 5, 6, 7]),
    };
    let first = SimdSelect { signed: modifiers & SIGNED_A != 0, elements: first };
    let second = SimdSelect { signed: modifiers & SIGNED_B != 0, elements: second };
    let result = SimdResult {
        signed: modifiers & SIGNED_D != 0,
        sat: modifiers & SAT != 0,
        accumulate: modifiers >> COMBINE_SHIFT & 0xf == ADD,
        mask: (modifiers >> MASK_SHIFT) as u8 & 0xf,
    };
    let op = operation_of(modifiers);
    // SAFETY: the caller of an `OpFn` guarantees what the loop needs.
    unsafe { apply(x, i, m, |a, b, c| video_simd(op, elements, (a, first), (b, second), c, result)) }
}

unsafe fn packed_halves(x: &mut Exec<'_>, i: &Inst, m: LaneMask) -> Flow {
    // SAFETY: as the caller promises.
    unsafe { packed(x, i, m, Elements::Two) }
}

unsafe fn packed_bytes(x: &mut Exec<'_>, i: &Inst, m: LaneMask) -> Flow {
    // SAFETY: as the caller promises.
    unsafe { packed(x, i, m, Elements::Four) }
}
