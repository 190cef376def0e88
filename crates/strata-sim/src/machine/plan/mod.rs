//! Plans of memory sides, carried out: each step begins when those before it have ended, L2 is answered when all gating
//! steps have.
//!
//! A mechanism that looks at data is asked right after the event that led to its request, when the bytes of the program's
//! memory are at hand.

mod copy;
mod pages;

use super::channel_port::{DramAccess, DramTag, NO_SLICE};
use super::home::Home;
use super::l2::Miss;
use super::slice::Slice;
use super::tables::{Table, TableLookup};
use super::{Event, Machine, NONE};
use crate::cache::SectorMask;
use crate::image::{MemoryImage, ZEROS};
use crate::link::{Direction, Link};
use crate::seam::{
    Below, Counted, Dir, Line, LineKind, LineRange, LineRequest, LinkId, LocalAddr, MemorySide, Move, Parts, Plan,
    Step, StoredPages, TableId, TrafficId,
};
use crate::side_stats::{SideReading, Traffic};
use crate::slab::Slab;
use crate::time::{Cycles, Picos};
use copy::CopySource;
pub(super) use pages::PageMove;
use rustc_hash::FxHashSet;
use std::sync::Arc;
use strata_core::{Bytes, HostEvent, LINE_BYTES, LineAddr, Paged, SECTOR_BYTES};

/// The memory sides of all partitions, and the parts of the machine that they asked for.
pub(super) struct MemorySides {
    partitions: Vec<Partition>,
    links: Vec<Link>,
    running: Slab<Running>,
    /// Asked for by the event at hand.
    pub(super) deferred: Vec<Deferred>,
    /// Lines that SMs on stacks have written, of which L2 may still have what was there before.
    pub(super) written_near: FxHashSet<LineAddr>,
    /// When the request of an SM on a stack that is being planned reached its vault: between two edges of L2's clock.
    pub(super) near_arrival: Picos,
    /// The plan being made, kept for its memory.
    plan: Plan,
    /// What moved, by why; the classes that have a name are counted.
    traffic: [Traffic; TrafficId::MOST],
    classes: Vec<&'static str>,
}

struct Partition {
    chain: Vec<Box<dyn MemorySide>>,
    image: Option<MemoryImage>,
    tables: Vec<Table>,
    units: Vec<SideUnit>,
    /// Lines by their local number, to look them up in L2; kept only beside an image: who copies lines compares data.
    lines: Paged<Option<LineAddr>>,
}

/// A miss that waits for sectors gets more of its line.
#[inline(never)]
fn extend_fill(miss: &mut Miss, slices: &mut [Slice], asked: SectorMask, more: SectorMask) {
    if !more.is_empty() {
        miss.sectors = asked.or(slices[usize::from(miss.slice)].extend_fill(miss.way, more));
    }
}

/// How whoever waits for a fill is answered: a miss of L2, or a request of an SM on a stack.
#[inline]
fn answer_tag(home: &Home, waits: u32) -> DramTag {
    match waits {
        NONE => NONE,
        request if home.slice == NO_SLICE => Event::new(Event::VAULT_READ, request).0,
        miss => Event::new(Event::FILL, miss).0,
    }
}

/// A pipelined unit of a partition, such as a hash or a decompressor.
#[derive(Clone, Copy)]
struct SideUnit {
    /// When it is free, L2 cycles.
    free: u64,
    uses: u64,
    /// Energy of a use, femtojoules.
    use_fj: u64,
}

/// What the mechanism has not seen yet, in the order in which it happened.
pub(super) enum Deferred {
    /// A request.
    Asked(Asked),
    /// A page came, went, or was written at the host: a line of it.
    Page(PageMove, Home, LineAddr),
}

/// A request that the mechanism has not seen yet.
pub(super) struct Asked {
    home: Home,
    /// Without what memory holds.
    request: LineRequest<'static>,
    miss: u32,
    ready: u64,
    /// See [`MemorySides::near_arrival`].
    near_arrival: Picos,
}

/// A plan whose steps have not all ended.
struct Running {
    plan: Plan,
    home: Home,
    miss: u32,
    kept: Option<HeldSlot>,
    /// It has waited for a table's sector, which is a request of its own.
    fetched: bool,
    begun: u32,
    ended: u32,
    /// What memory held when it was planned; only if data is checked.
    expected: Option<Box<Line>>,
}

