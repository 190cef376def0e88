//! BCD (Park et al., ASPLOS 2021) as the CMD paper compares it: lines whose words have the same upper halves as those of a
//! base line are stored as the base's number and the lower halves that differ.
//!
//! What the literature here does not fix is a choice: the base table holds whole lines, as many as fit into the bytes of CMD's
//! hash store, and the least recently used one leaves; only its lines are candidates for new writes. A line becomes a base in
//! DRAM, written once, when the first other line refers to it; a base that left the table is fetched by who reads a line that
//! refers to it. Codes take 0, 1 or 2 sectors at the line's own home; nothing moves. A line that L2 has in part is read and
//! merged before it is coded, as with compression.

use crate::block::{KIND_BITS, MAP_BITS};
use crate::settings::Caches;
use crate::side::table;
use rustc_hash::FxHashMap;
use strata_core::settings::Settings as Values;
use strata_core::stats::Unit;
use strata_core::{LINE_BYTES, Paged, SECTOR_BYTES};
use strata_sim::cache::SectorMask;
use strata_sim::config::GpuConfig;
use strata_sim::seam::{
    Below, Counted, Dir, Line, LineRequest, LocalLine, MemorySide, Move, Parts, Plan, SideCount, StepSet, TableId,
    TableSpec, TrafficId,
};

/// First line of the bases in DRAM: behind every line that a program can have.
const BASES: u64 = 1 << 43;

/// Bytes of a base's number beside its line, in the base table.
const NUMBER_BYTES: u64 = 4;

/// How a line is stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Code {
    /// Uncompressed.
    #[default]
    Raw,
    /// What differs from a base, in so many sectors.
    Difference { base: u32, sectors: u8 },
}

/// A base line.
#[derive(Clone)]
struct Base {
    bytes: Line,
    /// Lines that refer to it; if any did, it is in DRAM.
    lines: u32,
    stored: bool,
    /// When it was used last; 0 if it is not in the table.
    used: u64,
}

/// All bases of a partition, and the table of those on chip.
#[derive(Default)]
struct Bases {
    all: Vec<Base>,
    unused: Vec<u32>,
    /// Bases in the table, by the upper halves of their words.
    by_upper: FxHashMap<u128, u32>,
    /// The same by when they were used last.
    by_use: std::collections::BTreeMap<u64, u32>,
    capacity: usize,
    clock: u64,
}

fn upper_key(line: &Line) -> u128 {
    let mut upper = [0; LINE_BYTES as usize / 2];
    for (to, from) in upper.chunks_exact_mut(2).zip(line.chunks_exact(4)) {
        to.copy_from_slice(&from[2..]);
    }
    xxhash_rust::xxh3::xxh3_128(&upper)
}

/// Sectors that the lower halves of `line` take which are not those of `base`: a bit for each word, and two bytes for each that
/// differs; if nearly all do, all of them and no bits. None if upper halves differ.
fn difference(line: &Line, base: &Line) -> Option<u8> {
    const WORDS: usize = LINE_BYTES as usize / 4;
    let words = || line.chunks_exact(4).zip(base.chunks_exact(4));
    if words().any(|(a, b)| a[2..] != b[2..]) {
        return None;
    }
    let differing = words().filter(|(a, b)| a[..2] != b[..2]).count();
    let bytes = if differing == 0 { 0 } else { (WORDS / 8 + 2 * differing).min(2 * WORDS) };
    Some(bytes.div_ceil(SECTOR_BYTES as usize) as u8)
}

impl Bases {
    /// Looks for a base of a line: its number and the sectors that the line then takes.
    fn find(&mut self, line: &Line) -> Option<(u32, u8)> {
        let base = *self.by_upper.get(&upper_key(line))?;
        let sectors = difference(line, &self.all[base as usize].bytes)?;
        self.touch(base);
        Some((base, sectors))
    }

    /// Puts a base in front of those in the table.
    fn touch(&mut self, base: u32) {
        self.clock += 1;
        let used = std::mem::replace(&mut self.all[base as usize].used, self.clock);
        self.by_use.remove(&used);
        self.by_use.insert(self.clock, base);
    }

