//! What any prefetcher could gain at most: what the machine itself does not allow to be shorter.

use super::figures::{Column, at_end, ratios};
use super::suite::Scheme;
use super::timing::{GPU, Timing};
use crate::report::Figure;
use crate::reproduce::by_program::by_program;
use strata_run::LabError;
use strata_run::gpus::gpu;
use strata_uvm::geometry::{Geometry, TREE_BYTES};
use strata_uvm::pcie::Pcie;

/// The least core cycles in which PCI Express carries pages.
#[derive(Clone, Copy)]
pub(super) struct Link {
    /// Before the first page can be asked for: its kernel is launched first.
    launch: f64,
    /// Of a byte, in the largest transfers that the tree makes.
    per_byte: f64,
}

impl Link {
    pub(super) fn new() -> Result<Self, LabError> {
        let config = gpu(GPU, &[""; 0])?.config;
        let nominal = strata_uvm::SETTINGS.iter().find(|setting| setting.key == "pcie");
        let nominal = nominal.and_then(|setting| setting.default.parse().ok()).unwrap_or(16);
        let geometry = Geometry::new(strata_core::Bytes(PAGE), strata_core::Addr(0));
        let pcie = Pcie::new(nominal, config.clock.core.khz(), 0, &geometry);
        let per_byte = pcie.cycles(TREE_BYTES) as f64 / TREE_BYTES as f64;
        Ok(Self { launch: f64::from(config.launch.before), per_byte })
    }

    /// What so many pages take.
    pub(super) fn cycles_of(self, pages: f64) -> f64 {
        self.launch + pages * PAGE as f64 * self.per_byte
    }

    /// What the pages that a program accesses take.
    fn cycles(self, t: &Timing) -> Option<f64> {
        Some(self.cycles_of(t.point(Scheme::Baseline)?.whole().used))
    }

    /// The tree's time over the least possible one.
    fn most(self, t: &Timing) -> Option<f64> {
        let on_device = t.point(Scheme::OnDevice)?.cycles;
        Some(t.point(Scheme::Baseline)?.cycles / on_device.max(self.cycles(t)?))
    }
}

/// Bytes of a page: the prefetching paper's Table 9.
const PAGE: u64 = 4 << 10;

/// The tree beside both bounds.
pub(super) fn ceiling(timings: &[Timing]) -> Result<Figure, LabError> {
    let note = "Whole runs, millions of core cycles: with the tree; with everything on the device, so that nothing is waited for; and what \
                PCI Express needs for the pages that are accessed, in transfers of 2 MB without a gap behind the first \
                launch. The slower of the last two is the least time of any prefetcher, and `most` what one could gain over the tree at \
                most; below 1 the program is slower on the device than with the tree, and it is no bound.";
    let link = Link::new()?;
    let millions = |point: &super::timing::Point| point.cycles / 1e6;
    let columns = [
        at_end("tree", 3, Scheme::Baseline, millions),
        at_end("on the device", 3, Scheme::OnDevice, millions),
        Column::new("PCI Express", 3, move |t: &Timing| Some(link.cycles(t)? / 1e6)),
        Column::new("most", 3, move |t: &Timing| link.most(t)),
    ];
    let mut figure = by_program(timings, ratios("ceiling", "What any prefetcher could gain", note, ""), &columns);
    figure.chart = None;
    Ok(figure)
}
