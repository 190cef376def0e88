//! Transfers: one at a time in each direction, in the order in which they were asked for.
//!
//! To the device, zero-copy reads go first, and pages only begin when there is room for them. To the host, pages are gone when
//! their write-back begins: their room can be taken at once (UVMSmart).

use crate::evict::{self, Candidates};
use crate::geometry::Page;
use crate::model::{Fullest, Uvm, Wake};
use crate::space::{Flags, SHARES, Space, runs};
use std::collections::VecDeque;
use std::ops::Range;
use strata_core::LINE_BYTES;
use strata_sim::seam::{Action, Actions, FaultId, StoredPages};
use strata_sim::time::Picos;

/// Something that holds the direction to the device.
#[derive(Clone, Debug)]
pub(crate) enum Incoming {
    /// The host serves a fault: nothing moves.
    Service {
        /// Core cycles.
        cycles: u64,
    },
    /// Pages, as runs of consecutive ones: a single run, unless the prefetcher gathers.
    Pages {
        runs: Vec<Range<u32>>,
        /// Faulted pages of them.
        faults: u64,
        /// Core cycle since when it waits; since when only for room.
        since: u64,
        blocked: Option<u64>,
        /// Of the driver's batch that is being served.
        batch: bool,
    },
    /// A zero-copy read.
    Read(FaultId),
}

/// A transfer of pages with so many faulted ones, which waits since a core cycle.
pub(crate) fn pages_of(runs: Vec<Range<u32>>, faults: u64, since: u64) -> Incoming {
    Incoming::Pages { runs, faults, since, blocked: None, batch: false }
}

impl Incoming {
    /// Pages that it brings.
    pub(crate) fn count(&self) -> u32 {
        if let Self::Pages { runs, .. } = self { count(runs) } else { 0 }
    }

    /// Those pages.
    pub(crate) fn pages(&self) -> impl Iterator<Item = u32> {
        let runs: &[Range<u32>] = if let Self::Pages { runs, .. } = self { runs } else { &[] };
        runs.iter().cloned().flatten()
    }

    /// Faulted pages of them.
    pub(crate) fn faults(&self) -> u64 {
        if let Self::Pages { faults, .. } = self { *faults } else { 0 }
    }

    /// It waits for the link since a core cycle.
    pub(crate) fn waits_since(&mut self, cycle: u64) {
        if let Self::Pages { since, .. } = self {
            *since = cycle;
        }
    }

    /// Adds pages if it brings no faulted one and has at most `most` with them.
    pub(crate) fn join(&mut self, pages: &Range<u32>, most: u32) -> bool {
        match self {
            Self::Pages { runs, faults: 0, .. } if count(runs) + (pages.end - pages.start) <= most => {
                runs.push(pages.clone());
                true
            }
            _ => false,
        }
    }

    /// Takes those of some pages out that it brings, if none of it was faulted for.
    pub(crate) fn withdraw(&mut self, pages: &Range<u32>) -> Vec<u32> {
        let Self::Pages { runs: all, faults: 0, .. } = self else { return Vec::new() };
        if !all.iter().any(|run| run.start < pages.end && pages.start < run.end) {
            return Vec::new();
        }
        let (taken, left): (Vec<u32>, Vec<u32>) = all.drain(..).flatten().partition(|page| pages.contains(page));
        *all = runs(&left);
        taken
    }
}

/// Pages of runs.
fn count(runs: &[Range<u32>]) -> u32 {
    runs.iter().map(|run| run.end - run.start).sum()
}

/// Consecutive pages that leave.
#[derive(Clone, Debug)]
pub(crate) struct Outgoing {
    pub(crate) pages: Range<u32>,
    /// The host wants them; otherwise others need the room.
    pub(crate) for_host: bool,
}

/// Both directions.
#[derive(Default, Debug)]
pub(crate) struct Channels {
    reads: VecDeque<Incoming>,
    /// Behind all of those: what nobody waits for.
    later: VecDeque<Incoming>,
    zero_copies: VecDeque<FaultId>,
    reading: Option<Incoming>,
    writes: VecDeque<Outgoing>,
    writing: bool,
    /// What pages with a place on the device take there, those in the queue to it, and those chosen to leave, in
    /// [`SHARES`] of a frame.
    pub(crate) used: u64,
    pub(crate) queued: u64,
    pub(crate) leaving: u64,
    /// Something must leave and everything is in use.
    pub(crate) starved: bool,
    /// Zero-copy reads so far.
    zero_copied: u32,
}

