//! A learned prefetcher beside the simple ones: the same run with the tree and with 2 MB on first touch.

use std::sync::Arc;
use strata_run::table::{Align, columns};
use strata_run::{LabError, Monitor, RunRequest, RunResult, run};

const PREFETCHER: &str = "uvm.prefetcher=";

/// What stands beside it.
const OTHERS: [&str; 2] = ["tree", "first-touch"];

/// True if a run has a learned prefetcher.
pub fn is_learned(request: &RunRequest) -> bool {
    request.set.iter().rev().find_map(|set| set.strip_prefix(PREFETCHER)) == Some("learned")
}

/// Runs the others, and sets all side by side.
pub fn beside_simple_prefetchers(request: &RunRequest, learned: &RunResult) -> Result<String, LabError> {
    let mut rows = vec![row("learned", learned, learned)];
    for name in OTHERS {
        let mut other = request.clone();
        other.set.push(format!("{PREFETCHER}{name}"));
        let result = run(&other, &Arc::new(Monitor::default()))?;
        rows.push(row(name, &result, learned));
    }
    let headings = [
        ("prefetcher", Align::Left),
        ("cycles", Align::Right),
        ("of learned", Align::Right),
        ("far faults", Align::Right),
        ("page hit rate", Align::Right),
        ("MB in", Align::Right),
    ];
    Ok(columns(&headings, &rows))
}

fn row(name: &str, result: &RunResult, learned: &RunResult) -> Vec<String> {
    let cycles = |result: &RunResult| result.cycles().unwrap_or(0) + result.copies.cycles.unwrap_or(0);
    let stats = result.stats();
    let count = |name: &str| stats.number(&format!("gpu.uvm.{name}")).unwrap_or(0.0);
    let (hits, misses) = (count("page_hits"), count("page_misses"));
    vec![
        name.to_owned(),
        cycles(result).to_string(),
        format!("{:.3}", cycles(result) as f64 / cycles(learned).max(1) as f64),
        format!("{:.0}", count("far_faults")),
        format!("{:.4}", hits / (hits + misses).max(1.0)),
        format!("{:.1}", count("pcie.in_bytes") / 1e6),
    ]
}
