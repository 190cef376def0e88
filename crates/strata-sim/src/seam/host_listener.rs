//! The host seam: for a mechanism that must know what the program does and stands on no seam that is told already.

use strata_core::HostEvent;

/// Hears everything the host does, in program order.
pub trait HostListener: Send {
    /// The host did something.
    fn host_event(&mut self, event: &HostEvent);
}
