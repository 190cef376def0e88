//! A value per line (or page, or block) of a large space of which a program uses some part: dense where it is used, eight
//! bytes per thousand indices between the first and the last that are, and found without hashing.

/// Values that lie together.
const PAGE: u64 = 1024;

/// A value for every index; those that nobody changed are what it was made with.
///
/// ```
/// use strata_core::Paged;
///
/// let mut values = Paged::filled_with(7u8);
/// *values.get_mut(1 << 30) = 5;
/// assert_eq!((*values.get(1 << 30), *values.get(3)), (5, 7));
/// ```
#[derive(Clone, Debug)]
pub struct Paged<T> {
    blank: T,
    /// Number of the first of `pages`: device memory begins far from zero.
    first: u64,
    pages: Vec<Option<Box<[T]>>>,
}

impl<T: Clone + Default> Default for Paged<T> {
    fn default() -> Self {
        Self::filled_with(T::default())
    }
}

impl<T: Clone> Paged<T> {
    /// Every index has this value.
    pub const fn filled_with(blank: T) -> Self {
        Self { blank, first: 0, pages: Vec::new() }
    }

    /// The value of an index.
    #[inline]
    pub fn get(&self, index: u64) -> &T {
        match self.pages.get((index / PAGE).wrapping_sub(self.first) as usize) {
            Some(Some(page)) => &page[(index % PAGE) as usize],
            _ => &self.blank,
        }
    }

    /// The value of an index, to be changed.
    #[inline]
    pub fn get_mut(&mut self, index: u64) -> &mut T {
        let number = index / PAGE;
        if number.wrapping_sub(self.first) >= self.pages.len() as u64 {
            self.reach(number);
        }
        let page = self.pages[(number - self.first) as usize]
            .get_or_insert_with(|| vec![self.blank.clone(); PAGE as usize].into());
        &mut page[(index % PAGE) as usize]
    }

    /// Makes room for a page.
    #[cold]
    fn reach(&mut self, number: u64) {
        if self.pages.is_empty() {
            self.first = number;
        }
        if let Some(missing) = self.first.checked_sub(number) {
            self.pages.splice(0..0, std::iter::repeat_with(|| None).take(missing as usize));
            self.first = number;
        }
        let length = self.pages.len().max((number - self.first) as usize + 1);
        self.pages.resize_with(length, || None);
    }

    /// The values of all pages in which one was changed, by index.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &T)> {
        let pages = self
            .pages
            .iter()
            .enumerate()
            .filter_map(|(k, page)| Some(((self.first + k as u64) * PAGE, page.as_ref()?)));
        pages.flat_map(|(first, page)| page.iter().enumerate().map(move |(k, value)| (first + k as u64, value)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_are_kept_apart() {
        let mut values = Paged::<u32>::default();
        let used = [7 * PAGE, 8 * PAGE - 1, 8 * PAGE, 40 * PAGE + 3, 2 * PAGE + 1];
        for (k, index) in used.into_iter().enumerate() {
            *values.get_mut(index) = k as u32 + 1;
        }
        let changed: Vec<_> = values.iter().filter(|(_, value)| **value > 0).map(|(index, _)| index).collect();
        assert_eq!(changed, [used[4], used[0], used[1], used[2], used[3]]);
        assert_eq!(used.map(|index| *values.get(index)), [1, 2, 3, 4, 5]);
        assert_eq!([0, PAGE, 39 * PAGE, u64::MAX].map(|index| *values.get(index)), [0; 4]);
    }
}
