//! TOM, Transparent Offloading and Mapping (Hsieh et al., ISCA 2016): blocks of a kernel that run on an SM in the memory
//! stack that holds their data, and data that is placed for them.
//!
//! | module | is |
//! | --- | --- |
//! | [`candidate`] | the static tool that finds the blocks worth offloading in any PTX module |
//! | [`table`] | the offloading metadata table of a kernel, with its conditions |
//! | [`controller`] | the offload controller: whether an instance goes to a stack |
//! | [`analyser`], [`allocations`] | the memory map analyser and the memory allocation table |
//! | [`runtime`] | all of that on the offload and place seams of `strata-sim` |
//! | [`storage`] | what it takes on the chip |
//! | [`survey`](mod@survey), [`offsets`] | a program executed without time: instances counted, the best mapping, fixed offsets |
//!
//! ```
//! use strata_tom::candidate::{Assumptions, find};
//! let text = ".version 8.0 .target sm_75 .address_size 32
//!     .visible .entry scale(.param .u32 array, .param .u32 count) {
//!         .reg .u32 %a, %n, %t; .reg .f32 %x; .reg .pred %p;
//!         ld.param.u32 %a, [array];
//!         ld.param.u32 %n, [count];
//!         mov.u32 %t, %tid.x;
//!         mad.lo.u32 %a, %t, 4, %a;
//!     again:
//!         ld.global.f32 %x, [%a];
//!         add.f32 %x, %x, %x;
//!         st.global.f32 [%a], %x;
//!         add.u32 %a, %a, 4;
//!         sub.u32 %n, %n, 1;
//!         setp.ne.u32 %p, %n, 0;
//!         @%p bra again;
//!         ret;
//!     }";
//! let module = strata_ptx::parse("scale.ptx", text).module.expect("no errors");
//! let found = find(&module, &Assumptions::default());
//! // Two registers move (64 words), each iteration saves 49.75: it pays from two iterations on.
//! let condition = found[0].candidates[0].condition.expect("its trip count is known when it begins");
//! assert_eq!((condition.iterations, condition.threshold), (2, 2));
//! ```
//!
//! Invariants: no panic on any module that the parser gives out; the same module gives the same candidates; work is in
//! proportion to the module.

pub mod allocations;
pub mod analyser;
pub mod candidate;
pub mod controller;
mod foreknowledge;
mod mechanism;
pub mod offsets;
pub mod runtime;
pub mod settings;
pub mod storage;
pub mod survey;
pub mod table;

pub use foreknowledge::survey;
pub use mechanism::register;
