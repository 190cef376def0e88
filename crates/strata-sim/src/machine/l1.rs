//! The L1 of an SM: tags, MSHRs, and the loads that are merged with outstanding misses.
//!
//! It says how a load fares and what must be fetched from the next level; the SM times that and sends it.

use super::NONE;
use super::prefetching::{Prefetching, ProposalOutcome};
use super::sm_memory::Request;
use super::waiting::{self, WaitCursor};
use crate::cache::{LineState, SectorMask, Tags, WayIndex};
use crate::coalesce::CoalescedAccess;
use crate::config::GpuConfig;
use crate::seam::{Replacement, SideCount};
use crate::slab::Slab;
use std::collections::VecDeque;
use std::ops::Range;
use strata_core::{LINE_BYTES, LineAddr};

/// The L1 data cache of an SM: write-through, sectored.
pub(super) struct L1 {
    tags: Tags,
    mshrs: u32,
    /// MSHRs in use: requests to the next level that expect a reply.
    pub(super) outstanding: u32,
    /// Requests that wait for a free MSHR, oldest first.
    pub(super) held: VecDeque<u32>,
    pub(super) prefetching: Option<Box<Prefetching>>,
}

/// The result of a tag lookup, over all sectors of a load.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Lookup {
    /// All sectors are valid.
    Hit,
    /// All missing sectors are pending: the load is merged with their fills.
    Merge,
    /// These sectors must be fetched, into a way or past L1 ([`NONE`]); `merges`: others are pending.
    Miss { sectors: SectorMask, way: u32, merges: bool },
}

/// The result of a lookup, the way of the line if it has one, and the valid sectors among those wanted.
pub(super) struct LookupResult {
    pub(super) lookup: Lookup,
    pub(super) way: Option<WayIndex>,
    pub(super) there: SectorMask,
    /// This is the first demand access to a line that was prefetched.
    pub(super) prefetched: bool,
}

impl L1 {
    pub(super) fn new(config: &GpuConfig) -> Self {
        let ways = config.l1.ways;
        let sets = ((config.l1.size.0 / LINE_BYTES) as u32 / ways.max(1)).max(1);
        Self {
            tags: Tags::new(sets, ways),
            mshrs: config.l1.mshrs,
            outstanding: 0,
            held: VecDeque::new(),
            prefetching: None,
        }
    }

    /// Lets a policy choose which lines leave.
    pub(super) fn set_policy(&mut self, policy: Box<dyn Replacement>) {
        self.tags.set_policy(policy);
    }

    /// What prefetcher and policy count.
    pub(super) fn counts(&self) -> Vec<SideCount> {
        let prefetches = self.prefetching.as_ref().map(|p| p.l1_counts()).unwrap_or_default();
        let policy = self.tags.policy().map(Replacement::counts).unwrap_or_default();
        [prefetches, policy].concat()
    }

    /// Asks the host's caches for what is looked at first to find a line.
    #[inline]
    pub(super) fn prefetch_set(&self, line: LineAddr) {
        self.tags.prefetch_set(self.set_of(line));
    }

    /// Asks the host's caches for the way that a line is in, or will take.
    #[inline]
    pub(super) fn prefetch_line(&self, line: LineAddr) {
        self.tags.prefetch_line(self.set_of(line), line);
    }

    /// Asks the host's caches for a way, by its number.
    #[inline]
    pub(super) fn prefetch_way(&self, way: u32) {
        self.tags.prefetch_way(way);
    }

    /// Its capacity in lines.
    pub(super) fn lines(&self) -> usize {
        self.tags.len()
    }

    /// Forgets everything; only so many ways of each set are filled from now on.
    pub(super) fn limit_ways(&mut self, ways: u32) {
        self.tags.limit_ways(ways);
        self.forget_prefetches();
    }

    /// Invalidates all lines, as at a kernel launch.
    pub(super) fn clear(&mut self) {
        self.tags.clear();
        self.forget_prefetches();
    }

    fn forget_prefetches(&mut self) {
        if let Some(prefetching) = &mut self.prefetching {
            prefetching.cleared();
        }
    }

    #[inline]
    fn set_of(&self, line: LineAddr) -> u32 {
        let (hash, sets) = ((line.0 ^ line.0 >> 7) as u32, self.tags.sets());
        // Most have a power of two, and a division takes longer than all else here.
        if sets.is_power_of_two() { hash & (sets - 1) } else { hash % sets }
    }

