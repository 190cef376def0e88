//! A sectored set-associative tag array: which lines are present, and their valid, dirty and pending sectors.
//!
//! A lookup touches two cache lines of the host: the row of its set (`set_rows.rs`) and the way that it finds. Replacement is least recently used: each set keeps
//! its ways in recency order, also where another policy chooses the victim. Data is not kept here.

mod set_rows;

use crate::seam::{Replacement, Ways};
use set_rows::SetRows;
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

    /// Sectors in the mask.
    pub const fn count(self) -> u32 {
        // The counts of all sixteen masks, four bits each: processors of 2003, which we build for, cannot count bits.
        (0x4332_3221_3221_2110_u64 >> (4 * (self.0 & 0b1111)) & 0b1111) as u32
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

/// Sector state of one line.
#[derive(Clone, Copy, Debug, Default)]
pub struct LineState {
    /// Sectors whose bytes are all here.
    pub valid: SectorMask,
    /// Sectors that memory does not have yet.
    pub dirty: SectorMask,
    /// Sectors that have been requested from the next level and not filled yet.
    pub pending: SectorMask,
    /// Pending sectors that were invalidated meanwhile: the fill serves the requests that were merged before, and leaves them
    /// invalid.
    pub overtaken: SectorMask,
}

/// A line that was evicted to make room.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Evicted {
    /// Its address.
    pub line: LineAddr,
    /// Sectors to be written back.
    pub dirty: SectorMask,
    /// Sectors that it held, dirty ones included.
    pub valid: SectorMask,
}

impl Evicted {
    /// Valid sectors that memory has, too.
    pub const fn clean(&self) -> SectorMask {
        self.valid.without(self.dirty)
    }
}

/// A way of a set, counted through the whole tag array: `set * ways + way`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WayIndex(u32);

impl WayIndex {
    /// The number.
    pub const fn index(self) -> u32 {
        self.0
    }

    /// From a number that [`WayIndex::index`] gave.
    pub const fn at(index: u32) -> Self {
        Self(index)
    }
}

const FREE: u64 = u64::MAX;

/// No waiter.
const NOBODY: u32 = u32::MAX;

/// A way: all that is touched of a line when it is found.
#[derive(Clone, Copy)]
struct Way {
    /// The number of its line, or [`FREE`].
    number: u64,
    state: LineState,
    /// See [`Tags::waiters_mut`].
    waiters: u32,
}

impl Way {
    const EMPTY: Self = Self {
        number: FREE,
        state: LineState {
            valid: SectorMask::NONE,
            dirty: SectorMask::NONE,
            pending: SectorMask::NONE,
            overtaken: SectorMask::NONE,
        },
        waiters: NOBODY,
    };
}

/// The tags of a cache.
pub struct Tags {
    array: Vec<Way>,
    rows: SetRows,
    sets: u32,
    ways: u32,
    /// Ways that may be filled, see [`Tags::limit_ways`].
    usable: u32,
    /// How many lines of a set count as young, in sixteenths of a line.
    young: u32,
    /// Something was put in since the array was made or emptied.
    is_used: bool,
    crossed: Option<WayIndex>,
    /// Chooses the victim, where a mechanism has put in another policy than LRU.
    policy: Option<Box<dyn Replacement>>,
}

impl Tags {
    /// Asks the host's caches for the row of a set.
    #[inline]
    pub(crate) fn prefetch_set(&self, set: u32) {
        self.rows.prefetch(set);
    }

    /// Asks the host's caches for a way, by its number in the array.
    #[inline]
    pub(crate) fn prefetch_way(&self, way: u32) {
        if let Some(way) = self.array.get(way as usize) {
            strata_core::prefetch(way);
        }
    }

    /// Asks the host's caches for the way that seems to hold a line, or else for the one that would be evicted for it.
    #[inline]
    pub(crate) fn prefetch_line(&self, set: u32, line: LineAddr) {
        let way = self.rows.find(set, SetRows::mark(line.0), |_| true);
        let way = way.unwrap_or_else(|| self.rows.way_at(set, self.usable as usize - 1));
        self.prefetch_way(set * self.ways + way);
    }

    /// Who was set as the first to wait for a line, by the number of its way in the array.
    #[inline]
    pub(crate) fn first_waiter(&self, way: u32) -> Option<u32> {
        self.array.get(way as usize).map(|way| way.waiters)
    }

    /// An empty array of at most 256 ways.
    pub fn new(sets: u32, ways: u32) -> Self {
        let n = (sets * ways) as usize;
        Self {
            array: vec![Way::EMPTY; n],
            rows: SetRows::new(sets, ways),
            sets,
            ways,
            usable: ways,
            young: ways * 16,
            is_used: false,
            crossed: None,
            policy: None,
        }
    }

    /// Lets a policy choose victims; before anything is inserted.
    pub fn set_policy(&mut self, mut policy: Box<dyn Replacement>) {
        policy.attach(self.sets, self.ways);
        self.policy = Some(policy);
    }

