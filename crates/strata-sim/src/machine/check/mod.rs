//! `--check-data`: would every load get the right data?
//!
//! The emulator holds the true values, so a timing model can lose data and nobody notices. Here every copy of a sector, in L1,
//! L2, memory and on the way between them, carries the set of writes that it contains ([`write_set::WriteSet`]), and follows
//! what the machine does with its tags. Two things are checked:
//!
//! * what L2 answers contains every write that ever arrived at L2, or the data was lost behind the crossbar;
//! * what a load gets contains every write that had taken functional effect when the load issued. Writes of other SMs in the
//!   same kernel are excepted: not seeing them is a race of the program, counted in [`CheckCounts`]. What a block on a
//!   memory stack must see, and who must see its writes, stands in `offloaded.rs`.
//!
//! The end of a kernel checks that nothing was lost of what L2 and memory hold together, a copy to the host that it would be
//! given the newest bytes. Pages that come and go (`pages.rs`) carry what they hold, too. A store to a line that is being
//! filled merges with the fill, in L1 as in L2. Constant caches are
//! not checked.
//!
//! What the machine calls here is `#[cold]`: without `--check-data` nobody comes, and the functions that it is called from stay small.

mod failure;
mod ledger;
mod offloaded;
mod pages;
#[cfg(test)]
mod tests;
mod write_set;

use super::sm_memory::{Request, RequestKind};
use crate::cache::{LineState, SectorMask, WayIndex};
use crate::coalesce::CoalescedAccess;
use crate::machine::{Machine, MachineError, NONE, Sm};
use failure::{Copy, Failure, Reader};
use ledger::{Ledger, LineCopy, Origin, SECTORS, Sector, members};
use offloaded::OffloadedBlocks;
use pages::Pages;
use rustc_hash::{FxHashMap, FxHashSet};
use strata_core::stats::{Stats, Unit};
use strata_core::{Addr, Bytes, LineAddr, OpInfo};
use write_set::WriteSet;

/// What a mutation test leaves out, once, to see that it is found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Mutation {
    /// A store updates its SM's L1.
    L1Update,
    /// L1 is emptied when a kernel begins.
    L1Flush,
    /// A dirty sector is written to memory.
    WriteBack,
    /// A fill leaves the bytes that stores have put into its sectors.
    FillMerge,
    /// L2 counts the bytes that stores have written of a sector.
    ByteCount,
    /// An offloaded block waits for the stores of its SM.
    Drain,
    /// The SM of a stack drops its cache before an offloaded block begins.
    StackFlush,
    /// A store of the requester makes the caches of stacks old.
    StoreAges,
    /// So does a block that ends and has written.
    BlockAges,
    /// So does the end of a kernel, in which other SMs may have stored.
    LaunchAges,
    /// The L1 of the requester drops what an offloaded block wrote.
    RequesterDrop,
    /// L2 drops what an offloaded block wrote.
    L2Drop,
    /// A memory side copies nothing from L2 that an SM on a stack has written since.
    StaleReference,
}

/// The writes that a load must see: all to its sectors that had issued before it.
#[derive(Clone, Copy)]
struct Need {
    reader: Origin,
    newest: [u32; SECTORS],
}

/// What was checked, and what is no error.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct CheckCounts {
    /// Sectors that loads and atomics were given.
    pub sectors: u64,
    /// Of those, the ones from an L1 that another SM's store of the same kernel had made stale.
    pub races: u64,
    /// Of those, the ones that L2 delivered before another SM's write, which had issued earlier, arrived.
    pub overtaken: u64,
}

/// The data of an L1 way, as sets of writes.
#[derive(Clone, Default)]
struct L1Line {
    line: LineAddr,
    copy: LineCopy,
}

