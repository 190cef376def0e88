//! `mbarrier`, and `cp.async.mbarrier.arrive`.

use super::arithmetic::plain;
use super::{Decoded, Decoder};
use crate::exec::Slot;
use crate::inst::{Inst, MbarrierChange, MbarrierWait};
use crate::lane_op;
use crate::lanes::map1;
use crate::ops::mbarrier::{self, Step};
use strata_ptx::ast::{Instruction, Opcode as O, Operand, Type, Word};

impl Decoder<'_> {
    pub(super) fn mbarrier(&mut self, i: &Instruction) -> Decoded<Inst> {
        if i.has(Word::PendingCount) {
            let mut decoded = Inst::new(lane_op!(self.vector, |x, i, m| map1(x, i, m, mbarrier::pending_count)));
            decoded.d = self.destination(&i.operands[0], Type::B32)?;
            decoded.a = self.source(&i.operands[1], Type::B64)?;
            return Ok(decoded);
        }
        let at =
            i.operands.iter().position(|o| matches!(o, Operand::Address { .. })).ok_or("the address is missing")?;
        let place = self.address(&i.operands[at])?;
        let space = Self::space(i);
        if !place.wide && space != crate::ops::memory::SHARED {
            return Err("32-bit addresses are executed in shared memory only".into());
        }
        let value = i.operands.get(at + 1);
        if i.has(Word::TestWait) || i.has(Word::TryWait) {
            let mut decoded = Inst::new(plain(mbarrier::waits(space, place.wide)));
            let by_parity = i.has(Word::Parity);
            let value = value.ok_or("the phase is missing")?;
            decoded.a = place.base;
            decoded.b = self.source(value, if by_parity { Type::B32 } else { Type::B64 })?;
            let result = self.predicate_result(&i.operands[0])?;
            decoded.set(MbarrierWait { offset: place.offset, touched: self.next_touched(), result, by_parity });
            return Ok(decoded);
        }
        let expects = i.has(Word::ExpectTx);
        let step = match () {
            () if i.op == O::Cp && i.has(Word::Noinc) => Step::Arrive,
            () if i.op == O::Cp => Step::ArriveExtra,
            () if i.has(Word::Init) => Step::Init,
            () if i.has(Word::Inval) => Step::Invalidate,
            () if i.has(Word::CompleteTx) => Step::Complete,
            () if i.has(Word::ArriveDrop) && expects => Step::ExpectAndLeave,
            () if i.has(Word::ArriveDrop) => Step::Leave,
            () if i.has(Word::Arrive) && expects => Step::ExpectAndArrive,
            () if i.has(Word::Arrive) => Step::Arrive,
            () => Step::Expect,
        };
        let mut decoded = Inst::new(plain(mbarrier::changes(space, place.wide)));
        decoded.a = place.base;
        decoded.set(MbarrierChange { offset: place.offset, touched: self.next_touched(), step });
        decoded.b = match value {
            Some(count) => self.source32(count)?,
            None if expects => return Err("the bytes are missing".into()),
            None => self.word(1),
        };
        let token = if at == 0 { None } else { i.operands.first() };
        decoded.d = match token {
            Some(token) => self.destination(token, Type::B64)?,
            None => Slot::register(self.frame.scratch),
        };
        Ok(decoded)
    }
}
