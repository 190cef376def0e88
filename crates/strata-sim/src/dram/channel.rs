//! The channel: state of the banks, choice of the next command, and its effects.

mod refresh;
mod turns;

use super::bank::{Age, Bank, CLOSED, Group, KEY_BITS, Waiters, Wants, members};
use super::gates::{DramError, Gates, MAX_BANKS};
use super::log::{Command, CommandLog};
use super::pending::{NONE, Pending, RowOutcome};
use super::policy::{FrFcfs, SchedulingPolicy};
use super::stats::{ChannelStats, WriteBatches};
use crate::config::DramConfig;
use refresh::first_refresh;

/// Who takes precedence over all requests.
const OLDEST: Age = 0;

/// Kinds of requests, as indices.
const READ: usize = 0;
const WRITE: usize = 1;

/// A request: up to a line of one row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DramRequest {
    /// The row.
    pub row: u32,
    /// The bank: bank group times banks of a group plus bank within its group.
    pub bank: u16,
    /// Accesses of 32 B, at least 1. Which columns they go to makes no difference to time.
    pub accesses: u8,
    /// To be written, not read.
    pub write: bool,
    /// The caller's handle.
    pub tag: u32,
}

/// The best candidate for a command: the oldest of those that can have it first.
#[derive(Clone, Copy, Debug)]
struct Pick {
    /// When its command can be given; never if there is no candidate.
    at: u64,
    age: Age,
    bank: usize,
    /// The candidates or their gates have changed.
    stale: bool,
}

const NO_PICK: Pick = Pick { at: u64::MAX, age: Age::MAX, bank: 0, stale: false };

impl Pick {
    /// The best of a set of banks, none of which can have its command before `floor`.
    ///
    /// A candidate is packed as waiting cycles, then age, then bank, so that the least is the best.
    #[inline]
    fn of(waiters: &Waiters, set: u64, floor: u64, gate: impl Fn(usize) -> u64) -> Self {
        let mut best = u64::MAX;
        for bank in members(set) {
            best = best.min(gate(bank).saturating_sub(floor) << KEY_BITS | waiters.key(bank));
        }
        if best == u64::MAX {
            return NO_PICK;
        }
        let bank = best as usize % MAX_BANKS;
        Self { at: floor + (best >> KEY_BITS), age: waiters.key(bank), bank, stale: false }
    }

    /// A candidate has come or become better.
    #[inline]
    fn offer(&mut self, at: u64, age: Age, bank: usize) {
        if !self.stale && (at, age) < (self.at, self.age) {
            (self.at, self.age, self.bank) = (at, age, bank);
        }
    }
}

/// One DRAM channel.
///
/// ```
/// # use strata_core::Bytes;
/// # use strata_sim::config::{DramConfig, DramTiming};
/// use strata_sim::dram::{Channel, DramRequest};
/// # let timing = DramTiming { ccd: 1, ccdl: 2, rrd: 3, rrdl: 0, faw: 0, rcd: 12, ras: 28, rp: 12, rc: 40, cl: 12, wl: 2,
/// #     wr: 10, cdlr: 3, wtrl: 0, rtw: 0, rtpl: 3, refi: 0, rfc: 0, rfcsb: 0 };
/// # let config = DramConfig { size: Bytes(1 << 30), channels: 1, bus_bytes: 16, burst: 2, data_rate: 2, bank_groups: 4,
/// #     banks: 16, row: Bytes(2048), timing, queue: 64, write_queue: 0, write_high: 32, write_low: 16, controller_cycles: 0,
/// #     masked_writes: true };
/// let mut channel = Channel::new(&config)?;
/// let mut done = Vec::new();
/// channel.push(100, DramRequest { row: 7, bank: 3, accesses: 1, write: false, tag: 42 });
/// while let Some(wake) = channel.wake() {
///     channel.advance(wake, &mut done);
/// }
/// assert_eq!(done, [(100 + 12 + 12 + 1, 42)]); // RCD + CL + one cycle of data
/// # Ok::<(), strata_sim::dram::DramError>(())
/// ```
pub struct Channel<L = (), P = FrFcfs> {
    gates: Gates,
    /// Requests of each kind that can wait.
    room: [u32; 2],
    write_high: u32,
    write_low: u32,

