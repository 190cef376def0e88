//! An L2 slice: a bank of a sectored cache with its MSHRs, its input queue and, with a mechanism, a victim buffer.
//!
//! A slice knows neither SMs nor memory: it takes requests, and says the outcome of each and what must be fetched or written
//! back. That happens in the order of the fields of [`Served`].

use super::dirty_cap::DirtyCap;
use super::prefetching::{Prefetching, ProposalOutcome};
use super::sm_memory::{Request, RequestKind};
use super::waiting::{self, WaitCursor};
use super::written_bytes::WrittenBytes;
use crate::cache::{Evicted, LineState, SectorMask, Tags, WayIndex};
use crate::config::{GpuConfig, L2Config, WriteMiss, WritePolicy};
use crate::seam::{Replacement, SideCount, Victim};
use crate::slab::Slab;
use crate::stats::SliceStats;
use std::collections::VecDeque;
use strata_core::LineAddr;

/// An L2 slice: tags, MSHRs and queues.
pub(super) struct Slice {
    pub(super) tags: Tags,
    /// When it takes the next request, in sixteenths of an L2 cycle.
    free: u64,
    /// The time that zero to four whole sectors take, in sixteenths of an L2 cycle.
    whole_times: [u64; 5],
    /// Input queue: requests that wait for an MSHR or the miss queue, in order, with the L2 cycle since when.
    pub(super) held: VecDeque<(u32, u64)>,
    /// The first of those missed, and nothing was put in since: only room can help it.
    head_misses: bool,
    /// MSHRs in use: misses that memory has not filled.
    pub(super) outstanding: u32,
    /// Requests to memory that their channel has not accepted yet, or a memory side has not come to the last step of.
    pub(super) queued: u32,
    /// Write-backs that a memory side has not come to the end of.
    pub(super) posted: u32,
    /// The victim buffer, which takes the clean sectors of evicted lines.
    pub(super) victim: Option<Box<dyn Victim>>,
    pub(super) prefetching: Option<Box<Prefetching>>,
    written: WrittenBytes,
    dirty_cap: Option<Box<DirtyCap>>,
    pub(super) stats: SliceStats,
}

/// Dirty sectors that go to memory, and the sectors of their line that L2 has, or had until now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Dirty {
    pub(super) line: LineAddr,
    pub(super) sectors: SectorMask,
    pub(super) valid: SectorMask,
}

/// When a slice serves a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Service {
    /// L2 cycles that it waited for others.
    pub(super) waited: u64,
    /// L2 cycles from the start of service until a hit has its data.
    pub(super) latency: u32,
    /// The L2 cycle at which that is.
    pub(super) ready: u64,
}

/// What a slice does for a request.
pub(super) struct Served {
    pub(super) service: Service,
    /// The line that was evicted for it.
    pub(super) evicted: Option<Evicted>,
    /// Eager write-back: dirty sectors of a line that stays and is no longer among the young ones of its set.
    pub(super) aged: Option<Dirty>,
    /// The way of the request's line, and the line's state before.
    pub(super) way: WayIndex,
    pub(super) before: LineState,
    /// Sectors that the victim buffer supplied.
    pub(super) supplied: SectorMask,
    /// This is the first demand access to a line that was prefetched.
    pub(super) prefetched: bool,
    /// The L2 cycle at which the reply is ready if the request need not wait for memory.
    pub(super) ready: u64,
    pub(super) outcome: SliceOutcome,
}

/// The outcome of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum SliceOutcome {
    /// It is stored; `through`: it goes to memory at once, where L2 has these sectors of the line.
    Stored { through: Option<SectorMask> },
    /// It goes to memory at once, where L2 has these `valid` sectors of the line, and waits for the line, of which these must be
    /// fetched.
    WriteMiss { valid: SectorMask, fetch: SectorMask },
    /// All sectors are valid: it is replied to.
    Hit,
    /// All missing sectors are pending: it is merged with their fills.
    Merged,
    /// These sectors must be fetched from memory; it waits for them.
    Miss(SectorMask),
}

/// What a prefetch of a line does, in order.
pub(super) struct Prefetched {
    pub(super) evicted: Option<Evicted>,
    pub(super) aged: Option<Dirty>,
    /// Where the line is, and how it was.
    pub(super) way: WayIndex,
    pub(super) before: LineState,
    /// What memory is to be asked for.
    pub(super) sectors: SectorMask,
}

