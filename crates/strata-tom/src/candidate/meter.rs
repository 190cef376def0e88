//! Registers and accesses of a block, collected instruction by instruction.
//!
//! A block needs the registers that are live where it begins and that it names: read in it before they are surely written,
//! or written on some ways through it only, so that the old value must be at hand to be given back. It leaves the registers
//! that it writes and that are live where it ends. What merely lives on across the block stays where it is. A special
//! register that tells who a thread is counts as one that the block needs.

use super::body::{Body, Repeats};
use super::cost::Traffic;
use super::limits::{Effect, each_sent_special};
use std::ops::Range;
use strata_ptx::ast::{RegId, Special, Type};

/// The 32-bit words that a register is (TOM sends registers of 4 bytes); predicates count nothing.
pub(crate) const fn words(ty: Type) -> u64 {
    match ty {
        Type::Pred => 0,
        other => other.bits().div_ceil(32) as u64,
    }
}

/// Collects; [`Self::start`] begins anew for the price of nothing.
pub(super) struct Meter<'a> {
    body: &'a Body<'a>,
    /// Numbers the blocks measured; a register with this mark has been seen in the one at hand.
    mark: u32,
    touched_at: Vec<u32>,
    written_at: Vec<u32>,
    touched: Vec<RegId>,
    written: Vec<RegId>,
    specials: Vec<Special>,
    /// The first of `touched` that [`Self::needed`] has not judged, and the words of those it has.
    judged: usize,
    words_in: u64,
    /// Loads and stores so far that can be counted on.
    pub(super) accesses: Traffic,
    /// Those to be expected.
    pub(super) likely: Traffic,
}

impl<'a> Meter<'a> {
    pub(super) fn new(body: &'a Body<'a>) -> Self {
        let registers = body.function.registers.len();
        Self {
            body,
            mark: 0,
            touched_at: vec![0; registers],
            written_at: vec![0; registers],
            touched: Vec::new(),
            written: Vec::new(),
            specials: Vec::new(),
            judged: 0,
            words_in: 0,
            accesses: Traffic::default(),
            likely: Traffic::default(),
        }
    }

    /// Begins a block.
    pub(super) fn start(&mut self) {
        self.mark += 1;
        self.touched.clear();
        self.written.clear();
        self.specials.clear();
        (self.judged, self.words_in) = (0, 0);
        (self.accesses, self.likely) = (Traffic::default(), Traffic::default());
    }

    /// Adds instructions that the block runs so often.
    pub(super) fn add(&mut self, span: &Range<u32>, repeats: Repeats) {
        let instructions = &self.body.function.instructions[span.start as usize..span.end as usize];
        for (instruction, effect) in instructions.iter().zip(self.body.effects_in(span)) {
            let (touched_at, touched, mark) = (&mut self.touched_at, &mut self.touched, self.mark);
            let mut touch = |r: RegId| {
                if std::mem::replace(&mut touched_at[r.0 as usize], mark) != mark {
                    touched.push(r);
                }
            };
            instruction.each_read(&mut touch);
            instruction.each_written(|r| {
                touch(r);
                if std::mem::replace(&mut self.written_at[r.0 as usize], mark) != mark {
                    self.written.push(r);
                }
            });
            each_sent_special(instruction, |special| {
                if !self.specials.contains(&special) {
                    self.specials.push(special);
                }
            });
            count(&mut self.accesses, *effect, repeats.certain);
            count(&mut self.likely, *effect, repeats.likely);
        }
    }

    /// Takes all accesses so far so often.
    pub(super) fn repeat(&mut self, repeats: Repeats) {
        for (accesses, factor) in [(&mut self.accesses, repeats.certain), (&mut self.likely, repeats.likely)] {
            accesses.loads = accesses.loads.saturating_mul(factor);
            accesses.stores = accesses.stores.saturating_mul(factor);
        }
    }

    /// The words of the registers that the block needs; `live` says what is live where it begins.
    pub(super) fn needed(&mut self, live: impl Fn(RegId) -> bool) -> u64 {
        let new = &self.touched[self.judged..];
        self.words_in += new.iter().filter(|&&r| live(r)).map(|&r| self.words(r)).sum::<u64>();
        self.judged = self.touched.len();
        self.words_in + self.specials.len() as u64
    }

    /// The words of the registers that the block leaves; `live` says what is live where it ends.
    pub(super) fn left(&self, live: impl Fn(RegId) -> bool) -> u64 {
        self.written.iter().filter(|&&r| live(r)).map(|&r| self.words(r)).sum()
    }

    fn words(&self, register: RegId) -> u64 {
        words(self.body.function.registers[register.0 as usize].ty)
    }

    /// The registers named in the block and those written in it, both ascending.
    pub(super) fn registers(&self) -> (Vec<RegId>, Vec<RegId>) {
        let (mut touched, mut written) = (self.touched.clone(), self.written.clone());
        touched.sort_unstable();
        written.sort_unstable();
        (touched, written)
    }

    /// The special registers that have to be sent, in the order in which they are read.
    pub(super) fn specials(&self) -> &[Special] {
        &self.specials
    }
}

/// Adds the access that an instruction is, `factor` times.
fn count(accesses: &mut Traffic, effect: Effect, factor: u64) {
    let (number, words) = match effect {
        Effect::Load(words) => (&mut accesses.loads, words),
        Effect::Store(words) => (&mut accesses.stores, words),
        Effect::Free | Effect::Forbidden(_) => return,
    };
    *number = number.saturating_add(factor.saturating_mul(u64::from(words)));
}
