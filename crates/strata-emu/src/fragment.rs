//! How the lanes of a warp hold a matrix among them: the fragments of PTX ISA 9.7.14.
//!
//! `mma.sync` defines where each element is. Its layouts are one pattern: tiles of eight rows and four registers, a group of
//! four lanes to a row (a column of B); [`Fragment::tiled`] says the rest. Only `mma.m8n8k4` of f16, made for Volta, has its
//! own: [`Fragment::quad_pairs`]. Of `wmma` the manual leaves the layout to the machine; here it is that of `mma.sync`,
//! and registers beyond those that hold the matrix once hold it again, as the manual's register counts demand.

use crate::exec::{Exec, Slot};
use crate::semantics::small::{E4M3, E5M2};
use strata_core::{LANES, LaneMask};
use strata_ptx::ast::Word;

/// What an element of a matrix is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Number {
    F16,
    Bf16,
    Tf32,
    F32,
    F64,
    E4m3,
    E5m2,
    S8,
    U8,
    S4,
    U4,
    B1,
    S32,
}

impl Number {
    /// The one that a modifier names.
    pub(crate) fn of(word: Word) -> Option<Self> {
        Some(match word {
            Word::F16 => Self::F16,
            Word::Bf16 => Self::Bf16,
            Word::Tf32 => Self::Tf32,
            Word::F32 => Self::F32,
            Word::F64 => Self::F64,
            Word::E4m3 => Self::E4m3,
            Word::E5m2 => Self::E5m2,
            Word::S8 => Self::S8,
            Word::U8 => Self::U8,
            Word::S4 => Self::S4,
            Word::U4 => Self::U4,
            Word::B1 => Self::B1,
            Word::S32 => Self::S32,
            _ => return None,
        })
    }

    pub(crate) const fn bits(self) -> usize {
        match self {
            Self::F64 => 64,
            Self::Tf32 | Self::F32 | Self::S32 => 32,
            Self::F16 | Self::Bf16 => 16,
            Self::E4m3 | Self::E5m2 | Self::S8 | Self::U8 => 8,
            Self::S4 | Self::U4 => 4,
            Self::B1 => 1,
        }
    }

    /// Elements of a register.
    const fn per_register(self) -> usize {
        if self.bits() >= 32 { 1 } else { 32 / self.bits() }
    }

    /// The value of a floating-point element (doubles excepted), exactly. A tf32 has the dropped bits of its register
    /// ignored, as the hardware does.
    #[inline(always)]
    pub(crate) fn to_f32(self, bits: u64) -> f32 {
        use crate::semantics::half::{Bf16, F16, HalfFormat};
        match self {
            Self::F16 => F16::widen(bits as u16),
            Self::Bf16 => Bf16::widen(bits as u16),
            Self::E4m3 => E4M3.widen(bits as u8),
            Self::E5m2 => E5M2.widen(bits as u8),
            Self::Tf32 => f32::from_bits(bits as u32 & !0x1fff),
            _ => f32::from_bits(bits as u32),
        }
    }

    /// The value of an integer element.
    #[inline(always)]
    pub(crate) fn to_i32(self, bits: u64) -> i32 {
        match self {
            Self::S8 => i32::from(bits as i8),
            Self::S4 => (bits as i32) << 28 >> 28,
            _ => bits as i32,
        }
    }
}

/// Rows, columns and the dimension that a product sums over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Shape {
    pub(crate) m: usize,
    pub(crate) n: usize,
    pub(crate) k: usize,
}

impl Shape {
    /// Reads `m16n8k16`.
    pub(crate) fn of(word: Word) -> Option<Self> {
        let (m, rest) = word.name().strip_prefix('m')?.split_once('n')?;
        let (n, k) = rest.split_once('k')?;
        Some(Self { m: m.parse().ok()?, n: n.parse().ok()?, k: k.parse().ok()? })
    }
}