    /// The policy, if it is not least recently used.
    pub fn policy(&self) -> Option<&dyn Replacement> {
        self.policy.as_deref()
    }

    /// The same, where the share `young` of a set's lines that was used last is told apart from the others: see
    /// [`Tags::take_crossed`]. What is no whole number of lines is more in some sets and less in others.
    pub fn with_young(sets: u32, ways: u32, young: f64) -> Self {
        let sixteenths = (f64::from(ways * 16) * young).round() as u32;
        Self { young: sixteenths.clamp(16, ways * 16), ..Self::new(sets, ways) }
    }

    /// How many lines of a set count as young.
    #[inline]
    fn young_of(&self, set: u32) -> usize {
        ((self.young + set % 16) / 16) as usize
    }

    /// Sets of the array.
    pub fn sets(&self) -> u32 {
        self.sets
    }

    /// Ways of the whole array.
    pub fn len(&self) -> usize {
        self.array.len()
    }

    /// True if it has no ways.
    pub fn is_empty(&self) -> bool {
        self.array.is_empty()
    }

    /// Puts the way at `position` of a set's order in front.
    #[allow(clippy::inline_always, reason = "a call costs more than what it does")]
    #[inline(always)]
    fn rejuvenate(&mut self, set: u32, position: usize) {
        self.rows.move_to_front(set, position);
        if self.young == self.ways * 16 {
            return;
        }
        let young = self.young_of(set);
        if position >= young && young < self.ways as usize {
            self.crossed = Some(self.index(set, self.rows.way_at(set, young)));
        }
    }

    #[inline]
    fn index(&self, set: u32, way: u32) -> WayIndex {
        WayIndex(set * self.ways + way)
    }

    /// The line that has just ceased to be one of the young ones of its set, because another was used.
    #[inline]
    pub fn take_crossed(&mut self) -> Option<WayIndex> {
        self.crossed.take()
    }

    /// Finds a line in its set and makes it the most recently used.
    #[inline]
    pub fn find(&mut self, set: u32, line: LineAddr) -> Option<WayIndex> {
        let way = self.way_of(set, line)?;
        let position = self.rows.position(set, way);
        if position > 0 {
            self.rejuvenate(set, position);
        }
        if let Some(policy) = &mut self.policy {
            policy.hit(set, way);
        }
        Some(self.index(set, way))
    }

    #[allow(clippy::inline_always, reason = "a call costs more than what it does")]
    #[inline(always)]
    fn way_of(&self, set: u32, line: LineAddr) -> Option<u32> {
        let first = set * self.ways;
        let ways = &self.array[first as usize..(first + self.ways) as usize];
        let holds = |way: u32| ways.get(way as usize).is_some_and(|w| w.number == line.0);
        self.rows.find(set, SetRows::mark(line.0), holds)
    }

    /// Finds the way of a line without touching its recency.
    #[inline]
    pub fn locate(&self, set: u32, line: LineAddr) -> Option<WayIndex> {
        self.way_of(set, line).map(|way| self.index(set, way))
    }

    /// The state of a line if it is present, without touching its recency.
    #[inline]
    pub fn peek(&self, set: u32, line: LineAddr) -> Option<&LineState> {
        self.locate(set, line).map(|index| self.line(index))
    }

    /// The state of a line.
    #[inline]
    pub fn line(&self, index: WayIndex) -> &LineState {
        &self.array[index.0 as usize].state
    }

    /// The state of a line.
    #[inline]
    pub fn line_mut(&mut self, index: WayIndex) -> &mut LineState {
        &mut self.array[index.0 as usize].state
    }

    /// The first of those who wait for a line, a number that is the caller's own; `u32::MAX` before it is set. It lies beside
    /// the state, which is looked at whenever this is.
    #[inline]
    pub fn waiters_mut(&mut self, index: WayIndex) -> &mut u32 {
        &mut self.array[index.0 as usize].waiters
    }

    /// The address of the line in a way.
    #[inline]
    pub fn address(&self, index: WayIndex) -> LineAddr {
        LineAddr(self.array[index.0 as usize].number)
    }

    /// Allocates a way of the set for a line: evicts the least recently used line without pending sectors, or the one that the
    /// policy chooses. `None` if every way has pending sectors.
    pub fn insert(&mut self, set: u32, line: LineAddr) -> Option<(WayIndex, Option<Evicted>)> {
        let order = &self.rows.order(set)[..self.ways as usize];
        let ways = &self.array[(set * self.ways) as usize..][..self.usable as usize];
        // A free way has nothing pending.
        let may_go = |&way: &u8| ways.get(usize::from(way)).is_some_and(|way| way.state.pending.is_empty());
        let mut position = order.iter().rposition(may_go)?;
        let mut way = order[position].into();
        if self.policy.is_some() {
            position = self.position_by_policy(set).unwrap_or(position);
            way = self.rows.way_at(set, position);
        }
        if let Some(policy) = &mut self.policy {
            policy.filled(set, way);
        }
        self.rows.set_mark(set, way, SetRows::mark(line.0));
        let index = self.index(set, way);
        let slot = &mut self.array[index.0 as usize];
        let Way { number, state, .. } = *slot;
        (slot.number, slot.state) = (line.0, LineState::default());
        let evicted =
            (number != FREE).then_some(Evicted { line: LineAddr(number), dirty: state.dirty, valid: state.valid });
        self.is_used = true;
        self.rejuvenate(set, position);
        Some((index, evicted))
    }

