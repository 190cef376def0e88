//! PCI Express as UVMSmart has it: bandwidth grows with the size of a transfer, and a direction carries one at a time.

use crate::geometry::Geometry;
use std::f64::consts::PI;

/// The curve of one generation.
#[derive(Clone, Debug, PartialEq)]
pub struct Pcie {
    /// GB/s by name: 16, 32 or 64; 75 is `NVLink`.
    nominal: f64,
    /// GiB/s that very large transfers reach.
    reach: f64,
    /// Core cycles per second.
    frequency: f64,
    /// Core cycles before the first byte comes.
    latency: u64,
    /// Core cycles of so many pages.
    of_pages: Vec<u64>,
}

impl Pcie {
    /// For a nominal bandwidth of 16, 32, 64 or 75 GB/s and a core clock in kHz.
    pub fn new(nominal: u64, core_khz: u64, latency: u64, geometry: &Geometry) -> Self {
        // UVMSmart: BW(s) = (2 A / pi) atan(0.07292 s) GiB/s of s KB, A = 12, 24, 48 for 16, 32, 64 GB/s; the
        // same share of NVLink's 75 is a choice.
        let reach = nominal as f64 * 12.0 / 16.0;
        let frequency = core_khz as f64 * 1e3;
        let mut pcie = Self { nominal: nominal as f64, reach, frequency, latency, of_pages: Vec::new() };
        let counts = 0..=u64::from(geometry.pages_per_tree());
        pcie.of_pages = counts.map(|n| pcie.cycles(n * geometry.page_bytes)).collect();
        pcie
    }

    /// GiB/s of a transfer of `bytes`.
    pub fn bandwidth(&self, bytes: u64) -> f64 {
        2.0 * self.reach / PI * arc_tangent(0.07292 * bytes as f64 / 1024.0)
    }

    /// The share of the nominal bandwidth that a transfer uses, as UVMSmart prints it.
    pub fn utilisation(&self, bytes: u64) -> f64 {
        self.bandwidth(bytes) / self.nominal
    }

    /// Core cycles of a transfer.
    pub fn cycles(&self, bytes: u64) -> u64 {
        if bytes == 0 {
            return 0;
        }
        let gib = (1u64 << 30) as f64;
        self.latency + (bytes as f64 * self.frequency / (self.bandwidth(bytes) * gib)) as u64
    }

    /// The same of at most a tree of pages.
    pub fn cycles_of(&self, pages: u32, page_bytes: u64) -> u64 {
        self.of_pages.get(pages as usize).copied().unwrap_or_else(|| self.cycles(u64::from(pages) * page_bytes))
    }

    /// Core cycles in which a synchronisation writes so many bytes back: a page, then the rest of 64, 64, 128, 256, 512 and
    /// 1024 KB, again and again (UVMSmart).
    pub fn sync_cycles(&self, mut bytes: u64, page: u64) -> u64 {
        let mut cycles = 0;
        for whole in [64u64, 64, 128, 256, 512, 1024].into_iter().cycle() {
            for part in [page, (whole << 10).saturating_sub(page)] {
                let part = part.min(bytes);
                cycles += self.cycles(part);
                bytes -= part;
            }
            if bytes == 0 {
                return cycles;
            }
        }
        cycles
    }
}

/// The arc tangent of a number that is not negative. Our own: the platform's may differ in the last digit from another's.
fn arc_tangent(x: f64) -> f64 {
    // Four times half the angle, then a series whose tenth term is below 2^-60.
    let half = |x: f64| x / (1.0 + (1.0 + x * x).sqrt());
    let small = half(half(half(half(x))));
    let square = small * small;
    let series = (0..12).rev().fold(0.0, |sum, k| 1.0 / f64::from(2 * k + 1) - square * sum);
    16.0 * small * series
}

#[cfg(test)]
mod tests {
    use super::*;
    use strata_core::{Addr, Bytes};

    fn pcie() -> Pcie {
        Pcie::new(16, 1_481_000, 0, &Geometry::new(Bytes(4096), Addr(0)))
    }

    #[test]
    fn the_published_table_to_the_cycle() {
        // Cycles and GiB/s of UVMSmart's logs, by KB.
        let rows = [
            (4, 2605, 2.168),
            (8, 2800, 4.034),
            (16, 3430, 6.587),
            (32, 5074, 8.907),
            (60, 8240, 10.28),
            (64, 8702, 10.39),
            (124, 15695, 11.16),
            (128, 16163, 11.18),
            (252, 30723, 11.58),
            (256, 31193, 11.59),
            (508, 60836, 11.79),
            (512, 61307, 11.80),
            (1020, 121089, 11.90),
            (1024, 121560, 11.90),
            (2048, 242080, 11.95),
        ];
        let pcie = pcie();
        for (kb, cycles, bandwidth) in rows {
            assert_eq!(pcie.cycles(kb << 10), cycles, "{kb} KB");
            assert_eq!(pcie.cycles_of((kb / 4) as u32, 4096), cycles, "{kb} KB");
            assert!((pcie.bandwidth(kb << 10) - bandwidth).abs() < 0.006, "{kb} KB");
        }
        assert!((pcie.utilisation(2 << 20) - 0.747).abs() < 0.001);
    }

    #[test]
    fn the_arc_tangent_is_that_of_the_platform() {
        for x in [0.0, 1e-6, 0.3, 1.0, 7.3, 1e4, 1e12] {
            assert!((arc_tangent(x) - x.atan()).abs() < 1e-15, "{x}");
        }
    }

    #[test]
    fn a_synchronisation_writes_back_in_growing_parts() {
        let (pcie, page) = (pcie(), 4096);
        assert_eq!(pcie.sync_cycles(0, page), 0);
        assert_eq!(pcie.sync_cycles(4 << 10, page), 2605);
        assert_eq!(pcie.sync_cycles(128 << 10, page), 2 * (2605 + 8240));
        // 2 MB and a page: all six parts, and the first of the next round.
        let round = 2 * (2605 + 8240) + (2605 + 15695) + (2605 + 30723) + (2605 + 60836) + (2605 + 121_089);
        assert_eq!(pcie.sync_cycles((2 << 20) + 4096, page), round + 2605);
    }
}
