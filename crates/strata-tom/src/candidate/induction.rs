//! What a loop adds to a register in each iteration, and what it holds when the loop is entered.
//!
//! Additions and copies are followed through the loop, since compilers write `i += s` as one `add`, or as an `add` to
//! another register and a `mov` back. What is added is a constant, or a register that the loop does not change, as in
//! `i += gridDim.x * blockDim.x`.

use super::body::Body;
use super::count::Value;
use std::ops::Range;
use strata_ptx::analysis::{BlockId, LoopId};
use strata_ptx::ast::{Immediate, Instruction, Opcode, Operand, RegId, Type, Word};

/// The most additions and copies that are followed from a comparison, and blocks from a loop to a constant before it.
const MOST_STEPS: usize = 32;

/// True if every iteration of the loop passes `b` once.
pub(super) fn in_every_iteration(body: &Body<'_>, id: LoopId, b: BlockId) -> bool {
    body.forest.innermost(b) == Some(id)
        && body.forest.get(id).latches.iter().all(|&latch| body.dominators.dominates(b, latch))
}

/// What is added to a register: a number, and a register so many times.
#[derive(Clone, Copy, Default)]
pub(super) struct Added {
    pub(super) number: i64,
    pub(super) stride: Option<RegId>,
    pub(super) strides: i64,
}

impl Added {
    /// Both together; none if they add different registers.
    fn plus(self, other: Self) -> Option<Self> {
        if self.stride.is_some() && other.stride.is_some() && self.stride != other.stride {
            return None;
        }
        Some(Self {
            number: self.number.checked_add(other.number)?,
            stride: self.stride.or(other.stride),
            strides: self.strides.checked_add(other.strides)?,
        })
    }
}

/// The value of a register at the start of an iteration, plus something.
#[derive(Clone, Copy)]
pub(super) struct Linear {
    pub(super) register: RegId,
    pub(super) added: Added,
}

/// What each iteration adds to a register: `step` times the stride register, or the number `step`; not zero.
#[derive(Clone, Copy)]
pub(super) struct Growth {
    pub(super) stride: Option<RegId>,
    pub(super) step: i64,
}

/// The writes of registers in one loop.
pub(super) struct Writes<'a> {
    pub(super) body: &'a Body<'a>,
    pub(super) id: LoopId,
    /// From the first instruction of the loop to the one after its last.
    pub(super) span: Range<u32>,
}

impl Writes<'_> {
    /// The only instruction of the loop that writes `register`, if it is executed once in every iteration.
    pub(super) fn only(&self, register: RegId) -> Option<u32> {
        let &[at] = self.body.writes_in(register, &self.span) else { return None };
        let instruction = &self.body.function.instructions[at as usize];
        let once = instruction.guard.is_none() && in_every_iteration(self.body, self.id, self.body.cfg.block_of(at));
        once.then_some(at)
    }

    /// True if `first` is executed before `second` in the same iteration, both being executed once in every one.
    pub(super) fn precedes(&self, first: u32, second: u32) -> bool {
        let (a, b) = (self.body.cfg.block_of(first), self.body.cfg.block_of(second));
        if a == b { first < second } else { self.body.dominators.dominates(a, b) }
    }

    /// An operand that the loop does not change, as its value on entry.
    pub(super) fn invariant(&self, operand: &Operand) -> Option<Value> {
        match *operand {
            Operand::Immediate(Immediate::Int(value)) => Some(Value::Constant(value)),
            Operand::Register(r) if self.body.writes_in(r, &self.span).is_empty() => Some(Value::Register(r)),
            _ => None,
        }
    }

    /// What `operand`, read at instruction `at`, is of a register at the start of the iteration.
    pub(super) fn linear(&self, operand: &Operand, mut at: u32) -> Option<Linear> {
        let Operand::Register(mut register) = *operand else { return None };
        let mut sum = Added::default();
        for _ in 0..MOST_STEPS {
            let written = self.only(register)?;
            if !self.precedes(written, at) {
                return Some(Linear { register, added: sum });
            }
            let (source, added) = self.addition(written)?;
            (register, at, sum) = (source, written, sum.plus(added)?);
        }
        None
    }

    /// What each iteration adds to `register`.
    pub(super) fn growth(&self, register: RegId) -> Option<Growth> {
        let written = self.only(register)?;
        let (source, added) = self.addition(written)?;
        let value = self.linear(&Operand::Register(source), written).filter(|value| value.register == register)?;
        let added = value.added.plus(added)?;
        match (added.number, added.strides) {
            (step @ (1.. | ..=-1), 0) => Some(Growth { stride: None, step }),
            (0, step @ (1.. | ..=-1)) => Some(Growth { stride: added.stride, step }),
            _ => None,
        }
    }

    /// The instruction `at` as a register plus something: `add`, `sub` or `mov` of whole integers.
    fn addition(&self, at: u32) -> Option<(RegId, Added)> {
        let instruction = &self.body.function.instructions[at as usize];
        let whole = |ty: Type| (ty.is_integer() || ty.is_bits()) && matches!(ty.bits(), 32 | 64);
        if !instruction.ty().is_some_and(whole) || instruction.has(Word::Sat) || instruction.has(Word::Cc) {
            return None;
        }
        let sign = match (instruction.op, instruction.inputs()) {
            (Opcode::Mov, [Operand::Register(source)]) => return Some((*source, Added::default())),
            (Opcode::Add, _) => 1,
            (Opcode::Sub, _) => -1,
            _ => return None,
        };
        let [left, right] = instruction.inputs() else { return None };
        let fixed = |operand: &Operand| match *self.invariant(operand).as_ref()? {
            Value::Constant(literal) => {
                Some(Added { number: signed(instruction, literal).checked_mul(sign)?, ..Added::default() })
            }
            Value::Register(r) => Some(Added { stride: Some(r), strides: sign, ..Added::default() }),
        };
        match (left, right) {
            (Operand::Register(source), added) if fixed(added).is_some() => Some((*source, fixed(added)?)),
            (added, Operand::Register(source)) if sign == 1 => Some((*source, fixed(added)?)),
            _ => None,
        }
    }
}

/// A literal as the signed number that adding it is: `0xffffffff` takes one from 32 bits.
fn signed(instruction: &Instruction, literal: i64) -> i64 {
    if instruction.ty().is_some_and(|ty| ty.bits() == 32) { i64::from(literal as i32) } else { literal }
}

/// The constant that `value` holds on entry to the loop, if the blocks that surely come before it show one.
pub(super) fn entry_constant(body: &Body<'_>, id: LoopId, header: BlockId, value: Value) -> Option<i64> {
    let Value::Register(mut register) = value else { return None };
    let mut b = only_one(body.cfg.predecessors(header).iter().copied().filter(|&p| !body.forest.contains(id, p)))?;
    for _ in 0..MOST_STEPS {
        let block = body.cfg.block(b);
        let mut end = block.end;
        // The last write in this block; a copy leads to an earlier one of its source.
        while let Some(&at) = body.writes_in(register, &(block.first..end)).last() {
            let instruction = &body.function.instructions[at as usize];
            match (instruction.op, instruction.inputs(), instruction.guard) {
                (Opcode::Mov, [Operand::Immediate(Immediate::Int(constant))], None) => return Some(*constant),
                (Opcode::Mov, [Operand::Register(source)], None) => (register, end) = (*source, at),
                _ => return None,
            }
        }
        b = only_one(body.cfg.predecessors(b).iter().copied())?;
    }
    None
}

fn only_one<T>(mut items: impl Iterator<Item = T>) -> Option<T> {
    let first = items.next()?;
    items.next().is_none().then_some(first)
}
