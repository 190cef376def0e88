//! Every write to every sector, and what L2 and memory hold of them.
//!
//! L2 is the point where all SMs meet: a write that has arrived there must be in L2 or in memory from then on. The log of a
//! sector is kept for one kernel; at its end all writes have arrived, and the log shrinks to the last of them.

use super::write_set::WriteSet;
use crate::cache::SectorMask;
use rustc_hash::FxHashMap;
use strata_core::LineAddr;

/// Sectors of 32 B in a line of 128 B.
pub(super) const SECTORS: usize = 4;

/// One copy per sector of a line.
pub(super) type LineCopy = [WriteSet; SECTORS];

/// An instruction that ran, or the host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Origin {
    /// Number of the kernel, from 0, or [`Origin::HOST`].
    pub(super) kernel: u32,
    pub(super) sm: u32,
    /// Line of the PTX file, from 1; 0 if it is not known.
    pub(super) line: u32,
    /// Core cycle at which it issued.
    pub(super) cycle: u64,
    /// The number of the offloaded block that it was part of, or 0 on an SM of the GPU.
    pub(super) block: u32,
}

impl Origin {
    /// The kernel number of what the host does.
    pub(super) const HOST: u32 = u32::MAX;

    pub(super) const fn host() -> Self {
        Self { kernel: Self::HOST, sm: 0, line: 0, cycle: 0, block: 0 }
    }
}

/// What is known of one sector.
pub(super) struct Sector {
    /// Writes whose origin is forgotten, and the last of them.
    settled: u32,
    last_settled: Origin,
    /// Origins of the writes after those.
    log: Vec<Origin>,
    /// Writes that L2 has been given.
    pub(super) arrived: WriteSet,
    pub(super) l2: WriteSet,
    /// Bytes of the sector that stores have written into L2's copy, one bit each.
    pub(super) l2_bytes: u32,
    pub(super) memory: WriteSet,
    /// What the host's copy holds, of lines in pages that come and go.
    pub(super) host: WriteSet,
}

impl Default for Sector {
    fn default() -> Self {
        let held = WriteSet::default;
        Self {
            settled: 0,
            last_settled: Origin::host(),
            log: Vec::new(),
            arrived: held(),
            l2: held(),
            l2_bytes: 0,
            memory: held(),
            host: held(),
        }
    }
}

impl Sector {
    /// L2 holds nothing of it any more.
    pub(super) fn forget_l2(&mut self) {
        (self.l2, self.l2_bytes) = (WriteSet::default(), 0);
    }

    /// The number of the last write that took functional effect.
    pub(super) fn newest(&self) -> u32 {
        self.settled.saturating_add(self.log.len() as u32)
    }

    /// A write takes functional effect: its number.
    pub(super) fn write(&mut self, origin: Origin) -> u32 {
        self.log.push(origin);
        self.newest()
    }

    /// Who made a write; of those that are forgotten, the last.
    pub(super) fn origin(&self, write: u32) -> Origin {
        let at = write.checked_sub(self.settled.saturating_add(1));
        at.and_then(|at| self.log.get(at as usize)).copied().unwrap_or(self.last_settled)
    }

    /// Forgets the origins of all writes but the last.
    pub(super) fn settle(&mut self) {
        self.settled = self.newest();
        self.last_settled = self.log.last().copied().unwrap_or(self.last_settled);
        self.log = Vec::new();
    }
}

/// All sectors that were ever written.
#[derive(Default)]
pub(super) struct Ledger {
    lines: FxHashMap<LineAddr, [Sector; SECTORS]>,
}

impl Ledger {
    /// The sectors of a line, for whoever writes.
    pub(super) fn line_mut(&mut self, line: LineAddr) -> &mut [Sector; SECTORS] {
        self.lines.entry(line).or_default()
    }

    /// The sectors of a line that was written before.
    pub(super) fn known_mut(&mut self, line: LineAddr) -> Option<&mut [Sector; SECTORS]> {
        self.lines.get_mut(&line)
    }

    /// The sectors of a line; `None` if it was never written.
    pub(super) fn line(&self, line: LineAddr) -> Option<&[Sector; SECTORS]> {
        self.lines.get(&line)
    }

    /// The numbers of the last writes to the sectors of a line.
    pub(super) fn newest(&self, line: LineAddr) -> [u32; SECTORS] {
        self.line(line).map_or_else(Default::default, |sectors| std::array::from_fn(|s| sectors[s].newest()))
    }
}

/// The numbers of the sectors of a mask.
pub(super) fn members(mask: SectorMask) -> impl Iterator<Item = usize> {
    (0..SECTORS).filter(move |s| mask.0 >> s & 1 != 0)
}
