//! What is compared of a run, from its result as it is saved.

use super::machines::Family;
use serde_json::{Value, json};
use std::path::Path;
use strata_core::text::grouped;

/// Classes of CMD's requests: as statistics name them, and as a line says them.
const CLASSES: [(&str, &str); 3] = [("write", "writes"), ("data_read", "reads"), ("read_only", "read-only")];

/// What is compared of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// Core cycles of launches.
    pub cycles: u64,
    /// The same in seconds of the simulated machine.
    pub seconds: f64,
    /// Bytes that DRAM and the links of mechanisms, of stacks and of the host moved.
    pub offchip_bytes: u64,
    /// Joules.
    pub energy: f64,
    /// Bytes of data over bytes of device memory that they take; 1 where nothing is compressed.
    pub capacity: f64,
    /// Bytes that the program allocates; `None` for a trace.
    pub allocated: Option<u64>,
    /// Share of the time of launches in which DRAM's buses carried data.
    pub bus_use: f64,
    /// Whether the program's results are right; `None` if nothing says.
    pub passed: Option<bool>,
    /// What the mechanism exists for: name, value.
    pub quantities: Vec<(&'static str, f64)>,
    /// Those in a few words.
    pub words: String,
    /// The result's key, which names it on disk.
    pub key: String,
    /// The result itself.
    pub result: Value,
}

/// Numbers of a saved result.
struct Saved<'r>(&'r Value);

impl Saved<'_> {
    fn number(&self, path: &str) -> Option<f64> {
        self.0["stats"].get(path)?["value"].as_f64()
    }

    fn count(&self, path: &str) -> f64 {
        self.number(path).unwrap_or(0.0)
    }

    fn sum(&self, paths: &[&str]) -> f64 {
        paths.iter().map(|path| self.count(path)).sum()
    }
}

impl Measured {
    /// Of a result; an error if the program failed. `khz` is the core clock of its machine.
    pub fn of(result: Value, khz: u64, family: Family) -> Result<Self, String> {
        if let Some(error) = result["error"].as_str() {
            return Err(error.to_owned());
        }
        let cycles = result["cycles"].as_u64().ok_or("no launch was timed")?;
        let saved = Saved(&result);
        let sectors = saved.sum(&["gpu.dram.asked_reads", "gpu.dram.asked_writes"]);
        let stacks = saved.sum(&["gpu.stacks.tx", "gpu.stacks.rx", "gpu.stacks.cross"]);
        let links = saved.sum(&["gpu.link.in", "gpu.link.out"]) + stacks;
        let pages = saved.sum(&["gpu.uvm.pcie.in_bytes", "gpu.uvm.pcie.out_bytes"]);
        // Memory stacks are off chip by themselves: what crosses their links is what leaves the GPU.
        let dram = if stacks > 0.0 { 0.0 } else { sectors * strata_core::SECTOR_BYTES as f64 };
        let beside = beside(&result, "buddy.json");
        let capacity = beside.as_ref().and_then(|b| b["capacity"].as_f64()).unwrap_or(1.0);
        let (quantities, words) = purpose(&saved, beside.as_ref(), family);
        Ok(Self {
            cycles,
            seconds: cycles as f64 / (khz as f64 * 1e3),
            offchip_bytes: (dram + links + pages) as u64,
            energy: saved.count("gpu.energy.total"),
            capacity,
            allocated: result["allocated_bytes"].as_u64(),
            bus_use: saved.count("gpu.dram.bus_use"),
            passed: result["passed"].as_bool(),
            quantities,
            words,
            key: result["key"].as_str().unwrap_or_default().to_owned(),
            result,
        })
    }

    /// The quantities as JSON.
    pub fn quantities_json(&self) -> Value {
        self.quantities.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect()
    }
}

/// A JSON file that a run saved beside its result.
pub fn beside(result: &Value, name: &str) -> Option<Value> {
    let folder = result["host"]["directory"].as_str()?;
    serde_json::from_slice(&std::fs::read(Path::new(folder).join(name)).ok()?).ok()
}

