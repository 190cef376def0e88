//! Warps that run a block of code on the SM of a memory stack, and what keeps their data right.
//!
//! The life of an instance of a candidate, as a warp comes to it (TOM, section 4.2):
//!
//! 1. The mechanism considers it (`begins_segment`). If it may go, the warp issues on the GPU up to its first access to
//!    memory, which tells where its data are (`sets_out`); what it did until then it does again on the stack.
//! 2. Its loads come back, and its registers cross to the stack behind the stores that its SM has sent.
//! 3. When these have taken effect, the first step of coherence, and the SM there has room, it drops its cache, the second
//!    step, and the warp goes on there.
//! 4. It comes to a segment outside the block: its loads and stores end, its registers and the lines that it wrote cross back,
//!    and its SM and L2 drop those lines, the third step.
//!
//! A warp keeps its place on its own SM all the time. A block ends at the first segment outside it, so lanes that take another
//! way than those of the block are never executed on a stack.

mod learning;
#[cfg(test)]
mod tests;

use super::check::Step;
use super::warp::{NEVER, Ready};
use super::{Event, Machine, NONE};
use crate::link::Direction;
use crate::seam::{Arrival, Candidate, Offload, SideCount, StackId, StackUse, Terms};
use crate::time::{Cycles, Picos};
use crate::view::{Action, View};
use std::collections::VecDeque;
use strata_core::{Addr, Bytes, GridSource, LANES, LaneMask, LineAddr, Space, WarpId, WatchPoint};

/// Bytes of one register of a warp: 4 B for each of 32 lanes (TOM, section 3.1.1).
const REGISTER_BYTES: u64 = 4 * LANES as u64;

/// Bytes of a request besides its registers: the program counters of begin and end, and the active mask (TOM, section 4.2).
const REQUEST_BYTES: u64 = 3 * 4;

/// Where a warp is in a candidate.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum Stage {
    #[default]
    Outside,
    /// On the GPU, until its first access says where it could go.
    Looking,
    /// On the GPU.
    Here,
    /// Waits until its registers are there.
    Collecting,
    /// Between the GPU and a stack, or waiting there for its SM's stores or for room.
    Going,
    /// On a stack.
    Near,
    /// Has left the block; waits until its loads are there.
    Finishing,
    /// Between a stack and the GPU.
    Returning,
}

/// A warp and its candidate.
#[derive(Default)]
struct Visit {
    stage: Stage,
    candidate: usize,
    /// It came while the mechanism learned.
    while_learning: bool,
    trip: Trip,
}

/// A way to a stack and back.
#[derive(Default)]
struct Trip {
    /// Counted from 1 in each kernel.
    number: u32,
    stack: u32,
    /// Where it comes from and goes back to.
    sm: u32,
    scheduler: u32,
    /// Stores of its SM that it waits for.
    stores: Vec<u32>,
    /// When the last of them took effect.
    stored: Picos,
    /// It is at the stack.
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
}

/// The SM of a stack and what the GPU knows of it.
#[derive(Default)]
struct NearSm {
    resident: u32,
    /// Warps that have come and find no room.
    queue: VecDeque<u32>,
    /// Machine instructions that it was given.
    issued: u64,
    /// Blocks that were sent and not acknowledged, and how busy links and SM were in the last window.
    state: StackUse,
    /// When this window began, and what had been sent and issued by then.
    since: Picos,
    at_begin: [u64; 3],
}

/// The mechanism with the candidates of the kernel that runs, and warps on their way.
pub(super) struct Offloader {
    mechanism: Box<dyn Offload>,
    terms: Terms,
    candidates: Vec<Candidate>,
    /// By program counter: the candidate that is entered there, or [`NONE`].
    entries: Vec<u32>,
    visits: Vec<Visit>,
    /// Stores that have not taken effect, by SM.
    stores: Vec<Vec<u32>>,
    stacks: Vec<NearSm>,
    /// Warps that wait for stores of their SM.
    draining: Vec<u32>,
    trips: u32,
    /// Data are moved: warps wait, and these have had their turn meanwhile.
    is_stopped: bool,
    stopped: Vec<(u32, u64)>,
}

