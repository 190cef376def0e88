//! The channel: state of the banks, choice of the next command, and its effects.

use super::gates::{DramError, Gates, MAX_BANKS};
use super::log::{Command, CommandLog};
use super::pending::{NONE, Pending, RowOutcome};
use super::stats::ChannelStats;
use crate::config::DramConfig;

/// How many younger requests of its bank may overtake a request before the bank closes its row for it.
///
/// 16 lines of 128 B are a whole row of 2 KB: a stream that runs through its row once never reaches the limit, while a
/// request that waits for another row waits for one row's worth of data at most.
pub const OVERTAKE_LIMIT: u16 = 16;

/// Kinds of requests, as indices.
const READ: usize = 0;
const WRITE: usize = 1;

/// No row is open.
const CLOSED: u32 = u32::MAX;

/// A candidate is packed as waiting cycles, then age, then bank, so that the least is the best.
const BANK_BITS: u32 = MAX_BANKS.ilog2();
/// 40 bits of age are a million million requests.
const AGE_BITS: u32 = 40 + BANK_BITS;

/// A request to one row: up to a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DramRequest {
    /// The row within its bank.
    pub row: u32,
    /// The bank: bank group times banks of a group plus bank within its group.
    pub bank: u16,
    /// Accesses of 32 B, at least 1. Which columns they go to makes no difference to time.
    pub accesses: u8,
    /// True for a write, false for a read.
    pub write: bool,
    /// The caller's handle, given back when the request is done.
    pub tag: u32,
}

/// The best candidate of a command bus.
#[derive(Clone, Copy, Debug)]
struct Pick {
    /// When its command can be given; never if there is no candidate.
    at: u64,
    /// Age and bank of the candidate, packed: the older one is less.
    key: u64,
    /// The candidates or their gates have changed.
    stale: bool,
}

const NO_PICK: Pick = Pick { at: u64::MAX, key: u64::MAX, stale: false };

impl Pick {
    #[inline]
    fn bank(self) -> usize {
        self.key as usize % MAX_BANKS
    }

    /// The packed candidate, whose waiting cycles count from `floor`.
    #[inline]
    fn unpack(floor: u64, packed: u64) -> Self {
        Self { at: floor + (packed >> AGE_BITS), key: packed & ((1 << AGE_BITS) - 1), stale: false }
    }

    /// A candidate has come or become better.
    #[inline]
    fn offer(&mut self, at: u64, key: u64) {
        if !self.stale && (at, key) < (self.at, self.key) {
            (self.at, self.key) = (at, key);
        }
    }
}

/// One DRAM channel: its banks, its queues and a first-ready, first-come-first-served scheduler (FR-FCFS).
///
/// ```
/// # use strata_core::Bytes;
/// # use strata_sim::config::{DramConfig, DramTiming};
/// use strata_sim::dram::{Channel, DramRequest};
/// # let timing = DramTiming { ccd: 1, ccdl: 2, rrd: 3, rcd: 12, ras: 28, rp: 12, rc: 40, cl: 12, wl: 2, wr: 10, cdlr: 3,
/// #     rtpl: 3, refi: 0, rfc: 0 };
/// # let config = DramConfig { size: Bytes(1 << 30), channels: 1, bus_bytes: 16, burst: 2, data_rate: 2, bank_groups: 4,
/// #     banks: 16, row: Bytes(2048), timing, queue: 64, write_high: 32, write_low: 16, controller_cycles: 0 };
/// let mut channel = Channel::new(&config)?;
/// let mut done = Vec::new();
/// let wake = channel.push(100, DramRequest { row: 7, bank: 3, accesses: 1, write: false, tag: 42 });
/// assert_eq!(channel.advance(wake, &mut done), None); // nothing is left to do
/// assert_eq!(done, [(100 + 12 + 12 + 1, 42)]); // RCD + CL + one cycle of data
/// # Ok::<(), strata_sim::dram::DramError>(())
/// ```
pub struct Channel<L = ()> {
    gates: Gates,
    /// Requests of each kind that can wait.
    queue: u32,
    write_high: u32,
    write_low: u32,
    banks: usize,
    /// Banks of a group, as a power of two.
    group_shift: u32,
    /// The banks of the first group, as a set.
    first_group: u64,