/// What a plan keeps of its L2 slice, so that a slow memory side is felt there.
#[derive(Clone, Copy)]
enum HeldSlot {
    /// A fill has its place in the queue to memory until the last step that asks something of somebody has begun: as without a
    /// memory side, where that is the read itself. A unit that decompresses what was read is behind that queue. If the fill must
    /// wait for a sector of a table, that takes the place instead: the memory side sets the fill aside, as L2 does with a miss,
    /// and others pass it.
    MissQueue,
    /// A write-back has a place among those that are posted until its last step has ended.
    Posted,
}

/// Steps of a plan, as a power of two: how an event names a step.
const STEP_BITS: u32 = 5;

impl Running {
    /// All steps have begun, or what has not is a unit's work on what comes back.
    fn asks_nothing_more(&self) -> bool {
        let mut steps = self.plan.steps.iter().enumerate();
        steps.all(|(k, step)| self.begun >> k & 1 == 1 || matches!(step.what, Move::Unit { .. }))
    }
}

impl HeldSlot {
    fn of(miss: u32) -> Self {
        if miss == NONE { Self::Posted } else { Self::MissQueue }
    }
}

impl MemorySides {
    /// `chain` makes the chain of a partition; `check`: data is checked; `pages`: somebody asks what pages take.
    pub(super) fn new(
        partitions: u32,
        chain: &mut dyn FnMut(u32) -> Vec<Box<dyn MemorySide>>,
        check: bool,
        pages: Option<&Arc<StoredPages>>,
    ) -> Self {
        let mut links = Vec::new();
        let mut names = Vec::new();
        let partitions: Vec<_> = (0..partitions)
            .map(|p| {
                let mut chain = chain(p);
                let carries_bytes = check || chain.len() > 1;
                let mut parts = Parts { carries_bytes, pages: pages.cloned(), ..Parts::default() };
                for side in &mut chain {
                    side.attach(&mut parts);
                }
                if p == 0 {
                    links = parts.links.iter().map(Link::new).collect();
                    names = [vec!["data", "metadata"], parts.traffic.clone()].concat();
                }
                Partition {
                    image: chain.iter().any(|side| side.needs_data()).then(MemoryImage::default),
                    chain,
                    tables: parts.tables.iter().map(|&spec| Table::new(spec)).collect(),
                    units: parts.units.iter().map(|&use_fj| SideUnit { free: 0, uses: 0, use_fj }).collect(),
                    lines: Paged::default(),
                }
            })
            .collect();
        Self {
            partitions,
            links,
            running: Slab::default(),
            deferred: Vec::new(),
            written_near: FxHashSet::default(),
            near_arrival: Picos(0),
            plan: Plan::default(),
            traffic: Default::default(),
            classes: names,
        }
    }

    /// True if a side looks at data: its requests wait until the bytes of memory are at hand.
    pub(super) fn look_at_data(&self) -> bool {
        self.partitions.iter().any(|p| p.image.is_some())
    }

    fn count(&mut self, why: TrafficId, dir: Dir, link: bool, bytes: u64) {
        let t = &mut self.traffic[usize::from(why.0) % TrafficId::MOST];
        match (link, dir) {
            (false, Dir::Read) => t.dram_read += bytes,
            (false, Dir::Write) => t.dram_written += bytes,
            (true, Dir::Read) => t.link_read += bytes,
            (true, Dir::Write) => t.link_written += bytes,
        }
    }

    /// The host has written sectors of a line.
    pub(super) fn host_wrote(&mut self, home: Home, line: LineAddr, sectors: SectorMask, data: &Line) {
        let Partition { chain, image, lines, .. } = &mut self.partitions[usize::from(home.partition)];
        if let Some(image) = image {
            *lines.get_mut(home.local.0) = Some(line);
            image.write(home.local, sectors, data);
        }
        let request = LineRequest {
            line: home.local,
            address: line,
            sectors,
            resident: SectorMask::NONE,
            kind: LineKind::HostWrite,
            data: image.as_ref().map_or(&ZEROS, |image| image.line(home.local)),
        };
        Below(chain).host_wrote(&request);
    }

    /// The program has freed the memory of a line.
    pub(super) fn host_freed(&mut self, home: Home) {
        Below(&mut self.partitions[usize::from(home.partition)].chain).host_freed(home.local);
    }

    /// Tells all memory sides of an event of the host.
    pub(super) fn host_event(&mut self, event: &HostEvent) {
        self.partitions.iter_mut().flat_map(|p| &mut p.chain).for_each(|side| side.host_event(event));
    }

