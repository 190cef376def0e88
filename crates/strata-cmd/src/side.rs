//! Deduplicated memory behind L2, on the machine's memory-side seam: turns decisions of [`Dedup`] into plans.
//!
//! A fill looks up the block's type; a block that is elsewhere also its mask and its map entry. One word is in the map entry;
//! a duplicate is copied from L2 if its reference is there (cache-assisted read), else read from where it is. A write-back
//! looks up the same metadata, reads old sectors that it does not cover (Dedup-Read), makes a fingerprint unless all words
//! are equal, and hands what is no duplicate on to what is below, at the place that was chosen for it.
//!
//! Each table is looked up once per request: an entry that is to change is looked up for writing.

use crate::block::{Block, KIND_BITS, Kind, MAP_BITS, MASK_BITS};
use crate::dedup::{At, Dedup, Outcome, Written};
use crate::guard::Guard;
use crate::requests::{ReadCounts, Requests, WrittenSectors};
use crate::settings::{Caches, OneWordReads, Settings};
use crate::streams::Streams;
use crate::study::Study;
use strata_core::{Bytes, LINE_BYTES, LineAddr, Paged};
use strata_sim::cache::SectorMask;
use strata_sim::config::GpuConfig;
use strata_sim::seam::{
    Below, Counted, Dir, Line, LineRequest, LocalAddr, LocalLine, MemorySide, Move, Parts, Plan, SideCount, StepSet,
    TableId, TableSpec, TrafficId, UnitId, Wanted,
};
use strata_sim::time::Cycles;

/// Energy of an access to a cache of metadata or to the hash store, per KB. Choice: SRAM of some tens of KB at 16 nm reads 32
/// bytes for about 10 pJ, and small ones for less.
const CACHE_FJ_PER_KB: u64 = 200;
const CACHE_FJ: u64 = 2_000;

/// Energy of an MD5 of 128 bytes. Choice: of 16,259 gates (CMD, section IV-E) a tenth switches in each of 228 cycles, for a
/// femtojoule each.
pub(crate) const MD5_FJ: u64 = 16_259 * 228 / 10;

/// What a block holds that is taken as a duplicate whatever it holds.
const ONE_WORD: Line = [0; LINE_BYTES as usize];

/// The deduplicated memory of one partition.
pub struct DedupSide {
    settings: Settings,
    memory: Dedup,
    timing: Timing,
    parts: Option<Declared>,
    requests: Requests,
    reads: ReadCounts,
    study: Option<Study>,
    written: WrittenSectors,
    /// What the paper does not have.
    guard: Option<Guard>,
    streams: Option<Streams>,
    /// The program's names of places, where something is below that asks for them: a place is its home's, whoever's block is there.
    names: Option<Paged<LineAddr>>,
}

/// What is below knows nothing of the spill area by name.
const UNNAMED: LineAddr = LineAddr(u64::MAX);

/// The settings' core cycles in L2 cycles, and where tables are.
#[derive(Clone, Copy)]
struct Timing {
    hash: u32,
    interval: u32,
    probe: Option<u32>,
    tables: [TableSpec; 3],
}

/// What it asked of the machine.
#[derive(Clone, Copy)]
struct Declared {
    kinds: TableId,
    masks: TableId,
    map: TableId,
    hash: UnitId,
    probe: UnitId,
    dedup_read: TrafficId,
}

/// Core cycles as L2 cycles.
pub(crate) fn l2_cycles(gpu: &GpuConfig, core: u32) -> u32 {
    gpu.clock.l2.next(gpu.clock.core.span(Cycles(u64::from(core)))).0 as u32
}

/// The table of something that a partition keeps for every block, behind all that programs can allocate; `after` are the
/// bits per block of tables before it.
pub(crate) fn table(
    name: &'static str,
    bits: u32,
    after: u32,
    cache: Bytes,
    caches: &Caches,
    gpu: &GpuConfig,
) -> TableSpec {
    let share = gpu.dram.size.0 / u64::from(gpu.dram.channels);
    // A sixty-fourth is left for the metadata of what is below.
    let first = share + share / 64 + share / LINE_BYTES * u64::from(after) / 8;
    TableSpec {
        name,
        entry_bits: bits,
        home: LocalAddr(first.next_multiple_of(LINE_BYTES)),
        cache,
        ways: caches.ways,
        latency: l2_cycles(gpu, caches.cycles),
        access_fj: cache_fj(cache),
    }
}

