//! The offloading metadata table of a kernel (TOM, section 4.2), as the machine and the offload controller use it.

use crate::candidate::{Assumptions, Candidate, Condition, find, words};
use std::collections::BTreeSet;
use strata_core::{LANES, LaneMask, OpClass, OpInfo};
use strata_ptx::ast::{Function, Module, RegId};
use strata_sim::seam;

/// One row.
#[derive(Clone, PartialEq, Debug)]
pub struct Row {
    /// What the machine has to know.
    pub block: seam::Candidate,
    /// First bit of the tag: it saves traffic to the stack.
    pub saves_tx: bool,
    /// Second bit of the tag: it saves traffic from the stack.
    pub saves_rx: bool,
    /// Machine-independent share of its instructions that are no memory accesses; known once the kernel is.
    pub alu_share: f64,
    /// Live-in and live-out registers if a warp stays on the stack for the blocks that it comes to straight behind this one.
    batch: (u32, u32),
    condition: Option<Condition>,
}

impl Row {
    fn of(candidate: &Candidate) -> Self {
        let conditions = candidate.condition.map_or_else(Vec::new, |c| {
            [Some(c.register), c.minus, c.stride.map(|s| s.0)].into_iter().flatten().map(|r| r.0).collect()
        });
        Self {
            block: seam::Candidate {
                begin: candidate.begin,
                end: candidate.end,
                entry: candidate.entry,
                live_in: candidate.traffic.registers_in as u32,
                live_out: candidate.traffic.registers_out as u32,
                conditions,
            },
            saves_tx: candidate.change.saves_tx(),
            saves_rx: candidate.change.saves_rx(),
            alu_share: 0.0,
            batch: (candidate.traffic.registers_in as u32, candidate.traffic.registers_out as u32),
            condition: candidate.condition,
        }
    }

    /// A row without a condition.
    #[cfg(test)]
    pub(crate) fn unconditional(block: seam::Candidate, saves_tx: bool, saves_rx: bool, alu_share: f64) -> Self {
        let batch = (block.live_in, block.live_out);
        Self { block, saves_tx, saves_rx, alu_share, batch, condition: None }
    }

    /// What the machine has to know if warps stay on stacks for the next block.
    pub fn in_batch(&self) -> seam::Candidate {
        let (live_in, live_out) = self.batch;
        seam::Candidate { live_in, live_out, ..self.block.clone() }
    }

    /// True if it shall be offloaded by what its registers hold: the trip count of a warp is the largest of its lanes.
    pub fn condition_holds(&self, lanes: LaneMask, values: &[[i64; LANES]]) -> bool {
        let Some(condition) = &self.condition else { return true };
        // A source without values tells none.
        if values.len() < self.block.conditions.len() {
            return false;
        }
        (0..LANES).filter(|lane| lanes >> lane & 1 != 0).any(|lane| {
            let mut values = values.iter().map(|of_lanes| i128::from(of_lanes[lane]));
            let mut next = || values.next().unwrap_or(0);
            let register = next();
            let value = if condition.minus.is_some() { register - next() } else { register };
            let stride = condition.stride.map_or(0, |(_, multiple)| i128::from(multiple) * next());
            let threshold = i128::from(condition.threshold) + stride;
            if condition.at_most { value <= threshold } else { value >= threshold }
        })
    }
}

/// The candidates of one kernel.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Table {
    /// By first program counter.
    pub rows: Vec<Row>,
}

impl Table {
    /// The tables of the kernels of a module, by name.
    pub fn of_module(module: &Module, assumptions: &Assumptions) -> Vec<(String, Self)> {
        let found = find(module, assumptions);
        let kernels = found.iter().filter(|f| module.functions[f.function].is_entry);
        kernels
            .map(|f| {
                let function = &module.functions[f.function];
                let mut table = Self { rows: f.candidates.iter().map(Row::of).collect() };
                table.join(function, &f.candidates);
                (function.name.clone(), table)
            })
            .collect()
    }

