//! Work on a thread of its own while the interpreter's thread waits without its lock, looks for Ctrl-C and tells how far it is.

use pyo3::prelude::*;
use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;
use strata_lab::StopSign;

/// How often signals are looked for.
const TICK: Duration = Duration::from_millis(100);
/// What the main thread of a command line has.
const STACK_BYTES: usize = 8 << 20;

/// Does `work`; every now and then `tick` is called with the lock held. Ctrl-C, or an error of `tick`, gives the sign to stop, and
/// is raised when the work has ended.
pub(crate) fn work<T: Send + 'static>(
    py: Python<'_>,
    stop: &StopSign,
    tick: impl FnMut(Python<'_>) -> PyResult<()>,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    let (send, receive) = channel();
    let worker = Builder::new().stack_size(STACK_BYTES).spawn(move || {
        // Nobody listens only if this thread's end is waited for already.
        let _ = send.send(work());
    })?;
    wait(py, stop, tick, receive)?.map_or_else(|| thrown(py, worker), Ok)
}

/// Waits for an answer; `None` if the thread that owes it is gone.
pub(crate) fn wait<T: Send>(
    py: Python<'_>,
    stop: &StopSign,
    mut tick: impl FnMut(Python<'_>) -> PyResult<()>,
    mut receive: Receiver<T>,
) -> PyResult<Option<T>> {
    let mut raised = None;
    loop {
        let answer;
        // The receiver goes there and back: it belongs to one thread at a time.
        (answer, receive) = py.detach(move || (receive.recv_timeout(TICK), receive));
        match (answer, raised) {
            (Ok(_) | Err(RecvTimeoutError::Disconnected), Some(error)) => return Err(error),
            (Ok(answer), None) => return Ok(Some(answer)),
            (Err(RecvTimeoutError::Disconnected), None) => return Ok(None),
            (Err(RecvTimeoutError::Timeout), earlier) => {
                raised = earlier.or_else(|| py.check_signals().and_then(|()| tick(py)).err());
                if raised.is_some() {
                    stop.give();
                }
            }
        }
    }
}

/// What a thread that sent nothing ended with.
fn thrown<T>(py: Python<'_>, worker: JoinHandle<()>) -> PyResult<T> {
    match py.detach(move || worker.join()) {
        Err(thrown) => resume_unwind(thrown),
        Ok(()) => Err(crate::StrataError::new_err("the simulator's thread ended without an answer")),
    }
}
