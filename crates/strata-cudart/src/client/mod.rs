//! `libcudart.so`: CUDA's runtime functions as a program calls them.
//!
//! The parts: `boundary` (pointers that C hands us; all `unsafe` is there), `error` (CUDA's error codes and who remembers
//! them), `server` (the connection), `registry` (what constructors register before `main`), then one file for each
//! kind of call.
//!
//! Invariants:
//!
//! * Constructors only take notes; the simulator is asked when the first call needs it.
//! * Everything takes effect when it is called: an order that every program must allow, since streams only say what may
//!   happen later. A stream that is being captured is the one exception (`stream.rs`).
//! * No function unwinds into the program, and no lock is held while the program's own code runs.

mod array;
mod boundary;
mod conditional;
mod copy;
mod device;
mod error;
mod event;
mod function;
mod graph;
mod graph_memory;
mod launch;
mod memory;
mod node;
mod properties;
mod reference;
mod registry;
mod server;
mod stream;
mod texture;
mod unsupported;

/// A function of CUDA's runtime: its body gives an [`error::Outcome`], which becomes its status.
macro_rules! cuda {
    ($($(#[$about:meta])* fn $name:ident($($argument:ident: $ty:ty),* $(,)?) $body:block)*) => { $(
        $(#[$about])*
        #[unsafe(no_mangle)]
        #[allow(non_snake_case, clippy::too_many_arguments, reason = "names and arguments are CUDA's")]
        extern "C" fn $name($($argument: $ty),*) -> $crate::client::error::Code {
            $crate::client::error::answer(|| $body)
        }
    )* };
}
pub(crate) use cuda;