/// Which matrix of `d = a * b + c` a fragment is of; `c` and `d` are alike.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Part {
    A,
    B,
    Sum,
}

impl Part {
    /// Rows and columns.
    pub(crate) fn extent(self, shape: Shape) -> (usize, usize) {
        match self {
            Self::A => (shape.m, shape.k),
            Self::B => (shape.k, shape.n),
            Self::Sum => (shape.m, shape.n),
        }
    }
}

/// A matrix (or four, see [`Fragment::quad_pairs`]) in the registers of a warp.
#[derive(Clone, Debug)]
pub(crate) struct Fragment {
    pub(crate) number: Number,
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    /// Its registers; those of doubles are 64 bits wide.
    registers: Box<[Slot]>,
    /// Elements of a lane.
    per_lane: usize,
    /// Of each lane, of each of its elements: `row * columns + column`, behind those of the matrices before.
    places: Box<[u16]>,
}

impl Fragment {
    /// The layout of `mma.sync`. A register covers neighbours along `k` (in a sum: a pair of columns); registers step
    /// through tiles of eight rows (of A and sums; through `k` of B), then through what is left.
    ///
    /// `None` if the registers cannot hold the matrix a whole number of times.
    pub(crate) fn tiled(part: Part, shape: Shape, number: Number, registers: Box<[Slot]>) -> Option<Self> {
        let (rows, columns) = part.extent(shape);
        let packed = number.per_register();
        // What one step covers in a lane: a register, or a pair of columns.
        let step = if part == Part::Sum { 2 } else { packed };
        let unique = rows * columns / LANES;
        let per_lane = registers.len() * packed;
        if unique == 0 || per_lane == 0 || !per_lane.is_multiple_of(unique) {
            return None;
        }
        let place = |lane: usize, element: usize| {
            let (group, thread) = (lane / 4, lane % 4);
            let element = element % unique;
            let (tile, inside) = (element / step, element % step);
            let along = thread * step + inside;
            let (row, column) = match part {
                Part::A | Part::Sum => {
                    let tiles = rows / 8;
                    (tile % tiles * 8 + group, tile / tiles * 4 * step + along)
                }
                Part::B => {
                    let tiles = rows / (4 * step);
                    (tile % tiles * 4 * step + along, tile / tiles * 8 + group)
                }
            };
            (row * columns + column) as u16
        };
        let places = (0..LANES).flat_map(|l| (0..per_lane).map(move |e| place(l, e))).collect();
        Some(Self { number, rows, columns, registers, per_lane, places })
    }

    /// The layout of `mma.m8n8k4` of f16: lanes 4q to 4q+3 and 16 above them hold matrix q of four.
    pub(crate) fn quad_pairs(part: Part, row_major: bool, number: Number, registers: Box<[Slot]>) -> Option<Self> {
        let (rows, columns) = part.extent(Shape { m: 8, n: 8, k: 4 });
        let per_lane = registers.len() * number.per_register();
        if per_lane != rows * columns * 4 / LANES {
            return None;
        }
        let place = |lane: usize, e: usize| {
            let (quad, thread, high) = (lane % 16 / 4, lane % 4, lane / 16 * 4);
            let (row, column) = match (part, row_major) {
                (Part::A, true) => (thread + high, e),
                (Part::A, false) => (e + high, thread),
                (Part::B, true) => (thread, e + high),
                (Part::B, false) => (e, thread + high),
                (Part::Sum, _) if number == Number::F16 => (thread + high, e),
                (Part::Sum, _) => ((lane & 1) + (e & 2) + high, (e & 4) + (lane & 2) + (e & 1)),
            };
            (quad * rows * columns + row * columns + column) as u16
        };
        let places = (0..LANES).flat_map(|l| (0..per_lane).map(move |e| place(l, e))).collect();
        Some(Self { number, rows, columns, registers, per_lane, places })
    }

