//! Whole kernels beside silicon: which counter of the machine stands for which column of the tables.

use super::{Row, Subject};
use crate::silicon::{Cell, KernelRow, Kernels, Quantity, Table};
use strata_host::{Device, LaunchReport};
use strata_workloads::{UnknownWorkload, Workload, find, gv100};

/// Seed of the inputs; what is measured does not depend on the values.
const SEED: u64 = 1;

/// Every run that the tables need: one for all rows of an instance.
pub(super) fn runs(kernels: &Kernels) -> impl Iterator<Item = (&Table, &str)> {
    kernels.tables.iter().flat_map(|table| {
        let first = |row: &&KernelRow| table.rows.iter().find(|r| r.instance == row.instance) == Some(*row);
        table.rows.iter().filter(first).map(move |row| (table, row.instance.as_str()))
    })
}

/// Every value of every row.
pub(super) fn measure(
    machine: &Subject,
    kernels: &Kernels,
    begins: &mut dyn FnMut(&str),
    failures: &mut Vec<String>,
) -> Vec<Row> {
    let mut rows = Vec::new();
    for (table, instance) in runs(kernels) {
        let title = format!("{} {instance}", table.name);
        begins(&title);
        let device = run(machine, table, instance).map_err(|why| failures.push(format!("{title}: {why}"))).ok();
        let of_instance: Vec<_> = table.rows.iter().filter(|row| row.instance == instance).collect();
        for row in &of_instance {
            let report = device.as_ref().and_then(|device| launch(device, &row.kernel));
            let name = if of_instance.len() == 1 { instance.into() } else { format!("{instance} {}", row.kernel) };
            rows.extend(row.cells().map(|cell| compare(machine, table, row, &name, cell, report)));
        }
    }
    rows
}

/// Runs an instance; the reason if it fails or computes something wrong.
fn run(machine: &Subject, table: &Table, instance: &str) -> Result<Device, String> {
    let workload = program(&table.workload).map_err(|e| e.to_string())?;
    let mut device = machine.device(workload.modules()).map_err(|e| e.to_string())?;
    let outcome = workload.run_instance(instance, SEED, &mut device).map_err(|e| e.to_string())?;
    if outcome.passed { Ok(device) } else { Err(outcome.checked) }
}

/// The program of a table: one that users run, too, or one that is there for validation.
fn program(name: &str) -> Result<&'static dyn Workload, UnknownWorkload> {
    gv100::find(name).map_or_else(|| find(name), Ok)
}

/// What the first launch of a kernel did: a row was measured on one launch.
fn launch<'d>(device: &'d Device, kernel: &str) -> Option<&'d LaunchReport> {
    device.launches().iter().find(|(launch, _)| launch.kernel == kernel).map(|(_, report)| report)
}

fn compare(
    machine: &Subject,
    table: &Table,
    row: &KernelRow,
    name: &str,
    cell: Cell,
    report: Option<&LaunchReport>,
) -> Row {
    let ours = report.and_then(|report| counted(cell.quantity, report, machine.profiled));
    let most = report.and_then(|report| possible(cell.quantity, report, machine));
    let is_cycles = cell.quantity == Quantity::Cycles;
    let uncounted = (path(cell.quantity).is_none() && !is_cycles).then(|| "not counted by the machine".to_owned());
    Row {
        table: table.name.clone(),
        name: name.into(),
        quantity: cell.quantity.name(),
        unit: unit(cell.quantity),
        silicon: cell.silicon,
        ours,
        accel_sim: row.accel_sim.filter(|_| is_cycles),
        passed: cell
            .within
            .filter(|_| machine.judged)
            .map(|_| ours.is_some_and(|ours| cell.passes(ours, most.unwrap_or(0.0)))),
        note: uncounted.or_else(|| row.note.clone().filter(|_| is_cycles)),
    }
}

const fn unit(quantity: Quantity) -> &'static str {
    match quantity {
        Quantity::Cycles => "cycles",
        Quantity::Instructions => "thread instructions",
        Quantity::L1HitPercent | Quantity::L2ReadHitPercent => "%",
        _ => "sectors",
    }
}

/// The statistic that stands for a column.
const fn path(quantity: Quantity) -> Option<&'static str> {
    match quantity {
        // Cycles are no counter of the machine.
        Quantity::Cycles => None,
        Quantity::L1Accesses => Some("gpu.l1.transactions"),
        Quantity::Instructions => Some("gpu.sm.thread_instructions"),
        Quantity::L1HitPercent => Some("gpu.l1.read_hit_rate"),
        Quantity::L2ReadHits => Some("gpu.l2.read_hits"),
        // What is fetched for reads; a profiler counts a sector once that others asked for while it was on its way.
        Quantity::L2ReadMisses => Some("gpu.l2.fetches"),
        Quantity::L2ReadHitPercent => Some("gpu.l2.read_hit_rate"),
        // The profiler counts a write as a hit if nothing is fetched for it: every write.
        Quantity::L2WriteHits => Some("gpu.l2.writes"),
        Quantity::DramReads => Some("gpu.dram.reads"),
        Quantity::DramWrites => Some("gpu.dram.writes"),
    }
}

/// What the machine says; a profiler's cycles are without the launch.
fn counted(quantity: Quantity, report: &LaunchReport, profiled: bool) -> Option<f64> {
    if quantity == Quantity::Cycles {
        let launch = if profiled { report.launch_cycles? } else { 0 };
        return report.cycles.map(|cycles| cycles.saturating_sub(launch) as f64);
    }
    let percent = if unit(quantity) == "%" { 100.0 } else { 1.0 };
    report.stats.number(path(quantity)?).map(|value| value * percent)
}

/// The accesses among which a quantity could have been counted: what a measured 0 is judged by.
fn possible(quantity: Quantity, report: &LaunchReport, machine: &Subject) -> Option<f64> {
    match quantity {
        _ if machine.profiled => Some(machine.gpu.l2_size().0 as f64 / 32.0),
        Quantity::L2ReadHits | Quantity::L2ReadMisses | Quantity::DramReads => report.stats.number("gpu.l2.reads"),
        Quantity::L2WriteHits | Quantity::DramWrites => report.stats.number("gpu.l2.writes"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::silicon::Silicon;
    use strata_core::Stats;
    use strata_sim::stats::{MachineStats, Reading, SliceStats};

    #[test]
    fn an_instance_runs_once_for_all_its_kernels() {
        let silicon = Silicon::built_in();
        // 24 rows, of which BabelStream's six are of one run.
        assert_eq!(runs(&silicon.kernels).count(), 19);
    }

    #[test]
    fn every_column_has_its_counter() {
        let counted_something = Reading {
            machine: MachineStats { l1_accesses: 1, ..MachineStats::default() },
            slices: vec![SliceStats { reads: 1, ..SliceStats::default() }],
            ..Reading::default()
        };
        let config = strata_run::gpus::gpu("titan-x-pascal", &[""; 0]).expect("a preset").config;
        let mut stats = Stats::default();
        counted_something.export(strata_run::engine::MACHINE, &config, 1, &mut stats);
        let report = LaunchReport { cycles: Some(1), stats, ..LaunchReport::default() };
        let without: Vec<_> = Quantity::ALL.into_iter().filter(|&q| counted(q, &report, false).is_none()).collect();
        assert_eq!(without, []);
    }
}
