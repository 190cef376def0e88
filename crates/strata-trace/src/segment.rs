//! The stream of one warp: segments, one after the other.
//!
//! ```text
//! segment   := head operations [deltas] [runs] [bitmap] address*
//! head      := number: stop (2 bits: 0 ready, 1 barrier, 2 exited), REPEATS, MASKS, SPARSE (1 bit each),
//!              then the signed distance of the first program counter from the one after the last segment
//! operations:= number
//! deltas    := with REPEATS: for each operation but the first, how far its program counter is from the one before;
//!              without, program counters go up by one
//! runs      := with MASKS: (number of operations, 4 bytes of mask) until all operations have one; without, every
//!              operation has the mask of the last one before
//! bitmap    := with SPARSE: one bit per operation, set if it has addresses; without, those have that name a memory
//!              (parameters apart) and have a lane
//! address   := byte: form (2 bits), space; signed distance of the lowest lane's address from that of the last
//!              execution of the instruction; form 2: signed stride; form 3: for each further lane its signed
//!              distance from the one before
//! form      := 0 all lanes alike, 1 stride is the width of the access, 2 stride given, 3 no stride
//! ```
//!
//! What comes before a warp's first execution of an instruction is an address that the whole CTA shares (see `cta`).
//! Nothing else is shared, so that warps can be read in any order.

use crate::stream::ADDRESS_BITS;
use crate::table::{SPACES, Table};
use crate::wire::{Malformed, Take, put, put_signed};
use strata_core::{Addr, AddressSet, LANES, LaneMask, OpBatch, Pattern, Space, Stop, WarpOp};

const REPEATS: u64 = 1 << 2;
const MASKS: u64 = 1 << 3;
const SPARSE: u64 = 1 << 4;
const FLAG_BITS: u32 = 5;

const SAME: u8 = 0;
const SEQUENCE: u8 = 1;
const STRIDE: u8 = 2;
const SCATTERED: u8 = 3;

/// Writes the stream of one warp.
#[derive(Default)]
pub(crate) struct WarpEncoder {
    pub(crate) bytes: Vec<u8>,
    /// Segments so far.
    pub(crate) segments: u32,
    next_pc: u32,
    mask: LaneMask,
    /// Last address by slot of the table.
    last: Vec<Option<u64>>,
}

impl WarpEncoder {
    /// Begins a new warp, keeping memory.
    pub(crate) fn start(&mut self, table: &Table) {
        self.bytes.clear();
        self.last.clear();
        self.last.resize(table.addressed, None);
        (self.segments, self.next_pc, self.mask) = (0, 0, LaneMask::MAX);
    }

