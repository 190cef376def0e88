//! What crosses L2's edge, allocation by allocation: how often entries of each size are filled and written back in a timed run.
//!
//! The Buddy Threshold "limits the expected fraction of buddy-memory accesses" (section III-B). Snapshots tell how many entries are
//! over a target, and that is the same only if all are accessed alike. A run on the plain machine with [`Watch`] in it tells
//! the rest: every fill and every write-back is counted with the size that its entry compresses to at that moment.

use crate::{EntryState, Histogram, Split, Target};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use strata_codec::Codec;
use strata_core::settings::Settings as Values;
use strata_core::{HostEvent, LINE_BYTES, LineAddr};
use strata_mechanism::{Mechanism, MechanismError, Preparation, Prepared};
use strata_sim::cache::SectorMask;
use strata_sim::seam::{Below, LineRequest, MemorySide, Parts, Plan};
use strata_sim::{Layer, MachineBuilder};

/// Fills and write-backs of one allocation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Crossings {
    /// By the state of the entry.
    states: Histogram,
    /// Those of entries that do not compress, by the last sector that was wanted or dirty: they move by sector.
    raw: [u64; 4],
}

impl Crossings {
    /// Counts accesses to sectors of an entry in a state.
    pub fn add(&mut self, state: EntryState, sectors: SectorMask, accesses: u64) {
        self.states.add(state, accesses);
        if state == EntryState::B128 && !sectors.is_empty() {
            self.raw[sectors.0.ilog2() as usize] += accesses;
        }
    }

    /// Adds what another counted.
    pub fn merge(&mut self, other: &Self) {
        self.states.merge(&other.states);
        self.raw.iter_mut().zip(other.raw).for_each(|(count, more)| *count += more);
    }

    /// All of them.
    pub fn accesses(&self) -> u64 {
        self.states.entries()
    }

    /// Those that need the link with this target: of an entry that does not compress, where a sector beyond the device's is
    /// accessed; of others, where the code is longer than the device has room for.
    pub fn over(&self, target: Target) -> u64 {
        let raw: u64 = self.raw.iter().sum();
        let compressed = self.states.over(target) - if target == Target::X1 { 0 } else { raw };
        let raw_over = match target {
            Target::X1 => 0,
            Target::X16 => raw,
            _ => self.raw[Split::of(EntryState::B128, target).device as usize..].iter().sum(),
        };
        compressed + raw_over
    }
}

/// Who is told.
type Counts = Arc<Mutex<BTreeMap<String, Crossings>>>;

/// A mechanism that changes nothing and counts what crosses L2's edge. It is no mechanism to compare, so it is not registered.
#[derive(Clone, Default)]
pub struct Watch {
    counts: Counts,
}

impl Watch {
    /// Its name where it must have one.
    pub const NAME: &'static str = "crossings";

    /// What was counted so far, by the name of the allocation.
    pub fn counted(&self) -> BTreeMap<String, Crossings> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Mechanism for Watch {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn description(&self) -> &'static str {
        "counts fills and write-backs by allocation and by the size that their entry compresses to"
    }

    fn prepare(&self, _: &Values, _: &mut dyn Preparation) -> Result<Box<dyn Prepared>, MechanismError> {
        Ok(Box::new(Self { counts: Arc::clone(&self.counts) }))
    }
}

impl Prepared for Watch {
    fn install(&mut self, machine: &mut MachineBuilder) {
        let counts = Arc::clone(&self.counts);
        machine.memory_side(Self::NAME, Layer::Resizes, move |_| Box::new(WatchSide::new(Arc::clone(&counts))));
    }
}

/// One partition's.
struct WatchSide {
    /// Living allocations by their first lines: the line after their last, and which they are.
    living: BTreeMap<u64, (u64, usize)>,
    own: Vec<(String, Crossings)>,
    counts: Counts,
}

impl WatchSide {
    fn new(counts: Counts) -> Self {
        Self { living: BTreeMap::new(), own: Vec::new(), counts }
    }

