//! What tests of a mechanism need, so that nobody writes it again.
//!
//! * [`Script`]: a kernel written down instruction by instruction ([`Instr`]), with the values that its stores write
//!   ([`Memory`]). It is a [`strata_core::GridSource`], so a machine, a recorder or a driver takes it for a program.
//! * [`drive()`]: pulls the warps of any source without a machine, in random order, and checks that barriers are kept.
//! * [`shuffled`]: texts that are almost right, for parsers.
//! * `sim` (with the feature of that name): memory sides without a machine, whole machines, and random operations on either
//!   until the first wrong byte.
//!
//! Nothing here is fast or clever: it is plain enough to be believed when a test fails. Functions panic where a test should
//! fail, with what was expected.
//!
//! ```
//! use strata_testkit::{Instr, Script, drive};
//!
//! // Two warps: one stores a line, the other loads it after the barrier.
//! let writer = [Instr::store_line(0x1000).word(7), Instr::barrier()];
//! let reader = [Instr::barrier(), Instr::load_line(0x1000)];
//! let mut script = Script::new(&[writer, reader]);
//! let told = drive(&mut script, 1, 0, 1).expect("a script does not fail");
//! assert_eq!(told[0][1][1].ops[0].addresses.expect("a load").1[31], 0x107c);
//! assert_eq!(script.memory().line(strata_core::Addr(0x1000).line()), [7, 0, 0, 0].repeat(32)[..]);
//! ```

mod drive;
mod instr;
mod memory;
mod script;
mod shuffle;
#[cfg(feature = "sim")]
pub mod sim;

pub use drive::drive;
pub use instr::Instr;
pub use memory::{Line, Memory, WrongByte};
pub use script::{Op, Script, Segment, Streams};
pub use shuffle::shuffled;
