//! The machines whose prefetcher predicts, and what stands against it.

use super::suite::{Program, Scheme};
use crate::reproduce::Effort;

/// A prefetcher in place of the tree; all but the first predict once for each far fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Predicting {
    /// Nobody predicts: the faulted 64 KB alone, so that what predictions add can be told.
    Nothing,
    /// The paper's rule with the shipped predictor: one page, so many core cycles for a prediction.
    Paper(u64),
    /// The same, asked by every request to the GMMU that finds it idle.
    EveryRequest,
    /// The same rule with a table in the predictor's place: `stride` or `markov`.
    Table(&'static str),
    /// At most so many whole blocks, each with at least so many percent of probability.
    Blocks(u32, u32),
    /// The paper's rule, memory for less than all: managed memory in percent of it.
    Oversubscribed(u32),
}

/// Core cycles of the paper's microsecond (section 7.3).
pub(super) const MICROSECOND: u64 = 1500;

/// Latencies in microseconds, as the paper's numbers name them, and core cycles: section 7.3.
pub(super) const PRINTED: [(&str, u64); 4] = [("1", 1500), ("2", 3000), ("5", 7500), ("10", 15_000)];

/// Latencies that the paper does not have, with their names: none at all, and those measured on a processor for the paper's shape
/// (85 us at 300 classes: docs/learned-prefetching.md, at 1481 MHz).
pub(super) const BEYOND: [(&str, u64); 2] = [("0 us", 0), ("85 us", 125_885)];

/// Blocks of a prediction and their least probability in percent (choice).
pub(super) const BLOCKS: [(u32, u32); 2] = [(1, 0), (16, 2)];

/// Tables that predict, as `uvm.predictor` names them.
pub(super) const TABLES: [&str; 2] = ["stride", "markov"];

/// Percent of managed memory over device memory at which both are compared.
pub(super) const PERCENT: u32 = 125;

/// Programs that no predictor was trained on: irregular, and not in the paper.
pub(super) const NEVER_SEEN: [Program; 3] = [Program::beyond("bfs"), Program::beyond("sssp"), Program::beyond("ra")];

/// What a quick study predicts for: programs of seconds, and that of Figure 11.
const QUICK: [&str; 6] = ["addvectors", "atax", "bicg", "nw", "streamtriad", "2dconv"];

impl Predicting {
    /// The paper's, as it reports it.
    pub(super) const REVISED: Scheme = Scheme::Predicting(Self::Paper(MICROSECOND));

    /// What a study runs of a program.
    pub(super) fn of(program: &Program, effort: Effort) -> Vec<Scheme> {
        let printed = || PRINTED.map(|(_, cycles)| Scheme::Predicting(Self::Paper(cycles)));
        match effort {
            Effort::Quick if QUICK.contains(&program.name) => return vec![Self::REVISED],
            Effort::Quick => return Vec::new(),
            // It takes minutes: what the paper has of it.
            Effort::Standard if program.is_long => return printed().into(),
            Effort::Standard | Effort::Full => {}
        }
        let beyond = BEYOND.map(|(_, cycles)| Self::Paper(cycles));
        let others = [Self::Nothing, Self::EveryRequest, Self::Oversubscribed(PERCENT)];
        let tables = TABLES.map(Self::Table);
        let blocks = BLOCKS.map(|(most, least)| Self::Blocks(most, least));
        let more = beyond.into_iter().chain(others).chain(tables).chain(blocks).map(Scheme::Predicting);
        printed().into_iter().chain(more).collect()
    }

    /// What is run of a program that was never seen.
    pub(super) fn of_unseen() -> Vec<Scheme> {
        let (most, least) = BLOCKS[1];
        let all = [Self::Nothing, Self::Paper(MICROSECOND), Self::Blocks(most, least)];
        [Scheme::Baseline, Scheme::DriversRule].into_iter().chain(all.map(Scheme::Predicting)).collect()
    }

    pub(super) fn name(self) -> String {
        match self {
            Self::Nothing => "64 KB alone".into(),
            Self::Paper(cycles) => format!("learned, {cycles} cycles"),
            Self::EveryRequest => "learned, every request".into(),
            Self::Table(name) => name.into(),
            Self::Blocks(1, 0) => "learned, a block".into(),
            Self::Blocks(most, least) => format!("learned, {most} blocks of {least} %"),
            Self::Oversubscribed(percent) => format!("learned, {percent} %"),
        }
    }

    /// Its settings.
    pub(super) fn set(self) -> Vec<String> {
        let learned = |more: &[String]| {
            let rule = ["uvm.prefetcher=learned".to_owned(), format!("uvm.prediction_latency={MICROSECOND}")];
            rule.into_iter().chain(more.iter().cloned()).collect()
        };
        match self {
            Self::Nothing => vec!["uvm.prefetcher=sequential".into()],
            Self::Paper(cycles) => {
                vec!["uvm.prefetcher=learned".into(), format!("uvm.prediction_latency={cycles}")]
            }
            Self::EveryRequest => learned(&["uvm.prediction_trigger=request".into()]),
            Self::Table(name) => learned(&[format!("uvm.predictor={name}")]),
            Self::Blocks(most, least) => learned(&[
                "uvm.prediction_brings=block".into(),
                format!("uvm.prediction_top={most}"),
                format!("uvm.prediction_confidence={}", f64::from(least) / 100.0),
            ]),
            Self::Oversubscribed(percent) => {
                learned(&[format!("uvm.oversubscription={}", f64::from(percent) / 100.0), "uvm.eviction=lru".into()])
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::uvm::suite::PROGRAMS;
    use strata_core::settings::Settings;

    #[test]
    fn every_machine_has_settings_and_a_name_of_its_own() {
        let schemes = Predicting::of(&PROGRAMS[0], Effort::Standard);
        for (k, scheme) in schemes.iter().enumerate() {
            let set = scheme.set();
            let set: Vec<&str> = set.iter().map(String::as_str).collect();
            let settings = Settings::read("uvm", strata_uvm::SETTINGS, &set).expect("known settings");
            strata_uvm::Config::new(&settings).expect("they go together");
            assert!(schemes[..k].iter().all(|other| other.name() != scheme.name()), "{}", scheme.name());
        }
    }

    #[test]
    fn programs_that_were_never_seen_are_built_in() {
        for program in NEVER_SEEN {
            assert!(strata_workloads::find(program.name).is_ok(), "{}", program.name);
        }
        assert!(QUICK.iter().all(|name| PROGRAMS.iter().any(|program| program.name == *name)));
    }
}
