//! Parameters of device functions: bytes of a frame, one unit per four bytes.
//!
//! Operands: the data in `d, b, c, e`, `q` elements, `imm` the byte in the frame, `aux` the shape of an element.

use super::memory::data_slot;
use crate::exec::{Exec, Flow, Inst, Slot};
use crate::lanes::{read_lanes, write_lanes};
use strata_core::{LANES, LaneMask};
use strata_ptx::ast::Type;

/// Size, sign and register width of an element in one word.
pub(crate) fn shape(ty: Type, wide: bool) -> u32 {
    ty.bytes() | u32::from(ty.is_signed()) << 8 | u32::from(wide) << 9
}

struct Shape {
    size: u32,
    signed: bool,
    wide: bool,
}

impl Shape {
    fn of(i: &Inst) -> Self {
        Self { size: i.aux & 0xff, signed: i.aux & 0x100 != 0, wide: i.aux & 0x200 != 0 }
    }
}

/// The words that hold the bytes at `byte`, and the bit in them.
fn place(byte: u64) -> (Slot, Slot, u32) {
    let unit = (byte / 4) as u32;
    (Slot::register(unit), Slot::register(unit + 1), (byte % 4) as u32 * 8)
}

/// `ld.param` in a device function.
pub(crate) unsafe fn frame_load(x: &mut Exec<'_>, i: &Inst, m: LaneMask) -> Flow {
    let shape = Shape::of(i);
    let loaded: Vec<[u64; LANES]> = (0..u64::from(i.q))
        .map(|k| {
            let (low, high, bit) = place(i.imm as u64 + k * u64::from(shape.size));
            // SAFETY: the frame has units for every byte of its parameters, in pairs.
            let (low, high) = unsafe { (read_lanes::<u32>(x, low), read_lanes::<u32>(x, high)) };
            std::array::from_fn(|l| {
                let raw = (u64::from(low[l]) | u64::from(high[l]) << 32) >> bit;
                let unused = 64 - 8 * shape.size;
                if shape.signed { (((raw << unused) as i64) >> unused) as u64 } else { raw << unused >> unused }
            })
        })
        .collect();
    for (k, lanes) in loaded.iter().enumerate() {
        // SAFETY: decoding gave destinations of this width.
        unsafe {
            if shape.wide {
                write_lanes::<u64>(x, data_slot(i, k), m, |l| lanes[l]);
            } else {
                write_lanes::<u32>(x, data_slot(i, k), m, |l| lanes[l] as u32);
            }
        }
    }
    Flow::Next
}

/// `st.param`: arguments of a call, or the result of the function.
pub(crate) unsafe fn frame_store(x: &mut Exec<'_>, i: &Inst, m: LaneMask) -> Flow {
    let shape = Shape::of(i);
    for k in 0..usize::from(i.q) {
        // SAFETY: decoding gave sources of this width; the frame has units for every byte of its parameters.
        unsafe {
            let value: [u64; LANES] = if shape.wide {
                read_lanes::<u64>(x, data_slot(i, k))
            } else {
                read_lanes::<u32>(x, data_slot(i, k)).map(u64::from)
            };
            let (low, high, bit) = place(i.imm as u64 + k as u64 * u64::from(shape.size));
            if shape.size >= 4 {
                write_lanes::<u32>(x, low, m, |l| value[l] as u32);
            } else {
                let keep = !(((1u32 << (8 * shape.size)) - 1) << bit);
                let old = read_lanes::<u32>(x, low);
                write_lanes::<u32>(x, low, m, |l| old[l] & keep | (value[l] as u32) << bit & !keep);
            }
            if shape.size == 8 {
                write_lanes::<u32>(x, high, m, |l| (value[l] >> 32) as u32);
            }
        }
    }
    Flow::Next
}