pub(crate) fn cache_fj(cache: Bytes) -> u64 {
    CACHE_FJ + CACHE_FJ_PER_KB * (cache.0 >> 10)
}

impl DedupSide {
    /// Of one partition of a GPU.
    pub fn new(settings: &Settings, gpu: &GpuConfig) -> Self {
        let caches = &settings.caches;
        let timing = Timing {
            hash: l2_cycles(gpu, settings.hash_cycles),
            interval: l2_cycles(gpu, settings.hash_interval),
            probe: settings.probe_cycles.map(|cycles| l2_cycles(gpu, cycles)),
            tables: [
                table("cmd.map", MAP_BITS, 0, caches.map, caches, gpu),
                table("cmd.type", KIND_BITS, MAP_BITS, caches.kind, caches, gpu),
                table("cmd.mask", MASK_BITS, MAP_BITS + KIND_BITS, caches.mask, caches, gpu),
            ],
        };
        Self {
            settings: *settings,
            memory: Dedup::new(settings.rules),
            timing,
            parts: None,
            requests: Requests::default(),
            reads: ReadCounts::default(),
            study: settings.study.then(Study::default),
            written: WrittenSectors::default(),
            guard: settings.guarded.then(|| Guard::new(gpu)),
            streams: settings.prefetches.then(Streams::default),
            names: None,
        }
    }

    /// Notes what the program calls the home of a block.
    fn name(&mut self, request: &LineRequest<'_>) {
        if let Some(names) = &mut self.names {
            *names.get_mut(request.line.0) = request.address;
        }
    }

    /// What the program calls a place.
    fn name_of(&self, place: u64, request: &LineRequest<'_>) -> LineAddr {
        self.names.as_ref().map_or(request.address, |names| *names.get(place))
    }

    /// Does something wrong from now on.
    #[cfg(test)]
    pub(crate) fn mutate(&mut self, mutation: crate::dedup::Mutation) {
        self.memory.mutate(mutation);
    }

    /// Whether a block is taken as a duplicate: a share of all blocks, spread evenly (a multiplicative hash) and always the same.
    const fn presumes_duplicate(&self, line: u64) -> bool {
        let spread = line.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        (spread * 100) >> 32 < self.settings.presumed_duplicates
    }

