//! The memory map analyser: how many stacks each instance of a candidate would touch, and how often the one that it would run
//! on, for every mapping (TOM, sections 3.2.1 and 4.3).
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

/// Baseline maps with none, one and two pairs of higher bits in the stack, which are watched beside the machine's.
pub const BASELINE_MAPS: usize = 3;

/// The first of these.
pub const WITH_PAIRS: usize = MAPPINGS + 1;

/// Mappings, the baseline map and its kin.
const MAPS: usize = WITH_PAIRS + BASELINE_MAPS;

/// What makes a mapping the best.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rule {
    /// Most accesses go to the stack that their instance runs on, which is that of its first access (TOM, section 4.3, step 4).
    Accesses,
    /// Most instances touch one stack (the probability of TOM, section 3.2.1).
    Instances,
}

/// The set of maps with which an instance touches one stack: bit `k` for the mapping of address bit `7 + k`, bit
/// [`MAPPINGS`] for the baseline map, those from [`WITH_PAIRS`] on for its kin.
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
    accesses: u32,
    to_first: [u32; MAPS],
}

impl Instance {
    /// A line is accessed.
    pub fn access(&mut self, map: &StackMap, line: LineAddr) {
        for m in 0..MAPS {
            let placed = match m {
                0..MAPPINGS => map.placed_by_bits(line, m as u32),
                MAPPINGS => map.place(line),
                _ => map.with_hashed_pairs((m - WITH_PAIRS) as u32).place(line),
            };
            let stack = map.stack_of(placed.partition).0;
            if self.accesses == 0 {
                self.first[m] = stack;
            }
            self.touched[m] |= 1 << (stack % 64);
            self.to_first[m] = self.to_first[m].saturating_add(u32::from(stack == self.first[m]));
        }
        self.accesses = self.accesses.saturating_add(1);
    }

    /// How many lines it has accessed so far.
    pub const fn accesses(&self) -> u64 {
        self.accesses as u64
    }

    /// The maps with which it touched one stack; `None` if it touched nothing.
    pub fn one_stack(&self) -> Option<OneStack> {
        let bit = |m: usize| u16::from(self.touched[m].is_power_of_two()) << m;
        (self.accesses > 0).then(|| OneStack((0..MAPS).map(bit).sum()))
    }
}

/// An instance that has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Ended {
    one_stack: OneStack,
    accesses: u32,
    to_first: [u32; MAPS],
}

/// What was seen of instances that have ended.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seen {
    /// In the order in which they ended.
    instances: Vec<Ended>,
}

impl Seen {
    /// An instance has ended.
    pub fn add(&mut self, instance: &Instance) {
        if let Some(one_stack) = instance.one_stack() {
            self.instances.push(Ended { one_stack, accesses: instance.accesses, to_first: instance.to_first });
        }
    }

    /// How many there were that accessed anything.
    pub fn instances(&self) -> usize {
        self.instances.len()
    }

    /// The best mapping for the first `count` instances; of equal ones that of the lowest bits. `None` if nothing is better
    /// than the baseline map by that rule, or nothing was seen.
    pub fn best(&self, rule: Rule, count: usize) -> Option<usize> {
        let seen = &self.instances[..count.min(self.instances.len())];
        let score = |map: usize| match rule {
            Rule::Accesses => seen.iter().map(|i| u64::from(i.to_first[map])).sum::<u64>(),
            Rule::Instances => seen.iter().filter(|i| i.one_stack.with(map)).count() as u64,
        };
        let best = (0..MAPPINGS).rev().max_by_key(|&mapping| score(mapping));
        best.filter(|&mapping| score(mapping) > score(MAPPINGS))
    }

    /// Share of instances that touch one stack, with a mapping or ([`MAPPINGS`]) the baseline map.
    pub fn one_stack_share(&self, map: usize) -> f64 {
        let ones = self.instances.iter().filter(|i| i.one_stack.with(map)).count();
        ones as f64 / self.instances.len().max(1) as f64
    }

    /// Share of accesses to the stack that their instance touched first.
    pub fn first_stack_share(&self, map: usize) -> f64 {
        let sum = |part: &dyn Fn(&Ended) -> u32| self.instances.iter().map(|i| u64::from(part(i))).sum::<u64>();
        sum(&|i| i.to_first.get(map).copied().unwrap_or(0)) as f64 / sum(&|i| i.accesses).max(1) as f64
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

    fn seen(instances: &[&[u64]]) -> Seen {
        let mut seen = Seen::default();
        for addresses in instances {
            seen.add(&instance(addresses));
        }
        seen
    }

    /// The lowest bit of the best mapping.
    fn best(seen: &Seen, rule: Rule, count: usize) -> Option<u32> {
        seen.best(rule, count).map(|m| m as u32 + LOWEST_BIT)
    }

    #[test]
    fn by_instances_the_best_mapping_is_that_of_most_and_of_equals_the_lowest() {
        let mut seen = seen(&[&[0, 1 << 12], &[0, 1 << 12], &[0, 1 << 7]]);
        seen.add(&Instance::default());
        assert_eq!(seen.instances(), 3, "one that accessed nothing is none");
        // All three: 8 to 10 and 13 to 16.
        assert_eq!(best(&seen, Rule::Instances, 3), Some(8));
        assert_eq!(best(&seen, Rule::Instances, 2), None, "the baseline map has them on one stack, too");
        assert_eq!(Seen::default().best(Rule::Instances, 1), None);
        assert_eq!(seen.one_stack_share(0), 2.0 / 3.0);
        assert_eq!(seen.first_stack_share(0), 5.0 / 6.0);
    }

    #[test]
    fn by_accesses_a_mapping_may_win_with_which_no_instance_stays_on_one_stack() {
        // Nine lines of 1 KB, and one that is 128 KB and more away: every pair of bits up to 16:17 differs somewhere.
        let mut far: Vec<u64> = (0..9).map(|k| k * 128).collect();
        far.push(0x3_ffff);
        let seen = seen(&[&far, &far]);
        assert!((0..MAPPINGS).all(|m| seen.one_stack_share(m) == 0.0));
        assert_eq!(best(&seen, Rule::Instances, 2), None, "nothing scores: the baseline map stays");
        // Bits 11:12 are the lowest that leave all nine together.
        assert_eq!(best(&seen, Rule::Accesses, 2), Some(11));
        assert_eq!(seen.first_stack_share(11 - LOWEST_BIT as usize), 0.9);
    }

    #[test]
    fn baseline_maps_with_fewer_pairs_are_watched_beside_it() {
        // Eight lines that are 8 KiB apart: bits 13 and 14 name the first pair.
        let strided: Vec<u64> = (0..8).map(|k| k << 13).collect();
        let seen = seen(&[&strided]);
        let shares = [MAPPINGS, WITH_PAIRS, WITH_PAIRS + 1, WITH_PAIRS + 2].map(|map| seen.first_stack_share(map));
        assert_eq!(shares, [0.25, 1.0, 0.25, 0.25]);
    }

    #[test]
    fn where_no_mapping_is_better_the_baseline_map_stays() {
        let seen = seen(&[&[0], &[1 << 12], &[5 << 7]]);
        for rule in [Rule::Accesses, Rule::Instances] {
            assert_eq!(best(&seen, rule, 3), None, "each accesses one line: all maps are equal");
        }
    }
}
