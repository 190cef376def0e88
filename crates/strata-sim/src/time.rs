//! Time: integer picoseconds, and clocks that divide it into edges.

use std::fmt;
use std::ops::{Add, AddAssign, Sub};

/// A point in simulated time, or a span of it, in picoseconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[repr(transparent)]
pub struct Picos(pub u64);

impl Picos {
    /// Later than everything that happens.
    pub const NEVER: Self = Self(u64::MAX);
}

impl Add for Picos {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl AddAssign for Picos {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl Sub for Picos {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl fmt::Display for Picos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ps", self.0)
    }
}

/// A number of edges of some clock.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[repr(transparent)]
pub struct Cycles(pub u64);

impl Add for Cycles {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

/// A clock. Edge `n` is at `ceil(n * 10^9 / kHz)` picoseconds: computed, never accumulated, so that clocks do not drift.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Clock {
    khz: u64,
    /// 2^64 / kHz, rounded down: to divide by multiplying.
    inverse: u64,
}

/// Picoseconds of a cycle of one kilohertz.
const PICOS_PER_KHZ: u64 = 1_000_000_000;

impl Clock {
    /// A clock of that many kilohertz (at least 1).
    pub const fn from_khz(khz: u64) -> Self {
        let khz = if khz == 0 { 1 } else { khz };
        Self { khz, inverse: u64::MAX / khz }
    }

    /// Its frequency in kilohertz.
    pub const fn khz(self) -> u64 {
        self.khz
    }

    /// When edge `n` is.
    #[inline]
    pub const fn edge(self, n: Cycles) -> Picos {
        // 64 bits hold 18 billion edges; beyond that the slow way is exact too.
        match n.0.checked_mul(PICOS_PER_KHZ) {
            Some(product) => {
                let (quotient, rest) = self.divide(product);
                Picos(quotient + (rest > 0) as u64)
            }
            None => Picos((n.0 as u128 * PICOS_PER_KHZ as u128).div_ceil(self.khz as u128) as u64),
        }
    }

    /// Quotient and rest of a division by the kilohertz. The product with the inverse is too small by one at most.
    #[inline]
    const fn divide(self, product: u64) -> (u64, u64) {
        let quotient = ((product as u128 * self.inverse as u128) >> 64) as u64;
        let rest = product - quotient * self.khz;
        if rest < self.khz { (quotient, rest) } else { (quotient + 1, rest - self.khz) }
    }

    /// The first edge at or after `t`.
    #[inline]
    pub const fn next(self, t: Picos) -> Cycles {
        if let Some(product) = t.0.checked_mul(self.khz) {
            // An edge is up to a picosecond late, so it is at `t` if less than one picosecond's share is left.
            let passed = product / PICOS_PER_KHZ;
            let at_edge = product - passed * PICOS_PER_KHZ < self.khz;
            Cycles(passed + !at_edge as u64)
        } else {
            let passed = self.passed(t);
            if self.edge(passed).0 == t.0 { passed } else { Cycles(passed.0 + 1) }
        }
    }

    /// The last edge at or before `t`: how many cycles have passed.
    #[inline]
    pub const fn passed(self, t: Picos) -> Cycles {
        let n = match t.0.checked_mul(self.khz) {
            Some(product) => product / PICOS_PER_KHZ,
            None => (t.0 as u128 * self.khz as u128 / PICOS_PER_KHZ as u128) as u64,
        };
        // Edges are rounded up, so the quotient may name an edge that is still to come, never one too early.
        Cycles(n)
    }

    /// The span of `n` cycles, rounded up.
    #[inline]
    pub const fn span(self, n: Cycles) -> Picos {
        self.edge(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn edges_do_not_drift() {
        let c = Clock::from_khz(3_000_000);
        assert_eq!(c.edge(Cycles(1)), Picos(334));
        assert_eq!(c.edge(Cycles(3)), Picos(1000));
        assert_eq!(c.edge(Cycles(3_000_000_000)), Picos(1_000_000_000_000));
    }

    proptest! {
        #[test]
        fn edges_and_times_agree(khz in 1u64..10_000_000, n in 0u64..1 << 40) {
            let c = Clock::from_khz(khz);
            let t = c.edge(Cycles(n));
            prop_assert_eq!(c.next(t), Cycles(n));
            prop_assert_eq!(c.passed(t), Cycles(n));
            prop_assert_eq!(c.next(Picos(t.0 + 1)), Cycles(n + 1));
        }

        #[test]
        fn the_first_edge_at_or_after_a_time(khz in 1u64..10_000_000, t in 0u64..1 << 50) {
            let c = Clock::from_khz(khz);
            let n = c.next(Picos(t));
            prop_assert!(c.edge(n).0 >= t);
            prop_assert!(n.0 == 0 || c.edge(Cycles(n.0 - 1)).0 < t);
        }

        #[test]
        fn edges_are_divided_exactly(khz in prop_oneof![1u64..100, 1u64..10_000_000, 1u64..=u64::MAX], n in 0u64..1 << 34) {
            let exact = (u128::from(n) * 1_000_000_000).div_ceil(u128::from(khz)) as u64;
            prop_assert_eq!(Clock::from_khz(khz).edge(Cycles(n)), Picos(exact));
        }
    }
}
