//! Images in device memory, and how textures read them: what a host describes and an emulator samples.
//!
//! An image is plain memory with a pitch: CUDA's arrays, whose layout is opaque, are laid out so here. What `cudaArray`s,
//! pitched and linear memory become is the host's decision.

use crate::addr::{Addr, Bytes};

/// What a channel of a texel is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Channel {
    /// Unsigned integer.
    Unsigned,
    /// Signed integer.
    Signed,
    /// Floating point, of 16 or 32 bits.
    Float,
}

/// What a texel is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Format {
    /// The kind of its channels.
    pub channel: Channel,
    /// Bits of a channel: 8, 16 or 32.
    pub bits: u8,
    /// Channels: 1, 2 or 4.
    pub channels: u8,
}

impl Format {
    /// Bytes of a texel.
    pub fn bytes(self) -> u64 {
        u64::from(self.bits / 8) * u64::from(self.channels)
    }
}

/// Texels in device memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Image {
    /// The first texel.
    pub start: Addr,
    /// Texels of a row.
    pub width: u32,
    /// Rows; 1 if one-dimensional.
    pub height: u32,
    /// Slices of a volume, or layers; 1 if it has neither.
    pub depth: u32,
    /// Bytes from one row to the next.
    pub pitch: u64,
    /// Bytes from one slice or layer to the next.
    pub slice: u64,
    /// What a texel is.
    pub format: Format,
}

impl Image {
    /// An image without gaps.
    pub fn packed(start: Addr, [width, height, depth]: [u32; 3], format: Format) -> Self {
        let pitch = u64::from(width) * format.bytes();
        Self { start, width, height, depth, pitch, slice: pitch * u64::from(height), format }
    }

    /// The bytes from its first to its last texel; what is wrong with it otherwise.
    pub fn bytes(&self) -> Result<Bytes, String> {
        let Format { channel, bits, channels } = self.format;
        let known =
            matches!(bits, 8 | 16 | 32) && matches!(channels, 1 | 2 | 4) && (channel, bits) != (Channel::Float, 8);
        if !known {
            return Err(format!("texels of {channels} channels of {bits} bits are not supported"));
        }
        let texel = self.format.bytes();
        if self.width == 0 || self.height == 0 || self.depth == 0 {
            return Err(format!("an extent of {}x{}x{} has no texels", self.width, self.height, self.depth));
        }
        if !self.start.0.is_multiple_of(texel) || !self.pitch.is_multiple_of(texel) || !self.slice.is_multiple_of(texel)
        {
            return Err(format!("start, pitch and slice are multiples of the {texel} bytes of a texel"));
        }
        let span = |count: u32, step: u64| step.checked_mul(u64::from(count - 1));
        let last = span(self.height, self.pitch).zip(span(self.depth, self.slice)).and_then(|(a, b)| a.checked_add(b));
        let total = last.and_then(|at| at.checked_add(u64::from(self.width) * texel));
        total.map(Bytes).ok_or_else(|| "the image is larger than memory".into())
    }
}

/// What is read outside an image.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum AddressMode {
    /// The image again; with normalised coordinates only, otherwise [`Clamp`](Self::Clamp).
    Wrap,
    /// The nearest texel.
    #[default]
    Clamp,
    /// The image mirrored; with normalised coordinates only, otherwise [`Clamp`](Self::Clamp).
    Mirror,
    /// The border colour.
    Border,
}

/// An image and how it is sampled: a CUDA texture object.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Texture {
    /// The texels.
    pub image: Image,
    /// What is read outside, by axis.
    pub address: [AddressMode; 3],
    /// Interpolates between neighbours instead of taking the texel that the coordinates are in.
    pub linear: bool,
    /// Coordinates go from 0 to 1, not to the extent.
    pub normalized: bool,
    /// Integer channels are read as numbers from 0 (or -1) to 1.
    pub as_float: bool,
    /// What is outside under [`AddressMode::Border`].
    pub border: [f32; 4],
}

impl Texture {
    /// Nearest texels, clamped, coordinates in texels: as `cudaTextureDesc` is when it is zeroed, but for the address mode.
    pub fn new(image: Image) -> Self {
        let (address, border) = ([AddressMode::Clamp; 3], [0.0; 4]);
        Self { image, address, linear: false, normalized: false, as_float: false, border }
    }

    /// What is wrong with it, if anything is.
    pub fn check(&self) -> Result<Bytes, String> {
        let bytes = self.image.bytes()?;
        let Format { channel, bits, .. } = self.image.format;
        if self.as_float && channel != Channel::Float && bits == 32 {
            return Err("only integers of 8 and 16 bits are read as normalised floats".into());
        }
        if self.linear && channel != Channel::Float && !self.as_float {
            return Err("integers are not interpolated; read them as normalised floats".into());
        }
        Ok(bytes)
    }
}
