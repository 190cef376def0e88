//! What the next events need is asked of the host's caches while this one is handled.
//!
//! A machine of eighty SMs has megabytes of state, and its events go through it at random: most of their time is misses of the
//! host's caches, one after another. The queue knows the next events, so their misses can overlap. Nothing here changes a result.

use super::{Event, Machine};
use strata_core::{GridSource, WarpId, prefetch};

/// Events ahead at which the first thing that an event needs is asked for, and the things that this one leads to.
const FAR: usize = 3;
const NEAR: usize = 1;

impl Machine {
    /// Asks for what upcoming events need.
    #[inline]
    pub(super) fn look_ahead<S: GridSource>(&self, source: &S) {
        if let Some(event) = self.queue.upcoming(FAR) {
            match event.kind() {
                Event::WARP => {
                    if let Some(warp) = self.warps.get(event.index() as usize) {
                        prefetch(warp);
                        source.prefetch(WarpId(event.index()), false);
                    }
                }
                Event::L2 | Event::REPLY => {
                    if let Some(request) = self.requests.get(event.index()) {
                        prefetch(request);
                    }
                }
                Event::FILL => {
                    if let Some(miss) = self.misses.get(event.index()) {
                        prefetch(miss);
                    }
                }
                _ => {}
            }
        }
        if let Some(event) = self.queue.upcoming(NEAR) {
            match event.kind() {
                Event::WARP => {
                    if let Some(warp) = self.warps.get(event.index() as usize) {
                        warp.prefetch();
                        source.prefetch(WarpId(event.index()), true);
                    }
                }
                Event::L2 => {
                    if let Some(request) = self.requests.get(event.index()) {
                        let home = request.home;
                        self.slices[usize::from(home.slice)].tags.prefetch_set(home.set);
                    }
                }
                Event::REPLY => {
                    if let Some(request) = self.requests.get(event.index()) {
                        if let Some(load) = self.loads.get(request.load) {
                            prefetch(load);
                        }
                        self.sms[request.sm as usize].memory.l1.prefetch_way(request.way);
                    }
                }
                Event::FILL => {
                    if let Some(miss) = self.misses.get(event.index()) {
                        self.slices[usize::from(miss.slice)].tags.prefetch_way(miss.way);
                    }
                }
                _ => {}
            }
        }
    }
}