/// What the mechanism of a run exists for, as numbers and in words.
fn purpose(saved: &Saved<'_>, buddy: Option<&Value>, family: Family) -> (Vec<(&'static str, f64)>, String) {
    let percent = |share: f64| format!("{:.0} %", 100.0 * share);
    let ratio = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
    if let Some(buddy) = buddy {
        let accesses = saved.sum(&["gpu.buddy.fills", "gpu.buddy.write_backs"]);
        let over = saved.sum(&["gpu.buddy.fills_over_link", "gpu.buddy.write_backs_over_link"]);
        let hits = saved.count("gpu.buddy.metadata.hit_rate");
        let quantities = vec![
            ("capacity", buddy["capacity"].as_f64().unwrap_or(1.0)),
            ("over_link", ratio(over, accesses)),
            ("metadata_hit_rate", hits),
        ];
        return (quantities, format!("{}; {} over the link", targets(buddy), percent(ratio(over, accesses))));
    }
    if saved.number("gpu.cmd.requests.write.before").is_some() {
        let class = |name: &str, when: &str| saved.count(&format!("gpu.cmd.requests.{name}.{when}"));
        let before: f64 = CLASSES.iter().map(|(name, _)| class(name, "before")).sum();
        let added = class("metadata", "after") + class("dedup_read", "after");
        let after: f64 = CLASSES.iter().map(|(name, _)| class(name, "after")).sum::<f64>() + added;
        let change = |name: &str| ratio(class(name, "after"), class(name, "before")) - 1.0;
        let shown = |(name, text): &(&str, &str)| {
            (class(name, "before") > 0.0).then(|| format!("{text} {:+.0} %", 100.0 * change(name)))
        };
        let mut words: Vec<String> = CLASSES.iter().filter_map(shown).collect();
        words.push(format!("metadata {:+.0} %", 100.0 * ratio(added, before)));
        let quantities = vec![
            ("requests_before", before),
            ("requests_after", after),
            ("writes_before", class("write", "before")),
            ("writes_after", class("write", "after")),
            ("data_reads_before", class("data_read", "before")),
            ("data_reads_after", class("data_read", "after")),
            ("read_only_before", class("read_only", "before")),
            ("read_only_after", class("read_only", "after")),
            ("metadata_requests", added),
        ];
        return (quantities, words.join(", "));
    }
    if saved.number("gpu.uvm.far_faults").is_some() {
        let (faults, hits) = (saved.count("gpu.uvm.far_faults"), saved.count("gpu.uvm.page_hit_rate"));
        let accuracy = saved.count("gpu.uvm.accuracy");
        let words = format!("{} faults, page hits {}", grouped(faults as u64), percent(hits));
        let quantities = vec![
            ("far_faults", faults),
            ("page_hit_rate", hits),
            ("prefetch_accuracy", accuracy),
            ("pcie_bytes_in", saved.count("gpu.uvm.pcie.in_bytes")),
        ];
        let used = if saved.count("gpu.uvm.prefetches") > 0.0 {
            format!(", {} of prefetches used", percent(accuracy))
        } else {
            String::new()
        };
        return (quantities, words + &used);
    }
    if let Some(instances) = saved.number("gpu.tom.instances") {
        let blocks = saved.count("gpu.offload.blocks");
        let on_stacks =
            ratio(saved.count("gpu.offload.thread_instructions"), saved.count("gpu.sm.thread_instructions"));
        let words = format!(
            "{} of {} instances offloaded, {} of instructions",
            percent(ratio(blocks, instances)),
            grouped(instances as u64),
            percent(on_stacks)
        );
        let quantities = vec![
            ("instances", instances),
            ("offloaded", blocks),
            ("instructions_on_stacks", on_stacks),
            ("link_bytes", saved.sum(&["gpu.stacks.tx", "gpu.stacks.rx"])),
            ("cross_stack_bytes", saved.count("gpu.stacks.cross")),
        ];
        return (quantities, words);
    }
    let (l1, l2) = (saved.count("gpu.l1.read_hit_rate"), saved.count("gpu.l2.read_hit_rate"));
    let bus = saved.count("gpu.dram.bus_use");
    let words = match family {
        Family::Caches | Family::Other | Family::Deduplication => {
            format!("L1 hits {}, L2 hits {}, DRAM buses {}", percent(l1), percent(l2), percent(bus))
        }
        Family::NearData => {
            let bytes = saved.sum(&["gpu.stacks.tx", "gpu.stacks.rx"]);
            format!("{:.1} MB over links to the stacks", bytes / 1e6)
        }
        Family::Compression | Family::UnifiedMemory => format!("L2 hits {}, DRAM buses {}", percent(l2), percent(bus)),
    };
    (vec![("l1_hit_rate", l1), ("l2_hit_rate", l2), ("dram_bus_use", bus)], words)
}

