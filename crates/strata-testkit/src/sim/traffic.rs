//! Random operations on a few lines, through a chain of memory sides or through a whole machine, with data checked.

use super::{Chain, Rig};
use crate::{Instr, Line, Script, WrongByte};
use std::fmt;
use strata_core::random::SplitMix64;
use strata_core::{Addr, LINE_BYTES, SECTOR_BYTES};
use strata_sim::MachineError;
use strata_sim::cache::SectorMask;
use strata_sim::seam::{Move, Plan};

/// What random operations do, and to which lines.
#[derive(Clone, Debug)]
pub struct Traffic {
    /// Where the lines begin in the program's memory; chains number them from 0.
    pub first: Addr,
    /// How many lines there are: the fewer, the more often each is met again.
    pub lines: u64,
    /// Operations of a chain, or instructions of each warp of a kernel.
    pub operations: usize,
    /// What lines and sectors are written with: equal ones make duplicates, plain ones compress.
    pub palette: Vec<Line>,
}

impl Default for Traffic {
    /// Twelve lines from 512 KiB on, 300 operations; zeros, a repeated word, small and large numbers, and noise.
    fn default() -> Self {
        let mut random = SplitMix64::new(0);
        let noise = std::array::from_fn(|_| random.bits() as u8);
        let counting = |step: usize| std::array::from_fn(|k| if k % 4 == 0 { (k * step / 4) as u8 } else { 0 });
        let palette = vec![[0; 128], [7; 128], counting(1), counting(8), noise];
        Self { first: Addr(0x8_0000), lines: 12, operations: 300, palette }
    }
}

/// What was wrong, and when.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    /// The operation, counted from 1.
    pub operation: usize,
    /// What it did.
    pub what: String,
    /// What was wrong with it.
    pub wrong: Wrong,
}

/// What can be wrong with an operation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Wrong {
    /// A byte would be delivered that is not what was written.
    Byte(WrongByte),
    /// Not all sectors that were wanted come.
    Lacks(SectorMask),
    /// A step waits for one that is not before it.
    Waits(usize),
    /// A step moves sectors beyond the line that begins at its place, or from a place that is not that of a sector.
    Place(usize),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "operation {}, {}: ", self.operation, self.what)?;
        match &self.wrong {
            Wrong::Byte(wrong) => write!(f, "{wrong}"),
            Wrong::Lacks(sectors) => write!(f, "sectors {:04b} do not come", sectors.0),
            Wrong::Waits(step) => write!(f, "step {step} waits for one that is not before it"),
            Wrong::Place(step) => write!(f, "step {step} moves what is not sectors of one line"),
        }
    }
}

impl std::error::Error for Fault {}

impl Traffic {
    /// Random fills, write-backs, writes of the host, frees and copies from L2. After each, its plan must be sound, and what a fill
    /// of every line would deliver must be what was written, as far as a side knows it ([`MemorySide::delivers`]). Returns how many
    /// sectors were compared: 0 shows that nobody knew.
    ///
    /// [`MemorySide::delivers`]: strata_sim::seam::MemorySide::delivers
    pub fn through_chain(&self, chain: &mut Chain, seed: u64) -> Result<u64, Fault> {
        let mut random = SplitMix64::new(seed);
        let mut compared = 0;
        for operation in 1..=self.operations {
            let (line, what) = (random.below(self.lines), random.below(10));
            let told = |name: &str, wrong| Fault { operation, what: format!("{name} of line {line}"), wrong };
            let sectors = SectorMask(1 + random.below(15) as u8);
            match what {
                0 => {
                    chain.host_writes(line, sectors, self.any(&mut random));
                }
                1 => chain.free(line),
                2..=5 => {
                    let data = self.any(&mut random);
                    let dirty = if what < 4 { SectorMask::ALL } else { sectors };
                    let resident = dirty.or(SectorMask(random.below(16) as u8));
                    let plan = chain.write_back(line, dirty, resident, data);
                    sound(&plan).map_err(|wrong| told("write-back", wrong))?;
                }
                _ => {
                    let plan = chain.fill(line, sectors);
                    sound(&plan).map_err(|wrong| told("fill", wrong))?;
                    let lacking = sectors.without(plan.fill);
                    if !lacking.is_empty() {
                        return Err(told("fill", Wrong::Lacks(lacking)));
                    }
                    let there = SectorMask(random.below(16) as u8);
                    chain.begin_copies(line, &plan, there).map_err(|wrong| told("copy", Wrong::Byte(wrong)))?;
                }
            }
            for line in 0..self.lines {
                let known = chain.check(line).map_err(|wrong| told("what is left", Wrong::Byte(wrong)))?;
                compared += u64::from(known.count());
            }
        }
        Ok(compared)
    }

    /// Copies from the host, `kernels` kernels, and between them a copy and a free. If the machine checks data, the first load that
    /// would get other bytes than were stored ends it with an error that names it.
    pub fn through_machine(&self, rig: &mut Rig, kernels: u64, seed: u64) -> Result<(), MachineError> {
        let mut random = SplitMix64::new(seed);
        for line in 0..self.lines / 2 {
            rig.copy_in(self.at(line), self.any(&mut random));
        }
        for _ in 0..kernels {
            rig.run(self.script(1, &mut random))?;
            rig.copy_in(self.at(random.below(self.lines)), self.any(&mut random));
            rig.free(self.at(random.below(self.lines)), 1);
        }
        Ok(())
    }

    /// A CTA of so many warps, each of which loads lines and stores lines and sectors, past L1. A warp has lines of its own: no two
    /// of them race.
    pub fn script(&self, warps: u64, random: &mut SplitMix64) -> Script {
        let mut instruction = |warp: u64| {
            let line = self.at(random.below(self.lines.div_ceil(warps)) * warps + warp).0;
            match random.below(5) {
                0 | 1 => Instr::load_line(line).past_l1(),
                2 => {
                    let sector = Instr::store(line + SECTOR_BYTES * random.below(4)).lanes(0xff);
                    sector.past_l1().bytes(*self.any(random))
                }
                _ => Instr::store_line(line).past_l1().bytes(*self.any(random)),
            }
        };
        let warps: Vec<Vec<Instr>> =
            (0..warps).map(|warp| (0..self.operations).map(|_| instruction(warp)).collect()).collect();
        Script::new(&warps)
    }

    fn at(&self, line: u64) -> Addr {
        self.first.offset(line * LINE_BYTES)
    }

    fn any(&self, random: &mut SplitMix64) -> &Line {
        const ZEROS: &Line = &[0; LINE_BYTES as usize];
        self.palette.get(random.below(self.palette.len().max(1) as u64) as usize).unwrap_or(ZEROS)
    }
}

/// What must hold of every plan.
fn sound(plan: &Plan) -> Result<(), Wrong> {
    for (k, step) in plan.steps.iter().enumerate() {
        if step.after.0 >> k != 0 {
            return Err(Wrong::Waits(k));
        }
        if let Move::Dram { at, sectors, .. } = step.what {
            let last = u64::from(8 - sectors.0.leading_zeros());
            let begins = at.0 % LINE_BYTES;
            if at.0 % SECTOR_BYTES != 0 || sectors.is_empty() || begins + last * SECTOR_BYTES > LINE_BYTES {
                return Err(Wrong::Place(k));
            }
        }
    }
    Ok(())
}