    /// Looks up sectors of a line for a load; those that must be fetched are pending from now on.
    #[inline]
    pub(super) fn look_up(&mut self, line: LineAddr, wanted: SectorMask) -> LookupResult {
        let set = self.set_of(line);
        let way = self.tags.find(set, line);
        let LineState { valid, pending, overtaken, .. } = way.map(|p| *self.tags.line(p)).unwrap_or_default();
        if !wanted.and(overtaken).is_empty() {
            // The pending fill was invalidated and is too old for this load: the request bypasses L1.
            let lookup = Lookup::Miss { sectors: wanted, way: NONE, merges: false };
            return LookupResult { lookup, way: None, there: SectorMask::NONE, prefetched: false };
        }
        let there = wanted.and(valid);
        let missing = wanted.without(valid.or(pending));
        let lookup = if wanted.without(valid).is_empty() {
            Lookup::Hit
        } else if way.is_some() && missing.is_empty() {
            Lookup::Merge
        } else if let Some(p) = way.or_else(|| self.insert(set, line)) {
            let state = self.tags.line_mut(p);
            state.pending = state.pending.or(missing);
            Lookup::Miss { sectors: missing, way: p.index(), merges: !wanted.and(pending).is_empty() }
        } else {
            // Every way of the set has pending sectors: the request bypasses L1.
            Lookup::Miss { sectors: wanted, way: NONE, merges: false }
        };
        let mut prefetched = false;
        if let (Some(prefetching), Some(way), Lookup::Hit | Lookup::Merge) = (&mut self.prefetching, way, lookup) {
            prefetched = prefetching.used(way, lookup == Lookup::Merge);
        }
        LookupResult { lookup, way, there, prefetched }
    }

    /// Allocates a way for a line.
    #[inline]
    fn insert(&mut self, set: u32, line: LineAddr) -> Option<WayIndex> {
        let (way, _) = self.tags.insert(set, line)?;
        if let Some(prefetching) = &mut self.prefetching {
            prefetching.evicted(way);
        }
        Some(way)
    }

    /// A prefetcher proposes sectors of a line: those to be fetched, and the way that they fill.
    pub(super) fn prefetch(&mut self, line: LineAddr, wanted: SectorMask) -> ProposalOutcome<(WayIndex, SectorMask)> {
        let set = self.set_of(line);
        let known = self.tags.locate(set, line);
        let LineState { valid, pending, overtaken, .. } = known.map(|p| *self.tags.line(p)).unwrap_or_default();
        let missing = wanted.without(valid.or(pending));
        if missing.is_empty() {
            return ProposalOutcome::Redundant;
        }
        if self.outstanding >= self.mshrs || !self.held.is_empty() || !overtaken.is_empty() {
            return ProposalOutcome::NoRoom;
        }
        let Some(way) = known.or_else(|| self.insert(set, line)) else { return ProposalOutcome::NoRoom };
        let state = self.tags.line_mut(way);
        state.pending = state.pending.or(missing);
        if let Some(prefetching) = &mut self.prefetching {
            prefetching.issued(way);
        }
        ProposalOutcome::Fetch((way, missing))
    }

    /// The way of a line, if it is present.
    pub(super) fn way_of(&mut self, line: LineAddr) -> Option<WayIndex> {
        let set = self.set_of(line);
        self.tags.find(set, line)
    }

    /// A store writes through: valid sectors are updated, sectors that it covers whole become valid. The way, and the state
    /// before.
    pub(super) fn write(&mut self, request: &CoalescedAccess, allocate: bool) -> Option<(WayIndex, LineState)> {
        let set = self.set_of(request.line);
        let mut way = self.tags.find(set, request.line);
        if way.is_none() && allocate {
            way = self.insert(set, request.line);
        }
        let line = self.tags.line_mut(way?);
        let before = *line;
        line.valid = line.valid.or(request.full.without(line.pending));
        way.map(|p| (p, before))
    }

    /// Invalidates a line and the sectors that are pending for it.
    pub(super) fn invalidate(&mut self, line: LineAddr) {
        if let Some(way) = self.way_of(line) {
            self.invalidate_at(way);
        }
    }

    /// The same for a range of lines.
    pub(super) fn invalidate_range(&mut self, lines: &Range<u64>) {
        for way in self.tags.indices() {
            if lines.contains(&self.tags.address(way).0) {
                self.invalidate_at(way);
            }
        }
    }

    fn invalidate_at(&mut self, way: WayIndex) {
        self.tags.invalidate(way);
        if let Some(prefetching) = &mut self.prefetching {
            prefetching.evicted(way);
        }
    }