    /// Appends a segment; `first` holds the first address of each slot in the CTA, `moved` how far local addresses lie
    /// above those of slot 0.
    pub(crate) fn segment(
        &mut self,
        table: &Table,
        first: &mut [Option<u64>],
        ops: &[WarpOp],
        batch: &OpBatch,
        moved: u64,
        stop: Stop,
    ) -> Result<(), String> {
        let mut flags = match stop {
            Stop::Ready => 0,
            Stop::Barrier => 1,
            Stop::Exited => 2,
            Stop::Failed => return Err("a failed segment".into()),
        };
        self.segments = self.segments.checked_add(1).ok_or("a warp of more than 2^32 segments")?;
        let (Some(head), Some(last)) = (ops.first(), ops.last()) else {
            put(&mut self.bytes, flags);
            put(&mut self.bytes, 0);
            return Ok(());
        };
        if last.pc as usize >= table.infos.len() || !ops.is_sorted_by_key(|op| op.pc) {
            return Err(format!(
                "program counters {} to {} of a segment leave the table of {} or go down",
                head.pc,
                last.pc,
                table.infos.len()
            ));
        }
        let has = |op: &WarpOp| op.addresses != WarpOp::NO_ADDRESSES;
        if ops.windows(2).any(|pair| pair[1].pc != pair[0].pc + 1) {
            flags |= REPEATS;
        }
        if ops.iter().any(|op| op.mask != self.mask) {
            flags |= MASKS;
        }
        if ops.iter().any(|op| has(op) != table.expects_addresses(op.pc, op.mask)) {
            flags |= SPARSE;
        }
        let distance = i64::from(head.pc) - i64::from(self.next_pc);
        put(&mut self.bytes, crate::wire::fold(distance) << FLAG_BITS | flags);
        put(&mut self.bytes, ops.len() as u64);
        if flags & REPEATS != 0 {
            for pair in ops.windows(2) {
                put(&mut self.bytes, u64::from(pair[1].pc - pair[0].pc));
            }
        }
        if flags & MASKS != 0 {
            for run in ops.chunk_by(|a, b| a.mask == b.mask) {
                put(&mut self.bytes, run.len() as u64);
                self.bytes.extend_from_slice(&run[0].mask.to_le_bytes());
            }
        }
        if flags & SPARSE != 0 {
            for part in ops.chunks(8) {
                self.bytes.push(part.iter().enumerate().fold(0, |byte, (k, op)| byte | u8::from(has(op)) << k));
            }
        }
        self.next_pc = last.pc + 1;
        self.mask = last.mask;
        for op in ops.iter().filter(|op| has(op)) {
            let set = batch.addresses.get(op.addresses as usize);
            let set = set.ok_or("an operation refers to addresses that are not there")?;
            self.addresses(table, first, op, set.space, &batch.lanes(set), moved)?;
        }
        Ok(())
    }

    fn addresses(
        &mut self,
        table: &Table,
        first: &mut [Option<u64>],
        op: &WarpOp,
        space: Space,
        lanes: &[Addr; LANES],
        moved: u64,
    ) -> Result<(), String> {
        let info = &table.infos[op.pc as usize];
        let Some(slot) = table.slot(op.pc) else {
            return Err(format!("`{}` in line {} names no memory, yet it has addresses", info.name, info.line));
        };
        let moved = if space == Space::Local { moved } else { 0 };
        let lanes = lanes.map(|a| a.0.wrapping_sub(moved));
        let base = if op.mask == 0 { 0 } else { lanes[op.mask.trailing_zeros() as usize] };
        let (form, stride) = shape(&lanes, op.mask, info.width);
        let space = SPACES.iter().position(|s| *s == space).unwrap_or(0) as u8;
        self.bytes.push(form | space << 2);
        let before = self.last[slot].or(first[slot]).unwrap_or(base);
        first[slot].get_or_insert(base);
        self.last[slot] = Some(base);
        put_signed(&mut self.bytes, base.wrapping_sub(before) as i64);
        let mut previous = base;
        let mut high = base;
        for lane in lanes_of(op.mask).skip(1) {
            let address = lanes[lane];
            if form == SCATTERED {
                put_signed(&mut self.bytes, address.wrapping_sub(previous) as i64);
            }
            previous = address;
            high |= address;
        }
        if form == STRIDE {
            put_signed(&mut self.bytes, stride as i64);
        }
        if high >> ADDRESS_BITS != 0 {
            return Err(format!("`{}` in line {}: an address of more than {ADDRESS_BITS} bits", info.name, info.line));
        }
        Ok(())
    }
}

/// The lanes of a mask, lowest first.
fn lanes_of(mask: LaneMask) -> impl Iterator<Item = usize> {
    let mut rest = mask;
    std::iter::from_fn(move || {
        let lane = rest.trailing_zeros() as usize;
        rest &= rest.wrapping_sub(1);
        (lane < LANES).then_some(lane)
    })
}

/// The form of addresses, and their stride from one lane to the next.
fn shape(lanes: &[u64; LANES], mask: LaneMask, width: u8) -> (u8, u64) {
    let mut active = lanes_of(mask);
    let (Some(first), Some(second)) = (active.next(), active.next()) else { return (SAME, 0) };
    let (apart, gap) = (lanes[second].wrapping_sub(lanes[first]) as i64, (second - first) as i64);
    if apart % gap != 0 {
        return (SCATTERED, 0);
    }
    let stride = (apart / gap) as u64;
    let affine = |lane: usize| lanes[first].wrapping_add(stride.wrapping_mul((lane - first) as u64));
    match stride {
        _ if active.any(|lane| lanes[lane] != affine(lane)) => (SCATTERED, 0),
        0 => (SAME, 0),
        _ if stride == u64::from(width) => (SEQUENCE, stride),
        _ => (STRIDE, stride),
    }
}

