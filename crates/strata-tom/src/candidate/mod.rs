//! Which blocks of a module are worth offloading to the memory stack that holds their data (TOM, Sections 3.1 and 5.2).
//!
//! The search is a line of steps, each its own file:
//!
//! | step | answers |
//! | --- | --- |
//! | `limits` | which instructions no candidate may contain, and which are memory accesses |
//! | `trips`, `induction`, `count` | how often a loop goes round |
//! | `blocks`, `meter` | which blocks there are, and what each would move |
//! | `cost` | whether that saves traffic: equations (3) and (4) |
//! | `select` | which of overlapping blocks to take |
//! | `registers` | how many registers they keep alive |
//!
//! The result is the paper's offloading metadata table (Section 4.2), one for each function. A program counter is the index
//! of an instruction in its function.

mod blocks;
mod body;
mod cost;
mod count;
mod induction;
mod limits;
mod meter;
mod registers;
mod select;
mod trips;

pub use blocks::Kind;
pub use body::{LIKELY_ITERATIONS, MOST_INSTRUCTIONS};
pub use cost::{Assumptions, BadAssumption, Change, Traffic};
pub use count::{Condition, Count};
pub use limits::Limit;
pub use registers::{MostLive, most_live};
pub use trips::Trips;

use blocks::{Draft, Drafts, drafts};
use body::{Body, Repeats};
pub(crate) use meter::words;

use meter::Meter;
use strata_ptx::analysis::LoopId;
use strata_ptx::ast::{Function, Module, RegId, Special};

/// One row of the offloading metadata table.
#[derive(Clone, PartialEq, Debug)]
pub struct Candidate {
    /// What it is of its function.
    pub kind: Kind,
    /// Its first program counter.
    pub begin: u32,
    /// Its last program counter.
    pub end: u32,
    /// Where a warp enters it: its first program counter, except for some loops.
    pub entry: u32,
    /// Where a warp goes on that has left it: after its last program counter, except for some loops.
    pub resume: u32,
    /// The registers that it needs, ascending, predicates among them.
    pub live_in: Vec<RegId>,
    /// The special registers that it needs from the thread: who it is.
    pub live_in_specials: Vec<Special>,
    /// The registers that it leaves, ascending, predicates among them.
    pub live_out: Vec<RegId>,
    /// What it moves, in one iteration if it is a loop.
    pub traffic: Traffic,
    /// How often a loop goes round; none for other blocks.
    pub trips: Option<Trips>,
    /// The iterations that `change` assumes: the static count, the least that pays, or one.
    pub iterations: u64,
    /// What offloading changes on the links; its signs are the 2-bit tag.
    pub change: Change,
    /// When to offload it, if not always.
    pub condition: Option<Condition>,
}

/// What became of a natural loop that is in no candidate.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Refusal {
    /// It contains an instruction, at this program counter, that no candidate may contain.
    Contains(u32, Limit),
    /// The branch at this program counter leads elsewhere than other ways out of the loop, or out of the function.
    Leaves(u32),
    /// Its blocks do not stand together, or have more than [`MOST_INSTRUCTIONS`] instructions.
    Scattered,
    /// Nothing leads out of it.
    Endless,
    /// With the iterations that can be counted on, offloading costs so many words more than it saves.
    Costs(f64),
    /// The table is full of blocks that save more.
    NoRoom,
    /// It saves less than what overlaps it.
    Outdone,
}

/// A loop without a candidate, and why.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RefusedLoop {
    /// The first program counter of its header.
    pub begin: u32,
    /// Why it cannot be offloaded.
    pub refusal: Refusal,
}

/// What was found in one function.
#[derive(Clone, PartialEq, Debug)]
pub struct Found {
    /// Index into [`Module::functions`].
    pub function: usize,
    /// Loops, regions and pieces that were weighed.
    pub examined: usize,
    /// The table, by program counter.
    pub candidates: Vec<Candidate>,
    /// Candidates that found no room in the table: those that save least.
    pub dropped: usize,
    /// The loops that are part of no candidate, by program counter.
    pub refused: Vec<RefusedLoop>,
}

