//! What a page event costs, and whether that grows with memory.
//!
//! Warps on a GTX 1080 Ti load a line of every page of a working set and store one to it, from end to end and again, with
//! device memory for two thirds of it. Pages that came or left are events; almost nothing else happens. For every eviction
//! policy and working sets of 64 MiB and 1 GiB: seconds per million events, and how it grows.
//!
//! ```text
//! cargo bench -p strata-uvm --bench pages
//! ```

use std::time::Instant;
use strata_core::settings::Settings;
use strata_core::{
    Access, Addr, AddressSet, Bytes, GridSource, LaneMask, OpBatch, OpClass, OpInfo, OpKind, Pattern, Space, Stop,
    WarpId, WarpOp, WarpSource,
};
use strata_sim::config::load;
use strata_sim::{KernelNeeds, Machine};
use strata_uvm::{Config, Handle, SETTINGS, Uvm};

const BASE: u64 = 1 << 40;
const PAGE: u64 = 4096;
/// Pages that a warp goes through.
const PAGES_PER_WARP: u64 = 16;
const PASSES: u32 = 2;
const MB: u64 = 1 << 20;
/// The smaller and the larger working set.
const SIZES: [u64; 2] = [64 * MB, 1024 * MB];

/// A kernel that touches every page once.
struct Sweep {
    infos: Vec<OpInfo>,
    warps: u64,
    /// By resident warp: its number in the grid, and the pages it has done.
    done: Vec<(u64, u64)>,
}

impl Sweep {
    fn new(size: u64) -> Self {
        let info = |access, name: &str| OpInfo {
            class: OpClass::Memory,
            kind: OpKind::Plain,
            space: Space::Global,
            access,
            width: 4,
            bypass_l1: true,
            read_only: false,
            dst: (access == Access::Load).then_some(0).into_iter().collect(),
            src: std::iter::once(0).collect(),
            line: 1,
            name: name.into(),
        };
        let infos = vec![info(Access::Load, "ld.global.f32"), info(Access::Store, "st.global.f32")];
        Self { infos, warps: size / PAGE / PAGES_PER_WARP, done: Vec::new() }
    }
}

impl WarpSource for Sweep {
    fn advance(&mut self, w: WarpId, out: &mut OpBatch) -> Stop {
        let (number, pages) = &mut self.done[w.0 as usize];
        if *pages == PAGES_PER_WARP {
            return Stop::Exited;
        }
        let first = Addr(BASE + (*number * PAGES_PER_WARP + *pages) * PAGE);
        *pages += 1;
        for pc in 0..2 {
            let pattern = Pattern::Sequence { first, step: 4 };
            out.addresses.push(AddressSet { mask: LaneMask::MAX, space: Space::Global, pattern });
            out.ops.push(WarpOp { pc, mask: LaneMask::MAX, addresses: pc });
        }
        Stop::Ready
    }
}

impl GridSource for Sweep {
    fn instructions(&self) -> &[OpInfo] {
        &self.infos
    }

    fn ctas(&self) -> u64 {
        self.warps
    }

    fn warps_per_cta(&self) -> u32 {
        1
    }

    fn start_cta(&mut self, slot: u32, number: u64) {
        let needed = slot as usize + 1;
        if self.done.len() < needed {
            self.done.resize(needed, (0, 0));
        }
        self.done[slot as usize] = (number, 0);
    }

    fn take_opened(&mut self, _: &mut Vec<WarpId>) {}
}

/// Page events and seconds of a working set with a policy.
fn measure(policy: &str, size: u64) -> (u64, f64) {
    let set = [format!("uvm.eviction={policy}"), "uvm.oversubscription=1.5".to_owned()];
    let config = Config::new(&Settings::read("uvm", SETTINGS, &set).expect("good")).expect("good");
    let mut gpu = load("gtx1080ti", &["launch.before=0"]).expect("a preset").config;
    gpu.tlb.page = config.page_size;
    let of = strata_uvm::Machine { core_khz: gpu.clock.core.khz(), sms_per_tpc: 1, memory: gpu.dram.size };
    let managed = Addr(BASE)..Addr(2 * BASE);
    let uvm = Handle::new(Uvm::new(config, of, managed.clone(), None).expect("no predictor is needed"));
    let mut machine = Machine::new(gpu).expect("a machine");
    machine.set_paging(Box::new(uvm.clone()), managed);
    machine.allocated(Addr(BASE), Bytes(size), "a");
    let start = Instant::now();
    let needs = KernelNeeds { threads: 32, registers: 8, shared: 0 };
    for _ in 0..PASSES {
        machine.run_kernel(&mut Sweep::new(size), &needs).expect("it runs");
    }
    let counts = uvm.look(|uvm| *uvm.counted());
    (counts.migrated + counts.evicted_clean + counts.evicted_dirty, start.elapsed().as_secs_f64())
}

fn main() {
    println!("policy      64 MiB: events  s per million   1 GiB: events  s per million   growth");
    for policy in ["lru", "tree", "sequential", "random", "lfu", "lru-page", "driver"] {
        let [small, large] = SIZES.map(|size| measure(policy, size));
        let each = |(events, seconds): (u64, f64)| seconds / events as f64 * 1e6;
        let (few, many) = (each(small), each(large));
        println!("{policy:<10} {:>15} {few:>14.2} {:>15} {many:>14.2} {:>8.2}", small.0, large.0, many / few);
    }
}
