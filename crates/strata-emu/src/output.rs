//! What a launch tells beside its counts.

use crate::fault::Fault;
use crate::ops::device_runtime::Submitted;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Reads of one instruction that a lenient launch let through: how many, and the first of the first CTA.
struct Forgiven {
    count: u64,
    cta: u64,
    first: Fault,
}

/// Collects what device code prints, in the order it happens, and the warnings of checked launches.
#[derive(Default)]
pub struct Output {
    text: Mutex<Vec<u8>>,
    /// By launch and memory instruction; each with the CTA it happened in.
    warnings: Mutex<BTreeMap<(u64, u32), (u64, Fault)>>,
    /// Reads that lenient launches forgave, by launch and memory instruction: how many, and the first of the first CTA.
    outside: Mutex<BTreeMap<(u64, u32), Forgiven>>,
    /// What kernels have submitted, in order.
    submitted: Mutex<Vec<Submitted>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Output {
    /// Appends bytes.
    pub(crate) fn write(&self, bytes: &[u8]) {
        lock(&self.text).extend_from_slice(bytes);
    }

    /// What was printed since the last call.
    pub fn take(&self) -> Vec<u8> {
        std::mem::take(&mut lock(&self.text))
    }

    /// Keeps a warning of `place`. A host thread runs its CTAs in order and warns once per place, so the warning of the
    /// first CTA is the same one however CTAs are spread over threads.
    pub(crate) fn warn(&self, place: (u64, u32), cta: u64, warning: Fault) {
        match lock(&self.warnings).entry(place) {
            Entry::Vacant(entry) => {
                entry.insert((cta, warning));
            }
            Entry::Occupied(mut entry) if cta < entry.get().0 => {
                entry.insert((cta, warning));
            }
            Entry::Occupied(_) => {}
        }
    }

    /// Counts a read outside every allocation at `place`; `told` says what it was.
    pub(crate) fn read_outside(&self, place: (u64, u32), cta: u64, told: impl FnOnce() -> Fault) {
        match lock(&self.outside).entry(place) {
            Entry::Vacant(entry) => {
                entry.insert(Forgiven { count: 1, cta, first: told() });
            }
            Entry::Occupied(mut entry) => {
                let forgiven = entry.get_mut();
                forgiven.count += 1;
                if cta < forgiven.cta {
                    (forgiven.cta, forgiven.first) = (cta, told());
                }
            }
        }
    }

    /// What lenient launches forgave since the last call: one read per static instruction of a launch, and how many there
    /// were.
    pub fn take_outside(&self) -> Vec<(Fault, u64)> {
        std::mem::take(&mut *lock(&self.outside)).into_values().map(|f| (f.first, f.count)).collect()
    }

    /// Keeps work that a kernel submitted.
    pub(crate) fn submit(&self, work: Submitted) {
        lock(&self.submitted).push(work);
    }

    /// What kernels submitted since the last call, in the order in which it must happen: what was to happen at the very end
    /// is last.
    pub fn take_submitted(&self) -> Vec<Submitted> {
        let mut work = std::mem::take(&mut *lock(&self.submitted));
        work.sort_by_key(|work| work.at_the_end);
        work
    }

    /// What checked launches found since the last call: one warning per static instruction of a launch, in the order of
    /// the launches, then of the program.
    pub fn take_warnings(&self) -> Vec<Fault> {
        std::mem::take(&mut *lock(&self.warnings)).into_values().map(|(_, warning)| warning).collect()
    }
}
