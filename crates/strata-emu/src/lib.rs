//! Functional SIMT execution of PTX modules: real programs on real data, without time.
//!
//! A [`Memory`] holds the device's bytes, a [`Program`] a loaded module; [`Program::launch`] runs a kernel on it.
//!
//! The road of a launch: `decode` turns each instruction into a function pointer and packed operands (`inst`), once per kernel;
//! `launch` lays out constants and hands CTAs out in order; `cta` runs the warps of one CTA and opens its barriers;
//! `warp` runs splits of a warp, block by block; `lanes`, `ops` and `semantics` are what instructions do; `check` looks for
//! reads of memory that nothing has written, and `races` for conflicting accesses, if asked; `source` lets somebody else decide what runs when.
//!
//! Invariants:
//!
//! * Same module, same memory, same launch: same bytes afterwards, on every CPU, with or without vector units.
//! * No device program can make this crate read or write outside device memory, shared memory or a warp's registers:
//!   every address is checked, and what fails becomes a [`Fault`] that names line, block and thread.
//! * Nothing here knows time, caches or mechanisms.
//!
//! ```
//! use strata_core::{Bytes, Dim3};
//! use strata_emu::{Capacity, LaunchConfig, Memory, Output, Program};
//!
//! let text = "
//! .version 8.0
//! .target sm_75
//! .address_size 64
//! .visible .entry fill(.param .u64 out, .param .u32 value) {
//!     .reg .b32 %r<3>; .reg .b64 %rd<4>;
//!     ld.param.u64 %rd1, [out];
//!     ld.param.u32 %r1, [value];
//!     mov.u32 %r2, %tid.x;
//!     mul.wide.u32 %rd2, %r2, 4;
//!     add.s64 %rd3, %rd1, %rd2;
//!     st.global.u32 [%rd3], %r1;
//!     ret;
//! }";
//! let module = strata_ptx::parse("fill.ptx", text).module.expect("no errors");
//! let mut memory = Memory::new(Capacity::default())?;
//! let mut program = Program::load("fill.ptx", text, module, &mut memory)?;
//! let out = memory.alloc(Bytes(256), false, "out")?;
//! let mut params = out.start.0.to_le_bytes().to_vec();
//! params.extend(7u32.to_le_bytes());
//! let config = LaunchConfig { params, ..LaunchConfig::new(Dim3::from(1), Dim3::from(64)) };
//! let counts = program.launch("fill", &config, &mut memory, 1, &Output::default(), &|_| {})?;
//! assert_eq!(counts.thread_instructions(), 7 * 64);
//! let mut bytes = [0; 4];
//! memory.read(out.start.offset(252), &mut bytes)?;
//! assert_eq!(u32::from_le_bytes(bytes), 7);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![allow(
    clippy::inline_always,
    reason = "a lane loop becomes vector code only inside the function that has the CPU's features: nothing on its way may stay a call"
)]
#![allow(
    clippy::cast_ptr_alignment,
    reason = "register slots are aligned by layout; device addresses are checked against the width of the access first"
)]
#![allow(
    clippy::needless_range_loop,
    reason = "a lane is an index into several arrays and masks at once, and these loops are written to be vectorised"
)]
#![allow(clippy::struct_excessive_bools, reason = "instructions and printf formats are sets of independent switches")]

mod check;
mod cta;
mod decode;
mod exec;
mod fault;
mod fragment;
mod inst;
mod kernel;
mod lanes;
mod launch;
mod memory;
mod ops;
mod output;
mod program;
mod races;
pub mod semantics;
mod source;
mod turn;
mod warp;
mod watch;

pub use fault::{Cause, Fault};
pub use kernel::Refused;
pub use launch::{LaunchConfig, LaunchError, Progress};
pub use memory::{
    AllocationRecord, Capacity, DEVICE_ALIGN, DEVICE_BASE, LOCAL_WINDOW, MANAGED_ALIGN, Memory, MemoryError, Nearest,
    OBJECT_BASE, SHARED_WINDOW, WINDOW_BYTES,
};
pub use ops::device_runtime::{Submitted, Work};
pub use output::Output;
pub use program::{Param, Program, Resources, unsupported};
pub use source::Execution;