    /// A read of sectors at a place, where `data` is.
    fn reads<'a>(&self, request: &'a LineRequest<'a>, at: At, why: TrafficId, data: &'a Line) -> Access<'a> {
        let address = self.name_of(at.place, request);
        Access { request, at, dir: Dir::Read, why, data, address, in_hand: SectorMask::NONE }
    }

    /// The bytes at a place, as far as somebody needs them.
    fn data<'d>(&'d self, place: u64, otherwise: &'d Line) -> &'d Line {
        self.memory.bytes_at(place).unwrap_or(otherwise)
    }

    /// Plans a fill; without a look at metadata if that is spared.
    fn plan_read(
        &mut self,
        request: &LineRequest<'_>,
        parts: Declared,
        spared: bool,
        below: &mut Below<'_>,
        plan: &mut Plan,
    ) {
        let line = request.line.0;
        let found = self.memory.read(line, request.sectors);
        let (masked, at_home) = (u64::from(found.masked.count()), u64::from(found.at_home.count()));
        self.requests.data_read.before += masked;
        self.requests.read_only.before += at_home;
        self.requests.read_only.after += at_home;
        if at_home > 0 {
            self.reads.read(line);
        }
        let mut typed = StepSet::NONE;
        if !spared {
            self.requests.looked_up.kind += u64::from(request.sectors.count());
            typed = plan.add(Move::Table { table: parts.kinds, entry: line, dir: Dir::Read }, StepSet::NONE, true);
        }
        let home = |sectors| At { place: line, sectors };
        if matches!(found.block.kind, Kind::ReadOnly | Kind::Own) {
            self.requests.data_read.after += masked;
            let data = self.data(line, request.data);
            self.reads(request, home(request.sectors), TrafficId::DATA, data).through(below, typed, plan);
            return;
        }
        self.requests.looked_up.mask += u64::from(request.sectors.count());
        let mask = plan.add(Move::Table { table: parts.masks, entry: line, dir: Dir::Read }, typed, true);
        let mut fill = SectorMask::NONE;
        if masked > 0 && found.place.is_none() && self.settings.one_word_reads == OneWordReads::Dram {
            // The word is in the map; what it costs is a read of its home.
            self.requests.data_read.after += masked;
            self.reads(request, home(found.masked), TrafficId::DATA, request.data).through(below, mask, plan);
            fill = found.masked;
        } else if masked > 0 {
            let mapped = plan.add(Move::Table { table: parts.map, entry: line, dir: Dir::Read }, typed, true);
            self.requests.looked_up.map += masked;
            match found.place {
                None => {
                    self.requests.from_map += masked;
                    if let Some(guard) = &mut self.guard {
                        guard.saved(line, found.masked.count());
                    }
                    fill = found.masked;
                }
                Some(place) => {
                    let at = At { place, sectors: found.masked };
                    self.plan_moved(request, at, found.reference, mask.and(mapped), below, plan);
                    fill = plan.fill.and(found.block.mask);
                }
            }
        }
        if at_home > 0 {
            let data = self.data(line, request.data);
            self.reads(request, home(found.at_home), TrafficId::DATA, data).through(below, mask, plan);
            fill = fill.or(plan.fill.without(found.block.mask));
        }
        plan.fill = fill;
    }

    /// Plans the fill of sectors that kernels have written and that are not at the block's home.
    fn plan_moved(
        &mut self,
        request: &LineRequest<'_>,
        at: At,
        reference: Option<u64>,
        known: StepSet,
        below: &mut Below<'_>,
        plan: &mut Plan,
    ) {
        let Some(parts) = self.parts else { return };
        let mut known = known;
        let mut copy = None;
        if let (Some(line), Some(latency)) = (reference, self.timing.probe) {
            let probed = plan.add(Move::Unit { unit: parts.probe, latency, interval: 1 }, known, true);
            let what = Move::CopyFromL2 { line: LocalLine(line), sectors: at.sectors, otherwise: StepSet::NONE };
            copy = Some(plan.steps.len());
            known = plan.add(what, probed, true);
            self.requests.probed += u64::from(at.sectors.count());
        } else {
            self.requests.data_read.after += u64::from(at.sectors.count());
        }
        let access = self.reads(request, at, TrafficId::DATA, self.data(at.place, request.data));
        let bring = access.through(below, known, plan);
        if let Some(Move::CopyFromL2 { otherwise, .. }) = copy.map(|k| &mut plan.steps[k].what) {
            *otherwise = bring;
        }
    }

    fn count_write(&mut self, request: &LineRequest<'_>, outcome: Outcome) {
        let (r, sectors) = (&mut self.requests, u64::from(request.sectors.count()));
        r.write.before += 1;
        r.write_sectors.before += sectors;
        match outcome {
            Outcome::Intra => r.intra += 1,
            Outcome::Inter => r.inter += 1,
            Outcome::Stored(at) => {
                r.write.after += 1;
                r.write_sectors.after += u64::from(at.sectors.count());
                r.relocated += u64::from(at.place != request.line.0);
            }
        }
    }

    /// Reads what a write-back needs of the old block: sectors that it does not cover, and, if that is asked for, those of
    /// which it has some bytes alone.
    fn plan_old(&mut self, request: &LineRequest<'_>, below: &mut Below<'_>, plan: &mut Plan) {
        let Some(parts) = self.parts else { return };
        let (line, block) = (request.line.0, self.memory.block(request.line.0));
        let mut uncovered = self.memory.uncovered(line, request.sectors).map_or(SectorMask::NONE, |at| at.sectors);
        if self.settings.held_sectors {
            self.requests.held += u64::from(uncovered.and(request.resident).count());
            uncovered = uncovered.without(request.resident);
        }
        let partial =
            if self.settings.merges_partial { request.sectors.without(request.resident) } else { SectorMask::NONE };
        let mut read = |place, sectors: SectorMask| {
            if !sectors.is_empty() {
                let data = self.data(place, request.data);
                let access = self.reads(request, At { place, sectors }, parts.dedup_read, data);
                access.through(below, StepSet::NONE, plan);
            }
        };
        let mut merged = partial.and(block.defined).without(block.mask);
        read(line, merged);
        if let Some(place) = block.place(line) {
            read(place, uncovered.or(partial.and(block.mask)));
            merged = merged.or(partial.and(block.mask));
        }
        self.requests.uncovered += u64::from(uncovered.count());
        self.requests.uncovered_writes += u64::from(!uncovered.is_empty());
        self.requests.partial += u64::from(merged.count());
    }

    /// Looks up the metadata that a write-back of so many sectors reads or changes.
    fn plan_metadata(
        &mut self,
        line: u64,
        sectors: u32,
        (before, after): (&Block, &Block),
        plan: &mut Plan,
    ) -> StepSet {
        let Some(parts) = self.parts else { return StepSet::NONE };
        self.requests.looked_up.kind += u64::from(sectors);
        self.requests.looked_up.mask += u64::from(sectors);
        let dir = |changes: bool| if changes { Dir::Write } else { Dir::Read };
        let mut look_up =
            |table, changes, after| plan.add(Move::Table { table, entry: line, dir: dir(changes) }, after, false);
        let kind = look_up(parts.kinds, before.kind != after.kind, StepSet::NONE);
        let mask = look_up(parts.masks, before.mask != after.mask, StepSet::NONE);
        let uses_map = |block: &Block| matches!(block.kind, Kind::Intra | Kind::Inter);
        if !uses_map(before) && !uses_map(after) {
            return kind.and(mask);
        }
        let changes = uses_map(after) && (before.kind, before.map) != (after.kind, after.map);
        self.requests.looked_up.map += u64::from(sectors);
        kind.and(mask).and(look_up(parts.map, changes, kind))
    }

    /// Looks up the metadata of the block that comes next, if this one belongs to a stream: those that this one has.
    fn prefetch(&mut self, line: u64, kind: Kind, plan: &mut Plan) {
        let (Some(parts), Some(streams)) = (self.parts, &mut self.streams) else { return };
        let Some(entry) = streams.looked_up(line) else { return };
        let is_away = matches!(kind, Kind::Intra | Kind::Inter);
        let tables = [(parts.kinds, true), (parts.masks, is_away), (parts.map, is_away)];
        // What is below may have planned much.
        if plan.steps.len() + tables.len() > plan.steps.capacity() {
            return;
        }
        self.requests.prefetched += 1;
        for (table, _) in tables.into_iter().filter(|(_, wanted)| *wanted) {
            plan.add(Move::Table { table, entry, dir: Dir::Read }, StepSet::NONE, false);
        }
    }

    /// A write-back has been planned: what the guard learns of it.
    fn guard_write(&mut self, request: &LineRequest<'_>, written: &Written, old: u64, spared: bool) {
        let Some(guard) = &mut self.guard else { return };
        let line = request.line.0;
        guard.changed(line, written.before.kind, written.after.kind);
        if !matches!(written.outcome, Outcome::Stored(_)) {
            guard.saved(line, request.sectors.count());
        }
        let compared = written.compared.map_or(0, |at| at.sectors.count());
        guard.spent(line, old as u32 + compared);
        guard.asked(line, spared);
    }

    /// A guard knows that every block of a line's region is at its home.
    fn is_plain(&self, line: u64) -> bool {
        self.guard.as_ref().is_some_and(|guard| guard.is_plain(line))
    }

    /// What the host does to a block, in the eyes of the guard.
    fn guard_host(&mut self, line: u64, before: Kind) {
        let after = self.memory.block(line).kind;
        if let Some(guard) = &mut self.guard {
            guard.changed(line, before, after);
        }
    }
}

