//! StrataSim for Python: what the interpreter loads as `stratasim._native`. The package around it is in `python/stratasim/`.
//!
//! * `call.rs`: every command of the command line as a function; the grammar of arguments and the texts of errors are the
//!   command line's own, so that there is one of each;
//! * `device.rs`: a device of one's own, whose kernels run on the interpreter's arrays;
//! * `tensors.rs`: arrays through the codecs, where they lie;
//! * `tables.rs`: Parquet files of ours as columns;
//! * `mechanisms.rs`: classes of Python on the seams of the machine.
//!
//! Invariants: nothing is simulated while the interpreter's lock is held, but for calls into classes of Python; whatever takes
//! long ends on Ctrl-C; a mistake of the user's is a `StrataError`.

#![allow(clippy::needless_pass_by_value, reason = "what the interpreter hands over is owned")]

mod background;
mod call;
mod device;
mod mechanisms;
mod tables;
mod tensors;

use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

create_exception!(stratasim, StrataError, PyException, "What was asked for cannot be done; the text says why.");

#[pymodule]
mod _native {
    #[pymodule_export]
    use super::StrataError;
    #[pymodule_export]
    use super::call::{call, main};
    #[pymodule_export]
    use super::device::Device;
    #[pymodule_export]
    use super::mechanisms::{Access, register};
    #[pymodule_export]
    use super::tables::read_table;
    #[pymodule_export]
    use super::tensors::compress;
}
