//! When each 2 MB root will be used again, as far as its past tells.
//!
//! A *use* of a root is the first access that a launch makes to it, whether a TLB translates it or not; or the first after it had to
//! leave. Time is counted in uses, so that a program with twice the memory is foreseen as well as another. A root that was
//! used again after so many uses is expected after as many more; one that was used once, after as many as a root of its array
//! was last; and where nothing of an array was ever used again, nothing is known, and the least recent root goes first.
//!
//! Programs sweep over their arrays, launch after launch. What was used last is then needed last, and what was not used for
//! the longest time is needed next: the least recent root is the worst to give up. But a sweep is not done with a root as soon as it
//! used it, and while everybody waits for a page, nobody accesses the others. So what is *in use* stays: the root of each array
//! that this launch used last, and what was accessed a moment ago.

use crate::geometry::Tree;
use strata_sim::time::Picos;

/// Uses until something that is never used again, or of which nothing is known.
pub(crate) const NEVER: u64 = u64::MAX;

/// What was accessed this recently is in use still: as long as the host works on the smallest request for it.
const IN_USE: Picos = Picos(12_100_000);

/// What is known of a root.
#[derive(Clone, Copy, Default, Debug)]
struct Root {
    /// The launch that used it last; 0 if the next access is a use.
    launch: u32,
    /// Its last use, counted from 1; 0 if there was none.
    last: u64,
    /// Uses from the one before that to the last; 0 if there was none before.
    interval: u64,
    /// A predictor named it, and expects its use by then, so many uses after that or after it came; 0 if it was used since.
    expected: u64,
    ahead: u64,
    /// When it was accessed last, or came.
    accessed: Picos,
}

/// What is known of an array.
#[derive(Clone, Copy, Default, Debug)]
struct Array {
    /// The root of it that was used last, and the launch that did.
    last: Option<Tree>,
    launch: u32,
    /// Uses between the last two of the root of it that was used again last; 0 if none was.
    interval: u64,
}

/// All roots and arrays.
#[derive(Default, Debug)]
pub(crate) struct Uses {
    now: u64,
    /// The launch that used a root last; the arrays that it uses so far, and those of the launch before.
    launch: u32,
    used: [u64; 2],
    roots: Vec<Root>,
    arrays: Vec<Array>,
}

impl Uses {
    /// Makes room for so many roots and arrays.
    pub(crate) fn grow(&mut self, roots: usize, arrays: usize) {
        self.roots.resize(roots.max(self.roots.len()), Root::default());
        self.arrays.resize(arrays.max(self.arrays.len()), Array::default());
    }

    /// A launch accesses a root of an array; true if that is a use.
    #[inline]
    pub(crate) fn accessed(&mut self, root: Tree, array: u32, launch: u32, at: Picos) -> bool {
        let known = &mut self.roots[root.0 as usize];
        known.accessed = at;
        if known.launch == launch {
            return false;
        }
        self.now += 1;
        known.launch = launch;
        if self.launch != launch {
            self.launch = launch;
            self.used = [0, self.used[0]];
        }
        let array = &mut self.arrays[array as usize];
        self.used[0] += u64::from(array.launch != launch);
        (array.last, array.launch) = (Some(root), launch);
        if known.last > 0 {
            known.interval = self.now - known.last;
            array.interval = known.interval;
        }
        known.last = self.now;
        (known.expected, known.ahead) = (0, 0);
        true
    }

    /// Pages of a root have come.
    pub(crate) fn arrived(&mut self, root: Tree, at: Picos) {
        let known = &mut self.roots[root.0 as usize];
        known.accessed = at;
        if known.ahead > 0 {
            known.expected = self.now + known.ahead;
        }
    }

    /// Arrays that a launch uses by turns.
    fn at_once(&self) -> u64 {
        self.used[0].max(self.used[1]).max(1)
    }

    /// Uses until that of the root of an array that a predictor named as the `rank`th.
    pub(crate) fn ahead(&self, rank: u64) -> u64 {
        rank * self.at_once()
    }