impl Channels {
    pub(crate) fn push(&mut self, item: Incoming, urgent: bool) {
        if urgent { &mut self.reads } else { &mut self.later }.push_back(item);
    }

    /// Adds pages to the first waiting transfer that brings no faulted page and has at most `most` with them; false if there
    /// is none.
    pub(crate) fn ride(&mut self, pages: &Range<u32>, most: u32, demand_first: bool) -> bool {
        let urgent = self.reads.iter_mut().filter(|_| !demand_first);
        urgent.chain(&mut self.later).any(|transfer| transfer.join(pages, most))
    }

    /// Takes pages out of transfers that nobody waits for.
    pub(crate) fn withdraw(&mut self, pages: &Range<u32>) -> Vec<u32> {
        let taken = self.later.iter_mut().flat_map(|transfer| transfer.withdraw(pages)).collect();
        self.later.retain(|transfer| transfer.count() > 0);
        taken
    }

    /// Nothing moves, and nothing waits to.
    pub(crate) fn idle(&self) -> bool {
        self.no_reads() && self.zero_copies.is_empty() && !self.writing && self.writes.is_empty()
    }

    /// Nothing comes, and nothing waits to.
    pub(crate) fn no_reads(&self) -> bool {
        self.reading.is_none() && self.reads.is_empty() && self.later.is_empty()
    }
}

/// What a page that travels as it is stored takes at the least: the states of its entries, 4 bits for each line.
fn least(page_bytes: u64) -> u64 {
    (page_bytes / LINE_BYTES / 2).max(1)
}

/// Bytes of `count` pages on the link: as memory sides store them, if they travel so, and never more than they are.
fn bytes_of(stored: Option<&StoredPages>, space: &Space, pages: impl Iterator<Item = u32>, count: u32) -> u64 {
    let (geometry, whole) = (&space.geometry, space.geometry.page_bytes);
    match stored {
        None => u64::from(count) * whole,
        Some(stored) => {
            let of = |page| u64::from(stored.bytes(geometry.address(Page(page)).line())) + least(whole);
            pages.map(|page| of(page).min(whole)).sum()
        }
    }
}

/// The bit that tells a zero-copy read from a page.
const ZERO_COPY: u32 = 1 << 31;

impl Uvm {
    /// A read that holds the link and nothing else (UVMSmart's zero-copy).
    pub(crate) fn read_over_link(&mut self, now: Picos, out: &mut Actions) -> FaultId {
        let fault = FaultId(ZERO_COPY | self.channels.zero_copied);
        self.channels.zero_copied = (self.channels.zero_copied + 1) % ZERO_COPY;
        self.channels.zero_copies.push_back(fault);
        self.begin_read(now, out);
        fault
    }

    /// Begins the next transfer to the device, if it can.
    pub(crate) fn begin_read(&mut self, now: Picos, out: &mut Actions) {
        if self.channels.reading.is_some() {
            return;
        }
        let cycle = self.cycle(now);
        if let Some(fault) = self.channels.zero_copies.pop_front() {
            self.channels.reading = Some(Incoming::Read(fault));
            self.counts.in_busy += self.config.zero_copy_cycles;
            self.wake_at(cycle + self.config.zero_copy_cycles, Wake::Read, out);
            return;
        }
        let room = (self.capacity() * SHARES).saturating_sub(self.channels.used);
        let space = &self.space;
        let shares = |runs: &[Range<u32>]| space.shares(runs.iter().cloned().flatten());
        let channels = &mut self.channels;
        let Some(head) = channels.reads.front_mut().or_else(|| channels.later.front_mut()) else { return };
        let mut moves = false;
        let cycles = match head {
            Incoming::Service { cycles } => {
                self.counts.stall_service += *cycles;
                *cycles
            }
            Incoming::Read(_) => 0,
            Incoming::Pages { runs, blocked, .. } if shares(runs) > room => {
                blocked.get_or_insert(cycle);
                return;
            }
            Incoming::Pages { runs, faults, since, blocked, .. } => {
                let count = count(runs);
                // What neither side has needs no transfer: the device fills it with zeros, in no time beside the host's work.
                let absent = |page: &u32| self.config.zero_fill && !self.space.flags(Page(*page)).has(Flags::AT_HOST);
                let zeros = runs.iter().cloned().flatten().filter(absent).count() as u32;
                self.counts.zero_filled += u64::from(zeros);
                let moved = runs.iter().cloned().flatten().filter(|page| !absent(page));
                let bytes = bytes_of(self.stored.as_deref(), space, moved, count - zeros);
                let cycles = match self.stored {
                    Some(_) => self.pcie.cycles(bytes),
                    None => self.pcie.cycles_of(count - zeros, space.geometry.page_bytes),
                };
                let for_room = blocked.map_or(0, |began| cycle - began);
                self.counts.stall_room += *faults * for_room;
                self.counts.stall_queue += *faults * (cycle - *since - for_room);
                self.counts.stall_transfer += *faults * cycles;
                let taken = shares(runs);
                channels.used += taken;
                channels.queued -= taken;
                self.counts.in_bytes += bytes;
                self.counts.in_busy += cycles;
                self.counts.in_full += (cycles as f64 * self.pcie.utilisation(bytes)) as u64;
                self.series.add(0, cycle, cycle + cycles, bytes);
                moves = bytes > 0;
                cycles
            }
        };
        self.channels.reading = self.channels.reads.pop_front().or_else(|| self.channels.later.pop_front());
        if moves {
            self.carry_until(cycle + cycles, true, Wake::Read, out);
        } else {
            self.wake_at(cycle + cycles, Wake::Read, out);
        }
    }

