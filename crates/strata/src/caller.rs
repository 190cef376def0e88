//! Commands that another program carries out: it takes the place of the terminal.
//!
//! A command runs on one thread from its beginning to its end, and says there what it has to say; so whoever wants to hear it says
//! so on that thread ([`Caller::while_heard`]), and the functions of `output` and `progress` ask for it.

use crate::progress;
use std::cell::RefCell;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use strata_lab::{Monitor, StopSign};

/// Hears what a command says, sees how far it is, and can stop it.
#[derive(Default)]
pub struct Caller {
    result: Mutex<Vec<u8>>,
    messages: Mutex<Vec<u8>>,
    printed: Mutex<Vec<u8>>,
    shown: Mutex<Shown>,
    stop: StopSign,
}

/// What can be said of how far a command is.
#[derive(Default)]
enum Shown {
    #[default]
    Nothing,
    /// One run.
    Run(String, Arc<Monitor>),
    /// A series, and which share of it is done.
    Step(String, Option<f64>),
}

thread_local! {
    static HERE: RefCell<Option<Arc<Caller>>> = const { RefCell::new(None) };
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Caller {
    /// Whoever hears the command that runs on this thread, if it is no terminal.
    pub(crate) fn here() -> Option<Arc<Self>> {
        HERE.with_borrow(Clone::clone)
    }

    /// Does something on this thread that this caller hears.
    pub(crate) fn while_heard<T>(self: &Arc<Self>, command: impl FnOnce() -> T) -> T {
        /// Nobody hears any more, however the command ended.
        struct Leaving;
        impl Drop for Leaving {
            fn drop(&mut self) {
                HERE.set(None);
            }
        }
        HERE.set(Some(Arc::clone(self)));
        let _leaving = Leaving;
        command()
    }

    /// What the command wrote to standard output: the result.
    pub fn result(&self) -> String {
        String::from_utf8_lossy(&lock(&self.result)).into_owned()
    }

    /// What it wrote to standard error.
    pub fn messages(&self) -> String {
        String::from_utf8_lossy(&lock(&self.messages)).into_owned()
    }

    /// What the device program printed since the last call.
    pub fn take_printed(&self) -> Vec<u8> {
        std::mem::take(&mut *lock(&self.printed))
    }

    /// How far the command is, as the line of a terminal says it, and as a share (0 to 1) if that is known.
    pub fn progress(&self) -> Option<(String, Option<f64>)> {
        match &*lock(&self.shown) {
            Shown::Nothing => None,
            Shown::Run(name, monitor) => Some((format!("{name}  {}", progress::state(monitor)), monitor.share())),
            Shown::Step(text, share) => Some((text.clone(), *share)),
        }
    }

    /// The sign that stops the command.
    pub fn stop(&self) -> &StopSign {
        &self.stop
    }

    pub(crate) fn hear_result(&self, bytes: &[u8]) {
        lock(&self.result).extend(bytes);
    }

    pub(crate) fn hear_message(&self, text: &str) {
        lock(&self.messages).extend(text.as_bytes());
    }

    pub(crate) fn hear_printed(&self, bytes: &[u8]) {
        lock(&self.printed).extend(bytes);
    }

    pub(crate) fn watch_run(&self, name: &str, monitor: &Arc<Monitor>) {
        *lock(&self.shown) = Shown::Run(name.to_owned(), Arc::clone(monitor));
    }

    /// A step of a series; does not return if the command is to stop.
    pub(crate) fn watch_step(&self, text: String, share: Option<f64>) {
        self.stop.obey();
        *lock(&self.shown) = Shown::Step(text, share);
    }
}
