//! Replaying: a recorded launch as a source of warp operations.

use crate::cta::{CtaBlock, CtaCursor};
use crate::error::TraceError;
use crate::reader::{RecordedLaunch, TraceFile};
use crate::stream::LaunchSummary;
use std::io::{Read, Seek};
use std::sync::Arc;
use strata_core::{GridSource, OpBatch, OpInfo, Stop, WarpId, WarpSource};

/// A launch of a trace, handed out segment by segment.
///
/// In memory are the streams of the CTAs that are resident, as they stand in their blocks, and nothing else. If the trace
/// turns out to be damaged, the source fails ([`Stop::Failed`]) and [`Replay::take_error`] says why.
pub struct Replay<'f, R> {
    file: &'f mut TraceFile<R>,
    launch: RecordedLaunch,
    slots: Vec<Slot>,
    /// The block that was read last: CTAs mostly start in the order they were recorded.
    block: Option<(u32, Arc<CtaBlock>)>,
    opened: Vec<WarpId>,
    /// Scratch, kept for its memory.
    members: Vec<u32>,
    error: Option<TraceError>,
}

/// A resident CTA.
#[derive(Default)]
struct Slot {
    cursor: CtaCursor,
    block: Option<Arc<CtaBlock>>,
}

impl<'f, R: Read + Seek> Replay<'f, R> {
    /// Prepares to replay the launch with this number.
    pub fn new(file: &'f mut TraceFile<R>, launch: usize) -> Result<Self, TraceError> {
        let launch = file.launch(launch)?;
        let (opened, members) = (Vec::new(), Vec::new());
        Ok(Self { file, launch, slots: Vec::new(), block: None, opened, members, error: None })
    }

    /// What the launch was.
    pub fn summary(&self) -> &LaunchSummary {
        &self.launch.summary
    }

    /// What is wrong with the trace, after [`Stop::Failed`].
    pub fn take_error(&mut self) -> Option<TraceError> {
        self.error.take()
    }

    fn load(&mut self, slot: u32, number: u64) -> Result<(), TraceError> {
        let place = usize::try_from(number).ok().and_then(|n| self.launch.ctas.get(n));
        let Some(&(block_number, index)) = place else {
            return Err(TraceError::Stream(format!("there is no CTA {number} in the launch")));
        };
        let table = &self.launch.table;
        let block = match &self.block {
            Some((known, block)) if *known == block_number => Arc::clone(block),
            _ => {
                let (offset, count) = self.launch.blocks[block_number as usize];
                let block = Arc::new(self.file.block(offset, count, table)?);
                self.block = Some((block_number, Arc::clone(&block)));
                block
            }
        };
        if slot as usize == self.slots.len() {
            self.slots.push(Slot::default());
        }
        let Some(place) = self.slots.get_mut(slot as usize) else {
            return Err(TraceError::Stream(format!("slot {slot} is not the next one")));
        };
        let warps = self.launch.summary.info.warps_per_cta();
        let started = place.cursor.start(&block, index as usize, table, warps);
        started.map_err(|e| TraceError::contents(block.offset, &e))?;
        place.block = Some(block);
        Ok(())
    }

    fn step(&mut self, w: WarpId, out: &mut OpBatch) -> Result<Stop, TraceError> {
        let warps = self.launch.summary.info.warps_per_cta();
        let (slot, warp) = (w.0 / warps, w.0 % warps);
        let place = self.slots.get_mut(slot as usize);
        let Some((cursor, block)) = place.and_then(|s| s.block.as_ref().map(|b| (&mut s.cursor, b))) else {
            return Err(TraceError::Stream(format!("nothing runs in slot {slot}")));
        };
        let moved = self.launch.summary.info.local.0.wrapping_mul(u64::from(slot));
        let stop = cursor
            .advance(warp as usize, &block.bytes, &self.launch.table, moved, out, &mut self.members)
            .map_err(|e| TraceError::contents(block.offset, &e))?;
        self.opened.extend(self.members.drain(..).map(|member| WarpId(slot * warps + member)));
        Ok(stop)
    }
}

impl<R: Read + Seek> WarpSource for Replay<'_, R> {
    fn advance(&mut self, w: WarpId, out: &mut OpBatch) -> Stop {
        if self.error.is_some() {
            return Stop::Failed;
        }
        self.step(w, out).unwrap_or_else(|error| {
            self.error = Some(error);
            Stop::Failed
        })
    }
}

impl<R: Read + Seek> GridSource for Replay<'_, R> {
    fn instructions(&self) -> &[OpInfo] {
        &self.launch.table.infos
    }

    fn ctas(&self) -> u64 {
        self.launch.ctas.len() as u64
    }

    fn warps_per_cta(&self) -> u32 {
        self.launch.summary.info.warps_per_cta()
    }

    fn start_cta(&mut self, slot: u32, number: u64) {
        if let Err(error) = self.load(slot, number) {
            self.error.get_or_insert(error);
        }
    }

    fn take_opened(&mut self, out: &mut Vec<WarpId>) {
        out.append(&mut self.opened);
    }
}