/// A way of sectors between a place and the controller.
struct Access<'a> {
    request: &'a LineRequest<'a>,
    at: At,
    dir: Dir,
    why: TrafficId,
    data: &'a Line,
    /// What the program calls the place.
    address: LineAddr,
    /// For a write: the sectors of the place that need not be read to write it whole.
    in_hand: SectorMask,
}

impl Access<'_> {
    /// Plans the way of sectors from or to a place, through what is below. The steps come after those given, `why` replaces
    /// the reason of those that move data.
    fn through(&self, below: &mut Below<'_>, after: StepSet, plan: &mut Plan) -> StepSet {
        let At { place, sectors } = self.at;
        let first = plan.steps.len();
        let request =
            LineRequest { line: LocalLine(place), address: self.address, sectors, data: self.data, ..*self.request };
        if self.dir == Dir::Write {
            below.write(&LineRequest { resident: self.in_hand, ..request }, plan);
        } else {
            below.read(&request, plan);
        }
        let mut added = StepSet::NONE;
        for (k, step) in plan.steps.iter_mut().enumerate().skip(first) {
            step.after = step.after.and(after);
            if let Move::Dram { why, .. } = &mut step.what
                && *why == TrafficId::DATA
            {
                *why = self.why;
            }
            added = added.and(StepSet::one(k as u8));
        }
        added
    }
}

