//! Sectors that a plan takes from L2 instead of DRAM, and the check that they, and those that a memory side delivers, are the
//! right ones.

use super::{MemorySides, Partition, Running, STEP_BITS};
use crate::cache::SectorMask;
use crate::machine::channel_port::NO_SLICE;
use crate::machine::check::Mutation;
use crate::machine::home::Home;
use crate::machine::sm_memory::RequestKind;
use crate::machine::{Event, Machine};
use crate::seam::{Dir, Line, LocalLine, Move, StepSet, Wanted};
use crate::time::Cycles;
use strata_core::{LineAddr, SECTOR_BYTES};

/// What a plan takes from L2, and the steps that bring it otherwise.
#[derive(Clone, Copy)]
pub(super) struct CopySource {
    pub(super) line: LocalLine,
    pub(super) sectors: SectorMask,
    pub(super) otherwise: StepSet,
}

impl Running {
    /// The step that these are, if they are one read of DRAM.
    fn single_read(&self, steps: StepSet) -> Option<usize> {
        let k = steps.0.trailing_zeros() as usize;
        let is_read = matches!(self.plan.steps.get(k)?.what, Move::Dram { dir: Dir::Read, .. });
        (is_read && steps.0.is_power_of_two()).then_some(k)
    }
}

impl MemorySides {
    /// What memory holds of a line that is asked for.
    pub(super) fn expected(&self, home: &Home) -> Option<Box<Line>> {
        let image = self.partitions[usize::from(home.partition)].image.as_ref()?;
        Some(Box::new(*image.line(home.local)))
    }

    /// The sectors of a fill whose bytes the mechanism would get wrong.
    pub(super) fn wrong_sectors(&self, home: &Home, sectors: SectorMask) -> SectorMask {
        let Partition { chain, image, .. } = &self.partitions[usize::from(home.partition)];
        let delivered = chain.iter().find_map(|side| side.delivers(home.local));
        let (Some((known, bytes)), Some(image)) = (delivered, image) else { return SectorMask::NONE };
        sectors.and(known).and(differing(image.line(home.local), &bytes))
    }
}

impl Machine {
    /// Takes what it can of a line from L2. If that is all, the step ends when L2 has read it and the steps that would bring
    /// it are left out; else those go on, which takes longer.
    pub(super) fn start_copy(&mut self, step: u32, home: Home, source: CopySource, now: u64) {
        let CopySource { line, sectors, otherwise } = source;
        let (named, mut there) = self.clean_in_l2(home, line, sectors);
        let stale = self.is_stale_in_l2(named);
        // What an SM on a stack wants does not come from the GPU's cache; what one has written is old there.
        let keeps = self.checker.as_mut().is_some_and(|c| c.omits(Mutation::StaleReference));
        if home.slice == NO_SLICE || stale && !keeps {
            there = SectorMask::NONE;
        }
        let Some(sides) = &mut self.sides else { return };
        let running = &mut sides.running[step >> STEP_BITS];
        let single = running.single_read(otherwise);
        if there != sectors && single.is_none() {
            there = SectorMask::NONE;
        }
        let Partition { chain, image, .. } = &mut sides.partitions[usize::from(home.partition)];
        let wanted = Wanted { line: home.local, sectors };
        let copied = chain.iter_mut().fold(there, |there, side| side.copies(wanted, line, there)).and(there);
        if copied == sectors {
            (running.begun, running.ended) = (running.begun | otherwise.0, running.ended | otherwise.0);
        } else if let Some(Move::Dram { sectors, .. }) = single.map(|k| &mut running.plan.steps[k].what) {
            *sectors = sectors.without(copied);
        }
        if let (Some(checker), Some(image), Some(expected)) = (&mut self.checker, image, &running.expected) {
            // What is clean in L2 is what memory holds under that name.
            let differs = if stale { SectorMask::ALL } else { differing(image.line(line), expected) };
            checker.copied(named, copied.and(differs));
        }
        if !copied.is_empty() {
            let slice = self.interleave.home(named).slice;
            let s = &mut self.slices[usize::from(slice)];
            s.stats.copied += u64::from(copied.count());
            let service = s.occupy(RequestKind::Read, copied, SectorMask::NONE, 0, now, &self.config.l2);
            self.count_service(RequestKind::Read, service);
            if copied == sectors {
                self.queue.push(self.config.clock.l2.edge(Cycles(service.ready)), Event::new(Event::STEP, step));
                return;
            }
        }
        self.end_step(step);
    }

    /// True if L2 may have what was in a line before an SM on a stack wrote it.
    fn is_stale_in_l2(&self, line: LineAddr) -> bool {
        self.sides.as_ref().is_some_and(|sides| sides.written_near.contains(&line))
    }

    /// The sectors of a partition's line that L2 has and that memory has, too; and the line.
    fn clean_in_l2(&self, home: Home, line: LocalLine, wanted: SectorMask) -> (LineAddr, SectorMask) {
        let lines = self.sides.as_ref().map(|sides| &sides.partitions[usize::from(home.partition)].lines);
        let Some(line) = lines.and_then(|lines| *lines.get(line.0)) else { return (LineAddr(0), SectorMask::NONE) };
        let state = self.l2_state(line).1;
        (line, wanted.and(state.valid).without(state.dirty))
    }
}

/// The sectors in which two lines differ.
fn differing(a: &Line, b: &Line) -> SectorMask {
    let sectors = a.chunks_exact(SECTOR_BYTES as usize).zip(b.chunks_exact(SECTOR_BYTES as usize));
    SectorMask(sectors.enumerate().fold(0, |mask, (k, (a, b))| mask | u8::from(a != b) << k))
}
