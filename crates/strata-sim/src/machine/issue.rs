//! Issue: segments pulled from the source, the scoreboard, issue slots.
//!
//! A warp's turn runs it as far ahead as nobody else can matter: arithmetic, shared memory and barriers take cycles of
//! calendars, so they need no event of their own; accesses to global memory wait for their cycle to come.

use super::atomics::shared_cycles_of;
use super::code::Code;
use super::warp::{NEVER, Ready, WarpState};
use super::{Event, Machine, NONE, Scheduler, Sm};
use crate::calendar::RUN_AHEAD;
use crate::config::{GpuConfig, SchedulerPolicy};
use crate::joined::join_loads;
use crate::stats::MachineStats;
use crate::view::{ExecutionUnit, MemoryClass, MicroOp, Registers, View};
use strata_core::{AddressSet, GridSource, LaneMask, OpInfo, Space, Stop, WarpId, WarpOp};

/// Views of the segments met so far.
pub(super) struct Views {
    all: Vec<View>,
    /// By first program counter: indices into `all`, for the lengths that occur.
    by_pc: Vec<Vec<u32>>,
    registers: Registers,
}

impl Views {
    pub(super) fn new(config: &GpuConfig, infos: &[OpInfo]) -> Self {
        Self { all: Vec::new(), by_pc: vec![Vec::new(); infos.len()], registers: Registers::new(&config.isa, infos) }
    }

    fn of(&mut self, config: &GpuConfig, infos: &[OpInfo], first: u32, length: u32, copies: u32) -> u32 {
        let known = &self.by_pc[first as usize];
        let is_it = |v: &View| v.length == length && v.copies == copies;
        if let Some(&v) = known.iter().find(|&&v| is_it(&self.all[v as usize])) {
            return v;
        }
        let v = self.all.len() as u32;
        let infos = &infos[first as usize..(first + length) as usize];
        self.all.push(View::new(&config.isa, &mut self.registers, first, infos, copies));
        self.by_pc[first as usize].push(v);
        v
    }
}

/// Why a warp's turn at issue ended.
pub(super) enum TurnEnd {
    /// It waits for an event, a register or a barrier.
    Parked,
    /// Its last instruction issued at this cycle.
    Exited(u64),
    /// The program failed; the source knows how.
    Failed,
}

/// Why a warp does not run further ahead.
enum Pause {
    /// All operations of the segment have issued.
    SegmentEnds,
    /// Its next operation goes to memory at this very cycle.
    Memory(u64),
    /// RAW or WAW hazard: a register waits for memory.
    Blocked,
    /// It issues again at that cycle.
    Until(u64),
}

impl Machine {
    /// Puts a CTA on an SM; its warps may issue from cycle `at` on.
    pub(super) fn start_cta<S: GridSource>(&mut self, source: &mut S, slot: u32, sm: u32, number: u64, at: u64) {
        source.start_cta(slot, number);
        let warps = source.warps_per_cta();
        let time = self.core_time(at);
        for w in 0..warps {
            let id = slot * warps + w;
            let unit = &mut self.sms[sm as usize];
            let scheduler = unit.dealt % self.config.sm.schedulers;
            unit.dealt += 1;
            self.warps[id as usize].restart(number, sm, scheduler, at);
            self.queue.push(time, Event::new(Event::WARP, id));
        }
        self.stats.ctas += 1;
    }

    /// Retires a warp that has exited: the CTA slot, if that is free now.
    pub(super) fn retire_warp(&mut self, warp: u32, warps_per_cta: u32) -> Option<u32> {
        let w = &mut self.warps[warp as usize];
        w.exited = true;
        self.stats.resident += w.time - w.started;
        let slot = warp / warps_per_cta;
        let all = (slot * warps_per_cta..(slot + 1) * warps_per_cta).all(|w| self.warps[w as usize].exited);
        all.then_some(slot)
    }