/// `targets 2x 61 %, 4x 30 %`: shares of the program's bytes.
fn targets(buddy: &Value) -> String {
    let mut shares: Vec<(String, f64)> = Vec::new();
    let mut all = 0.0;
    for allocation in buddy["allocations"].as_array().into_iter().flatten() {
        let (bytes, target) =
            (allocation["bytes"].as_f64().unwrap_or(0.0), allocation["target"].as_str().unwrap_or("1"));
        all += bytes;
        match shares.iter_mut().find(|(name, _)| name == target) {
            Some((_, share)) => *share += bytes,
            None => shares.push((target.to_owned(), bytes)),
        }
    }
    shares.sort_by(|a, b| b.1.total_cmp(&a.1));
    let shown = |(target, bytes): &(String, f64)| format!("{target}x {:.0} %", 100.0 * bytes / all);
    let list: Vec<_> = shares.iter().filter(|(_, bytes)| *bytes >= 0.005 * all).take(3).map(shown).collect();
    if list.is_empty() { "no targets".to_owned() } else { format!("targets {}", list.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(stats: &[(&str, f64)]) -> Value {
        let stats: Value = stats.iter().map(|(k, v)| ((*k).to_owned(), json!({ "value": v }))).collect();
        json!({ "cycles": 1000, "passed": true, "allocated_bytes": 5, "key": "k", "stats": stats })
    }

    #[test]
    fn the_purpose_of_a_mechanism_is_told() {
        let cmd = result(&[
            ("gpu.cmd.requests.write.before", 100.0),
            ("gpu.cmd.requests.write.after", 60.0),
            ("gpu.cmd.requests.metadata.after", 10.0),
        ]);
        let measured = Measured::of(cmd, 1_000_000, Family::Deduplication).expect("sound");
        assert_eq!(measured.words, "writes -40 %, metadata +10 %");
        assert_eq!((measured.seconds, measured.capacity), (1e-6, 1.0));
        let uvm = result(&[("gpu.uvm.far_faults", 1234.0), ("gpu.uvm.page_hit_rate", 0.5)]);
        assert_eq!(Measured::of(uvm, 1, Family::UnifiedMemory).expect("sound").words, "1,234 faults, page hits 50 %");
    }

    #[test]
    fn targets_are_told_by_their_bytes() {
        let buddy = json!({ "allocations": [
            { "bytes": 30, "target": "2" }, { "bytes": 60, "target": "4/3" }, { "bytes": 10, "target": "2" },
        ] });
        assert_eq!(targets(&buddy), "targets 4/3x 60 %, 2x 40 %");
        assert_eq!(targets(&json!({})), "no targets");
    }

    #[test]
    fn a_failed_run_is_no_measurement() {
        assert_eq!(
            Measured::of(json!({ "error": "out of bounds" }), 1, Family::Other),
            Err("out of bounds".to_owned())
        );
        assert!(Measured::of(json!({}), 1, Family::Other).is_err());
    }
}
