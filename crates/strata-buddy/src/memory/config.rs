//! How large the two memories and their pages are, and what follows from it.

use super::error::ConfigError;
use crate::EntryState;
use strata_codec::ENTRY_BYTES;
use strata_core::{Addr, Bytes};

/// The parts a page is counted in: with the largest target, 16, a page takes one of them in device memory.
pub(super) const PARTS: u64 = 16;

/// A page whose sixteenth is one sector.
const LEAST_PAGE: Bytes = Bytes(512);

/// The most of either memory: keeps sums of addresses far from the end of `u64`.
const MOST: Bytes = Bytes(1 << 50);

/// The two memories.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MemoryConfig {
    /// Device memory, metadata included.
    pub device: Bytes,
    /// A page of virtual memory, as the page table maps it: 64 KiB or 2 MiB on GPUs.
    pub page: Bytes,
    /// Buddy memory, set aside when the machine starts.
    pub carve_out: Bytes,
    /// Where it begins: the global buddy base-address register (GBBR).
    pub buddy_base: Addr,
}

impl MemoryConfig {
    /// With the carve-out of the paper (section III-C): three times device memory, since a target of 4 keeps one sector of
    /// four. It begins behind all of device memory.
    pub const fn new(device: Bytes, page: Bytes) -> Self {
        Self { device, page, carve_out: Bytes(device.0.saturating_mul(3)), buddy_base: Addr(MOST.0) }
    }

    /// Bits of a page-table entry that say which page of the carve-out a buddy page begins in.
    ///
    /// Section III says 16 bits for pages of 2 MiB and 20 for 64 KiB (32 GB of device memory, targets up to 4). The first is
    /// right; 96 GB are 1.5 M pages of 64 KiB, which take 21.
    pub const fn offset_bits(&self) -> u32 {
        match self.buddy_pages() {
            0 => 0,
            pages => u64::BITS - (pages - 1).leading_zeros(),
        }
    }

    /// Bits that Buddy Compression adds to a page-table entry: compressed or not, the target, and the offset.
    pub const fn translation_bits(&self) -> u32 {
        1 + super::page_table::TARGET_BITS + self.offset_bits()
    }

    /// Bytes of metadata, which device memory gives up: 4 bits for each entry of 128 bytes that either memory can hold.
    ///
    /// That is 1/256 of what programs can store, the 0.4 % of section III. With a carve-out of 3x they can store four times what
    /// the device holds, and all of that needs metadata on the device: 1/64 of it, 1.6 %. This is the one place that says so.
    pub const fn metadata(&self) -> Bytes {
        Bytes(self.pages() * self.page_metadata())
    }

    /// Pages that both memories can hold: as many as there are addresses for.
    pub(super) const fn pages(&self) -> u64 {
        whole_pages(self.device, self.page).saturating_add(self.buddy_pages())
    }

    /// Pages of the carve-out.
    pub(super) const fn buddy_pages(&self) -> u64 {
        whole_pages(self.carve_out, self.page)
    }

    /// Bytes of metadata of one page.
    pub(super) const fn page_metadata(&self) -> u64 {
        self.page.0 / ENTRY_BYTES as u64 * EntryState::BITS as u64 / 8
    }

    /// Device memory that holds data, in sixteenths of a page. Metadata is behind it.
    pub(super) const fn device_parts(&self) -> u64 {
        (self.device.0 - self.metadata().0) / self.part()
    }

    /// Bytes of a sixteenth of a page.
    pub(super) const fn part(&self) -> u64 {
        self.page.0 / PARTS
    }

    /// Refuses what makes no memory.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let &Self { device, page, carve_out, buddy_base } = self;
        if !page.0.is_power_of_two() || page < LEAST_PAGE {
            return Err(ConfigError::Page { page, least: LEAST_PAGE });
        }
        for (what, size) in [("device memory", device), ("a carve-out", carve_out)] {
            if size > MOST {
                return Err(ConfigError::TooLarge { what, size, most: MOST });
            }
        }
        let metadata = self.metadata();
        if device.0 < metadata.0 + page.0 {
            return Err(ConfigError::NoRoom { device, metadata });
        }
        if !buddy_base.0.is_multiple_of(page.0) || buddy_base.0 > MOST.0 {
            return Err(ConfigError::Base { base: buddy_base, page });
        }
        Ok(())
    }
}

/// Whole pages of a memory: none if pages have no bytes, which `check` refuses.
const fn whole_pages(size: Bytes, page: Bytes) -> u64 {
    match size.0.checked_div(page.0) {
        Some(pages) => pages,
        None => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIB: u64 = 1 << 10;
    const MIB: u64 = 1 << 20;
    const GIB: u64 = 1 << 30;

    #[test]
    fn sixteen_bits_name_a_large_page_and_twenty_do_not_name_a_small_one() {
        // 32 GB of device memory, targets up to 4: section III says 16 and 20.
        let large = MemoryConfig::new(Bytes(32 * GIB), Bytes(2 * MIB));
        let small = MemoryConfig::new(Bytes(32 * GIB), Bytes(64 * KIB));
        assert_eq!(large.carve_out, Bytes(96 * GIB));
        assert_eq!((large.offset_bits(), small.offset_bits()), (16, 21));
        // A Pascal page-table entry has 27 bits that are unused or only for graphics (section III).
        assert_eq!((large.translation_bits(), small.translation_bits()), (20, 25));
    }

    #[test]
    fn metadata_is_one_256th_of_both_memories() {
        let config = MemoryConfig::new(Bytes(32 * GIB), Bytes(2 * MIB));
        assert_eq!(config.metadata(), Bytes(128 * GIB / 256));
    }

    #[test]
    fn questions_about_what_makes_no_memory_have_answers() {
        for page in [0, 1, 3, u64::MAX] {
            let config = MemoryConfig::new(Bytes(u64::MAX), Bytes(page));
            assert!(config.offset_bits() <= 64 && config.translation_bits() <= 68);
            assert!(config.metadata() <= Bytes(u64::MAX / 128), "{config:?}");
        }
    }

    #[track_caller]
    fn check(config: MemoryConfig, message: &str) {
        assert_eq!(config.check().expect_err("wrong").to_string(), message);
    }

    #[test]
    fn what_makes_no_memory_is_refused() {
        let good = MemoryConfig::new(Bytes(MIB), Bytes(4096));
        assert_eq!(good.check(), Ok(()));
        let page = "write a power of two, at least 512 (GPUs have 64 KiB and 2 MiB)";
        check(MemoryConfig { page: Bytes(0), ..good }, &format!("a page of 0 bytes: {page}"));
        check(MemoryConfig { page: Bytes(96 * KIB), ..good }, &format!("a page of 98304 bytes: {page}"));
        check(MemoryConfig { page: Bytes(256), ..good }, &format!("a page of 256 bytes: {page}"));
        check(
            MemoryConfig::new(Bytes(u64::MAX), Bytes(4096)),
            "device memory of 18446744073709551615 bytes; the most is 1125899906842624",
        );
        check(
            MemoryConfig { carve_out: Bytes(u64::MAX), ..good },
            "a carve-out of 18446744073709551615 bytes; the most is 1125899906842624",
        );
        check(
            MemoryConfig::new(Bytes(4096), Bytes(4096)),
            "device memory of 4096 bytes has no page left beside 64 bytes of metadata; make it larger or the carve-out smaller",
        );
        check(
            MemoryConfig { buddy_base: Addr(100), ..good },
            "the base of buddy memory, 0x64, is no multiple of the page of 4096 bytes",
        );
    }
}
