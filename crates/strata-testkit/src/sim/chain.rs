//! Memory sides without a machine: a chain on top of a bottom that records what reaches it.

use crate::{Line, Memory, WrongByte};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use strata_core::{Bytes, HostEvent, LINE_BYTES, LineAddr};
use strata_sim::cache::SectorMask;
use strata_sim::seam::{
    Below, Counted, LineKind, LineRange, LineRequest, LocalLine, MemorySide, Move, Parts, Plan, SideCount, Wanted,
};

/// Memory sides of one partition, the first of them next to L2, and below them plain DRAM.
///
/// It keeps an image of what memory holds, as the machine does: write-backs and what the host writes change it, and requests
/// carry it. Lines are numbered within the partition.
///
/// ```
/// use strata_sim::cache::SectorMask;
/// use strata_sim::seam::LineKind;
/// use strata_testkit::sim::{Chain, brief};
///
/// let mut chain = Chain::of(Vec::new());
/// chain.host_writes(7, SectorMask::ALL, &[1; 128]);
/// let plan = chain.write_back(7, SectorMask(0b0001), SectorMask::ALL, &[2; 128]);
/// assert_eq!(brief(&plan), ["0:dram>1"]);
/// assert_eq!((chain.image(7)[0], chain.image(7)[32]), (2, 1));
/// let asked = chain.asked_below();
/// assert_eq!((asked[1].kind, asked[1].data[32]), (LineKind::WriteBack, 1));
/// ```
pub struct Chain {
    sides: Vec<Box<dyn MemorySide>>,
    image: Memory,
    /// Sectors of lines that were freed and have not been written since.
    freed: BTreeMap<u64, SectorMask>,
    /// The first line of the partition as the program names it.
    first: LineAddr,
    asked: Asked,
}

/// A request that reached the bottom of a chain.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AskedBelow {
    /// Why.
    pub kind: LineKind,
    /// The place, which a side may have moved.
    pub line: LocalLine,
    /// Its sectors.
    pub sectors: SectorMask,
    /// What memory holds there, as far as those above know it.
    pub data: Line,
}

type Asked = Arc<Mutex<Vec<AskedBelow>>>;

impl Chain {
    /// These sides, attached, with empty memory below them. Sides that move lines are told to know the bytes at each place.
    pub fn of(mut sides: Vec<Box<dyn MemorySide>>) -> Self {
        let asked = Asked::default();
        sides.push(Box::new(Recorder(Arc::clone(&asked))));
        let mut parts = Parts::carrying_bytes();
        for side in &mut sides {
            side.attach(&mut parts);
        }
        Self { sides, image: Memory::default(), freed: BTreeMap::new(), first: LineAddr(0), asked }
    }

    /// Line 0 of the partition is this one of the program's: for sides that treat allocations differently.
    #[must_use]
    pub fn named_from(self, first: LineAddr) -> Self {
        Self { first, ..self }
    }

    /// What memory holds.
    pub fn image(&self, line: u64) -> Line {
        self.image.line(LineAddr(line))
    }

    /// Sectors of a line are wanted, of which L2 has none: what that takes.
    pub fn fill(&mut self, line: u64, sectors: SectorMask) -> Plan {
        let data = self.image(line);
        self.ask(&self.request(line, LineKind::Fill, sectors, SectorMask::NONE, &data))
    }

    /// Dirty sectors of a line leave L2, which has `resident`: what that takes. Memory gets these sectors of `data`.
    pub fn write_back(&mut self, line: u64, dirty: SectorMask, resident: SectorMask, data: &Line) -> Plan {
        let data = self.write(line, dirty, data);
        self.ask(&self.request(line, LineKind::WriteBack, dirty, resident, &data))
    }

    /// The host writes sectors of a line.
    pub fn host_writes(&mut self, line: u64, sectors: SectorMask, data: &Line) {
        let data = self.write(line, sectors, data);
        self.ask(&self.request(line, LineKind::HostWrite, sectors, SectorMask::NONE, &data));
    }

    /// Sectors of memory get these bytes: the line as memory holds it afterwards.
    fn write(&mut self, line: u64, sectors: SectorMask, data: &Line) -> Line {
        self.image.set_sectors(LineAddr(line), sectors.0, data);
        if let Some(freed) = self.freed.get_mut(&line) {
            *freed = freed.without(sectors);
        }
        self.image(line)
    }

    /// The program frees a line: what it holds is not compared until it is written again.
    pub fn free(&mut self, line: u64) {
        self.freed.insert(line, SectorMask::ALL);
        Below::chain(&mut self.sides).host_freed(LocalLine(line));
    }

