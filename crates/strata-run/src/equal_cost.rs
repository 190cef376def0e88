//! What a run with a mechanism is to be set beside: the same program on the plain machine that costs as much.

use crate::request::RunRequest;
use crate::run::{run, saved};
use crate::{LabError, Monitor, RunResult};
use std::sync::Arc;
use strata_core::text::grouped;
use strata_mechanism::Combination;

/// Keys that make a machine cost something else.
const COSTS: [&str; 3] = ["sm.count", "stacks.count", "stacks.sms"];

/// The plain machine of equal cost with what it took.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EqualCost {
    gpu: &'static str,
    cycles: u64,
}

/// The cycles of a request on the plain machine of equal cost, from an earlier run or by running it; `None` if no mechanism of the
/// request names such a machine, or the request changes what the machine costs.
pub fn equal_cost(request: &RunRequest, monitor: &Arc<Monitor>) -> Result<Option<EqualCost>, LabError> {
    let Some(gpu) = request.gpu.as_deref().and_then(|gpu| request.with.equal_cost(gpu)) else { return Ok(None) };
    let (_, set) = request.with.settings(&request.set)?;
    if set.iter().any(|one| COSTS.iter().any(|key| one.split('=').next().is_some_and(|k| k.trim() == *key))) {
        return Ok(None);
    }
    let plain = RunRequest { gpu: Some(gpu.to_owned()), with: Combination::default(), set, ..request.clone() };
    let known = saved(&plain)?.and_then(|result| result["cycles"].as_u64());
    let cycles = match known {
        Some(cycles) => Some(cycles),
        None => run(&plain, monitor)?.cycles(),
    };
    Ok(cycles.map(|cycles| EqualCost { gpu, cycles }))
}

impl EqualCost {
    /// How fast a run is beside it.
    pub fn speed(&self, result: &RunResult) -> Option<f64> {
        result.cycles().filter(|cycles| *cycles > 0).map(|cycles| self.cycles as f64 / cycles as f64)
    }

    /// The same in words.
    pub fn text(&self, result: &RunResult) -> String {
        let speed = self.speed(result).map_or_else(String::new, |speed| format!("{speed:.2} times the speed of "));
        format!("\n{speed}{}, the plain machine of equal cost ({} core cycles)\n", self.gpu, grouped(self.cycles))
    }
}
