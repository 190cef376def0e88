//! Recording: a source that writes down what passes through it, and a driver for runs without time.
//!
//! Each warp has a stream of its own; the order between warps is kept only where a CTA barrier makes it, as groups of warps
//! that go on together (see `cta`). A barrier opens in a replay when everybody has come who had to come when it was recorded:
//!
//! * the warps it held back;
//! * if these and the warps that had exited are all there are, the exits (a barrier for the whole CTA);
//! * otherwise the warp whose step opened it, and the last `arrive` of warps that go on without waiting. A warp that
//!   arrives at several named barriers ahead of others may so hold one of them closed longer than it would be.

use crate::cta::{CtaRecord, Group};
use crate::error::TraceError;
use crate::segment::WarpEncoder;
use crate::stream::LaunchInfo;
use crate::table::Table;
use crate::writer::TraceWriter;
use std::io::Write;
use std::sync::Arc;
use strata_core::{Access, GridSource, OpBatch, OpInfo, OpKind, Stop, WarpId, WarpOp, WarpSource};

/// A source of warp operations that records what it hands out.
///
/// If the trace cannot be written, the source fails ([`Stop::Failed`]) and [`Recorder::finish`] says why.
pub struct Recorder<'a, S, W> {
    source: &'a mut S,
    writer: &'a mut TraceWriter<W>,
    table: Arc<Table>,
    /// How far apart the local memories of two slots lie.
    local: u64,
    slots: Vec<Slot>,
    opened: Vec<WarpId>,
    error: Option<TraceError>,
}

/// A CTA that is being recorded.
#[derive(Default)]
struct Slot {
    number: u64,
    warps: Vec<WarpEncoder>,
    /// First address by slot of the table.
    first: Vec<Option<u64>>,
    groups: Vec<Group>,
    exited: Vec<bool>,
    /// Segments after which each warp last arrived at a barrier without waiting.
    arrived: Vec<Option<u32>>,
    operations: u64,
    memory_operations: u64,
}

impl<'a, S: GridSource, W: Write> Recorder<'a, S, W> {
    /// Begins to record a launch of `source`.
    pub fn new(source: &'a mut S, info: LaunchInfo, writer: &'a mut TraceWriter<W>) -> Result<Self, TraceError> {
        if source.ctas() != info.grid.count() || source.warps_per_cta() != info.warps_per_cta() {
            return Err(TraceError::Stream(format!(
                "kernel `{}`: the source has {} CTAs of {} warps, the launch {} of {}",
                info.kernel,
                source.ctas(),
                source.warps_per_cta(),
                info.grid.count(),
                info.warps_per_cta()
            )));
        }
        let local = info.local.0;
        let table = writer.begin_launch(info, source.instructions())?;
        Ok(Self { source, writer, table, local, slots: Vec::new(), opened: Vec::new(), error: None })
    }

    /// Says whether everything was recorded; [`TraceWriter::end_launch`] is next.
    pub fn finish(self) -> Result<(), TraceError> {
        self.error.map_or(Ok(()), Err)
    }

    /// Writes down a segment and what it opened.
    fn record(&mut self, w: WarpId, ops: &[WarpOp], batch: &OpBatch, stop: Stop) -> Result<(), TraceError> {
        let warps = self.source.warps_per_cta();
        let (number, w) = ((w.0 / warps) as usize, (w.0 % warps) as usize);
        let Some(slot) = self.slots.get_mut(number) else {
            return Err(TraceError::Stream(format!("nothing runs in slot {number}")));
        };
        let moved = self.local.wrapping_mul(number as u64);
        slot.warps[w].segment(&self.table, &mut slot.first, ops, batch, moved, stop).map_err(TraceError::Stream)?;
        slot.operations += ops.len() as u64;
        slot.memory_operations += ops.iter().filter(|op| op.addresses != WarpOp::NO_ADDRESSES).count() as u64;
        if stop == Stop::Ready
            && ops.last().is_some_and(|op| self.table.infos[op.pc as usize].kind == OpKind::CtaArrival)
        {
            slot.arrived[w] = Some(slot.warps[w].segments);
        }
        slot.exited[w] = stop == Stop::Exited;
        let from = self.opened.len();
        self.source.take_opened(&mut self.opened);
        if self.opened.len() > from {
            let base = number as u32 * warps;
            let members = self.opened[from..].iter().map(|id| id.0.wrapping_sub(base)).collect();
            slot.open(w as u32, members)?;
        }
        if slot.exited.iter().all(|&exited| exited) {
            let record = CtaRecord::new(slot.number, &slot.first, &slot.warps, &slot.groups);
            self.writer.cta(record, slot.operations, slot.memory_operations)?;
        }
        Ok(())
    }
}

