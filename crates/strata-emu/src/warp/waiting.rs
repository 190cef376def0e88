//! Splits that wait: at barriers of the CTA and of the warp, and at collectives that lack members.

use super::{Split, State, Warp, WarpStop};
use crate::cta::{Barriers, give_reduction};
use crate::exec::{Exec, Flow};
use crate::fault::Cause;
use crate::inst::CtaBarrier;
use crate::kernel::{Code, Control};
use crate::lanes::read_lanes;
use crate::ops::collective::groups;
use arrayvec::ArrayVec;
use strata_core::{LANES, LaneMask};

impl Warp {
    /// The current split stopped at a barrier or an incomplete collective.
    pub(super) fn wait(
        &mut self,
        x: &mut Exec<'_>,
        code: &Code,
        barriers: &mut Barriers,
        current: usize,
        m: LaneMask,
    ) -> Option<WarpStop> {
        let pc = self.splits[current].pc;
        let i = &code.insts[pc as usize];
        let active = self.splits[current].mask;
        if m != active {
            // Lanes whose guard is false go on alone: they do not take part.
            let rest = Split { mask: active & !m, pc: pc + 1, ..self.splits[current].clone() };
            self.splits[current].mask = m;
            self.add(rest);
        }
        let control = code.control(i);
        match control {
            Control::Together => {
                self.splits[current].state = State::Members(LaneMask::MAX);
                if let Err(cause) = self.open_if_complete(x) {
                    x.fail(cause);
                    return Some(WarpStop::Fault);
                }
            }
            Control::WarpBarrier | Control::Collective { .. } => {
                if let Control::Collective { gather, .. } = control {
                    // SAFETY: the context points at this split's frame.
                    unsafe { gather(x, i, m) };
                }
                // SAFETY: decoding gave a 32-bit slot.
                let masks = unsafe { read_lanes::<u32>(x, i.e) };
                for (members, lanes) in groups(&masks, m) {
                    let group = Split { state: State::Members(members), mask: lanes, ..self.splits[current].clone() };
                    self.add(group);
                }
                self.remove(current);
                if let Err(cause) = self.open_if_complete(x) {
                    x.fail(cause);
                    return Some(WarpStop::Fault);
                }
            }
            Control::Barrier(barrier) => {
                let lane = m.trailing_zeros() as usize;
                // SAFETY: decoding gave 32-bit slots.
                let (id, count) = unsafe { (read_lanes::<u32>(x, i.a)[lane], read_lanes::<u32>(x, i.b)[lane]) };
                let CtaBarrier { vote, .. } = i.fields();
                let predicate = x.truth(vote);
                self.splits[current].pc = pc + 1;
                if barrier.waits {
                    self.splits[current].state = State::Barrier(id as u8);
                }
                let count = barrier.counted.then_some(count);
                // What follows an arrival must not run before the barrier had its chance to open.
                let stop = (!barrier.waits).then_some(WarpStop::Arrived);
                if let Err(cause) = barriers.arrive(id, count, x.warp as usize, m, barrier.waits, predicate) {
                    self.splits[current].pc = pc;
                    x.fail(cause);
                    return Some(WarpStop::Fault);
                }
                return stop;
            }
        }
        None
    }

    /// Opens every warp barrier whose live members have all come, and finishes collectives.
    pub(super) fn open_if_complete(&mut self, x: &mut Exec<'_>) -> Result<(), Cause> {
        let sets: ArrayVec<LaneMask, LANES> =
            self.splits.iter().filter_map(|s| if let State::Members(m) = s.state { Some(m) } else { None }).collect();
        let mut opened = ArrayVec::new();
        for members in sets {
            let here = self.splits.iter().filter(|s| s.state == State::Members(members)).fold(0, |all, s| all | s.mask);
            if here == 0 || members & self.live & !here != 0 {
                continue;
            }
            self.run_together(x, members, here)?;
            for k in 0..self.splits.len() {
                if self.splits[k].state != State::Members(members) {
                    continue;
                }
                self.enter(x, k);
                let s = &self.splits[k];
                let code = &x.launch.kernel.functions[s.code as usize];
                let i = &code.insts[s.pc as usize];
                if let Control::Collective { finish, .. } = code.control(i) {
                    // SAFETY: the context points at this split's frame.
                    unsafe { finish(x, i, s.mask) };
                }
                self.splits[k].state = State::Ready;
                self.splits[k].pc += 1;
                opened.push(k);
            }
        }
        self.reunite(&opened);
        let current = self.current;
        self.enter(x, current);
        Ok(())
    }

