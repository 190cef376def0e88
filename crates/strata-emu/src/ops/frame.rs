//! Parameters of device functions: bytes of a frame, one unit per four bytes.

use super::memory::data_slot;
use crate::exec::{Exec, Flow, Slot};
use crate::inst::{Field, FrameParameter, Inst};
use crate::lanes::{read_lanes, write_lanes};
use strata_core::{LANES, LaneMask};
use strata_ptx::ast::Type;

/// What an element of a parameter is.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    /// Its bytes.
    size: u32,
    signed: bool,
    /// Its register has 64 bits.
    wide: bool,
}

impl Shape {
    pub(crate) fn of(ty: Type, wide: bool) -> Self {
        Self { size: ty.bytes(), signed: ty.is_signed(), wide }
    }
}

impl Field<(u32,)> for Shape {
    #[inline(always)]
    fn load((bits,): (u32,)) -> Self {
        Self { size: bits & 0xff, signed: bits & 0x100 != 0, wide: bits & 0x200 != 0 }
    }
    #[inline(always)]
    fn store(self) -> (u32,) {
        (self.size | u32::from(self.signed) << 8 | u32::from(self.wide) << 9,)
    }
}

/// The words that hold the bytes at `byte`, and the bit in them.
fn place(byte: u64) -> (Slot, Slot, u32) {
    let unit = (byte / 4) as u32;
    (Slot::register(unit), Slot::register(unit + 1), (byte % 4) as u32 * 8)
}

/// `ld.param` in a device function.
pub(crate) unsafe fn frame_load(x: &mut Exec<'_>, i: &Inst, m: LaneMask) -> Flow {
    let FrameParameter { byte, elements, shape } = i.fields();
    let loaded: Vec<[u64; LANES]> = (0..u64::from(elements))
        .map(|k| {
            let (low, high, bit) = place(byte as u64 + k * u64::from(shape.size));
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
    let FrameParameter { byte, elements, shape } = i.fields();
    for k in 0..usize::from(elements) {
        // SAFETY: decoding gave sources of this width; the frame has units for every byte of its parameters.
        unsafe {
            let value: [u64; LANES] = if shape.wide {
                read_lanes::<u64>(x, data_slot(i, k))
            } else {
                read_lanes::<u32>(x, data_slot(i, k)).map(u64::from)
            };
            let (low, high, bit) = place(byte as u64 + k as u64 * u64::from(shape.size));
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
