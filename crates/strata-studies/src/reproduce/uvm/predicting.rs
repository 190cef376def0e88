//! The machines whose prefetcher predicts, and what stands against it.

use super::suite::{Program, Scheme};
use crate::reproduce::Effort;

/// A prefetcher in place of the tree.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Predicting {
    rule: Rule,
    /// Core cycles of a prediction.
    latency: u64,
    /// Managed memory in percent of device memory, if that does not suffice.
    percent: Option<u32>,
}

/// When it predicts, and what comes then. All but `Nothing` bring the faulted 64 KB, too.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Rule {
    /// Nobody predicts: the faulted 64 KB alone, so that what predictions add can be told.
    Nothing,
    /// The paper's, with the predictor of pages: a far fault asks, one page comes.
    Paper,
    /// The same rule with a table in the predictor's place: `stride` or `markov`.
    Table(&'static str),
    /// A far fault brings at most so many whole blocks, each with at least so many percent of probability.
    Blocks(u32, u32),
    /// Every request to the GMMU asks, unless so many predictions are being made.
    EveryRequest(u32),
    /// The same with as many as there are requests, and whole blocks that share transfers of up to 1 MB: by `paper` or a
    /// table, and how many blocks at most.
    Pipelined(&'static str, u32),
}

/// Core cycles of the paper's microsecond (section 7.3).
pub(super) const MICROSECOND: u64 = 1500;

/// Latencies in microseconds, as the paper's numbers name them, and core cycles: section 7.3.
pub(super) const PRINTED: [(&str, u64); 4] = [("1", 1500), ("2", 3000), ("5", 7500), ("10", 15_000)];

/// Latencies that the paper does not have, with their names: none at all, and those measured on a processor for the paper's shape
/// (85 us at 300 classes: docs/learned-prefetching.md, at 1481 MHz).
pub(super) const BEYOND: [(&str, u64); 2] = [("0 us", 0), ("85 us", 125_885)];

/// Blocks of a prediction and their least probability in percent (choice).
const BLOCKS: [(u32, u32); 2] = [(1, 0), (16, 2)];

/// Predictions under way at once if there is to be no limit: at a microsecond nearly all requests of these programs find room
/// among so many (choice).
const UNLIMITED: u32 = 1024;

/// Blocks that a pipelined prediction names at most (choice), and others beside it.
const TOP: u32 = 8;
const OTHER_TOPS: [u32; 3] = [1, 4, 16];

/// The paper has no least probability, and one page.
const ANY: &str = "uvm.prediction_confidence=0";
const ONE: &str = "uvm.prediction_top=1";

/// Tables that predict, as `uvm.predictor` names them.
const TABLES: [&str; 2] = ["stride", "markov"];

/// Percent of managed memory over device memory at which both are compared.
pub(super) const PERCENT: u32 = 125;

/// Programs that no predictor was trained on: irregular, and not in the paper.
pub(super) const NEVER_SEEN: [Program; 3] = [Program::beyond("bfs"), Program::beyond("sssp"), Program::beyond("ra")];

/// What a quick study predicts for: programs of seconds, and that of Figure 11.
const QUICK: [&str; 6] = ["addvectors", "atax", "bicg", "nw", "streamtriad", "2dconv"];

impl Rule {
    /// With the paper's microsecond for a prediction, and memory that suffices.
    pub(super) const fn scheme(self) -> Scheme {
        self.taking(MICROSECOND)
    }

    /// With so many core cycles for a prediction.
    pub(super) const fn taking(self, latency: u64) -> Scheme {
        Scheme::Predicting(Predicting { rule: self, latency, percent: None })
    }

    /// With managed memory of so many percent of device memory.
    pub(super) const fn oversubscribed(self, percent: u32) -> Scheme {
        Scheme::Predicting(Predicting { rule: self, latency: MICROSECOND, percent: Some(percent) })
    }

    fn name(self) -> String {
        match self {
            Self::Nothing => "64 KB alone".into(),
            Self::Paper => "learned".into(),
            Self::Table(name) => name.into(),
            Self::Blocks(1, 0) => "a block".into(),
            Self::Blocks(most, least) => format!("{most} blocks of {least} %"),
            Self::EveryRequest(1) => "every request".into(),
            Self::EveryRequest(_) => "every request at once".into(),
            Self::Pipelined("paper", TOP) => "pipelined".into(),
            Self::Pipelined("paper", top) => format!("pipelined, {top} a request"),
            Self::Pipelined(table, _) => format!("pipelined {table}"),
        }
    }

    /// Who predicts, as `uvm.predictor` names it.
    fn predictor(self) -> &'static str {
        match self {
            Self::Table(name) | Self::Pipelined(name, _) => name,
            _ => "paper",
        }
    }

    fn set(self) -> Vec<String> {
        match self {
            Self::Nothing | Self::Table(_) => Vec::new(),
            Self::Paper => vec![ANY.into(), ONE.into()],
            Self::Blocks(most, least) => vec![
                "uvm.prediction_brings=block".into(),
                format!("uvm.prediction_top={most}"),
                format!("uvm.prediction_confidence={}", f64::from(least) / 100.0),
            ],
            Self::EveryRequest(at_once) => {
                let at_once = format!("uvm.predictions_in_flight={at_once}");
                vec!["uvm.prediction_trigger=request".into(), at_once, ANY.into(), ONE.into()]
            }
            Self::Pipelined(_, top) => {
                let mut set = Self::EveryRequest(UNLIMITED).set();
                set.extend(Self::Blocks(top, 0).set());
                set.push("uvm.prediction_request=1MiB".into());
                set
            }
        }
    }
}

