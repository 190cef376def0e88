//! How often a loop goes round: known to the compiler, known when the loop is entered, or neither (TOM, Section 3.1.3).
//!
//! A count is known if exactly one branch leaves the loop, every iteration passes it, and it compares (`setp`) a value that
//! grows by the same in every iteration with one that the loop does not change. If it grows by a register, the comparison
//! tells the sign.

use super::body::Body;
use super::count::{Count, Relation, Value};
use super::induction::{Writes, entry_constant, in_every_iteration};
use std::ops::Range;
use strata_ptx::analysis::LoopId;
use strata_ptx::ast::{Instruction, Opcode, Operand, Word};

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
    let header = body.forest.get(id).header;
    let mut before = std::iter::successors(Some(from), |&b| body.dominators.immediate(b).filter(|_| b != header));
    let tested_first = body.forest.get(id).latches != [from]
        && !before.any(|b| body.effects_in(&body.block_span(b)).iter().any(|effect| effect.is_access()));
    let behind = if tested_first { grows.step } else { grows.step.checked_mul(2)? };
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
