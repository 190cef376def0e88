//! A function with all that the search asks of it: analyses, what each instruction means, trip counts.

use super::limits::{Effect, Limit, effect};
use super::trips::{Trips, trips};
use std::ops::Range;
use strata_ptx::analysis::{BlockId, CallsEndBlocks, Cfg, DominatorTree, Liveness, LoopForest, LoopId};
use strata_ptx::ast::{Function, Opcode, RegId};

/// The most instructions of a candidate (choice): what is examined stays in proportion to the function.
pub const MOST_INSTRUCTIONS: u32 = 8192;

/// The iterations of a loop whose count is not static, when blocks that overlap are compared (choice). Whether a block is a
/// candidate never depends on it: there, such a loop counts once.
pub const LIKELY_ITERATIONS: u64 = 16;

/// How often something is run: to be counted on, and to be expected.
#[derive(Clone, Copy, Debug)]
pub(super) struct Repeats {
    pub(super) certain: u64,
    pub(super) likely: u64,
}

impl Repeats {
    pub(super) const ONCE: Self = Self { certain: 1, likely: 1 };
    pub(super) const NEVER: Self = Self { certain: 0, likely: 0 };

    /// So often, and each time as often as `other` says.
    pub(super) fn times(self, other: Self) -> Self {
        Self { certain: self.certain.saturating_mul(other.certain), likely: self.likely.saturating_mul(other.likely) }
    }
}

/// One function.
pub(super) struct Body<'a> {
    pub(super) function: &'a Function,
    pub(super) cfg: Cfg,
    pub(super) dominators: DominatorTree,
    pub(super) post_dominators: DominatorTree,
    pub(super) forest: LoopForest,
    pub(super) liveness: Liveness,
    effects: Vec<Effect>,
    /// Instructions before each one, and before the end, that no candidate may contain.
    forbidden: Vec<u32>,
    /// Where each register is written, ascending: the writes of register `r` are `writes[first_write[r]..first_write[r + 1]]`.
    writes: Vec<u32>,
    first_write: Vec<u32>,
    /// First and last block of each loop, as [`hulls`] joins them.
    hulls: Vec<(BlockId, BlockId)>,
    trips: Vec<Trips>,
    /// How often the body of each loop is expected to run when the function runs once.
    likely_runs: Vec<f64>,
}

impl<'a> Body<'a> {
    pub(super) fn new(function: &'a Function, shared_is_generic: bool) -> Self {
        let cfg = Cfg::build(function, CallsEndBlocks::No);
        let dominators = DominatorTree::dominators(&cfg);
        let effects: Vec<_> = function.instructions.iter().map(|i| effect(function, i, shared_is_generic)).collect();
        let mut forbidden = Vec::with_capacity(effects.len() + 1);
        forbidden.push(0);
        for effect in &effects {
            forbidden.push(forbidden[forbidden.len() - 1] + u32::from(matches!(effect, Effect::Forbidden(_))));
        }
        let (writes, first_write) = writes_by_register(function);
        let forest = LoopForest::build(&cfg, &dominators);
        let mut body = Self {
            function,
            post_dominators: DominatorTree::post_dominators(&cfg),
            hulls: hulls(&cfg, &forest),
            forest,
            liveness: Liveness::build(function, &cfg),
            cfg,
            dominators,
            effects,
            forbidden,
            writes,
            first_write,
            trips: Vec::new(),
            likely_runs: Vec::new(),
        };
        body.trips = body.forest.ids().map(|id| trips(&body, id)).collect();
        // An outer loop comes before those in it.
        for id in body.forest.ids() {
            let around = body.forest.get(id).parent.map_or(1.0, |parent| body.likely_runs[parent.index()]);
            body.likely_runs.push(around * body.repeats(id).likely as f64);
        }
        body
    }

    /// The instructions among `span` that write `register`, ascending.
    pub(super) fn writes_in(&self, register: RegId, span: &Range<u32>) -> &[u32] {
        let r = register.0 as usize;
        let all = &self.writes[self.first_write[r] as usize..self.first_write[r + 1] as usize];
        &all[all.partition_point(|&at| at < span.start)..all.partition_point(|&at| at < span.end)]
    }

    /// True if nothing among `span` keeps it from being part of a candidate.
    pub(super) fn allows(&self, span: &Range<u32>) -> bool {
        self.forbidden[span.start as usize] == self.forbidden[span.end as usize]
    }

