//! Loads, stores, atomics, asynchronous copies, prefetches.

use super::arithmetic::plain;
use super::{Decoded, Decoder, NEVER, units};
use crate::exec::Slot;
use crate::inst::{Access, AsyncCopy, FrameParameter, Inst, OpFn};
use crate::kernel::Constant;
use crate::lane_op;
use crate::lanes::map1;
use crate::ops::atomic::atomic;
use crate::ops::frame::{Shape, frame_load, frame_store};
use crate::ops::memory::{CONST, GENERIC, GLOBAL, LOCAL, SHARED, access};
use crate::semantics::float::{Float, FloatMode};
use crate::semantics::half::{self, Bf16, F16, HalfMode, pair2};
use strata_ptx::ast::{Base, Instruction, Opcode as O, Operand, StateSpace, Symbol, Type, Word};

/// A load or store for one space: the pairs of memory element and register that occur, each with its loop.
///
/// Only global and shared memory get loops for wide vectors: the rest is rare, and each costs compile time.
macro_rules! access {
    ($store:expr, $space:expr, $wide_address:expr, $element:expr, $wide:expr) => {
        match ($element, $wide) {
            (Type::U8 | Type::B8, false) => plain(access::<$store, $space, $wide_address, false, u8, u32>),
            (Type::S8, false) => plain(access::<$store, $space, $wide_address, false, i8, u32>),
            (Type::U16 | Type::B16 | Type::F16 | Type::Bf16, false) => {
                plain(access::<$store, $space, $wide_address, false, u16, u32>)
            }
            (Type::S16, false) => plain(access::<$store, $space, $wide_address, false, i16, u32>),
            (_, false) => plain(access::<$store, $space, $wide_address, false, u32, u32>),
            (Type::U8 | Type::B8, true) => plain(access::<$store, $space, $wide_address, false, u8, u64>),
            (Type::S8, true) => plain(access::<$store, $space, $wide_address, false, i8, u64>),
            (Type::U16 | Type::B16, true) => plain(access::<$store, $space, $wide_address, false, u16, u64>),
            (Type::S16, true) => plain(access::<$store, $space, $wide_address, false, i16, u64>),
            (Type::U32 | Type::B32 | Type::F32, true) => {
                plain(access::<$store, $space, $wide_address, false, u32, u64>)
            }
            (Type::S32, true) => plain(access::<$store, $space, $wide_address, false, i32, u64>),
            (_, true) => plain(access::<$store, $space, $wide_address, false, u64, u64>),
        }
    };
    ($v:expr, $store:expr, $space:expr, $wide_address:expr, $element:expr, $wide:expr) => {
        match ($element, $wide) {
            (Type::U8 | Type::B8, false) => {
                lane_op!($v, |x, i, m| access::<$store, $space, $wide_address, VECTOR, u8, u32>(x, i, m))
            }
            (Type::U32 | Type::B32 | Type::S32 | Type::F32 | Type::F16x2 | Type::Bf16x2, false) => {
                lane_op!($v, |x, i, m| access::<$store, $space, $wide_address, VECTOR, u32, u32>(x, i, m))
            }
            (Type::U64 | Type::B64 | Type::S64 | Type::F64, true) => {
                lane_op!($v, |x, i, m| access::<$store, $space, $wide_address, VECTOR, u64, u64>(x, i, m))
            }
            // An index of a 64-bit address, as compilers load it.
            (Type::S32, true) => {
                lane_op!($v, |x, i, m| access::<$store, $space, $wide_address, VECTOR, i32, u64>(x, i, m))
            }
            _ => access!($store, $space, $wide_address, $element, $wide),
        }
    };
}

