//! Pictures of memory: where compressible data are (Buddy Compression, Figure 8), which pages are accessed most.
//!
//! A pixel is an entry, a row is 64 of them, from the top down in the order of addresses; blue is compressible, red is
//! not. What is higher than a picture goes on in a stripe to the right; what is wider than that is made smaller: a pixel
//! is then the mean of as many rows as it takes.
//!
//! ```
//! let map = strata_heatmap::HeatMap::new(128);
//! (0..128).for_each(|entry| map.add(entry, 64));
//! let mut picture = Vec::new();
//! map.write_png(&mut picture).expect("into memory");
//! assert_eq!((map.size(), &picture[1..4]), ((64, 2), &b"PNG"[..]));
//! ```

use std::io::{Error, Result, Write};
use std::sync::atomic::{AtomicU32, Ordering};

/// Entries of a row (Figure 8).
const ROW: u64 = 64;
/// Pixels of a picture's height and stripes of its width: what browsers and viewers still show well, and one pixel for
/// every entry of 1.25 GiB.
const MOST_HEIGHT: u64 = 4095;
const MOST_STRIPES: u64 = 40;
/// White pixels between stripes.
const GAP: u64 = 4;

/// Colours of entries of 0, 32, 64, 96 and 128 bytes; between them they are mixed.
const COLOURS: [[u8; 3]; 5] = [[24, 44, 160], [84, 160, 224], [248, 240, 176], [244, 140, 64], [176, 16, 32]];
/// The index of white, after those of 0 to 128 bytes.
const WHITE: u8 = 129;

/// The sizes of entries, or whatever else goes from 0 to 128, by place.
pub struct HeatMap {
    entries: u64,
    /// Rows that share a pixel.
    rows_per_pixel: u64,
    /// Stripes, and the height of each.
    stripes: u64,
    height: u64,
    /// Bytes of the entries of each pixel. Threads add to them in any order, which gives the same sums.
    bytes: Vec<AtomicU32>,
}

impl HeatMap {
    /// A map for so many entries.
    pub fn new(entries: u64) -> Self {
        let rows = entries.div_ceil(ROW).max(1);
        let rows_per_pixel = rows.div_ceil(MOST_HEIGHT * MOST_STRIPES);
        let pixel_rows = rows.div_ceil(rows_per_pixel);
        let stripes = pixel_rows.div_ceil(MOST_HEIGHT);
        let height = pixel_rows.div_ceil(stripes);
        let bytes = (0..stripes * height * ROW).map(|_| AtomicU32::new(0)).collect();
        Self { entries, rows_per_pixel, stripes, height, bytes }
    }

    /// Width and height in pixels.
    pub fn size(&self) -> (u32, u32) {
        ((self.stripes * (ROW + GAP) - GAP) as u32, self.height as u32)
    }

    /// The entry with this index takes so many bytes, compressed.
    pub fn add(&self, entry: u64, bytes: u16) {
        let pixel = entry / ROW / self.rows_per_pixel * ROW + entry % ROW;
        if let Some(sum) = self.bytes.get(pixel as usize) {
            sum.fetch_add(u32::from(bytes), Ordering::Relaxed);
        }
    }

    /// The index of a pixel's colour: the mean of its entries in bytes, or white where there are none.
    fn colour(&self, pixel_row: u64, column: u64) -> u8 {
        let first = pixel_row * self.rows_per_pixel * ROW + column;
        let entries = self.entries.saturating_sub(first).div_ceil(ROW).min(self.rows_per_pixel);
        let sum = self.bytes[(pixel_row * ROW + column) as usize].load(Ordering::Relaxed);
        (u64::from(sum) + entries / 2).checked_div(entries).map_or(WHITE, |mean| mean as u8)
    }

    /// One index of a colour for each pixel, row by row.
    fn pixels(&self) -> Vec<u8> {
        let (width, height) = self.size();
        let mut pixels = vec![WHITE; width as usize * height as usize];
        for stripe in 0..self.stripes {
            for row in 0..self.height {
                let start = (row * u64::from(width) + stripe * (ROW + GAP)) as usize;
                for column in 0..ROW {
                    pixels[start + column as usize] = self.colour(stripe * self.height + row, column);
                }
            }
        }
        pixels
    }

