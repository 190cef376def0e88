//! How often a loop goes round: known to the compiler, known when the loop is entered, or neither (TOM, Section 3.1.3).
//!
//! A count is known if exactly one branch leaves the loop, every iteration passes it, and it compares (`setp`) a value that
//! grows by a constant in every iteration with one that the loop does not change. The first is an *induction register* plus
//! a constant: additions and copies are followed through the loop, since compilers write `i += s` as one `add`, or as an
//! `add` to another register and a `mov` back.

use super::body::Body;
use std::ops::Range;
use strata_ptx::analysis::{BlockId, LoopId};
use strata_ptx::ast::{Immediate, Instruction, Opcode, Operand, RegId, Type, Word};

/// The most additions and copies that are followed from a comparison, and blocks from a loop to a constant before it.
const MOST_STEPS: usize = 32;

/// How often a loop goes round.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Trips {
    /// Always so often.
    Static(u64),
    /// As often as registers say when it is entered.
    Known(Count),
    /// That turns out while it runs.
    Unknown,
}

/// A trip count in terms of registers on entry: iteration `t` takes place if `start + step · t` has not met `bound`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Count {
    start: Value,
    bound: Value,
    /// Added to `start` in each iteration; not zero.
    step: i64,
    /// What must be added to `start + step · t` for the value that lets iteration `t`, counted from 1, take place.
    shift: i64,
    relation: Relation,
}

/// The condition of a conditional candidate: `register - minus >= threshold`, or `<=` if `at_most`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Condition {
    /// The register that the offload controller reads.
    pub register: RegId,
    /// One that is taken from it, if both ends of the loop are in registers.
    pub minus: Option<RegId>,
    /// True if the value must not exceed the threshold, false if it must reach it.
    pub at_most: bool,
    /// What it is compared with.
    pub threshold: i64,
    /// The iterations that the condition stands for.
    pub iterations: u64,
}

/// A value on entry to a loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Value {
    Constant(i64),
    Register(RegId),
}

/// What keeps a loop going: the induction value is before, at most at, or not at its bound.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Relation {
    Before,
    UpTo,
    NotAt,
}

impl Count {
    /// How far `bound` must lie from `start`, in the direction of the step, for iteration `t` to take place.
    fn distance(&self, t: u64) -> Option<i64> {
        let passed = i128::from(self.step) * i128::from(t) + i128::from(self.shift);
        let strictly = i128::from(self.relation != Relation::UpTo);
        i64::try_from(passed * i128::from(self.step.signum()) + strictly).ok()
    }

    /// The condition for at least `iterations`; none if no register could hold it.
    pub(super) fn condition(&self, iterations: u64) -> Option<Condition> {
        let distance = self.distance(iterations)?;
        let up = self.step > 0;
        let (register, minus, at_most, threshold) = match (self.start, self.bound) {
            (Value::Register(start), Value::Register(bound)) if up => (bound, Some(start), false, distance),
            (Value::Register(start), Value::Register(bound)) => (start, Some(bound), false, distance),
            (Value::Constant(start), Value::Register(bound)) if up => {
                (bound, None, false, start.checked_add(distance)?)
            }
            (Value::Constant(start), Value::Register(bound)) => (bound, None, true, start.checked_sub(distance)?),
            (Value::Register(start), Value::Constant(bound)) if up => (start, None, true, bound.checked_sub(distance)?),
            (Value::Register(start), Value::Constant(bound)) => (start, None, false, bound.checked_add(distance)?),
            (Value::Constant(_), Value::Constant(_)) => return None,
        };
        Some(Condition { register, minus, at_most, threshold, iterations })
    }

    /// The count itself, if both ends are constants: the last iteration that takes place, at least 1.
    fn constant(&self) -> Option<u64> {
        let (Value::Constant(start), Value::Constant(bound)) = (self.start, self.bound) else { return None };
        let (step, sign) = (i128::from(self.step).abs(), i128::from(self.step.signum()));
        // `step · t + shift` may grow to this, and still lets an iteration take place.
        let strictly = i128::from(self.relation != Relation::UpTo);
        let room = (i128::from(bound) - i128::from(start) - i128::from(self.shift)) * sign;
        if self.relation == Relation::NotAt && (room <= 0 || room % step != 0) {
            return None; // It passes its bound and goes round until the register wraps.
        }
        u64::try_from((room - strictly).div_euclid(step)).map_or(Some(1), |t| Some(t.max(1)))
    }
}