/// Reads the stream of one warp.
#[derive(Default)]
pub(crate) struct WarpCursor {
    /// Where the next segment begins in the bytes of the block, and where the stream ends.
    pub(crate) at: usize,
    pub(crate) end: usize,
    /// Segments so far.
    pub(crate) segments: u32,
    next_pc: u32,
    mask: LaneMask,
    /// Last address by slot of the table.
    last: Vec<u64>,
}

impl WarpCursor {
    /// Begins a warp whose stream lies at `from..end`; `first` lists slots and their first addresses in the CTA.
    pub(crate) fn start(&mut self, table: &Table, from: usize, end: usize, first: &[(u32, u64)]) {
        self.last.clear();
        self.last.resize(table.addressed, 0);
        for &(slot, address) in first {
            self.last[slot as usize] = address;
        }
        (self.at, self.end, self.segments) = (from, end, 0);
        (self.next_pc, self.mask) = (0, LaneMask::MAX);
    }

    /// Appends the next segment to `out`; `moved` is added to local addresses.
    pub(crate) fn segment(
        &mut self,
        bytes: &[u8],
        table: &Table,
        moved: u64,
        out: &mut OpBatch,
    ) -> Result<Stop, Malformed> {
        let mut take = Take::from(&bytes[..self.end], self.at);
        let head = take.number()?;
        let stop = match head & 3 {
            0 => Stop::Ready,
            1 => Stop::Barrier,
            2 => Stop::Exited,
            _ => return take.wrong("a segment ends in an unknown way"),
        };
        self.segments = self.segments.saturating_add(1);
        let count = take.number()?;
        if count > 0 {
            self.operations(&mut take, table, head, count, out, moved)?;
        }
        if stop == Stop::Exited && take.left() > 0 {
            return take.wrong("a warp goes on after it has exited");
        }
        self.at = take.at;
        Ok(stop)
    }

    fn operations(
        &mut self,
        take: &mut Take<'_>,
        table: &Table,
        head: u64,
        count: u64,
        out: &mut OpBatch,
        moved: u64,
    ) -> Result<(), Malformed> {
        let instructions = table.infos.len() as u64;
        let distance = crate::wire::unfold(head >> FLAG_BITS);
        let Some(first) = u64::from(self.next_pc).checked_add_signed(distance).filter(|&pc| pc < instructions) else {
            return take.wrong(format!("a segment begins outside the {instructions} instructions of the kernel"));
        };
        let begin = out.ops.len();
        let op = |pc: u64| WarpOp { pc: pc as u32, mask: self.mask, addresses: WarpOp::NO_ADDRESSES };
        let beyond = || format!("a segment of {count} operations leaves the {instructions} instructions of the kernel");
        if head & REPEATS == 0 {
            if count > instructions - first {
                return take.wrong(beyond());
            }
            out.ops.extend((first..first + count).map(op));
        } else {
            if count - 1 > take.left() as u64 {
                return take.wrong(beyond());
            }
            let mut pc = first;
            out.ops.push(op(pc));
            for _ in 1..count {
                pc += take.at_most("distance of two operations", instructions - 1 - pc)?;
                out.ops.push(op(pc));
            }
        }
        let ops = &mut out.ops[begin..];
        if head & MASKS != 0 {
            let mut rest = &mut *ops;
            while !rest.is_empty() {
                let run = take.at_most("operations with one mask", rest.len() as u64)?;
                let mask = LaneMask::from_le_bytes(take.array()?);
                let (run, after) = rest.split_at_mut(run as usize);
                if run.is_empty() {
                    return take.wrong("a mask for no operation");
                }
                for op in run {
                    op.mask = mask;
                }
                rest = after;
                self.mask = mask;
            }
        }
        self.next_pc = ops.last().map_or(0, |op| op.pc + 1);
        let bitmap = if head & SPARSE != 0 { take.bytes(ops.len().div_ceil(8))? } else { &[] };
        for (k, op) in ops.iter_mut().enumerate() {
            let has = match bitmap.get(k / 8) {
                Some(byte) => byte >> (k % 8) & 1 != 0,
                None => table.expects_addresses(op.pc, op.mask),
            };
            if has {
                op.addresses = out.addresses.len() as u32;
                self.addresses(take, table, *op, moved, &mut out.addresses, &mut out.scattered)?;
            }
        }
        Ok(())
    }

