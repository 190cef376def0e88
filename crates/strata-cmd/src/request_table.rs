//! Off-chip requests of a run by class, as a deduplicated memory counts them (CMD, Figure 13).

use strata_core::Stats;
use strata_core::text::{Align, columns, grouped};

/// Classes by their names in the statistics and in the paper.
const CLASSES: [(&str, &str); 5] = [
    ("write", "Write"),
    ("data_read", "Data-Read"),
    ("read_only", "Read-Only"),
    ("metadata", "Metadata"),
    ("dedup_read", "Dedup-Read"),
];

/// The table, of what stands below `prefix` in the statistics; none if no requests were counted.
pub(crate) fn table(prefix: &str, stats: &Stats) -> Option<String> {
    let count = |class: &str, when: &str| stats.number(&format!("{prefix}.cmd.requests.{class}.{when}"));
    count("write", "before")?;
    let number = |class: &str, when: &str| count(class, when).unwrap_or(0.0) as u64;
    let headings = [
        ("off-chip requests", Align::Left),
        ("before", Align::Right),
        ("after", Align::Right),
        ("change", Align::Right),
    ];
    let row = |name: &str, before: u64, after: u64| {
        let change = if before == 0 {
            "-".to_owned()
        } else {
            format!("{:+.1} %", 100.0 * (after as f64 / before as f64 - 1.0))
        };
        vec![name.to_owned(), grouped(before), grouped(after), change]
    };
    let mut rows: Vec<_> =
        CLASSES.iter().map(|(class, name)| row(name, number(class, "before"), number(class, "after"))).collect();
    let sum = |when| CLASSES.iter().map(|(class, _)| number(class, when)).sum();
    rows.push(row("all", sum("before"), sum("after")));
    Some(columns(&headings, &rows))
}

#[cfg(test)]
mod tests {
    use super::*;
    use strata_core::stats::Unit;

    #[test]
    fn classes_and_their_sum_are_shown() {
        let mut stats = Stats::default();
        assert_eq!(table("gpu", &stats), None);
        for (path, value) in [
            ("write.before", 100),
            ("write.after", 60),
            ("data_read.before", 2000),
            ("data_read.after", 1000),
            ("read_only.before", 0),
            ("read_only.after", 0),
            ("metadata.after", 20),
            ("dedup_read.after", 4),
        ] {
            stats.count(format!("gpu.cmd.requests.{path}"), value, Unit::Requests, "");
        }
        let expected = "\
off-chip requests  before  after   change
Write                 100     60  -40.0 %
Data-Read           2,000  1,000  -50.0 %
Read-Only               0      0        -
Metadata                0     20        -
Dedup-Read              0      4        -
all                 2,100  1,084  -48.4 %
";
        assert_eq!(table("gpu", &stats).as_deref(), Some(expected));
    }
}
