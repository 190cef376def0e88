//! What a channel knows of each bank, and the banks that wait for a command, by the age of whom they wait for.

use super::gates::MAX_BANKS;
use super::pending::{EMPTY, List};

/// No row is open.
pub(super) const CLOSED: u32 = u32::MAX;

/// A bank: all that a command reads or changes of it, in one line of the host's cache.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct Bank {
    /// Earliest column command of each kind, as far as the bank alone decides.
    pub(super) column: [u64; 2],
    /// Earliest activate, as far as the bank alone decides.
    pub(super) activate: u64,
    /// Earliest precharge.
    pub(super) precharge: u64,
    /// Requests of each kind that wait for it.
    pub(super) lists: [List; 2],
    /// The row that is open, or [`CLOSED`].
    pub(super) row: u32,
    /// The group it is in.
    pub(super) group: u8,
    /// What it waits for.
    pub(super) wants: Wants,
    /// It is to be refreshed before it serves anybody.
    pub(super) refresh: bool,
}

impl Bank {
    pub(super) fn new(group: u8) -> Self {
        Self {
            column: [0; 2],
            activate: 0,
            precharge: 0,
            lists: [EMPTY; 2],
            row: CLOSED,
            group,
            wants: Wants::Nothing,
            refresh: false,
        }
    }

    #[inline]
    pub(super) fn is_open(&self) -> bool {
        self.row != CLOSED
    }
}

/// A bank group: earliest commands in any of its banks.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Group {
    /// Column command of each kind.
    pub(super) column: [u64; 2],
    /// Activate.
    pub(super) activate: u64,
}

/// The command that a bank waits for. Those that are waited for are the first, as indices.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Wants {
    Column,
    Precharge,
    Activate,
    Nothing,
}

/// Whom a bank waits for: the request's rank by arrival.
pub(super) type Age = u64;

/// Banks and the ends of the three lists, in one array: what precedes the first and follows the last is the list's end.
const NODES: usize = 2 * MAX_BANKS;
/// The end of the list of [`Wants::Column`]; the others follow.
const FIRST_END: usize = MAX_BANKS;

/// The banks that wait for a command, one list for each command, the oldest first.
#[derive(Clone, Debug)]
pub(super) struct Waiters {
    /// By node: the request its bank is to serve; ends are older than everybody.
    age: [Age; NODES],
    next: [u8; NODES],
    previous: [u8; NODES],
}

impl Waiters {
    pub(super) fn new() -> Self {
        let itself = std::array::from_fn(|node| node as u8);
        Self { age: [0; NODES], next: itself, previous: itself }
    }

    /// Whom a bank waits for.
    #[inline]
    pub(super) fn age(&self, bank: usize) -> Age {
        self.age[bank % MAX_BANKS]
    }

    /// Puts a bank that is in no list into one, by its age.
    #[inline]
    pub(super) fn insert(&mut self, wants: Wants, bank: usize, age: Age) {
        let bank = bank % MAX_BANKS;
        // Those who come are mostly the youngest. Nobody is older than the list's end, where the search ends.
        let mut before = usize::from(self.previous[FIRST_END + wants as usize]) % NODES;
        while self.age[before] > age {
            before = usize::from(self.previous[before]) % NODES;
        }
        let behind = self.next[before];
        self.age[bank] = age;
        self.previous[bank] = before as u8;
        self.next[bank] = behind;
        self.next[before] = bank as u8;
        self.previous[usize::from(behind) % NODES] = bank as u8;
    }

    /// Takes a bank out of its list.
    #[inline]
    pub(super) fn remove(&mut self, bank: usize) {
        let bank = bank % MAX_BANKS;
        let (before, behind) = (self.previous[bank], self.next[bank]);
        self.next[usize::from(before) % NODES] = behind;
        self.previous[usize::from(behind) % NODES] = before;
    }

    /// The banks of a list, the oldest first.
    #[inline]
    pub(super) fn oldest_first(&self, wants: Wants) -> impl Iterator<Item = usize> {
        let mut node = FIRST_END + wants as usize;
        std::iter::from_fn(move || {
            node = usize::from(self.next[node]) % NODES;
            (node < FIRST_END).then_some(node)
        })
    }
}
