//! The directory of an `.npz` file: a ZIP archive, as PKWARE's APPNOTE.TXT (6.3.10) describes it, whose members are arrays.
//!
//! Read are stored and deflated members, with 64-bit sizes where need be: what `numpy.savez` and `numpy.savez_compressed`
//! write. A member that is no `.npy` file is a tensor of raw bytes.

use super::unpack::{Method, Packing, Unpacker};
use super::{MOST_HEADER_BYTES, MOST_TENSORS, Source, Tensor, TensorError};
use std::io::{self, Read, Seek};
use strata_run::npy;

/// The end of the central directory (4.3.16) without its comment, and the longest comment.
const END_BYTES: u64 = 22;
const MOST_COMMENT_BYTES: u64 = u16::MAX as u64;
const END: [u8; 4] = *b"PK\x05\x06";
/// The locator of the 64-bit end (4.3.15), right before the end.
const LOCATOR_BYTES: u64 = 20;
const LOCATOR: [u8; 4] = *b"PK\x06\x07";
/// The 64-bit end (4.3.14).
const END64_BYTES: u64 = 56;
const END64: [u8; 4] = *b"PK\x06\x06";
/// A member in the directory (4.3.12), without its name.
const ENTRY_BYTES: usize = 46;
const ENTRY: [u8; 4] = *b"PK\x01\x02";
/// What stands before a member's bytes (4.3.7), without its name.
const LOCAL_BYTES: u64 = 30;
const LOCAL: [u8; 4] = *b"PK\x03\x04";
/// The extra field of 64-bit sizes (4.5.3).
const EXTRA64: u16 = 1;

/// Bytes that one packed byte can give at most: RFC 1951, a match of 258 bytes in 2 bits.
const MOST_INFLATION: u64 = 1032;

const SAVE_AGAIN: &str = "save it again with `numpy.savez`; a copy may have been cut off";

/// A member as the directory describes it.
struct Member {
    name: String,
    /// Where its local header is.
    header: u64,
    method: Method,
    crc: u32,
    packed_bytes: u64,
    bytes: u64,
}

/// The tensors of a file, in the order of their bytes.
pub(super) fn tensors<R: Read + Seek>(source: &mut Source<R>) -> Result<Vec<Tensor>, TensorError> {
    let (start, bytes) = directory(source)?;
    let directory = source.read_header(start, bytes)?;
    let mut members = members(source, start, &directory)?;
    members.sort_by_key(|member| member.header);
    let mut tensors = Vec::with_capacity(members.len());
    let mut end = 0;
    for member in members {
        if member.header < end {
            let cause = format!("`{}` overlaps the member before it", member.name);
            return Err(source.error(member.header, cause, SAVE_AGAIN));
        }
        let (tensor, after) = tensor(source, member, start)?;
        end = after;
        tensors.push(tensor);
    }
    Ok(tensors)
}

/// Where the central directory is, and how long.
fn directory<R: Read + Seek>(source: &mut Source<R>) -> Result<(u64, u64), TensorError> {
    let tail_start = source.length.saturating_sub(END_BYTES + MOST_COMMENT_BYTES);
    let tail = source.read_header(tail_start, source.length - tail_start)?;
    // The comment after it ends the file; so a comment that looks like an end is not taken for one.
    let is_end = |at: &usize| {
        tail[*at..].starts_with(&END) && *at as u64 + END_BYTES + u64::from(u16_at(&tail, at + 20)) == tail.len() as u64
    };
    let candidates = 0..(tail.len() + 1).saturating_sub(END_BYTES as usize);
    let Some(at) = candidates.rev().find(is_end) else {
        let cause = "it does not end like an `.npz` file, which is a ZIP archive";
        return Err(source.error(source.length, cause, SAVE_AGAIN));
    };
    let (mut bytes, mut start) = (u64::from(u32_at(&tail, at + 12)), u64::from(u32_at(&tail, at + 16)));
    let mut end = tail_start + at as u64;
    if start == u64::from(u32::MAX) || bytes == u64::from(u32::MAX) || u16_at(&tail, at + 10) == u16::MAX {
        (start, bytes, end) = directory64(source, end)?;
    }
    if start.checked_add(bytes).is_none_or(|directory_end| directory_end > end) {
        let cause = format!("the archive's directory claims {bytes} bytes from byte {start} on, beyond its own end");
        return Err(source.error(end, cause, SAVE_AGAIN));
    }
    if bytes > MOST_HEADER_BYTES {
        let cause = format!("the archive's directory claims {bytes} bytes, {MOST_HEADER_BYTES} are allowed");
        return Err(source.error(end, cause, "put fewer arrays into one file"));
    }
    Ok((start, bytes))
}

/// The same from the 64-bit end, and where that begins.
fn directory64<R: Read + Seek>(source: &mut Source<R>, end: u64) -> Result<(u64, u64, u64), TensorError> {
    let missing = |source: &Source<R>, at| source.error(at, "the archive's 64-bit directory is not there", SAVE_AGAIN);
    let locator_start = end.checked_sub(LOCATOR_BYTES).ok_or_else(|| missing(source, end))?;
    let locator = source.read_header(locator_start, LOCATOR_BYTES)?;
    let at = u64_at(&locator, 8);
    let fits = at.checked_add(END64_BYTES).is_some_and(|after| after <= locator_start);
    if !locator.starts_with(&LOCATOR) || !fits {
        return Err(missing(source, locator_start));
    }
    let end64 = source.read_header(at, END64_BYTES)?;
    if !end64.starts_with(&END64) {
        return Err(missing(source, at));
    }
    Ok((u64_at(&end64, 48), u64_at(&end64, 40), at))
}

