//! What unified memory counts, with the definition of each, and the rates that follow.

use strata_core::stats::{Stats, Unit};
use strata_sim::seam::SideCount;

macro_rules! counts {
    ($($field:ident: $path:literal, $unit:ident, $what:literal;)*) => {
        /// Counts since the machine was made.
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
        pub struct Counts {
            $(#[doc = $what] pub $field: u64,)*
        }

        impl Counts {
            /// All of them, below `uvm.`.
            pub fn list(&self) -> Vec<SideCount> {
                vec![$(SideCount {
                    name: concat!("uvm.", $path), unit: Unit::$unit, what: $what, value: self.$field,
                },)*]
            }
        }
    };
}

counts! {
    hits: "page_hits", Requests, "walks that found their page on the device; accesses that a TLB translates make none";
    misses: "page_misses", Requests, "walks that did not, those that wait for a page on its way included";
    faults: "far_faults", Events, "pages that nobody had asked for when a walk missed them";
    pending: "pending", Requests, "walks that wait for a page which is on its way already";
    remote: "remote", Requests, "walks answered by an access to host memory";
    migrated: "migrated_pages", Pages, "pages that came to the device";
    prefetches: "prefetches", Pages, "pages put into the queue to the device without a fault of their own";
    prefetched: "prefetched_pages", Pages, "of those, the ones that came without a fault of their own";
    prefetched_used: "prefetched_used", Pages, "of those, the ones accessed before they left";
    used: "used_pages", Pages, "pages accessed since they came or were queued, each once per stay";
    used_foreseen: "used_foreseen", Pages, "of those, the ones that a prefetcher brought or had queued, the block of a fault included";
    used_prefetched: "used_by_prefetch", Pages, "of those, the ones that came without a fault of their own";
    predictions: "predictions.made", Events, "predictions of a learned prefetcher";
    predicted_nothing: "predictions.of_nothing", Events, "of those, the ones that named no page: it did not know";
    predicted_elsewhere: "predictions.elsewhere", Pages, "predicted pages that belong to no allocation: dropped";
    predicted_here: "predictions.here", Pages, "predicted pages that were on the device or on their way already: dropped";
    predicted_left: "predictions.left", Pages, "predicted pages that were not worth what would have had to leave for them: dropped";
    predicted_late: "predictions.late", Pages, "predicted pages that were asked for while the prediction was made: dropped";
    predicted_queued: "predictions.queued", Pages, "predicted pages put into the queue to the device";
    predicted_rode: "predictions.rode", Pages, "of those, the ones that travel with the rest of a faulted block";
    predicted_used: "predictions.used", Pages, "of those put into the queue, the ones accessed before they left";
    promoted: "promoted_pages", Pages, "pages on their way that nobody had faulted for and somebody came to wait for, with their blocks: moved before all others";
    zero_filled: "zero_filled_pages", Pages, "pages that neither side had: filled with zeros on the device, without a transfer";
    served: "served", Events, "requests that the host served as a queue of its own";
    served_cycles: "served_cycles", Cycles, "core cycles of the host's work on them";
    evicted_dirty: "evicted_dirty", Pages, "pages that left for want of room and were written to";
    evicted_clean: "evicted_clean", Pages, "pages that left for want of room and were not";
    thrashed: "thrashed_pages", Pages, "pages that came again after they had to leave";
    rescued: "rescued_pages", Pages, "pages accessed while their write-back waited: they stay";
    synced: "synced_pages", Pages, "dirty pages written back because the host waited or wanted them";
    batches: "batches", Events, "batches of faults that were served";
    throttled: "throttled", Events, "faults put off because host and device took the page from each other";
    pinned: "pinned_pages", Pages, "pages left at the host for a while for that reason";
    switches: "policy_switches", Events, "times that the adaptive engine changed eviction or migration";
    in_bytes: "pcie.in_bytes", Bytes, "bytes that came over PCI Express for pages and zero-copy accesses";
    out_bytes: "pcie.out_bytes", Bytes, "bytes that left over PCI Express for pages";
    in_busy: "pcie.in_busy", Cycles, "core cycles in which PCI Express carried data to the device";
    out_busy: "pcie.out_busy", Cycles, "core cycles in which PCI Express carried data to the host";
    in_full: "pcie.in_full", Cycles, "core cycles that the same data would take at the nominal bandwidth, to the device";
    out_full: "pcie.out_full", Cycles, "the same to the host";
    fault_cycles: "fault_cycles", Cycles, "core cycles of all far faults at `uvm.fault_latency` each, whether charged or not";
    stall_service: "stall.service", Cycles, "core cycles that faulted pages waited for their fault to be served, over all";
    stall_room: "stall.room", Cycles, "core cycles that faulted pages waited for room on the device";
    stall_queue: "stall.queue", Cycles, "core cycles that faulted pages waited for transfers before theirs";
    stall_transfer: "stall.transfer", Cycles, "core cycles of the transfers of faulted pages";
}

/// What only a predictor of roots counts.
pub(crate) const LEFT: &str = "uvm.predictions.left";

/// Adds the rates of a launch or a run to its tree; `prefix` is the machine's.
pub fn add_rates(prefix: &str, stats: &mut Stats) {
    let value = |stats: &Stats, name: &str| stats.number(&format!("{prefix}.uvm.{name}")).unwrap_or(0.0);
    let sum = |stats: &Stats, names: &[&str]| names.iter().map(|name| value(stats, name)).sum::<f64>();
    let rates: [(&str, &[&str], &[&str], &str); 8] = [
        (
            "page_hit_rate",
            &["page_hits"],
            &["page_hits", "page_misses"],
            "page hits of all walks: the paper's page hit rate",
        ),
        (
            "accuracy",
            &["prefetched_used"],
            &["prefetched_pages"],
            "pages that came without a fault and were accessed before they left, of all that came so",
        ),
        (
            "coverage",
            &["used_foreseen"],
            &["used_pages"],
            "the paper's coverage: accessed pages that a prefetcher brought or had queued, a fault's own block included",
        ),
        (
            "coverage_strict",
            &["used_by_prefetch"],
            &["used_pages"],
            "accessed pages that came without a fault of their own",
        ),
        ("pcie.in_use", &["pcie.in_busy"], &["cycles"], "core cycles in which data came, of those of launches"),
        ("pcie.out_use", &["pcie.out_busy"], &["cycles"], "core cycles in which data left, of those of launches"),
        (
            "pcie.in_efficiency",
            &["pcie.in_full"],
            &["pcie.in_busy"],
            "bandwidth to the device while busy, of the nominal: as UVMSmart prints utilisation",
        ),
        (
            "pcie.out_efficiency",
            &["pcie.out_full"],
            &["pcie.out_busy"],
            "bandwidth to the host while busy, of the nominal",
        ),
    ];
    for (name, of, by, what) in rates {
        let whole =
            if by == ["cycles"] { stats.number(&format!("{prefix}.cycles")).unwrap_or(0.0) } else { sum(stats, by) };
        let part = sum(stats, of);
        stats.quotient(format!("{prefix}.uvm.{name}"), part, whole, Unit::Fraction, what);
    }
}

/// What the paper reports, from counts.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Rates {
    /// Walks that found their page on the device.
    pub hit_rate: f64,
    /// Prefetched pages that were accessed before they left.
    pub accuracy: f64,
    /// Accessed pages that a prefetcher brought or had queued, the block of a fault included.
    pub coverage: f64,
    /// Accessed pages that came without a fault of their own.
    pub coverage_strict: f64,
}

