//! The offload controller: whether an instance of a candidate goes to a stack (TOM, sections 3.3 and 4.2).
//!
//! A pure function of the candidate's tag and of what the machine knows of its stacks.

use crate::settings::{Policy, Settings};
use crate::table::Row;
use strata_sim::seam::{StackId, StackUse};

/// Why a block stays on the GPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stays {
    /// Nothing is offloaded.
    Off,
    /// The channel to the stack is busy, and offloading would add to it.
    TxBusy,
    /// The same of the channel from the stack.
    RxBusy,
    /// So many blocks are pending there already.
    Full,
    /// It is mostly arithmetic, and the SM there is busy.
    AluBusy,
    /// It would wait long for the issue slots of the SM there.
    Queued,
}

/// Where a block whose first access is to the stack `first` runs; `uses` has all stacks.
pub fn decide(settings: &Settings, limit: u32, row: &Row, first: StackId, uses: &[StackUse]) -> Result<StackId, Stays> {
    let limit = settings.pending_limit.unwrap_or(limit);
    match settings.policy {
        Policy::None => return Err(Stays::Off),
        Policy::Uncontrolled => return Ok(first),
        Policy::Ideal => {
            // All data are wherever it runs.
            let emptiest = (0..).map(StackId).zip(uses).min_by_key(|(_, use_)| use_.pending);
            return emptiest.filter(|(_, use_)| use_.pending < limit).map(|(stack, _)| stack).ok_or(Stays::Full);
        }
        Policy::Controlled | Policy::AluAware | Policy::QueueAware => {}
    }
    let use_ = uses.get(first.0 as usize).ok_or(Stays::Off)?;
    if use_.tx >= settings.busy_threshold && !row.saves_tx {
        return Err(Stays::TxBusy);
    }
    if use_.rx >= settings.busy_threshold && !row.saves_rx {
        return Err(Stays::RxBusy);
    }
    if use_.pending >= limit {
        return Err(Stays::Full);
    }
    let arithmetic = settings.policy != Policy::Controlled && row.alu_share > settings.alu_share;
    if arithmetic && use_.issue >= settings.alu_busy {
        return Err(Stays::AluBusy);
    }
    if settings.policy == Policy::QueueAware && use_.queue > settings.queue_limit {
        return Err(Stays::Queued);
    }
    Ok(first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::SETTINGS;
    use strata_core::settings::Settings as Values;
    use strata_sim::seam::Candidate;

    fn settings(policy: &str) -> Settings {
        let set = format!("tom.policy={policy}");
        Settings::of(&Values::read("tom", SETTINGS, &[set]).expect("good"))
    }

    fn row(saves_tx: bool, saves_rx: bool, alu_share: f64) -> Row {
        let block = Candidate { begin: 0, end: 1, entry: 0, live_in: 1, live_out: 0, conditions: Vec::new() };
        Row::unconditional(block, saves_tx, saves_rx, alu_share)
    }

    #[track_caller]
    fn check(policy: &str, row: &Row, use_: StackUse, expected: Result<u32, Stays>) {
        let uses = [StackUse { pending: 5000, ..use_ }, StackUse { pending: 5000, ..use_ }, use_];
        let found = decide(&settings(policy), 48, row, StackId(2), &uses).map(|stack| stack.0);
        assert_eq!(found, expected, "{policy} {use_:?}");
    }

    #[test]
    fn busy_channels_keep_what_would_add_to_them() {
        let busy = |tx, rx| StackUse { tx, rx, ..StackUse::default() };
        let saves_rx = row(false, true, 0.0);
        check("controlled", &saves_rx, busy(0.89, 1.0), Ok(2));
        check("controlled", &saves_rx, busy(0.9, 0.0), Err(Stays::TxBusy));
        check("controlled", &row(true, false, 0.0), busy(1.0, 0.95), Err(Stays::RxBusy));
        check("controlled", &row(true, true, 0.0), busy(1.0, 1.0), Ok(2));
        check("uncontrolled", &saves_rx, busy(1.0, 1.0), Ok(2));
        check("none", &saves_rx, busy(0.0, 0.0), Err(Stays::Off));
    }

    #[test]
    fn a_stack_has_room_for_as_many_as_its_sm() {
        let pending = |pending| StackUse { pending, ..StackUse::default() };
        let any = row(true, true, 0.0);
        check("controlled", &any, pending(47), Ok(2));
        check("controlled", &any, pending(48), Err(Stays::Full));
        check("ideal", &any, pending(48), Err(Stays::Full));
        check("uncontrolled", &any, pending(4800), Ok(2));
        let uses = [pending(9), pending(3), pending(48)];
        let chosen = |policy| decide(&settings(policy), 48, &any, StackId(2), &uses);
        assert_eq!((chosen("ideal"), chosen("controlled")), (Ok(StackId(1)), Err(Stays::Full)));
    }

    #[test]
    fn arithmetic_stays_away_from_busy_sms() {
        let busy = StackUse { issue: 0.95, ..StackUse::default() };
        check("alu-aware", &row(true, true, 0.6), busy, Err(Stays::AluBusy));
        check("alu-aware", &row(true, true, 0.4), busy, Ok(2));
        check("controlled", &row(true, true, 0.6), busy, Ok(2));
        check("queue-aware", &row(true, true, 0.6), busy, Err(Stays::AluBusy));
    }

    #[test]
    fn a_long_queue_for_issue_slots_keeps_whatever_comes() {
        let queue = |queue| StackUse { queue, ..StackUse::default() };
        for share in [0.1, 0.9] {
            check("queue-aware", &row(true, true, share), queue(6.1), Err(Stays::Queued));
            check("queue-aware", &row(true, true, share), queue(6.0), Ok(2));
            check("alu-aware", &row(true, true, share), queue(6.1), Ok(2));
        }
    }
}
