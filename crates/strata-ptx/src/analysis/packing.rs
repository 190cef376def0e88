//! Storage for the registers of a warp: registers that are never live together share it.
//!
//! # Layout
//!
//! A *unit* holds 32 bits for each lane. A register of up to 32 bits takes one unit, of 64 bits two, of 128 bits four,
//! from a multiple of that number; within its slot the elements of lanes may be laid out in any way that depends on the
//! number of units alone (say, as an array of `u64`). Predicates have numbers of their own, for one mask each.
//!
//! # Why sharing is safe
//!
//! - Two registers share a slot only if no thread has both live at once. For lanes that stand at different places this
//!   is enough if writes are masked; the reasoning stands in [`liveness`](super::liveness). **Whoever uses a packing must write
//!   only the elements of active lanes whose guard holds, and only those bits of a predicate's mask.**
//! - Slots of different sizes never overlap, not even at different times. If they did, lane 5 of a 64-bit register could
//!   lie over lanes 10 and 11 of a 32-bit one, and a masked write would reach lanes that stand elsewhere.
//! - So a destination's slot equals that of a source or is disjoint from it. Equal slots suit an instruction that
//!   finishes a lane before it begins the next. Where one result is written before all sources are read, the two are kept
//!   apart: see [`keeps_sources`]. A register that the *program* names on both sides of such an instruction remains the
//!   executor's business.
//!
//! # Method
//!
//! Each register is taken to be in use from the first to the last position, in program order, at which it is live or
//! named. Slots are then handed out in one sweep, which for such intervals needs no more slots than are in use at once.

use super::cfg::Cfg;
use super::graph::NONE;
use super::liveness::Liveness;
use crate::ast::{Function, Instruction, Opcode, RegId, Type};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt;
use std::ops::Range;

/// Where a register is kept.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SlotRef {
    /// The first unit of its slot.
    Unit(u32),
    /// The number of its mask.
    Predicate(u32),
    /// Nowhere: no instruction names it.
    Unused,
}

/// Storage for the registers of a function. See the module for what its user must keep to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Packing {
    /// The place of each register.
    pub slot_of: Vec<SlotRef>,
    /// Units of 32 bits for each lane needed in all.
    pub units: u32,
    /// Predicate masks needed in all.
    pub predicates: u32,
}

/// Two registers of which one would destroy the other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Clash {
    /// The instruction at or after which both are needed.
    pub instruction: u32,
    /// The registers.
    pub registers: [RegId; 2],
}

impl fmt::Display for Clash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b] = self.registers;
        write!(f, "registers {} and {} share a slot but are both needed at instruction {}", a.0, b.0, self.instruction)
    }
}

impl std::error::Error for Clash {}

/// What registers are kept in: each class has slots of its own.
const CLASSES: usize = 4;
const PREDICATES: usize = 3;

/// The class of a type; `1 << class` is its number of units, [`PREDICATES`] apart.
fn class(ty: Type) -> usize {
    match ty {
        Type::Pred => PREDICATES,
        _ => match ty.bits() {
            0..=32 => 0,
            33..=64 => 1,
            _ => 2,
        },
    }
}

/// True if a destination of `instruction` must not share a slot with any of its sources (guard included).
///
/// False only for instructions with one result that compute each lane from that lane alone; opcodes not known to do so,
/// loads, atomics, calls and everything across lanes included, count as true.
pub fn keeps_sources(instruction: &Instruction) -> bool {
    use Opcode as O;
    let lane_by_lane = matches!(
        instruction.op,
        O::Abs
            | O::Add
            | O::Addc
            | O::And
            | O::Bfe
            | O::Bfi
            | O::Bfind
            | O::Bmsk
            | O::Brev
            | O::Clz
            | O::Cnot
            | O::Copysign
            | O::Cos
            | O::Cvt
            | O::Cvta
            | O::Div
            | O::Dp2a
            | O::Dp4a
            | O::Ex2
            | O::Fma
            | O::Fns
            | O::Isspacep
            | O::Lg2
            | O::Lop3
            | O::Mad
            | O::Mad24
            | O::Madc
            | O::Max
            | O::Min
            | O::Mov
            | O::Mul
            | O::Mul24
            | O::Neg
            | O::Not
            | O::Or
            | O::Popc
            | O::Rcp
            | O::Rem
            | O::Rsqrt
            | O::Sad
            | O::Selp
            | O::Set
            | O::Setp
            | O::Shf
            | O::Shl
            | O::Shr
            | O::Sin
            | O::Slct
            | O::Sqrt
            | O::Sub
            | O::Subc
            | O::Szext
            | O::Tanh
            | O::Testp
            | O::Xor
    );
    let mut results = 0;
    instruction.each_written(|_| results += 1);
    !lane_by_lane || results > 1
}