/// What the host's write to a line did.
pub(super) struct HostWritten {
    /// How the line was, if the slice has it now.
    pub(super) before: Option<LineState>,
    pub(super) evicted: Option<Evicted>,
    pub(super) aged: Option<Dirty>,
}

impl Slice {
    pub(super) fn new(config: &GpuConfig) -> Self {
        let l2 = &config.l2;
        Self {
            tags: Tags::with_young(l2.sets, l2.ways, l2.eager_write_back),
            free: 0,
            whole_times: std::array::from_fn(|sectors| u64::from(sectors as u32 * 32 * 16 / l2.bytes_per_cycle)),
            held: VecDeque::new(),
            head_misses: false,
            outstanding: 0,
            queued: 0,
            posted: 0,
            victim: None,
            prefetching: None,
            written: WrittenBytes::new((l2.sets * l2.ways) as usize),
            dirty_cap: DirtyCap::of(l2.sets * l2.ways, l2.dirty_share),
            stats: SliceStats::default(),
        }
    }

    /// True if two more requests to memory (a miss and the write-back of the line it evicts) find room.
    /// A memory side holds as many write-backs as there are misses (choice), so that its slowness is felt here.
    fn has_room(&self, l2: &L2Config) -> bool {
        self.queued + 2 <= l2.miss_queue && self.outstanding < l2.mshrs && self.posted < l2.mshrs
    }

    /// The first of the held requests, with the L2 cycle since when, if it makes sense to try it again.
    #[inline]
    pub(super) fn retryable(&self, l2: &L2Config) -> Option<(u32, u64)> {
        let &head = self.held.front()?;
        (!self.head_misses || self.has_room(l2)).then_some(head)
    }

    /// Serves a request from L2 cycle `now` on; `None` if it needs an MSHR or the miss queue and finds it full.
    /// `bytes`: those that a store writes which does not cover its sectors, if the slice is to know them.
    #[inline]
    pub(super) fn access(&mut self, r: &Request, bytes: u128, now: u64, l2: &L2Config) -> Option<Served> {
        let set = r.home.set;
        let known = self.tags.find(set, r.line);
        if !self.has_room(l2) {
            let keeps = r.kind == RequestKind::Write && l2.write_miss == WriteMiss::Keep;
            let served = known.is_some_and(|p| keeps || r.sectors.without(self.tags.line(p).valid).is_empty());
            if !served || l2.write == WritePolicy::Through {
                self.head_misses = known.is_none();
                return None;
            }
        }
        self.head_misses = false;
        let (way, evicted) = known.map(|p| (p, None)).or_else(|| self.tags.insert(set, r.line))?;
        let aged = self.tags.take_crossed();
        let partial = if r.kind == RequestKind::Write { r.sectors.without(r.full) } else { SectorMask::NONE };
        let service = self.occupy(r.kind, r.sectors, partial, r.work, now, l2);
        if known.is_none() {
            self.allocated(way, evicted);
        }
        let mut aged = aged.and_then(|old| self.write_back_early(old));
        let before = *self.tags.line(way);
        let (mut supplied, mut ready) = (SectorMask::NONE, service.ready);
        let outcome = if r.kind == RequestKind::Write {
            self.write(way, r, bytes, l2)
        } else {
            if self.victim.is_some() {
                let cycles;
                (supplied, cycles) = self.look_up_victim_buffer(way, r);
                ready += u64::from(cycles);
            }
            self.read(way, r, l2)
        };
        if self.dirty_cap.is_some() && r.kind != RequestKind::Read {
            aged = aged.or_else(|| self.keep_below_cap(way, before.dirty));
        }
        let mut prefetched = false;
        if let (Some(prefetching), SliceOutcome::Hit | SliceOutcome::Merged) = (&mut self.prefetching, outcome) {
            prefetched = prefetching.used(way, outcome == SliceOutcome::Merged);
        }
        Some(Served { service, evicted, aged, way, before, supplied, prefetched, ready, outcome })
    }

    /// A way was allocated to a line, from which another may have been evicted.
    #[inline]
    fn allocated(&mut self, way: WayIndex, evicted: Option<Evicted>) {
        self.written.forget(way, SectorMask::ALL);
        if let Some(left) = evicted {
            self.count_cleaned(left.dirty);
            if let Some(buffer) = &mut self.victim {
                buffer.evicted(left.line, left.clean());
            }
            self.prefetch_evicted(way);
        }
    }

