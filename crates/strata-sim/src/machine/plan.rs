//! Plans of memory sides, carried out: each step begins when those before it have ended, L2 is answered when all gating
//! steps have.
//!
//! A mechanism is asked right after the event that led to its request, when the bytes of the program's memory are at hand.

use super::home::Home;
use super::{Event, Machine, NONE};
use crate::cache::{SectorMask, Tags};
use crate::image::{Image, ZEROS};
use crate::link::{Direction, Link};
use crate::seam::{
    Below, Dir, Line, LineKind, LineRange, LineRequest, LocalAddr, LocalLine, MemorySide, Move, Parts, Plan, Step,
    TableSpec, TrafficId,
};
use crate::slab::Slab;
use crate::time::{Cycles, Picos};
use rustc_hash::FxHashMap;
use strata_core::{Bytes, LINE_BYTES, LineAddr, SECTOR_BYTES};

/// The memory sides of all partitions, and the parts of the machine that they asked for.
pub(super) struct MemorySides {
    partitions: Vec<Partition>,
    links: Vec<Link>,
    running: Slab<Running>,
    /// Asked for by the event at hand.
    pub(super) deferred: Vec<Deferred>,
    /// The plan being made, kept for its memory.
    plan: Plan,
    traffic: Vec<Traffic>,
}

struct Partition {
    chain: Vec<Box<dyn MemorySide>>,
    image: Option<Image>,
    tables: Vec<Table>,
    /// When each unit is free, L2 cycles.
    units: Vec<u64>,
    /// Lines by their local number, to look them up in L2; kept only beside an image: who copies lines compares data.
    lines: FxHashMap<u64, LineAddr>,
}

/// Bytes moved for one reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// The reason.
    pub name: &'static str,
    /// Bytes read from DRAM, and written to it.
    pub dram_read: u64,
    /// See `dram_read`.
    pub dram_written: u64,
    /// Bytes that came over links, and that were sent.
    pub link_read: u64,
    /// See `link_read`.
    pub link_written: u64,
}

/// A request that the mechanism has not seen yet.
pub(super) struct Deferred {
    home: Home,
    line: LineAddr,
    sectors: SectorMask,
    resident: SectorMask,
    /// The L2 miss that waits for it; [`NONE`] for a write-back.
    miss: u32,
    /// L2 cycle.
    ready: u64,
}

/// A plan under way.
struct Running {
    plan: Plan,
    home: Home,
    miss: u32,
    begun: u16,
    ended: u16,
}

/// A table's cache.
struct Table {
    spec: TableSpec,
    tags: Tags,
    /// Steps that wait for a sector on its way.
    waiting: FxHashMap<u64, Vec<u32>>,
    counts: TableCounts,
}

/// What a table's caches did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TableCounts {
    /// Name of the table.
    pub name: &'static str,
    /// Accesses.
    pub accesses: u64,
    /// Accesses that hit.
    pub hits: u64,
}

/// Steps of a plan, as a power of two: how an event names a step.
const STEP_BITS: u32 = 4;

impl Table {
    fn new(spec: TableSpec) -> Self {
        let sectors = (spec.cache.0 / SECTOR_BYTES).max(1) as u32;
        let ways = spec.ways.clamp(1, sectors);
        let counts = TableCounts { name: spec.name, ..TableCounts::default() };
        Self { spec, tags: Tags::new((sectors / ways).max(1), ways), waiting: FxHashMap::default(), counts }
    }

    fn set_of(&self, sector: u64) -> u32 {
        (sector ^ sector >> 9) as u32 % self.tags.sets()
    }

    /// Where a sector of the table is in DRAM.
    fn home(&self, sector: u64) -> (LocalAddr, SectorMask) {
        let address = self.spec.home.0 + sector * SECTOR_BYTES;
        (LocalAddr(address - address % LINE_BYTES), SectorMask(1 << (address % LINE_BYTES / SECTOR_BYTES)))
    }
}

/// What a table's cache says to an access.
enum Lookup {
    Hit,
    /// Its sector is on its way.
    Waits,
    /// Its sector must be fetched; a dirty one may have to leave.
    Fetch(u64, Option<u64>),
}

