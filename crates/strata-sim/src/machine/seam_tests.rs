//! Mechanisms on every seam: one that does nothing changes nothing, and one that does something is obeyed to the cycle.

use super::testing::run;
use super::{KernelNeeds, Layer, Machine, MachineBuilder};
use crate::cache::SectorMask;
use crate::config::{LinkConfig, load};
use crate::seam::{
    AccessInfo, Action, Actions, Arrival, Below, CacheAccess, CachePrefetcher, Candidate, Dir, FaultId, LineKind,
    LineRequest, LinkId, LocalAddr, LocalLine, MemorySide, Move, Offload, PageId, PageRange, Paging, Parts, Place,
    Placed, Plan, Proposal, Replacement, StackId, StackUse, StepSet, TableId, TableSpec, Terms, Token, TrafficId,
    UnitId, Victim, Walk, Ways,
};
use crate::stats::Reading;
use crate::time::Picos;
use std::sync::{Arc, Mutex};
use strata_core::{Addr, Bytes, HostEvent, LineAddr, OpInfo};
use strata_testkit::{Instr, Memory, Script};

const A: u64 = 0x10_0000;

/// All memory.
const EVERYTHING: std::ops::Range<Addr> = Addr(0)..Addr(u64::MAX);

/// A machine whose L2 holds so little that lines leave it, and what is put into it.
fn small_l2_with(more: &[&str], install: impl FnOnce(&mut MachineBuilder)) -> Machine {
    let mut set = vec!["l2.sets=1", "l2.ways=2", "l2.eager_write_back=1"];
    set.extend(more);
    let mut builder = MachineBuilder::new(load("titan-v", &set).expect("a preset").config);
    install(&mut builder);
    builder.build().expect("a machine")
}

fn small_l2(more: &[&str]) -> Machine {
    small_l2_with(more, |_| ())
}

/// Puts one side before DRAM.
fn side(make: impl Fn() -> Box<dyn MemorySide> + 'static) -> impl FnOnce(&mut MachineBuilder) {
    move |m| m.memory_side("side", Layer::Resizes, move |_| make())
}

/// Kernels that read and write twice what L2 holds; what was counted, and the cycles of each.
fn traffic(machine: &mut Machine) -> (Reading, Vec<u64>) {
    let lines = |warp: u64| (0..48).map(move |k| A + 128 * (48 * warp + k));
    let reads: Vec<Vec<Instr>> = (0..4).map(|w| lines(w).map(Instr::load_line).collect()).collect();
    let writes: Vec<Vec<Instr>> =
        (0..4).map(|w| lines(w).flat_map(|a| [Instr::store_line(a), Instr::load(a ^ 0x1000)]).collect()).collect();
    let needs = KernelNeeds { threads: 32, registers: 8, shared: 0 };
    let mut cycles = Vec::new();
    for warps in [&reads, &writes, &reads] {
        cycles.push(machine.run_kernel(&mut Script::new(warps).one_warp_per_cta(), &needs).expect("it runs").cycles);
    }
    (machine.reading(), cycles)
}

/// Hands everything on.
pub(super) struct Null;

impl MemorySide for Null {
    fn attach(&mut self, _: &mut Parts) {}

    fn needs_data(&self) -> bool {
        false
    }

    fn read(&mut self, request: &LineRequest<'_>, mut below: Below<'_>, plan: &mut Plan) {
        below.read(request, plan);
    }

    fn write(&mut self, request: &LineRequest<'_>, mut below: Below<'_>, plan: &mut Plan) {
        below.write(request, plan);
    }
}

impl Victim for Null {
    fn evicted(&mut self, _: LineAddr, _: SectorMask) {}

    fn missed(&mut self, _: LineAddr, _: SectorMask) -> (SectorMask, u32) {
        (SectorMask::NONE, 0)
    }

    fn written(&mut self, _: LineAddr, _: SectorMask) {}
}

impl Paging for Null {
    fn walked(&mut self, _: PageId, _: &AccessInfo, _: Picos, _: &mut Actions) -> Walk {
        Walk::Here
    }