    /// All cycles before this one are settled.
    clock: u64,
    /// Earliest column command of each kind in any bank.
    any_column: [u64; 2],
    /// Earliest activate of any bank.
    any_activate: u64,
    /// For each of the last four activates, the oldest first from `fourth_last` on, when the fourth after it may come.
    window: [u64; 4],
    fourth_last: usize,
    /// Earliest row command: one per cycle.
    any_row_command: u64,
    /// When the next refresh is due; never if refresh is off.
    refresh_due: u64,
    /// How many refreshes of one bank have been due.
    banks_due: u64,
    /// Banks that are to be refreshed before they serve anybody.
    refreshing: u32,

    column: Pick,
    precharge: Pick,
    activate: Pick,

    /// The kind that is being served.
    kind: usize,
    /// Writes are being served because there are many of them, not because there are no reads.
    draining: bool,
    /// Requests left in this turn: of the writes of a drain, or of the reads that a drain cut short has to wait for.
    turn_left: u32,
    /// How many banks there are.
    banks: usize,
    /// Banks of a group, as a power of two.
    group_shift: u32,
    /// The banks of the first group, as a set.
    first_group: u64,
    /// Banks whose row may have been opened too recently for a column command.
    opening: u64,
    /// Bank groups, as a set, that may have been used too recently.
    cooling: u64,
    pending: Pending,
    stats: ChannelStats,
    batches: WriteBatches,
    log: L,
    policy: P,

    waiters: Waiters,
    groups: [Group; MAX_BANKS],
    bank: [Bank; MAX_BANKS],
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
        Self::with_policy(config, FrFcfs, log)
    }
}

impl<L: CommandLog, P: SchedulingPolicy> Channel<L, P> {
    /// A channel that serves requests in the order of a policy, and whose commands are heard by `log`.
    pub fn with_policy(config: &DramConfig, policy: P, log: L) -> Result<Self, DramError> {
        let gates = Gates::new(config)?;
        let per_group = config.banks / config.bank_groups;
        let group_shift = per_group.ilog2();
        Ok(Self {
            room: [config.queue, config.write_room()],
            write_high: config.write_high,
            write_low: config.write_low,
            clock: 0,
            any_column: [0; 2],
            any_activate: 0,
            window: [0; 4],
            fourth_last: 0,
            any_row_command: 0,
            refresh_due: first_refresh(&gates, config.banks),
            banks_due: 0,
            refreshing: 0,
            column: NO_PICK,
            precharge: NO_PICK,
            activate: NO_PICK,
            kind: READ,
            draining: false,
            turn_left: 0,
            banks: config.banks as usize,
            group_shift,
            first_group: u64::MAX >> (64 - per_group),
            opening: 0,
            cooling: 0,
            pending: Pending::with_room_for(config.queue + config.write_room()),
            stats: ChannelStats::default(),
            batches: WriteBatches::default(),
            log,
            policy,
            waiters: Waiters::new(),
            groups: [Group::default(); MAX_BANKS],
            bank: std::array::from_fn(|bank| Bank::new((bank >> group_shift) as u8)),
            gates,
        })
    }

    /// True if a request of that kind can be pushed. Exact for the cycle that the channel was last advanced to.
    #[inline]
    pub fn has_room(&self, write: bool) -> bool {
        self.waiting(write) < self.room[usize::from(write)]
    }

    /// Takes a request that arrives at `now`.
    ///
    /// The channel must have been advanced to `now` since it was last active, and have room.
    #[inline]
    pub fn push(&mut self, now: u64, request: DramRequest) {
        debug_assert!(self.has_room(request.write), "a request was pushed into a full channel");
        debug_assert!(usize::from(request.bank) < self.banks, "there is no bank {}", request.bank);
        if self.is_idle() {
            self.wake_up(now);
        }
        debug_assert!(self.clock >= now, "the channel must be advanced to {now} before a request arrives");
        let number = usize::from(request.bank) % MAX_BANKS;
        let kind = usize::from(request.write);
        let bank = &mut self.bank[number];
        let open = bank.row == request.row;
        self.pending.push(&mut bank.lists[kind], open, now, &request);
        // Behind others, a request changes what its bank waits for only if its row is open and nobody else wanted it.
        let changes = bank.wants == Wants::Nothing || bank.wants == Wants::Precharge && open;
        if kind == self.kind && changes {
            self.precharge.stale |= self.precharge.bank == number;
            self.classify(number);
            match self.bank[number].wants {
                Wants::Column => self.offer_column(number),
                Wants::Precharge => self.offer_precharge(number),
                Wants::Activate => self.offer_activate(number),
                Wants::Nothing => {}
            }
        }
        self.switch_direction();
    }

