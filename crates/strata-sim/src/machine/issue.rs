//! Warps: segments pulled from the source, the scoreboard, issue slots, barriers.
//!
//! A warp's turn runs it as far ahead as nobody else can matter: arithmetic, shared memory and barriers take cycles of
//! calendars, so they need no event of their own; accesses to global memory wait for their cycle to come.

use super::{Event, Machine, NONE, Sm};
use crate::calendar::{Calendar, RUN_AHEAD};
use crate::coalesce::bank_conflicts;
use crate::config::{GpuConfig, SchedulerPolicy};
use crate::stats::MachineStats;
use crate::view::{Action, MicroOp, Registers, Unit, View};
use strata_core::{AddressSet, GridSource, LaneMask, OpBatch, OpInfo, Space, Stop, WarpId};

/// When a register is ready, as the scoreboard keeps it: twice the core cycle, and one more if memory brings its value, so
/// that the latest of several also says what was waited for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Ready(u64);

impl Ready {
    /// The value is still on its way.
    const PENDING: Self = Self(u64::MAX);

    const fn at(cycle: u64) -> Self {
        Self(cycle << 1)
    }

    const fn from_memory_at(cycle: u64) -> Self {
        Self(cycle << 1 | 1)
    }

    const fn cycle(self) -> u64 {
        self.0 >> 1
    }

    const fn is_from_memory(self) -> bool {
        self.0 & 1 != 0
    }
}

/// No cycle.
const NEVER: u64 = u64::MAX;

/// A warp in time.
pub(super) struct WarpState {
    pub(super) sm: u32,
    /// The CTA it belongs to.
    pub(super) cta: u64,
    scheduler: u32,
    /// What it did functionally and has not issued yet.
    pub(super) batch: OpBatch,
    /// View of the batch, [`NONE`] if a new segment is needed.
    view: u32,
    /// Next operation of the view.
    next: u32,
    /// Issue slots that this operation has already taken.
    slots_taken: u16,
    /// When the operation took its last slot, if it has them all and its cycle is still to come; else [`NEVER`].
    issued: u64,
    /// What comes after the batch.
    stop: Stop,
    /// When each register is ready, by slot of the view.
    ready: Vec<Ready>,
    /// The next operation issues no earlier than this.
    time: u64,
    /// When it became resident.
    started: u64,
    /// The slot of the register it waits for, or [`NONE`].
    blocked: u32,
    /// The barrier group that lets it go, once its members are known.
    group: u32,
    /// It has issued its barrier and waits.
    pub(super) at_barrier: bool,
    pub(super) exited: bool,
}

impl WarpState {
    pub(super) fn new() -> Self {
        Self {
            sm: 0,
            cta: 0,
            scheduler: 0,
            batch: OpBatch::default(),
            view: NONE,
            next: 0,
            slots_taken: 0,
            issued: NEVER,
            stop: Stop::Ready,
            ready: Vec::new(),
            time: 0,
            started: 0,
            blocked: NONE,
            group: NONE,
            at_barrier: false,
            exited: false,
        }
    }

    /// A warp of a new CTA in the place of an old one, whose buffers it keeps.
    fn restart(&mut self, cta: u64, sm: u32, scheduler: u32, at: u64) {
        let (mut batch, mut ready) = (std::mem::take(&mut self.batch), std::mem::take(&mut self.ready));
        batch.clear();
        ready.fill(Ready::at(0));
        *self = Self { sm, cta, scheduler, batch, ready, time: at, started: at, ..Self::new() };
    }

    /// True if it waits for a register.
    pub(super) fn is_blocked(&self) -> bool {
        self.blocked != NONE
    }