    /// All cycles before this one are settled.
    clock: u64,
    pending: Pending,

    open_row: [u32; MAX_BANKS],
    /// Earliest column command of each kind, as far as the bank alone decides.
    bank_column: [[u64; MAX_BANKS]; 2],
    /// Earliest activate, as far as the bank alone decides.
    bank_activate: [u64; MAX_BANKS],
    /// Earliest precharge: RAS, RTP and write recovery.
    bank_precharge: [u64; MAX_BANKS],
    /// Earliest column command in a bank group.
    group_column: [u64; MAX_BANKS],
    /// Earliest column command of each kind in any bank.
    any_column: [u64; 2],
    /// Earliest activate of any bank.
    any_activate: u64,
    /// Earliest row command: one per cycle.
    any_row_command: u64,
    /// When the next refresh is due; never if refresh is off.
    refresh_due: u64,

    /// Banks with an open row, one bit each.
    open: u64,
    /// Banks whose row may have been opened too recently for a column command.
    opening: u64,
    /// Bank groups, as a set, that may have been used too recently.
    cooling: u64,
    /// Banks that wait for a column command, a precharge, an activate; no bank waits for two of them.
    column_banks: u64,
    precharge_banks: u64,
    activate_banks: u64,
    /// Age and bank of the candidate of each bank.
    key: [u64; MAX_BANKS],
    column: Pick,
    precharge: Pick,
    activate: Pick,

    /// The kind that is being served.
    kind: usize,
    /// Writes are being served because there are many of them, not because there are no reads.
    draining: bool,
    /// Requests left in this turn: of the writes of a drain, or of the reads that a drain cut short has to wait for.
    turn_left: u32,

    stats: ChannelStats,
    log: L,
}

impl Channel {
    /// A channel of this configuration, idle, with all rows closed.
    pub fn new(config: &DramConfig) -> Result<Self, DramError> {
        Self::with_log(config, ())
    }
}

impl<L: CommandLog> Channel<L> {
    /// A channel whose commands are heard by `log`.
    pub fn with_log(config: &DramConfig, log: L) -> Result<Self, DramError> {
        let gates = Gates::new(config)?;
        let per_group = config.banks / config.bank_groups;
        Ok(Self {
            queue: config.queue,
            write_high: config.write_high,
            write_low: config.write_low,
            banks: config.banks as usize,
            group_shift: per_group.ilog2(),
            first_group: u64::MAX >> (64 - per_group),
            clock: 0,
            pending: Pending::with_room_for(2 * config.queue),
            open_row: [CLOSED; MAX_BANKS],
            bank_column: [[0; MAX_BANKS]; 2],
            bank_activate: [0; MAX_BANKS],
            bank_precharge: [0; MAX_BANKS],
            group_column: [0; MAX_BANKS],
            any_column: [0; 2],
            any_activate: 0,
            any_row_command: 0,
            refresh_due: if gates.refi == 0 { u64::MAX } else { gates.refi },
            open: 0,
            opening: 0,
            cooling: 0,
            column_banks: 0,
            precharge_banks: 0,
            activate_banks: 0,
            key: [0; MAX_BANKS],
            column: NO_PICK,
            precharge: NO_PICK,
            activate: NO_PICK,
            kind: READ,
            draining: false,
            turn_left: 0,
            stats: ChannelStats::default(),
            log,
            gates,
        })
    }

    /// True if a request of that kind can be pushed. Exact for the cycle that the channel was last advanced to.
    #[inline]
    pub fn has_room(&self, write: bool) -> bool {
        self.pending.count(usize::from(write)) < self.queue
    }

