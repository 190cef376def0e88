//! What mechanisms did in a run, as text: requests by class, bytes by reason, and what each of them counted.

use crate::engine::MACHINE;
use std::collections::BTreeMap;
use strata_core::stats::Unit;
use strata_core::text::{Align, columns, grouped};
use strata_core::{Bytes, Stats};
use strata_mechanism::Combination;

/// All tables; none if the machine has no mechanism.
pub(crate) fn table(with: &Combination, stats: &Stats, verbose: bool) -> Option<String> {
    let own = with.list().iter().filter_map(|mechanism| mechanism.table(MACHINE, stats));
    let tables: Vec<String> = own.chain(traffic(stats)).chain(counted(with, stats, verbose)).collect();
    (!tables.is_empty()).then(|| tables.join("\n"))
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
    reasons.retain(|_, bytes| bytes.iter().any(|b| *b > 0));
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
        .map(|(reason, bytes)| [reason.to_owned()].into_iter().chain(bytes.map(grouped)).collect())
        .collect();
    Some(columns(&headings, &rows))
}

/// What the mechanisms counted, if there was any; each with its meaning, if everything is shown.
fn counted(with: &Combination, stats: &Stats, verbose: bool) -> Option<String> {
    let is_shown = |path: &str, value: f64| {
        let below = path.strip_prefix(MACHINE).and_then(|rest| rest.strip_prefix('.'));
        below.is_some_and(|path| with.list().iter().any(|mechanism| mechanism.shows(path, value)))
    };
    let rows: Vec<_> = stats
        .iter()
        .filter(|(path, stat)| is_shown(path, stat.value.as_f64()))
        .map(|(path, stat)| {
            let value = stat.value.as_f64();
            let shown = match stat.unit {
                Unit::Fraction => format!("{:.1} %", 100.0 * value),
                Unit::Bytes => Bytes(value as u64).to_string(),
                _ => grouped(value as u64),
            };
            let meaning = if verbose { stat.description } else { "" };
            vec![path[MACHINE.len() + 1..].to_owned(), shown, meaning.to_owned()]
        })
        .collect();
    let meaning = if verbose { "meaning" } else { "" };
    let headings = [("counted", Align::Left), ("", Align::Right), (meaning, Align::Left)];
    (!rows.is_empty()).then(|| columns(&headings, &rows))
}

#[cfg(test)]
mod tests {
    use super::*;
    use strata_core::settings::Settings;
    use strata_mechanism::{Mechanism, MechanismError, Preparation, Prepared, Registry};

    /// A mechanism that counts and has a table of its own.
    struct Counting;

    impl Mechanism for Counting {
        fn name(&self) -> &'static str {
            "counting"
        }

        fn description(&self) -> &'static str {
            "counts"
        }

        fn prepare(&self, _: &Settings, _: &mut dyn Preparation) -> Result<Box<dyn Prepared>, MechanismError> {
            Err(MechanismError::Request("it only counts".to_owned()))
        }

        fn table(&self, prefix: &str, stats: &Stats) -> Option<String> {
            stats.number(&format!("{prefix}.counting.fills")).map(|fills| format!("its own table: {fills}\n"))
        }
    }

    #[test]
    fn reasons_and_counts_are_shown_and_a_plain_machine_says_nothing() {
        let mut registry = Registry::default();
        registry.register(Counting).expect("the only one");
        let with = registry.combination("counting").expect("known");
        let mut stats = Stats::default();
        assert_eq!(table(&with, &stats, true), None);
        for (reason, bytes) in [("data", 1024), ("merge", 0)] {
            stats.count(format!("gpu.traffic.{reason}.dram_read"), bytes, Unit::Bytes, "");
            stats.count(format!("gpu.traffic.{reason}.link_read"), 0, Unit::Bytes, "");
        }
        stats.count("gpu.counting.fills", 8, Unit::Requests, "fills");
        stats.count("gpu.counting.overflows", 0, Unit::Requests, "what is 0 is not shown");
        stats.count("gpu.stacks.tx", 8, Unit::Bytes, "of nobody's");
        stats.quotient("gpu.counting.metadata.hit_rate", 1.0, 4.0, Unit::Fraction, "hits");
        let expected = "\
its own table: 8

bytes moved for  from DRAM  to DRAM  over the link  back
data                 1,024        0              0     0

counted                             meaning
counting.fills                   8  fills
counting.metadata.hit_rate  25.0 %  hits
";
        assert_eq!(table(&with, &stats, true).as_deref(), Some(expected));
        assert!(
            !table(&with, &stats, false).expect("counted").contains("meaning"),
            "what it means is in the long form"
        );
    }
}
