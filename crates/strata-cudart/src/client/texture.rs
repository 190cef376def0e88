//! Texture and surface objects: how a kernel reads arrays, pitched and linear memory.

use super::array::{self, Channels};
use super::boundary::{In, Out};
use super::error::{Code, Outcome};
use super::{cuda, server, unsupported};
use crate::protocol::{Image, Request, Sampling};

/// What a texture reads (`cudaResourceDesc`), as far as all versions of CUDA have it.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Resource {
    kind: u32,
    /// An array's handle, or the first byte of memory.
    start: u64,
    channels: Channels,
    /// Bytes of linear memory, or texels of a row of pitched memory.
    size: u64,
    height: u64,
    pitch: u64,
}

/// `cudaResourceType`.
const ARRAY: u32 = 0;
const LINEAR: u32 = 2;
const PITCHED: u32 = 3;

/// How a texture is read (`cudaTextureDesc`), without what is about mipmaps.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Description {
    address: [u32; 3],
    linear: u32,
    as_float: u32,
    srgb: u32,
    border: [u32; 4],
    normalized: u32,
}

pub(super) fn refuse<T>(what: &'static str) -> Outcome<T> {
    unsupported::once(what);
    Err(Code::NOT_SUPPORTED)
}

/// Linear memory is read by number: modes do not count, and outside it is nothing but zeros.
pub(super) const LINEAR_SAMPLING: Sampling =
    Sampling { address: [BORDER; 3], linear: false, normalized: false, as_float: false, border: [0; 4] };

/// `cudaAddressModeBorder`.
const BORDER: u32 = 3;

fn image(resource: &Resource) -> Outcome<Image> {
    match resource.kind {
        ARRAY => Ok(array::get(resource.start)?.image),
        LINEAR => {
            let texel = resource.channels.image(resource.start, [1, 1, 1])?.pitch;
            resource.channels.image(resource.start, [resource.size / texel, 1, 1])
        }
        PITCHED => {
            let image = resource.channels.image(resource.start, [resource.size, resource.height, 1])?;
            let slice = resource.pitch.checked_mul(resource.height).ok_or(Code::INVALID_VALUE)?;
            Ok(Image { pitch: resource.pitch, slice, ..image })
        }
        _ => refuse("a texture of a mipmapped array (make one of a single level)"),
    }
}

fn create(handle: Out<u64>, resource: In<Resource>, how: In<Description>, view: u64) -> Outcome {
    let (resource, how) = (resource.get()?, how.get()?);
    let image = image(&resource)?;
    if view != 0 {
        return refuse("a resource view of a texture (describe the resource itself)");
    }
    if how.srgb != 0 {
        return refuse("a texture with sRGB conversion");
    }
    let as_float = how.as_float != 0;
    let sampling = if resource.kind == LINEAR {
        Sampling { as_float, ..LINEAR_SAMPLING }
    } else {
        let (address, border) = (how.address, how.border);
        Sampling { address, linear: how.linear != 0, normalized: how.normalized != 0, as_float, border }
    };
    handle.set(server::number(&Request::CreateTexture { image, sampling })?)
}

cuda! {
    /// Makes a texture that reads an array or linear memory.
    fn cudaCreateTextureObject(texture: Out<u64>, resource: In<Resource>, how: In<Description>, view: u64) {
        create(texture, resource, how, view)
    }
    /// Forgets a texture.
    fn cudaDestroyTextureObject(texture: u64) { server::demand(&Request::DestroyObject { handle: texture }) }

    /// Makes a surface that reads and writes an array.
    fn cudaCreateSurfaceObject(surface: Out<u64>, resource: In<Resource>) {
        let resource = resource.get()?;
        if resource.kind != ARRAY {
            return Err(Code::INVALID_VALUE);
        }
        surface.set(server::number(&Request::CreateSurface { image: image(&resource)? })?)
    }
    /// Forgets a surface.
    fn cudaDestroySurfaceObject(surface: u64) { server::demand(&Request::DestroyObject { handle: surface }) }
}
