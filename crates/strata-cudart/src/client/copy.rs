//! Copies and memsets in one, two and three dimensions, and to and from symbols.
//!
//! All of them are one thing: a [`Region`] on either side. Which side an address is on, its value says (unified addressing);
//! the `kind` that a program gives is only held against it where it claims a device address that is none.

use super::boundary::{self, In};
use super::error::{Code, Outcome};
use super::graph::Kind;
use super::memory::{Pitched, Side, side};
use super::{array, cuda, device, registry, server, stream};
use crate::protocol::{Region, Request};

/// Width in bytes, height in rows, depth in slices (`cudaExtent`).
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Extent {
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) depth: usize,
}

/// A position (`cudaPos`): bytes, rows, slices.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Position {
    pub(super) x: usize,
    pub(super) y: usize,
    pub(super) z: usize,
}

/// A copy in three dimensions (`cudaMemcpy3DParms`).
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Copy3D {
    from_array: u64,
    from_position: Position,
    from: Pitched,
    to_array: u64,
    to_position: Position,
    to: Pitched,
    extent: Extent,
    kind: u32,
}

impl Copy3D {
    pub(super) fn kind(&self) -> u32 {
        self.kind
    }
}

/// Kinds of copies (`cudaMemcpyKind`).
const HOST_TO_DEVICE: u32 = 1;
const DEVICE_TO_HOST: u32 = 2;
const DEVICE_TO_DEVICE: u32 = 3;
const DEFAULT: u32 = 4;

/// The pieces of a region, which must fit into the address space.
fn pieces(region: &Region) -> Outcome<impl Iterator<Item = (u64, u64)> + use<>> {
    region.pieces().ok_or(Code::INVALID_VALUE)
}

pub(super) fn copy(to: Region, from: Region, kind: u32) -> Outcome {
    if kind > DEFAULT {
        return Err(Code::INVALID_DIRECTION);
    }
    if to.bytes().ok_or(Code::INVALID_VALUE)? == 0 {
        return Ok(());
    }
    if to.start == 0 || from.start == 0 {
        return Err(Code::INVALID_VALUE);
    }
    device::show_printed()?;
    let (to_side, from_side) = (side(to.start)?, side(from.start)?);
    let claims = [
        (matches!(kind, HOST_TO_DEVICE | DEVICE_TO_DEVICE), to_side, to.start, "to"),
        (matches!(kind, DEVICE_TO_HOST | DEVICE_TO_DEVICE), from_side, from.start, "from"),
    ];
    for (claimed, side, address, which) in claims {
        // Pinned memory is both.
        if claimed && side == Side::Host && !server::layout()?.is_shared(address) {
            super::error::say(&format!("a copy {which} device memory names {address:#x}, which is the host's"));
            return Err(Code::INVALID_VALUE);
        }
    }
    match (from_side, to_side) {
        (Side::Host, Side::Host) => {
            rows(to, from).for_each(|(to_row, from_row)| boundary::move_bytes(to_row, from_row, to.width));
            Ok(())
        }
        (Side::Host, _) => {
            let data = pieces(&from)?.map(|(start, size)| boundary::bytes(start, size));
            server::ask_with(&Request::CopyIn { to }, data)
        }
        (_, Side::Host) => {
            let data = pieces(&to)?.map(|(start, size)| boundary::bytes_mut(start, size));
            server::ask_for(&Request::CopyOut { from }, data)
        }
        _ => server::demand(&Request::CopyOn { to, from }),
    }
}

/// The rows of two regions of the same shape, side by side.
fn rows(to: Region, from: Region) -> impl Iterator<Item = (u64, u64)> {
    let at = |region: Region, slice: u64, row: u64| {
        region.start.wrapping_add(slice.wrapping_mul(region.slice_pitch)).wrapping_add(row.wrapping_mul(region.pitch))
    };
    let row = move |slice, row| (at(to, slice, row), at(from, slice, row));
    (0..to.slices).flat_map(move |slice| (0..to.rows).map(move |k| row(slice, k)))
}

