//! What real GPUs measured: the rows that a timed run is compared with.
//!
//! The numbers are data (`data/silicon.toml`, with their sources); this module gives them types. Which rows are judged
//! and how strictly stands in the data too: code that compares has no opinion of its own.

use serde::Deserialize;
use std::collections::BTreeMap;

/// The tables that come with the program.
const BUILT_IN: &str = include_str!("../data/silicon.toml");

/// Everything measured.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Silicon {
    /// Latencies and bandwidths, one by one.
    pub microbenchmarks: Microbenchmarks,
    /// Whole kernels.
    pub kernels: Kernels,
    /// Kernels of programs that nothing was calibrated with.
    pub programs: Kernels,
}

/// Microbenchmarks on one card.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Microbenchmarks {
    /// The preset that stands for the card.
    pub gpu: String,
    /// The card.
    pub card: String,
    /// Where the numbers come from.
    pub source: String,
    /// Percent of the silicon value within which a value passes …
    pub within: f64,
    /// … or cycles, whichever is more.
    pub within_cycles: f64,
    /// The rows.
    pub rows: Vec<MicroRow>,
}

/// What the microbenchmarks print on a card.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Printed {
    card: String,
    source: String,
    #[serde(default)]
    rows: Vec<MicroRow>,
}

impl Microbenchmarks {
    /// Percent and cycles within which a row of a user's card passes: as the rows that come with the program.
    const WITHIN: (f64, f64) = (5.0, 0.5);

    /// The rows of a file that the emitted microbenchmarks printed; `gpu` stands for the card. The reason if it is none.
    pub fn printed(text: &str, gpu: &str) -> Result<Self, String> {
        let Printed { card, source, rows } = toml::from_str(text).map_err(|error| error.to_string())?;
        if rows.is_empty() {
            return Err("no rows: did the microbenchmarks run to their end?".to_owned());
        }
        for row in &rows {
            if strata_workloads::micro::find(&row.micro).is_none() {
                let names = strata_workloads::micro::all().map(|micro| micro.name);
                let help =
                    strata_core::nearest::nearest(&row.micro, names).map(|name| format!("; did you mean `{name}`?"));
                return Err(format!("there is no microbenchmark `{}`{}", row.micro, help.unwrap_or_default()));
            }
            if !(row.silicon > 0.0 && row.silicon.is_finite()) {
                return Err(format!("`{}`: {} cannot have been measured", row.micro, row.silicon));
            }
        }
        let (within, within_cycles) = Self::WITHIN;
        Ok(Self { gpu: gpu.to_owned(), card, source, within, within_cycles, rows })
    }
}

/// One microbenchmark.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MicroRow {
    /// Its name in [`strata_workloads::micro`], which has its unit.
    pub micro: String,
    /// What the card measured.
    pub silicon: f64,
    /// False if the row is shown only.
    #[serde(default = "yes")]
    pub judged: bool,
    /// What a reader must know.
    pub note: Option<String>,
}

const fn yes() -> bool {
    true
}

/// Kernels on one card.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kernels {
    /// The preset that stands for the card.
    pub gpu: String,
    /// The card.
    pub card: String,
    /// Where the numbers come from.
    pub source: String,
    /// Measured by a profiler that empties caches before each launch and does not count the launch in cycles.
    #[serde(default)]
    pub profiled: bool,
    /// Core clocks at which the errors of cycles are shown, too, where the card's was not recorded; in MHz.
    #[serde(default)]
    pub clocks_mhz: Vec<u32>,
    /// The largest mean absolute error of cycles over all rows, in percent.
    pub mean_absolute_error: f64,
    /// The largest error of cycles of any row, in percent.
    pub largest_error: Option<f64>,
    /// The least correlation of cycles over all rows.
    pub correlation: f64,
    /// The tables.
    pub tables: Vec<Table>,
}

/// The rows of one program.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// What the source calls it.
    pub name: String,
    /// The program.
    pub workload: String,
    /// What a reader must know.
    pub note: Option<String>,
    /// The rows: a run of an instance may give several, one for each of its kernels.
    pub rows: Vec<KernelRow>,
}