    /// A warp has exited: true if it keeps its slot until its stores are acknowledged, or until the pager lets it retire.
    pub(super) fn defer_exit(&mut self, warp: u32) -> bool {
        let held = self.warps[warp as usize].pending_stores > 0 || self.pager_defers_exit(warp);
        self.warps[warp as usize].held = held;
        held
    }

    /// A warp whose exit was deferred may retire at core cycle `at`.
    pub(super) fn resume_exit(&mut self, warp: u32, at: u64) {
        let w = &mut self.warps[warp as usize];
        w.time = w.time.max(at);
        self.wake(warp, at);
    }

    /// A warp may not retire before this store.
    pub(super) fn add_pending_store(&mut self, warp: WarpId) {
        self.warps[warp.0 as usize].pending_stores += 1;
    }

    /// Such a store is acknowledged, or has its page, at core cycle `at`.
    pub(super) fn acknowledge_store(&mut self, warp: WarpId, at: u64) {
        let w = &mut self.warps[warp.0 as usize];
        w.pending_stores -= 1;
        if w.pending_stores > 0 {
            return;
        }
        if w.held {
            self.resume_exit(warp.0, at);
        } else if self.offload.is_some() {
            self.stores_have_pages(warp.0, at);
        }
    }

    /// Lets a warp issue from cycle `now` on until it must wait.
    pub(super) fn run_warp<S: GridSource>(
        &mut self,
        source: &mut S,
        views: &mut Views,
        index: u32,
        now: u64,
    ) -> TurnEnd {
        loop {
            if self.offload.is_some() && self.is_in_transit(index, now) {
                return TurnEnd::Parked;
            }
            let w = &mut self.warps[index as usize];
            if w.held {
                return TurnEnd::Exited(w.time);
            }
            if w.view == NONE {
                // A segment takes functional effect when it is asked for: not before its first operation can issue.
                if w.time > now {
                    let at = w.time;
                    self.wake(index, at);
                    return TurnEnd::Parked;
                }
                if let Some(outcome) = self.next_segment(source, views, index) {
                    return outcome;
                }
                continue;
            }
            let view = &views.all[w.view as usize];
            let sm = &mut self.sms[w.sm as usize];
            let code = if w.fetches { self.code.as_deref_mut() } else { None };
            match run_ahead(w, sm, view, now, &self.config, &mut self.stats, code) {
                Pause::SegmentEnds => {
                    if let Some(outcome) = self.finish_segment(index) {
                        return outcome;
                    }
                }
                Pause::Memory(at) => {
                    if self.offload.is_some() && self.try_offload(index, view, at) {
                        continue;
                    }
                    let w = &mut self.warps[index as usize];
                    let op = &view.ops[w.next as usize];
                    w.next += 1;
                    w.time = at + 1;
                    self.memory_op(index, view, op, at);
                }
                Pause::Blocked => return TurnEnd::Parked,
                Pause::Until(at) => {
                    self.wake(index, at);
                    return TurnEnd::Parked;
                }
            }
        }
    }

    /// Asks the source for the next segment. `Some`: the warp's turn ends.
    fn next_segment<S: GridSource>(&mut self, source: &mut S, views: &mut Views, index: u32) -> Option<TurnEnd> {
        let w = &mut self.warps[index as usize];
        let stop = if let Some(stop) = w.take_ahead() {
            stop
        } else {
            w.batch.clear();
            let stop = source.advance(WarpId(index), &mut w.batch);
            source.take_opened(&mut self.opened);
            stop
        };
        w.stop = stop;
        w.next = 0;
        let mut issues = 0;
        let span = w.batch.ops.first().zip(w.batch.ops.last()).map(|(first, last)| (first.pc, last.pc + 1 - first.pc));
        if let Some((first, length)) = span {
            w.view = views.of(&self.config, source.instructions(), first, length, 1);
            w.unrolled = false;
            w.fetches = self.code.as_ref().is_some_and(|code| !code.is_there(w.sm, first, first + length - 1, w.time));
            if views.all[w.view as usize].counted && stop == Stop::Ready && self.offload.is_none() {
                self.unroll_loop(source, views, index, first, length);
            }
        }
        let w = &mut self.warps[index as usize];
        let ends = if let Some(first) = w.batch.ops.first() {
            if views.all[w.view as usize].joinable {
                let view = &mut views.all[w.view as usize];
                view.joinable = false;
                join_loads(view, &w.batch, &self.config.isa);
            }
            let view = &views.all[w.view as usize];
            if w.ready.len() < view.scoreboard {
                w.ready.resize(view.scoreboard, Ready::at(0));
            }
            issues = view.issues;
            self.stats.warp_instructions += u64::from(view.issues);
            self.stats.thread_instructions += u64::from(view.issues) * u64::from(first.mask.count_ones());
            false
        } else {
            true
        };
        if !self.opened.is_empty() {
            self.form_barrier_group();
        }
        if stop == Stop::Failed {
            return Some(TurnEnd::Failed);
        }
        if self.offload.is_some() && self.enter_segment(index, source.watched(), issues) {
            return None;
        }
        if ends { self.finish_segment(index) } else { None }
    }

