//! How long ago a sector left L2 when it is asked for again: what a FIFO of any depth could give.

use rustc_hash::FxHashMap;
use strata_core::stats::Unit;
use strata_sim::seam::SideCount;

/// Bounds of the classes: a sector was asked for again before so many others had left its slice.
const WITHIN: [(u64, &str); 16] = [
    (1, "cmd.rereads.within_1"),
    (2, "cmd.rereads.within_2"),
    (4, "cmd.rereads.within_4"),
    (8, "cmd.rereads.within_8"),
    (16, "cmd.rereads.within_16"),
    (32, "cmd.rereads.within_32"),
    (64, "cmd.rereads.within_64"),
    (128, "cmd.rereads.within_128"),
    (256, "cmd.rereads.within_256"),
    (512, "cmd.rereads.within_512"),
    (1 << 10, "cmd.rereads.within_1024"),
    (1 << 12, "cmd.rereads.within_4096"),
    (1 << 14, "cmd.rereads.within_16384"),
    (1 << 16, "cmd.rereads.within_65536"),
    (1 << 20, "cmd.rereads.within_1048576"),
    (u64::MAX, "cmd.rereads.all"),
];

/// Sectors that have left a slice, and a histogram of how far away they were when they came back.
#[derive(Default)]
pub(crate) struct Rereads {
    left: FxHashMap<u64, u64>,
    counts: [u64; WITHIN.len()],
}

impl Rereads {
    /// A sector leaves as the `number`-th of all.
    pub(crate) fn evicted(&mut self, sector: u64, number: u64) {
        self.left.insert(sector, number);
    }

    /// A sector is asked for when so many have left.
    pub(crate) fn missed(&mut self, sector: u64, entered: u64) {
        let Some(then) = self.left.remove(&sector) else { return };
        // The sector itself is one of those that a FIFO has to hold.
        let depth = entered - then + 1;
        for (count, (bound, _)) in self.counts.iter_mut().zip(WITHIN) {
            *count += u64::from(depth <= bound);
        }
    }

    /// A sector is written: what left is stale.
    pub(crate) fn forget(&mut self, sector: u64) {
        self.left.remove(&sector);
    }

    /// For the statistics: cumulative.
    pub(crate) fn counts(&self) -> impl Iterator<Item = SideCount> + '_ {
        let what = "sectors asked for again before so many clean ones had left their L2 slice";
        let count =
            |(&value, (_, name)): (&u64, (u64, &'static str))| SideCount { name, unit: Unit::Sectors, what, value };
        self.counts.iter().zip(WITHIN).map(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_is_the_depth_that_would_have_held_it() {
        let mut rereads = Rereads::default();
        (1..=40).for_each(|number| rereads.evicted(number, number));
        // 16 left from the 25th to the 40th.
        rereads.missed(25, 40);
        rereads.missed(24, 40);
        rereads.missed(24, 40);
        rereads.forget(1);
        rereads.missed(1, 40);
        let within = |name: &str| rereads.counts().find(|count| count.name == name).map(|count| count.value);
        assert_eq!((within("cmd.rereads.within_16"), within("cmd.rereads.within_32")), (Some(1), Some(2)));
        assert_eq!(within("cmd.rereads.all"), Some(2));
    }
}
