//! Compressed memory behind L2, on the machine's memory-side seam: Buddy Compression and bandwidth-only compression.
//!
//! A fill reads the entry's metadata, then the sectors of its code, from the device and over the link at the same time, and
//! decompresses them into all four sectors of the line. A write-back compresses the line and writes what the code takes; if
//! L2 does not have the whole line, the entry is read, decompressed and merged first. Nothing moves when an entry grows or
//! shrinks: its places on both sides are fixed by the target.
//!
//! An entry that is all zero is in its metadata alone: what is written to it merges without a read. One that is stored as it is
//! needs no codec and is memory like any other: of it the wanted sectors are read and the dirty ones written. It becomes a
//! compressed one only when L2 writes a line back that it has whole, because nobody reads memory just to compress it. Where
//! the target keeps 8 bytes of an entry, its sectors lie across those of both memories, and it moves whole.

use crate::allocations::Allocations;
use crate::settings::Settings;
use crate::shadow::{SHADOW_KIB, Shadows};
use crate::states::States;
use crate::{EntryState, Split, Target};
use std::sync::Arc;
use strata_codec::Codec;
use strata_core::stats::Unit;
use strata_core::{Bytes, HostEvent, LINE_BYTES, LineAddr, SECTOR_BYTES};
use strata_sim::cache::SectorMask;
use strata_sim::config::GpuConfig;
use strata_sim::seam::{
    Below, Counted, Dir, Line, LineRange, LineRequest, LinkId, LocalAddr, LocalLine, MemorySide, Move, Parts, Plan,
    Reserved, SideCount, StepSet, StoredPages, TableId, TableSpec, TrafficId, UnitId,
};
use strata_sim::time::Cycles;

/// Energy of an access to a metadata cache of a few KB. Choice: a small SRAM at 16 nm reads 32 bytes for some picojoules.
const METADATA_FJ: u64 = 4_000;

/// Energy of a compression or decompression of 128 bytes. Choice: some tens of thousands of gates, used once each.
const CODEC_FJ: u64 = 20_000;

/// What compression is for.
#[derive(Clone, Debug)]
pub enum Purpose {
    /// Fewer sectors move, every entry keeps its 128 bytes.
    Bandwidth,
    /// Allocations take less of device memory, and what does not fit is in buddy memory.
    Capacity(Allocations),
}

/// The compressed memory of one partition.
pub struct CompressedSide {
    purpose: Purpose,
    /// L2 cycles of a compression or decompression.
    codec_cycles: u32,
    metadata: Option<TableSpec>,
    parts: Option<Declared>,
    /// Nothing is compressed.
    stores_raw: bool,
    states: States,
    shadows: Option<Shadows>,
    counts: Counts,
    /// Who asks what pages take.
    pages: Option<Arc<StoredPages>>,
}

/// What it asked of the machine.
#[derive(Clone, Copy)]
struct Declared {
    table: Option<TableId>,
    compressor: UnitId,
    decompressor: UnitId,
    /// Sectors beyond the target.
    overflow: TrafficId,
    /// Reads for write-backs of lines that L2 does not have whole.
    merge: TrafficId,
}

#[derive(Clone, Copy, Default)]
struct Counts {
    fills: u64,
    fills_over_link: u64,
    write_backs: u64,
    write_backs_over_link: u64,
    merges: u64,
    grown: u64,
}

/// Where an entry lies on the device, and how it is split.
struct Placed {
    at: LocalAddr,
    target: Option<Target>,
}

impl Placed {
    /// True if the sectors of an entry in this state are found where those of the line would be, each for itself.
    fn has_sectors(&self, state: EntryState) -> bool {
        state == EntryState::B128 && self.target != Some(Target::X16)
    }

    fn split(&self, state: EntryState) -> Split {
        match self.target {
            Some(target) => Split::of(state, target),
            None => Split { device: state.bytes().div_ceil(SECTOR_BYTES as u32), buddy: 0 },
        }
    }
}