/// The paper's rule, as it reports it.
pub(super) const REVISED: Scheme = Rule::Paper.scheme();
/// What comes nearest to the paper's hit rates.
pub(super) const PIPELINED: Rule = Rule::Pipelined("paper", TOP);
/// The same with the table that does best.
pub(super) const PIPELINED_TABLE: Rule = Rule::Pipelined("stride", 1);

impl Predicting {
    /// What a study runs of a program.
    pub(super) fn of(program: &Program, effort: Effort) -> Vec<Scheme> {
        let printed = |rule: Rule| PRINTED.map(|(_, cycles)| rule.taking(cycles));
        match effort {
            Effort::Quick if QUICK.contains(&program.name) => return vec![REVISED, PIPELINED.scheme()],
            Effort::Quick => return Vec::new(),
            // It takes minutes: what the paper has of it.
            Effort::Standard if program.is_long => {
                return printed(Rule::Paper).into_iter().chain([PIPELINED.scheme()]).collect();
            }
            Effort::Standard | Effort::Full => {}
        }
        let beyond = |rule: Rule| BEYOND.map(|(_, cycles)| rule.taking(cycles));
        let by_latency = [Rule::Paper, PIPELINED].map(|rule| printed(rule).into_iter().chain(beyond(rule)));
        let opponents = Self::opponents().into_iter().map(Rule::scheme);
        let short = [Rule::Paper, PIPELINED].map(|rule| rule.oversubscribed(PERCENT));
        by_latency.into_iter().flatten().chain(opponents).chain(short).collect()
    }

    /// Rules beside the paper's and the pipelined one.
    pub(super) fn opponents() -> Vec<Rule> {
        let mut rules = vec![Rule::Nothing];
        rules.extend(TABLES.map(Rule::Table));
        rules.extend(BLOCKS.map(|(most, least)| Rule::Blocks(most, least)));
        rules.extend([1, UNLIMITED].map(Rule::EveryRequest));
        rules.extend(OTHER_TOPS.map(|top| Rule::Pipelined("paper", top)));
        rules.push(PIPELINED_TABLE);
        rules
    }

    /// What is run of a program that was never seen.
    pub(super) fn of_unseen() -> Vec<Scheme> {
        let rules = [Rule::Nothing, Rule::Paper, PIPELINED, PIPELINED_TABLE];
        [Scheme::Baseline, Scheme::DriversRule].into_iter().chain(rules.map(Rule::scheme)).collect()
    }

    pub(super) fn name(self) -> String {
        let latency = (self.latency != MICROSECOND).then(|| format!(", {} cycles", self.latency));
        let percent = self.percent.map(|percent| format!(", {percent} %"));
        [Some(self.rule.name()), latency, percent].into_iter().flatten().collect()
    }

    /// Its settings.
    pub(super) fn set(self) -> Vec<String> {
        let mut set = match self.rule {
            Rule::Nothing => vec!["uvm.prefetcher=sequential".into()],
            rule => vec![
                "uvm.prefetcher=learned".into(),
                format!("uvm.predictor={}", rule.predictor()),
                format!("uvm.prediction_latency={}", self.latency),
            ],
        };
        set.extend(self.rule.set());
        if let Some(percent) = self.percent {
            set.push(format!("uvm.oversubscription={}", f64::from(percent) / 100.0));
            set.push("uvm.eviction=lru".into());
        }
        set
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
