//! On-chip area of a scheme, from the constants of CMD's section IV-E (16 nm).

use crate::settings::Settings;
use strata_core::SECTOR_BYTES;
use strata_sim::config::GpuConfig;

/// MD5 units of eight controllers: 130,072 gates, 0.014 mm².
const MD5_MM2: f64 = 0.014 / 8.0;
/// 888 KB of metadata caches (NVSim): 0.36 mm².
const CACHE_MM2_PER_BYTE: f64 = 0.36 / (888.0 * 1024.0);
/// The FIFOs of 16 slices, 512 bytes each: 3.13e-3 mm².
const FIFO_MM2_PER_BYTE: f64 = 3.13e-3 / (16.0 * 512.0);

/// Square millimetres, by part.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Area {
    /// Hash units.
    pub hash: f64,
    /// Hash stores and metadata caches.
    pub caches: f64,
    /// FIFOs.
    pub fifo: f64,
}

impl Area {
    /// Of a scheme on a GPU. Fingerprints that take no time have no unit of their own.
    pub fn of(settings: &Settings, gpu: &GpuConfig) -> Self {
        let controllers = f64::from(gpu.dram.channels);
        let caches = settings.caches;
        let bytes = settings.hash_store.0 + caches.map.0 + caches.kind.0 + caches.mask.0;
        let fifo = settings.fifo.map_or(0, |fifo| fifo.depth as u64 * SECTOR_BYTES * u64::from(gpu.l2.slices));
        Self {
            hash: if settings.hash_cycles == 0 { 0.0 } else { MD5_MM2 * controllers },
            caches: bytes as f64 * controllers * CACHE_MM2_PER_BYTE,
            fifo: fifo as f64 * FIFO_MM2_PER_BYTE,
        }
    }

    /// All parts together.
    pub fn total(&self) -> f64 {
        self.hash + self.caches + self.fifo
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{CMD, Scheme};
    use strata_core::settings::Settings as Values;
    use strata_sim::config::load;

    #[test]
    fn the_papers_machine_has_the_papers_area() {
        let values = Values::read("cmd", CMD, &[""; 0]).expect("defaults");
        let gpu = load("cmd-gddr6", &[""; 0]).expect("a preset").config;
        let area = Area::of(&Settings::of(Scheme::Cmd, &values), &gpu);
        // CMD, section IV-E: 0.377 mm².
        assert_eq!((area.total() * 1e3).round(), 377.0);
    }
}
