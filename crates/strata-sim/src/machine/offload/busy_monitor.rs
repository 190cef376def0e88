//! How busy links to stacks and the SMs on them are: the channel busy monitor (TOM, section 4.1).

use crate::link::Direction;
use crate::machine::Machine;
use crate::seam::StackUse;
use crate::time::Cycles;

impl Machine {
    /// Measures how busy links and SMs were, if the last window is over at core cycle `at`.
    pub(super) fn sample_utilization(&mut self, at: u64) {
        let now = self.core_time(at);
        let (Some(offload), Some(stacks)) = (&mut self.offload, &self.stacks) else { return };
        let window = self.config.clock.core.span(Cycles(offload.terms.window_cycles));
        let slots_per_pico = f64::from(self.config.sm.schedulers) * self.config.clock.core.khz() as f64 / 1e9;
        for (stack_sm, link) in offload.stacks.iter_mut().zip(&stacks.links) {
            if now < stack_sm.since + window {
                continue;
            }
            let picos = (now - stack_sm.since).0 as f64;
            let sent = [link.carried(Direction::Out).0, link.carried(Direction::In).0, stack_sm.issued];
            let could = link.rate() as f64 * picos / 1e12;
            let of = |k: usize, could: f64| (sent[k] - stack_sm.at_begin[k]) as f64 / could;
            stack_sm.state =
                StackUse { tx: of(0, could), rx: of(1, could), issue: of(2, slots_per_pico * picos), ..stack_sm.state };
            (stack_sm.since, stack_sm.at_begin) = (now, sent);
        }
    }
}