    fn wake(&mut self, _: Token, _: Picos, _: &mut Actions) {}
}

impl Offload for Null {
    fn candidates(&mut self, _: &[OpInfo]) -> Vec<Candidate> {
        vec![Candidate { begin: 0, end: 1, entry: 0, live_in: 1, live_out: 1, conditions: Vec::new() }]
    }

    fn terms(&self) -> Terms {
        Terms { pipeline_cycles: 10, ..Terms::default() }
    }

    fn consider(&mut self, _: &Arrival<'_>) -> bool {
        true
    }

    fn decide(&mut self, _: usize, _: StackId, _: &[StackUse]) -> Option<StackId> {
        None
    }
}

impl CachePrefetcher for Null {
    fn accessed(&mut self, _: &CacheAccess, _: &mut Vec<Proposal>) {}
}

impl Replacement for Null {
    fn attach(&mut self, _: u32, _: u32) {}

    fn hit(&mut self, _: u32, _: u32) {}

    fn filled(&mut self, _: u32, _: u32) {}

    fn victim(&mut self, _: u32, _: &Ways) -> u32 {
        u32::MAX
    }
}

/// Puts a mechanism into a machine.
type Install = fn(&mut MachineBuilder);

#[test]
fn mechanisms_that_do_nothing_change_nothing() {
    // With a TLB whose misses are free, as a paging mechanism turns translation on.
    let free_tlb = ["tlb.l2_cycles=0", "tlb.walk_cycles=0"];
    let (plain, plain_cycles) = traffic(&mut small_l2(&free_tlb));
    let installs: [(&str, Install); 7] = [
        ("memory side", |m| {
            m.memory_side("first", Layer::Relocates, |_| Box::new(Null));
            m.memory_side("second", Layer::Resizes, |_| Box::new(Null));
        }),
        ("victim", |m| m.victim("null", |_| Box::new(Null))),
        ("paging", |m| m.paging("null", Box::new(Null), EVERYTHING)),
        ("offload", |m| m.offload("null", Box::new(Null))),
        ("place", |m| {
            let plain = super::Interleave::new(m.config());
            m.place("null", Box::new(SamePlace(plain)));
        }),
        ("prefetchers", |m| {
            m.l1_prefetcher("null", |_| Box::new(Null));
            m.l2_prefetcher("null", |_| Box::new(Null));
        }),
        ("replacement", |m| {
            m.l1_replacement("null", |_| Box::new(Null));
            m.l2_replacement("null", |_| Box::new(Null));
        }),
    ];
    for (seam, install) in installs {
        let mut machine = small_l2_with(&free_tlb, install);
        let (mut counted, cycles) = traffic(&mut machine);
        assert_eq!(cycles, plain_cycles, "{seam}");
        // Translation is counted where it happens, and a walk is an event of its own; so is what memory sides did.
        let m = &mut counted.machine;
        (m.tlb_accesses, m.tlb_misses, m.tlb_walks, m.events) = (0, 0, 0, plain.machine.events);
        counted.sides = plain.sides.clone();
        assert!(counted.caches.iter().all(|count| count.value == 0), "{seam}");
        counted.caches.clear();
        assert_eq!(counted, plain, "{seam}");
    }
}

/// Places lines where they are anyway.
struct SamePlace(super::Interleave);

impl Place for SamePlace {
    fn place(&self, line: LineAddr) -> Placed {
        let home = self.0.home(line);
        Placed { partition: u32::from(home.partition), local: home.local.0 }
    }
}

/// What a memory side saw.
type Seen = Arc<Mutex<Vec<(LineKind, LocalLine, SectorMask, u8)>>>;

/// Does one more thing before each fill, and notes the first byte of the data.
struct Before {
    what: fn(&Parts2) -> Move,
    parts: Parts2,
    seen: Seen,
}

/// The parts of the machine that [`Before`] asks for.
#[derive(Clone, Copy)]
struct Parts2 {
    table: TableId,
    unit: UnitId,
    link: LinkId,
    traffic: TrafficId,
}

