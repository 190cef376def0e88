//! Registers that are alive at once, in blocks and in whole threads: why the SM of a stack has room for more warps than one
//! of the GPU with as many registers (TOM, section 6.4).

use super::meter::words;
use super::{Candidate, Found};
use strata_ptx::analysis::{CallsEndBlocks, Cfg, Liveness, RegisterSet};
use strata_ptx::ast::{Function, Module};

/// The most 32-bit registers of a thread that are alive at once.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct MostLive {
    /// In a candidate, of those that it names: the rest stays on the GPU.
    pub block: u64,
    /// Anywhere in a function that has candidates.
    pub thread: u64,
}

impl MostLive {
    /// The larger ones of two.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        Self { block: self.block.max(other.block), thread: self.thread.max(other.thread) }
    }
}

/// Those of the functions of a module in which candidates were found.
pub fn most_live(module: &Module, found: &[Found]) -> MostLive {
    let with_candidates = found.iter().filter(|f| !f.candidates.is_empty());
    let each = with_candidates.map(|f| in_function(&module.functions[f.function], &f.candidates));
    each.fold(MostLive::default(), MostLive::max)
}

fn in_function(function: &Function, candidates: &[Candidate]) -> MostLive {
    let cfg = Cfg::build(function, CallsEndBlocks::No);
    let liveness = Liveness::build(function, &cfg);
    let named: Vec<RegisterSet> = candidates.iter().map(|c| named(function, c)).collect();
    let mut most = MostLive::default();
    let mut cursor = liveness.cursor(function, &cfg);
    for b in cfg.ids() {
        cursor.start(b);
        while let Some(at) = cursor.step() {
            let width = |r: strata_ptx::ast::RegId| words(function.registers[r.0 as usize].ty);
            let live = cursor.live();
            most.thread = most.thread.max(live.iter().map(width).sum());
            let inside = candidates.iter().position(|c| (c.begin..=c.end).contains(&at));
            if let Some(named) = inside.map(|k| &named[k]) {
                most.block = most.block.max(live.iter().filter(|&r| named.contains(r)).map(width).sum());
            }
        }
    }
    most
}

/// The registers that a block names.
fn named(function: &Function, candidate: &Candidate) -> RegisterSet {
    let mut named = RegisterSet::new(function.registers.len());
    for instruction in &function.instructions[candidate.begin as usize..=candidate.end as usize] {
        let mut name = |r| {
            named.insert(r);
        };
        instruction.each_read(&mut name);
        instruction.each_written(&mut name);
    }
    named
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::candidate::{Assumptions, find};

    #[test]
    fn what_only_the_thread_needs_stays_on_the_gpu() {
        let text = ".version 8.0 .target sm_75 .address_size 32
            .visible .entry k(.param .u32 array) {
                .reg .u32 %a, %other; .reg .f64 %kept; .reg .f32 %x, %y, %z, %w;
                ld.param.u32 %a, [array];
                mov.f64 %kept, 0d3FF0000000000000;
                mov.u32 %other, %clock;
                ld.global.v4.f32 {%x, %y, %z, %w}, [%a];
                st.global.v4.f32 [%a], {%w, %z, %y, %x};
                bar.sync 0;
                st.global.f64 [%a], %kept;
                st.global.u32 [%a+8], %other;
                ret;
            }";
        let module = strata_ptx::parse("registers.ptx", text).module.expect("no errors");
        let found = find(&module, &Assumptions::default());
        let places: Vec<_> = found[0].candidates.iter().map(|c| (c.begin, c.end)).collect();
        assert_eq!(places, [(3, 4)]);
        // The address and what was loaded; beside them two words and one that wait for the end.
        assert_eq!(most_live(&module, &found), MostLive { block: 5, thread: 8 });
    }
}
