//! What the machine counts.
//!
//! [`MachineStats`] and [`SliceStats`] are tables of counters, as is [`ChannelStats`]; a [`Reading`] holds all of them at one
//! moment, and the difference of two readings is what happened between. A reading is exported as counters, values divided
//! from them, and energy; what single slices and channels did is kept as dense tables.

use crate::config::GpuConfig;
use crate::counters::counters;
use crate::dram::ChannelStats;
use crate::energy::{Activity, Energy};
use crate::seam::SideCount;
use crate::side_stats::{self, SideReading};
use crate::time::Cycles;
use strata_core::Bytes;
use strata_core::stats::{Members, Stats, Unit};

counters! {
    /// Counts of a machine outside its L2 slices and DRAM channels.
    pub struct MachineStats {
        events: "events", Events, "events that the simulator handled: its own work, no property of the GPU";
        ctas: "sm.ctas", Events, "CTAs that ran";
        warp_instructions: "sm.warp_instructions", Instructions, "machine instructions issued; one of PTX may be several";
        thread_instructions: "sm.thread_instructions", Instructions, "machine instructions issued, times active lanes";
        resident: "sm.resident", Cycles, "warp-cycles from the start of warps to their end";
        places: "sm.places", Cycles, "warp-cycles that all SMs have room for, from the first instruction to the last";
        stall_memory: "sm.stall.memory", Cycles, "warp-cycles that warps waited for data of global, local or constant memory";
        stall_unit: "sm.stall.unit", Cycles, "warp-cycles that warps waited for an issue slot or an execution unit";
        stall_barrier: "sm.stall.barrier", Cycles, "warp-cycles that warps waited at a barrier of their CTA";
        stall_queue: "sm.stall.queue", Cycles, "warp-cycles that warps waited for room before the load/store unit";
        stall_branch: "sm.stall.branch", Cycles, "warp-cycles from a branch to its target";
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
        dram_reads: "dram.asked_reads", Sectors, "sectors that DRAM was asked for";
        dram_writes: "dram.asked_writes", Sectors, "sectors that DRAM was asked to write";
        tlb_accesses: "tlb.accesses", Requests, "line requests that were translated";
        tlb_misses: "tlb.misses", Requests, "of those, the ones that missed in the TLB of their SM";
        tlb_walks: "tlb.walks", Requests, "of those, the ones that missed in the shared TLB too";
        remote_accesses: "requests.remote", Requests, "line requests that far memory served";
        sent: "requests.sent", Requests, "line requests that left an SM";
        replies: "requests.answered", Requests, "line requests that left an SM and were answered";
        stores: "requests.stored", Requests, "line requests of stores and reductions that took effect; nobody waits for an answer";
        reply_latency: "requests.latency", Cycles, "core cycles from leaving the SM to the answer, over all of them";
        wait_lsu: "wait.load_store_unit", Cycles, "core cycles that instructions waited for the load/store unit";
        wait_mshr: "wait.mshr", Cycles, "core cycles that line requests waited because their SM had too many under way";
        wait_request_port: "wait.request_port", Cycles, "interconnect cycles at and through the port out of an SM";
        wait_slice: "wait.l2_slice", Cycles, "L2 cycles that line requests waited for their slice";
        wait_memory_queue: "wait.memory_queue", Cycles, "L2 cycles that line requests waited for an L2 MSHR or a place in the queue to memory";
        wait_reply_port: "wait.reply_port", Cycles, "interconnect cycles at and through the ports of slice and SM on the way back";
    }
}