    fn addresses(
        &mut self,
        take: &mut Take<'_>,
        table: &Table,
        op: WarpOp,
        moved: u64,
        sets: &mut Vec<AddressSet>,
        scattered: &mut Vec<[Addr; LANES]>,
    ) -> Result<(), Malformed> {
        let head = take.byte()?;
        let Some(&space) = SPACES.get(usize::from(head >> 2)) else {
            return take.wrong(format!("there is no memory space {}", head >> 2));
        };
        let Some(slot) = table.slot(op.pc) else {
            return take.wrong(format!("instruction {} names no memory, yet it has addresses", op.pc));
        };
        let base = self.last[slot].wrapping_add(take.signed()? as u64);
        self.last[slot] = base;
        let moved = if space == Space::Local { moved } else { 0 };
        let base = base.wrapping_add(moved);
        let mut lanes = [Addr(0); LANES];
        let mut high = 0;
        if head & 3 == SCATTERED {
            let mut address = base;
            for (k, lane) in lanes_of(op.mask).enumerate() {
                if k > 0 {
                    address = address.wrapping_add(take.signed()? as u64);
                }
                lanes[lane] = Addr(address);
                high |= address;
            }
        } else {
            let stride = match head & 3 {
                SAME => 0,
                SEQUENCE => u64::from(table.infos[op.pc as usize].width),
                _ => take.signed()? as u64,
            };
            let mut here = base.wrapping_sub(stride.wrapping_mul(u64::from(op.mask.trailing_zeros())));
            for (lane, address) in lanes.iter_mut().enumerate() {
                address.0 = if op.mask >> lane & 1 != 0 { here } else { 0 };
                high |= address.0;
                here = here.wrapping_add(stride);
            }
        }
        if high >> ADDRESS_BITS != 0 {
            return take.wrong(format!("instruction {}: an address of more than {ADDRESS_BITS} bits", op.pc));
        }
        let full = op.mask == LaneMask::MAX;
        let pattern = match head & 3 {
            SAME if full => Pattern::Same(lanes[0]),
            SEQUENCE if full => {
                Pattern::Sequence { first: lanes[0], step: u32::from(table.infos[op.pc as usize].width) }
            }
            _ => {
                scattered.push(lanes);
                Pattern::Scattered(scattered.len() as u32 - 1)
            }
        };
        sets.push(AddressSet { mask: op.mask, space, pattern });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(address: impl Fn(u64) -> u64, mask: LaneMask, expected: (u8, i64)) {
        let lanes = std::array::from_fn(|l| address(l as u64));
        let (form, stride) = shape(&lanes, mask, 4);
        assert_eq!((form, stride as i64), expected);
    }

    #[test]
    fn forms_of_addresses() {
        check(|_| 7, !0, (SAME, 0));
        check(|l| 1000 + 4 * l, !0, (SEQUENCE, 4));
        check(|l| 1000 + 4 * l, 0x8000_0101, (SEQUENCE, 4));
        check(|l| 1000 - 8 * l, !0, (STRIDE, -8));
        check(|l| l * l, !0, (SCATTERED, 0));
        check(|l| l * l, 0b11, (STRIDE, 1));
        check(|l| l / 2, 0b101, (SCATTERED, 0));
        check(|l| l * l, 1 << 31, (SAME, 0));
        check(|l| l * l, 0, (SAME, 0));
    }
}
