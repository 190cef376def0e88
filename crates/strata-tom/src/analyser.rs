//! The memory map analyser: how many stacks each instance of a candidate would touch, for every mapping (TOM, sections 3.2.1
//! and 4.3).
//!
//! A mapping takes the stack from consecutive address bits; those from bit 7 (a line of 128 B) to bit 16 can be the lowest of
//! them. The baseline map is watched beside them.

use strata_core::{LINE_BYTES, LineAddr};
use strata_sim::seam::Place;
use strata_sim::stack_map::StackMap;

/// The lowest address bit that can name a stack: lines stay whole (TOM, section 3.2.1, footnote 3).
pub const LOWEST_BIT: u32 = LINE_BYTES.ilog2();

/// How many mappings there are: the last takes bits 16 and up (TOM, section 3.2.1, footnote 3).
pub const MAPPINGS: usize = 10;

/// Mappings and the baseline map, which is the last.
const MAPS: usize = MAPPINGS + 1;

/// The set of maps with which an instance touches one stack: bit `k` for the mapping of address bit `7 + k`, bit
/// [`MAPPINGS`] for the baseline map.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct OneStack(pub u16);

impl OneStack {
    /// True with a mapping.
    pub const fn with(self, mapping: usize) -> bool {
        self.0 >> mapping & 1 != 0
    }
}

/// One instance while it runs: the analyser's storage for a warp (TOM, section 6.6).
#[derive(Clone, Debug, Default)]
pub struct Instance {
    /// Stacks that were touched, a bit each, by map.
    touched: [u64; MAPS],
    /// The first of them.
    first: [u32; MAPS],
    /// Accesses, and those to the first stack.
    accesses: u64,
    to_first: [u64; MAPS],
}

impl Instance {
    /// A line is accessed.
    pub fn access(&mut self, map: &StackMap, line: LineAddr) {
        for m in 0..MAPS {
            let partition =
                if m < MAPPINGS { map.placed_by_bits(line, m as u32).partition } else { map.place(line).partition };
            let stack = map.stack_of(partition).0;
            if self.accesses == 0 {
                self.first[m] = stack;
            }
            self.touched[m] |= 1 << (stack % 64);
            self.to_first[m] += u64::from(stack == self.first[m]);
        }
        self.accesses += 1;
    }

    /// How many lines it has accessed so far.
    pub const fn accesses(&self) -> u64 {
        self.accesses
    }

    /// The maps with which it touched one stack; `None` if it touched nothing.
    pub fn one_stack(&self) -> Option<OneStack> {
        let bit = |m: usize| u16::from(self.touched[m].is_power_of_two()) << m;
        (self.accesses > 0).then(|| OneStack((0..MAPS).map(bit).sum()))
    }
}

/// What was seen of instances that have ended.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seen {
    /// In the order in which they ended.
    pub instances: Vec<OneStack>,
    accesses: u64,
    to_first: [u64; MAPS],
}

impl Seen {
    /// An instance has ended.
    pub fn add(&mut self, instance: &Instance) {
        if let Some(one) = instance.one_stack() {
            self.instances.push(one);
            self.accesses += instance.accesses;
            for (sum, n) in self.to_first.iter_mut().zip(instance.to_first) {
                *sum += n;
            }
        }
    }

    /// The mapping with which most of the first `count` instances touch one stack; of equal ones that of the lowest bits.
    pub fn best(&self, count: usize) -> Option<usize> {
        let seen = &self.instances[..count.min(self.instances.len())];
        let ones = |m: &usize| seen.iter().filter(|one| one.with(*m)).count();
        if seen.is_empty() { None } else { (0..MAPPINGS).rev().max_by_key(ones) }
    }

    /// Share of instances that touch one stack, with a mapping or ([`MAPPINGS`]) the baseline map.
    pub fn one_stack_share(&self, map: usize) -> f64 {
        let ones = self.instances.iter().filter(|one| one.with(map)).count();
        ones as f64 / self.instances.len().max(1) as f64
    }

    /// Share of accesses to the stack that their instance touched first.
    pub fn first_stack_share(&self, map: usize) -> f64 {
        self.to_first.get(map).map_or(0.0, |&n| n as f64 / self.accesses.max(1) as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use strata_sim::config::load;

    fn map() -> StackMap {
        StackMap::of(&load("ndp-maxwell", &[""; 0]).expect("a preset").config).expect("it has stacks")
    }

    fn instance(addresses: &[u64]) -> Instance {
        let (map, mut instance) = (map(), Instance::default());
        for a in addresses {
            instance.access(&map, LineAddr(a / LINE_BYTES));
        }
        instance
    }

    /// The lowest bits of the mappings with which these accesses stay on one stack.
    #[track_caller]
    fn check(addresses: &[u64], expected: &[u32]) {
        let one = instance(addresses).one_stack().expect("it accesses something");
        let bits: Vec<u32> = (0..MAPPINGS).filter(|&m| one.with(m)).map(|m| LOWEST_BIT + m as u32).collect();
        assert_eq!(bits, expected);
    }

    #[test]
    fn a_distance_with_a_factor_of_two_to_the_m_leaves_the_bits_below_m() {
        let all: Vec<u32> = (7..=16).collect();
        check(&[0x1000], &all);
        check(&[0x1000, 0x1000 + (1 << 20)], &all);
        // Two arrays 2^12 apart: bits 12 and up differ, so do those pairs that hold bit 12.
        check(&[0, 1 << 12], &[7, 8, 9, 10, 13, 14, 15, 16]);
        // A walk through 4 KB: every bit below 12 changes.
        let walk: Vec<u64> = (0..32).map(|k| k * 128).collect();
        check(&walk, &[12, 13, 14, 15, 16]);
    }

    #[test]
    fn the_best_mapping_is_that_of_most_instances_and_of_equals_the_lowest() {
        let mut seen = Seen::default();
        for addresses in [&[0, 1 << 12][..], &[0, 1 << 12], &[0, 1 << 7]] {
            seen.add(&instance(addresses));
        }
        seen.add(&Instance::default());
        assert_eq!(seen.instances.len(), 3, "one that accessed nothing is none");
        // All three: 8 to 10 and 13 to 16.
        assert_eq!(seen.best(3).map(|m| m as u32 + LOWEST_BIT), Some(8));
        assert_eq!(seen.best(2).map(|m| m as u32 + LOWEST_BIT), Some(7));
        assert_eq!(Seen::default().best(1), None);
        assert_eq!(seen.one_stack_share(0), 2.0 / 3.0);
        assert_eq!(seen.first_stack_share(0), 5.0 / 6.0);
    }
}