/// Finds the candidates of every kernel and function of a module that has a body.
pub fn find(module: &Module, assumptions: &Assumptions) -> Vec<Found> {
    let shared_is_generic = limits::makes_shared_generic(module);
    let defined = module.functions.iter().enumerate().filter(|(_, f)| !f.is_declaration);
    defined.map(|(index, f)| find_in(index, f, assumptions, shared_is_generic)).collect()
}

fn find_in(index: usize, function: &Function, assumptions: &Assumptions, shared_is_generic: bool) -> Found {
    let body = Body::new(function, shared_is_generic);
    let Drafts { list, examined, refusals } = drafts(&body, assumptions);
    let mut chosen = select::best(&body, list);
    let mut dropped = Vec::new();
    if chosen.len() > assumptions.table_entries {
        chosen.sort_by(|a, b| b.benefit.total_cmp(&a.benefit).then(a.span.start.cmp(&b.span.start)));
        dropped = chosen.split_off(assumptions.table_entries);
        chosen.sort_by_key(|draft| draft.span.start);
        dropped.sort_by_key(|draft| draft.span.start);
    }
    let refused = refused_loops(&body, &refusals, &chosen, &dropped);
    let candidates = chosen.iter().map(|draft| candidate(&body, assumptions, draft)).collect();
    Found { function: index, examined, candidates, dropped: dropped.len(), refused }
}

fn candidate(body: &Body<'_>, assumptions: &Assumptions, draft: &Draft) -> Candidate {
    let mut meter = Meter::new(body);
    meter.start();
    meter.add(&draft.span, Repeats::ONCE);
    let (mut live_in, mut live_out) = meter.registers();
    keep_live(body, &mut live_in, draft.entry);
    keep_live(body, &mut live_out, draft.resume);
    Candidate {
        kind: draft.kind,
        begin: draft.span.start,
        end: draft.span.end - 1,
        entry: draft.entry,
        resume: draft.resume,
        live_in,
        live_in_specials: meter.specials().to_vec(),
        live_out,
        change: assumptions.change(&draft.traffic, draft.iterations),
        traffic: draft.traffic,
        trips: draft.trips,
        iterations: draft.iterations,
        condition: draft.condition,
    }
}

/// Takes out what is not live before instruction `at`, or at the end of the function.
fn keep_live(body: &Body<'_>, registers: &mut Vec<RegId>, at: u32) {
    let mut cursor = body.liveness.cursor(body.function, &body.cfg);
    if (at as usize) < body.function.instructions.len() {
        cursor.start(body.cfg.block_of(at));
        while cursor.step().is_some_and(|i| i > at) {}
    } else {
        cursor.start(body.cfg.block_of(at - 1));
    }
    registers.retain(|&r| cursor.live().contains(r));
}

/// The loops that lie in no chosen block.
fn refused_loops(
    body: &Body<'_>,
    refusals: &[Option<Refusal>],
    chosen: &[Draft],
    dropped: &[Draft],
) -> Vec<RefusedLoop> {
    // Both are without overlaps and by their place.
    let lies_in = |id: LoopId, drafts: &[Draft]| {
        let span = body.loop_hull(id);
        let next = drafts.partition_point(|draft| draft.span.start <= span.start);
        next > 0 && drafts[next - 1].span.end >= span.end
    };
    let reason = |id: LoopId| match refusals[id.index()] {
        Some(refusal) => refusal,
        None if lies_in(id, dropped) => Refusal::NoRoom,
        None => Refusal::Outdone,
    };
    let refused = body.forest.ids().filter(|&id| !lies_in(id, chosen));
    let begin = |id: LoopId| body.cfg.block(body.forest.get(id).header).first;
    let mut refused: Vec<_> = refused.map(|id| RefusedLoop { begin: begin(id), refusal: reason(id) }).collect();
    refused.sort_by_key(|refused| refused.begin);
    refused
}
