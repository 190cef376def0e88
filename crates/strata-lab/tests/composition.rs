//! Mechanisms together in one machine that checks data, under random programs with more pages than memory holds: no load gets a
//! wrong byte with any pair or with all four, what is done wrong is found, and a mechanism that does nothing changes no cycle.
//!
//! `STRATA_OPERATIONS=10000000 cargo test --release -p strata-lab --test composition -- --ignored --nocapture` does the same for as long
//! as one likes.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use strata_buddy::{Allocations, CompressedSide, Purpose, Target, Targets};
use strata_cmd::settings::{CMD, Scheme, Settings as CmdSettings};
use strata_cmd::{DedupSide, ReadOnlyFifo};
use strata_core::random::SplitMix64;
use strata_core::settings::Settings;
use strata_core::{Addr, Allocation, Bytes, HostEvent, LineAddr, OpInfo, WarpId};
use strata_prefetch::Stride;
use strata_sim::cache::SectorMask;
use strata_sim::config::load;
use strata_sim::seam::{
    AccessInfo, Action, Actions, Arrival, Below, Candidate, Counted, Line, LineRequest, LocalLine, MemorySide, Offload,
    PageId, Paging, Parts, Place, Placed, Plan, Reserved, SideCount, StackId, StackUse, Terms, Token, Walk, Wanted,
};
use strata_sim::time::Picos;
use strata_sim::{Layer, MachineBuilder, MachineError};
use strata_srrip::Srrip;
use strata_testkit::sim::Rig;
use strata_testkit::{Instr, Script};
use strata_uvm::{Config, Handle, Machine as UvmMachine, SETTINGS, Uvm};

const MB: u64 = 1 << 20;
/// Where managed memory begins; and memory of the device.
const MANAGED: u64 = 1 << 36;
const DEVICE: u64 = 1 << 28;
/// Lines that programs touch: each in a 64 KB block of its own, so that 6 MB of pages compete for 2 MB of memory.
const LINES: u64 = 96;

/// What goes into a machine.
#[derive(Clone, Default)]
#[allow(clippy::struct_excessive_bools, reason = "each is a mechanism that is there or not")]
struct Mechanisms {
    uvm: bool,
    cmd: bool,
    buddy: bool,
    bpc: bool,
    tom: bool,
    stride: bool,
    srrip: bool,
    /// One that may give lines other homes, in place of `tom`.
    mover: Option<Mover>,
    /// One that does nothing, in each of the seams that the others leave free.
    null: bool,
    wrong: Option<Wrong>,
}

/// What is left out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wrong {
    /// Memory sides do not hear that pages come and go: frames hold what was there before.
    StaleFrame,
    /// A page that leaves is not copied to the host.
    LostPage,
    /// Metadata that were looked up once are kept when the line is written, by L2 or by a stack's SM.
    StaleMetadata,
}

fn named(text: &str) -> Mechanisms {
    let mut mechanisms = Mechanisms::default();
    for name in text.split('+') {
        match name {
            "uvm" => mechanisms.uvm = true,
            "cmd" => mechanisms.cmd = true,
            "buddy" => mechanisms.buddy = true,
            "bpc" => mechanisms.bpc = true,
            "tom" => mechanisms.tom = true,
            "stride" => mechanisms.stride = true,
            "srrip" => mechanisms.srrip = true,
            "null" => mechanisms.null = true,
            other => panic!("{other}"),
        }
    }
    mechanisms
}

/// Every set of two and more papers' that goes together, each alone, and each with a cache prefetcher and a replacement policy.
const ALL: [&str; 30] = [
    "uvm",
    "cmd",
    "buddy",
    "bpc",
    "tom",
    "uvm+cmd",
    "uvm+buddy",
    "uvm+bpc",
    "cmd+buddy",
    "cmd+bpc",
    "tom+cmd",
    "tom+buddy",
    "tom+bpc",
    "tom+uvm",
    "uvm+cmd+buddy",
    "tom+cmd+buddy",
    "tom+uvm+cmd+buddy",
    "stride",
    "srrip",
    "uvm+stride",
    "uvm+srrip",
    "cmd+stride",
    "cmd+srrip",
    "buddy+stride",
    "buddy+srrip",
    "bpc+stride",
    "bpc+srrip",
    "tom+stride",
    "tom+srrip",
    "tom+uvm+cmd+buddy+stride+srrip",
];

/// A memory side that hands everything on.
struct Null;

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

/// A memory side that does not hear of pages.
struct Deaf(DedupSide);

