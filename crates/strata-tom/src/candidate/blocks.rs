//! The blocks that are examined, each with what it would move: natural loops, regions of whole basic blocks with one way in
//! and one way out, and pieces of a basic block between instructions that no candidate may contain.
//!
//! A candidate is a range of program counters that is entered at one instruction and left for one, so that lanes which part
//! in it have met again when it ends. These are its first and the one after its last, except for loops: compilers place a
//! header in the middle, or what follows a loop elsewhere, at times. A branch at the end that leads out is left out: the
//! warp takes it on the GPU.
//!
//! A region has no loop in it whose count is not static: whether such a loop pays is decided as it is entered (TOM, Section
//! 3.1.3), and around it that would have to be decided before.
//!
//! Which accesses count (choice): in a loop all, since one of a warp's lanes nearly always takes an arm in one of a few
//! iterations; in a region those that every way through it passes, since it is run once and a branch may skip the rest. A
//! branch that leads to the end of the kernel at once is taken to go on: the guard of a thread without work.

use super::Refusal;
use super::body::{Body, LIKELY_ITERATIONS, MOST_INSTRUCTIONS, Repeats};
use super::cost::{Assumptions, Traffic};
use super::count::Condition;
use super::meter::Meter;
use super::trips::Trips;
use std::ops::Range;
use strata_ptx::analysis::{BlockId, LoopId};
use strata_ptx::ast::Opcode;

/// The most basic blocks of a region that is no loop (choice): regions are tried from every block on.
const MOST_BLOCKS: u32 = 128;

/// What a candidate is of its function.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// A natural loop, with all loops in it.
    Loop,
    /// Basic blocks with one way in and one way out.
    Region,
    /// A piece of one basic block.
    Piece,
}

/// A block that is worth offloading, before overlaps are resolved.
#[derive(Clone, Debug)]
pub(super) struct Draft {
    pub(super) kind: Kind,
    pub(super) span: Range<u32>,
    /// Where a warp enters it, and where one goes on that has left it.
    pub(super) entry: u32,
    pub(super) resume: u32,
    pub(super) traffic: Traffic,
    pub(super) trips: Option<Trips>,
    /// Iterations that `benefit` assumes.
    pub(super) iterations: u64,
    pub(super) condition: Option<Condition>,
    /// Words saved on both channels whenever it is run.
    pub(super) benefit: f64,
    /// The same as far as it is to be expected: blocks that overlap are compared by this.
    pub(super) likely_benefit: f64,
}

/// What the search gives.
pub(super) struct Drafts {
    /// All blocks that are worth offloading.
    pub(super) list: Vec<Draft>,
    /// How many blocks were weighed.
    pub(super) examined: usize,
    /// For each loop, why it is not in the list.
    pub(super) refusals: Vec<Option<Refusal>>,
}

/// The blocks of a loop as a range that holds nothing forbidden and is left for one block only, which is given too, or why
/// they are none.
fn confined(body: &Body<'_>, id: LoopId) -> Result<(Range<u32>, BlockId), Refusal> {
    let span = body.loop_span(id).ok_or(Refusal::Scattered)?;
    if let Some((at, limit)) = body.first_forbidden(&span) {
        return Err(Refusal::Contains(at, limit));
    }
    let mut after = None;
    for (from, to) in body.forest.exits(&body.cfg, id) {
        if to == body.cfg.exit() || *after.get_or_insert(to) != to {
            return Err(Refusal::Leaves(body.cfg.block(from).end - 1));
        }
    }
    after.map(|after| (span, after)).ok_or(Refusal::Endless)
}

/// Examines all blocks of a function.
pub(super) fn drafts(body: &Body<'_>, assumptions: &Assumptions) -> Drafts {
    let within = vec![Repeats::ONCE; body.forest.loops().len()];
    let meter = Meter::new(body);
    let passed_from = vec![None; body.cfg.ids().count()];
    let mut search = Search { body, assumptions, list: Vec::new(), examined: 0, meter, within, passed_from };
    let refusals = body.forest.ids().map(|id| search.natural_loop(id).err()).collect();
    search.pieces();
    for a in body.cfg.ids() {
        search.regions(a);
    }
    Drafts { list: search.list, examined: search.examined, refusals }
}

struct Search<'a> {
    body: &'a Body<'a>,
    assumptions: &'a Assumptions,
    list: Vec<Draft>,
    examined: usize,
    meter: Meter<'a>,
    /// How often the loop at hand runs each loop in it.
    within: Vec<Repeats>,
    /// Of each block, the last region at hand whose every way passes it: where that region begins.
    passed_from: Vec<Option<BlockId>>,
}

