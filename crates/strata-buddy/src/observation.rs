//! How compressible a program's memory is: its snapshots, counted.

use crate::counts::{ByteCounts, TensorCounts, entries};
use crate::places::Places;
use crate::{Allocation, Profile, caching};
use strata_codec::{Codec, ENTRY_BYTES};
use strata_core::Bytes;
use strata_heatmap::HeatMap;
use strata_mechanism::Moment;

/// One allocation over the snapshots of a run.
#[derive(Clone, Debug)]
pub struct Observed {
    /// What the program calls it.
    pub name: String,
    /// Its size.
    pub bytes: Bytes,
    /// Snapshot by snapshot; nothing where it does not live.
    pub snapshots: Vec<TensorCounts>,
}

impl Observed {
    /// All snapshots together.
    pub fn total(&self) -> TensorCounts {
        let mut sum = TensorCounts::default();
        for counts in &self.snapshots {
            sum.merge(counts);
        }
        sum
    }
}

/// What to look for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wanted {
    /// Codecs to compare, besides BPC.
    pub codecs: &'static [Codec],
    /// Draw a heat map of the middle snapshot.
    pub map: bool,
    /// Keep where in each allocation compressible data are in the middle snapshot.
    pub places: bool,
}

/// The snapshots of a run.
#[derive(Default)]
pub struct Observation {
    /// Allocations, in the order of their making.
    pub allocations: Vec<Observed>,
    /// Snapshots taken.
    pub snapshots: usize,
    /// Bytes of all snapshots, by value.
    pub values: ByteCounts,
    /// Where in memory compressible data are.
    pub map: Option<HeatMap>,
    /// The same, allocation by allocation.
    pub places: Vec<Places>,
}

impl Observation {
    /// Counts what memory holds at a moment.
    pub fn see(&mut self, moment: &Moment<'_>, wanted: Wanted) -> Result<(), String> {
        let all = moment.allocations.iter().map(|a| entries(a.size.0)).sum();
        let is_middle = moment.number == moment.of / 2;
        let map = (wanted.map && is_middle).then(|| HeatMap::new(all));
        let mut first = 0;
        for allocation in moment.allocations {
            let begin = first;
            let mut places = (wanted.places && is_middle).then(|| Places::new(&allocation.name, allocation.size));
            let mut counts = TensorCounts::default();
            moment.read(allocation, |bytes| {
                self.values.count(bytes);
                let mut draw = |index: usize, bytes: u16| {
                    if let Some(map) = &map {
                        map.add(first + index as u64, bytes);
                    }
                    if let Some(places) = &mut places {
                        places.add(first - begin + index as u64, bytes);
                    }
                };
                let (whole, rest) = bytes.as_chunks::<ENTRY_BYTES>();
                counts.count(whole, wanted.codecs, &mut draw);
                if !rest.is_empty() {
                    let mut last = [0; ENTRY_BYTES];
                    last[..rest.len()].copy_from_slice(rest);
                    counts.count(&[last], wanted.codecs, |index, bytes| draw(whole.len() + index, bytes));
                }
                first += entries(bytes.len() as u64);
            })?;
            self.places.extend(places);
            self.add(allocation, moment.number, &counts);
        }
        self.map = map.or(self.map.take());
        Ok(())
    }

    /// All has been seen, at so many moments: allocations that did not live at the last ones hold nothing there.
    pub fn end(&mut self, snapshots: usize) {
        self.snapshots = snapshots;
        for allocation in &mut self.allocations {
            allocation.snapshots.resize(snapshots, TensorCounts::default());
        }
    }

    /// Adds what a snapshot holds of an allocation. One that is freed and made again is the same.
    fn add(&mut self, allocation: &strata_core::Allocation, number: usize, counts: &TensorCounts) {
        let (name, bytes) = (&allocation.name, allocation.size);
        let same = |a: &Observed| a.name == *name && a.bytes == bytes;
        let known = self.allocations.iter().position(same).unwrap_or_else(|| {
            self.allocations.push(Observed { name: name.clone(), bytes, snapshots: Vec::new() });
            self.allocations.len() - 1
        });
        let snapshots = &mut self.allocations[known].snapshots;
        snapshots.resize(number + 1, TensorCounts::default());
        snapshots[number].merge(counts);
    }

    /// For the profiler.
    pub fn profile(&self) -> Profile {
        Profile::new(self.for_profiles())
    }

    /// For the profiler, if the allocations were tensors in the memory of a framework.
    pub fn cached(&self) -> Profile {
        Profile::new(caching::segments(&self.for_profiles().collect::<Vec<_>>()))
    }

    fn for_profiles(&self) -> impl Iterator<Item = Allocation> {
        self.allocations.iter().map(|a| Allocation {
            name: a.name.clone(),
            bytes: a.bytes,
            snapshots: a.snapshots.iter().map(|counts| counts.states).collect(),
        })
    }

    /// All allocations in one snapshot.
    pub fn snapshot(&self, number: usize) -> TensorCounts {
        let mut sum = TensorCounts::default();
        for counts in self.allocations.iter().filter_map(|a| a.snapshots.get(number)) {
            sum.merge(counts);
        }
        sum
    }

    /// All allocations in all snapshots.
    pub fn total(&self) -> TensorCounts {
        let mut sum = TensorCounts::default();
        for number in 0..self.snapshots {
            sum.merge(&self.snapshot(number));
        }
        sum
    }

    /// Bytes allocated, of all allocations that were seen.
    pub fn bytes(&self) -> Bytes {
        Bytes(self.allocations.iter().map(|a| a.bytes.0).sum())
    }
}