    /// What the victim buffer of a line's slice is told of the line.
    pub(super) fn note(&self, home: Home) -> SectorMask {
        let chain = &self.partitions[usize::from(home.partition)].chain;
        chain.iter().find_map(|side| side.note(home.local)).unwrap_or_default()
    }

    /// What memory holds of a line that the mechanism is about to see; the image of memory follows what was written to it.
    #[cold]
    fn line_of(&mut self, asked: &Asked, memory: &mut dyn FnMut(LineAddr, &mut Line)) -> Line {
        let Asked { home, request, .. } = asked;
        let Partition { image: Some(image), lines, .. } = &mut self.partitions[usize::from(home.partition)] else {
            return ZEROS;
        };
        *lines.get_mut(home.local.0) = Some(request.address);
        if request.kind == LineKind::WriteBack {
            let mut data = ZEROS;
            memory(request.address, &mut data);
            image.write(home.local, request.sectors, &data);
        }
        *image.line(home.local)
    }

    /// Asks the first side of a chain, which is never empty; what it answers is in `self.plan`, whose steps the caller takes.
    #[allow(clippy::inline_always, reason = "as with what calls it")]
    #[inline(always)]
    fn ask<const FILLS: bool>(&mut self, partition: u16, request: &LineRequest<'_>) {
        let chain = &mut self.partitions[usize::from(partition)].chain;
        let Some((first, rest)) = chain.split_first_mut() else { return };
        if FILLS {
            self.plan.fill = SectorMask::NONE;
            first.read(request, Below(rest), &mut self.plan);
        } else {
            first.write(request, Below(rest), &mut self.plan);
        }
    }
}

impl Machine {
    /// What memory sides did so far.
    pub(super) fn side_reading(&self) -> SideReading {
        let mut reading = SideReading::default();
        if let Some(sides) = &self.sides {
            self.read_sides(sides, &mut reading);
        }
        for buffer in self.slices.iter().filter_map(|slice| slice.victim.as_ref()) {
            reading.add_counts(buffer.counts());
        }
        reading
    }

    fn read_sides(&self, sides: &MemorySides, reading: &mut SideReading) {
        let own_links = sides.links.iter().map(Link::rate).sum();
        reading.link_rate = if sides.links.is_empty() { self.host_link.rate() } else { own_links };
        reading.traffic = sides.classes.iter().copied().zip(sides.traffic).collect();
        for partition in &sides.partitions {
            let tables: Vec<_> = partition.tables.iter().map(|t| t.counts).collect();
            for t in &partition.tables {
                reading.add_table(t.spec.name, &t.counts);
                reading.controller_fj += t.counts.accesses * t.spec.access_fj;
            }
            reading.controller_fj += partition.units.iter().map(|unit| unit.uses * unit.use_fj).sum::<u64>();
            partition.chain.iter().for_each(|side| reading.add_counts(side.counts(&Counted(&tables))));
        }
        for (k, direction) in [Direction::In, Direction::Out].into_iter().enumerate() {
            let own: u64 = sides.links.iter().map(|link| link.carried(direction).0).sum();
            reading.carried[k] = Bytes(own + self.host_link.carried(direction).0 - self.copies.carried[k].0);
        }
    }

    /// Plans that have not ended, and requests that were not planned yet.
    pub(super) fn plans_outstanding(&self) -> usize {
        self.sides.as_ref().map_or(0, |sides| sides.running.len() + sides.deferred.len())
    }

    /// Bytes of DRAM that lines of a partition take.
    pub fn stored_bytes(&mut self, partition: u32, range: LineRange) -> Bytes {
        match &mut self.sides {
            Some(sides) => Below(&mut sides.partitions[partition as usize].chain).stored_bytes(range),
            None => Bytes(range.lines * LINE_BYTES),
        }
    }

    /// L2, or an SM on a stack (`NEAR`), asks memory for something: a fill if a miss waits for it, else a write-back ([`NONE`]). It
    /// leaves L2 at L2 cycle `ready`. Who looks at no data is asked at once, others when the bytes of memory are at hand.
    #[allow(clippy::inline_always, reason = "as with what it calls")]
    #[inline(always)]
    pub(super) fn submit_to_sides<const FILLS: bool, const NEAR: bool>(
        &mut self,
        home: &Home,
        request: &LineRequest<'static>,
        miss: u32,
        ready: u64,
    ) {
        if self.sides_look_at_data {
            self.defer(home, request, miss, ready);
        } else {
            self.plan_and_start::<FILLS, NEAR>(home, request, miss, ready);
        }
    }

