//! The command log of a channel: what tests and tools observe.

/// A DRAM command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Command {
    /// Opens a row of a bank.
    Activate {
        /// The bank, closed before; group and bank as in [`DramAddress`](super::DramAddress).
        bank: u16,
        /// The row that is open from RCD on.
        row: u32,
    },
    /// Reads one access from the open row.
    Read {
        /// The bank whose open row is read.
        bank: u16,
    },
    /// Writes one access to the open row.
    Write {
        /// The bank whose open row is written.
        bank: u16,
    },
    /// Closes the row of a bank.
    Precharge {
        /// The bank that is closed.
        bank: u16,
    },
    /// Closes all rows, before a refresh.
    PrechargeAll,
    /// Refreshes all banks; every row is closed then.
    Refresh,
    /// Refreshes one bank.
    RefreshBank {
        /// The bank.
        bank: u16,
    },
}

/// Hears every command with its cycle. Chosen by type, so that hearing nothing costs nothing.
pub trait CommandLog {
    /// A command is given in that cycle. Cycles never decrease.
    fn command(&mut self, cycle: u64, command: Command);
}

/// No log.
impl CommandLog for () {
    #[inline]
    fn command(&mut self, _: u64, _: Command) {}
}

/// A log in memory, for tests.
impl CommandLog for Vec<(u64, Command)> {
    fn command(&mut self, cycle: u64, command: Command) {
        self.push((cycle, command));
    }
}
