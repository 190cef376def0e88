//! Where a line is served: its L2 slice, its partition, its numbers there.

use super::channel_port::{DramAccess, DramTag};
use crate::cache::SectorMask;
use crate::config::{GpuConfig, SliceLocation};
use crate::seam::{Dir, LocalAddr, LocalLine, Place, Placed};
use crate::stack_map::StackMap;
use strata_core::{LINE_BYTES, LineAddr};

/// Where a line is cached and stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Home {
    /// The L2 slice that caches it.
    pub(super) slice: u16,
    /// The partition of memory that holds it: a DRAM channel.
    pub(super) partition: u16,
    /// Its set in the tag array of the slice.
    pub(super) set: u32,
    /// Its number among the lines of the partition.
    pub(super) local: LocalLine,
}

impl Home {
    /// Of a request that goes nowhere: it waits for another.
    pub(super) const NOWHERE: Self = Self { slice: u16::MAX, partition: u16::MAX, set: 0, local: LocalLine(0) };

    /// The access of L2 to sectors that are where their address says.
    #[inline]
    pub(super) fn access(self, sectors: SectorMask, dir: Dir, tag: DramTag) -> DramAccess {
        self.access_at(self.local.addr(), sectors, dir, tag)
    }

    /// The access of L2 to sectors at a place of the line's partition.
    #[inline]
    pub(super) fn access_at(self, at: LocalAddr, sectors: SectorMask, dir: Dir, tag: DramTag) -> DramAccess {
        DramAccess { slice: self.slice, partition: self.partition, at, sectors, dir, tag }
    }
}

/// How lines are dealt to slices and partitions.
///
/// Consecutive chunks of bytes go to consecutive slices; each group of as many chunks as there are slices is rotated by a
/// hash of its number, so that no power-of-two stride stays on one slice. Sets are chosen by the line's number within the
/// slice, exclusive-ored with a hash of its upper bits. Both hashes fold the number by exclusive-or, as the address hashes
/// of real GPUs do. Memory in stacks has a map of its own ([`StackMap`]).
pub(super) struct Interleave {
    slices: Divisor,
    sets: Divisor,
    channels: Divisor,
    /// Slices of a channel, unless slices belong to none, because they sit at the crossbar.
    per_channel: Option<Divisor>,
    /// Lines of a chunk, as a power of two.
    chunk_shift: u32,
    place: Option<Box<dyn Place>>,
}

impl Interleave {
    pub(super) fn new(config: &GpuConfig) -> Self {
        let at_crossbar = config.l2.location == SliceLocation::Crossbar;
        Self {
            slices: Divisor::new(config.l2.slices),
            sets: Divisor::new(config.l2.sets),
            channels: Divisor::new(config.dram.channels),
            per_channel: (!at_crossbar).then(|| Divisor::new(config.l2.slices / config.dram.channels)),
            chunk_shift: (config.l2.interleave.0 / LINE_BYTES).max(1).ilog2(),
            place: StackMap::of(config).map(|map| Box::new(map) as Box<dyn Place>),
        }
    }

    pub(super) fn set_place(&mut self, place: Box<dyn Place>) {
        self.place = Some(place);
    }

    #[inline]
    pub(super) fn home(&self, line: LineAddr) -> Home {
        if let Some(place) = &self.place {
            return self.placed(place.place(line));
        }
        let (slice, in_slice) = self.deal(line.0, self.slices);
        let (partition, local) = match self.per_channel {
            None => self.deal(line.0, self.channels),
            Some(per_channel) => self.of_partition(slice, in_slice, per_channel),
        };
        self.at(slice, in_slice, partition, local)
    }

    /// The home of a line that a mechanism has placed.
    fn placed(&self, placed: Placed) -> Home {
        let Placed { partition, local } = placed;
        let Some(Divisor { by: per_channel, .. }) = self.per_channel else {
            // All slices serve all partitions: the pair of numbers is one number.
            let (slice, in_slice) = self.deal(local * u64::from(self.channels.by) + u64::from(partition), self.slices);
            return self.at(slice, in_slice, partition, local);
        };
        let (chunk, within) = (local >> self.chunk_shift, local & ((1 << self.chunk_shift) - 1));
        let (group, position) = (chunk / u64::from(per_channel), (chunk % u64::from(per_channel)) as u32);
        let slice = partition * per_channel + position;
        self.at(slice, group << self.chunk_shift | within, partition, local)
    }

    #[inline]
    fn at(&self, slice: u32, in_slice: u64, partition: u32, local: u64) -> Home {
        let set = self.sets.divide(in_slice ^ fold(self.sets.divide(in_slice).0)).1;
        Home { slice: slice as u16, partition: partition as u16, set, local: LocalLine(local) }
    }

    /// Deals lines to so many members: which one, and the line's number there.
    #[inline]
    fn deal(&self, line: u64, members: Divisor) -> (u32, u64) {
        let (group, position) = members.divide(line >> self.chunk_shift);
        let member = members.divide(u64::from(position) + fold(group)).1;
        (member, group << self.chunk_shift | line & ((1 << self.chunk_shift) - 1))
    }

