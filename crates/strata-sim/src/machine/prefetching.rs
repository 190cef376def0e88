//! A prefetcher beside a cache: what it proposed, what became of it.

use crate::cache::WayIndex;
use crate::seam::{CacheAccess, CachePrefetcher, Proposal, SideCount};
use strata_core::LineAddr;
use strata_core::stats::Unit;

/// What became of proposals, in lines.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct PrefetchCounts {
    pub(super) issued: u64,
    pub(super) useful: u64,
    pub(super) late: u64,
    pub(super) useless: u64,
    pub(super) redundant: u64,
    pub(super) dropped: u64,
}

/// Names of counts, in the order of [`PrefetchCounts::list`].
type Names = [&'static str; 6];

const L1: Names = [
    "l1.prefetch.issued",
    "l1.prefetch.useful",
    "l1.prefetch.late",
    "l1.prefetch.useless",
    "l1.prefetch.redundant",
    "l1.prefetch.dropped",
];

const L2: Names = [
    "l2.prefetch.issued",
    "l2.prefetch.useful",
    "l2.prefetch.late",
    "l2.prefetch.useless",
    "l2.prefetch.redundant",
    "l2.prefetch.dropped",
];

impl PrefetchCounts {
    fn list(&self, names: &Names) -> Vec<SideCount> {
        let list = [
            ("lines that a prefetcher had fetched", self.issued),
            ("of those, the ones that a load or an atomic found or waited for", self.useful),
            ("of the useful ones, those that were still on their way", self.late),
            ("of those fetched, the ones that left before anybody had use for them", self.useless),
            ("proposals of lines that were there or on their way", self.redundant),
            ("proposals without room, or in another page than what led to them", self.dropped),
        ];
        let count = |(&name, (what, value)): (&&'static str, (&'static str, u64))| SideCount {
            name,
            unit: Unit::Events,
            what,
            value,
        };
        names.iter().zip(list).map(count).collect()
    }
}

/// How a cache answers a proposal.
pub(super) enum ProposalOutcome<T> {
    /// All sectors are valid or pending.
    Redundant,
    /// No MSHR, way or queue entry is free.
    NoRoom,
    /// Accepted: what to fetch.
    Fetch(T),
}

/// The prefetcher of one cache.
pub(super) struct Prefetching {
    mechanism: Box<dyn CachePrefetcher>,
    /// By [`WayIndex`]: the line was prefetched and has had no demand access yet.
    unused: Vec<bool>,
    lines_per_page: u64,
    proposals: Vec<Proposal>,
    pub(super) counts: PrefetchCounts,
}

impl Prefetching {
    pub(super) fn new(mechanism: Box<dyn CachePrefetcher>, ways: usize, lines_per_page: u64) -> Self {
        let unused = vec![false; ways];
        Self { mechanism, unused, lines_per_page, proposals: Vec::new(), counts: PrefetchCounts::default() }
    }

    /// A demand access to the line in a way; `late`: it is still pending. True if it is the first and the line was prefetched.
    pub(super) fn used(&mut self, way: WayIndex, late: bool) -> bool {
        let was_unused = std::mem::take(&mut self.unused[way.index() as usize]);
        self.counts.useful += u64::from(was_unused);
        self.counts.late += u64::from(was_unused && late);
        was_unused
    }

    /// A way is allocated to a prefetched line.
    pub(super) fn issued(&mut self, way: WayIndex) {
        self.unused[way.index() as usize] = true;
        self.counts.issued += 1;
    }

    /// The line in a way was evicted or invalidated.
    pub(super) fn evicted(&mut self, way: WayIndex) {
        let was_unused = std::mem::take(&mut self.unused[way.index() as usize]);
        self.counts.useless += u64::from(was_unused);
    }

    /// All lines were invalidated.
    pub(super) fn cleared(&mut self) {
        let unused = self.unused.iter_mut().map(|unused| u64::from(std::mem::take(unused))).sum::<u64>();
        self.counts.useless += unused;
    }

    /// Shows the mechanism an access: what it proposes within the page of the access. Give the list back afterwards.
    pub(super) fn proposals(&mut self, access: &CacheAccess) -> Vec<Proposal> {
        let mut proposals = std::mem::take(&mut self.proposals);
        proposals.clear();
        self.mechanism.accessed(access, &mut proposals);
        let page = |line: LineAddr| line.0 / self.lines_per_page;
        let all = proposals.len();
        proposals.retain(|p| page(p.line) == page(access.line) && !p.sectors.is_empty());
        self.counts.dropped += (all - proposals.len()) as u64;
        proposals
    }

    pub(super) fn recycle(&mut self, proposals: Vec<Proposal>) {
        self.proposals = proposals;
    }

    /// What became of proposals to an L1, and what the mechanism counts.
    pub(super) fn l1_counts(&self) -> Vec<SideCount> {
        [self.counts.list(&L1), self.mechanism.counts()].concat()
    }

    /// The counters of an L2 slice's prefetcher.
    pub(super) fn l2_counts(&self) -> Vec<SideCount> {
        [self.counts.list(&L2), self.mechanism.counts()].concat()
    }
}
