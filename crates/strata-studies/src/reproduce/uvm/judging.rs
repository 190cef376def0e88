//! The shipped predictor on programs that no predictor has seen: beside every simple rule, and beside one that knows what a run before
//! used, with the host's work free and charged, by the rules of the driver, with enough memory and with too little.
//!
//! All of them run without the baseline's artefact of warps that wait for the link, with demanded pages first. What is charged
//! is charged to all alike.

use super::ceiling::Link;
use super::figures::{frame, ratios};
use super::timing::GPU;
use crate::mechanisms::combination;
use crate::prefetch::judged;
use crate::report::Figure;
use crate::reproduce::by_program::{Column, by_program};
use crate::reproduce::runs::Runs;
use crate::reproduce::{Effort, Subject};
use strata_core::nearest::suggestion;
use strata_run::{LabError, RunRequest, Step, What, parallel};

/// What brings pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Rule {
    Tree,
    Driver,
    /// All of a 2 MB root on its first touch. It keeps what it used, so that it can be foretold.
    FirstTouch,
    /// The same, and what leaves is what is foreseen to be used last: the predictor's way of dropping without its predictions.
    Dropping,
    /// The same, and the root that lies as far on as the last one of the array did.
    Stride,
    /// UVMSmart's engine: eviction by the tree, and soft pinning of what is read at random.
    Adaptive,
    /// First touch, and what the shipped predictor foresees.
    Learned,
    /// The predictor's rules with a future that is known: what the run with first touch used, in its order.
    Recorded,
}

impl Rule {
    const ALL: [Self; 8] = [
        Self::Tree,
        Self::Driver,
        Self::FirstTouch,
        Self::Dropping,
        Self::Stride,
        Self::Adaptive,
        Self::Learned,
        Self::Recorded,
    ];
    /// Those that a predictor must beat.
    const SIMPLE: [Self; 3] = [Self::Tree, Self::Driver, Self::FirstTouch];

    const fn name(self) -> &'static str {
        match self {
            Self::Tree => "tree",
            Self::Driver => "driver's rule",
            Self::FirstTouch => "first touch",
            Self::Dropping => "first touch, foreseen",
            Self::Stride => "stride of roots",
            Self::Adaptive => "adaptive",
            Self::Learned => "learned",
            Self::Recorded => "recorded",
        }
    }

    /// Its settings; `uses` are those of first touch.
    fn set(self, uses: &str) -> Vec<String> {
        let set: &[&str] = match self {
            Self::Tree => &["uvm.prefetcher=tree"],
            Self::Driver => &["uvm.prefetcher=driver"],
            Self::FirstTouch => &["uvm.prefetcher=first-touch", "uvm.trace=uses"],
            Self::Dropping => &["uvm.prefetcher=first-touch", "uvm.eviction=foreseen"],
            Self::Stride => &["uvm.prefetcher=learned", "uvm.predictor=stride:root"],
            Self::Adaptive => &["uvm.prefetcher=tree", "uvm.adaptive=on"],
            Self::Learned => &["uvm.prefetcher=learned", "uvm.predictor=shipped"],
            Self::Recorded => &["uvm.prefetcher=learned", "uvm.prediction_top=64", "uvm.prediction_latency=0"],
        };
        let mut set: Vec<String> = set.iter().map(|&set| set.to_owned()).collect();
        if self == Self::Recorded {
            set.push(format!("uvm.predictor={uses}"));
        }
        set
    }
}

/// What the host's work costs, and whose rules hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Host {
    /// Nothing, as the paper ran it.
    Free,
    /// As measured on a GTX 1080 Ti, one request after the other.
    Charged,
    /// The same with the driver's batches and replays.
    Driver,
}

/// A machine: what the host costs, and managed memory in percent of device memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Setting {
    host: Host,
    percent: u32,
    id: &'static str,
    title: &'static str,
}

const fn setting(host: Host, percent: u32, id: &'static str, title: &'static str) -> Setting {
    Setting { host, percent, id, title }
}