counters! {
    /// Counts of memory stacks and of the SMs on them; exported for machines that have stacks.
    pub struct StackStats {
        stall: "sm.stall.offload", Cycles, "warp-cycles that warps waited on their way to and from memory stacks";
        near_reads: "near.reads", Sectors, "sectors that SMs on memory stacks read from DRAM";
        near_writes: "near.writes", Sectors, "sectors that SMs on memory stacks wrote to DRAM";
        host_reads: "host.reads", Sectors, "sectors that L2 read from the memory of the host, while data were there";
        host_writes: "host.writes", Sectors, "sectors that L2 wrote to the memory of the host, while data were there";
        tx: "stacks.tx", Bytes, "bytes from the GPU to memory stacks, headers included";
        rx: "stacks.rx", Bytes, "bytes from memory stacks to the GPU, headers included";
        cross: "stacks.cross", Bytes, "bytes between memory stacks, headers included";
        offloads: "offload.blocks", Events, "blocks that ran on memory stacks";
        instructions: "offload.thread_instructions", Instructions, "machine instructions issued on memory stacks, times active lanes";
        invalidations: "offload.invalidations", Events, "times that the SM of a memory stack dropped its cache for a block";
        dirty_lines: "offload.dirty_lines", Requests, "lines that offloaded blocks wrote and their GPU dropped from its caches";
    }
}

counters! {
    /// Counts of one L2 slice.
    pub struct SliceStats {
        reads: "reads", Sectors, "sectors that loads and atomics asked of L2";
        read_hits: "read_hits", Sectors, "sectors of those that were in L2";
        read_awaited: "read_awaited", Sectors, "sectors of those that were on their way to L2 already";
        writes: "writes", Sectors, "sectors that stores wrote to L2";
        write_hits: "write_hits", Sectors, "sectors of stores whose sectors were all in L2";
        merges: "read_merges", Requests, "line requests whose missing sectors were all on their way to L2 already";
        fetches: "fetches", Sectors, "sectors that L2 asked of memory";
        fetched_along: "fetched_along", Sectors, "sectors of those that nobody asked for: lines without sectors come whole";
        fills: "fills", Sectors, "sectors that memory brought";
        eager_write_backs: "eager_write_backs", Sectors, "dirty sectors written back while their line stayed in L2";
        write_backs: "write_backs", Sectors, "sectors that L2 wrote to memory";
        copied: "copied", Sectors, "sectors that a memory side took from L2 instead of DRAM, for another line";
    }
}

impl MachineStats {
    /// Line requests to global, local and constant memory: what the memory system serves.
    const fn requests(&self) -> u64 {
        self.l1_accesses + self.l1_bypasses + self.l1_writes + self.atomics + self.constant_accesses
    }

    /// Warp-cycles in which nothing but a register kept a warp: what is left when everything else is counted.
    const fn stall_register(&self, offload: u64) -> u64 {
        let other = self.stall_memory + self.stall_unit + self.stall_barrier + self.stall_queue + self.stall_branch;
        self.resident.saturating_sub(self.warp_instructions + other + offload)
    }
}

/// Everything a machine has counted since it was made, or what was counted between two such moments.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Reading {
    /// Outside slices and channels.
    pub machine: MachineStats,
    /// Memory stacks.
    pub stacks: StackStats,
    /// L2 slices.
    pub slices: Vec<SliceStats>,
    /// DRAM channels.
    pub channels: Vec<ChannelStats>,
    /// Memory sides.
    pub sides: SideReading,
    /// Sectors read because L2 had only some of the bytes that it wrote back, where memory cannot mask a write; memory sides count
    /// what they read themselves.
    pub merge_reads: u64,
    /// What the paging mechanism counts; empty without one.
    pub paging: Vec<SideCount>,
    /// What the offload mechanism counts; empty without one.
    pub offload: Vec<SideCount>,
    /// What prefetchers and replacement policies of caches count, and what became of prefetches; empty without them.
    pub caches: Vec<SideCount>,
}

impl Reading {
    /// What was counted since an earlier reading of the same machine.
    #[must_use]
    pub fn delta(&self, earlier: &Self) -> Self {
        Self {
            machine: self.machine.delta(&earlier.machine),
            stacks: self.stacks.delta(&earlier.stacks),
            slices: self.slices.iter().zip(&earlier.slices).map(|(s, e)| s.delta(e)).collect(),
            channels: self.channels.iter().zip(&earlier.channels).map(|(c, e)| c.delta(e)).collect(),
            sides: self.sides.delta(&earlier.sides),
            merge_reads: self.merge_reads - earlier.merge_reads,
            paging: side_stats::since(&self.paging, &earlier.paging),
            offload: side_stats::since(&self.offload, &earlier.offload),
            caches: side_stats::since(&self.caches, &earlier.caches),
        }
    }