    /// Merges a request with the outstanding miss of its line.
    pub(super) fn enqueue_waiter(&mut self, way: WayIndex, request: u32, requests: &mut Slab<Request>) {
        waiting::enqueue(&mut self.tags, way, request, requests);
    }

    /// Fills sectors of a way: the sectors that are still pending there, and the requests merged with the miss.
    pub(super) fn fill(&mut self, way: WayIndex, sectors: SectorMask) -> (SectorMask, WaitCursor) {
        let line = self.tags.line_mut(way);
        line.valid = line.valid.or(sectors.without(line.overtaken));
        line.pending = line.pending.without(sectors);
        line.overtaken = line.overtaken.without(sectors);
        (line.pending, waiting::take(&mut self.tags, way))
    }

    /// The next of them whose sectors have all been filled; it leaves the list.
    pub(super) fn next_ready(
        &mut self,
        taken: &mut WaitCursor,
        way: WayIndex,
        pending: SectorMask,
        requests: &mut Slab<Request>,
    ) -> Option<u32> {
        waiting::next_ready(&mut self.tags, taken, way, requests, |r| r.sectors.and(pending).is_empty())
    }

    /// Allocates an MSHR for a request; if none is free, enqueues the request and returns false.
    #[inline]
    pub(super) fn allocate_mshr(&mut self, request: u32) -> bool {
        if self.outstanding >= self.mshrs {
            self.held.push_back(request);
            return false;
        }
        self.outstanding += 1;
        true
    }

    /// Releases the MSHR of a request that was replied to.
    pub(super) fn release_mshr(&mut self) {
        self.outstanding -= 1;
    }

