//! What a channel counts.

/// Counters of one channel, of the requests it has finished. They only grow, and those of several channels may be added up.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ChannelStats {
    /// Read requests served.
    pub reads: u64,
    /// Write requests served.
    pub writes: u64,
    /// 32 B accesses read.
    pub read_accesses: u64,
    /// 32 B accesses written.
    pub write_accesses: u64,
    /// Requests that found their row open.
    pub row_hits: u64,
    /// Requests that found their bank closed.
    pub row_misses: u64,
    /// Requests that had to close another row first.
    pub row_conflicts: u64,
    /// Rows opened.
    pub activates: u64,
    /// Rows closed, those closed for a refresh included.
    pub precharges: u64,
    /// Refreshes of all banks.
    pub refreshes: u64,
    /// Cycles in which the data bus carried data.
    pub data_cycles: u64,
    /// Turns from reading to writing.
    pub write_turns: u64,
    /// Sum over read requests of the cycles from arrival to the end of the data.
    pub read_latency: u64,
}

impl ChannelStats {
    /// Bytes read.
    pub fn bytes_read(&self) -> u64 {
        self.read_accesses * u64::from(super::gates::ACCESS_BYTES)
    }

    /// Bytes written.
    pub fn bytes_written(&self) -> u64 {
        self.write_accesses * u64::from(super::gates::ACCESS_BYTES)
    }
}

impl std::ops::AddAssign for ChannelStats {
    fn add_assign(&mut self, other: Self) {
        self.reads += other.reads;
        self.writes += other.writes;
        self.read_accesses += other.read_accesses;
        self.write_accesses += other.write_accesses;
        self.row_hits += other.row_hits;
        self.row_misses += other.row_misses;
        self.row_conflicts += other.row_conflicts;
        self.activates += other.activates;
        self.precharges += other.precharges;
        self.refreshes += other.refreshes;
        self.data_cycles += other.data_cycles;
        self.write_turns += other.write_turns;
        self.read_latency += other.read_latency;
    }
}