impl Packing {
    /// Finds a place for each register that `function` names; `cfg` and `liveness` are of this function.
    ///
    /// Parameters and results that are registers always have a place, and those of parameters are distinct.
    pub fn build(function: &Function, cfg: &Cfg, liveness: &Liveness) -> Self {
        let uses = Intervals::build(function, cfg, liveness).0;
        let mut by_start: Vec<u32> = (0..uses.len() as u32).filter(|&r| uses[r as usize].0 != NONE).collect();
        by_start.sort_unstable_by_key(|&r| uses[r as usize]);

        let mut shelves: [Shelf; CLASSES] = Default::default();
        let mut place = vec![NONE; uses.len()];
        for &r in &by_start {
            let (start, end) = uses[r as usize];
            place[r as usize] = shelves[class(function.registers[r as usize].ty)].take(start, end);
        }

        // Widest first: what is aligned to four units is then followed by what is aligned to two.
        let base = [4 * shelves[2].slots + 2 * shelves[1].slots, 4 * shelves[2].slots, 0];
        let slot_of = (place.iter().zip(&function.registers))
            .map(|(&place, register)| match class(register.ty) {
                _ if place == NONE => SlotRef::Unused,
                PREDICATES => SlotRef::Predicate(place),
                class => SlotRef::Unit(base[class] + (place << class)),
            })
            .collect();
        Self { slot_of, units: base[0] + shelves[0].slots, predicates: shelves[PREDICATES].slots }
    }

    /// The place of one register.
    pub fn slot(&self, register: RegId) -> SlotRef {
        self.slot_of[register.0 as usize]
    }

    /// Checks every instruction, from liveness alone: no write may reach a register that is still needed.
    pub fn verify(&self, function: &Function, cfg: &Cfg, liveness: &Liveness) -> Result<(), Clash> {
        let mut storage =
            Storage { packing: self, function, owner: vec![NONE; self.units as usize + self.predicates as usize] };
        let mut cursor = liveness.cursor(function, cfg);
        for b in cfg.ids() {
            storage.owner.fill(NONE);
            cursor.start(b);
            let last = cfg.block(b).end - 1;
            for r in cursor.live().iter() {
                storage.occupy(last, r)?;
            }
            for i in cfg.block(b).instructions().rev() {
                storage.check_results(i as u32, |r| cursor.live().contains(r))?;
                let mut outcome = Ok(());
                cursor.step_with(|r, enters| {
                    if enters {
                        outcome = outcome.and(storage.occupy(i as u32, r));
                    } else {
                        storage.release(r);
                    }
                });
                outcome?;
            }
            if b == cfg.entry() {
                for r in function.param_registers.iter().copied().flatten() {
                    storage.occupy(0, r)?;
                }
            }
        }
        Ok(())
    }
}

/// The slots of one class during the sweep.
#[derive(Default)]
struct Shelf {
    slots: u32,
    free: Vec<u32>,
    /// Slots in use, the first to end on top.
    busy: BinaryHeap<Reverse<(u32, u32)>>,
}

impl Shelf {
    /// A slot that is free from `start` to `end`; starts never go back from call to call.
    fn take(&mut self, start: u32, end: u32) -> u32 {
        while let Some(&Reverse((ended, slot))) = self.busy.peek() {
            if ended >= start {
                break;
            }
            self.busy.pop();
            self.free.push(slot);
        }
        // The slot freed last is the one most likely to be in the executor's cache.
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots += 1;
            self.slots - 1
        });
        self.busy.push(Reverse((end, slot)));
        slot
    }
}

/// First and last position at which each register is in use; ([`NONE`], 0) if it never is.
///
/// Position 0 is the entry; instruction `i` reads at `2i + 1` and writes at `2i + 2`. So one register may end where
/// another begins in one instruction; where it must not, the read is put at the write.
struct Intervals(Vec<(u32, u32)>);