/// In the order in which they are run; the last two are not those of a quick study.
const SETTINGS: [Setting; 6] = [
    setting(Host::Charged, 100, "judged-charged", "Programs never seen, the host's work charged"),
    setting(Host::Charged, 125, "judged-charged-125", "The same with memory for 80 %"),
    setting(Host::Free, 100, "judged-free", "Programs never seen, the host's work free"),
    setting(Host::Free, 125, "judged-free-125", "The same with memory for 80 %"),
    setting(Host::Driver, 100, "judged-driver", "Programs never seen, by the rules of the driver"),
    setting(Host::Driver, 125, "judged-driver-125", "The same with memory for 80 %"),
];

impl Setting {
    fn has(self, rule: Rule) -> bool {
        match rule {
            Rule::Dropping => self.percent > 100,
            Rule::Adaptive => self.percent > 100 && self.host != Host::Driver,
            _ => true,
        }
    }

    fn set(self) -> Vec<String> {
        let host: &[&str] = match self.host {
            Host::Free => &["uvm.fault_charge=beside"],
            Host::Charged => &["uvm.fault_charge=measured", "uvm.service=server", "uvm.zero_fill=on"],
            Host::Driver => &["uvm.model=driver", "uvm.service=server"],
        };
        let mut set: Vec<String> = host.iter().map(|&set| set.to_owned()).collect();
        set.extend(["uvm.reclaim=free", "uvm.priority=demand"].map(str::to_owned));
        if self.percent > 100 {
            set.push(format!("uvm.oversubscription={}", f64::from(self.percent) / 100.0));
        }
        set
    }
}

/// The papers' size where the unified-memory baseline has one; the others are of a like size so.
fn size(program: &str) -> &'static str {
    match program {
        "kmeans" => "small",
        "pagerank" => "paper",
        _ => "paper-uvm",
    }
}

/// What is kept of a run.
#[derive(Clone, Copy, Debug, Default)]
struct Run {
    /// Of launches, and what the host waited for.
    cycles: f64,
    /// Pages that it accessed and that came from the host, at least.
    needed: f64,
    faults: f64,
    predictions: f64,
    of_nothing: f64,
    /// Predicted pages that were asked for, and that were not worth what would have had to leave.
    asked: f64,
    left: f64,
}

/// One program on all machines.
pub(super) struct Program {
    name: &'static str,
    /// Core cycles of its launches with everything on the device.
    on_device: f64,
    runs: Vec<(Setting, Rule, Run)>,
}

impl Subject for Program {
    fn name(&self) -> &'static str {
        self.name
    }
}

impl Program {
    fn run(&self, setting: Setting, rule: Rule) -> Option<Run> {
        self.runs.iter().find(|(s, r, _)| (*s, *r) == (setting, rule)).map(|(.., run)| *run)
    }

    fn cycles(&self, setting: Setting, rule: Rule) -> Option<f64> {
        self.run(setting, rule).map(|run| run.cycles)
    }

    /// Core cycles of the best of the simple rules.
    fn best(&self, setting: Setting) -> Option<f64> {
        Rule::SIMPLE.into_iter().filter_map(|rule| self.cycles(setting, rule)).reduce(f64::min)
    }

    /// Core cycles that no prefetcher can do without: the kernels' own, or those in which PCI Express carries what they access,
    /// whichever are more. Pages that are filled with zeros need not come.
    fn least(&self, setting: Setting, link: Link) -> Option<f64> {
        let all = Rule::ALL.into_iter().filter_map(|rule| self.run(setting, rule));
        Some(self.on_device.max(link.cycles_of(all.map(|run| run.needed).reduce(f64::min)?)))
    }

    /// How much faster than the best of the simple rules anything could be, at most.
    fn most(&self, setting: Setting, link: Link) -> Option<f64> {
        Some(self.best(setting)? / self.least(setting, link)?)
    }

    /// How much faster than that a rule is.
    fn gain(&self, setting: Setting, rule: Rule) -> Option<f64> {
        Some(self.best(setting)? / self.cycles(setting, rule)?)
    }
}

