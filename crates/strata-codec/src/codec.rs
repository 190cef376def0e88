//! The codecs by name, what is stored of an entry, and how to get the entry back.

use crate::bits::{BitReader, BitWriter};
use crate::codes::{Bdi, Bpc, CPack, Fibonacci, Fpc, Malformed, Mpc, ZeroValue};
use crate::{ENTRY_BYTES, Entry, Size, cpu};
use std::fmt;
use std::str::FromStr;

/// A compressor of entries, as the papers compare them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Codec {
    /// Bit-Plane Compression.
    Bpc,
    /// Base-Delta-Immediate.
    Bdi,
    /// Frequent Pattern Compression.
    Fpc,
    /// The better of BDI and FPC, entry by entry.
    BdiFpc,
    /// C-Pack: a small dictionary.
    CPack,
    /// Words that are not zero.
    ZeroValue,
    /// Differences in Fibonacci code.
    Fibonacci,
    /// Massively Parallel Compression.
    Mpc,
}

impl Codec {
    /// All codecs, in the order in which tables list them.
    pub const ALL: [Self; 8] =
        [Self::Bpc, Self::Bdi, Self::Fpc, Self::BdiFpc, Self::CPack, Self::ZeroValue, Self::Fibonacci, Self::Mpc];

    /// The name that people type and results carry; [`FromStr`] reads it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bpc => "bpc",
            Self::Bdi => "bdi",
            Self::Fpc => "fpc",
            Self::BdiFpc => "bdi+fpc",
            Self::CPack => "c-pack",
            Self::ZeroValue => "zero-value",
            Self::Fibonacci => "fibonacci",
            Self::Mpc => "mpc",
        }
    }

    /// How much of a memory the entry takes.
    #[inline]
    pub fn size(self, entry: &Entry) -> Size {
        self.choose(entry).1
    }

    /// What is stored of the entry.
    pub fn encode(self, entry: &Entry) -> Encoded {
        let (form, size) = self.choose(entry);
        let bytes = match form {
            Form::Zero => [0; ENTRY_BYTES],
            // The repeated value is how the entry begins.
            Form::Repeated | Form::Raw => *entry,
            Form::Coded(scheme) => {
                let mut code = BitWriter::new();
                scheme.write(entry, &mut code);
                debug_assert_eq!(code.written() as u32, size.bits(), "{scheme:?} of {entry:?}");
                code.finish()
            }
        };
        Encoded { form, size, bytes }
    }

    /// The form that takes least, and its size.
    #[inline]
    fn choose(self, entry: &Entry) -> (Form, Size) {
        let coded = |scheme: Scheme| {
            let size = Size::of_code(scheme.bits(entry));
            match size {
                Size::ZERO => (Form::Zero, size),
                Size::RAW => (Form::Raw, size),
                _ => (Form::Coded(scheme), size),
            }
        };
        let repeated_or_bdi = || match coded(Scheme::Bdi) {
            (Form::Zero, size) => (Form::Zero, size),
            _ if is_repeated(entry) => (Form::Repeated, Size::of_code(u64::BITS)),
            bdi => bdi,
        };
        match self {
            Self::Bpc => coded(Scheme::Bpc),
            Self::Bdi => repeated_or_bdi(),
            Self::Fpc => coded(Scheme::Fpc),
            Self::BdiFpc => {
                let (bdi, fpc) = (repeated_or_bdi(), coded(Scheme::Fpc));
                if fpc.1 < bdi.1 { fpc } else { bdi }
            }
            Self::CPack => coded(Scheme::CPack),
            Self::ZeroValue => coded(Scheme::ZeroValue),
            Self::Fibonacci => coded(Scheme::Fibonacci),
            Self::Mpc => coded(Scheme::Mpc),
        }
    }
}

/// Whether the entry is one 8-byte value, repeated.
#[inline]
fn is_repeated(entry: &Entry) -> bool {
    let (values, _) = entry.as_chunks::<8>();
    values.iter().all(|value| *value == values[0])
}

impl fmt::Display for Codec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Codec {
    type Err = UnknownCodec;

    fn from_str(name: &str) -> Result<Self, UnknownCodec> {
        Self::ALL.into_iter().find(|codec| codec.name() == name).ok_or_else(|| UnknownCodec { name: name.to_owned() })
    }
}

/// A name that no codec has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no codec `{name}`; there are {}", Codec::ALL.map(Codec::name).join(", "))]
pub struct UnknownCodec {
    /// The name that was given.
    pub name: String,
}

/// The codes that stand behind the codecs: what the bits of a coded entry mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scheme {
    /// Bit-Plane Compression.
    Bpc,
    /// Base-Delta-Immediate.
    Bdi,
    /// Frequent Pattern Compression.
    Fpc,
    /// C-Pack.
    CPack,
    /// Words that are not zero.
    ZeroValue,
    /// Differences in Fibonacci code.
    Fibonacci,
    /// Massively Parallel Compression.
    Mpc,
}