fn before(what: fn(&Parts2) -> Move, seen: &Seen) -> Box<dyn MemorySide> {
    let parts = Parts2 { table: TableId(0), unit: UnitId(0), link: LinkId(0), traffic: TrafficId::DATA };
    Box::new(Before { what, parts, seen: Arc::clone(seen) })
}

impl MemorySide for Before {
    fn attach(&mut self, parts: &mut Parts) {
        let home = LocalAddr(1 << 30);
        let spec = TableSpec { name: "map", entry_bits: 8, home, cache: Bytes(64), ways: 2, latency: 20, access_fj: 0 };
        self.parts = Parts2 {
            table: parts.table(spec),
            unit: parts.unit(0),
            link: parts.link(LinkConfig { gb_per_s: 32.0, latency_ns: 500.0, header_bytes: 0 }),
            traffic: parts.traffic("far"),
        };
    }

    fn read(&mut self, request: &LineRequest<'_>, _: Below<'_>, plan: &mut Plan) {
        self.seen.lock().expect("nobody panics").push((request.kind, request.line, request.sectors, request.data[0]));
        let first = plan.add((self.what)(&self.parts), StepSet::NONE, true);
        let at = request.line.addr();
        let fetch = Move::Dram { at, sectors: SectorMask::ALL, dir: Dir::Read, why: TrafficId::DATA };
        plan.add(fetch, first, true);
        plan.fill = SectorMask::ALL;
    }

    fn write(&mut self, request: &LineRequest<'_>, mut below: Below<'_>, plan: &mut Plan) {
        self.seen.lock().expect("nobody panics").push((request.kind, request.line, request.sectors, request.data[0]));
        below.write(request, plan);
    }
}

/// A load, and a store elsewhere that needs its value.
fn load_and_use(address: u64) -> [Instr; 2] {
    [Instr::load_past_l1(address), Instr::store(A ^ 0x10_0000)]
}

/// Cycles of a kernel of one warp.
fn cycles(machine: &mut Machine, script: &[Instr]) -> u64 {
    let needs = KernelNeeds { threads: 32, registers: 8, shared: 0 };
    machine.run_kernel(&mut Script::new(&[script]), &needs).expect("it runs").cycles
}

/// How much longer a load of one sector takes, and a second one of its line, if `what` comes before each fill.
fn delays(what: fn(&Parts2) -> Move) -> (i64, i64) {
    // Refresh would be met at one time and not at another.
    let set = ["dram.timing.refi=0"];
    let (script, other_sector) = (load_and_use(A), load_and_use(A + 64));
    let with = side(move || before(what, &Seen::default()));
    let (mut plain, mut with) = (small_l2(&set), small_l2_with(&set, with));
    let first = cycles(&mut with, &script) as i64 - cycles(&mut plain, &script) as i64;
    let second = cycles(&mut with, &other_sector) as i64 - cycles(&mut plain, &other_sector) as i64;
    (first, second)
}

#[test]
fn steps_of_a_plan_take_their_time() {
    let unit = |p: &Parts2| Move::Unit { unit: p.unit, latency: 100, interval: 1 };
    let (first, second) = delays(unit);
    // The whole line was fetched: three more sectors the first time, 2 DRAM cycles or 3 core cycles each, and a hit the
    // second.
    assert!((108..=110).contains(&first), "{first}");
    assert!(second < -60, "{second}");
    // 128 B at 32 GB/s and 500 ns are 504 ns, at 1.2 GHz 605 cycles; and the three sectors.
    let link = |p: &Parts2| Move::Link { link: p.link, bytes: 128, dir: Dir::Read, why: p.traffic };
    let (first, _) = delays(link);
    assert!((613..=616).contains(&first), "{first}");
}

