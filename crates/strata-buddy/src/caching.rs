//! Memory as a framework's caching allocator keeps it.
//!
//! A framework does not ask the driver for each tensor. It asks for segments, cuts blocks off them, and keeps what is left: for
//! Buddy Compression the segment is the allocation, which has one target for all that lies in it, and its unused tail is memory
//! that compresses to nothing. The sizes are those of PyTorch's allocator for CUDA (`CUDACachingAllocator`, its defaults).
//!
//! Tensors that live at once are laid out in the order of their making, each in the smallest gap that has room. Nothing moves into
//! the place of a tensor that is gone, and what no tensor has is zero, as it came from the driver; a long run leaves older data
//! there.

use crate::{Allocation, EntryState, Histogram};
use strata_codec::ENTRY_BYTES;
use strata_core::Bytes;

/// Blocks are whole multiples of this.
const BLOCK: u64 = 512;
/// Up to here a block comes from the small pool.
const SMALL: u64 = 1 << 20;
/// Segments of the small and of the large pool.
const SMALL_SEGMENT: u64 = 2 << 20;
const LARGE_SEGMENT: u64 = 20 << 20;
/// From here on a block that finds no gap has a segment of its own, rounded up.
const OWN_SEGMENT: u64 = 10 << 20;
const OWN_ROUNDED: u64 = 2 << 20;

/// Segments of one pool, and the gaps in them.
#[derive(Default)]
struct Pool {
    segments: Vec<Allocation>,
    /// Bytes of each gap, and its segment.
    gaps: Vec<(u64, usize)>,
}

impl Pool {
    /// Puts a tensor into the smallest gap that has `size` bytes, or into a new segment; of what is left there, less than `least` is lost.
    fn put(&mut self, name: &str, size: u64, segment: u64, least: u64, tensor: &Allocation) {
        let fits = self.gaps.iter().enumerate().filter(|(_, (room, _))| *room >= size);
        let smallest = fits.min_by_key(|(_, gap)| **gap).map(|(index, _)| index);
        let (room, place) = if let Some(index) = smallest {
            self.gaps.remove(index)
        } else {
            let name = format!("{name} segment {}", self.segments.len() + 1);
            self.segments.push(Allocation { name, bytes: Bytes(segment), snapshots: Vec::new() });
            (segment, self.segments.len() - 1)
        };
        if room - size >= least {
            self.gaps.push((room - size, place));
        }
        let snapshots = &mut self.segments[place].snapshots;
        snapshots.resize(snapshots.len().max(tensor.snapshots.len()), Histogram::default());
        for (sum, more) in snapshots.iter_mut().zip(&tensor.snapshots) {
            sum.merge(more);
        }
    }
}

/// The segments that hold these tensors.
pub fn segments<'a>(tensors: impl IntoIterator<Item = &'a Allocation>) -> Vec<Allocation> {
    let (mut small, mut large) = (Pool::default(), Pool::default());
    let mut moments = 0;
    for tensor in tensors {
        moments = moments.max(tensor.snapshots.len());
        let size = tensor.bytes.0.next_multiple_of(BLOCK).max(BLOCK);
        if size <= SMALL {
            small.put("small", size, SMALL_SEGMENT, BLOCK, tensor);
        } else {
            let segment = if size < OWN_SEGMENT { LARGE_SEGMENT } else { size.next_multiple_of(OWN_ROUNDED) };
            large.put("large", size, segment, SMALL + 1, tensor);
        }
    }
    let mut all: Vec<_> = small.segments.into_iter().chain(large.segments).collect();
    for segment in &mut all {
        segment.snapshots.resize(moments, Histogram::default());
        let entries = segment.bytes.0 / ENTRY_BYTES as u64;
        for snapshot in &mut segment.snapshots {
            snapshot.add(EntryState::Zero, entries.saturating_sub(snapshot.entries()));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Design, Profile, Rule, Target};

    const MIB: u64 = 1 << 20;

    /// A tensor that does not compress, at one moment.
    fn tensor(bytes: u64) -> Allocation {
        let mut snapshot = Histogram::default();
        snapshot.add(EntryState::B128, bytes.div_ceil(128));
        Allocation { name: "tensor".into(), bytes: Bytes(bytes), snapshots: vec![snapshot] }
    }

    fn sizes(tensors: &[u64]) -> Vec<(String, u64)> {
        let tensors: Vec<_> = tensors.iter().map(|&bytes| tensor(bytes)).collect();
        segments(&tensors).into_iter().map(|s| (s.name, s.bytes.0)).collect()
    }

    #[test]
    fn segments_are_as_large_as_what_they_are_for() {
        let named = |segments: &[(&str, u64)]| segments.iter().map(|(n, b)| ((*n).to_owned(), *b)).collect::<Vec<_>>();
        assert_eq!(sizes(&[1, MIB, 512]), named(&[("small segment 1", 2 * MIB)]));
        assert_eq!(
            sizes(&[MIB, MIB, 4]),
            named(&[("small segment 1", 2 * MIB), ("small segment 2", 2 * MIB)]),
            "two fill one"
        );
        assert_eq!(sizes(&[9 * MIB, 9 * MIB]), named(&[("large segment 1", 20 * MIB)]));
        assert_eq!(sizes(&[11 * MIB]), named(&[("large segment 1", 12 * MIB)]));
        // The gap of a MiB behind it is lost, that of 2 MiB is not.
        assert_eq!(sizes(&[11 * MIB, MIB + 1]).len(), 2);
        assert_eq!(sizes(&[18 * MIB, 9 * MIB, 9 * MIB, 2 * MIB]).len(), 2);
    }

    #[test]
    fn a_tail_is_zero_and_has_its_tensors_target() {
        let all = segments(&[tensor(MIB / 2), tensor(MIB / 2)]);
        let snapshot = all[0].snapshots[0];
        assert_eq!((snapshot.entries(), snapshot.over(Target::X4)), (2 * MIB / 128, MIB / 128));
        let choice = Profile::new(all).choose(Design::PerAllocation, &Rule::default());
        assert_eq!(choice.targets.get("small segment 1"), Target::X1, "half of the entries are over any other");
    }
}
