//! SRRIP as a mechanism: `srrip`.

use crate::policy::Srrip;
use crate::settings::{SETTINGS, Settings};
use strata_core::settings::{Setting, Settings as Values};
use strata_mechanism::{Mechanism, MechanismError, NameTaken, Preparation, Prepared, Registry};
use strata_sim::MachineBuilder;

/// Registers what this crate has.
pub fn register(registry: &mut Registry) -> Result<(), NameTaken> {
    registry.register(Rrip)
}

const NAME: &str = "srrip";

struct Rrip;

impl Mechanism for Rrip {
    fn name(&self) -> &'static str {
        NAME
    }

    fn description(&self) -> &'static str {
        "SRRIP: lines leave a cache by predicted re-reference, so that a scan does not push out what is used often"
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
}

impl Prepared for Settings {
    fn install(&mut self, machine: &mut MachineBuilder) {
        let bits = self.bits;
        if self.level.has_l1() {
            machine.l1_replacement(NAME, move |_| Box::new(Srrip::new(bits)));
        }
        if self.level.has_l2() {
            machine.l2_replacement(NAME, move |_| Box::new(Srrip::new(bits)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use strata_sim::config::load;
    use strata_testkit::sim::Rig;
    use strata_testkit::{Instr, Script};

    /// Sectors that a program finds in an L2 of one set: two lines that it uses again and again while it scans others.
    fn hits(with: bool) -> u64 {
        let small = ["l2.slices=1", "dram.channels=1", "l2.sets=1", "l2.ways=4", "l2.eager_write_back=1"];
        let mut builder = MachineBuilder::new(load("titan-v", &small).expect("a preset").config);
        builder.check_data();
        if with {
            Settings { level: strata_mechanism::CacheLevel::L2, bits: 2 }.install(&mut builder);
        }
        let mut rig = Rig::new(builder.build().expect("a machine"));
        let line = |k: u64| Instr::load_past_l1(0x10_0000 + 128 * k);
        let mut warp = vec![line(0), line(1), line(0), line(1)];
        for scan in 0..8 {
            warp.extend((0..4).map(|k| line(10 + 4 * scan + k)));
            warp.extend([line(0), line(1)]);
        }
        rig.run(Script::new(&[warp])).expect("it runs, and data are right");
        rig.reading().l2().read_hits
    }

    #[test]
    fn what_is_used_again_outlives_a_scan() {
        let (lru, srrip) = (hits(false), hits(true));
        assert_eq!(lru, 2, "four lines of a scan push out everything");
        assert_eq!(srrip, 2 + 16, "both lines are there after each scan");
    }

    #[test]
    fn it_is_registered_with_its_settings() {
        let mut registry = Registry::default();
        register(&mut registry).expect("the only one");
        assert_eq!(registry.combination("srrip").expect("known").to_string(), "srrip");
    }
}
