//! Every program on every machine.

use super::suite::{CMD, MODEL, Program, Scheme};
use crate::mechanisms::combination;
use crate::reproduce::runs::{Measured, Runs};
use strata_core::Bytes;
use strata_run::LabError;
use strata_run::Step;
use strata_run::parallel;
use strata_run::{RunRequest, What};

/// The machine of Table II.
pub(super) const GPU: &str = "cmd-gddr6";

/// Bytes of its L2: CMD, Table II.
const L2_BYTES: f64 = (4 << 20) as f64;

/// Depths of FIFOs whose hits are counted without having them: entries of an L2 slice.
pub(super) const REREAD_DEPTHS: [u64; 15] =
    [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 20];

/// Steps of Figure 11: blocks read at least so often.
pub(super) const READ_COUNTS: [u32; 6] = [1, 2, 3, 6, 11, 21];

/// Off-chip requests of a class, in the same run: what L2 and plain DRAM would have had, and what there was.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Class {
    pub(super) before: f64,
    pub(super) after: f64,
}

/// What is kept of a run.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Point {
    pub(super) cycles: f64,
    /// Sectors that SMs asked L2 for, or sent there.
    pub(super) l2_sectors: f64,
    pub(super) bus_use: f64,
    /// Sectors that DRAM moved.
    pub(super) dram_sectors: f64,
    /// Joules of accesses to L2, memory controllers and DRAM.
    pub(super) access_energy: f64,
    /// Joules of the same and of their being switched on: the paper multiplies power by time.
    pub(super) energy: f64,
    pub(super) write: Class,
    pub(super) data_read: Class,
    pub(super) read_only: Class,
    pub(super) metadata: f64,
    pub(super) dedup_read: f64,
    /// Writes that were removed because they are one word, or equal to another block.
    pub(super) intra: f64,
    pub(super) inter: f64,
    /// All writes, those of one word, those equal to any other living block, and those that are both.
    pub(super) study: [f64; 4],
    pub(super) fifo_read_only: f64,
    pub(super) read_counts: [f64; READ_COUNTS.len()],
    /// Of the address map, type flags and sector masks.
    pub(super) hit_rates: [Option<f64>; 3],
    /// Of the same, the share of look-ups that were merged with a fetch.
    pub(super) merge_rates: [Option<f64>; 3],
    /// Of the same, the hit rate if each sector of a request looked its entry up, as requests of 32 bytes do.
    pub(super) sector_rates: [Option<f64>; 3],
    /// Sectors asked for again before so many others had left their slice, by [`REREAD_DEPTHS`].
    pub(super) rereads: [f64; REREAD_DEPTHS.len()],
    pub(super) copied: f64,
    pub(super) probed: f64,
    pub(super) spilled: f64,
    pub(super) passed: bool,
}

impl Point {
    /// All off-chip requests, with and without the mechanism.
    pub(super) fn requests(&self) -> Class {
        let classes = [self.write, self.data_read, self.read_only];
        Class {
            before: classes.iter().map(|c| c.before).sum(),
            after: classes.iter().map(|c| c.after).sum::<f64>() + self.metadata + self.dedup_read,
        }
    }

    /// The program's own requests, without what deduplication adds.
    pub(super) fn asked(&self) -> Class {
        let all = self.requests();
        Class { after: all.after - self.metadata - self.dedup_read, ..all }
    }

    /// Of a run on a machine that is smaller by a factor: less of it is switched on.
    fn of(result: &Measured, scale: u32) -> Self {
        let class = |name: &str| Class {
            before: result.count(&format!("gpu.cmd.requests.{name}.before")),
            after: result.count(&format!("gpu.cmd.requests.{name}.after")),
        };
        let count = |name: &str| result.count(&format!("gpu.cmd.{name}"));
        let access_energy = result.sum(&[
            "gpu.energy.l2",
            "gpu.energy.controller",
            "gpu.energy.dram_activate",
            "gpu.energy.dram_column",
            "gpu.energy.dram_io",
        ]);
        Self {
            cycles: result.total("cycles"),
            l2_sectors: result.sum(&["gpu.l2.reads", "gpu.l2.writes"]),
            bus_use: result.count("gpu.dram.bus_use"),
            dram_sectors: result.sum(&["gpu.dram.asked_reads", "gpu.dram.asked_writes"]),
            access_energy,
            energy: access_energy + result.count("gpu.energy.other_leakage") / f64::from(scale),
            write: class("write"),
            data_read: class("data_read"),
            read_only: class("read_only"),
            metadata: class("metadata").after,
            dedup_read: class("dedup_read").after,
            intra: count("writes.intra"),
            inter: count("writes.inter"),
            study: ["writes", "intra", "inter", "both"].map(|name| count(&format!("study.{name}"))),
            fifo_read_only: count("fifo.read_only_hits"),
            read_counts: READ_COUNTS.map(|n| count(&format!("read_only_blocks.read_{n}_times"))),
            hit_rates: ["map", "type", "mask"].map(|table| result.number(&format!("gpu.cmd.{table}.hit_rate"))),
            merge_rates: ["map", "type", "mask"].map(|table| {
                let of = |what: &str| result.number(&format!("gpu.cmd.{table}.{what}"));
                Some(of("merges")? / of("accesses")?.max(1.0))
            }),
            sector_rates: ["map", "type", "mask"].map(|table| {
                let sectors = result.number(&format!("gpu.cmd.look_ups.{table}_sectors"))?;
                Some(1.0 - result.number(&format!("gpu.cmd.{table}.fetches"))? / sectors.max(1.0))
            }),
            rereads: REREAD_DEPTHS.map(|depth| count(&format!("rereads.within_{depth}"))),
            copied: count("reads.copied"),
            probed: count("reads.probed"),
            spilled: count("spill.lines"),
            passed: result.passed(),
        }
    }
}