impl MemorySide for DedupSide {
    fn attach(&mut self, parts: &mut Parts) {
        if parts.carries_bytes() {
            self.memory.carry_bytes();
            self.names = Some(Paged::filled_with(UNNAMED));
        }
        let [map, kinds, masks] = self.timing.tables;
        self.parts = Some(Declared {
            map: parts.table(map),
            kinds: parts.table(kinds),
            masks: parts.table(masks),
            hash: parts.unit(MD5_FJ + cache_fj(self.settings.hash_store)),
            probe: parts.unit(CACHE_FJ),
            dedup_read: parts.traffic("dedup_read"),
        });
    }

    fn read(&mut self, request: &LineRequest<'_>, mut below: Below<'_>, plan: &mut Plan) {
        let Some(parts) = self.parts else { return below.read(request, plan) };
        self.name(request);
        let line = request.line.0;
        let kind = self.memory.block(line).kind;
        let spared = matches!(kind, Kind::ReadOnly | Kind::Own) && self.is_plain(line);
        self.plan_read(request, parts, spared, &mut below, plan);
        if !spared {
            self.prefetch(line, kind, plan);
        }
        if let Some(guard) = &mut self.guard {
            guard.asked(line, spared);
        }
    }

    fn write(&mut self, request: &LineRequest<'_>, mut below: Below<'_>, plan: &mut Plan) {
        let Some(parts) = self.parts else { return below.write(request, plan) };
        self.name(request);
        let line = request.line.0;
        // What is read is planned before anything changes, and begins behind the look-ups, which are planned afterwards: how
        // they go depends on what comes of the write.
        let mut old = Plan::default();
        let deduplicates = self.guard.as_ref().is_none_or(|guard| guard.deduplicates(line));
        let dedup_reads = self.requests.uncovered + self.requests.partial;
        if deduplicates || !self.memory.is_alone_at_home(line) {
            self.plan_old(request, &mut below, &mut old);
        }
        let dedup_reads = self.requests.uncovered + self.requests.partial - dedup_reads;
        let held = self.memory.block(line).place(line).and_then(|place| Some((place, *self.memory.bytes_at(place)?)));
        let data = if self.presumes_duplicate(line) { &ONE_WORD } else { request.data };
        let written = if deduplicates {
            self.memory.write(line, request.sectors, data)
        } else {
            self.memory.write_plain(line, request.sectors, request.data)
        };
        self.count_write(request, written.outcome);
        self.written.set(request.line, written.after.mask);
        if let Some(study) = &mut self.study {
            study.wrote(line, written.after.mask, data);
        }
        let stays_home = [written.before, written.after].iter().all(|b| matches!(b.kind, Kind::ReadOnly | Kind::Own));
        let spared = !deduplicates && stays_home && self.is_plain(line);
        let mut known = StepSet::NONE;
        if !spared {
            known = self.plan_metadata(line, request.sectors.count(), (&written.before, &written.after), plan);
        }
        self.guard_write(request, &written, dedup_reads, spared);
        let mut ready = known.and(plan.append(&old, known));
        if written.hashed {
            self.requests.hashed += 1;
            if self.timing.hash > 0 {
                let Timing { hash: latency, interval, .. } = self.timing;
                ready = plan.add(Move::Unit { unit: parts.hash, latency, interval }, ready, false);
            }
        }
        if let Some(at) = written.compared {
            self.requests.compared += u64::from(at.sectors.count());
            self.requests.collided += u64::from(written.collided);
            let before = held.as_ref().filter(|(place, _)| *place == at.place);
            let data = before.map_or_else(|| self.data(at.place, request.data), |(_, bytes)| bytes);
            let compare = self.reads(request, at, parts.dedup_read, data);
            ready = compare.through(&mut below, ready, plan);
        }
        if let Outcome::Stored(at) = written.outcome {
            let elsewhere = at.place != line;
            let undefined = SectorMask::ALL.without(written.after.defined);
            let in_hand =
                if elsewhere { SectorMask::ALL } else { written.after.mask.or(undefined).or(request.resident) };
            let data = self.data(at.place, request.data);
            let address = self.name_of(at.place, request);
            let store = Access { request, at, dir: Dir::Write, why: TrafficId::DATA, data, address, in_hand };
            store.through(&mut below, ready, plan);
        }
        if !spared {
            self.prefetch(line, written.before.kind, plan);
        }
    }

