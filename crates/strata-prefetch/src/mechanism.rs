//! The stride prefetcher as a mechanism: `stride`.

use crate::settings::{SETTINGS, Settings};
use crate::stride::Stride;
use strata_core::settings::{Setting, Settings as Values};
use strata_mechanism::{Mechanism, MechanismError, NameTaken, Preparation, Prepared, Registry};
use strata_sim::MachineBuilder;

/// Registers what this crate has.
pub fn register(registry: &mut Registry) -> Result<(), NameTaken> {
    registry.register(StridePrefetching)
}

const NAME: &str = "stride";

struct StridePrefetching;

impl Mechanism for StridePrefetching {
    fn name(&self) -> &'static str {
        NAME
    }

    fn description(&self) -> &'static str {
        "stride prefetching: lines that follow the strides of instructions are fetched into L1 or L2 before they are asked for"
    }

    fn settings(&self) -> &'static [Setting] {
        SETTINGS
    }

    /// Addresses are all it looks at.
    fn looks_at_data(&self) -> bool {
        false
    }

    fn prepare(&self, values: &Values, _: &mut dyn Preparation) -> Result<Box<dyn Prepared>, MechanismError> {
        Ok(Box::new(Settings::of(values)))
    }

    fn shows(&self, path: &str, value: f64) -> bool {
        value != 0.0 && (path.starts_with("l1.prefetch.") || path.starts_with("l2.prefetch."))
    }
}

impl Prepared for Settings {
    fn install(&mut self, machine: &mut MachineBuilder) {
        let settings = *self;
        if self.level.has_l1() {
            machine.l1_prefetcher(NAME, move |_| Box::new(Stride::new(&settings)));
        }
        if self.level.has_l2() {
            machine.l2_prefetcher(NAME, move |_| Box::new(Stride::new(&settings)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use strata_sim::config::load;
    use strata_sim::stats::Reading;
    use strata_testkit::sim::Rig;
    use strata_testkit::{Instr, Script};

    const LINES: u64 = 64;

    fn rig(settings: Option<Settings>) -> Rig {
        let one = ["l2.slices=1", "dram.channels=1"];
        let mut builder = MachineBuilder::new(load("titan-v", &one).expect("a preset").config);
        builder.check_data();
        if let Some(mut settings) = settings {
            settings.install(&mut builder);
        }
        Rig::new(builder.build().expect("a machine"))
    }

    fn count(reading: &Reading, name: &str) -> u64 {
        reading.caches.iter().find(|c| c.name == name).map_or(0, |c| c.value)
    }

    #[test]
    fn a_stream_finds_its_lines_in_l2() {
        let streamed = |settings| {
            let mut rig = rig(settings);
            // A kernel of one instruction for each line: the same program counter all the time.
            for k in 0..LINES {
                rig.run(Script::new(&[[Instr::load_past_l1(0x10_0000 + 128 * k)]])).expect("it runs, data being right");
            }
            rig.reading()
        };
        let at_l2 = Settings { level: strata_mechanism::CacheLevel::L2, ..Settings::default() };
        let (plain, with) = (streamed(None), streamed(Some(at_l2)));
        assert!(count(&with, "l2.prefetch.useful") >= LINES - 4, "{:?}", with.caches);
        let missed = |reading: &Reading| reading.l2().reads - reading.l2().read_hits;
        assert_eq!(missed(&plain), LINES, "{:?}", plain.l2());
        assert!(missed(&with) <= 4, "{:?}", with.l2());
    }

    #[test]
    fn a_stream_of_warps_finds_its_lines_in_l1() {
        let streamed = |settings| {
            let mut rig = rig(settings);
            // Warps of one instruction, each a line further on.
            rig.run(Script::new(&[[Instr::load_line(0x10_0000)]]).warps(32, 128)).expect("it runs, data being right");
            rig.reading()
        };
        let by_instruction = Settings { per_warp: false, degree: 4, ..Settings::default() };
        let (plain, with) = (streamed(None), streamed(Some(by_instruction)));
        assert!(count(&with, "l1.prefetch.useful") >= 16, "{:?}", with.caches);
        assert_eq!(plain.machine.l1_misses, 32);
        assert!(with.machine.l1_misses <= 16, "{}", with.machine.l1_misses);
    }

    #[test]
    fn it_is_registered_with_its_settings() {
        let mut registry = Registry::default();
        register(&mut registry).expect("the only one");
        assert!(register(&mut registry).is_err(), "twice");
        assert_eq!(registry.combination("stride").expect("known").to_string(), "stride");
    }
}
