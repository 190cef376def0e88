//! The paper's numbers beside ours.

use super::figures::PRESSING;
use super::suite::{
    BASELINE, CROSS, CTRL_BMAP, CTRL_ORACLE, CTRL_TMAP, IDEAL, INCOHERENT, INTERNAL_1X, NOCTRL_BMAP, NOCTRL_ORACLE,
    NOCTRL_TMAP, PROGRAMS, Scheme, WARPS_4X,
};
use super::timing::{Part, Point, Timing};
use crate::reproduce::by_program::ALL;
use crate::reproduce::{Measured, Paper, PaperNumbers, Row, Standing, mean};
use strata_tom::storage::Storage;

/// What no program decides.
const ANY: &str = "any";

/// Rows in the making.
struct Table<'a> {
    timings: &'a [Timing],
    paper: PaperNumbers,
    rows: Vec<Row>,
}

/// All rows; those of the sensitivity studies are made of `varied`, if there is anything.
pub(super) fn rows(timings: &[Timing], varied: &[Timing]) -> Vec<Row> {
    let mut table = Table { timings, paper: PaperNumbers::of(Paper::Tom), rows: Vec::new() };
    table.motivation();
    table.placement();
    table.speed();
    table.traffic();
    table.energy();
    table.hardware();
    table.pressing();
    if !varied.is_empty() {
        table.timings = varied;
        table.sensitivity();
    }
    table.rows
}

