//! Warps that run a block of code on the SM of a memory stack, and what keeps their data right.
//!
//! The life of an instance of a candidate, as a warp comes to it (TOM, section 4.2):
//!
//! 1. The mechanism considers it (`enter_segment`). If it may go, the warp issues on the GPU up to its first access to
//!    memory, which tells where its data are (`try_offload`); what it did until then it does again on the stack.
//! 2. Its loads come back, and its registers cross to the stack.
//! 3. When the stores that its SM had sent are in memory, the first step of coherence, and the SM there has room, it drops its
//!    cache, the second step, unless nothing in it can be old for this block (`freshness`), and the warp goes on there.
//! 4. It comes to a segment outside the block: its loads and stores end, its registers and the lines that it wrote cross back,
//!    and its SM and L2 drop those lines, the third step.
//!
//! A warp keeps its place on its own SM all the time. A block ends at the first segment outside it, so lanes that take another
//! way than those of the block are never executed on a stack.

mod busy_monitor;
mod completion;
mod dispatch;
mod freshness;
mod learning;
mod store_drain;
#[cfg(test)]
mod tests;

use super::check::Mutation;
use super::{Machine, NONE};
use crate::config::GpuConfig;
use crate::seam::{Arrival, Candidate, NextBlock, Offload, SideCount, StackUse, Terms};
use crate::time::Picos;
use freshness::Freshness;
use std::collections::VecDeque;
use strata_core::{GridSource, LANES, LaneMask, LineAddr, WarpId, WatchPoint};

/// Where a warp is in a candidate.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum Stage {
    #[default]
    Outside,
    /// On the GPU, until its first access says where it could go.
    Undecided,
    /// In the candidate, on its own SM of the GPU.
    OnGpu,
    /// Waits until its registers are there.
    CollectingLiveIns,
    /// Between the GPU and a stack, or waiting there for its SM's stores or for room.
    Dispatched,
    /// In the candidate, on the SM of a stack.
    OnStack,
    /// Has left the block; waits until its loads are there.
    Completing,
    /// Between a stack and the GPU.
    Returning,
}

/// The candidate that a warp is in, if it is in one.
#[derive(Default)]
struct Visit {
    stage: Stage,
    candidate: usize,
    /// It came while the mechanism learned.
    while_learning: bool,
    /// The warp's segment, of a candidate or not, has an instruction that synchronises it with others.
    synchronises: bool,
    block: OffloadedBlock,
}

/// One instance of a candidate that is offloaded.
#[derive(Default)]
struct OffloadedBlock {
    /// Counted from 1 in each kernel.
    number: u32,
    stack: u32,
    /// Where it comes from and goes back to.
    sm: u32,
    scheduler: u32,
    /// Stores of its SM that it waits for.
    stores: Vec<u32>,
    /// When the last of them is in memory.
    stored: Picos,
    /// Its live-in registers have reached the stack.
    has_arrived: bool,
    /// When it stopped issuing on the GPU, or on the stack.
    since: u64,
    /// Machine instructions of the segment that it begins anew.
    issues: u32,
    /// Lines that it wrote, and when the last of them is in memory.
    written: Vec<LineAddr>,
    last_write: Picos,
    /// The candidate that it comes to behind this one, with its lanes and the values of its registers.
    next: Option<(usize, LaneMask, Vec<[i64; LANES]>)>,
    /// The mechanism has considered that one already, and it stays on the GPU.
    next_stays: bool,
    /// Machine instructions that it has begun, and that it is expected to begin yet.
    begun: u64,
    expected: u64,
}

/// How long the instances of a candidate have been.
#[derive(Clone, Copy, Default)]
struct Lengths {
    instances: u64,
    instructions: u64,
}

impl Lengths {
    fn mean(self) -> u64 {
        self.instructions.checked_div(self.instances).unwrap_or(0)
    }
}

/// The SM of a stack and what the GPU knows of it.
#[derive(Default)]
struct StackSm {
    resident: u32,
    /// Warps that have come and find no room.
    queue: VecDeque<u32>,
    /// Machine instructions that it was given, and those that pending blocks are expected to give it yet.
    issued: u64,
    expected: u64,
    /// Blocks that were sent and not acknowledged, and how busy links and SM were in the last window.
    state: StackUse,
    /// When this window began, and what had been sent and issued by then.
    since: Picos,
    at_begin: [u64; 3],
}

