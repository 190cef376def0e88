//! A value per line (or page, or block) of a large space of which a program uses some part: dense where it is used, and found
//! without hashing.

/// Values that lie together.
const PAGE: u64 = 1 << 10;
/// Pages of a region. A program's memory lies in one or two regions; each costs eight bytes per page up to the last that is
/// used.
const REGION: u64 = 1 << 18;

/// A value for every index; those that nobody changed are what it was made with.
///
/// ```
/// use strata_core::Paged;
///
/// let mut values = Paged::filled_with(7u8);
/// *values.get_mut(1 << 40) = 5;
/// assert_eq!((*values.get(1 << 40), *values.get(3)), (5, 7));
/// ```
#[derive(Clone, Debug)]
pub struct Paged<T> {
    blank: T,
    regions: Vec<Region<T>>,
}

#[derive(Clone, Debug)]
struct Region<T> {
    number: u64,
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
        Self { blank, regions: Vec::new() }
    }

    /// The value of an index.
    #[inline]
    pub fn get(&self, index: u64) -> &T {
        let page = index / PAGE;
        let region = self.regions.iter().find(|region| region.number == page / REGION);
        match region.and_then(|region| region.pages.get((page % REGION) as usize)) {
            Some(Some(page)) => &page[(index % PAGE) as usize],
            _ => &self.blank,
        }
    }

    /// The value of an index, to be changed.
    #[inline]
    pub fn get_mut(&mut self, index: u64) -> &mut T {
        let page = index / PAGE;
        let number = page / REGION;
        let at = self.regions.iter().position(|region| region.number == number).unwrap_or_else(|| {
            self.regions.push(Region { number, pages: Vec::new() });
            self.regions.len() - 1
        });
        let (pages, page) = (&mut self.regions[at].pages, (page % REGION) as usize);
        if page >= pages.len() {
            pages.resize_with(page + 1, || None);
        }
        let values = pages[page].get_or_insert_with(|| vec![self.blank.clone(); PAGE as usize].into());
        &mut values[(index % PAGE) as usize]
    }

    /// The values of all pages in which one was changed; regions in the order of their first use, indices rise in each.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &T)> {
        let pages = self.regions.iter().flat_map(|region| {
            let numbered = region.pages.iter().zip(region.number * REGION..);
            numbered.filter_map(|(page, number)| Some((page.as_ref()?, number * PAGE)))
        });
        pages.flat_map(|(page, first)| page.iter().zip(first..).map(|(value, index)| (index, value)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_are_kept_apart() {
        let mut values = Paged::<u32>::default();
        let used = [7 * PAGE, 8 * PAGE - 1, 8 * PAGE, 40 * PAGE + 3, 3 * REGION * PAGE + 1, 2 * PAGE];
        for (k, index) in used.into_iter().enumerate() {
            *values.get_mut(index) = k as u32 + 1;
        }
        let changed: Vec<_> = values.iter().filter(|(_, value)| **value > 0).map(|(index, _)| index).collect();
        assert_eq!(changed, [used[5], used[0], used[1], used[2], used[3], used[4]]);
        assert_eq!(used.map(|index| *values.get(index)), [1, 2, 3, 4, 5, 6]);
        assert_eq!([0, PAGE, 39 * PAGE, 3 * REGION * PAGE, u64::MAX].map(|index| *values.get(index)), [0; 5]);
    }
}
