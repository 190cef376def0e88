//! What a trace holds.

use super::open;
use crate::error::LabError;
use crate::table::{Align, columns, grouped};
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::Path;
use strata_core::Bytes;
use strata_trace::{LaunchSummary, Origin, Step};

/// What a trace holds, without its streams.
#[derive(Clone, Debug)]
pub struct TraceInfo {
    /// The run that it was recorded from.
    pub origin: Origin,
    /// Version of the file's format.
    pub format: u32,
    /// Size of the file in bytes, compressed.
    pub bytes: u64,
    /// What the host did, launches apart.
    pub events: usize,
    /// Launches, in program order.
    pub launches: Vec<LaunchSummary>,
}

/// Reads a trace and sums up what it holds.
pub fn info(path: &Path) -> Result<TraceInfo, LabError> {
    let mut file = open(path)?;
    let events = file.steps().filter(|step| matches!(step, Step::Event(_))).count();
    let launches = (0..file.launches()).map(|k| file.summary(k)).collect::<Result<_, _>>();
    let launches = launches.map_err(|e| LabError::trace(path, e))?;
    Ok(TraceInfo { origin: file.origin().clone(), format: file.version(), bytes: file.bytes(), events, launches })
}

/// Numbers that add up over launches.
#[derive(Clone, Copy, Default)]
struct Totals {
    launches: u64,
    ctas: u64,
    warp_instructions: u64,
    thread_instructions: u64,
    memory_operations: u64,
    raw: u64,
    stored: u64,
}

impl Totals {
    fn add(&mut self, launch: &LaunchSummary) {
        self.launches += 1;
        self.ctas += launch.info.grid.count();
        self.warp_instructions += launch.counts.warp_instructions();
        self.thread_instructions += launch.counts.thread_instructions();
        self.memory_operations += launch.memory_operations;
        self.raw += launch.raw_bytes;
        self.stored += launch.stored_bytes;
    }
}

/// A quotient, 0 if there is nothing to divide by.
fn per(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

impl TraceInfo {
    fn totals(&self) -> Totals {
        let mut totals = Totals::default();
        self.launches.iter().for_each(|launch| totals.add(launch));
        totals
    }

    /// As the JSON object that scripts read.
    pub fn to_json(&self) -> Value {
        let launch = |l: &LaunchSummary| {
            let (grid, block) = (l.info.grid, l.info.block);
            json!({
                "name": l.info.kernel,
                "grid": [grid.x, grid.y, grid.z],
                "block": [block.x, block.y, block.z],
                "registers": l.info.registers,
                "shared_bytes": l.info.shared.0,
                "thread_instructions": l.counts.thread_instructions(),
                "warp_instructions": l.counts.warp_instructions(),
                "operations": l.operations,
                "memory_operations": l.memory_operations,
                "raw_bytes": l.raw_bytes,
                "stored_bytes": l.stored_bytes,
            })
        };
        let totals = self.totals();
        json!({
            "name": self.origin.program,
            "size": self.origin.size,
            "seed": self.origin.seed,
            "format": self.format,
            "bytes": self.bytes,
            "events": self.events,
            "ctas": totals.ctas,
            "thread_instructions": totals.thread_instructions,
            "warp_instructions": totals.warp_instructions,
            "memory_operations": totals.memory_operations,
            "raw_bytes": totals.raw,
            "stored_bytes": totals.stored,
            "ratio": per(totals.raw, totals.stored),
            "bytes_per_warp_instruction": per(self.bytes, totals.warp_instructions),
            "launches": self.launches.iter().map(launch).collect::<Vec<_>>(),
        })
    }

    /// As `strata trace info` prints it: one line per kernel.
    pub fn table(&self) -> String {
        let mut kernels: Vec<(&str, Totals)> = Vec::new();
        for launch in &self.launches {
            let name = launch.info.kernel.as_str();
            let index = kernels.iter().position(|kernel| kernel.0 == name).unwrap_or(kernels.len());
            if index == kernels.len() {
                kernels.push((name, Totals::default()));
            }
            kernels[index].1.add(launch);
        }
        kernels.push(("all", self.totals()));
        let headings = [
            ("kernel", Align::Left),
            ("launches", Align::Right),
            ("CTAs", Align::Right),
            ("warp instructions", Align::Right),
            ("with addresses", Align::Right),
            ("bytes", Align::Right),
            ("compressed", Align::Right),
            ("bytes per instruction", Align::Right),
        ];
        let row = |(name, t): &(&str, Totals)| {
            let numbers = [t.launches, t.ctas, t.warp_instructions, t.memory_operations, t.stored].map(grouped);
            let mut row = vec![(*name).to_owned()];
            row.extend(numbers);
            row.push(format!("{:.1}x", per(t.raw, t.stored)));
            row.push(format!("{:.3}", per(t.stored, t.warp_instructions)));
            row
        };
        let rows: Vec<_> = kernels.iter().map(row).collect();
        let mut out = String::new();
        let size = self.origin.size.as_ref().map(|s| format!("{s}, ")).unwrap_or_default();
        // Writing to a string cannot fail.
        let _ = writeln!(
            out,
            "{} ({size}seed {}): {} launches, {} host events, {}\n",
            self.origin.program,
            self.origin.seed,
            grouped(self.launches.len() as u64),
            grouped(self.events as u64),
            Bytes(self.bytes)
        );
        out.push_str(&columns(&headings, &rows));
        out
    }
}
