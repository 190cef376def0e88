//! What two mechanisms do together beside what each does alone, and where requests wait that should not, or need not.

use super::suite::{PLAIN, Pair, Scheme};
use super::timing::{Point, Timing, WAITS};

/// A pair is independent if it is as fast as the product of its gains says, within this share. Choice: orders of requests change with
/// anything that is put into a machine, and that alone moves a program by a percent or two.
pub(super) const INDEPENDENT: f64 = 0.03;

/// What a pair comes to in a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Verdict {
    Synergy,
    Independence,
    Interference,
}

impl Verdict {
    pub(super) const ALL: [Self; 3] = [Self::Synergy, Self::Independence, Self::Interference];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Synergy => "synergy",
            Self::Independence => "independence",
            Self::Interference => "interference",
        }
    }

    /// Of the speed of the pair over the product of the speeds of its parts.
    pub(super) fn of(ratio: f64) -> Self {
        if ratio > 1.0 + INDEPENDENT {
            Self::Synergy
        } else if ratio < 1.0 - INDEPENDENT {
            Self::Interference
        } else {
            Self::Independence
        }
    }
}

/// Product of the speeds of both alone: what a pair would have if neither minded the other.
pub(super) fn product(timing: &Timing, pair: Pair) -> Option<f64> {
    let [a, b] = pair.alone.map(|scheme| timing.speed(scheme));
    Some(a? * b?)
}

/// The pair's speed over that product.
pub(super) fn ratio(timing: &Timing, pair: Pair) -> Option<f64> {
    Some(timing.speed(pair.both)? / product(timing, pair)?)
}

/// What requests wait for longest on a machine, latencies aside, and the share of all their time.
pub(super) fn longest(point: &Point) -> (&'static str, f64) {
    let all: f64 = point.waits.iter().sum();
    let waits = WAITS.iter().zip(point.waits).filter(|((what, _), _)| *what != "travel");
    let ((_, text), cycles) = waits.max_by(|(_, a), (_, b)| a.total_cmp(b)).unwrap_or((&WAITS[0], 0.0));
    (text, cycles / all.max(1.0))
}

/// Core cycles that a request waits for each thing on a machine.
fn per_request(timing: &Timing, scheme: Scheme) -> Option<[f64; WAITS.len()]> {
    let point = timing.point(scheme)?;
    Some(point.waits.map(|cycles| cycles / point.requests.max(1.0)))
}

/// What a request of the pair waits for longer (with interference) or shorter (with synergy) than what both change alone adds up to, most of
/// all; and by how many core cycles. With independence, whatever departs farthest.
pub(super) fn departure(timing: &Timing, pair: Pair) -> Option<(&'static str, f64)> {
    let [plain, a, b, both] =
        [PLAIN, pair.alone[0], pair.alone[1], pair.both].map(|scheme| per_request(timing, scheme));
    let (plain, a, b, both) = (plain?, a?, b?, both?);
    let weight = |cycles: f64| match Verdict::of(ratio(timing, pair).unwrap_or(1.0)) {
        Verdict::Interference => cycles,
        Verdict::Synergy => -cycles,
        Verdict::Independence => cycles.abs(),
    };
    let departures = (0..WAITS.len()).map(|k| (WAITS[k].1, both[k] - (a[k] + b[k] - plain[k])));
    departures.max_by(|(_, x), (_, y)| weight(*x).total_cmp(&weight(*y)))
}

#[cfg(test)]
mod tests {
    use super::super::suite::{CANDIDATES, PAIRS};
    use super::*;

    fn point(cycles: f64, waits: [f64; WAITS.len()]) -> Point {
        Point { cycles, waits, requests: 10.0, passed: true, ..Point::default() }
    }

    /// A program that takes so long on the plain machine, with one, with the other, and with both, and waits for memory and ports.
    fn timing(cycles: [f64; 4], memory: [f64; 4], ports: [f64; 4]) -> Timing {
        let Pair { alone: [a, b], both } = PAIRS[0];
        let points = [PLAIN, a, b, both].into_iter().enumerate();
        let of = |k: usize| point(cycles[k], [0.0, 0.0, ports[k], 0.0, 0.0, memory[k], 0.0, 1000.0]);
        let points = points.map(|(k, scheme)| (scheme, Ok(of(k)))).collect();
        Timing { program: CANDIDATES[0], bytes: 1.0, points }
    }

    #[test]
    fn a_pair_is_judged_by_the_product_of_its_parts() {
        let judged = |both| {
            let t = timing([100.0, 50.0, 80.0, both], [0.0; 4], [0.0; 4]);
            Verdict::of(ratio(&t, PAIRS[0]).expect("all ran"))
        };
        assert_eq!(judged(40.0), Verdict::Independence, "2 times 1.25 is 2.5");
        assert_eq!(judged(39.0), Verdict::Independence);
        assert_eq!((judged(38.0), judged(42.0)), (Verdict::Synergy, Verdict::Interference));
    }

    #[test]
    fn the_reason_is_what_departs_from_the_sum_of_both_changes() {
        let interfering = timing([100.0, 50.0, 80.0, 60.0], [100.0, 40.0, 80.0, 20.0], [10.0, 10.0, 10.0, 90.0]);
        assert_eq!(departure(&interfering, PAIRS[0]), Some(("ports out", 8.0)));
        let helping = timing([100.0, 50.0, 80.0, 20.0], [100.0, 90.0, 80.0, 10.0], [10.0, 10.0, 10.0, 50.0]);
        assert_eq!(departure(&helping, PAIRS[0]), Some(("memory", -6.0)));
        let plain = helping.point(PLAIN).expect("it ran");
        assert_eq!(longest(&plain).0, "memory", "latencies are nobody's fault");
    }
}
