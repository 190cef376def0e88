//! Blocks of memory with gaps: copies in one, two and three dimensions are copies of these.

use super::Region;

impl Region {
    /// `size` bytes without gaps.
    pub const fn line(start: u64, size: u64) -> Self {
        Self { start, width: size, pitch: size, rows: 1, slice_pitch: size, slices: 1 }
    }

    /// Bytes in it, gaps not counted; `None` if that is more than there can be.
    pub fn bytes(&self) -> Option<u64> {
        self.width.checked_mul(self.rows)?.checked_mul(self.slices)
    }

    /// Its pieces without gaps, in order, as first byte and size; rows that touch are one piece. `None` if it does not fit
    /// into the address space.
    pub fn pieces(&self) -> Option<impl Iterator<Item = (u64, u64)> + use<>> {
        let region = self.joined()?;
        let last = region.slice_pitch.checked_mul(region.slices.saturating_sub(1))?;
        let last = last.checked_add(region.pitch.checked_mul(region.rows.saturating_sub(1))?)?;
        region.start.checked_add(last)?.checked_add(region.width)?;
        let rows = move |slice: u64| {
            let first = region.start + slice * region.slice_pitch;
            (0..region.rows).map(move |row| (first + row * region.pitch, region.width))
        };
        Some((0..region.slices).flat_map(rows).filter(|&(_, size)| size > 0))
    }

    /// The same bytes with fewer rows and slices, where they touch.
    fn joined(self) -> Option<Self> {
        let mut region = self;
        if region.pitch == region.width || region.rows == 1 {
            region.width = region.width.checked_mul(region.rows)?;
            (region.rows, region.pitch) = (1, region.width);
        }
        if region.rows == 1 && (region.slice_pitch == region.width || region.slices == 1) {
            region.width = region.width.checked_mul(region.slices)?;
            (region.slices, region.slice_pitch) = (1, region.width);
        }
        Some(region)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_touch_are_one_piece() {
        let pieces = |region: Region| region.pieces().map(Iterator::collect::<Vec<_>>);
        assert_eq!(pieces(Region::line(10, 20)), Some(vec![(10, 20)]));
        let plane = Region { start: 0, width: 4, pitch: 4, rows: 3, slice_pitch: 12, slices: 2 };
        assert_eq!(pieces(plane), Some(vec![(0, 24)]));
        let gaps = Region { pitch: 8, slice_pitch: 100, ..plane };
        assert_eq!(pieces(gaps), Some(vec![(0, 4), (8, 4), (16, 4), (100, 4), (108, 4), (116, 4)]));
        assert_eq!(pieces(Region::line(0, 0)), Some(Vec::new()));
        assert_eq!(pieces(Region { pitch: u64::MAX, ..plane }), None);
    }
}
