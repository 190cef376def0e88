//! What a learned prefetcher of roots leaves at the host (`uvm.prediction_gate`): a root for which something would have to leave that
//! is needed sooner.

use crate::evict::{Candidates, used_last};
use crate::geometry::Tree;
use crate::model::Uvm;
use crate::uses::NEVER;
use strata_core::random::SplitMix64;
use strata_sim::time::Picos;

impl Uvm {
    /// A root that was named as the `rank`th to come is worth what would have to leave for so many pages of it.
    pub(crate) fn is_worth_bringing(&mut self, tree: Tree, pages: &[u32], rank: u64, now: Picos) -> bool {
        let worth = !self.config.prediction_gate
            || !self.lacks_room_for(self.space.shares(pages.iter().copied()))
            || self.is_needed_before_others(tree, rank, now);
        if worth {
            self.uses.expect(tree, rank);
        }
        worth
    }

    /// Something that is here and not in use is used later than a root that was named as the `rank`th to come.
    fn is_needed_before_others(&self, tree: Tree, rank: u64, now: Picos) -> bool {
        let among = Candidates {
            space: &self.space,
            recency: &self.recency,
            random: &mut SplitMix64::new(0),
            reserve: self.config.reserve_recent,
            uses: &self.uses,
            prefetcher: self.prefetcher.as_ref(),
            now,
        };
        // Of a root of which nothing is known, the prediction tells.
        let distance = Some(among.distance(tree)).filter(|&distance| distance < NEVER);
        let distance = distance.unwrap_or_else(|| self.uses.ahead(rank));
        used_last(&among).is_some_and(|(_, last)| last > distance)
    }
}