impl MemorySides {
    /// `chain` makes the chain of a partition.
    pub(super) fn new(partitions: u32, chain: &mut dyn FnMut(u32) -> Vec<Box<dyn MemorySide>>) -> Self {
        let mut links = Vec::new();
        let mut names = Vec::new();
        let partitions = (0..partitions)
            .map(|p| {
                let mut chain = chain(p);
                let mut parts = Parts::default();
                for side in &mut chain {
                    side.attach(&mut parts);
                }
                if p == 0 {
                    links = parts.links.iter().map(Link::new).collect();
                    names = [vec!["data", "metadata"], parts.traffic.clone()].concat();
                }
                Partition {
                    image: chain.iter().any(|side| side.needs_data()).then(Image::default),
                    chain,
                    tables: parts.tables.iter().map(|&spec| Table::new(spec)).collect(),
                    units: vec![0; usize::from(parts.units)],
                    lines: FxHashMap::default(),
                }
            })
            .collect();
        let traffic = names.into_iter().map(|name| Traffic { name, ..Traffic::default() }).collect();
        Self { partitions, links, running: Slab::default(), deferred: Vec::new(), plan: Plan::default(), traffic }
    }

    fn count(&mut self, why: TrafficId, dir: Dir, link: bool, bytes: u64) {
        let t = &mut self.traffic[usize::from(why.0)];
        match (link, dir) {
            (false, Dir::Read) => t.dram_read += bytes,
            (false, Dir::Write) => t.dram_written += bytes,
            (true, Dir::Read) => t.link_read += bytes,
            (true, Dir::Write) => t.link_written += bytes,
        }
    }

    /// The host has written a line.
    pub(super) fn host_wrote(&mut self, home: Home, line: LineAddr, data: &Line) {
        let partition = &mut self.partitions[usize::from(home.partition)];
        partition.lines.insert(home.local.0, line);
        if let Some(image) = &mut partition.image {
            image.write(home.local, SectorMask::ALL, data);
        }
    }

    /// Asks the mechanism; what it answers is in `self.plan`.
    fn plan(&mut self, asked: &Deferred, memory: &mut dyn FnMut(LineAddr, &mut Line)) {
        let Partition { chain, image, lines, .. } = &mut self.partitions[usize::from(asked.home.partition)];
        if image.is_some() {
            lines.insert(asked.home.local.0, asked.line);
        }
        let fills = asked.miss != NONE;
        if let Some(image) = image
            && !fills
        {
            let mut data = ZEROS;
            memory(asked.line, &mut data);
            image.write(asked.home.local, asked.sectors, &data);
        }
        let request = LineRequest {
            line: asked.home.local,
            sectors: asked.sectors,
            resident: asked.resident,
            kind: if fills { LineKind::Fill } else { LineKind::WriteBack },
            data: image.as_ref().map_or(&ZEROS, |image| image.line(asked.home.local)),
        };
        self.plan.steps.clear();
        self.plan.fill = SectorMask::NONE;
        if fills {
            Below(chain).read(&request, &mut self.plan);
        } else {
            Below(chain).write(&request, &mut self.plan);
        }
    }

    fn look_up(&mut self, partition: u16, table: u8, entry: u64, dir: Dir, step: u32) -> Lookup {
        let table = &mut self.partitions[usize::from(partition)].tables[usize::from(table)];
        let sector = entry * u64::from(table.spec.entry_bits) / 8 / SECTOR_BYTES;
        let set = table.set_of(sector);
        table.counts.accesses += 1;
        let dirty = if dir == Dir::Write { SectorMask(1) } else { SectorMask::NONE };
        if let Some(place) = table.tags.find(set, LineAddr(sector)) {
            let line = table.tags.line_mut(place);
            line.dirty = line.dirty.or(dirty);
            if line.pending.is_empty() {
                table.counts.hits += 1;
                return Lookup::Hit;
            }
            table.waiting.entry(sector).or_default().push(step);
            return Lookup::Waits;
        }
        let mut victim = None;
        if let Some((place, left)) = table.tags.insert(set, LineAddr(sector)) {
            let line = table.tags.line_mut(place);
            (line.pending, line.dirty) = (SectorMask(1), dirty);
            victim = left.filter(|v| !v.dirty.is_empty()).map(|v| v.line.0);
        }
        Lookup::Fetch(sector, victim)
    }

