//! Unified memory in a machine: nothing is lost, faults come when they should, times are those of the link.

mod predictions;
mod roots;
mod serving;

use crate::{Config, Counts, Handle, Machine as Gpu, Predictor, SETTINGS, Uvm};
use strata_core::random::SplitMix64;
use strata_core::settings::Settings;
use strata_core::{Addr, Advice, Allocation, Bytes, HostEvent};
use strata_sim::config::load;
use strata_sim::seam::{AccessInfo, Action, Actions, PageId, Paging, Token, Walk};
use strata_sim::time::Picos;
use strata_sim::{KernelNeeds, Machine, MachineBuilder, MachineError};
use strata_testkit::{Instr, Script};

const BASE: u64 = 1 << 40;
const KB: u64 = 1 << 10;
const MB: u64 = 1 << 20;

/// A machine with unified memory, and how to look at that.
struct Bench {
    machine: Machine,
    uvm: Handle,
}

/// Leaves out the copying of one page range that leaves.
struct Forgetful(Handle, u32);

impl Forgetful {
    fn forget(&mut self, out: &mut Actions) {
        for action in out {
            if let Action::Leave { copied, .. } = action
                && *copied
            {
                self.1 = self.1.wrapping_sub(1);
                *copied = self.1 != 0;
            }
        }
    }
}

impl Paging for Forgetful {
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
    }

    fn walked(&mut self, page: PageId, access: &AccessInfo, now: Picos, out: &mut Actions) -> Walk {
        let walk = self.0.walked(page, access, now, out);
        self.forget(out);
        walk
    }

    fn wake(&mut self, token: Token, now: Picos, out: &mut Actions) {
        self.0.wake(token, now, out);
        self.forget(out);
    }

    fn host(&mut self, event: &HostEvent, now: Picos, out: &mut Actions) {
        self.0.host(event, now, out);
        self.forget(out);
    }
}

impl Bench {
    /// `forget`: the how-manieth copy to the host is left out; 0 for none.
    fn new(set: &[&str], forget: u32) -> Self {
        Self::with_predictor(set, forget, None)
    }

    fn with_predictor(set: &[&str], forget: u32, predictor: Option<Box<dyn Predictor>>) -> Self {
        let mut gpu = load("gtx1080ti", &["sm.count=4", "launch.before=100"]).expect("a preset").config;
        let config = Config::new(&Settings::read("uvm", SETTINGS, set).expect("good")).expect("good");
        gpu.tlb.page = config.page_size;
        let of = Gpu { core_khz: gpu.clock.core.khz(), sms_per_tpc: 1, memory: gpu.dram.size };
        let managed = Addr(BASE)..Addr(2 * BASE);
        let uvm = Handle::new(Uvm::new(config, of, managed.clone(), predictor).expect("a predictor if one is needed"));
        let mut builder = MachineBuilder::new(gpu);
        builder.check_data();
        builder.paging("uvm", Box::new(Forgetful(uvm.clone(), forget)), managed);
        Self { machine: builder.build().expect("a machine"), uvm }
    }

    fn tell(&mut self, event: &HostEvent) {
        self.machine.host_event(event, |_, _| ());
    }

    fn allocate(&mut self, offset: u64, size: u64) {
        let (start, size) = (Addr(BASE + offset), Bytes(size));
        self.tell(&HostEvent::Alloc(Allocation::on_device(0, "a", start, size)));
        self.tell(&HostEvent::CopyIn { start, size });
    }

    fn run(&mut self, warps: &[&[Instr]]) -> Result<u64, MachineError> {
        let needs = KernelNeeds { threads: 32, registers: 8, shared: 0 };
        let (kernel, grid, block) = ("k".to_owned(), (warps.len() as u32).into(), 32.into());
        self.tell(&HostEvent::LaunchBegin { module: 0, kernel: kernel.clone(), grid, block });
        let cycles = self.machine.run_kernel(&mut Script::new(warps).one_warp_per_cta(), &needs)?.cycles;
        self.tell(&HostEvent::LaunchEnd { kernel });
        Ok(cycles)
    }

    fn counts(&self) -> Counts {
        self.uvm.look(|uvm| *uvm.counted())
    }
}

