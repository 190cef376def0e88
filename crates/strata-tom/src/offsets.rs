//! Offsets between the accesses of a candidate (TOM, section 3.2.1, Figure 5).
//!
//! Accesses have a fixed offset if they are always as far from each other: those of two instructions in an instance, which
//! access two arrays with one index, or of an instruction and its own last execution, in a loop over an array. An instruction
//! that has nothing to be compared with, because an instance executes it alone and once, counts as fixed. The address is that of
//! the first lane.

use std::collections::BTreeMap;
use strata_core::Addr;

/// How far an access is from the latest one of another instruction, or from its own last.
#[derive(Clone, Copy, Debug)]
struct Relation {
    to: u32,
    /// In this launch.
    offset: Option<i64>,
}

/// One static access.
#[derive(Clone, Default, Debug)]
struct Site {
    executed: u64,
    /// It was compared with another access, or another with it.
    compared: bool,
    /// Those to itself and to instructions that were seen before it, as long as they do not vary.
    relations: Vec<Relation>,
}

/// The accesses of one candidate.
#[derive(Clone, Default, Debug)]
pub struct Offsets(BTreeMap<u32, Site>);

/// The latest access of each instruction in a running instance.
#[derive(Clone, Default, Debug)]
pub struct Latest(Vec<(u32, Addr)>);

impl Latest {
    fn of(&self, pc: u32) -> Option<Addr> {
        self.0.iter().find(|(of, _)| *of == pc).map(|(_, address)| *address)
    }

    fn set(&mut self, pc: u32, address: Addr) {
        match self.0.iter_mut().find(|(of, _)| *of == pc) {
            Some(known) => known.1 = address,
            None => self.0.push((pc, address)),
        }
    }
}

impl Offsets {
    /// The instruction at `pc` accesses an address in an instance.
    pub fn access(&mut self, latest: &mut Latest, pc: u32, address: Addr) {
        if !self.0.contains_key(&pc) {
            let all = self.0.keys().copied().chain([pc]);
            let relations = all.map(|to| Relation { to, offset: None }).collect();
            self.0.insert(pc, Site { relations, ..Site::default() });
        }
        let mut compared = Vec::new();
        if let Some(site) = self.0.get_mut(&pc) {
            site.executed += 1;
            site.relations.retain_mut(|relation| {
                let Some(other) = latest.of(relation.to) else { return true };
                compared.push(relation.to);
                let offset = address.0.wrapping_sub(other.0) as i64;
                *relation.offset.get_or_insert(offset) == offset
            });
            site.compared |= !compared.is_empty();
        }
        for other in compared {
            if let Some(site) = self.0.get_mut(&other) {
                site.compared = true;
            }
        }
        latest.set(pc, address);
    }

    /// Another launch begins: its arrays and strides may be others.
    pub fn launch_begins(&mut self) {
        for relation in self.0.values_mut().flat_map(|site| &mut site.relations) {
            relation.offset = None;
        }
    }

    /// Share of the accesses whose offset is fixed; `None` if there was none.
    pub fn fixed_share(&self) -> Option<f64> {
        let all: u64 = self.0.values().map(|site| site.executed).sum();
        let is_fixed = |pc: u32, site: &Site| {
            let agrees = |of: u32, relation: &Relation| relation.offset.is_some() && (of == pc || relation.to == pc);
            !site.compared || self.0.iter().any(|(&of, other)| other.relations.iter().any(|r| agrees(of, r)))
        };
        let fixed: u64 = self.0.iter().filter(|(pc, site)| is_fixed(**pc, site)).map(|(_, site)| site.executed).sum();
        (all > 0).then(|| fixed as f64 / all as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Instances of accesses `(pc, address)`.
    #[track_caller]
    fn check(instances: &[&[(u32, u64)]], expected: Option<f64>) {
        let mut offsets = Offsets::default();
        for accesses in instances {
            let mut latest = Latest::default();
            accesses.iter().for_each(|&(pc, address)| offsets.access(&mut latest, pc, Addr(address)));
        }
        assert_eq!(offsets.fixed_share(), expected);
    }

    #[test]
    fn arrays_with_one_index_have_a_fixed_offset() {
        let at = |i: u64| [(3, 0x1000 + 4 * i), (5, 0x9000 + 4 * i)];
        let (irregular, other) = ([at(0), at(1), at(9)].concat(), [at(7), at(8)].concat());
        check(&[&irregular, &other], Some(1.0));
        check(&[], None);
    }

    #[test]
    fn a_walk_has_a_fixed_offset_whatever_else_is_accessed() {
        let at = |i: u64, j: u64| [(3, 0x1000 + 128 * i), (5, 0x9000 + j)];
        let (first, other) = ([at(0, 8), at(1, 900), at(2, 4)].concat(), [at(40, 0), at(41, 64)].concat());
        check(&[&first, &other], Some(0.5));
    }

    #[test]
    fn arrays_beside_one_that_all_share_have_a_fixed_offset() {
        let at = |i: u64| [(3, 0x500), (5, 0x1000 + 4 * i), (7, 0x9000 + 4 * i)];
        check(&[&at(0), &at(3)], Some(2.0 / 3.0));
    }

    #[test]
    fn an_access_through_an_index_that_was_loaded_has_none() {
        let at = |i: u64, j: u64| [(3, 0x1000 + 4 * i), (5, 0x9000 + 4 * j)];
        check(&[&at(0, 3), &at(1, 1)], Some(0.0));
    }

    #[test]
    fn a_list_that_is_followed_has_none_and_an_access_alone_is_fixed() {
        check(&[&[(3, 0), (3, 64), (3, 8)]], Some(0.0));
        check(&[&[(3, 0)], &[(3, 640)]], Some(1.0));
    }

    #[test]
    fn launches_have_strides_of_their_own() {
        let mut offsets = Offsets::default();
        for stride in [64, 256] {
            offsets.launch_begins();
            let mut latest = Latest::default();
            (0..3).for_each(|k| offsets.access(&mut latest, 3, Addr(k * stride)));
        }
        assert_eq!(offsets.fixed_share(), Some(1.0));
    }
}
