//! Reads of textures: `tex`, `tld4`, `txq`, `suq`.
//!
//! Textures have one level: `.level` reads it, whatever level is asked for. Where an image has fewer than four channels, the
//! others are 0, 0 and 1. A cube has six layers, its faces; a direction leads to a point of one of them, and what is filtered
//! at the edge of a face stays on it. To whoever times it, a read is one load for each texel of the footprint (1, 2, 4 or 8).

use super::memory::{GLOBAL, lane_pointer, report};
use crate::exec::{Exec, Flow, Slot};
use crate::fault::Cause;
use crate::inst::{Field, ImageAccess, ImageQuery, Inst};
use crate::lanes::{read_lanes, write_lanes};
use crate::memory::Object;
use crate::semantics::half::{F16, HalfFormat};
use crate::semantics::sampling::{between, nearest, place};
use strata_core::{AddressMode, Channel, Format, Image, LANES, LaneMask, Space, Texture};

/// How an instruction addresses an image.
pub(crate) struct Coordinates {
    /// The handle: 64 bits.
    pub(crate) object: Slot,
    /// 32 bits each.
    pub(crate) axes: Vec<Slot>,
    /// The axes are a direction that leads to a face of a cube.
    pub(crate) cube: bool,
    /// The layer, of layered images.
    pub(crate) layer: Option<Slot>,
}

/// A read of a texture.
pub(crate) struct Fetch {
    pub(crate) at: Coordinates,
    /// `.s32` coordinates: they count texels, nothing is filtered.
    pub(crate) integer: bool,
    /// The channel that `tld4` gathers.
    pub(crate) gathers: Option<usize>,
    /// `d`.
    pub(crate) results: [Slot; 4],
}

/// What a query asks for.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u16)]
pub(crate) enum Query {
    Width,
    Height,
    Depth,
    /// How many levels there are.
    Levels,
    /// Whether coordinates are normalised.
    Normalized,
}

impl Query {
    const ALL: [Self; 5] = [Self::Width, Self::Height, Self::Depth, Self::Levels, Self::Normalized];
}

impl Field<(u16,)> for Query {
    #[inline(always)]
    fn load((number,): (u16,)) -> Self {
        Self::ALL[usize::from(number) % Self::ALL.len()]
    }
    #[inline(always)]
    fn store(self) -> (u16,) {
        (self as u16,)
    }
}

/// Texels that one read touches, at most: two along each axis.
const FOOTPRINT: usize = 8;

/// The addresses of a warp's texels, for the listener.
struct Touched {
    addresses: [[u64; LANES]; FOOTPRINT],
    masks: [LaneMask; FOOTPRINT],
}

impl Touched {
    fn note(&mut self, lane: usize, texel: usize, address: u64) {
        self.addresses[texel][lane] = address;
        self.masks[texel] |= 1 << lane;
    }
}

/// What a handle stands for; a fault if it is nothing of the kind.
pub(super) fn not_an_object(x: &mut Exec<'_>, lane: usize, handle: u64, what: &str) -> Flow {
    let message = if handle == 0 {
        format!("the {what} is bound to nothing: give the kernel an object, or bind the reference before the launch")
    } else {
        format!("{handle:#x} is no {what} object; was it destroyed, or is it one of another kind?")
    };
    x.fail(Cause::Trap { lane: lane as u32, message })
}

/// Where a texel is.
pub(super) fn address_of(image: &Image, [column, row, slice]: [u32; 3]) -> u64 {
    let offset =
        u64::from(column) * image.format.bytes() + u64::from(row) * image.pitch + u64::from(slice) * image.slice;
    image.start.0.wrapping_add(offset)
}

/// The channels of a texel, as a register receives them: integers extended, floats as f32.
fn channels(bytes: [u8; 16], format: Format, as_float: bool) -> [u32; 4] {
    let Format { channel, bits, channels } = format;
    let float = channel == Channel::Float || as_float;
    let mut out = [0, 0, 0, if float { 1f32.to_bits() } else { 1 }];
    let size = usize::from(bits / 8);
    for (k, to) in out.iter_mut().enumerate().take(channels.into()) {
        let mut raw = [0; 4];
        raw[..size].copy_from_slice(&bytes[k * size..][..size]);
        let raw = u32::from_le_bytes(raw);
        let unused = 32 - u32::from(bits);
        let signed = (raw << unused) as i32 >> unused;
        let greatest = (1u32 << (bits - 1)) - 1;
        *to = match (channel, as_float) {
            (Channel::Float, _) if bits == 16 => F16::widen(raw as u16).to_bits(),
            (Channel::Float, _) | (Channel::Unsigned, false) => raw,
            (Channel::Signed, false) => signed as u32,
            (Channel::Unsigned, true) => (raw as f32 / (2 * greatest + 1) as f32).to_bits(),
            (Channel::Signed, true) => (signed as f32 / greatest as f32).max(-1.0).to_bits(),
        };
    }
    out
}