impl CompressedSide {
    /// Of one partition of a GPU.
    pub fn new(purpose: Purpose, settings: &Settings, gpu: &GpuConfig) -> Self {
        let share = gpu.dram.size.0 / u64::from(gpu.dram.channels);
        let metadata = settings.metadata_cache.map(|total| TableSpec {
            name: match purpose {
                Purpose::Bandwidth => "bpc.metadata",
                Purpose::Capacity(_) => "buddy.metadata",
            },
            entry_bits: EntryState::BITS,
            // Behind everything that programs can allocate.
            home: LocalAddr(share.next_multiple_of(LINE_BYTES)),
            cache: Bytes(total.0 / u64::from(gpu.dram.channels)),
            ways: settings.metadata_ways,
            latency: settings.metadata_cycles,
            access_fj: METADATA_FJ,
        });
        let time = gpu.clock.dram.span(Cycles(u64::from(settings.codec_dram_cycles)));
        let codec_cycles = gpu.clock.l2.next(time).0 as u32;
        let shadows = settings.shadows.then(|| Shadows::new(gpu.dram.channels, settings.metadata_ways));
        let stores_raw = settings.stores_raw;
        let states = States::of_memory(if stores_raw { EntryState::B128 } else { EntryState::Zero });
        Self {
            purpose,
            codec_cycles,
            metadata,
            parts: None,
            stores_raw,
            states,
            shadows,
            counts: Counts::default(),
            pages: None,
        }
    }

    /// Where a line's entry is; none if it is not compressed.
    fn place(&self, line: LocalLine, address: LineAddr) -> Option<Placed> {
        match &self.purpose {
            Purpose::Bandwidth => Some(Placed { at: line.addr(), target: None }),
            Purpose::Capacity(allocations) => match allocations.target(address) {
                Target::X1 => None,
                target => {
                    // Entries of a page lie side by side; the pages' own places do not matter to time.
                    let at = line.0 * u64::from(target.device_bytes());
                    Some(Placed { at: LocalAddr(at - at % SECTOR_BYTES), target: Some(target) })
                }
            },
        }
    }

    /// What plans a request; none if the line is not compressed.
    fn planner<'p>(&self, request: &LineRequest<'_>, plan: &'p mut Plan) -> Option<Planner<'p>> {
        let placed = self.place(request.line, request.address)?;
        Some(Planner { parts: self.parts?, placed, line: request.line, codec_cycles: self.codec_cycles, plan })
    }

    /// Shows a request to the shadow caches.
    fn shadow(&mut self, request: &LineRequest<'_>) {
        if self.shadows.is_some()
            && self.place(request.line, request.address).is_some()
            && let Some(shadows) = &mut self.shadows
        {
            shadows.access(request.line);
        }
    }

    /// An entry is stored otherwise from now on.
    fn set_state(&mut self, request: &LineRequest<'_>, new: EntryState) {
        let old = self.states.set(request.line, new);
        if let Some(pages) = &self.pages {
            pages.changed(request.address, old.bytes(), new.bytes());
        }
    }

    /// How a line is stored that is known whole.
    fn state_of(&self, data: &Line) -> EntryState {
        if self.stores_raw { EntryState::B128 } else { EntryState::of(Codec::Bpc.size(data)) }
    }
}

/// Makes the plan of one request.
struct Planner<'p> {
    parts: Declared,
    placed: Placed,
    line: LocalLine,
    codec_cycles: u32,
    plan: &'p mut Plan,
}