/// Random loads and stores of four warps to `size` bytes.
fn random_warps(random: &mut SplitMix64, size: u64, length: usize) -> Vec<Vec<Instr>> {
    let mut warp = |lane: u64| {
        let mut one = || {
            let line = random.below(size / 128) / 4 * 4 + lane;
            let address = BASE + line * 128;
            match random.below(5) {
                0 | 1 => Instr::store(address),
                2 => Instr::store_line(address),
                _ => Instr::load(address),
            }
        };
        (0..length).map(|_| one()).collect::<Vec<_>>()
    };
    (0..4).map(&mut warp).collect()
}

/// Kernels of random touches, with prefetches, advice, host accesses and synchronisations between them.
fn torture(set: &[&str], kernels: u32) -> Result<Counts, MachineError> {
    const SIZE: u64 = 20 * MB;
    let predictor = match set.contains(&LEARNED) {
        true if set.iter().any(|set| set.ends_with(":root")) => Some(roots::RootsOn::boxed(2)),
        true => Some(Box::new(predictions::OneMegabyteOn(0)) as Box<dyn Predictor>),
        false => None,
    };
    let mut bench = Bench::with_predictor(set, 0, predictor);
    bench.tell(&HostEvent::Alloc(Allocation::on_device(0, "a", Addr(BASE), Bytes(SIZE))));
    // Some of it holds what the host wrote.
    for part in 0..SIZE / MB {
        bench.tell(&HostEvent::CopyIn { start: Addr(BASE + part * MB), size: Bytes(32 * KB) });
    }
    let mut random = SplitMix64::new(7);
    for kernel in 0..kernels {
        let warps = random_warps(&mut random, SIZE, 100);
        bench.run(&warps.iter().map(Vec::as_slice).collect::<Vec<_>>())?;
        let start = Addr(BASE + random.below(SIZE / MB - 2) * MB + 12 * KB);
        match kernel % 5 {
            0 => bench.tell(&HostEvent::Sync),
            1 => {
                let size = Bytes(MB + 4 * KB);
                bench.tell(&HostEvent::Prefetch { start, size, to_device: true });
            }
            2 => bench.tell(&HostEvent::CopyIn { start, size: Bytes(300 * KB) }),
            3 => {
                bench.tell(&HostEvent::CopyOut { start, size: Bytes(200 * KB) });
                bench.machine.check_copy_out(start, Bytes(200 * KB))?;
            }
            _ => {}
        }
    }
    bench.tell(&HostEvent::Sync);
    bench.machine.check_copy_out(Addr(BASE), Bytes(SIZE))?;
    Ok(bench.counts())
}

/// A tenth of what is needed.
const SMALL: &str = "uvm.device_memory=2MB";
const LEARNED: &str = "uvm.prefetcher=learned";

#[test]
fn every_load_gets_the_right_data_whatever_leaves() {
    for eviction in ["lru", "tree", "sequential", "random", "lfu", "lru-page", "driver", "foreseen"] {
        for model in ["uvmsmart", "driver"] {
            let set = [SMALL, &format!("uvm.eviction={eviction}"), &format!("uvm.model={model}")];
            let counts = torture(&set, 5).unwrap_or_else(|e| panic!("{set:?}: {e}"));
            assert!(counts.evicted_dirty > 20 && counts.thrashed > 0, "{set:?}: {counts:?}");
        }
    }
}

#[test]
fn every_load_gets_the_right_data_whatever_comes() {
    for prefetcher in ["none", "sequential", "random", "tree", "driver"] {
        for charge in ["beside", "flat"] {
            let set = [SMALL, &format!("uvm.prefetcher={prefetcher}"), &format!("uvm.fault_charge={charge}")];
            torture(&set, 4).unwrap_or_else(|e| panic!("{set:?}: {e}"));
        }
    }
    for more in ["uvm.page_size=2MB", "uvm.invalidate_clean=on", "uvm.placement=zero-copy", "uvm.free_buffer=0.3"] {
        torture(&[SMALL, more], 4).unwrap_or_else(|e| panic!("{more}: {e}"));
    }
    let every_request = ["uvm.prediction_trigger=request", "uvm.predictions_in_flight=64"];
    let together = [&every_request[..], &["uvm.prediction_brings=block", "uvm.prediction_request=1MiB"]].concat();
    for more in [&[][..], &["uvm.prediction_delays=fault"], &every_request, &together] {
        let set = [&[SMALL, LEARNED], more].concat();
        let counts = torture(&set, 4).unwrap_or_else(|e| panic!("{set:?}: {e}"));
        assert!(
            counts.predicted_queued > 100 && counts.predicted_used > 0 && counts.thrashed > 0,
            "{set:?}: {counts:?}"
        );
    }
}

