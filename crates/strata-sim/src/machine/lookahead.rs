//! What the next events need is asked of the host's caches while this one is handled.
//!
//! A machine of eighty SMs has megabytes of state, and its events go through it at random: most of their time is misses of the
//! host's caches, one after another. The queue knows the next events, so their misses can overlap. What is found by way of
//! something else is asked for when that has come, so an event is looked at three times. Nothing here changes a result.

use super::{Event, Machine};
use strata_core::{GridSource, Nearness, WarpId, prefetch};

/// Events ahead at which an event is looked at the first, the second and the third time.
const FAR: usize = 6;
const MIDDLE: usize = 4;
const NEAR: usize = 2;

impl Machine {
    /// Asks for what upcoming events need.
    #[inline]
    pub(super) fn look_ahead<S: GridSource>(&self, source: &S) {
        if let Some(event) = self.queue.upcoming(FAR) {
            self.look_far(event, source);
        }
        if let Some(event) = self.queue.upcoming(MIDDLE) {
            self.look_behind(event, source);
        }
        if let Some(event) = self.queue.upcoming(NEAR) {
            self.look_near(event, source);
        }
    }

    /// What the event names.
    #[inline]
    fn look_far<S: GridSource>(&self, event: Event, source: &S) {
        let index = event.index();
        match event.kind() {
            Event::WARP => {
                if let Some(warp) = self.warps.get(index as usize) {
                    prefetch(warp);
                    source.prefetch(WarpId(index), Nearness::Far);
                }
            }
            Event::L2 | Event::REPLY => {
                if let Some(request) = self.requests.get(index) {
                    prefetch(request);
                }
            }
            Event::FILL => {
                if let Some(miss) = self.misses.get(index) {
                    prefetch(miss);
                }
            }
            _ => {}
        }
    }

    /// What that leads to.
    #[inline]
    fn look_behind<S: GridSource>(&self, event: Event, source: &S) {
        let index = event.index();
        match event.kind() {
            Event::WARP => {
                if let Some(warp) = self.warps.get(index as usize) {
                    warp.prefetch();
                    source.prefetch(WarpId(index), Nearness::Middle);
                }
            }
            Event::L2 => {
                if let Some(request) = self.requests.get(index) {
                    let home = request.home;
                    self.slices[usize::from(home.slice)].tags.prefetch_set(home.set);
                }
            }
            Event::REPLY => {
                if let Some(request) = self.requests.get(index) {
                    if let Some(load) = self.loads.get(request.load) {
                        prefetch(load);
                    }
                    self.sms[request.sm as usize].memory.l1.prefetch_way(request.way);
                }
            }
            Event::FILL => {
                if let Some(miss) = self.misses.get(index) {
                    let slice = &self.slices[usize::from(miss.slice)];
                    slice.tags.prefetch_way(miss.way);
                    if let Some(request) = slice.held.front().and_then(|&(held, _)| self.requests.get(held)) {
                        prefetch(request);
                    }
                }
            }
            _ => {}
        }
    }

    /// What those lead to.
    #[inline]
    fn look_near<S: GridSource>(&self, event: Event, source: &S) {
        let index = event.index();
        match event.kind() {
            Event::WARP => {
                if let Some(warp) = self.warps.get(index as usize) {
                    let scheduler = &self.sms[warp.sm as usize].schedulers[warp.scheduler as usize];
                    scheduler.prefetch(warp.time);
                    source.prefetch(WarpId(index), Nearness::Near);
                }
            }
            Event::L2 => {
                if let Some(request) = self.requests.get(index) {
                    let home = request.home;
                    self.slices[usize::from(home.slice)].tags.prefetch_line(home.set, request.line);
                }
            }
            Event::REPLY => {
                if let Some(request) = self.requests.get(index) {
                    if let Some(load) = self.loads.get(request.load)
                        && let Some(warp) = self.warps.get(load.warp as usize)
                    {
                        prefetch(warp);
                    }
                    let held = &self.sms[request.sm as usize].memory.l1.held;
                    if let Some(held) = held.front().and_then(|&held| self.requests.get(held)) {
                        prefetch(held);
                    }
                }
            }
            Event::FILL => {
                if let Some(miss) = self.misses.get(index) {
                    let slice = &self.slices[usize::from(miss.slice)];
                    let first = slice.tags.first_waiter(miss.way);
                    if let Some(request) = first.and_then(|first| self.requests.get(first)) {
                        prefetch(request);
                    }
                    if let Some(held) = slice.held.front().and_then(|&(held, _)| self.requests.get(held)) {
                        slice.tags.prefetch_set(held.home.set);
                    }
                }
            }
            _ => {}
        }
    }
}
