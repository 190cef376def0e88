//! A recorded CTA, and the blocks that hold several.
//!
//! ```text
//! block   := number of CTAs, for each: first addresses, length of its body; then the bodies
//! first   := number of entries, for each: distance of its slot from the one before, signed distance of its address
//!            from the one that the CTA before it in the block has in this slot
//! body    := for each warp the length of its stream; groups; streams
//! groups  := number, for each: number of members, their warps; number of conditions, for each: warp, segments
//! ```
//!
//! A *group* is a set of warps that a CTA barrier let go together, in the order the source named them. It opens when all
//! of them wait there and every *condition* holds: a warp that the barrier did not hold back, but that had to exit or to
//! arrive first, has run so many segments.

use crate::segment::{WarpCursor, WarpEncoder};
use crate::table::Table;
use crate::wire::{Malformed, Take, put, put_signed};
use std::ops::Range;
use strata_core::{OpBatch, Stop};

/// The most bytes that the streams of one CTA may take, and so the most a reader ever takes for one: 2^27 warp
/// instructions at two bytes each, some billion thread instructions.
pub(crate) const MAX_CTA_BYTES: usize = 1 << 28;

/// A CTA that has ended, ready to be written.
pub(crate) struct CtaRecord {
    pub(crate) number: u64,
    /// First address of each slot that was used, by slot.
    pub(crate) first: Vec<(u32, u64)>,
    pub(crate) body: Vec<u8>,
}

/// Warps that a barrier let go together.
#[derive(Clone, Default, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    pub(crate) members: Vec<u32>,
    /// Other warps and the segments they must have run.
    pub(crate) conditions: Vec<(u32, u32)>,
}

impl CtaRecord {
    pub(crate) fn new(number: u64, first: &[Option<u64>], warps: &[WarpEncoder], groups: &[Group]) -> Self {
        let mut body = Vec::new();
        for warp in warps {
            put(&mut body, warp.bytes.len() as u64);
        }
        put(&mut body, groups.len() as u64);
        for group in groups {
            put(&mut body, group.members.len() as u64);
            group.members.iter().for_each(|&warp| put(&mut body, u64::from(warp)));
            put(&mut body, group.conditions.len() as u64);
            for &(warp, segments) in &group.conditions {
                put(&mut body, u64::from(warp));
                put(&mut body, u64::from(segments));
            }
        }
        for warp in warps {
            body.extend_from_slice(&warp.bytes);
        }
        let first = first.iter().enumerate().filter_map(|(slot, a)| a.map(|a| (slot as u32, a))).collect();
        Self { number, first, body }
    }
}

/// The bytes of a block.
pub(crate) fn encode_block(table: &Table, records: &[CtaRecord]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut before = vec![0u64; table.addressed];
    put(&mut out, records.len() as u64);
    for record in records {
        put(&mut out, record.first.len() as u64);
        let mut next = 0;
        for &(slot, address) in &record.first {
            put(&mut out, u64::from(slot - next));
            next = slot + 1;
            let known = &mut before[slot as usize];
            put_signed(&mut out, address.wrapping_sub(*known) as i64);
            *known = address;
        }
        put(&mut out, record.body.len() as u64);
    }
    for record in records {
        out.extend_from_slice(&record.body);
    }
    out
}

/// A block in memory.
pub(crate) struct CtaBlock {
    /// Where it begins in the file, for messages.
    pub(crate) offset: u64,
    pub(crate) bytes: Vec<u8>,
    first: Vec<(u32, u64)>,
    ctas: Vec<CtaPlace>,
}

struct CtaPlace {
    first: Range<usize>,
    body: Range<usize>,
}

impl CtaBlock {
    pub(crate) fn decode(offset: u64, bytes: Vec<u8>, table: &Table) -> Result<Self, Malformed> {
        let mut take = Take::new(&bytes);
        let (mut first, mut ctas) = (Vec::new(), Vec::new());
        let mut before = vec![0u64; table.addressed];
        let mut end = 0usize;
        for _ in 0..take.count()? {
            let begin = first.len();
            let mut slot = 0;
            for _ in 0..take.count()? {
                slot += take.at_most("slot of an address", table.addressed as u64)? as usize;
                let Some(known) = before.get_mut(slot) else {
                    return take.wrong(format!("address slot {slot} of {}", table.addressed));
                };
                *known = known.wrapping_add(take.signed()? as u64);
                first.push((slot as u32, *known));
                slot += 1;
            }
            let length = take.at_most("length of a CTA", MAX_CTA_BYTES as u64)? as usize;
            ctas.push(CtaPlace { first: begin..first.len(), body: end..end + length });
            end += length;
        }
        let header = take.at;
        if take.left() != end {
            return take.wrong(format!("its CTAs have {end} bytes, {} are there", take.left()));
        }
        for cta in &mut ctas {
            cta.body = cta.body.start + header..cta.body.end + header;
        }
        Ok(Self { offset, bytes, first, ctas })
    }