/// One kernel of one instance.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KernelRow {
    /// The instance of the program.
    pub instance: String,
    /// The kernel.
    pub kernel: String,
    /// Accel-Sim's cycles for the same run.
    pub accel_sim: Option<f64>,
    /// Elapsed cycles, launch included unless a profiler left it out.
    pub cycles: f64,
    /// Thread instructions that the card executed; PTX has others.
    pub instructions: Option<f64>,
    /// Transactions of 32 B at L1, reads.
    pub l1_accesses: Option<f64>,
    /// Share of them that hit.
    pub l1_hit_percent: Option<f64>,
    /// Transactions of 32 B that hit in L2, reads.
    pub l2_read_hits: Option<f64>,
    /// Transactions of 32 B that missed in L2, reads.
    pub l2_read_misses: Option<f64>,
    /// Share of the reads at L2 that hit.
    pub l2_read_hit_percent: Option<f64>,
    /// Transactions of 32 B that hit in L2, writes.
    pub l2_write_hits: Option<f64>,
    /// Transactions of 32 B from DRAM.
    pub dram_reads: Option<f64>,
    /// Transactions of 32 B to DRAM.
    pub dram_writes: Option<f64>,
    /// The quantities that are judged, with their limits in percent.
    #[serde(default)]
    within: BTreeMap<Quantity, f64>,
    /// What a reader must know.
    pub note: Option<String>,
}

/// A column of the kernel tables.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the fields of KernelRow say what they are")]
pub enum Quantity {
    Cycles,
    Instructions,
    L1Accesses,
    L1HitPercent,
    L2ReadHits,
    L2ReadMisses,
    L2ReadHitPercent,
    L2WriteHits,
    DramReads,
    DramWrites,
}

impl Quantity {
    /// Every column, in the order they are shown.
    pub const ALL: [Self; 10] = [
        Self::Cycles,
        Self::Instructions,
        Self::L1Accesses,
        Self::L1HitPercent,
        Self::L2ReadHits,
        Self::L2ReadMisses,
        Self::L2ReadHitPercent,
        Self::L2WriteHits,
        Self::DramReads,
        Self::DramWrites,
    ];

    /// Its name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cycles => "cycles",
            Self::Instructions => "instructions",
            Self::L1Accesses => "L1 accesses",
            Self::L1HitPercent => "L1 hit %",
            Self::L2ReadHits => "L2 read hits",
            Self::L2ReadMisses => "L2 read misses",
            Self::L2ReadHitPercent => "L2 read hit %",
            Self::L2WriteHits => "L2 write hits",
            Self::DramReads => "DRAM reads",
            Self::DramWrites => "DRAM writes",
        }
    }
}

/// One value of a kernel table.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Cell {
    /// Which column.
    pub quantity: Quantity,
    /// What the card measured.
    pub silicon: f64,
    /// Percent within which a value passes; `None` if it is shown only. Where less than
    /// 1 % of what could have been counted was measured (hits: of the reads; with a profiler's rules all of L2), a value passes
    /// if it differs by less than that.
    pub within: Option<f64>,
}

impl Cell {
    /// Whether `value` passes, counted among `possible` accesses; a cell that is shown only never fails.
    pub fn passes(&self, value: f64, possible: f64) -> bool {
        /// Of what could have been counted, where nothing or next to nothing was measured.
        const NOTHING: f64 = 0.01;
        self.within.is_none_or(|percent| {
            // A share of next to nothing says nothing.
            if self.silicon <= NOTHING * possible {
                value == self.silicon || (value - self.silicon).abs() < NOTHING * possible
            } else {
                (value - self.silicon).abs() <= self.silicon * percent / 100.0
            }
        })
    }
}

impl KernelRow {
    /// The values that were measured, in the order of the columns.
    pub fn cells(&self) -> impl Iterator<Item = Cell> {
        Quantity::ALL.into_iter().filter_map(|quantity| {
            let within = self.within.get(&quantity).copied();
            self.silicon(quantity).map(|silicon| Cell { quantity, silicon, within })
        })
    }

    /// What the card measured.
    pub const fn silicon(&self, quantity: Quantity) -> Option<f64> {
        match quantity {
            Quantity::Cycles => Some(self.cycles),
            Quantity::Instructions => self.instructions,
            Quantity::L1Accesses => self.l1_accesses,
            Quantity::L1HitPercent => self.l1_hit_percent,
            Quantity::L2ReadHits => self.l2_read_hits,
            Quantity::L2ReadMisses => self.l2_read_misses,
            Quantity::L2ReadHitPercent => self.l2_read_hit_percent,
            Quantity::L2WriteHits => self.l2_write_hits,
            Quantity::DramReads => self.dram_reads,
            Quantity::DramWrites => self.dram_writes,
        }
    }
}

impl Microbenchmarks {
    /// Whether a measured `value` passes for this row.
    pub fn passes(&self, row: &MicroRow, value: f64) -> bool {
        let percent = row.silicon * self.within / 100.0;
        let unit = strata_workloads::micro::find(&row.micro).map(|micro| micro.unit);
        let cycles = if unit == Some(strata_workloads::micro::Unit::Cycles) { self.within_cycles } else { 0.0 };
        (value - row.silicon).abs() <= percent.max(cycles)
    }
}

