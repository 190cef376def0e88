//! Prefetches into L1 and L2: what a prefetcher proposes is fetched after the access that led to it, as far as there is room.

use super::l1::Lookup;
use super::l2::Miss;
use super::prefetching::ProposalOutcome;
use super::slice::{Prefetched, SliceOutcome};
use super::sm_memory::{LineOp, Request, RequestKind, Requester};
use super::{Machine, NONE};
use crate::coalesce::CoalescedAccess;
use crate::seam::{CacheAccess, Outcome, SideCount};
use crate::side_stats::add_counts;
use crate::time::Cycles;

impl Machine {
    /// A load has looked into L1 at core cycle `taken`: its prefetcher sees that, and what it proposes is asked of L2.
    #[cold]
    pub(super) fn prefetch_into_l1(&mut self, op: &LineOp, lookup: Lookup, prefetched: bool, taken: u64) {
        let access = CacheAccess {
            line: op.access.line,
            sectors: op.access.sectors,
            pc: op.pc,
            warp: op.warp,
            sm: op.sm,
            write: false,
            outcome: match lookup {
                Lookup::Hit => Outcome::Hit,
                Lookup::Merge => Outcome::Pending,
                Lookup::Miss { .. } => Outcome::Miss,
            },
            prefetched,
            now: self.core_time(taken),
        };
        let sm = op.sm as usize;
        let Some(prefetching) = &mut self.sms[sm].memory.l1.prefetching else { return };
        let proposals = prefetching.proposals(&access);
        for proposal in &proposals {
            let l1 = &mut self.sms[sm].memory.l1;
            match l1.prefetch(proposal.line, proposal.sectors) {
                ProposalOutcome::Fetch((way, sectors)) => {
                    let line = CoalescedAccess {
                        line: proposal.line,
                        sectors,
                        asked: sectors,
                        full: sectors,
                        bytes: 0,
                        work: 0,
                    };
                    self.send_to_l2(op, &line, RequestKind::Read, NONE, way.index(), taken);
                }
                ProposalOutcome::Redundant => l1.prefetching.iter_mut().for_each(|p| p.counts.redundant += 1),
                ProposalOutcome::NoRoom => l1.prefetching.iter_mut().for_each(|p| p.counts.dropped += 1),
            }
        }
        if let Some(prefetching) = &mut self.sms[sm].memory.l1.prefetching {
            prefetching.recycle(proposals);
        }
    }

    /// A slice has served a request: its prefetcher sees that, and what it proposes is asked of memory at L2 cycle `ready`.
    #[cold]
    pub(super) fn prefetch_into_l2(
        &mut self,
        r: &Request,
        requester: Requester,
        outcome: SliceOutcome,
        prefetched: bool,
        ready: u64,
    ) {
        if r.is_prefetch() {
            return;
        }
        let access = CacheAccess {
            line: r.line,
            sectors: r.sectors,
            pc: requester.pc,
            warp: requester.warp,
            sm: r.sm,
            write: r.kind == RequestKind::Write,
            outcome: match outcome {
                SliceOutcome::Stored { .. } | SliceOutcome::Hit => Outcome::Hit,
                SliceOutcome::Merged => Outcome::Pending,
                SliceOutcome::Miss(_) => Outcome::Miss,
            },
            prefetched,
            now: self.config.clock.l2.edge(Cycles(ready)),
        };
        let Some(prefetching) = &mut self.slices[usize::from(r.home.slice)].prefetching else { return };
        let proposals = prefetching.proposals(&access);
        for proposal in &proposals {
            let home = self.interleave.home(proposal.line);
            let slice = &mut self.slices[usize::from(home.slice)];
            match slice.prefetch(home.set, proposal.line, proposal.sectors, &self.config.l2) {
                ProposalOutcome::Fetch(Prefetched { evicted, aged, way, before, sectors }) => {
                    if let Some(left) = evicted {
                        self.l2_evict(home.slice, &left, ready);
                    }
                    if let Some(old) = aged {
                        self.write_back(old.line, old.sectors, old.valid, ready);
                    }
                    self.probe_l2_prefetch(proposal.line, before);
                    let miss = self.misses.add(Miss { slice: home.slice, way: way.index(), sectors });
                    self.fetch(home, proposal.line, sectors, before.valid, miss, ready);
                }
                ProposalOutcome::Redundant => slice.prefetching.iter_mut().for_each(|p| p.counts.redundant += 1),
                ProposalOutcome::NoRoom => slice.prefetching.iter_mut().for_each(|p| p.counts.dropped += 1),
            }
        }
        if let Some(prefetching) = &mut self.slices[usize::from(r.home.slice)].prefetching {
            prefetching.recycle(proposals);
        }
    }

    /// Records the requester of a request, if there is an L2 prefetcher: requests themselves stay as small as they are.
    #[inline]
    pub(super) fn record_requester(&mut self, request: u32, requester: Requester) {
        if let Some(requesters) = &mut self.requesters {
            let at = request as usize;
            if requesters.len() <= at {
                requesters.resize(at + 1, requester);
            }
            requesters[at] = requester;
        }
    }

    /// The requester of a request, if it was recorded.
    #[inline]
    pub(super) fn requester_of(&self, request: u32) -> Option<Requester> {
        self.requesters.as_ref().map(|requesters| requesters[request as usize])
    }

    /// What prefetchers and policies of all caches count, in sum.
    pub(super) fn cache_counts(&self) -> Vec<SideCount> {
        let mut counts = Vec::new();
        self.sms.iter().for_each(|sm| add_counts(&mut counts, sm.memory.l1.counts()));
        self.slices.iter().for_each(|slice| add_counts(&mut counts, slice.counts()));
        counts
    }
}