/// An atomic for each space and address width.
macro_rules! atomics {
    ($space:expr, $wide:expr, $T:ty, $update:expr) => {
        match ($space, $wide) {
            (SHARED, false) => plain(|x, i, m| unsafe { atomic::<SHARED, false, $T>(x, i, m, $update) }),
            (SHARED, true) => plain(|x, i, m| unsafe { atomic::<SHARED, true, $T>(x, i, m, $update) }),
            (GENERIC, _) => plain(|x, i, m| unsafe { atomic::<GENERIC, true, $T>(x, i, m, $update) }),
            _ => plain(|x, i, m| unsafe { atomic::<GLOBAL, true, $T>(x, i, m, $update) }),
        }
    };
}

/// An address operand: where its base is, how wide, and what is added.
pub(super) struct Address {
    pub(super) base: Slot,
    pub(super) wide: bool,
    pub(super) offset: i64,
    /// Relative to the frame in local memory.
    in_frame: bool,
}

impl Decoder<'_> {
    pub(super) fn memory(&mut self, i: &Instruction) -> Decoded<Inst> {
        match i.op {
            O::Ld | O::Ldu => self.load(i),
            O::St => self.store(i),
            O::Atom | O::Red => self.atomic(i),
            O::Cp if i.has(Word::Mbarrier) => self.mbarrier(i),
            O::Cp => self.asynchronous(i),
            _ => self.prefetch(i),
        }
    }

    pub(super) fn address(&mut self, operand: &Operand) -> Decoded<Address> {
        let Operand::Address { base, offset } = operand else {
            return Err("the operand is no address".into());
        };
        Ok(match base {
            Base::Register(r) => {
                let wide = units(self.register_type(*r).bits()) == 2;
                Address { base: Slot::register(self.unit(*r)?), wide, offset: *offset, in_frame: false }
            }
            Base::Absolute => Address { base: self.double(*offset as u64), wide: true, offset: 0, in_frame: false },
            Base::Symbol(symbol) => {
                if let Symbol::Local(v) = symbol
                    && self.function.variables[*v as usize].space == StateSpace::Local
                {
                    let at = self.frame.local_at[*v as usize];
                    let base = self.double(at);
                    return Ok(Address { base, wide: true, offset: *offset, in_frame: true });
                }
                if let Symbol::Param(p) = symbol
                    && self.function.is_entry
                {
                    let at = super::frame::param_offsets(self.function).0[*p as usize];
                    let base = self.constant(Constant::ParamAddress(at));
                    return Ok(Address { base, wide: true, offset: *offset, in_frame: false });
                }
                let value = self.symbol_value(*symbol, *offset)?;
                Address { base: self.double(value), wide: true, offset: 0, in_frame: false }
            }
        })
    }

    /// True if the first address of an instruction is 64 bits wide.
    pub(super) fn wide_address(&self, i: &Instruction) -> bool {
        let base =
            i.operands.iter().find_map(|o| if let Operand::Address { base, .. } = o { Some(base) } else { None });
        !matches!(base, Some(Base::Register(r)) if units(self.register_type(*r).bits()) == 1)
    }

    /// The space of an access as a number of [`crate::ops::memory`].
    pub(super) fn space(i: &Instruction) -> u8 {
        match i.space() {
            Some(StateSpace::Global) => GLOBAL,
            Some(StateSpace::Shared) => SHARED,
            Some(StateSpace::Local) => LOCAL,
            Some(StateSpace::Const | StateSpace::Param | StateSpace::Tex) => CONST,
            None => GENERIC,
        }
    }

    /// Element type, vector length and data operands of a load or store.
    fn elements<'i>(i: &Instruction, data: &'i Operand) -> Decoded<(Type, Vec<&'i Operand>)> {
        let ty = i.types().last().ok_or("the type is missing")?;
        let items: Vec<&Operand> = match data {
            Operand::Vector(items) => items.iter().collect(),
            one => vec![one],
        };
        if items.len() > 4 {
            return Err("vectors of more than four elements are not executed".into());
        }
        Ok((ty, items))
    }

    /// True if the data registers are 64 bits wide; all elements of a vector agree.
    fn wide_data(&self, items: &[&Operand], ty: Type) -> bool {
        let register = items.iter().find_map(|o| if let Operand::Register(r) = o { Some(*r) } else { None });
        register.map_or(ty.bits() == 64, |r| units(self.register_type(r).bits()) == 2)
    }

    /// Where a load puts its elements; what nobody wants goes to scratch.
    fn loaded(&self, items: &[&Operand], wide: bool) -> Decoded<[Slot; 4]> {
        let mut slots = [Slot::register(self.frame.scratch); 4];
        for (slot, item) in slots.iter_mut().zip(items) {
            *slot = self.destination(item, if wide { Type::B64 } else { Type::B32 })?;
        }
        Ok(slots)
    }

    /// Where a store finds its elements of type `ty`.
    fn stored(&mut self, items: &[&Operand], ty: Type, wide: bool) -> Decoded<[Slot; 4]> {
        let mut slots = [Slot::default(); 4];
        for (slot, item) in slots.iter_mut().zip(items) {
            *slot = match item {
                Operand::Immediate(value) => {
                    let bits = super::literal_bits(*value, ty);
                    if wide { self.double(bits) } else { self.word(bits as u32) }
                }
                item => self.source(item, if wide { Type::B64 } else { Type::B32 })?,
            };
        }
        Ok(slots)
    }

    fn load(&mut self, i: &Instruction) -> Decoded<Inst> {
        let [d, address, ..] = &i.operands[..] else {
            return Err("two operands are needed".into());
        };
        let (ty, items) = Self::elements(i, d)?;
        if i.space() == Some(StateSpace::Param)
            && let Some(decoded) = self.load_param(&items, address, ty)?
        {
            return Ok(decoded);
        }
        let place = self.address(address)?;
        if ty == Type::B128 {
            return self.access128(i, d, &place, false);
        }
        let wide = self.wide_data(&items, ty);
        let slots = self.loaded(&items, wide)?;
        self.placed(i, &place, false, (ty, wide), items.len(), slots)
    }

    fn store(&mut self, i: &Instruction) -> Decoded<Inst> {
        let [address, data, ..] = &i.operands[..] else {
            return Err("two operands are needed".into());
        };
        let (ty, items) = Self::elements(i, data)?;
        if i.space() == Some(StateSpace::Param) {
            return self.store_param(&items, address, ty);
        }
        let place = self.address(address)?;
        if ty == Type::B128 {
            return self.access128(i, data, &place, true);
        }
        let wide = self.wide_data(&items, ty);
        let slots = self.stored(&items, ty, wide)?;
        self.placed(i, &place, true, (ty, wide), items.len(), slots)
    }

    /// An access at an address: the code for its space, element type and register width; data in `slots`.
    fn placed(
        &mut self,
        i: &Instruction,
        place: &Address,
        stores: bool,
        (ty, wide): (Type, bool),
        elements: usize,
        slots: [Slot; 4],
    ) -> Decoded<Inst> {
        let v = self.vector;
        let run: OpFn = match (stores, Self::space(i), place.wide) {
            (false, GLOBAL, true) => access!(v, false, GLOBAL, true, ty, wide),
            (false, CONST, true) => access!(false, CONST, true, ty, wide),
            (false, SHARED, true) => access!(v, false, SHARED, true, ty, wide),
            (false, SHARED, false) => access!(v, false, SHARED, false, ty, wide),
            (false, LOCAL, true) => access!(false, LOCAL, true, ty, wide),
            (false, LOCAL, false) => access!(false, LOCAL, false, ty, wide),
            (false, GENERIC, true) => access!(false, GENERIC, true, ty, wide),
            (true, GLOBAL, true) => access!(v, true, GLOBAL, true, ty, wide),
            (true, SHARED, true) => access!(v, true, SHARED, true, ty, wide),
            (true, SHARED, false) => access!(v, true, SHARED, false, ty, wide),
            (true, LOCAL, true) => access!(true, LOCAL, true, ty, wide),
            (true, LOCAL, false) => access!(true, LOCAL, false, ty, wide),
            (true, GENERIC, true) => access!(true, GENERIC, true, ty, wide),
            (_, _, false) => return Err("32-bit addresses are executed in shared and local memory only".into()),
            _ => return Err("the space cannot be written".into()),
        };
        let mut decoded = Inst::new(run);
        let fields = self.place(&mut decoded, place);
        decoded.set(Access { elements: elements as u16, synchronises: synchronises(i), ..fields });
        [decoded.d, decoded.b, decoded.c, decoded.e] = slots;
        Ok(decoded)
    }

    /// Puts an address into an instruction, and gives its fields as those of an access of one element.
    fn place(&mut self, decoded: &mut Inst, place: &Address) -> Access {
        decoded.a = place.base;
        let (offset, in_frame, touched) = (place.offset, place.in_frame, self.next_touched());
        Access { offset, elements: 1, touched, in_frame, synchronises: false }
    }

    /// A 128-bit register is two 64-bit elements.
    fn access128(&mut self, i: &Instruction, data: &Operand, place: &Address, stores: bool) -> Decoded<Inst> {
        let whole = if stores { self.source(data, Type::B128)? } else { self.destination(data, Type::B128)? };
        let slots = [whole, Slot(whole.0 + 2), Slot::default(), Slot::default()];
        self.placed(i, place, stores, (Type::B64, true), 2, slots)
    }

    /// `ld.param` by name: a constant of the launch in a kernel, units of the frame in a function.
    fn load_param(&mut self, items: &[&Operand], address: &Operand, ty: Type) -> Decoded<Option<Inst>> {
        let Operand::Address { base: Base::Symbol(symbol), offset } = address else {
            return Ok(None);
        };
        let wide = self.wide_data(items, ty);
        if let Symbol::Param(p) = symbol
            && self.function.is_entry
        {
            let [item] = items else {
                return Ok(None);
            };
            if ty == Type::B128 {
                return Ok(None);
            }
            let at = super::frame::param_offsets(self.function).0[*p as usize];
            let value = Constant::Param {
                offset: (i64::from(at) + offset) as u32,
                size: ty.bytes() as u8,
                signed: ty.is_signed(),
                wide,
            };
            let mut decoded = Inst::new(if wide {
                lane_op!(self.vector, |x, i, m| map1(x, i, m, |a: u64| a))
            } else {
                lane_op!(self.vector, |x, i, m| map1(x, i, m, |a: u32| a))
            });
            decoded.d = self.destination(item, if wide { Type::B64 } else { Type::B32 })?;
            decoded.a = self.constant(value);
            return Ok(Some(decoded));
        }
        let mut decoded = Inst::new(plain(frame_load));
        [decoded.d, decoded.b, decoded.c, decoded.e] = self.loaded(items, wide)?;
        decoded.set(self.frame_parameter(*symbol, *offset, items.len(), Shape::of(ty, wide))?);
        Ok(Some(decoded))
    }

    fn store_param(&mut self, items: &[&Operand], address: &Operand, ty: Type) -> Decoded<Inst> {
        let Operand::Address { base: Base::Symbol(symbol), offset } = address else {
            return Err("a parameter is written by name only".into());
        };
        let wide = self.wide_data(items, ty);
        let mut decoded = Inst::new(plain(frame_store));
        [decoded.d, decoded.b, decoded.c, decoded.e] = self.stored(items, ty, wide)?;
        decoded.set(self.frame_parameter(*symbol, *offset, items.len(), Shape::of(ty, wide))?);
        Ok(decoded)
    }

    /// Where elements of a parameter are in the frame.
    fn frame_parameter(&self, symbol: Symbol, offset: i64, elements: usize, shape: Shape) -> Decoded<FrameParameter> {
        let byte = i64::from(self.frame_units(symbol)?.first) * 4 + offset;
        Ok(FrameParameter { byte, elements: elements as u16, shape })
    }

    fn atomic(&mut self, i: &Instruction) -> Decoded<Inst> {
        let ty = i.types().last().ok_or("the type is missing")?;
        let returns = i.op == O::Atom;
        let operands = &i.operands[usize::from(returns)..];
        let [address, first, rest @ ..] = operands else {
            return Err("operands are missing".into());
        };
        if matches!(first, Operand::Vector(_)) || ty == Type::B128 {
            return Err("vector and 128-bit atomics are not executed".into());
        }
        let place = self.address(address)?;
        let space = Self::space(i);
        let wide = place.wide;
        if !wide && space != SHARED {
            return Err("32-bit addresses are executed in shared memory only".into());
        }
        let operation = i.words.iter().find(|w| is_atomic_word(**w)).ok_or("the operation is missing")?;
        let run: OpFn = match (operation, ty) {
            (Word::Add, Type::F32) => atomics!(space, wide, f32, |o, b, _| o.add_rn(b, FloatMode::PLAIN)),
            (Word::Add, Type::F64) => atomics!(space, wide, f64, |o, b, _| o.add_rn(b, FloatMode::PLAIN)),
            (Word::Add, Type::F16) => atomics!(space, wide, u16, |o, b, _| half::add::<F16>(o, b, HalfMode::PLAIN)),
            (Word::Add, Type::Bf16) => atomics!(space, wide, u16, |o, b, _| half::add::<Bf16>(o, b, HalfMode::PLAIN)),
            (Word::Add, Type::F16x2) => {
                atomics!(space, wide, u32, |o, b, _| pair2(o, b, |o, b| half::add::<F16>(o, b, HalfMode::PLAIN)))
            }
            (Word::Add, Type::Bf16x2) => {
                atomics!(space, wide, u32, |o, b, _| pair2(o, b, |o, b| half::add::<Bf16>(o, b, HalfMode::PLAIN)))
            }
            (Word::Add, Type::U32 | Type::S32) => atomics!(space, wide, u32, |o, b, _| o.wrapping_add(b)),
            (Word::Add, _) => atomics!(space, wide, u64, |o, b, _| o.wrapping_add(b)),
            (Word::Min, Type::U32) => atomics!(space, wide, u32, |o, b, _| o.min(b)),
            (Word::Min, Type::S32) => atomics!(space, wide, i32, |o, b, _| o.min(b)),
            (Word::Min, Type::U64) => atomics!(space, wide, u64, |o, b, _| o.min(b)),
            (Word::Min, Type::S64) => atomics!(space, wide, i64, |o, b, _| o.min(b)),
            (Word::Max, Type::U32) => atomics!(space, wide, u32, |o, b, _| o.max(b)),
            (Word::Max, Type::S32) => atomics!(space, wide, i32, |o, b, _| o.max(b)),
            (Word::Max, Type::U64) => atomics!(space, wide, u64, |o, b, _| o.max(b)),
            (Word::Max, Type::S64) => atomics!(space, wide, i64, |o, b, _| o.max(b)),
            (Word::Inc, _) => atomics!(space, wide, u32, |o, b, _| if o >= b { 0 } else { o + 1 }),
            (Word::Dec, _) => atomics!(space, wide, u32, |o, b, _| if o == 0 || o > b { b } else { o - 1 }),
            (Word::And, t) if t.bits() == 32 => atomics!(space, wide, u32, |o, b, _| o & b),
            (Word::And, _) => atomics!(space, wide, u64, |o, b, _| o & b),
            (Word::Or, t) if t.bits() == 32 => atomics!(space, wide, u32, |o, b, _| o | b),
            (Word::Or, _) => atomics!(space, wide, u64, |o, b, _| o | b),
            (Word::Xor, t) if t.bits() == 32 => atomics!(space, wide, u32, |o, b, _| o ^ b),
            (Word::Xor, _) => atomics!(space, wide, u64, |o, b, _| o ^ b),
            (Word::Exch, t) if t.bits() == 32 => atomics!(space, wide, u32, |_, b, _| b),
            (Word::Exch, _) => atomics!(space, wide, u64, |_, b, _| b),
            (Word::Cas, t) if t.bits() == 16 => atomics!(space, wide, u16, |o, b, c| if o == b { c } else { o }),
            (Word::Cas, t) if t.bits() == 32 => atomics!(space, wide, u32, |o, b, c| if o == b { c } else { o }),
            (Word::Cas, _) => atomics!(space, wide, u64, |o, b, c| if o == b { c } else { o }),
            _ => return Err("not an atomic operation of this type".into()),
        };
        let mut decoded = Inst::new(run);
        let fields = self.place(&mut decoded, &place);
        decoded.set(fields);
        decoded.d = if returns { self.destination(&i.operands[0], ty)? } else { Slot::register(self.frame.scratch) };
        decoded.b = self.source(first, ty)?;
        decoded.c = match rest.first() {
            Some(second) if *operation == Word::Cas => self.source(second, ty)?,
            _ => decoded.b,
        };
        Ok(decoded)
    }

    /// `cp.async`: the copy happens at once, so there is nothing to commit or to wait for.
    fn asynchronous(&mut self, i: &Instruction) -> Decoded<Inst> {
        if [Word::CommitGroup, Word::WaitGroup, Word::WaitAll].iter().any(|&w| i.has(w)) {
            return Ok(Inst::new(super::nothing));
        }
        let [to, from, Operand::Immediate(strata_ptx::ast::Immediate::Int(size)), rest @ ..] = &i.operands[..] else {
            return Err("destination, source and size are needed".into());
        };
        let (to, from) = (self.address(to)?, self.address(from)?);
        let mut decoded = Inst::new(if to.wide {
            plain(crate::ops::memory::copy_async::<true>)
        } else {
            plain(crate::ops::memory::copy_async::<false>)
        });
        decoded.a = from.base;
        decoded.b = to.base;
        decoded.e = self.double(to.offset as u64);
        // What is not read is filled with zeros.
        decoded.c = match rest.first() {
            Some(Operand::Immediate(strata_ptx::ast::Immediate::Int(n))) => self.word(*n as u32),
            Some(r @ Operand::Register(id)) if self.register_type(*id).bits() == 32 => self.source(r, Type::U32)?,
            _ => self.word(*size as u32),
        };
        // A predicate in this place says that nothing is read.
        let skips = match rest.first() {
            Some(p @ Operand::Not(_)) => self.predicate_source(p)?,
            Some(p @ Operand::Register(id)) if self.register_type(*id) == Type::Pred => self.predicate_source(p)?,
            _ => NEVER,
        };
        decoded.set(AsyncCopy { offset: from.offset, bytes: *size as u16, touched: self.next_touched(), skips });
        Ok(decoded)
    }

    fn prefetch(&mut self, i: &Instruction) -> Decoded<Inst> {
        let Some(address @ Operand::Address { .. }) = i.operands.first() else {
            return Ok(Inst::new(super::nothing));
        };
        let place = self.address(address)?;
        if !place.wide || !matches!(Self::space(i), GLOBAL | GENERIC) {
            return Ok(Inst::new(super::nothing));
        }
        let mut decoded = Inst::new(plain(crate::ops::memory::prefetch));
        let fields = self.place(&mut decoded, &place);
        decoded.set(fields);
        Ok(decoded)
    }
}

fn is_atomic_word(word: Word) -> bool {
    matches!(
        word,
        Word::Add
            | Word::Min
            | Word::Max
            | Word::Inc
            | Word::Dec
            | Word::And
            | Word::Or
            | Word::Xor
            | Word::Exch
            | Word::Cas
    )
}

/// Accesses by which threads wait for each other.
pub(super) fn synchronises(i: &Instruction) -> bool {
    [Word::Volatile, Word::Relaxed, Word::Acquire, Word::Release, Word::Mmio, Word::Cv].iter().any(|&w| i.has(w))
}