    /// Keeps a request until the bytes of memory are at hand.
    #[inline(never)]
    fn defer(&mut self, home: &Home, request: &LineRequest<'static>, miss: u32, ready: u64) {
        let Some(sides) = &mut self.sides else { return };
        let near_arrival = sides.near_arrival;
        sides.deferred.push(Deferred::Asked(Asked { home: *home, request: *request, miss, ready, near_arrival }));
        self.hold_slot(home.slice, HeldSlot::of(miss), true);
    }

    /// Shows the mechanism what the last event asked of memory, and begins what it plans. `memory` reads the program's memory.
    #[cold]
    pub(super) fn plan_deferred(&mut self, mut memory: impl FnMut(LineAddr, &mut Line)) {
        let Some(sides) = &mut self.sides else { return };
        let mut deferred = std::mem::take(&mut sides.deferred);
        for one in deferred.drain(..) {
            let asked = match one {
                Deferred::Asked(asked) => asked,
                Deferred::Page(what, home, line) => {
                    if let Some(sides) = &mut self.sides {
                        sides.move_line(what, &home, line, &mut memory);
                    }
                    continue;
                }
            };
            let Asked { home, miss, ready, .. } = asked;
            self.hold_slot(home.slice, HeldSlot::of(miss), false);
            let at_host = self.is_data_at_host();
            let Some(sides) = &mut self.sides else { return };
            sides.near_arrival = asked.near_arrival;
            let data = sides.line_of(&asked, &mut memory);
            let request = LineRequest { data: &data, ..asked.request };
            if at_host {
                sides.asked_away(&home, &request);
                let dir = if miss == NONE { Dir::Write } else { Dir::Read };
                self.send_to_dram(home.access(request.sectors, dir, answer_tag(&home, miss)), ready);
                continue;
            }
            match (miss != NONE, home.slice == NO_SLICE) {
                (false, false) => self.plan_and_start::<false, false>(&home, &request, miss, ready),
                (false, true) => self.plan_and_start::<false, true>(&home, &request, miss, ready),
                (true, false) => self.plan_and_start::<true, false>(&home, &request, miss, ready),
                (true, true) => self.plan_and_start::<true, true>(&home, &request, miss, ready),
            }
            if miss != NONE {
                self.check_fill(&home, &request);
            }
        }
        // A plan that has ended already may have let others ask.
        if let Some(sides) = &mut self.sides
            && sides.deferred.is_empty()
        {
            sides.deferred = deferred;
        }
    }

    /// Checks, if data is checked, that a fill would deliver what memory holds.
    fn check_fill(&mut self, home: &Home, request: &LineRequest<'_>) {
        if let (Some(checker), Some(sides)) = (&mut self.checker, &self.sides) {
            checker.check_delivery(request.address, sides.wrong_sectors(home, request.sectors));
        }
    }