impl Intervals {
    fn build(function: &Function, cfg: &Cfg, liveness: &Liveness) -> Self {
        let mut uses = Self(vec![(NONE, 0); function.registers.len()]);
        for r in function.param_registers.iter().copied().flatten() {
            uses.extend(r, 0);
        }
        for r in function.return_registers.iter().copied().flatten() {
            uses.extend(r, 2 * function.instructions.len() as u32);
        }
        // What is live on entry to a block is live at its start and at the end of each block before it. Only the
        // extremes matter, so each register is looked at twice, however many blocks it is live in.
        let last_use = |b| {
            let before = cfg.predecessors(b).iter().map(|&p| 2 * cfg.block(p).end).max();
            before.unwrap_or(0).max(2 * cfg.block(b).first + 1)
        };
        liveness.each_first(cfg.ids(), |b, r| uses.extend(r, 2 * cfg.block(b).first + 1));
        let mut from_last: Vec<_> = cfg.ids().map(|b| (Reverse(last_use(b)), b)).collect();
        from_last.sort_unstable();
        liveness.each_first(from_last.iter().map(|&(_, b)| b), |b, r| uses.extend(r, last_use(b)));
        for (i, instruction) in (0..).zip(&function.instructions) {
            let write = 2 * i + 2;
            let read = if keeps_sources(instruction) { write } else { write - 1 };
            instruction.each_read(|r| uses.extend(r, read));
            instruction.each_written(|r| uses.extend(r, write));
        }
        uses
    }

    fn extend(&mut self, register: RegId, position: u32) {
        let (start, end) = &mut self.0[register.0 as usize];
        *start = (*start).min(position);
        *end = (*end).max(position);
    }
}

/// Which register's value each unit and each predicate holds, as [`Packing::verify`] walks backwards.
struct Storage<'a> {
    packing: &'a Packing,
    function: &'a Function,
    owner: Vec<u32>,
}

impl Storage<'_> {
    fn range(&self, r: RegId) -> Range<usize> {
        match self.packing.slot(r) {
            SlotRef::Unit(unit) => {
                unit as usize..unit as usize + (1 << class(self.function.registers[r.0 as usize].ty))
            }
            SlotRef::Predicate(number) => {
                let at = self.packing.units as usize + number as usize;
                at..at + 1
            }
            SlotRef::Unused => 0..0,
        }
    }

    fn occupy(&mut self, instruction: u32, r: RegId) -> Result<(), Clash> {
        let range = self.range(r);
        for owner in &mut self.owner[range] {
            if *owner != NONE && *owner != r.0 {
                return Err(Clash { instruction, registers: [r, RegId(*owner)] });
            }
            *owner = r.0;
        }
        Ok(())
    }

    fn release(&mut self, r: RegId) {
        let range = self.range(r);
        self.owner[range].fill(NONE);
    }

    /// Checks the results of instruction `i`, wanted or not, against one another, what is live after it, and its sources.
    fn check_results(&mut self, i: u32, live_after: impl Fn(RegId) -> bool) -> Result<(), Clash> {
        let instruction = &self.function.instructions[i as usize];
        let mut outcome = Ok(());
        instruction.each_written(|r| outcome = outcome.and(self.occupy(i, r)));
        if keeps_sources(instruction) {
            instruction.each_read(|source| {
                instruction.each_written(|result| {
                    if result != source && self.packing.slot(result) == self.packing.slot(source) {
                        outcome = outcome.and(Err(Clash { instruction: i, registers: [result, source] }));
                    }
                });
            });
        }
        instruction.each_written(|r| {
            if !live_after(r) {
                self.release(r);
            }
        });
        outcome
    }
}

#[cfg(test)]
mod tests {
    use super::super::CallsEndBlocks;
    use super::super::cfg::BlockId;
    use super::super::testing::{Body, any_function};
    use super::*;
    use proptest::prelude::*;

    fn pack(function: &Function) -> (Cfg, Liveness, Packing) {
        let cfg = Cfg::build(function, CallsEndBlocks::No);
        let liveness = Liveness::build(function, &cfg);
        let packing = Packing::build(function, &cfg, &liveness);
        (cfg, liveness, packing)
    }

    const LANES: usize = 4;

