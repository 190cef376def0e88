//! Address translation: a TLB per SM, a shared one, and walks. Off unless the configuration turns it on.

use super::Machine;
use crate::cache::Tags;
use crate::config::GpuConfig;
use strata_core::{LINE_BYTES, LineAddr};

/// Ways of a set; a choice: enough that a fully associative TLB would hardly miss less.
const WAYS: u32 = 8;

/// A TLB: the pages whose translation is known.
pub(super) struct Tlb(Tags);

impl Tlb {
    pub(super) fn new(entries: u32) -> Self {
        let ways = WAYS.min(entries.max(1));
        Self(Tags::new((entries / ways).max(1), ways))
    }

    /// True if the page was known; it is afterwards.
    fn knows(&mut self, page: u64) -> bool {
        let set = (page ^ page >> 7) as u32 % self.0.sets();
        let known = self.0.find(set, LineAddr(page)).is_some();
        if !known {
            self.0.insert(set, LineAddr(page));
        }
        known
    }
}

/// The TLBs of a machine.
pub(super) struct Tlbs {
    of_sm: Vec<Tlb>,
    shared: Tlb,
    lines_per_page: u64,
}

impl Tlbs {
    /// `None` if translation is free.
    pub(super) fn new(config: &GpuConfig) -> Option<Self> {
        config.tlb.enabled.then(|| Self {
            of_sm: (0..config.sm.count).map(|_| Tlb::new(config.tlb.l1_entries)).collect(),
            shared: Tlb::new(config.tlb.l2_entries),
            lines_per_page: (config.tlb.page.0 / LINE_BYTES).max(1),
        })
    }
}

impl Machine {
    /// When the address of a line request of an SM is known, if it is asked for at core cycle `at`.
    #[inline]
    pub(super) fn translate(&mut self, sm: u32, line: LineAddr, at: u64) -> u64 {
        let Some(tlbs) = &mut self.tlbs else { return at };
        self.stats.tlb_accesses += 1;
        let page = line.0 / tlbs.lines_per_page;
        if tlbs.of_sm[sm as usize].knows(page) {
            return at;
        }
        self.stats.tlb_misses += 1;
        let tlb = &self.config.tlb;
        if tlbs.shared.knows(page) {
            return at + u64::from(tlb.l2_cycles);
        }
        self.stats.tlb_walks += 1;
        at + u64::from(tlb.l2_cycles + tlb.walk_cycles)
    }
}
