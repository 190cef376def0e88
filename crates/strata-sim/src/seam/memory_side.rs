//! The memory side: what an L2 fill or write-back does to memory.
//!
//! The answer to a request is a [`Plan`], a small graph of moves, so that a mechanism can be tested without a clock. Memory
//! sides form a chain that ends in plain DRAM; each may hand a request on to the one below it.
//!
//! ```
//! use strata_sim::seam::{Below, Line, LineKind, LineRequest, LocalLine, Plan};
//! use strata_core::LineAddr;
//! use strata_sim::cache::SectorMask;
//!
//! let data: Line = [0; 128];
//! let request = LineRequest {
//!     line: LocalLine(7),
//!     address: LineAddr(7),
//!     sectors: SectorMask(0b0011),
//!     resident: SectorMask::NONE,
//!     kind: LineKind::Fill,
//!     data: &data,
//! };
//! let mut plan = Plan::default();
//! Below::plain().read(&request, &mut plan);
//! assert_eq!((plan.steps.len(), plan.fill), (1, SectorMask(0b0011)));
//! ```

use super::StoredPages;
use crate::cache::SectorMask;
use crate::config::LinkConfig;
use crate::image::ZEROS;
use crate::side_stats::TableCounts;
use arrayvec::ArrayVec;
use std::sync::Arc;
use strata_core::stats::Unit;
use strata_core::{Bytes, HostEvent, LINE_BYTES, LineAddr};

/// The data of a line, 128 B.
pub type Line = [u8; LINE_BYTES as usize];

/// A line of a partition, counted within it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LocalLine(pub u64);

impl LocalLine {
    /// Its home in DRAM: where its bytes are if no memory side has moved them.
    pub const fn addr(self) -> LocalAddr {
        LocalAddr(self.0 * LINE_BYTES)
    }
}

/// A byte address within a partition's DRAM.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LocalAddr(pub u64);

/// Consecutive lines of a partition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LineRange {
    /// The lowest line.
    pub first: LocalLine,
    /// Number of lines; the range may be empty.
    pub lines: u64,
}

/// What leads to a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LineKind {
    /// An L2 miss fetches sectors.
    Fill,
    /// L2 writes dirty sectors back, or writes a store through.
    WriteBack,
    /// The host has written sectors of memory; no traffic of the machine's, so nothing is timed.
    HostWrite,
}

/// A fill, a write-back, or what the host wrote.
#[derive(Clone, Copy, Debug)]
pub struct LineRequest<'a> {
    /// The line as its partition counts it.
    pub line: LocalLine,
    /// The same line as the program names it: for mechanisms that treat allocations differently.
    pub address: LineAddr,
    /// Sectors wanted, dirty, or written by the host.
    pub sectors: SectorMask,
    /// Sectors that L2 has, or had until the write-back.
    pub resident: SectorMask,
    /// Which of the three it is.
    pub kind: LineKind,
    /// What memory holds: before a fill, or after a write.
    pub data: &'a Line,
}

impl LineRequest<'static> {
    /// What L2 asks, without what memory holds.
    #[inline]
    pub(crate) fn of_l2(
        line: LocalLine,
        address: LineAddr,
        sectors: SectorMask,
        resident: SectorMask,
        kind: LineKind,
    ) -> Self {
        Self { line, address, sectors, resident, kind, data: &ZEROS }
    }
}

/// Direction of a move, as the GPU sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dir {
    /// From memory, or a lookup.
    Read,
    /// To memory, or an update.
    Write,
}

/// A table of the partition, see [`Parts::table`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TableId(pub(crate) u8);

/// A unit of the partition, see [`Parts::unit`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnitId(pub(crate) u8);

/// A link, see [`Parts::link`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LinkId(pub(crate) u8);

impl LinkId {
    /// The link to the host, which carries copies, too.
    pub const HOST: Self = Self(u8::MAX);
}

/// Why bytes moved, for the statistics; see [`Parts::traffic`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TrafficId(pub(crate) u8);

