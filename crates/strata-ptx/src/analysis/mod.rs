//! What a function's body says about its execution: control flow, dominance, loops, liveness, registers.
//!
//! The analyses form a line, each reading only those before it:
//!
//! | step | answers |
//! | --- | --- |
//! | [`Cfg`] | which instructions run in one piece, and what follows what |
//! | [`DominatorTree`] | what every path from the entry, or to the exit, passes |
//! | [`Reconvergence`] | where lanes that a branch has parted meet again |
//! | [`LoopForest`] | natural loops, their nesting, and regions that are no natural loop |
//! | [`Liveness`] | which registers still matter at an instruction |
//! | [`Pressure`] | how many hardware registers a thread is likely to need |
//! | [`Packing`] | which registers can share storage in an emulator |
//!
//! Invariants of all of them:
//!
//! - Nothing recurses, so the depth of a program never meets the depth of a stack; work is linear or nearly so in the
//!   size of the body. Liveness alone costs blocks times registers over 64, counting only registers that live across
//!   blocks.
//! - Nothing panics on a [`Function`](crate::ast::Function) whose indices are in range. A branch to a label that does
//!   not exist, which the parser refuses, is read as leaving the function.
//! - They describe *one thread*. What that means for a warp is said where it matters: see [`liveness`].

pub mod cfg;
pub mod dominators;
mod graph;
pub mod liveness;
pub mod loops;
pub mod packing;
pub mod pressure;
pub mod reconvergence;
#[cfg(test)]
mod testing;

pub use cfg::{Block, BlockId, CallsEndBlocks, Cfg};
pub use dominators::DominatorTree;
pub use liveness::{LiveCursor, Liveness, RegisterSet};
pub use loops::{IrreducibleRegion, Loop, LoopForest, LoopId};
pub use packing::{Clash, Packing, SlotRef, keeps_sources};
pub use pressure::{ALLOWANCE, MOST_IN_FLIGHT, MOST_REGISTERS, Pressure};
pub use reconvergence::Reconvergence;