    /// A prefetcher proposes sectors of a line.
    pub(super) fn prefetch(
        &mut self,
        set: u32,
        line: LineAddr,
        wanted: SectorMask,
        l2: &L2Config,
    ) -> ProposalOutcome<Prefetched> {
        let known = self.tags.locate(set, line);
        let state = known.map(|p| *self.tags.line(p)).unwrap_or_default();
        let missing = wanted.without(state.valid.or(state.pending));
        if missing.is_empty() {
            return ProposalOutcome::Redundant;
        }
        if !self.has_room(l2) || !self.held.is_empty() {
            return ProposalOutcome::NoRoom;
        }
        let Some((way, evicted)) = known.map(|p| (p, None)).or_else(|| self.tags.insert(set, line)) else {
            return ProposalOutcome::NoRoom;
        };
        let aged = self.tags.take_crossed();
        if known.is_none() {
            self.allocated(way, evicted);
        }
        let aged = aged.and_then(|old| self.write_back_early(old));
        let state = self.tags.line_mut(way);
        let before = *state;
        state.pending = state.pending.or(missing);
        self.outstanding += 1;
        self.stats.fetches += u64::from(missing.count());
        self.stats.fetched_along += u64::from(missing.count());
        if let Some(prefetching) = &mut self.prefetching {
            prefetching.issued(way);
        }
        ProposalOutcome::Fetch(Prefetched { evicted, aged, way, before, sectors: missing })
    }

    /// What prefetcher and policy count.
    pub(super) fn counts(&self) -> Vec<SideCount> {
        let prefetches = self.prefetching.as_ref().map(|p| p.l2_counts()).unwrap_or_default();
        let policy = self.tags.policy().map(Replacement::counts).unwrap_or_default();
        [prefetches, policy].concat()
    }

    /// Invalidates all lines; none is dirty or pending.
    pub(super) fn clear(&mut self) {
        self.tags.clear();
        self.written = WrittenBytes::new(self.tags.len());
        if let Some(cap) = &mut self.dirty_cap {
            cap.clear();
        }
        if let Some(prefetching) = &mut self.prefetching {
            prefetching.cleared();
        }
    }

    /// Takes the slice's time for a request, of whose sectors `partial` are written in part, or for whose lanes its atomic unit
    /// has so much to do, in sixteenths of a cycle.
    #[inline]
    pub(super) fn occupy(
        &mut self,
        kind: RequestKind,
        sectors: SectorMask,
        partial: SectorMask,
        work: u16,
        now: u64,
        l2: &L2Config,
    ) -> Service {
        let whole = self.whole_times[(sectors.count() - partial.count()) as usize];
        let service = (whole + u64::from(partial.count() * l2.partial_write_cycles) * 16).max(1);
        let service = service.max(u64::from(work));
        let start = self.free.max(now * 16);
        self.free = start + service;
        let latency = l2.latency + if kind == RequestKind::Atomic { l2.atomic_cycles } else { 0 };
        Service { waited: (start - now * 16) / 16, latency, ready: start / 16 + u64::from(latency) }
    }

    fn write(&mut self, way: WayIndex, r: &Request, bytes: u128, l2: &L2Config) -> SliceOutcome {
        let mut whole = r.full;
        if bytes != 0 {
            let parts = r.sectors.without(r.full.or(self.tags.line(way).valid));
            whole = whole.or(self.written.merge(way, bytes, parts));
        }
        let line = self.tags.line_mut(way);
        let count = u64::from(r.sectors.count());
        let hit = r.sectors.without(line.valid.or(line.dirty)).is_empty();
        self.stats.writes += count;
        self.stats.write_hits += if hit { count } else { 0 };
        if l2.write == WritePolicy::Back && l2.write_miss == WriteMiss::Fetch && !hit {
            let (valid, fetch) = (line.valid, SectorMask::ALL.without(line.valid.or(line.pending)));
            line.pending = line.pending.or(fetch);
            self.stats.fetches += u64::from(fetch.count());
            self.stats.fetched_along += u64::from(fetch.count());
            self.outstanding += u32::from(!fetch.is_empty());
            self.invalidate_victim_copy(r.line, r.sectors);
            return SliceOutcome::WriteMiss { valid, fetch };
        }
        // A sector that is written whole needs no data from memory; one that is written in part stays as it was.
        line.valid = line.valid.or(whole.without(line.pending));
        let through = match l2.write {
            WritePolicy::Back => {
                line.dirty = line.dirty.or(r.sectors);
                None
            }
            WritePolicy::Through => Some(line.valid),
        };
        self.invalidate_victim_copy(r.line, r.sectors);
        SliceOutcome::Stored { through }
    }

