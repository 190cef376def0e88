//! Things that come and go, named by 32-bit handles.

/// A pool of `T`; freed places are used again, last freed first.
pub(crate) struct Slab<T> {
    items: Vec<T>,
    free: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self { items: Vec::new(), free: Vec::new() }
    }
}

impl<T> Slab<T> {
    /// Puts a thing in.
    #[inline]
    pub(crate) fn add(&mut self, item: T) -> u32 {
        if let Some(at) = self.free.pop() {
            self.items[at as usize] = item;
            return at;
        }
        self.items.push(item);
        self.items.len() as u32 - 1
    }

    /// Gives the place back; the handle must not be used again.
    #[inline]
    pub(crate) fn remove(&mut self, at: u32) {
        self.free.push(at);
    }

    /// What is at a place, if there is such a place.
    #[inline]
    pub(crate) fn get(&self, at: u32) -> Option<&T> {
        self.items.get(at as usize)
    }

    /// How many are in.
    pub(crate) fn len(&self) -> usize {
        self.items.len() - self.free.len()
    }
}

impl<T> std::ops::Index<u32> for Slab<T> {
    type Output = T;
    #[inline]
    fn index(&self, at: u32) -> &T {
        &self.items[at as usize]
    }
}

impl<T> std::ops::IndexMut<u32> for Slab<T> {
    #[inline]
    fn index_mut(&mut self, at: u32) -> &mut T {
        &mut self.items[at as usize]
    }
}
