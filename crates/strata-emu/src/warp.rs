//! A warp: registers, and the splits that its lanes have parted into.
//!
//! Lanes that branch differently become separate *splits*, each with its own program counter. A split that reaches the
//! block where its siblings meet again arrives there and waits; when all have arrived, the split that branched goes on
//! with all of them. Splits form a tree through `parent`; only leaves run, one at a time.
//!
//! Lanes are independent threads: a split that has taken many backward branches gives way to another that is ready, and
//! lanes that wait for a meeting are let go when a sibling keeps spinning (it may be waiting for them). So a spin on
//! `atomicCAS` inside a warp, or `bar.warp.sync` in both arms of a branch, comes to its end.
//!
//! Invariant: the masks of the leaves are disjoint, and together with arrived lanes cover the live lanes of the warp.

mod calls;
mod waiting;

use crate::cta::Barriers;
use crate::exec::{Exec, Flow, UNIT_BYTES};
use crate::fault::Cause;
use crate::kernel::{Callee, Code, Exit, Kernel, NO_BLOCK};
use crate::lanes::read_lanes;
use crate::program::FUNCTION_WINDOW;
use crate::turn::{Grant, Turn};
use strata_core::{LANES, LaneMask, WarpOp, prefetch};

/// Backward branches after which a split gives way. An iteration that looks like waiting for another thread counts
/// [`SPIN_WEIGHT`] times: see [`Exec::synchronised`].
const PATIENCE: u32 = 1 << 16;
const SPIN_WEIGHT: u32 = 1 << 12;

/// 32 lanes of 4 bytes.
#[derive(Clone, Copy)]
#[repr(C, align(128))]
pub(crate) struct Unit(pub(crate) [u32; LANES]);

const _: () = assert!(size_of::<Unit>() == UNIT_BYTES);

/// What a split is doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum State {
    /// Can run.
    Ready,
    /// Branched or called; waits for its lanes to arrive.
    Parted,
    /// Waits at a warp barrier or collective for these lanes.
    Members(LaneMask),
    /// Waits at a CTA barrier.
    Barrier(u8),
    /// Free for reuse.
    Gone,
}

/// Some lanes of a warp with one program counter.
#[derive(Clone, Debug)]
pub(crate) struct Split {
    pub(crate) state: State,
    /// Lanes that belong to it (for `Parted`: lanes still expected back).
    pub(crate) mask: LaneMask,
    /// Lanes that have arrived, if `Parted`.
    arrived: LaneMask,
    /// Next instruction and its block; for `Parted` the block to go on with.
    pub(crate) pc: u32,
    block: u32,
    /// Block where it meets its siblings, or [`NO_BLOCK`].
    meet: u32,
    /// Split that waits for it, or `NONE`.
    parent: u32,
    /// If this split is `Parted` by a call, the block that ends in it, so that `ret` leads back here; else [`NO_BLOCK`].
    call: u32,
    /// Frame: function, first unit, first predicate, offset in local memory.
    pub(crate) code: u32,
    units: u32,
    predicates: u32,
    local: u64,
}

const NONE: u32 = u32::MAX;

/// Why a warp stopped running.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum WarpStop {
    /// All lanes have exited.
    Exited,
    /// Nothing in the warp can run until a CTA barrier opens.
    Waiting,
    /// The warp gave way; `spinning` if it may be waiting for another thread.
    Yielded { spinning: bool },
    /// The warp's turn is over (only without a listener). `idle`: it did what programs do that wait, and wrote nothing to
    /// device memory.
    TurnOver { idle: bool },
    /// A segment has ended (only with a listener).
    Segment,
    /// Lanes arrived at a CTA barrier without waiting: it may be complete, and the warp may come to it again.
    Arrived,
    /// The execution context holds the cause; the current split's `pc` says where.
    Fault,
}

/// How often each block ran, and with how many lanes.
#[derive(Clone, Copy, Default)]
pub(crate) struct Visits {
    pub(crate) warps: u64,
    pub(crate) lanes: u64,
}

/// A warp of a resident CTA. Thousands are resident, and each is looked at after all the others: it lies in as few cache lines of
/// the host as it can.
#[repr(align(64))]
pub(crate) struct Warp {
    units: Vec<Unit>,
    predicates: Vec<u32>,
    pub(crate) splits: Vec<Split>,
    /// Splits that are gone, to be used again: a deep recursion has one split per call, too many to search.
    gone: Vec<usize>,
    /// The split that runs, or ran last.
    pub(crate) current: usize,
    /// Lanes that exist and have not exited.
    pub(crate) live: LaneMask,
    patience: u32,
    /// A backward branch since the split last gave way may have been one of a loop that waits.
    spinning: bool,
    /// The same, since the warp's turn last was over.
    waited: bool,
    /// How often in a row splits gave way while spinning.
    spins: usize,
    /// What the execution context said when a segment was cut: see the fields of the same names there.
    synchronised: bool,
    communicated: bool,
    exchange: Option<Box<Exchange>>,
}