#[test]
fn a_table_is_fetched_once_and_then_hits_in_its_cache() {
    let entry = |p: &Parts2| Move::Table { table: p.table, entry: 0, dir: Dir::Read };
    let mut machine = small_l2_with(&["dram.timing.refi=0"], side(move || before(entry, &Seen::default())));
    let miss = cycles(&mut machine, &load_and_use(A));
    assert_eq!(machine.reading().machine.dram_reads, 5, "a sector of the table and the line");
    // The next line of the same partition.
    let other =
        (1..10_000).map(|k| A + 128 * k).find(|&a| partition(&machine, a) == partition(&machine, A)).expect("one");
    let hit = cycles(&mut machine, &load_and_use(other));
    assert!(miss > hit + 50, "{miss} {hit}");
    let sides = machine.reading().sides;
    let [("map", counts)] = sides.tables[..] else { panic!("{:?}", sides.tables) };
    assert_eq!((counts.accesses, counts.hits), (2, 1));
    let [(_, data), (_, metadata), (_, far)] = sides.traffic[..] else { panic!("{:?}", sides.traffic) };
    assert_eq!((data.dram_read, metadata.dram_read, far.link_read), (256, 32, 0));
}

/// Who wants another sector of a line that a mechanism fetches whole waits for that fill.
#[test]
fn a_line_that_comes_whole_is_fetched_once() {
    let unit = |p: &Parts2| Move::Unit { unit: p.unit, latency: 100, interval: 1 };
    let seen = Seen::default();
    let told = Arc::clone(&seen);
    let mut machine = small_l2_with(&[], side(move || before(unit, &told)));
    let needs = KernelNeeds { threads: 64, registers: 8, shared: 0 };
    let warps: [&[Instr]; 2] = [&[Instr::load_past_l1(A)], &[Instr::load_past_l1(A + 64)]];
    machine.run_kernel(&mut Script::new(&warps).one_warp_per_cta(), &needs).expect("it runs");
    assert_eq!(seen.lock().expect("nobody panics").len(), 1);
    let l2 = machine.reading().l2();
    assert_eq!((l2.fetches, l2.fills, l2.read_awaited), (4, 4, 1));
}

/// Notes which sectors L2 had of a line that is written back.
#[derive(Default)]
struct Residents(Arc<Mutex<Vec<u8>>>);

impl MemorySide for Residents {
    fn attach(&mut self, _: &mut Parts) {}

    fn read(&mut self, request: &LineRequest<'_>, mut below: Below<'_>, plan: &mut Plan) {
        below.read(request, plan);
    }

    fn write(&mut self, request: &LineRequest<'_>, mut below: Below<'_>, plan: &mut Plan) {
        self.0.lock().expect("nobody panics").push(request.resident.0);
        below.write(request, plan);
    }
}

#[test]
fn a_mechanism_learns_what_l2_had_of_a_line_that_left() {
    let seen = Arc::<Mutex<Vec<u8>>>::default();
    let told = Arc::clone(&seen);
    let mut machine = small_l2_with(&[], side(move || Box::new(Residents(Arc::clone(&told)))));
    let home = machine.interleave.home(Addr(A).line()).slice;
    let in_slice = |&a: &u64| machine.interleave.home(Addr(a).line()).slice == home;
    let lines: Vec<u64> = (1..).map(|k| A + 128 * k).filter(in_slice).take(4).collect();
    let (whole, part) = (lines[0], lines[1]);
    let mut script = vec![Instr::store_line(whole), Instr::load_past_l1(part + 64), Instr::store(part)];
    script.extend([Instr::load_past_l1(lines[2]), Instr::load_past_l1(lines[3])]);
    cycles(&mut machine, &script);
    // All four sectors of the one; of the other the one that was loaded, for a part of a sector is no sector.
    assert_eq!(*seen.lock().expect("nobody panics"), [0b1111, 0b0100]);
}

fn partition(machine: &Machine, address: u64) -> u16 {
    machine.interleave.home(Addr(address).line()).partition
}

