//! What the host does: allocations, accesses of its own, advice, prefetches, launches, synchronisation.
//!
//! UVMSmart writes every dirty page back when the host waits for the device, and then forgets more than it should: see
//! [`Uvm::synchronise`]. With the real driver a host access takes the pages it touches back to the host.

use crate::geometry::Page;
use crate::model::{Uvm, Wake};
use crate::space::{Flags, runs};
use crate::transfer::pages_of;
use std::ops::Range;
use strata_core::{Addr, Bytes, HostEvent};
use strata_sim::seam::{Action, Actions};
use strata_sim::time::Picos;

impl Uvm {
    pub(crate) fn heard(&mut self, event: &HostEvent, now: Picos, out: &mut Actions) {
        match event {
            HostEvent::Alloc(allocation) => self.allocates(allocation.start, allocation.size, &allocation.name),
            HostEvent::Free { start, .. } => self.frees(*start, out),
            HostEvent::CopyIn { start, size } | HostEvent::Memset { start, size } => {
                self.host_accesses(*start, *size, true, now, out);
            }
            HostEvent::CopyOut { start, size } => self.host_accesses(*start, *size, false, now, out),
            HostEvent::Prefetch { start, size, to_device: true } => self.user_prefetch(*start, *size, now, out),
            HostEvent::Prefetch { start, size, to_device: false } => {
                let pages = self.pages_in(*start, *size);
                let pages: Vec<u32> = pages.filter(|&page| self.space.may_leave(Page(page))).collect();
                self.take_back(&pages, now, out);
            }
            HostEvent::Advise { start, advice, .. } if self.managed.contains(start) => {
                self.space.advise(*start, *advice);
            }
            HostEvent::LaunchBegin { .. } => {
                if let Some(adaptive) = &mut self.adaptive {
                    adaptive.kernel_begins();
                }
            }
            HostEvent::LaunchEnd { .. } => {
                if let Some(adaptive) = &mut self.adaptive {
                    adaptive.kernel_ends();
                }
            }
            HostEvent::Sync if !self.is_driver() => self.synchronise(now, out),
            _ => {}
        }
    }

    fn allocates(&mut self, start: Addr, size: Bytes, name: &str) {
        if self.managed.contains(&start) {
            self.space.allocate(start, size, name);
            self.recency.grow(&self.space);
            self.uses.grow(self.space.trees.len(), self.space.allocations().len());
        } else {
            self.unmanaged.push((start, size.0.div_ceil(self.space.geometry.page_bytes)));
        }
    }

    fn frees(&mut self, start: Addr, out: &mut Actions) {
        let Some(pages) = self.space.free(start) else {
            self.unmanaged.retain(|(other, _)| *other != start);
            return;
        };
        let here: Vec<u32> = pages.filter(|&page| self.space.is_valid(Page(page))).collect();
        self.channels.used = self.channels.used.saturating_sub(self.space.shares(here.iter().copied()));
        for &page in &here {
            self.space.leave(Page(page));
            self.recency.left(&self.space, Page(page));
        }
        for run in runs(&here) {
            out.push(Action::Leave { pages: self.space.geometry.range(&run), copied: false });
        }
    }

    /// Managed pages of a range of bytes.
    fn pages_in(&self, start: Addr, size: Bytes) -> Range<u32> {
        if size.0 == 0 || !self.managed.contains(&start) {
            return 0..0;
        }
        let geometry = &self.space.geometry;
        let (first, last) = (geometry.page_at(start), geometry.page_at(Addr(start.0 + size.0 - 1)));
        if self.space.is_managed(first) && self.space.is_managed(last) { first.0..last.0 + 1 } else { 0..0 }
    }

