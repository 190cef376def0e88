//! The offload mechanism and what it is asked.

use super::{Machine, MachineError};
use crate::seam::{Candidate, Offload, StackId};
use strata_core::{Addr, OpBatch, OpInfo, WarpId};

/// The mechanism with the candidates of the kernel that runs.
pub(super) struct Offloader {
    mechanism: Box<dyn Offload>,
    candidates: Vec<Candidate>,
    /// A stack that it named, though no stack has SMs.
    pub(super) refused: Option<StackId>,
}

impl Offloader {
    /// A kernel begins.
    pub(super) fn kernel_begins(&mut self, instructions: &[OpInfo]) {
        self.candidates = self.mechanism.candidates(instructions);
        self.candidates.sort_by_key(|c| c.begin);
    }

    /// A warp has come to the segment that begins at `pc`.
    #[inline]
    pub(super) fn comes_to(&mut self, pc: u32, warp: WarpId, batch: &OpBatch) {
        if let Ok(k) = self.candidates.binary_search_by_key(&pc, |c| c.begin) {
            let first = batch.addresses.first().and_then(|set| batch.first_address(set)).map(Addr::line);
            if let Some(stack) = self.mechanism.decide(&self.candidates[k], warp, first) {
                self.refused = Some(stack);
            }
        }
    }
}

impl Machine {
    /// Asks a mechanism whenever a warp comes to one of its candidates. SMs on memory stacks are not modelled yet, so a
    /// launch in which it names a stack ends with an error.
    pub fn set_offload(&mut self, mechanism: Box<dyn Offload>) {
        self.offload = Some(Box::new(Offloader { mechanism, candidates: Vec::new(), refused: None }));
    }

    /// An error if the mechanism wanted a warp on a stack.
    pub(super) fn refuse_offload(&mut self) -> Result<(), MachineError> {
        match self.offload.as_mut().and_then(|offload| offload.refused.take()) {
            Some(stack) => Err(MachineError::NoStack(stack.0)),
            None => Ok(()),
        }
    }
}
