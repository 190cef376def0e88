//! Requests that wait in a channel: a slab, threaded by one list per bank and kind in the order of arrival.
//!
//! Invariant: `hit` of a list is its oldest request for the row that is open in the bank, so everything before it in the
//! list wants another row; the search for the next hit starts behind the last one.

use super::bank::Age;

/// No request.
pub(super) const NONE: u16 = u16::MAX;

/// How a request found its bank.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum RowOutcome {
    /// Its row was open.
    Hit,
    /// The bank was closed.
    Closed,
    /// Another row was open.
    Conflict,
}

/// A waiting request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    /// Rank by arrival among all requests of the channel, from 1.
    pub(super) sequence: Age,
    /// Cycle of arrival.
    pub(super) arrival: u64,
    pub(super) row: u32,
    pub(super) tag: u32,
    previous: u16,
    next: u16,
    /// Accesses asked for.
    pub(super) accesses: u8,
    /// Accesses still to be made.
    pub(super) left: u8,
    pub(super) found: RowOutcome,
}

/// The list of one bank and kind.
#[derive(Clone, Copy, Debug)]
pub(super) struct List {
    /// The oldest request.
    pub(super) head: u16,
    tail: u16,
    /// The oldest request for the open row.
    pub(super) hit: u16,
    /// Younger requests served since the oldest one became the oldest.
    pub(super) overtaken: u16,
}

/// A list without requests.
pub(super) const EMPTY: List = List { head: NONE, tail: NONE, hit: NONE, overtaken: 0 };

impl List {
    /// The row of the bank has been opened: finds the hit.
    #[inline]
    pub(super) fn row_opened(&mut self, pending: &Pending, row: u32) {
        self.hit = first_of_row(&pending.slab, self.head, row);
    }

    /// The row of the bank has been closed.
    #[inline]
    pub(super) fn row_closed(&mut self) {
        self.hit = NONE;
    }
}

/// All waiting requests.
#[derive(Clone, Debug)]
pub(super) struct Pending {
    slab: Vec<Entry>,
    free: Vec<u16>,
    count: [u32; 2],
    arrivals: u64,
}

impl Pending {
    pub(super) fn with_room_for(requests: u32) -> Self {
        let requests = requests as usize;
        let (slab, free) = (Vec::with_capacity(requests), Vec::with_capacity(requests));
        Self { slab, free, count: [0; 2], arrivals: 0 }
    }

    /// Waiting requests of a kind.
    #[inline]
    pub(super) fn count(&self, kind: usize) -> u32 {
        self.count[kind]
    }

    #[inline]
    pub(super) fn entry(&self, index: u16) -> &Entry {
        &self.slab[index as usize]
    }

    #[inline]
    pub(super) fn entry_mut(&mut self, index: u16) -> &mut Entry {
        &mut self.slab[index as usize]
    }

    /// Appends a request to the list of its bank and kind; `open` tells whether its row is open.
    #[inline]
    pub(super) fn push(&mut self, list: &mut List, open: bool, arrival: u64, request: &super::DramRequest) {
        self.arrivals += 1;
        self.count[usize::from(request.write)] += 1;
        let entry = Entry {
            sequence: self.arrivals,
            arrival,
            row: request.row,
            tag: request.tag,
            previous: list.tail,
            next: NONE,
            accesses: request.accesses.max(1),
            left: request.accesses.max(1),
            found: RowOutcome::Hit,
        };
        let index = if let Some(index) = self.free.pop() {
            self.slab[index as usize] = entry;
            index
        } else {
            self.slab.push(entry);
            (self.slab.len() - 1) as u16
        };
        if list.tail == NONE {
            list.head = index;
        } else {
            self.slab[list.tail as usize].next = index;
        }
        list.tail = index;
        if open && list.hit == NONE {
            list.hit = index;
        }
    }

    /// Takes out the hit of a list of a kind, which has been served, and finds the next one.
    #[inline]
    pub(super) fn finish_hit(&mut self, list: &mut List, kind: usize) -> Entry {
        let index = list.hit;
        let entry = self.slab[index as usize];
        if entry.previous == NONE {
            list.head = entry.next;
            list.overtaken = 0;
        } else {
            self.slab[entry.previous as usize].next = entry.next;
            list.overtaken += 1;
        }
        if entry.next == NONE {
            list.tail = entry.previous;
        } else {
            self.slab[entry.next as usize].previous = entry.previous;
        }
        list.hit = first_of_row(&self.slab, entry.next, entry.row);
        self.free.push(index);
        self.count[kind] -= 1;
        entry
    }
}

/// The first request for a row, from `index` on.
#[inline]
fn first_of_row(slab: &[Entry], mut index: u16, row: u32) -> u16 {
    while index != NONE {
        let entry = &slab[index as usize];
        if entry.row == row {
            break;
        }
        index = entry.next;
    }
    index
}
