//! Recorded streams of warp operations: a program is executed once, and then timed on many machines without being
//! executed again.
//!
//! A [`Recorder`] stands between a source of warp operations and whoever pulls them; [`record_launch`] pulls them itself,
//! without time. A [`Replay`] is the same source again. What is kept of a launch: the table of instructions, and for each
//! warp its segments (program counters, lanes, addresses, how each ended). What is not: values in memory, and the order
//! between warps, except that CTA barriers open as they did. So a program whose control flow depends on which CTA or warp
//! comes first is replayed as it happened to run, spinning included.
//!
//! # The file
//!
//! ```text
//! file    := "STRATA\r\n", version (4 bytes), frame*, trailer
//! frames  := origin O, then for each launch a table of instructions T (if it is new), blocks of CTAs C, the launch L;
//!            last the index I: places of tables and launches, host events, in program order
//! trailer := place of the index (8 bytes), CRC-32 of these (4 bytes), "ends"
//! ```
//!
//! A file is written from front to back and read by place: opening it reads the index, a launch reads its frame L (shape,
//! counts, and which CTA is in which block), a CTA its block.
//!
//! | module | does |
//! | --- | --- |
//! | `stream` | what a recorded program consists of |
//! | `segment` | the stream of one warp, and its bytes |
//! | `cta` | streams and barriers of a CTA; blocks of CTAs |
//! | `table`, `format` | bytes of instruction tables, launches, index |
//! | `block`, `wire` | frames with checksums; numbers |
//! | `writer`, `reader` | the file |
//! | `record`, `replay` | sources on top of these |
//!
//! Invariants:
//!
//! * Same stream, same bytes.
//! * A file is hostile: it is read or refused with the place and the cause; no panic, no allocation that the bytes of the
//!   file do not justify. What a replay hands out keeps the promises of [`strata_core::op`]: program counters inside the
//!   table and never going down within a segment, addresses of at most 57 bits.
//! * In memory are the index and the blocks of resident CTAs when reading; the resident CTAs and one block when writing.
//!
//! ```
//! use std::io::Cursor;
//! use strata_trace::{Event, Origin, Step, TraceFile, TraceWriter};
//!
//! let origin = Origin { program: "vecadd".into(), size: None, seed: 1 };
//! let mut writer = TraceWriter::new(Vec::new(), &origin)?;
//! writer.event(Event::Sync);
//! let bytes = writer.finish()?;
//! let file = TraceFile::open(Cursor::new(&bytes))?;
//! assert_eq!(file.origin(), &origin);
//! assert_eq!(file.steps().collect::<Vec<_>>(), [Step::Event(&Event::Sync)]);
//! assert!(TraceFile::open(Cursor::new(&bytes[..30])).is_err());
//! # Ok::<(), strata_trace::TraceError>(())
//! ```

mod block;
mod cta;
mod error;
mod format;
#[cfg(test)]
mod hostile;
mod reader;
mod record;
mod replay;
mod segment;
mod stream;
mod table;
mod wire;
mod writer;

pub use error::TraceError;
pub use format::VERSION;
pub use reader::{Step, TraceFile};
pub use record::{Recorder, record_launch};
pub use replay::Replay;
pub use stream::{Event, LaunchInfo, LaunchSummary, Origin};
pub use writer::TraceWriter;
