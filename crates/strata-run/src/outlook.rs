//! How long the rest of a series of jobs will take.
//!
//! Jobs of a series differ by a factor of a hundred, so their number says little. What one job of a kind took says what the others of
//! its kind will; of kinds that have not run yet there is a guess, such as what they took another time, and the guesses are taken to
//! be wrong by one factor, which is that of the jobs that ended: another computer, or a busy one.

use std::collections::BTreeMap;

/// A job that took less was not done but found done already: it says nothing about the others.
const FOUND: f64 = 0.02;

/// What a job is expected to cost.
#[derive(Clone, Debug, PartialEq)]
pub struct Cost {
    /// What jobs have in common that take about as long.
    pub kind: String,
    /// Seconds that it took another time, or somewhere else; none if nobody knows.
    pub guess: Option<f64>,
}

/// What is known of the jobs of a series, as they begin and end.
pub(crate) struct Outlook {
    kinds: Vec<Kind>,
    /// The kind of each job, and its guess.
    jobs: Vec<(usize, f64)>,
    /// Jobs that run, and when they began.
    running: Vec<(usize, f64)>,
    threads: usize,
}

/// Jobs of a kind.
#[derive(Default)]
struct Kind {
    /// Seconds that those took that ended.
    took: f64,
    /// What these were guessed to take.
    guessed: f64,
    /// How many have not begun.
    waiting: usize,
    /// What those are guessed to take, all together and the longest of the kind.
    ahead: f64,
    longest: f64,
}

impl Outlook {
    /// Of jobs of which so many run at once.
    pub(crate) fn new(costs: Vec<Cost>, threads: usize) -> Self {
        let known: Vec<f64> = costs.iter().filter_map(|cost| cost.guess).filter(|guess| *guess > 0.0).collect();
        // What nobody knows is taken to be like the rest.
        let usual = if known.is_empty() { 1.0 } else { known.iter().sum::<f64>() / known.len() as f64 };
        let mut names: BTreeMap<String, usize> = BTreeMap::new();
        let (mut kinds, mut jobs): (Vec<Kind>, _) = (Vec::new(), Vec::new());
        for cost in costs {
            let guess = cost.guess.filter(|guess| *guess > 0.0).unwrap_or(usual);
            let number = *names.entry(cost.kind).or_insert(kinds.len());
            if number == kinds.len() {
                kinds.push(Kind::default());
            }
            let kind = &mut kinds[number];
            (kind.waiting, kind.ahead, kind.longest) = (kind.waiting + 1, kind.ahead + guess, kind.longest.max(guess));
            jobs.push((number, guess));
        }
        Self { kinds, jobs, running: Vec::new(), threads: threads.max(1) }
    }

    /// A job begins, `now` seconds after the first.
    pub(crate) fn begins(&mut self, job: usize, now: f64) {
        let (kind, guess) = self.jobs[job];
        let kind = &mut self.kinds[kind];
        (kind.waiting, kind.ahead) = (kind.waiting - 1, kind.ahead - guess);
        self.running.push((job, now));
    }

    /// A job has ended.
    pub(crate) fn ended(&mut self, job: usize, now: f64) {
        let Some(at) = self.running.iter().position(|(running, _)| *running == job) else { return };
        let took = now - self.running.swap_remove(at).1;
        if took >= FOUND {
            let (kind, guess) = self.jobs[job];
            let kind = &mut self.kinds[kind];
            (kind.took, kind.guessed) = (kind.took + took, kind.guessed + guess);
        }
    }