    /// The warp begins a turn of a loop that the assembler unrolls: its next turns are issued together with it.
    fn unroll_loop<S: GridSource>(&mut self, source: &mut S, views: &mut Views, index: u32, first: u32, length: u32) {
        let w = &mut self.warps[index as usize];
        if w.batch.ops.len() != length as usize {
            return;
        }
        let mut copies = 1;
        while copies < self.config.isa.unroll {
            let ahead = w.ahead.get_or_insert_default();
            ahead.batch.clear();
            ahead.stop = Some(source.advance(WarpId(index), &mut ahead.batch));
            source.take_opened(&mut self.opened);
            if !w.append_turn(length as usize) {
                break;
            }
            copies += 1;
        }
        if copies > 1 {
            w.view = views.of(&self.config, source.instructions(), first, length, copies);
            w.unrolled = true;
        }
    }

    /// All operations of the segment have issued. `None`: the warp goes on with the next one.
    fn finish_segment(&mut self, index: u32) -> Option<TurnEnd> {
        let w = &mut self.warps[index as usize];
        w.view = NONE;
        match w.stop {
            Stop::Ready => None,
            Stop::Exited => Some(TurnEnd::Exited(w.time)),
            Stop::Failed => Some(TurnEnd::Failed),
            Stop::Barrier => {
                w.at_barrier = true;
                let (group, time) = (w.group, w.time);
                if group != NONE {
                    self.join_barrier(group, time);
                }
                Some(TurnEnd::Parked)
            }
        }
    }

    /// The warp's next turn is at `cycle`.
    pub(super) fn wake(&mut self, index: u32, cycle: u64) {
        let time = self.core_time(cycle);
        self.queue.push(time, Event::new(Event::WARP, index));
    }

    /// The warp's memory instruction finds room in the queue of the load/store unit at `cycle`: until then it stalls.
    pub(super) fn stall_until(&mut self, index: u32, cycle: u64) {
        let w = &mut self.warps[index as usize];
        self.stats.stall_queue += cycle.saturating_sub(w.time);
        w.time = w.time.max(cycle);
    }

    /// Reserves the destination registers of a load in the scoreboard.
    pub(super) fn reserve_registers(&mut self, index: u32, registers: &[u16]) {
        let w = &mut self.warps[index as usize];
        for &r in registers {
            w.ready[usize::from(r)] = Ready::PENDING;
        }
    }

    /// Releases the destination registers of a memory operation, whose values are written back at `cycle`; wakes a warp that
    /// waits for one of them.
    pub(super) fn release_registers(&mut self, index: u32, registers: &[u16], cycle: u64) {
        let w = &mut self.warps[index as usize];
        let mut unblocked = false;
        for &r in registers {
            w.ready[usize::from(r)] = Ready::from_memory_at(cycle);
            unblocked |= w.blocked == u32::from(r);
        }
        if unblocked {
            w.blocked = NONE;
            let at = cycle.max(w.time);
            self.wake(index, at);
        }
    }

