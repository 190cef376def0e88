//! Writes a trace from front to back: streams as they come, places at the end.

use crate::block::{FrameWriter, Kind};
use crate::cta::{CtaRecord, MAX_CTA_BYTES, encode_block};
use crate::error::TraceError;
use crate::format::{self, BlockPlace, END, Entry, Index, LaunchFrame, MAGIC, VERSION};
use crate::stream::{Event, LaunchInfo, LaunchSummary, Origin};
use crate::table::{self, Table};
use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;
use strata_core::{Counts, OpInfo};

/// Bytes of streams that are compressed together: small CTAs share what they have in common, and a machine that replays
/// them holds little more than it needs.
const BLOCK_BYTES: usize = 1 << 16;

/// Writes a trace.
pub struct TraceWriter<W> {
    frames: FrameWriter<W>,
    index: Index,
    /// Tables by their bytes: many launches of a kernel share one.
    tables: BTreeMap<Vec<u8>, (u32, Arc<Table>)>,
    launch: Option<OpenLaunch>,
}

struct OpenLaunch {
    frame: LaunchFrame,
    table: Arc<Table>,
    pending: Vec<CtaRecord>,
    pending_bytes: usize,
}

impl<W: Write> TraceWriter<W> {
    /// Begins a trace of the run `origin`.
    pub fn new(out: W, origin: &Origin) -> Result<Self, TraceError> {
        let mut frames = FrameWriter::new(out)?;
        frames.plain(&MAGIC)?;
        frames.plain(&VERSION.to_le_bytes())?;
        frames.frame(Kind::Origin, &format::encode_origin(origin))?;
        Ok(Self { frames, index: Index::default(), tables: BTreeMap::new(), launch: None })
    }

    /// The host did something.
    pub fn event(&mut self, event: Event) {
        self.index.entries.push(Entry::Event(event));
    }

    /// Begins a launch; its CTAs come from a [`crate::Recorder`].
    pub(crate) fn begin_launch(&mut self, info: LaunchInfo, infos: &[OpInfo]) -> Result<Arc<Table>, TraceError> {
        format::check_info(&info).map_err(TraceError::Stream)?;
        let bytes = table::encode(infos).map_err(TraceError::Stream)?;
        let (number, table) = if let Some(known) = self.tables.get(&bytes) {
            known.clone()
        } else {
            self.index.tables.push(self.frames.frame(Kind::Table, &bytes)?);
            let new = (self.tables.len() as u32, Arc::new(Table::new(infos.to_vec())));
            self.tables.insert(bytes, new.clone());
            new
        };
        let summary = LaunchSummary {
            info,
            counts: Counts::default(),
            operations: 0,
            memory_operations: 0,
            raw_bytes: 0,
            stored_bytes: 0,
        };
        let frame = LaunchFrame { summary, table: number, blocks: Vec::new() };
        self.launch = Some(OpenLaunch { frame, table: Arc::clone(&table), pending: Vec::new(), pending_bytes: 0 });
        Ok(table)
    }

    fn open(&mut self) -> Result<&mut OpenLaunch, TraceError> {
        self.launch.as_mut().ok_or_else(|| TraceError::Stream("no launch has begun".into()))
    }

    /// A CTA has ended.
    pub(crate) fn cta(&mut self, record: CtaRecord, operations: u64, memory_operations: u64) -> Result<(), TraceError> {
        let launch = self.open()?;
        if record.body.len() > MAX_CTA_BYTES {
            let kernel = &launch.frame.summary.info.kernel;
            return Err(TraceError::Stream(format!(
                "block {} of kernel `{kernel}` is too long for a trace; record a smaller size",
                record.number
            )));
        }
        launch.frame.summary.operations += operations;
        launch.frame.summary.memory_operations += memory_operations;
        launch.pending_bytes += record.body.len();
        launch.pending.push(record);
        if launch.pending_bytes >= BLOCK_BYTES { self.flush() } else { Ok(()) }
    }

    /// Writes the CTAs that wait for their block to be full.
    fn flush(&mut self) -> Result<(), TraceError> {
        let Some(launch) = self.launch.as_mut().filter(|launch| !launch.pending.is_empty()) else { return Ok(()) };
        let contents = encode_block(&launch.table, &launch.pending);
        let offset = self.frames.frame(Kind::Ctas, &contents)?;
        let summary = &mut launch.frame.summary;
        summary.raw_bytes += contents.len() as u64;
        summary.stored_bytes += self.frames.offset - offset;
        let ctas = launch.pending.drain(..).map(|record| record.number).collect();
        launch.pending_bytes = 0;
        launch.frame.blocks.push(BlockPlace { offset, ctas });
        Ok(())
    }

    /// Ends the launch that a [`crate::Recorder`] has run through; `counts` is what its source says it executed.
    pub fn end_launch(&mut self, counts: Counts) -> Result<(), TraceError> {
        self.flush()?;
        let Some(OpenLaunch { mut frame, .. }) = self.launch.take() else {
            return Err(TraceError::Stream("no launch has begun".into()));
        };
        let recorded: usize = frame.blocks.iter().map(|block| block.ctas.len()).sum();
        let info = &frame.summary.info;
        if recorded as u64 != info.grid.count() {
            let (kernel, all) = (&info.kernel, info.grid.count());
            return Err(TraceError::Stream(format!("kernel `{kernel}`: {recorded} of {all} blocks came to their end")));
        }
        frame.summary.counts = counts;
        let offset = self.frames.frame(Kind::Launch, &format::encode_launch(&frame))?;
        self.index.entries.push(Entry::Launch { offset });
        Ok(())
    }

    /// Ends the trace and gives back what it was written to.
    pub fn finish(mut self) -> Result<W, TraceError> {
        if let Some(launch) = &self.launch {
            let kernel = &launch.frame.summary.info.kernel;
            return Err(TraceError::Stream(format!("the launch of `{kernel}` has not come to its end")));
        }
        let place = self.frames.frame(Kind::Index, &format::encode_index(&self.index))?.to_le_bytes();
        self.frames.plain(&place)?;
        self.frames.plain(&crc32fast::hash(&place).to_le_bytes())?;
        self.frames.plain(&END)?;
        self.frames.out.flush().map_err(TraceError::Write)?;
        Ok(self.frames.out)
    }
}
