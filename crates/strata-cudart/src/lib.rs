//! The CUDA runtime library of StrataSim: what an unmodified CUDA program loads instead of NVIDIA's `libcudart.so`.
//!
//! * `client`: the library itself, a thin client. It keeps what a program registers, packs arguments, and asks the
//!   simulator for everything else over a Unix socket; it contains no simulator code.
//! * [`protocol`]: what the two say to each other.
//! * [`LIBRARIES`]: the library as files, for each major version of CUDA, embedded in whoever starts programs.
//!
//! This crate is compiled twice. Cargo compiles it as a part of `strata`, and its build script compiles it as the shared
//! library, with `cfg(strata_client)`, with the compiler that cargo uses and no cargo of its own. So this crate must not depend
//! on any other: it declares the few functions of libc that it needs (`client/boundary.rs`).

mod client;
pub mod protocol;

/// The shared library under each name a program may ask for (`libcudart.so.13`…); empty where the system has no such thing.
#[cfg(not(strata_client))]
pub const LIBRARIES: &[(&str, &[u8])] = &include!(concat!(env!("OUT_DIR"), "/libraries.rs"));

/// A hash of all of them, in hexadecimal: who unpacks them names the folder by it.
#[cfg(not(strata_client))]
pub const LIBRARIES_HASH: &str = env!("STRATA_LIBRARIES");
