//! Requests that wait in a channel: a slab, threaded by one list per bank and kind in the order of arrival.
//!
//! Invariant: `hit` of a list is its oldest request for the row that is open in the bank, so everything before it in the
//! list wants another row; the search for the next hit starts behind the last one.

use super::gates::MAX_BANKS;

/// No request: end of a list.
pub(super) const NONE: u16 = u16::MAX;

/// The row-buffer outcome of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum RowOutcome {
    /// Row hit: its row was open.
    Hit,
    /// Row miss: the bank was closed.
    Closed,
    /// Row conflict: another row had to be closed.
    Conflict,
}

/// An entry of a request queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    /// Rank by arrival among all requests of the channel.
    pub(super) sequence: u64,
    /// Command-clock cycle of arrival.
    pub(super) arrival: u64,
    pub(super) row: u32,
    pub(super) tag: u32,
    previous: u16,
    next: u16,
    /// Column accesses of 32 B that were asked for.
    pub(super) accesses: u8,
    /// Column commands still to be issued.
    pub(super) left: u8,
    pub(super) found: RowOutcome,
}

/// The list of one bank and kind.
#[derive(Clone, Copy, Debug)]
pub(super) struct List {
    /// The oldest request, first of the list.
    pub(super) head: u16,
    tail: u16,
    /// The oldest request for the open row.
    pub(super) hit: u16,
    /// Younger requests served since the oldest one became the oldest.
    pub(super) overtaken: u16,
}

const EMPTY: List = List { head: NONE, tail: NONE, hit: NONE, overtaken: 0 };

/// The request queues of a channel.
#[derive(Clone, Debug)]
pub(super) struct Pending {
    slab: Vec<Entry>,
    free: Vec<u16>,
    lists: [[List; MAX_BANKS]; 2],
    count: [u32; 2],
    arrivals: u64,
}

impl Pending {
    pub(super) fn with_room_for(requests: u32) -> Self {
        let requests = requests as usize;
        Self {
            slab: Vec::with_capacity(requests),
            free: Vec::with_capacity(requests),
            lists: [[EMPTY; MAX_BANKS]; 2],
            count: [0; 2],
            arrivals: 0,
        }
    }

    /// Waiting requests of a kind.
    #[inline]
    pub(super) fn count(&self, kind: usize) -> u32 {
        self.count[kind]
    }

    #[inline]
    pub(super) fn list(&self, kind: usize, bank: usize) -> &List {
        &self.lists[kind][bank % MAX_BANKS]
    }

    #[inline]
    pub(super) fn entry(&self, index: u16) -> &Entry {
        &self.slab[index as usize]
    }

    #[inline]
    pub(super) fn entry_mut(&mut self, index: u16) -> &mut Entry {
        &mut self.slab[index as usize]
    }

    /// Appends a request to the list of its bank; `open` tells whether its row is open.
    #[inline]
    pub(super) fn push(&mut self, kind: usize, bank: usize, open: bool, arrival: u64, request: &super::DramRequest) {
        let list = &mut self.lists[kind][bank % MAX_BANKS];
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
        self.arrivals += 1;
        self.count[kind] += 1;
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

    /// Takes out the hit of a list, which has been served, and finds the next one.
    #[inline]
    pub(super) fn finish_hit(&mut self, kind: usize, bank: usize) -> Entry {
        let list = &mut self.lists[kind][bank % MAX_BANKS];
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

    /// A row of a bank has been opened: finds the hits of both kinds.
    #[inline]
    pub(super) fn row_opened(&mut self, bank: usize, row: u32) {
        for lists in &mut self.lists {
            let list = &mut lists[bank % MAX_BANKS];
            list.hit = first_of_row(&self.slab, list.head, row);
        }
    }

    /// The row of a bank has been closed.
    #[inline]
    pub(super) fn row_closed(&mut self, bank: usize) {
        for lists in &mut self.lists {
            lists[bank % MAX_BANKS].hit = NONE;
        }
    }
}

/// The first request for a row, from `index` on.
#[inline]
fn first_of_row(slab: &[Entry], mut index: u16, row: u32) -> u16 {
    while index != NONE && slab[index as usize].row != row {
        index = slab[index as usize].next;
    }
    index
}
