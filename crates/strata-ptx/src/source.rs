//! Byte offsets to lines.

use crate::ast::Span;
use std::ops::Range;

/// Where each line of a text starts; turns a [`Span`] into the line a person reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineIndex {
    starts: Vec<u32>,
}

impl LineIndex {
    /// The lines of `text`.
    pub fn new(text: &str) -> Self {
        let breaks = text.bytes().zip(1u32..).filter(|(byte, _)| *byte == b'\n').map(|(_, next)| next);
        Self { starts: std::iter::once(0).chain(breaks).collect() }
    }

    /// The line, counted from 1, of a byte.
    pub fn line(&self, offset: u32) -> u32 {
        self.starts.partition_point(|&start| start <= offset) as u32
    }

    /// The line, counted from 1, on which a span starts.
    pub fn line_of(&self, span: Span) -> u32 {
        self.line(span.start)
    }

    /// The line and the column (in bytes), both counted from 1, of a byte.
    pub fn line_column(&self, offset: u32) -> (u32, u32) {
        let line = self.line(offset);
        (line, offset - self.starts[line as usize - 1] + 1)
    }

    /// The bytes of a line of the indexed `text`, its line break excluded.
    pub fn range(&self, line: u32, text: &str) -> Range<usize> {
        let at = (line.max(1) as usize - 1).min(self.starts.len() - 1);
        let start = self.starts[at] as usize;
        let end = self.starts.get(at + 1).map_or(text.len(), |&next| next as usize - 1);
        let end = if text[start..end].ends_with('\r') { end - 1 } else { end };
        start..end
    }
}
