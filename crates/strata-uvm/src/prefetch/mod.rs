//! Prefetchers: which pages come with those that faulted. One file each.
//!
//! A prefetcher is asked once for the faults of one tree in one batch. It names pages; whether they are on the device or on
//! their way already is looked at afterwards, as is the splitting into transfers.

mod driver;
mod first_touch;
mod learned;
mod none;
mod random;
mod sequential;
mod tree;

#[cfg(test)]
pub(crate) use first_touch::FirstTouch;
pub use learned::{Learned, Predictor};

use crate::geometry::{Page, Tree};
use crate::settings::Config;
use crate::space::Space;
use strata_core::Addr;
use strata_core::random::SplitMix64;
use strata_learn::access::{Access, Unit};

/// What a prefetcher may look at and change.
pub struct Asked<'a> {
    /// Managed memory.
    pub space: &'a mut Space,
    /// The tree in which pages faulted.
    pub tree: Tree,
    /// Those pages, ascending.
    pub faults: &'a [Page],
    /// Pages of the tree that must not be prefetched, because host and device take them from each other.
    pub excluded: &'a [Page],
    /// Where chance comes from.
    pub random: &'a mut SplitMix64,
}

/// Chooses pages.
pub trait Prefetcher: Send {
    /// Names the pages to bring, the faulted ones included.
    fn choose(&mut self, asked: &mut Asked<'_>, pages: &mut Vec<Page>);

    /// True if a fault counts as foreseen, because its block is brought as a whole: the paper's coverage.
    fn covers_faults(&self) -> bool {
        true
    }

    /// What it predicts, if it does.
    fn unit(&self) -> Unit {
        Unit::Page
    }

    /// A request has reached the GMMU; false if it is none to predict after.
    fn observe(&mut self, _request: &Access) -> bool {
        false
    }

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

    /// Names addresses, anywhere, whose pages come when the prediction is ready; false if it does not predict at all.
    fn predict(&mut self, _addresses: &mut Vec<Addr>) -> bool {
        false
    }

    /// True if what comes with a fault is one request to the host even where pages of its block are here already, and takes
    /// predicted pages along.
    fn gathers(&self) -> bool {
        false
    }
}

/// The prefetcher of a name that the settings allow; `learned` needs a predictor.
pub(crate) fn named(
    name: &str,
    config: &Config,
    predictor: Option<Box<dyn Predictor>>,
) -> Result<Box<dyn Prefetcher>, String> {
    Ok(match (name, predictor) {
        ("none", _) => Box::new(none::OnDemand),
        ("sequential", _) => Box::new(sequential::SequentialLocal),
        ("random", _) => Box::new(random::RandomPage),
        ("first-touch", _) => Box::new(first_touch::FirstTouch),
        ("driver", _) => Box::new(driver::DriverBitmap { threshold: config.prefetch_threshold }),
        ("learned", Some(predictor)) => Box::new(Learned::new(predictor)),
        ("learned", None) => {
            return Err("`uvm.prefetcher=learned` needs a trained predictor, and there is none in this run".to_owned());
        }
        _ => Box::new(tree::TreeNeighbourhood),
    })
}

#[cfg(test)]
pub(crate) mod testing {
    use super::*;
    use crate::geometry::Geometry;
    use crate::space::runs;
    use strata_core::Bytes;

    /// One allocation of `kb` KB, and what the prefetcher makes of faults on it.
    pub(crate) struct Bench<P> {
        pub(crate) space: Space,
        prefetcher: P,
        random: SplitMix64,
    }

    impl<P: Prefetcher> Bench<P> {
        pub(crate) fn new(kb: u64, prefetcher: P) -> Self {
            let mut space = Space::new(Geometry::new(Bytes(4096), Addr(0)));
            space.allocate(Addr(0), Bytes(kb << 10), "a");
            Self { space, prefetcher, random: SplitMix64::new(1) }
        }

        /// Faults on the first pages of blocks, in one batch: the KB of each transfer, faulting pages apart.
        pub(crate) fn fault_blocks(&mut self, blocks: &[u32]) -> Vec<u32> {
            let per_block = self.space.geometry.pages_per_block;
            self.fault(&blocks.iter().map(|b| Page(b * per_block)).collect::<Vec<_>>())
        }

        pub(crate) fn fault(&mut self, faults: &[Page]) -> Vec<u32> {
            let mut pages = Vec::new();
            let tree = self.space.geometry.tree(faults[0]);
            let mut asked = Asked { space: &mut self.space, tree, faults, excluded: &[], random: &mut self.random };
            self.prefetcher.choose(&mut asked, &mut pages);
            pages.retain(|&page| self.space.is_managed(page) && self.space.is_absent(page));
            pages.sort_unstable();
            pages.dedup();
            for &page in &pages {
                self.space.queue(page);
                self.space.arrive(page);
            }
            let pages: Vec<u32> = pages.iter().map(|p| p.0).collect();
            runs(&pages).iter().map(|run| 4 * (run.end - run.start)).collect()
        }
    }
}
