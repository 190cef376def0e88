//! Mechanisms in a machine: how they get there, and what they hear of the program.

use crate::error::LabError;
use crate::mechanisms::{Chosen, Mechanism};
use crate::near_data::NearData;
use crate::unified::Unified;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use strata_buddy::settings as buddy_settings;
use strata_buddy::{Allocations, Annotator, CompressedSide, Purpose, Targets};
use strata_cmd::settings as cmd_settings;
use strata_cmd::{BcdSide, DedupSide, ReadOnlyFifo, SectorSide};
use strata_core::settings::Settings;
use strata_core::{Addr, Bytes, Stats};
use strata_emu::Capacity;
use strata_host::{AllocFlags, Allocation};
use strata_ptx::ast::Module;
use strata_sim::config::GpuConfig;
use strata_sim::seam::MemorySide;
use strata_sim::{Layer, MachineBuilder};
use strata_tom::mechanism::Foreknowledge;

/// Makes the memory side of one partition.
type MakeSide = Box<dyn Fn() -> Box<dyn MemorySide>>;

/// Mechanisms with their settings, ready for a machine.
pub(crate) struct Setup {
    settings: Chosen,
    annotator: Option<Arc<Mutex<Annotator>>>,
    targets: Targets,
    unified: Option<Unified>,
    near_data: Option<NearData>,
    /// Bytes of device memory that are taken; who annotates allocations keeps books of its own.
    used: u64,
    device: u64,
}

impl Setup {
    /// No mechanism at all.
    pub(crate) fn plain(gpu: &GpuConfig) -> Self {
        Self {
            settings: Vec::new(),
            annotator: None,
            targets: Targets::default(),
            unified: None,
            near_data: None,
            used: 0,
            device: gpu.dram.size.0,
        }
    }

    /// For a GPU with so much memory. `targets` are those of Buddy Compression, if it is there; `known` is what TOM knows of the program.
    pub(crate) fn new(
        settings: Chosen,
        targets: Option<Targets>,
        known: Foreknowledge,
        gpu: &GpuConfig,
        capacity: &Capacity,
    ) -> Result<Self, LabError> {
        let annotator = |targets: &Targets| Arc::new(Mutex::new(Annotator::new(targets.clone(), gpu.dram.size)));
        let annotator = targets.as_ref().map(annotator);
        let targets = targets.unwrap_or_default();
        let own = |wanted| settings.iter().find(|(mechanism, _)| *mechanism == wanted).map(|(_, settings)| settings);
        let unified =
            own(Mechanism::Uvm).map(|settings| Unified::new(settings, gpu, capacity.managed_range())).transpose()?;
        let near_data = own(Mechanism::Tom).map(|settings| NearData::new(settings, gpu, known)).transpose()?;
        Ok(Self { settings, annotator, targets, unified, near_data, ..Self::plain(gpu) })
    }

    /// Granularity at which memory is given out, if a mechanism wants one.
    pub(crate) fn page(&self) -> Option<Bytes> {
        self.near_data.as_ref().map(NearData::page)
    }

    /// The program loads a module.
    pub(crate) fn loaded(&self, number: u32, module: &Module) {
        if let Some(near_data) = &self.near_data {
            near_data.loaded(number, module);
        }
    }

    /// The program launches a kernel.
    pub(crate) fn launches(&self, module: u32, kernel: &str) {
        if let Some(near_data) = &self.near_data {
            near_data.launches(module, kernel);
        }
    }

    /// Changes what a mechanism needs otherwise in the machine.
    pub(crate) fn adapt(&self, gpu: &mut GpuConfig) {
        if let Some(unified) = &self.unified {
            unified.adapt(gpu);
        }
    }

    /// True if an allocation is managed memory: all are with unified memory, unless the program says otherwise.
    pub(crate) fn manages(&self, flags: AllocFlags) -> bool {
        flags.managed || self.unified.is_some() && !flags.on_device
    }

    /// An error if data cannot be checked because a mechanism models something that could not be.
    pub(crate) fn refuse_unchecked(&self) -> Result<(), LabError> {
        if let Some(near_data) = &self.near_data {
            near_data.refuse_unchecked()?;
        }
        self.unified.as_ref().map_or(Ok(()), Unified::refuse_unchecked)
    }

    /// Adds the rates of mechanisms to the tree of a launch.
    pub(crate) fn add_rates(&self, prefix: &str, stats: &mut Stats) {
        if self.unified.is_some() {
            strata_uvm::stats::add_rates(prefix, stats);
        }
    }

