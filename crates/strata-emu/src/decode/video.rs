//! Video instructions.

use super::{Decoded, Decoder};
use crate::exec::Inst;
use strata_ptx::ast::Instruction;

impl Decoder<'_> {
    pub(super) fn video(&mut self, _i: &Instruction) -> Decoded<Inst> {
        Err("not executed".into())
    }
}
