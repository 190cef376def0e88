//! Data exchange inside a warp: shuffles, votes, matches, reductions, election.
//!
//! Each has two halves. *Gather* puts the lanes' values into the exchange area of the warp; *finish* computes results from
//! it. When all members of the mask (slot `e`) are here, both happen at once; otherwise the split waits, and the scheduler
//! calls *finish* when the last member has come, even if members stand at different instructions.

use crate::exec::{Exec, Flow};
use crate::inst::{Collective, Inst, OpFn, Vote};
use crate::kernel::Control;
use crate::lanes::{CHUNK, Stored, chunk_mask, read_lanes, write_lanes};
use crate::semantics::float::{Float, MinMaxMode};
use strata_core::{LANES, LaneMask};

/// The member mask of a collective: what the first active lane says; none named means the lanes that are active. Groups of
/// lanes that say different things are finished one by one.
#[inline(always)]
fn members(x: &Exec<'_>, i: &Inst, m: LaneMask) -> LaneMask {
    // SAFETY: decoding gave a 32-bit slot.
    let masks = unsafe { read_lanes::<u32>(x, i.e) };
    match masks[m.trailing_zeros() as usize] {
        0 => m,
        named => named,
    }
}

/// Which members are here.
enum Attendance {
    /// All, and all lanes name the same ones.
    Complete,
    /// All, but lanes name different ones (tiles of a warp).
    CompleteInGroups,
    /// Some are missing.
    Incomplete,
}

#[inline(always)]
fn attendance(x: &Exec<'_>, i: &Inst, m: LaneMask) -> Attendance {
    let first = members(x, i, m);
    let (mut wanted, mut same) = (first, true);
    if !i.e.is_constant() {
        // SAFETY: decoding gave a 32-bit slot.
        let masks = unsafe { read_lanes::<u32>(x, i.e) };
        for (l, &mask) in masks.iter().enumerate() {
            let here = (m >> l & 1).wrapping_neg();
            wanted |= mask & here;
            same &= (mask ^ first) & here == 0;
        }
    }
    match (wanted & x.live & !m, same) {
        (0, true) => Attendance::Complete,
        (0, false) => Attendance::CompleteInGroups,
        _ => Attendance::Incomplete,
    }
}

/// The lanes of `m` by the member mask they name.
pub(crate) fn groups(masks: &[LaneMask; LANES], m: LaneMask) -> impl Iterator<Item = (LaneMask, LaneMask)> {
    let mut rest = m;
    std::iter::from_fn(move || {
        let members = *masks.get(rest.trailing_zeros() as usize)?;
        let lanes = (0..LANES).filter(|&l| rest >> l & 1 != 0 && masks[l] == members).fold(0, |all, l| all | 1 << l);
        rest &= !lanes;
        Some((members, lanes))
    })
}

/// `bar.warp.sync`.
pub(crate) unsafe fn warp_barrier(x: &mut Exec<'_>, i: &Inst, m: LaneMask) -> Flow {
    match attendance(x, i, m) {
        Attendance::Complete | Attendance::CompleteInGroups => Flow::Next,
        Attendance::Incomplete => Flow::Wait,
    }
}

/// A collective: its code when a split meets the instruction, and what the scheduler needs to finish it later.
pub(crate) struct Halves {
    pub(crate) run: OpFn,
    pub(crate) control: Control,
}

macro_rules! collective {
    ($gather:expr, $finish:expr) => {{
        unsafe fn run(x: &mut Exec<'_>, i: &Inst, m: LaneMask) -> Flow {
            // SAFETY: the caller of an `OpFn` guarantees what both need.
            unsafe {
                match attendance(x, i, m) {
                    Attendance::Complete => {
                        $gather(x, i, m);
                        $finish(x, i, m)
                    }
                    Attendance::CompleteInGroups => {
                        let masks = read_lanes::<u32>(x, i.e);
                        $gather(x, i, m);
                        for (_, lanes) in groups(&masks, m) {
                            $finish(x, i, lanes);
                        }
                        Flow::Next
                    }
                    Attendance::Incomplete => Flow::Wait,
                }
            }
        }
        Halves { run, control: Control::Collective { gather: $gather, finish: $finish } }
    }};
}