/// Values and predicates that lanes have put out for a collective of their warp.
#[derive(Default)]
pub(crate) struct Exchange {
    pub(crate) values: [u64; LANES],
    pub(crate) predicate: LaneMask,
}

impl Warp {
    /// A warp without a program.
    pub(crate) fn new() -> Self {
        Self {
            units: Vec::new(),
            predicates: Vec::new(),
            // Most warps never part.
            splits: Vec::with_capacity(1),
            gone: Vec::new(),
            current: 0,
            live: 0,
            patience: PATIENCE,
            spinning: false,
            waited: false,
            spins: 0,
            synchronised: false,
            communicated: false,
            exchange: None,
        }
    }

    /// Puts the warp at the start of a kernel; its memory is reused.
    pub(crate) fn start(&mut self, kernel: &Kernel, lanes: LaneMask) {
        let code = &kernel.functions[0];
        self.units.clear();
        self.units.resize(code.units as usize, Unit([0; LANES]));
        self.predicates.clear();
        self.predicates.resize(code.predicates as usize, 0);
        self.predicates[0] = LaneMask::MAX;
        self.splits.clear();
        self.gone.clear();
        self.splits.push(Split {
            state: State::Ready,
            mask: lanes,
            arrived: 0,
            pc: code.blocks[0].first,
            block: 0,
            meet: NO_BLOCK,
            parent: NONE,
            call: NO_BLOCK,
            code: 0,
            units: 0,
            predicates: 0,
            local: 0,
        });
        self.current = 0;
        self.live = lanes;
        self.patience = PATIENCE;
        self.spinning = false;
        self.waited = false;
        self.spins = 0;
    }

    /// Runs the warp until it stops for one of the reasons of [`WarpStop`].
    pub(crate) fn run<const LISTEN: bool>(
        &mut self,
        x: &mut Exec<'_>,
        kernel: &Kernel,
        barriers: &mut Barriers,
        visits: &mut [Visits],
        turn: &mut Turn,
    ) -> WarpStop {
        loop {
            if self.splits[self.current].state != State::Ready && !self.pick() {
                return if self.live == 0 { WarpStop::Exited } else { WarpStop::Waiting };
            }
            if LISTEN && x.listener().is_some_and(|out| !out.ops.is_empty()) {
                return WarpStop::Segment;
            }
            if let Some(stop) = self.run_split::<LISTEN>(x, kernel, barriers, visits, turn) {
                return stop;
            }
        }
    }

    /// Asks the host's caches for what its next instructions need.
    #[inline]
    pub(crate) fn prefetch(&self) {
        if let Some(split) = self.splits.first() {
            prefetch(split);
        }
        if let Some(predicates) = self.predicates.first() {
            prefetch(predicates);
        }
        for unit in self.units.iter().take(8) {
            prefetch(unit);
        }
    }

    /// True if some split is ready.
    pub(crate) fn can_run(&self) -> bool {
        self.splits.iter().any(|s| s.state == State::Ready)
    }

    /// Points the execution context at a split's frame.
    fn enter(&mut self, x: &mut Exec<'_>, split: usize) {
        let s = &self.splits[split];
        x.regs = self.units.as_mut_ptr().wrapping_add(s.units as usize).cast();
        x.preds = self.predicates.as_mut_ptr().wrapping_add(s.predicates as usize);
        x.consts = x.launch.constants[s.code as usize].as_ptr().cast();
        x.local_frame = s.local;
        x.code = s.code;
        x.active = s.mask;
        x.live = self.live;
        x.exchange = &raw mut self.exchange;
    }

