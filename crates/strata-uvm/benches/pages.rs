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
use strata_core::{Addr, Allocation, Bytes, HostEvent};
use strata_sim::config::load;
use strata_sim::{KernelNeeds, MachineBuilder};
use strata_testkit::{Instr, Script};
use strata_uvm::{Config, Handle, SETTINGS, Uvm};

const BASE: u64 = 1 << 40;
const PAGE: u64 = 4096;
/// Pages that a warp goes through.
const PAGES_PER_WARP: u64 = 16;
const PASSES: u32 = 2;
const MB: u64 = 1 << 20;
/// The smaller and the larger working set.
const SIZES: [u64; 2] = [64 * MB, 1024 * MB];

/// A kernel that touches every page of so many bytes once.
fn sweep(size: u64) -> Script {
    let pages = (0..PAGES_PER_WARP).map(|page| BASE + page * PAGE);
    let touch = |first| [Instr::load_line(first).past_l1(), Instr::store_line(first).past_l1()];
    let warp: Vec<Instr> = pages.flat_map(touch).collect();
    Script::new(&[warp]).grid(size / PAGE / PAGES_PER_WARP, PAGES_PER_WARP * PAGE).segments_of(2)
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
    let mut builder = MachineBuilder::new(gpu);
    builder.paging("uvm", Box::new(uvm.clone()), managed);
    let mut machine = builder.build().expect("a machine");
    let allocation = Allocation::on_device(0, "a", Addr(BASE), Bytes(size));
    machine.host_event(&HostEvent::Alloc(allocation), |_, _| ());
    let start = Instant::now();
    let needs = KernelNeeds { threads: 32, registers: 8, shared: 0 };
    for _ in 0..PASSES {
        machine.run_kernel(&mut sweep(size), &needs).expect("it runs");
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
