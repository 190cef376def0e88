//! Reads a trace: the index at once, launches and blocks of CTAs when they are asked for.

use crate::block::{FrameReader, Kind, damaged};
use crate::cta::CtaBlock;
use crate::error::TraceError;
use crate::format::{self, END, Entry, FIRST_FRAME, Index, LaunchFrame, MAGIC, TRAILER_BYTES, VERSION};
use crate::stream::{Event, LaunchSummary, Origin};
use crate::table::{self, Table};
use std::io::{Read, Seek};
use std::sync::Arc;

/// A trace that was opened. Nothing but its index is in memory.
pub struct TraceFile<R> {
    frames: FrameReader<R>,
    version: u32,
    origin: Origin,
    index: Index,
    /// Places of the launches.
    launches: Vec<u64>,
    /// The table that was read last: most programs launch few kernels many times.
    table: Option<(u32, Arc<Table>)>,
}

/// One thing that the recorded program did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step<'a> {
    /// The host did something.
    Event(&'a Event),
    /// The launch with this number was made.
    Launch(usize),
}

/// A launch of a trace, ready to be replayed.
pub(crate) struct RecordedLaunch {
    pub(crate) summary: LaunchSummary,
    pub(crate) table: Arc<Table>,
    /// Places of the blocks of CTAs, and how many each holds.
    pub(crate) blocks: Vec<(u64, usize)>,
    /// By number of the CTA: block, and place in it.
    pub(crate) ctas: Vec<(u32, u32)>,
}

impl<R: Read + Seek> TraceFile<R> {
    /// Opens a trace and reads its index.
    pub fn open(input: R) -> Result<Self, TraceError> {
        let mut frames = FrameReader::new(input)?;
        let length = frames.length;
        if length < FIRST_FRAME {
            return Err(TraceError::NotATrace("it is too short"));
        }
        let head: [u8; FIRST_FRAME as usize] = frames.plain(0)?;
        if head[..8] != MAGIC {
            return Err(TraceError::NotATrace("it begins in another way"));
        }
        let found = u32::from_le_bytes([head[8], head[9], head[10], head[11]]);
        if !(1..=VERSION).contains(&found) {
            return Err(TraceError::Version { found, known: VERSION });
        }
        let at = length.saturating_sub(TRAILER_BYTES);
        if at < FIRST_FRAME {
            return Err(damaged(length, "the file ends before its index".into()));
        }
        let trailer: [u8; TRAILER_BYTES as usize] = frames.plain(at)?;
        let (place, rest) = trailer.split_at(8);
        if rest[4..] != END {
            return Err(damaged(length, "the file ends before its index: the recording was cut off".into()));
        }
        if rest[..4] != crc32fast::hash(place).to_le_bytes() {
            return Err(damaged(at, "the checksum of the file's end is wrong".into()));
        }
        let place = place.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte));
        let origin = frames.decode(Kind::Origin, FIRST_FRAME, format::decode_origin)?;
        let index = frames.decode(Kind::Index, place, format::decode_index)?;
        let launch = |entry: &Entry| if let Entry::Launch { offset } = entry { Some(*offset) } else { None };
        let launches = index.entries.iter().filter_map(launch).collect();
        Ok(Self { frames, version: found, origin, index, launches, table: None })
    }

    /// The run that was recorded.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// The version of the format in which the file is written.
    pub fn version(&self) -> u32 {
        self.version
    }

    /// Bytes of the file.
    pub fn bytes(&self) -> u64 {
        self.frames.length
    }

    /// How many launches there are.
    pub fn launches(&self) -> usize {
        self.launches.len()
    }

    /// What the program did, in order.
    pub fn steps(&self) -> impl Iterator<Item = Step<'_>> {
        let mut launches = 0;
        self.index.entries.iter().map(move |entry| match entry {
            Entry::Event(event) => Step::Event(event),
            Entry::Launch { .. } => {
                launches += 1;
                Step::Launch(launches - 1)
            }
        })
    }

    /// What a launch was, without its streams.
    pub fn summary(&mut self, launch: usize) -> Result<LaunchSummary, TraceError> {
        self.frame(launch).map(|(_, frame)| frame.summary)
    }

    fn frame(&mut self, launch: usize) -> Result<(u64, LaunchFrame), TraceError> {
        let Some(&offset) = self.launches.get(launch) else {
            let cause = format!("there is no launch {launch}, the trace has {}", self.launches.len());
            return Err(TraceError::Stream(cause));
        };
        Ok((offset, self.frames.decode(Kind::Launch, offset, format::decode_launch)?))
    }

    /// Everything of a launch but its streams.
    pub(crate) fn launch(&mut self, launch: usize) -> Result<RecordedLaunch, TraceError> {
        let (offset, LaunchFrame { summary, table, blocks }) = self.frame(launch)?;
        let table = self.table(table, offset)?;
        let recorded: usize = blocks.iter().map(|block| block.ctas.len()).sum();
        let all = summary.info.grid.count();
        if recorded as u64 != all {
            return Err(damaged(offset, format!("the launch has {all} CTAs, {recorded} are recorded")));
        }
        let mut ctas = vec![(u32::MAX, 0); recorded];
        for (b, block) in blocks.iter().enumerate() {
            for (k, &number) in block.ctas.iter().enumerate() {
                match usize::try_from(number).ok().and_then(|n| ctas.get_mut(n)) {
                    Some(place) if place.0 == u32::MAX => *place = (b as u32, k as u32),
                    _ => return Err(damaged(offset, format!("CTA {number} is there twice, or not in the grid"))),
                }
            }
        }
        let blocks = blocks.into_iter().map(|block| (block.offset, block.ctas.len())).collect();
        Ok(RecordedLaunch { summary, table, blocks, ctas })
    }

    fn table(&mut self, number: u32, launch: u64) -> Result<Arc<Table>, TraceError> {
        if let Some((known, table)) = &self.table
            && *known == number
        {
            return Ok(Arc::clone(table));
        }
        let Some(&offset) = self.index.tables.get(number as usize) else {
            return Err(damaged(launch, format!("it names a table of instructions {number} that is not there")));
        };
        let table = Arc::new(self.frames.decode(Kind::Table, offset, |bytes| table::decode(bytes, self.version))?);
        self.table = Some((number, Arc::clone(&table)));
        Ok(table)
    }

    /// A block of `count` CTAs.
    pub(crate) fn block(&mut self, offset: u64, count: usize, table: &Table) -> Result<CtaBlock, TraceError> {
        let bytes = self.frames.frame(Kind::Ctas, offset)?;
        let block = CtaBlock::decode(offset, bytes, table).map_err(|e| TraceError::contents(offset, &e))?;
        if block.len() != count {
            return Err(damaged(offset, format!("the block holds {} CTAs, the index says {count}", block.len())));
        }
        Ok(block)
    }
}

impl<R: Read + Seek> FrameReader<R> {
    /// Reads a frame and what is in it.
    fn decode<T>(
        &mut self,
        kind: Kind,
        offset: u64,
        decode: impl FnOnce(&[u8]) -> Result<T, crate::wire::Malformed>,
    ) -> Result<T, TraceError> {
        let contents = self.frame(kind, offset)?;
        decode(&contents).map_err(|e| TraceError::contents(offset, &e))
    }
}