impl TrafficId {
    /// The program's own data.
    pub const DATA: Self = Self(0);
    /// Entries of tables.
    pub const METADATA: Self = Self(1);
    /// How many classes there can be.
    pub(crate) const MOST: usize = 16;
}

/// Something that takes time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Move {
    /// Reads or writes an entry of a table; the machine owns its cache, its misses and its home in DRAM.
    Table {
        /// The table, as [`Parts::table`] named it.
        table: TableId,
        /// Number of the entry, from 0; it is `entry * entry_bits` bits behind the table's home.
        entry: u64,
        /// A write makes the entry's sector dirty in the table's cache; it needs the sector, too.
        dir: Dir,
    },
    /// Moves sectors of one line between the controller and DRAM.
    Dram {
        /// Address of the first sector, a multiple of 32 B.
        at: LocalAddr,
        /// Which sectors, counted from there.
        sectors: SectorMask,
        /// A write is posted: its step ends when the channel's queue has it.
        dir: Dir,
        /// The class of traffic that its bytes are counted as.
        why: TrafficId,
    },
    /// Moves bytes over a link.
    Link {
        /// The link, as [`Parts::link`] named it, or [`LinkId::HOST`].
        link: LinkId,
        /// Payload; the link adds its packet headers.
        bytes: u32,
        /// A read sends a request first and ends when the data has come.
        dir: Dir,
        /// The class of traffic that its bytes are counted as.
        why: TrafficId,
    },
    /// Occupies a unit, such as a hash or a decompressor.
    Unit {
        /// The unit, as [`Parts::unit`] named it.
        unit: UnitId,
        /// L2 cycles until its result is there.
        latency: u32,
        /// L2 cycles until it takes the next.
        interval: u32,
    },
    /// Copies sectors of a line from L2 that are there and clean when the step begins; see [`MemorySide::copies`].
    CopyFromL2 {
        /// The line that is copied from, in the same partition.
        line: LocalLine,
        /// Sectors to copy.
        sectors: SectorMask,
        /// Steps that wait for this one and bring the sectors otherwise. They are left out if L2 has all; a single read of
        /// DRAM brings what L2 has not, while others, such as those of a compressed line, bring all or nothing.
        otherwise: StepSet,
    },
}

/// Steps of a plan, one bit each.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct StepSet(pub u32);

impl StepSet {
    /// None: the step can begin at once.
    pub const NONE: Self = Self(0);

    /// The set of one step, by its index in the plan (0 to 31).
    pub const fn one(step: u8) -> Self {
        Self(1 << step)
    }

    /// The union of both sets.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// One step of a plan.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    /// The move that this step makes.
    pub what: Move,
    /// Steps that must have ended before.
    pub after: StepSet,
    /// The answer to L2 waits for it. Others are a posted tail: they delay nobody.
    pub gates_reply: bool,
}

/// What a request does to memory: a dependence graph of moves, at most 32: a write-back that is deduplicated above compressed memory
/// reads up to three entries and writes one.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Plan {
    /// The steps; a step may only wait for those before it.
    pub steps: ArrayVec<Step, 32>,
    /// What L2 receives: the sectors wanted, and perhaps more.
    pub fill: SectorMask,
    /// Of a write-back, the sectors of which L2 has only some bytes, if memory cannot mask a write (`dram.masked_writes`): who
    /// writes them reads them first. The machine says it before a side is asked.
    pub in_part: SectorMask,
}

impl Plan {
    /// Adds a step and gives the set that names it, for others to wait for. A thirty-third step is a mistake of the
    /// mechanism's author and panics.
    #[inline]
    pub fn add(&mut self, what: Move, after: StepSet, gates_reply: bool) -> StepSet {
        let number = self.steps.len() as u8;
        self.steps.push(Step { what, after, gates_reply });
        StepSet::one(number)
    }