/// Follows the data through the machine.
pub(super) struct DataChecker {
    /// Kernels launched so far.
    kernels: u32,
    /// PTX lines of the running kernel, by program counter.
    ptx_lines: Vec<u32>,
    /// The instruction that issues.
    issuing: Origin,
    ledger: Ledger,
    /// Lines that were written in this kernel or are not all in memory.
    open: FxHashSet<LineAddr>,
    /// Pages that come and go, if there are any.
    pages: Pages,
    /// Blocks that run on memory stacks.
    offloaded: OffloadedBlocks,
    /// Data of all L1 caches: by SM, then by [`WayIndex`].
    l1: Vec<Vec<L1Line>>,
    /// By request: what its load must see; the numbers of its writes; what L2 answered.
    needs: FxHashMap<u32, Need>,
    writes: FxHashMap<u32, [u32; SECTORS]>,
    answers: FxHashMap<u32, LineCopy>,
    /// What memory delivers, by L2 miss.
    fills: FxHashMap<u32, LineCopy>,
    /// What lines held when they left L2 for a victim buffer.
    victims: FxHashMap<LineAddr, LineCopy>,
    counts: CheckCounts,
    failure: Option<Box<Failure>>,
    pub(super) leave_out: Option<Mutation>,
}

impl DataChecker {
    /// Of a machine with these SMs, at whose caches nothing has happened yet.
    pub(super) fn of(sms: &[Sm]) -> Self {
        let l1_lines = sms.first().map_or(0, |sm| sm.memory.l1.lines());
        Self::new(sms.len(), l1_lines)
    }

    fn new(sms: usize, l1_lines: usize) -> Self {
        Self {
            kernels: 0,
            ptx_lines: Vec::new(),
            issuing: Origin::host(),
            ledger: Ledger::default(),
            open: FxHashSet::default(),
            pages: Pages::default(),
            offloaded: OffloadedBlocks::default(),
            l1: vec![vec![L1Line::default(); l1_lines]; sms],
            needs: FxHashMap::default(),
            writes: FxHashMap::default(),
            answers: FxHashMap::default(),
            fills: FxHashMap::default(),
            victims: FxHashMap::default(),
            counts: CheckCounts::default(),
            failure: None,
            leave_out: None,
        }
    }

    /// True once if a test wants this step left out.
    pub(super) fn omits(&mut self, step: Mutation) -> bool {
        self.leave_out.take_if(|s| *s == step).is_some()
    }

    /// An instruction issues; on a memory stack, as part of an offloaded block.
    #[cold]
    pub(super) fn issues(&mut self, sm: u32, pc: u32, cycle: u64, block: u32) {
        let line = self.ptx_lines.get(pc as usize).copied().unwrap_or(0);
        self.issuing = Origin { kernel: self.kernels.saturating_sub(1), sm, line, cycle, block };
    }

    fn need(&self, line: LineAddr) -> Need {
        Need { reader: self.issuing, newest: self.ledger.newest(line) }
    }

    fn fail(&mut self, failure: Failure) {
        self.failure.get_or_insert_with(|| Box::new(failure));
    }

    /// A request of the issuing instruction is sent: a write takes functional effect now.
    #[cold]
    pub(super) fn sent(&mut self, request: u32, r: &Request) {
        // What a prefetch brings is judged when a load takes it from L1.
        if r.load != NONE {
            self.needs.insert(request, self.need(r.line));
        }
        if r.kind == RequestKind::Read {
            if r.way != NONE {
                let l1 = self.l1_line(r.sm, r.way, r.line);
                members(r.sectors).for_each(|s| l1.copy[s] = WriteSet::default());
            }
            return;
        }
        self.open.insert(r.line);
        let (origin, sectors) = (self.issuing, self.ledger.line_mut(r.line));
        let mut numbers = [0; SECTORS];
        members(r.sectors).for_each(|s| numbers[s] = sectors[s].write(origin));
        self.writes.insert(request, numbers);
    }

    /// A load is merged with an outstanding miss of its line.
    #[cold]
    pub(super) fn l1_merge(&mut self, waiter: u32, line: LineAddr) {
        self.needs.insert(waiter, self.need(line));
    }

