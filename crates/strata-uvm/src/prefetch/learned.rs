//! The place of a learned prefetcher: what it learns is not here, but how it meets the GMMU.
//!
//! As in the prefetching paper, section 4: a faulted page brings its 64 KB block, and the page (or pages) that the predictor
//! names follow when its prediction is ready.

use super::{Asked, Prefetcher};
use crate::geometry::Page;
use strata_core::Addr;
use strata_learn::access::Access;

/// Predicts pages from the requests to the GMMU.
pub trait Predictor: Send {
    /// A request has reached the GMMU, with its features.
    fn observe(&mut self, request: &Access);

    /// The addresses that will be accessed next, as of the last request; none if it does not know.
    fn predict(&mut self, addresses: &mut Vec<Addr>);
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
        super::sequential::SequentialLocal.choose(asked, pages);
    }

    fn observe(&mut self, request: &Access) {
        self.predictor.observe(request);
    }

    fn predict(&mut self, addresses: &mut Vec<Addr>) -> bool {
        self.predictor.predict(addresses);
        true
    }

    fn gathers(&self) -> bool {
        true
    }
}
