//! What a mechanism that does nothing costs, seam by seam.
//!
//! Runs a kernel of loads, arithmetic and stores on the TITAN X (Pascal) with one such mechanism, or with none, and prints
//! CPU time. Instructions are what counts, and they do not depend on who else uses the machine:
//!
//! ```text
//! valgrind --tool=callgrind target/release/deps/seams-… memory-side
//! ```
//!
//! Argument: `none` (default), `tlb` (none, translation on: what `paging` is compared with), `memory-side`, `victim`, `paging`,
//! `place`, `offload`, `prefetchers` (of L1 and L2) or `replacement` (of both).

use std::time::Instant;
use strata_core::{Addr, LineAddr, OpClass, OpInfo};
use strata_sim::cache::SectorMask;
use strata_sim::config::load;
use strata_sim::seam::{
    AccessInfo, Actions, Arrival, Below, CacheAccess, CachePrefetcher, Candidate, LineRequest, MemorySide, Offload,
    PageId, Paging, Parts, Place, Placed, Plan, Proposal, Replacement, StackId, StackUse, Terms, Token, Victim, Walk,
    Ways,
};
use strata_sim::time::Picos;
use strata_sim::{KernelNeeds, Layer, MachineBuilder};
use strata_testkit::{Instr, Script};

const CTAS: u64 = 2_000;
const WARPS: u32 = 8;

/// c = f(a, b): each warp loads a line of two arrays, computes and stores a line of a third.
fn stream() -> Script {
    let mut warp = vec![Instr::load_line(1 << 28).to(0), Instr::load_line(2 << 28).to(1)];
    warp.extend([Instr::compute(OpClass::F32, "fma.rn.f32").to(0).needs(&[0, 1]); 16]);
    warp.push(Instr::store_line(3 << 28));
    Script::new(&[warp]).warps(WARPS, 128).grid(CTAS, u64::from(WARPS) * 128).segments_of(usize::MAX)
}

/// Does nothing, on every seam.
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

impl Place for Null {
    fn place(&self, line: LineAddr) -> Placed {
        Placed { partition: (line.0 % 24) as u32, local: line.0 / 24 }
    }
}

impl Offload for Null {
    fn candidates(&mut self, _: &[OpInfo]) -> Vec<Candidate> {
        vec![Candidate { begin: 0, end: 18, entry: 0, live_in: 2, live_out: 0, conditions: Vec::new() }]
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

    // None of them: the one that was used least recently leaves.
    fn victim(&mut self, _: u32, _: &Ways) -> u32 {
        u32::MAX
    }
}

fn main() {
    // Cargo adds arguments of its own.
    let seam = std::env::args().skip(1).find(|a| !a.starts_with("--")).unwrap_or_else(|| "none".into());
    let set = format!("tlb.enabled={}", matches!(&*seam, "tlb" | "paging"));
    let gpu = load("titan-x-pascal", &[set]).expect("a preset");
    let mut builder = MachineBuilder::new(gpu.config);
    match &*seam {
        "none" | "tlb" => {}
        "memory-side" => builder.memory_side("null", Layer::Resizes, |_| Box::new(Null)),
        "victim" => builder.victim("null", |_| Box::new(Null)),
        "paging" => builder.paging("null", Box::new(Null), Addr(0)..Addr(u64::MAX)),
        "place" => builder.place("null", Box::new(Null)),
        "offload" => builder.offload("null", Box::new(Null)),
        "prefetchers" => {
            builder.l1_prefetcher("null", |_| Box::new(Null));
            builder.l2_prefetcher("null", |_| Box::new(Null));
        }
        "replacement" => {
            builder.l1_replacement("null", |_| Box::new(Null));
            builder.l2_replacement("null", |_| Box::new(Null));
        }
        other => panic!("`{other}` is no seam"),
    }
    let mut machine = builder.build().expect("a machine");
    let start = Instant::now();
    let needs = KernelNeeds { threads: 32 * WARPS, registers: 16, shared: 0 };
    let time = machine.run_kernel(&mut stream(), &needs).expect("it runs");
    let requests = 3 * CTAS * u64::from(WARPS);
    let each = start.elapsed().as_nanos() as f64 / requests as f64;
    println!("{seam}: {} cycles, {requests} line requests, {each:.0} ns each", time.cycles);
}
