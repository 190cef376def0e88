//! A sectored set-associative tag array: who is there, which sectors, which of them dirty.
//!
//! Dense arrays indexed by set and way; a lookup touches one row of tags. Replacement is least recently used, by a counter
//! that grows with every use. Data is not kept here.

use strata_core::LineAddr;

/// One bit per 32 B sector of a 128 B line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(transparent)]
pub struct SectorMask(pub u8);

impl SectorMask {
    /// No sector.
    pub const NONE: Self = Self(0);
    /// All four.
    pub const ALL: Self = Self(0b1111);

    /// How many.
    pub const fn count(self) -> u32 {
        self.0.count_ones()
    }

    /// True if there is none.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// In both.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// In either.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// In this, not in the other.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

/// State of one line.
#[derive(Clone, Copy, Debug, Default)]
pub struct Line {
    /// Sectors whose bytes are all here.
    pub valid: SectorMask,
    /// Sectors that memory does not have yet.
    pub dirty: SectorMask,
    /// Sectors that are on their way.
    pub pending: SectorMask,
}

/// What had to leave to make room.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Victim {
    /// The line.
    pub line: LineAddr,
    /// Its dirty sectors.
    pub dirty: SectorMask,
    /// Its clean valid sectors.
    pub clean: SectorMask,
}

/// Index of a line in the array.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place(u32);

impl Place {
    /// As an index.
    pub const fn index(self) -> u32 {
        self.0
    }

    /// From an index that [`Place::index`] gave.
    pub const fn at(index: u32) -> Self {
        Self(index)
    }
}

const FREE: u64 = u64::MAX;

/// The tags of a cache.
pub struct Tags {
    numbers: Vec<u64>,
    used: Vec<u32>,
    lines: Vec<Line>,
    sets: u32,
    ways: u32,
    clock: u32,
}

impl Tags {
    /// An empty array.
    pub fn new(sets: u32, ways: u32) -> Self {
        let n = (sets * ways) as usize;
        Self { numbers: vec![FREE; n], used: vec![0; n], lines: vec![Line::default(); n], sets, ways, clock: 0 }
    }

    /// Sets of the array.
    pub fn sets(&self) -> u32 {
        self.sets
    }

    #[inline]
    fn row(&self, set: u32) -> std::ops::Range<usize> {
        let first = (set * self.ways) as usize;
        first..first + self.ways as usize
    }

    /// Finds a line in its set and marks it used.
    #[inline]
    pub fn find(&mut self, set: u32, line: LineAddr) -> Option<Place> {
        let row = self.row(set);
        let way = self.numbers[row.clone()].iter().position(|&t| t == line.0)?;
        let at = row.start + way;
        self.clock += 1;
        self.used[at] = self.clock;
        Some(Place(at as u32))
    }

    /// Finds a line without marking it used.
    pub fn peek(&self, set: u32, line: LineAddr) -> Option<&Line> {
        let row = self.row(set);
        let way = self.numbers[row.clone()].iter().position(|&t| t == line.0)?;
        Some(&self.lines[row.start + way])
    }

    /// The state of a line.
    #[inline]
    pub fn line(&self, place: Place) -> &Line {
        &self.lines[place.0 as usize]
    }

    /// The state of a line.
    #[inline]
    pub fn line_mut(&mut self, place: Place) -> &mut Line {
        &mut self.lines[place.0 as usize]
    }

    /// The line at a place.
    pub fn address(&self, place: Place) -> LineAddr {
        LineAddr(self.numbers[place.0 as usize])
    }

    /// Makes room for a line in its set: the least recently used one without sectors on their way leaves. `None` if every
    /// way is waiting for data.
    pub fn insert(&mut self, set: u32, line: LineAddr) -> Option<(Place, Option<Victim>)> {
        let row = self.row(set);
        let mut best: Option<usize> = None;
        for at in row {
            if self.numbers[at] == FREE {
                best = Some(at);
                break;
            }
            let older = best.is_none_or(|b| self.used[at] < self.used[b]);
            if self.lines[at].pending.is_empty() && older {
                best = Some(at);
            }
        }
        let at = best?;
        let old = self.lines[at];
        let victim = (self.numbers[at] != FREE).then(|| Victim {
            line: LineAddr(self.numbers[at]),
            dirty: old.dirty,
            clean: old.valid.without(old.dirty),
        });
        self.clock += 1;
        self.numbers[at] = line.0;
        self.used[at] = self.clock;
        self.lines[at] = Line::default();
        Some((Place(at as u32), victim))
    }

    /// Removes a line and gives its last state.
    pub fn remove(&mut self, set: u32, line: LineAddr) -> Option<Line> {
        let row = self.row(set);
        let way = self.numbers[row.clone()].iter().position(|&t| t == line.0)?;
        let at = row.start + way;
        self.numbers[at] = FREE;
        Some(std::mem::take(&mut self.lines[at]))
    }

    /// Empties the array; what was dirty or on its way is forgotten.
    pub fn clear(&mut self) {
        self.numbers.fill(FREE);
        self.lines.fill(Line::default());
        self.used.fill(0);
        self.clock = 0;
    }

    /// All lines that are present.
    pub fn iter(&self) -> impl Iterator<Item = (LineAddr, &Line)> {
        self.numbers.iter().zip(&self.lines).filter(|(t, _)| **t != FREE).map(|(t, l)| (LineAddr(*t), l))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn least_recently_used_leaves_first() {
        let mut t = Tags::new(1, 2);
        let (a, _) = t.insert(0, LineAddr(1)).unwrap();
        t.line_mut(a).dirty = SectorMask(0b1);
        t.insert(0, LineAddr(2)).unwrap();
        t.find(0, LineAddr(1)).unwrap();
        let (_, victim) = t.insert(0, LineAddr(3)).unwrap();
        assert_eq!(victim.unwrap().line, LineAddr(2));
        let (_, victim) = t.insert(0, LineAddr(4)).unwrap();
        assert_eq!(victim.unwrap(), Victim { line: LineAddr(1), dirty: SectorMask(1), clean: SectorMask::NONE });
    }

    #[test]
    fn lines_that_wait_for_data_stay() {
        let mut t = Tags::new(1, 2);
        for line in [1, 2] {
            let (p, _) = t.insert(0, LineAddr(line)).unwrap();
            t.line_mut(p).pending = SectorMask(1);
        }
        assert!(t.insert(0, LineAddr(3)).is_none());
    }
}