impl Planner<'_> {
    /// Reads the entry and decompresses it.
    fn fetch(&mut self, state: EntryState, why: TrafficId) -> StepSet {
        let known = self.metadata(Dir::Read, StepSet::NONE);
        let there = self.transfer(state, Dir::Read, why, known);
        if matches!(state, EntryState::Zero | EntryState::B128) {
            return there;
        }
        self.codec(self.parts.decompressor, there)
    }

    /// Compresses the entry and writes it. Its metadata is changed if its state is new, and looked at if nobody did before.
    fn store(&mut self, state: EntryState, is_new: bool, unknown: bool, after: StepSet) {
        let compressed = self.codec(self.parts.compressor, after);
        self.transfer(state, Dir::Write, TrafficId::DATA, compressed);
        if is_new || unknown {
            self.metadata(if is_new { Dir::Write } else { Dir::Read }, compressed);
        }
    }

    /// Looks the entry's metadata up, or changes it.
    fn metadata(&mut self, dir: Dir, after: StepSet) -> StepSet {
        let entry = self.line.0;
        let look_up = |table| Move::Table { table, entry, dir };
        self.parts.table.map_or(after, |table| self.plan.add(look_up(table), after, true))
    }

    /// Moves the sectors of the entry, on both sides at once.
    fn transfer(&mut self, state: EntryState, dir: Dir, why: TrafficId, after: StepSet) -> StepSet {
        let Split { device, buddy } = self.placed.split(state);
        self.transfer_parts(SectorMask((1 << device) - 1), buddy, dir, why, after)
    }

    /// Moves some sectors of an entry that is stored as it is: those that the device has no room for are in buddy memory.
    fn transfer_sectors(&mut self, sectors: SectorMask, dir: Dir, why: TrafficId, after: StepSet) -> StepSet {
        let (device, buddy) = self.sides_of(sectors);
        self.transfer_parts(device, buddy.count(), dir, why, after)
    }

    /// Reads what the write of an entry that is stored as it is cannot leave as it was: sectors of which L2 has only some bytes,
    /// if device memory cannot mask a write. Buddy memory is somebody else's, who does that on its side of the link.
    fn read_parts(&mut self, after: StepSet) -> StepSet {
        let (device, _) = self.sides_of(self.plan.in_part);
        self.plan.read_parts(self.placed.at, device, self.parts.merge, after)
    }

    /// Where sectors of an entry that is stored as it is lie: on the device, and in buddy memory.
    fn sides_of(&self, sectors: SectorMask) -> (SectorMask, SectorMask) {
        let on_device = SectorMask((1 << self.placed.split(EntryState::B128).device) - 1);
        (sectors.and(on_device), sectors.without(on_device))
    }

    fn transfer_parts(&mut self, sectors: SectorMask, buddy: u32, dir: Dir, why: TrafficId, after: StepSet) -> StepSet {
        let mut moved = after;
        if !sectors.is_empty() {
            moved = moved.and(self.plan.add(Move::Dram { at: self.placed.at, sectors, dir, why }, after, true));
        }
        if buddy > 0 {
            let bytes = buddy * SECTOR_BYTES as u32;
            let over = Move::Link { link: LinkId::HOST, bytes, dir, why: self.parts.overflow };
            moved = moved.and(self.plan.add(over, after, true));
        }
        moved
    }

    fn codec(&mut self, unit: UnitId, after: StepSet) -> StepSet {
        self.plan.add(Move::Unit { unit, latency: self.codec_cycles, interval: 1 }, after, true)
    }
}

impl MemorySide for CompressedSide {
    fn attach(&mut self, parts: &mut Parts) {
        self.pages = parts.stored_pages();
        self.parts = Some(Declared {
            table: self.metadata.map(|spec| parts.table(spec)),
            compressor: parts.unit(CODEC_FJ),
            decompressor: parts.unit(CODEC_FJ),
            overflow: parts.traffic("overflow"),
            merge: parts.traffic("merge"),
        });
    }

    fn host_event(&mut self, event: &HostEvent) {
        if let Purpose::Capacity(allocations) = &mut self.purpose {
            allocations.host_event(event);
        }
    }

    fn read(&mut self, request: &LineRequest<'_>, mut below: Below<'_>, plan: &mut Plan) {
        self.shadow(request);
        let Some(mut planner) = self.planner(request, plan) else { return below.read(request, plan) };
        let state = self.states.get(request.line);
        debug_assert!(
            state == EntryState::B128 || state == self.state_of(request.data),
            "metadata of {:?}",
            request.address
        );
        self.counts.fills += 1;
        if planner.placed.has_sectors(state) {
            let known = planner.metadata(Dir::Read, StepSet::NONE);
            planner.transfer_sectors(request.sectors, Dir::Read, TrafficId::DATA, known);
            self.counts.fills_over_link += u64::from(!planner.sides_of(request.sectors).1.is_empty());
            plan.fill = request.sectors;
        } else {
            planner.fetch(state, TrafficId::DATA);
            self.counts.fills_over_link += u64::from(planner.placed.split(state).buddy > 0);
            plan.fill = SectorMask::ALL;
        }
    }

