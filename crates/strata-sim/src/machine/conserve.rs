//! Conservation: what went in has come out.
//!
//! Checked whenever the machine has come to rest, at the end of every launch. A violation is a fault of the simulator, never
//! of the program: results that miss a request or a sector are worth nothing, so the run ends with an error.

use super::Machine;
use crate::stats::Reading;
use std::fmt;

/// Two counts that must agree and do not.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Imbalance {
    /// What the first count is of.
    pub what: &'static str,
    /// The first count.
    pub count: u64,
    /// What the second count is of.
    pub must_equal: &'static str,
    /// The second count, which the first must equal.
    pub expected: u64,
}

impl fmt::Display for Imbalance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, count, must_equal, expected } = self;
        write!(f, "{what} are {count}, {must_equal} {expected}")
    }
}

/// All violations of a check.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Imbalances(pub Vec<Imbalance>);

impl fmt::Display for Imbalances {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (k, imbalance) in self.0.iter().enumerate() {
            write!(f, "{}{imbalance}", if k == 0 { "" } else { "; " })?;
        }
        Ok(())
    }
}

impl std::error::Error for Imbalances {}

impl Machine {
    /// The machine is at rest: nothing is under way, and what was counted agrees.
    pub(super) fn check_conservation(&self) -> Result<(), Imbalances> {
        let mut found = self.leftovers();
        found.extend(disagreements(&self.reading(), self.sides.is_some()));
        if found.is_empty() { Ok(()) } else { Err(Imbalances(found)) }
    }

    /// Requests, MSHRs and queue entries that are still in use, of which a drained machine has none.
    fn leftovers(&self) -> Vec<Imbalance> {
        let (sms, slices, channels) = (&self.sms, &self.slices, &self.channels);
        let left = [
            ("line requests under way", self.requests.len()),
            ("loads that wait for data", self.loads.len()),
            ("L2 misses under way", self.misses.len()),
            ("write-backs that wait for the rest of their bytes", self.merging.len()),
            ("accesses that wait for pages", self.faulted_accesses()),
            ("plans of memory sides under way", self.plans_outstanding()),
            ("barriers that warps wait at", self.groups.len()),
            ("stores on their way to L2", self.stores_out as usize),
            ("MSHRs in use", sms.iter().map(|sm| sm.memory.l1.outstanding as usize).sum()),
            ("requests held at SMs", sms.iter().map(|sm| sm.memory.l1.held.len()).sum()),
            ("requests held at L2 slices", slices.iter().map(|slice| slice.held.len()).sum()),
            ("L2 MSHRs in use", slices.iter().map(|slice| slice.outstanding as usize).sum()),
            ("requests on their way to a channel", slices.iter().map(|slice| slice.queued as usize).sum()),
            ("write-backs at memory sides", slices.iter().map(|slice| slice.posted as usize).sum()),
            ("answers of stacks under way", self.stacks.as_ref().map_or(0, |stacks| stacks.outstanding())),
            ("blocks on memory stacks", self.offloads_outstanding()),
            ("requests waiting at channels", channels.iter().map(super::ChannelPort::waiting).sum()),
        ];
        let rest = |(what, count): (&'static str, usize)| Imbalance {
            what,
            count: count as u64,
            must_equal: "of which a machine at rest has",
            expected: 0,
        };
        left.into_iter().filter(|(_, count)| *count > 0).map(rest).collect()
    }
}