    /// All slices together.
    pub fn l2(&self) -> SliceStats {
        let mut sum = SliceStats::default();
        self.slices.iter().for_each(|s| sum.add(s));
        sum
    }

    /// All channels together.
    pub fn dram(&self) -> ChannelStats {
        let mut sum = ChannelStats::default();
        self.channels.iter().for_each(|c| sum.add(c));
        sum
    }

    /// Adds everything to a tree, below `prefix`: counters, what is divided from them, and the energy, of launches that
    /// took `cycles` core cycles on the GPU `config`.
    pub fn export(&self, prefix: &str, config: &GpuConfig, cycles: u64, stats: &mut Stats) {
        let (machine, l2, dram) = (&self.machine, self.l2(), self.dram());
        machine.export(prefix, stats);
        if config.stacks.count > 0 {
            self.stacks.export(prefix, stats);
        }
        l2.export(&format!("{prefix}.l2"), stats);
        dram.export(&format!("{prefix}.dram"), stats);
        let mut count = |path: &str, value, unit, what| stats.count(format!("{prefix}.{path}"), value, unit, what);
        count("cycles", cycles, Unit::Cycles, "core cycles of launches, launch latency included");
        if !config.dram.masked_writes && self.sides.traffic.is_empty() {
            let what =
                "sectors read because L2 had only some of the bytes that it wrote back: a write cannot be masked";
            count("dram.merge_reads", self.merge_reads, Unit::Sectors, what);
        }
        let what = "line requests to global, local and constant memory";
        count("requests", machine.requests(), Unit::Requests, what);
        count("sm.stall.issuing", machine.warp_instructions, Unit::Cycles, "warp-cycles in which warps issued");
        let what = "warp-cycles that warps waited for a register: a result of arithmetic or shared memory";
        count("sm.stall.register", machine.stall_register(self.stacks.stall), Unit::Cycles, what);

        let mut rate =
            |path: &str, of: f64, by: f64, unit, what| stats.quotient(format!("{prefix}.{path}"), of, by, unit, what);
        let mut share = |path: &str, of: u64, by: u64, what| rate(path, of as f64, by as f64, Unit::Fraction, what);
        let what = "places for warps on all SMs that were taken, from the first instruction to the last";
        share("sm.occupancy", machine.resident, machine.places, what);
        let what = "line requests that L1 did not send on (hits and merges), of those that looked into it";
        share("l1.read_hit_rate", machine.l1_hits + machine.l1_merges, machine.l1_accesses, what);
        share("l2.read_hit_rate", l2.read_hits, l2.reads, "sectors read that were in L2");
        share("l2.write_hit_rate", l2.write_hits, l2.writes, "sectors written that were in L2");
        let what = "line requests that missed in the constant caches";
        share("constant.read_miss_rate", machine.constant_misses, machine.constant_accesses, what);
        share("dram.row_hit_rate", dram.row_hits, dram.reads + dram.writes, "requests that found their row open");
        let time = config.clock.core.span(Cycles(cycles));
        let bus_cycles = config.clock.dram.passed(time).0 * self.channels.len() as u64;
        share("dram.bus_use", dram.data_cycles, bus_cycles, "time of launches in which the data buses carried data");
        let what = "machine instructions issued, times active lanes, per core cycle";
        rate("sm.ipc", machine.thread_instructions as f64, cycles as f64, Unit::Ratio, what);
        let what = "bytes read from and written to DRAM, per simulated second of launches";
        rate("dram.bandwidth", dram.moved().0 as f64, time.0 as f64 / 1e12, Unit::BytesPerSecond, what);

        self.sides.export(prefix, time.0 as f64 / 1e12, stats);
        side_stats::export(&self.paging, prefix, stats);
        side_stats::export(&self.offload, prefix, stats);
        side_stats::export(&self.caches, prefix, stats);
        let stacks = self.stacks.tx + self.stacks.rx + self.stacks.cross;
        let activity = Activity {
            activates: dram.activates,
            dram: dram.moved(),
            link: Bytes(self.sides.carried[0].0 + self.sides.carried[1].0 + stacks),
            link_idle: Bytes(config.stacks.bytes_in(time).saturating_sub(stacks)),
            l2_sectors: l2.reads + l2.writes + l2.fills + l2.write_backs + l2.copied,
            controller_fj: self.sides.controller_fj,
            warp_instructions: machine.warp_instructions,
            sms: config.all_sms(),
            time,
        };
        Energy::of(&activity, &config.energy).export(prefix, stats);
    }

