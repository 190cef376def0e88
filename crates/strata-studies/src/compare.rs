//! Machines side by side: the plain one against those with mechanisms, on the same programs.

use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;
use strata_core::text::{Align, columns, grouped};
use strata_mechanism::Combination;
use strata_run::LabError;
use strata_run::RunResult;
use strata_run::{Monitor, Step};
use strata_run::{RunRequest, What};
use strata_run::{parallel, run};

/// What to compare.
#[derive(Clone, Debug)]
pub struct CompareRequest {
    /// The programs.
    pub programs: Vec<What>,
    /// Their size; `None` means `small`.
    pub size: Option<String>,
    /// The machine.
    pub gpu: String,
    /// What is put into it; the plain machine always comes first and is not named.
    pub schemes: Vec<Combination>,
    /// Changes to machine and settings. A setting of a mechanism goes to the machines that have it.
    pub set: Vec<String>,
    /// Where results go.
    pub out: Option<PathBuf>,
}

/// One program on one machine.
#[derive(Clone, Debug)]
pub struct CompareRow {
    /// The program.
    pub workload: String,
    /// The mechanisms.
    pub scheme: Combination,
    /// The run, or why there is none.
    pub run: Result<Measured, String>,
    /// Cycles of the plain machine over these; copies not counted.
    pub speedup: Option<f64>,
}

/// What is compared of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// Core cycles of launches.
    pub cycles: u64,
    /// Bytes that DRAM and the links of mechanisms moved.
    pub offchip_bytes: u64,
    /// Joules.
    pub energy: f64,
    /// Whether the program's results are right; `None` if nothing says.
    pub passed: Option<bool>,
}

impl Measured {
    fn of(result: &RunResult) -> Result<Self, String> {
        if let Some(error) = &result.error {
            return Err(error.clone());
        }
        let stats = result.stats();
        let number = |path: &str| stats.number(path).unwrap_or(0.0);
        let sectors = number("gpu.dram.asked_reads") + number("gpu.dram.asked_writes");
        let links = number("gpu.link.in") + number("gpu.link.out");
        Ok(Self {
            cycles: result.cycles().unwrap_or(0),
            offchip_bytes: (sectors * strata_core::SECTOR_BYTES as f64 + links) as u64,
            energy: number("gpu.energy.total"),
            passed: result.passed,
        })
    }
}

/// Runs every program on every machine, several at once.
pub fn compare(
    request: &CompareRequest,
    begins: &mut (dyn FnMut(Step<'_>) + Send),
) -> Result<Vec<CompareRow>, LabError> {
    let mut schemes = vec![Combination::default()];
    schemes.extend(request.schemes.iter().filter(|s| !s.is_plain()).cloned());
    let jobs: Vec<(&What, &Combination)> =
        request.programs.iter().flat_map(|what| schemes.iter().map(move |scheme| (what, scheme))).collect();
    let name = |(what, scheme): &(&What, &Combination)| format!("{} with {scheme}", what.name());
    let runs = parallel::map(&jobs, parallel::threads(), name, begins, |(what, scheme)| {
        let run_request = RunRequest {
            size: request.size.clone(),
            gpu: Some(request.gpu.clone()),
            with: (*scheme).clone(),
            set: scheme.relevant(&request.set),
            out: request.out.clone(),
            ..RunRequest::new((*what).clone())
        };
        run::run(&run_request, &Arc::new(Monitor::default()))
    });
    let mut rows = Vec::new();
    let mut plain = None;
    for ((what, scheme), result) in jobs.into_iter().zip(runs) {
        let run = Measured::of(&result?);
        let cycles = run.as_ref().ok().map(|m| m.cycles as f64);
        if scheme.is_plain() {
            plain = cycles;
        }
        let speedup = plain.zip(cycles).map(|(plain, cycles)| plain / cycles);
        rows.push(CompareRow { workload: what.name(), scheme: scheme.clone(), run, speedup });
    }
    Ok(rows)
}

/// The rows as a table.
pub fn table(rows: &[CompareRow]) -> String {
    let headings = [
        ("program", Align::Left),
        ("scheme", Align::Left),
        ("core cycles", Align::Right),
        ("speed-up", Align::Right),
        ("off-chip bytes", Align::Right),
        ("energy", Align::Right),
        ("result", Align::Left),
    ];
    let cells = |row: &CompareRow| {
        let names = vec![row.workload.clone(), row.scheme.to_string()];
        let rest = match &row.run {
            Err(error) => vec!["-".into(), "-".into(), "-".into(), "-".into(), format!("failed: {error}")],
            Ok(run) => vec![
                grouped(run.cycles),
                row.speedup.map_or_else(|| "-".into(), |x| format!("{x:.3}")),
                grouped(run.offchip_bytes),
                format!("{:.4} J", run.energy),
                match run.passed {
                    Some(true) => "passed".into(),
                    Some(false) => "wrong".into(),
                    None => "not checked".into(),
                },
            ],
        };
        [names, rest].concat()
    };
    columns(&headings, &rows.iter().map(cells).collect::<Vec<_>>())
}

/// The rows as JSON.
pub fn to_json(rows: &[CompareRow]) -> Value {
    let rows: Vec<_> = rows
        .iter()
        .map(|row| {
            let run = row.run.as_ref().ok();
            json!({
                "workload": row.workload,
                "scheme": row.scheme.to_string(),
                "cycles": run.map(|r| r.cycles),
                "speedup": row.speedup,
                "offchip_bytes": run.map(|r| r.offchip_bytes),
                "energy_j": run.map(|r| r.energy),
                "passed": run.and_then(|r| r.passed),
                "error": row.run.as_ref().err(),
            })
        })
        .collect();
    json!({ "rows": rows })
}
