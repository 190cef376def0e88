//! Offsets between the accesses of a candidate (TOM, section 3.2.1, Figure 5).
//!
//! An access has a fixed offset if it is always as far from the first access of its iteration; the first access itself, if it is
//! always as far from the one an iteration before, or if there is never more than one. The address is that of the first lane.

use std::collections::BTreeMap;
use strata_core::Addr;

/// One static access.
#[derive(Clone, Copy, Default, Debug)]
struct Site {
    offset: Option<i64>,
    varies: bool,
    executed: u64,
}

impl Site {
    fn see(&mut self, offset: i64) {
        self.varies |= self.offset.is_some_and(|known| known != offset);
        self.offset.get_or_insert(offset);
    }
}

/// The accesses of one candidate.
#[derive(Clone, Default, Debug)]
pub struct Offsets {
    sites: BTreeMap<u32, Site>,
    /// The first access of the iteration.
    base: Option<(u32, Addr)>,
}

impl Offsets {
    /// The access at `pc`, in the segment with which an iteration begins or not.
    pub fn access(&mut self, pc: u32, address: Addr, begins: bool) {
        let site = self.sites.entry(pc).or_default();
        site.executed += 1;
        match self.base {
            None => self.base = Some((pc, address)),
            Some((first, before)) if first == pc && begins => {
                site.see(address.0 as i64 - before.0 as i64);
                self.base = Some((pc, address));
            }
            Some((_, base)) => site.see(address.0 as i64 - base.0 as i64),
        }
    }

    /// Another launch begins: its arrays and strides may be others.
    pub fn launch_begins(&mut self) {
        for site in self.sites.values_mut() {
            site.offset = None;
        }
    }

    /// The instance has ended.
    pub fn instance_ends(&mut self) {
        self.base = None;
    }

    /// Share of the accesses whose offset is fixed; `None` if there was none.
    pub fn fixed_share(&self) -> Option<f64> {
        let all: u64 = self.sites.values().map(|s| s.executed).sum();
        let fixed: u64 = self.sites.values().filter(|s| !s.varies).map(|s| s.executed).sum();
        (all > 0).then(|| fixed as f64 / all as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Instances of iterations of accesses `(pc, address)`.
    #[track_caller]
    fn check(instances: &[&[&[(u32, u64)]]], expected: Option<f64>) {
        let mut offsets = Offsets::default();
        for iterations in instances {
            for iteration in *iterations {
                iteration.iter().for_each(|&(pc, address)| offsets.access(pc, Addr(address), true));
            }
            offsets.instance_ends();
        }
        assert_eq!(offsets.fixed_share(), expected);
    }

    #[test]
    fn arrays_with_one_index_have_a_fixed_offset() {
        let at = |i: u64| [(3, 0x1000 + 4 * i), (5, 0x9000 + 4 * i)];
        check(&[&[&at(0), &at(1), &at(2)], &[&at(7), &at(8)]], Some(1.0));
        check(&[], None);
    }

    #[test]
    fn an_access_through_an_index_that_was_loaded_has_none() {
        let at = |i: u64, j: u64| [(3, 0x1000 + 4 * i), (5, 0x9000 + 4 * j)];
        check(&[&[&at(0, 3)], &[&at(1, 1)]], Some(0.5));
    }

    #[test]
    fn a_list_that_is_followed_has_none() {
        check(&[&[&[(3, 0)], &[(3, 64)], &[(3, 8)]]], Some(0.0));
    }
}
