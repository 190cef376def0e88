//! The profiling pass of a run that names no targets: made once for a program and its input, and kept for later runs.

use crate::observation::{Observation, Wanted};
use crate::{Design, Rule, Targets};
use serde_json::{Map, Value, json};
use std::cell::RefCell;
use std::rc::Rc;
use strata_mechanism::{Input, MechanismError, Moment, Preparation};

/// Snapshots of a profiling pass: as many as the paper takes (section II-C).
pub const SNAPSHOTS: usize = 10;

/// What profiles are kept as.
const KIND: &str = "profiles";

/// What a run knows of its program beforehand.
#[derive(Clone, Debug, PartialEq, Default)]
pub(crate) struct Profiled {
    /// The target of every allocation.
    pub(crate) targets: Targets,
    /// Where the profiling pass saw compressible data, as results show it: a list of allocations.
    pub(crate) places: Value,
}

impl Profiled {
    /// Of the program of a run, on a small input: from an earlier run, or found by executing it without time.
    pub(crate) fn of(rule: &Rule, run: &mut dyn Preparation) -> Result<Self, MechanismError> {
        let key = key(rule);
        if let Some(known) = run.recall(KIND, &key)?.as_ref().and_then(Self::read) {
            return Ok(known);
        }
        let seen = Rc::<RefCell<Observation>>::default();
        let watching = Rc::clone(&seen);
        let look =
            move |moment: &Moment<'_>| watching.borrow_mut().see(moment, Wanted { places: true, ..Wanted::default() });
        let snapshots = run.snapshots(Input::Small, SNAPSHOTS, Box::new(look))?;
        let mut observation = seen.take();
        observation.end(snapshots);
        let places = observation.places.iter().map(|places| {
            let bytes: Vec<u64> = places.means().collect();
            json!({ "name": places.name, "entries_per_cell": places.entries_per_cell, "entry_bytes": bytes })
        });
        let places = places.collect();
        let profiled = Self { targets: observation.profile().choose(Design::ZeroPage, rule).targets, places };
        run.keep(KIND, &key, &profiled.write())?;
        Ok(profiled)
    }

    fn write(&self) -> Value {
        let targets: Map<String, Value> =
            self.targets.iter().map(|(name, target)| (name.to_owned(), target.name().into())).collect();
        json!({ "targets": targets, "places": self.places })
    }

    /// `None` if what was kept is not ours.
    fn read(kept: &Value) -> Option<Self> {
        let targets = kept["targets"].as_object()?.iter();
        let targets = targets.map(|(name, target)| Some((name.clone(), target.as_str()?.parse().ok()?)));
        let places = kept["places"].is_array().then(|| kept["places"].clone())?;
        Some(Self { targets: targets.collect::<Option<_>>()?, places })
    }
}

/// What a profile depends on, beside the program and its input.
fn key(rule: &Rule) -> Value {
    json!({ "rule": format!("{rule:?}"), "snapshots": SNAPSHOTS })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Target;

    #[test]
    fn what_is_kept_is_read_again_and_nothing_else() {
        let targets = [("a".to_owned(), Target::X4Over3), ("b \"c\"".to_owned(), Target::X16)].into_iter().collect();
        let places = json!([{ "name": "a", "entries_per_cell": 1, "entry_bytes": [128, 0] }]);
        let profiled = Profiled { targets, places };
        assert_eq!(Profiled::read(&profiled.write()), Some(profiled));
        for wrong in [json!(null), json!({ "targets": { "a": "3" }, "places": [] }), json!({ "targets": {} })] {
            assert_eq!(Profiled::read(&wrong), None, "{wrong}");
        }
    }
}
