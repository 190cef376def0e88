//! `strata offload`.

use clap::Args;
use std::path::PathBuf;
use strata_lab::LabError;
use strata_lab::candidates::Assumptions;

const OFFLOAD_EXAMPLES: &str = "\
Examples:
  strata offload kernel.ptx
  strata offload kernel.ptx --load-miss-rate 0.8 --address-bytes 8
  strata offload build/*.ptx --json | jq '.files[].candidates[] | select(.condition)'

TX and RX are the change of traffic of one warp to and from the memory stack, in words of 32 bits;
negative is saved. docs/offload.md explains the table.
Exit status: 0 every file was searched, 2 bad usage, or a file that cannot be read or parsed.";

/// Find the blocks of PTX files that are worth offloading to a memory stack (TOM)
#[derive(Args)]
#[command(after_help = OFFLOAD_EXAMPLES)]
pub(crate) struct Offload {
    /// PTX files, such as `nvcc -ptx -lineinfo` makes
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Share of the cache lines of a load that miss in the GPU's caches
    #[arg(long, value_name = "SHARE", default_value_t = Assumptions::default().load_miss_rate, allow_negative_numbers = true)]
    pub(crate) load_miss_rate: f64,
    /// Cache lines that a load of a warp touches
    #[arg(long, value_name = "LINES", default_value_t = Assumptions::default().load_coalescing, allow_negative_numbers = true)]
    pub(crate) load_coalescing: f64,
    /// Cache lines that a store of a warp touches
    #[arg(long, value_name = "LINES", default_value_t = Assumptions::default().store_coalescing, allow_negative_numbers = true)]
    pub(crate) store_coalescing: f64,
    /// Lanes of a warp
    #[arg(long, value_name = "N", default_value_t = Assumptions::default().warp_size)]
    pub(crate) warp_size: u32,
    /// Bytes of an address on the links: 4 or 8
    #[arg(long, value_name = "N", default_value_t = Assumptions::default().address_bytes)]
    pub(crate) address_bytes: u32,
    /// The most candidates of a kernel
    #[arg(long, value_name = "N", default_value_t = Assumptions::default().table_entries)]
    pub(crate) table_entries: usize,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

impl Offload {
    /// What the search takes for granted.
    pub(crate) fn assumptions(&self) -> Result<Assumptions, LabError> {
        let assumptions = Assumptions {
            warp_size: self.warp_size,
            load_coalescing: self.load_coalescing,
            store_coalescing: self.store_coalescing,
            load_miss_rate: self.load_miss_rate,
            address_bytes: self.address_bytes,
            table_entries: self.table_entries,
        };
        assumptions.check().map_err(|error| LabError::Request(error.to_string()))?;
        Ok(assumptions)
    }
}
