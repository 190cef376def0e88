//! Calls and returns: the stack of frames of a warp.
//!
//! The split that calls waits, parted, while its lanes run in the callee; frames lie one behind the other in the warp's
//! registers. Lanes in different functions use the same units: each lane has its own column.

use super::{NONE, Split, State, Unit, Warp};
use crate::fault::Cause;
use crate::kernel::{Call, Code, Exit, Kernel, NO_BLOCK, UnitRange};
use strata_core::{LANES, LaneMask};

/// Registers of a call stack deeper than this are a runaway recursion.
const MAX_FRAME_UNITS: u32 = 1 << 20;

impl Warp {
    /// The nearest split that called the function `split` runs in.
    pub(super) fn caller(&self, split: usize) -> Option<usize> {
        let mut s = self.splits[split].parent;
        while s != NONE {
            if self.splits[s as usize].call != NO_BLOCK {
                return Some(s as usize);
            }
            s = self.splits[s as usize].parent;
        }
        None
    }

    /// How many functions are on a split's stack.
    fn depth(&self, split: usize) -> u32 {
        std::iter::successors(self.caller(split), |&s| self.caller(s)).count() as u32 + 1
    }

    /// The current split calls; lanes of `skip` failed the call's guard and wait behind it.
    #[allow(clippy::too_many_arguments, reason = "one call site; a structure would only rename the arguments")]
    pub(super) fn call(
        &mut self,
        kernel: &Kernel,
        code: &Code,
        current: usize,
        call: &Call,
        callees: &[(u32, LaneMask)],
        skip: LaneMask,
    ) -> Result<(), Cause> {
        let frame = self.splits[current].clone();
        let (units, predicates) = (frame.units + code.units, frame.predicates + code.predicates);
        let local = frame.local + code.local_bytes;
        for &(f, lanes) in callees {
            let callee = &kernel.functions[f as usize];
            if local + callee.local_bytes > kernel.local_bytes.max(1) && callee.local_bytes > 0
                || units > MAX_FRAME_UNITS
            {
                return Err(Cause::StackOverflow { depth: self.depth(current), local: kernel.local_bytes });
            }
            if self.units.len() < (units + callee.units) as usize {
                self.units.resize((units + callee.units) as usize, Unit([0; LANES]));
            }
            if self.predicates.len() < (predicates + callee.predicates) as usize {
                self.predicates.resize((predicates + callee.predicates) as usize, 0);
            }
            // Only these lanes: to others this may be an ordinary predicate of the function they are in.
            self.predicates[predicates as usize] |= lanes;
            for (from, to) in call.arguments.iter().zip(&callee.params) {
                self.copy_units(frame.units, *from, units, *to, lanes);
            }
        }
        let node = &mut self.splits[current];
        node.state = State::Parted;
        node.call = frame.block;
        node.arrived = skip;
        node.block = call.next;
        node.pc = code.blocks[call.next as usize].first;
        for &(f, lanes) in callees {
            let callee = &kernel.functions[f as usize];
            let child = self.add(Split {
                state: State::Ready,
                mask: lanes,
                arrived: 0,
                pc: callee.blocks[0].first,
                block: 0,
                meet: NO_BLOCK,
                parent: current as u32,
                call: NO_BLOCK,
                code: f,
                units,
                predicates,
                local,
            });
            self.current = child;
        }
        Ok(())
    }

    fn copy_units(&mut self, from_base: u32, from: UnitRange, to_base: u32, to: UnitRange, lanes: LaneMask) {
        for k in 0..from.units.min(to.units) {
            let source = self.units[(from_base + from.first + k) as usize];
            let target = &mut self.units[(to_base + to.first + k) as usize];
            for l in 0..LANES {
                if lanes >> l & 1 != 0 {
                    target.0[l] = source.0[l];
                }
            }
        }
    }

    /// Lanes return from the function that the current split runs in.
    pub(super) fn come_back(&mut self, kernel: &Kernel, current: usize, lanes: LaneMask) {
        let Some(caller) = self.caller(current) else { return };
        let mut s = self.splits[current].parent as usize;
        while s != caller {
            self.splits[s].mask &= !lanes;
            let up = self.splits[s].parent as usize;
            self.settle(s);
            s = up;
        }
        let (from_base, to_base) = (self.splits[current].units, self.splits[caller].units);
        let callee = &kernel.functions[self.splits[current].code as usize];
        let calling = &kernel.functions[self.splits[caller].code as usize];
        let Exit::Call(call) = &calling.blocks[self.splits[caller].call as usize].exit else {
            unreachable!("a calling split stands at a call");
        };
        for (from, to) in callee.returns.iter().zip(&call.results) {
            self.copy_units(from_base, *from, to_base, *to, lanes);
        }
        self.splits[caller].arrived |= lanes;
        self.settle(caller);
    }
}
