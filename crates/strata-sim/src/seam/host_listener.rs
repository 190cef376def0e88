//! The host seam: for a mechanism that must know what the program does and stands on no seam that is told already.

use strata_core::HostEvent;

/// Hears everything the host does, in program order.
pub trait HostListener: Send {
    /// Called for each event, after the paging mechanism and the memory sides.
    fn host_event(&mut self, event: &HostEvent);
}