    /// Tells `f` of every lane's pieces: its lane, its register, the bit where it begins there and its place. A piece is
    /// an element, or a register of elements smaller than a byte: these are neighbours in memory too.
    pub(crate) fn each_piece(&self, mut f: impl FnMut(usize, usize, u32, usize)) {
        let packed = self.number.per_register();
        let bits = self.number.bits();
        let step = if bits < 8 { packed } else { 1 };
        for lane in 0..LANES {
            for e in (0..self.per_lane).step_by(step) {
                let place = usize::from(self.places[lane * self.per_lane + e]);
                f(lane, e / packed, (e % packed * bits) as u32, place);
            }
        }
    }

    /// Bits of a piece of [`each_piece`](Self::each_piece).
    pub(crate) fn piece_bits(&self) -> usize {
        if self.number.bits() < 8 { 32 } else { self.number.bits() }
    }

    /// Where a register is in lane `lane`.
    #[inline(always)]
    fn register(&self, x: &Exec<'_>, register: usize, lane: usize) -> *mut u8 {
        let bytes = if self.number == Number::F64 { 8 } else { 4 };
        x.read_slot(self.registers[register]).cast_mut().wrapping_add(lane * bytes)
    }

    /// The bits of a register in a lane.
    #[inline(always)]
    pub(crate) fn get(&self, x: &Exec<'_>, register: usize, lane: usize) -> u64 {
        let from = self.register(x, register, lane);
        // SAFETY: decoding gave registers of this width, `lane` is below 32.
        unsafe { if self.number == Number::F64 { from.cast::<u64>().read() } else { from.cast::<u32>().read().into() } }
    }

    /// Sets the bits of a register in a lane.
    #[inline(always)]
    pub(crate) fn set(&self, x: &mut Exec<'_>, register: usize, lane: usize, bits: u64) {
        let to = self.register(x, register, lane);
        // SAFETY: decoding gave registers of this width, not constants; `lane` is below 32.
        unsafe {
            if self.number == Number::F64 { to.cast::<u64>().write(bits) } else { to.cast::<u32>().write(bits as u32) }
        }
    }

    /// Tells `f` of every element: its place and its bits.
    #[inline(always)]
    pub(crate) fn read(&self, x: &Exec<'_>, mut f: impl FnMut(usize, u64)) {
        let (packed, bits) = (self.number.per_register(), self.number.bits());
        let mask = u64::MAX >> (64 - bits);
        for (lane, places) in self.places.chunks_exact(self.per_lane).enumerate() {
            for (register, places) in places.chunks_exact(packed).enumerate() {
                let whole = self.get(x, register, lane);
                for (e, &place) in places.iter().enumerate() {
                    f(usize::from(place), whole >> (e * bits) & mask);
                }
            }
        }
    }

    /// Fills the registers of the lanes in `m` with what `f` says of each place.
    #[inline(always)]
    pub(crate) fn write(&self, x: &mut Exec<'_>, m: LaneMask, f: impl Fn(usize) -> u64) {
        let (packed, bits) = (self.number.per_register(), self.number.bits());
        for (lane, places) in self.places.chunks_exact(self.per_lane).enumerate() {
            if m >> lane & 1 == 0 {
                continue;
            }
            for (register, places) in places.chunks_exact(packed).enumerate() {
                let element = |(e, &place): (usize, &u16)| f(usize::from(place)) << (e * bits);
                self.set(x, register, lane, places.iter().enumerate().map(element).fold(0, |all, b| all | b));
            }
        }
    }

    /// Bytes in memory.
    pub(crate) fn bytes(&self) -> usize {
        footprint(self.rows, self.columns, self.number).0
    }
}

/// Bytes of a matrix in memory, and of the pieces in which 32 lanes fetch it: what is told to whoever times it. The real
/// ones are the assembler's choice; these are the widest that are equally shared.
pub(crate) fn footprint(rows: usize, columns: usize, number: Number) -> (usize, usize) {
    let total = rows * columns * number.bits() / 8;
    (total, (total / LANES).clamp(1, 16))
}