    /// Takes a request that arrives at `now`, and returns when to advance next.
    ///
    /// The channel must have been advanced to `now` since it was last active, and have room.
    #[inline]
    pub fn push(&mut self, now: u64, request: DramRequest) -> u64 {
        debug_assert!(self.has_room(request.write), "a request was pushed into a full channel");
        debug_assert!(usize::from(request.bank) < self.banks, "there is no bank {}", request.bank);
        if self.is_idle() {
            (self.column, self.precharge, self.activate) = (NO_PICK, NO_PICK, NO_PICK);
            if self.refresh_due < now {
                self.catch_up_refreshes(now);
            }
            self.clock = self.clock.max(now);
        }
        debug_assert!(self.clock >= now, "the channel must be advanced to {now} before a request arrives");
        let bank = usize::from(request.bank) % MAX_BANKS;
        let kind = usize::from(request.write);
        let open = self.open_row[bank] == request.row;
        self.pending.push(kind, bank, open, now, &request);
        // Behind others, a request changes what its bank waits for only if its row is open and nobody else wanted it.
        let settled = (self.column_banks | self.activate_banks) >> bank & 1 != 0
            || self.precharge_banks >> bank & 1 != 0 && !open;
        if kind == self.kind && !settled {
            self.reclassify(bank);
        }
        self.switch_direction();
        self.next_wake()
    }

    /// Gives all commands of the cycles before `now` and appends the requests they ended, with the cycle in which the last
    /// of their data has passed the bus: `now` or later, if the channel is asked when it said. Returns when to advance
    /// next, unless a request arrives before; `None` if nothing waits.
    #[inline]
    pub fn advance(&mut self, now: u64, done: &mut Vec<(u64, u32)>) -> Option<u64> {
        if self.is_idle() {
            return None;
        }
        if now > self.clock {
            self.issue_until(now, done);
        }
        (!self.is_idle()).then(|| self.next_wake())
    }

    /// What has been counted. Refreshes of an idle channel are counted when it wakes.
    pub fn stats(&self) -> &ChannelStats {
        &self.stats
    }

    /// The command log, `()` if there is none.
    pub fn log(&self) -> &L {
        &self.log
    }

    /// Requests of a kind that wait.
    pub fn waiting(&self, write: bool) -> u32 {
        self.pending.count(usize::from(write))
    }

    #[inline]
    fn is_idle(&self) -> bool {
        self.pending.count(READ) + self.pending.count(WRITE) == 0
    }

    /// The earliest cycle at which a request can end.
    #[inline]
    fn next_wake(&mut self) -> u64 {
        self.arbitrate();
        let to_column = self.gates.activate_to_column[self.kind];
        let activate = self.activate.at.min(self.precharge.at.saturating_add(self.gates.rp));
        let column = self.column.at.min(activate.saturating_add(to_column)).max(self.clock);
        column + self.gates.column_to_end[self.kind]
    }

    /// Issues all commands of the cycles before `until`.
    fn issue_until(&mut self, until: u64, done: &mut Vec<(u64, u32)>) {
        loop {
            self.arbitrate();
            let row = self.precharge.at.min(self.activate.at);
            // Column commands come first in a cycle, and do not touch the row picks until one ends a request.
            if self.clock < self.refresh_due {
                let limit = until.min(self.refresh_due).min(row.saturating_add(1));
                while self.column.at < limit && !self.column_command(self.column.at, done) {
                    self.column = self.best_column();
                }
            }
            if self.column.stale {
                continue;
            }
            let at = self.column.at.min(row);
            if at.max(self.clock) >= self.refresh_due {
                if !self.issue_refresh(until, done) {
                    break;
                }
            } else if at >= until {
                break;
            } else if (self.precharge.at, self.precharge.key) < (self.activate.at, self.activate.key) {
                self.precharge_command(at);
            } else {
                self.activate_command(at);
            }
        }
        self.clock = self.clock.max(until);
    }

    /// A refresh is due and takes precedence. Returns false if nothing more happens before `until`.
    #[cold]
    fn issue_refresh(&mut self, until: u64, done: &mut Vec<(u64, u32)>) -> bool {
        let due = self.refresh_due.max(self.clock);
        if due >= until {
            return false;
        }
        if self.open != 0 {
            let close =
                members(self.open).map(|b| self.bank_precharge[b]).fold(due.max(self.any_row_command), u64::max);
            // While a row that was opened just now keeps the others waiting, column commands may use the time.
            let column = self.column.at.max(self.clock);
            if column.saturating_add(self.gates.column_to_precharge[self.kind]) <= close && column < until {
                self.column_command(column, done);
                return true;
            }
            if close >= until {
                return false;
            }
            self.precharge_all(close);
        }
        self.refresh(due);
        true
    }

