//! A launch under somebody else's control: the emulator as a source of warp operations.
//!
//! A timing model or a trace writer decides which CTA becomes resident when, and which warp runs next; the emulator executes
//! and tells what happened. See [`WarpSource::advance`] for how far a warp runs each time.

use crate::cta::Cta;
use crate::exec::{Exec, TouchedRange};
use crate::fault::Fault;
use crate::kernel::Kernel;
use crate::launch::{LaunchState, add_visits, local_bytes_per_cta, locate};
use crate::turn::Turn;
use crate::warp::{Visits, WarpStop};
use crate::watch::Watch;
use std::ptr::NonNull;
use strata_core::{
    Counts, GridSource, LANES, LINE_BYTES, LineAddr, Nearness, OpBatch, OpInfo, Stop, WarpId, WarpSource, WatchPoint,
    prefetch,
};

/// A launch whose CTAs and warps are run on demand.
pub struct Execution<'l> {
    state: &'l LaunchState<'l>,
    x: Exec<'l>,
    // `x` points into this.
    _touched: Box<[TouchedRange]>,
    slots: Vec<Slot>,
    visits: Vec<Visits>,
    turn: Turn,
    opened: Vec<WarpId>,
    fault: Option<Box<Fault>>,
}

/// A place for a resident CTA.
struct Slot {
    cta: Cta,
    /// Warps that wait at a CTA barrier.
    waiting: Vec<bool>,
}

impl<'l> Execution<'l> {
    pub(crate) fn new(state: &'l LaunchState<'l>) -> Self {
        let mut touched = vec![TouchedRange::default(); state.kernel.memory_instructions as usize].into_boxed_slice();
        let x = state.context(&mut touched);
        Self {
            state,
            x,
            _touched: touched,
            slots: Vec::new(),
            visits: vec![Visits::default(); state.kernel.visits.len()],
            turn: Turn::new(state.instruction_limit),
            opened: Vec::new(),
            fault: None,
        }
    }

    /// An estimate of the registers a thread needs: the most that any function of the kernel does.
    pub fn registers(&self) -> u32 {
        self.state.kernel.registers()
    }

    /// Bytes of shared memory of a CTA.
    pub fn shared_bytes(&self) -> u64 {
        self.state.shared_bytes
    }

    /// How far apart the local memories of two CTA slots lie.
    pub fn local_bytes_per_cta(&self) -> u64 {
        local_bytes_per_cta(self.state.kernel, self.state.block)
    }

    /// CTAs that can be resident together.
    pub fn resident_limit(&self) -> usize {
        self.state.resident_limit()
    }

    /// The number of warp `w` of the CTA in `slot`.
    pub fn warp(&self, slot: u32, w: u32) -> WarpId {
        WarpId(slot * self.warps_per_cta() + w)
    }

    /// What went wrong, after [`Stop::Failed`].
    pub fn take_fault(&mut self) -> Option<Box<Fault>> {
        self.fault.take()
    }

    /// What was executed so far.
    pub fn counts(&self) -> Counts {
        let mut counts = Counts {
            bytes_read: self.x.bytes_read,
            bytes_written: self.x.bytes_written,
            divisions_by_zero: self.x.divisions_by_zero,
            ..Counts::default()
        };
        add_visits(self.state.kernel, &self.visits, &mut counts);
        counts
    }
}