    /// Adds the read of sectors that a write is merged with, if there are any: what the write waits for.
    #[inline]
    pub fn read_parts(&mut self, at: LocalAddr, sectors: SectorMask, why: TrafficId, after: StepSet) -> StepSet {
        if sectors.is_empty() {
            return after;
        }
        self.add(Move::Dram { at, sectors, dir: Dir::Read, why }, after, true)
    }

    /// Adds the steps of another plan, behind those given: the set that names them.
    pub fn append(&mut self, other: &Self, after: StepSet) -> StepSet {
        let first = self.steps.len();
        let mut added = StepSet::NONE;
        for step in &other.steps {
            let waits = StepSet(step.after.0 << first).and(after);
            added = added.and(self.add(step.what, waits, step.gates_reply));
        }
        added
    }
}

/// A table in DRAM with a cache of its own in each partition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TableSpec {
    /// Name in the statistics: `table[name]`.
    pub name: &'static str,
    /// Bits of an entry; entries are packed without gaps.
    pub entry_bits: u32,
    /// Where it begins in the partition's DRAM.
    pub home: LocalAddr,
    /// Capacity of its cache in one partition, in bytes.
    pub cache: Bytes,
    /// Its ways; lines are 128 B, in sectors of 32 B.
    pub ways: u32,
    /// L2 cycles from a lookup to its hit.
    pub latency: u32,
    /// Energy of an access to the cache, in femtojoules.
    pub access_fj: u64,
}

/// What a memory side needs of the machine, declared once per partition.
#[derive(Default)]
pub struct Parts {
    pub(crate) tables: Vec<TableSpec>,
    /// The energy of a use of each unit, in femtojoules.
    pub(crate) units: Vec<u64>,
    pub(crate) links: Vec<LinkConfig>,
    pub(crate) traffic: Vec<&'static str>,
    pub(crate) carries_bytes: bool,
    pub(crate) pages: Option<Arc<StoredPages>>,
}

impl Parts {
    /// For a chain without a machine whose sides know the bytes at each place: for tests of mechanisms.
    pub fn carrying_bytes() -> Self {
        Self { carries_bytes: true, ..Self::default() }
    }

    /// Declares a table; each partition has one, with a cache of its own.
    pub fn table(&mut self, spec: TableSpec) -> TableId {
        self.tables.push(spec);
        TableId(self.tables.len() as u8 - 1)
    }

    /// A unit that can be occupied; each use takes `femtojoules`.
    pub fn unit(&mut self, femtojoules: u64) -> UnitId {
        self.units.push(femtojoules);
        UnitId(self.units.len() as u8 - 1)
    }

    /// A link to far memory; all partitions share it.
    pub fn link(&mut self, config: LinkConfig) -> LinkId {
        self.links.push(config);
        LinkId(self.links.len() as u8 - 1)
    }

    /// The books of what pages take, if somebody asks for that; who takes them keeps them.
    pub fn stored_pages(&mut self) -> Option<Arc<StoredPages>> {
        let pages = self.pages.clone()?;
        pages.keep();
        Some(pages)
    }

    /// True if a side that moves lines must know the bytes at each place: data is checked, or a side below looks at them.
    pub fn carries_bytes(&self) -> bool {
        self.carries_bytes
    }

    /// A class of traffic, beside data and metadata. A fifteenth is a mistake of the mechanism's author and panics.
    pub fn traffic(&mut self, name: &'static str) -> TrafficId {
        assert!(self.traffic.len() + 2 < TrafficId::MOST, "there are at most {} classes of traffic", TrafficId::MOST);
        self.traffic.push(name);
        TrafficId(self.traffic.len() as u8 + 1)
    }
}

/// Sectors that a fill waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wanted {
    /// The line that is filled.
    pub line: LocalLine,
    /// The sectors of it that L2 has asked for.
    pub sectors: SectorMask,
}

/// Something that a mechanism counts for the statistics.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SideCount {
    /// Path below the machine's: `mechanism.fills`.
    pub name: &'static str,
    /// Unit of the value.
    pub unit: Unit,
    /// Description, as tables and JSON show it.
    pub what: &'static str,
    /// Count since the machine was built; the run takes differences.
    pub value: u64,
}

