//! The order in which a channel serves what waits for it: a seam, chosen by type, so that a policy costs no call.
//!
//! Gates, refresh and the turns between reading and writing are the channel's; among commands that are possible in a cycle
//! the one for the oldest request is given. What a policy decides is how long an open row is used.

/// Says how long the row of a bank stays open while an older request waits for another row of it.
pub trait SchedulingPolicy {
    /// True if a younger request, for the row that is open, may be served before the oldest of its bank, which has been
    /// overtaken `overtaken` times since it became the oldest. False closes the row for the oldest.
    fn may_overtake(&self, overtaken: u16) -> bool;
}

/// How many younger requests of its bank may overtake a request under [`FrFcfs`] before the bank closes its row for it.
///
/// 16 lines of 128 B are a whole row of 2 KB: a stream that runs through its row once never reaches the limit, while a
/// request that waits for another row waits for one row's worth of data at most.
pub const OVERTAKE_LIMIT: u16 = 16;

/// First ready, first come, first served: rows that are open are used up first, but for [`OVERTAKE_LIMIT`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FrFcfs;

impl SchedulingPolicy for FrFcfs {
    #[inline]
    fn may_overtake(&self, overtaken: u16) -> bool {
        overtaken < OVERTAKE_LIMIT
    }
}

/// First come, first served in each bank, with a cap on the row hits that may come before: 0 is the strict order of arrival.
///
/// ```
/// # use strata_sim::config::load;
/// use strata_sim::dram::{CappedFcfs, Channel, DramRequest};
/// let config = load("titan-v", &[""; 0]).expect("a preset").config.dram;
/// let mut channel = Channel::with_policy(&config, CappedFcfs { row_hits: 0 }, ())?;
/// for (tag, row) in [7, 8, 7].into_iter().enumerate() {
///     channel.push(0, DramRequest { row, bank: 0, accesses: 1, write: false, tag: tag as u32 });
/// }
/// let mut done = Vec::new();
/// while let Some(wake) = channel.wake() {
///     channel.advance(wake, &mut done);
/// }
/// assert_eq!(done.iter().map(|&(_, tag)| tag).collect::<Vec<_>>(), [0, 1, 2]);
/// # Ok::<(), strata_sim::dram::DramError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CappedFcfs {
    /// Row hits that may overtake an older request.
    pub row_hits: u16,
}

impl SchedulingPolicy for CappedFcfs {
    #[inline]
    fn may_overtake(&self, overtaken: u16) -> bool {
        overtaken < self.row_hits
    }
}