/// The mechanism with the candidates of the running kernel, and the blocks that are offloaded.
pub(super) struct Offloader {
    mechanism: Box<dyn Offload>,
    terms: Terms,
    candidates: Vec<Candidate>,
    /// Of the instances of each candidate that came back from stacks.
    lengths: Vec<Lengths>,
    /// By program counter: the candidate that is entered there, or [`NONE`].
    entries: Vec<u32>,
    visits: Vec<Visit>,
    /// Stores that are not in memory, by SM.
    stores: Vec<Vec<u32>>,
    stacks: Vec<StackSm>,
    /// Their states, as the mechanism gets them.
    uses: Vec<StackUse>,
    /// Warps that wait for stores of their SM.
    draining: Vec<u32>,
    freshness: Freshness,
    dispatched: u32,
    /// Data are moved: warps wait, and these have had their turn meanwhile.
    is_stopped: bool,
    stopped: Vec<(u32, u64)>,
}

impl Machine {
    /// Loads the candidates of a kernel that begins, and lets the source cut its segments at their borders.
    pub(super) fn load_candidates<S: GridSource>(&mut self, source: &mut S) {
        let Some(offload) = &mut self.offload else { return };
        let instructions = source.instructions();
        let ages = !self.checker.as_mut().is_some_and(|c| c.omits(Mutation::LaunchAges));
        offload.freshness.kernel_begins(instructions, ages);
        offload.candidates = offload.mechanism.candidates(instructions);
        offload.lengths = vec![Lengths::default(); offload.candidates.len()];
        offload.entries = vec![NONE; instructions.len()];
        offload.dispatched = 0;
        offload.visits.clear();
        offload.visits.resize_with(self.warps.len(), Visit::default);
        let mut points = Vec::new();
        for (number, candidate) in offload.candidates.iter().enumerate() {
            if let Some(entry) = offload.entries.get_mut(candidate.entry as usize) {
                *entry = number as u32;
            }
            points.push(WatchPoint { pc: candidate.entry, registers: candidate.conditions.clone() });
        }
        // Where a block ends within a basic block, the segment must end, too; where another begins, it does already.
        let ends: Vec<u32> = offload.candidates.iter().map(|c| c.end + 1).collect();
        for pc in ends.into_iter().filter(|pc| offload.entries.get(*pc as usize) == Some(&NONE)) {
            points.push(WatchPoint { pc, registers: Vec::new() });
        }
        source.watch(&points);
    }

    /// Blocks that were dispatched and not acknowledged.
    pub(super) fn offloads_outstanding(&self) -> usize {
        self.offload.as_ref().map_or(0, |o| o.stacks.iter().map(|s| s.state.pending as usize).sum())
    }

    /// What the mechanism counts.
    pub(super) fn offload_counts(&self) -> Vec<SideCount> {
        self.offload.as_ref().map_or_else(Vec::new, |o| o.mechanism.counts())
    }

    /// True if offloading is free.
    pub(super) fn offload_is_ideal(&self) -> bool {
        self.offload.as_ref().is_some_and(|o| o.terms.is_ideal)
    }

    /// The number of the offloaded block that a warp runs on a stack; 0 on the GPU.
    pub(super) fn offloaded_block_of(&self, warp: u32) -> u32 {
        let visit = self.offload.as_ref().and_then(|o| o.visits.get(warp as usize));
        visit.map_or(0, |v| if v.stage == Stage::OnStack { v.block.number } else { 0 })
    }

