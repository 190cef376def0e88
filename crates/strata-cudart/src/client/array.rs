//! Arrays: memory of textures and surfaces. How CUDA lays them out is nobody's business; here rows and slices follow each
//! other without gaps, and an array's handle is the address of its first texel.

use super::boundary::{In, Out};
use super::copy::{self, Extent, Position};
use super::error::{Code, Outcome};
use super::{cuda, memory, unsupported};
use crate::protocol::{Image, Region};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Bits of each channel, and the kind of all (`cudaChannelFormatDesc`).
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Channels {
    bits: [i32; 4],
    kind: u32,
}

/// `cudaChannelFormatKindSigned`, `…Unsigned`, `…Float` are 0, 1, 2; then come formats for graphics.
const LAST_PLAIN_KIND: u32 = 2;

impl Channels {
    /// An image without gaps of such texels; refused by name if no texel can be like this.
    pub(super) fn image(self, start: u64, [width, height, depth]: [u64; 3]) -> Outcome<Image> {
        let [bits, rest @ ..] = self.bits;
        let channels = 1 + rest.iter().take_while(|&&other| other == bits).count();
        let uniform = rest[channels - 1..].iter().all(|&other| other == 0);
        if self.kind > LAST_PLAIN_KIND || !uniform || !matches!(bits, 8 | 16 | 32) || channels == 3 {
            unsupported::once("a channel format that is not 1, 2 or 4 numbers of 8, 16 or 32 bits");
            return Err(Code::INVALID_CHANNELS);
        }
        let extent = |size: u64| u32::try_from(size).map_err(|_| Code::INVALID_VALUE);
        let (width, height, depth) = (extent(width)?, extent(height)?, extent(depth)?);
        let pitch = u64::from(width) * (bits as u64 / 8) * channels as u64;
        let slice = pitch.checked_mul(u64::from(height)).ok_or(Code::INVALID_VALUE)?;
        let (kind, bits, channels) = (self.kind as u8, bits as u8, channels as u8);
        Ok(Image { start, width, height, depth, pitch, slice, kind, bits, channels })
    }
}

/// An array of the program.
#[derive(Clone, Copy)]
pub(super) struct Array {
    pub(super) image: Image,
    pub(super) channels: Channels,
    /// As the program gave it: heights and depths of fewer dimensions are 0.
    extent: Extent,
    flags: u32,
}

/// `cudaArrayCubemap`: six square layers are a cube.
const CUBES: u32 = 0x04;
/// `cudaArraySparse`, `cudaArrayDeferredMapping`.
const REFUSED_FLAGS: [(u32, &str); 2] = [(0x40, "a sparse array"), (0x80, "an array that is mapped later")];

static ARRAYS: Mutex<BTreeMap<u64, Array>> = Mutex::new(BTreeMap::new());

fn arrays() -> MutexGuard<'static, BTreeMap<u64, Array>> {
    ARRAYS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The array of a handle.
pub(super) fn get(handle: u64) -> Outcome<Array> {
    arrays().get(&handle).copied().ok_or(Code::INVALID_HANDLE)
}

impl Array {
    /// Bytes of a texel.
    pub(super) fn texel(&self) -> u64 {
        u64::from(self.image.bits / 8) * u64::from(self.image.channels)
    }

    /// A block of it: `at` and `extent` in bytes, rows and slices. It must lie inside.
    pub(super) fn block(&self, at: Position, extent: Extent) -> Outcome<Region> {
        let image = &self.image;
        let inside = |at: usize, size: usize, whole: u64| {
            (at as u64)
                .checked_add(size as u64)
                .is_some_and(|end| end <= whole)
                .then_some(())
                .ok_or(Code::INVALID_VALUE)
        };
        inside(at.x, extent.width, image.pitch)?;
        inside(at.y, extent.height, u64::from(image.height))?;
        inside(at.z, extent.depth, u64::from(image.depth))?;
        Ok(Region {
            start: image.start + at.z as u64 * image.slice + at.y as u64 * image.pitch + at.x as u64,
            width: extent.width as u64,
            pitch: image.pitch,
            rows: extent.height as u64,
            slice_pitch: image.slice,
            slices: extent.depth as u64,
        })
    }

    fn plane(&self, x: usize, y: usize, width: usize, height: usize) -> Outcome<Region> {
        self.block(Position { x, y, z: 0 }, Extent { width, height, depth: 1 })
    }

    /// Bytes that follow each other across the ends of rows.
    fn line(&self, x: usize, y: usize, size: usize) -> Outcome<Region> {
        let at = (y as u64).checked_mul(self.image.pitch).and_then(|at| at.checked_add(x as u64));
        let at = at.ok_or(Code::INVALID_VALUE)?;
        if at.checked_add(size as u64).is_none_or(|end| end > self.image.slice) {
            return Err(Code::INVALID_VALUE);
        }
        Ok(Region::line(self.image.start + at, size as u64))
    }
}