/// Memory holds what was copied in or written back, not what the program has stored meanwhile.
#[test]
fn a_mechanism_sees_what_memory_holds() {
    let unit = |p: &Parts2| Move::Unit { unit: p.unit, latency: 1, interval: 1 };
    let seen = Seen::default();
    let told = Arc::clone(&seen);
    let mut machine = small_l2_with(&["l2.copies_fill=false"], side(move || before(unit, &told)));
    let mut memory = Memory::default();
    memory.write(Addr(A), &[7; 128]);
    let copy = HostEvent::CopyIn { start: Addr(A), size: Bytes(128) };
    machine.host_event(&copy, |line, data| *data = memory.line(line));
    let needs = KernelNeeds { threads: 32, registers: 8, shared: 0 };
    // Lines of the same slice, so that the first one has to leave.
    let home = machine.interleave.home(Addr(A).line());
    let others = (1..).map(|k| A + 128 * k).filter(|&a| machine.interleave.home(Addr(a).line()).slice == home.slice);
    let script: Vec<Instr> = [Instr::load_past_l1(A), Instr::store(A).word(9)]
        .into_iter()
        .chain(others.take(2).map(Instr::load_past_l1))
        .collect();
    machine.run_kernel(&mut Script::new(&[script]).on_memory(memory), &needs).expect("it runs");
    let of_line: Vec<_> =
        seen.lock().expect("nobody panics").iter().filter(|s| s.1 == home.local).map(|s| (s.0, s.2.0, s.3)).collect();
    assert_eq!(of_line, [(LineKind::Fill, 0b0001, 7), (LineKind::WriteBack, 0b0001, 9)]);
}

/// Everything is far away: no DRAM channel ever tells a slice that there is room again.
struct FarAway(Option<LinkId>);

impl FarAway {
    fn over_link(&self, plan: &mut Plan, dir: Dir) {
        if let Some(link) = self.0 {
            plan.add(Move::Link { link, bytes: 128, dir, why: TrafficId::DATA }, StepSet::NONE, true);
        }
    }
}

impl MemorySide for FarAway {
    fn attach(&mut self, parts: &mut Parts) {
        self.0 = Some(parts.link(LinkConfig { gb_per_s: 32.0, latency_ns: 100.0, header_bytes: 0 }));
    }

    fn read(&mut self, request: &LineRequest<'_>, _: Below<'_>, plan: &mut Plan) {
        plan.fill = request.sectors;
        self.over_link(plan, Dir::Read);
    }

    fn write(&mut self, _: &LineRequest<'_>, _: Below<'_>, plan: &mut Plan) {
        self.over_link(plan, Dir::Write);
    }
}

#[test]
fn a_slice_goes_on_when_nothing_of_a_plan_goes_to_dram() {
    let one = ["l2.miss_queue=2", "l2.slices=1", "dram.channels=1"];
    let mut machine = small_l2_with(&one, side(|| Box::new(FarAway(None))));
    let reading = traffic(&mut machine).0;
    assert_eq!(reading.machine.dram_reads + reading.machine.dram_writes, 0);
    let [(_, data), ..] = machine.reading().sides.traffic[..] else { panic!("no traffic") };
    assert!(data.link_read > 0 && data.link_written > 0);
}

/// What comes back from DRAM passes through a unit, as if it were decompressed.
struct Behind(UnitId);

impl MemorySide for Behind {
    fn attach(&mut self, parts: &mut Parts) {
        self.0 = parts.unit(0);
    }

    fn read(&mut self, request: &LineRequest<'_>, mut below: Below<'_>, plan: &mut Plan) {
        below.read(request, plan);
        plan.add(Move::Unit { unit: self.0, latency: 1, interval: 1 }, StepSet::one(0), true);
    }

    fn write(&mut self, request: &LineRequest<'_>, mut below: Below<'_>, plan: &mut Plan) {
        below.write(request, plan);
    }
}

/// Who has asked DRAM is out of L2's queue to memory, whatever a unit does with the answer.
#[test]
fn a_unit_behind_a_read_keeps_no_place_in_the_queue_to_memory() {
    let stream = |install: &dyn Fn(&mut MachineBuilder)| {
        let one = ["l2.miss_queue=2", "l2.slices=1", "dram.channels=1", "dram.timing.refi=0"];
        let loads = |warp: u64| (0..16).map(move |k| Instr::load_past_l1(A + 128 * (16 * warp + k)));
        let warps: Vec<Vec<Instr>> = (0..8).map(|warp| loads(warp).collect()).collect();
        let needs = KernelNeeds { threads: 32, registers: 8, shared: 0 };
        let mut machine = small_l2_with(&one, install);
        machine.run_kernel(&mut Script::new(&warps).one_warp_per_cta(), &needs).expect("it runs").cycles
    };
    let (plain, with) = (stream(&|_| ()), stream(&|m| side(|| Box::new(Behind(UnitId(0))))(m)));
    assert!(with <= plain + 4, "{with} cycles, {plain} without");
}

