//! Every program on every machine, and what is kept of each run.

use super::suite::{Cut, Program, Scheme};
use crate::mechanisms::combination;
use crate::reproduce::runs::{Measured, Runs};
use serde_json::Value;
use strata_run::LabError;
use strata_run::Step;
use strata_run::parallel;
use strata_run::{RunRequest, What};

/// The machine of the paper's Table 9, as UVMSmart configures it.
pub(super) const GPU: &str = "gtx1080ti";

/// Counts until a moment of a run.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Moment {
    pub(super) instructions: f64,
    pub(super) cycle: f64,
    pub(super) faults: f64,
    pub(super) migrated: f64,
    hits: f64,
    misses: f64,
    /// Put into the queue to the device: a run that is cut has some on their way.
    prefetches: f64,
    prefetched_used: f64,
    pub(super) used: f64,
    used_foreseen: f64,
    used_by_prefetch: f64,
    pub(super) bytes_in: f64,
}

impl Moment {
    pub(super) fn hit_rate(&self) -> f64 {
        share(self.hits, self.hits + self.misses)
    }

    pub(super) fn accuracy(&self) -> f64 {
        share(self.prefetched_used, self.prefetches)
    }

    pub(super) fn coverage(&self) -> f64 {
        share(self.used_foreseen, self.used)
    }

    pub(super) fn coverage_strict(&self) -> f64 {
        share(self.used_by_prefetch, self.used)
    }

    pub(super) fn ipc(&self) -> f64 {
        share(self.instructions, self.cycle)
    }

    pub(super) fn unity(&self) -> f64 {
        strata_uvm::stats::unity(self.accuracy(), self.coverage(), self.hit_rate())
    }
}

fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

/// What became of predictions.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Predictions {
    pub(super) made: f64,
    pub(super) of_nothing: f64,
    pub(super) elsewhere: f64,
    pub(super) here: f64,
    pub(super) late: f64,
    pub(super) queued: f64,
    pub(super) rode: f64,
    pub(super) used: f64,
}

impl Predictions {
    /// Of all pages that were named.
    pub(super) fn share(&self, part: f64) -> f64 {
        share(part, self.elsewhere + self.here + self.late + self.queued)
    }

    /// Of those that were put into the queue.
    pub(super) fn of_queued(&self, part: f64) -> f64 {
        share(part, self.queued)
    }
}

/// What is kept of a run.
#[derive(Clone, Debug, Default)]
pub(super) struct Point {
    /// From each launch to its end, and what the host waited for.
    pub(super) cycles: f64,
    pub(super) copy_cycles: f64,
    pub(super) instructions: f64,
    /// The counts in the course of the run, those at its end last.
    pub(super) course: Vec<Moment>,
    pub(super) thrashed: f64,
    pub(super) predictions: Predictions,
    pub(super) in_busy: f64,
    /// GB/s to the device by bins of core cycles.
    pub(super) bin: f64,
    pub(super) gb_per_second: Vec<f64>,
    pub(super) passed: bool,
}

impl Point {
    /// At the end.
    pub(super) fn whole(&self) -> Moment {
        self.course.last().copied().unwrap_or_default()
    }

    /// GB/s to the device from a core cycle to another, the mean of the bins that these touch.
    pub(super) fn speed(&self, from: f64, to: f64) -> f64 {
        let count = self.gb_per_second.len();
        let first = ((from / self.bin) as usize).min(count);
        let last = ((to / self.bin).ceil() as usize).clamp(first, count);
        share(self.gb_per_second[first..last].iter().sum(), (last - first) as f64)
    }

    /// The last moment of a share of all instructions.
    pub(super) fn after(&self, share: f64) -> Moment {
        let limit = share * self.instructions;
        let upto = self.course.partition_point(|moment| moment.instructions <= limit);
        self.course.get(upto.saturating_sub(1)).copied().unwrap_or_default()
    }

    /// Where a program was cut, as a share of its instructions.
    pub(super) fn cut(&self, cut: Cut) -> f64 {
        match cut {
            Cut::Whole => 1.0,
            Cut::Share(share) => share,
            Cut::Instructions(count) => share(count, self.instructions).min(1.0),
        }
    }

    fn of(result: &Measured, scheme: Scheme) -> Result<Self, LabError> {
        let seen = if scheme == Scheme::OnDevice { Value::Null } else { result.beside("uvm.json")? };
        let count = |name: &str| result.count(&format!("gpu.uvm.{name}"));
        let instructions = result.count("gpu.sm.thread_instructions");
        let end = Moment {
            instructions,
            cycle: result.total("cycles"),
            faults: count("far_faults"),
            migrated: count("migrated_pages"),
            hits: count("page_hits"),
            misses: count("page_misses"),
            prefetches: count("prefetches"),
            prefetched_used: count("prefetched_used"),
            used: count("used_pages"),
            used_foreseen: count("used_foreseen"),
            used_by_prefetch: count("used_by_prefetch"),
            bytes_in: count("pcie.in_bytes"),
        };
        let mut course = moments(&seen["course"]);
        course.push(end);
        Ok(Self {
            cycles: result.total("cycles"),
            copy_cycles: result.total("copy_cycles"),
            instructions,
            course,
            thrashed: count("thrashed_pages"),
            predictions: Predictions {
                made: count("predictions.made"),
                of_nothing: count("predictions.of_nothing"),
                elsewhere: count("predictions.elsewhere"),
                here: count("predictions.here"),
                late: count("predictions.late"),
                queued: count("predictions.queued"),
                rode: count("predictions.rode"),
                used: count("predictions.used"),
            },
            in_busy: count("pcie.in_busy"),
            bin: seen["pcie"]["cycles_per_bin"].as_f64().unwrap_or(0.0),
            gb_per_second: numbers(&seen["pcie"]["gb_per_second_in"]),
            passed: result.passed(),
        })
    }
}

