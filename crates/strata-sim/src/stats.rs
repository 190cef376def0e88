//! What the machine counts.

/// Counts of a machine since it was made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(
    missing_docs,
    reason = "the names say what is counted; units are sectors for L2 and DRAM, line requests for L1"
)]
pub struct MachineStats {
    pub ctas: u64,
    pub warp_instructions: u64,
    pub thread_instructions: u64,
    pub shared_accesses: u64,
    pub shared_conflict_cycles: u64,
    pub constant_accesses: u64,
    pub constant_misses: u64,
    pub l1_accesses: u64,
    pub l1_hits: u64,
    pub l1_misses: u64,
    pub l1_merges: u64,
    pub l1_bypasses: u64,
    pub l1_writes: u64,
    pub mshr_stalls: u64,
    pub atomics: u64,
    pub l2_reads: u64,
    pub l2_read_hits: u64,
    pub l2_writes: u64,
    pub l2_write_hits: u64,
    pub l2_write_backs: u64,
    pub dram_reads: u64,
    pub dram_writes: u64,
}