/// Puts 32-bit values of slot `a` into the exchange area.
unsafe fn gather32(x: &mut Exec<'_>, i: &Inst, m: LaneMask) -> Flow {
    // SAFETY: decoding gave a 32-bit slot.
    let values = unsafe { read_lanes::<u32>(x, i.a) };
    let exchange = &mut x.exchange().values;
    for (at, chunk) in exchange.as_chunks_mut::<CHUNK>().0.iter_mut().enumerate() {
        for (l, &active) in chunk_mask(m, at).iter().enumerate() {
            chunk[l] = chunk[l].merge(u64::from(values[at * CHUNK + l]), active);
        }
    }
    Flow::Next
}

/// Puts 64-bit values of slot `a` into the exchange area.
unsafe fn gather64(x: &mut Exec<'_>, i: &Inst, m: LaneMask) -> Flow {
    // SAFETY: decoding gave a 64-bit slot.
    let values = unsafe { read_lanes::<u64>(x, i.a) };
    for l in (0..LANES).filter(|l| m >> l & 1 != 0) {
        x.exchange().values[l] = values[l];
    }
    Flow::Next
}

/// Puts a predicate into the exchange area.
unsafe fn gather_predicate(x: &mut Exec<'_>, i: &Inst, m: LaneMask) -> Flow {
    let Vote { given, .. } = i.fields();
    let bits = x.truth(given);
    let exchange = x.exchange();
    exchange.predicate = exchange.predicate & !m | bits & m;
    Flow::Next
}

/// Which lane a shuffle reads, and whether it is in range.
#[inline(always)]
fn source_lane(mode: u32, lane: u32, b: u32, c: u32) -> (u32, bool) {
    let (clamp, segment) = (c & 31, c >> 8 & 31);
    let b = b & 31;
    let max = (lane & segment) | (clamp & !segment);
    let min = lane & segment;
    let (j, inside) = match mode {
        UP => (lane.wrapping_sub(b), lane as i32 - b as i32 >= max as i32),
        DOWN => (lane + b, lane + b <= max),
        BFLY => (lane ^ b, lane ^ b <= max),
        _ => (min | (b & !segment), min | (b & !segment) <= max),
    };
    if inside { (j & 31, true) } else { (lane, false) }
}

/// Shuffle modes.
pub(crate) const UP: u32 = 0;
pub(crate) const DOWN: u32 = 1;
pub(crate) const BFLY: u32 = 2;
pub(crate) const IDX: u32 = 3;

/// `shfl.sync`: `d|p = a` of another lane chosen by `b` and `c`.
unsafe fn finish_shuffle(x: &mut Exec<'_>, i: &Inst, m: LaneMask) -> Flow {
    // One loop per mode, so that nothing but a lane's operands decides what it does.
    // SAFETY: passed on to the caller of an `OpFn`.
    unsafe {
        match i.scheduled().own {
            UP => shuffle_by::<UP>(x, i, m),
            DOWN => shuffle_by::<DOWN>(x, i, m),
            BFLY => shuffle_by::<BFLY>(x, i, m),
            _ => shuffle_by::<IDX>(x, i, m),
        }
    }
}