    /// The operations of the batch that an operation of its view stands for: one, or one per memory if a generic access
    /// was split.
    fn executed(&self, op: &MicroOp) -> &[strata_core::WarpOp] {
        let ops = &self.batch.ops;
        let pc = ops[0].pc + u32::from(op.index);
        let index = usize::from(op.index);
        if ops.get(index).is_some_and(|o| o.pc == pc) && ops.get(index + 1).is_none_or(|o| o.pc != pc) {
            return &ops[index..=index];
        }
        let first = ops.partition_point(|o| o.pc < pc);
        &ops[first..first + ops[first..].partition_point(|o| o.pc == pc)]
    }
}

/// Warps that a CTA barrier lets go together.
pub(super) struct BarrierGroup {
    members: Vec<u32>,
    /// Members that have issued their barrier, when the first did and when the last.
    issued: u32,
    first: u64,
    last: u64,
}

/// Views of the segments met so far.
pub(super) struct Views {
    all: Vec<View>,
    /// By first program counter: indices into `all`, for the lengths that occur.
    by_pc: Vec<Vec<u32>>,
    registers: Registers,
}

impl Views {
    pub(super) fn new(infos: &[OpInfo]) -> Self {
        Self { all: Vec::new(), by_pc: vec![Vec::new(); infos.len()], registers: Registers::new(infos) }
    }

    fn of(&mut self, config: &GpuConfig, infos: &[OpInfo], first: u32, length: u32) -> u32 {
        let known = &self.by_pc[first as usize];
        if let Some(&v) = known.iter().find(|&&v| self.all[v as usize].length == length) {
            return v;
        }
        let v = self.all.len() as u32;
        let infos = &infos[first as usize..(first + length) as usize];
        self.all.push(View::new(&config.isa, &mut self.registers, first, infos));
        self.by_pc[first as usize].push(v);
        v
    }
}

/// How a warp's turn ended.
pub(super) enum Outcome {
    /// It waits for an event, a register or a barrier.
    Parked,
    /// Its last instruction issued at this cycle.
    Exited(u64),
    /// The program failed.
    Failed,
}

/// Why a warp does not run further ahead.
enum Pause {
    /// All operations of the segment have issued.
    SegmentEnds,
    /// Its next operation goes to memory at this very cycle.
    Memory(u64),
    /// A register is on its way.
    Blocked,
    /// It goes on at that cycle.
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

    /// A warp has exited: its slot if it was the last of its CTA.
    pub(super) fn warp_left(&mut self, warp: u32, warps_per_cta: u32) -> Option<u32> {
        let w = &mut self.warps[warp as usize];
        w.exited = true;
        self.stats.resident += w.time - w.started;
        let slot = warp / warps_per_cta;
        let all = (slot * warps_per_cta..(slot + 1) * warps_per_cta).all(|w| self.warps[w as usize].exited);
        all.then_some(slot)
    }

    /// Lets a warp issue from cycle `now` on until it must wait.
    pub(super) fn run_warp<S: GridSource>(
        &mut self,
        source: &mut S,
        views: &mut Views,
        index: u32,
        now: u64,
    ) -> Outcome {
        loop {
            let w = &mut self.warps[index as usize];
            if w.view == NONE {
                // A segment takes functional effect when it is asked for: not before its first operation can issue.
                if w.time > now {
                    let at = w.time;
                    self.wake(index, at);
                    return Outcome::Parked;
                }
                if let Some(outcome) = self.next_segment(source, views, index) {
                    return outcome;
                }
                continue;
            }
            let view = &views.all[w.view as usize];
            let sm = &mut self.sms[w.sm as usize];
            match run_ahead(w, sm, view, now, &self.config, &mut self.stats) {
                Pause::SegmentEnds => {
                    if let Some(outcome) = self.segment_done(index) {
                        return outcome;
                    }
                }
                Pause::Memory(at) => {
                    let op = &view.ops[w.next as usize];
                    w.next += 1;
                    w.time = at + 1;
                    self.memory_op(index, view, op, at);
                }
                Pause::Blocked => return Outcome::Parked,
                Pause::Until(at) => {
                    self.wake(index, at);
                    return Outcome::Parked;
                }
            }
        }
    }

