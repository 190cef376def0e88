//! A trained predictor, or a table in its place, in a machine with unified memory.

use crate::Config;
use crate::recorded::Recorded;
use std::path::Path;
use strata_core::Addr;
use strata_learn::access::{Access, Unit};
use strata_learn::checkpoint::Trained;
use strata_learn::inference::Predictor;
use strata_learn::online::{Online, Rules};
use strata_learn::remembering::{Remembering, Table};
use strata_mechanism::MechanismError;

/// The predictors that come with the project, both pre-trained on traces of ATAX, Backprop, BICG, Hotspot and NW with other inputs
/// than the studies' (`docs/learned-prefetching.md` says how): of the next 2 MB, and of pages, as in section 7.1 of the
/// prefetching paper.
const SHIPPED: &[u8] = include_bytes!("../data/predictors/roots.safetensors");
const PAPER: &[u8] = include_bytes!("../data/predictors/pretrained.safetensors");

struct InLoop {
    online: Online,
    pages: Vec<u64>,
}

impl crate::Predictor for InLoop {
    fn unit(&self) -> Unit {
        self.online.unit()
    }

    fn observe(&mut self, request: &Access) -> bool {
        self.online.observe(request)
    }

    fn predict(&mut self, addresses: &mut Vec<Addr>) {
        self.pages.clear();
        self.online.predict(&mut self.pages);
        addresses.extend(self.pages.iter().map(|&page| Addr(page)));
    }
}

struct TableInLoop(Remembering);

impl crate::Predictor for TableInLoop {
    fn unit(&self) -> Unit {
        self.0.unit()
    }

    fn observe(&mut self, request: &Access) -> bool {
        self.0.observe(request)
    }

    fn predict(&mut self, addresses: &mut Vec<Addr>) {
        addresses.extend(self.0.predict().map(Addr));
    }
}

/// The predictor that settings ask for, if they ask for one.
pub(crate) fn in_loop(config: &Config) -> Result<Option<Box<dyn crate::Predictor>>, MechanismError> {
    if config.prefetcher != "learned" {
        return Ok(None);
    }
    let (name, unit) = match config.predictor.split_once(':') {
        Some((name, unit)) => (name, Unit::ALL.into_iter().find(|known| known.name() == unit)),
        None => (config.predictor.as_str(), Some(Unit::Page)),
    };
    if let (Some(table), Some(unit)) = (Table::named(name), unit) {
        return Ok(Some(Box::new(TableInLoop(Remembering::new(table, unit)))));
    }
    let refused = |error: &dyn std::fmt::Display| {
        MechanismError::Request(format!(
            "uvm.predictor: {error}; it takes `shipped`, `paper`, `stride`, `markov`, `stride:root`, a checkpoint of \
             `strata prefetch train`, or `uses.parquet` of a run with `uvm.trace=uses`"
        ))
    };
    if config.predictor.ends_with(".parquet") {
        let recorded = Recorded::load(Path::new(&config.predictor), config.prediction_top).map_err(|e| refused(&e))?;
        return Ok(Some(Box::new(recorded)));
    }
    let of_this_version =
        |reason| MechanismError::Request(format!("the predictor that comes with this version: {reason}"));
    let (trained, _) = match config.predictor.as_str() {
        "shipped" => Trained::parse(SHIPPED).map_err(of_this_version)?,
        "paper" => Trained::parse(PAPER).map_err(of_this_version)?,
        path => Trained::load(Path::new(path)).map_err(|error| refused(&error))?,
    };
    let rules = Rules {
        top: config.prediction_top,
        confidence: config.prediction_confidence as f32,
        fine_tune: config.fine_tune,
    };
    Ok(Some(Box::new(InLoop { online: Online::new(Predictor::new(trained), rules), pages: Vec::new() })))
}