    fn write(&mut self, request: &LineRequest<'_>, mut below: Below<'_>, plan: &mut Plan) {
        self.shadow(request);
        let Some(mut planner) = self.planner(request, plan) else { return below.write(request, plan) };
        let old = self.states.get(request.line);
        let whole = request.resident == SectorMask::ALL;
        let by_sector = planner.placed.has_sectors(old);
        let new = if by_sector && !whole { old } else { self.state_of(request.data) };
        self.set_state(request, new);
        self.counts.write_backs += 1;
        self.counts.grown += u64::from(new > old);
        if by_sector && new == old {
            let known = planner.metadata(Dir::Read, StepSet::NONE);
            let tried = if whole { planner.codec(planner.parts.compressor, known) } else { known };
            let merged = planner.read_parts(tried);
            planner.transfer_sectors(request.sectors, Dir::Write, TrafficId::DATA, merged);
            self.counts.write_backs_over_link += u64::from(!planner.sides_of(request.sectors).1.is_empty());
            return;
        }
        self.counts.write_backs_over_link += u64::from(planner.placed.split(new).buddy > 0);
        self.counts.merges += u64::from(!whole && old != EntryState::Zero);
        let merged = if whole { StepSet::NONE } else { planner.fetch(old, planner.parts.merge) };
        planner.store(new, new != old, whole, merged);
    }

    fn host_wrote(&mut self, request: &LineRequest<'_>, mut below: Below<'_>) {
        let state = self.state_of(request.data);
        self.set_state(request, state);
        below.host_wrote(request);
    }

    /// At the host a page is stored as entries would be here.
    fn written_away(&mut self, request: &LineRequest<'_>, mut below: Below<'_>) {
        let state = self.state_of(request.data);
        self.set_state(request, state);
        below.written_away(request);
    }

    fn reserved(&self, address: LineAddr, below: &Reserved<'_>) -> u32 {
        match &self.purpose {
            Purpose::Bandwidth => below.bytes(address),
            Purpose::Capacity(allocations) => allocations.target(address).device_bytes(),
        }
    }

    fn counts(&self, _: &Counted<'_>) -> Vec<SideCount> {
        let c = &self.counts;
        let (requests, events) = (Unit::Requests, Unit::Events);
        let list = [
            ("buddy.fills", "bpc.fills", requests, "L2 fills of compressed memory", c.fills),
            ("buddy.fills_over_link", "", requests, "of those, the ones that used the link", c.fills_over_link),
            ("buddy.write_backs", "bpc.write_backs", requests, "L2 write-backs to compressed memory", c.write_backs),
            (
                "buddy.write_backs_over_link",
                "",
                requests,
                "of those, the ones that used the link",
                c.write_backs_over_link,
            ),
            (
                "buddy.merges",
                "bpc.merges",
                requests,
                "write-backs of compressed entries that L2 did not have whole: the entry is read first",
                c.merges,
            ),
            (
                "buddy.overflows",
                "bpc.overflows",
                events,
                "write-backs whose entry takes a larger size than before",
                c.grown,
            ),
        ];
        let buddy = matches!(self.purpose, Purpose::Capacity(_));
        let own = list
            .into_iter()
            .map(|(capacity, bandwidth, unit, what, value)| SideCount {
                name: if buddy { capacity } else { bandwidth },
                unit,
                what,
                value,
            })
            .filter(|count| !count.name.is_empty());
        own.chain(self.shadows.iter().flat_map(shadow_counts)).collect()
    }

    fn stored_bytes(&self, range: LineRange) -> Bytes {
        let lines = range.first.0..range.first.0 + range.lines;
        Bytes(lines.map(|line| u64::from(self.states.get(LocalLine(line)).bytes())).sum())
    }
}

