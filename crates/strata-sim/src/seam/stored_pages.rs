//! What pages take as memory sides store them: for a paging mechanism whose pages travel so.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use strata_core::{Bytes, LINE_BYTES, LineAddr, Paged};

/// Bytes by page, kept by the sides of all partitions.
#[derive(Debug)]
pub struct StoredPages {
    lines_per_page: u64,
    kept: AtomicBool,
    bytes: Mutex<Paged<u32>>,
}

impl StoredPages {
    /// Of pages of this size, all zero.
    pub(crate) fn new(page: Bytes) -> Self {
        Self {
            lines_per_page: (page.0 / LINE_BYTES).max(1),
            kept: AtomicBool::new(false),
            bytes: Mutex::new(Paged::default()),
        }
    }

    pub(crate) fn keep(&self) {
        self.kept.store(true, Ordering::Relaxed);
    }

    /// True if a side keeps these books.
    pub(crate) fn is_kept(&self) -> bool {
        self.kept.load(Ordering::Relaxed)
    }

    /// A line that took so many bytes takes others from now on.
    pub fn changed(&self, line: LineAddr, before: u32, after: u32) {
        let mut bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        let page = bytes.get_mut(line.0 / self.lines_per_page);
        *page = (*page + after).saturating_sub(before);
    }

    /// What the page at an address takes.
    pub fn bytes(&self, line: LineAddr) -> u32 {
        *self.bytes.lock().unwrap_or_else(PoisonError::into_inner).get(line.0 / self.lines_per_page)
    }
}
