//! The place of a learned prefetcher: what it learns is not here, but how it meets the GMMU.
//!
//! If it predicts pages, as in the prefetching paper, section 4: a faulted page brings its 64 KB block, and the page (or pages) that
//! the predictor names follow when its prediction is ready. If it predicts blocks or roots: a faulted page brings its 2 MB, and
//! what the predictor names follows; where it names nothing, that is first touch.

use super::{Asked, Prefetcher};
use crate::geometry::Page;
use strata_core::Addr;
use strata_learn::access::{Access, Unit};

/// Predicts pages from the requests to the GMMU.
pub trait Predictor: Send {
    /// What it predicts.
    fn unit(&self) -> Unit {
        Unit::Page
    }

    /// A request has reached the GMMU, with its features; false if it is none to predict after.
    fn observe(&mut self, request: &Access) -> bool;

    /// The addresses that will be accessed next, as of the last request; none if it does not know.
    fn predict(&mut self, addresses: &mut Vec<Addr>);

    /// A launch uses a root: it accesses it for the first time, or again after it had to leave.
    fn used(&mut self, _launch: u32, _root: Addr) {}

    /// Uses of roots until the next one of this root, if it knows better than the past tells.
    fn next_use(&self, _root: Addr) -> Option<u64> {
        None
    }

    /// The 64 KB blocks of a root that are worth bringing with it, the lowest first, if it knows.
    fn wanted(&self, _root: Addr) -> Option<u32> {
        None
    }
}

/// A predictor as a prefetcher.
pub struct Learned {
    predictor: Box<dyn Predictor>,
}

impl Learned {
    pub(super) fn new(predictor: Box<dyn Predictor>) -> Self {
        Self { predictor }
    }
}

impl Prefetcher for Learned {
    fn choose(&mut self, asked: &mut Asked<'_>, pages: &mut Vec<Page>) {
        if self.predictor.unit() == Unit::Page {
            super::sequential::SequentialLocal.choose(asked, pages);
        } else {
            super::first_touch::FirstTouch.choose(asked, pages);
        }
        let geometry = asked.space.geometry;
        if let Some(wanted) = self.predictor.wanted(geometry.address(geometry.first_page(asked.tree))) {
            let faulted = |page: Page| asked.faults.iter().any(|&fault| geometry.block(fault) == geometry.block(page));
            pages.retain(|&page| geometry.is_among(wanted, page) || faulted(page));
        }
    }

    fn used(&mut self, launch: u32, root: Addr) {
        self.predictor.used(launch, root);
    }

    fn next_use(&self, root: Addr) -> Option<u64> {
        self.predictor.next_use(root)
    }

    fn wanted(&self, root: Addr) -> Option<u32> {
        self.predictor.wanted(root)
    }

    fn unit(&self) -> Unit {
        self.predictor.unit()
    }

    fn observe(&mut self, request: &Access) -> bool {
        self.predictor.observe(request)
    }

    fn predict(&mut self, addresses: &mut Vec<Addr>) -> bool {
        self.predictor.predict(addresses);
        true
    }

    fn gathers(&self) -> bool {
        self.predictor.unit() == Unit::Page
    }
}