    /// The data of an L1 way; emptied if the way has been allocated to another line since.
    fn l1_line(&mut self, sm: u32, way: u32, line: LineAddr) -> &mut L1Line {
        let l1 = &mut self.l1[sm as usize][way as usize];
        if l1.line != line {
            *l1 = L1Line { line, copy: LineCopy::default() };
        }
        l1
    }

    /// A store that has just been sent passes through L1, where its line was `before`.
    #[cold]
    pub(super) fn l1_written(&mut self, sm: u32, way: WayIndex, request: &CoalescedAccess, before: LineState) {
        let newest = self.ledger.newest(request.line);
        if self.omits(Mutation::L1Update) {
            return;
        }
        let l1 = self.l1_line(sm, way.index(), request.line);
        for s in members(request.sectors) {
            let (bit, copy) = (SectorMask(1 << s), &mut l1.copy[s]);
            let holds_bytes = !bit.and(before.valid.or(before.pending)).is_empty();
            if !holds_bytes {
                *copy = WriteSet::default();
            }
            if !bit.and(request.full).is_empty() {
                copy.add_whole(newest[s]);
            } else if holds_bytes {
                copy.add(newest[s]);
            }
        }
    }

    /// The issuing load finds sectors in L1.
    #[cold]
    pub(super) fn l1_hit(&mut self, sm: u32, way: WayIndex, line: LineAddr, sectors: SectorMask) {
        let need = self.need(line);
        self.delivered_by_l1(&need, sm, way.index(), line, sectors);
    }

    /// A load that was merged with a miss gets its data from the filled line.
    #[cold]
    pub(super) fn waiter_served(&mut self, waiter: u32, w: &Request) {
        if let Some(need) = self.needs.remove(&waiter) {
            self.delivered_by_l1(&need, w.sm, w.way, w.line, w.sectors);
        }
    }

    fn delivered_by_l1(&mut self, need: &Need, sm: u32, way: u32, line: LineAddr, sectors: SectorMask) {
        let copy = std::mem::take(&mut self.l1_line(sm, way, line).copy);
        self.counts.races += self.missed_writes(need, line, sectors, &copy, Copy::L1(sm));
        self.l1_line(sm, way, line).copy = copy;
    }

    /// A reply reaches its SM: L1 is filled, the load gets its data.
    #[cold]
    pub(super) fn reply_arrives(&mut self, request: u32, r: &Request) {
        let mut copy = self.answers.remove(&request).unwrap_or_default();
        if r.way != NONE {
            let l1 = self.l1_line(r.sm, r.way, r.line);
            for s in members(r.sectors) {
                l1.copy[s].join(&copy[s]);
                copy[s].clone_from(&l1.copy[s]);
            }
        }
        self.writes.remove(&request);
        if let Some(need) = self.needs.remove(&request) {
            self.counts.overtaken += self.missed_writes(&need, r.line, r.sectors, &copy, Copy::Answer(r.sm));
        }
    }

    /// Sectors of a copy given to a load that lack a write of another SM; a write of anybody else fails the run.
    fn missed_writes(&mut self, need: &Need, line: LineAddr, sectors: SectorMask, copy: &LineCopy, at: Copy) -> u64 {
        self.counts.sectors += u64::from(sectors.count());
        let mut stale = 0;
        for s in members(sectors).filter(|&s| !copy[s].contains_up_to(need.newest[s])) {
            let Some(known) = self.ledger.line(line) else { continue };
            let by_others = |o: &Origin| o.kernel == need.reader.kernel && !self.offloaded.must_see(&need.reader, o);
            let mut missed = copy[s].missing(need.newest[s]).map(|write| known[s].origin(write));
            if let Some(missed) = missed.find(|o| !by_others(o)) {
                self.fail(Failure { line, sector: s, reader: Reader::Load(need.reader), at, missed });
                break;
            }
            stale += 1;
        }
        stale
    }

