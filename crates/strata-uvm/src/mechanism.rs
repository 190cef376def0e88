//! Unified memory as a mechanism, `uvm`: its settings checked against the GPU, its place in the machine, and what is saved of it.

use crate::series::{Moment, Passed, Series};
use crate::settings::Delay;
use crate::stats::Rates;
use crate::{Config, Handle, SETTINGS, Uvm, gmmu_file, learned, page_heat, stats};
use serde_json::{Map, Value, json};
use std::ops::Range;
use std::path::Path;
use strata_core::config::format_size;
use strata_core::settings::{Setting, Settings};
use strata_core::{Addr, Bytes, Stats, files};
use strata_mechanism::{
    DeviceMemory, Mechanism, MechanismError, NameTaken, PlainMemory, Preparation, Prepared, Registry, Role,
};
use strata_sim::MachineBuilder;
use strata_sim::config::GpuConfig;

/// Registers unified memory.
pub fn register(registry: &mut Registry) -> Result<(), NameTaken> {
    registry.register(Unified)
}

/// Unified memory.
struct Unified;

/// Of all that is counted, what a first look asks for; the result has the rest.
const SHOWN: [&str; 13] = [
    "far_faults",
    "page_hit_rate",
    "migrated_pages",
    "prefetched_pages",
    "accuracy",
    "evicted_clean",
    "evicted_dirty",
    "thrashed_pages",
    "remote",
    "pcie.in_bytes",
    "pcie.out_bytes",
    "pcie.in_use",
    "throttled",
];

impl Mechanism for Unified {
    fn name(&self) -> &'static str {
        "uvm"
    }

    fn description(&self) -> &'static str {
        "unified memory: pages migrate between host and device when they are touched"
    }

    fn settings(&self) -> &'static [Setting] {
        SETTINGS
    }

    fn roles(&self) -> &'static [Role] {
        &[Role::Pages]
    }

    fn prepare(&self, settings: &Settings, run: &mut dyn Preparation) -> Result<Box<dyn Prepared>, MechanismError> {
        let config = Config::new(settings).map_err(|errors| MechanismError::Request(errors.join("\n")))?;
        let (gpu, managed) = (run.gpu(), run.managed());
        let memory = gpu.dram.size;
        if config.device_memory.is_some_and(|size| size > memory) {
            return Err(MechanismError::Request(format!(
                "`uvm.device_memory` is more than the {} of this GPU: give it less, or `--set dram.size=SIZE`",
                format_size(memory)
            )));
        }
        let core_khz = gpu.clock.core.khz();
        let machine = crate::Machine { core_khz, sms_per_tpc: gpu.sm.per_port, memory };
        let predictor = learned::in_loop(&config)?;
        let uvm = Uvm::new(config.clone(), machine, managed.clone(), predictor).map_err(MechanismError::Request)?;
        Ok(Box::new(PreparedUnified { config, handle: Handle::new(uvm), managed, memory, core_khz }))
    }

    fn shows(&self, path: &str, value: f64) -> bool {
        let count = path.strip_prefix("uvm.").unwrap_or("");
        value != 0.0 && (count.starts_with("predictions.") || SHOWN.contains(&count))
    }
}

/// Unified memory of one run.
struct PreparedUnified {
    config: Config,
    handle: Handle,
    /// The addresses that it has charge of.
    managed: Range<Addr>,
    memory: Bytes,
    core_khz: u64,
}

impl Prepared for PreparedUnified {
    /// Pages of the machine are those of unified memory.
    fn adapt(&self, gpu: &mut GpuConfig) {
        gpu.tlb.page = self.config.page_size;
    }

    fn install(&mut self, machine: &mut MachineBuilder) {
        machine.paging("uvm", Box::new(self.handle.clone()), self.managed.clone());
        if self.config.travels_compressed {
            let pages = machine.stored_pages("uvm", self.config.page_size);
            self.handle.look_mut(|uvm| uvm.stored = Some(pages));
        }
    }

    fn manages_all(&self) -> bool {
        true
    }

    /// Zero-copy as UVMSmart has it reads device memory that holds no copy: there is nothing to check.
    fn refuses_checking(&self) -> Option<String> {
        let checkable = self.config.delay == Delay::Disabled && !self.config.adaptive;
        (!checkable).then(|| {
            "`--check-data` cannot follow UVMSmart's delayed migration: after one zero-copy read it takes the page for a \
             local one, though the device has no copy; use `uvm.model=driver`, or leave `uvm.delayed_migration` and \
             `uvm.adaptive` out"
                .to_owned()
        })
    }

    /// Managed pages are on the device only while they are used.
    fn device_memory(&self) -> Option<Box<dyn DeviceMemory>> {
        Some(Box::new(PlainMemory::new(self.memory, false)))
    }

    fn add_rates(&self, prefix: &str, stats: &mut Stats) {
        stats::add_rates(prefix, stats);
    }

