//! How tests of the machine run scripts.

use super::{KernelNeeds, Machine};
use crate::config::{GpuConfig, load};
use strata_testkit::{Instr, Script};

/// A preset.
pub(super) fn gpu(name: &str) -> GpuConfig {
    load(name, &[""; 0]).unwrap_or_else(|e| panic!("{name}: {e}")).config
}

/// Runs one warp per CTA: warp `k` is on SM `k`.
pub(super) fn run(machine: &mut Machine, warps: &[&[Instr]]) -> Result<(), super::MachineError> {
    let needs = KernelNeeds { threads: 32, registers: 8, shared: 0 };
    machine.run_kernel(&mut Script::new(warps).one_warp_per_cta(), &needs).map(|_| ())
}
