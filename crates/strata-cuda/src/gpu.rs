//! The chosen GPU as the CUDA runtime describes it.

use strata_cudart::protocol::Properties;
use strata_sim::config::GpuConfig;

/// The machine that a program is told of when it is not timed on any.
pub(super) const DEFAULT: &str = "v100";

/// What a program can ask about the device.
pub(super) fn properties(gpu: &GpuConfig, capability: u32) -> Properties {
    Properties {
        name: format!("StrataSim {}", gpu.name),
        capability,
        memory: gpu.dram.size.0,
        sms: gpu.sm.count,
        threads_per_sm: gpu.sm.threads,
        blocks_per_sm: gpu.sm.ctas,
        registers_per_sm: gpu.sm.registers,
        shared_per_sm: gpu.shared.size.0,
        shared_per_block: gpu.shared.per_cta.0,
        l2: gpu.l2_size().0,
        core_khz: gpu.clock.core.khz() as u32,
        memory_khz: gpu.clock.dram.khz() as u32,
        bus_bits: gpu.dram.channels * gpu.dram.bus_bytes * 8,
    }
}
