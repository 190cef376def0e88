//! What a run before touched, in its order: as near as a prefetcher of this machine can come to knowing what follows.
//!
//! The blocks that each launch touches are known in the order of their first touch. From the furthest that was touched, the
//! next ones are named, so many ahead; of later launches only blocks that no launch has touched before, since others may be
//! written back and leave between launches.

use crate::Predictor;
use rustc_hash::{FxHashMap, FxHashSet};
use std::path::Path;
use strata_core::Addr;
use strata_learn::LearnError;
use strata_learn::access::{Access, Unit};
use strata_learn::trace_file;

/// A block that a launch touches.
#[derive(Clone, Copy, Debug)]
struct Touch {
    kernel: u32,
    block: u64,
    /// No launch has touched it before.
    is_new: bool,
}

pub(crate) struct Recorded {
    touches: Vec<Touch>,
    /// Where each is.
    places: FxHashMap<(u32, u64), usize>,
    /// Blocks ahead.
    lead: usize,
    /// Behind the furthest that was touched; behind the last that was named.
    touched: usize,
    named: usize,
    kernel: u32,
}

impl Recorded {
    /// Of a trace.
    pub(crate) fn load(path: &Path, lead: usize) -> Result<Self, LearnError> {
        Ok(Self::of(&trace_file::read(path)?, lead))
    }

    fn of(requests: &[Access], lead: usize) -> Self {
        let (mut touches, mut places, mut before) = (Vec::new(), FxHashMap::default(), FxHashSet::default());
        for request in requests {
            let (kernel, block) = (request.kernel, request.page / Unit::Block.bytes());
            if let std::collections::hash_map::Entry::Vacant(place) = places.entry((kernel, block)) {
                place.insert(touches.len());
                touches.push(Touch { kernel, block, is_new: before.insert(block) });
            }
        }
        Self { touches, places, lead, touched: 0, named: 0, kernel: 0 }
    }
}

impl Predictor for Recorded {
    fn unit(&self) -> Unit {
        Unit::Block
    }

    fn observe(&mut self, request: &Access) -> bool {
        let block = request.page / Unit::Block.bytes();
        let Some(&place) = self.places.get(&(request.kernel, block)) else { return false };
        self.touched = self.touched.max(place + 1);
        if request.kernel != self.kernel {
            // What was named of this launch when it had not begun may have left.
            self.kernel = request.kernel;
            self.named = place;
        }
        self.named < self.touches.len().min(self.touched + self.lead)
    }

    fn predict(&mut self, addresses: &mut Vec<Addr>) {
        let upto = self.touches.len().min(self.touched + self.lead);
        let ahead = &self.touches[self.named.min(upto)..upto];
        let wanted = ahead.iter().filter(|touch| touch.is_new || touch.kernel <= self.kernel);
        addresses.extend(wanted.map(|touch| Addr(touch.block * Unit::Block.bytes())));
        self.named = upto;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_touched_is_named_in_its_order_and_so_far_ahead() {
        let request = |kernel, block: u64| Access { kernel, page: block << 16, ..Access::default() };
        let trace = [(0, 5), (0, 5), (0, 2), (0, 7), (1, 5), (1, 9)].map(|(kernel, block)| request(kernel, block));
        let mut recorded = Recorded::of(&trace, 2);
        let mut names = |kernel, block: u64| {
            let mut addresses = Vec::new();
            if recorded.observe(&request(kernel, block)) {
                recorded.predict(&mut addresses);
            }
            addresses.iter().map(|address| address.0 >> 16).collect::<Vec<_>>()
        };
        assert_eq!(names(0, 5), [5, 2, 7]);
        assert!(names(0, 5).is_empty());
        assert!(names(0, 2).is_empty(), "block 5 may leave before the next launch");
        assert_eq!(names(0, 7), [9], "nobody has touched it before");
        assert_eq!(names(1, 5), [5, 9]);
    }
}
