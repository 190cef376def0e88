//! Refresh: of all banks at once, every so often, or of one bank after another.
//!
//! A bank that is to be refreshed alone takes part in the choice of commands as if the oldest request of all waited for it:
//! its row is closed, and in the place of an activate it is refreshed. To the gates between activates it is one of them.

use super::{Channel, MAX_BANKS, close};
use crate::dram::bank::Bank;
use crate::dram::gates::Gates;
use crate::dram::log::{Command, CommandLog};
use crate::dram::policy::SchedulingPolicy;

/// When the first refresh is due.
pub(super) fn first_refresh(gates: &Gates, banks: u32) -> u64 {
    match (gates.refi, gates.rfcsb) {
        (0, _) => u64::MAX,
        (refi, 0) => refi,
        (refi, _) => refi / u64::from(banks),
    }
}

impl<L: CommandLog, P: SchedulingPolicy> Channel<L, P> {
    /// A refresh is due and takes precedence. Returns false if nothing more happens before `until`.
    #[cold]
    pub(super) fn refresh_is_due(&mut self, until: u64, done: &mut Vec<(u64, u32)>) -> bool {
        if self.gates.rfcsb > 0 { self.bank_is_due(until) } else { self.issue_refresh(until, done) }
    }

    /// The next bank is to be refreshed from now on.
    fn bank_is_due(&mut self, until: u64) -> bool {
        if self.refresh_due >= until {
            return false;
        }
        self.clock = self.clock.max(self.refresh_due);
        let number = (self.banks_due % self.banks as u64) as usize % MAX_BANKS;
        self.skip_banks(1);
        self.refreshing += 1;
        self.bank[number].refresh = true;
        self.classify(number);
        (self.column.stale, self.precharge.stale, self.activate.stale) = (true, true, true);
        true
    }

    /// So many refreshes of one bank are no longer to come.
    fn skip_banks(&mut self, count: u64) {
        self.banks_due += count;
        self.refresh_due = (self.banks_due + 1) * self.gates.refi / self.banks as u64;
    }

    /// Refreshes the bank that has been picked.
    #[cold]
    pub(super) fn refresh_bank(&mut self, number: usize, at: u64) {
        let bank = &mut self.bank[number % MAX_BANKS];
        bank.refresh = false;
        bank.activate = at + self.gates.rfcsb;
        let group = usize::from(bank.group) % MAX_BANKS;
        self.refreshing -= 1;
        self.stats.refreshes += 1;
        self.log.command(at, Command::RefreshBank { bank: number as u16 });
        self.activated(group, at);
        self.row_command_given(at);
        self.classify(number);
        (self.precharge.stale, self.activate.stale) = (true, true);
    }

    /// Nothing has waited until now: does the refreshes of single banks that were due meanwhile.
    #[inline]
    pub(super) fn catch_up_banks(&mut self, now: u64) {
        if self.refresh_due < now || self.refreshing > 0 {
            self.catch_up_refreshes_of_banks(now);
        }
    }

    #[cold]
    fn catch_up_refreshes_of_banks(&mut self, now: u64) {
        let (refi, banks) = (self.gates.refi, self.banks as u64);
        // Whatever was open is closed after a round, and a second has nothing of the first to wait for: from then on each is
        // given when it is due, and all but the last round need not be played.
        let rounds = now.saturating_sub(self.refresh_due) / refi;
        if rounds > 3 {
            self.issue_until(self.refresh_due + 2 * refi, &mut Vec::new());
            let skipped = (rounds - 3) * banks;
            for n in 0..skipped {
                let due = (self.banks_due + n + 1) * refi / banks;
                self.log.command(due, Command::RefreshBank { bank: ((self.banks_due + n) % banks) as u16 });
            }
            self.stats.refreshes += skipped;
            self.skip_banks(skipped);
        }
        self.issue_until(now, &mut Vec::new());
    }

    fn issue_refresh(&mut self, until: u64, done: &mut Vec<(u64, u32)>) -> bool {
        let due = self.refresh_due.max(self.clock);
        if due >= until {
            return false;
        }
        let open = self.bank[..self.banks].iter().filter(|bank| bank.is_open());
        if let Some(last) = open.map(|bank| bank.precharge).max() {
            let close = due.max(self.any_row_command).max(last);
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
        for bank in self.bank[..self.banks].iter_mut().filter(|bank| bank.is_open()) {
            close(bank, at + self.gates.rp);
            self.stats.precharges += 1;
        }
        self.clock = at;
        self.log.command(at, Command::PrechargeAll);
        self.classify_all();
    }

    /// All rows are closed and a refresh is due: nothing can change when it happens, so it is done at once, whenever that is.
    fn refresh(&mut self, due: u64) {
        let at = self.bank[..self.banks].iter().fold(due, |at, bank| at.max(bank.activate));
        self.log.command(at, Command::Refresh);
        self.stats.refreshes += 1;
        self.refreshed(at);
        self.refresh_due += self.gates.refi;
    }

    /// The last refresh was at that cycle.
    fn refreshed(&mut self, at: u64) {
        for bank in &mut self.bank[..self.banks] {
            bank.activate = at + self.gates.rfc;
        }
        self.activate.stale = true;
    }

    /// Nothing has waited until now: does the refreshes that were due meanwhile.
    #[cold]
    pub(super) fn catch_up_refreshes(&mut self, now: u64) {
        while self.refresh_due < now {
            let ready = self.bank[..self.banks].iter().fold(0, |at, bank| at.max(bank.activate));
            if !self.bank[..self.banks].iter().any(Bank::is_open) && ready <= self.refresh_due {
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
}
