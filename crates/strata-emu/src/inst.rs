//! A decoded instruction, and what its fields mean.
//!
//! Beside its slots and its guard an instruction keeps up to five numbers. What they are depends on the kind of the
//! instruction: [`kinds!`] below says it, kind by kind, and nobody gets at them in another way. Decoding writes the fields
//! of one kind with [`Inst::set`]; the code of the instruction reads the same kind with [`Inst::fields`].
//!
//! Invariants:
//!
//! * An instruction is one cache line: kinds share the same five places. No two fields of a kind share one: that does not
//!   compile.
//! * Fields are read as the kind that they were written as: with debug assertions an instruction remembers its kind.

use crate::exec::{Exec, Flow, Slot, TRUE_PREDICATE};
use crate::kernel::Test;
use strata_core::{LaneMask, Space};

/// The code of a decoded instruction.
///
/// # Safety
/// The instruction's slots must be those that decoding assigned for this function; the execution context must point at a
/// frame of that function; the CPU must have the features that decoding assumed.
pub(crate) type OpFn = unsafe fn(&mut Exec<'_>, &Inst, LaneMask) -> Flow;

/// One decoded instruction.
#[derive(Clone)]
pub(crate) struct Inst {
    /// Executes it for the lanes of a mask.
    pub(crate) run: OpFn,
    /// The register that it writes, where it writes one.
    pub(crate) d: Slot,
    /// What it reads, in the order of the PTX; kinds say where they differ.
    pub(crate) a: Slot,
    pub(crate) b: Slot,
    pub(crate) c: Slot,
    pub(crate) e: Slot,
    /// Predicate that must hold, 0 = always; `guard_flip` is all ones for `@!p`.
    pub(crate) guard: u16,
    first: u16,
    second: u16,
    third: u16,
    pub(crate) guard_flip: LaneMask,
    word: u32,
    long: i64,
    /// The kind whose fields were set.
    #[cfg(debug_assertions)]
    kind: Option<&'static Layout>,
}

#[cfg(not(debug_assertions))]
const _: () = assert!(size_of::<Inst>() <= 64, "an instruction is a cache line");

/// The name of a kind, and of its fields.
#[cfg(debug_assertions)]
#[derive(Debug)]
pub(crate) struct Layout {
    name: &'static str,
    fields: &'static [&'static str],
}

/// What the five numbers are for one kind of instruction.
pub(crate) trait Kind {
    #[cfg(debug_assertions)]
    const LAYOUT: &'static Layout;
    fn load(i: &Inst) -> Self;
    fn store(self, i: &mut Inst);
}

impl Inst {
    /// An instruction with no operands yet; all its fields are zero.
    pub(crate) fn new(run: OpFn) -> Self {
        Self {
            run,
            d: Slot::default(),
            a: Slot::default(),
            b: Slot::default(),
            c: Slot::default(),
            e: Slot::default(),
            guard: TRUE_PREDICATE,
            first: 0,
            second: 0,
            third: 0,
            guard_flip: 0,
            word: 0,
            long: 0,
            #[cfg(debug_assertions)]
            kind: None,
        }
    }

    /// The fields of an instruction of kind `K`.
    #[inline(always)]
    pub(crate) fn fields<K: Kind>(&self) -> K {
        #[cfg(debug_assertions)]
        if let Some(kind) = self.kind {
            assert_eq!(kind.name, K::LAYOUT.name, "fields of another kind of instruction");
        }
        K::load(self)
    }

    /// Makes it an instruction of kind `K`.
    pub(crate) fn set<K: Kind>(&mut self, fields: K) {
        fields.store(self);
        #[cfg(debug_assertions)]
        {
            self.kind = Some(K::LAYOUT);
        }
    }

    /// The number of a memory instruction in its kernel, its index into `Exec::touched`: a field of all kinds that touch
    /// memory, always in the same place.
    #[inline(always)]
    pub(crate) fn touched(&self) -> u32 {
        self.assert_has("touched");
        self.word
    }