    /// A request looks its line up in L2, whose state was `before`: a write arrives.
    /// `bytes`: those of a store that does not cover its sectors, if L2 counts them.
    #[cold]
    pub(super) fn l2_access(&mut self, request: u32, r: &Request, bytes: u128, before: LineState) {
        let writes = if r.load == NONE { self.writes.remove(&request) } else { self.writes.get(&request).copied() };
        if writes.is_none() && self.ledger.line(r.line).is_none() {
            return;
        }
        let sectors = self.ledger.line_mut(r.line);
        let holds_bytes = before.valid.or(before.dirty).or(before.pending);
        members(SectorMask::ALL.without(holds_bytes)).for_each(|s| sectors[s].forget_l2());
        let Some(numbers) = writes else { return };
        for s in members(r.sectors) {
            let Sector { arrived, l2, l2_bytes, .. } = &mut sectors[s];
            if r.kind == RequestKind::Write && r.full.0 >> s & 1 != 0 {
                // It overwrites what arrived before it, whatever issued first.
                arrived.add_whole(numbers[s]);
                l2.join(arrived);
            } else {
                arrived.add(numbers[s]);
                l2.add(numbers[s]);
                *l2_bytes |= (bytes >> (32 * s)) as u32;
                if *l2_bytes == u32::MAX {
                    // Nothing is left of what was there before.
                    l2.join(arrived);
                }
            }
        }
    }

    /// A line that was `before` is prefetched into L2.
    #[cold]
    pub(super) fn l2_prefetched(&mut self, line: LineAddr, before: LineState) {
        if self.ledger.line(line).is_some() {
            let sectors = self.ledger.line_mut(line);
            let holds_bytes = before.valid.or(before.dirty).or(before.pending);
            members(SectorMask::ALL.without(holds_bytes)).for_each(|s| sectors[s].forget_l2());
        }
    }

    /// L2 fetches sectors from memory.
    #[cold]
    pub(super) fn fetched(&mut self, miss: u32, line: LineAddr) {
        if let Some(sectors) = self.ledger.line(line) {
            self.fills.insert(miss, std::array::from_fn(|s| sectors[s].memory.clone()));
        }
    }

    /// Memory has delivered sectors to L2.
    #[cold]
    pub(super) fn filled(&mut self, miss: u32, line: LineAddr, sectors: SectorMask) {
        let Some(fill) = self.fills.remove(&miss) else { return };
        let merges = !self.omits(Mutation::FillMerge);
        let known = self.ledger.line_mut(line);
        for s in members(sectors) {
            if !merges {
                known[s].l2 = WriteSet::default();
            }
            known[s].l2.join(&fill[s]);
        }
    }

    /// Clean sectors of a line leave L2, and a victim buffer may keep them.
    #[cold]
    pub(super) fn evicted(&mut self, line: LineAddr, clean: SectorMask) {
        let Some(known) = self.ledger.line(line) else { return };
        let kept = self.victims.entry(line).or_default();
        members(clean).for_each(|s| kept[s].clone_from(&known[s].l2));
    }

    /// A victim buffer gives sectors back.
    #[cold]
    pub(super) fn supplied(&mut self, line: LineAddr, sectors: SectorMask) {
        let Some(kept) = self.victims.get(&line) else { return };
        let known = self.ledger.line_mut(line);
        members(sectors).for_each(|s| known[s].l2.join(&kept[s]));
    }

    /// A memory side would deliver other bytes than memory holds for these sectors of a line.
    pub(super) fn check_delivery(&mut self, line: LineAddr, wrong: SectorMask) {
        self.fail_bytes(line, wrong, Copy::Memory);
    }

    /// A memory side takes sectors from a line in L2 that are not what it wants them for.
    pub(super) fn copied(&mut self, source: LineAddr, wrong: SectorMask) {
        self.fail_bytes(source, wrong, Copy::OtherLine);
    }

    fn fail_bytes(&mut self, line: LineAddr, wrong: SectorMask, at: Copy) {
        if let Some(sector) = members(wrong).next() {
            self.fail(Failure { line, sector, reader: Reader::MemorySide, at, missed: Origin::host() });
        }
    }