impl Rates {
    /// Those of counts.
    pub fn of(counts: &Counts) -> Self {
        let share = |of: u64, by: u64| if by == 0 { 0.0 } else { of as f64 / by as f64 };
        Self {
            hit_rate: share(counts.hits, counts.hits + counts.misses),
            accuracy: share(counts.prefetched_used, counts.prefetched),
            coverage: share(counts.used_foreseen, counts.used),
            coverage_strict: share(counts.used_prefetched, counts.used),
        }
    }

    /// The paper's unity.
    pub fn unity(&self) -> f64 {
        unity(self.accuracy, self.coverage, self.hit_rate)
    }
}

/// The paper's unity: the cube root of accuracy, coverage and page hit rate (section 7.6).
pub fn unity(accuracy: f64, coverage: f64, hit_rate: f64) -> f64 {
    let product = accuracy * coverage * hit_rate;
    // Newton's method from above; the platform's cube root may differ in the last digit from another's.
    let mut root = 1.0f64;
    for _ in 0..64 {
        root -= (root - product / (root * root)) / 3.0;
    }
    if product > 0.0 { root } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unity_is_the_papers() {
        // Table 11, AddVectors and Hotspot.
        assert!((unity(1.0, 1.0, 0.78) - 0.92).abs() < 0.005);
        assert!((unity(0.56, 1.0, 0.61) - 0.70).abs() < 0.005);
    }
}