/// Counts of a machine at rest that must agree and do not. Between L2 and DRAM, memory sides may add and save traffic.
fn disagreements(reading: &Reading, has_sides: bool) -> Vec<Imbalance> {
    let (machine, l2, dram) = (&reading.machine, reading.l2(), reading.dram());
    let stalls = machine.stall_memory
        + machine.stall_unit
        + machine.stall_barrier
        + machine.stall_queue
        + machine.stall_branch
        + reading.stacks.stall
        + machine.warp_instructions;
    let plain = |asked, expected| if has_sides { expected } else { asked };
    let equations = [
        ("line requests sent", machine.sent, "those answered or stored", machine.replies + machine.stores),
        (
            "line requests that looked into L1",
            machine.l1_accesses,
            "its hits, misses and merges",
            machine.l1_hits + machine.l1_misses + machine.l1_merges,
        ),
        (
            "sectors read from L2",
            l2.reads + l2.fetched_along,
            "hits, sectors on their way and sectors fetched",
            l2.read_hits + l2.read_awaited + l2.fetches,
        ),
        ("sectors that L2 fetched", l2.fetches, "those that filled it", l2.fills),
        (
            "sectors that L2 fetched",
            l2.fetches + reading.merge_reads + reading.stacks.near_reads,
            "those asked of DRAM",
            plain(
                machine.dram_reads + reading.stacks.host_reads,
                l2.fetches + reading.merge_reads + reading.stacks.near_reads,
            ),
        ),
        (
            "sectors that L2 wrote back",
            l2.write_backs + reading.stacks.near_writes,
            "those given to DRAM",
            plain(machine.dram_writes + reading.stacks.host_writes, l2.write_backs + reading.stacks.near_writes),
        ),
        ("sectors asked of DRAM", machine.dram_reads, "those that its channels read", dram.read_accesses),
        ("sectors given to DRAM", machine.dram_writes, "those that its channels wrote", dram.write_accesses),
        ("warp-cycles with a reason", stalls, "those of resident warps, at most", stalls.min(machine.resident)),
        ("places that warps took", machine.resident, "those there are, at most", machine.resident.min(machine.places)),
    ];
    let wrong = equations.into_iter().filter(|(_, count, _, expected)| count != expected);
    wrong.map(|(what, count, must_equal, expected)| Imbalance { what, count, must_equal, expected }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::SectorMask;
    use crate::config::load;
    use crate::dram::ChannelStats;
    use crate::stats::{MachineStats, SliceStats};
    use strata_core::LineAddr;

    /// A reading in which everything agrees.
    fn sound() -> Reading {
        Reading {
            machine: MachineStats {
                sent: 10,
                replies: 7,
                stores: 3,
                l1_accesses: 6,
                l1_hits: 3,
                l1_misses: 2,
                l1_merges: 1,
                dram_reads: 8,
                dram_writes: 5,
                warp_instructions: 40,
                stall_memory: 50,
                resident: 100,
                places: 200,
                ..MachineStats::default()
            },
            slices: vec![SliceStats {
                reads: 12,
                read_hits: 5,
                read_awaited: 1,
                fetches: 8,
                fetched_along: 2,
                fills: 8,
                write_backs: 5,
                ..SliceStats::default()
            }],
            channels: vec![ChannelStats { read_accesses: 8, write_accesses: 5, ..ChannelStats::default() }],
            ..Reading::default()
        }
    }

    #[track_caller]
    fn check(falsify: impl FnOnce(&mut Reading), expected: &[&str]) {
        let mut reading = sound();
        falsify(&mut reading);
        let found: Vec<_> = disagreements(&reading, false).iter().map(|i| i.what).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn every_count_that_is_wrong_is_found() {
        check(|_| (), &[]);
        check(|r| r.machine.replies -= 1, &["line requests sent"]);
        check(|r| r.machine.stores += 1, &["line requests sent"]);
        check(|r| r.machine.l1_merges = 0, &["line requests that looked into L1"]);
        check(|r| r.slices[0].read_hits -= 1, &["sectors read from L2"]);
        check(|r| r.slices[0].fills -= 1, &["sectors that L2 fetched"]);
        check(|r| r.slices[0].write_backs += 1, &["sectors that L2 wrote back"]);
        check(|r| r.machine.dram_reads += 1, &["sectors that L2 fetched", "sectors asked of DRAM"]);
        check(|r| r.channels[0].read_accesses -= 1, &["sectors asked of DRAM"]);
        check(|r| r.channels[0].write_accesses -= 1, &["sectors given to DRAM"]);
        check(|r| r.machine.stall_barrier = 11, &["warp-cycles with a reason"]);
        check(|r| r.machine.places = 99, &["places that warps took"]);
    }

    /// A machine at rest, after something was left lying about.
    #[track_caller]
    fn check_leftover(leave: impl FnOnce(&mut Machine), expected: &str) {
        let config = load("titan-v", &["sm.count=1"]).expect("a preset").config;
        let mut machine = Machine::new(config).expect("a machine");
        assert_eq!(machine.check_conservation(), Ok(()));
        leave(&mut machine);
        let found = machine.check_conservation().expect_err("something is left").to_string();
        assert_eq!(found, expected);
    }

    #[test]
    fn whatever_is_still_under_way_is_found() {
        let rest = "of which a machine at rest has 0";
        check_leftover(|m| m.stores_out = 2, &format!("stores on their way to L2 are 2, {rest}"));
        check_leftover(|m| m.sms[0].memory.l1.outstanding = 1, &format!("MSHRs in use are 1, {rest}"));
        check_leftover(|m| m.sms[0].memory.l1.held.push_back(0), &format!("requests held at SMs are 1, {rest}"));
        check_leftover(|m| m.slices[3].held.push_back((0, 0)), &format!("requests held at L2 slices are 1, {rest}"));
        check_leftover(|m| m.slices[3].queued = 1, &format!("requests on their way to a channel are 1, {rest}"));
        check_leftover(|m| m.slices[3].posted = 1, &format!("write-backs at memory sides are 1, {rest}"));
        let fetch = |m: &mut Machine| {
            m.fetch(m.interleave.home(LineAddr(1)), LineAddr(1), SectorMask(1), SectorMask::NONE, 0, 0);
        };
        check_leftover(
            fetch,
            &format!(
                "requests on their way to a channel are 1, {rest}; requests waiting at channels are 1, {rest}; sectors \
                 that L2 fetched are 0, those asked of DRAM 1; sectors asked of DRAM are 1, those that its channels \
                 read 0"
            ),
        );
    }
}
