//! Energy of a run: what was counted, times what each event costs.
//!
//! A pure function of counts, so that any part of a run (a launch, a copy) has its own energy, and those of the parts add
//! up to the whole. The constants stand in the configuration, with their sources.

use crate::config::EnergyConfig;
use crate::time::Picos;
use strata_core::Bytes;
use strata_core::stats::{Stats, Unit};

const JOULES_PER_PICOJOULE: f64 = 1e-12;
const JOULES_PER_FEMTOJOULE: f64 = 1e-15;

/// What costs energy.
#[derive(Clone, Copy, Default, PartialEq, Debug)]
pub struct Activity {
    /// Rows of DRAM opened.
    pub activates: u64,
    /// Bytes read from and written to DRAM.
    pub dram: Bytes,
    /// Bytes that links carried, headers included.
    pub link: Bytes,
    /// Bytes that links could have carried besides, in the same time.
    pub link_idle: Bytes,
    /// Sectors that L2's data arrays read or wrote.
    pub l2_sectors: u64,
    /// Femtojoules of what mechanisms have at the memory controllers.
    pub controller_fj: u64,
    /// Machine instructions that warps issued.
    pub warp_instructions: u64,
    /// SMs that are switched on.
    pub sms: u32,
    /// How long everything was switched on.
    pub time: Picos,
}

/// Joules, by part.
#[derive(Clone, Copy, Default, PartialEq, Debug)]
pub struct Energy {
    /// Opening rows of DRAM.
    pub dram_activate: f64,
    /// Column accesses of DRAM.
    pub dram_column: f64,
    /// The interface of DRAM.
    pub dram_io: f64,
    /// Links, busy and idle.
    pub links: f64,
    /// L2.
    pub l2: f64,
    /// Caches and units that mechanisms have at the memory controllers.
    pub controller: f64,
    /// Instructions.
    pub instructions: f64,
    /// SMs that are switched on.
    pub sm_leakage: f64,
    /// Everything else that is switched on.
    pub other_leakage: f64,
}

impl Energy {
    /// The energy of an activity.
    pub fn of(activity: &Activity, config: &EnergyConfig) -> Self {
        let dram_bytes = activity.dram.0 as f64;
        let seconds = activity.time.0 as f64 * 1e-12;
        let link =
            bits(activity.link) * config.link_pj_per_bit + bits(activity.link_idle) * config.link_idle_pj_per_bit;
        Self {
            dram_activate: activity.activates as f64 * config.dram_activate_pj * JOULES_PER_PICOJOULE,
            dram_column: dram_bytes * config.dram_column_pj_per_byte * JOULES_PER_PICOJOULE,
            dram_io: bits(activity.dram) * config.dram_io_pj_per_bit * JOULES_PER_PICOJOULE,
            links: link * JOULES_PER_PICOJOULE,
            l2: activity.l2_sectors as f64 * config.l2_access_pj * JOULES_PER_PICOJOULE,
            controller: activity.controller_fj as f64 * JOULES_PER_FEMTOJOULE,
            instructions: activity.warp_instructions as f64 * config.instruction_pj * JOULES_PER_PICOJOULE,
            sm_leakage: f64::from(activity.sms) * config.sm_leakage_w * seconds,
            other_leakage: config.other_leakage_w * seconds,
        }
    }

    /// Everything together.
    pub fn total(&self) -> f64 {
        self.parts().iter().map(|(_, joules, _)| joules).sum()
    }

    /// Name, joules and meaning of each part.
    fn parts(&self) -> [(&'static str, f64, &'static str); 9] {
        [
            ("dram_activate", self.dram_activate, "opening rows of DRAM"),
            ("dram_column", self.dram_column, "column accesses of DRAM"),
            ("dram_io", self.dram_io, "the interface of DRAM"),
            ("links", self.links, "links, busy and idle, copies between host and device included"),
            ("l2", self.l2, "sectors that L2 read and wrote: asked for, stored, filled, written back"),
            ("controller", self.controller, "caches and units of mechanisms at the memory controllers"),
            ("instructions", self.instructions, "machine instructions that warps issued"),
            ("sm_leakage", self.sm_leakage, "SMs switched on, during launches"),
            ("other_leakage", self.other_leakage, "everything else switched on, during launches"),
        ]
    }

    /// Adds the parts and their sum to a tree, below `prefix`.
    pub fn export(&self, prefix: &str, stats: &mut Stats) {
        for (name, joules, what) in self.parts() {
            stats.amount(format!("{prefix}.energy.{name}"), joules, Unit::Joules, what);
        }
        stats.amount(format!("{prefix}.energy.total"), self.total(), Unit::Joules, "all parts together");
    }
}

fn bits(bytes: Bytes) -> f64 {
    bytes.0 as f64 * 8.0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All constants different and round, so that the sums can be done by hand.
    const CONFIG: EnergyConfig = EnergyConfig {
        dram_activate_pj: 1000.0,
        dram_column_pj_per_byte: 12.0,
        dram_io_pj_per_bit: 5.0,
        link_pj_per_bit: 10.0,
        link_idle_pj_per_bit: 1.0,
        l2_access_pj: 200.0,
        instruction_pj: 500.0,
        sm_leakage_w: 0.5,
        other_leakage_w: 20.0,
    };

    #[track_caller]
    fn check(activity: &Activity, expected: &Energy, total: f64) {
        let energy = Energy::of(activity, &CONFIG);
        for (got, wanted) in energy.parts().iter().zip(expected.parts()) {
            assert!((got.1 - wanted.1).abs() < 1e-18, "{}: {} for {}", got.0, got.1, wanted.1);
        }
        assert!((energy.total() - total).abs() < 1e-15, "{}", energy.total());
    }

    #[test]
    fn each_part_is_its_count_times_its_constant() {
        let activity = Activity {
            activates: 3,
            dram: Bytes(64),
            link: Bytes(100),
            link_idle: Bytes(50),
            l2_sectors: 7,
            controller_fj: 5_000,
            warp_instructions: 11,
            sms: 4,
            time: Picos(1_000_000),
        };
        let expected = Energy {
            dram_activate: 3_000e-12,
            dram_column: 768e-12,
            dram_io: 2_560e-12,
            links: (8_000.0 + 400.0) * 1e-12,
            l2: 1_400e-12,
            controller: 5e-12,
            instructions: 5_500e-12,
            // 4 x 0.5 W and 20 W, each for a microsecond.
            sm_leakage: 2e-6,
            other_leakage: 20e-6,
        };
        check(&activity, &expected, 22_021_633e-12);
        check(&Activity::default(), &Energy::default(), 0.0);
    }

    #[test]
    fn parts_and_total_stand_in_the_tree_and_add_up_over_launches() {
        let energy = Energy::of(&Activity { activates: 2, l2_sectors: 5, ..Activity::default() }, &CONFIG);
        let mut stats = Stats::default();
        energy.export("gpu", &mut stats);
        energy.export("gpu", &mut stats);
        let joules = |part: &str| stats.number(&format!("gpu.energy.{part}")).expect("a part");
        assert!((joules("dram_activate") - 4e-9).abs() < 1e-18);
        assert!((joules("l2") - 2e-9).abs() < 1e-18);
        assert!((joules("total") - 6e-9).abs() < 1e-18);
        assert_eq!(stats.get("gpu.energy.total").map(|s| s.unit), Some(Unit::Joules));
    }
}