impl MemorySide for Deaf {
    fn attach(&mut self, parts: &mut Parts) {
        self.0.attach(parts);
    }

    fn read(&mut self, request: &LineRequest<'_>, below: Below<'_>, plan: &mut Plan) {
        self.0.read(request, below, plan);
    }

    fn write(&mut self, request: &LineRequest<'_>, below: Below<'_>, plan: &mut Plan) {
        self.0.write(request, below, plan);
    }

    fn host_wrote(&mut self, request: &LineRequest<'_>, below: Below<'_>) {
        self.0.host_wrote(request, below);
    }

    fn page_came(&mut self, _: &LineRequest<'_>, _: Below<'_>) {}

    fn page_left(&mut self, _: LocalLine, _: Below<'_>) {}

    fn copies(&mut self, wanted: Wanted, line: LocalLine, there: SectorMask) -> SectorMask {
        self.0.copies(wanted, line, there)
    }

    fn delivers(&self, line: LocalLine) -> Option<(SectorMask, Line)> {
        self.0.delivers(line)
    }

    fn reserved(&self, address: LineAddr, below: &Reserved<'_>) -> u32 {
        self.0.reserved(address, below)
    }

    fn counts(&self, machine: &Counted<'_>) -> Vec<SideCount> {
        self.0.counts(machine)
    }
}

/// A memory side whose metadata outlive what they say: a line is found where it was when it was first looked up, until its page goes.
struct Outdated {
    side: DedupSide,
    known: Mutex<HashMap<u64, (SectorMask, Line)>>,
}

impl Outdated {
    fn known(&self) -> MutexGuard<'_, HashMap<u64, (SectorMask, Line)>> {
        self.known.lock().expect("nobody panics with it")
    }
}

impl MemorySide for Outdated {
    fn attach(&mut self, parts: &mut Parts) {
        self.side.attach(parts);
    }

    fn read(&mut self, request: &LineRequest<'_>, below: Below<'_>, plan: &mut Plan) {
        self.side.read(request, below, plan);
    }

    fn write(&mut self, request: &LineRequest<'_>, below: Below<'_>, plan: &mut Plan) {
        self.side.write(request, below, plan);
    }

    fn host_wrote(&mut self, request: &LineRequest<'_>, below: Below<'_>) {
        self.known().remove(&request.line.0);
        self.side.host_wrote(request, below);
    }

    fn host_freed(&mut self, line: LocalLine, below: Below<'_>) {
        self.known().remove(&line.0);
        self.side.host_freed(line, below);
    }

    fn copies(&mut self, wanted: Wanted, line: LocalLine, there: SectorMask) -> SectorMask {
        self.side.copies(wanted, line, there)
    }

    fn delivers(&self, line: LocalLine) -> Option<(SectorMask, Line)> {
        let now = self.side.delivers(line)?;
        Some(*self.known().entry(line.0).or_insert(now))
    }
}

/// Sends every other dozen of instructions to the stack of its first access.
struct Dozens(Arc<AtomicU64>);

impl Offload for Dozens {
    fn candidates(&mut self, instructions: &[OpInfo]) -> Vec<Candidate> {
        let begins = (4..instructions.len() as u32).step_by(24);
        begins
            .map(|begin| Candidate {
                begin,
                end: begin + 11,
                entry: begin,
                live_in: 2,
                live_out: 1,
                conditions: Vec::new(),
            })
            .filter(|candidate| (candidate.end as usize) < instructions.len())
            .collect()
    }

    fn terms(&self) -> Terms {
        Terms { follows_absent_pages: true, ..Terms::default() }
    }

    fn consider(&mut self, _: &Arrival<'_>) -> bool {
        true
    }

    fn decide(&mut self, _: usize, first: StackId, _: &[StackUse]) -> Option<StackId> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Some(first)
    }
}

/// Gives all lines other homes when the first warp leaves its first candidate, if it `moves` them at all.
#[derive(Clone)]
struct Mover {
    moves: bool,
    moved: Arc<AtomicBool>,
}

impl Place for Mover {
    fn place(&self, LineAddr(line): LineAddr) -> Placed {
        let shift = u64::from(self.moved.load(Ordering::Relaxed));
        Placed { partition: ((line + shift) % 64) as u32, local: line / 64 }
    }
}

impl Offload for Mover {
    fn candidates(&mut self, instructions: &[OpInfo]) -> Vec<Candidate> {
        Dozens(Arc::default()).candidates(instructions)
    }

    fn terms(&self) -> Terms {
        Terms::default()
    }