fn line(start: u64, size: usize) -> Region {
    Region::line(start, size as u64)
}

pub(super) fn plane(start: u64, pitch: usize, width: usize, height: usize) -> Outcome<Region> {
    if pitch < width && height > 1 {
        return Err(Code::INVALID_PITCH);
    }
    let (pitch, rows) = (pitch as u64, height as u64);
    Ok(Region { start, width: width as u64, pitch, rows, slice_pitch: pitch.saturating_mul(rows), slices: 1 })
}

pub(super) fn copy_later(to: Region, from: Region, kind: u32, stream: u64) -> Outcome {
    stream::submit(stream, Kind::Copy, move || copy(to, from, kind))
}

/// A block of memory with gaps.
fn solid(at: Position, memory: Pitched, extent: Extent) -> Outcome<Region> {
    let slice_pitch = (memory.pitch as u64).checked_mul(memory.height as u64).ok_or(Code::INVALID_VALUE)?;
    let inside = |count: usize, size: u64| (count as u64).checked_mul(size);
    let offset = inside(at.z, slice_pitch).zip(inside(at.y, memory.pitch as u64));
    let start = offset.and_then(|(z, y)| memory.start.checked_add(z)?.checked_add(y)?.checked_add(at.x as u64));
    Ok(Region {
        start: start.ok_or(Code::INVALID_VALUE)?,
        width: extent.width as u64,
        pitch: memory.pitch as u64,
        rows: extent.height as u64,
        slice_pitch,
        slices: extent.depth as u64,
    })
}

/// Both sides of a copy in three dimensions. Its width is in texels if an array is one of them, and so is the place in an array.
pub(super) fn copy_3d(params: &Copy3D) -> Outcome<(Region, Region)> {
    let array = |handle: u64| if handle == 0 { Ok(None) } else { array::get(handle).map(Some) };
    let (to, from) = (array(params.to_array)?, array(params.from_array)?);
    let texel = to.as_ref().or(from.as_ref()).map_or(1, array::Array::texel) as usize;
    let width = params.extent.width.checked_mul(texel).ok_or(Code::INVALID_VALUE)?;
    let extent = Extent { width, ..params.extent };
    let side = |array: Option<array::Array>, at: Position, memory: Pitched| match array {
        Some(array) => {
            let x = at.x.checked_mul(array.texel() as usize).ok_or(Code::INVALID_VALUE)?;
            array.block(Position { x, ..at }, extent)
        }
        None => solid(at, memory, extent),
    };
    Ok((side(to, params.to_position, params.to)?, side(from, params.from_position, params.from)?))
}

pub(super) fn set(to: Region, value: i32) -> Outcome {
    if to.bytes().ok_or(Code::INVALID_VALUE)? == 0 {
        return Ok(());
    }
    if side(to.start)? == Side::Host && server::layout()?.is_shared(to.start) {
        pieces(&to)?.for_each(|(start, size)| boundary::bytes_mut(start, size).fill(value as u8));
        return Ok(());
    }
    server::demand(&Request::Memset { to, byte: value as u8 })
}

fn set_later(to: Region, value: i32, stream: u64) -> Outcome {
    stream::submit(stream, Kind::Set, move || set(to, value))
}

fn block(memory: Pitched, extent: Extent) -> Outcome<Region> {
    solid(Position { x: 0, y: 0, z: 0 }, memory, extent)
}

/// A part of a variable.
fn symbol(host: u64, size: usize, offset: usize) -> Outcome<Region> {
    let (start, whole) = registry::variable(host)?;
    match (size as u64).checked_add(offset as u64) {
        Some(end) if end <= whole => Ok(line(start + offset as u64, size)),
        _ => Err(Code::INVALID_VALUE),
    }
}