    /// The host itself touches memory.
    fn host_accesses(&mut self, start: Addr, size: Bytes, write: bool, now: Picos, out: &mut Actions) {
        let pages = self.pages_in(start, size);
        if pages.is_empty() {
            return;
        }
        if write {
            for page in pages.clone().map(Page) {
                self.space.flags_mut(page).set(Flags::AT_HOST);
            }
        }
        if !self.is_driver() {
            // Programs of the baseline wait before they look; one that does not finds what it would have found then.
            if !write {
                let dirty = pages.filter(|&page| self.space.flags(Page(page)).has(Flags::DIRTY));
                let dirty: Vec<u32> = dirty.filter(|&page| self.space.is_valid(Page(page))).collect();
                self.write_back_at_once(&dirty, now, out);
            }
            return;
        }
        let read_mostly = self.space.allocation(Page(pages.start)).advised.read_mostly;
        let (mut taken, mut dropped) = (Vec::new(), Vec::new());
        for page in pages {
            let flags = self.space.flags(Page(page));
            if !flags.has(Flags::VALID) {
                continue;
            }
            // Of what is mostly read both have a copy, until one writes.
            match (read_mostly && !flags.has(Flags::DIRTY), write) {
                (true, false) => continue,
                (true, true) => dropped.push(page),
                (false, _) => taken.push(page),
            }
            self.note_migration(Page(page), false, now);
        }
        self.channels.used = self.channels.used.saturating_sub(self.space.shares(dropped.iter().copied()));
        for &page in &dropped {
            self.space.leave(Page(page));
            self.recency.left(&self.space, Page(page));
        }
        for run in runs(&dropped) {
            out.push(Action::Leave { pages: self.space.geometry.range(&run), copied: false });
        }
        self.take_back(&taken, now, out);
    }

    /// Pages go back to the host, tree by tree.
    fn take_back(&mut self, pages: &[u32], now: Picos, out: &mut Actions) {
        let tree = |page: u32| self.space.geometry.tree(Page(page));
        let chunks: Vec<_> = pages.chunk_by(|a, b| tree(*a) == tree(*b)).flat_map(runs).collect();
        for run in chunks {
            self.send_away(run, true);
        }
        self.begin_write(now, out);
    }

    /// `cudaMemPrefetchAsync`: what is not on the device comes, up to 2 MB at a time.
    fn user_prefetch(&mut self, start: Addr, size: Bytes, now: Picos, out: &mut Actions) {
        let absent: Vec<u32> = self.pages_in(start, size).filter(|&page| self.space.is_absent(Page(page))).collect();
        let tree = |page: u32| self.space.geometry.tree(Page(page));
        let chunks: Vec<_> = absent.chunk_by(|a, b| tree(*a) == tree(*b)).flat_map(runs).collect();
        let since = self.cycle(now);
        for run in chunks {
            for page in run.clone().map(Page) {
                self.space.queue(page);
                let flags = self.space.flags_mut(page);
                flags.set(Flags::PREFETCHED);
                flags.set(Flags::COVERED);
                self.counts.prefetches += 1;
            }
            self.channels.queued += self.space.shares(run.clone());
            self.channels.push(pages_of(vec![run], 0, since), true);
        }
        self.make_room(now, out);
        self.begin_read(now, out);
    }

    /// `cudaDeviceSynchronize` of UVMSmart: every dirty page is copied back and leaves. Its artefacts: all other pages stay,
    /// yet trees, counters and the list of recent use are emptied and all memory counts as free.
    fn synchronise(&mut self, now: Picos, out: &mut Actions) {
        let all = 0..self.space.pages.len() as u32;
        let dirty: Vec<u32> = all
            .filter(|&page| self.space.is_valid(Page(page)) && self.space.flags(Page(page)).has(Flags::DIRTY))
            .collect();
        self.write_back_at_once(&dirty, now, out);
        self.recency.clear();
        self.channels.used = 0;
        self.oversubscribed = false;
        for block in &mut self.space.blocks {
            (block.counted, block.accesses) = (0, 0);
        }
        for tree in &mut self.space.trees {
            (tree.accesses, tree.written) = (0, false);
        }
    }

    /// Writes pages back in the pattern of a synchronisation, for which the host waits.
    fn write_back_at_once(&mut self, pages: &[u32], now: Picos, out: &mut Actions) {
        if pages.is_empty() {
            return;
        }
        let page_bytes = self.space.geometry.page_bytes;
        let bytes = pages.len() as u64 * page_bytes;
        let cycles = self.pcie.sync_cycles(bytes, page_bytes);
        let cycle = self.cycle(now);
        self.count_out(bytes, cycle, cycles);
        self.counts.synced += pages.len() as u64;
        self.channels.used = self.channels.used.saturating_sub(self.space.shares(pages.iter().copied()));
        for &page in pages {
            self.space.leave(Page(page));
            self.space.flags_mut(Page(page)).set(Flags::AT_HOST);
            self.recency.left(&self.space, Page(page));
        }
        for run in runs(pages) {
            out.push(Action::Leave { pages: self.space.geometry.range(&run), copied: true });
        }
        self.wake_at(cycle + cycles, Wake::Waited, out);
    }
}