#[inline(always)]
unsafe fn shuffle_by<const MODE: u32>(x: &mut Exec<'_>, i: &Inst, m: LaneMask) -> Flow {
    // SAFETY: decoding gave 32-bit slots.
    unsafe {
        let (b, c) = (read_lanes::<u32>(x, i.b), read_lanes::<u32>(x, i.c));
        let mut sources = [0u8; LANES];
        let mut inside = 0;
        for l in 0..LANES {
            let (from, ok) = source_lane(MODE, l as u32, b[l], c[l]);
            inside |= u32::from(ok) << l;
            sources[l] = from as u8 % LANES as u8;
        }
        // What a lane gives that does not take part is undefined (PTX ISA, `shfl.sync`). NVIDIA's own programs count on 0: the
        // last warp of `reduce7` in the CUDA samples adds up 32 lanes of which 8 are there.
        let here = members(x, i, m) & x.live | m;
        let values = &x.exchange().values;
        let results: [u32; LANES] = std::array::from_fn(|l| {
            let source = usize::from(sources[l]);
            values[source] as u32 & (here >> source & 1).wrapping_neg()
        });
        write_lanes::<u32>(x, i.d, m, |l| results[l]);
        if let Some(result) = i.fields::<Collective>().result {
            x.set_predicate(result, m, inside);
        }
    }
    Flow::Next
}

/// Modes of `vote.sync`.
pub(crate) const ALL: u32 = 0;
pub(crate) const ANY: u32 = 1;
pub(crate) const UNI: u32 = 2;
pub(crate) const BALLOT: u32 = 3;

unsafe fn finish_vote(x: &mut Exec<'_>, i: &Inst, m: LaneMask) -> Flow {
    // SAFETY: decoding gave a 32-bit slot.
    let named = unsafe { read_lanes::<u32>(x, i.e) }[m.trailing_zeros() as usize];
    // Who computes a mask and names nobody hears of no votes. PTX leaves open what happens to a lane that does not name
    // itself; programs that ask for the votes of the lanes before their own count on this.
    let nobody = named == 0 && !i.e.is_constant();
    let voters = if nobody { 0 } else { members(x, i, m) & x.live };
    let yes = x.exchange().predicate & voters;
    let all = |holds: bool| if holds { LaneMask::MAX } else { 0 };
    let Vote { scheduled, result, .. } = i.fields();
    match scheduled.own {
        ALL => x.set_predicate(result, m, all(yes == voters)),
        ANY => x.set_predicate(result, m, all(yes != 0)),
        UNI => x.set_predicate(result, m, all(yes == voters || yes == 0)),
        // SAFETY: decoding gave a 32-bit destination.
        _ => unsafe { write_lanes::<u32>(x, i.d, m, |_| yes) },
    }
    Flow::Next
}

/// `match.any` (mode 0): lanes with the same value. `match.all` (mode 1): the members if all agree, and a predicate.
unsafe fn finish_match(x: &mut Exec<'_>, i: &Inst, m: LaneMask) -> Flow {
    let here = members(x, i, m) & x.live;
    let values = x.exchange().values;
    let same = |l: usize| {
        (0..LANES).filter(|&k| here >> k & 1 != 0 && values[k] == values[l]).fold(0, |bits, k| bits | 1 << k)
    };
    let results: [u32; LANES] = std::array::from_fn(same);
    // SAFETY: decoding gave a 32-bit destination.
    unsafe {
        let Collective { scheduled, result } = i.fields();
        if scheduled.own == 0 {
            write_lanes::<u32>(x, i.d, m, |l| results[l]);
        } else {
            let agree = results[m.trailing_zeros() as usize] == here;
            write_lanes::<u32>(x, i.d, m, |_| if agree { here } else { 0 });
            if let Some(result) = result {
                x.set_predicate(result, m, if agree { LaneMask::MAX } else { 0 });
            }
        }
    }
    Flow::Next
}

/// `redux.sync`: the mode is an index into [`REDUCTIONS`].
unsafe fn finish_reduction(x: &mut Exec<'_>, i: &Inst, m: LaneMask) -> Flow {
    let here = members(x, i, m) & x.live;
    let values = x.exchange().values;
    let reduce = REDUCTIONS[i.scheduled().own as usize];
    let result = (0..LANES).filter(|l| here >> l & 1 != 0).map(|l| values[l] as u32).reduce(reduce).unwrap_or_default();
    // SAFETY: decoding gave a 32-bit destination.
    unsafe { write_lanes::<u32>(x, i.d, m, |_| result) };
    Flow::Next
}