    fn read(&mut self, way: WayIndex, r: &Request, l2: &L2Config) -> SliceOutcome {
        let line = self.tags.line_mut(way);
        let missing = r.sectors.without(line.valid);
        self.stats.reads += u64::from(r.sectors.count());
        self.stats.read_hits += u64::from(r.sectors.and(line.valid).count());
        if r.kind == RequestKind::Atomic && l2.write == WritePolicy::Back {
            line.dirty = line.dirty.or(r.sectors);
        }
        if missing.is_empty() {
            return SliceOutcome::Hit;
        }
        let wanted = if l2.sectored { missing } else { SectorMask::ALL.without(line.valid) };
        let to_fetch = wanted.without(line.pending);
        self.stats.read_awaited += u64::from(missing.and(line.pending).count());
        self.stats.fetches += u64::from(to_fetch.count());
        self.stats.fetched_along += u64::from(to_fetch.without(missing).count());
        line.pending = line.pending.or(to_fetch);
        if to_fetch.is_empty() {
            self.stats.merges += 1;
            return SliceOutcome::Merged;
        }
        self.outstanding += 1;
        SliceOutcome::Miss(to_fetch)
    }

    /// Looks missing sectors up in the victim buffer: those that it supplies, and the L2 cycles that it takes.
    #[cold]
    fn look_up_victim_buffer(&mut self, way: WayIndex, r: &Request) -> (SectorMask, u32) {
        let Some(buffer) = &mut self.victim else { return (SectorMask::NONE, 0) };
        if r.kind == RequestKind::Atomic {
            buffer.written(r.line, r.sectors);
        }
        let line = self.tags.line_mut(way);
        let lacking = r.sectors.without(line.valid.or(line.pending));
        if lacking.is_empty() {
            return (SectorMask::NONE, 0);
        }
        let (supplied, cycles) = buffer.missed(r.line, lacking);
        line.valid = line.valid.or(supplied);
        (supplied, cycles)
    }

    /// Invalidates the victim buffer's copy of these sectors.
    #[inline]
    pub(super) fn invalidate_victim_copy(&mut self, line: LineAddr, sectors: SectorMask) {
        if let Some(buffer) = &mut self.victim {
            buffer.written(line, sectors);
        }
    }

    fn prefetch_evicted(&mut self, way: WayIndex) {
        if let Some(prefetching) = &mut self.prefetching {
            prefetching.evicted(way);
        }
    }

    /// Cleans a line that stays: the dirty sectors, which are to be written back.
    fn write_back_early(&mut self, way: WayIndex) -> Option<Dirty> {
        let state = self.tags.line_mut(way);
        let (sectors, valid) = (std::mem::take(&mut state.dirty), state.valid);
        if sectors.is_empty() {
            return None;
        }
        self.written.forget(way, sectors);
        self.count_cleaned(sectors);
        self.stats.eager_write_backs += u64::from(sectors.count());
        Some(Dirty { line: self.tags.address(way), sectors, valid })
    }

    #[inline]
    fn count_cleaned(&mut self, sectors: SectorMask) {
        if let Some(cap) = &mut self.dirty_cap {
            cap.cleaned(sectors.count());
        }
    }

    /// A line of which `before` was dirty has been written to: what is written back of another if too much is dirty now. Sectors
    /// of which only some bytes are here stay: they may still become whole.
    #[cold]
    fn keep_below_cap(&mut self, written: WayIndex, before: SectorMask) -> Option<Dirty> {
        let (line, now) = (self.tags.address(written), self.tags.line(written).dirty);
        let cap = self.dirty_cap.as_mut()?;
        cap.dirtied(written, line, now.without(before).count(), before.is_empty());
        // As many as a burst of short lines needs; the rest is left to the next write.
        for _ in 0..8 {
            let (way, line) = self.dirty_cap.as_mut()?.next_over()?;
            let state = *self.tags.line(way);
            if self.tags.address(way) != line || state.dirty.is_empty() {
                continue;
            }
            let sectors = if way == written { SectorMask::NONE } else { state.dirty.and(state.valid) };
            if state.dirty != sectors {
                self.dirty_cap.as_mut()?.defer(way, line);
            }
            if !sectors.is_empty() {
                self.tags.line_mut(way).dirty = state.dirty.without(sectors);
                self.count_cleaned(sectors);
                self.stats.eager_write_backs += u64::from(sectors.count());
                return Some(Dirty { line, sectors, valid: state.valid });
            }
        }
        None
    }