    /// A sector of a table has come from DRAM: the steps that waited for it.
    fn table_arrives(&mut self, partition: u16, table: u8, entry: u64) -> Vec<u32> {
        let table = &mut self.partitions[usize::from(partition)].tables[usize::from(table)];
        let sector = entry * u64::from(table.spec.entry_bits) / 8 / SECTOR_BYTES;
        let set = table.set_of(sector);
        if let Some(place) = table.tags.find(set, LineAddr(sector)) {
            let line = table.tags.line_mut(place);
            (line.pending, line.valid) = (SectorMask::NONE, SectorMask(1));
        }
        table.waiting.remove(&sector).unwrap_or_default()
    }
}

impl Machine {
    /// Puts memory sides between L2 and DRAM: `chain` makes the chain of each partition, first the one that L2 asks.
    pub fn set_memory_side(&mut self, mut chain: impl FnMut(u32) -> Vec<Box<dyn MemorySide>>) {
        self.sides = Some(Box::new(MemorySides::new(self.config.dram.channels, &mut chain)));
    }

    /// Bytes moved, by reason; empty without memory sides.
    pub fn traffic(&self) -> &[Traffic] {
        self.sides.as_ref().map_or(&[], |sides| &sides.traffic)
    }

    /// What the caches of tables did, over all partitions.
    pub fn table_counts(&self) -> Vec<TableCounts> {
        let Some(sides) = &self.sides else { return Vec::new() };
        let mut sums: Vec<TableCounts> = Vec::new();
        for counts in sides.partitions.iter().flat_map(|p| &p.tables).map(|t| t.counts) {
            match sums.iter_mut().find(|s| s.name == counts.name) {
                Some(sum) => {
                    sum.accesses += counts.accesses;
                    sum.hits += counts.hits;
                }
                None => sums.push(counts),
            }
        }
        sums
    }

    /// Plans that have not ended, and requests that were not planned yet.
    pub(super) fn plans_under_way(&self) -> usize {
        self.sides.as_ref().map_or(0, |sides| sides.running.len() + sides.deferred.len())
    }

    /// Bytes of DRAM that lines of a partition take.
    pub fn stored_bytes(&mut self, partition: u32, range: LineRange) -> Bytes {
        match &mut self.sides {
            Some(sides) => Below(&mut sides.partitions[partition as usize].chain).stored_bytes(range),
            None => Bytes(range.lines * LINE_BYTES),
        }
    }

    pub(super) fn defer_fill(&mut self, home: Home, line: LineAddr, sectors: SectorMask, miss: u32, ready: u64) {
        self.defer(Deferred { home, line, sectors, resident: self.resident(home, line), miss, ready });
    }

    pub(super) fn defer_write_back(&mut self, home: Home, line: LineAddr, sectors: SectorMask, ready: u64) {
        self.defer(Deferred { home, line, sectors, resident: self.resident(home, line), miss: NONE, ready });
    }

    fn resident(&self, home: Home, line: LineAddr) -> SectorMask {
        self.slices[usize::from(home.slice)].tags.peek(home.set, line).map_or(SectorMask::NONE, |l| l.valid)
    }

    fn defer(&mut self, asked: Deferred) {
        // Its place in the slice's queue, until all steps have ended: so a slow link or unit is felt by L2, too.
        self.slices[usize::from(asked.home.slice)].queued += 1;
        if let Some(sides) = &mut self.sides {
            sides.deferred.push(asked);
        }
    }

