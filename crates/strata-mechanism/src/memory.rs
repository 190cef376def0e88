//! The books of device memory: what an allocation takes of it, and whether there is as much.

use strata_core::config::format_size;
use strata_core::{Allocation, Bytes};

/// Keeps the books of device memory while a program runs.
pub trait DeviceMemory {
    /// The program wants memory; the error says why there is none. If it is refused, nothing has changed.
    fn allocate(&mut self, allocation: &Allocation) -> Result<(), String>;

    /// The program gives memory back.
    fn free(&mut self, allocation: &Allocation);
}

/// Device memory as it is: an allocation takes its size.
pub struct PlainMemory {
    size: Bytes,
    used: Bytes,
    /// Managed memory is on the device from the beginning; otherwise pages come when they are touched.
    counts_managed: bool,
}

impl PlainMemory {
    /// Nothing is taken yet.
    pub fn new(size: Bytes, counts_managed: bool) -> Self {
        Self { size, used: Bytes(0), counts_managed }
    }

    fn taken_by(&self, allocation: &Allocation) -> u64 {
        if allocation.flags.managed && !self.counts_managed { 0 } else { allocation.size.0 }
    }
}

impl DeviceMemory for PlainMemory {
    fn allocate(&mut self, allocation: &Allocation) -> Result<(), String> {
        let taken = self.taken_by(allocation);
        if self.used.0 + taken > self.size.0 {
            return Err(format!(
                "out of device memory: `{}` takes {}, and {} of {} are in use; `--set dram.size=SIZE` makes a larger one",
                allocation.name,
                format_size(allocation.size),
                format_size(self.used),
                format_size(self.size),
            ));
        }
        self.used.0 += taken;
        Ok(())
    }

    fn free(&mut self, allocation: &Allocation) {
        self.used.0 -= self.taken_by(allocation);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use strata_core::{Addr, AllocFlags};

    fn allocation(size: u64, managed: bool) -> Allocation {
        let flags = AllocFlags { managed, ..AllocFlags::default() };
        Allocation { flags, ..Allocation::on_device(0, "a", Addr(0), Bytes(size)) }
    }

    #[test]
    fn what_is_given_back_can_be_had_again() {
        let mut memory = PlainMemory::new(Bytes(100), true);
        memory.allocate(&allocation(60, false)).expect("room");
        let refused = memory.allocate(&allocation(60, true)).expect_err("no room");
        assert!(refused.starts_with("out of device memory: `a` takes 60 B, and 60 B of 100 B are in use"), "{refused}");
        memory.free(&allocation(60, false));
        memory.allocate(&allocation(60, true)).expect("room");
    }

    #[test]
    fn managed_memory_may_take_none() {
        let mut memory = PlainMemory::new(Bytes(100), false);
        memory.allocate(&allocation(1000, true)).expect("it is not on the device");
        memory.free(&allocation(1000, true));
        memory.allocate(&allocation(100, false)).expect("room");
    }
}
