//! The mechanisms of one run: made ready, put into the machine, and asked what they saw when the program has ended.

use crate::error::LabError;
use serde_json::{Value, json};
use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;
use strata_core::{AllocFlags, Allocation, Bytes, Stats, files};
use strata_mechanism::{Chosen, DeviceMemory, PlainMemory, Preparation, Prepared};
use strata_sim::config::GpuConfig;
use strata_sim::{AllocationUse, MachineBuilder, PageUse};

/// Mechanisms that were made ready for a run, and the books of device memory.
pub struct Setup {
    mechanisms: Vec<Box<dyn Prepared>>,
    memory: Box<dyn DeviceMemory>,
    /// Which pages the program asks for, if the run explains itself.
    pages: Option<PageUse>,
}

/// The file that says which pages a program asked for.
const PAGES: &str = "pages.json";
/// Maps of so many allocations are saved, the most used.
const MOST_MAPS: usize = 64;

/// Cells of allocations with the sectors that were asked of L2.
fn pages_json(pages: &PageUse) -> Value {
    let mut all = pages.allocations();
    let asked = |use_of: &AllocationUse| use_of.sectors.iter().sum::<u64>();
    all.sort_by_key(|use_of| std::cmp::Reverse(asked(use_of)));
    let told = all.iter().take(MOST_MAPS).map(|AllocationUse { name, bytes, cell, sectors }| {
        json!({ "name": name, "bytes": bytes.0, "cell_bytes": cell.0, "l2_sectors": sectors })
    });
    json!({ "allocations": told.collect::<Vec<_>>() })
}

/// Several who keep books of device memory: there is room where all find some.
struct AllBooks(Vec<Box<dyn DeviceMemory>>);

impl DeviceMemory for AllBooks {
    fn allocate(&mut self, allocation: &Allocation) -> Result<(), String> {
        for k in 0..self.0.len() {
            if let Err(reason) = self.0[k].allocate(allocation) {
                self.0[..k].iter_mut().for_each(|books| books.free(allocation));
                return Err(reason);
            }
        }
        Ok(())
    }

    fn free(&mut self, allocation: &Allocation) {
        self.0.iter_mut().for_each(|books| books.free(allocation));
    }
}

/// A setup that the engine works with and that is asked what it saw once the engine is done.
pub type SharedSetup = Rc<RefCell<Setup>>;

impl Setup {
    /// A machine without mechanisms.
    pub fn plain(gpu: &GpuConfig) -> Self {
        Self { mechanisms: Vec::new(), memory: Box::new(PlainMemory::new(gpu.dram.size, true)), pages: None }
    }

    /// Makes mechanisms ready for a run.
    pub fn prepare(chosen: &Chosen, run: &mut dyn Preparation) -> Result<Self, LabError> {
        let mut mechanisms = Vec::new();
        for (mechanism, settings) in chosen {
            mechanisms.push(mechanism.prepare(settings, run)?);
        }
        let mut own: Vec<_> = mechanisms.iter().filter_map(|mechanism| mechanism.device_memory()).collect();
        let memory = match own.len() {
            0 => Self::plain(run.gpu()).memory,
            1 => own.remove(0),
            _ => Box::new(AllBooks(own)),
        };
        Ok(Self { mechanisms, memory, pages: None })
    }

    /// For an engine and whoever asks afterwards.
    pub fn shared(self) -> SharedSetup {
        Rc::new(RefCell::new(self))
    }

    /// Granularity at which memory is given out, if a mechanism wants one.
    pub(crate) fn page(&self) -> Option<Bytes> {
        self.mechanisms.iter().find_map(|mechanism| mechanism.page())
    }

    /// Changes what mechanisms need otherwise in the machine.
    pub(crate) fn adapt(&self, gpu: &mut GpuConfig) {
        self.mechanisms.iter().for_each(|mechanism| mechanism.adapt(gpu));
    }

    /// Puts the mechanisms into a machine.
    pub(crate) fn install(&mut self, machine: &mut MachineBuilder) {
        self.mechanisms.iter_mut().for_each(|mechanism| mechanism.install(machine));
    }

    /// Remembers whom to ask which pages the program used.
    pub(crate) fn explains(&mut self, pages: Option<PageUse>) {
        self.pages = pages;
    }

    /// True if an allocation is managed memory: it is asked for, or all are, unless the program says otherwise.
    pub(crate) fn manages(&self, flags: AllocFlags) -> bool {
        flags.managed || !flags.on_device && self.mechanisms.iter().any(|mechanism| mechanism.manages_all())
    }

    /// An error if data cannot be checked because a mechanism models something that could not be.
    pub fn refuse_unchecked(&self) -> Result<(), LabError> {
        let reason = self.mechanisms.iter().find_map(|mechanism| mechanism.refuses_checking());
        reason.map_or(Ok(()), |reason| Err(LabError::Request(reason)))
    }

    /// Adds the rates of mechanisms to the tree of a launch.
    pub(crate) fn add_rates(&self, prefix: &str, stats: &mut Stats) {
        self.mechanisms.iter().for_each(|mechanism| mechanism.add_rates(prefix, stats));
    }

    /// The program wants memory; the text says why there is none.
    pub(crate) fn allocate(&mut self, allocation: &Allocation) -> Result<(), String> {
        self.memory.allocate(allocation)
    }

    /// The program gives memory back.
    pub(crate) fn free(&mut self, allocation: &Allocation) {
        self.memory.free(allocation);
    }

    /// Once the program has ended: saves what mechanisms saw beside the result, and tells what looks like a mistake.
    pub fn save(&self, folder: &Path) -> Result<Vec<String>, LabError> {
        for mechanism in &self.mechanisms {
            mechanism.save(folder)?;
        }
        if let Some(pages) = &self.pages {
            // In a line: a number in each would make it long for nobody.
            let path = folder.join(PAGES);
            files::write_text(&path, &format!("{}\n", pages_json(pages)))
                .map_err(|e| LabError::io("write", &path, e))?;
        }
        Ok(self.mechanisms.iter().flat_map(|mechanism| mechanism.warnings()).collect())
    }
}
