//! What stands in the frames of a file beside streams: origin, launches, index; and the two ends of the file.
//!
//! Each part is written and read here, side by side.

use crate::stream::{ADDRESS_BITS, Event, LaunchInfo, LaunchSummary, MAX_BLOCK, MAX_GRID, MAX_THREADS, Origin};
use crate::wire::{Malformed, Take, put, put_dim, put_signed, put_text};
use strata_core::{Addr, Bytes, Counts, OpClass};

/// First bytes of a file: a name, and a line end that shows when somebody treated it as text.
pub(crate) const MAGIC: [u8; 8] = *b"STRATA\r\n";
/// The format this crate writes, after the magic number, in 4 bytes. It reads this and all before it.
///
/// Version 2 keeps the kind of each instruction; version 1 has its spelling alone.
pub const VERSION: u32 = 2;
/// Where the first frame, the origin, begins.
pub(crate) const FIRST_FRAME: u64 = 12;
/// Last bytes of a whole file, after the place of the index (8 bytes) and its CRC-32 (4 bytes).
pub(crate) const END: [u8; 4] = *b"ends";
/// Bytes of all that.
pub(crate) const TRAILER_BYTES: u64 = 16;
/// The largest copy or allocation: more than any GPU's memory.
const MAX_SIZE: u64 = 1 << 40;

/// A host event, or the place of a launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    Event(Event),
    Launch { offset: u64 },
}

/// Where everything is: the last frame.
#[derive(Default, Debug, PartialEq, Eq)]
pub(crate) struct Index {
    /// Places of the tables of instructions, by number.
    pub(crate) tables: Vec<u64>,
    /// What happened, in program order.
    pub(crate) entries: Vec<Entry>,
}

/// A block of CTAs: where it is and which CTAs it holds, in the order of the block.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BlockPlace {
    pub(crate) offset: u64,
    pub(crate) ctas: Vec<u64>,
}

/// The frame at the end of a launch.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct LaunchFrame {
    pub(crate) summary: LaunchSummary,
    /// Number of its table of instructions.
    pub(crate) table: u32,
    pub(crate) blocks: Vec<BlockPlace>,
}

pub(crate) fn encode_origin(origin: &Origin) -> Vec<u8> {
    let mut out = Vec::new();
    put_text(&mut out, &origin.program);
    out.push(u8::from(origin.size.is_some()));
    put_text(&mut out, origin.size.as_deref().unwrap_or_default());
    put(&mut out, origin.seed);
    out
}

pub(crate) fn decode_origin(bytes: &[u8]) -> Result<Origin, Malformed> {
    let mut take = Take::new(bytes);
    let program = take.text()?.to_owned();
    let has_size = take.byte()? != 0;
    let size = Some(take.text()?.to_owned()).filter(|_| has_size);
    let seed = take.number()?;
    take.end()?;
    Ok(Origin { program, size, seed })
}

/// Says what of a launch a trace cannot hold.
pub(crate) fn check_info(info: &LaunchInfo) -> Result<(), String> {
    let fits = |dim: strata_core::Dim3, limits: [u32; 3]| {
        [dim.x, dim.y, dim.z].into_iter().zip(limits).all(|(extent, limit)| (1..=limit).contains(&extent))
    };
    if fits(info.grid, MAX_GRID) && fits(info.block, MAX_BLOCK) && info.block.count() <= MAX_THREADS {
        return Ok(());
    }
    Err(format!("kernel `{}`: no GPU takes a grid of {} with blocks of {}", info.kernel, info.grid, info.block))
}

pub(crate) fn encode_launch(launch: &LaunchFrame) -> Vec<u8> {
    let mut out = Vec::new();
    let LaunchSummary { info, counts, operations, memory_operations, raw_bytes, stored_bytes } = &launch.summary;
    put_text(&mut out, &info.kernel);
    put_dim(&mut out, info.grid);
    put_dim(&mut out, info.block);
    for number in [u64::from(info.registers), info.shared.0, info.local.0, u64::from(launch.table)] {
        put(&mut out, number);
    }
    for &number in counts.warp_by_class.iter().chain(&counts.thread_by_class) {
        put(&mut out, number);
    }
    for number in [counts.bytes_read, counts.bytes_written, counts.divisions_by_zero] {
        put(&mut out, number);
    }
    for &number in [operations, memory_operations, raw_bytes, stored_bytes] {
        put(&mut out, number);
    }
    put(&mut out, launch.blocks.len() as u64);
    let (mut offset, mut cta) = (0, 0);
    for block in &launch.blocks {
        put(&mut out, block.offset - offset);
        offset = block.offset;
        put(&mut out, block.ctas.len() as u64);
        for &number in &block.ctas {
            put_signed(&mut out, number.wrapping_sub(cta) as i64);
            cta = number.wrapping_add(1);
        }
    }
    out
}