    fn consider(&mut self, _: &Arrival<'_>) -> bool {
        true
    }

    fn decide(&mut self, _: usize, _: StackId, _: &[StackUse]) -> Option<StackId> {
        None
    }

    fn exited(&mut self, _: WarpId) -> bool {
        self.moves && !self.moved.load(Ordering::Relaxed)
    }

    fn remapped(&mut self) -> u64 {
        self.moved.store(true, Ordering::Relaxed);
        100
    }
}

/// Unified memory that forgets to copy what leaves.
struct Careless(Handle, bool);

impl Careless {
    fn spoil(&self, out: &mut Actions) {
        for action in out.iter_mut().filter(|_| self.1) {
            if let Action::Leave { copied, .. } = action {
                *copied = false;
            }
        }
    }
}

impl Paging for Careless {
    fn wants_touches(&self) -> bool {
        true
    }

    fn touched(&mut self, page: PageId, access: &AccessInfo, now: Picos) {
        self.0.touched(page, access, now);
    }

    fn sent(&mut self, page: PageId) {
        self.0.sent(page);
    }

    fn released(&mut self, page: PageId, now: Picos, out: &mut Actions) {
        self.0.released(page, now, out);
        self.spoil(out);
    }

    fn walked(&mut self, page: PageId, access: &AccessInfo, now: Picos, out: &mut Actions) -> Walk {
        let walk = self.0.walked(page, access, now, out);
        self.spoil(out);
        walk
    }

    fn wake(&mut self, token: Token, now: Picos, out: &mut Actions) {
        self.0.wake(token, now, out);
        self.spoil(out);
    }

    fn host(&mut self, event: &HostEvent, now: Picos, out: &mut Actions) {
        self.0.host(event, now, out);
        self.spoil(out);
    }

    fn reserved(&mut self, start: Addr, size: Bytes, per_line: u32) {
        self.0.reserved(start, size, per_line);
    }

    fn counts(&self) -> Vec<SideCount> {
        self.0.counts()
    }
}

/// A small machine with stacks, and what was counted of it.
struct Bench {
    rig: Rig,
    uvm: Option<Handle>,
    offloaded: Arc<AtomicU64>,
    base: u64,
    cycles: u64,
}

impl Bench {
    fn new(mechanisms: Mechanisms) -> Self {
        let small = ["sm.count=4", "l2.sets=2", "l2.ways=2", "l2.copies_fill=false"];
        let mut gpu = load("ndp-maxwell", &small).expect("a preset").config;
        let base = if mechanisms.uvm { MANAGED } else { DEVICE };
        let mut uvm = None;
        if mechanisms.uvm {
            let set = ["uvm.model=driver", "uvm.device_memory=2 MiB"];
            let config = Config::new(&Settings::read("uvm", SETTINGS, &set).expect("good")).expect("good");
            gpu.tlb.page = config.page_size;
            let of = UvmMachine { core_khz: gpu.clock.core.khz(), sms_per_tpc: 1, memory: gpu.dram.size };
            let managed = Addr(MANAGED)..Addr(2 * MANAGED);
            uvm = Some(Handle::new(Uvm::new(config, of, managed, None).expect("no predictor")));
        }
        let offloaded = Arc::<AtomicU64>::default();
        let mut builder = MachineBuilder::new(gpu.clone());
        builder.check_data();
        Self::add_sides(&mut builder, &mechanisms);
        if let Some(uvm) = &uvm {
            let careless = Careless(uvm.clone(), mechanisms.wrong == Some(Wrong::LostPage));
            builder.paging("uvm", Box::new(careless), Addr(MANAGED)..Addr(2 * MANAGED));
        }
        if mechanisms.stride {
            let settings = strata_prefetch::Settings::default();
            builder.l1_prefetcher("stride", move |_| Box::new(Stride::new(&settings)));
            builder.l2_prefetcher("stride", move |_| Box::new(Stride::new(&settings)));
        }
        if mechanisms.srrip {
            builder.l1_replacement("srrip", |_| Box::new(Srrip::new(2)));
            builder.l2_replacement("srrip", |_| Box::new(Srrip::new(2)));
        }
        if mechanisms.tom {
            builder.offload("tom", Box::new(Dozens(Arc::clone(&offloaded))));
        }
        if let Some(mover) = mechanisms.mover {
            builder.place("mover", Box::new(mover.clone()));
            builder.offload("mover", Box::new(mover));
        }
        let mut rig = Rig::new(builder.build().expect("they go together"));
        let mut allocation = Allocation::on_device(0, "a", Addr(base), Bytes(6 * MB));
        allocation.flags.managed = mechanisms.uvm;
        rig.tell(&HostEvent::Alloc(allocation));
        Self { rig, uvm, offloaded, base, cycles: 0 }
    }