    /// If the splits that wait for `members` stand at an instruction that all lanes execute together, executes it for all.
    fn run_together(&mut self, x: &mut Exec<'_>, members: LaneMask, here: LaneMask) -> Result<(), Cause> {
        let waits = |s: &&Split| s.state == State::Members(members);
        let is_together = |s: &Split| {
            let code = &x.launch.kernel.functions[s.code as usize];
            matches!(code.control(&code.insts[s.pc as usize]), Control::Together)
        };
        let Some(first) = self.splits.iter().position(|s| waits(&s) && is_together(s)) else { return Ok(()) };
        let place = |s: &Split| (s.code, s.pc, s.units);
        let together = place(&self.splits[first]);
        // A fault is told of the current split.
        let current = std::mem::replace(&mut self.current, first);
        if self.splits.iter().filter(waits).any(|s| place(s) != together) {
            let what =
                "all lanes of a warp must execute this instruction (`.aligned`), but some wait at another".into();
            return Err(Cause::Unsupported { what });
        }
        self.enter(x, first);
        let code = &x.launch.kernel.functions[x.code as usize];
        let i = &code.insts[self.splits[first].pc as usize];
        // SAFETY: the context points at the frame that all these splits share.
        if unsafe { (i.run)(x, i, here) } == Flow::Fault {
            return Err(x.cause.take().map_or(Cause::Unsupported { what: "unknown fault".into() }, |c| *c));
        }
        self.current = current;
        Ok(())
    }

    /// Lets splits go that waited at CTA barrier `id`, and gives them its reduction; says whether they must keep step.
    pub(crate) fn open(&mut self, x: &mut Exec<'_>, id: u8, trues: u32, threads: u32) -> bool {
        let mut opened = ArrayVec::new();
        let mut keep_step = false;
        for k in 0..self.splits.len() {
            if self.splits[k].state != State::Barrier(id) {
                continue;
            }
            self.enter(x, k);
            let s = &self.splits[k];
            let code = &x.launch.kernel.functions[s.code as usize];
            let i = &code.insts[s.pc as usize - 1];
            if let Control::Barrier(barrier) = code.control(i) {
                give_reduction(x, i, s.mask, barrier.reduction, trues, threads);
                keep_step |= barrier.keeps_step;
            }
            self.splits[k].state = State::Ready;
            opened.push(k);
        }
        self.reunite(&opened);
        keep_step
    }

    /// Of splits that a barrier or collective let go, those at one place of one frame go on as one.
    fn reunite(&mut self, opened: &ArrayVec<usize, LANES>) {
        let place = |s: &Split| (s.pc, s.code, s.units, s.parent, s.meet);
        for (n, &a) in opened.iter().enumerate() {
            for &b in &opened[n + 1..] {
                let (one, other) = (&self.splits[a], &self.splits[b]);
                if one.state == State::Ready && other.state == State::Ready && place(one) == place(other) {
                    self.splits[a].mask |= other.mask;
                    self.remove(b);
                    if self.current == b {
                        self.current = a;
                    }
                }
            }
        }
    }

    /// Where the waiting splits stand, for a deadlock message: state, function, instruction, lanes.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = (State, u32, u32, LaneMask)> + '_ {
        self.splits
            .iter()
            .filter(|s| matches!(s.state, State::Barrier(_) | State::Members(_)))
            .map(|s| (s.state, s.code, s.pc - u32::from(matches!(s.state, State::Barrier(_))), s.mask))
    }
}
