//! What a device program can do wrong, and how it is told.

use crate::memory::{Memory, Nearest};
use std::fmt;
use strata_core::{Addr, Dim3, Space};

/// What went wrong in a lane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// An access outside every live allocation (or outside shared or local memory).
    OutOfBounds {
        /// The lane.
        lane: u32,
        /// What was accessed.
        space: Space,
        /// Address, or offset for shared and local memory.
        address: Addr,
        /// Bytes of the access.
        width: u32,
        /// What is near: the end of a sentence.
        nearest: String,
    },
    /// An access to memory that was freed.
    UseAfterFree {
        /// The lane.
        lane: u32,
        /// The address.
        address: Addr,
        /// Bytes of the access.
        width: u32,
        /// The allocation that was there: the end of a sentence.
        was: String,
    },
    /// An address that is not a multiple of the access's width.
    Misaligned {
        /// The lane.
        lane: u32,
        /// What was accessed.
        space: Space,
        /// The address.
        address: Addr,
        /// Bytes of the access.
        width: u32,
    },
    /// A read of shared or local memory that nothing has written. Only checked launches find it, and as a warning.
    Uninitialised {
        /// The lane.
        lane: u32,
        /// What was accessed.
        space: Space,
        /// Offset of the access.
        address: Addr,
        /// Bytes of the access.
        width: u32,
        /// Offset of the first byte that was not written.
        unwritten: u64,
    },
    /// Two warps access the same bytes, one of them writes, and nothing orders them. Only launches that ask for it find it,
    /// and as a warning.
    Race {
        /// The lane of the later access.
        lane: u32,
        /// What was accessed.
        space: Space,
        /// Address, or offset in shared memory.
        address: Addr,
        /// Bytes of the later access.
        width: u32,
        /// The later access writes.
        writes: bool,
        /// The earlier access: who, what and where.
        other: String,
    },
    /// Some warps wait at a barrier that the others can no longer reach.
    BarrierDeadlock {
        /// Who waits where.
        waiting: String,
    },
    /// The launch executed more warp instructions than it was allowed to.
    InstructionLimit {
        /// The limit.
        limit: u64,
    },
    /// `trap`, or a failed device assertion.
    Trap {
        /// The lane.
        lane: u32,
        /// What the program says.
        message: String,
    },
    /// A call or a parameter the emulator cannot serve.
    Unsupported {
        /// The call or parameter, and why not.
        what: String,
    },
    /// The call stack or local memory of a thread is used up.
    StackOverflow {
        /// Functions on the stack, the kernel included.
        depth: u32,
        /// Bytes of local memory a thread has.
        local: u64,
    },
}

impl Cause {
    /// An access to global memory outside every live allocation.
    pub(crate) fn outside(memory: &Memory, lane: u32, address: Addr, width: u32) -> Self {
        match memory.explain(address) {
            was @ Nearest::Freed { .. } => Self::UseAfterFree { lane, address, width, was: was.to_string() },
            near => Self::OutOfBounds { lane, space: Space::Global, address, width, nearest: near.to_string() },
        }
    }

    /// The lane it happened in, if it was one.
    pub fn lane(&self) -> Option<u32> {
        match self {
            Self::OutOfBounds { lane, .. }
            | Self::UseAfterFree { lane, .. }
            | Self::Misaligned { lane, .. }
            | Self::Uninitialised { lane, .. }
            | Self::Race { lane, .. }
            | Self::Trap { lane, .. } => Some(*lane),
            _ => None,
        }
    }
}

fn space_name(space: Space) -> &'static str {
    match space {
        Space::Shared => "shared",
        Space::Local => "local",
        Space::Const => "constant",
        Space::Param => "parameter",
        _ => "global",
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutOfBounds { space: Space::Global, address, width, .. } if address.0 < 4096 => {
                write!(f, "null pointer: {width} bytes at {address}")
            }
            Self::OutOfBounds { space, address, width, nearest, .. } => {
                write!(f, "out of bounds: {width} bytes at {} address {address}{nearest}", space_name(*space))
            }
            Self::UseAfterFree { address, width, was, .. } => {
                write!(f, "use after free: {width} bytes at global address {address}{was}")
            }
            Self::Misaligned { space, address, width, .. } => {
                write!(f, "misaligned: {} address {address} is not a multiple of {width}", space_name(*space))
            }
            Self::Uninitialised { space, address, width, unwritten, .. } => {
                let space = space_name(*space);
                write!(f, "uninitialised: {width} bytes are read at {space} address {address}")?;
                if *unwritten == address.0 {
                    f.write_str(", which nothing has written")
                } else {
                    write!(f, "; nothing has written the byte at {}", Addr(*unwritten))
                }
            }
            Self::Race { space, address, width, writes, other, .. } => {
                let (space, does) = (space_name(*space), if *writes { "written" } else { "read" });
                write!(f, "race: {width} bytes are {does} at {space} address {address}; {other}; ")?;
                f.write_str("no barrier and no atomic orders the two")
            }
            Self::BarrierDeadlock { waiting } => write!(f, "barrier deadlock: {waiting}"),
            Self::InstructionLimit { limit } => {
                write!(f, "instruction limit: the launch has executed {limit} warp instructions and is not at its end")
            }
            Self::Trap { message, .. } => f.write_str(message),
            Self::Unsupported { what } => f.write_str(what),
            Self::StackOverflow { depth, local: 0 } => write!(f, "stack overflow: {depth} calls deep"),
            Self::StackOverflow { depth, local } => {
                write!(
                    f,
                    "stack overflow: {depth} calls deep, and the thread's {local} bytes of local memory are used up"
                )
            }
        }
    }
}

/// A device program's failure, or what a checked launch warns of: what, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What went wrong.
    pub cause: Cause,
    /// The kernel that was launched.
    pub kernel: String,
    /// The function it happened in.
    pub function: String,
    /// File name of the module.
    pub file: String,
    /// Line of the PTX file.
    pub line: u32,
    /// The instruction as written.
    pub instruction: String,
    /// CUDA source position, if the module carries line information.
    pub source: Option<String>,
    /// The CTA.
    pub block: Dim3,
    /// The thread in it (the first of the warp if no single lane is to blame).
    pub thread: Dim3,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.cause)?;
        writeln!(f, "  --> {}:{}", self.file, self.line)?;
        writeln!(f, "   | {}", self.instruction)?;
        if let Some(source) = &self.source {
            writeln!(f, "   = source: {source}")?;
        }
        let inside = if self.function == self.kernel { String::new() } else { format!(", in `{}`", self.function) };
        write!(f, "   = kernel `{}`{inside}, block {}, thread {}", self.kernel, self.block, self.thread)
    }
}

impl std::error::Error for Fault {}