    /// Writes the map as a PNG picture.
    pub fn write_png(&self, out: impl Write) -> Result<()> {
        let (width, height) = self.size();
        let mut encoder = png::Encoder::new(out, width, height);
        encoder.set_color(png::ColorType::Indexed);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.set_palette(palette());
        let mut writer = encoder.write_header().map_err(Error::other)?;
        writer.write_image_data(&self.pixels()).map_err(Error::other)?;
        writer.finish().map_err(Error::other)
    }
}

/// The colours of 0 to 128 bytes, then white.
fn palette() -> Vec<u8> {
    const STEP: usize = 32;
    let mut palette = Vec::new();
    for bytes in 0..=STEP * (COLOURS.len() - 1) {
        let (below, part) = (bytes / STEP, bytes % STEP);
        let above = (below + 1).min(COLOURS.len() - 1);
        for (low, high) in COLOURS[below].into_iter().zip(COLOURS[above]) {
            palette.push(((usize::from(low) * (STEP - part) + usize::from(high) * part) / STEP) as u8);
        }
    }
    palette.extend([255; 3]);
    palette
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(entries: u64, bytes: impl Fn(u64) -> u16) -> HeatMap {
        let map = HeatMap::new(entries);
        (0..entries).for_each(|entry| map.add(entry, bytes(entry)));
        map
    }

    #[test]
    fn a_row_is_64_entries() {
        let map = filled(130, |entry| if entry < 64 { 0 } else { 128 });
        assert_eq!(map.size(), (64, 3));
        let pixels = map.pixels();
        assert!(pixels[..64].iter().all(|&index| index == 0) && pixels[64..130].iter().all(|&index| index == 128));
        assert!(pixels[130..].iter().all(|&index| index == WHITE));
    }

    #[test]
    fn what_is_high_goes_on_in_the_next_stripe() {
        let map = filled(64 * 5000, |entry| if entry < 64 * 2500 { 16 } else { 96 });
        assert_eq!(map.size(), (132, 2500));
        let pixels = map.pixels();
        for row in pixels.chunks(132) {
            assert!(row[..64] == [16; 64] && row[64..68] == [WHITE; 4] && row[68..] == [96; 64]);
        }
    }

    #[test]
    fn what_is_huge_is_made_smaller() {
        // 2.5 GiB: two rows, of 128 and of 0 bytes, to a pixel; the last is of one row.
        let rows = 2 * 4095 * 40 - 1;
        let map = HeatMap::new(rows * 64);
        assert_eq!((map.size(), map.rows_per_pixel), ((40 * 68 - 4, 4095), 2));
        map.add(7, 128);
        map.add(64 + 7, 0);
        map.add(64 + 8, 128);
        map.add((rows - 1) * 64, 128);
        assert_eq!([map.colour(0, 7), map.colour(0, 8), map.colour(0, 9)], [64, 64, 0]);
        assert_eq!(map.colour(4095 * 40 - 1, 0), 128);
        for entries in [u64::MAX / 128, 1 << 40, 0] {
            let (width, height) = HeatMap::new(entries).size();
            assert!(width <= 2716 && height < 4096);
        }
    }

    #[test]
    fn blue_is_compressible_and_red_is_not() {
        let palette = palette();
        assert_eq!(palette.len(), (usize::from(WHITE) + 1) * 3);
        assert_eq!((&palette[..3], &palette[128 * 3..129 * 3]), (&COLOURS[0][..], &COLOURS[4][..]));
        assert_eq!(palette[64 * 3..65 * 3], COLOURS[2]);
    }

    #[test]
    fn a_picture_is_read_back() {
        let map = filled(100, |entry| [0, 8, 64, 128][entry as usize % 4]);
        let mut file = Vec::new();
        map.write_png(&mut file).expect("into memory");
        let mut decoder = png::Decoder::new(std::io::Cursor::new(file));
        decoder.set_transformations(png::Transformations::IDENTITY);
        let mut reader = decoder.read_info().expect("a picture");
        let mut pixels = vec![0; 128];
        let info = reader.next_frame(&mut pixels).expect("whole");
        assert_eq!((info.width, info.height, pixels), (64, 2, map.pixels()));
    }
}
