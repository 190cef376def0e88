//! A list of dense numbers in the order of their last use: constant time for everything, no allocation on use.

const NONE: u32 = u32::MAX;

/// The list.
#[derive(Default, Debug)]
pub(crate) struct List {
    /// By number: the one before it and the one behind it; of one that is not in the list, itself and itself.
    links: Vec<(u32, u32)>,
    oldest: Option<u32>,
    newest: Option<u32>,
}

impl List {
    /// Makes room for numbers below `count`.
    pub(crate) fn grow(&mut self, count: usize) {
        for n in self.links.len()..count {
            self.links.push((n as u32, n as u32));
        }
    }

    pub(crate) fn contains(&self, n: u32) -> bool {
        self.links[n as usize] != (n, n)
    }

    /// Puts a number at the end of the list, wherever it was.
    #[inline]
    pub(crate) fn use_now(&mut self, n: u32) {
        if self.newest == Some(n) {
            return;
        }
        self.remove(n);
        let before = self.newest.unwrap_or(NONE);
        self.links[n as usize] = (before, NONE);
        match self.newest {
            Some(last) => self.links[last as usize].1 = n,
            None => self.oldest = Some(n),
        }
        self.newest = Some(n);
    }

    /// Takes a number out, if it is in.
    pub(crate) fn remove(&mut self, n: u32) {
        if !self.contains(n) {
            return;
        }
        let (before, behind) = self.links[n as usize];
        match before {
            NONE => self.oldest = (behind != NONE).then_some(behind),
            b => self.links[b as usize].1 = behind,
        }
        match behind {
            NONE => self.newest = (before != NONE).then_some(before),
            b => self.links[b as usize].0 = before,
        }
        self.links[n as usize] = (n, n);
    }

    /// Takes all out.
    pub(crate) fn clear(&mut self) {
        while let Some(n) = self.oldest {
            self.remove(n);
        }
    }

    /// All, least recent first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        let mut next = self.oldest;
        std::iter::from_fn(move || {
            let here = next?;
            let behind = self.links[here as usize].1;
            next = (behind != NONE).then_some(behind);
            Some(here)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against a plain vector.
        #[test]
        fn it_keeps_the_order_of_use(steps in proptest::collection::vec((0u32..8, any::<bool>()), 0..60)) {
            let mut list = List::default();
            list.grow(8);
            let mut plain: Vec<u32> = Vec::new();
            for (n, used) in steps {
                plain.retain(|m| *m != n);
                if used {
                    plain.push(n);
                    list.use_now(n);
                } else {
                    list.remove(n);
                }
                prop_assert_eq!(list.iter().collect::<Vec<_>>(), plain.clone());
                prop_assert_eq!(list.contains(n), used);
            }
            list.clear();
            prop_assert_eq!(list.iter().count(), 0);
        }
    }
}