    /// Gives all commands of the cycles before `now` and appends the requests they ended, with the cycle in which the last
    /// of their data has passed the bus: `now` or later, if the channel is asked when it said ([`Self::wake`]).
    #[inline]
    pub fn advance(&mut self, now: u64, done: &mut Vec<(u64, u32)>) {
        if now > self.clock && !self.is_idle() {
            self.issue_until(now, done);
        }
    }

    /// When to advance next, unless a request arrives before: no request ends earlier. `None` if nothing waits.
    #[inline]
    pub fn wake(&mut self) -> Option<u64> {
        if self.is_idle() {
            return None;
        }
        self.arbitrate();
        let to_column = self.gates.activate_to_column[self.kind];
        let activate = self.activate.at.min(self.precharge.at.saturating_add(self.gates.rp));
        let column = self.column.at.min(activate.saturating_add(to_column)).max(self.clock);
        Some(column + self.gates.column_to_end[self.kind])
    }

    /// What has been counted. Refreshes of an idle channel are counted when it wakes.
    pub fn stats(&self) -> &ChannelStats {
        &self.stats
    }

    /// The batches in which it has written.
    pub fn write_batches(&self) -> WriteBatches {
        WriteBatches { batches: self.stats.write_turns, bursts: self.stats.write_accesses, ..self.batches }
    }

    /// The rows, with their banks, to which it is writing, if it could take further writes to them: an L2 may let it have
    /// its dirty lines of these rows ([`AddressMap::encode`](super::AddressMap::encode) tells which), so that they are
    /// written while the row is open anyway.
    pub fn rows_being_written(&self) -> impl Iterator<Item = (u16, u32)> {
        let takes = self.kind == WRITE && self.has_room(true);
        let banks = self.bank[..if takes { self.banks } else { 0 }].iter().enumerate();
        let written = banks.filter(|(_, bank)| bank.wants == Wants::Column);
        written.map(|(number, bank)| (number as u16, bank.row))
    }

    /// The command log.
    pub fn log(&self) -> &L {
        &self.log
    }

    /// Requests of a kind that wait.
    pub fn waiting(&self, write: bool) -> u32 {
        self.pending.count(usize::from(write))
    }

    /// Nothing has waited until now.
    #[inline]
    fn wake_up(&mut self, now: u64) {
        if self.gates.rfcsb > 0 {
            self.catch_up_banks(now);
        } else {
            (self.column, self.precharge, self.activate) = (NO_PICK, NO_PICK, NO_PICK);
            if self.refresh_due < now {
                self.catch_up_refreshes(now);
            }
        }
        self.clock = self.clock.max(now);
    }

    #[inline]
    fn is_idle(&self) -> bool {
        self.pending.count(READ) + self.pending.count(WRITE) == 0
    }

