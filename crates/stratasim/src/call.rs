//! Commands of the command line, called.

use crate::{StrataError, background, mechanisms};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::Arc;
use strata::{Caller, Ended};

/// Carries out a command; gives whether all went well, its result and its messages. `tell(text, share)` hears how far it is,
/// `printed(bytes)` what device programs print.
#[pyfunction]
pub(crate) fn call(
    py: Python<'_>,
    words: Vec<String>,
    again: Vec<String>,
    tell: Bound<'_, PyAny>,
    printed: Bound<'_, PyAny>,
) -> PyResult<(bool, String, String)> {
    let caller = Arc::new(Caller::default());
    let registry = mechanisms::registry()?;
    mechanisms::forget_error();
    let print = |py: Python<'_>| {
        let bytes = caller.take_printed();
        if bytes.is_empty() { Ok(()) } else { printed.call1((PyBytes::new(py, &bytes),)).map(drop) }
    };
    let tick = |py: Python<'_>| {
        print(py)?;
        caller.progress().map_or(Ok(()), |(text, share)| tell.call1((text, share)).map(drop))
    };
    let heard = Arc::clone(&caller);
    let ended = background::work(py, caller.stop(), tick, move || strata::call(&words, again, &registry, &heard))?;
    print(py)?;
    match ended {
        Ok(ended) => Ok((ended == Ended::Well, caller.result(), caller.messages())),
        Err(text) => Err(mechanisms::take_error().unwrap_or_else(|| StrataError::new_err(text))),
    }
}

/// The command line itself: prints, and gives the exit status. `words` begin with the program's name.
#[pyfunction]
pub(crate) fn main(py: Python<'_>, words: Vec<OsString>, again: Vec<String>) -> PyResult<u8> {
    let registry = mechanisms::registry()?;
    let status = py.detach(|| strata::main_of(words, again, &registry));
    // A status can be made of a number, and only compared afterwards.
    Ok((0..=u8::MAX).find(|&number| ExitCode::from(number) == status).unwrap_or(1))
}
