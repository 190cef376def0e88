//! What a mechanism that does nothing costs, seam by seam.
//!
//! Runs a kernel of loads, arithmetic and stores on the TITAN X (Pascal) with one such mechanism, or with none, and prints
//! CPU time. Instructions are what counts, and they do not depend on who else uses the machine:
//!
//! ```text
//! valgrind --tool=callgrind target/release/deps/seams-… memory-side
//! ```
//!
//! Argument: `none` (default), `tlb` (none, translation on: what `paging` is compared with), `memory-side`, `victim`, `paging`, `place` or `offload`.

use std::time::Instant;
use strata_core::{
    Access, Addr, AddressSet, GridSource, LaneMask, LineAddr, OpBatch, OpClass, OpInfo, Pattern, Space, Stop, WarpId,
    WarpOp, WarpSource,
};
use strata_sim::cache::SectorMask;
use strata_sim::config::load;
use strata_sim::seam::{
    AccessInfo, Actions, Arrival, Below, Candidate, LineRequest, MemorySide, Offload, PageId, Paging, Parts, Place,
    Placed, Plan, StackId, StackUse, Terms, Token, Victim, Walk,
};
use strata_sim::time::Picos;
use strata_sim::{KernelNeeds, Layer, MachineBuilder};

const CTAS: u64 = 2_000;
const WARPS: u32 = 8;

/// c = f(a, b): each warp loads a line of two arrays, computes and stores a line of a third.
struct Stream {
    infos: Vec<OpInfo>,
    /// By resident warp: its number in the grid, and the segments it has done.
    warps: Vec<(u64, u32)>,
}

fn info(class: OpClass, access: Access, name: &str, dst: Option<u32>, src: &[u32]) -> OpInfo {
    OpInfo {
        class,
        space: if access == Access::None { Space::None } else { Space::Global },
        access,
        width: 4,
        bypass_l1: false,
        read_only: false,
        dst: dst.into_iter().collect(),
        src: src.iter().copied().collect(),
        line: 1,
        name: name.into(),
    }
}

impl Stream {
    fn new() -> Self {
        let mut infos = vec![
            info(OpClass::Memory, Access::Load, "ld.global.f32", Some(0), &[]),
            info(OpClass::Memory, Access::Load, "ld.global.f32", Some(1), &[]),
        ];
        infos.extend((0..16).map(|_| info(OpClass::F32, Access::None, "fma.rn.f32", Some(0), &[0, 1])));
        infos.push(info(OpClass::Memory, Access::Store, "st.global.f32", None, &[0]));
        Self { infos, warps: Vec::new() }
    }
}

impl WarpSource for Stream {
    fn advance(&mut self, w: WarpId, out: &mut OpBatch) -> Stop {
        let (number, segments) = &mut self.warps[w.0 as usize];
        *segments += 1;
        if *segments > 1 {
            return Stop::Exited;
        }
        for (pc, op) in self.infos.iter().enumerate() {
            let mut addresses = WarpOp::NO_ADDRESSES;
            if op.access != Access::None {
                let array = if op.access == Access::Store { 2 } else { pc as u64 };
                let first = Addr(((1 + array) << 28) + *number * 128);
                addresses = out.addresses.len() as u32;
                let pattern = Pattern::Sequence { first, step: 4 };
                out.addresses.push(AddressSet { mask: LaneMask::MAX, space: Space::Global, pattern });
            }
            out.ops.push(WarpOp { pc: pc as u32, mask: LaneMask::MAX, addresses });
        }
        Stop::Ready
    }
}

impl GridSource for Stream {
    fn instructions(&self) -> &[OpInfo] {
        &self.infos
    }

    fn ctas(&self) -> u64 {
        CTAS
    }

    fn warps_per_cta(&self) -> u32 {
        WARPS
    }

    fn start_cta(&mut self, slot: u32, number: u64) {
        let needed = ((slot + 1) * WARPS) as usize;
        if self.warps.len() < needed {
            self.warps.resize(needed, (0, 0));
        }
        for w in 0..WARPS {
            self.warps[(slot * WARPS + w) as usize] = (number * u64::from(WARPS) + u64::from(w), 0);
        }
    }

    fn take_opened(&mut self, _: &mut Vec<WarpId>) {}
}

/// Does nothing, on every seam.
struct Null;

impl MemorySide for Null {
    fn attach(&mut self, _: &mut Parts) {}

    fn needs_data(&self) -> bool {
        false
    }

    fn read(&mut self, request: &LineRequest<'_>, below: &mut Below<'_>, plan: &mut Plan) {
        below.read(request, plan);
    }

    fn write(&mut self, request: &LineRequest<'_>, below: &mut Below<'_>, plan: &mut Plan) {
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

    fn considers(&mut self, _: &Arrival<'_>) -> bool {
        true
    }

    fn decide(&mut self, _: usize, _: StackId, _: &[StackUse]) -> Option<StackId> {
        None
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
        other => panic!("`{other}` is no seam"),
    }
    let mut machine = builder.build().expect("a machine");
    let start = Instant::now();
    let needs = KernelNeeds { threads: 32 * WARPS, registers: 16, shared: 0 };
    let time = machine.run_kernel(&mut Stream::new(), &needs).expect("it runs");
    let requests = 3 * CTAS * u64::from(WARPS);
    let each = start.elapsed().as_nanos() as f64 / requests as f64;
    println!("{seam}: {} cycles, {requests} line requests, {each:.0} ns each", time.cycles);
}