    /// A warp has a new segment, of so many machine instructions, before whose first operation registers held `values`.
    /// True if it is the first outside a block that ran on a stack: the warp has to come back.
    pub(super) fn enter_segment(&mut self, index: u32, values: &[[i64; LANES]], issues: u32) -> bool {
        let time = self.core_time(self.warps[index as usize].time).max(self.queue.now());
        let Some(offload) = &mut self.offload else { return false };
        let w = &self.warps[index as usize];
        let pc = w.batch.ops.first().map(|op| op.pc);
        let lanes = || w.batch.ops.iter().fold(0, |lanes, op| lanes | op.mask);
        let visit = &mut offload.visits[index as usize];
        // A candidate begins a segment, so whatever a warp synchronised with before it comes to one is behind it here.
        let synchronises = offload.freshness.is_synchronising(w.batch.ops.iter().map(|op| op.pc));
        if std::mem::replace(&mut visit.synchronises, synchronises) {
            offload.freshness.ages_for(w.sm, time);
        }
        let inside = pc
            .is_some_and(|pc| offload.candidates.get(visit.candidate).is_some_and(|c| (c.begin..=c.end).contains(&pc)));
        let entered = pc.map_or(NONE, |pc| offload.entries[pc as usize]) as usize;
        let enters = entered < offload.candidates.len();
        let stage = visit.stage;
        let leaves_for_next = stage == Stage::OnStack && !inside && enters;
        let stays = leaves_for_next && offload.stays_on_stack(index, entered, lanes(), values);
        let visit = &mut offload.visits[index as usize];
        match stage {
            Stage::OnStack if inside || stays => {
                let stack_sm = &mut offload.stacks[visit.block.stack as usize];
                stack_sm.begins(&mut visit.block, issues);
                let lanes = w.batch.ops.first().map_or(0, |op| op.mask.count_ones());
                self.stack_stats.instructions += u64::from(issues) * u64::from(lanes);
            }
            Stage::OnStack => {
                visit.stage = Stage::Completing;
                visit.block.next = enters.then(|| (entered, lanes(), values.to_vec()));
                return true;
            }
            // A loop that a warp came to while data were elsewhere: at its head it comes to the candidate again.
            Stage::OnGpu
                if entered == visit.candidate && visit.while_learning && !offload.mechanism.wants_accesses() =>
            {
                offload.enter(index, entered, lanes(), values, true);
            }
            Stage::Undecided | Stage::OnGpu if inside => {}
            stage => {
                if stage != Stage::Outside {
                    visit.stage = Stage::Outside;
                    offload.is_stopped |= offload.mechanism.exited(WarpId(index));
                }
                if enters {
                    offload.enter(index, entered, lanes(), values, false);
                }
            }
        }
        false
    }
}

impl Offloader {
    /// A mechanism that is asked whenever a warp comes to one of its candidates. It learns of all of them, but nothing is
    /// offloaded on a machine whose stacks have no SMs.
    pub(super) fn new(mechanism: Box<dyn Offload>, config: &GpuConfig) -> Self {
        Self {
            terms: mechanism.terms(),
            mechanism,
            candidates: Vec::new(),
            lengths: Vec::new(),
            entries: Vec::new(),
            visits: Vec::new(),
            stores: vec![Vec::new(); config.all_sms() as usize],
            stacks: (0..config.stacks.count * config.stacks.sms).map(|_| StackSm::default()).collect(),
            uses: Vec::new(),
            draining: Vec::new(),
            freshness: Freshness::new(config),
            dispatched: 0,
            is_stopped: false,
            stopped: Vec::new(),
        }
    }

    /// A warp comes to a candidate, or `again` to the head of the loop that it is in.
    fn enter(&mut self, index: u32, candidate: usize, lanes: LaneMask, values: &[[i64; LANES]], again: bool) {
        let arrival = Arrival { candidate, warp: WarpId(index), lanes, values, again, on_stack: false };
        let goes = self.mechanism.consider(&arrival);
        let visit = &mut self.visits[index as usize];
        visit.candidate = candidate;
        visit.while_learning = self.mechanism.wants_accesses();
        visit.stage = if goes && !self.stacks.is_empty() { Stage::Undecided } else { Stage::OnGpu };
    }

    /// A warp on a stack comes straight from its block to a candidate: true if it stays for that one, too. Its registers are there,
    /// and what it wrote is told when it goes back.
    fn stays_on_stack(&mut self, index: u32, candidate: usize, lanes: LaneMask, values: &[[i64; LANES]]) -> bool {
        if self.terms.next == NextBlock::FromGpu {
            return false;
        }
        let arrival = Arrival { candidate, warp: WarpId(index), lanes, values, again: false, on_stack: true };
        let stays = self.mechanism.consider(&arrival);
        let visit = &mut self.visits[index as usize];
        if stays {
            visit.candidate = candidate;
        }
        visit.block.next_stays = !stays;
        stays
    }
}

impl StackSm {
    /// A block on it begins a segment of so many machine instructions.
    fn begins(&mut self, block: &mut OffloadedBlock, issues: u32) {
        let issues = u64::from(issues);
        self.issued += issues;
        block.begun += issues;
        let expected = block.expected.min(issues);
        block.expected -= expected;
        self.expected -= expected;
    }
}
