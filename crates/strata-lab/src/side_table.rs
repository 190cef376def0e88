//! What mechanisms did in a run, as text: requests by class, bytes by reason, and what each of them counted.

use crate::engine::MACHINE;
use crate::mechanisms::Mechanism;
use crate::request_table;
use crate::table::{Align, columns, grouped};
use std::collections::BTreeMap;
use strata_core::Stats;
use strata_core::stats::Unit;

/// All tables; none if the machine has no mechanism.
pub(crate) fn table(stats: &Stats) -> Option<String> {
    let tables: Vec<String> =
        [request_table::table(stats), traffic(stats), counted(stats)].into_iter().flatten().collect();
    (!tables.is_empty()).then(|| tables.join("\n"))
}

/// Of all that unified memory counts, what a first look asks for; `result.json` has the rest.
const OF_PAGES: [&str; 13] = [
    "far_faults",
    "page_hit_rate",
    "migrated_pages",
    "prefetched_pages",
    "accuracy",
    "evicted_clean",
    "evicted_dirty",
    "thrashed_pages",
    "remote",
    "pcie.in_bytes",
    "pcie.out_bytes",
    "pcie.in_use",
    "throttled",
];

/// What the machine counts of offloading, shown if it is 0, too.
const OF_STACKS: [&str; 5] =
    ["offload.blocks", "offload.thread_instructions", "stacks.tx", "stacks.rx", "stacks.cross"];

/// Bytes that moved, a row for each reason for which some did.
fn traffic(stats: &Stats) -> Option<String> {
    const WAYS: [&str; 4] = ["dram_read", "dram_written", "link_read", "link_written"];
    let prefix = format!("{MACHINE}.traffic.");
    let mut reasons: BTreeMap<&str, [u64; 4]> = BTreeMap::new();
    for (path, stat) in stats.iter() {
        let Some((reason, way)) = path.strip_prefix(&prefix).and_then(|rest| rest.split_once('.')) else { continue };
        if let Some(k) = WAYS.iter().position(|w| *w == way) {
            reasons.entry(reason).or_default()[k] = stat.value.as_f64() as u64;
        }
    }
    if reasons.is_empty() {
        return None;
    }
    let headings = [
        ("bytes moved for", Align::Left),
        ("from DRAM", Align::Right),
        ("to DRAM", Align::Right),
        ("over the link", Align::Right),
        ("back", Align::Right),
    ];
    let rows: Vec<_> = reasons
        .into_iter()
        .filter(|(_, bytes)| bytes.iter().any(|b| *b > 0))
        .map(|(reason, bytes)| [reason.to_owned()].into_iter().chain(bytes.map(grouped)).collect())
        .collect();
    Some(columns(&headings, &rows))
}

/// What the mechanisms counted, each with its meaning, if there was any.
fn counted(stats: &Stats) -> Option<String> {
    let offloads = stats.number(&format!("{MACHINE}.{}.instances", Mechanism::Tom.name())).is_some();
    let is_shown = |path: &str, value: f64| {
        let Some(rest) = path.strip_prefix(MACHINE).and_then(|rest| rest.strip_prefix('.')) else { return false };
        let (mechanism, count) = rest.split_once('.').unwrap_or((rest, ""));
        // Requests by class have a table of their own.
        let is_counted = !rest.contains(".requests.") && Mechanism::ALL.iter().any(|m| m.name() == mechanism);
        let is_asked_for =
            mechanism != Mechanism::Uvm.name() || count.starts_with("predictions.") || OF_PAGES.contains(&count);
        (offloads && OF_STACKS.contains(&rest)) || (is_counted && is_asked_for && value != 0.0)
    };
    let rows: Vec<_> = stats
        .iter()
        .filter(|(path, stat)| is_shown(path, stat.value.as_f64()))
        .map(|(path, stat)| {
            let value = stat.value.as_f64();
            let shown =
                if stat.unit == Unit::Fraction { format!("{:.1} %", 100.0 * value) } else { grouped(value as u64) };
            vec![path[MACHINE.len() + 1..].to_owned(), shown, stat.description.to_owned()]
        })
        .collect();
    let headings = [("counted", Align::Left), ("", Align::Right), ("meaning", Align::Left)];
    (!rows.is_empty()).then(|| columns(&headings, &rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_and_counts_are_shown_and_a_plain_machine_says_nothing() {
        let mut stats = Stats::default();
        assert_eq!(table(&stats), None);
        for (reason, bytes) in [("data", 1024), ("merge", 0)] {
            stats.count(format!("gpu.traffic.{reason}.dram_read"), bytes, Unit::Bytes, "");
            stats.count(format!("gpu.traffic.{reason}.link_read"), 0, Unit::Bytes, "");
        }
        stats.count("gpu.buddy.fills", 8, Unit::Requests, "fills");
        stats.count("gpu.stacks.tx", 8, Unit::Bytes, "of a machine without offloading");
        stats.quotient("gpu.buddy.metadata.hit_rate", 1.0, 4.0, Unit::Fraction, "hits");
        let expected = "\
bytes moved for  from DRAM  to DRAM  over the link  back
data                 1,024        0              0     0

counted                          meaning
buddy.fills                   8  fills
buddy.metadata.hit_rate  25.0 %  hits
";
        assert_eq!(table(&stats).as_deref(), Some(expected));
    }

    #[test]
    fn pages_and_stacks_are_told_of_in_short() {
        let mut stats = Stats::default();
        for (path, value) in [
            ("offload.blocks", 0),
            ("tom.instances", 7),
            ("tom.stay.full", 0),
            ("uvm.far_faults", 2),
            ("uvm.predictions.made", 3),
            ("uvm.stall.queue", 9),
        ] {
            stats.count(format!("gpu.{path}"), value, Unit::Events, path);
        }
        let expected = "\
counted                  meaning
offload.blocks        0  offload.blocks
tom.instances         7  tom.instances
uvm.far_faults        2  uvm.far_faults
uvm.predictions.made  3  uvm.predictions.made
";
        assert_eq!(table(&stats).as_deref(), Some(expected));
    }
}