fn numbers(values: &Value) -> Vec<f64> {
    values.as_array().map(|all| all.iter().filter_map(Value::as_f64).collect()).unwrap_or_default()
}

/// The course that a run saved: a list for each count.
fn moments(course: &Value) -> Vec<Moment> {
    let list = |name: &str| numbers(&course[name]);
    let (cycle, faults, migrated) = (list("cycle"), list("far_faults"), list("migrated_pages"));
    let (hits, misses) = (list("page_hits"), list("page_misses"));
    let (prefetches, prefetched_used) = (list("prefetches"), list("prefetched_used"));
    let (used, used_foreseen, used_by_prefetch) = (list("used_pages"), list("used_foreseen"), list("used_by_prefetch"));
    let bytes_in = list("bytes_in");
    let at = |list: &[f64], k: usize| list.get(k).copied().unwrap_or(0.0);
    let moment = |(k, instructions): (usize, f64)| Moment {
        instructions,
        cycle: at(&cycle, k),
        faults: at(&faults, k),
        migrated: at(&migrated, k),
        hits: at(&hits, k),
        misses: at(&misses, k),
        prefetches: at(&prefetches, k),
        prefetched_used: at(&prefetched_used, k),
        used: at(&used, k),
        used_foreseen: at(&used_foreseen, k),
        used_by_prefetch: at(&used_by_prefetch, k),
        bytes_in: at(&bytes_in, k),
    };
    list("instructions").into_iter().enumerate().map(moment).collect()
}

/// One program on all machines.
pub(super) struct Timing {
    pub(super) program: Program,
    /// Where it is cut, as a share of its instructions.
    pub(super) cut: f64,
    pub(super) points: Vec<(Scheme, Result<Point, String>)>,
}

impl Timing {
    /// A machine's run.
    pub(super) fn point(&self, scheme: Scheme) -> Option<&Point> {
        self.points.iter().find(|(s, _)| *s == scheme).and_then(|(_, point)| point.as_ref().ok())
    }

    /// A machine's run up to where the paper cut it.
    pub(super) fn at_cut(&self, scheme: Scheme) -> Option<Moment> {
        let point = self.point(scheme)?;
        Some(if self.cut < 1.0 { point.after(self.cut) } else { point.whole() })
    }
}

/// Runs programs at a size on machines.
pub(super) fn study(
    programs: &[Program],
    size: &str,
    schemes: impl Fn(&Program) -> Vec<Scheme>,
    runs: &Runs,
    begins: &mut (dyn FnMut(Step<'_>) + Send),
) -> Result<Vec<Timing>, LabError> {
    let jobs: Vec<(&Program, Scheme)> =
        programs.iter().flat_map(|program| schemes(program).into_iter().map(move |scheme| (program, scheme))).collect();
    let name = |(program, scheme): &(&Program, Scheme)| format!("{}, {}", program.name, scheme.name());
    let points = parallel::map(&jobs, parallel::threads(), name, begins, |(program, scheme)| {
        let result = runs.measure(RunRequest {
            size: Some(size.to_owned()),
            gpu: Some(GPU.to_owned()),
            with: combination(scheme.mechanism())?,
            set: scheme.set(),
            ..RunRequest::new(What::Workload(program.name.to_owned()))
        })?;
        Ok(match result.error() {
            Some(error) => Err(error.to_owned()),
            None => Ok(Point::of(&result, *scheme)?),
        })
    });
    let points: Vec<Result<Point, String>> = points.into_iter().collect::<Result<_, LabError>>()?;
    let timing = |program: &Program| {
        let own = jobs.iter().zip(&points).filter(|((of, _), _)| *of == program);
        let points = own.map(|((_, scheme), point)| (*scheme, point.clone())).collect();
        let mut timing = Timing { program: *program, cut: 1.0, points };
        let baseline = timing.point(Scheme::Baseline);
        timing.cut = baseline.map_or(1.0, |point| point.cut(program.cut));
        timing
    };
    Ok(programs.iter().map(timing).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_cut_where_the_paper_cut_it() {
        let moment =
            |instructions, used| Moment { instructions, prefetches: 100.0, prefetched_used: used, ..Moment::default() };
        let course = vec![moment(0.0, 0.0), moment(100.0, 40.0), moment(500.0, 80.0), moment(1000.0, 90.0)];
        let point = Point { instructions: 1000.0, course, ..Point::default() };
        assert_eq!(point.after(0.3).instructions, 100.0);
        assert_eq!(point.after(1.0).instructions, 1000.0);
        assert_eq!((point.cut(Cut::Whole), point.cut(Cut::Share(0.25))), (1.0, 0.25));
        assert_eq!((point.cut(Cut::Instructions(500.0)), point.cut(Cut::Instructions(5000.0))), (0.5, 1.0));
    }
}