/// Keeps what leaves L2 and gives it back.
#[derive(Default)]
struct Keeps(Vec<(LineAddr, SectorMask)>);

impl Victim for Keeps {
    fn evicted(&mut self, line: LineAddr, clean: SectorMask) {
        self.0.push((line, clean));
    }

    fn missed(&mut self, line: LineAddr, sectors: SectorMask) -> (SectorMask, u32) {
        let kept = self.0.iter().rposition(|(l, _)| *l == line).map(|k| self.0.remove(k).1);
        (kept.unwrap_or_default().and(sectors), 5)
    }

    fn written(&mut self, line: LineAddr, _: SectorMask) {
        self.0.retain(|(l, _)| *l != line);
    }
}

#[test]
fn a_victim_buffer_saves_reads_and_drops_what_is_written() {
    let mut machine = small_l2_with(&[], |m| m.victim("keeps", |_| Box::new(Keeps::default())));
    let slice = machine.interleave.home(Addr(A).line()).slice;
    let same: Vec<u64> = (0..)
        .map(|k| A + 128 * k)
        .filter(|&a| machine.interleave.home(Addr(a).line()).slice == slice)
        .take(4)
        .collect();
    let [a, b, c, d] = same[..] else { panic!("four lines") };
    let load = Instr::load_past_l1;
    run(&mut machine, &[&[load(a), load(b), load(c), load(a)]]).expect("it runs");
    assert_eq!(machine.reading().machine.dram_reads, 3, "the second read of the first line is served by the buffer");
    // Written while it is in the buffer: what the buffer has is stale.
    run(&mut machine, &[&[load(c), load(d), Instr::store(a), load(a)]]).expect("it runs");
    assert_eq!(machine.reading().machine.dram_reads, 5, "d and the rest of a's sector");
}

/// Pages come after a microsecond, each when it is first touched.
struct FirstTouch {
    here: Vec<PageId>,
    heard: Arc<Mutex<Vec<String>>>,
}

impl Paging for FirstTouch {
    fn wants_touches(&self) -> bool {
        true
    }

    fn touched(&mut self, page: PageId, access: &AccessInfo, _: Picos) {
        self.heard.lock().expect("nobody panics").push(format!("hit {} by SM {}", page.0, access.sm));
    }

    fn walked(&mut self, page: PageId, access: &AccessInfo, now: Picos, out: &mut Actions) -> Walk {
        if self.here.contains(&page) {
            return Walk::Here;
        }
        self.heard
            .lock()
            .expect("nobody panics")
            .push(format!("fault {} pc {} write {}", page.0, access.pc, access.write));
        out.push(Action::Timer { at: now + Picos(1_000_000), token: Token(page.0 as u32) });
        Walk::Wait(FaultId(page.0 as u32))
    }

    fn wake(&mut self, token: Token, _: Picos, out: &mut Actions) {
        let page = PageId(u64::from(token.0));
        self.here.push(page);
        out.push(Action::Resume(FaultId(token.0)));
    }
}

#[test]
fn an_access_waits_for_its_page_and_others_of_the_page_with_it() {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let set = ["tlb.page=4KiB", "tlb.l2_cycles=0", "tlb.walk_cycles=0", "dram.timing.refi=0"];
    let first_touch = Box::new(FirstTouch { here: Vec::new(), heard: Arc::clone(&heard) });
    let mut plain = small_l2(&set);
    let mut paged = small_l2_with(&set, |m| m.paging("first touch", first_touch, EVERYTHING));
    let script = [Instr::load_past_l1(0x10000), Instr::store(0x10080)];
    let late = cycles(&mut paged, &script) - cycles(&mut plain, &script);
    // A microsecond at 1.2 GHz; the walk that finds the page is one more event on the way.
    assert!((1200..1203).contains(&late), "{late}");
    assert_eq!(*heard.lock().expect("nobody panics"), ["fault 16 pc 0 write false", "hit 16 by SM 0"]);
}