/// The texel at indices, the border where one is outside.
fn texel(
    x: &mut Exec<'_>,
    i: &Inst,
    lane: usize,
    texture: &Texture,
    at: [Option<u32>; 3],
    touched: &mut Touched,
    number: usize,
) -> Result<[u32; 4], Flow> {
    let format = texture.image.format;
    let [Some(column), Some(row), Some(slice)] = at else {
        let float = format.channel == Channel::Float || texture.as_float;
        return Ok(texture.border.map(|c| if float { c.to_bits() } else { c as i32 as u32 }));
    };
    let address = address_of(&texture.image, [column, row, slice]);
    let mut bytes = [0; 16];
    // Whole channels are what memory must be aligned to.
    let size = usize::from(format.bits / 8);
    for k in 0..usize::from(format.channels) {
        let from = lane_pointer::<GLOBAL>(x, i, lane, address + (k * size) as u64, size as u64)?;
        // SAFETY: the access was just checked; a texel has at most 16 bytes.
        unsafe { std::ptr::copy_nonoverlapping(from, bytes.as_mut_ptr().add(k * size), size) };
    }
    x.bytes_read += format.bytes();
    touched.note(lane, number, address);
    Ok(channels(bytes, format, texture.as_float))
}

/// Where one lane reads.
struct Point {
    lane: usize,
    /// Floats or integers.
    axes: [u32; 3],
    layer: Option<u32>,
}

/// The face that a direction leads to, and where on it, between 0 and 1 (CUDA C++ Programming Guide, cubemap textures).
fn face([x, y, z]: [f32; 3]) -> (u32, [f32; 2]) {
    let (face, major, s, t) = if x.abs() >= y.abs() && x.abs() >= z.abs() {
        if x >= 0.0 { (0, x, -z, -y) } else { (1, -x, z, -y) }
    } else if y.abs() >= z.abs() {
        if y >= 0.0 { (2, y, x, z) } else { (3, -y, x, -z) }
    } else if z >= 0.0 {
        (4, z, x, -y)
    } else {
        (5, -z, -x, -y)
    };
    (face, [s, t].map(|c| c / major * 0.5 + 0.5))
}

/// Faces of a cube.
const FACES: u32 = 6;

/// What one lane reads.
fn sample(
    x: &mut Exec<'_>,
    i: &Inst,
    fetch: &Fetch,
    texture: &Texture,
    point: &Point,
    touched: &mut Touched,
) -> Result<[u32; 4], Flow> {
    let Point { lane, axes: bits, layer } = *point;
    let image = &texture.image;
    let cube = fetch.at.cube;
    let axes = if cube { 2 } else { fetch.at.axes.len() };
    let extents = [image.width, image.height, image.depth];
    let normalized = cube || texture.normalized && !fetch.integer;
    let outside = |axis: usize| if cube { AddressMode::Clamp } else { texture.address[axis] };
    let index = |axis: usize, index: i64| place(index, extents[axis], outside(axis), normalized);
    // Axes that the instruction does not have are at 0, the layer stands for the last.
    let fixed = |at: [Option<u32>; 3]| match layer {
        Some(layer) => [at[0], if axes > 1 { at[1] } else { Some(0) }, Some(layer.min(image.depth - 1))],
        None => std::array::from_fn(|axis| if axis < axes { at[axis] } else { Some(0) }),
    };
    let linear = fetch.gathers.is_some() || texture.linear && !fetch.integer;
    if !linear {
        let at = std::array::from_fn(|axis| {
            let coordinate = bits[axis];
            let whole = if fetch.integer {
                i64::from(coordinate as i32)
            } else {
                nearest(f32::from_bits(coordinate), extents[axis], normalized)
            };
            index(axis, whole)
        });
        return texel(x, i, lane, texture, fixed(at), touched, 0);
    }
    let low: [(i64, f32); 3] =
        std::array::from_fn(|axis| between(f32::from_bits(bits[axis]), extents[axis], normalized));
    // Bit `axis` of a corner's number says that it is the upper one there.
    let corner = |number: usize| {
        let at = std::array::from_fn(|axis| index(axis, low[axis].0 + (number >> axis & 1) as i64));
        fixed(at)
    };
    if let Some(channel) = fetch.gathers {
        let mut out = [0; 4];
        // Counter-clockwise from the lower left, as `tld4` is defined (PTX ISA 9.7.10.2).
        for (to, number) in out.iter_mut().zip([2, 3, 1, 0]) {
            *to = texel(x, i, lane, texture, corner(number), touched, number)?[channel];
        }
        return Ok(out);
    }
    let mut sum = [0f32; 4];
    for number in 0..1 << axes {
        let weight: f32 =
            (0..axes).map(|axis| if number >> axis & 1 != 0 { low[axis].1 } else { 1.0 - low[axis].1 }).product();
        let value = texel(x, i, lane, texture, corner(number), touched, number)?;
        for (sum, value) in sum.iter_mut().zip(value) {
            *sum += weight * f32::from_bits(value);
        }
    }
    Ok(sum.map(f32::to_bits))
}

