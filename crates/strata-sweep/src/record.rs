//! What a store keeps of a run: what it was of, its totals, and the statistics of the whole run.

use serde_json::{Map, Value, json};
use strata_core::stats::Value as StatValue;
use strata_run::RunResult;

/// The result of a point. Everything but `host` is the same whoever made it.
#[derive(Clone, Debug, PartialEq)]
pub struct Record(Value);

impl Record {
    /// Of a result: what single slices and channels did is left out, and so are launches.
    pub fn of(result: &RunResult) -> Self {
        let counts = result.counts();
        let launch_cycles = result.kernels.iter().filter_map(|kernel| kernel.launch_cycles).reduce(|a, b| a + b);
        let tree = result.stats();
        let mut stats = Map::new();
        for (path, stat) in tree.iter().filter(|(path, _)| !path.contains('[')) {
            let number = match stat.value {
                StatValue::Count(count) => json!(count),
                StatValue::Amount(_) | StatValue::Quotient { .. } => json!(stat.value.as_f64()),
            };
            stats.insert(path.to_owned(), json!([number, stat.unit.name()]));
        }
        let mut record = Value::Object(result.about.to_json());
        record["passed"] = json!(result.passed);
        record["error"] = json!(result.error);
        record["warnings"] = json!(result.warnings);
        record["totals"] = json!({
            "cycles": result.cycles(),
            "launch_cycles": launch_cycles,
            "copy_cycles": result.copies.cycles,
            "launches": result.kernels.len(),
            "thread_instructions": counts.thread_instructions(),
            "warp_instructions": counts.warp_instructions(),
            "ipc": result.ipc(),
            "allocated_bytes": result.allocated.map(|bytes| bytes.0),
        });
        record["stats"] = Value::Object(stats);
        record["host"] = json!({ "seconds": result.host.seconds, "total_seconds": result.host.total_seconds });
        Self(record)
    }

    /// From its text, if that is the record of this key.
    pub fn parse(text: &[u8], key: &str) -> Option<Self> {
        let value: Value = serde_json::from_slice(text).ok()?;
        (value["key"] == key).then_some(Self(value))
    }

    pub(crate) fn text(&self) -> String {
        format!("{}\n", self.0)
    }

    /// Why the run does not count, if it does not: the program failed, or its result is wrong.
    pub fn failure(&self) -> Option<String> {
        let error = self.0["error"].as_str().map(str::to_owned);
        error.or_else(|| (self.0["passed"] == false).then(|| "the program's result is wrong".to_owned()))
    }

    /// Whether the program's results are right; `None` if nothing says.
    pub fn passed(&self) -> Option<bool> {
        self.0["passed"].as_bool()
    }

    /// A text of what the run was of, such as `name` or `gpu`.
    pub fn text_of(&self, key: &str) -> Option<&str> {
        self.0[key].as_str()
    }

    /// The seed of the inputs.
    pub fn seed(&self) -> Option<u64> {
        self.0["seed"].as_u64()
    }

    /// A total, such as `cycles`.
    pub fn total(&self, name: &str) -> Option<f64> {
        self.0["totals"][name].as_f64()
    }

    /// A statistic.
    pub fn number(&self, path: &str) -> Option<f64> {
        self.0["stats"].get(path)?[0].as_f64()
    }

    /// Every statistic: path, number, unit.
    pub(crate) fn stats(&self) -> impl Iterator<Item = (&str, &Value, &str)> {
        let all = self.0["stats"].as_object().into_iter().flatten();
        all.map(|(path, stat)| (path.as_str(), &stat[0], stat[1].as_str().unwrap_or_default()))
    }

    /// Seconds that the run took.
    pub(crate) fn seconds(&self) -> f64 {
        self.0["host"]["total_seconds"].as_f64().unwrap_or(0.0)
    }
}