    /// The host did something: all sides hear of it.
    pub fn host_event(&mut self, event: &HostEvent) {
        for side in &mut self.sides {
            side.host_event(event);
        }
    }

    /// Asks as it is said, whatever the image holds: what that takes, which for what the host wrote is nothing.
    pub fn ask(&mut self, request: &LineRequest<'_>) -> Plan {
        let mut plan = Plan::default();
        let mut chain = Below::chain(&mut self.sides);
        match request.kind {
            LineKind::Fill => chain.read(request, &mut plan),
            LineKind::WriteBack => chain.write(request, &mut plan),
            LineKind::HostWrite => chain.host_wrote(request),
        }
        plan
    }

    fn request<'d>(
        &self,
        line: u64,
        kind: LineKind,
        sectors: SectorMask,
        resident: SectorMask,
        data: &'d Line,
    ) -> LineRequest<'d> {
        LineRequest { line: LocalLine(line), address: LineAddr(self.first.0 + line), sectors, resident, kind, data }
    }

    /// Begins the copies from L2 of the plan of a fill, as if L2 had `there` of every line: the sectors taken, or a byte that they
    /// would bring in place of the right one.
    pub fn begin_copies(&mut self, line: u64, plan: &Plan, there: SectorMask) -> Result<SectorMask, WrongByte> {
        let mut taken = SectorMask::NONE;
        for step in &plan.steps {
            if let Move::CopyFromL2 { line: source, sectors, .. } = step.what {
                let wanted = Wanted { line: LocalLine(line), sectors };
                let there = there.and(sectors);
                let copied = self.sides.iter_mut().fold(there, |there, side| side.copies(wanted, source, there));
                // What is clean in L2 is what memory holds under that name.
                let copied = copied.and(there);
                self.compare(line, copied.without(self.freed(source.0)), &self.image(source.0))?;
                taken = taken.or(copied);
            }
        }
        Ok(taken)
    }

    /// Compares what a fill of a line would deliver with what memory must hold: the sectors of which a side knows that, or the
    /// first byte that is wrong.
    pub fn check(&self, line: u64) -> Result<SectorMask, WrongByte> {
        let Some((known, found)) = self.sides.iter().find_map(|side| side.delivers(LocalLine(line))) else {
            return Ok(SectorMask::NONE);
        };
        self.compare(line, known, &found)
    }

    /// Compares sectors of a line that were not freed: which, or the first byte that is wrong.
    fn compare(&self, line: u64, sectors: SectorMask, found: &Line) -> Result<SectorMask, WrongByte> {
        let sectors = sectors.without(self.freed(line));
        self.image.first_difference(LineAddr(line), sectors.0, found).map_or(Ok(sectors), Err)
    }

    fn freed(&self, line: u64) -> SectorMask {
        self.freed.get(&line).copied().unwrap_or(SectorMask::NONE)
    }

    /// What has reached the bottom, oldest first.
    pub fn asked_below(&self) -> Vec<AskedBelow> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What the sides have counted; tables, which a machine would count, have done nothing.
    pub fn counts(&self) -> Vec<SideCount> {
        self.sides.iter().flat_map(|side| side.counts(&Counted::nothing())).collect()
    }

    /// What a side has counted under this name; panics if none does.
    pub fn count(&self, name: &str) -> u64 {
        self.counts().iter().find(|c| c.name == name).unwrap_or_else(|| panic!("nobody counts {name}")).value
    }

    /// Bytes of DRAM that so many lines from 0 on take.
    pub fn stored_bytes(&self, lines: u64) -> Bytes {
        let range = LineRange { first: LocalLine(0), lines };
        self.sides.first().map_or(Bytes(lines * LINE_BYTES), |side| side.stored_bytes(range))
    }
}

/// Notes what is asked of it, and is plain DRAM otherwise.
struct Recorder(Asked);

impl Recorder {
    fn note(&self, request: &LineRequest<'_>) {
        let LineRequest { kind, line, sectors, data, .. } = *request;
        let asked = AskedBelow { kind, line, sectors, data: *data };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(asked);
    }
}

impl MemorySide for Recorder {
    fn attach(&mut self, _: &mut Parts) {}

    fn read(&mut self, request: &LineRequest<'_>, mut below: Below<'_>, plan: &mut Plan) {
        self.note(request);
        below.read(request, plan);
    }

    fn write(&mut self, request: &LineRequest<'_>, mut below: Below<'_>, plan: &mut Plan) {
        self.note(request);
        below.write(request, plan);
    }

    fn host_wrote(&mut self, request: &LineRequest<'_>, mut below: Below<'_>) {
        self.note(request);
        below.host_wrote(request);
    }
}