pub(crate) fn decode_launch(bytes: &[u8]) -> Result<LaunchFrame, Malformed> {
    let mut take = Take::new(bytes);
    let kernel = take.text()?.to_owned();
    let (grid, block) = (take.dim("grid", MAX_GRID)?, take.dim("block", MAX_BLOCK)?);
    let registers = take.at_most("number of registers", 1 << 16)? as u32;
    let shared = Bytes(take.at_most("shared memory", MAX_SIZE)?);
    let local = Bytes(take.at_most("local memory", MAX_SIZE)?);
    let table = take.u32("table")?;
    let info = LaunchInfo { kernel, grid, block, registers, shared, local };
    if let Err(cause) = check_info(&info) {
        return take.wrong(cause);
    }
    let mut counts = Counts::default();
    for class in 0..OpClass::ALL.len() {
        counts.warp_by_class[class] = take.at_most("number of instructions", MAX_COUNT)?;
    }
    for class in 0..OpClass::ALL.len() {
        counts.thread_by_class[class] = take.at_most("number of instructions", MAX_COUNT)?;
    }
    for count in [&mut counts.bytes_read, &mut counts.bytes_written, &mut counts.divisions_by_zero] {
        *count = take.at_most("count", MAX_COUNT)?;
    }
    let mut numbers = [0; 4];
    for number in &mut numbers {
        *number = take.at_most("count", MAX_COUNT)?;
    }
    let [operations, memory_operations, raw_bytes, stored_bytes] = numbers;
    let summary = LaunchSummary { info, counts, operations, memory_operations, raw_bytes, stored_bytes };
    let blocks = decode_places(&mut take)?;
    take.end()?;
    Ok(LaunchFrame { summary, table, blocks })
}

/// Counts of one launch stay below this, so that those of many can be added up.
const MAX_COUNT: u64 = 1 << 52;

fn decode_places(take: &mut Take<'_>) -> Result<Vec<BlockPlace>, Malformed> {
    let mut blocks = Vec::new();
    let (mut offset, mut cta) = (0u64, 0u64);
    for _ in 0..take.count()? {
        offset = offset.wrapping_add(take.number()?);
        let mut ctas = Vec::new();
        for _ in 0..take.count()? {
            let number = cta.wrapping_add(take.signed()? as u64);
            ctas.push(number);
            cta = number.wrapping_add(1);
        }
        blocks.push(BlockPlace { offset, ctas });
    }
    Ok(blocks)
}

const LAUNCH: u8 = 0;
const ALLOC: u8 = 1;
const ALLOC_MANAGED: u8 = 2;
const FREE: u8 = 3;
const COPY_IN: u8 = 4;
const COPY_OUT: u8 = 5;
const MEMSET: u8 = 6;
const SYNC: u8 = 7;

pub(crate) fn encode_index(index: &Index) -> Vec<u8> {
    let mut out = Vec::new();
    put(&mut out, index.tables.len() as u64);
    index.tables.iter().for_each(|&offset| put(&mut out, offset));
    put(&mut out, index.entries.len() as u64);
    for entry in &index.entries {
        encode_entry(&mut out, entry);
    }
    out
}

fn encode_entry(out: &mut Vec<u8>, entry: &Entry) {
    let mut range = |kind: u8, start: &Addr, size: &Bytes| {
        out.push(kind);
        put(out, start.0);
        put(out, size.0);
    };
    match entry {
        Entry::Event(Event::Alloc { id, start, size, managed, name }) => {
            range(if *managed { ALLOC_MANAGED } else { ALLOC }, start, size);
            put(out, u64::from(*id));
            put_text(out, name);
        }
        Entry::Event(Event::CopyIn { start, size }) => range(COPY_IN, start, size),
        Entry::Event(Event::CopyOut { start, size }) => range(COPY_OUT, start, size),
        Entry::Event(Event::Memset { start, size }) => range(MEMSET, start, size),
        Entry::Event(Event::Free { id }) => {
            out.push(FREE);
            put(out, u64::from(*id));
        }
        Entry::Event(Event::Sync) => out.push(SYNC),
        Entry::Launch { offset } => {
            out.push(LAUNCH);
            put(out, *offset);
        }
    }
}

pub(crate) fn decode_index(bytes: &[u8]) -> Result<Index, Malformed> {
    let mut take = Take::new(bytes);
    let tables = (0..take.count()?).map(|_| take.number()).collect::<Result<_, _>>()?;
    let entries = (0..take.count()?).map(|_| decode_entry(&mut take)).collect::<Result<_, _>>()?;
    take.end()?;
    Ok(Index { tables, entries })
}

fn decode_entry(take: &mut Take<'_>) -> Result<Entry, Malformed> {
    let kind = take.byte()?;
    Ok(match kind {
        LAUNCH => Entry::Launch { offset: take.number()? },
        FREE => Entry::Event(Event::Free { id: take.u32("allocation")? }),
        SYNC => Entry::Event(Event::Sync),
        ALLOC..=MEMSET => {
            let start = Addr(take.at_most("address", (1 << ADDRESS_BITS) - 1)?);
            let size = Bytes(take.at_most("size", MAX_SIZE)?);
            Entry::Event(match kind {
                COPY_IN => Event::CopyIn { start, size },
                COPY_OUT => Event::CopyOut { start, size },
                MEMSET => Event::Memset { start, size },
                _ => {
                    let id = take.u32("allocation")?;
                    let name = take.text()?.to_owned();
                    Event::Alloc { id, start, size, managed: kind == ALLOC_MANAGED, name }
                }
            })
        }
        _ => return take.wrong(format!("an event of unknown kind {kind}")),
    })
}