    /// Gives all commands before `until`.
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
                // What is to be refreshed when nobody waits is caught up with later, however far one is asked to go.
                if self.gates.rfcsb > 0 && self.is_idle() {
                    return;
                }
                continue;
            }
            let at = self.column.at.min(row);
            if at.max(self.clock) >= self.refresh_due {
                if !self.refresh_is_due(until, done) {
                    break;
                }
            } else if at >= until {
                break;
            } else if (self.precharge.at, self.precharge.age) < (self.activate.at, self.activate.age) {
                self.precharge_command(at);
            } else {
                self.activate_command(at);
            }
        }
        self.clock = self.clock.max(until);
    }

    /// Brings the picks up to date.
    #[inline]
    fn arbitrate(&mut self) {
        if self.column.stale | self.precharge.stale | self.activate.stale {
            self.pick_again();
        }
    }

    /// Chooses the stale picks anew.
    fn pick_again(&mut self) {
        if self.column.stale {
            self.column = self.best_column();
        }
        if self.precharge.stale {
            let floor = self.clock.max(self.any_row_command);
            self.precharge =
                Pick::of(&self.waiters, self.waiters.set(Wants::Precharge), floor, |bank| self.bank[bank].precharge);
        }
        if self.activate.stale {
            let floor = self.clock.max(self.any_row_command).max(self.any_activate);
            self.activate =
                Pick::of(&self.waiters, self.waiters.set(Wants::Activate), floor, |bank| self.bank[bank].activate);
        }
    }

    #[inline]
    fn best_column(&mut self) -> Pick {
        let set = self.waiters.set(Wants::Column);
        if set == 0 {
            return NO_PICK;
        }
        let floor = self.clock.max(self.any_column[self.kind]);
        // The floor may fall when the kind changes, so only the clock decides who need not be looked at again.
        //
        // Mostly somebody can go as soon as the data bus can: the oldest of the banks that neither open nor are in a
        // group that was used just now.
        let mut ready = set;
        for bank in members(set & self.opening) {
            if self.bank[bank].column[self.kind] > floor {
                ready &= !(1 << bank);
            } else if self.bank[bank].column[READ] <= self.clock {
                self.opening &= !(1 << bank);
            }
        }
        for group in members(self.cooling) {
            if self.groups[group].column[self.kind] > floor {
                ready &= !(self.first_group << (group << self.group_shift));
            } else if self.groups[group].column[READ] <= self.clock {
                self.cooling &= !(1 << group);
            }
        }
        if ready != 0 {
            return Pick::of(&self.waiters, ready, floor, |_| 0);
        }
        Pick::of(&self.waiters, set, floor, |bank| self.column_gate(bank))
    }

    /// Earliest column command of the kind that is served, as far as bank and group decide.
    #[inline]
    fn column_gate(&self, bank: usize) -> u64 {
        let bank = &self.bank[bank];
        bank.column[self.kind].max(self.groups[usize::from(bank.group) % MAX_BANKS].column[self.kind])
    }

    /// Sorts a bank by the command that it waits for.
    #[inline]
    fn classify(&mut self, number: usize) {
        let bank = &mut self.bank[number % MAX_BANKS];
        self.waiters.remove(bank.wants, number);
        if bank.refresh {
            bank.wants = if bank.is_open() { Wants::Precharge } else { Wants::Activate };
            self.waiters.insert(bank.wants, number, OLDEST);
            return;
        }
        let list = &bank.lists[self.kind];
        if list.head == NONE {
            bank.wants = Wants::Nothing;
            return;
        }
        let mut served = list.head;
        bank.wants = if !bank.is_open() {
            Wants::Activate
        } else if list.hit != NONE && (list.hit == list.head || self.policy.may_overtake(list.overtaken)) {
            served = list.hit;
            Wants::Column
        } else {
            Wants::Precharge
        };
        self.waiters.insert(bank.wants, number, self.pending.entry(served).sequence);
    }

    fn classify_all(&mut self) {
        for bank in 0..self.banks {
            self.classify(bank);
        }
        self.column.stale = true;
        self.precharge.stale = true;
        self.activate.stale = true;
    }

    /// A bank waits for a column command: it may be better than the one that is picked.
    #[inline]
    fn offer_column(&mut self, bank: usize) {
        let at = self.column_gate(bank % MAX_BANKS).max(self.any_column[self.kind]).max(self.clock);
        self.column.offer(at, self.waiters.key(bank), bank);
    }

    #[inline]
    fn offer_precharge(&mut self, bank: usize) {
        let at = self.bank[bank % MAX_BANKS].precharge.max(self.any_row_command).max(self.clock);
        self.precharge.offer(at, self.waiters.key(bank), bank);
    }

    #[inline]
    fn offer_activate(&mut self, bank: usize) {
        let gate = self.bank[bank % MAX_BANKS].activate.max(self.any_activate).max(self.any_row_command);
        self.activate.offer(gate.max(self.clock), self.waiters.key(bank), bank);
    }

    /// Gives the column command that has been picked. Returns true if it was the last of its request.
    #[inline]
    fn column_command(&mut self, at: u64, done: &mut Vec<(u64, u32)>) -> bool {
        let (number, kind, gates) = (self.column.bank, self.kind, &self.gates);
        let bank = &mut self.bank[number % MAX_BANKS];
        self.clock = at;
        // Never earlier than what earlier commands asked for: this one waited for those.
        self.any_column = after(at, gates.column_to_column[kind]);
        self.cooling |= 1 << (bank.group % 64);
        self.groups[usize::from(bank.group) % MAX_BANKS].column = after(at, gates.column_in_group[kind]);
        bank.precharge = bank.precharge.max(at + gates.column_to_precharge[kind]);
        self.column.stale = true;
        let command = match kind {
            READ => Command::Read { bank: number as u16 },
            _ => Command::Write { bank: number as u16 },
        };
        self.log.command(at, command);
        let entry = self.pending.entry_mut(bank.lists[kind].hit);
        entry.left -= 1;
        if entry.left > 0 {
            return false;
        }
        self.complete_request(number, at + self.gates.column_to_end[kind], done);
        true
    }

    #[inline]
    fn complete_request(&mut self, number: usize, end: u64, done: &mut Vec<(u64, u32)>) {
        let list = &mut self.bank[number % MAX_BANKS].lists[self.kind];
        let entry = self.pending.finish_hit(list, self.kind);
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
            self.batches.row_hits += u64::from(entry.found == RowOutcome::Hit);
        }
        match entry.found {
            RowOutcome::Hit => self.stats.row_hits += 1,
            RowOutcome::Closed => self.stats.row_misses += 1,
            RowOutcome::Conflict => self.stats.row_conflicts += 1,
        }
        self.turn_left = self.turn_left.saturating_sub(1);
        // The bank had a column command, so no row pick is its own, and the column pick is stale.
        self.classify(number);
        if self.bank[number % MAX_BANKS].wants == Wants::Precharge {
            self.offer_precharge(number);
        }
        self.switch_direction();
    }

    /// Gives the precharge that has been picked.
    #[inline]
    fn precharge_command(&mut self, at: u64) {
        let number = self.precharge.bank;
        let bank = &mut self.bank[number % MAX_BANKS];
        if !bank.refresh {
            self.pending.entry_mut(bank.lists[self.kind].head).found = RowOutcome::Conflict;
        }
        close(bank, at + self.gates.rp);
        bank.wants = Wants::Activate;
        self.waiters.remove(Wants::Precharge, number);
        self.waiters.again(Wants::Activate, number);
        self.stats.precharges += 1;
        self.log.command(at, Command::Precharge { bank: number as u16 });
        self.row_command_given(at);
        self.precharge.stale = true;
        self.offer_activate(number);
    }

    /// Gives the activate that has been picked, for the oldest request of the bank.
    #[inline]
    fn activate_command(&mut self, at: u64) {
        let number = self.activate.bank;
        let bank = &mut self.bank[number % MAX_BANKS];
        if bank.refresh {
            return self.refresh_bank(number, at);
        }
        let entry = self.pending.entry_mut(bank.lists[self.kind].head);
        let row = entry.row;
        if entry.found == RowOutcome::Hit {
            entry.found = RowOutcome::Closed;
        }
        for list in &mut bank.lists {
            list.row_opened(&self.pending, row);
        }
        bank.row = row;
        bank.activate = at + self.gates.rc;
        bank.precharge = at + self.gates.ras;
        bank.column = after(at, self.gates.activate_to_column);
        bank.wants = Wants::Column;
        self.opening |= 1 << (number % MAX_BANKS);
        let group = usize::from(bank.group) % MAX_BANKS;
        self.activated(group, at);
        self.waiters.remove(Wants::Activate, number);
        self.waiters.again(Wants::Column, number);
        self.stats.activates += 1;
        self.log.command(at, Command::Activate { bank: number as u16, row });
        self.row_command_given(at);
        self.activate.stale = true;
        self.offer_column(number);
    }

    /// A row of a bank group has been opened, or refreshed: gates of the activates that follow.
    #[inline]
    fn activated(&mut self, group: usize, at: u64) {
        if self.gates.rrdl > self.gates.rrd {
            let first = group << self.group_shift;
            for bank in &mut self.bank[first..first + (1 << self.group_shift)] {
                bank.activate = bank.activate.max(at + self.gates.rrdl);
            }
            self.activate.stale = true;
        }
        self.window[self.fourth_last] = at + self.gates.faw;
        self.fourth_last = (self.fourth_last + 1) % self.window.len();
        self.any_activate = (at + self.gates.rrd).max(self.window[self.fourth_last]);
    }

    /// The bus of row commands is taken: picks that wanted the same cycle are chosen anew, the others stand.
    #[inline]
    fn row_command_given(&mut self, at: u64) {
        self.clock = at;
        self.any_row_command = at + 1;
        self.precharge.stale |= self.precharge.at <= at;
        self.activate.stale |= self.activate.at <= at;
    }
}

/// When gates of both kinds open that close at `at`. (Not `map`, which the compiler calls.)
#[inline]
fn after(at: u64, [read, write]: [u64; 2]) -> [u64; 2] {
    [at + read, at + write]
}

/// The row of a bank closes, and another may be opened at `reopen`.
#[inline]
fn close(bank: &mut Bank, reopen: u64) {
    bank.row = CLOSED;
    bank.activate = bank.activate.max(reopen);
    for list in &mut bank.lists {
        list.row_closed();
    }
}
