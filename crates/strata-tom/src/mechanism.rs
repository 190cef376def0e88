//! TOM as a mechanism, `tom`: its settings checked against the GPU, what it has to know of the program before, its place in the
//! machine, and what is saved of it.

use crate::analyser::{LOWEST_BIT, MAPPINGS, Seen};
use crate::candidate::Assumptions;
use crate::foreknowledge::foreknowledge;
use crate::runtime::Tom;
use crate::settings::{Policy, SETTINGS, Settings};
use crate::table::Table;
use serde_json::{Value, json};
use std::path::Path;
use strata_core::settings::{Setting, Settings as Values};
use strata_core::{Bytes, HostEvent, files};
use strata_mechanism::{Mechanism, MechanismError, NameTaken, Preparation, Prepared, Registry, Role};
use strata_sim::MachineBuilder;
use strata_sim::config::{GpuConfig, WritePolicy};
use strata_sim::seam::HostListener;
use strata_sim::stack_map::StackMap;

/// Registers TOM.
pub fn register(registry: &mut Registry) -> Result<(), NameTaken> {
    registry.register(NearData)
}

/// Near-data processing.
struct NearData;

/// What the machine counts of offloading: shown if it is 0, too.
const OF_STACKS: [&str; 5] =
    ["offload.blocks", "offload.thread_instructions", "stacks.tx", "stacks.rx", "stacks.cross"];

impl Mechanism for NearData {
    fn name(&self) -> &'static str {
        "tom"
    }

    fn description(&self) -> &'static str {
        "TOM: blocks of code run on SMs in the memory stacks that hold their data"
    }

    fn settings(&self) -> &'static [Setting] {
        SETTINGS
    }

    fn roles(&self) -> &'static [Role] {
        &[Role::Offloads]
    }

    /// As many SMs, all of them on the GPU (TOM, Table 1).
    fn equal_cost(&self, gpu: &str) -> Option<&'static str> {
        (gpu == "ndp-maxwell").then_some("ndp-maxwell-68")
    }

    fn prepare(&self, values: &Values, run: &mut dyn Preparation) -> Result<Box<dyn Prepared>, MechanismError> {
        let settings = Settings::of(values);
        if settings.needs_survey() && run.runs_once() {
            let reason = "`tom` would run the program once before, to count; a CUDA program runs once: say how many \
                          instances to learn from with `--set tom.learning_instances=N`, or take `--set \
                          tom.mapping=baseline`";
            return Err(MechanismError::Request(reason.to_owned()));
        }
        let map = stacks(&settings, run.gpu())?;
        let warps = run.gpu().stacks.warps;
        let known = foreknowledge(values, run)?;
        Ok(Box::new(PreparedNearData { tom: Tom::new(settings.clone(), map, warps, known), settings }))
    }

    fn shows(&self, path: &str, value: f64) -> bool {
        OF_STACKS.contains(&path) || value != 0.0 && path.starts_with("tom.")
    }
}

/// The stacks of a GPU that TOM can use, or why it cannot.
pub(crate) fn stacks(settings: &Settings, gpu: &GpuConfig) -> Result<StackMap, MechanismError> {
    let refuse = |reason: &str| Err(MechanismError::Request(format!("`tom` on `{}`: {reason}", gpu.name)));
    let Some(map) = StackMap::of(gpu) else {
        return refuse("its memory is not in stacks; `--gpu ndp-maxwell` is");
    };
    if gpu.stacks.sms == 0 && settings.policy != Policy::None {
        return refuse("its stacks have no SMs; `--gpu ndp-maxwell` has, or `--set stacks.sms=1`");
    }
    if gpu.l2.write != WritePolicy::Through {
        return refuse("SMs on stacks would not see what L2 holds back; `--set l2.write=through`");
    }
    if !settings.page.0.is_power_of_two() {
        return refuse("`tom.page` is a power of two, such as \"64 KiB\"");
    }
    Ok(map)
}

/// What the search for candidates assumes.
pub(crate) fn assumptions(settings: &Settings) -> Assumptions {
    Assumptions {
        load_miss_rate: settings.load_miss_rate,
        table_entries: settings.table_entries,
        ..Assumptions::default()
    }
}

/// TOM of one run.
struct PreparedNearData {
    settings: Settings,
    tom: Tom,
}

impl Prepared for PreparedNearData {
    fn install(&mut self, machine: &mut MachineBuilder) {
        machine.place("tom", Box::new(self.tom.clone()));
        machine.offload("tom", Box::new(self.tom.clone()));
        let listener = Listener { tom: self.tom.clone(), assumptions: assumptions(&self.settings) };
        machine.host_listener("tom", Box::new(listener));
    }

    fn page(&self) -> Option<Bytes> {
        Some(self.settings.page)
    }

    /// An ideal offload keeps nothing coherent.
    fn refuses_checking(&self) -> Option<String> {
        let leaves_out = match (self.settings.policy, self.settings.coherence) {
            (Policy::Ideal, _) => "tom.policy=ideal",
            (_, false) => "tom.coherence=left-out",
            (_, true) => return None,
        };
        Some(format!("`--check-data` cannot hold with `{leaves_out}`, which leaves out what keeps data right"))
    }

    /// What was learned: `tom.json`.
    fn save(&self, folder: &Path) -> Result<(), MechanismError> {
        let learned = self.tom.look_at_seen(learned_json);
        let path = folder.join("tom.json");
        let saved = json!({ "mapped_by_bit": self.tom.mapped_by(), "learned_from": learned });
        files::write_text(&path, &format!("{saved:#}\n")).map_err(|e| MechanismError::io("write", &path, e))
    }
}

/// Tells the mechanism what the host does.
struct Listener {
    tom: Tom,
    assumptions: Assumptions,
}

impl HostListener for Listener {
    fn host_event(&mut self, event: &HostEvent) {
        match event {
            HostEvent::ModuleLoaded { module, name, text } => {
                self.tom.loaded(*module, tables(name, text, &self.assumptions));
            }
            HostEvent::LaunchBegin { module, kernel, .. } => self.tom.launches(*module, kernel),
            HostEvent::Alloc(allocation) if allocation.is_on_heap() => {
                self.tom.allocated(allocation.start, allocation.size);
            }
            HostEvent::Free { start, .. } => self.tom.freed(*start),
            _ => {}
        }
    }
}

/// The candidates of every kernel of a module. One that does not parse was refused when it was loaded.
pub(crate) fn tables(name: &str, text: &str, assumptions: &Assumptions) -> Vec<(String, Table)> {
    let module = strata_ptx::parse(name, text).module;
    module.map_or_else(Vec::new, |module| Table::of_module(&module, assumptions))
}

/// What an analyser has seen, as JSON.
fn learned_json(seen: &Seen) -> Value {
    let mappings: Vec<_> = (0..=MAPPINGS)
        .map(|m| {
            let bit = (m < MAPPINGS).then(|| LOWEST_BIT + m as u32);
            json!({ "bit": bit, "one_stack": seen.one_stack_share(m), "first_stack": seen.first_stack_share(m) })
        })
        .collect();
    json!({ "instances": seen.instances(), "mappings": mappings })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_first_look_tells_of_instances_and_links() {
        let shown = |path: &str, value| NearData.shows(path, value);
        assert!(shown("offload.blocks", 0.0), "that nothing was offloaded is worth knowing");
        assert!(shown("tom.instances", 7.0));
        assert!(!shown("tom.stay.full", 0.0));
        assert!(!shown("dram.reads", 7.0));
    }
}
