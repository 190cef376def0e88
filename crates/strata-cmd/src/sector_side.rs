//! Write deduplication of single sectors (32 bytes) in place of blocks: what CMD tried and left, because every sector takes
//! the metadata of a block (section IV-B).
//!
//! The memory is the same [`Dedup`], whose blocks are sectors here: sector `k` of line `n` is its block `4 n + k`, of one
//! sector. So no write fails to cover a block, there are no masks, and the cache of masks goes to the type flags. The flags of
//! a line lie together, and so do its map entries: one look-up brings those of all four sectors.

use crate::block::{KIND_BITS, Kind, MAP_BITS};
use crate::dedup::{Dedup, Outcome, Written};
use crate::requests::{ReadCounts, Requests, WrittenSectors};
use crate::settings::{OneWordReads, Settings};
use crate::side::{MD5_FJ, cache_fj, l2_cycles, table};
use crate::study::Study;
use arrayvec::ArrayVec;
use strata_core::{Bytes, LINE_BYTES, SECTOR_BYTES};
use strata_sim::cache::SectorMask;
use strata_sim::config::GpuConfig;
use strata_sim::seam::{
    Below, Counted, Dir, Line, LineRequest, LocalLine, MemorySide, Move, Parts, Plan, SideCount, StepSet, TableId,
    TableSpec, TrafficId, UnitId,
};

/// Sectors of a line.
const SECTORS: u64 = LINE_BYTES / SECTOR_BYTES;
/// The one sector of a block.
const ONE: SectorMask = SectorMask(1);

/// The deduplicated memory of one partition.
pub struct SectorSide {
    memory: Dedup,
    merges_partial: bool,
    one_word_reads: OneWordReads,
    /// L2 cycles of a fingerprint, and until the next.
    hash: u32,
    interval: u32,
    hash_fj: u64,
    /// Of the address map and of the type flags.
    tables: [TableSpec; 2],
    parts: Option<Declared>,
    requests: Requests,
    reads: ReadCounts,
    study: Option<Study>,
    written: WrittenSectors,
}

/// What it asked of the machine.
#[derive(Clone, Copy)]
struct Declared {
    map: TableId,
    kinds: TableId,
    hash: UnitId,
    dedup_read: TrafficId,
}

/// Sectors at up to four lines.
#[derive(Default)]
struct Scattered(ArrayVec<(u64, SectorMask), { SECTORS as usize }>);

impl Scattered {
    /// Two blocks of equal sectors have one place, which is accessed once.
    fn add(&mut self, place: u64) {
        let (line, sector) = (place / SECTORS, SectorMask(1 << (place % SECTORS)));
        match self.0.iter_mut().find(|(there, _)| *there == line) {
            Some((_, sectors)) => *sectors = sectors.or(sector),
            None => self.0.push((line, sector)),
        }
    }

    fn count(&self) -> u64 {
        self.0.iter().map(|(_, sectors)| u64::from(sectors.count())).sum()
    }

    /// Plans an access to each line.
    fn plan(&self, dir: Dir, why: TrafficId, after: StepSet, plan: &mut Plan) -> StepSet {
        self.0.iter().fold(StepSet::NONE, |all, &(line, sectors)| {
            let what = Move::Dram { at: LocalLine(line).addr(), sectors, dir, why };
            all.and(plan.add(what, after, true))
        })
    }
}

/// The blocks of some sectors of a line, with the number of each sector.
fn blocks(line: LocalLine, sectors: SectorMask) -> impl Iterator<Item = (usize, u64)> {
    (0..SECTORS).filter(move |k| sectors.0 >> k & 1 != 0).map(move |k| (k as usize, line.0 * SECTORS + k))
}

fn range(sector: usize) -> std::ops::Range<usize> {
    let bytes = SECTOR_BYTES as usize;
    sector * bytes..(sector + 1) * bytes
}

/// A sector as the first of a line.
fn alone(data: &Line, sector: usize) -> Line {
    let mut line = [0; LINE_BYTES as usize];
    line[range(0)].copy_from_slice(&data[range(sector)]);
    line
}

impl SectorSide {
    /// Of one partition of a GPU.
    pub fn new(settings: &Settings, gpu: &GpuConfig) -> Self {
        let caches = &settings.caches;
        let [map_bits, kind_bits] = [MAP_BITS, KIND_BITS].map(|bits| bits * SECTORS as u32);
        let kinds = Bytes(caches.kind.0 + caches.mask.0);
        Self {
            memory: Dedup::new(settings.rules),
            merges_partial: settings.merges_partial,
            one_word_reads: settings.one_word_reads,
            hash: l2_cycles(gpu, settings.hash_cycles),
            interval: l2_cycles(gpu, settings.hash_interval),
            hash_fj: MD5_FJ + cache_fj(settings.hash_store),
            tables: [
                table("cmd.map", map_bits, 0, caches.map, caches, gpu),
                table("cmd.type", kind_bits, map_bits, kinds, caches, gpu),
            ],
            parts: None,
            requests: Requests::default(),
            reads: ReadCounts::default(),
            study: settings.study.then(Study::default),
            written: WrittenSectors::default(),
        }
    }