impl Machine {
    /// Asks a mechanism whenever a warp comes to one of its candidates. It learns of all of them, but nothing is offloaded on
    /// a machine whose stacks have no SMs.
    pub fn set_offload(&mut self, mechanism: Box<dyn Offload>) {
        let terms = mechanism.terms();
        self.offload = Some(Box::new(Offloader {
            mechanism,
            terms,
            candidates: Vec::new(),
            entries: Vec::new(),
            visits: Vec::new(),
            stores: vec![Vec::new(); self.sms.len()],
            stacks: (0..self.config.stacks.count * self.config.stacks.sms).map(|_| NearSm::default()).collect(),
            draining: Vec::new(),
            trips: 0,
            is_stopped: false,
            stopped: Vec::new(),
        }));
    }

    /// A kernel begins.
    pub(super) fn offload_begins<S: GridSource>(&mut self, source: &mut S) {
        let Some(offload) = &mut self.offload else { return };
        let instructions = source.instructions();
        offload.candidates = offload.mechanism.candidates(instructions);
        offload.entries = vec![NONE; instructions.len()];
        offload.trips = 0;
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

    /// Blocks that are on stacks or on their way.
    pub(super) fn offloads_under_way(&self) -> usize {
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

    /// The number of the trip that a warp is on, on a stack; 0 on the GPU.
    pub(super) fn trip_of(&self, warp: u32) -> u32 {
        let visit = self.offload.as_ref().and_then(|o| o.visits.get(warp as usize));
        visit.map_or(0, |v| if v.stage == Stage::Near { v.trip.number } else { 0 })
    }

    /// A warp has a new segment, of so many machine instructions, before whose first operation registers held `values`.
    /// True if it is the first outside a block that ran on a stack: the warp has to come back.
    pub(super) fn begins_segment(&mut self, index: u32, values: &[[i64; LANES]], issues: u32) -> bool {
        let Some(offload) = &mut self.offload else { return false };
        let w = &self.warps[index as usize];
        let pc = w.batch.ops.first().map(|op| op.pc);
        let lanes = w.batch.ops.iter().fold(0, |lanes, op| lanes | op.mask);
        let visit = &mut offload.visits[index as usize];
        let inside = pc
            .is_some_and(|pc| offload.candidates.get(visit.candidate).is_some_and(|c| (c.begin..=c.end).contains(&pc)));
        let entered = pc.map_or(NONE, |pc| offload.entries[pc as usize]) as usize;
        let enters = entered < offload.candidates.len();
        match visit.stage {
            Stage::Near if inside => {
                offload.stacks[visit.trip.stack as usize].issued += u64::from(issues);
                let lanes = w.batch.ops.first().map_or(0, |op| op.mask.count_ones());
                self.stack_stats.instructions += u64::from(issues) * u64::from(lanes);
            }
            Stage::Near => {
                visit.stage = Stage::Finishing;
                visit.trip.next = enters.then(|| (entered, lanes, values.to_vec()));
                return true;
            }
            // A loop that a warp came to while data were elsewhere: at its head it comes to the candidate again.
            Stage::Here if entered == visit.candidate && visit.while_learning && !offload.mechanism.observes() => {
                offload.enter(index, entered, lanes, values);
            }
            Stage::Looking | Stage::Here if inside => {}
            stage => {
                if stage != Stage::Outside {
                    visit.stage = Stage::Outside;
                    offload.is_stopped |= offload.mechanism.left(WarpId(index));
                }
                if enters {
                    offload.enter(index, entered, lanes, values);
                }
            }
        }
        false
    }

    /// A warp is about to access memory at core cycle `at`: true if it goes to a stack instead.
    pub(super) fn sets_out(&mut self, index: u32, view: &View, at: u64) -> bool {
        let op = &view.ops[self.warps[index as usize].next as usize];
        let is_looking = self.offload.as_ref().is_some_and(|o| o.visits[index as usize].stage == Stage::Looking);
        if !is_looking || !matches!(op.action, Action::Load | Action::Store | Action::Generic) {
            return false;
        }
        let batch = &self.warps[index as usize].batch;
        let accesses = self.accesses(index, op);
        let global = accesses.iter().find(|(_, set)| set.space != Space::Shared);
        let Some(line) = global.and_then(|(_, set)| batch.first_address(set)).map(Addr::line) else { return false };
        let Some(first) = self.stack_of_line(line) else { return false };
        self.measure_use(at);
        let Some(offload) = &mut self.offload else { return false };
        let uses: Vec<StackUse> = offload.stacks.iter().map(|s| s.state).collect();
        let visit = &mut offload.visits[index as usize];
        let known = offload.stacks.len() as u32;
        let Some(stack) = offload.mechanism.decide(visit.candidate, first, &uses).filter(|s| s.0 < known) else {
            visit.stage = Stage::Here;
            return false;
        };
        offload.stacks[stack.0 as usize].state.pending += 1;
        offload.trips += 1;
        let w = &mut self.warps[index as usize];
        visit.stage = Stage::Collecting;
        visit.trip = Trip {
            number: offload.trips,
            stack: stack.0,
            sm: w.sm,
            scheduler: w.scheduler,
            since: at,
            issues: view.issues,
            ..Trip::default()
        };
        // It begins the segment anew.
        (w.next, w.slots_taken, w.issued, w.time) = (0, 0, NEVER, at + 1);
        self.stack_stats.offloads += 1;
        true
    }

    /// A warp has its turn: true if it is on its way, so that it cannot issue.
    pub(super) fn is_travelling(&mut self, index: u32, now: u64) -> bool {
        let Some(offload) = &self.offload else { return false };
        match offload.visits[index as usize].stage {
            Stage::Collecting => self.collects(index, now),
            Stage::Finishing => self.finishes(index, now),
            Stage::Going | Stage::Returning => {}
            Stage::Outside | Stage::Looking | Stage::Here | Stage::Near => return false,
        }
        true
    }

    /// When all registers of a warp are there, not before `now`; `None` if one is still on its way, whose coming wakes the warp.
    fn registers_there(&mut self, index: u32, now: u64) -> Option<u64> {
        let w = &mut self.warps[index as usize];
        if let Some(slot) = w.ready.iter().position(|&r| r == Ready::PENDING) {
            w.blocked = slot as u32;
            return None;
        }
        let latest = w.ready.iter().map(|r| r.cycle()).max().unwrap_or(0);
        Some(latest.max(w.time).max(now))
    }

    /// The warp leaves the GPU as soon as its registers are there. Until the stores that its SM has sent have taken effect it
    /// will not begin.
    fn collects(&mut self, index: u32, now: u64) {
        let Some(ready) = self.registers_there(index, now) else { return };
        let Some(offload) = &mut self.offload else { return };
        let visit = &mut offload.visits[index as usize];
        visit.stage = Stage::Going;
        if let Some(checker) = &mut self.checker {
            checker.trip_begins(visit.trip.number, visit.trip.sm, now);
        }
        let waits = !self.checker.as_mut().is_some_and(|c| c.leaves_out(Step::Drain));
        if waits && offload.terms.keeps_coherent() {
            visit.trip.stores.clone_from(&offload.stores[visit.trip.sm as usize]);
        }
        self.warps[index as usize].time = ready;
        if !visit.trip.stores.is_empty() {
            offload.draining.push(index);
        }
        self.goes(index, ready);
    }

    /// A warp's registers cross to its stack from core cycle `ready` on.
    fn goes(&mut self, index: u32, ready: u64) {
        let leaves = self.core_time(ready);
        let Some(offload) = &self.offload else { return };
        let visit = &offload.visits[index as usize];
        let bytes = u64::from(offload.candidates[visit.candidate].live_in) * REGISTER_BYTES + REQUEST_BYTES;
        let (terms, stack) = (offload.terms, visit.trip.stack as usize);
        let sent = self.core_time(ready + u64::from(terms.pipeline_cycles));
        let arrival = match &mut self.stacks {
            Some(stacks) if !terms.is_ideal => stacks.links[stack].send(Direction::Out, sent, Bytes(bytes)),
            _ => leaves,
        };
        self.queue.push(arrival, Event::new(Event::OFFLOAD, index));
    }

    /// A store sets out from an SM.
    #[inline]
    pub(super) fn store_sets_out(&mut self, request: u32) {
        if let Some(offload) = &mut self.offload {
            offload.stores[self.requests[request].sm as usize].push(request);
        }
    }

    /// A store has taken effect at `time`: those who waited for it may go.
    #[inline]
    pub(super) fn store_took_effect(&mut self, request: u32, time: Picos) {
        if self.offload.is_some() {
            self.store_ends(request, time);
        }
    }

    fn store_ends(&mut self, request: u32, time: Picos) {
        let sm = self.requests[request].sm;
        let Some(offload) = &mut self.offload else { return };
        let stores = &mut offload.stores[sm as usize];
        if let Some(at) = stores.iter().position(|&r| r == request) {
            stores.swap_remove(at);
        }
        let (visits, mut enter) = (&mut offload.visits, Vec::new());
        offload.draining.retain(|&index| {
            let trip = &mut visits[index as usize].trip;
            if let Some(at) = trip.stores.iter().position(|&r| r == request) {
                trip.stores.swap_remove(at);
                trip.stored = trip.stored.max(time);
            }
            if trip.stores.is_empty() && trip.has_arrived {
                enter.push(index);
            }
            !trip.stores.is_empty()
        });
        for index in enter {
            self.enters_stack(index, time);
        }
    }

    /// A warp has come to its stack.
    pub(super) fn arrives_at_stack(&mut self, index: u32, t: Picos) {
        let Some(offload) = &mut self.offload else { return };
        let trip = &mut offload.visits[index as usize].trip;
        trip.has_arrived = true;
        if trip.stores.is_empty() {
            let t = t.max(trip.stored);
            self.enters_stack(index, t);
        }
    }

    /// A warp at its stack, which waits for no store any more, gets a place or waits for one.
    fn enters_stack(&mut self, index: u32, t: Picos) {
        let Some(offload) = &mut self.offload else { return };
        let near = &mut offload.stacks[offload.visits[index as usize].trip.stack as usize];
        if near.resident < self.config.stacks.warps {
            self.begins_near(index, t);
        } else {
            near.queue.push_back(index);
        }
    }

    /// There is room for a warp on its stack.
    fn begins_near(&mut self, index: u32, t: Picos) {
        let cycle = self.core_cycle(t);
        let Some(offload) = &mut self.offload else { return };
        let visit = &mut offload.visits[index as usize];
        visit.stage = Stage::Near;
        let trip = &mut visit.trip;
        let (stack, coherent) = (StackId(trip.stack), offload.terms.keeps_coherent());
        let near = &mut offload.stacks[stack.0 as usize];
        near.resident += 1;
        near.issued += u64::from(trip.issues);
        self.stack_stats.stall += cycle.saturating_sub(trip.since);
        let lanes = self.warps[index as usize].batch.ops.first().map_or(0, |op| op.mask.count_ones());
        self.stack_stats.instructions += u64::from(trip.issues) * u64::from(lanes);
        let sm = self.sm_of(stack);
        let drops = !self.checker.as_mut().is_some_and(|c| c.leaves_out(Step::NearFlush));
        if drops && coherent {
            self.drop_all_from_l1(sm);
        }
        let unit = &mut self.sms[sm as usize];
        let scheduler = unit.dealt % self.config.sm.schedulers;
        unit.dealt += 1;
        let w = &mut self.warps[index as usize];
        (w.sm, w.scheduler, w.time) = (sm, scheduler, cycle);
        self.wake(index, cycle);
    }

    /// A warp on a stack has stored to a line.
    pub(super) fn near_wrote(&mut self, warp: WarpId, line: LineAddr) {
        let arrival = self.near_store;
        let Some(offload) = &mut self.offload else { return };
        let trip = &mut offload.visits[warp.0 as usize].trip;
        trip.last_write = trip.last_write.max(arrival);
        if trip.written.last() != Some(&line) {
            trip.written.push(line);
        }
    }

    /// A warp has left its block on a stack: as soon as its loads are there, it gives its place to the next and goes back.
    fn finishes(&mut self, index: u32, now: u64) {
        let Some(ready) = self.registers_there(index, now) else { return };
        let ready_time = self.core_time(ready);
        let address = u64::from(self.config.stacks.address_bytes);
        let acknowledgement = u64::from(self.config.stacks.acknowledgement_bytes);
        let Some(offload) = &mut self.offload else { return };
        let visit = &mut offload.visits[index as usize];
        visit.stage = Stage::Returning;
        let trip = &mut visit.trip;
        trip.since = now;
        trip.written.sort_unstable();
        trip.written.dedup();
        if !offload.terms.keeps_coherent() {
            trip.written.clear();
        }
        let registers = u64::from(offload.candidates[visit.candidate].live_out) * REGISTER_BYTES;
        let bytes = Bytes(registers + acknowledgement + address * trip.written.len() as u64);
        let leaves = ready_time.max(trip.last_write);
        let near = &mut offload.stacks[trip.stack as usize];
        near.resident -= 1;
        let next = near.queue.pop_front();
        let (stack, is_ideal) = (trip.stack as usize, offload.terms.is_ideal);
        let arrival = match &mut self.stacks {
            Some(stacks) if !is_ideal => stacks.links[stack].send(Direction::In, leaves, bytes),
            _ => leaves,
        };
        self.queue.push(arrival, Event::new(Event::ACKNOWLEDGED, index));
        if let Some(next) = next {
            self.begins_near(next, ready_time);
        }
    }

    /// The GPU knows that a block has ended: it drops what the block wrote, and the warp goes on.
    pub(super) fn acknowledged(&mut self, index: u32, t: Picos) {
        let cycle = self.core_cycle(t);
        let Some(offload) = &mut self.offload else { return };
        let visit = &mut offload.visits[index as usize];
        visit.stage = Stage::Outside;
        let mut trip = std::mem::take(&mut visit.trip);
        offload.stacks[trip.stack as usize].state.pending -= 1;
        offload.is_stopped |= offload.mechanism.left(WarpId(index));
        if let Some((candidate, lanes, values)) = trip.next.take() {
            offload.enter(index, candidate, lanes, &values);
        }
        self.stack_stats.stall += cycle.saturating_sub(trip.since);
        self.stack_stats.dirty_lines += trip.written.len() as u64;
        let drops = |m: &mut Self, step| !m.checker.as_mut().is_some_and(|c| c.leaves_out(step));
        for &line in &trip.written {
            if drops(self, Step::RequesterDrop) {
                self.drop_from_l1(trip.sm, line);
            }
            if drops(self, Step::L2Drop) {
                self.drop_from_l2(line);
            }
        }
        if let Some(checker) = &mut self.checker {
            checker.trip_ends(trip.number, cycle);
        }
        let w = &mut self.warps[index as usize];
        (w.sm, w.scheduler, w.time) = (trip.sm, trip.scheduler, cycle);
        self.wake(index, cycle);
    }

    /// Measures how busy links and SMs were, if the last window is over at core cycle `at`.
    fn measure_use(&mut self, at: u64) {
        let now = self.core_time(at);
        let (Some(offload), Some(stacks)) = (&mut self.offload, &self.stacks) else { return };
        let window = self.config.clock.core.span(Cycles(offload.terms.window_cycles));
        let slots_per_pico = f64::from(self.config.sm.schedulers) * self.config.clock.core.khz() as f64 / 1e9;
        for (near, link) in offload.stacks.iter_mut().zip(&stacks.links) {
            if now < near.since + window {
                continue;
            }
            let picos = (now - near.since).0 as f64;
            let sent = [link.carried(Direction::Out).0, link.carried(Direction::In).0, near.issued];
            let could = link.rate() as f64 * picos / 1e12;
            let of = |k: usize, could: f64| (sent[k] - near.at_begin[k]) as f64 / could;
            near.state =
                StackUse { tx: of(0, could), rx: of(1, could), issue: of(2, slots_per_pico * picos), ..near.state };
            (near.since, near.at_begin) = (now, sent);
        }
    }
}

impl Offloader {
    /// A warp comes to a candidate.
    fn enter(&mut self, index: u32, candidate: usize, lanes: LaneMask, values: &[[i64; LANES]]) {
        let goes = self.mechanism.considers(&Arrival { candidate, warp: WarpId(index), lanes, values });
        let visit = &mut self.visits[index as usize];
        visit.candidate = candidate;
        visit.while_learning = self.mechanism.observes();
        visit.stage = if goes && !self.stacks.is_empty() { Stage::Looking } else { Stage::Here };
    }
}