impl Silicon {
    /// The tables that come with the program.
    pub fn built_in() -> Self {
        // Compiled in and read by a test: it cannot fail for a user.
        toml::from_str(BUILT_IN).expect("data/silicon.toml is checked by a test")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use strata_workloads::{Purpose, gv100, instances, micro};

    #[test]
    fn every_instance_and_kernel_has_its_row_and_every_row_its_instance() {
        let silicon = Silicon::built_in();
        let mut rows = BTreeSet::new();
        for table in &silicon.kernels.tables {
            let workload = strata_workloads::find(&table.workload).expect("a program");
            let kernels = workload.modules()[0].resources();
            for row in &table.rows {
                assert!(kernels.contains_key(&row.kernel), "{}", row.kernel);
                rows.insert((table.workload.clone(), row.instance.clone()));
            }
        }
        let listed = instances(Purpose::Silicon).map(|(w, i)| (w.info().name.to_owned(), i.label.to_owned()));
        assert_eq!(rows, listed.collect());
        assert_eq!(silicon.kernels.tables.iter().map(|table| table.rows.len()).sum::<usize>(), 24);
    }

    #[test]
    fn every_program_has_its_rows_and_every_row_its_kernel() {
        let programs = Silicon::built_in().programs;
        let named: Vec<_> = programs.tables.iter().map(|table| table.workload.as_str()).collect();
        assert_eq!(named, gv100::all().iter().map(|program| program.info().name).collect::<Vec<_>>());
        let kernels = gv100::MODULE.resources();
        let rows: Vec<_> = programs.tables.iter().flat_map(|table| &table.rows).collect();
        let known: BTreeSet<_> = rows.iter().map(|row| row.kernel.clone()).collect();
        assert_eq!(known, kernels.into_keys().collect());
        assert_eq!(rows.len(), 10);
        for table in &programs.tables {
            let program = gv100::find(&table.workload).expect("a program");
            assert!(table.rows.iter().all(|row| program.instances().iter().any(|i| i.label == row.instance)));
        }
    }

    #[test]
    fn every_microbenchmark_of_the_table_exists() {
        let silicon = Silicon::built_in().microbenchmarks;
        for row in &silicon.rows {
            assert!(micro::find(&row.micro).is_some(), "{}", row.micro);
        }
        assert_eq!(silicon.rows.len(), 20);
    }

    #[test]
    fn what_is_judged_is_judged_on_a_value_that_was_measured() {
        let silicon = Silicon::built_in();
        let judged = |quantity| {
            let rows = silicon.kernels.tables.iter().flat_map(|table| &table.rows);
            rows.flat_map(KernelRow::cells).filter(|cell| cell.quantity == quantity && cell.within.is_some()).count()
        };
        // Matmul 6, transpose 4, vectorAdd 6, copy, mul and dot.
        assert_eq!(judged(Quantity::L2ReadHits), 19);
        assert_eq!((judged(Quantity::DramReads), judged(Quantity::DramWrites)), (2, 3));
        let limits: usize = silicon.kernels.tables.iter().flat_map(|t| &t.rows).map(|row| row.within.len()).sum();
        assert_eq!(limits, 19 + 2 + 3, "a limit on a value that the row does not have");
    }

    #[test]
    fn a_cell_passes_within_its_percent_and_a_zero_within_one_of_the_accesses() {
        let cell = |silicon, within| Cell { quantity: Quantity::L2ReadHits, silicon, within };
        assert!(cell(200.0, Some(5.0)).passes(210.0, 400.0) && !cell(200.0, Some(5.0)).passes(211.0, 400.0));
        assert!(cell(0.0, Some(5.0)).passes(3.0, 400.0) && !cell(0.0, Some(5.0)).passes(4.0, 400.0));
        assert!(cell(0.0, Some(5.0)).passes(0.0, 0.0));
        assert!(cell(2.0, Some(5.0)).passes(5.0, 400.0) && !cell(2.0, Some(5.0)).passes(6.0, 400.0));
        assert!(cell(200.0, None).passes(0.0, 400.0));
    }

    #[test]
    fn a_latency_passes_within_half_a_cycle_and_a_rate_within_percent_only() {
        let silicon = Silicon::built_in().microbenchmarks;
        let passes = |name: &str, value| {
            let row = silicon.rows.iter().find(|row| row.micro == name).expect("a row");
            silicon.passes(row, value)
        };
        assert!(passes("fp32-latency", 4.5) && !passes("fp32-latency", 4.7));
        assert!(passes("l2-latency", 221.0) && !passes("l2-latency", 222.0));
        assert!(passes("sfu-throughput", 15.3) && !passes("sfu-throughput", 15.1));
    }
}