    fn add_sides(builder: &mut MachineBuilder, mechanisms: &Mechanisms) {
        let gpu = builder.config().clone();
        if mechanisms.cmd {
            let settings = CmdSettings::of(Scheme::Cmd, &Settings::read("cmd", CMD, &[""; 0]).expect("good"));
            let (of, wrong) = (gpu.clone(), mechanisms.wrong);
            builder.memory_side("cmd", Layer::Relocates, move |_| {
                let side = DedupSide::new(&settings, &of);
                match wrong {
                    Some(Wrong::StaleFrame) => Box::new(Deaf(side)),
                    Some(Wrong::StaleMetadata) => Box::new(Outdated { side, known: Mutex::default() }),
                    _ => Box::new(side),
                }
            });
            let fifo = settings.fifo.expect("CMD has one");
            builder.victim("cmd", move |_| Box::new(ReadOnlyFifo::new(fifo)));
        }
        if mechanisms.buddy || mechanisms.bpc {
            let mut targets = Targets::default();
            targets.set("a", Target::X2);
            let (purpose, settings) = if mechanisms.buddy {
                let values = Settings::read("buddy", strata_buddy::settings::BUDDY, &[""; 0]).expect("good");
                let allocations = Allocations::new(targets).with_pages(mechanisms.uvm);
                (Purpose::Capacity(allocations), strata_buddy::settings::Settings::of_buddy(&values))
            } else {
                let values = Settings::read("bpc", strata_buddy::settings::BPC, &[""; 0]).expect("good");
                (Purpose::Bandwidth, strata_buddy::settings::Settings::of_bpc(&values))
            };
            let name = if mechanisms.buddy { "buddy" } else { "bpc" };
            builder.memory_side(name, Layer::Resizes, move |_| {
                Box::new(CompressedSide::new(purpose.clone(), &settings, &gpu))
            });
        }
        if mechanisms.null {
            builder.memory_side("null", Layer::Relocates, |_| Box::new(Null));
        }
    }

    fn at(&self, line: u64) -> u64 {
        self.base + line * 65536 + line % 5 * 128
    }

    /// Copies of the host and kernels of `length` instructions, from a seed.
    fn run(&mut self, kernels: usize, length: usize, seed: u64) -> Result<(), MachineError> {
        let mut random = SplitMix64::new(seed);
        let noise: Line = std::array::from_fn(|_| random.bits() as u8);
        let palette: [Line; 4] = [[0; 128], [7; 128], std::array::from_fn(|k| (k % 4 == 0) as u8 * k as u8), noise];
        let any = |random: &mut SplitMix64| palette[random.below(4) as usize];
        for line in 0..LINES / 2 {
            self.rig.copy_in(Addr(self.at(line)), &any(&mut random));
        }
        for kernel in 0..kernels as u64 {
            let mut instruction = |number: u64| {
                // Every third instruction goes on by a line a kernel, within a page, so that a prefetcher has something to find.
                let strided = number.is_multiple_of(3);
                let walked = self.base + number % LINES * 65536 + kernel % 5 * 128;
                let at = if strided { walked } else { self.at(random.below(LINES)) };
                match random.below(5) {
                    _ if strided => Instr::load_line(at),
                    0 | 1 => Instr::load_line(at),
                    2 => Instr::store(at + 32 * random.below(4)).lanes(0xff).bytes(any(&mut random)),
                    _ => Instr::store_line(at).bytes(any(&mut random)),
                }
            };
            let warp: Vec<Instr> = (0..length as u64).map(&mut instruction).collect();
            self.cycles += self.rig.run(Script::new(&[warp]))?.cycles;
            let (line, data) = (random.below(LINES), any(&mut random));
            self.rig.copy_in(Addr(self.at(line)), &data);
        }
        Ok(())
    }
}

#[test]
fn no_load_gets_a_wrong_byte_with_any_of_them_together() {
    for text in ALL {
        let mut bench = Bench::new(named(text));
        for seed in 1..4 {
            bench.run(4, 150, seed).unwrap_or_else(|error| panic!("{text}, seed {seed}: {error}"));
        }
        if let Some(uvm) = &bench.uvm {
            let counts = uvm.look(|uvm| *uvm.counted());
            assert!(counts.evicted_dirty > 0 && counts.thrashed > 0, "{text}: pages come and go");
        }
        if text.contains("tom") {
            assert!(bench.offloaded.load(Ordering::Relaxed) > 20, "{text}: blocks are offloaded");
        }
        if text.contains("cmd") {
            assert!(bench.rig.count("cmd.writes.inter") > 0, "{text}");
        }
        if text.contains("stride") {
            let useful = bench.rig.reading().caches.iter().any(|c| c.name == "l1.prefetch.useful" && c.value > 0);
            assert!(useful, "{text}: lines are there before they are asked for");
        }
    }
}

