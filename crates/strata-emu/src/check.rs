//! The checked mode: reads of shared and local memory that nothing has written.
//!
//! Decoding a kernel for a checked launch puts [`check_then_run`] in front of every instruction that can touch shared or
//! local memory; other launches run code that knows nothing of this. A shadow bit per byte says whether the byte was
//! written since its CTA started. The first such read of each static instruction becomes a warning; the program goes on
//! (it reads the zeros, or what an earlier CTA left, that real hardware would not promise either).
//!
//! Invariants:
//!
//! * A warning is never wrong: a byte counts as unwritten only if nothing of its CTA wrote it.
//! * What is told does not depend on the number of host threads: see [`Output::warn`](crate::Output).
//!
//! Deliberately absent: the frames of calls. A function that is called twice finds its local variables as its first call
//! (or another function's) left them, and a read of these is not told. Nor are reads of whole matrices (`wmma.load`,
//! `ldmatrix`) looked at; what matrix instructions write counts as written.

use crate::exec::{Exec, Flow};
use crate::fault::Cause;
use crate::inst::{Inst, OpFn};
use crate::launch::describe;
use crate::memory::{LOCAL_WINDOW, SHARED_WINDOW};
use crate::ops::memory::{addresses, aligned, copy_targets, window};
use crate::races;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use strata_core::{Access, Addr, LANES, LaneMask, OpClass, OpInfo, Space};

/// An instruction that is looked at before it runs.
#[derive(Clone, Copy)]
pub(crate) struct Watched {
    /// Its own code.
    pub(crate) run: OpFn,
    /// Its number among those of its function.
    pub(crate) pc: u32,
    pub(crate) space: Space,
    pub(crate) access: Access,
    /// Bytes per lane.
    pub(crate) width: u64,
    /// True if its address (for a copy: that of the destination) is 64 bits wide.
    pub(crate) wide: bool,
    /// A volatile load or store, or one with an order: what warps do that wait for each other.
    pub(crate) volatile: bool,
    /// It publishes what was written before without a fence: `.release`, `.acq_rel`, barriers in memory.
    pub(crate) releases: bool,
}

/// What is looked for in a launch.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Looks {
    /// Reads of shared and local memory that nothing has written.
    pub(crate) uninitialised: bool,
    /// Conflicting accesses that nothing orders: `races`.
    pub(crate) races: bool,
}

impl Watched {
    /// Puts the check in front of `inst`, the `pc`-th of its function, if it can touch memory that is looked at.
    pub(crate) fn new(inst: &mut Inst, info: &OpInfo, pc: u32, wide: bool, looks: Looks) -> Option<Self> {
        let (space, access) = match (info.space, info.access) {
            (_, Access::None | Access::Prefetch) => return None,
            // Texels and pixels: the operands are coordinates, no addresses.
            _ if info.class == OpClass::Texture => return None,
            (_, Access::Copy) => (Space::Shared, Access::Copy),
            (space @ (Space::Shared | Space::Generic), access) => (space, access),
            (Space::Local, access) if looks.uninitialised => (Space::Local, access),
            (Space::Global, access) if looks.races => (Space::Global, access),
            _ => return None,
        };
        let run = std::mem::replace(&mut inst.run, check_then_run);
        let releases = [".release", ".acq_rel", "mbarrier"].iter().any(|word| info.name.contains(word));
        let volatile = [".volatile", ".relaxed", ".acquire"].iter().any(|word| info.name.contains(word)) || releases;
        Some(Self { run, pc, space, access, width: u64::from(info.width), wide, volatile, releases })
    }

    /// True if it cannot race with its like.
    pub(crate) fn is_atomic(&self) -> bool {
        self.volatile || matches!(self.access, Access::Atomic | Access::Reduce)
    }
}

/// One bit per byte: written or not.
struct Shadow {
    /// The CTA whose bytes these are; CTAs after it start with none written.
    cta: u64,
    written: Vec<u64>,
}

impl Shadow {
    fn new(cta: u64, bytes: u64) -> Self {
        Self { cta, written: vec![0; bytes.div_ceil(64) as usize] }
    }

    fn become_cta(&mut self, cta: u64) {
        if self.cta != cta {
            self.cta = cta;
            self.written.fill(0);
        }
    }

    /// The bits of `width` bytes at `offset`, which is a multiple of the width: they lie in one word.
    fn bits(offset: u64, width: u64) -> (usize, u64) {
        ((offset / 64) as usize, (u64::MAX >> (64 - width)) << (offset % 64))
    }

    fn set(&mut self, offset: u64, width: u64) {
        let (word, bits) = Self::bits(offset, width);
        self.written[word] |= bits;
    }

