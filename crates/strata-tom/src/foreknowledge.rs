//! What TOM has to know of a program before it runs: found by executing it once without time, and kept for later runs.

use crate::analyser::Rule;
use crate::candidate::Assumptions;
use crate::mechanism::{assumptions, stacks, tables};
use crate::runtime::Foreknowledge;
use crate::settings::Settings;
use crate::survey::Survey;
use crate::table::Table;
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use strata_core::settings::Settings as Values;
use strata_core::{Bytes, GridSource, HostEvent, LineAddr};
use strata_mechanism::{MechanismError, Preparation, Spectator};

/// What surveys are kept as.
const KIND: &str = "surveys";

/// What TOM has to know of a program before it runs.
pub(crate) fn foreknowledge(values: &Values, run: &mut dyn Preparation) -> Result<Foreknowledge, MechanismError> {
    let settings = Settings::of(values);
    if !settings.needs_survey() {
        return Ok(Foreknowledge::default());
    }
    if let Some(known) = run.recall(KIND, &key(&settings, run)?)?.as_ref().and_then(read) {
        return Ok(known);
    }
    Ok(known(&survey(values, run)?, settings.mapping_rule))
}

/// Executes a program without time, watches every instance of a candidate, and keeps what TOM has to know of it.
pub fn survey(values: &Values, run: &mut dyn Preparation) -> Result<Survey, MechanismError> {
    let settings = Settings::of(values);
    let surveying = Rc::new(RefCell::new(Surveying {
        survey: Survey::new(stacks(&settings, run.gpu())?),
        assumptions: assumptions(&settings),
        page: settings.page,
        tables: BTreeMap::new(),
    }));
    run.rehearse(Rc::<RefCell<Surveying>>::clone(&surveying))?;
    let broken = || MechanismError::Request("the survey of the program is still in use".to_owned());
    let survey = Rc::into_inner(surveying).ok_or_else(broken)?.into_inner().survey;
    run.keep(KIND, &key(&settings, run)?, &write(&known(&survey, settings.mapping_rule)))?;
    Ok(survey)
}

fn known(survey: &Survey, rule: Rule) -> Foreknowledge {
    Foreknowledge {
        instances: survey.seen.instances() as u64,
        best: survey.seen.best(rule, usize::MAX),
        accessed: survey.accessed(),
    }
}

/// What a survey depends on, beside the program and its input.
fn key(settings: &Settings, run: &dyn Preparation) -> Result<Value, MechanismError> {
    Ok(json!({
        "page": settings.page.0,
        "rule": format!("{:?}", settings.mapping_rule),
        "assumptions": format!("{:?}", assumptions(settings)),
        "stacks": format!("{:?}", stacks(settings, run.gpu())?),
    }))
}

fn write(known: &Foreknowledge) -> Value {
    let accessed: Vec<u64> = known.accessed.iter().map(|line| line.0).collect();
    json!({ "instances": known.instances, "best": known.best, "accessed": accessed })
}

/// `None` if what was kept is not ours.
fn read(kept: &Value) -> Option<Foreknowledge> {
    let lines = kept["accessed"].as_array()?.iter();
    Some(Foreknowledge {
        instances: kept["instances"].as_u64()?,
        best: kept["best"].as_u64().map(|best| best as usize),
        accessed: lines.map(|line| line.as_u64().map(LineAddr)).collect::<Option<_>>()?,
    })
}

/// A survey while a program is executed.
struct Surveying {
    survey: Survey,
    assumptions: Assumptions,
    page: Bytes,
    tables: BTreeMap<(u32, String), Table>,
}

impl Spectator for Surveying {
    fn page(&self) -> Option<Bytes> {
        Some(self.page)
    }

    fn host_event(&mut self, event: &HostEvent) {
        match event {
            HostEvent::ModuleLoaded { module, name, text } => {
                let tables = tables(name, text, &self.assumptions);
                self.tables.extend(tables.into_iter().map(|(kernel, table)| ((*module, kernel), table)));
            }
            HostEvent::Alloc(allocation) if allocation.is_on_heap() => {
                self.survey.allocated(allocation.start, allocation.size);
            }
            HostEvent::Free { start, .. } => self.survey.freed(*start),
            _ => {}
        }
    }

    fn launch(&mut self, module: u32, kernel: &str, source: &mut dyn GridSource) -> bool {
        let table = self.tables.get(&(module, kernel.to_owned())).cloned().unwrap_or_default();
        self.survey.launch(kernel, &table, source).is_ok()
    }
}
