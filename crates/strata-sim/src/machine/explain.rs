//! `--explain`: what line requests waited for, which allocations and pages they were about, and which lines of the source sent them.
//!
//! The time of a request that leaves its SM is cut into intervals without gaps, from the issue of its instruction to the answer
//! (loads, atomics) or to the moment L2 has taken it (stores). What a unit needs at least is [`Wait::Travel`]; all else is
//! waiting for something by name.

use super::Machine;
use super::names::Names;
use super::page_use::{PageUse, Touched};
use super::sm_memory::RequestKind;
use crate::cache::SectorMask;
use crate::dram::ChannelStats;
use crate::time::Picos;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use strata_core::stats::{Stats, Unit};
use strata_core::{Addr, LINE_BYTES, LineAddr};

/// What a request spends its time on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(super) enum Wait {
    LoadStoreUnit,
    Mshr,
    RequestPort,
    MemoryQueue,
    Slice,
    Memory,
    ReplyPort,
    Travel,
}

/// Name and meaning of each [`Wait`], in its order. Shown in core cycles, summed over requests.
const WAITS: [(&str, &str); 8] = [
    ("load_store_unit", "core cycles at and through the load/store unit and the TLBs, over all line requests"),
    ("mshr", "core cycles in which the SM had too many requests under way, over all line requests"),
    ("request_port", "core cycles at and through the port out of the SM, over all line requests"),
    ("memory_queue", "core cycles for an L2 MSHR or a place in the queue to memory, over all line requests"),
    ("l2_slice", "core cycles in which the slice served others, over all line requests"),
    ("memory", "core cycles from the L2 miss to its data, over all line requests"),
    ("reply_port", "core cycles at and through the ports of slice and SM on the way back, over all line requests"),
    ("travel", "core cycles of the latencies that nobody can avoid, over all line requests"),
];

/// Classes of requests, in the order of [`RequestKind`].
const CLASSES: [&str; 3] = ["load", "store", "atomic"];

/// What was done with the lines of an allocation.
#[derive(Clone, Copy, Default)]
struct Use {
    asked: u64,
    missed: u64,
    dram: u64,
}

/// What the memory instructions of one program counter, or of one line of the source, asked for.
#[derive(Clone, Copy, Default)]
struct Asked {
    instructions: u64,
    requests: u64,
    sectors: u64,
    missed: u64,
    cycles: u64,
}

impl Asked {
    fn add(&mut self, other: &Self) {
        self.instructions += other.instructions;
        self.requests += other.requests;
        self.sectors += other.sectors;
        self.missed += other.missed;
        self.cycles += other.cycles;
    }
}

/// Counts since the last export.
#[derive(Default)]
pub(super) struct Explanation {
    /// Core cycle at which the instruction at hand issued.
    issued: u64,
    /// By program counter of the kernel that runs.
    asked: Vec<Asked>,
    /// The program counter that a request comes from, and when its instruction issued, by handle.
    senders: Vec<(u32, u64)>,
    /// Sectors asked of L2 by allocation and page.
    touched: Touched,
    pages: PageUse,
    waits: [[Picos; WAITS.len()]; CLASSES.len()],
    requests: [u64; CLASSES.len()],
    /// Since when requests wait for memory, by handle.
    missing: FxHashMap<u32, Picos>,
    /// By number of the allocation, after what belongs to none.
    uses: Vec<Use>,
    /// What the channels had counted at the last export.
    dram: ChannelStats,
}

impl Explanation {
    /// One that shows which pages were asked for.
    pub(super) fn showing(pages: PageUse) -> Self {
        Self { pages, ..Self::default() }
    }

    /// An instruction issues at a core cycle, or one of its accesses again.
    #[cold]
    pub(super) fn issues(&mut self, cycle: u64) {
        self.issued = cycle;
    }

    /// The instruction at hand is the one at this program counter.
    #[cold]
    pub(super) fn is_at(&mut self, pc: u32) {
        self.asked_at(pc).instructions += 1;
    }

    fn asked_at(&mut self, pc: u32) -> &mut Asked {
        let at = pc as usize;
        if at >= self.asked.len() {
            self.asked.resize(at + 1, Asked::default());
        }
        &mut self.asked[at]
    }

    /// A request is sent for the instruction at this program counter.
    #[cold]
    pub(super) fn sends(&mut self, request: u32, pc: u32) {
        self.asked_at(pc).requests += 1;
        let at = request as usize;
        if at >= self.senders.len() {
            self.senders.resize(at + 1, (0, 0));
        }
        self.senders[at] = (pc, self.issued);
    }

    /// The answer to a request is there.
    #[cold]
    pub(super) fn answered(&mut self, request: u32, cycle: u64) {
        let Some(&(pc, issued)) = self.senders.get(request as usize) else { return };
        self.asked_at(pc).cycles += cycle.saturating_sub(issued);
    }

    /// Core cycles since the instruction at hand issued.
    #[cold]
    pub(super) fn since_issue(&self, cycle: u64) -> u64 {
        cycle.saturating_sub(self.issued)
    }

    #[cold]
    pub(super) fn waited(&mut self, kind: RequestKind, wait: Wait, time: Picos) {
        self.waits[kind as usize][wait as usize].0 += time.0;
    }

    /// A time of which `travel` is needed at least; the rest was waiting.
    #[cold]
    pub(super) fn waited_beyond(&mut self, kind: RequestKind, wait: Wait, time: Picos, travel: Picos) {
        let travel = travel.min(time);
        self.waited(kind, Wait::Travel, travel);
        self.waited(kind, wait, Picos(time.0 - travel.0));
    }

