//! Commands as a channel gives them, for those who want to see them.

/// A DRAM command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Command {
    /// Opens a row of a bank.
    Activate {
        /// The bank.
        bank: u16,
        /// The row.
        row: u32,
    },
    /// Reads one access from the open row.
    Read {
        /// The bank.
        bank: u16,
    },
    /// Writes one access to the open row.
    Write {
        /// The bank.
        bank: u16,
    },
    /// Closes the row of a bank.
    Precharge {
        /// The bank.
        bank: u16,
    },
    /// Closes all rows.
    PrechargeAll,
    /// Refreshes all banks.
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

/// Hears nothing.
impl CommandLog for () {
    #[inline]
    fn command(&mut self, _: u64, _: Command) {}
}

/// Remembers everything.
impl CommandLog for Vec<(u64, Command)> {
    fn command(&mut self, cycle: u64, command: Command) {
        self.push((cycle, command));
    }
}