    /// The first byte of the range that was not written.
    fn first_unwritten(&self, offset: u64, width: u64) -> Option<u64> {
        let (word, bits) = Self::bits(offset, width);
        let missing = bits & !self.written[word];
        (missing != 0).then(|| offset - offset % 64 + u64::from(missing.trailing_zeros()))
    }
}

/// What one host thread knows of the CTAs it runs.
#[derive(Default)]
pub(crate) struct Checker {
    /// Shared memory, by resident slot.
    shared: FxHashMap<u32, Shadow>,
    /// Local memory, by resident slot and warp: the bytes of lane 0, then those of lane 1, …
    local: FxHashMap<(u32, u32), Shadow>,
    /// Memory instructions that were told already.
    told: BTreeSet<u32>,
}

impl Checker {
    /// Marks bytes of shared memory that an instruction wrote which is not looked at itself.
    pub(crate) fn wrote_shared(&mut self, x: &Exec<'_>, first: u64, bytes: u64) {
        let shadow = self.shared.entry(x.resident).or_insert_with(|| Shadow::new(x.cta, x.shared_bytes));
        shadow.become_cta(x.cta);
        shadow.set(first, bytes);
    }

    /// Looks at one instruction: marks what it writes; gives lane and first byte of a read of nothing.
    fn look(&mut self, x: &Exec<'_>, i: &Inst, m: LaneMask, watched: &Watched) -> Option<Cause> {
        let offsets = offsets(x, i, watched);
        let reads = matches!(watched.access, Access::Load | Access::Atomic | Access::Reduce);
        let writes = watched.access != Access::Load;
        let mut found = None;
        for lane in (0..LANES).filter(|l| m >> l & 1 != 0) {
            let (space, offset) = match (watched.space, window(offsets[lane])) {
                (Space::Generic, Space::Shared) => (Space::Shared, offsets[lane] - SHARED_WINDOW),
                (Space::Generic, Space::Local) => (Space::Local, offsets[lane] - LOCAL_WINDOW),
                (Space::Generic | Space::Global, _) => continue,
                (space, _) => (space, offsets[lane]),
            };
            let size = if space == Space::Shared { x.shared_bytes } else { x.local_bytes };
            let width = watched.width;
            // What is out of bounds or misaligned, the instruction itself will say.
            if offset >= size || size - offset < width || !aligned(offset, width) {
                continue;
            }
            let (shadow, at) = if space == Space::Shared {
                (self.shared.entry(x.resident).or_insert_with(|| Shadow::new(x.cta, size)), 0)
            } else {
                let stride = size.next_multiple_of(64);
                let make = || Shadow::new(x.cta, stride * LANES as u64);
                (self.local.entry((x.resident, x.warp)).or_insert_with(make), stride * lane as u64)
            };
            shadow.become_cta(x.cta);
            if reads
                && found.is_none()
                && let Some(byte) = shadow.first_unwritten(at + offset, width)
            {
                let unwritten = byte - at;
                let (lane, address, width) = (lane as u32, Addr(offset), width as u32);
                found = Some(Cause::Uninitialised { lane, space, address, width, unwritten });
            }
            if writes {
                shadow.set(at + offset, width);
            }
        }
        found.filter(|_| self.told.insert(i.touched()))
    }
}

/// Where each lane goes: generic addresses, or offsets in the instruction's space.
pub(crate) fn offsets(x: &Exec<'_>, i: &Inst, watched: &Watched) -> [u64; LANES] {
    // SAFETY: decoding gave slots of these widths.
    let mut offsets = unsafe {
        match (watched.access, watched.wide) {
            (Access::Copy, true) => copy_targets::<true>(x, i),
            (Access::Copy, false) => copy_targets::<false>(x, i),
            (_, true) => addresses::<true>(x, i.a, i.offset()),
            (_, false) => addresses::<false>(x, i.a, i.offset()),
        }
    };
    if watched.space == Space::Local && i.fields::<crate::inst::Access>().in_frame {
        for offset in &mut offsets {
            *offset = offset.wrapping_add(x.local_frame);
        }
    }
    offsets
}

/// Looks at a memory instruction, then runs it.
///
/// # Safety
/// As for every [`OpFn`]; the instruction is a watched one of the running kernel.
unsafe fn check_then_run(x: &mut Exec<'_>, i: &Inst, m: LaneMask) -> Flow {
    let launch = x.launch;
    let number = i.touched();
    let watched = &launch.kernel.watched[&number];
    if let Some(mut checker) = x.checker.take() {
        if let Some(cause) = checker.look(x, i, m, watched) {
            let warning = describe(launch, cause, x.code, watched.pc, m, x.cta, x.warp as usize);
            launch.output.warn((launch.number, number), x.cta, warning);
        }
        x.checker = Some(checker);
    }
    // SAFETY: the instruction is the one this code was decoded for; the rest is passed on.
    unsafe { races::run_and_look(x, i, m, watched) }
}