    /// To be called with the result's folder once the program has ended: saves what mechanisms saw, and tells what looks
    /// like a mistake.
    pub(crate) fn afterthoughts(&self) -> impl Fn(&Path) -> Result<Vec<String>, LabError> + use<> {
        let annotator = self.annotator.clone();
        let (unified, near_data) = (self.unified.clone(), self.near_data.clone());
        move |folder| {
            if let Some(near_data) = &near_data {
                near_data.save(folder)?;
            }
            if let Some(unified) = &unified {
                unified.save(folder)?;
            }
            let annotator =
                annotator.as_ref().map(|annotator| annotator.lock().unwrap_or_else(PoisonError::into_inner));
            let unmet = annotator.iter().flat_map(|annotator| annotator.unmet());
            Ok(unmet
                .map(|name| format!("the annotation file has a target for `{name}`, which the program never allocated"))
                .collect())
        }
    }

    /// Puts the mechanisms into a machine.
    pub(crate) fn install(&self, machine: &mut MachineBuilder) {
        if let Some(unified) = &self.unified {
            unified.install(machine);
        }
        if let Some(near_data) = &self.near_data {
            near_data.install(machine);
        }
        let gpu = machine.config().clone();
        for (mechanism, values) in &self.settings {
            if let Some((layer, make)) = self.side(*mechanism, values, &gpu) {
                machine.memory_side(mechanism.name(), layer, move |_| make());
            }
            let settings = mechanism.scheme().map(|scheme| cmd_settings::Settings::of(scheme, values));
            if let Some(fifo) = settings.and_then(|settings| settings.fifo) {
                machine.victim(mechanism.name(), move |_| Box::new(ReadOnlyFifo::new(fifo)));
            }
        }
    }

    /// What makes the memory side of a mechanism, if it has one.
    fn side(&self, mechanism: Mechanism, values: &Settings, gpu: &GpuConfig) -> Option<(Layer, MakeSide)> {
        let gpu = gpu.clone();
        if let Some(scheme) = mechanism.scheme() {
            let settings = cmd_settings::Settings::of(scheme, values);
            let make: MakeSide = if settings.sectors {
                Box::new(move || Box::new(SectorSide::new(&settings, &gpu)))
            } else {
                Box::new(move || Box::new(DedupSide::new(&settings, &gpu)))
            };
            return Some((Layer::Relocates, make));
        }
        let (purpose, settings) = match mechanism {
            Mechanism::Bcd => {
                let values = values.clone();
                return Some((Layer::Resizes, Box::new(move || Box::new(BcdSide::new(&values, &gpu)))));
            }
            Mechanism::Bpc => (Purpose::Bandwidth, buddy_settings::Settings::of_bpc(values)),
            Mechanism::Buddy => {
                let allocations = Allocations::new(self.targets.clone());
                (Purpose::Capacity(allocations), buddy_settings::Settings::of_buddy(values))
            }
            _ => return None,
        };
        let make = move || Box::new(CompressedSide::new(purpose.clone(), &settings, &gpu)) as Box<dyn MemorySide>;
        Some((Layer::Resizes, Box::new(make)))
    }

    /// The program makes an allocation; the text says why it cannot.
    pub(crate) fn allocated(&mut self, allocation: &Allocation) -> Result<(), String> {
        let Allocation { name, start, size, flags, .. } = allocation;
        if let Some(annotator) = &mut self.annotator {
            let mut annotator = annotator.lock().unwrap_or_else(PoisonError::into_inner);
            return annotator.allocated(name, *start, *size, flags.managed).map_err(|refused| refused.to_string());
        }
        if self.unified.is_some() && flags.managed {
            return Ok(());
        }
        if self.used + size.0 > self.device {
            let of = strata_core::config::format_size(Bytes(self.device));
            return Err(format!(
                "out of device memory: `{name}` takes {}, and {} of {of} are in use; `--set dram.size=SIZE` makes a larger one",
                strata_core::config::format_size(*size),
                strata_core::config::format_size(Bytes(self.used)),
            ));
        }
        self.used += size.0;
        if let Some(near_data) = &self.near_data {
            near_data.allocated(*start, *size);
        }
        Ok(())
    }

    /// The program frees memory.
    pub(crate) fn freed(&mut self, start: Addr, size: Bytes) {
        let managed = self.unified.as_ref().is_some_and(|unified| unified.holds(start));
        if let Some(near_data) = &self.near_data {
            near_data.freed(start);
        }
        match &mut self.annotator {
            Some(annotator) => annotator.lock().unwrap_or_else(PoisonError::into_inner).freed(start),
            None if managed => {}
            None => self.used -= size.0,
        }
    }
}