    /// Asks the source for the next segment. `Some`: the warp's turn ends.
    fn next_segment<S: GridSource>(&mut self, source: &mut S, views: &mut Views, index: u32) -> Option<Outcome> {
        let w = &mut self.warps[index as usize];
        w.batch.clear();
        let stop = source.advance(WarpId(index), &mut w.batch);
        source.take_opened(&mut self.opened);
        w.stop = stop;
        w.next = 0;
        let ends = if let (Some(first), Some(last)) = (w.batch.ops.first(), w.batch.ops.last()) {
            w.view = views.of(&self.config, source.instructions(), first.pc, last.pc + 1 - first.pc);
            let view = &views.all[w.view as usize];
            if w.ready.len() < view.scoreboard {
                w.ready.resize(view.scoreboard, Ready::at(0));
            }
            if let Some(offload) = &mut self.offload {
                offload.comes_to(first.pc, WarpId(index), &w.batch);
            }
            self.stats.warp_instructions += u64::from(view.issues);
            self.stats.thread_instructions += u64::from(view.issues) * u64::from(first.mask.count_ones());
            false
        } else {
            true
        };
        if !self.opened.is_empty() {
            self.barrier_opened();
        }
        if stop == Stop::Failed {
            return Some(Outcome::Failed);
        }
        if ends { self.segment_done(index) } else { None }
    }

    /// All operations of the segment have issued. `None`: the warp goes on with the next one.
    fn segment_done(&mut self, index: u32) -> Option<Outcome> {
        let w = &mut self.warps[index as usize];
        w.view = NONE;
        match w.stop {
            Stop::Ready => None,
            Stop::Exited => Some(Outcome::Exited(w.time)),
            Stop::Failed => Some(Outcome::Failed),
            Stop::Barrier => {
                w.at_barrier = true;
                let (group, time) = (w.group, w.time);
                if group != NONE {
                    self.joins(group, time);
                }
                Some(Outcome::Parked)
            }
        }
    }

    /// The source says that these warps go on together: they do when the last of them has issued its barrier.
    fn barrier_opened(&mut self) {
        let members: Vec<u32> = self.opened.drain(..).map(|w| w.0).collect();
        let waiting: Vec<u32> = members.iter().copied().filter(|&m| self.warps[m as usize].at_barrier).collect();
        for &m in &members {
            self.warps[m as usize].group = self.groups.next_handle();
        }
        let group = self.groups.add(BarrierGroup { members, issued: 0, first: u64::MAX, last: 0 });
        for m in waiting {
            let time = self.warps[m as usize].time;
            self.joins(group, time);
        }
    }

    fn joins(&mut self, group: u32, time: u64) {
        let g = &mut self.groups[group];
        g.issued += 1;
        g.first = g.first.min(time);
        g.last = g.last.max(time);
        if g.issued as usize == g.members.len() {
            let members = std::mem::take(&mut g.members);
            // The barrier counts its warps one after another.
            let counted = g.first + (members.len() as u64 - 1) * u64::from(self.config.sm.barrier_cycles);
            let time = g.last.max(counted);
            self.groups.remove(group);
            for m in members {
                let w = &mut self.warps[m as usize];
                w.group = NONE;
                w.at_barrier = false;
                self.stats.stall_barrier += time - w.time;
                w.time = time;
                self.wake(m, time);
            }
        }
    }

    /// The warp's next turn is at `cycle`.
    fn wake(&mut self, index: u32, cycle: u64) {
        let time = self.core_time(cycle);
        self.queue.push(time, Event::new(Event::WARP, index));
    }

    /// The warp's memory instruction finds room in the queue of the load/store unit at `cycle`: until then it stalls.
    pub(super) fn stall_until(&mut self, index: u32, cycle: u64) {
        let w = &mut self.warps[index as usize];
        self.stats.stall_queue += cycle.saturating_sub(w.time);
        w.time = w.time.max(cycle);
    }

