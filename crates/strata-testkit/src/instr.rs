//! One instruction of a scripted warp.

use strata_core::{Access, LANES, LaneMask, OpClass, OpInfo, OpKind, Space};

/// Bytes that a lane loads or stores.
pub(crate) const WORD: u64 = 4;

/// Registers that one instruction can wait for.
const SOURCES: usize = 4;

/// An instruction: what it does, where its lanes go, which registers it needs, and what it writes.
///
/// Accesses are of 4 bytes per lane. Unless told otherwise, a memory access is one of lane 0, a load writes register 0 and
/// everything waits for register 0: so each instruction issues when the loads before it have their data. [`to`](Self::to) and
/// [`needs`](Self::needs) say otherwise.
///
/// ```
/// use strata_testkit::Instr;
///
/// // Two loads in flight at once, then an addition that waits for both.
/// let warp = [
///     Instr::load_line(0x1000).to(1),
///     Instr::load_line(0x2000).to(2),
///     Instr::add(3, 1).needs(&[1, 2]),
///     Instr::store_line(0x3000).needs(&[3]).word(7),
/// ];
/// # assert_eq!(warp[0], warp[0]);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Instr {
    pub(crate) kind: Kind,
    pub(crate) address: u64,
    pub(crate) lanes: LaneMask,
    /// Bytes from the address of one lane to that of the next.
    pub(crate) stride: u64,
    pub(crate) space: Space,
    pub(crate) data: Data,
    past_l1: bool,
    to: Option<u32>,
    needs: [Option<u32>; SOURCES],
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Load,
    Store,
    /// Adds, and returns the old value.
    Atomic,
    /// Adds, and returns nothing.
    Reduce,
    Compute(OpClass, &'static str),
    /// Waits for so many warps, or for all of the CTA that have not exited.
    Barrier(Option<u32>),
}

/// What an access writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Data {
    /// Nobody asks.
    None,
    /// Every lane this word; an atomic adds it.
    Word(u32),
    /// Lane `l` the `l`th word of these bytes.
    Bytes([u8; 4 * LANES]),
}

impl Data {
    /// The word of a lane.
    pub(crate) fn of_lane(&self, lane: usize) -> Option<[u8; WORD as usize]> {
        match self {
            Self::None => None,
            Self::Word(word) => Some(word.to_le_bytes()),
            Self::Bytes(bytes) => bytes.as_chunks().0.get(lane).copied(),
        }
    }
}

impl Instr {
    const fn new(kind: Kind, space: Space, address: u64) -> Self {
        let to = if matches!(kind, Kind::Load | Kind::Atomic) { Some(0) } else { None };
        let (lanes, stride) = (1, WORD);
        let needs = [Some(0), None, None, None];
        Self { kind, address, lanes, stride, space, data: Data::None, past_l1: false, to, needs }
    }

    /// Lane 0 loads a word.
    pub const fn load(address: u64) -> Self {
        Self::new(Kind::Load, Space::Global, address)
    }

    /// Lane 0 loads a word past L1 (`ld.global.cg`).
    pub const fn load_past_l1(address: u64) -> Self {
        Self::load(address).past_l1()
    }

    /// All lanes load neighbouring words: a line of 128 bytes.
    pub const fn load_line(address: u64) -> Self {
        Self::load(address).lanes(LaneMask::MAX)
    }

    /// Lane 0 stores a word, a part of a sector.
    pub const fn store(address: u64) -> Self {
        Self::new(Kind::Store, Space::Global, address)
    }

    /// All lanes store neighbouring words: a line of 128 bytes.
    pub const fn store_line(address: u64) -> Self {
        Self::store(address).lanes(LaneMask::MAX)
    }

    /// Lane 0 loads a word of local memory, whose address is one of device memory.
    pub const fn load_local(address: u64) -> Self {
        Self::new(Kind::Load, Space::Local, address)
    }

    /// Lane 0 stores a word of local memory.
    pub const fn store_local(address: u64) -> Self {
        Self::new(Kind::Store, Space::Local, address)
    }

    /// Lane 0 adds to a word and gets the old value.
    pub const fn atomic(address: u64) -> Self {
        Self::new(Kind::Atomic, Space::Global, address)
    }

