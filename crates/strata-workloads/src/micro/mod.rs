//! Microbenchmarks: kernels that measure one property of a machine each.
//!
//! Every kernel (`workloads/micro/micro.cu`) repeats its body a number of times. A measurement launches it on two fresh
//! devices, once with N and once with 2N repetitions, and looks at the difference of the two launches' cycles: what a
//! launch costs, what setting up costs and what the first touch of a cache costs stands in both and drops out. Nothing
//! reads a clock on the device.
//!
//! The table these are compared with was measured with Accel-Sim's microbenchmark suite. Shapes here follow its sources
//! where those are public; the flags and versions behind the published log are not, so each benchmark's `original` says
//! what is known and what is not.
//!
//! Invariant: a measurement is also a test. The chains must end at the right node and the sums must be right, on every
//! engine, timed or not.

mod arithmetic;
mod bandwidth;
mod latency;

use crate::gpu::Gpu;
use crate::module::module;
use crate::{Module, Outcome};
use strata_host::{Device, HostError};

/// What a benchmark must know of the machine to fill it, or not to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Facts {
    /// Multiprocessors.
    pub sms: u32,
    /// Threads that one multiprocessor holds.
    pub threads_per_sm: u32,
    /// Bytes of the whole L2 cache.
    pub l2_bytes: u64,
}

/// What a measurement counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// Core cycles, of one operation or of one launch.
    Cycles,
    /// Bytes per core cycle and multiprocessor.
    BytesPerCyclePerSm,
    /// Bytes per core cycle, the whole machine.
    BytesPerCycle,
    /// Operations of a lane per core cycle and multiprocessor.
    OperationsPerCyclePerSm,
    /// Floating-point operations per core cycle and multiprocessor; a multiply-add is two.
    FlopsPerCyclePerSm,
}

impl Unit {
    /// As it stands in tables.
    pub const fn symbol(self) -> &'static str {
        match self {
            Self::Cycles => "cycles",
            Self::BytesPerCyclePerSm => "B/clk/SM",
            Self::BytesPerCycle => "B/clk",
            Self::OperationsPerCyclePerSm => "op/clk/SM",
            Self::FlopsPerCyclePerSm => "flop/clk/SM",
        }
    }
}

/// How cycles become the quantity.
#[derive(Clone, Copy)]
enum Rule {
    /// Cycles of one of so many dependent steps per iteration.
    Latency(u32),
    /// So many units of work per iteration, for each cycle.
    Rate(fn(&Facts) -> f64),
    /// The cycles of the launch itself.
    Launch,
}

/// A microbenchmark.
pub struct Micro {
    /// Its name in tables and on the command line.
    pub name: &'static str,
    /// What it measures, for people.
    pub quantity: &'static str,
    /// What its value counts.
    pub unit: Unit,
    /// The launch and the body: threads, unrolling, stride, footprint, and how the value comes about.
    pub shape: &'static str,
    /// What the published measurement is known to have done, and what is not known of it.
    pub original: &'static str,
    rule: Rule,
    /// N.
    iterations: fn(&Facts) -> u32,
    /// Launches the kernel once with so many iterations and checks its result.
    run: fn(&Facts, u32, &mut Gpu<'_>) -> Result<Outcome, HostError>,
}

/// What came of a measurement.
#[derive(Clone, PartialEq, Debug)]
pub struct Measurement {
    /// The quantity in the benchmark's unit; `None` if the engine has no clock.
    pub value: Option<f64>,
    /// Iterations and cycles of each launch that was made.
    pub launches: Vec<(u32, Option<u64>)>,
    /// Whether the kernels did what they should.
    pub outcome: Outcome,
}

/// Every microbenchmark, in the order they are listed.
pub fn all() -> impl Iterator<Item = &'static Micro> {
    latency::ALL.iter().chain(arithmetic::ALL).chain(bandwidth::ALL)
}

/// The microbenchmark of this name.
pub fn find(name: &str) -> Option<&'static Micro> {
    all().find(|micro| micro.name.eq_ignore_ascii_case(name))
}

/// A CUDA program that measures all of them on a card and prints what `strata validate --silicon` reads.
pub fn cuda_program() -> String {
    const KERNELS: &str = include_str!("../../../../workloads/micro/micro.cu");
    const HOST: &str = include_str!("../../../../workloads/micro/host.cu");
    format!("{KERNELS}\n{HOST}")
}