    fn count(&mut self, request: &LineRequest<'_>) {
        let LineAddr(line) = request.address;
        let before = self.living.range(..=line).next_back();
        if let Some((_, &(_, index))) = before.filter(|(_, (end, _))| line < *end) {
            let state = EntryState::of(Codec::Bpc.size(request.data));
            self.own[index].1.add(state, request.sectors, 1);
        }
    }
}

impl Drop for WatchSide {
    /// The machine is gone: what this partition saw is told.
    fn drop(&mut self) {
        let mut all = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        for (name, crossings) in self.own.drain(..) {
            all.entry(name).or_default().merge(&crossings);
        }
    }
}

impl MemorySide for WatchSide {
    fn attach(&mut self, _: &mut Parts) {}

    fn host_event(&mut self, event: &HostEvent) {
        match event {
            HostEvent::Alloc(a) => {
                let index = self.own.iter().position(|(name, _)| *name == a.name).unwrap_or_else(|| {
                    self.own.push((a.name.clone(), Crossings::default()));
                    self.own.len() - 1
                });
                let end = (a.start.0 + a.size.0).div_ceil(LINE_BYTES);
                self.living.insert(a.start.line().0, (end, index));
            }
            HostEvent::Free { start, .. } => {
                self.living.remove(&start.line().0);
            }
            _ => {}
        }
    }

    fn read(&mut self, request: &LineRequest<'_>, mut below: Below<'_>, plan: &mut Plan) {
        self.count(request);
        below.read(request, plan);
    }

    fn write(&mut self, request: &LineRequest<'_>, mut below: Below<'_>, plan: &mut Plan) {
        self.count(request);
        below.write(request, plan);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Target::{X1, X2, X4, X4Over3, X16};
    use strata_core::{Addr, Allocation, Bytes};
    use strata_sim::config::load;
    use strata_testkit::sim::Rig;
    use strata_testkit::{Instr, Script};

    #[test]
    fn an_entry_that_does_not_compress_needs_the_link_where_a_sector_beyond_the_devices_is_accessed() {
        let mut crossings = Crossings::default();
        for (sectors, accesses) in [(0b0001, 1), (0b0010, 10), (0b0101, 100), (0b1111, 1000)] {
            crossings.add(EntryState::B128, SectorMask(sectors), accesses);
        }
        assert_eq!([X1, X4Over3, X2, X4, X16].map(|t| crossings.over(t)), [0, 1000, 1100, 1110, 1111]);
        crossings.add(EntryState::B64, SectorMask(0b0001), 5);
        assert_eq!([X1, X4Over3, X2, X4, X16].map(|t| crossings.over(t)), [0, 1000, 1100, 1115, 1116]);
        assert_eq!(crossings.accesses(), 1116);
    }

    #[test]
    fn fills_and_write_backs_are_counted_where_they_belong() {
        let watch = Watch::default();
        let set = ["dram.channels=1", "l2.slices=1", "l2.sets=1", "l2.ways=2", "l2.copies_fill=false"];
        let mut builder = MachineBuilder::new(load("p100-buddy", &set).expect("a preset").config);
        watch.clone().install(&mut builder);
        let mut rig = Rig::new(builder.build().expect("a machine"));
        for (id, name, start) in [(0, "a", 0x1000), (1, "b", 0x2000)] {
            rig.tell(&HostEvent::Alloc(Allocation::on_device(id, name, Addr(start), Bytes(0x1000))));
        }
        // A line of `a` is filled; one of `b` is written, and leaves when two others come, of which one was never allocated.
        let load = |at| Instr::load(at);
        let warp = [load(0x1000), Instr::store_line(0x2000).word(7), load(0x1080), load(0x1100), load(0x9000)];
        rig.run(Script::new(&[warp])).expect("it runs");
        drop(rig);
        let counted = watch.counted();
        assert_eq!((counted["a"].accesses(), counted["b"].accesses()), (3, 1));
        assert_eq!(counted["a"].over(X16), 0, "zeros");
        assert_eq!((counted["b"].over(X2), counted["b"].over(X16)), (0, 0), "the same word throughout");
    }
}