    /// Where the way stands in its set's order that is free, or that the policy chooses among those that may go.
    #[cold]
    fn position_by_policy(&mut self, set: u32) -> Option<usize> {
        let first = (set * self.ways) as usize;
        let usable = &self.array[first..first + self.usable as usize];
        let free = usable.iter().position(|way| way.number == FREE).map(|way| way as u32);
        let policy = self.policy.as_mut()?;
        let way = free.or_else(|| {
            let mut ways = Ways::default();
            (0..).zip(usable).filter(|(_, w)| w.state.pending.is_empty()).for_each(|(way, _)| ways.insert(way));
            let chosen = policy.victim(set, &ways);
            ways.contains(chosen).then_some(chosen)
        })?;
        Some(self.rows.position(set, way))
    }

    /// Invalidates the line in a way, and the sectors that are pending for it.
    pub fn invalidate(&mut self, index: WayIndex) {
        let line = self.line_mut(index);
        line.valid = SectorMask::NONE;
        line.overtaken = line.pending;
        self.tell_invalidated(index);
    }

    #[inline]
    fn tell_invalidated(&mut self, index: WayIndex) {
        if let Some(policy) = &mut self.policy {
            policy.invalidated(index.0 / self.ways, index.0 % self.ways);
        }
    }

    /// Removes a line and gives its last state.
    pub fn remove(&mut self, set: u32, line: LineAddr) -> Option<LineState> {
        let way = self.way_of(set, line)?;
        let index = self.index(set, way);
        let slot = &mut self.array[index.0 as usize];
        slot.number = FREE;
        let gone = std::mem::take(&mut slot.state);
        // The free way is the next to be used.
        self.rows.move_to_back(set, way, self.ways);
        self.tell_invalidated(index);
        Some(gone)
    }

    /// Empties the array and lets only the first `ways` ways of each set be filled: a part of the memory serves another
    /// purpose.
    pub fn limit_ways(&mut self, ways: u32) {
        self.clear();
        self.usable = ways.clamp(1, self.ways);
    }

    /// Invalidates all lines; dirty and pending sectors are forgotten.
    pub fn clear(&mut self) {
        if self.policy.is_some() {
            (0..self.array.len() as u32).for_each(|at| self.tell_invalidated(WayIndex(at)));
        }
        if std::mem::take(&mut self.is_used) {
            for way in &mut self.array {
                (way.number, way.state) = (FREE, LineState::default());
            }
        }
    }

    /// All ways that can be filled; none if nothing was ever inserted.
    pub fn indices(&self) -> impl Iterator<Item = WayIndex> + use<> {
        let used = if self.is_used { self.array.len() as u32 } else { 0 };
        (0..used).map(WayIndex)
    }

    /// All lines that are present.
    pub fn iter(&self) -> impl Iterator<Item = (LineAddr, &LineState)> {
        self.array.iter().filter(|way| way.number != FREE).map(|way| (LineAddr(way.number), &way.state))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sectors_are_counted() {
        assert!((0..16).all(|mask| SectorMask(mask).count() == mask.count_ones()));
    }

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
        assert_eq!(victim.unwrap(), Evicted { line: LineAddr(1), dirty: SectorMask(1), valid: SectorMask::NONE });
    }

    #[test]
    fn a_line_is_told_when_it_is_young_no_more() {
        let mut t = Tags::with_young(1, 4, 0.5);
        let mut crossed = Vec::new();
        for line in [1, 2, 3, 1, 1, 2] {
            if t.find(0, LineAddr(line)).is_none() {
                t.insert(0, LineAddr(line)).unwrap();
            }
            crossed.push(t.take_crossed().map(|p| t.address(p).0));
        }
        // After 1, 2, 3 the order is 3 2 1; using 1 makes 2 old, using 2 makes 3 old.
        assert_eq!(crossed, [Some(u64::MAX), Some(u64::MAX), Some(1), Some(2), None, Some(3)]);
    }

    #[test]
    fn ways_that_serve_another_purpose_stay_empty() {
        let mut t = Tags::new(1, 4);
        t.limit_ways(2);
        for line in 1..=3 {
            t.insert(0, LineAddr(line)).unwrap();
        }
        assert_eq!(t.iter().count(), 2);
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
