//! Where lines live in memory that comes in stacks: the baseline map of TOM (Hsieh et al., ISCA 2016, section 5.1).
//!
//! Consecutive lines go to consecutive stacks, and groups of them to consecutive vaults; higher bits are exclusive-ored into
//! both, so that no stride up to 1 MiB stays on one stack and none on one vault. Which bits these are is a choice: for the stack
//! the pair above the vault and the one six bits higher (or one of them, or none), for the vault all that lie above the first of these
//! pairs.

use crate::config::GpuConfig;
use crate::seam::{Place, Placed, StackId};
use strata_core::LineAddr;

/// How far the second pair of bits that is exclusive-ored into the stack lies above the first.
const SECOND_PAIR: u32 = 6;

/// The shape of stacked memory and its baseline map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StackMap {
    stack_bits: u32,
    vault_bits: u32,
    /// Higher pairs that are exclusive-ored into the stack.
    hashed_pairs: u32,
}

impl StackMap {
    /// Of a GPU; `None` if its memory is not in stacks.
    pub fn of(config: &GpuConfig) -> Option<Self> {
        let stacks = config.stacks.count;
        (stacks > 0).then(|| Self {
            stack_bits: stacks.ilog2(),
            vault_bits: (config.dram.channels / stacks).ilog2(),
            hashed_pairs: config.stacks.hashed_pairs,
        })
    }

    /// The same stacks with another number of higher pairs in the map.
    #[must_use]
    pub const fn with_hashed_pairs(self, hashed_pairs: u32) -> Self {
        Self { hashed_pairs, ..self }
    }

    /// How many stacks there are.
    pub const fn stacks(&self) -> u32 {
        1 << self.stack_bits
    }

    /// Address bits that name a stack.
    pub const fn stack_bits(&self) -> u32 {
        self.stack_bits
    }

    /// The stack that a partition belongs to.
    pub const fn stack_of(&self, partition: u32) -> StackId {
        StackId(partition >> self.vault_bits)
    }

    /// A line that the bits from line bit `low` on place on a stack: those bits of its number are taken out, and the rest is
    /// spread over the vaults as ever.
    pub const fn placed_by_bits(&self, line: LineAddr, low: u32) -> Placed {
        let stack = line.0 >> low & (self.stacks() as u64 - 1);
        let rest = line.0 >> (low + self.stack_bits) << low | line.0 & ((1 << low) - 1);
        self.in_stack(stack, rest)
    }

    /// Line `rest` of those that live on a stack.
    const fn in_stack(self, stack: u64, rest: u64) -> Placed {
        let local = rest >> self.vault_bits;
        // The bits above those that the baseline map gives to the stack, so that both together spread a stride.
        let (mut above, mut hash) = (local >> self.stack_bits, rest);
        while above > 0 && self.vault_bits > 0 {
            hash ^= above;
            above >>= self.vault_bits;
        }
        let vault = hash & ((1 << self.vault_bits) - 1);
        Placed { partition: (stack << self.vault_bits | vault) as u32, local }
    }
}

impl Place for StackMap {
    fn place(&self, line: LineAddr) -> Placed {
        let rest = line.0 >> self.stack_bits;
        let local = rest >> self.vault_bits;
        let higher = match self.hashed_pairs {
            0 => 0,
            1 => local,
            _ => local ^ local >> SECOND_PAIR,
        };
        let stack = (line.0 ^ higher) & (u64::from(self.stacks()) - 1);
        self.in_stack(stack, rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::load;
    use std::collections::HashSet;

    fn map() -> StackMap {
        StackMap::of(&load("ndp-maxwell", &[""; 0]).expect("a preset").config).expect("it has stacks")
    }

    /// Lines have places of their own, and every stack and vault has its share.
    #[track_caller]
    fn check(place: impl Fn(LineAddr) -> Placed) {
        let (mut places, mut vaults) = (HashSet::new(), [0u32; 64]);
        for line in 0..1 << 16 {
            let placed = place(LineAddr(line));
            assert!(places.insert((placed.partition, placed.local)), "line {line}");
            vaults[placed.partition as usize] += 1;
        }
        assert!(vaults.iter().all(|&n| n == 1 << 10), "{vaults:?}");
    }

    #[test]
    fn every_map_is_one_to_one_and_even() {
        let map = map();
        for pairs in 0..=2 {
            check(|line| map.with_hashed_pairs(pairs).place(line));
        }
        for low in 0..10 {
            check(|line| map.placed_by_bits(line, low));
        }
    }

    #[test]
    fn neighbours_and_strides_spread_over_the_stacks() {
        let map = map();
        let stack = |line: u64| map.stack_of(map.place(LineAddr(line)).partition).0;
        assert_eq!([0, 1, 2, 3, 4].map(stack), [0, 1, 2, 3, 0]);
        for stride in [4, 64, 256, 4096, 1 << 13] {
            let met: HashSet<u32> = (0..64).map(|k| stack(k * stride)).collect();
            assert!(met.len() > 1, "stride {stride} stays on one stack");
        }
        for shift in 0..20 {
            let met: HashSet<u32> = (0..64).map(|k| map.place(LineAddr(k << shift)).partition).collect();
            assert!(met.len() >= 16, "a stride of 2^{shift} lines meets {} vaults", met.len());
        }
    }

    #[test]
    fn without_higher_pairs_strides_stay_on_one_stack() {
        let stacks = |pairs: u32, stride: u64| {
            let map = map().with_hashed_pairs(pairs);
            let met = (0..64).map(|k| map.stack_of(map.place(LineAddr(k * stride)).partition).0);
            met.collect::<HashSet<_>>().len()
        };
        // A pair lies above the six bits of stack and vault, the other six bits higher.
        assert_eq!([0, 1, 2].map(|pairs| stacks(pairs, 64)), [1, 4, 4]);
        assert_eq!([0, 1, 2].map(|pairs| stacks(pairs, 1 << 12)), [1, 1, 4]);
    }

    #[test]
    fn address_bits_name_the_stack() {
        let map = map();
        // Address bits 9:10 are line bits 2:3.
        let stacks = [0, 3, 4, 8, 12, 16].map(|line| map.stack_of(map.placed_by_bits(LineAddr(line), 2).partition).0);
        assert_eq!(stacks, [0, 0, 1, 2, 3, 0]);
    }
}