    /// Brings a base into the table.
    fn enter(&mut self, base: u32) {
        if self.by_use.len() >= self.capacity
            && let Some((_, old)) = self.by_use.pop_first()
        {
            let upper = upper_key(&self.all[old as usize].bytes);
            if self.by_upper.get(&upper) == Some(&old) {
                self.by_upper.remove(&upper);
            }
            self.all[old as usize].used = 0;
            self.drop_if_useless(old);
        }
        self.by_upper.insert(upper_key(&self.all[base as usize].bytes), base);
        self.touch(base);
    }

    /// A line that may become a base.
    fn add(&mut self, line: &Line) {
        let base = Base { bytes: *line, lines: 0, stored: false, used: 0 };
        let number = self.unused.pop().unwrap_or(self.all.len() as u32);
        if number as usize == self.all.len() {
            self.all.push(base);
        } else {
            self.all[number as usize] = base;
        }
        self.enter(number);
    }

    fn release(&mut self, code: Code) {
        if let Code::Difference { base, .. } = code {
            self.all[base as usize].lines -= 1;
            self.drop_if_useless(base);
        }
    }

    fn drop_if_useless(&mut self, base: u32) {
        let b = &self.all[base as usize];
        if b.lines == 0 && b.used == 0 {
            self.unused.push(base);
        }
    }
}

/// BCD in one partition.
pub struct BcdSide {
    tables: [TableSpec; 2],
    parts: Option<Declared>,
    codes: Paged<Code>,
    bases: Bases,
    counts: Counts,
}

#[derive(Clone, Copy)]
struct Declared {
    map: TableId,
    kinds: TableId,
    base: TrafficId,
    merge: TrafficId,
}

#[derive(Clone, Copy, Default)]
struct Counts {
    reads: u64,
    reads_coded: u64,
    base_fetches: u64,
    writes: u64,
    writes_coded: u64,
    base_writes: u64,
    merges: u64,
}

impl BcdSide {
    /// Of one partition of a GPU, from the values of [`crate::settings::BCD`].
    pub fn new(values: &Values, gpu: &GpuConfig) -> Self {
        let caches = Caches::of(values, false);
        let capacity = (values.size("hash_store").0 / (LINE_BYTES + NUMBER_BYTES)).max(1) as usize;
        Self {
            tables: [
                table("bcd.map", MAP_BITS, 0, caches.map, &caches, gpu),
                table("bcd.type", KIND_BITS, MAP_BITS, caches.kind, &caches, gpu),
            ],
            parts: None,
            codes: Paged::default(),
            bases: Bases { capacity, ..Bases::default() },
            counts: Counts::default(),
        }
    }

    /// Reads `sectors` of a line: behind its metadata, its code and, if the table has it not, its base.
    fn fetch(&mut self, line: u64, sectors: SectorMask, why: TrafficId, plan: &mut Plan) -> StepSet {
        let Some(parts) = self.parts else { return StepSet::NONE };
        let typed = plan.add(Move::Table { table: parts.kinds, entry: line, dir: Dir::Read }, StepSet::NONE, true);
        let read = |sectors| Move::Dram { at: LocalLine(line).addr(), sectors, dir: Dir::Read, why };
        let Code::Difference { base, sectors: code } = *self.codes.get(line) else {
            plan.fill = sectors;
            return plan.add(read(sectors), typed, true);
        };
        let mut there = if code == 0 { typed } else { plan.add(read(first_sectors(code)), typed, true) };
        let known = plan.add(Move::Table { table: parts.map, entry: line, dir: Dir::Read }, typed, true);
        there = there.and(known);
        if self.bases.all[base as usize].used == 0 {
            self.counts.base_fetches += 1;
            let at = LocalLine(BASES + u64::from(base)).addr();
            let fetch = Move::Dram { at, sectors: SectorMask::ALL, dir: Dir::Read, why: parts.base };
            there = there.and(plan.add(fetch, known, true));
            self.bases.enter(base);
        } else {
            self.bases.touch(base);
        }
        plan.fill = SectorMask::ALL;
        there
    }
}

