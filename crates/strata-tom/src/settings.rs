//! The settings of TOM.

use crate::analyser::Rule;
use strata_core::Bytes;
use strata_core::settings::{Allowed, Setting, Settings as Values};
use strata_sim::seam::{Follows, NextBlock};

macro_rules! setting {
    ($key:literal, $default:literal, $allowed:expr, $meaning:literal, $source:literal) => {
        Setting { key: $key, default: $default, allowed: $allowed, meaning: $meaning, source: $source }
    };
}

/// All of them.
pub const SETTINGS: &[Setting] = &[
    setting!(
        "policy",
        "controlled",
        Allowed::Choice(&["none", "uncontrolled", "controlled", "alu-aware", "queue-aware", "ideal"]),
        "which candidates are offloaded: none, all, those that busy channels and full stacks allow, the same but for arithmetic on busy SMs, the same but also for what would wait long for issue slots, or all that stacks have room for, at no cost and with all data near",
        "TOM, section 3.3; alu-aware: what section 6.4 leaves to others; queue-aware: beyond the paper"
    ),
    setting!(
        "mapping",
        "learned",
        Allowed::Choice(&["baseline", "learned", "oracle"]),
        "where data of candidates live: as all data, by the address bits that the first instances suggest, or by those that suit all instances best",
        "TOM, section 3.2.3; oracle: section 6.1"
    ),
    setting!(
        "mapping_rule",
        "accesses",
        Allowed::Choice(&["accesses", "instances"]),
        "the best address bits: those with which most accesses go to the stack that their block runs on, or most instances touch one stack; if none are better than the baseline map, that stays",
        "TOM, section 4.3, step 4: the most accesses to the stack that the block would execute on; instances: the probability of section 3.2.1"
    ),
    setting!(
        "learning_share",
        "0.001",
        Allowed::Real(0.0, 1.0),
        "share of all instances of candidates that the mapping is learned from; they run out of the host's memory",
        "TOM, section 3.2.2: 0.1 %"
    ),
    setting!(
        "learning_least",
        "2048",
        Allowed::Whole(0, 1_000_000_000),
        "instances that are learned from if the share is fewer, but not more than 1 % of all",
        "choice: if each instance has a line of an array, all values of address bits 7 to 17 are seen; 1 %: the most that TOM, Figure 6 learns from"
    ),
    setting!(
        "learning_instances",
        "0",
        Allowed::Whole(0, 1_000_000_000),
        "instances that the mapping is learned from; 0: the share says how many, counted by executing the program once before",
        "choice"
    ),
    setting!(
        "learning_accesses",
        "0",
        Allowed::Whole(0, 1_000_000_000),
        "lines that an instance has accessed when it has been watched long enough; 0: it is watched to its end",
        "TOM, section 4.3, step 3: the stacks that each instance accesses, so all of it"
    ),
    setting!(
        "learning_most",
        "16384",
        Allowed::Whole(0, 1_000_000_000),
        "lines that instances have accessed together when learning ends though fewer have ended than the share asks for, or 64 for each of those if that is more; 0: however long instances are",
        "TOM, section 3.2.3: a relatively short learning phase; 16,384 is a choice: eight for each value of address bits 7 to 17"
    ),
    setting!(
        "stack",
        "first-access",
        Allowed::Choice(&["first-access", "most-lines"]),
        "where an instance runs: on the stack of its first access, or on the one that holds most lines that its first segment accesses, but for those that all lanes share",
        "first-access: TOM, section 4.2; most-lines: beyond the paper"
    ),
    setting!(
        "busy_threshold",
        "0.9",
        Allowed::Real(0.0, 10.0),
        "use from which on a channel is busy",
        "choice: TOM, section 4.1 has a pre-defined threshold and does not tell it"
    ),
    setting!(
        "busy_window",
        "1000",
        Allowed::Whole(1, 1_000_000_000),
        "core cycles over which use is measured, at least",
        "choice"
    ),
    setting!(
        "pending_limit",
        "0",
        Allowed::Whole(0, 1_000_000),
        "blocks that may be pending at a stack; 0: as many as its SM has places for warps",
        "TOM, section 3.3"
    ),
    setting!(
        "pipeline_cycles",
        "10",
        Allowed::Whole(0, 1_000_000),
        "core cycles of the pipeline for an offload",
        "TOM, section 4.2: 10 cycles"
    ),
    setting!(
        "coherence",
        "kept",
        Allowed::Choice(&["kept", "left-out"]),
        "what keeps caches of GPU and stacks coherent; left out, it costs nothing and data are not right: the difference is its cost",
        "TOM, section 4.4.2"
    ),
    setting!(
        "invalidation",
        "needed",
        Allowed::Choice(&["needed", "every-spawn"]),
        "when the SM of a stack drops its cache: before a block whose SM has stored, synchronised, begun a launch or got back a block that wrote since the last time, or before every block",
        "every-spawn: TOM, section 4.4.2; needed: the same data at less cost"
    ),
    setting!(
        "absent_pages",
        "stay",
        Allowed::Choice(&["stay", "fault"]),
        "with unified memory: a block whose first page is at the host stays on the GPU and faults there, or is offloaded and faults on the stack",
        "choice: the walk and the fault of a GPU SM cross no link between stacks"
    ),
    setting!(
        "alu_share",
        "0.5",
        Allowed::Real(0.0, 1.0),
        "alu-aware: share of arithmetic in a block above which it is not sent to an SM that is busy",
        "TOM, section 6.4: more than half of the instructions of RD"
    ),
    setting!(
        "alu_busy",
        "0.9",
        Allowed::Real(0.0, 10.0),
        "alu-aware: use of its issue slots from which on the SM of a stack is busy",
        "choice: as the channels"
    ),
    setting!(
        "queue_limit",
        "6",
        Allowed::Real(0.0, 1_000_000.0),
        "queue-aware: a block stays if the SM of its stack needs more than so many cycles, for each instruction of the block, to issue what it was given before",
        "choice: cycles from an instruction of a warp to one that depends on it on Maxwell (Jia et al. 2018, recalled); with more, issue slots set the pace and not the warp"
    ),
    setting!(
        "batch",
        "off",
        Allowed::Choice(&["off", "per-warp"]),
        "a warp that comes from a block straight to the next one stays on the stack for it; registers cross once, those that either needs or leaves",
        "beyond the paper"
    ),
    setting!(
        "page",
        "64 KiB",
        Allowed::Size(512, 1 << 30),
        "granularity at which memory is given out: the distance of arrays is a multiple of it",
        "TOM, section 3.2.1: allocated at a page granularity, a power of two; 64 KiB is a choice"
    ),
    setting!(
        "load_miss_rate",
        "0.5",
        Allowed::Real(0.0, 1.0),
        "share of loads that miss, as the search for candidates assumes",
        "TOM, section 3.1.1: 50 %"
    ),
    setting!(
        "table_entries",
        "40",
        Allowed::Whole(1, 100_000),
        "candidates of a kernel that are kept",
        "TOM, section 6.6: 40"
    ),
];