    /// CTAs in the block.
    pub(crate) fn len(&self) -> usize {
        self.ctas.len()
    }
}

/// A CTA that is being replayed.
#[derive(Default)]
pub(crate) struct CtaCursor {
    warps: Vec<WarpCursor>,
    groups: Vec<OpenGroup>,
    /// By warp: the groups of its barriers, last first.
    barriers: Vec<Vec<u32>>,
    /// By warp: conditions it has to meet (segments, group), last first.
    conditions: Vec<Vec<(u32, u32)>>,
}

struct OpenGroup {
    members: Vec<u32>,
    /// Members and conditions that have not come.
    missing: u32,
}

impl CtaCursor {
    /// Begins CTA number `index` of a block.
    pub(crate) fn start(&mut self, block: &CtaBlock, index: usize, table: &Table, warps: u32) -> Result<(), Malformed> {
        let Some(place) = block.ctas.get(index) else {
            return Err(Malformed { at: 0, cause: "a CTA of the index is not there".into() });
        };
        self.groups.clear();
        self.barriers.resize_with(warps as usize, Vec::new);
        self.barriers.iter_mut().for_each(Vec::clear);
        self.conditions.resize_with(warps as usize, Vec::new);
        self.conditions.iter_mut().for_each(Vec::clear);
        self.warps.resize_with(warps as usize, WarpCursor::default);
        let mut take = Take::from(&block.bytes[..place.body.end], place.body.start);
        let mut lengths = Vec::with_capacity(warps as usize);
        for _ in 0..warps {
            lengths.push(take.at_most("length of a stream", place.body.len() as u64)? as usize);
        }
        for group in 0..take.count()? {
            self.read_group(&mut take, group as u32, warps)?;
        }
        self.barriers.iter_mut().for_each(|list| list.reverse());
        self.conditions.iter_mut().for_each(|list| list.sort_unstable_by(|a, b| b.cmp(a)));
        let mut at = take.at;
        if lengths.iter().sum::<usize>() != take.left() {
            return take.wrong("the streams of a CTA do not fill it");
        }
        let first = &block.first[place.first.clone()];
        for (warp, length) in self.warps.iter_mut().zip(lengths) {
            warp.start(table, at, at + length, first);
            at += length;
        }
        Ok(())
    }

    fn read_group(&mut self, take: &mut Take<'_>, group: u32, warps: u32) -> Result<(), Malformed> {
        let last = u64::from(warps) - 1;
        let members: Vec<u32> =
            (0..take.count()?).map(|_| take.at_most("warp", last).map(|w| w as u32)).collect::<Result<_, _>>()?;
        for &member in &members {
            self.barriers[member as usize].push(group);
        }
        let conditions = take.count()?;
        for _ in 0..conditions {
            let warp = take.at_most("warp", last)? as usize;
            let segments = take.u32("number of segments")?;
            self.conditions[warp].push((segments, group));
        }
        let missing = (members.len() + conditions) as u32;
        self.groups.push(OpenGroup { members, missing });
        Ok(())
    }

    /// Runs a warp over its next segment; warps of the CTA that may go on after it are appended to `opened`.
    pub(crate) fn advance(
        &mut self,
        warp: usize,
        bytes: &[u8],
        table: &Table,
        moved: u64,
        out: &mut OpBatch,
        opened: &mut Vec<u32>,
    ) -> Result<Stop, Malformed> {
        let cursor = &mut self.warps[warp];
        let at = cursor.at;
        let stop = cursor.segment(bytes, table, moved, out)?;
        let segments = cursor.segments;
        while let Some((_, group)) = self.conditions[warp].pop_if(|(after, _)| *after <= segments) {
            came(&mut self.groups[group as usize], opened);
        }
        if stop == Stop::Barrier {
            let Some(group) = self.barriers[warp].pop() else {
                return Err(Malformed { at, cause: format!("warp {warp} waits at a barrier that never opens").into() });
            };
            came(&mut self.groups[group as usize], opened);
        }
        Ok(stop)
    }
}

/// A member or condition of a group has come; the last opens it.
fn came(group: &mut OpenGroup, opened: &mut Vec<u32>) {
    group.missing = group.missing.saturating_sub(1);
    if group.missing == 0 {
        opened.append(&mut group.members);
    }
}
