//! What device code prints.

use std::sync::{Mutex, PoisonError};

/// Collects the output of device `printf` in the order it happens.
#[derive(Default)]
pub struct Output {
    text: Mutex<Vec<u8>>,
}

impl Output {
    /// Appends bytes.
    pub(crate) fn write(&self, bytes: &[u8]) {
        self.text.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
    }

    /// What was printed since the last call.
    pub fn take(&self) -> Vec<u8> {
        std::mem::take(&mut self.text.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
