//! How programs behave beyond single instructions: control flow, waiting, faults, addresses, the runtime's functions.
//!
//! Programs are PTX written here, where the compiler would optimise the case away, or CUDA of `tests/cuda`, compiled with
//! the pinned compiler (`workloads/regenerate` keeps both in step).

mod addressing;
mod barriers;
mod determinism;
mod divergence;
mod faults;
mod library;
mod machine;
mod primitives;
mod progress;
mod runtime;
mod turns;
