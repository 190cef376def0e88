//! One channel of device memory: banks with rows, the gates between commands, and the order in which requests are served.
//!
//! A [`Channel`] is event-driven. It is told the time when something happens to it and settles what it has done until then:
//! commands are given at the earliest cycle their gates allow, computed and not searched for, and cycles without commands
//! cost nothing.
//!
//! **Time** is in command-clock cycles. [`Channel::advance`] settles all cycles *before* `now`, so a request that arrives at
//! `now` takes part in the decisions of cycle `now`, and how often a channel is asked changes nothing. [`Channel::wake`]
//! says when to ask again: no request ends earlier, so whatever is reported lies at or after the cycle of the question. A
//! caller advances the channel to `now`, looks whether it has room, pushes, and asks for the wake-up, which replaces the one
//! before.
//!
//! **Commands**: one row command (activate, precharge, refresh) and one column command (read, write) can be given per cycle,
//! as HBM's two command buses do; other kinds of DRAM move an access in several command cycles, which leave a single bus
//! room for both.
//!
//! **Order**: of the column commands that are possible in a cycle the oldest request's is given, so rows that are open are
//! used up first; of the row commands likewise. A bank closes its row when nobody who waits wants it, or when its oldest
//! request was overtaken [`OVERTAKE_LIMIT`] times, or as often as another [`SchedulingPolicy`] says. Writes wait until `write_high` of them are there, then are drained to
//! `write_low`; they are also served while no reads wait. When both kinds press, they take turns of `write_high - write_low`
//! requests, so neither starves.
//!
//! **Refresh** closes all rows and refreshes all banks every `refi` cycles; column commands that do not delay it are still
//! given. Where single banks can be refreshed (`rfcsb`), one after another is, `refi` for all of them, and takes precedence
//! over whoever waits for it; the others go on. An idle channel refreshes too, without waking anybody: it is made up for
//! when the next request arrives.
//!
//! Not modelled: power-down.

mod address;
mod bank;
mod channel;
mod gates;
mod log;
mod pending;
mod policy;
mod stats;
#[cfg(test)]
mod tests;

pub use address::{AddressMap, DramAddress, Layout};
pub use channel::{Channel, DramRequest};
pub use gates::DramError;
pub use log::{Command, CommandLog};
pub use policy::{CappedFcfs, FrFcfs, OVERTAKE_LIMIT, SchedulingPolicy};
pub use stats::{ChannelStats, WriteBatches};
