//! How compressible a program's memory is: its snapshots, counted by size.

use crate::error::LabError;
use crate::monitor::Monitor;
use crate::request::RunRequest;
use crate::snapshot::{self, Moment};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use strata_buddy::{Allocation, EntryState, Histogram, Profile};
use strata_codec::{Codec, ENTRY_BYTES, SizeClasses};
use strata_core::Bytes;
use strata_host::HostError;

/// Sizes of the ideal study.
pub const IDEAL: usize = SizeClasses::IDEAL.all().len();

/// Entries, counted by the size they compress to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sizes {
    /// By the states of Buddy Compression.
    pub states: Histogram,
    /// With BPC, by the eight sizes of the ideal study.
    pub ideal: [u64; IDEAL],
    /// Bytes that each codec of [`Codec::ALL`] stores, in those sizes; 0 for codecs nobody asked for.
    pub stored: [u64; Codec::ALL.len()],
}

impl Sizes {
    /// Counts the entries of some bytes; a last one that is not whole is filled up with zeros.
    pub fn add(&mut self, bytes: &[u8], codecs: &[Codec]) {
        let (entries, rest) = bytes.as_chunks::<ENTRY_BYTES>();
        for entry in entries {
            self.add_entry(entry, codecs);
        }
        if !rest.is_empty() {
            let mut last = [0; ENTRY_BYTES];
            last[..rest.len()].copy_from_slice(rest);
            self.add_entry(&last, codecs);
        }
    }

    fn add_entry(&mut self, entry: &[u8; ENTRY_BYTES], codecs: &[Codec]) {
        let size = Codec::Bpc.size(entry);
        self.states.add(EntryState::of(size), 1);
        self.ideal[SizeClasses::IDEAL.index(size)] += 1;
        for (codec, stored) in Codec::ALL.iter().zip(&mut self.stored) {
            if codecs.contains(codec) {
                *stored += SizeClasses::IDEAL.bytes(codec.size(entry)) as u64;
            }
        }
    }

    /// Adds what another counted.
    pub fn merge(&mut self, other: &Self) {
        self.states.merge(&other.states);
        self.ideal.iter_mut().zip(other.ideal).for_each(|(sum, n)| *sum += n);
        self.stored.iter_mut().zip(other.stored).for_each(|(sum, n)| *sum += n);
    }

    /// All entries.
    pub fn entries(&self) -> u64 {
        self.states.entries()
    }

    /// Bytes over bytes stored, with BPC and the eight sizes. What is all zero takes nothing, so a program of zeros alone
    /// has no finite ratio; it is taken as if one byte was stored.
    pub fn ideal_ratio(&self) -> f64 {
        let sizes = SizeClasses::IDEAL.all();
        let stored: u64 = self.ideal.iter().zip(sizes).map(|(n, bytes)| n * u64::from(*bytes)).sum();
        (self.entries() * ENTRY_BYTES as u64) as f64 / stored.max(1) as f64
    }

    /// The same with a codec that was asked for.
    pub fn ratio(&self, codec: Codec) -> f64 {
        let stored = Codec::ALL.iter().position(|c| *c == codec).map_or(0, |k| self.stored[k]);
        (self.entries() * ENTRY_BYTES as u64) as f64 / stored.max(1) as f64
    }
}

/// One allocation over the snapshots of a run.
#[derive(Clone, Debug)]
pub struct Observed {
    /// What the program calls it.
    pub name: String,
    /// Its size.
    pub bytes: Bytes,
    /// Snapshot by snapshot; nothing where it does not live.
    pub snapshots: Vec<Sizes>,
}

/// What to look for.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// Codecs to compare.
    pub codecs: &'static [Codec],
    /// Keep the state of every entry of the middle snapshot: for heat maps.
    pub map: bool,
}

/// The snapshots of a run.
#[derive(Clone, Debug, Default)]
pub struct Observation {
    /// Allocations, in the order of their making.
    pub allocations: Vec<Observed>,
    /// Snapshots taken.
    pub snapshots: usize,
    /// BPC's size class (of the ideal study) of every entry in the middle snapshot, in the order of addresses.
    pub map: Vec<u8>,
}

/// Runs a program and counts its memory.
pub fn observe(
    request: &RunRequest,
    count: usize,
    wanted: Wanted,
    monitor: &Arc<Monitor>,
) -> Result<Observation, LabError> {
    let seen = Rc::<RefCell<Observation>>::default();
    let collected = Rc::clone(&seen);
    let look = move |moment: &Moment<'_>| collected.borrow_mut().see(moment, count, wanted);
    let snapshots = snapshot::observe(request, count, monitor, look)?;
    let mut observation = seen.take();
    observation.snapshots = snapshots;
    for allocation in &mut observation.allocations {
        allocation.snapshots.resize(snapshots, Sizes::default());
    }
    Ok(observation)
}

impl Observation {
    fn see(&mut self, moment: &Moment<'_>, count: usize, wanted: Wanted) -> Result<(), HostError> {
        for allocation in moment.allocations {
            let mut sizes = Sizes::default();
            let mapped = wanted.map && moment.number == count / 2;
            moment.read(allocation, |bytes| {
                sizes.add(bytes, wanted.codecs);
                if mapped {
                    let (entries, _) = bytes.as_chunks::<ENTRY_BYTES>();
                    self.map.extend(entries.iter().map(|e| SizeClasses::IDEAL.index(Codec::Bpc.size(e)) as u8));
                }
            })?;
            let (name, bytes) = (&allocation.name, allocation.size);
            let known = self.allocations.iter().position(|a| a.name == *name && a.bytes == bytes);
            let observed = match known {
                Some(known) => &mut self.allocations[known],
                None => {
                    self.allocations.push(Observed { name: name.clone(), bytes, snapshots: Vec::new() });
                    let last = self.allocations.len() - 1;
                    &mut self.allocations[last]
                }
            };
            observed.snapshots.resize(moment.number + 1, Sizes::default());
            observed.snapshots[moment.number].merge(&sizes);
        }
        Ok(())
    }

    /// For the profiler.
    pub fn profile(&self) -> Profile {
        Profile::new(self.allocations.iter().map(|a| Allocation {
            name: a.name.clone(),
            bytes: a.bytes,
            snapshots: a.snapshots.iter().map(|s| s.states.clone()).collect(),
        }))
    }

    /// All allocations in one snapshot.
    pub fn snapshot(&self, number: usize) -> Sizes {
        let mut sum = Sizes::default();
        self.allocations.iter().filter_map(|a| a.snapshots.get(number)).for_each(|s| sum.merge(s));
        sum
    }

    /// All allocations in all snapshots.
    pub fn total(&self) -> Sizes {
        let mut sum = Sizes::default();
        (0..self.snapshots).for_each(|k| sum.merge(&self.snapshot(k)));
        sum
    }

    /// Bytes allocated, of all allocations that were seen.
    pub fn bytes(&self) -> Bytes {
        Bytes(self.allocations.iter().map(|a| a.bytes.0).sum())
    }
}
