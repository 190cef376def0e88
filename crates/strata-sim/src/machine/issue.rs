//! Warps: segments pulled from the source, the scoreboard, issue slots, barriers.

use super::{Event, Machine, NONE};
use crate::calendar::RUN_AHEAD;
use crate::view::{Action, MicroOp, View};
use strata_core::{GridSource, OpBatch, OpInfo, Stop, WarpId, WarpOp};

/// A register whose value is still on its way.
const PENDING: u64 = u64::MAX;

/// A warp in time.
pub(super) struct WarpState {
    pub(super) sm: u32,
    scheduler: u32,
    /// What it did functionally and has not issued yet.
    pub(super) batch: OpBatch,
    /// View of the batch, [`NONE`] if a new segment is needed.
    view: u32,
    /// Next operation of the view.
    next: u32,
    /// What comes after the batch.
    stop: Stop,
    /// When each register is ready, core cycles.
    pub(super) ready: Vec<u64>,
    /// The next operation issues no earlier than this.
    time: u64,
    /// The register it waits for, or [`NONE`].
    pub(super) blocked: u32,
    /// The barrier group that lets it go, once its members are known.
    group: u32,
    /// It has issued its barrier and waits.
    at_barrier: bool,
    pub(super) exited: bool,
}

impl WarpState {
    pub(super) fn new(registers: usize) -> Self {
        Self {
            sm: 0,
            scheduler: 0,
            batch: OpBatch::default(),
            view: NONE,
            next: 0,
            stop: Stop::Ready,
            ready: vec![0; registers],
            time: 0,
            blocked: NONE,
            group: NONE,
            at_barrier: false,
            exited: false,
        }
    }
}

/// Warps that a CTA barrier lets go together.
pub(super) struct BarrierGroup {
    members: Vec<u32>,
    /// Members that have issued their barrier, and when the last did.
    issued: u32,
    time: u64,
}

/// Views of the segments met so far.
pub(super) struct Views {
    views: Vec<View>,
    /// By first program counter: indices into `views`, for the lengths that occur.
    by_pc: Vec<Vec<u32>>,
}

impl Views {
    pub(super) fn new(instructions: usize) -> Self {
        Self { views: Vec::new(), by_pc: vec![Vec::new(); instructions] }
    }