    /// What is added to the addresses in slot `a`: a field of all kinds that have an address there, always in the same place.
    #[inline(always)]
    pub(crate) fn offset(&self) -> i64 {
        self.assert_has("offset");
        self.long
    }

    /// What the warp's scheduler does at the instruction, and what is the instruction's own: a field of all kinds that can
    /// end in [`Flow::Wait`], always in the same place.
    #[inline(always)]
    pub(crate) fn scheduled(&self) -> Scheduled {
        self.assert_has("scheduled");
        Field::load((self.long,))
    }

    #[cfg(debug_assertions)]
    fn assert_has(&self, field: &str) {
        assert!(self.kind.is_some_and(|kind| kind.fields.contains(&field)), "{:?} has no `{field}`", self.kind);
    }

    #[cfg(not(debug_assertions))]
    #[inline(always)]
    fn assert_has(&self, _: &str) {}
}

/// A number that is kept in places of type `P`.
pub(crate) trait Field<P> {
    fn load(places: P) -> Self;
    fn store(self) -> P;
}

macro_rules! fields {
    ($($ty:ty as $places:ty: |$from:pat_param| $load:expr, |$value:ident| $store:expr;)+) => { $(
        impl Field<$places> for $ty {
            #[inline(always)]
            fn load($from: $places) -> Self { $load }
            #[inline(always)]
            fn store(self) -> $places { let $value = self; $store }
        }
    )+ };
}

fields! {
    u16 as (u16,): |(n,)| n, |n| (n,);
    u32 as (u32,): |(n,)| n, |n| (n,);
    i64 as (i64,): |(n,)| n, |n| (n,);
    u8 as (u16,): |(n,)| n as u8, |n| (n.into(),);
    u8 as (i64,): |(n,)| n as u8, |n| (n.into(),);
    usize as (i64,): |(n,)| n as usize, |n| (n as i64,);
    bool as (u16,): |(n,)| n != 0, |b| (b.into(),);
    bool as (i64,): |(n,)| n != 0, |b| (b.into(),);
    // A predicate register, or none: a result that is dropped.
    Option<u16> as (u16,): |(p,)| (p != NO_PREDICATE).then_some(p), |p| (p.unwrap_or(NO_PREDICATE),);
    Test as (u16, u32): |(predicate, flip)| Test { predicate, flip }, |t| (t.predicate, t.flip);
    Test as (u16, i64): |(predicate, flip)| Test { predicate, flip: flip as u32 }, |t| (t.predicate, t.flip.into());
    // Whole masks are inverted or not at all, so one bit says it.
    Test as (u16, u16): |(predicate, flip)| Test { predicate, flip: u32::from(flip).wrapping_neg() },
        |t| (t.predicate, u16::from(t.flip != 0));
    Space as (u16,): |(n,)| SPACES.into_iter().find(|s| *s as u16 == n).unwrap_or_default(), |s| (s as u16,);
    Scheduled as (i64,): |(n,)| Scheduled { control: n as u32, own: (n >> 32) as u32 },
        |s| (i64::from(s.own) << 32 | i64::from(s.control),);
}

const NO_PREDICATE: u16 = u16::MAX;

/// The spaces that an address can be asked for.
const SPACES: [Space; 3] = [Space::Shared, Space::Local, Space::Global];

/// An instruction at which a split may have to wait.
#[derive(Clone, Copy)]
pub(crate) struct Scheduled {
    /// Index into the function's `controls`.
    pub(crate) control: u32,
    /// Mode of a collective, or index into the function's `matrices`.
    pub(crate) own: u32,
}