/// The PTX of all of them.
pub const MODULE: Module = module!("micro");

/// Threads per block of everything that fills a multiprocessor.
const BLOCK: u32 = 1024;

impl Micro {
    /// Measures on machines like the one that `facts` describes; `device` makes a new one for every launch, so that no
    /// launch meets the caches that another left.
    pub fn measure(
        &self,
        facts: &Facts,
        device: &mut dyn FnMut() -> Result<Device, HostError>,
    ) -> Result<Measurement, HostError> {
        let once = (self.iterations)(facts);
        let counts: &[u32] = if matches!(self.rule, Rule::Launch) { &[once] } else { &[once, 2 * once] };
        let mut launches = Vec::new();
        let mut judged: Option<Outcome> = None;
        for &iterations in counts {
            let mut device = device()?;
            let mut gpu = Gpu::new(&mut device, &MODULE)?;
            let outcome = (self.run)(facts, iterations, &mut gpu)?;
            gpu.free_all()?;
            launches.push((iterations, device.launches().last().and_then(|(_, report)| report.cycles)));
            judged = Some(judged.map_or_else(|| outcome.clone(), |before| before.and(&outcome)));
        }
        let nothing = || Outcome { passed: false, checked: "nothing was launched".to_owned() };
        let value = self.value(facts, &launches);
        Ok(Measurement { value, launches, outcome: judged.unwrap_or_else(nothing) })
    }

    /// The quantity, if every launch was timed and more iterations took longer.
    fn value(&self, facts: &Facts, launches: &[(u32, Option<u64>)]) -> Option<f64> {
        let (first, last) = (launches.first()?, launches.last()?);
        if matches!(self.rule, Rule::Launch) {
            return last.1.map(|cycles| cycles as f64);
        }
        let cycles = last.1?.checked_sub(first.1?).filter(|more| *more > 0)? as f64;
        let iterations = f64::from(last.0 - first.0);
        Some(match self.rule {
            Rule::Latency(steps) => cycles / (iterations * f64::from(steps)),
            Rule::Rate(work) => iterations * work(facts) / cycles,
            Rule::Launch => cycles,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    const FACTS: Facts = Facts { sms: 80, threads_per_sm: 2048, l2_bytes: 6 << 20 };

    #[test]
    fn names_are_unique_and_kernels_have_their_resources() {
        let names: BTreeSet<_> = all().map(|micro| micro.name).collect();
        assert_eq!(names.len(), all().count());
        let entries = MODULE.ptx.lines().filter_map(|line| line.strip_prefix(".visible .entry "));
        let kernels: BTreeSet<_> = entries.map(|line| line.split('(').next().unwrap_or(line).to_owned()).collect();
        assert_eq!(kernels, MODULE.resources().keys().cloned().collect());
    }

    #[test]
    fn the_program_for_cards_has_every_one() {
        let program = cuda_program();
        let missing: Vec<_> =
            all().filter(|m| !program.contains(&format!("{{\"{}\"", m.name))).map(|m| m.name).collect();
        assert_eq!(missing, Vec::<&str>::new());
    }

    #[test]
    fn values_come_from_the_difference_of_two_launches() {
        let value = |name: &str, cycles: [u64; 2]| {
            let micro = find(name)?;
            let once = (micro.iterations)(&FACTS);
            micro.value(&FACTS, &[(once, Some(cycles[0])), (2 * once, Some(cycles[1]))])
        };
        let hops = |name: &str| find(name).map_or(0, |m| u64::from((m.iterations)(&FACTS)) * 16);
        // 5000 cycles of launch in both, 211 for every hop.
        let l2 = hops("l2-latency") * 211;
        assert_eq!(value("l2-latency", [5000 + l2, 5000 + 2 * l2]), Some(211.0));
        let bytes = find("l2-bandwidth").map_or(0, |m| u64::from((m.iterations)(&FACTS))) * 80 * 2048 * 16;
        assert_eq!(value("l2-bandwidth", [bytes / 1024, bytes / 512]), Some(1024.0));
        assert_eq!(value("l2-latency", [9, 9]), None);
    }
}
