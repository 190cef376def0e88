//! Barriers, fences, collectives, traps, and calls of the functions that the runtime provides.

use super::arithmetic::plain;
use super::{ALWAYS, Decoded, Decoder};
use crate::exec::{Flow, Slot, TRUE_PREDICATE};
use crate::fault::Cause;
use crate::inst::{Collective, CtaBarrier, Inst, OpFn, Vote};
use crate::kernel::{Barrier, Control, Reduction};
use crate::ops::collective::{self, Halves};
use crate::ops::{built_in, device_runtime};
use crate::races::Races;
use strata_ptx::ast::{Instruction, Opcode as O, Operand, Symbol, Type, Word};

impl Decoder<'_> {
    pub(super) fn control(&mut self, i: &Instruction) -> Decoded<Inst> {
        match i.op {
            O::Bar | O::Barrier => self.barrier(i),
            O::Shfl => self.shuffle(i),
            O::Vote => self.vote(i),
            O::Match => self.match_lanes(i),
            O::Redux => self.reduction(i),
            O::Elect => self.election(i),
            O::Activemask => {
                let mut decoded = Inst::new(plain(collective::active_mask));
                decoded.d = self.destination(&i.operands[0], Type::B32)?;
                Ok(decoded)
            }
            O::Trap => Ok(Inst::new(plain(|x, _, m| {
                x.fail(Cause::Trap { lane: m.trailing_zeros(), message: "the program executed `trap`".into() })
            }))),
            // A thread that sleeps waits for others.
            O::Nanosleep => Ok(Inst::new(plain(|x, _, _| {
                x.synchronised = true;
                Flow::Next
            }))),
            O::Membar | O::Fence => Ok(Inst::new(plain(|x, _, _| {
                x.communicated = true;
                x.tell_races(Races::fence);
                Flow::Next
            }))),
            _ => Ok(Inst::new(super::nothing)),
        }
    }

    fn barrier(&mut self, i: &Instruction) -> Decoded<Inst> {
        if i.has(Word::Warp) {
            let mut decoded = Inst::new(plain(collective::warp_barrier));
            decoded.e = self.source32(i.operands.first().ok_or("the member mask is missing")?)?;
            decoded.set(Collective { scheduled: self.add_control(Control::WarpBarrier, 0), result: None });
            return Ok(decoded);
        }
        if i.has(Word::Cluster) {
            return Err("thread block clusters are not executed".into());
        }
        let reduces = i.has(Word::Red);
        let reduction = i.words.iter().find_map(|w| match w {
            Word::Popc if reduces => Some(Reduction::Popc),
            Word::And if reduces => Some(Reduction::And),
            Word::Or if reduces => Some(Reduction::Or),
            _ => None,
        });
        let mut decoded = Inst::new(plain(|_, _, _| Flow::Wait));
        let mut operands = &i.operands[..];
        let (mut result, mut vote) = (TRUE_PREDICATE, ALWAYS);
        if reduces {
            let (first, rest) = operands.split_first().ok_or("the result is missing")?;
            if reduction == Some(Reduction::Popc) {
                decoded.d = self.destination(first, Type::U32)?;
            } else {
                result = self.predicate_result(first)?;
            }
            let (predicate, rest) = rest.split_last().ok_or("the predicate is missing")?;
            vote = self.predicate_source(predicate)?;
            operands = rest;
        }
        decoded.a = match operands.first() {
            Some(id) => self.source32(id)?,
            None => self.word(0),
        };
        decoded.b = match operands.get(1) {
            Some(count) => self.source32(count)?,
            None => self.word(0),
        };
        let barrier =
            Barrier { waits: !i.has(Word::Arrive), counted: operands.len() > 1, reduction, keeps_step: false };
        let scheduled = self.add_control(Control::Barrier(barrier), 0);
        decoded.set(CtaBarrier { scheduled, result, vote });
        Ok(decoded)
    }

    /// The shared part of collectives; `mode` distinguishes their variants, `result` is the predicate beside `d`.
    fn collective(&mut self, halves: &Halves, mode: u32, result: Option<u16>) -> Inst {
        let mut decoded = Inst::new(halves.run);
        decoded.set(Collective { scheduled: self.add_control(halves.control, mode), result });
        decoded
    }

    /// The member mask; forms before Volta have none.
    fn members(&mut self, decoded: &mut Inst, i: &Instruction, at: usize) -> Decoded<()> {
        decoded.e = if i.has(Word::Sync) {
            self.source32(i.operands.get(at).ok_or("the member mask is missing")?)?
        } else {
            // They involve the lanes that happen to be active; nobody is waited for.
            self.word(0)
        };
        Ok(())
    }

    /// A result with an optional predicate beside it: `d|p`.
    fn result_and_predicate(&self, operand: &Operand) -> Decoded<(Slot, Option<u16>)> {
        match operand {
            Operand::Pair(d, p) => Ok((self.destination(d, Type::B32)?, self.predicate_destination(p)?)),
            d => Ok((self.destination(d, Type::B32)?, None)),
        }
    }

    fn shuffle(&mut self, i: &Instruction) -> Decoded<Inst> {
        let mode = i
            .words
            .iter()
            .find_map(|w| match w {
                Word::Up => Some(collective::UP),
                Word::Down => Some(collective::DOWN),
                Word::Bfly => Some(collective::BFLY),
                Word::Idx => Some(collective::IDX),
                _ => None,
            })
            .ok_or("the mode is missing")?;
        let [d, a, b, c, ..] = &i.operands[..] else {
            return Err("operands are missing".into());
        };
        let (d, result) = self.result_and_predicate(d)?;
        let mut decoded = self.collective(&collective::shuffle(), mode, result);
        decoded.d = d;
        decoded.a = self.source32(a)?;
        decoded.b = self.source32(b)?;
        decoded.c = self.source32(c)?;
        self.members(&mut decoded, i, 4)?;
        Ok(decoded)
    }

    fn vote(&mut self, i: &Instruction) -> Decoded<Inst> {
        let mode = i
            .words
            .iter()
            .find_map(|w| match w {
                Word::All => Some(collective::ALL),
                Word::Any => Some(collective::ANY),
                Word::Uni => Some(collective::UNI),
                Word::Ballot => Some(collective::BALLOT),
                _ => None,
            })
            .ok_or("the mode is missing")?;
        let [d, a, ..] = &i.operands[..] else {
            return Err("operands are missing".into());
        };
        let halves = collective::vote();
        let mut decoded = Inst::new(halves.run);
        let mut result = TRUE_PREDICATE;
        if mode == collective::BALLOT {
            decoded.d = self.destination(d, Type::B32)?;
        } else {
            result = self.predicate_result(d)?;
        }
        let given = self.predicate_source(a)?;
        decoded.set(Vote { scheduled: self.add_control(halves.control, mode), result, given });
        self.members(&mut decoded, i, 2)?;
        Ok(decoded)
    }

    fn match_lanes(&mut self, i: &Instruction) -> Decoded<Inst> {
        let ty = i.ty().ok_or("the type is missing")?;
        let halves = collective::match_lanes(ty.bits() == 64);
        let (d, result) = self.result_and_predicate(&i.operands[0])?;
        let mut decoded = self.collective(&halves, u32::from(i.has(Word::All)), result);
        decoded.d = d;
        decoded.a = self.source(&i.operands[1], ty)?;
        self.members(&mut decoded, i, 2)?;
        Ok(decoded)
    }

    fn reduction(&mut self, i: &Instruction) -> Decoded<Inst> {
        let signed = u32::from(i.ty().is_some_and(Type::is_signed));
        let operation = i
            .words
            .iter()
            .find_map(|w| match w {
                Word::Add => Some(0),
                Word::Min => Some(1 + signed),
                Word::Max => Some(3 + signed),
                Word::And => Some(5),
                Word::Or => Some(6),
                Word::Xor => Some(7),
                _ => None,
            })
            .ok_or("the operation is missing")?;
        let mut decoded = if i.ty() == Some(Type::F32) {
            let flag = |word, bit| if i.has(word) { bit } else { 0 };
            let mode = flag(Word::Max, collective::FLOAT_MAX)
                | flag(Word::NaN, collective::FLOAT_NAN)
                | flag(Word::Abs, collective::FLOAT_ABS);
            self.collective(&collective::float_reduction(), mode, None)
        } else {
            self.collective(&collective::reduction(), operation, None)
        };
        decoded.d = self.destination(&i.operands[0], Type::B32)?;
        decoded.a = self.source32(&i.operands[1])?;
        self.members(&mut decoded, i, 2)?;
        Ok(decoded)
    }

    fn election(&mut self, i: &Instruction) -> Decoded<Inst> {
        let (d, result) = self.result_and_predicate(&i.operands[0])?;
        let mut decoded = self.collective(&collective::election(), 0, result);
        decoded.d = d;
        decoded.e = self.source32(i.operands.get(1).ok_or("the member mask is missing")?)?;
        Ok(decoded)
    }

    /// A call; those of functions with a body end their block and do nothing as instructions.
    pub(super) fn built_in(&mut self, i: &Instruction) -> Decoded<Inst> {
        let [results, callee, arguments, ..] = &i.operands[..] else {
            return Err("the call is incomplete".into());
        };
        let Operand::Symbol(Symbol::Function(f), _) = callee else {
            return Ok(Inst::new(super::nothing));
        };
        let target = &self.origin.module.functions[*f as usize];
        if !target.is_declaration {
            return Ok(Inst::new(super::nothing));
        }
        let run: OpFn = match target.name.as_str() {
            "vprintf" => plain(built_in::print),
            "malloc" => plain(built_in::allocate),
            "free" => plain(built_in::release),
            "__assertfail" => plain(built_in::assertion_failed),
            name => match device_runtime::function(name) {
                Some(run) => run,
                None => return Err(device_runtime::missing(name)),
            },
        };
        let arguments = self.frame_variables(arguments)?;
        let results = self.frame_variables(results)?;
        let mut decoded = Inst::new(run);
        // Up to four arguments in a, b, c, e and one result in d, each the first unit of its variable.
        let first = |list: &[crate::kernel::UnitRange], k: usize| {
            list.get(k).map_or_else(Default::default, |r| Slot::register(r.first))
        };
        decoded.a = first(&arguments, 0);
        decoded.b = first(&arguments, 1);
        decoded.c = first(&arguments, 2);
        decoded.e = first(&arguments, 3);
        decoded.d = first(&results, 0);
        Ok(decoded)
    }
}