/// What the machine has counted for the memory sides of a partition.
pub struct Counted<'a>(pub(crate) &'a [TableCounts]);

impl Counted<'_> {
    /// What the cache of a table did; nothing if the table is of another machine.
    pub fn table(&self, table: TableId) -> TableCounts {
        self.0.get(usize::from(table.0)).copied().unwrap_or_default()
    }

    /// Of a machine that has done nothing: for mechanisms that are tested without one.
    pub const fn nothing() -> Self {
        Counted(&[])
    }
}

/// A mechanism between L2 and DRAM; one instance serves one partition.
pub trait MemorySide: Send {
    /// Declares what it needs of the machine.
    fn attach(&mut self, parts: &mut Parts);

    /// True if it looks at data; if nobody in a chain does, the machine keeps no image of memory and `data` is zero.
    fn needs_data(&self) -> bool {
        true
    }

    /// An L2 miss: plans the fetch of `request.sectors`. `request.data` is what memory holds.
    fn read(&mut self, request: &LineRequest<'_>, below: Below<'_>, plan: &mut Plan);

    /// A write-back: plans what it takes. `request.data` is the line as memory holds it afterwards.
    fn write(&mut self, request: &LineRequest<'_>, below: Below<'_>, plan: &mut Plan);

    /// The host has written `request.sectors`; `request.data` is the line as memory holds it afterwards. No traffic of the
    /// machine's.
    fn host_wrote(&mut self, request: &LineRequest<'_>, mut below: Below<'_>) {
        below.host_wrote(request);
    }

    /// The program has freed the memory of a line: nobody needs what it holds.
    fn host_freed(&mut self, line: LocalLine, mut below: Below<'_>) {
        below.host_freed(line);
    }

    /// A page has come from the host, and this is a line of it: `request.data` is what the host held. As if the host had written it,
    /// unless the side knows better.
    fn page_came(&mut self, request: &LineRequest<'_>, below: Below<'_>) {
        self.host_wrote(request, below);
    }

    /// A page has left for the host, and this is a line of it, whose last write-back was told before: nobody needs what it
    /// holds here. As if the program had freed it, unless the side knows better.
    fn page_left(&mut self, line: LocalLine, below: Below<'_>) {
        self.host_freed(line, below);
    }

    /// The host has written sectors of a line whose page is not on the device.
    fn written_away(&mut self, request: &LineRequest<'_>, mut below: Below<'_>) {
        below.written_away(request);
    }

    /// Bytes of device memory that are kept for each line of the allocation at an address, at most 128: what a page takes of
    /// device memory while it is there. Asked when the allocation is known to all.
    fn reserved(&self, address: LineAddr, below: &Reserved<'_>) -> u32 {
        below.bytes(address)
    }

    /// A [`Move::CopyFromL2`] begins, which brings sectors of `line` in place of those of `wanted.line`, and L2 has `there` of
    /// them: those that may be taken. The side that planned it may have moved either line since then.
    fn copies(&mut self, _wanted: Wanted, _line: LocalLine, there: SectorMask) -> SectorMask {
        there
    }

    /// A look-up of an entry has missed the cache of a table: so many sectors of the table move, those that are evicted for it
    /// included.
    fn fetched(&mut self, _table: TableId, _entry: u64, _sectors: u32) {}

    /// With [`Parts::carries_bytes`], for sides that move lines: the bytes that a fill would deliver, and the sectors of
    /// which that is known. `--check-data` compares them with what memory must hold.
    fn delivers(&self, _line: LocalLine) -> Option<(SectorMask, Line)> {
        None
    }

    /// An event of the host; lines that it wrote or freed have been told one by one before.
    fn host_event(&mut self, _event: &HostEvent) {}

    /// What the victim buffer of a line's slice is told of the line when it gives sectors of it back
    /// ([`Victim::supplied`](super::Victim::supplied)).
    fn note(&self, _line: LocalLine) -> Option<SectorMask> {
        None
    }

