//! How fast a program could get by the bandwidths of the machine alone: a ceiling beside the ideal of the paper, which is no upper
//! bound because blocks near memory share no L2.
//!
//! A share `f` of the program runs on the SMs of stacks. What the GPU has left takes `(1 - f) d`, where `d` is the longest that the whole
//! program would keep one direction of its links, its issue slots or its load/store units busy; what stacks have takes `f u`, where
//! `u` is the same of their SMs' issue slots and load/store units; and vaults move all data either way, in `c`. The best share makes
//! both equal: no policy takes less than the larger of `c` and `d u / (d + u)`. Counts are those of the baseline: a policy that
//! gets along with less traffic, because stacks' caches keep more, is not bound by them.

use super::figures::{Column, ratios, speeds};
use super::suite::{
    BASELINE, CTRL_BMAP, CTRL_ORACLE, CTRL_TMAP, IDEAL, NOCTRL_BMAP, NOCTRL_ORACLE, NOCTRL_TMAP, Scheme,
};
use super::timing::{Point, Timing};
use crate::report::{Cell, Figure};
use crate::reproduce::by_program::by_program;
use strata_core::SECTOR_BYTES;
use strata_run::LabError;
use strata_run::gpus;

/// What the machine does in a core cycle.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rates {
    /// Bytes of all links to stacks in one direction, and of all vaults.
    pub(super) link: f64,
    vaults: f64,
    /// Instructions and lines of the SMs of the GPU, and of those on stacks.
    gpu_issue: f64,
    gpu_lines: f64,
    stack_issue: f64,
    stack_lines: f64,
}

impl Rates {
    /// Of the machines of Table 1.
    pub(super) fn of_table_1() -> Result<Self, LabError> {
        let config = gpus::gpu(CTRL_TMAP.gpu, &[""; 0])?.config;
        let per_cycle = |bytes_per_second: f64| bytes_per_second / (config.clock.core.khz() as f64 * 1e3);
        let (dram, l1) = (&config.dram, &config.l1);
        let channel = f64::from(dram.bus_bytes * dram.data_rate) * config.clock.dram.khz() as f64 * 1e3;
        let issue = f64::from(config.sm.schedulers);
        let lines = 1.0 / l1.instruction_cycles.max(f64::MIN_POSITIVE);
        let (on_gpu, on_stacks) = (f64::from(config.sm.count), f64::from(config.stacks.count * config.stacks.sms));
        Ok(Self {
            link: per_cycle(f64::from(config.stacks.count) * config.stacks.link.gb_per_s * 1e9),
            vaults: per_cycle(channel * f64::from(dram.channels)),
            gpu_issue: on_gpu * issue,
            gpu_lines: on_gpu * lines,
            stack_issue: on_stacks * issue,
            stack_lines: on_stacks * lines,
        })
    }

    /// Core cycles that a program needs at least, and what takes them, by what the baseline counted.
    pub(super) fn least(&self, baseline: &Point) -> (f64, &'static str) {
        let longest = |all: &[(f64, &'static str)]| {
            all.iter().copied().reduce(|a, b| if b.0 > a.0 { b } else { a }).unwrap_or((0.0, ""))
        };
        let (gpu, of_gpu) = longest(&[
            (baseline.tx / self.link, "links to stacks"),
            (baseline.rx / self.link, "links to the GPU"),
            (baseline.issues / self.gpu_issue, "issue"),
            (baseline.line_accesses / self.gpu_lines, "load/store units"),
        ]);
        let (stacks, of_stacks) = longest(&[
            (baseline.issues / self.stack_issue, "stacks' issue"),
            (baseline.line_accesses / self.stack_lines, "stacks' load/store units"),
        ]);
        let shared = if gpu + stacks > 0.0 { gpu * stacks / (gpu + stacks) } else { 0.0 };
        let vaults = baseline.vault_sectors * SECTOR_BYTES as f64 / self.vaults;
        // The side whose time the best share is nearer to is the one that more of it would help.
        let of_shared = if gpu < stacks { of_gpu } else { of_stacks };
        longest(&[(shared, of_shared), (vaults, "vaults")])
    }
}

/// Policies on the machine of Table 1, which the ceiling is above.
pub(super) const BELOW: [Scheme; 7] =
    [NOCTRL_BMAP, NOCTRL_TMAP, CTRL_BMAP, CTRL_TMAP, IDEAL, NOCTRL_ORACLE, CTRL_ORACLE];

/// The fastest of them.
fn fastest(t: &Timing) -> Option<f64> {
    BELOW.iter().filter_map(|&scheme| t.speed(scheme)).reduce(f64::max)
}

pub(super) fn figure(timings: &[Timing]) -> Figure {
    let note = "The ideal of the paper, the fastest of all policies, and what the bandwidths of links, vaults, issue slots and load/store \
                units would allow if any share of the program ran on stacks, by the counts of the baseline; and what the limit is.";
    let mut columns = speeds(&[IDEAL]);
    columns.push(Column::new("fastest", 3, fastest));
    columns.push(Column::new("ceiling", 3, |t: &Timing| t.ceiling));
    let mut figure = by_program(timings, ratios("ceiling", "Ideal and ceiling", note), &columns);
    figure.headings.push("limit".to_owned());
    for (k, row) in figure.rows.iter_mut().enumerate() {
        let limit = timings.get(k).and_then(|t| t.limit);
        row.push(limit.map_or(Cell::None, Cell::from));
    }
    figure
}

/// A program's ceiling, as a speed over the baseline, and its limit.
pub(super) fn ceiling(rates: &Rates, t: &Timing) -> Option<(f64, &'static str)> {
    let baseline = t.point(BASELINE)?;
    let (least, limit) = rates.least(&baseline);
    (least > 0.0).then(|| (baseline.cycles / least, limit))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Section 3 of the paper in numbers: 320 GB/s of links in each direction, 640 GB/s of vaults.
    #[test]
    fn a_stream_is_bound_by_the_vaults_at_twice_the_links() {
        let rates = Rates::of_table_1().expect("presets");
        assert!((rates.vaults / rates.link - 2.0).abs() < 1e-9, "{rates:?}");
        // Reads of 128 B each, the links to the GPU always busy.
        let lines = 1e6;
        let stream = Point {
            cycles: lines * 128.0 / rates.link,
            rx: lines * 128.0,
            tx: lines * 4.0,
            vault_sectors: lines * 4.0,
            line_accesses: lines,
            issues: 8.0 * lines,
            ..Point::default()
        };
        let (least, limit) = rates.least(&stream);
        assert_eq!((stream.cycles / least, limit), (2.0, "vaults"));
        // An access every four cycles: four SMs take one line in a cycle, 128 B beside the links' 229 B.
        let slow = Rates { stack_lines: rates.stack_lines / 4.0, ..rates };
        let (least, limit) = slow.least(&stream);
        assert_eq!(limit, "links to the GPU");
        assert!((stream.cycles / least - (1.0 + 128.0 / slow.link)).abs() < 1e-9);
    }
}
