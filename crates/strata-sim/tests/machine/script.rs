//! How the tests write programs and run them: scripts of words and lines whose registers are named.

use strata_core::{Addr, Bytes, GridSource, HostEvent, LaneMask};
use strata_sim::config::{GpuConfig, load};
use strata_sim::stats::Reading;
use strata_sim::{KernelNeeds, Machine};
use strata_testkit::{Instr, Script};

/// Waits for the other warps of the CTA.
pub(crate) const BARRIER: Instr = Instr::barrier().needs(&[]);

/// Loads one word, through one lane.
pub(crate) fn load_word(to: u32, address: u64) -> Instr {
    Instr::load(address).to(to)
}

/// Loads a line, through all lanes.
pub(crate) fn load_line(to: u32, line: u64) -> Instr {
    Instr::load_line(line * 128).to(to)
}

/// Stores the first words of a line, through that many lanes.
pub(crate) fn store_words(line: u64, words: u32) -> Instr {
    Instr::store(line * 128).needs(&[]).lanes(LaneMask::MAX >> (32 - words))
}

/// Needs a register.
pub(crate) fn use_of(register: u32) -> Instr {
    Instr::add(100 + register, register)
}

/// One CTA of these warps; segments end at barriers.
pub(crate) fn script<W: AsRef<[Instr]>>(warps: &[W]) -> Script {
    Script::new(warps).segments_of(usize::MAX)
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

    pub(crate) fn copy_in(&mut self, start: Addr, size: Bytes) {
        self.0.host_event(&HostEvent::CopyIn { start, size }, |_, _| ());
    }

    pub(crate) fn copy_out(&mut self, start: Addr, size: Bytes) {
        self.0.host_event(&HostEvent::CopyOut { start, size }, |_, _| ());
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
pub(crate) fn run(config: &GpuConfig, warps: &[&[Instr]]) -> Ran {
    Bench::new(config.clone()).run(script(warps))
}