/// The members that the directory, which begins at `start`, names.
fn members<R>(source: &Source<R>, start: u64, directory: &[u8]) -> Result<Vec<Member>, TensorError> {
    let mut members = Vec::new();
    let mut rest = directory;
    while !rest.is_empty() {
        let at = start + (directory.len() - rest.len()) as u64;
        let error = |cause: String, cure| source.error(at, cause, cure);
        let broken = || error("the archive's directory is broken".into(), SAVE_AGAIN);
        if members.len() == MOST_TENSORS {
            return Err(error(format!("it has more than {MOST_TENSORS} members"), "put fewer arrays into one file"));
        }
        if rest.len() < ENTRY_BYTES || !rest.starts_with(&ENTRY) {
            return Err(broken());
        }
        let (entry, after) = rest.split_at(ENTRY_BYTES);
        let [name, extra, comment] = [28, 30, 32].map(|field| usize::from(u16_at(entry, field)));
        let name_bytes = after.get(..name).ok_or_else(broken)?;
        let extra_bytes = after.get(name..name + extra).ok_or_else(broken)?;
        rest = after.get(name + extra + comment..).ok_or_else(broken)?;

        let name = String::from_utf8_lossy(name_bytes).into_owned();
        if u16_at(entry, 8) & 1 != 0 {
            return Err(error(format!("`{name}` is encrypted"), "save it without a password"));
        }
        let method = match u16_at(entry, 10) {
            0 => Method::Stored,
            8 => Method::Deflated,
            other => {
                let cause = format!("`{name}` is packed with method {other}");
                return Err(error(cause, "save it with `numpy.savez` or `numpy.savez_compressed`"));
            }
        };
        // Of the three, those that do not fit 32 bits stand in the extra field, in this order.
        let [mut bytes, mut packed_bytes, mut header] = [24, 20, 42].map(|field| u64::from(u32_at(entry, field)));
        let mut wide = extra64(extra_bytes);
        for value in [&mut bytes, &mut packed_bytes, &mut header] {
            if *value == u64::from(u32::MAX) {
                let (first, others) = wide.split_first_chunk::<8>().ok_or_else(broken)?;
                *value = u64::from_le_bytes(*first);
                wide = others;
            }
        }
        let most = match method {
            Method::Stored => packed_bytes,
            Method::Deflated => packed_bytes.saturating_mul(MOST_INFLATION),
        };
        if bytes > most {
            let cause =
                format!("`{name}` claims {bytes} bytes, its {packed_bytes} packed ones cannot give more than {most}");
            return Err(error(cause, SAVE_AGAIN));
        }
        members.push(Member { name, header, method, crc: u32_at(entry, 16), packed_bytes, bytes });
    }
    Ok(members)
}

/// The 64-bit sizes among the extra fields of a member; empty if there are none.
fn extra64(mut fields: &[u8]) -> &[u8] {
    while let Some((head, rest)) = fields.split_first_chunk::<4>() {
        let Some((field, others)) = rest.split_at_checked(usize::from(u16_at(head, 2))) else { break };
        if u16_at(head, 0) == EXTRA64 {
            return field;
        }
        fields = others;
    }
    &[]
}

/// The tensor in a member, and the byte after it. Members end before the directory, which begins at `limit`.
fn tensor<R: Read + Seek>(source: &mut Source<R>, member: Member, limit: u64) -> Result<(Tensor, u64), TensorError> {
    let Member { name, header, method, crc, packed_bytes, bytes } = member;
    let beyond = |source: &Source<R>| {
        source.error(header, format!("`{name}` reaches into the archive's directory at byte {limit}"), SAVE_AGAIN)
    };
    if header.checked_add(LOCAL_BYTES).is_none_or(|end| end > limit) {
        return Err(beyond(source));
    }
    let local = source.read_header(header, LOCAL_BYTES)?;
    if !local.starts_with(&LOCAL) {
        return Err(source.error(header, format!("`{name}` is not here, where the directory says"), SAVE_AGAIN));
    }
    let start = header + LOCAL_BYTES + u64::from(u16_at(&local, 26)) + u64::from(u16_at(&local, 28));
    let end = start.checked_add(packed_bytes).filter(|&end| end <= limit).ok_or_else(|| beyond(source))?;
    let mut packing = Packing::member(start, packed_bytes, method, crc);
    let Some(array) = name.strip_suffix(".npy") else {
        return Ok((Tensor { name, bytes, packing }, end));
    };
    let mut reader = MemberReader { unpacker: Unpacker::new(&packing), source, left: bytes, read: 0 };
    let layout = npy::read_layout(&mut reader);
    packing.skip = reader.read;
    let layout = layout
        .map_err(|error| source.error(start, format!("`{name}`: {error}"), "save it again with `numpy.savez`"))?;
    source.check_array(start, layout.bytes(), bytes - packing.skip)?;
    Ok((Tensor { name: array.to_owned(), bytes: layout.bytes(), packing }, end))
}

/// The beginning of a member.
struct MemberReader<'a, R> {
    unpacker: Unpacker,
    source: &'a mut Source<R>,
    left: u64,
    read: u64,
}

impl<R: Read + Seek> Read for MemberReader<'_, R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let bytes = usize::try_from(self.left).unwrap_or(usize::MAX).min(out.len());
        self.unpacker.fill(self.source, &mut out[..bytes]).map_err(|error| io::Error::other(error.cause))?;
        self.left -= bytes as u64;
        self.read += bytes as u64;
        Ok(bytes)
    }
}

/// The number at a place, zeros for what is not there: callers have looked at the length before.
fn number<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes.get(at..).and_then(|rest| rest.first_chunk()).copied().unwrap_or([0; N])
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(number(bytes, at))
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(number(bytes, at))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(number(bytes, at))
}
