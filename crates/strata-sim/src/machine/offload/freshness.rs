//! Whether the cache of a stack's SM may be kept for the next block: the second step of coherence (TOM, section 4.4.2), left out
//! where it changes nothing.
//!
//! A block runs on behalf of its SM. It must see what that SM's threads could see when it set out: their own stores, what
//! blocks wrote that have ended for them, and, where they have synchronised with other SMs, what those wrote. Nothing of
//! this is missing in a cache that was dropped after the last of it was in memory: later fills come from memory. So each stack has
//! the time of its last drop, each SM the time of the last thing that may have made a cache old for it, and a launch
//! ends all that is known: other SMs' stores of the kernel before count then.

use crate::config::GpuConfig;
use crate::seam::StackId;
use crate::time::Picos;
use strata_core::{Access, OpClass, OpInfo, OpKind};

/// What is known of the caches of stacks.
pub(super) struct Freshness {
    /// When each stack last dropped its cache in this kernel.
    dropped: Vec<Option<Picos>>,
    /// By SM: when a store of its own was last in memory, a block that wrote ended for it, or it synchronised.
    aged: Vec<Picos>,
    /// By program counter: an instruction after which a thread may see what other SMs wrote.
    synchronises: Vec<bool>,
}

impl Freshness {
    pub(super) fn new(config: &GpuConfig) -> Self {
        Self {
            dropped: vec![None; (config.stacks.count * config.stacks.sms) as usize],
            aged: vec![Picos(0); config.all_sms() as usize],
            synchronises: Vec::new(),
        }
    }

    /// A kernel of these instructions begins; a test may want that it makes nothing old.
    pub(super) fn kernel_begins(&mut self, instructions: &[OpInfo], ages: bool) {
        if ages {
            self.dropped.fill(None);
        }
        self.synchronises.clear();
        self.synchronises.extend(instructions.iter().map(synchronises));
    }

    /// True if one of these instructions synchronises.
    pub(super) fn is_synchronising(&self, mut pcs: impl Iterator<Item = u32>) -> bool {
        pcs.any(|pc| self.synchronises.get(pc as usize).is_some_and(|synchronises| *synchronises))
    }

    /// What an SM must see has changed, and is in memory at `time`.
    pub(super) fn ages_for(&mut self, sm: u32, time: Picos) {
        let aged = &mut self.aged[sm as usize];
        *aged = (*aged).max(time);
    }

    /// A block of an SM begins on a stack: true if the stack has to drop its cache, which it does now.
    pub(super) fn needs_drop(&mut self, stack: StackId, sm: u32, now: Picos, always: bool) -> bool {
        let dropped = &mut self.dropped[stack.0 as usize];
        let is_fresh = dropped.is_some_and(|at| self.aged[sm as usize] < at);
        if is_fresh && !always {
            return false;
        }
        *dropped = Some(now);
        true
    }
}

/// True for barriers, fences, atomics, and loads that look past L1 for what others wrote.
fn synchronises(info: &OpInfo) -> bool {
    matches!(info.kind, OpKind::CtaBarrier | OpKind::CtaArrival)
        || info.class == OpClass::Barrier
        || matches!(info.access, Access::Atomic | Access::Reduce)
        || info.access == Access::Load && info.bypass_l1
}