impl Slot {
    fn start(&mut self, number: u64, warps: usize, table: &Table) {
        self.number = number;
        self.warps.resize_with(warps, WarpEncoder::default);
        self.warps.iter_mut().for_each(|warp| warp.start(table));
        self.first.clear();
        self.first.resize(table.addressed, None);
        self.groups.clear();
        self.exited.clear();
        self.exited.resize(warps, false);
        self.arrived.clear();
        self.arrived.resize(warps, None);
        (self.operations, self.memory_operations) = (0, 0);
    }

    /// A step of warp `trigger` let `members` go.
    fn open(&mut self, trigger: u32, members: Vec<u32>) -> Result<(), TraceError> {
        let all = self.warps.len();
        if members.iter().any(|&m| m as usize >= all) {
            return Err(TraceError::Stream("a barrier let a warp of another CTA go".into()));
        }
        let others: Vec<usize> = (0..all).filter(|&w| !members.contains(&(w as u32))).collect();
        let exited = |w: &usize| self.exited[*w];
        let conditions: Vec<(u32, u32)> = if others.iter().all(exited) {
            others.iter().map(|&w| (w as u32, self.warps[w].segments)).collect()
        } else {
            let after = |&w: &usize| {
                let opens = (w as u32 == trigger).then_some(self.warps[w].segments);
                opens.or(self.arrived[w]).map(|segments| (w as u32, segments))
            };
            others.iter().filter_map(after).collect()
        };
        self.groups.push(Group { members, conditions });
        Ok(())
    }
}

impl<S: GridSource, W: Write> WarpSource for Recorder<'_, S, W> {
    fn advance(&mut self, w: WarpId, out: &mut OpBatch) -> Stop {
        if self.error.is_some() {
            return Stop::Failed;
        }
        let from = out.ops.len();
        let stop = self.source.advance(w, out);
        let recorded = match stop {
            Stop::Failed => Err(TraceError::ProgramFailed),
            _ => self.record(w, &out.ops[from..], out, stop),
        };
        match recorded {
            Ok(()) => stop,
            Err(error) => {
                self.error = Some(error);
                Stop::Failed
            }
        }
    }
}

impl<S: GridSource, W: Write> GridSource for Recorder<'_, S, W> {
    fn instructions(&self) -> &[OpInfo] {
        self.source.instructions()
    }

    fn ctas(&self) -> u64 {
        self.source.ctas()
    }

    fn warps_per_cta(&self) -> u32 {
        self.source.warps_per_cta()
    }

    fn start_cta(&mut self, slot: u32, number: u64) {
        self.source.start_cta(slot, number);
        if slot as usize == self.slots.len() {
            self.slots.push(Slot::default());
        }
        let warps = self.source.warps_per_cta() as usize;
        if let Some(place) = self.slots.get_mut(slot as usize) {
            place.start(number, warps, &self.table);
        }
    }

    fn take_opened(&mut self, out: &mut Vec<WarpId>) {
        out.append(&mut self.opened);
    }
}

/// Segments a warp runs before another has its turn.
const TURN: u32 = 4096;
/// Of these, segments cut after an atomic or an access past L1: a warp with so many may be waiting for another thread. If it
/// is not, nothing is lost but the memory of one more CTA.
const SPIN: u32 = TURN / 4;
/// CTAs that run together if they seem to wait for each other: no GPU holds more (144 SMs of 32).
const MAX_RESIDENT: usize = 4608;