    /// The first instruction among `span` that no candidate may contain.
    pub(super) fn first_forbidden(&self, span: &Range<u32>) -> Option<(u32, Limit)> {
        span.clone().zip(self.effects_in(span)).find_map(|(at, effect)| match effect {
            Effect::Forbidden(limit) => Some((at, *limit)),
            _ => None,
        })
    }

    /// What the instructions of `span` mean.
    pub(super) fn effects_in(&self, span: &Range<u32>) -> &[Effect] {
        &self.effects[span.start as usize..span.end as usize]
    }

    /// The instructions of a block.
    pub(super) fn block_span(&self, b: BlockId) -> Range<u32> {
        let block = self.cfg.block(b);
        block.first..block.end
    }

    /// True if the last instruction of `b` is one that decides where to go on.
    pub(super) fn ends_in_branch(&self, b: BlockId) -> bool {
        let last = &self.function.instructions[self.cfg.block(b).end as usize - 1];
        matches!(last.op, Opcode::Bra | Opcode::Brx | Opcode::Ret | Opcode::Exit | Opcode::Trap)
    }

    /// True if all that `b` does is to end the function.
    pub(super) fn only_ends(&self, b: BlockId) -> bool {
        let block = self.block_span(b);
        let ends = |op| matches!(op, Opcode::Ret | Opcode::Exit);
        block.len() == 1 && ends(self.function.instructions[block.start as usize].op)
    }

    /// How often a loop goes round.
    pub(super) fn trips(&self, id: LoopId) -> Trips {
        self.trips[id.index()]
    }

    /// How often a loop runs what is in it, seen from outside.
    pub(super) fn repeats(&self, id: LoopId) -> Repeats {
        match self.trips(id) {
            Trips::Static(count) => Repeats { certain: count, likely: count },
            Trips::Known(_) | Trips::Unknown => Repeats { certain: 1, likely: LIKELY_ITERATIONS },
        }
    }

    /// How often the body of a loop is expected to run when the function runs once.
    pub(super) fn likely_runs(&self, id: LoopId) -> f64 {
        self.likely_runs[id.index()]
    }

    /// The instructions from the first to the last of a loop.
    pub(super) fn loop_hull(&self, id: LoopId) -> Range<u32> {
        let (first, last) = self.hulls[id.index()];
        self.cfg.block(first).first..self.cfg.block(last).end
    }

    /// The instructions of a loop, if they stand together and are few enough for a candidate.
    pub(super) fn loop_span(&self, id: LoopId) -> Option<Range<u32>> {
        let (first, last) = self.hulls[id.index()];
        let hull = self.loop_hull(id);
        // The blocks of a body are distinct: as many as there are from the first to the last are all of them.
        let together = self.forest.body(id).len() as u32 == last.0 - first.0 + 1;
        let fits = hull.end - hull.start <= MOST_INSTRUCTIONS;
        (together && fits).then_some(hull)
    }
}

/// The first and the last block of each loop, in program order. Inner loops come after outer ones and are joined to them.
fn hulls(cfg: &Cfg, forest: &LoopForest) -> Vec<(BlockId, BlockId)> {
    let mut hulls: Vec<_> = forest.loops().iter().map(|l| (l.header, l.header)).collect();
    for b in cfg.ids() {
        if let Some(id) = forest.innermost(b) {
            join(&mut hulls[id.index()], (b, b));
        }
    }
    for id in forest.ids().rev() {
        if let Some(parent) = forest.get(id).parent {
            let inner = hulls[id.index()];
            join(&mut hulls[parent.index()], inner);
        }
    }
    hulls
}

fn join(hull: &mut (BlockId, BlockId), other: (BlockId, BlockId)) {
    *hull = (hull.0.min(other.0), hull.1.max(other.1));
}

/// For each register, the instructions that write it: one array of them, and where each register's begin in it.
fn writes_by_register(function: &Function) -> (Vec<u32>, Vec<u32>) {
    let mut pairs = Vec::new();
    for (at, instruction) in (0_u32..).zip(&function.instructions) {
        instruction.each_written(|r| pairs.push((r.0, at)));
    }
    pairs.sort_unstable();
    pairs.dedup();
    let mut first = vec![0; function.registers.len() + 1];
    for &(r, _) in &pairs {
        first[r as usize + 1] += 1;
    }
    for r in 0..function.registers.len() {
        first[r + 1] += first[r];
    }
    (pairs.into_iter().map(|(_, at)| at).collect(), first)
}
