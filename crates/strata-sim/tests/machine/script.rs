//! Programs for the machine, written as lists of operations, without an emulator.

use strata_core::{
    Access, Addr, AddressSet, GridSource, LaneMask, OpBatch, OpClass, OpInfo, OpKind, Pattern, Space, Stop, WarpId,
    WarpOp, WarpSource,
};
use strata_sim::config::{GpuConfig, load};
use strata_sim::stats::Reading;
use strata_sim::{KernelNeeds, Machine};

/// One operation of a warp.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Do {
    /// Loads a word per lane into a register: lane `l` from `address + 4 l`.
    Load { to: u32, address: u64, lanes: LaneMask },
    /// Stores a word per lane.
    Store { address: u64, lanes: LaneMask },
    /// Adds to one word and returns the old value into a register.
    Atomic { to: u32, address: u64 },
    /// Computes one register from another.
    Add { to: u32, from: u32 },
    /// Waits for the other warps of the CTA.
    Barrier,
}

/// All lanes.
pub(crate) const WARP: LaneMask = LaneMask::MAX;

/// Loads one word, through one lane.
pub(crate) fn load_word(to: u32, address: u64) -> Do {
    Do::Load { to, address, lanes: 1 }
}

/// Loads a line, through all lanes.
pub(crate) fn load_line(to: u32, line: u64) -> Do {
    Do::Load { to, address: line * 128, lanes: WARP }
}

/// Stores the first words of a line, through that many lanes.
pub(crate) fn store_words(line: u64, words: u32) -> Do {
    Do::Store { address: line * 128, lanes: u32::MAX >> (32 - words) }
}

/// Needs a register.
pub(crate) fn use_of(register: u32) -> Do {
    Do::Add { to: 100 + register, from: register }
}

fn info(what: &Do) -> OpInfo {
    let (class, space, access, name) = match what {
        Do::Load { .. } => (OpClass::Memory, Space::Global, Access::Load, "ld.global.u32"),
        Do::Store { .. } => (OpClass::Memory, Space::Global, Access::Store, "st.global.u32"),
        Do::Atomic { .. } => (OpClass::Memory, Space::Global, Access::Atomic, "atom.global.add.u32"),
        Do::Add { .. } => (OpClass::Int, Space::None, Access::None, "add.s32"),
        Do::Barrier => (OpClass::Barrier, Space::None, Access::None, "bar.sync"),
    };
    let (to, from) = match *what {
        Do::Load { to, .. } | Do::Atomic { to, .. } => (Some(to), None),
        Do::Add { to, from } => (Some(to), Some(from)),
        Do::Store { .. } | Do::Barrier => (None, None),
    };
    OpInfo {
        class,
        kind: if matches!(what, Do::Barrier) { OpKind::CtaBarrier } else { OpKind::Plain },
        space,
        access,
        width: if class == OpClass::Memory { 4 } else { 0 },
        bypass_l1: false,
        read_only: false,
        dst: to.into_iter().collect(),
        src: from.into_iter().collect(),
        line: 1,
        name: name.into(),
    }
}

/// A grid whose CTAs all run the given warps, CTA `n` shifted by `n * stride` bytes. Segments end at barriers.
pub(crate) struct Script {
    warps: Vec<Vec<Do>>,
    infos: Vec<OpInfo>,
    ctas: u64,
    stride: u64,
    /// Of each resident warp: its CTA and how far it is.
    resident: Vec<(u64, usize)>,
    waiting: Vec<u32>,
    opened: Vec<WarpId>,
}

impl Script {
    /// One CTA of these warps.
    pub(crate) fn new(warps: &[&[Do]]) -> Self {
        Self {
            infos: warps.iter().flat_map(|warp| warp.iter()).map(info).collect(),
            warps: warps.iter().map(|warp| warp.to_vec()).collect(),
            ctas: 1,
            stride: 0,
            resident: Vec::new(),
            waiting: Vec::new(),
            opened: Vec::new(),
        }
    }

    /// So many CTAs, whose addresses lie `stride` bytes apart.
    pub(crate) fn ctas(self, ctas: u64, stride: u64) -> Self {
        Self { ctas, stride, ..self }
    }
}

