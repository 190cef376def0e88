//! On demand: a faulted page comes alone.

use super::{Asked, Prefetcher};
use crate::geometry::Page;

pub(super) struct OnDemand;

impl Prefetcher for OnDemand {
    fn choose(&mut self, asked: &mut Asked<'_>, pages: &mut Vec<Page>) {
        pages.extend(asked.faults);
    }

    fn covers_faults(&self) -> bool {
        false
    }
}