    /// Dirty sectors go from L2 to memory.
    #[cold]
    pub(super) fn written_back(&mut self, line: LineAddr, sectors: SectorMask) {
        if sectors.is_empty() || self.omits(Mutation::WriteBack) {
            return;
        }
        let known = self.ledger.line_mut(line);
        for s in members(sectors) {
            let Sector { l2, memory, .. } = &mut known[s];
            memory.join(l2);
        }
    }

    /// L2 answers a request: what it answers must contain all that ever arrived.
    #[cold]
    pub(super) fn l2_replies(&mut self, request: u32, r: &Request, slice: u32) {
        let Some(known) = self.ledger.line(r.line) else { return };
        let lacks =
            |s: usize| known[s].l2.first_missing_from(&known[s].arrived).map(|write| (s, known[s].origin(write)));
        let lost = members(r.sectors).find_map(lacks);
        if r.expects_reply() {
            self.answers.insert(request, std::array::from_fn(|s| known[s].l2.clone()));
        }
        if let Some((sector, missed)) = lost {
            let unneeded = if r.is_prefetch() { Reader::Prefetch } else { Reader::Reduction };
            let reader = self.needs.get(&request).map_or(unneeded, |need| Reader::Load(need.reader));
            self.fail(Failure { line: r.line, sector, reader, at: Copy::L2(slice), missed });
        }
    }

    /// The host writes to a line: memory has the bytes, and L2 too if the line is there, where it was `before`.
    #[cold]
    pub(super) fn host_wrote(
        &mut self,
        line: LineAddr,
        touched: SectorMask,
        whole: SectorMask,
        before: Option<LineState>,
    ) {
        self.open.insert(line);
        let away = self.pages.is_away(line);
        let known = self.ledger.line_mut(line);
        for s in members(touched) {
            let write = known[s].write(Origin::host());
            let Sector { arrived, l2, memory, host, .. } = &mut known[s];
            let is_whole = whole.0 >> s & 1 != 0;
            for copy in [&mut *arrived, &mut *host, &mut *memory].into_iter().take(if away { 2 } else { 3 }) {
                if is_whole { copy.add_whole(write) } else { copy.add(write) }
            }
            if away {
                continue;
            }
            if before.is_none_or(|b| b.valid.or(b.dirty).0 >> s & 1 == 0) {
                *l2 = WriteSet::default();
            }
            // A sector that is written in part is completed from memory.
            l2.join(memory);
        }
    }

    /// The first sector of a line of which the machine would deliver old bytes, if L2 has the line in this state.
    fn lost(&self, line: LineAddr, sectors: SectorMask, l2: LineState, slice: u32) -> Option<(usize, Origin, Copy)> {
        let known = self.ledger.line(line)?;
        members(sectors).find_map(|s| {
            let is = |mask: SectorMask| mask.0 >> s & 1 != 0;
            let (newest, sector) = (known[s].newest(), &known[s]);
            let (copy, at) = if self.pages.is_away(line) {
                (sector.host.clone(), Copy::HostPage)
            } else if is(l2.valid) {
                (sector.l2.clone(), Copy::L2(slice))
            } else {
                let mut copy = sector.memory.clone();
                if is(l2.dirty) {
                    copy.join(&sector.l2);
                }
                (copy, Copy::Memory)
            };
            let missed = copy.missing(newest).next()?;
            let at = if sector.arrived.missing(newest).any(|w| w == missed) { Copy::OnTheWay } else { at };
            Some((s, sector.origin(missed), at))
        })
    }
}

impl Machine {
    /// What was checked so far; `None` if data is not checked.
    pub fn checked(&self) -> Option<CheckCounts> {
        self.checker.as_ref().map(|c| c.counts)
    }

    /// A kernel with these instructions begins.
    pub(super) fn check_kernel_begin(&mut self, instructions: &[OpInfo]) {
        if let Some(c) = &mut self.checker {
            c.kernels += 1;
            c.offloaded = OffloadedBlocks::default();
            c.ptx_lines = instructions.iter().map(|i| i.line).collect();
        }
    }