/// One program on all machines.
#[derive(Clone)]
pub(super) struct Timing {
    pub(super) program: Program,
    pub(super) bytes: Bytes,
    /// The machine is smaller by this factor, because the program is.
    pub(super) scale: u32,
    pub(super) points: Vec<(Scheme, Result<Point, String>)>,
}

impl Timing {
    /// A machine's run.
    pub(super) fn point(&self, scheme: Scheme) -> Option<Point> {
        let scheme = scheme.same_as_design().unwrap_or(scheme);
        self.points.iter().find(|(s, _)| *s == scheme).and_then(|(_, point)| point.as_ref().ok().copied())
    }

    /// The design's run.
    pub(super) fn cmd(&self) -> Option<Point> {
        self.point(CMD)
    }

    /// How much faster than the baseline: 1 is as fast. The instructions are the same, so this is the ratio of IPCs.
    pub(super) fn speed(&self, scheme: Scheme) -> Option<f64> {
        Some(self.point(Scheme::Baseline)?.cycles / self.point(scheme)?.cycles)
    }

    /// Bytes that it allocates over those of its machine's L2.
    pub(super) fn over_l2(&self) -> f64 {
        self.bytes.0 as f64 * f64::from(self.scale) / L2_BYTES
    }

    /// Sectors that DRAM moves on the plain machine over those that SMs ask L2 for or send there.
    pub(super) fn off_chip_share(&self) -> Option<f64> {
        let plain = self.point(Scheme::Baseline)?;
        Some(plain.dram_sectors / plain.l2_sectors.max(1.0))
    }

    /// L2 holds what it works on, as the plain machine shows: next to nothing is asked of DRAM, or no more than once. It is in every
    /// mean of all; means beside those leave it out.
    pub(super) fn is_resident(&self) -> bool {
        self.over_l2() <= 1.0 || self.off_chip_share().is_some_and(|share| share < RESIDENT_SHARE)
    }
}

/// The most that a cache-resident program asks of DRAM. Choice: beside the paper's 51 % (Figure 2), nothing.
const RESIDENT_SHARE: f64 = 0.02;

/// On which machine a program runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Machine {
    /// That of Table II.
    Whole,
    /// A part of it that is as small as the input.
    ScaleModel,
}

impl Machine {
    fn scale(self, bytes: Bytes) -> u32 {
        match self {
            Self::Whole => 1,
            Self::ScaleModel => MODEL.scale(bytes),
        }
    }
}

/// An input of a program.
#[derive(Clone, Copy)]
struct Input {
    program: Program,
    size: &'static str,
    bytes: Bytes,
}

impl Input {
    /// Runs the program without time, to know its bytes.
    fn measure(program: Program, size: &'static str, runs: &Runs) -> Result<Self, LabError> {
        let unknown = Self { program, size, bytes: Bytes(0) };
        Ok(Self { bytes: Bytes(runs.measure(unknown.request())?.total("allocated_bytes") as u64), ..unknown })
    }

    fn request(&self) -> RunRequest {
        let what = What::Workload(self.program.name.to_owned());
        RunRequest { size: Some(self.size.to_owned()), ..RunRequest::new(what) }
    }
}

/// The size of a program's input.
pub(super) type SizeOf<'a> = &'a (dyn Fn(&str) -> &'static str + Sync);

/// Runs all programs on all machines. Machines come one after another: what is in every figure is
/// there first if the study is cut, and goes on.
pub(super) fn study(
    programs: &[Program],
    size_of: SizeOf<'_>,
    machine: Machine,
    schemes: &[Scheme],
    runs: &Runs,
    begins: &mut (dyn FnMut(Step<'_>) + Send),
) -> Result<Vec<Timing>, LabError> {
    let threads = parallel::threads();
    let name = |program: &Program| format!("{}, without time", program.name);
    let measure = |program: &Program| Input::measure(*program, size_of(program.name), runs);
    let inputs = parallel::map(programs, threads, name, begins, measure);
    let inputs: Vec<Input> = inputs.into_iter().collect::<Result<_, LabError>>()?;
    let jobs: Vec<(&Input, Scheme)> =
        schemes.iter().flat_map(|scheme| inputs.iter().map(|input| (input, *scheme))).collect();
    let name = |(input, scheme): &(&Input, Scheme)| format!("{} on {}", input.program.name, scheme.name());
    let points = parallel::map(&jobs, threads, name, begins, |(input, scheme)| {
        let scale = machine.scale(input.bytes);
        let part = if scale > 1 { MODEL.set(scale) } else { Vec::new() };
        let result = runs.measure(RunRequest {
            gpu: Some(GPU.to_owned()),
            with: combination(scheme.with())?,
            set: [part, scheme.set()].concat(),
            ..input.request()
        })?;
        Ok(match result.error() {
            Some(error) => Err(error.to_owned()),
            None => Ok(Point::of(&result, scale)),
        })
    });
    let points: Vec<Result<Point, String>> = points.into_iter().collect::<Result<_, LabError>>()?;
    let of = |program: Program| {
        let own = jobs.iter().zip(&points).filter(move |((input, _), _)| input.program == program);
        own.map(|((_, scheme), point)| (*scheme, point.clone())).collect()
    };
    Ok(inputs
        .iter()
        .map(|&Input { program, bytes, .. }| Timing {
            program,
            bytes,
            scale: machine.scale(bytes),
            points: of(program),
        })
        .collect())
}