    /// Registers of blocks that a warp may run behind each other on a stack: with the first crosses what any of them needs and none before it
    /// leaves, with the end of any what it and those before it leave.
    fn join(&mut self, function: &Function, candidates: &[Candidate]) {
        let follower =
            |k: usize| candidates.iter().position(|c| c.entry == candidates[k].resume).filter(|&next| next != k);
        let words = |registers: &BTreeSet<RegId>| {
            registers.iter().map(|r| words(function.registers[r.0 as usize].ty)).sum::<u64>() as u32
        };
        for k in 0..candidates.len() {
            let first = &candidates[k];
            let mut needed: BTreeSet<RegId> = first.live_in.iter().copied().collect();
            let mut specials: Vec<_> = first.live_in_specials.clone();
            let mut left: BTreeSet<RegId> = first.live_out.iter().copied().collect();
            let mut seen = vec![k];
            let mut at = k;
            while let Some(next) = follower(at).filter(|next| !seen.contains(next)) {
                let block = &candidates[next];
                needed.extend(block.live_in.iter().filter(|r| !left.contains(r)));
                specials.extend(block.live_in_specials.iter().filter(|s| !first.live_in_specials.contains(s)).copied());
                left.extend(&block.live_out);
                self.rows[next].batch.1 = self.rows[next].batch.1.max(words(&left));
                seen.push(next);
                at = next;
            }
            specials.sort_unstable_by_key(|special| special.name());
            specials.dedup();
            self.rows[k].batch.0 = words(&needed) + specials.len() as u32;
        }
    }

    /// The instructions of the kernel are known.
    pub fn count_instructions(&mut self, instructions: &[OpInfo]) {
        for row in &mut self.rows {
            let block = instructions.get(row.block.begin as usize..=row.block.end as usize).unwrap_or_default();
            let accesses = block.iter().filter(|i| i.class == OpClass::Memory).count();
            row.alu_share = (block.len() - accesses) as f64 / block.len().max(1) as f64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use strata_core::{Access, OpKind, Space};

    /// `for (i = %i; i < %n; i += %s)`, each iteration a load and a store: worth it from four iterations on.
    const LOOP: &str = ".version 8.0 .target sm_75 .address_size 32
        .visible .entry k(.param .u32 array, .param .u32 count) {
            .reg .u32 %a, %n, %i; .reg .f32 %x, %y, %z, %w; .reg .pred %p;
            ld.param.u32 %a, [array];
            ld.param.u32 %n, [count];
            mov.u32 %i, %tid.x;
            mov.f32 %y, 0f3F800000;
            mov.f32 %z, 0f40000000;
        again:
            ld.global.f32 %x, [%a];
            fma.rn.f32 %x, %x, %y, %z;
            st.global.f32 [%a], %x;
            add.u32 %a, %a, 4;
            add.u32 %i, %i, 1;
            setp.lt.u32 %p, %i, %n;
            @%p bra again;
            ret;
        }";

    fn table() -> Table {
        let module = strata_ptx::parse("loop.ptx", LOOP).module.expect("no errors");
        let (name, table) = Table::of_module(&module, &Assumptions::default()).remove(0);
        assert_eq!(name, "k");
        table
    }

    #[test]
    fn the_longest_way_of_any_lane_decides() {
        let table = table();
        let row = &table.rows[0];
        assert_eq!((row.block.live_in, row.block.live_out, row.block.conditions.len()), (5, 0, 2));
        let holds = |lanes, n: [i64; 3]| {
            let (mut count, mut from) = ([0; LANES], [0; LANES]);
            count[..3].copy_from_slice(&n);
            from[2] = 1;
            // Registers in the order of the condition: the bound, then where the loop begins.
            row.condition_holds(lanes, &[count, from])
        };
        assert!(!holds(0b111, [1, 2, 3]));
        assert!(holds(0b111, [1, 4, 3]));
        assert!(!holds(0b101, [1, 4, 4]), "three iterations in lane 2");
        assert!(holds(0b100, [0, 0, 5]));
        assert!(!row.condition_holds(1, &[]), "without values nobody knows");
    }

    #[test]
    fn arithmetic_is_what_is_no_access() {
        let mut table = table();
        let info = |class| OpInfo {
            class,
            kind: OpKind::Plain,
            space: Space::Global,
            access: Access::Load,
            width: 4,
            bypass_l1: false,
            read_only: false,
            dst: std::iter::empty().collect(),
            src: std::iter::empty().collect(),
            line: 1,
            name: "".into(),
        };
        let seam::Candidate { begin, end, .. } = table.rows[0].block;
        let length = (end - begin + 1) as usize;
        // Outside the block all is arithmetic, inside two accesses.
        let mut instructions = vec![info(OpClass::Int); end as usize + 5];
        instructions[begin as usize] = info(OpClass::Memory);
        instructions[end as usize] = info(OpClass::Memory);
        table.count_instructions(&instructions);
        assert_eq!(table.rows[0].alu_share, (length - 2) as f64 / length as f64);
        table.count_instructions(&[]);
        assert_eq!(table.rows[0].alu_share, 0.0, "nothing is known of it");
    }
}