/// What `redux.sync` can do: add, min and max of either sign, and, or, xor.
pub(crate) const REDUCTIONS: [fn(u32, u32) -> u32; 8] = [
    u32::wrapping_add,
    u32::min,
    |a, b| (a as i32).min(b as i32) as u32,
    u32::max,
    |a, b| (a as i32).max(b as i32) as u32,
    |a, b| a & b,
    |a, b| a | b,
    |a, b| a ^ b,
];

/// Bits of the mode of `redux.sync` of floats: the greatest instead of the least, `.NaN`, `.abs`.
pub(crate) const FLOAT_MAX: u32 = 1;
pub(crate) const FLOAT_NAN: u32 = 2;
pub(crate) const FLOAT_ABS: u32 = 4;

/// `redux.sync.min` and `.max` of f32.
unsafe fn finish_float_reduction(x: &mut Exec<'_>, i: &Inst, m: LaneMask) -> Flow {
    let here = members(x, i, m) & x.live;
    let flag = |bit: u32| i.scheduled().own & bit != 0;
    let mode = MinMaxMode { nan: flag(FLOAT_NAN), ..MinMaxMode::default() };
    let pick = |a: f32, b: f32| if flag(FLOAT_MAX) { a.max_ptx(b, mode) } else { a.min_ptx(b, mode) };
    let values = x.exchange().values;
    let read = |l: usize| f32::from_bits(values[l] as u32);
    let lanes = (0..LANES).filter(|l| here >> l & 1 != 0);
    // With itself, so that the NaN of a single member becomes canonical.
    let values = lanes.map(read).map(|v| if flag(FLOAT_ABS) { v.abs() } else { v }).map(|v| pick(v, v));
    let result = values.reduce(pick).unwrap_or_default();
    // SAFETY: decoding gave a 32-bit destination.
    unsafe { write_lanes::<f32>(x, i.d, m, |_| result) };
    Flow::Next
}

/// `elect.sync`: the lowest member is the leader.
unsafe fn finish_election(x: &mut Exec<'_>, i: &Inst, m: LaneMask) -> Flow {
    let here = members(x, i, m) & x.live;
    let leader = here.trailing_zeros();
    // SAFETY: decoding gave a 32-bit destination.
    unsafe { write_lanes::<u32>(x, i.d, m, |_| leader) };
    if let Some(result) = i.fields::<Collective>().result {
        x.set_predicate(result, m, 1u32.unbounded_shl(leader));
    }
    Flow::Next
}

unsafe fn gather_nothing(_: &mut Exec<'_>, _: &Inst, _: LaneMask) -> Flow {
    Flow::Next
}

pub(crate) fn shuffle() -> Halves {
    collective!(gather32, finish_shuffle)
}

pub(crate) fn vote() -> Halves {
    collective!(gather_predicate, finish_vote)
}

pub(crate) fn match_lanes(wide: bool) -> Halves {
    if wide { collective!(gather64, finish_match) } else { collective!(gather32, finish_match) }
}

pub(crate) fn reduction() -> Halves {
    collective!(gather32, finish_reduction)
}

pub(crate) fn float_reduction() -> Halves {
    collective!(gather32, finish_float_reduction)
}

pub(crate) fn election() -> Halves {
    collective!(gather_nothing, finish_election)
}

/// `activemask`: the lanes that are active and whose guard holds.
pub(crate) unsafe fn active_mask(x: &mut Exec<'_>, i: &Inst, m: LaneMask) -> Flow {
    // SAFETY: decoding gave a 32-bit destination.
    unsafe { write_lanes::<u32>(x, i.d, m, |_| m) };
    Flow::Next
}