    fn of(&mut self, machine: &Machine, infos: &[OpInfo], first: u32, length: u32) -> u32 {
        let known = &self.by_pc[first as usize];
        if let Some(&v) = known.iter().find(|&&v| self.views[v as usize].length == length) {
            return v;
        }
        let v = self.views.len() as u32;
        self.views.push(View::new(&machine.config.isa, first, &infos[first as usize..(first + length) as usize]));
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

impl Machine {
    /// Puts a CTA on an SM; its warps may issue from cycle `at` on.
    pub(super) fn start_cta<S: GridSource>(&mut self, source: &mut S, slot: u32, sm: u32, number: u64, at: u64) {
        source.start_cta(slot, number);
        let warps = source.warps_per_cta();
        let schedulers = self.config.sm.schedulers;
        let time = self.core_time(at);
        for w in 0..warps {
            let id = slot * warps + w;
            let scheduler = self.sms[sm as usize].dealt % schedulers;
            self.sms[sm as usize].dealt += 1;
            let warp = &mut self.warps[id as usize];
            warp.sm = sm;
            warp.scheduler = scheduler;
            warp.batch.clear();
            warp.view = NONE;
            warp.next = 0;
            warp.stop = Stop::Ready;
            warp.ready.fill(0);
            warp.time = at;
            warp.blocked = NONE;
            warp.group = NONE;
            warp.at_barrier = false;
            warp.exited = false;
            self.queue.push(time, Event::new(Event::WARP, id));
        }
        self.stats.ctas += 1;
    }

    /// A warp has exited: its slot if it was the last of its CTA.
    pub(super) fn warp_left(&mut self, warp: u32, warps_per_cta: u32) -> Option<u32> {
        self.warps[warp as usize].exited = true;
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
            let view = &views.views[w.view as usize];
            if w.next as usize == view.ops.len() {
                match self.segment_done(index) {
                    None => continue,
                    Some(outcome) => return outcome,
                }
            }
            let op = &view.ops[w.next as usize];
            match self.issue(index, op, now) {
                Issue::Done => self.warps[index as usize].next += 1,
                Issue::Later => return Outcome::Parked,
            }
        }
    }

    /// Asks the source for the next segment. `Some`: the warp's turn ends.
    fn next_segment<S: GridSource>(&mut self, source: &mut S, views: &mut Views, index: u32) -> Option<Outcome> {
        let mut batch = std::mem::take(&mut self.warps[index as usize].batch);
        batch.clear();
        let stop = source.advance(WarpId(index), &mut batch);
        source.take_opened(&mut self.opened);
        let first = batch.ops.first().map(|o| o.pc);
        let view = first.map(|first| {
            let last = batch.ops.last().map_or(first, |o| o.pc);
            views.of(self, source.instructions(), first, last + 1 - first)
        });
        let w = &mut self.warps[index as usize];
        w.stop = stop;
        w.next = 0;
        w.batch = batch;
        w.view = view.unwrap_or(NONE);
        if let Some(v) = view {
            self.stats.warp_instructions += u64::from(views.views[v as usize].issues);
            let lanes = w.batch.ops[0].mask.count_ones();
            self.stats.thread_instructions += u64::from(views.views[v as usize].issues) * u64::from(lanes);
        }
        if !self.opened.is_empty() {
            self.barrier_opened();
        }
        if stop == Stop::Failed {
            return Some(Outcome::Failed);
        }
        if view.is_none() {
            return self.segment_done(index);
        }
        None
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
        let group = self.groups.add(BarrierGroup { members: members.clone(), issued: 0, time: 0 });
        for m in members {
            let w = &mut self.warps[m as usize];
            w.group = group;
            if w.at_barrier {
                let time = w.time;
                self.joins(group, time);
            }
        }
    }

    fn joins(&mut self, group: u32, time: u64) {
        let g = &mut self.groups[group];
        g.issued += 1;
        g.time = g.time.max(time);
        if g.issued as usize == g.members.len() {
            let members = std::mem::take(&mut g.members);
            let time = g.time;
            self.groups.remove(group);
            for m in members {
                let w = &mut self.warps[m as usize];
                w.group = NONE;
                w.at_barrier = false;
                w.time = time + 1;
                self.wake(m, time + 1);
            }
        }
    }

    /// The warp's next turn is at `cycle`.
    pub(super) fn wake(&mut self, index: u32, cycle: u64) {
        let time = self.core_time(cycle);
        self.queue.push(time, Event::new(Event::WARP, index));
    }

    /// Issues one operation if its operands are ready.
    fn issue(&mut self, index: u32, op: &MicroOp, now: u64) -> Issue {
        let w = &mut self.warps[index as usize];
        let mut at = w.time;
        for &r in op.src.iter().chain(&*op.dst) {
            let ready = w.ready[r as usize];
            if ready == PENDING {
                w.blocked = r;
                return Issue::Later;
            }
            at = at.max(ready);
        }
        if op.issues == 0 {
            // Folded into another instruction: its result is there when its operands are.
            for &r in &*op.dst {
                w.ready[r as usize] = at;
            }
            return Issue::Done;
        }
        let memory = !matches!(op.action, Action::None | Action::Barrier);
        // Memory is asked in the order of time; arithmetic may run ahead of it.
        if at > now && (memory || at - now > RUN_AHEAD) {
            w.time = at;
            self.wake(index, at);
            return Issue::Later;
        }
        let executed = self.warps[index as usize].batch.ops.get(usize::from(op.index)).copied();
        let (sm, scheduler) = {
            let w = &self.warps[index as usize];
            (w.sm as usize, w.scheduler as usize)
        };
        let interval = u64::from(op.interval.max(1));
        let mut issued = at;
        let unit = &mut self.sms[sm];
        for k in 0..op.issues {
            let from = if k == 0 { at } else { issued + 1 };
            let free = unit.units[scheduler][op.unit as usize].take_span(now, from, interval);
            issued = unit.calendars[scheduler].take(now, free);
        }
        self.warps[index as usize].time = if self.config.sm.issue_width > 1 { issued } else { issued + 1 };
        if memory {
            if let Some(executed) = executed {
                self.memory_op(index, op, executed, issued);
            }
        } else {
            let w = &mut self.warps[index as usize];
            for &r in &*op.dst {
                w.ready[r as usize] = issued + u64::from(op.latency);
            }
            if op.unit == crate::view::Unit::Control {
                w.time = issued + 1 + u64::from(self.config.isa.branch_cycles);
            }
        }
        Issue::Done
    }

    /// Marks the results of a load as on their way.
    pub(super) fn expect(&mut self, index: u32, op: &MicroOp) {
        let w = &mut self.warps[index as usize];
        for &r in &*op.dst {
            w.ready[r as usize] = PENDING;
        }
    }

    /// The results of a memory operation are there at `cycle`.
    pub(super) fn deliver(&mut self, index: u32, registers: &[u32], cycle: u64) {
        let w = &mut self.warps[index as usize];
        let mut unblocked = false;
        for &r in registers {
            w.ready[r as usize] = cycle;
            unblocked |= w.blocked == r;
        }
        if unblocked {
            w.blocked = NONE;
            let at = cycle.max(w.time);
            self.wake(index, at);
        }
    }
}

/// What became of an operation.
enum Issue {
    Done,
    Later,
}

/// A memory operation that was executed with no active lane moves nothing.
pub(super) fn is_idle(op: &WarpOp) -> bool {
    op.mask == 0 || op.addresses == WarpOp::NO_ADDRESSES
}