fn create(handle: Out<u64>, channels: In<Channels>, extent: Extent, flags: u32) -> Outcome {
    if let Some((_, what)) = REFUSED_FLAGS.iter().find(|(flag, _)| flags & flag != 0) {
        unsupported::once(what);
        return Err(Code::NOT_SUPPORTED);
    }
    let channels = channels.get()?;
    let [width, height, depth] = [extent.width, extent.height.max(1), extent.depth.max(1)].map(|size| size as u64);
    if flags & CUBES != 0 && (width != height || !depth.is_multiple_of(6)) {
        return Err(Code::INVALID_VALUE);
    }
    let image = channels.image(0, [width, height, depth])?;
    let size = image.slice.checked_mul(depth).filter(|&size| size > 0).ok_or(Code::INVALID_VALUE)?;
    let start = memory::alloc_array(size)?;
    arrays().insert(start, Array { image: Image { start, ..image }, channels, extent, flags });
    handle.set(start)
}

/// The description of a channel format, as a value.
#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "the name is CUDA's")]
extern "C" fn cudaCreateChannelDesc(x: i32, y: i32, z: i32, w: i32, kind: u32) -> Channels {
    Channels { bits: [x, y, z, w], kind }
}

cuda! {
    /// An array of one or two dimensions.
    fn cudaMallocArray(array: Out<u64>, channels: In<Channels>, width: usize, height: usize, flags: u32) {
        create(array, channels, Extent { width, height, depth: 0 }, flags)
    }
    /// An array of up to three dimensions, or of layers.
    fn cudaMalloc3DArray(array: Out<u64>, channels: In<Channels>, extent: Extent, flags: u32) {
        create(array, channels, extent, flags)
    }
    /// Gives an array back.
    fn cudaFreeArray(array: u64) {
        if array == 0 {
            return Ok(());
        }
        arrays().remove(&array).ok_or(Code::INVALID_VALUE)?;
        memory::free(array)
    }

    /// What its texels are like.
    fn cudaGetChannelDesc(channels: Out<Channels>, array: u64) { channels.set(get(array)?.channels) }
    /// How it was made.
    fn cudaArrayGetInfo(channels: Out<Channels>, extent: Out<Extent>, flags: Out<u32>, array: u64) {
        let array = get(array)?;
        channels.set_if_wanted(array.channels);
        extent.set_if_wanted(array.extent);
        flags.set_if_wanted(array.flags);
        Ok(())
    }

    /// Copies rows to an array.
    fn cudaMemcpy2DToArray(
        to: u64, x: usize, y: usize, from: u64, pitch: usize, width: usize, height: usize, kind: u32
    ) {
        copy::copy(get(to)?.plane(x, y, width, height)?, copy::plane(from, pitch, width, height)?, kind)
    }
    /// Copies rows to an array in the order of a stream.
    fn cudaMemcpy2DToArrayAsync(
        to: u64, x: usize, y: usize, from: u64, pitch: usize, width: usize, height: usize, kind: u32, stream: u64
    ) {
        copy::copy_later(get(to)?.plane(x, y, width, height)?, copy::plane(from, pitch, width, height)?, kind, stream)
    }
    /// Copies rows from an array.
    fn cudaMemcpy2DFromArray(
        to: u64, pitch: usize, from: u64, x: usize, y: usize, width: usize, height: usize, kind: u32
    ) {
        copy::copy(copy::plane(to, pitch, width, height)?, get(from)?.plane(x, y, width, height)?, kind)
    }
    /// Copies rows from an array in the order of a stream.
    fn cudaMemcpy2DFromArrayAsync(
        to: u64, pitch: usize, from: u64, x: usize, y: usize, width: usize, height: usize, kind: u32, stream: u64
    ) {
        copy::copy_later(copy::plane(to, pitch, width, height)?, get(from)?.plane(x, y, width, height)?, kind, stream)
    }
    /// Copies rows from one array to another.
    fn cudaMemcpy2DArrayToArray(
        to: u64, to_x: usize, to_y: usize, from: u64, x: usize, y: usize, width: usize, height: usize, kind: u32
    ) {
        copy::copy(get(to)?.plane(to_x, to_y, width, height)?, get(from)?.plane(x, y, width, height)?, kind)
    }

    /// Copies bytes to an array, row after row.
    fn cudaMemcpyToArray(to: u64, x: usize, y: usize, from: u64, size: usize, kind: u32) {
        copy::copy(get(to)?.line(x, y, size)?, Region::line(from, size as u64), kind)
    }
    /// Copies bytes to an array, in the order of a stream.
    fn cudaMemcpyToArrayAsync(to: u64, x: usize, y: usize, from: u64, size: usize, kind: u32, stream: u64) {
        copy::copy_later(get(to)?.line(x, y, size)?, Region::line(from, size as u64), kind, stream)
    }
    /// Copies bytes from an array, row after row.
    fn cudaMemcpyFromArray(to: u64, from: u64, x: usize, y: usize, size: usize, kind: u32) {
        copy::copy(Region::line(to, size as u64), get(from)?.line(x, y, size)?, kind)
    }
    /// Copies bytes from an array, in the order of a stream.
    fn cudaMemcpyFromArrayAsync(to: u64, from: u64, x: usize, y: usize, size: usize, kind: u32, stream: u64) {
        copy::copy_later(Region::line(to, size as u64), get(from)?.line(x, y, size)?, kind, stream)
    }
    /// Copies bytes from one array to another, row after row.
    fn cudaMemcpyArrayToArray(to: u64, to_x: usize, to_y: usize, from: u64, x: usize, y: usize, size: usize, kind: u32) {
        copy::copy(get(to)?.line(to_x, to_y, size)?, get(from)?.line(x, y, size)?, kind)
    }
}