/// True if somebody finds a mistake within some seeds.
fn is_found(text: &str, wrong: Wrong) -> bool {
    (1..20).any(|seed| Bench::new(Mechanisms { wrong: Some(wrong), ..named(text) }).run(6, 200, seed).is_err())
}

#[test]
fn a_frame_that_holds_what_was_there_before_is_found() {
    for text in ["uvm+cmd", "tom+uvm+cmd"] {
        assert!(is_found(text, Wrong::StaleFrame), "{text}");
    }
}

#[test]
fn metadata_that_are_not_invalidated_are_found() {
    for text in ["cmd", "cmd+buddy", "tom+cmd", "tom+cmd+buddy"] {
        assert!(is_found(text, Wrong::StaleMetadata), "{text}");
    }
}

#[test]
fn a_page_that_is_lost_is_found() {
    for text in ["uvm", "uvm+buddy", "tom+uvm", "tom+uvm+cmd+buddy"] {
        assert!(is_found(text, Wrong::LostPage), "{text}");
    }
}

/// Pages that are at the host when lines get other homes come to these with their bytes: bytes that do not compress are read in full.
#[test]
fn bytes_at_the_host_move_with_their_lines() {
    let noise = |line: u64| -> Line {
        let mut random = SplitMix64::new(line);
        std::array::from_fn(|_| random.bits() as u8)
    };
    let read = |moves: bool| {
        let mover = Mover { moves, moved: Arc::default() };
        let mut bench = Bench::new(Mechanisms { mover: Some(mover.clone()), ..named("uvm+bpc") });
        for line in 0..LINES {
            bench.rig.copy_in(Addr(bench.at(line)), &noise(line));
        }
        let first = Instr::load_line(bench.at(0));
        bench.rig.run(Script::new(&[vec![first; 30]])).expect("data is right");
        assert_eq!(mover.moved.load(Ordering::Relaxed), moves);
        let all: Vec<Instr> = (1..LINES).map(|line| Instr::load_line(bench.at(line))).collect();
        let sectors = |bench: &Bench| bench.rig.reading().channels.iter().map(|c| c.read_accesses).sum::<u64>();
        let before = sectors(&bench);
        bench.rig.run(Script::new(&[all])).expect("data is right");
        sectors(&bench) - before
    };
    let stays = read(false);
    assert!(stays >= 4 * (LINES - 1), "{stays}");
    assert_eq!(read(true), stays);
}

#[test]
fn one_that_does_nothing_changes_no_cycle() {
    for text in ALL {
        let cycles = |null| {
            let mut bench = Bench::new(Mechanisms { null, ..named(text) });
            bench.run(3, 120, 7).expect("data is right");
            bench.cycles
        };
        assert_eq!(cycles(false), cycles(true), "{text}");
    }
}

#[test]
fn pages_take_what_their_target_keeps() {
    let evicted = |text| {
        let mut bench = Bench::new(named(text));
        bench.run(6, 200, 3).expect("data is right");
        bench.uvm.expect("it is there").look(|uvm| uvm.counted().evicted_dirty)
    };
    let (alone, with) = (evicted("uvm"), evicted("uvm+buddy"));
    assert!(with < alone, "with a target of 2 twice the pages fit: {with} of {alone} leave");
}

#[test]
#[ignore = "for as long as one likes: operations of each machine from `STRATA_OPERATIONS`"]
fn no_load_gets_a_wrong_byte_for_long() {
    let operations = std::env::var("STRATA_OPERATIONS").ok().and_then(|text| text.parse().ok()).unwrap_or(100_000u64);
    let each = operations / ALL.len() as u64;
    for text in ALL {
        let (mut done, mut seed) = (0, 0);
        let mut bench = Bench::new(named(text));
        while done < each {
            seed += 1;
            bench.run(10, 1000, seed).unwrap_or_else(|error| panic!("{text}, seed {seed}: {error}"));
            done += 10_000;
        }
        println!("{text}: {done} operations, {} cycles, no wrong byte", bench.cycles);
    }
}
