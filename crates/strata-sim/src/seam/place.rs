//! The place seam: which part of memory a line lives in.

use strata_core::LineAddr;

/// Where a line lives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Placed {
    /// The partition: the number of a DRAM channel.
    pub partition: u32,
    /// Its number among the lines of the partition.
    pub local: u64,
}

/// Maps physical lines to partitions, one to one. It is asked once per line request, before L2; from there on addresses are
/// local to the partition.
pub trait Place: Send {
    /// Where a line lives.
    fn place(&self, line: LineAddr) -> Placed;
}