    /// Plans to read old sectors of which a write-back has some bytes alone.
    fn plan_old(&mut self, request: &LineRequest<'_>, known: StepSet, plan: &mut Plan) -> StepSet {
        let (Some(parts), true) = (self.parts, self.merges_partial) else { return known };
        let mut old = Scattered::default();
        for (_, block) in blocks(request.line, request.sectors.without(request.resident)) {
            let state = self.memory.block(block);
            match state.kind {
                Kind::ReadOnly if state.defined.is_empty() => {}
                Kind::ReadOnly => old.add(block),
                Kind::Intra | Kind::Inter | Kind::Own => state.place(block).into_iter().for_each(|at| old.add(at)),
            }
        }
        self.requests.partial += old.count();
        known.and(old.plan(Dir::Read, parts.dedup_read, known, plan))
    }

    /// Looks up the metadata that a write-back reads or changes.
    fn plan_metadata(&self, line: LocalLine, written: &[Written], plan: &mut Plan) -> StepSet {
        let Some(parts) = self.parts else { return StepSet::NONE };
        let dir = |changes: bool| if changes { Dir::Write } else { Dir::Read };
        let typed = dir(written.iter().any(|w| w.before.kind != w.after.kind));
        let kind = plan.add(Move::Table { table: parts.kinds, entry: line.0, dir: typed }, StepSet::NONE, false);
        let uses_map = |kind| matches!(kind, Kind::Intra | Kind::Inter);
        if !written.iter().any(|w| uses_map(w.before.kind) || uses_map(w.after.kind)) {
            return kind;
        }
        let changes =
            |w: &Written| uses_map(w.after.kind) && (w.before.kind, w.before.map) != (w.after.kind, w.after.map);
        let mapped = dir(written.iter().any(changes));
        kind.and(plan.add(Move::Table { table: parts.map, entry: line.0, dir: mapped }, kind, false))
    }

    /// A write-back is one request, and as many afterwards as it writes lines; one that writes none is a duplicate.
    fn count_write(&mut self, request: &LineRequest<'_>, written: &[Written], stored: &Scattered) {
        let r = &mut self.requests;
        r.write.before += 1;
        r.write.after += stored.0.len() as u64;
        r.write_sectors.before += u64::from(request.sectors.count());
        r.write_sectors.after += stored.count();
        r.relocated += stored.0.iter().filter(|(line, _)| *line != request.line.0).count() as u64;
        if stored.0.is_empty() {
            let intra = written.iter().all(|w| w.outcome == Outcome::Intra);
            *(if intra { &mut r.intra } else { &mut r.inter }) += 1;
        }
    }

    /// Sectors of a line that kernels have written.
    fn mask(&self, line: LocalLine) -> SectorMask {
        let masked = blocks(line, SectorMask::ALL).filter(|&(_, block)| !self.memory.block(block).mask.is_empty());
        SectorMask(masked.fold(0, |mask, (k, _)| mask | 1 << k))
    }
}

impl MemorySide for SectorSide {
    fn attach(&mut self, parts: &mut Parts) {
        if parts.carries_bytes() {
            self.memory.carry_bytes();
        }
        let [map, kinds] = self.tables;
        self.parts = Some(Declared {
            map: parts.table(map),
            kinds: parts.table(kinds),
            hash: parts.unit(self.hash_fj),
            dedup_read: parts.traffic("dedup_read"),
        });
    }

    fn read(&mut self, request: &LineRequest<'_>, mut below: Below<'_>, plan: &mut Plan) {
        let Some(parts) = self.parts else { return below.read(request, plan) };
        let look_up = |table| Move::Table { table, entry: request.line.0, dir: Dir::Read };
        let (mut at_home, mut elsewhere, mut from_map) = (Scattered::default(), Scattered::default(), 0);
        let mut read_only = 0;
        for (_, block) in blocks(request.line, request.sectors) {
            let found = self.memory.read(block, ONE);
            match (found.block.kind, found.place) {
                (Kind::Intra, _) if self.one_word_reads == OneWordReads::Map => from_map += 1,
                (Kind::Inter, Some(place)) => elsewhere.add(place),
                (kind, _) => {
                    at_home.add(block);
                    read_only += u64::from(kind == Kind::ReadOnly);
                }
            }
        }
        let r = &mut self.requests;
        r.read_only.before += read_only;
        r.read_only.after += read_only;
        r.data_read.before += u64::from(request.sectors.count()) - read_only;
        r.data_read.after += at_home.count() + elsewhere.count() - read_only;
        r.from_map += from_map;
        r.shared += u64::from(request.sectors.count()) - from_map - at_home.count() - elsewhere.count();
        if read_only > 0 {
            self.reads.read(request.line.0);
        }
        let typed = plan.add(look_up(parts.kinds), StepSet::NONE, true);
        at_home.plan(Dir::Read, TrafficId::DATA, typed, plan);
        if from_map > 0 || elsewhere.count() > 0 {
            let mapped = plan.add(look_up(parts.map), typed, true);
            elsewhere.plan(Dir::Read, TrafficId::DATA, mapped, plan);
        }
    }