impl Scheme {
    /// All codes.
    pub const ALL: [Self; 7] =
        [Self::Bpc, Self::Bdi, Self::Fpc, Self::CPack, Self::ZeroValue, Self::Fibonacci, Self::Mpc];

    #[inline]
    fn bits(self, entry: &Entry) -> u32 {
        match self {
            Self::Bpc => cpu::bits::<Bpc>(entry),
            Self::Bdi => cpu::bits::<Bdi>(entry),
            Self::Fpc => cpu::bits::<Fpc>(entry),
            Self::CPack => cpu::bits::<CPack>(entry),
            Self::ZeroValue => cpu::bits::<ZeroValue>(entry),
            Self::Fibonacci => cpu::bits::<Fibonacci>(entry),
            Self::Mpc => cpu::bits::<Mpc>(entry),
        }
    }

    fn write(self, entry: &Entry, out: &mut BitWriter) {
        match self {
            Self::Bpc => cpu::write::<Bpc>(entry, out),
            Self::Bdi => cpu::write::<Bdi>(entry, out),
            Self::Fpc => cpu::write::<Fpc>(entry, out),
            Self::CPack => cpu::write::<CPack>(entry, out),
            Self::ZeroValue => cpu::write::<ZeroValue>(entry, out),
            Self::Fibonacci => cpu::write::<Fibonacci>(entry, out),
            Self::Mpc => cpu::write::<Mpc>(entry, out),
        }
    }

    fn read(self, code: &mut BitReader) -> Result<Entry, Malformed> {
        match self {
            Self::Bpc => cpu::read::<Bpc>(code),
            Self::Bdi => cpu::read::<Bdi>(code),
            Self::Fpc => cpu::read::<Fpc>(code),
            Self::CPack => cpu::read::<CPack>(code),
            Self::ZeroValue => cpu::read::<ZeroValue>(code),
            Self::Fibonacci => cpu::read::<Fibonacci>(code),
            Self::Mpc => cpu::read::<Mpc>(code),
        }
    }
}

/// How an entry is stored: what a memory's metadata says of it, besides the size class.
///
/// All-zero entries take no bytes with any codec, because it is the memory that knows them; so the codecs are
/// compared by their codes, not by which of them happens to define a zero entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// Every byte is zero, and nothing is stored.
    Zero,
    /// One 8-byte value, little endian, is stored, and repeated 16 times. Only BDI has this form.
    Repeated,
    /// A code is stored.
    Coded(Scheme),
    /// The entry is stored as it is, because its code would not save a byte.
    Raw,
}

impl Form {
    /// The entry of which this is stored. Bytes after the end of the code are ignored.
    pub fn decode(self, stored: &[u8]) -> Result<Entry, DecodeError> {
        let too_short = DecodeError::TooShort { form: self, bytes: stored.len() };
        match self {
            Self::Zero => Ok([0; ENTRY_BYTES]),
            Self::Repeated => {
                let value: &[u8; 8] = stored.first_chunk().ok_or(too_short)?;
                let mut entry = [0; ENTRY_BYTES];
                entry.as_chunks_mut().0.fill(*value);
                Ok(entry)
            }
            Self::Raw => stored.first_chunk().copied().ok_or(too_short),
            Self::Coded(scheme) => {
                let mut code = BitReader::new(stored);
                let entry = scheme.read(&mut code);
                if code.passed_the_end() {
                    return Err(too_short);
                }
                entry.map_err(|reason| DecodeError::Malformed { scheme, bit: code.position(), reason })
            }
        }
    }
}

/// Why stored bytes are no entry: they were damaged, or are read with another form than they were written with.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The code goes on after the last byte.
    #[error(
        "an entry stored as {form:?} goes on after its {bytes} bytes; was its size class read from the right metadata?"
    )]
    TooShort {
        /// How the entry was said to be stored.
        form: Form,
        /// Bytes that were given.
        bytes: usize,
    },
    /// No entry has this code.
    #[error("no entry has this {scheme:?} code: {reason} (before bit {bit}); is it the form it was stored in?")]
    Malformed {
        /// The code it was read as.
        scheme: Scheme,
        /// How far it was understood.
        bit: usize,
        /// What no encoder writes there.
        reason: &'static str,
    },
}

/// What is stored of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Encoded {
    form: Form,
    size: Size,
    /// The code, then anything.
    bytes: Entry,
}

impl Encoded {
    /// How it is stored: for the metadata, and to decode it.
    pub fn form(&self) -> Form {
        self.form
    }

    /// How much of a memory it takes.
    pub fn size(&self) -> Size {
        self.size
    }

    /// The bytes to store, no more than needed.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.size.bytes()]
    }
}