#[test]
fn a_kernel_waits_for_a_store_whose_page_comes_late() {
    let set = ["tlb.page=4KiB", "tlb.l2_cycles=0", "tlb.walk_cycles=0", "dram.timing.refi=0"];
    let first_touch = Box::new(FirstTouch { here: Vec::new(), heard: Arc::default() });
    let mut plain = small_l2(&set);
    let mut paged = small_l2_with(&set, |m| m.paging("first touch", first_touch, EVERYTHING));
    let late = cycles(&mut paged, &[Instr::store(0x10000)]) - cycles(&mut plain, &[Instr::store(0x10000)]);
    assert!((1200..1203).contains(&late), "{late}");
}

/// Every page is here; a warp that has ended stays for a microsecond after the first walk.
struct KeepsWarps;

impl Paging for KeepsWarps {
    fn walked(&mut self, _: PageId, _: &AccessInfo, now: Picos, out: &mut Actions) -> Walk {
        out.push(Action::WarpsMayLeave(false));
        out.push(Action::Timer { at: now + Picos(1_000_000), token: Token(0) });
        Walk::Here
    }

    fn wake(&mut self, _: Token, _: Picos, out: &mut Actions) {
        out.push(Action::WarpsMayLeave(true));
    }
}

#[test]
fn a_warp_that_has_ended_stays_while_a_mechanism_says_so() {
    let set = ["tlb.page=4KiB", "tlb.l2_cycles=0", "tlb.walk_cycles=0", "dram.timing.refi=0"];
    let ended = |keep: bool| {
        let mut machine = small_l2_with(&set, |m| {
            if keep {
                m.paging("keeps warps", Box::new(KeepsWarps), EVERYTHING);
            }
        });
        // Whether a register comes is not asked for: the warp ends as soon as its load has issued.
        cycles(&mut machine, &[Instr::load_past_l1(0x10000)])
    };
    let (plain, kept) = (ended(false), ended(true));
    assert!(
        (1200..1203 + plain).contains(&kept) && kept > plain,
        "{kept} after a microsecond at 1.2 GHz, {plain} before"
    );
}

/// Sends pages away again: TLBs forget them and caches drop their lines.
struct Evicts;

impl Paging for Evicts {
    fn walked(&mut self, page: PageId, access: &AccessInfo, _: Picos, out: &mut Actions) -> Walk {
        if access.write {
            let range = PageRange { first: PageId(page.0 - 1), pages: 1 };
            out.push(Action::Leave { pages: range, copied: true });
        }
        Walk::Here
    }

    fn wake(&mut self, _: Token, _: Picos, _: &mut Actions) {}
}

#[test]
fn pages_that_leave_take_their_lines_and_translations_along() {
    let set = ["tlb.page=4KiB", "tlb.l2_cycles=0", "tlb.walk_cycles=0"];
    let mut builder = MachineBuilder::new(load("titan-v", &set).expect("a preset").config);
    builder.paging("evicts", Box::new(Evicts), EVERYTHING);
    let mut machine = builder.build().expect("a machine");
    // The store goes to the page behind that of the loads.
    run(&mut machine, &[&[Instr::load(0x10000), Instr::load(0x10000), Instr::store(0x11000), Instr::load(0x10000)]])
        .expect("it runs");
    let counted = machine.reading().machine;
    assert_eq!((counted.dram_reads, counted.l1_hits, counted.tlb_walks), (2, 1, 3));
}

#[test]
fn lines_live_where_a_mechanism_says() {
    struct First;
    impl Place for First {
        fn place(&self, line: LineAddr) -> Placed {
            Placed { partition: 0, local: line.0 }
        }
    }
    let mut machine = small_l2_with(&[], |m| m.place("first", Box::new(First)));
    let reading = traffic(&mut machine).0;
    assert!(reading.channels[0].reads > 0);
    assert!(reading.channels[1..].iter().all(|c| c.reads == 0));
}
