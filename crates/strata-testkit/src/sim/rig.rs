//! A machine and the memory of its programs.

use crate::{Memory, Script};
use strata_core::{Addr, AllocationId, Bytes, GridSource, HostEvent, LINE_BYTES};
use strata_sim::stats::Reading;
use strata_sim::{KernelNeeds, KernelTime, Machine, MachineError};

/// A machine on which scripts run one after another on one memory, with copies from the host between them.
///
/// With data checked, a kernel fails as soon as a load would get other bytes than the program stored.
///
/// ```
/// use strata_core::Addr;
/// use strata_sim::{Machine, config::load};
/// use strata_testkit::{Instr, Script, sim::Rig};
///
/// let gpu = load("titan-v", &["l2.copies_fill=false"]).expect("a preset").config;
/// let mut rig = Rig::new(Machine::new(gpu).expect("a machine"));
/// rig.copy_in(Addr(0x1000), &[7; 128]);
/// rig.run(Script::new(&[[Instr::load_line(0x1000), Instr::store(0x1000).word(9)]])).expect("it runs");
/// assert_eq!(rig.memory().line(Addr(0x1000).line())[..5], [9, 0, 0, 0, 7]);
/// assert_eq!(rig.reading().machine.dram_reads, 4);
/// ```
pub struct Rig {
    machine: Machine,
    memory: Memory,
}

impl Rig {
    /// With empty memory.
    pub fn new(machine: Machine) -> Self {
        Self { machine, memory: Memory::default() }
    }

    /// The machine.
    pub fn machine(&mut self) -> &mut Machine {
        &mut self.machine
    }

    /// What the programs have stored and the host has copied.
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// What the machine has counted so far.
    pub fn reading(&self) -> Reading {
        self.machine.reading()
    }

    /// What a mechanism has counted under this name; panics if nobody counts it.
    pub fn count(&self, name: &str) -> u64 {
        counted(&self.reading(), name)
    }

    /// Runs a kernel of 8 registers per thread on this rig's memory.
    pub fn run(&mut self, script: Script) -> Result<KernelTime, MachineError> {
        let needs = KernelNeeds { threads: 32 * script.warps_per_cta(), registers: 8, shared: 0 };
        let mut script = script.on_memory(std::mem::take(&mut self.memory));
        let time = self.machine.run_kernel(&mut script, &needs);
        self.memory = script.into_memory();
        time
    }

    /// The host did something that leaves memory as it is.
    pub fn tell(&mut self, event: &HostEvent) {
        let memory = &self.memory;
        self.machine.host_event(event, |line, out| *out = memory.line(line));
    }

    /// The host copies bytes to the device.
    pub fn copy_in(&mut self, start: Addr, bytes: &[u8]) {
        self.memory.write(start, bytes);
        self.tell(&HostEvent::CopyIn { start, size: Bytes(bytes.len() as u64) });
    }

    /// The program frees these lines: nobody needs what they hold.
    pub fn free(&mut self, start: Addr, lines: u64) {
        self.tell(&HostEvent::Free { id: AllocationId(0), start, size: Bytes(lines * LINE_BYTES) });
        for line in 0..lines {
            self.memory.free(start.offset(line * LINE_BYTES).line());
        }
    }
}

/// What a mechanism has counted under this name; panics if nobody counts it.
pub fn counted(reading: &Reading, name: &str) -> u64 {
    reading.sides.counts.iter().find(|c| c.name == name).unwrap_or_else(|| panic!("nobody counts {name}")).value
}