    /// Its counters; `machine` has what the machine counted for it, such as hits of its tables.
    fn counts(&self, _machine: &Counted<'_>) -> Vec<SideCount> {
        Vec::new()
    }

    /// Bytes of DRAM that lines take, for capacity and for migration.
    fn stored_bytes(&self, range: LineRange) -> Bytes {
        Bytes(range.lines * LINE_BYTES)
    }
}

/// What is below a memory side: the rest of its chain, and plain DRAM at the end.
pub struct Below<'a>(pub(crate) &'a mut [Box<dyn MemorySide>]);

impl<'a> Below<'a> {
    /// These sides, the first of which is asked first, and plain DRAM below them.
    pub fn chain(sides: &'a mut [Box<dyn MemorySide>]) -> Self {
        Self(sides)
    }

    /// Plain DRAM alone: the line is where its address says.
    pub fn plain() -> Self {
        Self(&mut [])
    }

    /// Forwards a fill to the next side of the chain, or to DRAM.
    #[inline]
    pub fn read(&mut self, request: &LineRequest<'_>, plan: &mut Plan) {
        if let Some((first, rest)) = self.0.split_first_mut() {
            first.read(request, Below(rest), plan);
        } else {
            plan.fill = request.sectors;
            plan.add(plain(request, Dir::Read), StepSet::NONE, true);
        }
    }

    /// Forwards a write-back to the next side of the chain, or to DRAM.
    #[inline]
    pub fn write(&mut self, request: &LineRequest<'_>, plan: &mut Plan) {
        if let Some((first, rest)) = self.0.split_first_mut() {
            first.write(request, Below(rest), plan);
        } else {
            let merged = plan.read_parts(request.line.addr(), plan.in_part, TrafficId::DATA, StepSet::NONE);
            plan.add(plain(request, Dir::Write), merged, true);
        }
    }

    /// Forwards a write of the host.
    pub fn host_wrote(&mut self, request: &LineRequest<'_>) {
        if let Some((first, rest)) = self.0.split_first_mut() {
            first.host_wrote(request, Below(rest));
        }
    }

    /// Forwards that a line was freed.
    pub fn host_freed(&mut self, line: LocalLine) {
        if let Some((first, rest)) = self.0.split_first_mut() {
            first.host_freed(line, Below(rest));
        }
    }

    /// Forwards that a line's page has come.
    pub fn page_came(&mut self, request: &LineRequest<'_>) {
        if let Some((first, rest)) = self.0.split_first_mut() {
            first.page_came(request, Below(rest));
        }
    }

    /// Forwards that a line's page has left.
    pub fn page_left(&mut self, line: LocalLine) {
        if let Some((first, rest)) = self.0.split_first_mut() {
            first.page_left(line, Below(rest));
        }
    }

    /// Forwards a write of the host to a page that is not on the device.
    pub fn written_away(&mut self, request: &LineRequest<'_>) {
        if let Some((first, rest)) = self.0.split_first_mut() {
            first.written_away(request, Below(rest));
        }
    }

    /// Bytes of DRAM that lines take there.
    pub fn stored_bytes(&self, range: LineRange) -> Bytes {
        self.0.first().map_or(Bytes(range.lines * LINE_BYTES), |first| first.stored_bytes(range))
    }
}

/// What the rest of a chain keeps of device memory for lines.
pub struct Reserved<'a>(pub(crate) &'a [Box<dyn MemorySide>]);

impl Reserved<'_> {
    /// Bytes of device memory that are kept for a line of the allocation at an address.
    pub fn bytes(&self, address: LineAddr) -> u32 {
        self.0.split_first().map_or(LINE_BYTES as u32, |(first, rest)| first.reserved(address, &Reserved(rest)))
    }
}

#[inline]
fn plain(request: &LineRequest<'_>, dir: Dir) -> Move {
    Move::Dram { at: request.line.addr(), sectors: request.sectors, dir, why: TrafficId::DATA }
}
