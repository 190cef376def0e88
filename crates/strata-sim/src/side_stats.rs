//! What memory sides did: bytes by reason, caches of tables, links, and what the mechanisms count themselves.

use crate::counters::counters;
use crate::seam::SideCount;
use strata_core::Bytes;
use strata_core::stats::{Stats, Unit};

counters! {
    /// Bytes moved for one reason.
    pub struct Traffic {
        dram_read: "dram_read", Bytes, "bytes read from DRAM";
        dram_written: "dram_written", Bytes, "bytes written to DRAM";
        link_read: "link_read", Bytes, "bytes that came over links, without headers";
        link_written: "link_written", Bytes, "bytes sent over links, without headers";
    }
}

counters! {
    /// What the caches of a table did.
    pub struct TableCounts {
        accesses: "accesses", Requests, "entries looked up or changed";
        hits: "hits", Requests, "of those, the ones whose sector was in the cache";
        merges: "merges", Requests, "of those, the ones whose sector was on its way already";
        fetches: "fetches", Sectors, "sectors of the table read from DRAM";
        write_backs: "write_backs", Sectors, "sectors of the table written to DRAM";
    }
}

/// What the memory sides of all partitions did, in sum; empty without them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SideReading {
    /// By reason.
    pub traffic: Vec<(&'static str, Traffic)>,
    /// By table.
    pub tables: Vec<(&'static str, TableCounts)>,
    /// What the mechanisms count.
    pub counts: Vec<SideCount>,
    /// Bytes that their links carried towards the GPU and away from it, headers included.
    pub carried: [Bytes; 2],
    /// Femtojoules of their caches and units.
    pub controller_fj: u64,
    /// Bytes per second that these links can carry each way; without links of their own, that of the host link.
    pub link_rate: u64,
}

impl SideReading {
    /// What was counted since an earlier reading of the same machine.
    #[must_use]
    pub fn delta(&self, earlier: &Self) -> Self {
        let carried = |k: usize| Bytes(self.carried[k].0 - earlier.carried[k].0);
        Self {
            traffic: self.traffic.iter().zip(&earlier.traffic).map(|(t, e)| (t.0, t.1.delta(&e.1))).collect(),
            tables: self.tables.iter().zip(&earlier.tables).map(|(t, e)| (t.0, t.1.delta(&e.1))).collect(),
            counts: since(&self.counts, &earlier.counts),
            carried: [carried(0), carried(1)],
            controller_fj: self.controller_fj - earlier.controller_fj,
            link_rate: self.link_rate,
        }
    }

    /// Adds a mechanism's counts to those of its like in other partitions.
    pub(crate) fn add_counts(&mut self, counts: Vec<SideCount>) {
        add_counts(&mut self.counts, counts);
    }

    /// Adds a table's counts to those of its like in other partitions.
    pub(crate) fn add_table(&mut self, name: &'static str, counts: &TableCounts) {
        match self.tables.iter_mut().find(|(n, _)| *n == name) {
            Some((_, sum)) => sum.add(counts),
            None => self.tables.push((name, *counts)),
        }
    }

    /// Adds everything to a tree, below `prefix`; `seconds` is the simulated time it took.
    pub fn export(&self, prefix: &str, seconds: f64, stats: &mut Stats) {
        for (name, traffic) in &self.traffic {
            traffic.export(&format!("{prefix}.traffic.{name}"), stats);
        }
        for (name, table) in &self.tables {
            table.export(&format!("{prefix}.{name}"), stats);
            let what = "accesses whose sector was in the cache";
            let (hits, accesses) = (table.hits as f64, table.accesses as f64);
            stats.quotient(format!("{prefix}.{name}.hit_rate"), hits, accesses, Unit::Fraction, what);
        }
        export(&self.counts, prefix, stats);
        if self.traffic.is_empty() {
            return;
        }
        let ways = [
            ("in", "bytes that links of memory sides carried towards the GPU, headers included"),
            ("out", "bytes that links of memory sides carried away from the GPU, headers included"),
        ];
        for ((way, what), carried) in ways.into_iter().zip(self.carried) {
            stats.count(format!("{prefix}.link.{way}"), carried.0, Unit::Bytes, what);
            let what = "of what these links could have carried this way in the time of launches";
            let could = self.link_rate as f64 * seconds;
            stats.quotient(format!("{prefix}.link.{way}_use"), carried.0 as f64, could, Unit::Fraction, what);
        }
    }
}

/// Adds counts to those of the same names.
pub(crate) fn add_counts(sums: &mut Vec<SideCount>, counts: Vec<SideCount>) {
    for count in counts {
        match sums.iter_mut().find(|c| c.name == count.name) {
            Some(sum) => sum.value += count.value,
            None => sums.push(count),
        }
    }
}

/// What a mechanism counted since an earlier reading.
pub(crate) fn since(counts: &[SideCount], earlier: &[SideCount]) -> Vec<SideCount> {
    counts.iter().zip(earlier).map(|(c, e)| SideCount { value: c.value - e.value, ..*c }).collect()
}

/// Adds what a mechanism counted to a tree, below `prefix`.
pub(crate) fn export(counts: &[SideCount], prefix: &str, stats: &mut Stats) {
    for count in counts {
        stats.count(format!("{prefix}.{}", count.name), count.value, count.unit, count.what);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(n: u64) -> SideReading {
        let mut sum = SideReading {
            traffic: vec![("data", Traffic { dram_read: 64 * n, ..Traffic::default() })],
            carried: [Bytes(100 * n), Bytes(0)],
            link_rate: 1000,
            ..SideReading::default()
        };
        for _ in 0..2 {
            sum.add_table("map", &TableCounts { accesses: 4 * n, hits: n, ..TableCounts::default() });
            let count = SideCount { name: "mechanism.fills", unit: Unit::Requests, what: "fills", value: n };
            sum.add_counts(vec![count]);
        }
        sum
    }

    #[test]
    fn partitions_add_up_and_readings_subtract() {
        assert_eq!(reading(3).tables[0].1.accesses, 24);
        assert_eq!(reading(3).counts[0].value, 6);
        assert_eq!(reading(5).delta(&reading(2)), reading(3));
    }

    #[test]
    fn rates_stand_beside_counts() {
        let mut stats = Stats::default();
        reading(1).export("gpu", 0.2, &mut stats);
        let expected = [("gpu.map.hit_rate", 0.25), ("gpu.mechanism.fills", 2.0), ("gpu.link.in_use", 0.5)];
        for (path, value) in expected {
            assert_eq!(stats.number(path), Some(value), "{path}");
        }
    }
}
