//! What the machine counts.
//!
//! A counter is one line of the table below: its field, its path below the machine's, its unit and what it means. The
//! struct, the difference of two readings and the export to a statistics tree are made from that table; so are the
//! values that are divided from counters.
//!
//! Invariant: counters only grow, so what a launch did is the difference of the readings before and after it.

use crate::time::{Clock, Cycles};
use strata_core::SECTOR_BYTES;
use strata_core::stats::{Stats, Unit};

macro_rules! machine_stats {
    (
        counters { $($field:ident: $path:literal, $unit:ident, $what:literal;)* }
        rates { $($rate:literal, $rate_unit:ident, $meaning:literal: ($($part:ident)+) / ($($whole:ident)+);)* }
    ) => {
        /// Counts of a machine since it was made, or the difference of two such readings.
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct MachineStats {
            $(#[doc = $what] pub $field: u64,)*
        }

        impl MachineStats {
            /// What was counted since an earlier reading of the same machine.
            #[must_use]
            pub fn delta(&self, earlier: &Self) -> Self {
                Self { $($field: self.$field.saturating_sub(earlier.$field),)* }
            }

            /// Adds every counter and every rate to a tree, below `prefix`.
            fn export_counts(&self, prefix: &str, stats: &mut Stats) {
                $(stats.count(format!("{prefix}.{}", $path), self.$field, Unit::$unit, $what);)*
                $({
                    let (part, whole) = ([$(self.$part),+], [$(self.$whole),+]);
                    let [part, whole] = [part.iter().sum::<u64>(), whole.iter().sum()].map(|n| n as f64);
                    stats.quotient(format!("{prefix}.{}", $rate), part, whole, Unit::$rate_unit, $meaning);
                })*
            }
        }
    };
}

machine_stats! {
    counters {
        ctas: "sm.ctas", Events, "CTAs that ran";
        warp_instructions: "sm.warp_instructions", Instructions, "machine instructions issued; one of PTX may be several";
        thread_instructions: "sm.thread_instructions", Instructions, "machine instructions issued, times active lanes";
        shared_accesses: "shared.accesses", Requests, "warp instructions that read or wrote shared memory";
        shared_conflict_cycles: "shared.conflict_cycles", Cycles, "core cycles that bank conflicts added, over all SMs";
        constant_accesses: "constant.reads", Requests, "line requests to the constant caches";
        constant_misses: "constant.read_misses", Requests, "line requests that the constant caches sent on to L2";
        l1_accesses: "l1.reads", Requests, "line requests of loads that looked into L1";
        l1_hits: "l1.read_hits", Requests, "line requests whose sectors were all in L1";
        l1_misses: "l1.read_misses", Requests, "line requests that L1 sent on to L2";
        l1_merges: "l1.read_merges", Requests, "line requests whose missing sectors were all on their way to L1 already";
        l1_bypasses: "l1.bypasses", Requests, "line requests of loads that went to L2 without looking into L1";
        l1_writes: "l1.writes", Requests, "line requests of stores, all sent on to L2";
        l1_transactions: "l1.transactions", Sectors, "sectors that loads asked of L1, whether they looked into it or not";
        atomics: "l1.atomics", Requests, "line requests of atomics, all sent on to L2";
        l2_reads: "l2.reads", Sectors, "sectors that loads and atomics asked of L2";
        l2_read_hits: "l2.read_hits", Sectors, "sectors of those that were in L2";
        l2_writes: "l2.writes", Sectors, "sectors that stores wrote to L2";
        l2_write_hits: "l2.write_hits", Sectors, "sectors of stores whose sectors were all in L2";
        l2_merges: "l2.read_merges", Requests, "line requests whose missing sectors were all on their way to L2 already";
        l2_eager_write_backs: "l2.eager_write_backs", Sectors, "dirty sectors written back while their line stayed in L2";
        l2_write_backs: "l2.write_backs", Sectors, "dirty sectors that left L2 for memory";
        dram_reads: "dram.reads", Sectors, "sectors read from DRAM";
        dram_writes: "dram.writes", Sectors, "sectors written to DRAM";
        tlb_accesses: "tlb.accesses", Requests, "line requests that were translated";
        tlb_misses: "tlb.misses", Requests, "of those, the ones that missed in the TLB of their SM";
        tlb_walks: "tlb.walks", Requests, "of those, the ones that missed in the shared TLB too";
        remote_accesses: "requests.remote", Requests, "line requests that far memory served";
        replies: "requests.answered", Requests, "line requests that left an SM and were answered";
        reply_latency: "requests.latency", Cycles, "core cycles from leaving the SM to the answer, over all of them";
        wait_lsu: "wait.load_store_unit", Cycles, "core cycles that instructions waited for the load/store unit";
        wait_mshr: "wait.mshr", Cycles, "core cycles that line requests waited because their SM had too many under way";
        wait_request_port: "wait.request_port", Cycles, "interconnect cycles at and through the port out of an SM";
        wait_slice: "wait.l2_slice", Cycles, "L2 cycles that line requests waited for their slice";
        wait_memory_queue: "wait.memory_queue", Cycles, "L2 cycles that line requests waited for an L2 MSHR or a place in the queue to memory";
        wait_reply_port: "wait.reply_port", Cycles, "interconnect cycles at and through the ports of slice and SM on the way back";
    }
    rates {
        "l1.read_hit_rate", Fraction, "line requests that L1 did not send on (hits and merges), of those that looked into it":
            (l1_hits l1_merges) / (l1_accesses);
        "l2.read_hit_rate", Fraction, "sectors read that were in L2": (l2_read_hits) / (l2_reads);
        "l2.write_hit_rate", Fraction, "sectors written that were in L2": (l2_write_hits) / (l2_writes);
        "constant.read_miss_rate", Fraction, "line requests that missed in the constant caches":
            (constant_misses) / (constant_accesses);
    }
}

impl MachineStats {
    /// Line requests to global, local and constant memory: what the memory system serves.
    const fn requests(&self) -> u64 {
        self.l1_accesses + self.l1_bypasses + self.l1_writes + self.atomics + self.constant_accesses
    }

    /// Adds everything to a tree, below `prefix`: the counters, the rates among them, and the rates over a time of
    /// `cycles` of the core clock `core`.
    pub fn export(&self, prefix: &str, core: Clock, cycles: u64, stats: &mut Stats) {
        self.export_counts(prefix, stats);
        stats.count(
            format!("{prefix}.cycles"),
            cycles,
            Unit::Cycles,
            "core cycles of launches, launch latency included",
        );
        let what = "line requests to global, local and constant memory";
        stats.count(format!("{prefix}.requests"), self.requests(), Unit::Requests, what);
        let what = "machine instructions issued, times active lanes, per core cycle";
        let issued = self.thread_instructions as f64;
        stats.quotient(format!("{prefix}.sm.ipc"), issued, cycles as f64, Unit::Ratio, what);
        let bytes = ((self.dram_reads + self.dram_writes) * SECTOR_BYTES) as f64;
        let seconds = core.span(Cycles(cycles)).0 as f64 / 1e12;
        let what = "bytes read from and written to DRAM, per simulated second of launches";
        stats.quotient(format!("{prefix}.dram.bandwidth"), bytes, seconds, Unit::BytesPerSecond, what);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reading_less_an_earlier_one_is_what_happened_between() {
        let earlier = MachineStats { l2_reads: 10, dram_reads: 4, ..MachineStats::default() };
        let later = MachineStats { l2_reads: 30, l2_read_hits: 15, dram_reads: 4, ..MachineStats::default() };
        let between = MachineStats { l2_reads: 20, l2_read_hits: 15, ..MachineStats::default() };
        assert_eq!(later.delta(&earlier), between);
    }

    #[test]
    fn rates_are_divided_from_what_they_say() {
        let counted = MachineStats {
            l1_accesses: 8,
            l1_hits: 3,
            l1_merges: 1,
            l2_reads: 16,
            l2_read_hits: 12,
            dram_reads: 3,
            dram_writes: 1,
            thread_instructions: 640,
            ..MachineStats::default()
        };
        let mut stats = Stats::default();
        // 100 cycles at 1 GHz are 100 ns; 4 sectors of 32 bytes in that time are 1.28 GB/s.
        counted.export("gpu", Clock::from_khz(1_000_000), 100, &mut stats);
        let expected = [
            ("gpu.l1.read_hit_rate", Some(0.5)),
            ("gpu.l2.read_hit_rate", Some(0.75)),
            ("gpu.l2.write_hit_rate", None),
            ("gpu.sm.ipc", Some(6.4)),
            ("gpu.dram.bandwidth", Some(1.28e9)),
            ("gpu.dram.reads", Some(3.0)),
            ("gpu.cycles", Some(100.0)),
        ];
        for (path, value) in expected {
            assert_eq!(stats.number(path), value, "{path}");
        }
    }
}