    /// Runs the current split until it parts, waits, arrives, exits or gives way. `None`: look for another split.
    fn run_split<const LISTEN: bool>(
        &mut self,
        x: &mut Exec<'_>,
        kernel: &Kernel,
        barriers: &mut Barriers,
        visits: &mut [Visits],
        turn: &mut Turn,
    ) -> Option<WarpStop> {
        let current = self.current;
        self.enter(x, current);
        let s = &self.splits[current];
        let (mask, meet) = (s.mask, s.meet);
        let (mut block, mut pc) = (s.block, s.pc);
        let code: &Code = &kernel.functions[s.code as usize];
        if block == meet {
            self.arrive(current, mask);
            return None;
        }
        if LISTEN && x.watch.is_some() {
            x.look(pc);
        }
        let begins_at = pc;
        loop {
            let b = &code.blocks[block as usize];
            if pc == b.first {
                let grant = turn.take(b.length);
                if grant != Grant::Run {
                    self.save(current, block, pc);
                    return Some(self.stop_at(x, turn, grant));
                }
                let v = &mut visits[b.visit as usize];
                v.warps += 1;
                v.lanes += u64::from(mask.count_ones());
                x.clock += u64::from(b.length);
            }
            while pc < b.end {
                if LISTEN && pc != begins_at && x.cuts(pc) {
                    self.save(current, block, pc);
                    return Some(WarpStop::Segment);
                }
                // SAFETY: `pc` is below `b.end`, an index into this function's instructions.
                let i = unsafe { code.insts.get_unchecked(pc as usize) };
                let m = mask & (x.predicate(i.guard) ^ i.guard_flip);
                let first_address = if LISTEN { x.listener().map_or(0, |out| out.addresses.len()) } else { 0 };
                if m != 0 {
                    // SAFETY: the context points at this function's frame; see `OpFn`.
                    match unsafe { (i.run)(x, i, m) } {
                        Flow::Next => {}
                        Flow::Fault => {
                            self.save(current, block, pc);
                            return Some(WarpStop::Fault);
                        }
                        Flow::Wait => {
                            self.save(current, block, pc);
                            if LISTEN {
                                tell(x, code.first_pc + pc, m, first_address);
                            }
                            return self.wait(x, code, barriers, current, m);
                        }
                    }
                }
                if LISTEN {
                    tell(x, code.first_pc + pc, m, first_address);
                    if x.synchronised | x.communicated {
                        // Other warps may run before this one branches: it keeps what it has to know then.
                        self.synchronised |= std::mem::take(&mut x.synchronised);
                        self.communicated |= std::mem::take(&mut x.communicated);
                        self.save(current, block, pc + 1);
                        return Some(WarpStop::Segment);
                    }
                }
                pc += 1;
            }
            if LISTEN && b.first + b.length > b.end {
                // What ends a block is an instruction, too.
                if pc != begins_at && x.cuts(pc) {
                    self.save(current, block, pc);
                    return Some(WarpStop::Segment);
                }
                tell(x, code.first_pc + b.end, mask, usize::MAX);
            }
            let next = match &b.exit {
                Exit::Jump { to } => *to,
                Exit::Branch { test, taken, other, meet: rejoin } => {
                    let going = mask & x.truth(*test);
                    if going == mask {
                        *taken
                    } else if going == 0 {
                        *other
                    } else {
                        self.save(current, block, pc);
                        self.part(code, current, *rejoin, &[(*other, mask & !going), (*taken, going)]);
                        return None;
                    }
                }
                exit => {
                    self.save(current, block, pc);
                    match self.leave(x, kernel, code, exit, mask) {
                        Ok(Some(next)) => next,
                        Ok(None) => return None,
                        Err(cause) => {
                            x.fail(cause);
                            return Some(WarpStop::Fault);
                        }
                    }
                }
            };
            if next == meet {
                self.arrive(current, mask);
                return None;
            }
            pc = code.blocks[next as usize].first;
            if next <= block {
                let synchronised = std::mem::take(&mut x.synchronised) | std::mem::take(&mut self.synchronised);
                let communicated = std::mem::take(&mut x.communicated) | std::mem::take(&mut self.communicated);
                self.spinning |= synchronised | communicated;
                self.waited |= synchronised | communicated;
                self.patience = self.patience.saturating_sub(if synchronised { SPIN_WEIGHT } else { 1 });
                if self.patience == 0 {
                    self.save(current, next, pc);
                    return Some(self.give_way());
                }
            }
            if LISTEN {
                self.save(current, next, pc);
                return Some(WarpStop::Segment);
            }
            block = next;
        }
    }

    /// The current split may not go on: its turn is over, or the launch has used up its instructions.
    #[cold]
    fn stop_at(&mut self, x: &mut Exec<'_>, turn: &Turn, grant: Grant) -> WarpStop {
        if grant == Grant::Limit {
            x.fail(Cause::InstructionLimit { limit: x.launch.instruction_limit });
            return WarpStop::Fault;
        }
        WarpStop::TurnOver { idle: std::mem::take(&mut self.waited) && x.bytes_written == turn.written }
    }