/// Which candidates are offloaded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Policy {
    /// None.
    None,
    /// All whose condition holds.
    Uncontrolled,
    /// Those that busy channels and full stacks allow.
    Controlled,
    /// The same; arithmetic is kept from busy SMs, too.
    AluAware,
    /// The same; what would wait long for issue slots stays, too.
    QueueAware,
    /// All that stacks have room for, at no cost.
    Ideal,
}

/// Learning takes no more than one in so many instances for the sake of `learning_least`.
const LEAST_OF: u64 = 100;

/// Lines of an instance that learning waits for, on the average, before it ends without those that are longer.
const LINES_OF_INSTANCE: u64 = 64;

/// Where data of candidates live.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mapping {
    /// As all data.
    Baseline,
    /// As the first instances suggest.
    Learned,
    /// As suits all instances best.
    Oracle,
}

/// The settings of one run.
#[derive(Clone, PartialEq, Debug)]
pub struct Settings {
    /// Which candidates are offloaded.
    pub policy: Policy,
    /// Where data of candidates live.
    pub mapping: Mapping,
    /// What makes a mapping the best.
    pub mapping_rule: Rule,
    /// Share of instances that is learned from.
    pub learning_share: f64,
    /// Instances that are learned from at the least.
    pub learning_least: u64,
    /// Instances that are learned from, if given.
    pub learning_instances: Option<u64>,
    /// Lines after which an instance has been watched long enough.
    pub learning_accesses: Option<u64>,
    /// Lines of all instances after which learning ends.
    pub learning_most: Option<u64>,
    /// What names the stack that an instance runs on.
    pub follows: Follows,
    /// A block whose first page is at the host is offloaded all the same.
    pub follows_absent_pages: bool,
    /// Use from which on a channel is busy.
    pub busy_threshold: f64,
    /// Core cycles over which use is measured.
    pub busy_window: u64,
    /// Blocks that may be pending at a stack, if not as many as warps fit there.
    pub pending_limit: Option<u32>,
    /// Core cycles of the pipeline for an offload.
    pub pipeline_cycles: u32,
    /// Caches are kept coherent.
    pub coherence: bool,
    /// The SM of a stack drops its cache at every spawn.
    pub drops_at_every_spawn: bool,
    /// See the table.
    pub alu_share: f64,
    /// See the table.
    pub alu_busy: f64,
    /// See the table.
    pub queue_limit: f64,
    /// What a warp does that comes from a block on a stack straight to another.
    pub next: NextBlock,
    /// Granularity of allocations.
    pub page: Bytes,
    /// For the search.
    pub load_miss_rate: f64,
    /// For the search.
    pub table_entries: usize,
}

