//! Figure 14: unified memory that is oversubscribed, on the machine that the paper measured, and Buddy Compression beside it.
//!
//! The paper ran `SpecACCEL` on a V100 behind three channels of `NVLink` 2. Here the rules are those of NVIDIA's open driver, with
//! access counters, which it has on where the host's page tables are shared, as on that Power9.

use super::figures::Subject;
use super::suite::{Inputs, Program};
use super::timing::Scheme;
use crate::mechanisms::combination;
use crate::report::{Cell, Chart, Figure, Kind, Series};
use crate::reproduce::runs::Runs;
use strata_run::{LabError, RunRequest, Step, parallel};

/// The card of the figure.
const GPU: &str = "v100";
/// The programs of the figure (section IV-C), and the two that it leaves out because nothing happens to them.
const SHOWN: [&str; 6] = ["palm", "ep", "sp", "ilbdc", "cg", "bt"];

/// Where managed memory is.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Managed {
    /// On a device that has room for all of it.
    Fits,
    /// On a device that it is larger than, by this factor.
    Over(f64),
    /// At the host for good: the figure's dotted lines.
    Pinned,
}

impl Managed {
    fn name(self) -> String {
        match self {
            Self::Fits => "unified memory that fits".into(),
            Self::Over(factor) => format!("{:.0} % over", 100.0 * (factor - 1.0)),
            Self::Pinned => "pinned at the host".into(),
        }
    }

    fn set(self) -> Vec<String> {
        // 75 GB/s bring a line of 128 B in 1.7 ns: 2.6 cycles of a V100's cores.
        let mut set: Vec<String> =
            ["uvm.model=driver", "uvm.pcie=75", "uvm.zero_copy_cycles=3"].map(str::to_owned).into();
        match self {
            Self::Fits => set.push("uvm.access_counters=on".into()),
            Self::Over(factor) => {
                set.extend(["uvm.access_counters=on".to_owned(), format!("uvm.oversubscription={factor}")]);
            }
            Self::Pinned => set.push("uvm.placement=zero-copy".into()),
        }
        set
    }
}

/// A program's times, in core cycles with what the host waits for; `None` where it failed.
pub(super) struct Unified {
    program: Program,
    times: Vec<(Managed, Option<f64>)>,
}

impl Unified {
    fn slowdown(&self, managed: Managed) -> Option<f64> {
        let time = |wanted| self.times.iter().find(|(m, _)| *m == wanted)?.1;
        Some(time(managed)? / time(Managed::Fits)?)
    }

    /// The worst of all factors.
    fn worst(&self) -> Option<f64> {
        let over = self.times.iter().filter(|(m, _)| matches!(m, Managed::Over(_)));
        over.filter_map(|(m, _)| self.slowdown(*m)).reduce(f64::max)
    }
}

fn over(inputs: &Inputs<'_>) -> &'static [f64] {
    if inputs.whole { &[1.1, 1.25, 1.5, 2.0] } else { &[1.5] }
}

/// Times the programs.
pub(super) fn study(
    inputs: Inputs<'_>,
    runs: &Runs,
    begins: &mut (dyn FnMut(Step<'_>) + Send),
) -> Result<Vec<Unified>, LabError> {
    let shown = SHOWN.iter().filter_map(|name| inputs.programs.iter().find(|p| p.name == *name));
    let programs: Vec<Program> = shown.copied().collect();
    let machines: Vec<Managed> =
        [Managed::Fits, Managed::Pinned].into_iter().chain(over(&inputs).iter().copied().map(Managed::Over)).collect();
    let jobs: Vec<(Program, Managed)> =
        programs.iter().flat_map(|program| machines.iter().map(|managed| (*program, *managed))).collect();
    let name = |(program, managed): &(Program, Managed)| format!("{} on v100, {}", program.name, managed.name());
    let work = |&(program, managed): &(Program, Managed)| time(program, managed, inputs, runs);
    let times = parallel::map(&jobs, parallel::threads(), name, begins, work);
    let mut times = times.into_iter();
    programs
        .into_iter()
        .map(|program| {
            let own = machines.iter().map(|managed| Ok((*managed, times.next().transpose()?.flatten())));
            Ok(Unified { program, times: own.collect::<Result<_, LabError>>()? })
        })
        .collect()
}

fn time(program: Program, managed: Managed, inputs: Inputs<'_>, runs: &Runs) -> Result<Option<f64>, LabError> {
    let result = runs.measure(RunRequest {
        size: Some(inputs.timed(program).to_owned()),
        seed: Some(inputs.seed),
        gpu: Some(GPU.to_owned()),
        with: combination("uvm")?,
        set: managed.set(),
        ..RunRequest::new(program.what())
    })?;
    let right = result.error().is_none() && result.passed();
    Ok(right.then(|| result.total("cycles") + result.total("copy_cycles")))
}

/// The worst slow-down of any program.
pub(super) fn worst(all: &[Unified]) -> Option<f64> {
    all.iter().filter_map(Unified::worst).reduce(f64::max)
}

/// The figure.
pub(super) fn figure(all: &[Unified], subjects: &[Subject<'_>], inputs: &Inputs<'_>) -> Figure {
    let machines: Vec<Managed> = over(inputs).iter().copied().map(Managed::Over).chain([Managed::Pinned]).collect();
    let mut headings = vec!["program".to_owned()];
    headings.extend(machines.iter().map(|managed| managed.name()));
    headings.extend(["buddy, 50 GB/s", "its capacity"].map(str::to_owned));
    let beside = |program: Program| {
        let subject = subjects.iter().find(|s| s.memory.program == program);
        let time = subject.and_then(|s| s.timing.time_ratio(Scheme::Buddy(50)));
        (time, subject.map(|s| s.memory.designs[2].1.ratio()))
    };
    let row = |unified: &Unified| {
        let (time, capacity) = beside(unified.program);
        let mut row = vec![Cell::from(unified.program.name)];
        row.extend(machines.iter().map(|managed| Cell::number(unified.slowdown(*managed), 2)));
        row.extend([Cell::number(time, 2), Cell::number(capacity, 2)]);
        row
    };
    let series = machines.iter().map(|managed| Series {
        name: managed.name(),
        values: all.iter().map(|unified| unified.slowdown(*managed)).collect(),
    });
    let buddy =
        Series { name: "buddy, 50 GB/s".into(), values: all.iter().map(|unified| beside(unified.program).0).collect() };
    Figure {
        id: "figure-14".into(),
        title: "Unified memory that is oversubscribed, and Buddy Compression".into(),
        note: "Time over that of unified memory that fits, copies and first migrations included, on the preset v100: the driver's rules \
               with access counters, a link of 75 GB/s each way, pages pinned at the host beside. The paper shows four of these \
               programs and says of cg and bt that nothing happens to them; its programs run for minutes, so that the first \
               migration counts for nothing there. Buddy Compression is Figure 12's, over its own plain machine."
            .into(),
        headings,
        rows: all.iter().map(row).collect(),
        chart: Some(Chart {
            kind: Kind::Bars,
            axis: "time over unified memory that fits".into(),
            categories: all.iter().map(|unified| unified.program.name.to_owned()).collect(),
            series: series.chain([buddy]).collect(),
            baseline: Some(1.0),
        }),
        pictures: Vec::new(),
    }
}