#[test]
fn a_page_that_leaves_without_being_copied_is_found() {
    // The first page is written, and leaves first when others come.
    let mut warp = vec![Instr::store(BASE)];
    warp.extend((1..600).map(|page| Instr::load(BASE + page * 4 * KB)));
    warp.push(Instr::load(BASE));
    for model in ["uvm.model=uvmsmart", "uvm.model=driver"] {
        let run = |forget| {
            let set = ["uvm.device_memory=2MB", "uvm.prefetcher=none", "uvm.eviction=lru-page", model];
            let mut bench = Bench::new(&set, forget);
            bench.allocate(0, 4 * MB);
            bench.run(&[&warp])
        };
        run(0).unwrap_or_else(|e| panic!("{model}: {e}"));
        let error = run(1).expect_err("found").to_string();
        assert!(error.contains("lost data") && error.contains("PTX line 1"), "{error}");
    }
}

/// One warp that touches the first word of a block, and again when it has come.
fn touches(block: u64) -> [Instr; 2] {
    [Instr::load(BASE + block * 64 * KB); 2]
}

#[test]
fn a_fault_takes_the_time_of_its_transfers() {
    // The page, then the rest of its block; the warp leaves when nothing moves any more.
    let mut bench = Bench::new(&[], 0);
    bench.allocate(0, 2 * MB);
    let faulting = bench.run(&[&touches(0)]).expect("it runs");
    let (launch, walk) = (100, 100);
    assert!((0..=5).contains(&(faulting - launch - walk - 2605 - 8240)), "{faulting}");
    let again = bench.run(&[&touches(0)]).expect("it runs");
    assert!(again < 1000, "{again}");
    assert_eq!((bench.counts().in_busy, bench.counts().migrated), (2605 + 8240, 16));
    // 45 us are 66 645 cycles.
    let mut charged = Bench::new(&["uvm.fault_charge=flat"], 0);
    charged.allocate(0, 2 * MB);
    let charged = charged.run(&[&touches(0)]).expect("it runs");
    assert!((66_640..=66_650).contains(&(charged - faulting)), "{charged} {faulting}");
    assert_eq!(bench.counts().fault_cycles, 66_645);
}

#[test]
fn faults_hits_and_pending_are_told_apart() {
    let mut bench = Bench::new(&["uvm.prefetcher=sequential"], 0);
    bench.allocate(0, 2 * MB);
    // Another SM wants the page at the same time; later both find the block.
    let warp = [Instr::load(BASE), Instr::load(BASE + 8 * KB)];
    bench.run(&[&warp, &warp]).expect("it runs");
    let c = bench.counts();
    assert_eq!((c.faults, c.migrated, c.prefetched), (1, 16, 15));
    assert_eq!((c.hits + c.misses, c.pending), (4, c.misses - 1));
    assert_eq!((c.used, c.prefetched_used, c.used_foreseen), (2, 1, 2));
}

/// CTAs that four SMs hold at once.
const PLACES: usize = 4 * 32;

#[test]
fn in_uvmsmart_no_cta_leaves_while_pages_move() {
    let mut bench = Bench::new(&["uvm.prefetcher=sequential"], 0);
    bench.allocate(0, 2 * MB);
    bench.run(&[&[Instr::load(BASE)]]).expect("it runs");
    assert_eq!(bench.counts().misses, 1);
    // One CTA faults and needs what it loads; the others have what they need, and last until the block is on its way. The one that
    // finds no place first comes when the block has come.
    let (faults, late) = ([Instr::load(BASE + 64 * KB); 2], [Instr::load(BASE + 68 * KB)]);
    let hits = [Instr::load_past_l1(BASE); 16];
    let mut ctas = vec![&hits[..]; PLACES + 1];
    (ctas[0], ctas[PLACES]) = (&faults, &late);
    bench.run(&ctas).expect("it runs");
    assert_eq!(bench.counts().misses, 2);
}

