//! What a recorded program consists of: its origin, what the host did, and launches. How these become bytes is the
//! business of the format modules.

use strata_core::{Addr, Bytes, Counts, Dim3};

/// Extents that CUDA allows (CUDA C++ Programming Guide, technical specifications per compute capability).
pub(crate) const MAX_GRID: [u32; 3] = [i32::MAX as u32, 65535, 65535];
/// Threads of a block along x, y and z that CUDA allows.
pub(crate) const MAX_BLOCK: [u32; 3] = [1024, 1024, 64];
/// Threads of a block that CUDA allows in all.
pub(crate) const MAX_THREADS: u64 = 1024;
/// Addresses have fewer bits than this: the widest virtual addresses of any GPU have 57.
pub(crate) const ADDRESS_BITS: u32 = 57;

/// The run that was recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The program: a workload or a launch file.
    pub program: String,
    /// Its size, if it has several.
    pub size: Option<String>,
    /// Seed of its inputs.
    pub seed: u64,
}

/// What the host did between launches, as far as a machine with time may hear of it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields are those of the calls")]
pub enum Event {
    /// Memory was given; `name` is what the program calls it.
    Alloc { id: u32, start: Addr, size: Bytes, managed: bool, name: String },
    /// Memory was taken back.
    Free { id: u32 },
    /// Host to device.
    CopyIn { start: Addr, size: Bytes },
    /// Device to host.
    CopyOut { start: Addr, size: Bytes },
    /// Bytes were set.
    Memset { start: Addr, size: Bytes },
    /// The host waited for the device.
    Sync,
}

/// The shape of a launch, and what its occupancy depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaunchInfo {
    /// The kernel, as its module spells it.
    pub kernel: String,
    /// CTAs.
    pub grid: Dim3,
    /// Threads per CTA.
    pub block: Dim3,
    /// Registers per thread.
    pub registers: u32,
    /// Shared memory of a CTA.
    pub shared: Bytes,
    /// How far apart the local memories of two CTA slots lie. Local addresses depend on the slot a CTA runs in, so they
    /// are recorded as those of slot 0 and moved again when they are replayed.
    pub local: Bytes,
}

impl LaunchInfo {
    /// Warps of a CTA.
    pub fn warps_per_cta(&self) -> u32 {
        self.block.count().div_ceil(strata_core::LANES as u64) as u32
    }
}

/// What a launch was, beside its operations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaunchSummary {
    /// Kernel, grid, block, and what it needs of an SM.
    pub info: LaunchInfo,
    /// What the recorded run counted: guard predicates make lanes that were active but took no part, which the
    /// operations no longer show.
    pub counts: Counts,
    /// Operations recorded: a generic access that goes to two spaces is two.
    pub operations: u64,
    /// Operations with addresses.
    pub memory_operations: u64,
    /// Bytes of its streams before compression.
    pub raw_bytes: u64,
    /// Bytes of its streams in the file.
    pub stored_bytes: u64,
}
