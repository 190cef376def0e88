//! What the program calls its memory and its kernels, so that messages and tables can say `A+0x3f0`.

use strata_core::{Addr, Bytes};

/// An allocation that was made, perhaps freed since.
struct Known {
    start: Addr,
    end: Addr,
    name: String,
}

/// Names of allocations and kernels. Allocations are numbered in the order in which they were made.
#[derive(Default)]
pub(super) struct Names {
    all: Vec<Known>,
    /// Those that were not freed, by address.
    live: Vec<u32>,
    kernels: Vec<String>,
}

impl Names {
    pub(super) fn allocated(&mut self, start: Addr, size: Bytes, name: &str) {
        let number = self.all.len() as u32;
        self.all.push(Known { start, end: start.offset(size.0), name: name.to_owned() });
        // What is left of older memory at these addresses is no more.
        let (all, end) = (&self.all, start.offset(size.0));
        self.live.retain(|&n| all[n as usize].end <= start || all[n as usize].start >= end);
        let at = self.live.partition_point(|&n| all[n as usize].start < start);
        self.live.insert(at, number);
    }

    pub(super) fn launched(&mut self, kernel: &str) {
        self.kernels.push(kernel.to_owned());
    }

    /// The number of the allocation that holds a byte.
    pub(super) fn find(&self, address: Addr) -> Option<u32> {
        let after = self.live.partition_point(|&n| self.all[n as usize].start <= address);
        let number = *self.live.get(after.checked_sub(1)?)?;
        (address < self.all[number as usize].end).then_some(number)
    }

    /// Where an allocation begins, by its number.
    pub(super) fn start(&self, number: u32) -> Option<Addr> {
        self.all.get(number as usize).map(|known| known.start)
    }

    /// Bytes of an allocation, by its number.
    pub(super) fn bytes(&self, number: u32) -> Option<Bytes> {
        self.all.get(number as usize).map(|known| Bytes(known.end.0 - known.start.0))
    }

    /// The name of an allocation by its number.
    pub(super) fn allocation(&self, number: u32) -> Option<&str> {
        self.all.get(number as usize).map(|known| known.name.as_str())
    }

    /// An address as a person wants it: relative to its allocation if it has one.
    pub(super) fn address(&self, address: Addr) -> String {
        match self.find(address).map(|number| &self.all[number as usize]) {
            Some(known) => format!("{}+{:#x}", known.name, address.0 - known.start.0),
            None => address.to_string(),
        }
    }

    /// A kernel by its number, from 0, as messages name it.
    pub(super) fn kernel(&self, number: u32) -> String {
        match self.kernels.get(number as usize) {
            Some(name) => format!("`{name}` (launch {})", number + 1),
            None => format!("launch {}", number + 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_relative_to_the_last_allocation_there() {
        let mut names = Names::default();
        names.allocated(Addr(0x2000), Bytes(0x100), "B");
        names.allocated(Addr(0x1000), Bytes(0x100), "A");
        assert_eq!(names.address(Addr(0x10f0)), "A+0xf0");
        assert_eq!(names.address(Addr(0x2000)), "B+0x0");
        assert_eq!(names.address(Addr(0x1100)), "0x1100");
        assert_eq!(names.address(Addr(0x10)), "0x10");
        names.allocated(Addr(0x1080), Bytes(0x1000), "C");
        assert_eq!(names.address(Addr(0x1090)), "C+0x10");
        assert_eq!(names.find(Addr(0x1010)), None, "freed, since its memory was given again");
        assert_eq!((names.allocation(0), names.allocation(9)), (Some("B"), None));
    }
}
