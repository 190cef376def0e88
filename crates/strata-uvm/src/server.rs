//! The host's side of transfers: what is asked of it is served one request after the other, then its pages may move.
//!
//! Faults and predictions are served alike: whoever wants pages pays for the host's work on them. Whose work that holds up is
//! `uvm.service`: with `link`, as in UVMSmart's accurate mode, nothing moves while a fault is served; with `server`, the host is a
//! queue of its own before the link. Under `uvm.priority=demand` what somebody waits for goes before what was only predicted, as
//! long as it has not been given to the copy engine; what the copy engine has is never taken back.

use crate::geometry::Page;
use crate::model::{Uvm, Wake};
use crate::settings::{Charge, Served};
use crate::space::{Flags, runs};
use crate::transfer::{Incoming, pages_of};
use std::collections::VecDeque;
use std::ops::Range;
use strata_learn::access::Unit;
use strata_sim::seam::Actions;
use strata_sim::time::Picos;

/// Microseconds of a fault without its copies, and of each page of it: a fit of 22 faults on a GTX 1080 Ti (the traces that
/// UVMSmart's micro-benchmarks keep).
const MEASURED_REQUEST_US: f64 = 12.1;
const MEASURED_PAGE_US: f64 = 0.217;

/// Transfers that are asked for together.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) transfers: Vec<Incoming>,
    /// Somebody waits for a page of it.
    pub(crate) demanded: bool,
    /// The core cycle at which it was asked.
    pub(crate) since: u64,
}

impl Request {
    fn pages(&self) -> u32 {
        self.transfers.iter().map(Incoming::count).sum()
    }

    /// Faulted pages of it.
    pub(crate) fn faults(&self) -> u64 {
        self.transfers.iter().map(Incoming::faults).sum()
    }
}

/// The host as a server.
#[derive(Default, Debug)]
pub(crate) struct Server {
    demanded: VecDeque<Request>,
    predicted: VecDeque<Request>,
    serving: Option<Request>,
}

impl Server {
    /// It has nothing to do.
    pub(crate) fn idle(&self) -> bool {
        self.serving.is_none() && self.demanded.is_empty() && self.predicted.is_empty()
    }

    /// Adds pages to the first waiting transfer that brings no faulted page and has at most `most` with them; false if there
    /// is none. What somebody waits for takes no others along, if that goes first.
    fn ride(&mut self, pages: &Range<u32>, most: u32, demand_first: bool) -> bool {
        let demanded = self.demanded.iter_mut().filter(|_| !demand_first);
        let mut waiting = demanded.chain(&mut self.predicted).flat_map(|request| &mut request.transfers);
        waiting.any(|transfer| transfer.join(pages, most))
    }

    /// Takes pages out of a request that was predicted and is not served yet; false if none has them.
    fn withdraw(&mut self, pages: &Range<u32>) -> Vec<u32> {
        let mut taken = Vec::new();
        for request in &mut self.predicted {
            for transfer in &mut request.transfers {
                taken.extend(transfer.withdraw(pages));
            }
            request.transfers.retain(|transfer| transfer.count() > 0);
        }
        self.predicted.retain(|request| !request.transfers.is_empty());
        taken
    }
}

impl Uvm {
    /// Asks the host for transfers.
    pub(crate) fn ask_host(&mut self, request: Request, now: Picos, out: &mut Actions) {
        self.channels.queued +=
            request.transfers.iter().map(|transfer| self.space.shares(transfer.pages())).sum::<u64>();
        let urgent = request.demanded || !self.config.demand_first;
        if self.config.charge == Charge::Beside || self.config.service == Served::ByLink {
            let cycles = self.service_cycles(request.pages());
            if cycles > 0 {
                self.channels.push(Incoming::Service { cycles }, urgent);
            }
            for transfer in request.transfers {
                self.channels.push(transfer, urgent);
            }
            return;
        }
        let queue = if urgent { &mut self.server.demanded } else { &mut self.server.predicted };
        queue.push_back(request);
        self.serve_next(now, out);
    }

    /// Core cycles of the host's work on a request for so many pages.
    fn service_cycles(&self, pages: u32) -> u64 {
        match self.config.charge {
            Charge::Beside => 0,
            Charge::Flat => self.cycles_of(self.config.fault_latency_us),
            Charge::Measured => self.cycles_of(MEASURED_REQUEST_US + MEASURED_PAGE_US * f64::from(pages)),
        }
    }