    /// A warp whose lanes advance one at a time, in any order: the most divergent execution there can be. Each lane has
    /// its own registers, as the program sees them, and all share packed storage, in which a slot of several units holds
    /// the words of one lane side by side.
    struct Warp<'a> {
        function: &'a Function,
        cfg: &'a Cfg,
        packing: &'a Packing,
        own: [Vec<Option<u64>>; LANES],
        words: Vec<u32>,
        masks: Vec<u32>,
        at: [Option<u32>; LANES],
        next_value: u64,
    }

    impl<'a> Warp<'a> {
        fn new(function: &'a Function, cfg: &'a Cfg, packing: &'a Packing) -> Self {
            Self {
                function,
                cfg,
                packing,
                own: std::array::from_fn(|_| vec![None; function.registers.len()]),
                words: vec![0; packing.units as usize * LANES],
                masks: vec![0; packing.predicates as usize],
                at: [Some(0).filter(|_| !function.instructions.is_empty()); LANES],
                next_value: 1,
            }
        }

        fn bits(&self, r: RegId) -> u32 {
            self.function.registers[r.0 as usize].ty.bits()
        }

        fn word(&self, r: RegId, lane: usize) -> Range<usize> {
            let SlotRef::Unit(unit) = self.packing.slot(r) else { panic!("{r:?} is not kept in units") };
            let width = self.bits(r).div_ceil(32) as usize;
            let start = unit as usize * LANES + lane * width;
            start..start + width
        }

        fn load(&self, r: RegId, lane: usize) -> u64 {
            match self.packing.slot(r) {
                SlotRef::Predicate(n) => u64::from(self.masks[n as usize] >> lane & 1),
                _ => self.words[self.word(r, lane)].iter().rev().fold(0, |value, &word| value << 32 | u64::from(word)),
            }
        }

        fn store(&mut self, r: RegId, lane: usize, value: u64) {
            if let SlotRef::Predicate(n) = self.packing.slot(r) {
                let mask = &mut self.masks[n as usize];
                *mask = *mask & !(1 << lane) | (value as u32 & 1) << lane;
                return;
            }
            let range = self.word(r, lane);
            for (i, word) in self.words[range].iter_mut().enumerate() {
                *word = (value >> (32 * i)) as u32;
            }
        }

        /// A value not seen before, as far as the register can tell.
        fn fresh(&mut self, r: RegId) -> u64 {
            self.next_value = self.next_value.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            self.next_value >> (64 - self.bits(r))
        }

        /// Executes one instruction in one lane. `choice` decides guards and branches.
        fn advance(&mut self, lane: usize, choice: usize) -> Result<(), TestCaseError> {
            let Some(i) = self.at[lane] else { return Ok(()) };
            let function = self.function;
            let instruction = &function.instructions[i as usize];
            let passes = instruction.guard.is_none() || choice.is_multiple_of(2);
            let (mut sources, mut results) = (Vec::new(), Vec::new());
            instruction.each_read(|r| sources.push(r));
            instruction.each_written(|r| results.push(r));
            if keeps_sources(instruction) && passes {
                // A result that arrives before the sources are read must not touch them.
                for &r in results.iter().filter(|r| !sources.contains(r)) {
                    let early = self.fresh(r);
                    self.store(r, lane, early);
                }
            }
            for &r in &sources {
                if let Some(expected) = self.own[lane][r.0 as usize] {
                    prop_assert_eq!(self.load(r, lane), expected, "{:?} read by instruction {}", r, i);
                }
            }
            for &r in results.iter().filter(|_| passes) {
                let value = self.fresh(r);
                self.own[lane][r.0 as usize] = Some(value);
                self.store(r, lane, value);
            }
            let b = self.cfg.block_of(i);
            self.at[lane] = if i + 1 < self.cfg.block(b).end {
                Some(i + 1)
            } else {
                self.next_block(b, choice / 2).map(|s| self.cfg.block(s).first)
            };
            if self.at[lane].is_none() {
                for r in function.return_registers.iter().copied().flatten() {
                    if let Some(expected) = self.own[lane][r.0 as usize] {
                        prop_assert_eq!(self.load(r, lane), expected, "{:?} returned", r);
                    }
                }
            }
            Ok(())
        }

        fn next_block(&self, b: BlockId, choice: usize) -> Option<BlockId> {
            let successors = self.cfg.successors(b);
            let ways = successors.len() + usize::from(self.cfg.block(b).exits);
            successors.get(choice % ways).copied()
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1024))]

        #[test]
        fn packed_registers_hold_what_the_program_put_there(
            function in any_function(),
            schedule in proptest::collection::vec((0..LANES, 0_usize..64), 0..400),
        ) {
            let (cfg, liveness, packing) = pack(&function);
            prop_assert_eq!(packing.verify(&function, &cfg, &liveness), Ok(()));
            let mut warp = Warp::new(&function, &cfg, &packing);
            for (lane, choice) in schedule {
                warp.advance(lane, choice)?;
            }
        }

        #[test]
        fn slots_are_aligned_and_inside(function in any_function()) {
            let (_, _, packing) = pack(&function);
            for (slot, register) in packing.slot_of.iter().zip(&function.registers) {
                match *slot {
                    SlotRef::Unit(unit) => {
                        let width = register.ty.bits().div_ceil(32);
                        prop_assert_eq!(unit % width, 0);
                        prop_assert!(unit + width <= packing.units);
                    }
                    SlotRef::Predicate(n) => prop_assert!(n < packing.predicates),
                    SlotRef::Unused => {}
                }
            }
        }
    }

    #[test]
    fn a_chain_of_computations_needs_one_slot_but_loads_need_two() {
        let mut body = Body::new();
        let chain: Vec<_> = (0..10).map(|_| body.register(Type::F32)).collect();
        for pair in chain.windows(2) {
            body.compute(&pair[1..], &pair[..1]);
        }
        assert_eq!(pack(&body.finish()).2.units, 1);

        let mut body = Body::new();
        let chain: Vec<_> = (0..10).map(|_| body.register(Type::F32)).collect();
        for pair in chain.windows(2) {
            body.load(&pair[1..], pair[0]);
        }
        assert_eq!(pack(&body.finish()).2.units, 2);
    }

    #[test]
    fn widths_do_not_mix_and_parameters_stay_apart() {
        let mut body = Body::new();
        let narrow = body.register(Type::B16);
        let wide = body.register(Type::B64);
        let widest = body.register(Type::B128);
        let unused = body.register(Type::B32);
        for r in [narrow, wide, widest] {
            body.compute(&[r], &[]);
            body.store(&[r]);
        }
        let mut function = body.finish();
        let (_, _, packing) = pack(&function);
        assert_eq!(packing.slot_of, [SlotRef::Unit(6), SlotRef::Unit(4), SlotRef::Unit(0), SlotRef::Unused]);
        assert_eq!(packing.units, 7);

        function.param_registers = vec![Some(narrow), Some(unused)];
        let (cfg, liveness, packing) = pack(&function);
        assert_ne!(packing.slot(narrow), packing.slot(unused));
        assert_eq!(packing.verify(&function, &cfg, &liveness), Ok(()));
    }

    #[test]
    fn verification_finds_what_is_wrong() {
        let mut body = Body::new();
        let (a, b, c) = (body.register(Type::B32), body.register(Type::B32), body.register(Type::B32));
        body.compute(&[a], &[]);
        body.compute(&[b], &[]);
        body.store(&[a, b]);
        body.load(&[c], b);
        let function = body.finish();
        let (cfg, liveness, packing) = pack(&function);
        assert_eq!(packing.verify(&function, &cfg, &liveness), Ok(()));

        let mut both_live = packing.clone();
        both_live.slot_of[a.0 as usize] = packing.slot(b);
        assert!(both_live.verify(&function, &cfg, &liveness).is_err());
        let mut over_its_source = packing.clone();
        over_its_source.slot_of[c.0 as usize] = packing.slot(b);
        assert_eq!(
            over_its_source.verify(&function, &cfg, &liveness),
            Err(Clash { instruction: 3, registers: [c, b] })
        );
    }

    #[test]
    fn fifty_thousand_registers() {
        let mut body = Body::new();
        let mut last = body.register(Type::B64);
        for i in 0..50_000 {
            let next = body.register(Type::B64);
            let label = body.label();
            body.compute(&[next], &[last]);
            if i % 5 == 0 {
                body.store(&[next]);
                body.bra(label);
                body.place(label);
            }
            last = next;
        }
        let function = body.finish();
        let (cfg, liveness, packing) = pack(&function);
        assert_eq!(packing.units, 2);
        assert_eq!(packing.verify(&function, &cfg, &liveness), Ok(()));
    }
}