    fn precharge_all(&mut self, at: u64) {
        for bank in members(self.open) {
            self.open_row[bank] = CLOSED;
            self.pending.row_closed(bank);
            self.bank_activate[bank] = self.bank_activate[bank].max(at + self.gates.rp);
            self.stats.precharges += 1;
        }
        self.open = 0;
        self.opening = 0;
        self.clock = at;
        self.log.command(at, Command::PrechargeAll);
        self.classify_all();
    }

    /// All rows are closed and a refresh is due: nothing can change when it happens, so it is done at once, whenever that is.
    fn refresh(&mut self, due: u64) {
        let at = self.bank_activate[..self.banks].iter().fold(due, |at, &b| at.max(b));
        self.log.command(at, Command::Refresh);
        self.stats.refreshes += 1;
        self.refreshed(at);
        self.refresh_due += self.gates.refi;
    }

    /// The last refresh was at that cycle.
    fn refreshed(&mut self, at: u64) {
        self.bank_activate[..self.banks].fill(at + self.gates.rfc);
        self.activate.stale = true;
    }

    /// Nothing has waited until now: does the refreshes that were due meanwhile.
    #[cold]
    fn catch_up_refreshes(&mut self, now: u64) {
        while self.refresh_due < now {
            let ready = self.bank_activate[..self.banks].iter().fold(0, |at, &b| at.max(b));
            if self.open == 0 && ready <= self.refresh_due {
                // From here on each is given in the cycle it is due.
                let missed = (now - 1 - self.refresh_due) / self.gates.refi + 1;
                for n in 0..missed {
                    self.log.command(self.refresh_due + n * self.gates.refi, Command::Refresh);
                }
                self.stats.refreshes += missed;
                self.refresh_due += missed * self.gates.refi;
                self.refreshed(self.refresh_due - self.gates.refi);
            } else if !self.issue_refresh(now, &mut Vec::new()) {
                break;
            }
        }
    }

    /// Arbitrates: brings the best candidate of each kind of command up to date.
    #[inline]
    fn arbitrate(&mut self) {
        if self.column.stale {
            self.column = self.best_column();
        }
        if self.precharge.stale {
            let floor = self.clock.max(self.any_row_command);
            self.precharge = self.best_row(self.precharge_banks, &self.bank_precharge, floor);
        }
        if self.activate.stale {
            let floor = self.clock.max(self.any_row_command).max(self.any_activate);
            self.activate = self.best_row(self.activate_banks, &self.bank_activate, floor);
        }
    }

    #[inline]
    fn best_column(&mut self) -> Pick {
        if self.column_banks == 0 {
            return NO_PICK;
        }
        let floor = self.clock.max(self.any_column[self.kind]);
        // The floor may fall when the kind changes, so only the clock decides who need not be looked at again.
        //
        // Mostly somebody can go as soon as the data bus can: the oldest of the banks that neither open nor are in a
        // group that was used just now.
        let mut ready = self.column_banks;
        for bank in members(ready & self.opening) {
            if self.bank_column[self.kind][bank] > floor {
                ready &= !(1 << bank);
            } else if self.bank_column[READ][bank] <= self.clock {
                self.opening &= !(1 << bank);
            }
        }
        for group in members(self.cooling) {
            if self.group_column[group] > floor {
                ready &= !(self.first_group << (group << self.group_shift));
            } else if self.group_column[group] <= self.clock {
                self.cooling &= !(1 << group);
            }
        }
        if ready != 0 {
            let key = members(ready).fold(u64::MAX, |best, bank| best.min(self.key[bank]));
            return Pick { at: floor, key, stale: false };
        }
        let mut best = u64::MAX;
        for bank in members(self.column_banks) {
            let at = self.bank_column[self.kind][bank].max(self.group_column[self.group(bank)]).max(floor);
            best = best.min((at - floor) << AGE_BITS | self.key[bank]);
        }
        Pick::unpack(floor, best)
    }

    #[inline]
    fn best_row(&self, banks: u64, ready: &[u64; MAX_BANKS], floor: u64) -> Pick {
        if banks == 0 {
            return NO_PICK;
        }
        let mut best = u64::MAX;
        for bank in members(banks) {
            best = best.min(ready[bank].saturating_sub(floor) << AGE_BITS | self.key[bank]);
        }
        Pick::unpack(floor, best)
    }