impl WarpSource for Script {
    fn advance(&mut self, w: WarpId, out: &mut OpBatch) -> Stop {
        let number = w.0 as usize % self.warps.len();
        let before: usize = self.warps[..number].iter().map(Vec::len).sum();
        let (cta, next) = &mut self.resident[w.0 as usize];
        let program = &self.warps[number];
        while let Some(&what) = program.get(*next) {
            let mut op = WarpOp { pc: (before + *next) as u32, mask: WARP, addresses: WarpOp::NO_ADDRESSES };
            *next += 1;
            if let Do::Load { address, lanes, .. } | Do::Store { address, lanes } = what {
                let pattern = Pattern::Sequence { first: Addr(address + *cta * self.stride), step: 4 };
                (op.mask, op.addresses) = (lanes, out.addresses.len() as u32);
                out.addresses.push(AddressSet { mask: lanes, space: Space::Global, pattern });
            }
            if let Do::Atomic { address, .. } = what {
                let pattern = Pattern::Same(Addr(address + *cta * self.stride));
                (op.mask, op.addresses) = (1, out.addresses.len() as u32);
                out.addresses.push(AddressSet { mask: 1, space: Space::Global, pattern });
            }
            out.ops.push(op);
            if matches!(what, Do::Barrier) {
                self.waiting.push(w.0);
                if self.waiting.len() == self.warps.len() {
                    self.opened.extend(self.waiting.drain(..).map(WarpId));
                }
                return Stop::Barrier;
            }
        }
        Stop::Exited
    }
}

impl GridSource for Script {
    fn instructions(&self) -> &[OpInfo] {
        &self.infos
    }

    fn ctas(&self) -> u64 {
        self.ctas
    }

    fn warps_per_cta(&self) -> u32 {
        self.warps.len() as u32
    }

    fn start_cta(&mut self, slot: u32, number: u64) {
        let end = (slot as usize + 1) * self.warps.len();
        self.resident.resize(self.resident.len().max(end), (0, 0));
        self.resident[end - self.warps.len()..end].fill((number, 0));
    }

    fn take_opened(&mut self, out: &mut Vec<WarpId>) {
        out.append(&mut self.opened);
    }
}

/// A preset with changes, as the tests want it: without refresh, and with instructions issued as they are written.
pub(crate) fn gpu(preset: &str, changes: &[&str]) -> GpuConfig {
    let plain = ["dram.timing.refi=0", "isa.hoist_window=0", "launch.cta_interval=0"];
    load(preset, &[&plain, changes].concat()).expect("a configuration").config
}

/// What came out of a launch.
pub(crate) struct Ran {
    /// Core cycles from the first instruction that could issue to the end of the last warp or store.
    pub(crate) cycles: u64,
    /// What was counted.
    pub(crate) counted: Reading,
}

/// A machine that scripts run on.
pub(crate) struct Bench(pub(crate) Machine);

impl Bench {
    /// At rest.
    pub(crate) fn new(config: GpuConfig) -> Self {
        Self(Machine::new(config).expect("a machine"))
    }

    /// Runs a script whose CTAs have so many bytes of shared memory.
    pub(crate) fn run_with(&mut self, mut script: Script, shared: u64) -> Ran {
        let needs = KernelNeeds { threads: 32 * script.warps_per_cta(), registers: 16, shared };
        let before = self.0.reading();
        let time = self.0.run_kernel(&mut script, &needs).expect("it runs");
        let launch = &self.0.config().launch;
        let cycles = time.cycles - u64::from(launch.before + launch.after);
        Ran { cycles, counted: self.0.reading().delta(&before) }
    }

    /// Runs a script without shared memory.
    pub(crate) fn run(&mut self, script: Script) -> Ran {
        self.run_with(script, 0)
    }

    /// The core cycle at which the next launch's first instruction can issue.
    pub(crate) fn begin(&self) -> u64 {
        let config = self.0.config();
        config.clock.core.next(self.0.now()).0 + u64::from(config.launch.before)
    }
}

/// Runs a script of one CTA on a fresh machine.
pub(crate) fn run(config: &GpuConfig, warps: &[&[Do]]) -> Ran {
    Bench::new(config.clone()).run(Script::new(warps))
}
