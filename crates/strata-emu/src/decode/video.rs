//! Video instructions.

use super::{Decoded, Decoder};
use crate::exec::Inst;
use strata_ptx::ast::Instruction;

impl Decoder<'_> {
    #[allow(clippy::unused_self, reason = "one signature for all families of instructions")]
    pub(super) fn video(&mut self, _i: &Instruction) -> Decoded<Inst> {
        Err("not executed".into())
    }
}