    fn write(&mut self, request: &LineRequest<'_>, mut below: Below<'_>, plan: &mut Plan) {
        let Some(parts) = self.parts else { return below.write(request, plan) };
        // What is read is what was there before the write.
        let mut old = Plan::default();
        self.plan_old(request, StepSet::NONE, &mut old);
        let mut written = ArrayVec::<Written, { SECTORS as usize }>::new();
        let (mut compared, mut stored) = (Scattered::default(), Scattered::default());
        for (k, block) in blocks(request.line, request.sectors) {
            let data = alone(request.data, k);
            let sector = self.memory.write(block, ONE, &data);
            sector.compared.into_iter().for_each(|at| compared.add(at.place));
            if let Outcome::Stored(at) = sector.outcome {
                stored.add(at.place);
            }
            if let Some(study) = &mut self.study {
                study.wrote(block, ONE, &data);
            }
            self.requests.hashed += u64::from(sector.hashed);
            self.requests.collided += u64::from(sector.collided);
            written.push(sector);
        }
        self.requests.compared += compared.count();
        self.count_write(request, &written, &stored);
        self.written.set(request.line, self.mask(request.line));
        let known = self.plan_metadata(request.line, &written, plan);
        let mut ready = known.and(plan.append(&old, known));
        let hashed = written.iter().filter(|w| w.hashed).count() as u32;
        if hashed > 0 && self.hash > 0 {
            // One after another through the unit; together they are no more bytes than a block.
            let latency = self.hash + (hashed - 1) * self.interval;
            let interval = hashed * self.interval;
            ready = plan.add(Move::Unit { unit: parts.hash, latency, interval }, ready, false);
        }
        ready = ready.and(compared.plan(Dir::Read, parts.dedup_read, ready, plan));
        stored.plan(Dir::Write, TrafficId::DATA, ready, plan);
    }

    fn host_wrote(&mut self, request: &LineRequest<'_>, mut below: Below<'_>) {
        for (k, block) in blocks(request.line, request.sectors) {
            let place = self.memory.host_wrote(block, ONE, &alone(request.data, k));
            self.requests.displaced += u64::from(place != block);
            if let Some(study) = &mut self.study {
                study.forget(block);
            }
        }
        self.written.set(request.line, self.mask(request.line));
        below.host_wrote(request);
    }

    fn host_freed(&mut self, line: LocalLine, mut below: Below<'_>) {
        for (_, block) in blocks(line, SectorMask::ALL) {
            self.memory.freed(block);
            if let Some(study) = &mut self.study {
                study.forget(block);
            }
        }
        below.host_freed(line);
    }

    fn note(&self, line: LocalLine) -> Option<SectorMask> {
        Some(self.written.get(line))
    }

    fn delivers(&self, line: LocalLine) -> Option<(SectorMask, Line)> {
        let (mut known, mut bytes) = (SectorMask::NONE, [0; LINE_BYTES as usize]);
        for (k, block) in blocks(line, SectorMask::ALL) {
            let (there, sector) = self.memory.delivers(block)?;
            if !there.is_empty() {
                known = known.or(SectorMask(1 << k));
                bytes[range(k)].copy_from_slice(&sector[range(0)]);
            }
        }
        Some((known, bytes))
    }

    fn counts(&self, machine: &Counted<'_>) -> Vec<SideCount> {
        let tables = self.parts.map_or_else(Vec::new, |p| vec![p.kinds, p.map]);
        let moved = |table| machine.table(table).fetches + machine.table(table).write_backs;
        let mut counts = self.requests.counts(tables.into_iter().map(moved).sum(), self.memory.spilled());
        counts.extend(self.reads.counts());
        counts.extend(self.study.iter().flat_map(Study::counts));
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sectors_of_one_line_are_one_access() {
        let mut scattered = Scattered::default();
        for place in [4, 9, 7, 5, 9] {
            scattered.add(place);
        }
        assert_eq!(scattered.0[..], [(1, SectorMask(0b1011)), (2, SectorMask(0b0010))]);
        let mut plan = Plan::default();
        let steps = scattered.plan(Dir::Read, TrafficId::DATA, StepSet::NONE, &mut plan);
        assert_eq!((scattered.count(), plan.steps.len(), steps), (4, 2, StepSet(0b11)));
    }
}
