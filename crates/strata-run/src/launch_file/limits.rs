//! What a launch file may ask for, at most.

use strata_core::Bytes;

/// Memory of the device that launch files run on: all buffers together must fit.
pub const DEVICE_MEMORY: Bytes = Bytes(16 << 30);
/// Launches of one run, repeats included; each leaves a record of a few hundred bytes.
pub const LAUNCHES: u32 = 100_000;
/// A launch file is text that people write; anything larger is not one.
pub const FILE_BYTES: u64 = 4 << 20;
/// The most buffers of one file.
pub const BUFFERS: usize = 4096;
/// The largest PTX file that is read.
pub const PTX_BYTES: u64 = 256 << 20;
/// Seed of random contents if neither the file nor the request gives one.
pub const DEFAULT_SEED: u64 = 1;

// The limits of compute capabilities 5.0 to 12.0: CUDA C++ Programming Guide, "Technical Specifications per Compute
// Capability".

/// The largest extents of a grid, in CTAs.
pub const GRID: [u32; 3] = [i32::MAX as u32, 65_535, 65_535];
/// The largest extents of a CTA, in threads.
pub const BLOCK: [u32; 3] = [1024, 1024, 64];
/// The most threads of a CTA.
pub const BLOCK_THREADS: u64 = 1024;
/// Shared memory of a block (compute capability 9.0, opted in).
pub const SHARED_MEMORY: Bytes = Bytes(227 << 10);
