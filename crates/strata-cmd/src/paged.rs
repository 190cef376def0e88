//! A value per line of a partition, dense where lines are used: programs use ranges of lines far apart.

use rustc_hash::FxHashMap;

/// Lines of a page.
const LINES: u64 = 64;

/// A value per line; those that nobody changed are the default.
#[derive(Debug)]
pub(crate) struct Paged<T> {
    index: FxHashMap<u64, u32>,
    pages: Vec<[T; LINES as usize]>,
}

impl<T> Default for Paged<T> {
    fn default() -> Self {
        Self { index: FxHashMap::default(), pages: Vec::new() }
    }
}

impl<T: Copy + Default> Paged<T> {
    /// The value of a line.
    #[inline]
    pub(crate) fn get(&self, line: u64) -> T {
        let page = self.index.get(&(line / LINES));
        page.map_or_else(T::default, |&page| self.pages[page as usize][(line % LINES) as usize])
    }

    /// The value of a line, to be changed.
    #[inline]
    pub(crate) fn get_mut(&mut self, line: u64) -> &mut T {
        let pages = &mut self.pages;
        let page = *self.index.entry(line / LINES).or_insert_with(|| {
            pages.push([T::default(); LINES as usize]);
            pages.len() as u32 - 1
        });
        &mut self.pages[page as usize][(line % LINES) as usize]
    }

    /// All lines of pages in use, with their values, in no particular order.
    #[cfg(test)]
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, T)> {
        let lines =
            move |page: u64, at: u32| (0..LINES).map(move |k| (page * LINES + k, self.pages[at as usize][k as usize]));
        self.index.iter().flat_map(move |(&page, &at)| lines(page, at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_kept_apart_and_default_to_nothing() {
        let mut values = Paged::<u8>::default();
        *values.get_mut(1 << 40) = 7;
        *values.get_mut(3) = 5;
        assert_eq!([values.get(1 << 40), values.get(3), values.get(4), values.get(99)], [7, 5, 0, 0]);
        assert_eq!(values.iter().filter(|(_, value)| *value > 0).count(), 2);
    }
}