    fn save(&mut self, split: usize, block: u32, pc: u32) {
        let s = &mut self.splits[split];
        s.block = block;
        s.pc = pc;
    }

    /// Chooses a split that can run; lanes that wait for a meeting are let go if nothing else can.
    fn pick(&mut self) -> bool {
        loop {
            let n = self.splits.len();
            if let Some(next) =
                (1..=n).map(|k| (self.current + n - k) % n).find(|&k| self.splits[k].state == State::Ready)
            {
                self.current = next;
                return true;
            }
            let stuck = self.splits.iter().any(|s| matches!(s.state, State::Members(_)));
            if !stuck || !self.let_go() {
                return false;
            }
        }
    }

    /// The current split has run long enough.
    fn give_way(&mut self) -> WarpStop {
        self.patience = PATIENCE;
        self.spins = if std::mem::take(&mut self.spinning) { self.spins + 1 } else { 0 };
        let ready = self.splits.iter().filter(|s| s.state == State::Ready).count();
        // Once every split has spun in vain, what they wait for is done by lanes at a meeting, or outside the warp.
        let in_vain = self.spins >= ready;
        if in_vain && self.let_go() {
            self.spins = 0;
            return WarpStop::Yielded { spinning: false };
        }
        let n = self.splits.len();
        if let Some(other) = (1..n).map(|k| (self.current + k) % n).find(|&k| self.splits[k].state == State::Ready) {
            self.current = other;
        }
        WarpStop::Yielded { spinning: in_vain }
    }

    /// Lets lanes that wait for a meeting, or for others to return, go on without them; false if there are none.
    pub(crate) fn let_go(&mut self) -> bool {
        let Some(waiting) = self.splits.iter().rposition(|s| s.state == State::Parted && s.arrived != 0) else {
            return false;
        };
        let node = &mut self.splits[waiting];
        let lanes = std::mem::take(&mut node.arrived);
        node.mask &= !lanes;
        let mut split = node.clone();
        split.state = State::Ready;
        split.mask = lanes;
        split.call = NO_BLOCK;
        self.current = self.add(split);
        true
    }

    fn add(&mut self, split: Split) -> usize {
        if let Some(free) = self.gone.pop() {
            self.splits[free] = split;
            return free;
        }
        self.splits.push(split);
        self.splits.len() - 1
    }

    fn remove(&mut self, split: usize) {
        self.splits[split].state = State::Gone;
        self.gone.push(split);
    }

    /// The lanes of `split` go different ways and meet again at `rejoin`.
    fn part(&mut self, code: &Code, split: usize, rejoin: u32, ways: &[(u32, LaneMask)]) {
        let whole = self.splits[split].clone();
        let nested = rejoin != NO_BLOCK && rejoin != whole.meet;
        let (parent, meet) = if nested { (split as u32, rejoin) } else { (whole.parent, whole.meet) };
        let start = |to: u32| code.blocks[to as usize].first;
        if nested {
            let node = &mut self.splits[split];
            node.state = State::Parted;
            node.arrived = 0;
            node.block = rejoin;
            node.pc = start(rejoin);
        } else {
            self.remove(split);
        }
        let mut first = None;
        for &(to, lanes) in ways {
            if lanes == 0 {
                continue;
            }
            let child = Split {
                state: State::Ready,
                mask: lanes,
                arrived: 0,
                pc: start(to),
                block: to,
                meet,
                parent,
                call: NO_BLOCK,
                ..whole.clone()
            };
            let child = self.add(child);
            if to == meet {
                self.arrive(child, lanes);
            } else {
                first.get_or_insert(child);
            }
        }
        if let Some(first) = first {
            self.current = first;
        }
    }

    /// Lanes of `split` have come to the block where their siblings meet.
    fn arrive(&mut self, split: usize, lanes: LaneMask) {
        let parent = self.splits[split].parent;
        self.remove(split);
        if parent != NONE {
            let node = &mut self.splits[parent as usize];
            node.arrived |= lanes;
            self.settle(parent as usize);
        }
    }

    /// Lets a parted split go on if nobody is missing.
    fn settle(&mut self, node: usize) {
        let s = &mut self.splits[node];
        if s.state != State::Parted {
            return;
        }
        if s.mask == 0 {
            self.remove(node);
        } else if s.arrived == s.mask {
            s.state = State::Ready;
            s.arrived = 0;
            s.call = NO_BLOCK;
            self.current = node;
        }
    }