    #[inline]
    fn group(&self, bank: usize) -> usize {
        (bank >> self.group_shift) % MAX_BANKS
    }

    /// Sorts a bank by the command that it waits for.
    #[inline]
    fn classify(&mut self, bank: usize) {
        let bit = 1 << bank;
        self.column_banks &= !bit;
        self.precharge_banks &= !bit;
        self.activate_banks &= !bit;
        let list = self.pending.list(self.kind, bank);
        if list.head == NONE {
            return;
        }
        let mut served = list.head;
        if self.open & bit == 0 {
            self.activate_banks |= bit;
        } else if list.hit != NONE && (list.hit == list.head || list.overtaken < OVERTAKE_LIMIT) {
            self.column_banks |= bit;
            served = list.hit;
        } else {
            self.precharge_banks |= bit;
        }
        self.key[bank] = (self.pending.entry(served).sequence << BANK_BITS | bank as u64) & ((1 << AGE_BITS) - 1);
    }

    fn classify_all(&mut self) {
        for bank in 0..self.banks {
            self.classify(bank);
        }
        self.column.stale = true;
        self.precharge.stale = true;
        self.activate.stale = true;
    }

    /// The next command of a bank has changed: classifies it anew and keeps the picks right.
    #[inline]
    fn reclassify(&mut self, bank: usize) {
        self.column.stale |= self.column.bank() == bank;
        self.precharge.stale |= self.precharge.bank() == bank;
        self.classify(bank);
        let bit = 1 << bank;
        if self.column_banks & bit != 0 {
            self.offer_column(bank);
        } else if self.precharge_banks & bit != 0 {
            self.offer_precharge(bank);
        } else if self.activate_banks & bit != 0 {
            self.offer_activate(bank);
        }
    }

    #[inline]
    fn offer_column(&mut self, bank: usize) {
        let gate = self.bank_column[self.kind][bank].max(self.group_column[self.group(bank)]);
        self.column.offer(gate.max(self.any_column[self.kind]).max(self.clock), self.key[bank]);
    }

    #[inline]
    fn offer_precharge(&mut self, bank: usize) {
        let at = self.bank_precharge[bank].max(self.any_row_command).max(self.clock);
        self.precharge.offer(at, self.key[bank]);
    }

    #[inline]
    fn offer_activate(&mut self, bank: usize) {
        let gate = self.bank_activate[bank].max(self.any_activate).max(self.any_row_command);
        self.activate.offer(gate.max(self.clock), self.key[bank]);
    }

    /// Gives the column command that has been picked. Returns true if it was the last of its request.
    #[inline]
    fn column_command(&mut self, at: u64, done: &mut Vec<(u64, u32)>) -> bool {
        let (bank, kind, gates) = (self.column.bank(), self.kind, &self.gates);
        self.clock = at;
        let group = (bank >> self.group_shift) % MAX_BANKS;
        self.group_column[group] = at + gates.ccdl;
        self.cooling |= 1 << group;
        for (next, any) in self.any_column.iter_mut().enumerate() {
            *any = (*any).max(at + gates.column_to_column[kind][next]);
        }
        self.bank_precharge[bank] = self.bank_precharge[bank].max(at + gates.column_to_precharge[kind]);
        self.column.stale = true;
        let bank_number = bank as u16;
        let command =
            if kind == READ { Command::Read { bank: bank_number } } else { Command::Write { bank: bank_number } };
        self.log.command(at, command);
        let hit = self.pending.list(kind, bank).hit;
        let entry = self.pending.entry_mut(hit);
        entry.left -= 1;
        if entry.left > 0 {
            return false;
        }
        self.complete_request(bank, at + self.gates.column_to_end[kind], done);
        true
    }

    #[inline]
    fn complete_request(&mut self, bank: usize, end: u64, done: &mut Vec<(u64, u32)>) {
        let entry = self.pending.finish_hit(self.kind, bank);
        done.push((end, entry.tag));
        let accesses = u64::from(entry.accesses);
        self.stats.data_cycles += accesses * self.gates.access;
        if self.kind == READ {
            self.stats.reads += 1;
            self.stats.read_accesses += accesses;
            self.stats.read_latency += end - entry.arrival;
        } else {
            self.stats.writes += 1;
            self.stats.write_accesses += accesses;
        }
        match entry.found {
            RowOutcome::Hit => self.stats.row_hits += 1,
            RowOutcome::Closed => self.stats.row_misses += 1,
            RowOutcome::Conflict => self.stats.row_conflicts += 1,
        }
        self.turn_left = self.turn_left.saturating_sub(1);
        // The bank had a column command, so no row pick is its own.
        self.classify(bank);
        if self.precharge_banks >> bank & 1 != 0 {
            self.offer_precharge(bank);
        }
        self.switch_direction();
    }