fn first_sectors(n: u8) -> SectorMask {
    SectorMask((1 << n) - 1)
}

impl MemorySide for BcdSide {
    fn attach(&mut self, parts: &mut Parts) {
        let [map, kinds] = self.tables;
        self.parts = Some(Declared {
            map: parts.table(map),
            kinds: parts.table(kinds),
            base: parts.traffic("base"),
            merge: parts.traffic("merge"),
        });
    }

    fn read(&mut self, request: &LineRequest<'_>, _: Below<'_>, plan: &mut Plan) {
        self.counts.reads += 1;
        self.counts.reads_coded += u64::from(*self.codes.get(request.line.0) != Code::Raw);
        self.fetch(request.line.0, request.sectors, TrafficId::DATA, plan);
    }

    fn write(&mut self, request: &LineRequest<'_>, _: Below<'_>, plan: &mut Plan) {
        let Some(parts) = self.parts else { return };
        let (line, old) = (request.line.0, *self.codes.get(request.line.0));
        self.counts.writes += 1;
        // What is stored as it is can be written in part, unless it becomes a code.
        let found = self.bases.find(request.data);
        if let Some((base, _)) = found {
            // At once: what is read for the write may push it out of the table.
            self.bases.all[base as usize].lines += 1;
        }
        let whole = request.resident == SectorMask::ALL;
        let new = found.map_or(Code::Raw, |(base, sectors)| Code::Difference { base, sectors });
        let mut ready = StepSet::NONE;
        let merges = !whole && (old != Code::Raw || new != Code::Raw);
        if merges {
            self.counts.merges += 1;
            let missing = SectorMask::ALL.without(request.resident);
            ready = self.fetch(line, missing, parts.merge, plan);
        }
        if let Some((base, _)) = found {
            if !std::mem::replace(&mut self.bases.all[base as usize].stored, true) {
                self.counts.base_writes += 1;
                let at = LocalLine(BASES + u64::from(base)).addr();
                let store = Move::Dram { at, sectors: SectorMask::ALL, dir: Dir::Write, why: parts.base };
                plan.add(store, ready, false);
            }
        } else if whole {
            self.bases.add(request.data);
        }
        self.bases.release(old);
        *self.codes.get_mut(line) = new;
        let dir = |changes: bool| if changes { Dir::Write } else { Dir::Read };
        if old != new || !merges {
            plan.add(Move::Table { table: parts.kinds, entry: line, dir: dir(old != new) }, ready, false);
        }
        if old != new && new != Code::Raw {
            plan.add(Move::Table { table: parts.map, entry: line, dir: Dir::Write }, ready, false);
        }
        let sectors = match new {
            Code::Difference { sectors, .. } => first_sectors(sectors),
            Code::Raw if old == Code::Raw => request.sectors,
            Code::Raw => SectorMask::ALL,
        };
        self.counts.writes_coded += u64::from(new != Code::Raw);
        if !sectors.is_empty() {
            let at = request.line.addr();
            plan.add(Move::Dram { at, sectors, dir: Dir::Write, why: TrafficId::DATA }, ready, false);
        }
    }

    fn host_wrote(&mut self, request: &LineRequest<'_>, _: Below<'_>) {
        let old = std::mem::take(self.codes.get_mut(request.line.0));
        self.bases.release(old);
    }

    fn host_freed(&mut self, line: LocalLine, _: Below<'_>) {
        if *self.codes.get(line.0) != Code::Raw {
            let old = std::mem::take(self.codes.get_mut(line.0));
            self.bases.release(old);
        }
    }

