//! TOM in a run: its settings checked against the GPU, what it has to know of the program before, its place in the machine, and
//! what is saved of it.

mod foreknowledge;

use crate::engine::{self, EngineOptions};
use crate::error::LabError;
use crate::monitor::Monitor;
use crate::request::RunRequest;
use crate::run::{self, save_json};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use strata_core::settings::Settings as Values;
use strata_core::{Addr, Bytes, GridSource};
use strata_ptx::ast::Module;
use strata_sim::MachineBuilder;
use strata_sim::config::{GpuConfig, WritePolicy};
use strata_sim::stack_map::StackMap;
use strata_tom::analyser::{LOWEST_BIT, MAPPINGS, Seen};
use strata_tom::candidate::Assumptions;
use strata_tom::mechanism::{Foreknowledge, Tom};
use strata_tom::settings::{Policy, Settings};
use strata_tom::survey::{Failed, Survey};
use strata_tom::table::Table;

pub(crate) use foreknowledge::{foreknowledge, surveyed};

/// TOM of one run.
#[derive(Clone)]
pub(crate) struct NearData {
    settings: Settings,
    tom: Tom,
}

/// The stacks of a GPU that TOM can use, or why it cannot.
fn stacks(settings: &Settings, gpu: &GpuConfig) -> Result<StackMap, LabError> {
    let refuse = |reason: &str| Err(LabError::Request(format!("`tom` on `{}`: {reason}", gpu.name)));
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
fn assumptions(settings: &Settings) -> Assumptions {
    Assumptions {
        load_miss_rate: settings.load_miss_rate,
        table_entries: settings.table_entries,
        ..Assumptions::default()
    }
}

impl NearData {
    pub(crate) fn new(values: &Values, gpu: &GpuConfig, known: Foreknowledge) -> Result<Self, LabError> {
        let settings = Settings::of(values);
        let map = stacks(&settings, gpu)?;
        Ok(Self { tom: Tom::new(settings.clone(), map, gpu.stacks.warps, known), settings })
    }

    pub(crate) fn install(&self, machine: &mut MachineBuilder) {
        machine.place("tom", Box::new(self.tom.clone()));
        machine.offload("tom", Box::new(self.tom.clone()));
    }

    /// An ideal offload keeps nothing coherent.
    pub(crate) fn refuse_unchecked(&self) -> Result<(), LabError> {
        let leaves_out = match (self.settings.policy, self.settings.coherence) {
            (Policy::Ideal, _) => "tom.policy=ideal",
            (_, false) => "tom.coherence=left-out",
            (_, true) => return Ok(()),
        };
        let reason = format!("`--check-data` cannot hold with `{leaves_out}`, which leaves out what keeps data right");
        Err(LabError::Request(reason))
    }

    /// Granularity of allocations.
    pub(crate) fn page(&self) -> Bytes {
        self.settings.page
    }

    pub(crate) fn loaded(&self, number: u32, module: &Module) {
        self.tom.loaded(number, Table::of_module(module, &assumptions(&self.settings)));
    }

    pub(crate) fn launches(&self, module: u32, kernel: &str) {
        self.tom.launches(module, kernel);
    }

    pub(crate) fn allocated(&self, start: Addr, size: Bytes) {
        self.tom.allocated(start, size);
    }

    pub(crate) fn freed(&self, start: Addr) {
        self.tom.freed(start);
    }

    /// Saves what was learned beside the result: `tom.json`.
    pub(crate) fn save(&self, folder: &Path) -> Result<(), LabError> {
        let learned = self.tom.look_at_seen(learned_json);
        save_json(folder, "tom.json", &json!({ "mapped_by_bit": self.tom.mapped_by(), "learned_from": learned }))
    }
}

/// What an analyser has seen, as JSON.
fn learned_json(seen: &Seen) -> Value {
    let mappings: Vec<_> = (0..=MAPPINGS)
        .map(|m| {
            let bit = (m < MAPPINGS).then(|| LOWEST_BIT + m as u32);
            json!({ "bit": bit, "one_stack": seen.one_stack_share(m), "first_stack": seen.first_stack_share(m) })
        })
        .collect();
    json!({ "instances": seen.instances.len(), "mappings": mappings })
}

/// A survey while a program runs: an engine shows it every module, allocation and launch.
pub(crate) struct Surveying {
    survey: Survey,
    assumptions: Assumptions,
    page: Bytes,
    tables: BTreeMap<(u32, String), Table>,
}

/// A survey that outlives its engine.
pub(crate) type SharedSurvey = Rc<RefCell<Surveying>>;

impl Surveying {
    /// Granularity of allocations.
    pub(crate) fn page(&self) -> Bytes {
        self.page
    }

    pub(crate) fn loaded(&mut self, number: u32, module: &Module) {
        let tables = Table::of_module(module, &self.assumptions);
        self.tables.extend(tables.into_iter().map(|(kernel, table)| ((number, kernel), table)));
    }

    pub(crate) fn allocated(&mut self, start: Addr, size: Bytes) {
        self.survey.allocated(start, size);
    }

    pub(crate) fn freed(&mut self, start: Addr) {
        self.survey.freed(start);
    }

    pub(crate) fn launch<S: GridSource>(&mut self, module: u32, kernel: &str, source: &mut S) -> Result<(), Failed> {
        let table = self.tables.get(&(module, kernel.to_owned())).cloned().unwrap_or_default();
        self.survey.launch(kernel, &table, source)
    }
}

/// A program executed without time, every instance of a candidate watched.
fn survey(request: &RunRequest, values: &Values, gpu: &GpuConfig, monitor: &Arc<Monitor>) -> Result<Survey, LabError> {
    let settings = Settings::of(values);
    let surveying = Rc::new(RefCell::new(Surveying {
        survey: Survey::new(stacks(&settings, gpu)?),
        assumptions: assumptions(&settings),
        page: settings.page,
        tables: BTreeMap::new(),
    }));
    let options = EngineOptions { threads: 1, check: false, ..run::options(request, monitor) };
    let engine = engine::surveying(options, Rc::clone(&surveying)).map_err(LabError::Device)?;
    drop(run::execute(request, monitor, engine)?);
    let broken = || LabError::Request("the survey of the program is still in use".to_owned());
    Ok(Rc::into_inner(surveying).ok_or_else(broken)?.into_inner().survey)
}

/// A CUDA program runs once: nothing can be known of it before.
pub(crate) fn refuse_survey(values: &Values) -> Result<(), LabError> {
    if Settings::of(values).needs_survey() {
        let reason = "`tom` would run the program once before, to count; a CUDA program runs once: say how many instances \
                      to learn from with `--set tom.learning_instances=N`, or take `--set tom.mapping=baseline`";
        return Err(LabError::Request(reason.to_owned()));
    }
    Ok(())
}