/// Finds the trip count of a loop; one whose blocks do not stand together is not examined.
pub(super) fn trips(body: &Body<'_>, id: LoopId) -> Trips {
    match body.loop_span(id).and_then(|span| count(body, id, span)) {
        Some(count) => count.constant().map_or_else(|| known(count), Trips::Static),
        None => Trips::Unknown,
    }
}

/// A count that no constant decides: of use only if a register does.
fn known(count: Count) -> Trips {
    if count.condition(1).is_some() { Trips::Known(count) } else { Trips::Unknown }
}

fn count(body: &Body<'_>, id: LoopId, span: Range<u32>) -> Option<Count> {
    let mut exits = body.forest.exits(&body.cfg, id);
    let (from, _) = exits.next()?;
    if exits.next().is_some() || !in_every_iteration(body, id, from) {
        return None;
    }
    let branch_at = body.cfg.block(from).end - 1;
    let branch = &body.function.instructions[branch_at as usize];
    let guard = branch.guard.filter(|_| branch.op == Opcode::Bra)?;
    let &[taken, _] = body.cfg.successors(from) else { return None };
    let stays_if = body.forest.contains(id, taken) != guard.negated;

    let writes = Writes { body, id, span };
    let compare_at = writes.only(guard.register)?;
    if !writes.precedes(compare_at, branch_at) {
        return None;
    }
    let compare = &body.function.instructions[compare_at as usize];
    let [left, right] = compare.inputs() else { return None };
    // Of a pair of results the second is the opposite.
    let gives_guard = compare.op == Opcode::Setp && compare.outputs() == [Operand::Register(guard.register)];
    if !gives_guard || !compare.ty().is_some_and(|ty| ty.is_integer() || ty.is_bits()) {
        return None;
    }
    let comparison = Comparison::of(compare)?;
    let comparison = if stays_if { comparison } else { comparison.inverted() };

    let (value, bound, comparison) = match (writes.linear(left, compare_at), writes.invariant(right)) {
        (Some(value), Some(bound)) => (value, bound, comparison),
        _ => (writes.linear(right, compare_at)?, writes.invariant(left)?, comparison.mirrored()),
    };
    let step = writes.step(value.register)?;
    let relation = comparison.relation(step)?;
    // A test behind the accesses of iteration t - 1 lets iteration t take place; one before them, iteration t itself.
    let tested_first = body.forest.get(id).latches != [from]
        && !body.effects_in(&(writes.span.start..branch_at)).iter().any(|effect| effect.is_access());
    let behind = if tested_first { step } else { step.checked_mul(2)? };
    let header = body.forest.get(id).header;
    let start = Value::Register(value.register);
    Some(Count {
        start: entry_constant(body, id, header, start).map_or(start, Value::Constant),
        bound: entry_constant(body, id, header, bound).map_or(bound, Value::Constant),
        step,
        shift: value.offset.checked_sub(behind)?,
        relation,
    })
}

/// True if every iteration of the loop passes `b` once.
fn in_every_iteration(body: &Body<'_>, id: LoopId, b: BlockId) -> bool {
    body.forest.innermost(b) == Some(id)
        && body.forest.get(id).latches.iter().all(|&latch| body.dominators.dominates(b, latch))
}

/// The value of an induction register at the start of an iteration, plus a constant.
#[derive(Clone, Copy)]
struct Linear {
    register: RegId,
    offset: i64,
}

/// The writes of registers in one loop.
struct Writes<'a> {
    body: &'a Body<'a>,
    id: LoopId,
    /// Its instructions.
    span: Range<u32>,
}