    /// Shows the mechanism what the last event asked of memory, and begins what it plans. `memory` reads the program's memory.
    #[cold]
    pub(super) fn begin_plans(&mut self, mut memory: impl FnMut(LineAddr, &mut Line)) {
        let Some(sides) = &mut self.sides else { return };
        let mut deferred = std::mem::take(&mut sides.deferred);
        for asked in deferred.drain(..) {
            let Some(sides) = &mut self.sides else { return };
            sides.plan(&asked, &mut memory);
            if asked.miss != NONE {
                let more = sides.plan.fill.without(asked.sectors);
                self.misses[asked.miss].sectors = asked.sectors.or(more);
                let stats = &mut self.slices[usize::from(asked.home.slice)].stats;
                stats.fetches += u64::from(more.count());
                stats.fetched_along += u64::from(more.count());
            }
            // Most plans are one access to DRAM: those need no record of what has ended.
            if let [Step { what: Move::Dram { at, sectors, dir, why }, gates_reply: true, .. }] = sides.plan.steps[..]
                && (dir == Dir::Read) == (asked.miss != NONE)
            {
                sides.count(why, dir, false, u64::from(sectors.count()) * SECTOR_BYTES);
                let tag = if asked.miss == NONE { NONE } else { Event::new(Event::FILL, asked.miss).0 };
                self.slices[usize::from(asked.home.slice)].queued -= 1;
                self.dram(asked.home.slice, asked.home.partition, at, sectors, dir, tag, asked.ready);
                continue;
            }
            let plan = sides.plan.clone();
            let running = Running { plan, home: asked.home, miss: asked.miss, begun: 0, ended: 0 };
            let running = sides.running.add(running);
            self.go_on(running, asked.ready);
        }
        // A plan that has ended already may have let others ask.
        if let Some(sides) = &mut self.sides
            && sides.deferred.is_empty()
        {
            sides.deferred = deferred;
        }
    }

    /// Begins the steps of a plan whose predecessors have ended, at L2 cycle `now`; answers L2 and ends the plan when it is
    /// time for that.
    fn go_on(&mut self, running: u32, now: u64) {
        loop {
            let Some(sides) = &mut self.sides else { return };
            let r = &mut sides.running[running];
            let ready = |k: usize| r.begun >> k & 1 == 0 && r.plan.steps[k].after.0 & !r.ended == 0;
            let Some(k) = (0..r.plan.steps.len()).find(|&k| ready(k)) else { break };
            r.begun |= 1 << k;
            let (what, home) = (r.plan.steps[k].what, r.home);
            self.begin_step(running << STEP_BITS | k as u32, what, home, now);
        }
        let Some(sides) = &mut self.sides else { return };
        let r = &mut sides.running[running];
        let all = ((1u32 << r.plan.steps.len()) - 1) as u16;
        let gates = (0..r.plan.steps.len()).filter(|&k| r.plan.steps[k].gates_reply).fold(0, |set, k| set | 1u16 << k);
        if r.miss != NONE && gates & !r.ended == 0 {
            let t = self.config.clock.l2.edge(Cycles(now));
            self.queue.push(t, Event::new(Event::FILL, std::mem::replace(&mut r.miss, NONE)));
        }
        if r.ended == all {
            let slice = r.home.slice;
            sides.running.remove(running);
            self.slices[usize::from(slice)].queued -= 1;
            self.resume_slice(slice, self.queue.now());
        }
    }

    /// Marks a step as ended without going on.
    fn end_step(&mut self, step: u32) {
        if let Some(sides) = &mut self.sides {
            sides.running[step >> STEP_BITS].ended |= 1 << (step & ((1 << STEP_BITS) - 1));
        }
    }