/// What the shadow caches counted.
fn shadow_counts(shadows: &Shadows) -> impl Iterator<Item = SideCount> {
    const NAMES: [&str; SHADOW_KIB.len()] = [
        "shadow.hits_4k",
        "shadow.hits_8k",
        "shadow.hits_16k",
        "shadow.hits_32k",
        "shadow.hits_64k",
        "shadow.hits_128k",
        "shadow.hits_256k",
    ];
    let unit = Unit::Requests;
    let what = "accesses of metadata that would have hit in caches of this size";
    let hits = NAMES.into_iter().zip(shadows.hits).map(move |(name, value)| SideCount { name, unit, what, value });
    let what = "accesses of metadata that the shadow caches saw";
    hits.chain([SideCount { name: "shadow.accesses", unit, what, value: shadows.accesses }])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Targets;
    use strata_core::settings::Settings as Values;
    use strata_sim::config::load;
    use strata_sim::seam::LineKind;
    use strata_sim::{Layer, MachineBuilder};
    use strata_testkit::sim::{Chain, Rig, Traffic, brief};
    use strata_testkit::{Instr, Script};

    /// Where the one allocation of these tests is.
    const LINE: LineAddr = LineAddr(64);

    /// Told of the one allocation.
    fn side(target: Target) -> CompressedSide {
        let mut targets = Targets::default();
        targets.set("a", target);
        let values = Values::read("buddy", crate::settings::BUDDY, &[""; 0]).expect("defaults");
        let gpu = load("p100-buddy", &[""; 0]).expect("a preset").config;
        let purpose = Purpose::Capacity(Allocations::new(targets));
        let mut side = CompressedSide::new(purpose, &Settings::of_buddy(&values), &gpu);
        side.host_event(&HostEvent::Alloc(strata_core::Allocation::on_device(0, "a", LINE.addr(), Bytes(1 << 20))));
        side.attach(&mut Parts::default());
        side
    }

    fn chain(target: Target) -> Chain {
        Chain::of(vec![Box::new(side(target))])
    }

    /// An entry that compresses to 32, 64 or 128 bytes.
    fn entry(bytes: u32) -> Line {
        let mut state = 12_345u32;
        let mut random = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state >> 8
        };
        let bits = match bytes {
            32 => 5,
            64 => 12,
            _ => 24,
        };
        let mut line = [0; 128];
        for word in line.chunks_exact_mut(4) {
            word.copy_from_slice(&(random() >> (24 - bits)).to_le_bytes());
        }
        assert_eq!(EntryState::of(Codec::Bpc.size(&line)).bytes(), bytes);
        line
    }

    fn request(kind: LineKind, resident: u8, data: &Line) -> LineRequest<'_> {
        let (line, resident) = (LocalLine(2), SectorMask(resident));
        LineRequest { line, address: LINE, sectors: SectorMask(0b0001), resident, kind, data }
    }

    #[track_caller]
    fn check_read(target: Target, data: &Line, steps: &[&str]) {
        let mut chain = chain(target);
        chain.ask(&request(LineKind::HostWrite, 0, data));
        assert_eq!(brief(&chain.ask(&request(LineKind::Fill, 0, data))), steps);
    }

    #[test]
    fn a_fill_waits_for_metadata_then_for_both_sides_then_for_the_decompressor() {
        check_read(Target::X2, &entry(64), &["0:table<", "1:dram<2", "11:unit"]);
        check_read(Target::X4, &entry(64), &["0:table<", "1:dram<1", "1:link<1", "111:unit"]);
        check_read(Target::X16, &entry(32), &["0:table<", "1:dram<1", "1:link<1", "111:unit"]);
        check_read(Target::X2, &[0; 128], &["0:table<"]);
        // Not compressed: as if nothing was there.
        check_read(Target::X1, &entry(32), &["0:dram<1"]);
    }

    #[track_caller]
    fn check_write(before: &Line, resident: u8, after: &Line, steps: &[&str]) {
        let mut chain = chain(Target::X2);
        chain.ask(&request(LineKind::HostWrite, 0, before));
        assert_eq!(brief(&chain.ask(&request(LineKind::WriteBack, resident, after))), steps);
    }

    #[test]
    fn a_whole_line_is_compressed_and_written() {
        check_write(&entry(64), 0b1111, &entry(32), &["0:unit", "1:dram>1", "1:table>"]);
        check_write(&entry(32), 0b1111, &entry(128), &["0:unit", "1:dram>2", "1:link>2", "1:table>"]);
        check_write(&entry(32), 0b1111, &entry(32), &["0:unit", "1:dram>1", "1:table<"]);
        check_write(&entry(32), 0b1111, &[0; 128], &["0:unit", "1:table>"]);
    }

    #[test]
    fn of_a_line_that_l2_has_in_part_the_entry_is_read_first() {
        let merged = ["0:table<", "1:dram<2", "11:unit", "100:unit", "1000:dram>1", "1000:table>"];
        check_write(&entry(64), 0b0001, &entry(32), &merged);
        // Zeros need not be read.
        check_write(&[0; 128], 0b0001, &entry(32), &["0:table<", "1:unit", "10:dram>1", "10:table>"]);
    }

    /// Plans of a fill and of a write-back of an entry that is stored as it is; `whole`: L2 has all of it.
    #[track_caller]
    fn check_raw(target: Target, sectors: u8, whole: bool, fill: &[&str], write_back: &[&str]) {
        let (mut chain, data) = (chain(target), entry(128));
        chain.ask(&request(LineKind::HostWrite, 0, &data));
        let asks = |kind, resident| LineRequest { sectors: SectorMask(sectors), ..request(kind, resident, &data) };
        let plan = chain.ask(&asks(LineKind::Fill, 0));
        assert_eq!((brief(&plan), plan.fill), (fill.iter().map(|&s| s.to_owned()).collect(), SectorMask(sectors)));
        let resident = if whole { 0b1111 } else { sectors };
        assert_eq!(brief(&chain.ask(&asks(LineKind::WriteBack, resident))), write_back);
    }

    #[test]
    fn what_is_stored_as_it_is_moves_by_sector() {
        check_raw(Target::X2, 0b0001, false, &["0:table<", "1:dram<1"], &["0:table<", "1:dram>1"]);
        check_raw(Target::X2, 0b1100, false, &["0:table<", "1:link<2"], &["0:table<", "1:link>2"]);
        let across = ["0:table<", "1:dram<1", "1:link<1"];
        check_raw(Target::X2, 0b0110, false, &across, &["0:table<", "1:dram>1", "1:link>1"]);
        check_raw(Target::X4Over3, 0b0110, false, &["0:table<", "1:dram<2"], &["0:table<", "1:dram>2"]);
        // A whole line might compress now: that is tried, and still only what is dirty is written.
        check_raw(Target::X2, 0b0001, true, &["0:table<", "1:dram<1"], &["0:table<", "1:unit", "10:dram>1"]);
    }

    #[test]
    fn a_sector_that_l2_has_in_part_is_read_first_where_memory_cannot_mask_a_write() {
        let (mut side, data) = (side(Target::X2), entry(128));
        side.host_wrote(&request(LineKind::HostWrite, 0, &data), Below::plain());
        let in_part = |sectors, resident, in_part| {
            let mut plan = Plan { in_part: SectorMask(in_part), ..Plan::default() };
            let request = LineRequest { sectors: SectorMask(sectors), ..request(LineKind::WriteBack, resident, &data) };
            side.write(&request, Below::plain(), &mut plan);
            brief(&plan)
        };
        let mut in_part = in_part;
        assert_eq!(in_part(0b0011, 0b0001, 0b0010), ["0:table<", "1:dram<1", "10:dram>2"]);
        assert_eq!(in_part(0b1100, 0, 0b1100), ["0:table<", "1:link>2"], "buddy memory does that itself");
        assert_eq!(in_part(0b0011, 0b0001, 0), ["0:table<", "1:dram>2"], "a write can be masked");
    }

    #[test]
    fn an_entry_is_compressed_again_only_by_a_line_that_l2_has_whole() {
        let mut chain = chain(Target::X2);
        chain.ask(&request(LineKind::HostWrite, 0, &entry(128)));
        // In memory it would compress now, but nobody has read it.
        let part = chain.ask(&request(LineKind::WriteBack, 0b0001, &entry(32)));
        assert_eq!(
            (brief(&part), chain.stored_bytes(8)),
            (vec!["0:table<".to_owned(), "1:dram>1".to_owned()], Bytes(128))
        );
        let fill = chain.ask(&request(LineKind::Fill, 0, &entry(32)));
        assert_eq!(fill.fill, SectorMask(0b0001));
        chain.ask(&request(LineKind::WriteBack, 0b1111, &entry(32)));
        assert_eq!(chain.stored_bytes(8), Bytes(32));
        assert_eq!(chain.count("buddy.merges"), 0);
    }

    #[test]
    fn growing_entries_and_uses_of_the_link_are_counted() {
        let mut chain = chain(Target::X2);
        for data in [entry(32), entry(128), entry(64), [0; 128], entry(32)] {
            chain.ask(&request(LineKind::WriteBack, 0b1111, &data));
        }
        assert_eq!((chain.count("buddy.write_backs"), chain.count("buddy.write_backs_over_link")), (5, 1));
        assert_eq!((chain.count("buddy.overflows"), chain.stored_bytes(8)), (3, Bytes(32)));
    }

    #[test]
    fn without_targets_every_entry_keeps_its_place() {
        let values = Values::read("bpc", crate::settings::BPC, &[""; 0]).expect("defaults");
        let gpu = load("p100-buddy", &[""; 0]).expect("a preset").config;
        let side = CompressedSide::new(Purpose::Bandwidth, &Settings::of_bpc(&values), &gpu);
        let mut chain = Chain::of(vec![Box::new(side)]);
        let data = entry(128);
        chain.ask(&request(LineKind::HostWrite, 0, &data));
        let plan = chain.ask(&request(LineKind::Fill, 0, &data));
        assert_eq!((brief(&plan), plan.fill), (vec!["0:dram<1".to_owned()], SectorMask(0b0001)));
    }

    /// A machine with one set of two lines in L2, compressed for bandwidth or with a target of 2.
    fn machine(buddy: bool, codec: &str) -> Rig {
        let set = ["dram.channels=1", "l2.slices=1", "l2.sets=1", "l2.ways=2", "l2.copies_fill=false"];
        let mut builder = MachineBuilder::new(load("p100-buddy", &set).expect("a preset").config);
        let (name, known) = if buddy { ("buddy", crate::settings::BUDDY) } else { ("bpc", crate::settings::BPC) };
        let values = Values::read(name, known, &[format!("{name}.codec={codec}")]).expect("known");
        let mut targets = Targets::default();
        targets.set("a", Target::X2);
        let (purpose, settings) = if buddy {
            (Purpose::Capacity(Allocations::new(targets)), Settings::of_buddy(&values))
        } else {
            (Purpose::Bandwidth, Settings::of_bpc(&values))
        };
        let gpu = builder.config().clone();
        builder.memory_side(name, Layer::Resizes, move |_| {
            Box::new(CompressedSide::new(purpose.clone(), &settings, &gpu))
        });
        builder.check_data();
        let mut rig = Rig::new(builder.build().expect("a machine"));
        rig.tell(&HostEvent::Alloc(strata_core::Allocation::on_device(0, "a", LINE.addr(), Bytes(1 << 20))));
        // Not zero, so that nothing is known without a read.
        rig.copy_in(LINE.addr(), &entry(64));
        rig
    }

    #[test]
    fn sixteen_stores_of_8_bytes_are_one_write_back_without_a_merge() {
        for (buddy, name) in [(true, "buddy"), (false, "bpc")] {
            for (codec, data_sectors) in [("bpc", 1), ("raw", 4)] {
                let at = LINE.addr().0;
                let store = |k: u64| Instr::store(at + 8 * k).lanes(0b11).word(7).needs(&[]);
                let evict = [1, 2].map(|line| Instr::load(at + 128 * line));
                let whole: Vec<Instr> = (0..16).map(store).chain(evict).collect();
                let count = |rig: &Rig, what: &str| rig.count(&format!("{name}.{what}"));
                let mut rig = machine(buddy, codec);
                rig.run(Script::new(&[whole])).expect("data is right");
                assert_eq!((count(&rig, "write_backs"), count(&rig, "merges")), (1, 0), "{name} {codec}");
                let reading = rig.reading();
                let traffic = |class: &str| {
                    let found = reading.sides.traffic.iter().find(|(name, _)| *name == class);
                    found.map(|(_, t)| (t.dram_read + t.link_read, t.dram_written + t.link_written)).expect("counted")
                };
                assert_eq!(traffic("merge"), (0, 0), "{name} {codec}");
                // The second half of a raw entry with a target of 2 goes over the link.
                let written = traffic("data").1 + traffic("overflow").1;
                assert_eq!(written, 32 * data_sectors, "{name} {codec}");
                // With one store less the entry is read and merged, or the sector that is in part.
                let mut rig = machine(buddy, codec);
                let part: Vec<Instr> = (0..15).map(store).chain(evict).collect();
                rig.run(Script::new(&[part])).expect("data is right");
                assert_eq!(count(&rig, "merges"), u64::from(codec == "bpc"), "{name} {codec}");
            }
        }
    }

    /// Whatever is compressed, every sector that is wanted comes, in plans that can be carried out.
    #[test]
    fn plans_are_sound_under_random_traffic() {
        for (target, seed) in [Target::X1, Target::X2, Target::X4, Target::X16].into_iter().zip(1..) {
            let traffic = Traffic { operations: 2000, ..Traffic::default() };
            let mut chain = chain(target).named_from(LINE);
            traffic.through_chain(&mut chain, seed).unwrap_or_else(|fault| panic!("{target:?}: {fault}"));
        }
    }
}