macro_rules! kinds {
    ($(
        $(#[$doc:meta])*
        $Kind:ident { $($(#[$field_doc:meta])* $field:ident: $ty:ty = $($place:ident)&+,)+ }
    )+) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub(crate) struct $Kind { $($(#[$field_doc])* pub(crate) $field: $ty,)+ }

        impl Kind for $Kind {
            #[cfg(debug_assertions)]
            const LAYOUT: &'static Layout =
                &Layout { name: stringify!($Kind), fields: &[$(stringify!($field)),+] };

            #[inline(always)]
            fn load(i: &Inst) -> Self {
                Self { $($field: Field::load(($(i.$place,)+)),)+ }
            }

            fn store(self, i: &mut Inst) {
                $(($(i.$place,)+) = Field::store(self.$field);)+
            }
        }

        const _: () = {
            /// Does not compile if two fields share a place.
            #[allow(dead_code, reason = "it is there for its names")]
            struct Places { $($($place: (),)+)+ }
        };
    )+ };
}

kinds! {
    /// `ld st atom red prefetch`: address `a`; data in `d b c e`, or `d` the old value and `b c` the operands of an atomic.
    Access {
        /// Added to every address.
        offset: i64 = long,
        /// Elements of the vector.
        elements: u16 = second,
        touched: u32 = word,
        /// A local address counts from the frame of the function.
        in_frame: bool = first,
        /// Threads wait for each other by it.
        synchronises: bool = third,
    }
    /// `cp.async`: from global address `a` to shared address `b` plus the constant `e`; only the first `c` bytes are read.
    AsyncCopy {
        /// Added to every global address.
        offset: i64 = long,
        /// Bytes written by a lane.
        bytes: u16 = second,
        touched: u32 = word,
        /// Lanes that read nothing and write zeros.
        skips: Test = third & first,
    }
    /// What changes an `mbarrier`: address `a`, count `b`, token `d`.
    MbarrierChange {
        offset: i64 = long,
        touched: u32 = word,
        step: crate::ops::mbarrier::Step = second,
    }
    /// `mbarrier.test_wait` and `.try_wait`: address `a`, phase `b`.
    MbarrierWait {
        offset: i64 = long,
        touched: u32 = word,
        /// Predicate that says whether the phase is complete.
        result: u16 = first,
        /// The phase is a parity of 32 bits instead of a token of 64.
        by_parity: bool = second,
    }
    /// `ld.param` and `st.param` in a device function: data in `d b c e`.
    FrameParameter {
        /// First byte in the frame.
        byte: i64 = long,
        elements: u16 = second,
        shape: crate::ops::frame::Shape = word,
    }
    /// `tex tld4 suld sust`: all operands are in the function's tables.
    ImageAccess {
        /// Index into the function's `fetches` or `surfaces`.
        entry: usize = long,
        touched: u32 = word,
    }
    /// `txq` and `suq`: handle `a`, result `d`.
    ImageQuery {
        /// Added to the handle.
        offset: i64 = long,
        of_surface: bool = second,
        asked: crate::ops::texture::Query = third,
    }
    /// `wmma mma ldmatrix stmatrix movmatrix`: operands in the function's `matrices`; address `a` of those that move data.
    MatrixOperation {
        scheduled: Scheduled = long,
        touched: u32 = word,
        /// Number of the [`Space`] of the address.
        space: u8 = second,
        /// The address has 64 bits.
        wide_address: bool = third,
    }
    /// `bar` and `barrier` of a CTA: number `a`, count of threads `b`, result of `.red.popc` in `d`.
    CtaBarrier {
        scheduled: Scheduled = long,
        /// Predicate that receives the result of `.red.and` and `.red.or`.
        result: u16 = first,
        /// What each lane gives to the reduction.
        vote: Test = third & word,
    }
    /// `vote`: member mask `e`, result of `.ballot` in `d`.
    Vote {
        scheduled: Scheduled = long,
        /// Predicate that receives the result of the other modes.
        result: u16 = first,
        /// What each lane gives.
        given: Test = third & word,
    }
    /// `shfl match redux elect`, and `bar.warp`: member mask `e`, values in `a b c`, result `d`.
    Collective {
        scheduled: Scheduled = long,
        /// Predicate that is given beside `d`: `d|p`.
        result: Option<u16> = first,
    }
    /// `setp` and `set`: of `a` and `b`, value of `set` in `d`.
    Comparison {
        /// Predicate that receives whether the comparison holds.
        holds: Option<u16> = first,
        /// Predicate that receives whether it does not.
        fails: Option<u16> = second,
        /// Predicate that the comparison is combined with.
        with: Test = third & word,
        /// Bits of `decode/compare.rs`: modifiers, how it is combined, the value of true.
        how: i64 = long,
    }
    /// `and or xor not` of predicates.
    PredicateLogic {
        result: u16 = first,
        a: Test = second & long,
        b: Test = third & word,
    }
    /// `mov.pred`.
    PredicateMove {
        result: u16 = first,
        from: Test = third & word,
    }
    /// `selp`: `a` where it holds, else `b`.
    Selection {
        by: Test = third & word,
    }
    /// `slct` by a float: `a` if `c` is not negative, else `b`.
    SignSelection {
        ftz: bool = long,
    }
    /// `lop3`, with `.and` and `.or` also a predicate.
    Lop3 {
        /// Its truth table.
        table: u8 = long,
        /// Predicate that receives whether the result is not 0, combined with `with`.
        result: u16 = first,
        with: Test = third & word,
    }
    /// `dp4a` and `dp2a`.
    DotProduct {
        signed_a: bool = first,
        signed_b: bool = second,
        /// `dp2a` takes the upper two bytes of `b`.
        upper: bool = third,
    }
    /// Extended-precision arithmetic.
    Carrying {
        /// The carry flag is written.
        writes_flag: bool = long,
    }
    /// `testp`.
    ClassTest {
        result: u16 = first,
        /// Index into the classes of `decode/float.rs`.
        class: usize = long,
    }
    /// `isspacep`: of address `a`.
    SpaceTest {
        result: u16 = first,
        /// [`Space::None`] is one that no address is in.
        space: Space = second,
    }
    /// `mov` of the address of a `.local` variable.
    LocalAddress {
        /// From the frame of the function.
        offset: i64 = long,
        /// The result has 64 bits.
        wide: bool = second,
    }
    /// `cvta` between generic addresses and those of shared or local memory.
    AddressConversion {
        /// Added to every address.
        distance: i64 = long,
    }
    /// `mov` of a register to parts or from them, which are in `a b c e` or `d b c e`.
    Parts {
        count: u16 = second,
    }
    /// `mov` from a register that tells time.
    Clock {
        /// Instructions of its block that are yet to come when it is read, itself included.
        to_come: i64 = long,
    }
    /// `cvt`.
    Conversion {
        plan: crate::decode::convert::Plan = long,
    }
    /// Arithmetic whose modifiers are looked at when it runs.
    Modified {
        /// Packed as the file of `decode/` says that decodes the instruction.
        modifiers: i64 = long,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nothing() -> Inst {
        Inst::new(|_, _, _| Flow::Next)
    }

    #[test]
    fn fields_come_back() {
        let mut i = nothing();
        let test = Test { predicate: 7, flip: LaneMask::MAX };
        i.set(PredicateLogic { result: 3, a: test, b: Test { predicate: 9, flip: 0 } });
        let PredicateLogic { result, a, b } = i.fields();
        assert_eq!((result, a, b), (3, test, Test { predicate: 9, flip: 0 }));
        i.set(AsyncCopy { offset: -8, bytes: 16, touched: 5, skips: test });
        let AsyncCopy { offset, bytes, touched, skips } = i.fields();
        assert_eq!((offset, bytes, touched, skips, i.touched()), (-8, 16, 5, test, 5));
        i.set(Collective { scheduled: Scheduled { control: u32::MAX, own: 2 }, result: None });
        let Scheduled { control, own } = i.scheduled();
        assert_eq!((control, own, i.fields::<Collective>().result), (u32::MAX, 2, None));
        for space in [Space::Shared, Space::Local, Space::Global, Space::None] {
            i.set(SpaceTest { result: 0, space });
            assert_eq!(i.fields::<SpaceTest>().space, space);
        }
    }

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(expected = "fields of another kind")]
    fn fields_of_another_kind_are_noticed() {
        let mut i = nothing();
        i.set(Selection { by: Test { predicate: 2, flip: 0 } });
        i.fields::<Carrying>();
    }
}