#[test]
fn a_cta_stays_until_its_stores_have_their_pages() {
    let mut bench = Bench::new(&["uvm.prefetcher=none"], 0);
    bench.allocate(0, 2 * MB);
    // One more comes when the page has, and so finds it.
    let warp = [Instr::store(BASE)];
    bench.run(&[&warp[..]; PLACES + 1]).expect("it runs");
    let c = bench.counts();
    assert_eq!((c.faults, c.misses), (1, PLACES as u64));
}

#[test]
fn a_synchronisation_takes_dirty_pages_away_and_leaves_clean_ones() {
    let mut bench = Bench::new(&["uvm.prefetcher=none"], 0);
    bench.allocate(0, 2 * MB);
    let warp = [Instr::load(BASE), Instr::store(BASE + 8 * KB)];
    bench.run(&[&warp]).expect("it runs");
    let before = bench.machine.copies().cycles;
    bench.tell(&HostEvent::Sync);
    let waited = bench.machine.copies().cycles - before;
    assert!((2605..=2607).contains(&waited), "one page is written back: {waited}");
    bench.run(&[&warp]).expect("it runs");
    assert_eq!((bench.counts().faults, bench.counts().synced, bench.counts().thrashed), (3, 1, 0));
}

#[test]
fn the_driver_serves_faults_in_batches_and_takes_pages_back_for_the_host() {
    let mut bench = Bench::new(&["uvm.model=driver"], 0);
    bench.allocate(0, 8 * MB);
    let warps = [0, 32, 64, 96].map(touches);
    bench.run(&warps.iter().map(<[Instr; 2]>::as_slice).collect::<Vec<_>>()).expect("it runs");
    let c = bench.counts();
    assert_eq!((c.faults, c.migrated), (4, 64));
    assert!(c.batches <= 2, "{}", c.batches);
    bench.tell(&HostEvent::Sync);
    assert_eq!(bench.counts().synced, 0);
    bench.tell(&HostEvent::CopyOut { start: Addr(BASE), size: Bytes(4) });
    assert_eq!(bench.counts().synced, 1);
}

#[test]
fn prefetches_and_advice_of_the_program_are_followed() {
    let mut bench = Bench::new(&[], 0);
    bench.allocate(0, 4 * MB);
    bench.allocate(4 * MB, 2 * MB);
    let (start, size) = (Addr(BASE), Bytes(4 * MB));
    bench.tell(&HostEvent::Prefetch { start, size, to_device: true });
    let (start, size) = (Addr(BASE + 4 * MB), Bytes(2 * MB));
    bench.tell(&HostEvent::Advise { start, size, advice: Advice::PinToHost });
    bench
        .run(&[&[Instr::load(BASE + 3 * MB), Instr::store(BASE + 5 * MB), Instr::load(BASE + 5 * MB)]])
        .expect("it runs");
    let c = bench.counts();
    assert_eq!((c.faults, c.migrated, c.remote), (0, 1024, 2));
    assert_eq!(c.in_busy, 2 * 242_080, "two transfers of 2 MB");
}

#[test]
fn reads_are_remote_until_a_block_is_hot() {
    let mut bench = Bench::new(&["uvm.delayed_migration=always", "uvm.migrate_threshold=3"], 0);
    bench.allocate(0, 2 * MB);
    // Each page is touched once, so each touch walks: two are served at the host, the third brings the block.
    let warp: Vec<Instr> = (0..4).map(|page| Instr::load_past_l1(BASE + page * 4 * KB)).collect();
    let needs = KernelNeeds { threads: 32, registers: 8, shared: 0 };
    let run = bench.machine.run_kernel(&mut Script::new(&[warp]), &needs);
    // What UVMSmart takes for a local page afterwards holds nothing, which the checker rightly finds.
    assert!(matches!(run, Err(MachineError::Data(_))), "{run:?}");
    assert!(bench.counts().remote >= 1 && bench.counts().faults == 0);
}
