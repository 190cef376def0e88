//! Textures and surfaces that vectors name by their handles, [`OBJECT_BASE`](strata_emu::OBJECT_BASE) and up.
//!
//! Images have 4 x 4 x 2 texels, but for the canvas and the cube; `v` is `1 + x + 4 y + 16 z`.

use strata_core::AddressMode::{Border, Mirror, Wrap};
use strata_core::{Addr, Bytes, Channel, Format, Image, Texture};
use strata_emu::{Memory, MemoryError};

/// An image whose texel number `v` is `texel(v)`.
fn image(memory: &mut Memory, format: Format, texel: impl Fn(u8) -> Vec<u8>) -> Result<Image, MemoryError> {
    let bytes: Vec<u8> = (1..=32).flat_map(texel).collect();
    let start = memory.alloc(Bytes(bytes.len() as u64), false, "image")?.start;
    memory.write(start, &bytes)?;
    Ok(Image::packed(start, [4, 4, 2], format))
}

/// Makes them, in the order of their handles.
pub(crate) fn create(memory: &mut Memory) -> Result<(), MemoryError> {
    let format = |channel, bits, channels| Format { channel, bits, channels };
    let floats = image(memory, format(Channel::Float, 32, 1), |v| f32::from(v).to_le_bytes().to_vec())?;
    let shorts = image(memory, format(Channel::Signed, 16, 2), |v| {
        [-i16::from(v), i16::from(v)].iter().flat_map(|c| c.to_le_bytes()).collect()
    })?;
    let bytes = image(memory, format(Channel::Unsigned, 8, 4), |v| (0..4).map(|c| v * 4 + c).collect())?;
    let small = image(memory, format(Channel::Unsigned, 8, 1), |v| vec![v])?;
    let signed = image(memory, format(Channel::Signed, 8, 1), |v| vec![v.wrapping_mul(8)])?;
    let halves = image(memory, format(Channel::Float, 16, 4), |v| {
        let v = f32::from(v);
        [v, -v, v / 2.0, 0.0].iter().flat_map(|&c| half::f16::from_f32(c).to_le_bytes()).collect()
    })?;
    let plain = Texture::new(floats);
    let textures = [
        plain,
        Texture { linear: true, ..plain },
        Texture { normalized: true, address: [Wrap; 3], ..plain },
        Texture { normalized: true, linear: true, address: [Mirror; 3], ..plain },
        Texture { linear: true, address: [Border; 3], border: [-1.0; 4], ..plain },
        Texture::new(shorts),
        Texture { as_float: true, linear: true, normalized: true, address: [Wrap; 3], ..Texture::new(bytes) },
        Texture::new(halves),
        Texture { address: [Border; 3], border: [9.0; 4], ..Texture::new(small) },
        Texture { as_float: true, ..Texture::new(signed) },
    ];
    for texture in &textures {
        memory.create_texture(texture)?;
    }
    memory.create_surface(&floats)?;
    // To be written: 64 bytes, 32 rows, 2 slices.
    let start: Addr = memory.alloc(Bytes(64 * 32 * 2), false, "canvas")?.start;
    memory.fill(start, Bytes(64 * 32 * 2), 0)?;
    memory.create_surface(&Image::packed(start, [64, 32, 2], format(Channel::Unsigned, 8, 1)))?;
    // A cube: six layers, the floats `1 + x + 4 y + 16 face`.
    let faces: Vec<u8> = (1..=96u8).flat_map(|v| f32::from(v).to_le_bytes()).collect();
    let start = memory.alloc(Bytes(faces.len() as u64), false, "cube")?.start;
    memory.write(start, &faces)?;
    let cube = Texture::new(Image::packed(start, [4, 4, 6], format(Channel::Float, 32, 1)));
    memory.create_texture(&cube)?;
    memory.create_texture(&Texture { linear: true, ..cube })?;
    Ok(())
}
