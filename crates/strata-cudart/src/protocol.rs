//! What a CUDA program and the simulator say to each other.
//!
//! The program's `libcudart.so` asks, the simulator answers; one question at a time. A message is a frame: its length
//! (four bytes, little-endian), then its fields in order. The bytes of a copy follow their message without a frame, so
//! that they are never held twice.
//!
//! Invariants: both ends come from one build, and say so ([`VERSION`]) before anything else; a reader never trusts a length
//! further than the bytes that really arrive.

mod region;

use std::io::{self, Read, Write};

/// Changed with every change of a message.
pub const VERSION: u32 = 2;

/// Names the simulator's socket to the program.
pub const SOCKET_VARIABLE: &str = "STRATA_CUDA_SOCKET";

/// The longest message; a fat binary must fit.
const LONGEST: u32 = 1 << 30;

/// Something that a message is made of.
pub trait Field: Sized {
    /// Appends it to a message.
    fn put(&self, out: &mut Vec<u8>);
    /// Takes it from the front of a message; `None` if it is not there.
    fn get(from: &mut &[u8]) -> Option<Self>;
}

macro_rules! numbers {
    ($($number:ty),*) => { $(impl Field for $number {
        fn put(&self, out: &mut Vec<u8>) {
            out.extend_from_slice(&self.to_le_bytes());
        }
        fn get(from: &mut &[u8]) -> Option<Self> {
            let (bytes, rest) = from.split_first_chunk()?;
            *from = rest;
            Some(Self::from_le_bytes(*bytes))
        }
    })* };
}
numbers!(u8, u32, u64, f64);

impl Field for bool {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(u8::from(*self));
    }
    fn get(from: &mut &[u8]) -> Option<Self> {
        Some(u8::get(from)? != 0)
    }
}

impl<T: Field> Field for Vec<T> {
    fn put(&self, out: &mut Vec<u8>) {
        (self.len() as u64).put(out);
        for item in self {
            item.put(out);
        }
    }
    fn get(from: &mut &[u8]) -> Option<Self> {
        let count = u64::get(from)?;
        (0..count).map(|_| T::get(from)).collect()
    }
}

impl Field for String {
    fn put(&self, out: &mut Vec<u8>) {
        self.as_bytes().to_vec().put(out);
    }
    fn get(from: &mut &[u8]) -> Option<Self> {
        Self::from_utf8(Vec::get(from)?).ok()
    }
}

impl<const N: usize> Field for [u32; N] {
    fn put(&self, out: &mut Vec<u8>) {
        for number in self {
            number.put(out);
        }
    }
    fn get(from: &mut &[u8]) -> Option<Self> {
        let mut numbers = [0; N];
        for number in &mut numbers {
            *number = u32::get(from)?;
        }
        Some(numbers)
    }
}

