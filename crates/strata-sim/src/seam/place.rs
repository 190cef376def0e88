//! The place seam: the mapping of lines to memory partitions.

use strata_core::LineAddr;

/// The home of a line.
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
    /// The home of a line; the same whenever it is asked, until [`Offload::remapped`](super::Offload::remapped) says otherwise.
    fn place(&self, line: LineAddr) -> Placed;
}
