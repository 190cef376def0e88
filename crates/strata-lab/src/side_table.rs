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
    let traffic = traffic(stats)?;
    let requests = request_table::table(stats).map_or_else(String::new, |table| format!("{table}\n"));
    Some(format!("{requests}{traffic}\n{}", counted(stats)))
}

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
fn counted(stats: &Stats) -> String {
    let of_mechanism = |path: &str| {
        let rest = path.strip_prefix(MACHINE).and_then(|rest| rest.strip_prefix('.'));
        // Requests by class have a table of their own.
        let rest = rest.filter(|rest| !rest.contains(".requests."));
        rest.is_some_and(|rest| Mechanism::ALL.iter().any(|m| rest.split('.').next() == Some(m.name())))
    };
    let rows: Vec<_> = stats
        .iter()
        .filter(|(path, stat)| of_mechanism(path) && stat.value.as_f64() != 0.0)
        .map(|(path, stat)| {
            let value = stat.value.as_f64();
            let shown =
                if stat.unit == Unit::Fraction { format!("{:.1} %", 100.0 * value) } else { grouped(value as u64) };
            vec![path[MACHINE.len() + 1..].to_owned(), shown, stat.description.to_owned()]
        })
        .collect();
    columns(&[("counted", Align::Left), ("", Align::Right), ("meaning", Align::Left)], &rows)
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
}
