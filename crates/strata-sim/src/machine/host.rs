//! What the host does: the one call of an engine, and the one place from which mechanisms hear of it.

use super::Machine;
use super::check::lines_of;
use crate::seam::Line;
use strata_core::{Addr, Bytes, HostEvent, LineAddr};

impl Machine {
    /// The host did something; `memory` reads a line of the program's memory as it is now.
    ///
    /// A machine need not hear of everything: launches that only prepare what is measured, and what is copied meanwhile, may
    /// be left out if it is shown afterwards what memory holds, by memsets.
    pub fn host_event(&mut self, event: &HostEvent, mut memory: impl FnMut(LineAddr, &mut Line)) {
        match event {
            HostEvent::Alloc(allocation) => {
                self.names.allocated(allocation.start, allocation.size, &allocation.name);
                self.notify(event);
                self.tell_reserved(allocation.start, allocation.size);
            }
            HostEvent::LaunchBegin { kernel, .. } => {
                self.names.launched(kernel);
                self.notify(event);
            }
            HostEvent::Free { start, size, .. } => {
                self.free_lines(*start, *size);
                self.notify(event);
            }
            HostEvent::CopyIn { start, size } => {
                self.notify_copy(event, *start, *size, &mut memory);
                self.copy_in(*start, *size, &mut memory);
            }
            HostEvent::Memset { start, size } => {
                self.notify_copy(event, *start, *size, &mut memory);
                self.memset(*start, *size, &mut memory);
            }
            HostEvent::CopyOut { start, size } => {
                self.notify_copy(event, *start, *size, &mut memory);
                self.copy_out(*start, *size);
            }
            HostEvent::Sync if self.pager.is_some() => self.notify_and_drain(event, &mut memory),
            HostEvent::ModuleLoaded { .. }
            | HostEvent::Prefetch { .. }
            | HostEvent::Advise { .. }
            | HostEvent::LaunchEnd { .. }
            | HostEvent::Sync
            | HostEvent::Announce { .. }
            | HostEvent::Prepare
            | HostEvent::Measure => self.notify(event),
        }
    }

    /// Tells every mechanism; the host goes on.
    fn notify(&mut self, event: &HostEvent) {
        self.notify_pager(event);
        if let Some(sides) = &mut self.sides {
            sides.host_event(event);
        }
        for listener in &mut self.listeners {
            listener.host_event(event);
        }
    }

    /// The same, and the host waits until all that the paging mechanism does has ended.
    fn notify_and_drain(&mut self, event: &HostEvent, memory: &mut dyn FnMut(LineAddr, &mut Line)) {
        let start = self.core_cycle(self.now);
        self.drain(memory);
        self.notify(event);
        self.drain(memory);
        self.copies.cycles += self.core_cycle(self.now) - start;
    }

    /// Tells of bytes that the host moves. It waits if pages have to come or go for them.
    fn notify_copy(
        &mut self,
        event: &HostEvent,
        start: Addr,
        size: Bytes,
        memory: &mut dyn FnMut(LineAddr, &mut Line),
    ) {
        if size.0 > 0 && self.is_paged(start.line()) {
            self.notify_and_drain(event, memory);
        } else {
            self.notify(event);
        }
    }

    /// The program has freed memory.
    fn free_lines(&mut self, start: Addr, size: Bytes) {
        if let Some(sides) = &mut self.sides {
            for (line, _, _) in lines_of(start, size) {
                sides.host_freed(self.interleave.home(line));
            }
        }
    }
}