impl Search<'_> {
    fn natural_loop(&mut self, id: LoopId) -> Result<(), Refusal> {
        let body = self.body;
        let (span, after) = confined(body, id)?;
        self.examined += 1;
        self.meter.start();
        for &b in body.forest.body(id) {
            let inner = body.forest.innermost(b).unwrap_or(id);
            // A body lists a loop's own blocks before those of the loops in it: what is around is known.
            self.within[inner.index()] = match body.forest.get(inner).parent {
                Some(parent) if inner != id => self.within[parent.index()].times(body.repeats(inner)),
                _ => Repeats::ONCE,
            };
            self.meter.add(&body.block_span(b), self.within[inner.index()]);
        }
        let header = body.forest.get(id).header;
        let registers_in = self.meter.needed(|r| body.liveness.is_live_in(header, r));
        let registers_out = self.meter.left(|r| body.liveness.is_live_in(after, r));
        let traffic = Traffic { registers_in, registers_out, ..self.meter.accesses };
        let trips = body.trips(id);
        let condition = match (trips, self.assumptions.least_iterations(&traffic)) {
            (Trips::Known(count), Some(least)) if least > 1 => count.condition(least),
            _ => None,
        };
        let ends = (body.cfg.block(header).first, body.cfg.block(after).first);
        self.keep(Kind::Loop, span, ends, traffic, Some(trips), condition)
    }

    /// The pieces of all blocks between forbidden instructions, the branch at the end of a block left out. From the last to
    /// the first: liveness is known from the end of a block backwards.
    fn pieces(&mut self) {
        let body = self.body;
        let mut cursor = body.liveness.cursor(body.function, &body.cfg);
        for b in body.cfg.ids().rev() {
            let block = body.block_span(b);
            if !body.cfg.block(b).reachable || !body.effects_in(&block).iter().any(|e| e.is_access()) {
                continue;
            }
            cursor.start(b);
            let mut at = block.end;
            let mut end = if body.ends_in_branch(b) { block.end - 1 } else { block.end };
            while end > block.start {
                let forbidden = (block.start..end).rev().find(|&i| !body.allows(&(i..i + 1)));
                let span = forbidden.map_or(block.start, |i| i + 1)..end;
                end = forbidden.unwrap_or(block.start);
                if !body.effects_in(&span).iter().any(|e| e.is_access()) {
                    continue;
                }
                self.examined += 1;
                self.meter.start();
                self.meter.add(&span, Repeats::ONCE);
                while at > span.end {
                    at = cursor.step().unwrap_or(span.end);
                }
                let registers_out = self.meter.left(|r| cursor.live().contains(r));
                while at > span.start {
                    at = cursor.step().unwrap_or(span.start);
                }
                let registers_in = self.meter.needed(|r| cursor.live().contains(r));
                let traffic = Traffic { registers_in, registers_out, ..self.meter.accesses };
                // Only of loops is it told why they do not pay.
                let _ = self.keep(Kind::Piece, span.clone(), (span.start, span.end), traffic, None, None);
            }
            // A cursor at the start of a block moves on for the price of the difference.
            while cursor.step().is_some() {}
        }
    }

    /// The regions of two blocks and more that begin at block `a`.
    fn regions(&mut self, a: BlockId) {
        let body = self.body;
        let (cfg, begin) = (&body.cfg, body.cfg.block(a).first);
        // The loop that begins here, and its last block.
        let heads = body.forest.innermost(a).filter(|&id| body.forest.get(id).header == a);
        let bottom = heads.map(|id| body.cfg.block_of(body.loop_hull(id).end - 1));
        // Where the blocks before the one at hand lead furthest, and from where they are entered last.
        let (mut reached, mut entered) = (a.0, a.0);
        let mut measured = a.0;
        self.mark_passed(a);
        self.meter.start();
        for b in (a.0..cfg.exit().0).take(MOST_BLOCKS as usize).map(BlockId) {
            let block = body.block_span(b);
            let counts = |id: LoopId| matches!(body.trips(id), Trips::Static(_)) || body.forest.get(id).header < a;
            if !body.forest.innermost(b).is_none_or(counts) {
                return;
            }
            let in_order = b == a || cfg.predecessors(b).iter().all(|&p| p >= a || !cfg.block(p).reachable);
            if !cfg.block(b).reachable || !in_order || !body.allows(&block) || block.end - begin > MOST_INSTRUCTIONS {
                return;
            }
            if b != a {
                let from = cfg.predecessors(b).iter().filter(|p| cfg.block(**p).reachable).map(|p| p.0).max();
                entered = entered.max(from.unwrap_or(0));
            }
            let next = cfg.successors(b);
            let leads = next.iter().map(|s| s.0).max().unwrap_or(0);
            let returns = next.iter().any(|&s| s < a);
            let stays = !cfg.block(b).exits && !returns;
            let whole = stays && reached.max(leads) == b.0 + 1 && entered <= b.0;
            // Without its branch the last block may lead anywhere but into the middle of the region. A branch by an index
            // reads a register that the region then would not need.
            let cut = block.len() > 1
                && body.ends_in_branch(b)
                && body.function.instructions[block.end as usize - 1].op != Opcode::Brx
                && reached <= b.0
                && entered <= b.0
                && !next.iter().any(|&s| s > a && s <= b);
            if b != a && (whole || cut) {
                while measured <= b.0 {
                    self.measure(a, BlockId(measured), heads, bottom);
                    measured += 1;
                }
                let span = begin..if whole { block.end } else { block.end - 1 };
                if heads.and_then(|id| body.loop_span(id)).as_ref() != Some(&span) {
                    self.region(a, b, span);
                }
            }
            if !stays || leads > a.0 + MOST_BLOCKS {
                return;
            }
            reached = reached.max(leads);
        }
    }

    /// Marks the blocks that every way from `a` passes, but for those that end the kernel at once.
    fn mark_passed(&mut self, a: BlockId) {
        let body = self.body;
        let mut next = Some(a);
        let near = a.0..a.0.saturating_add(MOST_BLOCKS).min(body.cfg.exit().0);
        while let Some(b) = next.filter(|b| near.contains(&b.0) && self.passed_from[b.0 as usize] != Some(a)) {
            self.passed_from[b.0 as usize] = Some(a);
            next = match *body.cfg.successors(b) {
                [on, end] | [end, on] if body.only_ends(end) && !body.only_ends(on) => Some(on),
                _ => body.post_dominators.immediate(b),
            };
        }
    }

    /// Adds block `c` to a region that begins at `a`.
    fn measure(&mut self, a: BlockId, c: BlockId, heads: Option<LoopId>, bottom: Option<BlockId>) {
        let body = self.body;
        if let (Some(id), true) = (heads, bottom.is_some_and(|last| c.0 == last.0 + 1)) {
            self.meter.repeat(body.repeats(id));
        }
        // The loops around it that lie in the region begin behind its first block.
        let (mut repeats, mut outermost) = (Repeats::ONCE, c);
        let mut around = body.forest.innermost(c);
        while let Some(id) = around.filter(|&id| body.forest.get(id).header > a) {
            repeats = repeats.times(body.repeats(id));
            outermost = body.forest.get(id).header;
            around = body.forest.get(id).parent;
        }
        let always = self.passed_from[outermost.0 as usize] == Some(a);
        self.meter.add(&body.block_span(c), if always { repeats } else { Repeats::NEVER });
    }

    /// Judges the region `span` from block `a` to block `b`.
    fn region(&mut self, a: BlockId, b: BlockId, span: Range<u32>) {
        let body = self.body;
        self.examined += 1;
        let registers_in = self.meter.needed(|r| body.liveness.is_live_in(a, r));
        let least = Traffic { registers_in, ..self.meter.accesses };
        if self.assumptions.change(&least, 1).total() >= 0.0 {
            return;
        }
        let registers_out = if span.end == body.cfg.block(b).end {
            self.meter.left(|r| body.liveness.is_live_in(BlockId(b.0 + 1), r))
        } else {
            // What the branch reads is a predicate, which counts nothing.
            self.meter.left(|r| body.liveness.is_live_out(&body.cfg, b, r))
        };
        let _ = self.keep(
            Kind::Region,
            span.clone(),
            (span.start, span.end),
            Traffic { registers_out, ..least },
            None,
            None,
        );
    }

    /// Keeps a block if it saves traffic.
    fn keep(
        &mut self,
        kind: Kind,
        span: Range<u32>,
        (entry, resume): (u32, u32),
        traffic: Traffic,
        trips: Option<Trips>,
        condition: Option<Condition>,
    ) -> Result<(), Refusal> {
        let iterations = match (condition, trips) {
            (Some(condition), _) => condition.iterations,
            (None, Some(Trips::Static(count))) => count,
            _ => 1,
        };
        let benefit = -self.assumptions.change(&traffic, iterations).total();
        if benefit <= 0.0 {
            return Err(Refusal::Costs(-benefit));
        }
        let likely_iterations = match trips {
            Some(Trips::Known(_) | Trips::Unknown) => iterations.max(LIKELY_ITERATIONS),
            _ => iterations,
        };
        let Traffic { registers_in, registers_out, .. } = traffic;
        let likely = Traffic { registers_in, registers_out, ..self.meter.likely };
        let likely_benefit = -self.assumptions.change(&likely, likely_iterations).total();
        self.list.push(Draft {
            kind,
            span,
            entry,
            resume,
            traffic,
            trips,
            iterations,
            condition,
            benefit,
            likely_benefit,
        });
        Ok(())
    }
}