    fn counts(&self, _: &Counted<'_>) -> Vec<SideCount> {
        let c = &self.counts;
        let list = [
            ("bcd.reads", "L2 fills", c.reads),
            ("bcd.reads_coded", "of those, the ones of lines that are stored as differences", c.reads_coded),
            ("bcd.base_fetches", "bases read from DRAM because the table had them no more", c.base_fetches),
            ("bcd.writes", "L2 write-backs", c.writes),
            ("bcd.writes_coded", "of those, the ones stored as differences from a base", c.writes_coded),
            ("bcd.base_writes", "bases written to DRAM", c.base_writes),
            ("bcd.merges", "write-backs of lines that L2 did not have whole: the line is read first", c.merges),
        ];
        list.into_iter().map(|(name, what, value)| SideCount { name, unit: Unit::Requests, what, value }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::BCD;
    use strata_core::LineAddr;
    use strata_sim::config::load;
    use strata_sim::seam::LineKind;
    use strata_testkit::sim::dram_moves;

    fn side(set: &[&str]) -> BcdSide {
        let values = Values::read("bcd", BCD, set).expect("good values");
        let mut side = BcdSide::new(&values, &load("cmd-gddr6", &[""; 0]).expect("a preset").config);
        side.attach(&mut Parts::default());
        side
    }

    /// Words with this upper half, and lower halves that differ from the word's number in the first `n` words.
    fn line(upper: u8, n: usize) -> Line {
        let mut line = [0; 128];
        for (k, word) in line.chunks_exact_mut(4).enumerate() {
            word.copy_from_slice(&[k as u8, u8::from(k < n), upper, upper]);
        }
        line
    }

    /// Sectors that a write-back or a fill reads and writes: `<2`, `>4`, in the order of the plan.
    fn moves(side: &mut BcdSide, at: u64, kind: LineKind, resident: u8, data: &Line) -> String {
        let (line, resident) = (LocalLine(at), SectorMask(resident));
        let request = LineRequest { line, address: LineAddr(at), sectors: SectorMask(1), resident, kind, data };
        let mut plan = Plan::default();
        match kind {
            LineKind::Fill => side.read(&request, Below::plain(), &mut plan),
            _ => side.write(&request, Below::plain(), &mut plan),
        }
        dram_moves(&plan)
    }

    fn write(side: &mut BcdSide, at: u64, data: &Line) -> String {
        moves(side, at, LineKind::WriteBack, 0b1111, data)
    }

    fn read(side: &mut BcdSide, at: u64) -> String {
        moves(side, at, LineKind::Fill, 0, &[0; 128])
    }

    #[test]
    fn lower_halves_that_differ_are_stored() {
        let mut side = side(&[]);
        assert_eq!(write(&mut side, 1, &line(7, 0)), ">1", "as it is: what is dirty");
        assert_eq!(write(&mut side, 2, &line(7, 14)), ">4>1", "the base, once, and 4 + 28 bytes");
        assert_eq!(write(&mut side, 3, &line(7, 15)), ">2");
        assert_eq!(write(&mut side, 4, &line(7, 0)), "", "nothing but its number");
        assert_eq!(write(&mut side, 5, &line(8, 0)), ">1");
        assert_eq!([1, 2, 3, 4].map(|at| read(&mut side, at)), ["<1", "<1", "<2", ""]);
    }

    #[test]
    fn a_base_that_left_the_table_is_fetched() {
        // A table of one line.
        let mut side = side(&["bcd.hash_store=132"]);
        write(&mut side, 1, &line(7, 0));
        write(&mut side, 2, &line(7, 3));
        write(&mut side, 3, &line(8, 0));
        assert_eq!(read(&mut side, 2), "<1<4");
        assert_eq!(read(&mut side, 2), "<1", "it is back");
        // The last line that refers to it leaves; its number is used again once the table has it no more.
        write(&mut side, 2, &line(9, 0));
        write(&mut side, 3, &line(10, 0));
        assert_eq!(side.bases.all.len() - side.bases.unused.len(), 1);
    }

    #[test]
    fn a_line_that_l2_has_in_part_is_merged() {
        let mut side = side(&[]);
        write(&mut side, 1, &line(7, 0));
        assert_eq!(moves(&mut side, 2, LineKind::WriteBack, 0b0001, &line(7, 3)), "<3>4>1");
        assert_eq!(moves(&mut side, 2, LineKind::WriteBack, 0b0001, &line(9, 3)), "<1>4");
        assert_eq!(moves(&mut side, 2, LineKind::WriteBack, 0b0001, &line(9, 4)), ">1", "in part, as it is");
    }
}
