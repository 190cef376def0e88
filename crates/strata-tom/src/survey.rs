//! A survey of a program: every instance of a candidate, executed without time.
//!
//! It counts instances, so that a share of them can be learned from; tells the mapping that suits all of them; and analyses
//! the offsets between accesses (TOM, Figures 5 and 6).

use crate::allocations::Allocations;
use crate::analyser::{Instance, Seen};
use crate::offsets::{Latest, Offsets};
use crate::table::Table;
use strata_core::{Access, Addr, Bytes, GridSource, LANES, LineAddr, OpBatch, OpInfo, Space, Stop, WarpId, WatchPoint};
use strata_sim::stack_map::StackMap;

/// What was seen of a program so far.
pub struct Survey {
    map: StackMap,
    /// The program's memory; candidates mark what they access.
    allocations: Allocations,
    /// Where ranges began that candidates accessed before the program gave them back.
    given_back: Vec<LineAddr>,
    /// What instances of candidates accessed, of those that have ended.
    pub seen: Seen,
    /// The offsets of each candidate: kernel, number of the candidate.
    pub offsets: Vec<(String, usize, Offsets)>,
}

/// A program failed while it was surveyed; the source knows how.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Failed;

/// The instance that a warp is in.
struct Inside {
    candidate: usize,
    instance: Instance,
    latest: Latest,
}

impl Survey {
    /// Nothing was seen yet.
    pub fn new(map: StackMap) -> Self {
        Self {
            map,
            allocations: Allocations::default(),
            given_back: Vec::new(),
            seen: Seen::default(),
            offsets: Vec::new(),
        }
    }

    /// The program gets memory.
    pub fn allocated(&mut self, start: Addr, size: Bytes) {
        self.allocations.allocated(start, size, false);
    }

    /// The program gives memory back.
    pub fn freed(&mut self, start: Addr) {
        if self.allocations.is_marked(start.line()) {
            self.given_back.push(start.line());
        }
        self.allocations.freed(start);
    }

    /// Where the ranges begin that candidates accessed.
    pub fn accessed(&self) -> Vec<LineAddr> {
        let mut all = self.allocations.marked();
        all.extend(&self.given_back);
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Executes a launch of `kernel`, CTA after CTA, and looks at it.
    pub fn launch<S: GridSource + ?Sized>(
        &mut self,
        kernel: &str,
        table: &Table,
        source: &mut S,
    ) -> Result<(), Failed> {
        let first_offset = self.offsets.iter().position(|o| o.0 == kernel).unwrap_or_else(|| {
            let new = (0..table.rows.len()).map(|k| (kernel.to_owned(), k, Offsets::default()));
            let at = self.offsets.len();
            self.offsets.extend(new);
            at
        });
        for (_, _, offsets) in &mut self.offsets[first_offset..first_offset + table.rows.len()] {
            offsets.launch_begins();
        }
        let infos = source.instructions().to_vec();
        let point = |pc| WatchPoint { pc, registers: Vec::new() };
        let points = table.rows.iter().flat_map(|row| [row.block.entry, row.block.end + 1]).map(point);
        source.watch(&points.collect::<Vec<_>>());
        let mut look = Look { survey: self, infos: &infos, table, first_offset, lines: Vec::new() };
        let warps = source.warps_per_cta();
        let (mut batch, mut opened) = (OpBatch::default(), Vec::new());
        for cta in 0..source.ctas() {
            source.start_cta(0, cta);
            let mut inside: Vec<Option<Inside>> = (0..warps).map(|_| None).collect();
            let (mut waiting, mut exited) = (vec![false; warps as usize], vec![false; warps as usize]);
            while exited.contains(&false) {
                for w in 0..warps as usize {
                    if waiting[w] || exited[w] {
                        continue;
                    }
                    batch.clear();
                    let stop = source.advance(WarpId(w as u32), &mut batch);
                    look.segment(&mut inside[w], &batch);
                    match stop {
                        Stop::Ready => {}
                        Stop::Barrier => waiting[w] = true,
                        Stop::Exited => exited[w] = true,
                        Stop::Failed => return Err(Failed),
                    }
                    source.take_opened(&mut opened);
                    opened.drain(..).for_each(|w| waiting[w.0 as usize] = false);
                }
            }
            for visit in &mut inside {
                look.leaves(visit);
            }
        }
        Ok(())
    }
}

/// A launch that is looked at.
struct Look<'a> {
    survey: &'a mut Survey,
    infos: &'a [OpInfo],
    table: &'a Table,
    first_offset: usize,
    lines: Vec<LineAddr>,
}

impl Look<'_> {
    fn leaves(&mut self, visit: &mut Option<Inside>) {
        if let Some(inside) = visit.take() {
            self.survey.seen.add(&inside.instance);
        }
    }

    /// A warp did this.
    fn segment(&mut self, visit: &mut Option<Inside>, batch: &OpBatch) {
        let pc = batch.ops.first().map(|op| op.pc);
        let is_in = |k: usize, pc: u32| (self.table.rows[k].block.begin..=self.table.rows[k].block.end).contains(&pc);
        if visit.as_ref().is_some_and(|v| !pc.is_some_and(|pc| is_in(v.candidate, pc))) {
            self.leaves(visit);
        }
        if visit.is_none() {
            let entered = self.table.rows.iter().position(|row| Some(row.block.entry) == pc);
            *visit =
                entered.map(|candidate| Inside { candidate, instance: Instance::default(), latest: Latest::default() });
        }
        let Some(inside) = visit else { return };
        let offsets = self.first_offset + inside.candidate;
        for op in &batch.ops {
            let Some(set) = batch.addresses.get(op.addresses as usize) else { continue };
            let accesses = matches!(self.infos[op.pc as usize].access, Access::Load | Access::Store);
            let Some(address) = batch.first_address(set).filter(|_| accesses && set.mask != 0) else { continue };
            if !matches!(set.space, Space::Global | Space::Local) {
                continue;
            }
            self.lines.clear();
            let lanes = batch.lanes(set);
            let active = (0..LANES).filter(|lane| set.mask >> lane & 1 != 0);
            self.lines.extend(active.map(|lane| Addr::line(lanes[lane])));
            self.lines.dedup();
            self.lines.sort_unstable();
            self.lines.dedup();
            for &line in &self.lines {
                inside.instance.access(&self.survey.map, line);
                self.survey.allocations.mark(line);
            }
            self.survey.offsets[offsets].2.access(&mut inside.latest, op.pc, address);
        }
    }
}