    fn begin_step(&mut self, step: u32, what: Move, home: Home, now: u64) {
        let Some(sides) = &mut self.sides else { return };
        let tag = Event::new(Event::STEP, step);
        match what {
            Move::Dram { at, sectors, dir, why } => {
                sides.count(why, dir, false, u64::from(sectors.count()) * SECTOR_BYTES);
                self.step_to_dram(step, home, at, sectors, dir, now);
            }
            Move::Link { link, bytes, dir, why } => {
                sides.count(why, dir, true, u64::from(bytes));
                let direction = if dir == Dir::Read { Direction::In } else { Direction::Out };
                let t = self.config.clock.l2.edge(Cycles(now));
                let arrival = sides.links[usize::from(link.0)].send(direction, t, Bytes(u64::from(bytes)));
                self.queue.push(arrival, tag);
            }
            Move::Unit { unit, latency, interval } => {
                let free = &mut sides.partitions[usize::from(home.partition)].units[usize::from(unit.0)];
                let start = now.max(*free);
                *free = start + u64::from(interval);
                self.queue.push(self.config.clock.l2.edge(Cycles(start + u64::from(latency))), tag);
            }
            Move::Table { table, entry, dir } => self.begin_table_step(step, table.0, entry, dir, home, now),
            Move::CopyFromL2 { line, sectors, otherwise } => {
                if self.is_clean_in_l2(home, line, sectors) {
                    let ready = now + u64::from(self.config.l2.latency);
                    self.queue.push(self.config.clock.l2.edge(Cycles(ready)), tag);
                } else if let Some(sides) = &mut self.sides {
                    sides.count(TrafficId::DATA, Dir::Read, false, u64::from(sectors.count()) * SECTOR_BYTES);
                    self.step_to_dram(step, home, otherwise, sectors, Dir::Read, now);
                }
            }
        }
    }

    /// A write is posted: its step ends when the channel's queue has it.
    fn step_to_dram(&mut self, step: u32, home: Home, at: LocalAddr, sectors: SectorMask, dir: Dir, now: u64) {
        if dir == Dir::Write {
            self.dram(home.slice, home.partition, at, sectors, dir, NONE, now);
            self.end_step(step);
        } else {
            let tag = Event::new(Event::STEP, step).0;
            self.dram(home.slice, home.partition, at, sectors, dir, tag, now);
        }
    }

    fn begin_table_step(&mut self, step: u32, table: u8, entry: u64, dir: Dir, home: Home, now: u64) {
        let Some(sides) = &mut self.sides else { return };
        let found = sides.look_up(home.partition, table, entry, dir, step);
        let t = &sides.partitions[usize::from(home.partition)].tables[usize::from(table)];
        let hit = now + u64::from(t.spec.latency);
        match found {
            Lookup::Hit => self.queue.push(self.config.clock.l2.edge(Cycles(hit)), Event::new(Event::STEP, step)),
            Lookup::Waits => {}
            Lookup::Fetch(sector, victim) => {
                let fetched = t.home(sector);
                let left = victim.map(|sector| t.home(sector));
                sides.count(TrafficId::METADATA, Dir::Read, false, SECTOR_BYTES);
                let tag = Event::new(Event::TABLE, step).0;
                self.dram(home.slice, home.partition, fetched.0, fetched.1, Dir::Read, tag, hit);
                if let Some((at, sectors)) = left {
                    if let Some(sides) = &mut self.sides {
                        sides.count(TrafficId::METADATA, Dir::Write, false, SECTOR_BYTES);
                    }
                    self.dram(home.slice, home.partition, at, sectors, Dir::Write, NONE, hit);
                }
            }
        }
    }

    fn is_clean_in_l2(&self, home: Home, line: LocalLine, sectors: SectorMask) -> bool {
        let Some(sides) = &self.sides else { return false };
        let Some(&line) = sides.partitions[usize::from(home.partition)].lines.get(&line.0) else { return false };
        let home = self.interleave.home(line);
        self.slices[usize::from(home.slice)]
            .tags
            .peek(home.set, line)
            .is_some_and(|l| sectors.without(l.valid).is_empty() && sectors.and(l.dirty).is_empty())
    }

    /// A step has ended.
    pub(super) fn step_ends(&mut self, step: u32, t: Picos) {
        let now = self.config.clock.l2.next(t).0;
        self.end_step(step);
        self.go_on(step >> STEP_BITS, now);
    }

    /// A sector of a table has come from DRAM for a step, and for all that wait for it.
    pub(super) fn table_comes(&mut self, step: u32, t: Picos) {
        let Some(sides) = &mut self.sides else { return };
        let r = &sides.running[step >> STEP_BITS];
        let k = (step & ((1 << STEP_BITS) - 1)) as usize;
        if let Move::Table { table, entry, .. } = r.plan.steps[k].what {
            let partition = r.home.partition;
            for waiting in sides.table_arrives(partition, table.0, entry) {
                self.step_ends(waiting, t);
            }
        }
        self.step_ends(step, t);
    }
}