    /// `uvm.json`, a picture of every allocation's heat, and `gmmu.parquet` and `uses.parquet` if requests were kept.
    fn save(&self, folder: &Path) -> Result<(), MechanismError> {
        self.handle.look(|uvm| {
            let path = folder.join("uvm.json");
            files::write_text(&path, &format!("{:#}\n", seen(uvm, self.core_khz)))
                .map_err(|e| MechanismError::io("write", &path, e))?;
            page_heat::save(uvm, folder)?;
            let kept = [
                (self.config.trace, "gmmu.parquet", uvm.requests()),
                (self.config.keeps_uses, "uses.parquet", uvm.uses()),
            ];
            for (_, name, requests) in kept.into_iter().filter(|(keeps, ..)| *keeps) {
                let path = folder.join(name);
                gmmu_file::write(&path, requests).map_err(|e| MechanismError::io("write", &path, e))?;
            }
            Ok(())
        })
    }
}

/// What each number means, beside the numbers.
const MEANINGS: [(&str, &str); 10] = [
    (
        "page_hit_rate",
        "walks that found their page on the device, of all walks; accesses that a TLB translates make none",
    ),
    (
        "accuracy",
        "pages that came without a fault of their own and were accessed before they left, of all that came so",
    ),
    (
        "coverage",
        "accessed pages that a prefetcher brought or had queued, a fault's own 64 KB included, of all accessed pages",
    ),
    ("coverage_strict", "accessed pages that came without a fault of their own, of all accessed pages"),
    ("unity", "cube root of accuracy, coverage and page hit rate"),
    (
        "stall_cycles",
        "core cycles between a far fault and the arrival of its page, over all faults: for the fault to be served, for room \
         on the device, for transfers before its own, for its own",
    ),
    ("pcie", "by bins of core cycles and direction: bytes, share of the bin in which something passed (busy), GB/s"),
    ("course", "counts until so many thread instructions had issued, at the GMMU request after that"),
    (
        "fullest",
        "the most pages that were on the device together, and the frames that it had for them then: fewer, where memory holds pages \
         compressed",
    ),
    ("allocations", "walks to each page, in the order of addresses: the heat map"),
];

/// PCI Express in the course of time, counts in that of instructions, and the heat of every allocation.
fn seen(uvm: &Uvm, core_khz: u64) -> Value {
    let counts = uvm.counted();
    let heat: Vec<_> = uvm
        .space()
        .allocations()
        .iter()
        .map(|a| json!({ "name": a.name, "bytes": a.size.0, "pages": a.pages.len(), "walks": uvm.heat(a) }))
        .collect();
    let rates = Rates::of(counts);
    json!({
        "definitions": MEANINGS.iter().map(|(name, what)| ((*name).to_owned(), json!(what))).collect::<Map<_, _>>(),
        "page_hit_rate": rates.hit_rate,
        "accuracy": rates.accuracy,
        "coverage": rates.coverage,
        "coverage_strict": rates.coverage_strict,
        "unity": rates.unity(),
        "stall_cycles": {
            "service": counts.stall_service,
            "room": counts.stall_room,
            "queue": counts.stall_queue,
            "transfer": counts.stall_transfer,
        },
        "pcie": pcie(uvm.series(), core_khz),
        "course": course(uvm),
        "page_bytes": uvm.space().geometry.page_bytes,
        "fullest": { "pages": uvm.fullest().pages, "frames": uvm.fullest().frames },
        "allocations": heat,
    })
}

fn pcie(series: &Series, core_khz: u64) -> Value {
    let of = |direction: usize, value: &dyn Fn(&Passed) -> Value| {
        series.passed.iter().map(|bin| value(&bin[direction])).collect::<Vec<_>>()
    };
    let seconds = series.bin as f64 / (core_khz as f64 * 1e3);
    let bytes = |d: usize| of(d, &|passed| json!(passed.bytes));
    let busy = |d: usize| of(d, &|passed| json!(passed.busy as f64 / series.bin as f64));
    let speed = |d: usize| of(d, &|passed| json!(passed.bytes as f64 / seconds / 1e9));
    json!({
        "cycles_per_bin": series.bin,
        "bytes_in": bytes(0),
        "bytes_out": bytes(1),
        "busy_in": busy(0),
        "busy_out": busy(1),
        "gb_per_second_in": speed(0),
        "gb_per_second_out": speed(1),
    })
}

fn course(uvm: &Uvm) -> Value {
    let of = |value: fn(&Moment) -> u64| uvm.course().moments().iter().map(value).collect::<Vec<_>>();
    json!({
        "instructions": of(|m| m.instructions),
        "cycle": of(|m| m.cycle),
        "page_hits": of(|m| m.counts.hits),
        "page_misses": of(|m| m.counts.misses),
        "far_faults": of(|m| m.counts.faults),
        "migrated_pages": of(|m| m.counts.migrated),
        "prefetches": of(|m| m.counts.prefetches),
        "prefetched_pages": of(|m| m.counts.prefetched),
        "prefetched_used": of(|m| m.counts.prefetched_used),
        "used_pages": of(|m| m.counts.used),
        "used_foreseen": of(|m| m.counts.used_foreseen),
        "used_by_prefetch": of(|m| m.counts.used_prefetched),
        "bytes_in": of(|m| m.counts.in_bytes),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_first_look_tells_of_faults_and_predictions() {
        let shown = |path: &str, value| Unified.shows(path, value);
        assert!(shown("uvm.far_faults", 2.0) && shown("uvm.predictions.made", 3.0));
        assert!(!shown("uvm.far_faults", 0.0) && !shown("uvm.stall.queue", 9.0));
    }
}