    /// A predictor named a root as the `rank`th of its array.
    pub(crate) fn expect(&mut self, root: Tree, rank: u64) {
        let ahead = self.ahead(rank);
        let known = &mut self.roots[root.0 as usize];
        (known.expected, known.ahead) = (self.now + ahead, ahead);
    }

    /// A root leaves: the next access to it is a use, even of the same launch.
    pub(crate) fn leaves(&mut self, root: Tree) {
        self.roots[root.0 as usize].launch = 0;
    }

    /// Uses from now until the next of a root of an array. What is late by half of its interval has changed its ways: it is expected after as
    /// long as it has not been used.
    pub(crate) fn distance(&self, root: Tree, array: u32) -> u64 {
        let known = &self.roots[root.0 as usize];
        if known.expected > self.now {
            return known.expected - self.now;
        }
        let interval = if known.interval > 0 { known.interval } else { self.arrays[array as usize].interval };
        if interval == 0 || known.last == 0 {
            return NEVER;
        }
        let age = self.now - known.last;
        if age <= interval + interval / 2 { interval.saturating_sub(age).max(1) } else { age }
    }

    /// Somebody is likely to access a root of an array again before the launch goes on elsewhere.
    pub(crate) fn in_use(&self, root: Tree, array: u32, now: Picos) -> bool {
        let (known, array) = (&self.roots[root.0 as usize], &self.arrays[array as usize]);
        let is_last = array.launch == self.launch && array.last == Some(root);
        is_last || known.accessed.0 > 0 && now - known.accessed < IN_USE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Launches that use roots of one array in this order; the distance of each of so many roots then.
    fn distances(launches: &[&[u32]], roots: u32) -> Vec<u64> {
        let mut uses = Uses::default();
        uses.grow(roots as usize, 1);
        for (launch, order) in launches.iter().enumerate() {
            for &root in *order {
                uses.accessed(Tree(root), 0, launch as u32 + 1, Picos(1));
                assert!(!uses.accessed(Tree(root), 0, launch as u32 + 1, Picos(1)), "only the first of a launch");
            }
        }
        (0..roots).map(|root| uses.distance(Tree(root), 0)).collect()
    }

    #[test]
    fn in_a_sweep_what_was_used_last_is_needed_last() {
        assert_eq!(distances(&[&[0, 1, 2, 3]], 4), [NEVER; 4], "nothing was used again");
        // Root 0 tells after how many uses the others come.
        assert_eq!(distances(&[&[0, 1, 2, 3], &[0]], 4), [4, 1, 2, 3]);
        assert_eq!(distances(&[&[0, 1, 2, 3], &[0, 1]], 4), [3, 4, 1, 2]);
    }

    #[test]
    fn what_is_late_is_expected_after_as_long_as_it_has_waited() {
        // Root 0 comes every other use, and then no more.
        let order: [&[u32]; 8] = [&[0], &[1], &[0], &[1], &[1], &[1], &[1], &[1]];
        assert_eq!(distances(&order, 2)[0], 5);
    }

    #[test]
    fn what_is_in_use_stays() {
        // Roots 0 to 3 are of one array, 4 and 5 of another; one is accessed every 10 us.
        let in_use = |order: &[u32]| {
            let (mut uses, mut now) = (Uses::default(), Picos(0));
            uses.grow(6, 2);
            for &root in order {
                now += Picos(10_000_000);
                uses.accessed(Tree(root), root / 4, 1, now);
            }
            (0..6).filter(|&root| uses.in_use(Tree(root), root / 4, now)).collect::<Vec<_>>()
        };
        assert_eq!(in_use(&[0, 1, 2]), [1, 2]);
        assert_eq!(in_use(&[0, 4, 1, 2, 3]), [2, 3, 4], "the last of each array, however long ago");
        assert_eq!(in_use(&[0, 1, 2, 0]), [0, 2], "what is accessed again");
    }
}