    /// Lane 0 adds to a word, without a result.
    pub const fn reduce(address: u64) -> Self {
        Self::new(Kind::Reduce, Space::Global, address)
    }

    /// An integer addition that computes one register from another.
    pub const fn add(to: u32, from: u32) -> Self {
        Self::compute(OpClass::Int, "add.s32").to(to).needs(&[from])
    }

    /// Arithmetic of a class, under the name that the GPU's table of latencies knows.
    pub const fn compute(class: OpClass, name: &'static str) -> Self {
        Self::new(Kind::Compute(class, name), Space::None, 0).lanes(LaneMask::MAX)
    }

    /// Waits for all warps of the CTA that have not exited (`bar.sync 0`).
    pub const fn barrier() -> Self {
        Self::new(Kind::Barrier(None), Space::None, 0).lanes(LaneMask::MAX)
    }

    /// Waits until so many warps wait, exited ones not counted (`bar.sync 0, n`): for ever, if fewer are left.
    pub const fn barrier_of(warps: u32) -> Self {
        Self::new(Kind::Barrier(Some(warps)), Space::None, 0).lanes(LaneMask::MAX)
    }

    /// By these lanes.
    #[must_use]
    pub const fn lanes(self, lanes: LaneMask) -> Self {
        Self { lanes, ..self }
    }

    /// Lane `l` at the address plus `l` times so many bytes; 4 makes neighbours, 0 one place for all.
    #[must_use]
    pub const fn stride(self, stride: u64) -> Self {
        Self { stride, ..self }
    }

    /// Not served by L1.
    #[must_use]
    pub const fn past_l1(self) -> Self {
        Self { past_l1: true, ..self }
    }

    /// Writes this register, and waits for none.
    #[must_use]
    pub const fn to(self, register: u32) -> Self {
        Self { to: Some(register), needs: [None; SOURCES], ..self }
    }

    /// Waits for these registers, at most four, and no others.
    #[must_use]
    pub const fn needs(self, registers: &[u32]) -> Self {
        assert!(registers.len() <= SOURCES, "an instruction waits for at most four registers");
        let (mut needs, mut k) = ([None; SOURCES], 0);
        while k < registers.len() {
            needs[k] = Some(registers[k]);
            k += 1;
        }
        Self { needs, ..self }
    }

    /// Every lane stores this word; an atomic adds it.
    #[must_use]
    pub const fn word(self, word: u32) -> Self {
        Self { data: Data::Word(word), ..self }
    }

    /// Lane `l` stores bytes `4 l` to `4 l + 3` of these.
    #[must_use]
    pub const fn bytes(self, bytes: [u8; 4 * LANES]) -> Self {
        Self { data: Data::Bytes(bytes), ..self }
    }

    /// The address of a lane.
    pub(crate) const fn lane(&self, lane: usize) -> u64 {
        self.address + lane as u64 * self.stride
    }

    /// What is the same each time that it runs.
    pub(crate) fn info(&self, line: u32) -> OpInfo {
        let local = self.space == Space::Local;
        let (class, access, name) = match self.kind {
            Kind::Load if local => (OpClass::Memory, Access::Load, "ld.local.u32"),
            Kind::Load if self.past_l1 => (OpClass::Memory, Access::Load, "ld.global.cg.u32"),
            Kind::Load => (OpClass::Memory, Access::Load, "ld.global.u32"),
            Kind::Store if local => (OpClass::Memory, Access::Store, "st.local.u32"),
            Kind::Store => (OpClass::Memory, Access::Store, "st.global.u32"),
            Kind::Atomic => (OpClass::Memory, Access::Atomic, "atom.global.add.u32"),
            Kind::Reduce => (OpClass::Memory, Access::Reduce, "red.global.add.u32"),
            Kind::Compute(class, name) => (class, Access::None, name),
            Kind::Barrier(_) => (OpClass::Barrier, Access::None, "bar.sync"),
        };
        OpInfo {
            class,
            kind: if class == OpClass::Barrier { OpKind::CtaBarrier } else { OpKind::Plain },
            space: self.space,
            access,
            width: if access == Access::None { 0 } else { WORD as u8 },
            bypass_l1: self.past_l1,
            read_only: false,
            dst: self.to.into_iter().collect(),
            src: self.needs.into_iter().flatten().collect(),
            line,
            name: name.into(),
        }
    }
}