    /// The lanes that a memory operation moved and where: one per memory it went to, and per place that a lane reads.
    #[inline]
    pub(super) fn accesses(&self, index: u32, op: &MicroOp) -> impl Iterator<Item = (LaneMask, &AddressSet)> + Clone {
        let w = &self.warps[index as usize];
        let set = |o: &WarpOp| w.batch.addresses.get(o.addresses as usize).map(|set| (o.mask, set));
        w.executed(op).iter().filter_map(set).filter(|(mask, _)| *mask != 0).take(MOST_SETS)
    }
}

/// Address sets of one operation: a filtered read of a volume has eight texels.
const MOST_SETS: usize = 8;

/// Issues operations of a view until one must wait.
#[inline]
fn run_ahead(
    w: &mut WarpState,
    sm: &mut Sm,
    view: &View,
    now: u64,
    config: &GpuConfig,
    stats: &mut MachineStats,
    mut code: Option<&mut Code>,
) -> Pause {
    let scheduler = &mut sm.schedulers[w.scheduler as usize];
    scheduler.forget(now);
    let in_turns = config.sm.policy == SchedulerPolicy::LooseRoundRobin;
    while let Some(op) = view.ops.get(w.next as usize) {
        if let Some(code) = &mut code
            && w.slots_taken == 0
            && w.issued == NEVER
        {
            w.time = code.fetch(w.sm, w.pc_of(op), w.time).max(w.time);
        } else if op.is_plain() && w.slots_taken == 0 && w.issued == NEVER && !in_turns {
            match issue_plain(w, scheduler, view, now, stats) {
                Some(pause) => return pause,
                None => continue,
            }
        }
        let mut ready = Ready::at(w.time);
        for &r in view.touched(op) {
            ready = ready.max(w.ready[usize::from(r)]);
        }
        if ready == Ready::PENDING {
            let pending = view.touched(op).iter().find(|&&r| w.ready[usize::from(r)] == Ready::PENDING);
            w.blocked = pending.map_or(NONE, |&r| u32::from(r));
            return Pause::Blocked;
        }
        if op.issues == 0 {
            // Folded into another instruction: its result is there when its operands are.
            for &r in view.targets(op) {
                w.ready[usize::from(r)] = ready;
            }
            w.next += 1;
            continue;
        }
        let at = ready.cycle();
        if w.issued == NEVER {
            if at > now + RUN_AHEAD {
                return Pause::Until(at);
            }
            // Global memory is asked in the order of time.
            if at > now && !matches!(op.memory, MemoryClass::None | MemoryClass::Barrier | MemoryClass::Shared) {
                return Pause::Until(at);
            }
            let interval = u32::from(op.interval);
            while w.slots_taken < op.issues {
                let from = w.time.max(at);
                let Some(slot) = take_slot(scheduler, op.unit, from, interval) else {
                    return Pause::Until(now + RUN_AHEAD / 2);
                };
                if w.slots_taken == 0 && at > w.time && ready.is_from_memory() {
                    stats.stall_memory += ready.cycle() - w.time;
                }
                stats.stall_unit += slot - from;
                w.slots_taken += 1;
                w.time = slot + 1;
            }
            w.issued = w.time - 1;
        }
        let issued = w.issued;
        match op.memory {
            MemoryClass::None => {
                for &r in view.targets(op) {
                    w.ready[usize::from(r)] = Ready::at(issued + u64::from(op.latency));
                }
                if op.unit == ExecutionUnit::Control {
                    stats.stall_branch += u64::from(config.isa.branch_cycles);
                    w.time = issued + 1 + u64::from(config.isa.branch_cycles);
                }
            }
            MemoryClass::Barrier => {
                let latency = u64::from(op.latency).max(1);
                stats.stall_barrier += latency - 1;
                w.time = issued + latency;
            }
            MemoryClass::Shared => {
                sm.shared.forget(now);
                let accesses = w.executed(op);
                let cycles: u32 = accesses
                    .iter()
                    .filter_map(|o| w.batch.addresses.get(o.addresses as usize).map(|set| (o.mask, set)))
                    .map(|(mask, set)| shared_cycles_of(&w.batch, set, mask, op, &config.shared))
                    .sum();
                let start = if cycles == 0 { Some(issued) } else { sm.shared.take_first(issued, cycles) };
                let Some(start) = start else {
                    return Pause::Until(now + RUN_AHEAD / 2);
                };
                stats.shared_accesses += 1;
                stats.shared_conflict_cycles += u64::from(cycles.saturating_sub(1));
                let ready = start + u64::from(cycles.saturating_sub(1) + config.shared.latency);
                for &r in view.targets(op) {
                    w.ready[usize::from(r)] = Ready::at(ready);
                }
            }
            _ => {
                if issued > now {
                    return Pause::Until(issued);
                }
                w.issued = NEVER;
                w.slots_taken = 0;
                return Pause::Memory(issued);
            }
        }
        w.issued = NEVER;
        w.slots_taken = 0;
        w.next += 1;
        if in_turns {
            // Others have their turn between any two instructions of a warp.
            return Pause::Until(w.time);
        }
    }
    Pause::SegmentEnds
}

