//! Trip counts as arithmetic: from where, to where, in which steps; and the condition for a number of iterations.

use strata_ptx::ast::RegId;

/// A trip count in terms of registers on entry: iteration `t`, counted from 1, takes place if
/// `start + (step · t + shift) · stride + offset` has not met `bound`; without a stride register the stride is 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Count {
    pub(super) start: Value,
    pub(super) bound: Value,
    pub(super) stride: Option<RegId>,
    /// Not zero.
    pub(super) step: i64,
    pub(super) shift: i64,
    pub(super) offset: i64,
    pub(super) relation: Relation,
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
pub(super) enum Value {
    Constant(i64),
    Register(RegId),
}

/// What keeps a loop going: the induction value is before, at most at, or not at its bound.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Relation {
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
    pub(super) fn constant(&self) -> Option<u64> {
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