    #[cold]
    pub(super) fn count_request(&mut self, kind: RequestKind) {
        self.requests[kind as usize] += 1;
    }

    /// A request must wait for memory.
    #[cold]
    pub(super) fn start_miss(&mut self, request: u32, since: Picos) {
        self.missing.insert(request, since);
    }

    /// L2 has what a request wants.
    #[cold]
    pub(super) fn end_miss(&mut self, request: u32, kind: RequestKind, now: Picos) {
        if let Some(since) = self.missing.remove(&request) {
            self.waited(kind, Wait::Memory, Picos(now.0.saturating_sub(since.0)));
        }
    }

    fn used(&mut self, number: Option<u32>) -> &mut Use {
        let at = number.map_or(0, |number| number as usize + 1);
        if at >= self.uses.len() {
            self.uses.resize(at + 1, Use::default());
        }
        &mut self.uses[at]
    }

    /// A request asks L2 for sectors, of which some are missing.
    #[cold]
    pub(super) fn asks(
        &mut self,
        names: &Names,
        request: u32,
        line: LineAddr,
        sectors: SectorMask,
        missing: SectorMask,
    ) {
        let (asked, missed) = (u64::from(sectors.count()), u64::from(missing.count()));
        let address = Addr(line.0 * LINE_BYTES);
        let number = names.find(address);
        let used = self.used(number);
        used.asked += asked;
        used.missed += missed;
        if let Some((number, start)) = number.and_then(|number| Some((number, names.start(number)?))) {
            self.touched.count(number, address.0 - start.0, asked);
        }
        if let Some(&(pc, _)) = self.senders.get(request as usize) {
            let of = self.asked_at(pc);
            of.sectors += asked;
            of.missed += missed;
        }
    }

    /// Sectors are read from or written to DRAM.
    #[cold]
    pub(super) fn moved(&mut self, names: &Names, line: LineAddr, sectors: SectorMask) {
        self.used(names.find(Addr(line.0 * LINE_BYTES))).dram += u64::from(sectors.count());
    }
}

impl Machine {
    /// Adds what was counted since the last call to a tree, below `prefix`; nothing if the explanation is off. `place` says where in the
    /// source the instruction at a program counter of the launch comes from.
    pub fn export_explanation(&mut self, prefix: &str, place: impl Fn(u32) -> String, stats: &mut Stats) {
        let Some(e) = &mut self.explanation else { return };
        for (class, (waits, requests)) in CLASSES.iter().zip(e.waits.iter().zip(e.requests)) {
            let what = "line requests of this class that left their SM";
            stats.count(format!("{prefix}.wait[{class}].requests"), requests, Unit::Requests, what);
            for ((name, what), time) in WAITS.iter().zip(waits) {
                let cycles = self.config.clock.core.next(*time).0;
                stats.count(format!("{prefix}.wait[{class}].{name}"), cycles, Unit::Cycles, what);
            }
        }
        for (number, used) in e.uses.iter().enumerate().filter(|(_, used)| used.asked + used.dram > 0) {
            let name = number.checked_sub(1).and_then(|n| self.names.allocation(n as u32)).unwrap_or("(none)");
            let path = format!("{prefix}.allocation[{name}]");
            let what = "sectors of this allocation that were asked of L2, by loads, stores and atomics";
            stats.count(format!("{path}.l2_sectors"), used.asked, Unit::Sectors, what);
            let what = "sectors of this allocation that loads and atomics did not find in L2";
            stats.count(format!("{path}.l2_misses"), used.missed, Unit::Sectors, what);
            let what = "sectors of this allocation that were read from or written to DRAM";
            stats.count(format!("{path}.dram_sectors"), used.dram, Unit::Sectors, what);
        }
        let mut lines: BTreeMap<String, Asked> = BTreeMap::new();
        for (pc, asked) in (0..).zip(&e.asked).filter(|(_, asked)| asked.requests > 0) {
            lines.entry(place(pc)).or_default().add(asked);
        }
        for (line, asked) in lines {
            let counts = [
                (
                    "instructions",
                    asked.instructions,
                    Unit::Instructions,
                    "warp instructions of this line that reach memory",
                ),
                ("requests", asked.requests, Unit::Requests, "line requests of this line that left their SM"),
                ("l2_sectors", asked.sectors, Unit::Sectors, "sectors that this line asked of L2"),
                (
                    "l2_misses",
                    asked.missed,
                    Unit::Sectors,
                    "sectors that loads and atomics of this line did not find in L2",
                ),
                (
                    "cycles",
                    asked.cycles,
                    Unit::Cycles,
                    "core cycles from issue to answer, over all line requests of this line",
                ),
            ];
            for (name, count, unit, what) in counts {
                stats.count(format!("{prefix}.line[{line}].{name}"), count, unit, what);
            }
        }
        e.pages.add(&e.touched, &self.names);
        let mut dram = ChannelStats::default();
        self.channels.iter().for_each(|port| dram.add(port.channel.stats()));
        let rows = [
            ("row_hits", dram.row_hits - e.dram.row_hits, "requests to DRAM that found their row open"),
            ("row_misses", dram.row_misses - e.dram.row_misses, "requests to DRAM that found their bank closed"),
            (
                "row_conflicts",
                dram.row_conflicts - e.dram.row_conflicts,
                "requests to DRAM that had to close another row",
            ),
        ];
        for (name, count, what) in rows {
            stats.count(format!("{prefix}.dram.{name}"), count, Unit::Requests, what);
        }
        **e = Explanation { dram, ..Explanation::showing(e.pages.clone()) };
    }
}