    /// Shows the mechanism a request, and begins what it plans.
    #[allow(
        clippy::inline_always,
        reason = "what it is and who asks is known where it is called, which saves half of it"
    )]
    #[inline(always)]
    fn plan_and_start<const FILLS: bool, const NEAR: bool>(
        &mut self,
        home: &Home,
        request: &LineRequest<'_>,
        miss: u32,
        ready: u64,
    ) {
        let parts = if FILLS { SectorMask::NONE } else { self.written_in_part(request.sectors, request.resident) };
        let Some(sides) = &mut self.sides else { return };
        sides.plan.in_part = parts;
        sides.ask::<FILLS>(home.partition, request);
        if FILLS && !NEAR && sides.plan.fill != request.sectors {
            let more = sides.plan.fill.without(request.sectors);
            extend_fill(&mut self.misses[miss], &mut self.slices, request.sectors, more);
        }
        // Most plans are one access to DRAM: those need no record of what has ended.
        if let [Step { what: Move::Dram { at, sectors, dir, why }, gates_reply: true, .. }] = sides.plan.steps[..]
            && (dir == Dir::Read) == FILLS
        {
            sides.plan.steps.clear();
            sides.count(why, dir, false, u64::from(sectors.count()) * SECTOR_BYTES);
            if NEAR {
                self.access_near(home, home.access_at(at, sectors, dir, NONE), miss);
                return;
            }
            let tag = if FILLS { Event::new(Event::FILL, miss).0 } else { NONE };
            self.send_to_dram(home.access_at(at, sectors, dir, tag), ready);
        } else {
            self.run_plan(home, miss, ready);
        }
    }

    /// A request of an SM on a stack is one access to DRAM: it enters its channel when the controller of the vault has seen it.
    #[inline(never)]
    fn access_near(&mut self, home: &Home, access: DramAccess, waits: u32) {
        let Some(sides) = &self.sides else { return };
        let controller = Cycles(u64::from(self.config.dram.controller_cycles));
        let time = sides.near_arrival + self.config.clock.l2.span(controller);
        self.enqueue_at_channel(DramAccess { tag: answer_tag(home, waits), ..access }, time);
    }

    /// Begins a plan of several steps.
    #[inline(never)]
    fn run_plan(&mut self, home: &Home, miss: u32, ready: u64) {
        let Some(sides) = &mut self.sides else { return };
        let expected = self.checker.as_ref().and_then(|_| sides.expected(home));
        let kept = HeldSlot::of(miss);
        let running = sides.running.add(Running {
            plan: std::mem::take(&mut sides.plan),
            home: *home,
            miss,
            kept: Some(kept),
            fetched: false,
            begun: 0,
            ended: 0,
            expected,
        });
        self.hold_slot(home.slice, kept, true);
        self.advance_plan(running, ready);
    }

    /// Begins the steps of a plan whose predecessors have ended, at L2 cycle `now`; answers L2 and ends the plan when it is
    /// time for that.
    fn advance_plan(&mut self, running: u32, now: u64) {
        loop {
            let Some(sides) = &mut self.sides else { return };
            let r = &mut sides.running[running];
            let ready = |k: usize| r.begun >> k & 1 == 0 && r.plan.steps[k].after.0 & !r.ended == 0;
            let Some(k) = (0..r.plan.steps.len()).find(|&k| ready(k)) else { break };
            r.begun |= 1 << k;
            let (what, home) = (r.plan.steps[k].what, r.home);
            self.start_step(running << STEP_BITS | k as u32, what, home, now);
        }
        let Some(sides) = &mut self.sides else { return };
        let r = &mut sides.running[running];
        let all = ((1u64 << r.plan.steps.len()) - 1) as u32;
        let gates = (0..r.plan.steps.len()).filter(|&k| r.plan.steps[k].gates_reply).fold(0, |set, k| set | 1u32 << k);
        if r.miss != NONE && gates & !r.ended == 0 {
            let t = self.config.clock.l2.edge(Cycles(now));
            self.queue.push(t, Event(answer_tag(&r.home, std::mem::replace(&mut r.miss, NONE))));
        }
        let slice = r.home.slice;
        let leaves = match r.kept {
            Some(HeldSlot::MissQueue) => r.fetched || r.asks_nothing_more(),
            Some(HeldSlot::Posted) => r.ended == all,
            None => false,
        };
        let left = if leaves { r.kept.take() } else { None };
        if r.ended == all {
            sides.running.remove(running);
        }
        if let Some(kept) = left {
            self.hold_slot(slice, kept, false);
            if slice != NO_SLICE {
                self.retry_slice(slice, self.queue.now());
            }
        }
    }

    /// A plan takes such a place of a slice, or gives it back; what an SM on a stack asks for has none.
    fn hold_slot(&mut self, slice: u16, kept: HeldSlot, takes: bool) {
        let Some(slice) = self.slices.get_mut(usize::from(slice)) else { return };
        let held = match kept {
            HeldSlot::MissQueue => &mut slice.queued,
            HeldSlot::Posted => &mut slice.posted,
        };
        *held = if takes { *held + 1 } else { *held - 1 };
    }

    /// Sends an access of a plan to its channel: L2's as any other of L2's, that of an SM on a stack without leaving the stack.
    #[inline]
    fn side_to_dram(&mut self, access: DramAccess, ready: u64) {
        if access.slice == NO_SLICE {
            let controller = u64::from(self.config.dram.controller_cycles);
            self.enqueue_at_channel(access, self.config.clock.l2.edge(Cycles(ready + controller)));
        } else {
            self.send_to_dram(access, ready);
        }
    }

    /// Marks a step as ended without going on.
    fn end_step(&mut self, step: u32) {
        if let Some(sides) = &mut self.sides {
            sides.running[step >> STEP_BITS].ended |= 1 << (step & ((1 << STEP_BITS) - 1));
        }
    }

    fn start_step(&mut self, step: u32, what: Move, home: Home, now: u64) {
        let Some(sides) = &mut self.sides else { return };
        let tag = Event::new(Event::STEP, step);
        match what {
            Move::Dram { at, sectors, dir, why } => {
                sides.count(why, dir, false, u64::from(sectors.count()) * SECTOR_BYTES);
                self.step_to_dram(step, home, at, sectors, dir, now);
            }
            Move::Link { link, bytes, dir, why } => {
                sides.count(why, dir, true, u64::from(bytes));
                let t = self.config.clock.l2.edge(Cycles(now));
                let link =
                    if link == LinkId::HOST { &mut self.host_link } else { &mut sides.links[usize::from(link.0)] };
                let bytes = Bytes(u64::from(bytes));
                let arrival = match dir {
                    Dir::Read => {
                        let asked = link.ask(t);
                        link.send(Direction::In, asked, bytes)
                    }
                    Dir::Write => link.send(Direction::Out, t, bytes),
                };
                self.queue.push(arrival, tag);
            }
            Move::Unit { unit, latency, interval } => {
                let unit = &mut sides.partitions[usize::from(home.partition)].units[usize::from(unit.0)];
                let start = now.max(unit.free);
                unit.free = start + u64::from(interval);
                unit.uses += 1;
                self.queue.push(self.config.clock.l2.edge(Cycles(start + u64::from(latency))), tag);
            }
            Move::Table { table, entry, dir } => self.start_table_step(step, table.0, entry, dir, home, now),
            Move::CopyFromL2 { line, sectors, otherwise } => {
                self.start_copy(step, home, CopySource { line, sectors, otherwise }, now);
            }
        }
    }

    /// A write is posted: its step ends when the channel's queue has it.
    fn step_to_dram(&mut self, step: u32, home: Home, at: LocalAddr, sectors: SectorMask, dir: Dir, now: u64) {
        if dir == Dir::Write {
            self.side_to_dram(home.access_at(at, sectors, dir, NONE), now);
            self.end_step(step);
        } else {
            let tag = Event::new(Event::STEP, step).0;
            self.side_to_dram(home.access_at(at, sectors, dir, tag), now);
        }
    }

    fn start_table_step(&mut self, step: u32, table: u8, entry: u64, dir: Dir, home: Home, now: u64) {
        let Some(sides) = &mut self.sides else { return };
        let partition = &mut sides.partitions[usize::from(home.partition)];
        let t = &mut partition.tables[usize::from(table)];
        let (found, left) = t.look_up(entry, dir, step);
        let hit = now + u64::from(t.spec.latency);
        if let TableLookup::Fetch(..) = found {
            let moved = 1 + left.map_or(0, |(_, sectors)| sectors.count());
            partition.chain.iter_mut().for_each(|side| side.fetched(TableId(table), entry, moved));
        }
        sides.running[step >> STEP_BITS].fetched |= !matches!(found, TableLookup::Hit);
        match found {
            TableLookup::Hit => self.queue.push(self.config.clock.l2.edge(Cycles(hit)), Event::new(Event::STEP, step)),
            TableLookup::Merged => {}
            TableLookup::Fetch(at, sector) => {
                sides.count(TrafficId::METADATA, Dir::Read, false, SECTOR_BYTES);
                let tag = Event::new(Event::TABLE, step).0;
                if let Some((_, sectors)) = left {
                    sides.count(TrafficId::METADATA, Dir::Write, false, u64::from(sectors.count()) * SECTOR_BYTES);
                }
                self.side_to_dram(home.access_at(at, sector, Dir::Read, tag), hit);
                if let Some((at, sectors)) = left {
                    self.side_to_dram(home.access_at(at, sectors, Dir::Write, NONE), hit);
                }
            }
        }
    }

    /// A step has ended: the plan goes on from the next L2 cycle.
    pub(super) fn complete_step(&mut self, step: u32, t: Picos) {
        let now = self.config.clock.l2.next(t).0;
        self.end_step(step);
        self.advance_plan(step >> STEP_BITS, now);
    }

    /// A sector of a table has come from DRAM for a step, and for all that wait for it.
    pub(super) fn fill_table(&mut self, step: u32, t: Picos) {
        let Some(sides) = &mut self.sides else { return };
        let r = &sides.running[step >> STEP_BITS];
        let k = (step & ((1 << STEP_BITS) - 1)) as usize;
        if let Move::Table { table, entry, .. } = r.plan.steps[k].what {
            let partition = r.home.partition;
            let table = &mut sides.partitions[usize::from(partition)].tables[usize::from(table.0)];
            for waiting in table.fill(entry) {
                self.complete_step(waiting, t);
            }
        }
        self.complete_step(step, t);
    }
}
