//! What a channel counts.

use crate::counters::counters;
use strata_core::{Bytes, SECTOR_BYTES};

counters! {
    /// Counters of one channel, of the requests it has finished. They only grow, and those of several channels may be
    /// added up. Cycles are of the command clock.
    pub struct ChannelStats {
        reads: "read_requests", Requests, "read requests served: up to a line each";
        writes: "write_requests", Requests, "write requests served: up to a line each";
        read_accesses: "reads", Sectors, "sectors read from DRAM";
        write_accesses: "writes", Sectors, "sectors written to DRAM";
        row_hits: "row_hits", Requests, "requests that found their row open";
        row_misses: "row_misses", Requests, "requests that found their bank closed";
        row_conflicts: "row_conflicts", Requests, "requests that had to close another row first";
        activates: "activates", Events, "rows opened";
        precharges: "precharges", Events, "rows closed, those closed for a refresh included";
        refreshes: "refreshes", Events, "refreshes of all banks of a channel, or of one bank; those of an idle channel count when it wakes";
        data_cycles: "data_cycles", Cycles, "command-clock cycles in which a data bus carried data";
        write_turns: "write_turns", Events, "turns from reading to writing";
        read_latency: "read_latency", Cycles, "command-clock cycles from arrival to the end of the data, over read requests";
    }
}

/// The batches in which a channel has written: from a turn to writing to the next turn to reading.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WriteBatches {
    /// How many there were.
    pub batches: u64,
    /// Accesses of 32 B in all of them.
    pub bursts: u64,
    /// Requests in all of them that found their row open.
    pub row_hits: u64,
}

impl WriteBatches {
    /// Bursts of a batch, on average.
    pub fn bursts_per_batch(&self) -> f64 {
        self.bursts as f64 / self.batches.max(1) as f64
    }

    /// Row hits of a batch, on average.
    pub fn row_hits_per_batch(&self) -> f64 {
        self.row_hits as f64 / self.batches.max(1) as f64
    }
}

impl ChannelStats {
    /// Bytes that passed the data bus.
    pub fn moved(&self) -> Bytes {
        Bytes((self.read_accesses + self.write_accesses) * SECTOR_BYTES)
    }
}
