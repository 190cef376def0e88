//! What the processes of a program have done so far: sessions write it, the run reads it.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use strata_core::Bytes;
use strata_host::CopyReport;
use strata_run::KernelRun;

/// What a device program has printed and its process has not shown yet.
#[derive(Default)]
pub struct Printed(Mutex<Vec<u8>>);

impl Printed {
    /// Keeps bytes for the process.
    pub fn add(&self, bytes: &[u8]) {
        lock(&self.0).extend_from_slice(bytes);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What all processes of a run have done so far.
#[derive(Clone, Default)]
pub(super) struct Known {
    pub(super) kernels: Vec<KernelRun>,
    pub(super) copies: CopyReport,
    pub(super) allocated: Bytes,
    pub(super) error: Option<String>,
    pub(super) warnings: Vec<String>,
    /// A process loaded the library.
    pub(super) loaded: bool,
    /// Processes that connected, and sessions that ended.
    pub(super) processes: Vec<u32>,
    pub(super) ended: usize,
}

/// Shared by the threads that serve processes and the one that waits for the program.
pub(super) struct Record {
    known: Mutex<Known>,
    printed: Arc<Printed>,
}

impl Record {
    pub(super) fn new(printed: Arc<Printed>) -> Self {
        Self { known: Mutex::default(), printed }
    }

    /// A process of the program has connected.
    pub(super) fn met(&self, process: u32) {
        lock(&self.known).processes.push(process);
    }

    /// A process has loaded the library and asked nothing.
    pub(super) fn loaded(&self) {
        lock(&self.known).loaded = true;
    }

    /// A launch has ended.
    pub(super) fn launched(&self, kernel: KernelRun) {
        lock(&self.known).kernels.push(kernel);
    }

    /// A kernel failed; the first failure is the one that counts.
    pub(super) fn failed(&self, error: String) {
        lock(&self.known).error.get_or_insert(error);
    }

    /// A process has disconnected: adds its copies, its memory and its warnings.
    pub(super) fn ended(&self, copies: &CopyReport, allocated: Bytes, warnings: Vec<String>) {
        let mut known = lock(&self.known);
        known.copies.stats.add(&copies.stats);
        known.copies.cycles = match (known.copies.cycles, copies.cycles) {
            (None, other) | (other, None) => other,
            (Some(a), Some(b)) => Some(a + b),
        };
        known.allocated = known.allocated.max(allocated);
        known.warnings.extend(warnings);
        known.ended += 1;
    }

    /// What there is to show since the last call.
    pub(super) fn take_printed(&self) -> Vec<u8> {
        std::mem::take(&mut lock(&self.printed.0))
    }

    /// True if there is something to show.
    pub(super) fn has_printed(&self) -> bool {
        !lock(&self.printed.0).is_empty()
    }

    /// How many kernels came to their end.
    pub(super) fn launches(&self) -> usize {
        lock(&self.known).kernels.len()
    }

    /// True if every process that connected is done with.
    pub(super) fn is_quiet(&self) -> bool {
        let known = lock(&self.known);
        known.ended == known.processes.len()
    }

    /// True if one of the processes that connected still runs.
    pub(super) fn is_any_alive(&self) -> bool {
        let processes = lock(&self.known).processes.clone();
        processes.iter().any(|process| Path::new(&format!("/proc/{process}")).exists())
    }

    /// A copy of everything so far.
    pub(super) fn known(&self) -> Known {
        lock(&self.known).clone()
    }
}