impl Writes<'_> {
    /// The only instruction of the loop that writes `register`, if it is executed once in every iteration.
    fn only(&self, register: RegId) -> Option<u32> {
        let &[at] = self.body.writes_in(register, &self.span) else { return None };
        let instruction = &self.body.function.instructions[at as usize];
        let once = instruction.guard.is_none() && in_every_iteration(self.body, self.id, self.body.cfg.block_of(at));
        once.then_some(at)
    }

    /// True if `first` is executed before `second` in the same iteration, both being executed once in every one.
    fn precedes(&self, first: u32, second: u32) -> bool {
        let (a, b) = (self.body.cfg.block_of(first), self.body.cfg.block_of(second));
        if a == b { first < second } else { self.body.dominators.dominates(a, b) }
    }

    /// An operand that the loop does not change, as its value on entry.
    fn invariant(&self, operand: &Operand) -> Option<Value> {
        match *operand {
            Operand::Immediate(Immediate::Int(value)) => Some(Value::Constant(value)),
            Operand::Register(r) if self.body.writes_in(r, &self.span).is_empty() => Some(Value::Register(r)),
            _ => None,
        }
    }

    /// What `operand`, read at instruction `at`, is of a register at the start of the iteration.
    fn linear(&self, operand: &Operand, mut at: u32) -> Option<Linear> {
        let Operand::Register(mut register) = *operand else { return None };
        let mut offset = 0_i64;
        for _ in 0..MOST_STEPS {
            let written = self.only(register)?;
            if !self.precedes(written, at) {
                return Some(Linear { register, offset });
            }
            let (source, added) = addition(&self.body.function.instructions[written as usize])?;
            (register, at, offset) = (source, written, offset.checked_add(added)?);
        }
        None
    }

    /// What each iteration adds to `register`; never zero.
    fn step(&self, register: RegId) -> Option<i64> {
        let written = self.only(register)?;
        let (source, added) = addition(&self.body.function.instructions[written as usize])?;
        let value = self.linear(&Operand::Register(source), written)?;
        value.offset.checked_add(added).filter(|&step| value.register == register && step != 0)
    }
}

/// A register plus a constant: `add`, `sub` or `mov` of whole integers.
fn addition(instruction: &Instruction) -> Option<(RegId, i64)> {
    let whole = |ty: Type| (ty.is_integer() || ty.is_bits()) && matches!(ty.bits(), 32 | 64);
    if !instruction.ty().is_some_and(whole) || instruction.has(Word::Sat) || instruction.has(Word::Cc) {
        return None;
    }
    match (instruction.op, instruction.inputs()) {
        (Opcode::Mov, [Operand::Register(r)]) => Some((*r, 0)),
        (
            Opcode::Add,
            [Operand::Register(r), Operand::Immediate(Immediate::Int(c))]
            | [Operand::Immediate(Immediate::Int(c)), Operand::Register(r)],
        ) => Some((*r, signed(instruction, *c))),
        (Opcode::Sub, [Operand::Register(r), Operand::Immediate(Immediate::Int(c))]) => {
            Some((*r, signed(instruction, *c).checked_neg()?))
        }
        _ => None,
    }
}

/// A literal as the signed number that adding it is: `0xffffffff` takes one from 32 bits.
fn signed(instruction: &Instruction, literal: i64) -> i64 {
    if instruction.ty().is_some_and(|ty| ty.bits() == 32) { i64::from(literal as i32) } else { literal }
}

/// The constant that `value` holds on entry to the loop, if the blocks that surely come before it show one.
fn entry_constant(body: &Body<'_>, id: LoopId, header: BlockId, value: Value) -> Option<i64> {
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

/// An integer comparison.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Comparison {
    Less,
    AtMost,
    Greater,
    AtLeast,
    Equal,
    Different,
}

impl Comparison {
    /// What a `setp` without a further predicate compares.
    fn of(setp: &Instruction) -> Option<Self> {
        setp.words.iter().find_map(|word| {
            Some(match word {
                Word::Lt | Word::Lo => Self::Less,
                Word::Le | Word::Ls => Self::AtMost,
                Word::Gt | Word::Hi => Self::Greater,
                Word::Ge | Word::Hs => Self::AtLeast,
                Word::Eq => Self::Equal,
                Word::Ne => Self::Different,
                _ => return None,
            })
        })
    }

    const fn inverted(self) -> Self {
        match self {
            Self::Less => Self::AtLeast,
            Self::AtMost => Self::Greater,
            Self::Greater => Self::AtMost,
            Self::AtLeast => Self::Less,
            Self::Equal => Self::Different,
            Self::Different => Self::Equal,
        }
    }

    /// With its operands exchanged.
    const fn mirrored(self) -> Self {
        match self {
            Self::Less => Self::Greater,
            Self::AtMost => Self::AtLeast,
            Self::Greater => Self::Less,
            Self::AtLeast => Self::AtMost,
            same => same,
        }
    }

    /// What keeps a loop of this step going that continues while this holds; none if it ends at once or wraps.
    const fn relation(self, step: i64) -> Option<Relation> {
        match (self, step > 0) {
            (Self::Less, true) | (Self::Greater, false) => Some(Relation::Before),
            (Self::AtMost, true) | (Self::AtLeast, false) => Some(Relation::UpTo),
            (Self::Different, _) => Some(Relation::NotAt),
            _ => None,
        }
    }
}