    /// Dequeues the request that has waited longest for an MSHR, and allocates one for it.
    pub(super) fn dequeue_held(&mut self) -> Option<u32> {
        let held = self.held.pop_front()?;
        self.outstanding += 1;
        Some(held)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::sm_memory::RequestKind;
    use crate::machine::testing::gpu;
    use crate::seam::{CacheAccess, CachePrefetcher, Proposal};

    const A: LineAddr = LineAddr(5);

    /// An L1 of one line, or of as many as are given, before a next level that answers when the test says so.
    struct Rig {
        l1: L1,
        requests: Slab<Request>,
    }

    impl Rig {
        fn new(ways: u32) -> Self {
            let mut config = gpu("titan-v");
            (config.l1.ways, config.l1.size.0, config.l1.mshrs) = (ways, u64::from(ways) * LINE_BYTES, 2);
            Self { l1: L1::new(&config), requests: Slab::default() }
        }

        fn look_up(&mut self, line: u64, wanted: u8) -> Lookup {
            self.l1.look_up(LineAddr(line), SectorMask(wanted)).lookup
        }

        fn waits(&mut self, sectors: u8) -> u32 {
            let request = self.requests.add(Request::test(RequestKind::Read, A.0, SectorMask(sectors)));
            let way = self.l1.way_of(A).expect("it is on its way");
            self.l1.enqueue_waiter(way, request, &mut self.requests);
            request
        }

        /// The next level answers: those who waited and go on.
        fn fill(&mut self, sectors: u8) -> Vec<u32> {
            let way = self.l1.way_of(A).expect("it has a way");
            let (pending, mut taken) = self.l1.fill(way, SectorMask(sectors));
            std::iter::from_fn(|| self.l1.next_ready(&mut taken, way, pending, &mut self.requests)).collect()
        }

        fn store(&mut self, full: u8) {
            let mask = SectorMask(full);
            self.l1
                .write(&CoalescedAccess { line: A, sectors: mask, full: mask, asked: mask, bytes: 0, work: 0 }, false);
        }
    }

    fn miss(sectors: u8, merges: bool) -> Lookup {
        Lookup::Miss { sectors: SectorMask(sectors), way: 0, merges }
    }

    const WITHOUT_PLACE: u32 = NONE;

    #[test]
    fn what_is_missing_is_asked_for_once() {
        let mut rig = Rig::new(1);
        assert_eq!(rig.look_up(A.0, 0b0011), miss(0b0011, false));
        assert_eq!(rig.look_up(A.0, 0b0001), Lookup::Merge);
        let first = rig.waits(0b0001);
        assert_eq!(rig.look_up(A.0, 0b0110), miss(0b0100, true), "one sector is on its way already");
        let second = rig.waits(0b0110);
        assert_eq!(rig.fill(0b0011), [first]);
        assert_eq!(rig.look_up(A.0, 0b0011), Lookup::Hit);
        assert_eq!(rig.fill(0b0100), [second]);
    }

    #[test]
    fn a_request_without_a_place_goes_out_for_itself() {
        let mut rig = Rig::new(1);
        rig.look_up(A.0, 0b0001);
        let expected = Lookup::Miss { sectors: SectorMask(0b0001), way: WITHOUT_PLACE, merges: false };
        assert_eq!(rig.look_up(A.0 + 1, 0b0001), expected, "the only way waits for data");
        rig.fill(0b0001);
        assert_eq!(rig.look_up(A.0 + 1, 0b0001), miss(0b0001, false));
    }

    #[test]
    fn what_was_overtaken_serves_only_those_who_waited_before() {
        let mut rig = Rig::new(1);
        rig.look_up(A.0, 0b0001);
        let before = rig.waits(0b0001);
        rig.l1.invalidate(A);
        let expected = Lookup::Miss { sectors: SectorMask(0b0001), way: WITHOUT_PLACE, merges: false };
        assert_eq!(rig.look_up(A.0, 0b0001), expected);
        assert_eq!(rig.fill(0b0001), [before]);
        assert_eq!(rig.look_up(A.0, 0b0001), miss(0b0001, false), "the fill was too old to stay");
    }

    #[test]
    fn stores_update_what_is_there_and_not_what_is_on_its_way() {
        let mut rig = Rig::new(1);
        rig.store(0b0001);
        assert_eq!(rig.look_up(A.0, 0b0001), miss(0b0001, false), "no allocation by stores");
        rig.store(0b0011);
        assert_eq!(rig.look_up(A.0, 0b0010), Lookup::Hit);
        assert_eq!(rig.look_up(A.0, 0b0001), Lookup::Merge);
        rig.l1.invalidate_range(&(0..A.0));
        assert_eq!(rig.look_up(A.0, 0b0010), Lookup::Hit);
        rig.l1.invalidate_range(&(0..A.0 + 1));
        assert_ne!(rig.look_up(A.0, 0b0010), Lookup::Hit);
    }

    /// Proposes nothing: the test does.
    struct Silent;

    impl CachePrefetcher for Silent {
        fn accessed(&mut self, _: &CacheAccess, _: &mut Vec<Proposal>) {}
    }

    #[test]
    fn a_prefetch_fetches_what_is_missing_if_there_is_room() {
        let mut rig = Rig::new(1);
        rig.l1.prefetching = Some(Box::new(Prefetching::new(Box::new(Silent), 1, 32)));
        let sectors = |taken: ProposalOutcome<(WayIndex, SectorMask)>| match taken {
            ProposalOutcome::Fetch((_, sectors)) => Some(sectors.0),
            ProposalOutcome::Redundant => Some(0),
            ProposalOutcome::NoRoom => None,
        };
        assert_eq!(sectors(rig.l1.prefetch(A, SectorMask(0b0011))), Some(0b0011));
        assert_eq!(sectors(rig.l1.prefetch(A, SectorMask(0b0111))), Some(0b0100));
        assert_eq!(sectors(rig.l1.prefetch(A, SectorMask(0b0111))), Some(0), "all are on their way");
        let other = LineAddr(A.0 + 1);
        assert_eq!(sectors(rig.l1.prefetch(other, SectorMask(1))), None, "the only way waits for data");
        assert_eq!(rig.look_up(A.0, 0b0001), Lookup::Merge);
        let waiting = rig.waits(0b0001);
        assert_eq!(rig.fill(0b0111), [waiting]);
        assert_eq!((rig.l1.allocate_mshr(1), rig.l1.allocate_mshr(2)), (true, true));
        assert_eq!(sectors(rig.l1.prefetch(other, SectorMask(1))), None, "demand has all MSHRs");
        rig.l1.release_mshr();
        assert_eq!(sectors(rig.l1.prefetch(other, SectorMask(1))), Some(1));
        rig.l1.clear();
        let counts = rig.l1.prefetching.as_ref().expect("it is there").counts;
        assert_eq!((counts.issued, counts.useful, counts.late, counts.useless), (3, 1, 1, 1));
    }

    #[test]
    fn as_many_requests_are_under_way_as_there_are_mshrs() {
        let mut rig = Rig::new(1);
        assert_eq!([10, 11, 12, 13].map(|r| rig.l1.allocate_mshr(r)), [true, true, false, false]);
        rig.l1.release_mshr();
        assert_eq!(rig.l1.dequeue_held(), Some(12));
        assert!(!rig.l1.allocate_mshr(14));
        for expected in [Some(13), Some(14), None] {
            rig.l1.release_mshr();
            assert_eq!(rig.l1.dequeue_held(), expected);
        }
        assert_eq!(rig.l1.outstanding, 1);
    }
}
