//! Reads and writes of surfaces: `suld.b`, `sust.b`.
//!
//! The first coordinate counts bytes, the others rows and slices (PTX ISA 9.7.11). What lies outside faults, is the nearest
//! element inside, or is zero and not written: `.trap`, `.clamp`, `.zero`.

use super::memory::{GLOBAL, lane_pointer, report};
use super::texture::{Coordinates, not_an_object};
use crate::exec::{Exec, Flow, Slot};
use crate::fault::Cause;
use crate::inst::{ImageAccess, Inst};
use crate::lanes::read_lanes;
use crate::memory::Object;
use strata_core::{Image, LANES, LaneMask, Space};

/// What happens outside a surface.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outside {
    Trap,
    Clamp,
    Zero,
}

/// A read or write of a surface.
pub(crate) struct SurfaceAccess {
    pub(crate) at: Coordinates,
    /// Where the elements are, 64 bits wide if an element is, else 32.
    pub(crate) data: Vec<Slot>,
    /// Bytes of an element.
    pub(crate) size: usize,
    pub(crate) outside: Outside,
    pub(crate) stores: bool,
}

impl SurfaceAccess {
    /// The address of an access; `None` if it is outside and reads zeros.
    fn address(&self, image: &Image, bits: [u32; 3], layer: Option<u32>) -> Result<Option<u64>, String> {
        let width = (self.size * self.data.len()) as i64;
        let row_bytes = i64::from(image.width) * image.format.bytes() as i64;
        let axes = self.at.axes.len();
        let mut at = bits.map(|b| i64::from(b as i32));
        let depth = i64::from(image.depth);
        if let Some(layer) = layer {
            at[2] = i64::from(layer);
        }
        let last = [(row_bytes - width).max(0), i64::from(image.height) - 1, depth - 1];
        let inside =
            at[0] >= 0 && at[0] + width <= row_bytes && (1..3).all(|axis| (0..=last[axis]).contains(&at[axis]));
        match (inside, self.outside) {
            (true, _) => {}
            (false, Outside::Zero) => return Ok(None),
            (false, Outside::Clamp) if width <= row_bytes => {
                for axis in 0..3 {
                    at[axis] = at[axis].clamp(0, last[axis]);
                }
                at[0] -= at[0] % width;
            }
            (false, _) => {
                let extent = [format!("{row_bytes} bytes"), image.height.to_string(), image.depth.to_string()];
                let named: Vec<String> = at[..axes].iter().map(i64::to_string).collect();
                let layer = layer.map_or_else(String::new, |l| format!(" of layer {l}"));
                return Err(format!(
                    "outside a surface: {width} bytes at ({}){layer}; it has {}",
                    named.join(", "),
                    extent.join(" x ")
                ));
            }
        }
        Ok(Some(image.start.0 + at[0] as u64 + at[1] as u64 * image.pitch + at[2] as u64 * image.slice))
    }

    /// Where element `k` of a lane is in its register.
    fn register(&self, x: &Exec<'_>, k: usize, lane: usize) -> *mut u8 {
        let bytes = if self.size == 8 { 8 } else { 4 };
        x.read_slot(self.data[k]).cast_mut().wrapping_add(lane * bytes)
    }

    /// Moves one lane's elements; `None` is the place that is zero.
    unsafe fn move_lane(&self, x: &mut Exec<'_>, i: &Inst, lane: usize, address: Option<u64>) -> Result<(), Flow> {
        for k in 0..self.data.len() {
            let memory = match address {
                Some(address) => {
                    Some(lane_pointer::<GLOBAL>(x, i, lane, address + (k * self.size) as u64, self.size as u64)?)
                }
                None => None,
            };
            let register = self.register(x, k, lane);
            // SAFETY: the access was just checked; decoding gave registers of this width.
            unsafe {
                match (memory, self.stores) {
                    (Some(to), true) => std::ptr::copy_nonoverlapping(register, to, self.size),
                    (None, true) => {}
                    (from, false) => {
                        let mut bytes = [0; 8];
                        if let Some(from) = from {
                            std::ptr::copy_nonoverlapping(from, bytes.as_mut_ptr(), self.size);
                        }
                        std::ptr::copy_nonoverlapping(bytes.as_ptr(), register, if self.size == 8 { 8 } else { 4 });
                    }
                }
            }
        }
        Ok(())
    }
}

/// `suld.b` and `sust.b`.
pub(crate) unsafe fn access(x: &mut Exec<'_>, i: &Inst, m: LaneMask) -> Flow {
    let kernel = x.launch.kernel;
    let access = &kernel.functions[x.code as usize].surfaces[i.fields::<ImageAccess>().entry];
    // SAFETY: decoding gave slots of these sizes.
    let (handles, coordinates, layers) = unsafe {
        let axes: Vec<[u32; LANES]> = access.at.axes.iter().map(|&s| read_lanes::<u32>(x, s)).collect();
        (read_lanes::<u64>(x, access.at.object), axes, access.at.layer.map(|s| read_lanes::<u32>(x, s)))
    };
    let (mut addresses, mut touched): (_, LaneMask) = ([0; LANES], 0);
    for lane in (0..LANES).filter(|l| m >> l & 1 != 0) {
        let Some(Object::Surface(image)) = x.launch.memory.object(handles[lane]) else {
            return not_an_object(x, lane, handles[lane], "surface");
        };
        let bits = std::array::from_fn(|axis| coordinates.get(axis).map_or(0, |c| c[lane]));
        let address = match access.address(image, bits, layers.map(|l| l[lane])) {
            Ok(address) => address,
            Err(message) => return x.fail(Cause::Trap { lane: lane as u32, message }),
        };
        // SAFETY: passed on.
        if let Err(flow) = unsafe { access.move_lane(x, i, lane, address) } {
            return flow;
        }
        if let Some(address) = address {
            addresses[lane] = address;
            touched |= 1 << lane;
        }
    }
    let bytes = (access.size * access.data.len()) as u64 * u64::from(touched.count_ones());
    if access.stores {
        x.bytes_written += bytes;
    } else {
        x.bytes_read += bytes;
    }
    report(x, Space::Global, touched, &addresses);
    Flow::Next
}