    /// Calls, returns, exits and branch tables. `Some(block)`: all lanes go on there.
    fn leave(
        &mut self,
        x: &mut Exec<'_>,
        kernel: &Kernel,
        code: &Code,
        exit: &Exit,
        mask: LaneMask,
    ) -> Result<Option<u32>, Cause> {
        let current = self.current;
        match exit {
            Exit::Jump { .. } | Exit::Branch { .. } => unreachable!("handled by the run loop"),
            Exit::Return { test, other } | Exit::Exit { test, other } => {
                let going = mask & x.truth(*test);
                let returns = matches!(exit, Exit::Return { .. }) && self.caller(current).is_some();
                if going != 0 {
                    if returns {
                        self.come_back(kernel, current, going);
                    } else {
                        self.end(x, going)?;
                    }
                }
                if going == mask {
                    self.remove(current);
                    return Ok(None);
                }
                if going != 0 {
                    self.splits[current].mask &= !going;
                    self.save(current, *other, code.blocks[*other as usize].first);
                    return Ok(None);
                }
                Ok(Some(*other))
            }
            Exit::Table { test, index, targets, other, meet } => {
                let going = mask & x.truth(*test);
                // SAFETY: decoding gave a 32-bit slot.
                let indices = unsafe { read_lanes::<u32>(x, *index) };
                let mut ways: Vec<(u32, LaneMask)> = Vec::new();
                for lane in 0..LANES {
                    let bit = 1 << lane;
                    let to = if mask & bit == 0 {
                        continue;
                    } else if going & bit == 0 {
                        *other
                    } else if let Some(to) = targets.get(indices[lane] as usize) {
                        *to
                    } else {
                        let message =
                            format!("branch table index {} is outside its {} targets", indices[lane], targets.len());
                        return Err(Cause::Trap { lane: lane as u32, message });
                    };
                    match ways.iter_mut().find(|w| w.0 == to) {
                        Some(way) => way.1 |= bit,
                        None => ways.push((to, bit)),
                    }
                }
                if let [(to, _)] = ways[..] {
                    return Ok(Some(to));
                }
                self.part(code, current, *meet, &ways);
                Ok(None)
            }
            Exit::Call(call) => {
                let going = mask & x.truth(call.test);
                if going == 0 {
                    return Ok(Some(call.next));
                }
                let mut callees: Vec<(u32, LaneMask)> = Vec::new();
                match call.callee {
                    Callee::Known(f) => callees.push((f, going)),
                    Callee::Indirect(slot) => {
                        // SAFETY: decoding gave a 64-bit slot.
                        let targets = unsafe { read_lanes::<u64>(x, slot) };
                        for lane in (0..LANES).filter(|l| going >> l & 1 != 0) {
                            let f = function_at(kernel, targets[lane]).ok_or_else(|| Cause::Trap {
                                lane: lane as u32,
                                message: format!("indirect call of {:#x}, which is no function", targets[lane]),
                            })?;
                            match callees.iter_mut().find(|c| c.0 == f) {
                                Some(c) => c.1 |= 1 << lane,
                                None => callees.push((f, 1 << lane)),
                            }
                        }
                    }
                }
                self.call(kernel, code, current, call, &callees, mask & !going)?;
                Ok(None)
            }
        }
    }

    /// Lanes exit the kernel.
    fn end(&mut self, x: &mut Exec<'_>, lanes: LaneMask) -> Result<(), Cause> {
        self.live &= !lanes;
        x.live = self.live;
        for node in 0..self.splits.len() {
            if self.splits[node].state == State::Parted {
                self.splits[node].mask &= !lanes;
                self.splits[node].arrived &= !lanes;
            }
        }
        let current = self.current;
        for node in 0..self.splits.len() {
            self.settle(node);
        }
        self.current = current;
        self.spins = 0;
        self.open_if_complete(x)
    }
}

fn function_at(kernel: &Kernel, address: u64) -> Option<u32> {
    let index = address.checked_sub(FUNCTION_WINDOW)?;
    *kernel.function_table.get(usize::try_from(index).ok()?)?
}

/// Appends one operation to the listener's batch; one per address set if the access was split by memory.
fn tell(x: &mut Exec<'_>, pc: u32, mask: LaneMask, first_address: usize) {
    let Some(sink) = x.listener() else { return };
    let sets = sink.addresses.len();
    if first_address >= sets {
        sink.ops.push(WarpOp { pc, mask, addresses: WarpOp::NO_ADDRESSES });
        return;
    }
    for set in first_address..sets {
        let mask = mask & sink.addresses[set].mask;
        sink.ops.push(WarpOp { pc, mask, addresses: set as u32 });
    }
}