    /// What each slice and each channel did, below `prefix`.
    pub fn members(&self, prefix: &str) -> Vec<Members> {
        vec![
            Members {
                group: format!("{prefix}.l2"),
                counters: SliceStats::COUNTERS,
                counts: self.slices.iter().flat_map(SliceStats::counts).collect(),
            },
            Members {
                group: format!("{prefix}.dram"),
                counters: ChannelStats::COUNTERS,
                counts: self.channels.iter().flat_map(ChannelStats::counts).collect(),
            },
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::load;
    use crate::time::Clock;

    #[test]
    fn a_reading_less_an_earlier_one_is_what_happened_between() {
        let reading = |requests, reads| Reading {
            machine: MachineStats { sent: requests, ..MachineStats::default() },
            slices: vec![SliceStats { reads, ..SliceStats::default() }],
            channels: vec![ChannelStats { activates: 2 * reads, ..ChannelStats::default() }],
            ..Reading::default()
        };
        assert_eq!(reading(7, 30).delta(&reading(5, 10)), reading(2, 20));
    }

    #[test]
    fn rates_are_divided_from_what_they_say() {
        let slice = |reads, read_hits| SliceStats { reads, read_hits, ..SliceStats::default() };
        let channel = |read_accesses, write_accesses| ChannelStats {
            read_accesses,
            write_accesses,
            data_cycles: 25,
            ..ChannelStats::default()
        };
        let counted = Reading {
            machine: MachineStats {
                l1_accesses: 8,
                l1_hits: 3,
                l1_merges: 1,
                thread_instructions: 640,
                warp_instructions: 20,
                resident: 100,
                places: 400,
                stall_memory: 50,
                ..MachineStats::default()
            },
            slices: vec![slice(10, 8), slice(6, 4)],
            channels: vec![channel(2, 1), channel(1, 0)],
            ..Reading::default()
        };
        let mut config = load("titan-v", &[""; 0]).expect("a preset").config;
        config.clock.core = Clock::from_khz(1_000_000);
        config.clock.dram = Clock::from_khz(500_000);
        let mut stats = Stats::default();
        // 100 cycles at 1 GHz are 100 ns; 4 sectors of 32 bytes in that time are 1.28 GB/s.
        counted.export("gpu", &config, 100, &mut stats);
        counted.members("gpu").iter().for_each(|m| m.export(&mut stats));
        let expected = [
            ("gpu.l1.read_hit_rate", Some(0.5)),
            ("gpu.l2.read_hit_rate", Some(0.75)),
            ("gpu.l2.write_hit_rate", None),
            ("gpu.sm.ipc", Some(6.4)),
            ("gpu.sm.occupancy", Some(0.25)),
            ("gpu.sm.stall.register", Some(30.0)),
            ("gpu.dram.bandwidth", Some(1.28e9)),
            ("gpu.dram.bus_use", Some(0.5)),
            ("gpu.dram.reads", Some(3.0)),
            ("gpu.dram[1].reads", Some(1.0)),
            ("gpu.dram[1].writes", None),
            ("gpu.l2[1].read_hits", Some(4.0)),
            ("gpu.cycles", Some(100.0)),
        ];
        for (path, value) in expected {
            assert_eq!(stats.number(path), value, "{path}");
        }
    }
}