/// Runs the programs, or some of them, one setting after the other: nothing is measured of the rest.
pub(super) fn study(
    effort: Effort,
    some: &[String],
    size_of: impl Fn(&str) -> &'static str + Sync,
    runs: &Runs,
    begins: &mut (dyn FnMut(Step<'_>) + Send),
) -> Result<Vec<Program>, LabError> {
    let settings = if effort == Effort::Quick { &SETTINGS[..4] } else { &SETTINGS[..] };
    if let Some(unknown) = some.iter().find(|name| judged().all(|program| program != name.as_str())) {
        let near = suggestion(unknown, judged());
        return Err(LabError::Request(format!("no predictor is judged on `{unknown}`; {near}")));
    }
    let programs: Vec<&'static str> =
        judged().filter(|&program| some.is_empty() || some.iter().any(|name| name == program)).collect();
    let of_all = |&setting: &Setting| programs.iter().map(move |&name| (name, setting));
    let jobs: Vec<(&'static str, Setting)> = settings.iter().flat_map(of_all).collect();
    let name = |(program, setting): &(&'static str, Setting)| format!("{program}, {}", setting.id);
    let gpu = |program: &str, with: &str, set| -> Result<RunRequest, LabError> {
        Ok(RunRequest {
            size: Some(size_of(program).to_owned()),
            gpu: Some(GPU.to_owned()),
            with: combination(with)?,
            set,
            ..RunRequest::new(What::Workload(program.to_owned()))
        })
    };
    let measured = parallel::map(&jobs, parallel::threads(), name, begins, |&(program, setting)| {
        let mut uses = String::new();
        let mut all = Vec::new();
        for rule in Rule::ALL.into_iter().filter(|&rule| setting.has(rule)) {
            let set = setting.set().into_iter().chain(rule.set(&uses)).collect();
            let result = runs.measure(gpu(program, "uvm", set)?)?;
            if let Some(wrong) = result.error().or_else(|| (!result.passed()).then_some("its result is wrong")) {
                return Err(LabError::Request(format!("{program}, {}, {}: {wrong}", setting.id, rule.name())));
            }
            if rule == Rule::FirstTouch {
                uses = result.directory().join("uses.parquet").display().to_string();
            }
            let run = Run {
                cycles: result.total("cycles") + result.total("copy_cycles"),
                needed: (result.count("gpu.uvm.used_pages") - result.count("gpu.uvm.zero_filled_pages")).max(0.0),
                faults: result.count("gpu.uvm.far_faults"),
                predictions: result.count("gpu.uvm.predictions.made"),
                of_nothing: result.count("gpu.uvm.predictions.of_nothing"),
                asked: result.count("gpu.uvm.predictions.queued"),
                left: result.count("gpu.uvm.predictions.left"),
            };
            all.push((setting, rule, run));
        }
        Ok(all)
    });
    let name = |program: &&'static str| format!("{program}, on the device");
    let on_device = parallel::map(&programs, parallel::threads(), name, begins, |&program| -> Result<f64, LabError> {
        Ok(runs.measure(gpu(program, "none", Vec::new())?)?.total("cycles"))
    });
    let mut all: Vec<Program> = judged().map(|name| Program { name, on_device: 0.0, runs: Vec::new() }).collect();
    for (name, on_device) in programs.iter().zip(on_device) {
        if let Some(program) = all.iter_mut().find(|program| program.name == *name) {
            program.on_device = on_device?;
        }
    }
    for ((name, _), runs) in jobs.iter().zip(measured) {
        let runs = runs?;
        if let Some(program) = all.iter_mut().find(|program| program.name == *name) {
            program.runs.extend(runs);
        }
    }
    Ok(all)
}

/// A figure for each machine that was run.
pub(super) fn figures(programs: &[Program]) -> Result<Vec<Figure>, LabError> {
    let ran = |setting: &Setting| programs.iter().any(|program| program.best(*setting).is_some());
    let link = Link::new()?;
    Ok(SETTINGS
        .into_iter()
        .filter(ran)
        .flat_map(|setting| [speeds(programs, setting, link), fallback(programs, setting)])
        .collect())
}

fn speeds(programs: &[Program], setting: Setting, link: Link) -> Figure {
    let note = "Whole runs with what the host waits for: the speed of each rule over that of the best of tree, driver's rule and 2 MB on \
                first touch, for each program the best of its own. `first touch, foreseen` drops what the predictor would drop, and \
                predicts nothing. `recorded` follows the predictor's rules and knows what the run with first touch used: the ceiling \
                that a model can reach. `most`: over that best, what no prefetcher can exceed, and mostly none can reach: the kernels' own \
                time with everything on the device, or that in which PCI Express carries the pages they access in transfers of 2 MB, \
                whichever is longer. `closed`: the share of the way from the best to `recorded` that the predictor goes, by \
                logarithms, and of that to `most`; nothing where that is no way.";
    let rules = Rule::ALL.into_iter().filter(|&rule| setting.has(rule));
    let mut columns: Vec<Column<'_, Program>> =
        rules.map(|rule| Column::new(rule.name(), 3, move |p: &Program| p.gain(setting, rule))).collect();
    columns.push(Column::new("most", 3, move |p: &Program| p.most(setting, link)));
    columns.push(Column::new("closed, of recorded", 3, move |p: &Program| {
        closed(p.gain(setting, Rule::Learned)?, p.gain(setting, Rule::Recorded)?)
    }));
    columns.push(Column::new("closed, of most", 3, move |p: &Program| {
        closed(p.gain(setting, Rule::Learned)?, p.most(setting, link)?)
    }));
    by_program(programs, ratios(setting.id, setting.title, note, "over the best simple rule"), &columns)
}

/// The share of the way to a gain that another goes, by logarithms.
fn closed(gain: f64, whole: f64) -> Option<f64> {
    (whole > 1.001).then(|| gain.ln() / whole.ln())
}

fn fallback(programs: &[Program], setting: Setting) -> Figure {
    let note = "Far faults with first touch and with the predictor; what the predictor was asked, and the share of these in which it \
                named nothing: first touch alone. Of the pages that it named and that were not here, the share that was left at the \
                host, because what would have had to leave for it is foreseen to be used sooner.";
    let of = move |p: &Program, part: fn(&Run) -> f64, whole: fn(&Run) -> f64| {
        let run = p.run(setting, Rule::Learned)?;
        (whole(&run) > 0.0).then(|| part(&run) / whole(&run))
    };
    let columns: [Column<'_, Program>; 5] = [
        Column::new("faults: first touch", 0, move |p: &Program| Some(p.run(setting, Rule::FirstTouch)?.faults)),
        Column::new("learned", 0, move |p: &Program| Some(p.run(setting, Rule::Learned)?.faults)),
        Column::new("predictions", 0, move |p: &Program| Some(p.run(setting, Rule::Learned)?.predictions)),
        Column::new("fell back", 3, move |p: &Program| of(p, |run| run.of_nothing, |run| run.predictions)),
        Column::new("left", 3, move |p: &Program| of(p, |run| run.left, |run| run.left + run.asked)),
    ];
    let mut figure =
        by_program(programs, frame(setting.id, "What it was asked, and did not answer", note, ""), &columns);
    figure.id = format!("{}-asked", setting.id);
    figure.chart = None;
    figure
}

/// The sizes that are studied.
pub(super) const SIZES: fn(&str) -> &'static str = size;

#[cfg(test)]
mod tests {
    use super::*;
    use strata_core::settings::Settings;

    #[test]
    fn every_machine_has_settings_that_go_together() {
        for setting in SETTINGS {
            for rule in Rule::ALL.into_iter().filter(|&rule| setting.has(rule)) {
                let set: Vec<String> = setting.set().into_iter().chain(rule.set("uses.parquet")).collect();
                let set: Vec<&str> = set.iter().map(String::as_str).collect();
                let settings = Settings::read("uvm", strata_uvm::SETTINGS, &set).expect("known settings");
                strata_uvm::Config::new(&settings).unwrap_or_else(|e| panic!("{set:?}: {e:?}"));
            }
        }
    }

    #[test]
    fn the_best_is_each_programs_own() {
        let run = |cycles| Run { cycles, ..Run::default() };
        let s = SETTINGS[0];
        let runs = vec![
            (s, Rule::Tree, run(300.0)),
            (s, Rule::Driver, run(400.0)),
            (s, Rule::FirstTouch, run(200.0)),
            (s, Rule::Learned, run(160.0)),
        ];
        let program = Program { name: "ra", on_device: 100.0, runs };
        assert_eq!((program.best(s), program.gain(s, Rule::Learned)), (Some(200.0), Some(1.25)));
        assert_eq!(program.gain(s, Rule::Recorded), None);
        let link = Link::new().expect("the machine of the study");
        let launch = link.cycles_of(0.0);
        assert_eq!(program.least(s, link), Some(launch.max(100.0)), "nothing has to come");
        let kernels = Program { on_device: 2.0 * launch, ..program };
        assert_eq!(kernels.most(s, link), Some(100.0 / launch), "its kernels take longer than the link");
    }
}
