//! Copies of a process: regions with gaps, to the device, from it and on it.

use super::allocations::Way;
use super::code;
use super::session::{Answer, Session, refuse};
use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use strata_core::{Addr, Bytes};
use strata_cudart::protocol::{Region, Reply};

impl Session {
    /// The bytes must be taken from the stream whatever becomes of them.
    pub(super) fn copy_in(&mut self, stream: &mut UnixStream, to: Region) -> io::Result<Answer> {
        let size = to.bytes().ok_or_else(|| io::Error::other("a copy larger than memory"))?;
        let mut data = Vec::new();
        // All of it at once: a buffer that grows leaves all its former sizes to the heap.
        data.try_reserve_exact(size as usize).map_err(io::Error::other)?;
        stream.take(size).read_to_end(&mut data)?;
        if (data.len() as u64) < size {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(self.put(to, &data))
    }

    fn put(&mut self, to: Region, data: &[u8]) -> Answer {
        let mut rest = data;
        for (start, size) in pieces(to)? {
            let (piece, after) = rest.split_at_checked(size as usize).unwrap_or((rest, &[]));
            let copied = self.parts.device.copy_in(Addr(start), piece);
            copied.map_err(|e| refuse(code::INVALID_VALUE, e.to_string()))?;
            self.allocations.moved(start, size, Way::In);
            rest = after;
        }
        Ok(Reply::Done)
    }

    pub(super) fn copy_out(&mut self, from: Region) -> Result<Vec<u8>, Reply> {
        let mut data = Vec::new();
        for (start, size) in pieces(from)? {
            let at = data.len();
            self.check(start, size)?;
            data.resize(at + size as usize, 0);
            let copied = self.parts.device.copy_out(Addr(start), &mut data[at..]);
            copied.map_err(|e| refuse(code::INVALID_VALUE, e.to_string()))?;
            self.allocations.moved(start, size, Way::Out);
        }
        Ok(data)
    }

    /// Sizes are checked before memory is taken for them: no allocation is larger than the device.
    fn check(&self, start: u64, size: u64) -> Result<(), Reply> {
        let capacity = &self.parts.capacity;
        if size > capacity.device.0 + capacity.managed.0 {
            return Err(refuse(code::INVALID_VALUE, format!("a copy of {size} bytes at {}", Addr(start))));
        }
        Ok(())
    }

    pub(super) fn copy_on(&mut self, to: Region, from: Region) -> Answer {
        let (to_pieces, from_pieces): (Vec<_>, Vec<_>) = (pieces(to)?.collect(), pieces(from)?.collect());
        if let ([(to, size)], [(from, same)]) = (&to_pieces[..], &from_pieces[..])
            && size == same
        {
            self.check(*from, *size)?;
            let copied = self.parts.device.copy_on_device(Addr(*to), Addr(*from), Bytes(*size));
            copied.map_err(|e| refuse(code::INVALID_VALUE, e.to_string()))?;
            return Ok(Reply::Done);
        }
        // Different gaps on both sides: row by row.
        for slice in 0..to.slices {
            for row in 0..to.rows {
                let at = |region: &Region| {
                    let offset = slice.wrapping_mul(region.slice_pitch).wrapping_add(row.wrapping_mul(region.pitch));
                    Addr(region.start.wrapping_add(offset))
                };
                self.check(to.start, to.width)?;
                let copied = self.parts.device.copy_on_device(at(&to), at(&from), Bytes(to.width));
                copied.map_err(|e| refuse(code::INVALID_VALUE, e.to_string()))?;
            }
        }
        Ok(Reply::Done)
    }
}

pub(super) fn pieces(region: Region) -> Result<impl Iterator<Item = (u64, u64)>, Reply> {
    region.pieces().ok_or_else(|| refuse(code::INVALID_VALUE, "a region larger than memory"))
}