    /// A transfer to the device has ended.
    pub(crate) fn read_ends(&mut self, now: Picos, out: &mut Actions) {
        match self.channels.reading.take() {
            Some(Incoming::Pages { runs, batch, .. }) => {
                for pages in &runs {
                    self.pages_come(pages, now, out);
                }
                self.service.awaited -= u32::from(batch);
                if batch && self.service.awaited == 0 {
                    self.replay(now, out);
                }
            }
            Some(Incoming::Read(fault)) => out.push(Action::Resume(fault)),
            Some(Incoming::Service { .. }) | None => {}
        }
        self.begin_read(now, out);
        self.make_room_later(now, out);
    }

    fn pages_come(&mut self, pages: &Range<u32>, now: Picos, out: &mut Actions) {
        out.push(Action::Arrive(self.space.geometry.range(pages)));
        self.uses.arrived(self.space.geometry.tree(Page(pages.start)), now);
        for page in pages.clone().map(Page) {
            let flags = self.space.flags(page);
            self.counts.migrated += 1;
            self.counts.prefetched += u64::from(flags.has(Flags::PREFETCHED));
            self.counts.thrashed += u64::from(flags.has(Flags::WAS_HERE));
            self.space.arrive(page);
            if self.space.here() > self.fullest.pages {
                self.fullest = Fullest { pages: self.space.here(), frames: self.capacity() };
            }
            self.recency.arrived(&self.space, page);
            if flags.has(Flags::TOUCHED) {
                if self.service.awaited > 0 {
                    // It stays until those who wait for it have gone on.
                    self.space.take(page);
                    self.service.arrived.push(page);
                } else {
                    out.push(Action::Resume(Self::fault_of(page)));
                }
            }
        }
    }

    /// True if there is less room than all that is to come needs, and so much more.
    pub(crate) fn lacks_room_for(&self, more: u64) -> bool {
        let capacity = self.capacity();
        let buffer = (self.config.free_buffer * capacity as f64) as u64;
        let Channels { used, queued, leaving, .. } = self.channels;
        capacity * SHARES + leaving < buffer * SHARES + used + queued + more
    }

    fn lacks_room(&self) -> bool {
        self.lacks_room_for(0)
    }

    /// Makes room when those who waited for the pages that have just come are under way: these pages are in use then.
    pub(crate) fn make_room_later(&self, now: Picos, out: &mut Actions) {
        if self.lacks_room() {
            self.wake_at(self.cycle(now), Wake::Evict, out);
        }
    }

    /// Chooses what leaves until there is room for all that is to come.
    pub(crate) fn make_room(&mut self, now: Picos, out: &mut Actions) {
        while self.lacks_room() {
            self.memory_is_full();
            let mut among = Candidates {
                space: &self.space,
                recency: &self.recency,
                random: &mut self.random,
                reserve: self.config.reserve_recent,
                uses: &self.uses,
                prefetcher: self.prefetcher.as_ref(),
                now,
            };
            let chosen = evict::choose(self.eviction.as_mut(), &mut among);
            if chosen.is_empty() {
                self.channels.starved = true;
                break;
            }
            for pages in chosen {
                self.uses.leaves(self.space.geometry.tree(Page(pages.start)));
                self.send_away(pages, false);
            }
        }
        self.begin_write(now, out);
    }