cuda! {
    /// Copies between host and device; returns when the copy is done.
    fn cudaMemcpy(to: u64, from: u64, size: usize, kind: u32) { copy(line(to, size), line(from, size), kind) }
    /// Copies in the order of a stream.
    fn cudaMemcpyAsync(to: u64, from: u64, size: usize, kind: u32, stream: u64) {
        copy_later(line(to, size), line(from, size), kind, stream)
    }
    /// Copies between devices, of which there is one.
    fn cudaMemcpyPeer(to: u64, _to_device: i32, from: u64, _from_device: i32, size: usize) {
        copy(line(to, size), line(from, size), DEFAULT)
    }
    /// Copies between devices, of which there is one.
    fn cudaMemcpyPeerAsync(to: u64, _to_device: i32, from: u64, _from_device: i32, size: usize, stream: u64) {
        copy_later(line(to, size), line(from, size), DEFAULT, stream)
    }

    /// Copies rows.
    fn cudaMemcpy2D(to: u64, to_pitch: usize, from: u64, from_pitch: usize, width: usize, height: usize, kind: u32) {
        copy(plane(to, to_pitch, width, height)?, plane(from, from_pitch, width, height)?, kind)
    }
    /// Copies rows in the order of a stream.
    fn cudaMemcpy2DAsync(
        to: u64, to_pitch: usize, from: u64, from_pitch: usize, width: usize, height: usize, kind: u32, stream: u64
    ) {
        copy_later(plane(to, to_pitch, width, height)?, plane(from, from_pitch, width, height)?, kind, stream)
    }

    /// Copies slices of rows.
    fn cudaMemcpy3D(params: In<Copy3D>) {
        let params = params.get()?;
        let (to, from) = copy_3d(&params)?;
        copy(to, from, params.kind)
    }
    /// Copies slices of rows in the order of a stream.
    fn cudaMemcpy3DAsync(params: In<Copy3D>, stream: u64) {
        let params = params.get()?;
        let (to, from) = copy_3d(&params)?;
        copy_later(to, from, params.kind, stream)
    }

    /// Copies to a variable.
    fn cudaMemcpyToSymbol(symbol: u64, from: u64, size: usize, offset: usize, kind: u32) {
        copy(self::symbol(symbol, size, offset)?, line(from, size), kind)
    }
    /// Copies to a variable in the order of a stream.
    fn cudaMemcpyToSymbolAsync(symbol: u64, from: u64, size: usize, offset: usize, kind: u32, stream: u64) {
        copy_later(self::symbol(symbol, size, offset)?, line(from, size), kind, stream)
    }
    /// Copies from a variable.
    fn cudaMemcpyFromSymbol(to: u64, symbol: u64, size: usize, offset: usize, kind: u32) {
        copy(line(to, size), self::symbol(symbol, size, offset)?, kind)
    }
    /// Copies from a variable in the order of a stream.
    fn cudaMemcpyFromSymbolAsync(to: u64, symbol: u64, size: usize, offset: usize, kind: u32, stream: u64) {
        copy_later(line(to, size), self::symbol(symbol, size, offset)?, kind, stream)
    }

    /// Sets bytes.
    fn cudaMemset(to: u64, value: i32, size: usize) { set(line(to, size), value) }
    /// Sets bytes in the order of a stream.
    fn cudaMemsetAsync(to: u64, value: i32, size: usize, stream: u64) { set_later(line(to, size), value, stream) }
    /// Sets rows.
    fn cudaMemset2D(to: u64, pitch: usize, value: i32, width: usize, height: usize) {
        set(plane(to, pitch, width, height)?, value)
    }
    /// Sets rows in the order of a stream.
    fn cudaMemset2DAsync(to: u64, pitch: usize, value: i32, width: usize, height: usize, stream: u64) {
        set_later(plane(to, pitch, width, height)?, value, stream)
    }
    /// Sets slices of rows.
    fn cudaMemset3D(memory: Pitched, value: i32, extent: Extent) { set(block(memory, extent)?, value) }
    /// Sets slices of rows in the order of a stream.
    fn cudaMemset3DAsync(memory: Pitched, value: i32, extent: Extent, stream: u64) {
        set_later(block(memory, extent)?, value, stream)
    }
}