impl Settings {
    /// From checked values.
    pub fn of(values: &Values) -> Self {
        let given = |key| Some(values.whole(key)).filter(|&n| n > 0);
        Self {
            policy: match values.text("policy") {
                "none" => Policy::None,
                "uncontrolled" => Policy::Uncontrolled,
                "alu-aware" => Policy::AluAware,
                "queue-aware" => Policy::QueueAware,
                "ideal" => Policy::Ideal,
                _ => Policy::Controlled,
            },
            mapping: match values.text("mapping") {
                "baseline" => Mapping::Baseline,
                "oracle" => Mapping::Oracle,
                _ => Mapping::Learned,
            },
            mapping_rule: match values.text("mapping_rule") {
                "instances" => Rule::Instances,
                _ => Rule::Accesses,
            },
            learning_share: values.real("learning_share"),
            learning_least: values.whole("learning_least"),
            learning_instances: given("learning_instances"),
            learning_accesses: given("learning_accesses"),
            learning_most: given("learning_most"),
            follows: match values.text("stack") {
                "most-lines" => Follows::MostLines,
                _ => Follows::FirstAccess,
            },
            follows_absent_pages: values.text("absent_pages") == "fault",
            busy_threshold: values.real("busy_threshold"),
            busy_window: values.whole("busy_window"),
            pending_limit: given("pending_limit").map(|n| n as u32),
            pipeline_cycles: values.whole("pipeline_cycles") as u32,
            coherence: values.text("coherence") == "kept",
            drops_at_every_spawn: values.text("invalidation") == "every-spawn",
            alu_share: values.real("alu_share"),
            alu_busy: values.real("alu_busy"),
            queue_limit: values.real("queue_limit"),
            next: if values.text("batch") == "per-warp" { NextBlock::OnStack } else { NextBlock::FromGpu },
            page: values.size("page"),
            load_miss_rate: values.real("load_miss_rate"),
            table_entries: values.whole("table_entries") as usize,
        }
    }

    /// How many instances are learned from if a program has so many.
    pub fn learns_from(&self, instances: u64) -> u64 {
        let share = (self.learning_share * instances as f64).ceil() as u64;
        self.learning_instances.unwrap_or_else(|| share.max(self.learning_least.min(instances / LEAST_OF)))
    }

    /// Lines after which learning from so many instances ends, however few have ended.
    pub fn learns_at_most(&self, instances: u64) -> u64 {
        self.learning_most.map_or(u64::MAX, |most| most.max(LINES_OF_INSTANCE * instances))
    }

    /// True if the program has to be surveyed before it runs.
    pub fn needs_survey(&self) -> bool {
        match self.mapping {
            Mapping::Baseline => false,
            Mapping::Learned => self.learning_instances.is_none(),
            Mapping::Oracle => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_learned_from_and_a_few_more_if_that_is_few() {
        let learns = |set: &[&str], instances| {
            Settings::of(&Values::read("tom", SETTINGS, set).expect("good")).learns_from(instances)
        };
        assert_eq!(learns(&[], 5_000_000), 5000);
        assert_eq!(learns(&[], 1_000_000), 2048, "0.1 % would be a thousand");
        assert_eq!(learns(&[], 4104), 41, "0.1 % would be five, and 2048 half of the program");
        assert_eq!(learns(&[], 3), 1);
        assert_eq!(learns(&["tom.learning_least=0"], 4104), 5);
        assert_eq!(learns(&["tom.learning_instances=7"], 4104), 7);
        assert_eq!(learns(&[], 0), 0, "nothing to learn from");
        let most = |set: &[&str], instances| {
            Settings::of(&Values::read("tom", SETTINGS, set).expect("good")).learns_at_most(instances)
        };
        assert_eq!((most(&[], 81), most(&[], 2048)), (16_384, 64 * 2048));
        assert_eq!(most(&["tom.learning_most=0"], 81), u64::MAX, "instances are watched to their ends");
    }
}