    /// Memory does not suffice: what changes then.
    fn memory_is_full(&mut self) {
        if !self.oversubscribed {
            self.oversubscribed = true;
            if let Some(other) = self.prefetcher_when_full.take()
                && self.adaptive.is_none()
            {
                self.prefetcher = other;
            }
        }
        if let Some(adaptive) = &mut self.adaptive
            && let Some(policy) = adaptive.policy()
        {
            self.counts.switches += 1;
            self.eviction = evict::named("tree");
            if policy.delays_migration {
                self.place.delay_when_full();
            }
        }
    }

    /// Puts pages into the queue to the host.
    pub(crate) fn send_away(&mut self, pages: Range<u32>, for_host: bool) {
        for page in pages.clone().map(Page) {
            self.space.mark_leaving(page);
        }
        self.channels.leaving += self.space.shares(pages.clone());
        let outgoing = Outgoing { pages, for_host };
        // What the host waits for goes before what merely makes room.
        let writes = &mut self.channels.writes;
        let first =
            if self.config.demand_first && for_host { writes.partition_point(|w| w.for_host) } else { writes.len() };
        writes.insert(first, outgoing);
    }

    /// Begins the next transfer to the host, if it can.
    pub(crate) fn begin_write(&mut self, now: Picos, out: &mut Actions) {
        while !self.channels.writing
            && let Some(Outgoing { pages, for_host }) = self.channels.writes.pop_front()
        {
            self.channels.leaving -= self.space.shares(pages.clone());
            let (rescued, gone): (Vec<u32>, Vec<u32>) =
                pages.partition(|&page| self.space.flags(Page(page)).has(Flags::RESCUED));
            if !rescued.is_empty() {
                // Something else must go in their place.
                self.wake_at(self.cycle(now), Wake::Evict, out);
            }
            for page in rescued {
                self.counts.rescued += 1;
                self.space.unmark_leaving(Page(page));
                self.space.flags_mut(Page(page)).set(Flags::DIRTY);
            }
            let mut cycles = 0;
            for run in runs(&gone) {
                cycles += self.leave(&run, for_host, self.cycle(now) + cycles, out);
            }
            if cycles > 0 {
                self.channels.writing = true;
                self.carry_until(self.cycle(now) + cycles, false, Wake::Write, out);
            }
            self.begin_read(now, out);
        }
    }

    /// Pages leave: the core cycles of their transfer, which begins at `cycle`.
    fn leave(&mut self, pages: &Range<u32>, for_host: bool, cycle: u64, out: &mut Actions) -> u64 {
        let geometry = self.space.geometry;
        let tree = geometry.tree(Page(pages.start));
        // UVMSmart copies what is clean, too, unless it is told that what was only read need not be.
        let written = || pages.clone().any(|page| self.space.flags(Page(page)).has(Flags::DIRTY));
        let copied = for_host || !self.config.invalidate_clean || written();
        if !for_host {
            for block in self.space.blocks_of(tree) {
                self.space.blocks[block as usize].round_trips += 1;
            }
        }
        for page in pages.clone().map(Page) {
            let dirty = self.space.flags(page).has(Flags::DIRTY);
            match (for_host, dirty) {
                (true, _) => self.counts.synced += 1,
                (false, true) => self.counts.evicted_dirty += 1,
                (false, false) => self.counts.evicted_clean += 1,
            }
            self.space.leave(page);
            self.recency.left(&self.space, page);
            if copied {
                self.space.flags_mut(page).set(Flags::AT_HOST);
            }
            if !for_host {
                self.space.flags_mut(page).set(Flags::WAS_HERE);
            }
        }
        let count = pages.end - pages.start;
        self.channels.used = self.channels.used.saturating_sub(self.space.shares(pages.clone()));
        out.push(Action::Leave { pages: geometry.range(pages), copied });
        if !copied {
            return 0;
        }
        let bytes = bytes_of(self.stored.as_deref(), &self.space, pages.clone(), count);
        let cycles = match self.stored {
            Some(_) => self.pcie.cycles(bytes),
            None => self.pcie.cycles_of(count, geometry.page_bytes),
        };
        self.count_out(bytes, cycle, cycles);
        cycles
    }

    /// Counts what goes to the host.
    pub(crate) fn count_out(&mut self, bytes: u64, cycle: u64, cycles: u64) {
        self.counts.out_bytes += bytes;
        self.counts.out_busy += cycles;
        self.counts.out_full += (cycles as f64 * self.pcie.utilisation(bytes)) as u64;
        self.series.add(1, cycle, cycle + cycles, bytes);
    }

    /// A transfer to the host has ended.
    pub(crate) fn write_ends(&mut self, now: Picos, out: &mut Actions) {
        self.channels.writing = false;
        self.begin_write(now, out);
        self.make_room(now, out);
    }
}
