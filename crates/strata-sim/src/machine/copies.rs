//! Copies between host and device: how long they take on the host link, and what they leave in L2.
//!
//! A copy begins when everything before it has ended, and everything behind it waits for it, as with `cudaMemcpy`. DRAM
//! takes the data as fast as the link brings it, and what is copied out is not looked up in L2: a link is an order of
//! magnitude slower than either.

use super::Machine;
use super::check::lines_of;
use crate::energy::{Activity, Energy};
use crate::image::ZEROS;
use crate::link::Direction;
use crate::seam::Line;
use crate::time::Picos;
use strata_core::stats::{Stats, Unit};
use strata_core::{Addr, Bytes, LineAddr};

/// Counters of copies between host and device, since the machine was built.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CopyStats {
    /// Core cycles from the beginning of each copy to its end, latency included.
    pub cycles: u64,
    /// Bytes copied to the device.
    pub bytes_in: Bytes,
    /// Bytes copied from the device.
    pub bytes_out: Bytes,
    /// Bytes that the host link carried for copies, towards the GPU and away from it, headers included.
    pub carried: [Bytes; 2],
}

impl Machine {
    /// A copy from host to device, after the program's memory has changed; `memory` reads that.
    pub(super) fn copy_in(&mut self, start: Addr, size: Bytes, memory: &mut dyn FnMut(LineAddr, &mut Line)) {
        if size.0 == 0 {
            return;
        }
        if self.is_paged(start.line()) {
            // The host wrote to pages that it shares with the device: nothing is copied but what the paging mechanism moved.
            return self.host_writes(start, size, false, memory);
        }
        self.host_writes(start, size, self.config.l2.copies_fill, memory);
        self.copies.bytes_in.0 += size.0;
        self.transfer(Direction::In, size);
    }

    /// The host sets memory: L2 is kept right, and nothing comes to be there.
    pub(super) fn memset(&mut self, start: Addr, size: Bytes, memory: &mut dyn FnMut(LineAddr, &mut Line)) {
        self.host_writes(start, size, false, memory);
    }

    fn host_writes(&mut self, start: Addr, size: Bytes, fill: bool, memory: &mut dyn FnMut(LineAddr, &mut Line)) {
        for (line, touched, whole) in lines_of(start, size) {
            self.host_write_line(line, touched, whole, fill);
            let away = self.sides.is_some() && self.is_away(line);
            if let Some(sides) = &mut self.sides {
                let mut data = ZEROS;
                memory(line, &mut data);
                let home = self.interleave.home(line);
                if away {
                    sides.written_away(home, line, touched, &data);
                } else {
                    sides.host_wrote(home, line, touched, &data);
                }
            }
        }
        self.drain(memory);
    }

    /// A copy from device to host; of pages that the host shares with the device nothing is copied.
    pub(super) fn copy_out(&mut self, start: Addr, size: Bytes) {
        if size.0 == 0 || self.is_paged(start.line()) {
            return;
        }
        self.copies.bytes_out.0 += size.0;
        self.transfer(Direction::Out, size);
    }

    fn transfer(&mut self, direction: Direction, size: Bytes) {
        let start = self.core_cycle(self.now);
        let before = self.host_link.carried(direction).0;
        self.now = self.host_link.send(direction, self.core_time(start), size);
        self.copies.carried[direction as usize].0 += self.host_link.carried(direction).0 - before;
        self.copies.cycles += self.core_cycle(self.now) - start;
    }

    /// The counters of copies so far.
    pub fn copies(&self) -> CopyStats {
        self.copies
    }

    /// Adds what copies did so far to a tree, below `prefix`: counts, and the energy of the link.
    pub fn export_copies(&self, prefix: &str, stats: &mut Stats) {
        let copies = &self.copies;
        let what = "core cycles of copies between host and device";
        stats.count(format!("{prefix}.copy.cycles"), copies.cycles, Unit::Cycles, what);
        let what = "bytes copied from host to device";
        stats.count(format!("{prefix}.copy.bytes_in"), copies.bytes_in.0, Unit::Bytes, what);
        let what = "bytes copied from device to host";
        stats.count(format!("{prefix}.copy.bytes_out"), copies.bytes_out.0, Unit::Bytes, what);
        let dirty =
            || self.slices.iter().flat_map(|slice| slice.tags.iter()).filter(|(_, line)| !line.dirty.is_empty());
        let what = "lines whose last change is in L2 when the run ends; their write-backs are in no other count";
        stats.count(format!("{prefix}.l2.dirty_lines_at_end"), dirty().count() as u64, Unit::Events, what);
        let sectors = dirty().map(|(_, line)| u64::from(line.dirty.count())).sum();
        stats.count(format!("{prefix}.l2.dirty_at_end"), sectors, Unit::Sectors, "dirty sectors of those lines");
        let carried = Bytes(copies.carried[0].0 + copies.carried[1].0);
        let activity = Activity { link: carried, time: Picos(0), ..Activity::default() };
        Energy::of(&activity, &self.config.energy).export(prefix, stats);
    }
}
