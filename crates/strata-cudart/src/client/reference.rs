//! Texture and surface references: how CUDA programs of before version 12 name what a kernel reads.
//!
//! A reference is a variable of the module that holds the handle of a texture or surface object. Binding it makes the object,
//! as the host's variable describes it at that moment, and puts its handle there.

use super::array::{self, Channels};
use super::boundary::{In, Out, Text};
use super::error::{Code, Outcome};
use super::texture::{LINEAR_SAMPLING, refuse};
use super::{cuda, registry, server};
use crate::protocol::{Image, Request, Sampling};
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::sync::{Mutex, PoisonError};

/// The host's side of a reference (`textureReference`), without what is about mipmaps.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Description {
    normalized: i32,
    linear: u32,
    address: [u32; 3],
    channels: Channels,
    srgb: i32,
}

/// What is known of the reference of a host variable.
#[derive(Clone, Copy, Default)]
struct Reference {
    /// Integers are read as floats between 0 and 1.
    as_float: bool,
    /// The object that it is bound to, or 0.
    object: u64,
}

static REFERENCES: Mutex<BTreeMap<u64, Reference>> = Mutex::new(BTreeMap::new());

fn with<T>(use_them: impl FnOnce(&mut BTreeMap<u64, Reference>) -> T) -> T {
    use_them(&mut REFERENCES.lock().unwrap_or_else(PoisonError::into_inner))
}

/// References are registered by the name that the source has for them, `::t` or `::space::t`; in the module they have that of the
/// linker (Itanium C++ ABI, 5.1.4: nested names).
fn linked_name(source: &str) -> String {
    let parts: Vec<&str> = source.split("::").filter(|part| !part.is_empty()).collect();
    if let [name] = parts[..] {
        return name.to_owned();
    }
    let nested: Vec<String> = parts.iter().map(|part| format!("{}{part}", part.len())).collect();
    format!("_ZN{}E", nested.concat())
}

fn register(module: u64, host: u64, name: Text, as_float: bool) {
    registry::register_variable(module, host, &linked_name(&name.read()));
    with(|references| references.insert(host, Reference { as_float, object: 0 }));
}

/// A host variable stands for a texture reference of the device.
#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "the name is CUDA's")]
extern "C" fn __cudaRegisterTexture(
    module: u64,
    host: u64,
    _device: u64,
    name: Text,
    _dimensions: c_int,
    as_float: c_int,
    _external: c_int,
) {
    register(module, host, name, as_float != 0);
}

/// A host variable stands for a surface reference of the device.
#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "the name is CUDA's")]
extern "C" fn __cudaRegisterSurface(
    module: u64,
    host: u64,
    _device: u64,
    name: Text,
    _dimensions: c_int,
    _external: c_int,
) {
    register(module, host, name, false);
}

/// Puts an object into a reference, and forgets the one that was there.
fn bind(host: u64, object: u64) -> Outcome {
    let (place, _) = registry::variable(host)?;
    server::demand(&Request::Bind { reference: place, handle: object })?;
    let before = with(|references| std::mem::replace(&mut references.entry(host).or_default().object, object));
    if before == 0 { Ok(()) } else { server::demand(&Request::DestroyObject { handle: before }) }
}

/// Binds a texture reference to an image, read as the host's variable says unless `sampling` does.
fn bind_texture(host: In<Description>, image: Image, sampling: Option<Sampling>) -> Outcome {
    let how = host.get()?;
    if how.srgb != 0 {
        return refuse("a texture with sRGB conversion");
    }
    let as_float =
        with(|references| references.get(&host.address()).map(|r| r.as_float)).ok_or(Code::INVALID_TEXTURE)?;
    let sampling = Sampling {
        as_float,
        ..sampling.unwrap_or(Sampling {
            address: how.address,
            linear: how.linear != 0,
            normalized: how.normalized != 0,
            as_float,
            border: [0; 4],
        })
    };
    bind(host.address(), server::number(&Request::CreateTexture { image, sampling })?)
}

cuda! {
    /// Binds a texture reference to linear memory: as much of it as there is, and no more than `size`.
    fn cudaBindTexture(offset: Out<usize>, texture: In<Description>, start: u64, channels: In<Channels>, size: usize) {
        let channels = channels.get()?;
        let texel = channels.image(start, [1, 1, 1])?.pitch;
        let room = server::number(&Request::Room { start })?;
        offset.set_if_wanted(0);
        bind_texture(texture, channels.image(start, [room.min(size as u64) / texel, 1, 1])?, Some(LINEAR_SAMPLING))
    }

    /// Binds a texture reference to pitched memory.
    fn cudaBindTexture2D(
        offset: Out<usize>, texture: In<Description>, start: u64, channels: In<Channels>, width: usize, height: usize, pitch: usize,
    ) {
        let image = channels.get()?.image(start, [width as u64, height as u64, 1])?;
        let slice = (pitch as u64).checked_mul(height as u64).ok_or(Code::INVALID_VALUE)?;
        offset.set_if_wanted(0);
        bind_texture(texture, Image { pitch: pitch as u64, slice, ..image }, None)
    }

    /// Binds a texture reference to an array, whose own channels count.
    fn cudaBindTextureToArray(texture: In<Description>, array: u64, _channels: u64) {
        bind_texture(texture, array::get(array)?.image, None)
    }

    /// A texture reference is bound to nothing.
    fn cudaUnbindTexture(texture: u64) {
        if with(|references| references.contains_key(&texture)) { bind(texture, 0) } else { Err(Code::INVALID_TEXTURE) }
    }

    /// Binds a surface reference to an array.
    fn cudaBindSurfaceToArray(surface: u64, array: u64, _channels: u64) {
        if !with(|references| references.contains_key(&surface)) {
            return Err(Code::INVALID_SURFACE);
        }
        bind(surface, server::number(&Request::CreateSurface { image: array::get(array)?.image })?)
    }

    /// Memory is bound where it begins.
    fn cudaGetTextureAlignmentOffset(offset: Out<usize>, _texture: u64) { offset.set(0) }

    /// The reference of a symbol is the host's variable.
    fn cudaGetTextureReference(texture: Out<u64>, symbol: u64) {
        registry::variable(symbol)?;
        texture.set(symbol)
    }

    /// The same for surfaces.
    fn cudaGetSurfaceReference(surface: Out<u64>, symbol: u64) {
        registry::variable(symbol)?;
        surface.set(symbol)
    }
}

#[cfg(test)]
mod tests {
    use super::linked_name;

    #[test]
    fn references_are_found_by_the_name_of_the_linker() {
        assert_eq!(["t", "::t", "::space::t"].map(linked_name), ["t", "t", "_ZN5space1tE"]);
    }
}