/// A structure whose fields stand in a message one after the other.
macro_rules! record {
    ($(#[$about:meta])* $name:ident { $($(#[$what:meta])* $field:ident: $ty:ty),* $(,)? }) => {
        $(#[$about])*
        pub struct $name { $($(#[$what])* pub $field: $ty),* }
        impl Field for $name {
            fn put(&self, out: &mut Vec<u8>) {
                $(self.$field.put(out);)*
            }
            fn get(from: &mut &[u8]) -> Option<Self> {
                Some(Self { $($field: Field::get(from)?),* })
            }
        }
    };
}

/// A choice of messages, each with a number that stands first.
macro_rules! messages {
    ($(#[$about:meta])* $name:ident {
        $($(#[$what:meta])* $tag:literal $variant:ident $({ $($field:ident: $ty:ty),* $(,)? })?),* $(,)?
    }) => {
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq)]
        #[allow(missing_docs, reason = "the fields are those of the calls")]
        pub enum $name { $($(#[$what])* $variant $({ $($field: $ty),* })?),* }
        impl Field for $name {
            fn put(&self, out: &mut Vec<u8>) {
                match self { $(Self::$variant $({ $($field),* })? => {
                    out.push($tag);
                    $($($field.put(out);)*)?
                })* }
            }
            fn get(from: &mut &[u8]) -> Option<Self> {
                Some(match u8::get(from)? {
                    $($tag => Self::$variant $({ $($field: Field::get(from)?),* })?,)*
                    _ => return None,
                })
            }
        }
    };
}

record! {
    /// A block of memory with gaps: `slices` of `rows` of `width` bytes.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
    Region {
        /// Address of the first byte of the first row.
        start: u64,
        /// Bytes of a row.
        width: u64,
        /// From the start of a row to that of the next.
        pitch: u64,
        /// Rows of a slice.
        rows: u64,
        /// From the start of a slice to that of the next.
        slice_pitch: u64,
        /// How many slices there are.
        slices: u64,
    }
}

record! {
    /// Texels in device memory.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    Image {
        /// The first texel.
        start: u64,
        /// Texels of a row.
        width: u32,
        /// Rows of a slice.
        height: u32,
        /// Slices or layers.
        depth: u32,
        /// Bytes from one row to the next.
        pitch: u64,
        /// Bytes from one slice to the next.
        slice: u64,
        /// What a channel is: CUDA's number for signed, unsigned (1) and floating point (2).
        kind: u8,
        /// Bits of a channel.
        bits: u8,
        /// Channels of a texel.
        channels: u8,
    }
}

record! {
    /// How a texture is read.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    Sampling {
        /// CUDA's number for what is read outside, by axis.
        address: [u32; 3],
        /// Neighbours are interpolated.
        linear: bool,
        /// Coordinates go from 0 to 1.
        normalized: bool,
        /// Integers are read as numbers from 0 (or -1) to 1.
        as_float: bool,
        /// What is outside: the bits of four numbers.
        border: [u32; 4],
    }
}

record! {
    /// Where a parameter stands in the parameter block.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    Param {
        /// Bytes from the start of the block.
        offset: u32,
        /// Size in bytes.
        size: u32,
    }
}

record! {
    /// What the program's side must know of a kernel.
    #[derive(Clone, Debug, PartialEq, Eq)]
    Kernel {
        /// Parameters, in order.
        params: Vec<Param>,
        /// Registers of a thread.
        registers: u32,
        /// Shared memory of a block that the kernel declares.
        shared: u64,
        /// Local memory of a thread.
        local: u64,
        /// The most threads a block may have.
        max_threads: u32,
        /// The architecture its PTX is for: 75 for `sm_75`.
        architecture: u32,
    }
}

record! {
    /// The device, as the CUDA runtime describes it.
    #[derive(Clone, Debug, PartialEq, Eq)]
    Properties {
        /// Name for people.
        name: String,
        /// Compute capability, times ten.
        capability: u32,
        /// Device memory in bytes.
        memory: u64,
        /// SMs.
        sms: u32,
        /// Resident threads of an SM.
        threads_per_sm: u32,
        /// Resident blocks of an SM.
        blocks_per_sm: u32,
        /// Registers of an SM.
        registers_per_sm: u32,
        /// Shared memory of an SM.
        shared_per_sm: u64,
        /// The most shared memory of a block.
        shared_per_block: u64,
        /// Bytes of the second-level cache.
        l2: u64,
        /// Core clock in kHz.
        core_khz: u32,
        /// Memory clock in kHz.
        memory_khz: u32,
        /// Width of the path to memory, in bits.
        bus_bits: u32,
    }
}

messages! {
    /// What the program asks.
    Request {
        /// First of all: who is there.
        0 Hello { version: u32, process: u32 },
        /// A fat binary (or those of a program that was linked on the device's side), numbered in the order of arrival.
        1 Module { images: Vec<Vec<u8>> },
        /// What must be known to launch a kernel.
        2 Kernel { module: u32, name: String },
        /// Where a variable is.
        3 Symbol { module: u32, name: String },
        /// Runs a kernel.
        4 Launch { module: u32, name: String, grid: [u32; 3], block: [u32; 3], shared: u32, params: Vec<u8>, cooperative: bool },
        /// How many blocks of a kernel fit on an SM.
        5 Occupancy { module: u32, name: String, threads: u32, shared: u64 },
        /// What the device is like.
        6 Properties,
        /// Gives memory.
        7 Alloc { size: u64, kind: u8 },
        /// Takes memory back.
        8 Free { start: u64 },
        /// Host to device; the bytes follow.
        9 CopyIn { to: Region },
        /// Device to host; the bytes follow the answer.
        10 CopyOut { from: Region },
        /// Device to device.
        11 CopyOn { to: Region, from: Region },
        /// Sets bytes.
        12 Memset { to: Region, byte: u8 },
        /// Waits for everything.
        13 Synchronize,
        /// The time, for events.
        14 Now,
        /// How much memory is free.
        15 MemInfo,
        /// Managed memory shall be there.
        16 Prefetch { start: u64, size: u64, to_device: bool },
        /// How managed memory will be used: the number of CUDA's `cudaMemoryAdvise`.
        17 Advise { start: u64, size: u64, advice: u32, to_device: bool },
        /// A texture of an image.
        18 CreateTexture { image: Image, sampling: Sampling },
        /// A surface of an image.
        19 CreateSurface { image: Image },
        /// Forgets a texture or surface.
        20 DestroyObject { handle: u64 },
        /// First and last of all: the library was loaded, and there is nothing to ask.
        21 Loaded,
        /// What the device program has printed.
        22 Printed,
        /// A texture or surface reference stands for this object.
        23 Bind { reference: u64, handle: u64 },
        /// Bytes from an address to the end of the memory that was given there.
        24 Room { start: u64 },
    }
}

/// Kinds of memory that [`Request::Alloc`] names.
pub mod kind {
    /// Device memory.
    pub const DEVICE: u8 = 0;
    /// Managed memory.
    pub const MANAGED: u8 = 1;
    /// Memory of the host that the device can address.
    pub const PINNED: u8 = 2;
    /// Device memory of textures and surfaces.
    pub const ARRAY: u8 = 3;
}

messages! {
    /// What the simulator answers.
    Reply {
        /// It was done.
        0 Done,
        /// It was not: CUDA's number for the error, and a sentence for people.
        1 Refused { code: u32, sticky: bool, message: String },
        /// Where device memory and managed memory lie; the file of the latter is number `file` of process `process`.
        2 Welcome { device: u64, managed: u64, end: u64, process: u32, file: u32 },
        /// A number or address.
        3 Number { value: u64 },
        /// Where a variable of a module is.
        4 Symbol { start: u64, size: u64 },
        /// What a kernel needs of a launch and of an SM.
        5 Kernel { kernel: Kernel },
        /// What `cudaGetDeviceProperties` tells of the device.
        6 Properties { properties: Properties },
        /// What the device program has printed.
        7 Printed { text: Vec<u8> },
        /// Milliseconds.
        8 Time { milliseconds: f64 },
        /// Bytes that are free, and that there are.
        9 Memory { free: u64, total: u64 },
        /// A kernel has run; it may have printed something.
        10 Launched { printed: bool },
    }
}

/// Sends a message.
pub fn send(to: &mut impl Write, message: &impl Field) -> io::Result<()> {
    let mut frame = vec![0; 4];
    message.put(&mut frame);
    let length = u32::try_from(frame.len() - 4).ok().filter(|&n| n <= LONGEST);
    let length = length.ok_or_else(|| io::Error::other("a message is longer than 1 GiB"))?;
    frame[..4].copy_from_slice(&length.to_le_bytes());
    to.write_all(&frame)
}

/// Receives a message; `None` if the other side is gone.
pub fn receive<M: Field>(from: &mut impl Read) -> io::Result<Option<M>> {
    let mut length = [0; 4];
    if let Err(error) = from.read_exact(&mut length) {
        let gone = matches!(error.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset);
        return if gone { Ok(None) } else { Err(error) };
    }
    let length = u32::from_le_bytes(length);
    let damaged = || io::Error::new(io::ErrorKind::InvalidData, "a message that cannot be read");
    if length > LONGEST {
        return Err(damaged());
    }
    // Grows with what arrives, not with what the length promises.
    let mut frame = Vec::new();
    from.take(u64::from(length)).read_to_end(&mut frame)?;
    let mut rest = &frame[..];
    match M::get(&mut rest) {
        Some(message) if frame.len() == length as usize && rest.is_empty() => Ok(Some(message)),
        _ => Err(damaged()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(message: &Request) {
        let mut wire = Vec::new();
        send(&mut wire, message).expect("sent");
        assert_eq!(receive::<Request>(&mut &wire[..]).expect("received").as_ref(), Some(message));
        for end in 1..wire.len() {
            let cut = receive::<Request>(&mut &wire[..end]);
            assert!(matches!(cut, Err(_) | Ok(None)), "cut at {end}: {cut:?}");
        }
    }

    #[test]
    fn messages_come_back_and_cut_ones_do_not() {
        check(&Request::Hello { version: VERSION, process: 7 });
        check(&Request::Module { images: vec![vec![1, 2, 3], Vec::new()] });
        check(&Request::Synchronize);
        let (grid, block) = ([1, 2, 3], [4, 5, 6]);
        let (name, params) = ("kernel".to_owned(), vec![9; 40]);
        check(&Request::Launch { module: 1, name, grid, block, shared: 3, params, cooperative: true });
        check(&Request::CopyIn { to: Region::line(4, 5) });
    }

    #[test]
    fn lengths_are_not_trusted() {
        let mut wire = vec![20, 0, 0, 0, 1];
        wire.extend(u64::MAX.to_le_bytes());
        wire.extend([0; 11]);
        assert!(receive::<Request>(&mut &wire[..]).is_err());
        assert!(receive::<Request>(&mut &[255, 255, 255, 255, 0][..]).is_err());
    }
}