/// `tex` and `tld4`.
pub(crate) unsafe fn fetch(x: &mut Exec<'_>, i: &Inst, m: LaneMask) -> Flow {
    let kernel = x.launch.kernel;
    let fetch = &kernel.functions[x.code as usize].fetches[i.fields::<ImageAccess>().entry];
    // SAFETY: decoding gave slots of these sizes.
    let (handles, coordinates, layers) = unsafe {
        let axes: Vec<[u32; LANES]> = fetch.at.axes.iter().map(|&s| read_lanes::<u32>(x, s)).collect();
        (read_lanes::<u64>(x, fetch.at.object), axes, fetch.at.layer.map(|s| read_lanes::<u32>(x, s)))
    };
    let mut touched = Touched { addresses: [[0; LANES]; FOOTPRINT], masks: [0; FOOTPRINT] };
    let mut results = [[0; LANES]; 4];
    for lane in (0..LANES).filter(|l| m >> l & 1 != 0) {
        let Some(Object::Texture(texture)) = x.launch.memory.object(handles[lane]) else {
            return not_an_object(x, lane, handles[lane], "texture");
        };
        let axes = std::array::from_fn(|axis| coordinates.get(axis).map_or(0, |c| c[lane]));
        let mut point = Point { lane, axes, layer: layers.map(|l| l[lane]) };
        if fetch.at.cube {
            let (face, [s, t]) = face(axes.map(f32::from_bits));
            let layer = point.layer.unwrap_or(0).saturating_mul(FACES).saturating_add(face);
            point = Point { lane, axes: [s.to_bits(), t.to_bits(), 0], layer: Some(layer) };
        }
        match sample(x, i, fetch, texture, &point, &mut touched) {
            Ok(value) => (0..4).for_each(|k| results[k][lane] = value[k]),
            Err(flow) => return flow,
        }
    }
    for (&slot, lanes) in fetch.results.iter().zip(&results) {
        // SAFETY: decoding gave 32-bit destinations.
        unsafe { write_lanes::<u32>(x, slot, m, |l| lanes[l]) };
    }
    if x.sink.is_some() {
        for (mask, addresses) in touched.masks.iter().zip(&touched.addresses).filter(|(mask, _)| **mask != 0) {
            report(x, Space::Global, *mask, addresses);
        }
    }
    Flow::Next
}

/// `txq` and `suq`.
pub(crate) unsafe fn query(x: &mut Exec<'_>, i: &Inst, m: LaneMask) -> Flow {
    let ImageQuery { offset, of_surface, asked } = i.fields();
    // SAFETY: decoding gave a 64-bit slot.
    let handles = unsafe { read_lanes::<u64>(x, i.a) }.map(|h| h.wrapping_add(offset as u64));
    let mut results = [0; LANES];
    for lane in (0..LANES).filter(|l| m >> l & 1 != 0) {
        let (image, normalized) = match x.launch.memory.object(handles[lane]) {
            Some(Object::Texture(texture)) if !of_surface => (texture.image, texture.normalized),
            Some(Object::Surface(image)) if of_surface => (*image, false),
            _ => return not_an_object(x, lane, handles[lane], if of_surface { "surface" } else { "texture" }),
        };
        results[lane] = match asked {
            Query::Width => image.width,
            Query::Height => image.height,
            Query::Depth => image.depth,
            Query::Levels => 1,
            Query::Normalized => u32::from(normalized),
        };
    }
    // SAFETY: decoding gave a 32-bit destination.
    unsafe { write_lanes::<u32>(x, i.d, m, |l| results[l]) };
    Flow::Next
}
