//! A trained predictor, or a table in its place, in a machine with unified memory.

use crate::Config;
use std::path::Path;
use strata_core::Addr;
use strata_learn::access::Access;
use strata_learn::checkpoint::Trained;
use strata_learn::inference::Predictor;
use strata_learn::online::{Online, Rules};
use strata_learn::remembering::{Remembering, Table};
use strata_mechanism::MechanismError;

/// The predictor that comes with the project: pre-trained on half of the traces of ATAX, Backprop, BICG, Hotspot and NW with
/// other inputs than the studies', as in section 7.1 of the prefetching paper (`docs/learned-prefetching.md` says how).
const SHIPPED: &[u8] = include_bytes!("../data/predictors/pretrained.safetensors");

struct InLoop {
    online: Online,
    pages: Vec<u64>,
}

impl crate::Predictor for InLoop {
    fn observe(&mut self, request: &Access) {
        self.online.observe(request);
    }

    fn predict(&mut self, addresses: &mut Vec<Addr>) {
        self.pages.clear();
        self.online.predict(&mut self.pages);
        addresses.extend(self.pages.iter().map(|&page| Addr(page)));
    }
}

struct TableInLoop(Remembering);

impl crate::Predictor for TableInLoop {
    fn observe(&mut self, request: &Access) {
        self.0.observe(request);
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
    if let Some(table) = Table::named(&config.predictor) {
        return Ok(Some(Box::new(TableInLoop(Remembering::new(table)))));
    }
    let (trained, _) = match config.predictor.as_str() {
        "shipped" => Trained::parse(SHIPPED)
            .map_err(|reason| MechanismError::Request(format!("the predictor that comes with this version: {reason}")))?,
        path => Trained::load(Path::new(path)).map_err(|error| {
            MechanismError::Request(format!(
                "uvm.predictor: {error}; it takes `shipped`, `stride`, `markov`, or a checkpoint of `strata prefetch train`"
            ))
        })?,
    };
    let rules = Rules {
        top: config.prediction_top,
        confidence: config.prediction_confidence as f32,
        fine_tune: config.fine_tune,
    };
    Ok(Some(Box::new(InLoop { online: Online::new(Predictor::new(trained), rules), pages: Vec::new() })))
}