    /// The partition of a slice's line, and the line's number there: slices of a channel take turns.
    #[inline]
    fn of_partition(&self, slice: u32, in_slice: u64, per_channel: Divisor) -> (u32, u64) {
        if per_channel.by == 1 {
            return (slice, in_slice);
        }
        let (chunk, within) = (in_slice >> self.chunk_shift, in_slice & ((1 << self.chunk_shift) - 1));
        let (partition, member) = per_channel.divide(slice.into());
        (partition as u32, (chunk * u64::from(per_channel.by) + u64::from(member)) << self.chunk_shift | within)
    }
}

/// A number that others are divided by: by a shift if it is a power of two; other short ones are multiplied instead.
#[derive(Clone, Copy)]
struct Divisor {
    by: u32,
    /// 2^64 divided by it, rounded up: exact for numbers of 32 bits (Lemire, Kaser and Kurz, "Faster remainder by direct
    /// computation", 2019).
    reciprocal: u64,
    /// Of which power of two it is the value; [`Divisor::NO_POWER`] if of none.
    shift: u32,
}

impl Divisor {
    const NO_POWER: u32 = u32::MAX;

    fn new(by: u32) -> Self {
        let by = by.max(1);
        let shift = if by.is_power_of_two() { by.trailing_zeros() } else { Self::NO_POWER };
        Self { by, shift, reciprocal: (u64::MAX / u64::from(by)).wrapping_add(1) }
    }

    /// Quotient and remainder.
    #[inline]
    fn divide(self, n: u64) -> (u64, u32) {
        if self.shift != Self::NO_POWER {
            return (n >> (self.shift % 64), n as u32 & (self.by - 1));
        }
        match u32::try_from(n) {
            Ok(short) => {
                let quotient = ((u128::from(self.reciprocal) * u128::from(short)) >> 64) as u32;
                (quotient.into(), short - quotient * self.by)
            }
            _ => (n / u64::from(self.by), (n % u64::from(self.by)) as u32),
        }
    }
}

/// Folds the bits of a number together: the exclusive-or hash that keeps strides from colliding.
#[inline]
fn fold(n: u64) -> u64 {
    n ^ n >> 5 ^ n >> 11 ^ n >> 17 ^ n >> 29
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::load;
    use std::collections::HashSet;

    fn interleave(set: &[&str]) -> Interleave {
        Interleave::new(&load("titan-v", set).unwrap().config)
    }

    /// Every line has a place of its own in memory, and slices and partitions get equal shares.
    #[track_caller]
    fn check(interleave: &Interleave) {
        let (mut places, mut slices, mut partitions) = (HashSet::new(), [0u32; 64], [0u32; 64]);
        for line in 0..96 * 1024 {
            let home = interleave.home(LineAddr(line));
            assert!(places.insert((home.partition, home.local)), "line {line}");
            slices[usize::from(home.slice)] += 1;
            partitions[usize::from(home.partition)] += 1;
        }
        assert!(slices[..48].iter().all(|&n| n.abs_diff(2048) < 64), "{slices:?}");
        assert!(partitions[..24].iter().all(|&n| n.abs_diff(4096) < 128), "{partitions:?}");
    }

    #[test]
    fn lines_are_dealt_evenly_and_one_to_one() {
        check(&interleave(&[]));
        check(&interleave(&["l2.location=crossbar"]));
    }

    #[test]
    fn a_divisor_divides() {
        for by in [1, 2, 3, 7, 24, 48, 96, 1 << 20, u32::MAX] {
            for n in [0, 1, 6, 95, 96, 97, 12_345_678, u64::from(u32::MAX), 1 << 40, u64::MAX] {
                let (quotient, rest) = Divisor::new(by).divide(n);
                assert_eq!((quotient, u64::from(rest)), (n / u64::from(by), n % u64::from(by)), "{n} / {by}");
            }
        }
    }

    #[test]
    fn strides_do_not_stay_on_one_slice() {
        let interleave = interleave(&[]);
        for stride in [2, 8, 48, 64, 96, 1024, 4096] {
            let slices: HashSet<u16> = (0..480).map(|k| interleave.home(LineAddr(k * stride)).slice).collect();
            assert!(slices.len() > 16, "stride {stride}: {} slices", slices.len());
        }
    }

    #[test]
    fn a_mechanism_may_place_lines() {
        struct InTurn;
        impl Place for InTurn {
            fn place(&self, line: LineAddr) -> Placed {
                Placed { partition: (line.0 % 24) as u32, local: line.0 / 24 }
            }
        }
        for set in [&[][..], &["l2.location=crossbar"][..]] {
            let mut interleave = interleave(set);
            interleave.set_place(Box::new(InTurn));
            check(&interleave);
            assert_eq!(interleave.home(LineAddr(51)).partition, 3);
        }
    }
}