    /// The pages of a root that nobody has faulted for, as runs: one request.
    pub(crate) fn ask_for_root(&mut self, runs: Vec<Range<u32>>, now: Picos, out: &mut Actions) {
        let since = self.cycle(now);
        self.counts.predicted_queued += runs.iter().map(|run| u64::from(run.end - run.start)).sum::<u64>();
        let transfers = runs.into_iter().map(|run| pages_of(vec![run], 0, since)).collect();
        self.ask_host(Request { transfers, demanded: false, since }, now, out);
    }

    /// Pages that nobody has faulted for: they join a transfer that waits, or are asked for on their own.
    pub(crate) fn ask_for_predicted(&mut self, run: Range<u32>, now: Picos, out: &mut Actions) {
        let count = run.end - run.start;
        let most = (self.config.prediction_request.0 / self.space.geometry.page_bytes) as u32;
        self.counts.predicted_queued += u64::from(count);
        let first = self.config.demand_first;
        let shares = self.space.shares(run.clone());
        if !self.server.ride(&run, most, first) && !self.channels.ride(&run, most, first) {
            let since = self.cycle(now);
            let transfers = vec![pages_of(vec![run], 0, since)];
            self.ask_host(Request { transfers, demanded: false, since }, now, out);
            return;
        }
        self.counts.predicted_rode += u64::from(count);
        self.channels.queued += shares;
        // The request that it joined was charged for without it, if the link is what serves.
        if self.config.charge == Charge::Measured && self.config.service == Served::ByLink {
            let cycles = self.cycles_of(MEASURED_PAGE_US * f64::from(count));
            self.channels.push(Incoming::Service { cycles }, true);
        }
    }

    fn serve_next(&mut self, now: Picos, out: &mut Actions) {
        if self.server.serving.is_some() {
            return;
        }
        let Some(next) = self.server.demanded.pop_front().or_else(|| self.server.predicted.pop_front()) else { return };
        let cycle = self.cycle(now);
        let cycles = self.service_cycles(next.pages());
        self.counts.stall_queue += next.faults() * (cycle - next.since);
        self.counts.stall_service += next.faults() * cycles;
        self.counts.served += 1;
        self.counts.served_cycles += cycles;
        self.server.serving = Some(next);
        self.wake_at(cycle + cycles, Wake::Served, out);
    }

    /// The host is done with a request: the copy engine has it from now on.
    pub(crate) fn service_ends(&mut self, now: Picos, out: &mut Actions) {
        let cycle = self.cycle(now);
        for mut transfer in self.server.serving.take().into_iter().flat_map(|request| request.transfers) {
            transfer.waits_since(cycle);
            self.channels.push(transfer, true);
        }
        self.serve_next(now, out);
        self.begin_read(now, out);
    }

    /// Somebody waits for a page that is on its way without having been faulted for: if it is still to be submitted, its 64 KB
    /// block goes to those that are waited for; if roots are predicted, its root, as if nobody had predicted it.
    pub(crate) fn promote(&mut self, page: Page, now: Picos, out: &mut Actions) {
        let flags = self.space.flags_mut(page);
        if !self.config.demand_first || flags.has(Flags::URGENT) {
            return;
        }
        flags.set(Flags::URGENT);
        let by_root = self.prefetcher.unit() == Unit::Root;
        let geometry = &self.space.geometry;
        let (block, tree) = (geometry.block(page), geometry.tree(page));
        let unit = if by_root { self.space.pages_of(tree) } else { geometry.pages(block) };
        let mut pages = self.server.withdraw(&unit);
        pages.extend(self.channels.withdraw(&unit));
        if pages.is_empty() {
            return;
        }
        pages.sort_unstable();
        self.channels.queued -= self.space.shares(pages.iter().copied());
        self.counts.promoted += pages.len() as u64;
        for &page in &pages {
            self.space.flags_mut(Page(page)).set(Flags::URGENT);
        }
        let since = self.cycle(now);
        let transfers = if by_root {
            // What is waited for comes first, as with a fault.
            let (first, rest): (Vec<u32>, Vec<u32>) = pages.into_iter().partition(|&other| other <= page.0);
            runs(&first).into_iter().chain(runs(&rest)).map(|run| pages_of(vec![run], 0, since)).collect()
        } else {
            vec![pages_of(runs(&pages), 0, since)]
        };
        self.ask_host(Request { transfers, demanded: true, since }, now, out);
        self.begin_read(now, out);
    }

    /// Core cycles of microseconds.
    pub(crate) fn cycles_of(&self, us: f64) -> u64 {
        (us * self.clock.khz() as f64 / 1e3) as u64
    }
}
