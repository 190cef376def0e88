//! Buddy Compression and bandwidth-only compression as mechanisms: `buddy` and `bpc`.

use crate::profiled::Profiled;
use crate::settings::{self, Settings};
use crate::{Allocations, Annotator, CompressedSide, Purpose, Rule, Targets};
use serde_json::json;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use strata_core::settings::{Setting, Settings as Values};
use strata_core::{Allocation, files};
use strata_mechanism::{
    Conflict, DeviceMemory, Mechanism, MechanismError, NameTaken, Preparation, Prepared, Registry, Role, With,
};
use strata_sim::{Layer, MachineBuilder};

/// Registers what this crate has.
pub fn register(registry: &mut Registry) -> Result<(), NameTaken> {
    registry.register(Bpc)?;
    registry.register(Buddy)
}

/// Bit-plane compression between L2 and DRAM, for bandwidth alone.
struct Bpc;

impl Mechanism for Bpc {
    fn name(&self) -> &'static str {
        "bpc"
    }

    fn description(&self) -> &'static str {
        "bit-plane compression between L2 and DRAM: fewer sectors move, capacity stays"
    }

    fn settings(&self) -> &'static [Setting] {
        settings::BPC
    }

    fn roles(&self) -> &'static [Role] {
        &[Role::Compresses]
    }

    fn conflicts(&self) -> &'static [Conflict] {
        &[
            Conflict {
                with: With::Name("buddy"),
                why: "both compress what L2 sends to DRAM; `buddy` saves bandwidth, too",
            },
            Conflict { with: With::Role(Role::Compresses), why: "both compress what L2 sends to DRAM" },
        ]
    }

    fn prepare(&self, values: &Values, _: &mut dyn Preparation) -> Result<Box<dyn Prepared>, MechanismError> {
        Ok(Box::new(PreparedBpc(Settings::of_bpc(values))))
    }
}

struct PreparedBpc(Settings);

impl Prepared for PreparedBpc {
    fn install(&mut self, machine: &mut MachineBuilder) {
        install(machine, "bpc", Purpose::Bandwidth, &self.0);
    }
}

fn install(machine: &mut MachineBuilder, name: &'static str, purpose: Purpose, settings: &Settings) {
    let (settings, gpu) = (*settings, machine.config().clone());
    machine.memory_side(name, Layer::Resizes, move |_| Box::new(CompressedSide::new(purpose.clone(), &settings, &gpu)));
}

/// Buddy Compression.
struct Buddy;

impl Mechanism for Buddy {
    fn name(&self) -> &'static str {
        "buddy"
    }

    fn description(&self) -> &'static str {
        "Buddy Compression: allocations take less device memory, what does not fit is behind a link"
    }

    fn settings(&self) -> &'static [Setting] {
        settings::BUDDY
    }

    fn roles(&self) -> &'static [Role] {
        &[Role::Compresses]
    }

    fn conflicts(&self) -> &'static [Conflict] {
        &[Conflict { with: With::Role(Role::Compresses), why: "both compress what L2 sends to DRAM" }]
    }

    fn prepare(&self, values: &Values, run: &mut dyn Preparation) -> Result<Box<dyn Prepared>, MechanismError> {
        let profiled = profiled(values, run)?;
        let paged = run.pages();
        let annotator = Annotator::new(profiled.targets.clone(), run.gpu().dram.size).with_pages(paged);
        let books = Books(Arc::new(Mutex::new(annotator)));
        Ok(Box::new(PreparedBuddy { settings: Settings::of_buddy(values), profiled, books, paged }))
    }
}

/// What a run knows of its program: the targets of its annotation file or, without one, those of a profiling pass on a small input,
/// and where that saw compressible data.
fn profiled(values: &Values, run: &mut dyn Preparation) -> Result<Profiled, MechanismError> {
    let file = values.text("targets");
    if !file.is_empty() {
        return Ok(Profiled { targets: read_targets(Path::new(file))?, places: json!([]) });
    }
    if run.runs_once() {
        let reason =
            "a CUDA program is not profiled on the way: name an annotation file with `--set buddy.targets=FILE`";
        return Err(MechanismError::Request(reason.to_owned()));
    }
    Profiled::of(&Rule::with_threshold(values.real("threshold")), run)
}

/// Reads an annotation file.
pub fn read_targets(path: &Path) -> Result<Targets, MechanismError> {
    let text = std::fs::read_to_string(path).map_err(|e| MechanismError::io("read", path, e))?;
    let path = path.display().to_string();
    Targets::from_toml(&text).map_err(|list| MechanismError::File { path, text, list })
}

/// Who keeps the books of both memories, known to the device and to the run.
#[derive(Clone)]
struct Books(Arc<Mutex<Annotator>>);

impl Books {
    fn with<T>(&self, work: impl FnOnce(&mut Annotator) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl DeviceMemory for Books {
    fn allocate(&mut self, allocation: &Allocation) -> Result<(), String> {
        let Allocation { name, start, size, flags, .. } = allocation;
        self.with(|annotator| annotator.allocated(name, *start, *size, flags.managed))
            .map_err(|refused| refused.to_string())
    }

    fn free(&mut self, allocation: &Allocation) {
        self.with(|annotator| annotator.freed(allocation.start));
    }
}

struct PreparedBuddy {
    settings: Settings,
    profiled: Profiled,
    books: Books,
    /// A mechanism of the run moves managed pages.
    paged: bool,
}

impl Prepared for PreparedBuddy {
    fn install(&mut self, machine: &mut MachineBuilder) {
        let purpose = Purpose::Capacity(Allocations::new(self.profiled.targets.clone()).with_pages(self.paged));
        install(machine, "buddy", purpose, &self.settings);
    }

    fn device_memory(&self) -> Option<Box<dyn DeviceMemory>> {
        Some(Box::new(self.books.clone()))
    }

    /// What the targets come to, and the profile that they are of: `buddy.json`.
    fn save(&self, folder: &Path) -> Result<(), MechanismError> {
        let told = self.books.with(|annotator| {
            let made = annotator
                .made()
                .map(|(name, bytes, target)| json!({ "name": name, "bytes": bytes.0, "target": target.name() }));
            json!({ "capacity": annotator.capacity(), "allocations": made.collect::<Vec<_>>(), "profiled": self.profiled.places })
        });
        let path = folder.join("buddy.json");
        files::write_text(&path, &format!("{told:#}\n")).map_err(|e| MechanismError::io("write", &path, e))
    }

    fn warnings(&self) -> Vec<String> {
        let told =
            |name: &str| format!("the annotation file has a target for `{name}`, which the program never allocated");
        self.books.with(|annotator| annotator.unmet().map(told).collect())
    }
}
