//! Mechanisms of all four papers in one machine: each pair that goes together and all four at once, beside what each does alone.
//!
//! All speeds of the pairs are over one machine, `ndp-maxwell` that holds everything, because gains can only be multiplied if
//! they have the same denominator. Which programs run, that machine says before anything is put into it. Unified memory under oversubscription,
//! Figure 14 of Buddy Compression, has the machine of that paper.

mod figures;
mod interplay;
mod oversubscription;
mod suite;
mod timing;

use super::runs::Runs;
use super::{Effort, Row, geometric_mean};
use crate::report::Page;
use interplay::{Verdict, product, ratio};
use strata_run::{LabError, Step};
use suite::{CANDIDATES, FOUR, PAIRS, PLAIN, Pair, Program, SINGLES, caching_schemes, schemes};
use timing::{Timing, no_failures};

/// Pairs on one machine, and memory that does not suffice.
pub(super) const PARTS: [&str; 2] = [TOGETHER, OVERSUBSCRIPTION];
const TOGETHER: &str = "pairs";
const OVERSUBSCRIPTION: &str = "oversubscription";

/// What is told first.
type Told = Vec<String>;

/// Runs everything, or one part, and makes the page.
pub(super) fn study(
    effort: Effort,
    part: Option<&str>,
    runs: &Runs,
    begins: &mut (dyn FnMut(Step<'_>) + Send),
) -> Result<(Page, Vec<Row>, Told), LabError> {
    let makes = |name: &str| part.is_none_or(|part| part == name);
    let title = "Mechanisms together".into();
    let mut page = Page { title, introduction: INTRODUCTION.into(), summary: None, figures: Vec::new() };
    let (mut rows, mut told) = (Vec::new(), Vec::new());
    if makes(TOGETHER) {
        let candidates: Vec<Program> = CANDIDATES.into_iter().filter(|p| p.size(effort).is_some()).collect();
        let candidates = timing::study(&candidates, effort, &[PLAIN], runs, begins)?;
        told.extend(pairs(&candidates, effort, &mut page, runs, begins)?);
    }
    if makes(OVERSUBSCRIPTION) {
        let timings = oversubscription::study(effort, runs, begins)?;
        page.figures.extend(oversubscription::figures(&timings));
        told.push(oversubscription::told(&timings));
        rows = oversubscription::rows(&timings);
    }
    Ok((page, rows, told))
}

const INTRODUCTION: &str = "Programs of four papers on ndp-maxwell (64 SMs and an SM on each of four stacks) with a link to the host of 63 GB/s: the \
    plain machine holds everything and offloads nothing, and is what all speeds of pairs are over. TOM's own study allows its baseline four SMs \
    more. Unified memory is UVMSmart's with its tree prefetcher, faults' latency reported and not charged; Buddy Compression's targets come from \
    a smaller input; all else is as each mechanism has it. Figure 14 is on p100-buddy. docs/composition.md says how the mechanisms meet.";

/// The rule by which programs are chosen.
const RULE: &str = "A program presses on memory if it uses more than half of the links to stacks in their busier direction, as TOM asks of its \
    programs (section 5.3), or if vaults move more than half of what they can; and if its arrays are four times as large as L2, 4 MiB, so that a \
    fifth of its pages can be away. Bytes, use and waits are those of the plain machine, to which nothing was added.";

impl Timing {
    /// Use of the busier direction of the links to stacks on the plain machine.
    fn link_use(&self) -> Option<f64> {
        Some(self.point(PLAIN)?.link_use)
    }

    /// Sectors that vaults moved there over those that SMs asked L2 for or sent there.
    fn off_chip(&self) -> Option<f64> {
        let plain = self.point(PLAIN)?;
        Some(plain.vaults / strata_core::SECTOR_BYTES as f64 / plain.asked.max(1.0))
    }

    /// True if caches can do something for it: a tenth of what SMs ask for, or more, is found on the GPU.
    fn reuses(&self) -> bool {
        self.off_chip().is_some_and(|share| share < 0.9)
    }

    /// True if it is studied: [`RULE`].
    fn presses(&self) -> bool {
        let is_large = self.bytes >= LEAST_BYTES;
        is_large && (self.link_use() > Some(0.5) || self.point(PLAIN).is_some_and(|plain| plain.vault_use > 0.5))
    }
}

/// Four times L2.
const LEAST_BYTES: f64 = (4 << 20) as f64;

/// Programs that press on all machines.
fn pairs(
    candidates: &[Timing],
    effort: Effort,
    page: &mut Page,
    runs: &Runs,
    begins: &mut (dyn FnMut(Step<'_>) + Send),
) -> Result<Told, LabError> {
    no_failures(candidates)?;
    let chosen: Vec<&Timing> = candidates.iter().filter(|t| t.presses()).collect();
    let programs: Vec<Program> = chosen.iter().map(|t| t.program).collect();
    let mut timings = timing::study(&programs, effort, &schemes(effort), runs, begins)?;
    for (timing, plain) in timings.iter_mut().zip(&chosen) {
        timing.points.extend(plain.points.iter().cloned());
    }
    no_failures(&timings)?;
    page.figures.push(figures::candidates(candidates, RULE, Timing::presses));
    page.figures.extend([
        figures::pairs(&timings),
        figures::interplay(&timings, "interplay", "Together, over the product of both alone", &PAIRS),
    ]);
    page.figures.push(figures::reasons(&timings));
    page.figures.extend(figures::machines(&timings));
    page.figures.push(figures::capacity(&timings));
    if effort != Effort::Quick {
        page.figures.extend(figures::travel(&timings));
        let reusing: Vec<Program> = chosen.iter().filter(|t| t.reuses()).map(|t| t.program).collect();
        let mut cached = timing::study(&reusing, effort, &caching_schemes(), runs, begins)?;
        for timing in &mut cached {
            let others = timings.iter().filter(|t| t.program == timing.program);
            timing.points.extend(others.flat_map(|t| t.points.iter().cloned()));
        }
        no_failures(&cached)?;
        page.figures.push(figures::caches(&cached));
    }
    Ok(told(candidates.len(), &timings))
}

/// What pairs come to, in a few sentences.
fn told(candidates: usize, timings: &[Timing]) -> Told {
    let all = || PAIRS.iter().flat_map(|&pair| timings.iter().map(move |t| (pair, t)));
    let count = |verdict| all().filter(|(pair, t)| ratio(t, *pair).map(Verdict::of) == Some(verdict)).count();
    let [synergy, independence, interference] = Verdict::ALL.map(count);
    let shown = |(pair, t): (Pair, &Timing)| {
        let number = |value: Option<f64>| value.unwrap_or(0.0);
        format!(
            "{} in {}, {:.2} times the speed where {:.2} would be the product",
            pair.both.name,
            t.program.name,
            number(t.speed(pair.both)),
            number(product(t, pair))
        )
    };
    let by_ratio = |a: &(Pair, &Timing), b: &(Pair, &Timing)| {
        let of = |(pair, t): &(Pair, &Timing)| ratio(t, *pair).unwrap_or(1.0);
        of(a).total_cmp(&of(b))
    };
    let mut told = vec![format!(
        "{} of {candidates} candidates press on memory. Of {} pairs of mechanisms in programs, {synergy} are faster than the product of both \
         alone (synergy), {independence} as fast (independence), {interference} slower (interference).",
        timings.len(),
        synergy + independence + interference
    )];
    if let (Some(best), Some(worst)) = (all().max_by(by_ratio), all().min_by(by_ratio)) {
        told.push(format!("Most synergy: {}. Most interference: {}.", shown(best), shown(worst)));
    }
    let [_, buddy, cmd, uvm, tom] = SINGLES;
    let four = geometric_mean(timings.iter().map(|t| t.speed(FOUR)));
    let product = geometric_mean(timings.iter().map(|t| {
        let speeds = [buddy, cmd, uvm, tom].map(|scheme| t.speed(scheme));
        speeds.into_iter().try_fold(1.0, |product, speed| Some(product * speed?))
    }));
    told.push(format!(
        "All four papers' at once: {:.3} times the speed of the plain machine (geometric mean of {}), {:.3} by the product of all.",
        four.value.unwrap_or(0.0),
        four.coverage(),
        product.value.unwrap_or(0.0)
    ));
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The whole road, on an input that says nothing about memory.
    #[test]
    fn every_figure_is_made_of_every_machine() {
        let directory = tempfile::tempdir().expect("a folder");
        let runs = Runs::below(directory.path()).expect("a store");
        let program = suite::tiny("scalarprod");
        let machines = [vec![PLAIN], schemes(Effort::Standard), caching_schemes()].concat();
        let timings = timing::study(&[program], Effort::Standard, &machines, &runs, &mut |_| ()).expect("they run");
        no_failures(&timings).expect("results are right");
        assert!(!timings[0].presses(), "it fits into L2");

        let mut figures = vec![figures::pairs(&timings), figures::reasons(&timings), figures::capacity(&timings)];
        figures.extend(figures::machines(&timings));
        figures.extend(figures::travel(&timings));
        figures.push(figures::caches(&timings));
        for figure in &figures {
            let rows = if ["pairs", "why"].contains(&figure.id.as_str()) { PAIRS.len() } else { 2 };
            assert_eq!(figure.rows.len(), rows, "{}", figure.id);
            let is_empty = |cell: &crate::report::Cell| matches!(cell, crate::report::Cell::None);
            assert!(!figure.rows.iter().flatten().any(is_empty), "{}: every machine has a number", figure.id);
        }
        let told = told(20, &timings);
        assert!(told[0].starts_with("1 of 20 candidates") && told[0].contains("Of 9 pairs"), "{}", told[0]);

        let four = timings[0].point(FOUR).expect("it ran");
        assert!(four.held.is_some() && four.promised.is_some(), "files beside the result are read");
        assert!(four.links > 0.0 && four.waits.iter().sum::<f64>() > 0.0 && four.requests > 0.0);
    }
}