    /// Marks the results of a load as on their way.
    pub(super) fn expect(&mut self, index: u32, registers: &[u16]) {
        let w = &mut self.warps[index as usize];
        for &r in registers {
            w.ready[usize::from(r)] = Ready::PENDING;
        }
    }

    /// The results of a memory operation are there at `cycle`.
    pub(super) fn deliver(&mut self, index: u32, registers: &[u16], cycle: u64) {
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

    /// The lanes that a memory operation moved and where, one per memory it went to.
    pub(super) fn accesses(&self, index: u32, op: &MicroOp) -> arrayvec::ArrayVec<(LaneMask, AddressSet), 3> {
        let w = &self.warps[index as usize];
        let sets = |o: &strata_core::WarpOp| w.batch.addresses.get(o.addresses as usize).map(|s| (o.mask, *s));
        w.executed(op).iter().filter_map(sets).filter(|(mask, _)| *mask != 0).take(3).collect()
    }
}

/// Issues operations of a view until one must wait.
#[inline]
fn run_ahead(
    w: &mut WarpState,
    sm: &mut Sm,
    view: &View,
    now: u64,
    config: &GpuConfig,
    stats: &mut MachineStats,
) -> Pause {
    let scheduler = &mut sm.schedulers[w.scheduler as usize];
    scheduler.issue.forget(now);
    while let Some(op) = view.ops.get(w.next as usize) {
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
            if at > now && !matches!(op.action, Action::None | Action::Barrier | Action::Shared) {
                return Pause::Until(at);
            }
            let unit = &mut scheduler.units[op.unit as usize];
            let interval = u32::from(op.interval);
            if interval > 1 {
                unit.forget(now);
            }
            while w.slots_taken < op.issues {
                let from = w.time.max(at);
                let Some(slot) = take_slot(&mut scheduler.issue, unit, from, interval) else {
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
        match op.action {
            Action::None => {
                for &r in view.targets(op) {
                    w.ready[usize::from(r)] = Ready::at(issued + u64::from(op.latency));
                }
                if op.unit == Unit::Control {
                    stats.stall_branch += u64::from(config.isa.branch_cycles);
                    w.time = issued + 1 + u64::from(config.isa.branch_cycles);
                }
            }
            Action::Barrier => {
                let latency = u64::from(op.latency).max(1);
                stats.stall_barrier += latency - 1;
                w.time = issued + latency;
            }
            Action::Shared => {
                sm.shared.forget(now);
                let accesses = w.executed(op);
                let cycles: u32 = accesses
                    .iter()
                    .filter_map(|o| w.batch.addresses.get(o.addresses as usize).map(|set| (o.mask, set)))
                    .map(|(mask, set)| bank_conflicts(&w.batch, set, mask, op.width, config.shared.banks))
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
        if config.sm.policy == SchedulerPolicy::LooseRoundRobin {
            // Others have their turn between any two instructions of a warp.
            return Pause::Until(w.time);
        }
    }
    Pause::SegmentEnds
}

/// Takes the first cycle at or after `from` at which an instruction can issue to a unit that it occupies for `interval`
/// cycles.
#[inline]
fn take_slot(issue: &mut Calendar, unit: &mut Calendar, from: u64, interval: u32) -> Option<u64> {
    if interval <= 1 {
        return issue.take_first(from, 1);
    }
    let mut slot = issue.find(from, 1)?;
    loop {
        let frame = unit.find_frame(slot, interval)?;
        slot = issue.find(slot.max(frame), 1)?;
        if slot < frame + u64::from(interval) {
            issue.take(slot, 1);
            unit.take(frame, interval);
            return Some(slot);
        }
    }
}

/// True if an access goes to shared memory.
pub(super) fn is_shared(set: &AddressSet) -> bool {
    set.space == Space::Shared
}