/// Runs a launch without time and records it; `resident` is how many CTAs the source can hold at once, `progress` is told
/// how many have ended.
///
/// The launch is then ended with [`TraceWriter::end_launch`]. CTAs run one after the other, as in a functional run. Only if all warps of one seem to wait for another CTA does the next
/// start beside it.
pub fn record_launch<S: GridSource, W: Write>(
    source: &mut S,
    info: LaunchInfo,
    resident: usize,
    writer: &mut TraceWriter<W>,
    progress: &mut dyn FnMut(u64),
) -> Result<(), TraceError> {
    let mut recorder = Recorder::new(source, info, writer)?;
    let limit = resident.clamp(1, MAX_RESIDENT);
    let mut slots: Vec<Option<Warps>> = Vec::new();
    let mut driver = Driver { batch: OpBatch::default(), opened: Vec::new() };
    let (ctas, mut next, mut ended) = (recorder.ctas(), 0, 0);
    // CTAs that seemed to wait run again once another has ended, or when no further one can start.
    let mut again = false;
    loop {
        let free = slots.iter().position(Option::is_none).unwrap_or(slots.len());
        let turn = if !again && next < ctas && free < limit {
            recorder.start_cta(free as u32, next);
            next += 1;
            if free == slots.len() {
                slots.push(None);
            }
            slots[free] = Some(Warps::new(recorder.warps_per_cta()));
            free..free + 1
        } else if slots.iter().any(Option::is_some) {
            0..slots.len()
        } else {
            break;
        };
        again = false;
        for slot in turn {
            let Some(warps) = &mut slots[slot] else { continue };
            match driver.run_cta(&mut recorder, slot as u32, warps) {
                CtaEnd::Done => {
                    slots[slot] = None;
                    ended += 1;
                    progress(ended);
                    again = slots.iter().any(Option::is_some);
                }
                CtaEnd::Spins => {}
                CtaEnd::Failed => return recorder.finish(),
                CtaEnd::Stuck => {
                    return Err(TraceError::Stream("every warp of a CTA waits at a barrier and none opens".into()));
                }
            }
        }
    }
    recorder.finish()
}

/// Where the warps of a CTA are.
struct Warps {
    exited: Vec<bool>,
    waiting: Vec<bool>,
}

impl Warps {
    fn new(count: u32) -> Self {
        Self { exited: vec![false; count as usize], waiting: vec![false; count as usize] }
    }
}

enum CtaEnd {
    Done,
    /// Every warp that can run may be waiting for another CTA.
    Spins,
    Stuck,
    Failed,
}

struct Driver {
    batch: OpBatch,
    opened: Vec<WarpId>,
}

impl Driver {
    fn run_cta<S: GridSource>(&mut self, source: &mut S, slot: u32, warps: &mut Warps) -> CtaEnd {
        let count = warps.exited.len() as u32;
        loop {
            let (mut ran, mut moved) = (false, false);
            for w in 0..count {
                if warps.exited[w as usize] || warps.waiting[w as usize] {
                    continue;
                }
                ran = true;
                match self.run_warp(source, slot * count, w, warps) {
                    Some(spins) => moved |= !spins,
                    None => return CtaEnd::Failed,
                }
            }
            if warps.exited.iter().all(|&exited| exited) {
                return CtaEnd::Done;
            }
            if !ran {
                return CtaEnd::Stuck;
            }
            if !moved {
                return CtaEnd::Spins;
            }
        }
    }

    /// Gives a warp its turn. True if it may be waiting for another thread, `None` if it failed.
    fn run_warp<S: GridSource>(&mut self, source: &mut S, base: u32, w: u32, warps: &mut Warps) -> Option<bool> {
        let mut communications = 0;
        for _ in 0..TURN {
            self.batch.clear();
            let stop = source.advance(WarpId(base + w), &mut self.batch);
            match stop {
                Stop::Ready => {}
                Stop::Barrier => warps.waiting[w as usize] = true,
                Stop::Exited => warps.exited[w as usize] = true,
                Stop::Failed => return None,
            }
            source.take_opened(&mut self.opened);
            for opened in self.opened.drain(..) {
                if let Some(waiting) = warps.waiting.get_mut(opened.0.wrapping_sub(base) as usize) {
                    *waiting = false;
                }
            }
            if stop != Stop::Ready {
                return Some(false);
            }
            let last = self.batch.ops.last().and_then(|op| source.instructions().get(op.pc as usize));
            communications += u32::from(last.is_some_and(|i| i.bypass_l1 || i.access == Access::Atomic));
        }
        Some(communications >= SPIN)
    }
}
