//! How often a loop goes round: known to the compiler, known when the loop is entered, or neither (TOM, Section 3.1.3).
//!
//! A count is known if exactly one branch leaves the loop, every iteration passes it, and it compares (`setp`) a value that
//! grows by the same in every iteration with one that the loop does not change. The first is an *induction register* plus
//! something fixed: additions and copies are followed through the loop, since compilers write `i += s` as one `add`, or as
//! an `add` to another register and a `mov` back. What is added is a constant, or a register that the loop does not change,
//! as in `i += gridDim.x * blockDim.x`; of that one the comparison tells the sign.

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

/// A trip count in terms of registers on entry: iteration `t`, counted from 1, takes place if
/// `start + (step · t + shift) · stride + offset` has not met `bound`; without a stride register the stride is 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Count {
    start: Value,
    bound: Value,
    stride: Option<RegId>,
    /// Not zero.
    step: i64,
    shift: i64,
    offset: i64,
    relation: Relation,
}

/// The condition of a conditional candidate: `register - minus >= threshold + multiple · stride`, or `<=` if `at_most`.
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
    /// The register that every iteration adds, and how many of it the threshold needs more.
    pub stride: Option<(RegId, i64)>,
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
    /// How far `bound` must lie from `start`, in the direction of the step, for iteration `t` to take place: so many
    /// strides, and so much more.
    fn distance(&self, t: u64) -> Option<(i64, i64)> {
        let sign = i128::from(self.step.signum());
        let strides = (i128::from(self.step) * i128::from(t) + i128::from(self.shift)) * sign;
        let rest = i128::from(self.offset) * sign + i128::from(self.relation != Relation::UpTo);
        Some((i64::try_from(strides).ok()?, i64::try_from(rest).ok()?))
    }

    /// The condition for at least `iterations`; none if no register could hold it.
    pub(super) fn condition(&self, iterations: u64) -> Option<Condition> {
        let (strides, rest) = self.distance(iterations)?;
        let distance = if self.stride.is_some() { rest } else { strides.checked_add(rest)? };
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
        let stride = self.stride.map(|r| (r, if at_most { -strides } else { strides }));
        Some(Condition { register, minus, at_most, threshold, stride, iterations })
    }

    /// The count itself, if both ends and the stride are constants: the last iteration that takes place, at least 1.
    fn constant(&self) -> Option<u64> {
        let (Value::Constant(start), Value::Constant(bound), None) = (self.start, self.bound, self.stride) else {
            return None;
        };
        let (step, sign) = (i128::from(self.step).abs(), i128::from(self.step.signum()));
        // `step · t` may grow to less than this, or to just this, and still lets an iteration take place.
        let fixed = i128::from(start) + i128::from(self.shift) + i128::from(self.offset);
        let room = (i128::from(bound) - fixed) * sign;
        if self.relation == Relation::NotAt && (room <= 0 || room % step != 0) {
            return None; // It passes its bound and goes round until the register wraps.
        }
        let strictly = i128::from(self.relation != Relation::UpTo);
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
    let grows = writes.growth(value.register)?;
    let relation = comparison.relation(grows.step)?;
    // Sums of strides and sums of numbers are kept apart: all of the growth must be of one kind, the rest may be of both.
    let (steps, offset) = match (grows.stride, value.added.stride) {
        (None, None) => (value.added.number, 0),
        (Some(a), Some(b)) if a == b && relation != Relation::NotAt => (value.added.strides, value.added.number),
        (Some(_), None) if relation != Relation::NotAt => (0, value.added.number),
        _ => return None,
    };
    // A test behind the accesses of iteration t - 1 lets iteration t take place; one before them, iteration t itself.
    let tested_first = body.forest.get(id).latches != [from]
        && !body.effects_in(&(writes.span.start..branch_at)).iter().any(|effect| effect.is_access());
    let behind = if tested_first { grows.step } else { grows.step.checked_mul(2)? };
    let header = body.forest.get(id).header;
    let start = Value::Register(value.register);
    Some(Count {
        start: entry_constant(body, id, header, start).map_or(start, Value::Constant),
        bound: entry_constant(body, id, header, bound).map_or(bound, Value::Constant),
        stride: grows.stride,
        step: grows.step,
        shift: steps.checked_sub(behind)?,
        offset,
        relation,
    })
}

/// True if every iteration of the loop passes `b` once.
fn in_every_iteration(body: &Body<'_>, id: LoopId, b: BlockId) -> bool {
    body.forest.innermost(b) == Some(id)
        && body.forest.get(id).latches.iter().all(|&latch| body.dominators.dominates(b, latch))
}

/// What is added to a register: a number, and a register so many times.
#[derive(Clone, Copy, Default)]
struct Added {
    number: i64,
    stride: Option<RegId>,
    strides: i64,
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
struct Linear {
    register: RegId,
    added: Added,
}

/// What each iteration adds to a register: `step` times the stride register, or the number `step`; not zero.
#[derive(Clone, Copy)]
struct Growth {
    stride: Option<RegId>,
    step: i64,
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
    fn growth(&self, register: RegId) -> Option<Growth> {
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