impl WarpSource for Execution<'_> {
    fn advance(&mut self, w: WarpId, out: &mut OpBatch) -> Stop {
        let warps = self.state.warps_per_cta();
        let (slot, warp) = (w.0 as usize / warps, w.0 as usize % warps);
        let place = &mut self.slots[slot];
        let x = &mut self.x;
        x.shared = place.cta.shared.as_mut_ptr().cast();
        x.cta = place.cta.number;
        x.resident = slot as u32;
        Cta::select_warp(x, warp);
        x.sink = Some(NonNull::from(&mut *out));
        let cta = &mut place.cta;
        self.turn.begin(u64::MAX, 0);
        let stop =
            cta.warps[warp].run::<true>(x, self.state.kernel, &mut cta.barriers, &mut self.visits, &mut self.turn);
        x.sink = None;
        let stop = match stop {
            WarpStop::Exited => Stop::Exited,
            WarpStop::Waiting => {
                place.waiting[warp] = true;
                Stop::Barrier
            }
            WarpStop::Segment | WarpStop::Yielded { .. } | WarpStop::TurnOver { .. } => return Stop::Ready,
            WarpStop::Arrived => Stop::Ready,
            WarpStop::Fault => {
                self.fault = Some(Box::new(locate(self.state, x, cta, warp)));
                return Stop::Failed;
            }
        };
        // The last to come, or to exit, opens the barrier. If everybody waits and none opens, lanes that wait for their
        // siblings to pass it are let go; if there are none, nothing will ever move.
        let mut moved = place.cta.open_barriers(x).is_some();
        let all_wait = |p: &Slot| p.cta.warps.iter().zip(&p.waiting).all(|(w, &waits)| waits || w.live == 0);
        if !moved && stop != Stop::Ready && all_wait(place) && place.waiting.contains(&true) {
            moved = place.cta.let_go();
            if !moved {
                let warp = place.cta.deadlock(x);
                self.fault = Some(Box::new(locate(self.state, x, &place.cta, warp)));
                return Stop::Failed;
            }
        }
        if moved {
            for (k, waiting) in place.waiting.iter_mut().enumerate() {
                if *waiting && place.cta.warps[k].can_run() {
                    *waiting = false;
                    self.opened.push(WarpId((slot * warps + k) as u32));
                }
            }
        }
        stop
    }
}

impl GridSource for Execution<'_> {
    fn instructions(&self) -> &[OpInfo] {
        &self.state.kernel.infos
    }

    fn place(&self, pc: u32) -> Option<String> {
        let Kernel { functions, origin, infos, .. } = self.state.kernel;
        let code = functions.iter().rfind(|code| code.first_pc <= pc)?;
        let function = &origin.module.functions[code.index as usize];
        let source = function.instructions.get((pc - code.first_pc) as usize).and_then(|i| origin.source_of(i));
        source.or_else(|| Some(format!("{}:{}", origin.file, infos.get(pc as usize)?.line)))
    }

    fn ctas(&self) -> u64 {
        self.state.grid.count()
    }

    fn warps_per_cta(&self) -> u32 {
        self.state.warps_per_cta() as u32
    }

    fn start_cta(&mut self, slot: u32, number: u64) {
        let warps = self.state.warps_per_cta();
        if slot as usize == self.slots.len() {
            let cta = Cta::new(warps, self.state.shared_bytes);
            self.slots.push(Slot { cta, waiting: vec![false; warps] });
        }
        let place = &mut self.slots[slot as usize];
        place.cta.start(self.state.kernel, number, self.state.block.count());
        place.waiting.fill(false);
    }

    fn take_opened(&mut self, out: &mut Vec<WarpId>) {
        out.append(&mut self.opened);
    }

    fn watch(&mut self, points: &[WatchPoint]) {
        self.x.watch = Some(Box::new(Watch::new(self.state.kernel, points)));
    }

    fn watched(&self) -> &[[i64; LANES]] {
        self.x.watch.as_ref().map_or(&[], |watch| &watch.values)
    }

    #[inline]
    fn prefetch(&self, w: WarpId, how_near: Nearness) {
        let warps = self.state.warps_per_cta();
        let (slot, warp) = (w.0 as usize / warps, w.0 as usize % warps);
        let Some(place) = self.slots.get(slot) else { return };
        if how_near == Nearness::Far {
            prefetch(&place.cta.warps);
            prefetch(&place.cta.shared);
            prefetch(&place.waiting);
        } else if let Some(warp) = place.cta.warps.get(warp) {
            if how_near == Nearness::Near { warp.prefetch() } else { prefetch(warp) }
        }
    }

    fn read_line(&self, line: LineAddr, out: &mut [u8; LINE_BYTES as usize]) {
        self.state.memory.read_line(line, out);
    }
}