    /// The error if data was found stale.
    #[inline]
    pub(super) fn data_fault(&self) -> Result<(), MachineError> {
        match &self.checker {
            Some(c) => c.failure.as_ref().map_or(Ok(()), |f| Err(self.data_error(f))),
            None => Ok(()),
        }
    }

    #[cold]
    fn data_error(&self, failure: &Failure) -> MachineError {
        let dirty = self.l2_state(failure.line).1.dirty.0 >> failure.sector & 1 != 0;
        MachineError::Data(failure.describe(&self.names, dirty))
    }

    /// A kernel has ended and nothing is under way: L2 and memory together must hold every write.
    pub(super) fn check_kernel_end(&mut self) -> Result<(), MachineError> {
        let Some(mut c) = self.checker.take() else { return Ok(()) };
        let mut open: Vec<_> = c.open.iter().copied().collect();
        open.sort_unstable();
        for line in open {
            let (slice, l2) = self.l2_state(line);
            if let Some((sector, missed, at)) = c.lost(line, SectorMask::ALL, l2, u32::from(slice)) {
                c.fail(Failure { line, sector, reader: Reader::EndOfKernel, at, missed });
            }
            let known = c.ledger.line_mut(line);
            known.iter_mut().for_each(Sector::settle);
            let away = c.pages.is_away(line);
            if known.iter().all(|s| if away { &s.host } else { &s.memory }.contains_up_to(s.newest())) {
                c.open.remove(&line);
            }
        }
        self.checker = Some(c);
        self.data_fault()
    }

    /// A device-to-host copy: an error if the machine would deliver old bytes. Without `--check-data` all is well.
    pub fn check_copy_out(&self, start: Addr, size: Bytes) -> Result<(), MachineError> {
        let Some(c) = &self.checker else { return Ok(()) };
        for (line, touched, _) in lines_of(start, size) {
            let (slice, l2) = self.l2_state(line);
            if let Some((sector, missed, at)) = c.lost(line, touched, l2, u32::from(slice)) {
                return Err(self.data_error(&Failure { line, sector, reader: Reader::Host, at, missed }));
            }
        }
        Ok(())
    }

    /// Adds what was checked since an earlier reading to a tree, below `prefix`.
    pub fn export_checked(&self, earlier: Option<CheckCounts>, prefix: &str, stats: &mut Stats) {
        let (Some(now), earlier) = (self.checked(), earlier.unwrap_or_default()) else { return };
        let mut count =
            |name: &str, value, unit, what| stats.count(format!("{prefix}.check.{name}"), value, unit, what);
        let what = "sectors given to loads and atomics whose data was checked";
        count("sectors", now.sectors - earlier.sectors, Unit::Sectors, what);
        let what =
            "of those, sectors from an L1 that another SM had made stale in the same kernel: races of the program";
        count("races", now.races - earlier.races, Unit::Sectors, what);
        let what = "of those, sectors that L2 gave before an earlier write of another SM in the same kernel arrived";
        count("overtaken", now.overtaken - earlier.overtaken, Unit::Sectors, what);
    }
}

/// The lines of a range of bytes, each with the sectors touched and those covered whole.
pub(super) fn lines_of(start: Addr, size: Bytes) -> impl Iterator<Item = (LineAddr, SectorMask, SectorMask)> {
    let end = start.0.saturating_add(size.0);
    let first = start.line().0;
    let after = if size.0 == 0 { first } else { end.div_ceil(strata_core::LINE_BYTES) };
    (first..after).map(move |line| {
        let (mut touched, mut whole) = (0, 0);
        for s in 0..SECTORS as u64 {
            let from = line * strata_core::LINE_BYTES + s * strata_core::SECTOR_BYTES;
            let to = from + strata_core::SECTOR_BYTES;
            touched |= u8::from(from < end && to > start.0) << s;
            whole |= u8::from(from >= start.0 && to <= end) << s;
        }
        (LineAddr(line), SectorMask(touched), SectorMask(whole))
    })
}
