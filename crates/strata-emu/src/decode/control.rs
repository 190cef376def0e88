//! Barriers, fences, collectives, traps, and calls of the functions that the runtime provides.

use super::arithmetic::plain;
use super::{Decoded, Decoder, inst};
use crate::exec::{Flow, Inst, OpFn};
use crate::fault::Cause;
use crate::kernel::{Barrier, Control, Reduction};
use crate::ops::built_in;
use crate::ops::collective::{self, CONTROL_BITS, Collective};
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
                let mut decoded = inst(plain(collective::active_mask));
                decoded.d = self.destination(&i.operands[0], Type::B32)?;
                Ok(decoded)
            }
            O::Trap => Ok(inst(plain(|x, _, m| {
                x.fail(Cause::Trap { lane: m.trailing_zeros(), message: "the program executed `trap`".into() })
            }))),
            // A thread that sleeps waits for others.
            O::Nanosleep => Ok(inst(plain(|x, _, _| {
                x.synchronised = true;
                Flow::Next
            }))),
            O::Membar | O::Fence => Ok(inst(plain(|x, _, _| {
                x.communicated = true;
                Flow::Next
            }))),
            _ => Ok(inst(super::nothing)),
        }
    }

    fn barrier(&mut self, i: &Instruction) -> Decoded<Inst> {
        if i.has(Word::Warp) {
            let mut decoded = inst(plain(collective::warp_barrier));
            decoded.e = self.source32(i.operands.first().ok_or("the member mask is missing")?)?;
            decoded.imm = self.add_control(Control::WarpBarrier);
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
        let mut decoded = inst(plain(|_, _, _| Flow::Wait));
        let mut operands = &i.operands[..];
        if reduces {
            let (first, rest) = operands.split_first().ok_or("the result is missing")?;
            if reduction == Some(Reduction::Popc) {
                decoded.d = self.destination(first, Type::U32)?;
            } else {
                decoded.p = self.predicate_destination(first)?.ok_or("the result is dropped")?;
            }
            let (predicate, rest) = rest.split_last().ok_or("the predicate is missing")?;
            (decoded.r, decoded.aux) = self.predicate_source(predicate)?;
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
        decoded.imm = self.add_control(Control::Barrier(Barrier {
            waits: !i.has(Word::Arrive),
            counted: operands.len() > 1,
            reduction,
        }));
        Ok(decoded)
    }

    /// The shared part of collectives; `mode` distinguishes their variants.
    fn collective(&mut self, c: &Collective, mode: i64) -> Inst {
        let mut decoded = inst(c.run);
        decoded.imm = self.add_control(c.control) | mode << CONTROL_BITS;
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
    fn result_and_predicate(&mut self, decoded: &mut Inst, operand: &Operand) -> Decoded<()> {
        if let Operand::Pair(d, p) = operand {
            decoded.d = self.destination(d, Type::B32)?;
            if let Some(p) = self.predicate_destination(p)? {
                decoded.p = p;
                decoded.q = 1;
            }
        } else {
            decoded.d = self.destination(operand, Type::B32)?;
        }
        Ok(())
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
        let mut decoded = self.collective(&collective::shuffle(), mode);
        self.result_and_predicate(&mut decoded, d)?;
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
        let mut decoded = self.collective(&collective::vote(), mode);
        if mode == collective::BALLOT {
            decoded.d = self.destination(d, Type::B32)?;
        } else {
            decoded.p = self.predicate_destination(d)?.ok_or("the result is dropped")?;
        }
        (decoded.r, decoded.aux) = self.predicate_source(a)?;
        self.members(&mut decoded, i, 2)?;
        Ok(decoded)
    }

    fn match_lanes(&mut self, i: &Instruction) -> Decoded<Inst> {
        let ty = i.ty().ok_or("the type is missing")?;
        let c = collective::match_lanes(ty.bits() == 64);
        let mut decoded = self.collective(&c, i64::from(i.has(Word::All)));
        self.result_and_predicate(&mut decoded, &i.operands[0])?;
        decoded.a = self.source(&i.operands[1], ty)?;
        self.members(&mut decoded, i, 2)?;
        Ok(decoded)
    }

    fn reduction(&mut self, i: &Instruction) -> Decoded<Inst> {
        let signed = i64::from(i.ty().is_some_and(Type::is_signed));
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
            self.collective(&collective::float_reduction(), mode)
        } else {
            self.collective(&collective::reduction(), operation)
        };
        decoded.d = self.destination(&i.operands[0], Type::B32)?;
        decoded.a = self.source32(&i.operands[1])?;
        self.members(&mut decoded, i, 2)?;
        Ok(decoded)
    }

    fn election(&mut self, i: &Instruction) -> Decoded<Inst> {
        let mut decoded = self.collective(&collective::election(), 0);
        self.result_and_predicate(&mut decoded, &i.operands[0])?;
        decoded.e = self.source32(i.operands.get(1).ok_or("the member mask is missing")?)?;
        Ok(decoded)
    }

    /// A call; those of functions with a body end their block and do nothing as instructions.
    pub(super) fn built_in(&mut self, i: &Instruction) -> Decoded<Inst> {
        let [results, callee, arguments, ..] = &i.operands[..] else {
            return Err("the call is incomplete".into());
        };
        let Operand::Symbol(Symbol::Function(f), _) = callee else {
            return Ok(inst(super::nothing));
        };
        let target = &self.origin.module.functions[*f as usize];
        if !target.is_declaration {
            return Ok(inst(super::nothing));
        }
        let run: OpFn = match target.name.as_str() {
            "vprintf" => plain(built_in::print),
            "malloc" => plain(built_in::allocate),
            "free" => plain(built_in::release),
            "__assertfail" => plain(built_in::assertion_failed),
            name => {
                let hint = if name.starts_with("cuda") { "; kernels cannot launch kernels here" } else { "" };
                return Err(format!("`{name}` is declared but not defined in this module{hint}"));
            }
        };
        let arguments = self.frame_variables(arguments)?;
        let results = self.frame_variables(results)?;
        let mut decoded = inst(run);
        // Up to four arguments in a, b, c, e and one result in d, each the first unit of its variable.
        let first = |list: &[crate::kernel::UnitRange], k: usize| {
            list.get(k).map_or_else(Default::default, |r| crate::exec::Slot::register(r.first))
        };
        decoded.a = first(&arguments, 0);
        decoded.b = first(&arguments, 1);
        decoded.c = first(&arguments, 2);
        decoded.e = first(&arguments, 3);
        decoded.d = first(&results, 0);
        Ok(decoded)
    }
}