    /// Merges a request with the outstanding miss of a way.
    #[inline]
    pub(super) fn enqueue_waiter(&mut self, way: WayIndex, request: u32, requests: &mut Slab<Request>) {
        waiting::enqueue(&mut self.tags, way, request, requests);
    }

    /// Memory will bring more sectors of a line than were asked for: those are pending, too, and requests for them are merged
    /// with this fill. Which they are: not the valid ones, nor those that another fill brings, for a line must stay until the
    /// last of its fills has come.
    pub(super) fn extend_fill(&mut self, way: u32, more: SectorMask) -> SectorMask {
        let line = self.tags.line_mut(WayIndex::at(way));
        let taken = more.without(line.valid.or(line.pending));
        line.pending = line.pending.or(taken);
        self.stats.fetches += u64::from(taken.count());
        self.stats.fetched_along += u64::from(taken.count());
        taken
    }

    /// Fills sectors: the valid sectors of the line now, and those that were invalidated while pending and must be fetched
    /// again.
    #[inline]
    pub(super) fn fill(&mut self, way: WayIndex, sectors: SectorMask) -> (SectorMask, SectorMask) {
        self.outstanding -= 1;
        self.stats.fills += u64::from(sectors.count());
        let line = self.tags.line_mut(way);
        let stale = sectors.and(line.overtaken);
        line.valid = line.valid.or(sectors.without(stale));
        line.pending = line.pending.without(sectors.without(stale));
        line.overtaken = line.overtaken.without(stale);
        (line.valid, stale)
    }

    /// Counts sectors that are fetched again.
    pub(super) fn refetch(&mut self, sectors: SectorMask) {
        self.outstanding += 1;
        self.stats.fetches += u64::from(sectors.count());
        self.stats.fetched_along += u64::from(sectors.count());
    }

    /// The requests that are merged with the miss of a way.
    #[inline]
    pub(super) fn take_waiters(&mut self, way: WayIndex) -> WaitCursor {
        waiting::take(&mut self.tags, way)
    }

    /// The next of them whose sectors are all among `valid`. What others want and nobody brings is added to `lost`: it was valid
    /// when they came, and has been invalidated since.
    #[inline]
    pub(super) fn next_ready(
        &mut self,
        taken: &mut WaitCursor,
        way: WayIndex,
        valid: SectorMask,
        requests: &mut Slab<Request>,
        lost: &mut SectorMask,
    ) -> Option<u32> {
        let pending = self.tags.line(way).pending;
        waiting::next_ready(&mut self.tags, taken, way, requests, |r| {
            let missing = r.sectors.without(valid);
            *lost = lost.or(missing.without(pending));
            missing.is_empty()
        })
    }

    /// Sectors that somebody waits for were invalidated: they are pending from now on.
    pub(super) fn expect(&mut self, way: WayIndex, sectors: SectorMask) {
        let line = self.tags.line_mut(way);
        line.pending = line.pending.or(sectors);
    }

    /// The host writes sectors of a line, some of them whole: memory has them at once, and the slice where it has the line or,
    /// with `allocate`, makes room for it.
    pub(super) fn host_write(
        &mut self,
        set: u32,
        line: LineAddr,
        touched: SectorMask,
        whole: SectorMask,
        allocate: bool,
    ) -> HostWritten {
        self.head_misses = false;
        let found = self.tags.find(set, line).map(|p| (p, None));
        let room = if allocate { found.or_else(|| self.tags.insert(set, line)) } else { found };
        let aged = self.tags.take_crossed();
        let before = room.map(|(p, _)| {
            let l = self.tags.line_mut(p);
            let before = *l;
            l.valid = l.valid.or(touched);
            l.dirty = l.dirty.without(whole);
            before
        });
        if let Some(before) = before {
            self.count_cleaned(before.dirty.and(whole));
        }
        self.invalidate_victim_copy(line, touched);
        let evicted = room.and_then(|(_, evicted)| evicted);
        if let (Some((way, _)), None) = (room, found) {
            self.allocated(way, evicted);
        }
        HostWritten { before, evicted, aged: aged.and_then(|old| self.write_back_early(old)) }
    }