/// Issues plain operations of a view until one must wait, or another kind comes (`None`). This is most of what warps do: time and
/// place stay in registers of the host.
#[inline]
fn issue_plain(
    w: &mut WarpState,
    scheduler: &mut Scheduler,
    view: &View,
    now: u64,
    stats: &mut MachineStats,
) -> Option<Pause> {
    let (mut time, mut next) = (w.time, w.next);
    let (mut stall_memory, mut stall_unit) = (0, 0);
    let ready = &mut w.ready[..];
    let mut pause = None;
    while let Some(op) = view.ops.get(next as usize)
        && op.is_plain()
    {
        let touched = view.touched(op);
        let mut operands = Ready::at(time);
        for &r in touched {
            operands = operands.max(ready[usize::from(r)]);
        }
        if operands == Ready::PENDING {
            let pending = touched.iter().find(|&&r| ready[usize::from(r)] == Ready::PENDING);
            w.blocked = pending.map_or(NONE, |&r| u32::from(r));
            pause = Some(Pause::Blocked);
            break;
        }
        let targets = &touched[..op.targets()];
        if op.issues == 0 {
            // Folded into another instruction: its result is there when its operands are.
            for &r in targets {
                ready[usize::from(r)] = operands;
            }
            next += 1;
            continue;
        }
        let at = operands.cycle();
        if at > now + RUN_AHEAD {
            pause = Some(Pause::Until(at));
            break;
        }
        let Some(slot) = take_slot(scheduler, op.unit, at, u32::from(op.interval)) else {
            pause = Some(Pause::Until(now + RUN_AHEAD / 2));
            break;
        };
        if operands.is_from_memory() {
            stall_memory += at - time;
        }
        stall_unit += slot - at;
        time = slot + 1;
        for &r in targets {
            ready[usize::from(r)] = Ready::at(slot + u64::from(op.latency));
        }
        next += 1;
    }
    (w.time, w.next) = (time, next);
    stats.stall_memory += stall_memory;
    stats.stall_unit += stall_unit;
    pause
}

/// The issue slots among the calendars of a scheduler; the units follow.
const ISSUE: usize = 0;

/// Takes the first cycle at or after `from` at which an instruction can issue to a unit that it occupies for `interval`
/// cycles.
#[allow(clippy::inline_always, reason = "a call costs more than what it does")]
#[inline(always)]
fn take_slot(scheduler: &mut Scheduler, unit: ExecutionUnit, from: u64, interval: u32) -> Option<u64> {
    let unit = ISSUE + 1 + unit as usize;
    if interval <= 1 {
        let slot = scheduler.find_one(ISSUE, from)?;
        scheduler.take_one(ISSUE, slot);
        return Some(slot);
    }
    scheduler.take_in_frame(ISSUE, unit, from, interval)
}

/// True if an access goes to shared memory.
pub(super) fn is_shared(set: &AddressSet) -> bool {
    set.space == Space::Shared
}