    /// Gives the precharge that has been picked.
    #[inline]
    fn precharge_command(&mut self, at: u64) {
        let bank = self.precharge.bank();
        let bit = 1 << bank;
        let head = self.pending.list(self.kind, bank).head;
        self.pending.entry_mut(head).found = RowOutcome::Conflict;
        self.pending.row_closed(bank);
        self.open &= !bit;
        self.opening &= !bit;
        self.open_row[bank] = CLOSED;
        self.bank_activate[bank] = self.bank_activate[bank].max(at + self.gates.rp);
        self.stats.precharges += 1;
        self.log.command(at, Command::Precharge { bank: bank as u16 });
        self.row_command_given(at);
        self.precharge.stale = true;
        self.precharge_banks &= !bit;
        self.activate_banks |= bit;
        self.offer_activate(bank);
    }

    /// Gives the activate that has been picked, for the oldest request of the bank.
    #[inline]
    fn activate_command(&mut self, at: u64) {
        let bank = self.activate.bank();
        let bit = 1 << bank;
        let head = self.pending.list(self.kind, bank).head;
        let entry = self.pending.entry_mut(head);
        let row = entry.row;
        if entry.found == RowOutcome::Hit {
            entry.found = RowOutcome::Closed;
        }
        self.pending.row_opened(bank, row);
        self.open |= bit;
        self.opening |= bit;
        self.open_row[bank] = row;
        self.any_activate = at + self.gates.rrd;
        self.bank_activate[bank] = at + self.gates.rc;
        self.bank_precharge[bank] = at + self.gates.ras;
        for (kind, ready) in self.bank_column.iter_mut().enumerate() {
            ready[bank] = at + self.gates.activate_to_column[kind];
        }
        self.stats.activates += 1;
        self.log.command(at, Command::Activate { bank: bank as u16, row });
        self.row_command_given(at);
        self.activate.stale = true;
        self.activate_banks &= !bit;
        self.column_banks |= bit;
        self.offer_column(bank);
    }

    /// The bus of row commands is taken: picks that wanted the same cycle are chosen anew, the others stand.
    #[inline]
    fn row_command_given(&mut self, at: u64) {
        self.clock = at;
        self.any_row_command = at + 1;
        self.precharge.stale |= self.precharge.at <= at;
        self.activate.stale |= self.activate.at <= at;
    }

    /// Decides whether reads or writes are served from now on, by the watermarks of the write queue.
    #[inline]
    fn switch_direction(&mut self) {
        let (reads, writes) = (self.pending.count(READ), self.pending.count(WRITE));
        let turn = self.write_high - self.write_low;
        if self.kind == READ {
            let pressing = writes >= self.write_high && self.turn_left == 0;
            if writes > 0 && (reads == 0 || pressing) {
                self.draining = pressing;
                self.turn_left = turn;
                self.stats.write_turns += 1;
                self.serve_direction(WRITE);
            }
        } else {
            if !self.draining && writes >= self.write_high {
                self.draining = true;
                self.turn_left = turn;
            }
            if reads > 0 && (!self.draining || writes <= self.write_low || self.turn_left == 0) {
                // A drain that was cut short begins anew after as many reads.
                self.turn_left = if self.draining && writes > self.write_low { turn } else { 0 };
                self.draining = false;
                self.serve_direction(READ);
            }
        }
    }

    #[cold]
    fn serve_direction(&mut self, kind: usize) {
        self.kind = kind;
        self.classify_all();
    }
}

/// The members of a set of banks or bank groups.
#[inline]
fn members(mut set: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        (set != 0).then(|| {
            let member = set.trailing_zeros() as usize % MAX_BANKS;
            set &= set - 1;
            member
        })
    })
}
