//! Thrashing as the driver sees it (`uvm_perf_thrashing.c`): pages that host and device take from each other. What memory
//! that is too small does to itself is not thrashing in this sense.

use crate::geometry::{Page, Tree};
use crate::space::Space;
use std::collections::BTreeMap;
use strata_sim::time::Picos;

/// Events that make a page thrash: `uvm_perf_thrashing_threshold`.
const THRESHOLD: u32 = 3;
/// Throttlings before a page is pinned: `uvm_perf_thrashing_pin_threshold`.
const PIN_THRESHOLD: u32 = 10;
/// Events no further apart than this belong together: `uvm_perf_thrashing_lapse_usec`, 500 us.
const LAPSE: Picos = Picos(500_000_000);
/// Lapses of a throttling, `uvm_perf_thrashing_nap`; of a pin, `_pin`; after which all is forgotten, `_epoch`.
const NAP: u64 = 1;
const PIN: u64 = 300;
const EPOCH: u64 = 2000;
/// Times that a block's state may be forgotten: `uvm_perf_thrashing_max_resets`.
const MAX_RESETS: u32 = 4;

/// What becomes of a fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Verdict {
    /// The page comes.
    Migrate,
    /// It comes later.
    Throttle(Picos),
    /// It stays at the host for a while.
    Pin {
        /// It did not before.
        first: bool,
    },
}

#[derive(Clone, Copy, Debug)]
struct PageRecord {
    last: Picos,
    events: u32,
    throttles: u32,
    /// The device was throttled last: the host is next, and the device is exempt.
    throttled: bool,
    pinned_until: Picos,
}

#[derive(Clone, Copy, Debug)]
struct BlockRecord {
    last: Picos,
    to_device: bool,
    resets: u32,
}

/// Who thrashes.
#[derive(Default, Debug)]
pub(crate) struct Thrashing {
    pages: BTreeMap<Page, PageRecord>,
    blocks: BTreeMap<Tree, BlockRecord>,
}

impl Thrashing {
    /// A page changes sides.
    pub(crate) fn moved(&mut self, page: Page, tree: Tree, to_device: bool, now: Picos) {
        let fresh = BlockRecord { last: now, to_device, resets: 0 };
        let Some(block) = self.blocks.get_mut(&tree) else {
            self.blocks.insert(tree, fresh);
            return;
        };
        if now - block.last > Picos(EPOCH * LAPSE.0) && block.resets < MAX_RESETS {
            *block = BlockRecord { resets: block.resets + 1, ..fresh };
            self.pages.retain(|_, record| record.pinned_until > now);
            return;
        }
        let contested = block.to_device != to_device && now - block.last <= LAPSE;
        (block.last, block.to_device) = (now, to_device);
        let none = PageRecord { last: now, events: 0, throttles: 0, throttled: false, pinned_until: Picos(0) };
        let record = match self.pages.get_mut(&page) {
            Some(record) => record,
            None if contested => self.pages.entry(page).or_insert(none),
            None => return,
        };
        if now - record.last <= LAPSE {
            record.events += 1;
        } else if record.pinned_until <= now {
            *record = none;
        }
        record.last = now;
    }

    /// The device faults on a page.
    pub(super) fn fault(&mut self, page: Page, now: Picos) -> Verdict {
        let Some(record) = self.pages.get_mut(&page) else { return Verdict::Migrate };
        if record.pinned_until > now {
            return Verdict::Pin { first: false };
        }
        if record.events < THRESHOLD || now - record.last > LAPSE {
            return Verdict::Migrate;
        }
        if record.throttles >= PIN_THRESHOLD {
            *record = PageRecord { pinned_until: now + Picos(PIN * LAPSE.0), events: 0, throttles: 0, ..*record };
            return Verdict::Pin { first: true };
        }
        record.throttled = !record.throttled;
        if !record.throttled {
            return Verdict::Migrate;
        }
        record.throttles += 1;
        Verdict::Throttle(now + Picos(NAP * LAPSE.0))
    }

    /// Pages of a tree that thrash: they are not prefetched.
    pub(crate) fn of_tree(&self, space: &Space, tree: Tree) -> Vec<Page> {
        let pages = space.pages_of(tree);
        let range = self.pages.range(Page(pages.start)..Page(pages.end));
        range.filter(|(_, record)| record.events >= THRESHOLD).map(|(page, _)| *page).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: u64 = 1_000_000;

    /// Moves back and forth, `gap` microseconds apart: verdicts on the device's faults.
    fn ping_pong(times: u64, gap: u64) -> Vec<Verdict> {
        let mut thrashing = Thrashing::default();
        let (page, tree) = (Page(7), Tree(0));
        let mut verdicts = Vec::new();
        for k in 0..times {
            let now = Picos(2 * k * gap * US);
            verdicts.push(thrashing.fault(page, now));
            thrashing.moved(page, tree, true, now);
            thrashing.moved(page, tree, false, now + Picos(gap * US));
        }
        verdicts
    }

    #[test]
    fn three_events_within_500_us_make_a_page_thrash() {
        let quick = ping_pong(4, 100);
        assert_eq!(quick[..2], [Verdict::Migrate; 2]);
        assert!(matches!(quick[2], Verdict::Throttle(until) if until == Picos((400 + 500) * US)), "{quick:?}");
        assert_eq!(quick[3], Verdict::Migrate, "one side is exempt in turn");
        assert_eq!(ping_pong(10, 501), [Verdict::Migrate; 10]);
    }

    #[test]
    fn ten_throttlings_pin_a_page_for_150_ms() {
        let verdicts = ping_pong(30, 100);
        let throttled = verdicts.iter().filter(|v| matches!(v, Verdict::Throttle(_))).count();
        assert_eq!(throttled, 10);
        let pinned = verdicts.iter().position(|v| *v == Verdict::Pin { first: true }).expect("pinned");
        assert!(verdicts[pinned + 1..].iter().all(|v| *v == Verdict::Pin { first: false }));
    }
}