    /// Invalidates a line, of which memory has newer data; pending sectors will be fetched again.
    pub(super) fn invalidate(&mut self, set: u32, line: LineAddr) {
        if let Some(way) = self.tags.find(set, line) {
            self.tags.invalidate(way);
            self.written.forget(way, SectorMask::ALL);
            self.prefetch_evicted(way);
        }
        self.invalidate_victim_copy(line, SectorMask::ALL);
    }

    /// Evicts a line because its page is evicted: its dirty sectors. A pending line stays: the requests that wait for it were
    /// here before the page left.
    pub(super) fn evict_line(&mut self, set: u32, line: LineAddr) -> Option<Dirty> {
        self.invalidate_victim_copy(line, SectorMask::ALL);
        if self.tags.peek(set, line).is_none_or(|l| !l.pending.is_empty()) {
            return None;
        }
        let way = self.tags.locate(set, line)?;
        let left = self.tags.remove(set, line)?;
        self.count_cleaned(left.dirty);
        self.prefetch_evicted(way);
        (!left.dirty.is_empty()).then_some(Dirty { line, sectors: left.dirty, valid: left.valid })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::testing::gpu;

    /// A slice of one set, whoever asks it and whatever is behind it being the test.
    struct Rig {
        slice: Slice,
        l2: L2Config,
        requests: Slab<Request>,
    }

    impl Rig {
        fn new(change: impl FnOnce(&mut L2Config)) -> Self {
            let mut config = gpu("titan-v");
            let l2 = &mut config.l2;
            (l2.sets, l2.ways, l2.eager_write_back, l2.latency, l2.bytes_per_cycle) = (1, 2, 1.0, 100, 64);
            (l2.write, l2.sectored, l2.mshrs, l2.miss_queue) = (WritePolicy::Back, true, 4, 8);
            change(l2);
            Self { slice: Slice::new(&config), l2: config.l2.clone(), requests: Slab::default() }
        }

        fn asks(&mut self, kind: RequestKind, line: u64, sectors: u8, now: u64) -> Option<Served> {
            let r = Request::test(kind, line, SectorMask(sectors));
            let served = self.slice.access(&r, 0, now, &self.l2)?;
            let waits =
                matches!(served.outcome, SliceOutcome::Merged | SliceOutcome::Miss(_) | SliceOutcome::WriteMiss { .. });
            if waits {
                let handle = self.requests.add(r);
                self.slice.enqueue_waiter(served.way, handle, &mut self.requests);
            }
            Some(served)
        }

        fn outcome(&mut self, kind: RequestKind, line: u64, sectors: u8) -> Option<SliceOutcome> {
            self.asks(kind, line, sectors, 0).map(|served| served.outcome)
        }

        /// Memory answers: the handles of those who go on.
        fn fills(&mut self, line: u64, sectors: u8) -> Vec<u32> {
            let way = self.slice.tags.find(0, LineAddr(line)).expect("it has a way");
            let (valid, _) = self.slice.fill(way, SectorMask(sectors));
            let mut taken = self.slice.take_waiters(way);
            let mut lost = SectorMask::NONE;
            let next = || self.slice.next_ready(&mut taken, way, valid, &mut self.requests, &mut lost);
            std::iter::from_fn(next).collect()
        }
    }

    fn fetches(sectors: u8) -> SliceOutcome {
        SliceOutcome::Miss(SectorMask(sectors))
    }

    #[test]
    fn a_miss_fetches_what_nobody_has_asked_for_yet() {
        let mut rig = Rig::new(|_| ());
        assert_eq!(rig.outcome(RequestKind::Read, 1, 0b0001), Some(fetches(0b0001)));
        assert_eq!(rig.outcome(RequestKind::Read, 1, 0b0001), Some(SliceOutcome::Merged));
        assert_eq!(rig.outcome(RequestKind::Read, 1, 0b0011), Some(fetches(0b0010)));
        assert_eq!(rig.fills(1, 0b0001), [1, 0]);
        assert_eq!(rig.fills(1, 0b0010), [2]);
        assert_eq!(rig.outcome(RequestKind::Read, 1, 0b0011), Some(SliceOutcome::Hit));
        assert_eq!((rig.slice.stats.fetches, rig.slice.stats.fills, rig.slice.stats.merges), (2, 2, 1));
        assert_eq!(rig.slice.outstanding, 0);
    }

    #[test]
    fn a_cache_without_sectors_fetches_the_line() {
        let mut rig = Rig::new(|l2| l2.sectored = false);
        assert_eq!(rig.outcome(RequestKind::Read, 1, 0b0100), Some(fetches(0b1111)));
        assert_eq!(rig.slice.stats.fetched_along, 3);
    }

    #[test]
    fn requests_follow_each_other_at_the_slices_width() {
        let mut rig = Rig::new(|_| ());
        rig.slice.host_write(0, LineAddr(1), SectorMask::ALL, SectorMask::ALL, true);
        let times: Vec<u64> = (0..3).map(|_| rig.asks(RequestKind::Read, 1, 0b1111, 10).expect("room").ready).collect();
        assert_eq!(times, [110, 112, 114], "128 B at 64 B in a cycle");
        assert_eq!(rig.asks(RequestKind::Read, 1, 0b0001, 10).expect("room").service.waited, 6);
    }

    #[test]
    fn what_is_dirty_is_written_back_when_its_line_leaves() {
        let mut rig = Rig::new(|_| ());
        assert_eq!(rig.outcome(RequestKind::Write, 1, 0b0011), Some(SliceOutcome::Stored { through: None }));
        rig.outcome(RequestKind::Write, 2, 0b0001);
        let served = rig.asks(RequestKind::Write, 3, 0b0001, 0).expect("room");
        let left = served.evicted.expect("the oldest");
        assert_eq!((left.line, left.dirty), (LineAddr(1), SectorMask(0b0011)));
        let mut through = Rig::new(|l2| l2.write = WritePolicy::Through);
        let stored = through.outcome(RequestKind::Write, 1, 0b0011);
        assert_eq!(stored, Some(SliceOutcome::Stored { through: Some(SectorMask(0b0011)) }));
    }

    #[test]
    fn a_write_miss_may_fetch_its_line_and_go_on_to_memory() {
        let mut rig = Rig::new(|l2| (l2.write_miss, l2.mshrs) = (WriteMiss::Fetch, 1));
        let missed = |fetch| SliceOutcome::WriteMiss { valid: SectorMask::NONE, fetch: SectorMask(fetch) };
        assert_eq!(rig.outcome(RequestKind::Write, 1, 0b0011), Some(missed(0b1111)));
        assert_eq!(rig.outcome(RequestKind::Write, 2, 0b0001), None, "no MSHR is left");
        assert_eq!(rig.outcome(RequestKind::Write, 1, 0b0011), None, "it is on its way: another miss");
        assert_eq!(rig.fills(1, 0b1111), [0], "the write waits for its line");
        assert_eq!(rig.outcome(RequestKind::Write, 1, 0b0011), Some(SliceOutcome::Stored { through: None }));
        assert_eq!(rig.slice.tags.find(0, LineAddr(1)).map(|p| rig.slice.tags.line(p).dirty), Some(SectorMask(0b0011)));
        let stats = &rig.slice.stats;
        assert_eq!(stats.reads + stats.fetched_along, stats.read_hits + stats.read_awaited + stats.fetches);
    }

    #[test]
    fn a_slow_memory_is_felt_by_who_needs_it() {
        let mut rig = Rig::new(|l2| l2.mshrs = 1);
        rig.outcome(RequestKind::Write, 2, 0b0001);
        assert_eq!(rig.outcome(RequestKind::Read, 1, 0b0001), Some(fetches(0b0001)));
        assert_eq!(rig.outcome(RequestKind::Read, 1, 0b0010), None, "no MSHR is left");
        assert_eq!(rig.outcome(RequestKind::Read, 2, 0b0001), Some(SliceOutcome::Hit), "a hit needs none");
        rig.fills(1, 0b0001);
        assert_eq!(rig.outcome(RequestKind::Read, 1, 0b0010), Some(fetches(0b0010)));
    }

    #[test]
    fn what_was_overtaken_on_its_way_is_fetched_again() {
        let mut rig = Rig::new(|_| ());
        rig.outcome(RequestKind::Read, 1, 0b0011);
        rig.slice.invalidate(0, LineAddr(1));
        let way = rig.slice.tags.find(0, LineAddr(1)).expect("it is on its way");
        assert_eq!(rig.slice.fill(way, SectorMask(0b0011)), (SectorMask::NONE, SectorMask(0b0011)));
        rig.slice.refetch(SectorMask(0b0011));
        assert_eq!(rig.fills(1, 0b0011), [0]);
    }

    /// A read that waits for one sector counts on another, which a store has made valid. If that is invalidated meanwhile, no fill
    /// that is under way brings it.
    #[test]
    fn what_was_valid_when_a_request_came_and_is_no_more_is_told() {
        let mut rig = Rig::new(|_| ());
        rig.outcome(RequestKind::Read, 1, 0b0010);
        rig.outcome(RequestKind::Write, 1, 0b0001);
        assert_eq!(rig.outcome(RequestKind::Read, 1, 0b0011), Some(SliceOutcome::Merged));
        rig.slice.invalidate(0, LineAddr(1));
        let way = rig.slice.tags.find(0, LineAddr(1)).expect("it is on its way");
        let (valid, stale) = rig.slice.fill(way, SectorMask(0b0010));
        assert_eq!((valid, stale), (SectorMask::NONE, SectorMask(0b0010)));
        rig.slice.refetch(stale);
        let mut lost = SectorMask::NONE;
        let mut taken = rig.slice.take_waiters(way);
        assert_eq!(rig.slice.next_ready(&mut taken, way, valid, &mut rig.requests, &mut lost), None);
        assert_eq!(lost, SectorMask(0b0001));
        rig.slice.expect(way, lost);
        rig.slice.refetch(lost);
        assert_eq!(rig.fills(1, 0b0010).len(), 1, "the first read");
        assert_eq!(rig.fills(1, 0b0001).len(), 1, "the one that wants both");
    }

    #[test]
    fn a_line_leaves_with_its_page_unless_somebody_waits_for_it() {
        let mut rig = Rig::new(|_| ());
        rig.outcome(RequestKind::Write, 1, 0b0001);
        let left = rig.slice.evict_line(0, LineAddr(1)).map(|dirty| dirty.sectors);
        assert_eq!(left, Some(SectorMask(0b0001)));
        rig.outcome(RequestKind::Read, 1, 0b0001);
        assert_eq!(rig.slice.evict_line(0, LineAddr(1)), None);
        assert_eq!(rig.fills(1, 0b0001), [0]);
    }

    #[test]
    fn a_prefetch_waits_for_nobody_and_makes_nobody_wait() {
        let mut rig = Rig::new(|l2| l2.mshrs = 2);
        let prefetch =
            |rig: &mut Rig, line, sectors| match rig.slice.prefetch(0, LineAddr(line), SectorMask(sectors), &rig.l2) {
                ProposalOutcome::Fetch(prefetched) => Some(prefetched.sectors.0),
                ProposalOutcome::Redundant => Some(0),
                ProposalOutcome::NoRoom => None,
            };
        assert_eq!(prefetch(&mut rig, 1, 0b0011), Some(0b0011));
        assert_eq!(prefetch(&mut rig, 1, 0b0001), Some(0));
        assert_eq!(rig.outcome(RequestKind::Read, 1, 0b0001), Some(SliceOutcome::Merged), "it is on its way already");
        assert_eq!(rig.outcome(RequestKind::Read, 2, 0b0001), Some(fetches(0b0001)));
        assert_eq!(prefetch(&mut rig, 1, 0b0100), None, "no MSHR is left");
        assert_eq!(rig.fills(1, 0b0011), [0]);
        assert_eq!(rig.outcome(RequestKind::Read, 1, 0b0010), Some(SliceOutcome::Hit));
        let stats = &rig.slice.stats;
        assert_eq!(stats.reads + stats.fetched_along, stats.read_hits + stats.read_awaited + stats.fetches);
    }

    /// A buffer that has everything, after three cycles.
    struct Full(Vec<LineAddr>);

    impl Victim for Full {
        fn evicted(&mut self, line: LineAddr, _: SectorMask) {
            self.0.push(line);
        }

        fn missed(&mut self, _: LineAddr, sectors: SectorMask) -> (SectorMask, u32) {
            (sectors, 3)
        }

        fn written(&mut self, _: LineAddr, _: SectorMask) {}
    }

    #[test]
    fn a_victim_buffer_saves_the_way_to_memory() {
        let mut rig = Rig::new(|_| ());
        rig.slice.victim = Some(Box::new(Full(Vec::new())));
        let served = rig.asks(RequestKind::Read, 1, 0b0011, 0).expect("room");
        assert_eq!((served.outcome, served.supplied, served.ready), (SliceOutcome::Hit, SectorMask(0b0011), 103));
    }
}
