//! A cap on the dirty sectors of an L2 slice: beyond it, the line that has been dirty longest is cleaned and stays.
//!
//! Where a card has one it is a share of its L2 (`l2.dirty_share`): what kernels leave unwritten when they end tells it.

use crate::cache::WayIndex;
use std::collections::VecDeque;
use strata_core::LineAddr;

/// The dirty lines of a slice.
pub(super) struct DirtyCap {
    /// Sectors that may be dirty.
    most: u32,
    /// Sectors that are.
    sectors: u32,
    /// Lines in the order in which they became dirty; some have been cleaned or evicted since.
    order: VecDeque<(WayIndex, LineAddr)>,
}

impl DirtyCap {
    /// For a slice of so many lines; none if all of them may be dirty.
    pub(super) fn of(lines: u32, share: f64) -> Option<Box<Self>> {
        let most = (f64::from(lines * 4) * share) as u32;
        (share < 1.0).then(|| Box::new(Self { most, sectors: 0, order: VecDeque::new() }))
    }

    /// Sectors of a line become dirty; `first`: none of it was.
    pub(super) fn dirtied(&mut self, way: WayIndex, line: LineAddr, sectors: u32, first: bool) {
        self.sectors += sectors;
        if first && sectors > 0 {
            self.order.push_back((way, line));
        }
    }

    /// Sectors are dirty no more.
    pub(super) fn cleaned(&mut self, sectors: u32) {
        self.sectors = self.sectors.saturating_sub(sectors);
    }

    /// The line to look at next, if too many sectors are dirty: it may have been cleaned since.
    pub(super) fn next_over(&mut self) -> Option<(WayIndex, LineAddr)> {
        if self.sectors > self.most { self.order.pop_front() } else { None }
    }

    /// The line cannot be cleaned now: it is looked at again later.
    pub(super) fn defer(&mut self, way: WayIndex, line: LineAddr) {
        self.order.push_back((way, line));
    }

    /// Nothing is dirty.
    pub(super) fn clear(&mut self) {
        self.sectors = 0;
        self.order.clear();
    }
}
