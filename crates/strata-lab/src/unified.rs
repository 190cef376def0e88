//! Unified memory in a run: its settings checked against the GPU, its place in the machine, and what is saved of it.

use crate::error::LabError;
use crate::gmmu_file;
use crate::prefetch;
use crate::run::save_json;
use serde_json::{Value, json};
use std::path::Path;
use strata_core::settings::Settings;
use strata_emu::Capacity;
use strata_sim::Machine;
use strata_sim::config::GpuConfig;
use strata_uvm::settings::Delay;
use strata_uvm::{Config, Handle, Uvm, stats};

/// Unified memory of one run.
#[derive(Clone)]
pub(crate) struct Unified {
    config: Config,
    handle: Handle,
}

impl Unified {
    pub(crate) fn new(settings: &Settings, gpu: &GpuConfig) -> Result<Self, LabError> {
        let config = Config::new(settings).map_err(|errors| LabError::Request(errors.join("\n")))?;
        if config.device_memory.is_some_and(|size| size > gpu.dram.size) {
            let of = strata_core::config::format_size(gpu.dram.size);
            return Err(LabError::Request(format!(
                "`uvm.device_memory` is more than the {of} of this GPU: give it less, or `--set dram.size=SIZE`"
            )));
        }
        let machine =
            strata_uvm::Machine { core_khz: gpu.clock.core.khz(), sms_per_tpc: gpu.sm.per_port, memory: gpu.dram.size };
        let predictor = prefetch::in_loop(&config)?;
        let uvm = Uvm::new(config.clone(), machine, Capacity::default().managed_range(), predictor);
        Ok(Self { config, handle: Handle::new(uvm.map_err(LabError::Request)?) })
    }

    /// Pages of the machine are those of unified memory.
    pub(crate) fn adapt(&self, gpu: &mut GpuConfig) {
        gpu.tlb.page = self.config.page_size;
    }

    pub(crate) fn install(&self, machine: &mut Machine) {
        machine.set_paging(Box::new(self.handle.clone()), Capacity::default().managed_range());
    }

    /// Zero-copy as UVMSmart has it reads device memory that holds no copy: there is nothing to check.
    pub(crate) fn refuse_unchecked(&self) -> Result<(), LabError> {
        if self.config.delay == Delay::Disabled && !self.config.adaptive {
            return Ok(());
        }
        Err(LabError::Request(
            "`--check-data` cannot follow UVMSmart's delayed migration: after one zero-copy read it takes the page for a \
             local one, though the device has no copy; use `uvm.model=driver`, or leave `uvm.delayed_migration` and \
             `uvm.adaptive` out"
                .to_owned(),
        ))
    }

    /// Saves what was seen beside the result: `uvm.json`, and `gmmu.parquet` if requests were kept.
    pub(crate) fn save(&self, folder: &Path) -> Result<(), LabError> {
        self.handle.look(|uvm| {
            save_json(folder, "uvm.json", &seen(uvm))?;
            if !self.config.trace {
                return Ok(());
            }
            let path = folder.join("gmmu.parquet");
            gmmu_file::write(&path, uvm.requests()).map_err(|e| LabError::io("write", &path, e))
        })
    }
}

/// PCI Express in the course of time, and the heat of every allocation.
fn seen(uvm: &Uvm) -> Value {
    let (series, counts) = (uvm.series(), uvm.counted());
    let bytes = |direction: usize| series.bytes.iter().map(|bin| bin[direction]).collect::<Vec<_>>();
    let heat: Vec<_> = uvm
        .space()
        .allocations()
        .iter()
        .map(|a| json!({ "name": a.name, "bytes": a.size.0, "pages": a.pages.len(), "walks": uvm.heat(a) }))
        .collect();
    let share = |of: u64, by: u64| if by == 0 { 0.0 } else { of as f64 / by as f64 };
    let hit_rate = share(counts.hits, counts.hits + counts.misses);
    let accuracy = share(counts.prefetched_used, counts.prefetched);
    let coverage = share(counts.used_foreseen, counts.used);
    json!({
        "page_hit_rate": hit_rate,
        "accuracy": accuracy,
        "coverage": coverage,
        "coverage_strict": share(counts.used_prefetched, counts.used),
        "unity": stats::unity(accuracy, coverage, hit_rate),
        "pcie": { "cycles_per_bin": series.bin, "bytes_in": bytes(0), "bytes_out": bytes(1) },
        "page_bytes": uvm.space().geometry.page_bytes,
        "allocations": heat,
    })
}