    fn host_wrote(&mut self, request: &LineRequest<'_>, mut below: Below<'_>) {
        self.name(request);
        let before = self.memory.block(request.line.0).kind;
        let place = self.memory.host_wrote(request.line.0, request.sectors, request.data);
        self.guard_host(request.line.0, before);
        let displaced = place != request.line.0;
        self.requests.displaced += u64::from(displaced);
        self.written.set(request.line, self.memory.block(request.line.0).mask);
        if let Some(study) = &mut self.study {
            study.forget(request.line.0);
        }
        let address = self.name_of(place, request);
        below.host_wrote(&LineRequest {
            line: LocalLine(place),
            address,
            data: self.data(place, request.data),
            ..*request
        });
    }

    fn host_freed(&mut self, line: LocalLine, mut below: Below<'_>) {
        let before = self.memory.block(line.0).kind;
        self.memory.freed(line.0);
        self.guard_host(line.0, before);
        if let Some(guard) = &mut self.guard {
            guard.freed(line.0);
        }
        if let Some(study) = &mut self.study {
            study.forget(line.0);
        }
        below.host_freed(line);
    }

    fn copies(&mut self, wanted: Wanted, line: LocalLine, there: SectorMask) -> SectorMask {
        let maps = self.memory.read(wanted.line.0, wanted.sectors).reference == Some(line.0);
        let taken = if maps { there } else { SectorMask::NONE };
        self.requests.copied += u64::from(taken.count());
        if let Some(guard) = &mut self.guard {
            guard.saved(wanted.line.0, taken.count());
        }
        self.requests.data_read.after += u64::from(wanted.sectors.without(taken).count());
        taken
    }

    fn fetched(&mut self, table: TableId, entry: u64, sectors: u32) {
        let Some(parts) = self.parts else { return };
        if let Some(guard) = &mut self.guard
            && [parts.kinds, parts.masks, parts.map].contains(&table)
        {
            guard.spent(entry, sectors);
        }
    }

    fn note(&self, line: LocalLine) -> Option<SectorMask> {
        Some(self.written.get(line))
    }

    fn delivers(&self, line: LocalLine) -> Option<(SectorMask, Line)> {
        self.memory.delivers(line.0)
    }

    fn counts(&self, machine: &Counted<'_>) -> Vec<SideCount> {
        let tables = self.parts.map_or_else(Vec::new, |p| vec![p.kinds, p.masks, p.map]);
        let moved = |table| machine.table(table).fetches + machine.table(table).write_backs;
        let metadata = tables.into_iter().map(moved).sum();
        let mut counts = self.requests.counts(metadata, self.memory.spilled());
        counts.extend(self.reads.counts());
        counts.extend(self.study.iter().flat_map(Study::counts));
        counts.extend(self.guard.iter().flat_map(Guard::counts));
        counts
    }
}