    /// Seconds until the last job ends; none while nothing is known.
    pub(crate) fn left(&self, now: f64) -> Option<f64> {
        let sum = |of: fn(&Kind) -> f64| self.kinds.iter().map(of).sum::<f64>();
        let (took, guessed) = (sum(|kind| kind.took), sum(|kind| kind.guessed));
        if guessed == 0.0 {
            return None;
        }
        let pace = |kind: &Kind| if kind.guessed > 0.0 { kind.took / kind.guessed } else { took / guessed };
        let waiting = self.kinds.iter().filter(|kind| kind.waiting > 0);
        let waiting = waiting.map(|kind| (kind.ahead * pace(kind), kind.longest * pace(kind)));
        let running = self.running.iter().map(|&(job, began)| {
            let (kind, guess) = self.jobs[job];
            let left = (guess * pace(&self.kinds[kind]) - (now - began)).max(0.0);
            (left, left)
        });
        let (all, longest) =
            waiting.chain(running).fold((0.0, 0.0f64), |(all, most), (one, longest)| (all + one, most.max(longest)));
        // The last jobs do not share a thread.
        Some((all / self.threads as f64).max(longest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// At the beginning of each job: when that is, and how long the rest is said to take. Jobs are (kind, guess, seconds).
    fn told(jobs: &[(&str, Option<f64>, f64)], threads: usize) -> (Vec<(f64, Option<f64>)>, f64) {
        let cost = |(kind, guess, _): &(&str, Option<f64>, f64)| Cost { kind: (*kind).to_owned(), guess: *guess };
        let mut outlook = Outlook::new(jobs.iter().map(cost).collect(), threads);
        let (mut running, mut said, mut last): (Vec<(f64, usize)>, _, f64) = (Vec::new(), Vec::new(), 0.0);
        for (k, (_, _, seconds)) in jobs.iter().enumerate() {
            let mut now = 0.0;
            if running.len() == threads {
                let first = (0..threads).min_by(|a, b| running[*a].0.total_cmp(&running[*b].0)).expect("some run");
                let (end, job) = running.swap_remove(first);
                outlook.ended(job, end);
                now = end;
            }
            outlook.begins(k, now);
            said.push((now, outlook.left(now)));
            running.push((now + seconds, k));
            last = last.max(now + seconds);
        }
        (said, last)
    }

    #[test]
    fn before_anything_ended_nothing_is_said() {
        let (said, _) = told(&[("a", None, 1.0), ("a", None, 1.0)], 1);
        assert_eq!(said, [(0.0, None), (1.0, Some(1.0))]);
    }

    #[test]
    fn jobs_of_a_kind_take_as_long() {
        let jobs = [("short", None, 1.0), ("long", None, 30.0), ("short", None, 1.0), ("long", None, 30.0)];
        let (said, last) = told(&jobs, 1);
        assert_eq!(said[2], (31.0, Some(31.0)));
        assert_eq!((said[3], last), ((32.0, Some(30.0)), 62.0));
    }

    #[test]
    fn what_was_found_done_says_nothing_of_the_rest() {
        let (said, _) = told(&[("a", None, 0.0), ("a", None, 4.0), ("a", None, 4.0)], 1);
        assert_eq!(said.iter().map(|(_, left)| *left).collect::<Vec<_>>(), [None, None, Some(4.0)]);
    }

    /// Later kinds take longer: the estimate does not grow as long as the guesses are right but for one factor.
    #[test]
    fn right_guesses_give_a_right_estimate_on_another_computer() {
        let guesses =
            [("a", 0.5), ("a", 0.5), ("b", 2.0), ("b", 2.0), ("c", 8.0), ("c", 8.0), ("d", 20.0), ("d", 20.0)];
        let jobs: Vec<_> = guesses.iter().map(|(kind, guess)| (*kind, Some(*guess), 3.0 * guess)).collect();
        let (said, last) = told(&jobs, 2);
        for (now, left) in &said[2..] {
            let left = left.expect("jobs have ended");
            assert!((now + left - last).abs() < 0.12 * last, "at {now} it says {left} of {last}: {said:?}");
        }
    }

    /// A whole `strata compare`, with what each program was guessed to cost on an idle computer, and what its runs then took on one
    /// that others used so much that they got a fifth of a core.
    #[test]
    fn a_comparison_ended_when_it_was_said_to() {
        let programs: [(&str, f64, &[f64]); 19] = [
            ("cg, compression", 0.6, &[3.1, 3.1, 3.9]),
            ("hpgmg, compression", 0.3, &[1.5, 1.6, 1.6]),
            ("ilbdc, compression", 0.1, &[0.3, 0.4, 0.4]),
            ("lulesh, compression", 0.1, &[0.6, 0.6, 0.5]),
            ("seismic, compression", 0.2, &[1.0, 0.9, 0.9]),
            ("sp, compression", 0.3, &[1.6, 1.6, 1.6]),
            ("mis, deduplication", 1.6, &[7.8, 7.3, 10.2, 10.8]),
            ("dwt2d, deduplication", 1.6, &[8.0, 7.9, 10.4, 10.5]),
            ("kmeans, deduplication", 3.6, &[18.3, 15.8, 21.6, 22.7]),
            ("cfd, deduplication", 3.5, &[16.1, 15.6, 22.6, 23.8]),
            ("stencil, caches", 5.1, &[26.0, 26.7, 26.9, 31.0]),
            ("srad, caches", 5.1, &[28.0, 25.2, 27.7, 30.0]),
            ("transpose, caches", 2.7, &[16.0, 13.2, 13.4, 14.7]),
            ("addvectors, unified memory", 3.7, &[19.2, 20.2, 19.7]),
            ("pathfinder, unified memory", 5.2, &[22.9, 28.7, 32.5]),
            ("nw, unified memory", 2.6, &[15.5, 13.4, 13.8]),
            ("reduction, near-data", 2.8, &[15.0, 15.4]),
            ("scalarprod, near-data", 1.3, &[7.1, 6.5]),
            ("kmeans, near-data", 4.0, &[24.4, 16.9]),
        ];
        let runs = |(kind, guess, took): &(&'static str, f64, &'static [f64])| {
            let (kind, guess) = (*kind, Some(*guess));
            took.iter().map(move |seconds| (kind, guess, *seconds)).collect::<Vec<_>>()
        };
        let jobs: Vec<_> = programs.iter().flat_map(runs).collect();
        let (said, last) = told(&jobs, 2);
        assert_eq!(jobs.len(), 61);
        for (now, left) in &said[3..] {
            let end = now + left.expect("runs have ended");
            assert!((end - last).abs() < 0.1 * last, "at {now:.0} s it says {end:.0}, and it was {last:.0}");
        }
    }
}