impl Table<'_> {
    fn add(&mut self, item: &'static str, workload: &str, metric: &str, path: &str, ours: impl Into<Measured>) {
        let (workload, metric, paper_value) = (workload.to_owned(), metric.to_owned(), self.paper.get(path));
        let (ours, standing) = (ours.into(), Standing::Judged);
        self.rows.push(Row { paper: Paper::Tom, item, workload, metric, paper_value, ours, standing });
    }

    /// A value of each program, their mean.
    fn all(&self, value: impl Fn(&Timing) -> Option<f64>) -> Measured {
        // The paper's is of all its programs, also where some were chosen here.
        let left_out = PROGRAMS.len().saturating_sub(self.timings.len());
        mean(self.timings.iter().map(value).chain(std::iter::repeat_n(None, left_out)))
    }

    /// The largest.
    fn most(&self, value: impl Fn(&Timing) -> Option<f64>) -> Option<f64> {
        self.timings.iter().filter_map(value).reduce(f64::max)
    }

    fn gain(&self, scheme: Scheme) -> Measured {
        self.all(|t| gain(t, scheme))
    }

    fn motivation(&mut self) {
        self.add("Figure 2", ALL, "ideal speed-up", "speedup.ideal", self.gain(IDEAL));
        self.add("Figure 2", ALL, "largest ideal speed-up", "speedup.ideal_max", self.most(|t| gain(t, IDEAL)));
        let oracle = self.all(|t| Some(t.relative(NOCTRL_BMAP, NOCTRL_ORACLE, |p| p.cycles)? - 1.0));
        self.add("Figure 3", ALL, "gain of the ideal mapping", "ideal_mapping_gain", oracle);
    }

    fn placement(&mut self) {
        let fixed: Vec<f64> = self.timings.iter().flat_map(|t| t.surveyed.fixed.iter().copied()).collect();
        let some = mean(fixed.iter().map(|&share| Some(f64::from(share > 0.0)))).value;
        self.add("Figure 5", ALL, "candidates with some fixed offsets", "fixed_offset_candidates", some);
        let always = |t: &&Timing| !t.surveyed.fixed.is_empty() && t.surveyed.fixed.iter().all(|&share| share >= 1.0);
        let always = Some(self.timings.iter().filter(always).count() as f64);
        self.add("Figure 5", ALL, "programs with fixed offsets only", "always_fixed_offset_workloads", always);
        let surveyed = |value: fn(&Timing) -> f64| self.all(|t| (t.surveyed.instances > 0).then(|| value(t)));
        let shares = [
            ("baseline map", "baseline", surveyed(|t| t.surveyed.baseline)),
            ("best bits", "best_bits", surveyed(|t| t.surveyed.best)),
            ("learned from 0.1 %", "learned_0_1_percent", surveyed(|t| t.surveyed.learned[0])),
        ];
        for (name, path, ours) in shares {
            let metric = format!("an instance accesses one stack: {name}");
            self.add("Figure 6", ALL, &metric, &format!("one_stack_probability.{path}"), ours);
        }
    }

    fn speed(&mut self) {
        for (scheme, path) in [(NOCTRL_BMAP, "noctrl_bmap"), (NOCTRL_TMAP, "noctrl_tmap"), (CTRL_TMAP, "ctrl_tmap")] {
            let metric = format!("speed-up, {}", scheme.name);
            self.add("Figure 8", ALL, &metric, &format!("speedup.{path}"), self.gain(scheme));
        }
        let largest = self.most(|t| gain(t, CTRL_TMAP));
        self.add("Figure 8", ALL, "largest speed-up, ctrl, tmap", "speedup.ctrl_tmap_max", largest);
        let smallest = self.most(|t| gain(t, CTRL_TMAP).map(|gain| -gain)).map(|loss| -loss);
        self.add("Figure 8", ALL, "smallest speed-up, ctrl, tmap", "slowest_ctrl_tmap_at_least", smallest);
        let over = self.all(|t| Some(t.speed(CTRL_TMAP)? - t.speed(CTRL_BMAP)?));
        self.add("Figure 8", ALL, "speed-up of tmap over bmap, ctrl", "tmap_over_bmap", over);
        for (name, path, scheme) in [
            ("KM", "km.bmap", CTRL_BMAP),
            ("KM", "km.tmap", CTRL_TMAP),
            ("RD", "rd.bmap", CTRL_BMAP),
            ("RD", "rd.tmap", CTRL_TMAP),
            ("BFS", "bfs.bmap", CTRL_BMAP),
            ("BFS", "bfs.tmap", CTRL_TMAP),
            ("BFS", "bfs.oracle_mapping", CTRL_ORACLE),
            ("LIB", "lib.ctrl", CTRL_TMAP),
            ("LIB", "lib.noctrl", NOCTRL_TMAP),
        ] {
            let ours = self.timings.iter().find(|t| t.program.name == name).and_then(|t| gain(t, scheme));
            self.add("Figure 8", name, &format!("speed-up, {}", scheme.name), path, ours);
        }
        for (scheme, path) in [(NOCTRL_TMAP, "noctrl"), (CTRL_TMAP, "ctrl")] {
            let ours = self.all(|t| t.point(scheme).map(|p| p.offloaded / p.instructions));
            let metric = format!("offloaded instructions, {}", scheme.name);
            self.add("Section 6.1", ALL, &metric, &format!("offloaded_instructions.{path}"), ours);
        }
    }

    fn traffic(&mut self) {
        for (scheme, path) in [(NOCTRL_TMAP, "noctrl_tmap"), (CTRL_TMAP, "ctrl_tmap")] {
            let metric = format!("traffic saved, {}", scheme.name);
            let mean = self.all(|t| saved(t, scheme, Point::traffic));
            self.add("Figure 9", ALL, &metric, &format!("traffic_reduction.{path}"), mean);
            let most = self.most(|t| saved(t, scheme, Point::traffic));
            self.add("Figure 9", ALL, &format!("most {metric}"), &format!("traffic_reduction.{path}_max"), most);
        }
        for (scheme, path) in [(NOCTRL_BMAP, "bmap"), (NOCTRL_TMAP, "tmap")] {
            let ours = self.all(|t| Some(t.point(scheme)?.cross / t.point(BASELINE)?.traffic()));
            let metric = format!("memory-to-memory traffic, {}", scheme.name);
            self.add("Figure 9", ALL, &metric, &format!("memory_to_memory_traffic.{path}"), ours);
        }
    }

    fn energy(&mut self) {
        for (scheme, path) in [(NOCTRL_BMAP, "noctrl_bmap"), (CTRL_TMAP, "ctrl_tmap")] {
            let metric = format!("energy saved, {}", scheme.name);
            let ours = self.all(|t| saved(t, scheme, |p| p.energy));
            self.add("Figure 10", ALL, &metric, &format!("energy_reduction.{path}"), ours);
        }
        let most = self.most(|t| saved(t, CTRL_TMAP, |p| p.energy));
        self.add("Figure 10", ALL, "most energy saved, ctrl, tmap", "energy_reduction.max", most);
        let parts: [(&str, &str, Part); 2] = [("SMs", "sm", |p| p.energy_sm), ("links", "links", |p| p.energy_links)];
        for (name, path, part) in parts {
            for (number, scheme) in [BASELINE, CTRL_TMAP].into_iter().enumerate() {
                let ours = self.all(|t| Some(part(&t.point(scheme)?) / t.point(BASELINE)?.energy));
                let metric = format!("energy of {name} over all of the baseline's, {}", scheme.name);
                self.add("Figure 10", ALL, &metric, &format!("energy_share.{path}.{number}"), ours);
            }
        }
    }

    fn hardware(&mut self) {
        let live = |value: fn(&Timing) -> u64| self.most(|t| Some(value(t) as f64));
        let (block, thread) = (live(|t| t.surveyed.live.block), live(|t| t.surveyed.live.thread));
        self.add("Section 6.4", ALL, "most live registers of a block", "max_live_registers.block", block);
        self.add("Section 6.4", ALL, "most live registers of a thread", "max_live_registers.thread", thread);
        let storage = Storage::PAPER;
        let bits = |n: u64| Some(n as f64);
        for (path, metric, ours) in [
            ("storage_bits.analyzer_per_sm", "bits of the memory map analyser of an SM", bits(storage.analyser_per_sm)),
            ("storage_bits.allocation_table", "bits of the memory allocation table", bits(storage.allocation_table)),
            (
                "storage_bits.metadata_table_per_sm",
                "bits of the offloading metadata table of an SM",
                bits(storage.metadata_table_per_sm),
            ),
            ("area_mm2", "area of the bit cells of 64 SMs, mm2", Some(storage.cells_mm2(64))),
        ] {
            self.add("Section 6.6", ANY, metric, path, ours);
        }
    }

    /// The means that the paper's are best compared with: of programs that press on the links as its own do.
    fn pressing(&mut self) {
        let pressing = |value: &dyn Fn(&Timing) -> Option<f64>| {
            mean(self.timings.iter().filter(|t| t.presses_on_links()).map(value))
        };
        let means = [
            ("Figure 2", "ideal speed-up", "speedup.ideal", pressing(&|t| gain(t, IDEAL))),
            ("Figure 8", "speed-up, no-ctrl, tmap", "speedup.noctrl_tmap", pressing(&|t| gain(t, NOCTRL_TMAP))),
            ("Figure 8", "speed-up, ctrl, tmap", "speedup.ctrl_tmap", pressing(&|t| gain(t, CTRL_TMAP))),
            (
                "Figure 9",
                "traffic saved, ctrl, tmap",
                "traffic_reduction.ctrl_tmap",
                pressing(&|t| saved(t, CTRL_TMAP, Point::traffic)),
            ),
            (
                "Figure 10",
                "energy saved, ctrl, tmap",
                "energy_reduction.ctrl_tmap",
                pressing(&|t| saved(t, CTRL_TMAP, |p| p.energy)),
            ),
        ];
        for (item, metric, path, ours) in means {
            self.add(item, PRESSING, metric, path, ours);
            if let Some(row) = self.rows.last_mut() {
                row.standing = Standing::Repeats("the mean of all");
            }
        }
    }

    fn sensitivity(&mut self) {
        let overhead = self.all(|t| Some(t.relative(CTRL_TMAP, INCOHERENT, |p| p.cycles)? - 1.0));
        self.add("Section 4.4.2", ALL, "cost of coherence", "coherence_overhead", overhead);
        self.add("Figure 11", ALL, "speed-up, 4x warps", "speedup_4x_warps", self.gain(WARPS_4X));
        let traffic = self.all(|t| saved(t, WARPS_4X, Point::traffic));
        self.add("Figure 12", ALL, "traffic saved, 4x warps", "traffic_reduction.ctrl_4x_warps", traffic);
        let more = self.all(|t| Some(saved(t, WARPS_4X, Point::traffic)? - saved(t, CTRL_TMAP, Point::traffic)?));
        self.add("Figure 12", ALL, "traffic saved beyond 1x warps", "extra_traffic_saved_4x_warps", more);
        let internal = self.gain(INTERNAL_1X);
        self.add("Figure 13", ALL, "speed-up, 1x internal", "speedup_1x_internal_bandwidth", internal);
        for (path, scheme) in CROSS.into_iter().chain([("0_5x", CTRL_TMAP)]) {
            let metric =
                if scheme == CTRL_TMAP { "speed-up, cross 0.5x" } else { &format!("speed-up, {}", scheme.name) };
            self.add("Section 6.5", ALL, metric, &format!("cross_stack_speedup.{path}"), self.gain(scheme));
        }
    }
}

/// How much faster than the baseline: 0 is as fast.
fn gain(t: &Timing, scheme: Scheme) -> Option<f64> {
    t.speed(scheme).map(|speed| speed - 1.0)
}

/// How much less of something than the baseline.
fn saved(t: &Timing, scheme: Scheme, part: Part) -> Option<f64> {
    Some(1.0 - t.relative(scheme, BASELINE, part)?)
}
